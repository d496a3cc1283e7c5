"""Constraints that depend on each other only where they hold: the rank beside them is another one,
and must not count.

Of g = 0 and f g = 0 the second row is f grad g + g grad f, independent of the first wherever a
stage of a step leaves g = 0 by its error. Of three parallel cranks one is redundant as long as they
are parallel.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import DalembertError, FormError
from dalembert.runtime.gauss.constrained_solve import solve
from dalembert.runtime.kernel import kernel_of

x, y, angle = da.coordinates("x y angle")
CURVE = y - sympy.Rational(2, 5) * sin(2 * x)


def along_the_curve(*constraints: sympy.Expr) -> da.Motion:
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=y**2 / 2 + x * y / 3,
        constraints=[da.holonomic(constraint) for constraint in constraints],
    )
    return da.simulate(system, {x: 0.1, y: 0.4 * np.sin(0.2), x.dot: -1.0}, (0, 3), rtol=1e-10)


@pytest.mark.parametrize("least", [1.0, 0.01, -0.1, -0.5])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_multiple_of_a_constraint_adds_nothing(least: float, is_first: bool) -> None:
    """Also where the factor, whose least value is given, passes through zero on the way."""
    alone = along_the_curve(CURVE)
    multiple = (1 + least + sin(x)) * CURVE
    motion = along_the_curve(*((multiple, CURVE) if is_first else (CURVE, multiple)))
    assert motion.success
    assert motion["x"][-1] == pytest.approx(alone["x"][-1], abs=1e-9)
    assert np.ptp(motion.energy) < 1e-10
    assert motion.statistics["steps"] < 3 * alone.statistics["steps"]


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_one_of_three_parallel_cranks_is_redundant(form: str) -> None:
    """A plate on three cranks of length one moves as a pendulum, whose angle from below is followed
    for itself.
    """
    cranks = [(x + k * cos(angle) - k) ** 2 + (y + k * sin(angle)) ** 2 - 1 for k in (0, 1, 2)]
    plate = da.System(
        [x, y, angle],
        kinetic=(x.dot**2 + y.dot**2 + (angle.dot**2) / 3) / 2,
        potential=2 * y,
        constraints=[da.holonomic(crank, name=f"crank{k}") for k, crank in enumerate(cranks)],
    )
    start = {x: np.sin(0.7), y: -np.cos(0.7), angle: 0.0, x.dot: 0.0, y.dot: 0.0, angle.dot: 0.0}
    if form == "hamilton":
        start = {
            "x": np.sin(0.7),
            "y": -np.cos(0.7),
            "angle": 0.0,
            "p_x": 0.0,
            "p_y": 0.0,
            "p_angle": 0.0,
        }
    motion = da.simulate(plate, start, (0, 4), form=form, rtol=1e-10)
    turn = da.coordinates("turn")
    pendulum = da.System([turn], kinetic=turn.dot**2 / 2, potential=-2 * cos(turn))
    swing = da.simulate(pendulum, {turn: 0.7}, (0, 4), rtol=1e-12)
    assert motion.success
    assert motion["x"][-1] == pytest.approx(np.sin(swing["turn"][-1]), abs=1e-8)
    assert np.max(np.abs(motion["angle"])) < 1e-7
    assert motion.statistics["steps"] < 3 * swing.statistics["steps"]


def test_a_row_that_passes_through_zero_gives_way_to_one_that_does_not() -> None:
    """The right side of the small row is wrong by 1e-17, which is 1e-8 of the row."""
    rows = np.array([[3e-9, -1e-9], [0.3, -0.1]])
    right = rows @ [1.0, 2.0] + [1e-17, 0.0]
    for order in ([0, 1], [1, 0]):
        found = solve(np.eye(2), [0.0, 0.0], rows[order], right[order])
        assert found.rank == 1
        assert rows[1] @ found.z == pytest.approx(right[1], rel=1e-14)


def test_a_row_that_depends_only_at_the_start_is_not_forgotten() -> None:
    """y = 0 and y = x^4 agree at the origin up to third derivatives; no motion leaves it."""
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[da.holonomic(y, name="line"), da.holonomic(y - x**4, name="quartic")],
    )
    motion = da.simulate(system, {x: 0.0, y: 0.0, x.dot: 1.0}, (0, 1), rtol=1e-9)
    assert not motion.success and "quartic" in motion.message
    assert np.ptp(motion.energy) < 1e-9


def test_a_small_contradiction_of_a_dependent_row_is_not_taken_for_rounding() -> None:
    """x' = 1 and 2 x' = 2 + 1e-7: no velocity obeys both."""
    constraints = [
        da.velocity(x.dot - 1, name="one"),
        da.velocity(2 * x.dot - 2 - sympy.Float("1e-7"), name="other"),
    ]
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=constraints)
    with pytest.raises(DalembertError, match="constraint"):
        da.simulate(system, {x: 0.0, y: 0.0, x.dot: 1.0, y.dot: 0.0}, (0, 1), project_start=True)


def test_a_context_that_is_used_again_has_forgotten_which_rows_were_left_out() -> None:
    """Else a start would depend on the starts before it."""
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[da.holonomic(CURVE), da.holonomic((2 + sin(x)) * CURVE)],
    )
    kernel = kernel_of(da.derive(system, "lagrange"), ())
    context = kernel.plain_context([])
    assert context.project(0.0, np.array([0.1, 0.4 * np.sin(0.2), 1.0, 0.8 * np.cos(0.2)])) == 0
    assert np.any(context.fields.arrays["active_rows"] != 0)
    assert not np.any(kernel.plain_context([]).fields.arrays["active_rows"])


FIXED = ("rattle4", "lobatto4", "variational-midpoint", "galerkin-lobatto4", "dla")


@pytest.mark.parametrize("method", [*FIXED, "taylor"])
@pytest.mark.parametrize("factor", [2, 2 + sin(x)], ids=["everywhere", "where they hold"])
def test_a_method_that_needs_independent_constraints_says_so(
    method: str, factor: sympy.Expr
) -> None:
    """And not that a smaller step would help, or that the motion became singular at its start."""
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y**2 / 2)
    start = {x: 0.1, y: 0.4 * np.sin(0.2), x.dot: -1.0}
    options = {"step": 0.1} if method in FIXED else {}
    single = system.replacing(constraints=[da.holonomic(CURVE)])
    assert da.simulate(single, start, (0, 1), method=method, **options).success
    double = system.replacing(constraints=[da.holonomic(CURVE), da.holonomic(factor * CURVE)])
    with pytest.raises(FormError, match=r"do not depend on each other|never independent"):
        da.simulate(double, start, (0, 1), method=method, **options)


def test_no_expansion_is_chosen_where_constraints_depend_on_each_other() -> None:
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y**2 / 2)
    system = system.replacing(constraints=[da.holonomic(CURVE), da.holonomic((2 + sin(x)) * CURVE)])
    motion = da.simulate(
        system, {x: 0.1, y: 0.4 * np.sin(0.2), x.dot: -1.0}, (0, 1), method="auto", rtol=1e-10
    )
    assert motion.success and motion.call["method"] == "dop853"
