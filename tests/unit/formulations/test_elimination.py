"""Elimination: against the same mechanism stated in fewer coordinates, and against all other
forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from agreement import Instant, evidence, instants, numbered, worst_gap
from core_systems import random_system
from dalembert.errors import FormError


def double_pendulum(drive: Any = 0) -> tuple[da.System, da.System]:
    """Two bobs by their places and angles, with affine constraints; and the same by the angles
    alone.
    """
    a, b, x1, y1, x2, y2 = da.coordinates("a b x1 y1 x2 y2")
    places = {x1: sin(a) + drive, y1: -cos(a)}
    places |= {x2: x1 + sin(b) / 2, y2: y1 - cos(b) / 2}
    kinetic = (
        x1.dot**2 / 2
        + y1.dot**2 / 2
        + x2.dot**2
        + y2.dot**2
        + (a.dot + b.dot) ** 2 / 8
        + b.dot**2 / 5
    )
    potential = 3 * y1 + 5 * y2 + x1 * x2 / 4
    constraints = [da.holonomic(q - value, name=q.name) for q, value in places.items()]
    redundant = da.System(
        [a, b, x1, y1, x2, y2],
        kinetic=kinetic,
        potential=potential,
        constraints=constraints,
        forces={x2: -x2.dot, a: -b.dot},
    )
    values = {x1: places[x1], y1: places[y1]}
    values |= {q: sympy.expand(places[q].xreplace(values)) for q in (x2, y2)}
    rates = {
        q.dot: sum(sympy.diff(e, c) * c.dot for c in (a, b)) + sympy.diff(e, da.t)
        for q, e in values.items()
    }
    pull = -rates[x2.dot]
    minimal = da.System(
        [a, b],
        kinetic=kinetic.xreplace(rates),
        potential=potential.xreplace(values),
        forces={c: pull * sympy.diff(values[x2], c) - (b.dot if c == a else 0) for c in (a, b)},
    )
    return redundant, minimal


@pytest.mark.parametrize("drive", [0, sin(da.t) / 3], ids=["at rest", "driven"])
def test_what_is_left_are_lagranges_equations_in_fewer_coordinates(drive: Any) -> None:
    """The accelerations of the angles are those of the system that never had the other
    coordinates.
    """
    redundant, minimal = double_pendulum(drive)
    record = da.derive(redundant, "elimination")
    assert [s.name for s in record.state[6:]] == ["a_dot", "b_dot"]
    for instant in instants(redundant, 4, 3):
        fewer = Instant(instant.time, instant.q[:2], instant.v[:2])
        one, two = evidence(record, instant), evidence(da.derive(minimal, "lagrange"), fewer)
        assert one is not None and two is not None
        assert np.allclose(one["accelerations"][:2], two["accelerations"], atol=1e-11)
    assert (
        worst_gap(redundant, [record], seed=4) < 1e-10
    )  # dependent accelerations and reactions, recovered


@pytest.mark.parametrize("stated", ["lagrangian", "kinetic", "hamiltonian", "bundle"])
@pytest.mark.parametrize("kinds", ["e", "ee", "eee"])
def test_elimination_moves_as_lagrange(kinds: str, stated: str) -> None:
    """Coordinates given by the others and by time, however the energies are written."""
    n = 4 if stated == "lagrangian" else 1 + len(kinds)
    system = random_system(50 + len(kinds), n=n, kinds=kinds, stated=stated)
    record = da.derive(system, "elimination")
    assert len(record.unknowns) == n - len(kinds)
    assert worst_gap(system, [record]) < 1e-9


def test_constraints_that_repeat_each_other_are_eliminated_once() -> None:
    redundant, _ = double_pendulum()
    first, second = redundant.constraints[:2]
    copy = da.holonomic(2 * first.expression - 3 * second.expression, name="copy")
    more = redundant.replacing(constraints=[*redundant.constraints, copy])
    assert worst_gap(more, [da.derive(more, "elimination")], seed=4) < 1e-10


def test_the_arc_of_the_elastic_pendulum() -> None:
    scenario = da.gallery.load("elastic-pendulum-arc")
    system = numbered(scenario.system, scenario.parameters)
    assert worst_gap(system, [da.derive(system, "elimination")], seed=2) < 1e-9
    motion = da.simulate(scenario, form="elimination", at=[0.0, 1.0, 2.0], span=(0, 2))
    plain = da.simulate(scenario, form="lagrange", at=[0.0, 1.0, 2.0], span=(0, 2))
    assert motion.success and motion.worst_residual["position"] < 1e-12
    assert np.allclose(motion.y, plain.y, atol=1e-8)
    assert np.allclose(motion.total_reaction, plain.total_reaction, atol=1e-7)


def test_coefficients_of_the_dependent_coordinates_may_move() -> None:
    """Constraints affine in x, y with a matrix that depends on the others and on time, solved
    together.
    """
    a, b, x, y = da.coordinates("a b x y")
    constraints = [
        da.holonomic((2 + sin(a)) * x + cos(da.t) * y / 2 - b, name="one"),
        da.holonomic(b * x - (3 + cos(b)) * y + a**2, name="two"),
    ]
    kinetic = sum((1 + sin(q) ** 2) * q.dot**2 for q in (a, b, x, y)) / 2 + a.dot * y.dot / 5
    system = da.System(
        [a, b, x, y],
        kinetic=kinetic,
        potential=x * y + a * b,
        constraints=constraints,
        forces={y: -x.dot},
    )
    record = da.derive(system, "elimination")
    assert worst_gap(system, [record]) < 1e-9


# -- refusals --------------------------------------------------------------------------------------


def test_constraints_with_two_branches_are_refused() -> None:
    """A rod determines neither coordinate by the other: x = +-sqrt(l^2 - y^2)."""
    x, y = da.coordinates("x y")
    rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y, constraints=[rod])
    with pytest.raises(
        FormError, match=r'several branches.*rod.*use the form "maggi" or "lagrange"'
    ):
        da.derive(system, "elimination")


def test_only_constraints_on_positions_can_be_eliminated() -> None:
    with pytest.raises(
        FormError, match=r'`v1`.*use the form "voronets", or state it as a holonomic'
    ):
        da.derive(random_system(1, n=3, kinds="ev"), "elimination")
    with pytest.raises(FormError, match=r'no constraints.*use the form "lagrange"'):
        da.derive(random_system(1, n=2, kinds=""), "elimination")
