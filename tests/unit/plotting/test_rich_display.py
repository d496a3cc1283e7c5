"""What notebooks show: bounded, escaped, and never an exception."""

from __future__ import annotations

import re
import sys

import pytest
import sympy

import dalembert as da
from dalembert.plotting.reports import display


def oscillator(**options):
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    return da.System(
        [x],
        kinetic=m * x.dot**2 / 2,
        potential=k * x**2 / 2,
        name=options.pop("name", "Oscillator"),
        **options,
    )


def test_a_system_shows_its_energies_and_constraints():
    system = da.gallery.load("rolling-disk").system
    bundle = system._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "text/latex"}
    assert (
        bundle["text/html"] == system._repr_html_()
        and bundle["text/latex"] == system._repr_latex_()
    )
    for word in ("Rolling disk", "kinetic energy", "potential energy", "constraint rolling_x"):
        assert word in bundle["text/html"]
    assert r"\dot{\theta}" in bundle["text/latex"] and bundle["text/latex"].startswith("$")


def test_hamiltonians_flows_forces_and_inequalities_are_stated():
    rows = dict(display.statements(da.gallery.load("nonholonomic-particle").system))
    assert rows["Hamiltonian"].startswith("H = ")
    flow = da.gallery.load("lorenz-on-sphere").system
    assert flow._repr_html_() and any(latex for _, latex in display.statements(flow))
    x = da.coordinates("x")
    one_sided = oscillator(constraints=[da.unilateral(x - 1, name="wall")], forces={x: -x.dot})
    rows = dict(display.statements(one_sided))
    assert rows["constraint wall"].endswith(r"\le 0") and rows["forces"].startswith("Q_")


def test_equations_are_typeset_where_they_are_short():
    bundle = da.derive(oscillator())._repr_mimebundle_()
    assert r"\ddot{x}" in bundle["text/latex"] and "form lagrange" in bundle["text/html"]


def test_long_equations_are_not_written_out_for_a_display(monkeypatch):
    equations = da.derive(da.gallery.load("planar-chain").system)
    monkeypatch.setattr(
        "dalembert.presentation.equation_printer.write", None
    )  # would raise if called
    bundle = equations._repr_mimebundle_()
    assert "equations.text()" in bundle["text/html"] and "text/latex" not in bundle


def test_a_motion_shows_how_it_ended():
    motion = da.simulate(oscillator(), {"x": 1.0}, (0, 5), parameters={"m": 1.0, "k": 1.0})
    found = motion._repr_html_()
    assert (
        motion.message in found and "data:image/png;base64,iVBOR" in found and "relative" in found
    )
    assert not re.search(r"https?:", found)


def test_hostile_names_stay_words():
    hostile = "<img src=x onerror=alert(1)>"
    x = da.coordinates("x")
    system = oscillator(name=hostile, constraints=[da.velocity(x.dot, name=hostile)])
    motion = da.simulate(system, {}, (0, 1), parameters={"m": 1.0, "k": 1.0})
    for value in (system, da.derive(system), motion):
        assert "<img src=x" not in (value._repr_html_() or "")


def test_displays_never_raise(monkeypatch):
    def broken(*_):
        raise RuntimeError("no")

    monkeypatch.setattr(display, "statements", broken)
    monkeypatch.setattr(display, "equation_lines", broken)
    monkeypatch.setattr(display, "_thumbnail", broken)
    system = oscillator()
    motion = da.simulate(system, {"x": 1.0}, (0, 1), parameters={"m": 1.0, "k": 1.0})
    for value in (system, da.derive(system), motion):
        assert list(value._repr_mimebundle_()) == ["text/plain"]
        assert value._repr_html_() is None


def test_large_systems_are_named_and_not_typeset(monkeypatch):
    monkeypatch.setattr(display, "MOST_NODES", 5)
    monkeypatch.setattr(display, "MOST_SYMBOLS", 2)
    q = da.coordinates("a b c d")
    system = da.System(
        list(q), kinetic=sum((u.dot * (3 + sympy.cos(v))) ** 2 for u in q for v in q), name="Large"
    )
    bundle = system._repr_mimebundle_()
    assert "too long to show" in bundle["text/html"] and "and 2 more" in bundle["text/html"]
    assert "text/latex" not in bundle and bundle["text/plain"] == "<System Large: 4 coordinates>"


@pytest.mark.parametrize(
    "latex",
    [r"\text{<script>x</script>}", r"\href{javascript:alert(1)}{x}", r"\style{a}{y}", r"\text{<b}"],
)
def test_formulas_hold_nothing_but_mathematics(latex):
    from dalembert.plotting.reports.report_formulas import formula

    found = formula(latex)
    tags = set(re.findall(r"<\s*/?\s*([a-zA-Z]+)", found))
    assert not tags & {"script", "b", "img", "a"}
    assert not re.search(r"\b(href|style|class|on\w+)=\"(?!tex)", found)


def test_without_the_converter_notebooks_typeset_dollars(monkeypatch):
    from dalembert.plotting.reports.report_formulas import formula, mathml

    mathml.cache_clear()
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    assert (
        formula("x^{2}", bare="dollars") == "$x^{2}$"
        and formula("a<b", True, "pre") == '<pre class="tex">a&lt;b</pre>'
    )
    mathml.cache_clear()


def test_equations_show_their_lines_in_a_terminal() -> None:
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    spring = da.System([x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, name="Spring")
    assert repr(da.derive(spring)) == "Spring: form lagrange, 2 symbols of state\nm*x_ddot = -k*x"
    chain = repr(da.derive(da.gallery.load("planar-chain").system))
    assert "equations.text()" in chain and "theta5_dot" in chain
