"""Formulas hold mathematics only, and faults are found in the text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

pytest.importorskip("latex2mathml")

import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.lab.answers.lab_formulas import expression_mathml, mathml, symbol_mathml
from dalembert.lab.fault_lines import line_of
from dalembert.model.io.files import loads


class Elements(HTMLParser):
    """The elements and attributes that a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<img src=x onerror=alert(1)>}",
        r"\mathrm{a}}{\href{javascript:alert(1)}{x}",
        r"\text{</math><iframe src='https://evil.example'>}",
        r"\style{background:url(https://evil.example)}{x}",
        r"\text{&lt;script&gt;alert(1)&lt;/script&gt;}",
        r"\text{a & b}",
        "\\",
        "{" * 3000,
    ],
)
def test_nothing_but_mathematics_comes_out(latex: str) -> None:
    found = Elements(mathml(latex))
    assert found.tags <= {"math", "mtext", "mrow", "mi", "mo", "mn", "msub", "mspace", "mstyle"}
    assert not {
        name
        for name in found.attributes
        if name.startswith("on") or name in ("href", "src", "style")
    }


def test_a_name_from_a_model_cannot_bring_markup() -> None:
    x, y = da.coordinates("x y")
    wicked = da.velocity(x.dot - y.dot, name=r"\text{<img src=x onerror=alert(1)>}")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[wicked])
    found = Elements(mathml(da.derive(system, "lagrange").latex()))
    assert "img" not in found.tags and "img" in found.words


def test_symbols_and_relations_are_set() -> None:
    theta = da.coordinates("theta")
    assert Elements(symbol_mathml(theta)).words == "θ"
    assert Elements(symbol_mathml(theta.dot)).tags >= {"mover"}
    relation = Elements(expression_mathml(sympy.sin(theta) / 2 - theta.dot**2, r"\leq"))
    assert "≤" in relation.words and "sin" in relation.words and relation.tags >= {"mfrac", "msup"}


TEXT = """name = "x"
coordinates = ["x", "y"]
kinetic = "m*x_dot**2/2"
constraints = [
  "x = 0",   # "first", [not] {this}
  {expression = "y_dot = 0", name = "a, b"}, "x*y = 1",
  '''y = 2''',
]
[parameters]
m = 1.0
[start]
x = 1
"""


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("In `kinetic`: no", 3),
        ("In `parameters.m`: no", 10),
        ("`start.x` must be finite", 12),
        ("In `constraints[1]`: no", 5),
        ("In `constraints[2]`: no", 6),
        ("In `constraints[3]`: no", 6),
        ("In `constraints[4]`: no", 8 - 1),
        ("The key 'start' is not known", 11),
        ("The name `m` means both", 10),
        ("nothing in particular", None),
        ("`constraints[99]` must be", 4),
    ],
)
def test_lines_of_faults(what: str, line: int | None) -> None:
    assert line_of(ModelError(what), TEXT) == line
    assert line_of(ModelError(what), None) is None


def test_the_line_that_the_reader_of_toml_reports() -> None:
    with pytest.raises(da.errors.FileError) as caught:
        loads(TEXT.replace("m = 1.0", "m = = 1"))
    assert line_of(caught.value, TEXT) == 10
