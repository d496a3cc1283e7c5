"""At the edges of numbers a motion is right, or says what is wrong: units, denormal numbers, ranks,
nearly singular equations.

`python -m soak edges` runs the whole grid.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.codegen.passes.magnitudes import magnitudes
from dalembert.errors import ModelError, StartError

x, y, theta = da.coordinates("x y theta")
m, l, g, a, k = da.parameters("m l g a k")
KINETIC = m / 2 * (x.dot**2 + y.dot**2)
PENDULUM = da.System(
    [x, y],
    kinetic=KINETIC,
    potential=m * g * y,
    constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
)
BALL = da.System(
    [x],
    kinetic=x.dot**2 / 2,
    potential=g * x,
    constraints=[da.unilateral(-x, restitution=0.5, name="floor")],
)
SMALL, LARGE = 2.0**-40, 2.0**40


def pendulum(unit: float, start: dict, **options) -> da.Motion:
    """The pendulum with lengths in a unit."""
    values = {m: 1.0, l: unit, g: 8.0 * unit}
    begin = {symbol: value * unit for symbol, value in start.items()}
    return da.simulate(PENDULUM, begin, (0, 1), parameters=values, atol=1e-12 * unit, **options)


@pytest.mark.parametrize("unit", [SMALL, LARGE], ids=["small", "large"])
def test_a_start_is_completed_in_any_unit_of_length(unit):
    first, second = pendulum(1.0, {x: 0.6}), pendulum(unit, {x: 0.6})
    assert second.start_report and second.start["y"] / unit == pytest.approx(
        first.start["y"], rel=1e-12
    )
    assert abs(second["x"][-1] / unit - first["x"][-1]) < 1e-9


@pytest.mark.parametrize("unit", [SMALL, LARGE], ids=["small", "large"])
def test_a_start_off_its_constraints_is_moved_and_said_to_be_in_any_unit(unit):
    first, second = pendulum(1.0, {x: 0.7, y: -0.8}), pendulum(unit, {x: 0.7, y: -0.8})
    assert "Moved to the constraints" in second.start_report[0]
    assert abs(second["x"][-1] / unit - first["x"][-1]) < 1e-9
    with pytest.raises(StartError, match="rod"):
        pendulum(unit, {x: 0.7, y: -0.8}, project_start=False)


def test_many_starts_are_completed_as_single_ones_in_small_units():
    values = {m: 1.0, l: SMALL, g: 8.0 * SMALL}
    places = np.array([0.6, -0.3]) * SMALL
    many = da.simulate(PENDULUM, {x: places}, (0, 1), parameters=values, atol=1e-12 * SMALL)
    for place, end in zip(places, many.final["x"], strict=True):
        assert (
            da.simulate(PENDULUM, {x: place}, (0, 1), parameters=values, atol=1e-12 * SMALL)["x"][
                -1
            ]
            == end
        )


@pytest.mark.long
@pytest.mark.parametrize(("length", "time"), [(SMALL, 1.0), (1.0, SMALL), (LARGE, LARGE)])
def test_a_ball_bounces_alike_in_any_unit(length, time):
    def dropped(unit: float, second: float) -> da.Motion:
        strength = {g: 8.0 * unit / second**2}
        return da.simulate(
            BALL,
            {x: unit},
            (0, 2 * second),
            parameters=strength,
            atol=[1e-12 * unit, 1e-12 * unit / second],
        )

    first, other = dropped(1.0, 1.0), dropped(length, time)
    assert len(first.impacts) > 20
    np.testing.assert_allclose(
        [t / time for t, _ in other.impacts], [t for t, _ in first.impacts], rtol=1e-12
    )


def test_implicit_steps_evaluate_projected_every_symbol_whatever_its_unit():
    blade = da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
    turning = m * l**2 / 8 * theta.dot**2
    sleigh = da.System(
        [x, y, theta], kinetic=KINETIC + turning, potential=m * g * x / 8, constraints=[blade]
    )
    ends = []
    for unit in (1.0, SMALL):
        values = {m: 1.0, l: unit, g: 8.0 * unit}
        motion = da.simulate(
            sleigh,
            {x.dot: unit, theta.dot: 0.5},
            (0, 1),
            parameters=values,
            method="dla4",
            step=1 / 32,
        )
        ends.append(motion["y"][-1] / unit)
    assert abs(ends[1] - ends[0]) < 1e-9


def test_terms_measure_a_residual():
    symbols, empty = ca.SX.sym("q", 2), ca.SX(0, 1)
    column = ca.vertcat(
        symbols[0] ** 2 + symbols[1] ** 2 - 25,
        ca.cos(symbols[0]) - symbols[1],
        2 * (symbols[0] - symbols[1]),
    )
    size = ca.Function(
        "size", [symbols], [magnitudes([empty, symbols, empty, empty, empty], column)]
    )([3.0, -4.0])
    np.testing.assert_allclose(size.full().ravel(), [50.0, abs(np.cos(3.0)) + 4.0, 14.0])


def test_numbers_that_lose_their_digits_are_refused_or_told():
    spring = da.System([x], kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
    with pytest.raises(ModelError, match="lose their digits"):
        da.simulate(spring, {x: 1.0}, (0, 1), parameters={m: 5e-324, k: 5e-324})
    one = {m: 1.0, k: 1.0}
    assert "few digits" in da.simulate(spring, {x: 1e-11}, (0, 1), parameters=one).message
    assert (
        da.simulate(spring, {x: 1e-11}, (0, 1), parameters=one, atol=1e-23).message
        == "The motion was followed to t = 1."
    )
    assert (
        "lose their digits"
        in da.simulate(
            spring, {x: 5e-324}, (0, 1), parameters=one, method="gauss4", step=0.5
        ).message
    )
    assert not da.simulate(
        spring, {x: 1e200}, (0, 1), parameters=one
    ).success  # and no warning of an overflow


def walls(angle: float) -> da.Motion:
    """A particle between two walls at an angle, which leave it no way to move in y."""
    rows = [x.dot - 1, sympy.cos(a) * (x.dot - 1) + sympy.sin(a) * y.dot]
    bound = [da.velocity(row, name=name) for name, row in zip("AB", rows, strict=True)]
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=x**2 / 2 - 3 * x - 5 * y,
        constraints=bound,
    )
    return da.simulate(da.derive(system, "lagrange"), {x.dot: 1.0}, (0, 1), parameters={a: angle})


def test_the_decision_on_rank_is_told():
    assert walls(0.5).message == "The motion was followed to t = 1."
    near, dropped = walls(1e-8), walls(1e-12)
    assert abs(near["y"][-1]) < 1e-6 and "nearly singular" in near.message
    assert (
        abs(dropped["y"][-1] - 2.5) < 1e-9
        and "1 row of the constraints depended on the others" in dropped.message
    )


def test_a_rank_that_changes_is_told():
    blades = [
        da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="A"),
        da.velocity(y.dot, name="B"),
    ]
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    system = da.System([x, y, theta], kinetic=kinetic, potential=-3 * x - 5 * y, constraints=blades)
    motion = da.simulate(system, {theta.dot: 1.0}, (0, 1), form="lagrange")
    assert "rank of the constraints changed" in motion.message
    assert (
        "nearly singular"
        in da.simulate(
            da.System(
                [x, y], kinetic=x.dot**2 / 2 + m * (x.dot + y.dot) ** 2 / 2, potential=x**2 / 2
            ),
            {x: 1.0},
            (0, 1),
            parameters={m: 1e9},
        ).message
    )
