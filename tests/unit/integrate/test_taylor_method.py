"""The Taylor method as a run: accuracy, events, constraints, dense output, lanes, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, asinh, cos, sin

import dalembert as da
from dalembert.errors import FormError


def disk() -> tuple[da.System, dict[str, float], dict[str, float]]:
    scenario = da.gallery.load("rolling-disk")
    return scenario.system, dict(scenario.parameters), dict(scenario.start)


def pendulum() -> da.System:
    angle = da.coordinates("angle")
    return da.System([angle], kinetic=angle.dot**2 / 2, potential=-cos(angle))


def rod() -> da.System:
    x, y = da.coordinates("x y")
    return da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_motion_is_right_to_its_tolerance(rtol: float) -> None:
    system, parameters, start = disk()
    exact = da.simulate(system, start, (0, 5), parameters=parameters, rtol=1e-13, at=[5.0])
    found = da.simulate(
        system, start, (0, 5), parameters=parameters, rtol=rtol, method="taylor", at=[5.0]
    )
    assert np.max(np.abs(found.y - exact.y)) < 20 * rtol * np.max(np.abs(exact.y))
    assert found.statistics["method"] == "taylor"
    assert found.statistics["rejected"] == 0


def test_it_takes_fewer_steps_than_runge_and_kutta() -> None:
    taylor, other = (
        da.simulate(pendulum(), {"angle": 2.0}, (0, 50), rtol=1e-12, method=m)
        for m in ("taylor", "dop853")
    )
    assert taylor.statistics["steps"] < 0.5 * other.statistics["steps"]


def test_backwards_and_dense_output() -> None:
    there = da.simulate(pendulum(), {"angle": 2.0}, (0, 10), rtol=1e-13, method="taylor")
    end = {"angle": there["angle"][-1], "angle_dot": there["angle_dot"][-1]}
    back = da.simulate(pendulum(), end, (10, 0), rtol=1e-13, method="taylor")
    times = np.linspace(0, 10, 41)
    np.testing.assert_allclose(back.sol(times), there.sol(times), atol=1e-11)
    exact = da.simulate(pendulum(), {"angle": 2.0}, (0, 10), rtol=1e-13, at=times)
    np.testing.assert_allclose(there.sol(times), exact.y, atol=1e-11)


def test_constraints_hold_at_every_step_and_time() -> None:
    motion = da.simulate(
        rod(), {"x": 1.0}, (0, 20), rtol=1e-10, method="taylor", at=np.linspace(0, 20, 301)
    )
    assert motion.worst_residual["position"] < 1e-14
    assert motion.worst_residual["velocity"] < 1e-13
    assert np.max(np.abs(motion.energy - motion.energy[0])) < 1e-9


def test_events_are_found() -> None:
    angle = pendulum().coordinates[0]
    motions = [
        da.simulate(
            pendulum(),
            {"angle": 1.0},
            (0, 20),
            rtol=1e-12,
            method=m,
            events=[da.event(angle, name="down")],
        )
        for m in ("taylor", "dop853")
    ]
    np.testing.assert_allclose(motions[0].t_events[0], motions[1].t_events[0], atol=1e-10)
    stopped = da.simulate(
        pendulum(),
        {"angle": 1.0},
        (0, 20),
        method="taylor",
        events=[da.event(angle, name="down", terminal=True)],
    )
    assert stopped.t[-1] == pytest.approx(motions[1].t_events[0][0], abs=1e-9)


def test_time_and_inputs_that_are_expressions() -> None:
    x, u = da.coordinates("x"), da.inputs("u")
    system = da.System([x], kinetic=x.dot**2 / 2, potential=2 * x**2, forces={x: u}, inputs=[u])
    motion = da.simulate(
        system, {x: 0.0}, (0, 5), inputs={u: sin(3 * da.t)}, method="taylor", rtol=1e-12
    )
    expected = 0.3 * np.sin(2 * motion.t) - 0.2 * np.sin(3 * motion.t)
    np.testing.assert_allclose(motion["x"], expected, atol=1e-11)


def test_a_function_of_python_is_refused() -> None:
    x, u = da.coordinates("x"), da.inputs("u")
    system = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(FormError, match="needs inputs that are expressions"):
        da.simulate(system, {x: 0.0}, (0, 1), inputs={u: lambda t, state: 1.0}, method="taylor")


def test_what_has_no_rule_is_refused() -> None:
    x = da.coordinates("x")
    with pytest.raises(FormError, match="asinh"):
        da.simulate(
            da.System([x], kinetic=x.dot**2 / 2, potential=asinh(x) ** 2),
            {x: 1.0},
            (0, 1),
            method="taylor",
        )


@pytest.mark.parametrize("name", ["knife-edge-stabilised", "so-stabilisation"])
def test_what_switches_is_refused(name: str) -> None:
    with pytest.raises(FormError, match="needs equations that are analytic"):
        da.simulate(da.gallery.load(name), method="taylor")


def test_an_absolute_value_is_refused_in_words() -> None:
    x = da.coordinates("x")
    with pytest.raises(FormError, match="an absolute value"):
        da.simulate(
            da.System([x], kinetic=x.dot**2 / 2, potential=Abs(x) ** 3),
            {x: 1.0},
            (0, 1),
            method="taylor",
        )


def test_a_singular_motion_ends_with_a_sentence() -> None:
    x = da.coordinates("x")
    falling = da.System([x], kinetic=x.dot**2 / 2, potential=-1 / x)
    motion = da.simulate(falling, {x: 1.0}, (0, 5), method="taylor", rtol=1e-8, max_steps=20_000)
    assert not motion.outcome.is_success
    assert motion.t[-1] < 1.2
    assert np.all(np.isfinite(motion.y))


def test_lanes_agree_with_single_runs_and_not_with_neighbours() -> None:
    system, parameters, start = disk()
    count = 11
    tilts = np.linspace(0.1, 0.5, count)
    many = {**{name: np.full(count, value) for name, value in start.items()}, "theta": tilts}
    for name in ("x_dot", "y_dot"):
        many.pop(name, None)
    ensemble = da.simulate(
        system,
        start=many,
        span=(0, 3),
        parameters=parameters,
        at=[1.0, 3.0],
        rtol=1e-11,
        method="taylor",
    )
    assert set(np.ravel(ensemble.outcomes)) == {"finished"}
    one = {name: float(values[4]) for name, values in many.items()}
    alone = da.simulate(
        system, one, (0, 3), parameters=parameters, at=[1.0, 3.0], rtol=1e-11, method="taylor"
    )
    for name in ("x", "psi", "theta_dot"):
        np.testing.assert_allclose(
            np.asarray(ensemble[name])[4],
            alone[name],
            rtol=0,
            atol=1e-12 * (1 + np.abs(alone[name]).max()),
        )
    fewer = {name: values[4:6] for name, values in many.items()}
    again = da.simulate(
        system,
        start=fewer,
        span=(0, 3),
        parameters=parameters,
        at=[1.0, 3.0],
        rtol=1e-11,
        method="taylor",
    )
    np.testing.assert_array_equal(np.asarray(again["x"]), np.asarray(ensemble["x"])[4:6])


def test_lanes_with_constraints_of_positions() -> None:
    starts = {"x": np.linspace(0.2, 0.9, 6)}
    ensemble = da.simulate(
        rod(), start=starts, span=(0, 4), at=[2.0, 4.0], rtol=1e-10, method="taylor"
    )
    x, y = np.asarray(ensemble["x"]), np.asarray(ensemble["y"])
    assert np.max(np.abs(x**2 + y**2 - 1)) < 1e-14
    alone = da.simulate(rod(), {"x": 0.9}, (0, 4), at=[2.0, 4.0], rtol=1e-10, method="taylor")
    np.testing.assert_allclose(x[-1], alone["x"], atol=1e-11)


def test_an_event_that_passes_twice_in_a_polynomial_motion_is_found() -> None:
    y = da.coordinates("y")
    thrown = da.System([y], kinetic=y.dot**2 / 2, potential=10 * y)
    motion = da.simulate(
        thrown, {y.dot: 10.0}, (0, 20), method="taylor", events=[da.event(y - 4.99, name="high")]
    )
    expected = 1 + np.array([-1, 1]) * np.sqrt(0.002)
    np.testing.assert_allclose(motion.t_events[0], expected, atol=1e-9)


def test_a_first_step_is_honoured_in_many_runs() -> None:
    options = {"span": (0, 3), "at": [3.0], "method": "taylor", "rtol": 1e-10}
    free = da.simulate(pendulum(), start={"angle": [1.0, 2.0]}, **options)
    short = da.simulate(pendulum(), start={"angle": [1.0, 2.0]}, first_step=1e-3, **options)
    alone = da.simulate(
        pendulum(), {"angle": 2.0}, (0, 3), at=[3.0], method="taylor", rtol=1e-10, first_step=1e-3
    )
    assert np.asarray(short["angle"])[1, -1] == alone["angle"][-1]
    np.testing.assert_allclose(np.asarray(short["angle"]), np.asarray(free["angle"]), atol=1e-9)


def test_a_neighbour_that_fails_changes_no_bit() -> None:
    x = da.coordinates("x")
    falling = da.System([x], kinetic=x.dot**2 / 2, potential=-1 / x)
    options = {"span": (0, 3), "at": [3.0], "method": "taylor", "rtol": 1e-8, "max_steps": 3000}
    speeds = np.array(
        [2.0, 0.0, 2.1, 2.2, 0.0, 2.3, 2.4]
    )  # those at rest fall into the singularity
    mixed = da.simulate(falling, start={"x": np.ones(7), "x_dot": speeds}, **options)
    fine = speeds > 0
    assert np.array_equal(np.asarray(mixed.outcomes) == "finished", fine)
    apart = da.simulate(falling, start={"x": np.ones(5), "x_dot": speeds[fine]}, **options)
    np.testing.assert_array_equal(np.asarray(mixed["x"])[fine], np.asarray(apart["x"]))
