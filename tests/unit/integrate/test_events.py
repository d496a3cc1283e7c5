"""Events of motions whose zero crossings are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

X = da.coordinates("x")
OSCILLATOR = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2)
FREE = da.System([X], kinetic=X.dot**2 / 2)
FALL = da.System([X], kinetic=X.dot**2 / 2, potential=10 * X)
#: x = cos(t): zeros at odd multiples of pi/2.
ZEROS = np.pi / 2 * np.arange(1, 13, 2)


def swing(*events: object, span: tuple[float, float] = (0, 19), **options: object) -> da.Motion:
    return da.simulate(OSCILLATOR, {X: 1.0}, span, events=events, **options)


def test_times_are_exact_to_the_last_digits() -> None:
    motion = swing(X, rtol=1e-14)
    assert np.allclose(motion.t_events[0], ZEROS, rtol=4e-15, atol=0)
    assert np.abs(motion.y_events[0][:, 0]).max() < 1e-14


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10, 1e-13])
def test_times_are_as_good_as_the_motion(rtol: float) -> None:
    motion = swing(X, rtol=rtol)
    assert np.abs(motion.t_events[0] - ZEROS).max() < 5 * rtol + 1e-14


def test_directions() -> None:
    motion = swing(da.event(X, direction=1), da.event(X, direction=-1), da.event(X), rtol=1e-12)
    up, down, both = motion.t_events
    assert np.allclose(down, ZEROS[::2]) and np.allclose(up, ZEROS[1::2])
    assert np.allclose(both, ZEROS)


def test_a_terminal_event_stops_the_motion_there() -> None:
    motion = swing(
        da.event(X + 1 / sympy.sqrt(2), direction=1, terminal=True, name="rising"), rtol=1e-13
    )
    end = 2 * np.pi - 3 * np.pi / 4
    assert motion.outcome is da.Outcome.STOPPED and motion.success and motion.status == 1
    assert motion.t[-1] == motion.t_events[0][0] == pytest.approx(end, rel=1e-14)
    assert motion.y[:, -1] == pytest.approx([-np.sqrt(0.5), np.sqrt(0.5)], abs=1e-13)
    assert "rising" in motion.message
    assert np.all(motion.t <= end + 1e-13)


def test_several_events_inside_one_step_come_in_order() -> None:
    """Levels that a single large step passes; the events after a terminal one are not reported."""
    levels = [0.9, 0.5, 0.1, -0.3]
    events = [da.event(X - level, terminal=level == 0.1) for level in levels]
    motion = da.simulate(FREE, {X: 1.0, X.dot: -1.0}, (0, 10), events=events, first_step=10.0)
    assert [times.tolist() for times in motion.t_events] == [
        pytest.approx([0.1], abs=1e-14), pytest.approx([0.5], abs=1e-14), pytest.approx([0.9],
        abs=1e-14), [],
    ]  # fmt: skip
    assert motion.t[-1] == pytest.approx(0.9, abs=1e-14)


def test_several_events_inside_one_step_backwards_come_in_the_order_of_the_run() -> None:
    events = [da.event(X - level, terminal=level == 0.1) for level in (0.9, 0.5, 0.1, -0.3)]
    motion = da.simulate(FREE, {X: 1.0, X.dot: 1.0}, (0, -10), events=events, first_step=10.0)
    assert [times.tolist() for times in motion.t_events] == [
        pytest.approx([-0.1], abs=1e-14), pytest.approx([-0.5], abs=1e-14), pytest.approx([-0.9],
        abs=1e-14), [],
    ]  # fmt: skip
    twice = da.simulate(
        FALL, {X.dot: -10.0}, (0, -1.9), events=[da.event(X - 3, terminal=True)], first_step=1.9
    )
    assert twice.t[-1] == pytest.approx(-1 + np.sqrt(0.4), abs=1e-13)


def test_an_event_that_passes_twice_inside_one_step() -> None:
    motion = da.simulate(FALL, {X.dot: 10.0}, (0, 1.9), events=[X - 3], first_step=1.9)
    times = [1 - np.sqrt(0.4), 1 + np.sqrt(0.4)]
    assert motion.t_events[0] == pytest.approx(times, abs=1e-13)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("below", [1e-2, 1e-4, 1e-6, 1e-9])
def test_a_level_just_below_the_highest_point_is_passed_twice(below: float, method: str) -> None:
    """x = 10 t - 5 t^2 is highest, 5, at t = 1; the zero crossings lie nearer to each other than
    the points of the search.
    """
    motion = da.simulate(
        FALL, {X.dot: 10.0}, (0, 1.9), events=[X - 5 + below], first_step=1.9, method=method
    )
    away = np.sqrt(below / 5)
    assert motion.t_events[0] == pytest.approx([1 - away, 1 + away], abs=1e-4 * away)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("above", [1e-9, 1e-3, 0.2])
def test_a_level_just_above_the_highest_point_is_not_passed(above: float, method: str) -> None:
    motion = da.simulate(
        FALL, {X.dot: 10.0}, (0, 1.9), events=[X - 5 - above], first_step=1.9, method=method
    )
    assert len(motion.t_events[0]) == 0


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_no_turning_point_beyond_a_level_is_missed(method: str) -> None:
    """Thirty swings, each of which passes a level a millionth below its end twice, also backwards
    in time.
    """
    level = X - 1 + 1e-6
    for span in ((0.1, 190.0), (-0.1, -190.0)):
        start = {X: np.cos(0.1), X.dot: -np.sin(span[0])}
        motion = da.simulate(
            OSCILLATOR,
            start,
            span,
            events=[level, da.event(level, direction=1)],
            method=method,
            rtol=1e-11,
        )
        away = np.arccos(1 - 1e-6)
        both = np.sort(
            np.concatenate(
                [2 * np.pi * np.arange(1, 31) - away, 2 * np.pi * np.arange(1, 31) + away]
            )
        )
        assert np.abs(motion.t_events[0]) == pytest.approx(both, abs=1e-5)
        assert np.abs(motion.t_events[1]) == pytest.approx(both[::2], abs=1e-5)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("speed", [1.0, 1e-2, 1e-4])
def test_an_event_that_leaves_zero_at_the_start_and_soon_returns(speed: float, method: str) -> None:
    """It is back after speed/5, far within the first step."""
    motion = da.simulate(FALL, {X.dot: speed}, (0, 3), events=[X], first_step=2.5, method=method)
    assert motion.t_events[0] == pytest.approx([speed / 5], rel=1e-12)


def test_an_event_that_holds_at_the_start_is_not_reported_there() -> None:
    motion = da.simulate(
        FALL, {X.dot: 10.0}, (0, 3), events=[da.event(X, terminal=True)], rtol=1e-12
    )
    assert motion.t_events[0] == pytest.approx([2.0], abs=1e-12)
    assert motion.t[-1] == pytest.approx(2.0, abs=1e-12)


def test_an_event_that_holds_at_the_start_and_returns_inside_the_first_step() -> None:
    motion = da.simulate(FALL, {X.dot: 10.0}, (0, 3), events=[da.event(X)], first_step=2.5)
    assert motion.t_events[0] == pytest.approx([2.0], abs=1e-12)


def test_an_event_exactly_at_the_end_of_a_step_is_reported_once() -> None:
    motion = da.simulate(
        FREE, {X: -1.0, X.dot: 1.0}, (0, 2), events=[X], first_step=1.0, max_step=1.0
    )
    assert motion.t_events[0] == pytest.approx([1.0], abs=1e-15)


def test_an_event_at_the_end_of_the_span_is_reported() -> None:
    motion = da.simulate(FREE, {X: -1.0, X.dot: 1.0}, (0, 1), events=[X])
    assert motion.t_events[0] == pytest.approx([1.0], abs=1e-14)


def test_events_of_time_velocity_momentum_and_parameters() -> None:
    m = da.parameters("m", positive=True)
    heavy = da.System([X], kinetic=m / 2 * X.dot**2, potential=X**2 / 2 * m)
    events = [da.t - 1.25, X.dot + 0.5, X.momentum + m / 4, X.dot**2 - X**2]
    for form in ("lagrange", "hamilton"):
        motion = da.simulate(
            heavy, {X: 1.0}, (0, 1.5), parameters={m: 3.0}, events=events, form=form, rtol=1e-12
        )
        expected = [1.25, np.pi / 6, np.arcsin(0.25), np.pi / 4]
        assert [float(times[0]) for times in motion.t_events] == pytest.approx(expected, abs=1e-11)


def test_events_backwards_in_time() -> None:
    motion = swing(da.event(X, direction=1), da.event(X, direction=-1), span=(0, -8), rtol=1e-12)
    assert motion.t_events[0] == pytest.approx([-3 * np.pi / 2], abs=1e-11)
    assert motion.t_events[1] == pytest.approx([-np.pi / 2, -5 * np.pi / 2], abs=1e-11)


def test_events_do_not_disturb_the_motion() -> None:
    plain, watched = swing(rtol=1e-9), swing(X, X.dot, rtol=1e-9)
    assert np.array_equal(plain.t, watched.t)
    assert np.array_equal(plain.y, watched.y)


def test_events_on_a_constraint() -> None:
    """A pendulum in Cartesian coordinates: the states of events obey the constraint."""
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=y,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )
    motion = da.simulate(
        system, {x: 1.0, y: 0.0}, (0, 8), events=[da.event(x, name="bottom")], rtol=1e-10
    )
    states = motion.y_events[0]
    assert len(states) >= 2
    assert np.abs(states[:, 0] ** 2 + states[:, 1] ** 2 - 1).max() < 1e-14
    assert states[:, 2] ** 2 == pytest.approx(2.0, abs=1e-8)  # energy: v^2 / 2 = 1 at the bottom


def test_names_and_shapes() -> None:
    motion = swing(X - 5, da.event(X, name="middle"))
    assert motion.event_names == ("event1", "middle")
    assert motion.t_events[0].shape == (0,) and motion.y_events[0].shape == (0, 2)
    assert motion.y_events[1].shape == (len(ZEROS), 2)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: da.event("x"),
        lambda: da.event(X, direction=2),
        lambda: da.event(X, terminal="no"),
        lambda: da.event(X, name=3),
        lambda: swing(lambda t, y: y[0]),
        lambda: swing(da.coordinates("y") - 1),
        lambda: swing(sympy.Symbol("x") - 1),
        lambda: swing(X.ddot),
        lambda: swing(da.parameters("stiffness") - X),
        lambda: swing(sympy.gamma(X)),
    ],
    ids=[
        "text",
        "direction",
        "terminal",
        "name",
        "function",
        "foreign",
        "plain symbol",
        "acceleration",
        "parameter",
        "special function",
    ],
)
def test_events_that_make_no_sense(wrong: object) -> None:
    with pytest.raises(ModelError):
        wrong()
