"""Hypotheses that hold only to the rounding of constants are reported with the result, not taken
silently.
"""

from __future__ import annotations

import copy
import pickle
import re

import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.symmetry.momentum_maps import momentum_map
from dalembert.formulations.reduction.bundle_equations import bundle_of
from dalembert.plotting.reports.report import report_page

x, y, theta = PLANE = da.coordinates("x y theta")
m, r = da.parameters("m r", positive=True)
#: A root with its square: a number for which that holds to rounding, and a symbol for which it is
#: an identity.
ROUNDED, EXACT = (sin(1.0), sin(1.0) ** 2), (r, r**2)
WORDS = r"not established: holds to rounding at \d+ states"
SE2 = {
    "ahead": {x: cos(theta), y: sin(theta)},
    "aside": {x: -sin(theta), y: cos(theta)},
    "turn": {theta: 1},
}


def square(root, of_root):
    """m^2, as (m + root)(m - root) + root^2."""
    return (m + root) * (m - root) + of_root


def body(of, **more):
    """A body with the mass m^2 in both directions."""
    return da.System(
        PLANE, kinetic=(square(*of) * x.dot**2 + m**2 * y.dot**2 + theta.dot**2) / 2, **more
    )


def blade(of):
    return da.velocity(square(*of) * x.dot * sin(theta) - m**2 * y.dot * cos(theta), name="blade")


def on_blade(of):
    forward, turn = da.speeds("forward turn")
    motion = {x: forward * cos(theta), y: forward * sin(theta), theta: turn}
    return da.derive(body(EXACT, constraints=[blade(of)]), "hamel", velocities=motion)


RESULTS = {
    "reduce": lambda of: da.symmetry.reduce(body(of), SE2),
    "hamel": on_blade,
    "poincare-chetaev": lambda of: da.derive(body(of), "poincare-chetaev"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_equations_carry_what_holds_to_rounding(name):
    found = RESULTS[name](ROUNDED)
    assert "not established" in {verdict.status for verdict in found.hypotheses.values()}
    assert all(verdict.holds_to_rounding for verdict in found.hypotheses.values())
    for text in (found.text(), found._repr_html_() or ""):
        assert _count(text) >= 1, text
    assert copy.copy(found).hypotheses == found.hypotheses


@pytest.mark.parametrize("name", RESULTS)
def test_equations_say_that_their_hypotheses_are_proved(name):
    found = RESULTS[name](EXACT)
    assert found.hypotheses
    assert {verdict.status for verdict in found.hypotheses.values()} == {"proved"}
    assert "not established" not in found.text()


def test_pickled_equations_keep_their_hypotheses():
    found = RESULTS["poincare-chetaev"](ROUNDED)
    assert pickle.loads(pickle.dumps(found)).hypotheses == found.hypotheses


@pytest.mark.long
def test_documents_and_reports_say_it():
    found = RESULTS["poincare-chetaev"](ROUNDED)
    assert _count(found.to_latex()) >= 1
    assert "proved" in RESULTS["poincare-chetaev"](EXACT).to_latex()
    motion = da.simulate(found, {x.dot: 1.0, theta.dot: 0.5}, (0, 0.1), parameters={m: 2})
    assert _count(report_page(motion, equations=False)) >= 1


def test_invariance_of_constraints_by_their_rank():
    claim = "the constraints are invariant under the group"
    assert bundle_of(body(EXACT, constraints=[blade(EXACT)]), SE2).hypotheses[claim].is_proved
    assert str(
        bundle_of(body(EXACT, constraints=[blade(ROUNDED)]), SE2).hypotheses[claim]
    ).startswith("not established: holds to rounding at")


def test_a_momentum_map_says_which_generators_are_isometries_to_rounding():
    turns = {"e": {x: -y, y: x}}
    rounded, exact = (momentum_map(body(of), turns) for of in (ROUNDED, EXACT))
    assert rounded.isometries == exact.isometries == {"e": True}
    assert _count(str(rounded)) == 1
    assert rounded.hypotheses["the kinetic metric is invariant along e"].status == "not established"
    assert str(exact) == "J_e = -p_x*y + p_y*x"


@pytest.mark.parametrize("unit", [1e-14, 1.0, 1e14])
def test_structure_constants_in_any_units(unit):
    """[e_turn, e_ahead] = unit e_aside where the angle is measured in units of its own; it is never
    rounded to zero.
    """
    frame = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: unit},
    }
    constants = bundle_of(body(EXACT), frame).constants
    assert constants[2, 0, 1] == pytest.approx(unit, rel=1e-12, abs=0)


def _count(text: str) -> int:
    return len(re.findall(WORDS, text))
