"""The derivation as a LaTeX document: well formed, true to the equations, within its margins, and
compiled where TeX is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.cli import main
from dalembert.errors import ModelError
from dalembert.formulations.forms import lagrange
from dalembert.formulations.registry import _FORMS
from dalembert.model.io.files import loads
from dalembert.presentation import document_steps, document_writer
from dalembert.presentation.document_conserved import conserved_by_extremals, reactions_section
from dalembert.presentation.document_forms import PRINCIPLES, principle_of
from dalembert.presentation.document_layout import (
    ROOM,
    _terms,
    align,
    broken,
    escaped,
    matrix,
    width,
)
from dalembert.presentation.typeset import _Setter, lines_latex, symbol_latex

QUICK = [
    ("chaplygin-sleigh", "hamilton"),
    ("nonholonomic-particle", "lagrange"),
    ("chaplygin-sleigh", "hamel"),
]
LONG = [
    ("snakeboard", "voronets"),
    *(("chaplygin-sleigh", form) for form in ("maggi", "kane", "vakonomic")),
]
LONG += [
    ("rolling-disk", form)
    for form in ("lagrange", "maggi", "hamel", "voronets", "hamilton", "gibbs-appell", "pontryagin")
]
LONG += [
    ("rolling-disk", form)
    for form in ("constrained-lagrangian", "canonical-quasi", "bates-sniatycki", "poincare-chetaev")
]
LONG += [
    ("bicycle", "canonical-voronets"),
    ("spherical-pendulum", "lagrange"),
    ("snakeboard", "hamel-orthonormal"),
]
LONG += [
    ("nonholonomic-particle-vakonomic", "vakonomic"),
    ("elastic-pendulum", "lagrange"),
    ("linked-particles", "implicit-lagrangian"),
]
CASES = [*QUICK, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG)]

ENGINE = next(
    (name for name in ("pdflatex", "tectonic", "xelatex", "lualatex") if shutil.which(name)), None
)


@cache
def document(name: str, form: str) -> str:
    scenario = da.gallery.load(name)
    return da.derive(scenario.system, form).to_latex(scenario=scenario)


def displays(text: str) -> list[str]:
    return re.findall(r"\\begin\{align\*?\}\n(.*?)\n\\end\{align\*?\}", text, re.DOTALL)


def check_well_formed(text: str) -> None:
    """Braces, environments, brackets that TeX pairs, one alignment mark in a row, no empty line in
    a display.
    """
    plain = re.sub(r"\\begin\{verbatim\}.*?\\end\{verbatim\}", "", text, flags=re.DOTALL)
    plain = re.sub(r"\\[\\{}]", "", plain)
    depth = 0
    for symbol in plain:
        depth += {"{": 1, "}": -1}.get(symbol, 0)
        assert depth >= 0
    assert depth == 0
    stack: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([^}]*)\}", plain):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert plain.count("$") % 2 == 0
    assert not re.search(r"([_^])\{[^{}]*\}\s*\1", plain), (
        "two subscripts, or two superscripts, on one symbol"
    )
    for display in displays(text):
        assert "\n\n" not in display and "nan" not in display and "zoo" not in display
        for row in display.split(" \\\\\n"):
            assert row.count("&") == 1, row
            assert row.count(r"\left") == row.count(r"\right"), row
            assert row.count("{") == row.count("}"), row


@pytest.mark.long
@pytest.mark.parametrize(("name", "form"), CASES)
def test_documents_are_well_formed_and_hold_the_equations(name: str, form: str) -> None:
    scenario = da.gallery.load(name)
    equations, text = da.derive(scenario.system, form), document(name, form)
    check_well_formed(text)
    principle = principle_of(form, equations.citation)
    assert (
        principle.title in text
        and all(line in text for line in principle.law)
        and escaped(equations.citation) in text
    )
    result = text.split(r"\section{The equations of motion}")[1].split(r"\section{")[0]
    for left, right in lines_latex(equations.written()):
        if width(left) + width(right) < 0.5 * ROOM:  # short enough to stand on one line
            assert any(
                f"{left.removeprefix(chr(92) + 'text{with }')} {sign} {right}" in result
                for sign in ("&=", "=")
            )
    for value in (
        "The system",
        "The principle",
        "The derivation",
        "Conserved quantities",
        "How to run it",
    ):
        assert rf"\section{{{value}}}" in text
    for constraint in scenario.system.constraints:
        assert escaped(constraint.name) in text
    for row in (row for display in displays(text) for row in display.split(" \\\\\n")):
        shown = row.replace("&", "").replace(r"\notag", "")
        assert r"\scalebox" in row or width(shown) <= ROOM + 12, row


@pytest.mark.parametrize(
    ("name", "form"), [QUICK[0], pytest.param("rolling-disk", "lagrange", marks=pytest.mark.long)]
)
def test_the_model_file_of_a_document_is_the_model(name: str, form: str) -> None:
    scenario, text = da.gallery.load(name), document(name, form)
    listing = re.search(
        r"model\.toml\} is\n.*?\\begin\{verbatim\}\n(.*?)\n\\end\{verbatim\}", text, re.DOTALL
    )
    assert listing is not None and max(map(len, listing[1].splitlines())) <= 104
    again = loads(listing[1])
    kernels = [
        da.derive(system, "lagrange").compile("numpy") for system in (scenario.system, again.system)
    ]
    y = np.random.default_rng(2).uniform(0.3, 1.1, kernels[0].n_state)
    first, second = (kernel.rates(0.0, y, scenario.parameters) for kernel in kernels)
    np.testing.assert_allclose(first, second, rtol=1e-13, atol=1e-13)
    assert dict(again.start) == pytest.approx(dict(scenario.start))


def test_every_form_has_its_principle() -> None:
    assert set(_FORMS) <= set(PRINCIPLES)
    assert len({principle.title for principle in PRINCIPLES.values()}) == len(PRINCIPLES)
    assert len({principle.law for principle in PRINCIPLES.values()}) == len(PRINCIPLES)


def particle() -> da.System:
    """A particle whose height obeys y' = z x', the plainest constraint that is not integrable."""
    x, y, z = da.coordinates("x y z")
    m = da.parameters("m", positive=True)
    slope = da.velocity(y.dot - z * x.dot, name="slope")
    return da.System(
        [x, y, z], kinetic=m / 2 * (x.dot**2 + y.dot**2 + z.dot**2), constraints=[slope]
    )


@pytest.mark.long
def test_the_steps_are_those_of_a_hand_computation() -> None:
    """Voronets' symbols, the connection's curvature, the frame, Hamel's symbols and the Hamiltonian
    of that particle.
    """
    shown = {
        form: da.derive(particle(), form).to_latex()
        for form in ("voronets", "constrained-lagrangian", "hamel", "hamilton")
    }
    frame = "\\begin{pmatrix}\n1 & 0 \\\\\nz & 0 \\\\\n0 & 1\n\\end{pmatrix}"
    assert frame in shown["voronets"] and r"\dot{y} &= z \dot{x}" in shown["voronets"]
    assert (
        r"A^{y}_{x} &= \dot{z}" in shown["voronets"]
        and r"A^{y}_{z} &= -\dot{x}" in shown["voronets"]
    )
    assert r"\frac{\partial L}{\partial \dot{y}} &= m z \dot{x}" in shown["voronets"]
    assert r"B^{y}_{xz} &= -1" in shown["constrained-lagrangian"]
    # eta = y' - z x', so that W_x = F_jx (d/dt df/dv_j - df/dq_j) = -z' and W_z = x'.
    assert (
        r"\eta_{3} &= -z \dot{x} + \dot{y}" in shown["hamel"]
        or r"\eta_{3} &= \dot{y} - z \dot{x}" in shown["hamel"]
    )
    assert (
        r"W^{\eta_{3}}_{\dot{x}} &= -\dot{z}" in shown["hamel"]
        and r"W^{\eta_{3}}_{\dot{z}} &= \dot{x}" in shown["hamel"]
    )
    assert r"H &= \frac{p_{x}^{2} + p_{y}^{2} + p_{z}^{2}}{2 m}" in shown["hamilton"]
    assert "The energy is conserved" in shown["voronets"] and "not integrable" in shown["voronets"]
    assert (
        r"$p_{x}$ is conserved" not in shown["voronets"]
    )  # x is cyclic, and the constraint touches it
    assert (
        r"The momentum $p_{z}$ is conserved" in shown["voronets"]
    )  # L lacks z, and the reaction has no part along it


@pytest.mark.long
def test_accelerations_of_a_hand_computation() -> None:
    """The same particle: y'' = z x'' + z' x' gives the drift and Appell's function, y' = z x' the
    reaction (-z, 1, 0) mu.
    """
    shown = da.derive(particle(), "gibbs-appell").to_latex()
    assert (
        re.findall(r"(d_\{\w\}) &= (.*)", shown) == [("d_{y}", r"\dot{x} \dot{z}")]
        and "The others vanish" in shown
    )
    assert (
        r"S &= \frac{m ((z^{2} + 1) \ddot{x}^{2} + 2 z \dot{x} \dot{z} \ddot{x} + \ddot{z}^{2})}{2}"
        in shown
    )
    mu = r"\mu_{\mathrm{slope}}"
    assert re.findall(r"R_\{(\w)\} &= (.*?)(?: \\\\)?\n", shown) == [("x", f"-z {mu}"), ("y", mu)]


def test_what_extremals_conserve_is_read_off_the_extended_lagrangian() -> None:
    """It lacks t, x and y; a spring along y takes y away, and where forces do work nothing is said
    to be conserved.
    """
    x, y, _ = particle().coordinates
    told = da.derive(particle(), "vakonomic").to_latex()
    assert (
        "it is free of time" in told
        and "it is free of $x$ and $y$" in told
        and r"\dot{y}$ are conserved." in told
    )
    sprung = conserved_by_extremals(particle().replacing(potential=y**2))
    assert r"it is free of $x$, and $\partial\Lambda/\partial \dot{x}$ is conserved." in sprung
    for working in (
        particle().replacing(forces={x: -x.dot}),
        particle().replacing(dissipation=x.dot**2),
    ):
        said = conserved_by_extremals(working)
        assert "the applied forces do work" in said and "it is free" not in said


@pytest.mark.long
def test_the_steps_say_what_was_solved_for_and_keep_every_term() -> None:
    """The same particle: y' = z x' is solved for y', and differentiated once more it is y'' - z x''
    = z' x'.
    """
    shown = {form: da.derive(particle(), form).to_latex() for form in ("hamel", "poincare-chetaev")}
    assert (
        r"The independent velocities are $\dot{x}$, $\dot{z}$; the others follow" in shown["hamel"]
    )
    assert "nothing to solve" not in shown["hamel"]
    assert (
        "The free quasi-velocities are the independent velocities; the bound ones are"
        in shown["hamel"]
    )
    assert r"-z \ddot{x} + \ddot{y} &= \dot{x} \dot{z}" in shown["poincare-chetaev"]
    # the frame turns x and y by the angle z, which leaves the kinetic energy a sum of squares
    assert r"L^* &= \frac{m (w_{x}^{2} + w_{y}^{2} + w_{z}^{2})}{2}" in shown["poincare-chetaev"]
    assert re.search(
        r"\\texttt\{slope\}.*\n\\begin\{align\}\n", shown["hamel"]
    )  # with a number to refer to
    free = da.derive(
        da.System(da.coordinates("a b"), kinetic=sum(q.dot**2 for q in da.coordinates("a b"))),
        "maggi",
    ).to_latex()
    assert r"nothing to solve: all velocities are independent, $\dot{a}$, $\dot{b}$" in free


def test_what_stands_after_an_image_constraint_is_told_too() -> None:
    x, y = da.coordinates("x y")
    u = da.speeds("u")
    bound = [da.image({x: u, y: 2 * u}, [u]), da.unilateral(x - y**2, name="wall")]
    shown = da.derive(
        da.System([x, y], kinetic=x.dot**2 + y.dot**2, constraints=bound), "implicit-lagrangian"
    ).to_latex()
    assert r"\dot{y} &= 2 u" in shown and r"\texttt{wall}" in shown and r"x - y^{2} \le 0" in shown


def test_every_value_of_a_scenario_is_in_its_tables() -> None:
    """The tables are read back: at most six symbols stand in a row, with a number below each."""
    x, y = da.coordinates("x y")
    stiff = da.parameters(" ".join(f"k_{n}" for n in range(14)), positive=True)
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=sum(k * x ** (n + 1) for n, k in enumerate(stiff)),
    )
    values, start = (
        {k.name: 0.5 + n for n, k in enumerate(stiff)},
        {"x": 0.25, "y": -3e-9, "x_dot": 2.0},
    )
    text = da.derive(system).to_latex(scenario=da.Scenario(system, values, start))
    found: dict[str, float] = {}
    for symbols, numbers in re.findall(
        r"^(?:parameter|start) &(.*)\\\\\nvalue &(.*)\\\\$", text, re.MULTILINE
    ):
        names, shown = ([cell.strip(" $") for cell in row.split("&")] for row in (symbols, numbers))
        assert len(names) == len(shown) <= 6
        plain = (value.replace(r"\cdot 10^{", "e").replace("}", "") for value in shown)
        found |= {name: float(value) for name, value in zip(names, plain, strict=True) if name}
    stated = {**{k: values[k.name] for k in stiff}, x: 0.25, y: -3e-9, x.dot: 2.0}
    assert found == {symbol_latex(symbol): value for symbol, value in stated.items()}


def test_what_was_stated_is_shown_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_writer, "LONGEST", 1)
    x, y = da.coordinates("x y")
    flow = da.Flow({x: y, y: -x}, integrals={"radius": x**2 + y**2})
    assert r"\text{radius} &= x^{2} + y^{2}" in da.derive(flow).to_latex()
    shown = da.derive(particle(), "maggi").to_latex()
    assert (
        r"T &= \frac{m ({\dot{x}}^{2} + {\dot{y}}^{2} + {\dot{z}}^{2})}{2}" in shown
        and document_steps.TOO_LONG in shown
    )


@pytest.mark.long
def test_bound_quasi_velocities_are_numbered_on_after_the_free_ones() -> None:
    w, x, y, z = da.coordinates("w x y z")
    rows = [
        da.velocity(y.dot - z * x.dot, name="slope"),
        da.velocity(w.dot - x * z.dot, name="turn"),
    ]
    kinetic = (w.dot**2 + x.dot**2 + y.dot**2 + z.dot**2) / 2
    shown = da.derive(
        da.System([w, x, y, z], kinetic=kinetic, constraints=rows), "hamel"
    ).to_latex()
    assert set(re.findall(r"\\eta_\{(\d+)\}", shown)) == {"3", "4"}
    assert re.search(r"\\eta_\{3\} &= .*\\dot\{y\}", shown) and re.search(
        r"\\eta_\{4\} &= .*\\dot\{w\}", shown
    )


def test_a_step_that_is_too_long_says_so_and_the_others_stand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(writer: object) -> str:
        raise ModelError("too many terms")

    steps = (
        ("First.", lambda writer: "a = b"),
        ("Second.", refused),
        ("Third.", lambda writer: ""),
    )
    monkeypatch.setitem(document_steps._STEPS, "lagrange", steps)
    said = document_steps.derivation_steps(
        SimpleNamespace(equations=SimpleNamespace(form="lagrange"))
    )
    assert (
        said.startswith("First.\na = b\nSecond.\n" + document_steps.TOO_LONG)
        and "Third" not in said
    )


def test_reactions_that_are_too_long_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise ModelError("too many terms")

    equations = da.derive(particle(), "maggi")
    monkeypatch.setattr(lagrange, "derive_with", refused)
    said = reactions_section(SimpleNamespace(equations=equations, algebra=None), equations.system)
    assert said.startswith("\nThe reaction is the generalised force") and said.endswith(
        document_steps.TOO_LONG + "\n"
    )


@pytest.mark.long
def test_the_second_kind_of_hamels_equations_says_so() -> None:
    system = da.gallery.load("chaplygin-sleigh").system
    first, second = (
        document("chaplygin-sleigh", "hamel"),
        da.derive(system, "hamel", kind="second").to_latex(),
    )
    assert "W_s^r" in first and "T_s^i" not in first
    assert "T_s^i" in second and "W_s^r" not in second
    check_well_formed(second)


def test_powers_below_one_are_written_as_fractions() -> None:
    x, y = da.coordinates("x y")
    shown = {
        x**-2: r"\frac{1}{x^{2}}",
        x**-0.5: r"\frac{1}{x^{0.5}}",
        1 / (x + y): r"\frac{1}{x + y}",
        y / x**2: r"\frac{y}{x^{2}}",
    }
    for expression, expected in shown.items():
        assert _Setter([]).show(expression) == expected


def test_long_sums_are_broken_and_lose_nothing() -> None:
    terms = [
        rf"\frac{{m_{{{k}}} \sin\theta_{{{k}}}}}{{2}}\,\dot{{\theta}}_{{{k}}}^{{2}}"
        for k in range(30)
    ]
    formula = " + ".join(terms)
    lines = broken(formula, 300.0)
    assert (
        len(lines) > 2
        and " ".join(lines) == formula
        and all(width(line) <= 300.0 for line in lines)
    )
    inside = broken(rf"-\frac{{a ({formula})}}{{I}}", 300.0)
    assert inside[0].startswith(r"-\frac{a}{I}\,\Bigl(") and inside[-1].endswith(r"\Bigr)")
    assert all(width(line) <= 300.0 and line.count("{") == line.count("}") for line in inside)
    assert " ".join(inside) == rf"-\frac{{a}}{{I}}\,\Bigl({formula}\Bigr)"
    squared = broken(rf"m \left({formula}\right)^{{2}} b", 300.0)
    assert squared[-1].endswith(r"\Bigr)^{2} b") and not any(r"\left" in line for line in squared)
    alone = broken(r"\sin\theta\,".join(["x"] * 60), 300.0)
    assert len(alone) == 1 and alone[0].startswith(r"\scalebox{0.")
    assert align([("x", formula)], numbered=True).count(r"\notag") == align([("x", formula)]).count(
        r"\\"
    )


def test_a_long_left_side_stands_above_the_right_one() -> None:
    """What is left of the rows without their marks is left = right, on as many lines as each side
    takes.
    """
    for left, right in ((60, 1), (60, 60), (20, 30)):
        sides = [
            " + ".join(f"{symbol}_{{{k}}} y" for k in range(count))
            for symbol, count in (("a", left), ("b", right))
        ]
        plain = re.sub(r"&|\\q?quad| \\\\\n", " ", displays(align([(sides[0], sides[1])]))[0])
        assert " ".join(plain.split()) == " = ".join(sides)


def test_a_matrix_that_is_too_wide_is_told_by_its_entries() -> None:
    entries = [
        [" + ".join(f"a_{{{min(i, j)}{max(i, j)}{k}}}" for k in range(9)) for j in range(3)]
        for i in range(3)
    ]
    entries[0][2] = entries[2][0] = "0"
    places = {
        symmetric: re.findall(r"M_\{(\d+)\} &=", matrix("M", entries, symmetric))
        for symmetric in (True, False)
    }
    assert places == {
        True: ["11", "12", "22", "23", "33"],
        False: ["11", "12", "21", "22", "23", "32", "33"],
    }
    assert matrix("M", entries, True).endswith("not listed vanish, and $M$ is symmetric.\n")
    assert matrix("M", entries).endswith("not listed vanish.\n")


def test_sums_that_would_fill_pages_are_refused_by_both_sides(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(document_writer, "LONGEST", 2)
    writer, (x, y) = (
        document_writer.DerivationWriter(da.derive(particle(), "maggi")),
        particle().coordinates[:2],
    )
    assert writer.sums([([(y, x)], x)])
    for row in (([(y, x)], (x + y) ** 5 + x**7), ([((x + y) ** 5 + x**7, x)], y)):
        with pytest.raises(ModelError, match="too long for a page"):
            writer.sums([row])


def test_lines_are_filled_and_brackets_are_not_cut_at_their_sums() -> None:
    formula = " + ".join(f"x_{{{k}}} y" for k in range(60))
    lines = broken(formula, 200.0)
    assert all(width(f"{line} {after.split(' y')[0]} y") > 200.0 for line, after in pairwise(lines))
    assert _terms("(a + b) c + d") == ["(a + b) c", "+ d"]
    assert _terms(r"\frac{a + b}{c} - [d + e]") == [r"\frac{a + b}{c}", "- [d + e]"]


def test_an_index_of_one_symbol_needs_no_braces_to_be_as_wide() -> None:
    for bare, braced in (
        ("x^2", "x^{2}"),
        ("x_m + y", "x_{m} + y"),
        (r"\frac12", r"\frac{1}{2}"),
        (r"\sqrt x", r"\sqrt{x}"),
    ):
        assert width(bare) == pytest.approx(width(braced)), bare
    assert width("x") + 0.7 * width("mmmm") < width("x_{mmmm}") < width("x") + width("mmmm")


def test_sums_begin_with_a_positive_term_and_keep_their_order() -> None:
    x, y = da.coordinates("x y")
    shown = {
        x**3 - x**2 + x: "x^{3} - x^{2} + x",
        -(x**3) + x**2 - x + 1: "x^{2} - x^{3} - x + 1",
        -x - y: "-x - y",
    }
    for expression, expected in shown.items():
        assert _Setter([]).show(expression) == expected


def test_it_is_written_to_a_file_and_a_foreign_scenario_is_refused(tmp_path: Path) -> None:
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    system = da.System(
        [x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, name="A spring_1 & 50%"
    )
    equations = da.derive(system)
    text = equations.to_latex(tmp_path / "spring.tex")
    assert (tmp_path / "spring.tex").read_text(encoding="utf-8") == text
    check_well_formed(text)
    assert r"A spring\_1 \& 50\%" in text and "There are no constraints" in text
    with pytest.raises(ModelError, match="another system"):
        equations.to_latex(scenario=da.gallery.load("appell"))


def test_flows_have_documents() -> None:
    scenario = da.gallery.load("rigid-body")
    text = da.derive(scenario.system).to_latex(scenario=scenario)
    check_well_formed(text)
    assert "keep their values" in text


@pytest.mark.long
def test_the_command_line_prints_documents_and_fragments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["derive", "appell", "--format", "document"]) == 0
    whole = capsys.readouterr().out
    assert whole.startswith(r"\documentclass") and whole.rstrip().endswith(r"\end{document}")
    assert main(["derive", "appell", "--format", "latex"]) == 0
    assert capsys.readouterr().out.startswith(r"\begin{aligned}")


@pytest.mark.skipif(ENGINE is None, reason="no TeX engine (pdflatex, tectonic) on this machine")
@pytest.mark.parametrize(
    ("name", "form"),
    [QUICK[0], *(pytest.param(*case, marks=pytest.mark.long) for case in [*QUICK[1:], *LONG])],
)
def test_documents_compile_and_stay_on_the_page(name: str, form: str, tmp_path: Path) -> None:
    (tmp_path / "derivation.tex").write_text(document(name, form), encoding="utf-8")
    options = [] if ENGINE == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [str(ENGINE), *options, "derivation.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )
    said = (done.stdout + done.stderr).decode("latin-1")
    assert done.returncode == 0, said[-2000:]
    assert (tmp_path / "derivation.pdf").stat().st_size > 10_000
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", said)]
    assert max(too_wide, default=0.0) < 3.0, said[-2000:]
