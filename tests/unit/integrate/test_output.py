"""Where a motion is stored: steps, chosen times, dense output, both directions of time, and no time
at all.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError

X = da.coordinates("x")
OSCILLATOR = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2)


def pendulum() -> tuple[da.System, dict]:
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=y,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )
    return system, {x: 1.0, y: 0.0}


def test_chosen_times_are_those_and_in_their_order() -> None:
    times = [3.0, 0.0, 1.5, 1.5, 10.0, 0.25]
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), at=times, rtol=1e-12)
    assert motion.t.tolist() == times
    assert np.allclose(motion["x"], np.cos(times), atol=1e-11)


def test_few_chosen_times_are_as_exact_as_the_steps() -> None:
    """Each is reached by a step of its own: nothing is lost between the steps."""
    times = np.linspace(0, 10, 77)
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), at=times, rtol=1e-14)
    assert np.abs(motion["x"] - np.cos(times)).max() < 2e-14


def test_a_single_time() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), at=2.0, rtol=1e-12)
    assert motion.y.shape == (2, 1)


@pytest.mark.parametrize("count", [40, 1000])
def test_chosen_times_do_not_change_the_steps(count: int) -> None:
    """Few times are reached by steps of their own, many by dense output: neither moves the grid of
    steps.
    """
    times = np.linspace(0, 10, count)
    plain, chosen = (
        da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), at=at, rtol=1e-9) for at in (None, times)
    )
    assert plain.statistics["steps"] == chosen.statistics["steps"]
    assert np.array_equal(plain.y[:, -1], chosen.y[:, -1])


def test_exact_and_dense_times_agree_to_the_tolerance() -> None:
    system, start = pendulum()
    few, many = np.linspace(0, 10, 101), np.linspace(0, 10, 2001)
    exact = da.simulate(system, start, (0, 10), at=few, rtol=1e-10)
    dense = da.simulate(system, start, (0, 10), at=many, rtol=1e-10)
    assert np.abs(exact.y - dense.y[:, ::20]).max() < 1e-9
    for motion in (exact, dense):
        assert max(motion.worst_residual.values()) < 1e-12
    tight = da.simulate(system, start, (0, 10), at=few, rtol=1e-14)
    assert np.abs(exact.y - tight.y).max() < 2e-9


def test_dense_output_takes_any_shape() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), rtol=1e-11)
    assert motion.sol(2.0).shape == (2,)
    assert motion.sol(np.zeros((3, 4))).shape == (2, 3, 4)
    times = np.linspace(0, 10, 333)
    assert np.abs(motion.sol(times)[0] - np.cos(times)).max() < 1e-9
    assert np.abs(motion.sol(times)[1] + np.sin(times)).max() < 1e-9
    assert np.array_equal(motion.sol(motion.t), motion.y)


def test_dense_output_of_a_motion_that_was_stored_at_chosen_times() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), at=[0, 10], rtol=1e-11)
    assert abs(motion.sol(5.0)[0] - np.cos(5.0)) < 1e-9


def test_dense_output_outside_the_motion_is_refused() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10))
    for time in (-0.1, 10.1, np.nan):
        with pytest.raises(ModelError, match="outside"):
            motion.sol(time)


def test_backwards_in_time() -> None:
    times = [-4.0, -1.0, 0.0]
    motion = da.simulate(OSCILLATOR, {X: 1.0, X.dot: 0.5}, (0, -4), at=times, rtol=1e-12)
    assert motion.t.tolist() == times
    assert np.allclose(motion["x"], np.cos(times) + 0.5 * np.sin(times), atol=1e-11)
    steps = da.simulate(OSCILLATOR, {X: 1.0, X.dot: 0.5}, (0, -4), rtol=1e-12)
    assert steps.t[0] == 0 and steps.t[-1] == -4 and np.all(np.diff(steps.t) < 0)
    assert abs(steps.sol(-2.5)[0] - (np.cos(2.5) - 0.5 * np.sin(2.5))) < 1e-10


def test_no_time_at_all() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (2, 2))
    assert motion.outcome is da.Outcome.FINISHED
    assert motion.t.tolist() == [2.0] and motion.y.tolist() == [[1.0], [0.0]]
    assert motion["x_ddot"].tolist() == [-1.0]
    assert motion.sol(2.0).tolist() == [1.0, 0.0]
    stored = da.simulate(OSCILLATOR, {X: 1.0}, (2, 2), at=[2, 2], events=[X])
    assert stored["x"].tolist() == [1.0, 1.0]


def test_steps_begin_and_end_with_the_span() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0.1, 7.3))
    assert motion.t[0] == 0.1 and motion.t[-1] == 7.3
    assert np.all(np.diff(motion.t) > 0)


def test_the_longest_and_the_first_step_are_kept() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 2), rtol=0.1, max_step=0.125, first_step=0.125)
    assert np.diff(motion.t) == pytest.approx(0.125)


def test_more_steps_than_a_buffer_holds() -> None:
    motion = da.simulate(OSCILLATOR, {X: 1.0}, (0, 10), rtol=0.1, max_step=1e-3)
    assert len(motion.t) == 10_001
    assert np.abs(motion["x"] - np.cos(motion.t)).max() < 1e-11
    assert abs(motion.sol(7.77777)[0] - np.cos(7.77777)) < 1e-11


def test_everything_has_a_name() -> None:
    system, start = pendulum()
    x = system.coordinates[0]
    motion = da.simulate(system, start, (0, 1))
    assert set(motion.names) >= {
        "t",
        "x",
        "y",
        "x_dot",
        "y_dot",
        "x_ddot",
        "y_ddot",
        "p_x",
        "p_y",
        "energy",
    }
    for name in motion.names:
        assert motion[name].shape == motion.t.shape, name
    assert np.array_equal(motion[x.dot], motion["x_dot"])
    with pytest.raises(ModelError, match="x_dot"):
        motion["x_dott"]
    assert motion.reactions["rod"].force.shape == (2, len(motion.t))
    assert motion.nfev == motion.statistics["nfev"] > 0
    tension = motion.reactions["rod"].multiplier[0]
    assert np.allclose(
        motion.total_reaction, [2 * tension * motion["x"], 2 * tension * motion["y"]], atol=1e-12
    )
    # Newton: the acceleration is the reaction and gravity, for unit mass
    assert np.allclose(motion["x_ddot"], motion.total_reaction[0], atol=1e-10)
    assert np.allclose(motion["y_ddot"], motion.total_reaction[1] - 1, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"span": (0,)}, "span"),
        ({"span": (0, np.inf)}, "finite"),
        ({"span": None}, "span"),
        ({"at": [11.0]}, "outside"),
        ({"at": ["x"]}, "numbers"),
        ({"at": [np.nan]}, "outside"),
        ({"method": "euler"}, "method"),
        ({"rtol": 0.0}, "rtol"),
        ({"rtol": "tight"}, "rtol"),
        ({"rtol": np.nan}, "rtol"),
        ({"atol": -1.0}, "atol"),
        ({"atol": [1e-9, 1e-9, 1e-9]}, "atol"),
        ({"max_step": 0.0}, "max_step"),
        ({"max_step": "big"}, "max_step"),
        ({"first_step": -1.0}, "first_step"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_steps": 2.5}, "max_steps"),
        ({"project": "no"}, "project"),
        ({"project_start": "no"}, "project_start"),
        ({"events": 3}, "list"),
        ({"form": 3}, "form"),
        ({"form": "newton"}, "form"),
        ({"inputs": {"u": 1.0}}, "input"),
        ({"start": ["x", 1.0]}, "start"),
    ],
)
def test_wrong_calls_are_refused_before_anything_runs(options: dict, message: str) -> None:
    arguments = {"start": {X: 1.0}, "span": (0, 10)} | options
    with pytest.raises(ModelError, match=message):
        da.simulate(OSCILLATOR, **arguments)


@pytest.mark.long
def test_a_motion_outlives_everything_it_was_made_with() -> None:
    u = da.inputs("u")
    driven = da.System([X], kinetic=X.dot**2 / 2, forces={X: u}, inputs=[u])
    motion = da.simulate(
        driven, {X: 0.0}, (0, 3), inputs={u: lambda t, state: np.cos(t)}, rtol=1e-10
    )
    gc.collect()
    assert np.allclose(motion["u"], np.cos(motion.t), atol=1e-14)
    assert abs(motion.sol(1.5)[0] - (1 - np.cos(1.5))) < 1e-8
    assert np.allclose(motion["x_ddot"], np.cos(motion.t), atol=1e-12)


def test_dense_output_takes_times_in_any_order_and_none():
    x = da.coordinates("x")
    motion = da.simulate(
        da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2), {x: 1.0}, (0, 30)
    )
    times = np.random.default_rng(0).uniform(0, 30, (40, 5))
    assert np.max(np.abs(motion.sol(times)[0] - np.cos(times))) < 1e-8
    assert motion.sol([]).shape == (2, 0)


@pytest.mark.parametrize(
    ("name", "part"), [("rod", "force"), ("mu_rod", "multiplier"), ("lambda_rod", "multiplier")]
)
def test_the_name_of_a_constraint_points_to_its_reaction(name, part):
    motion = _held()
    for ask in (lambda: motion[name], lambda: motion.plot([name])):
        with pytest.raises(ModelError, match=rf'read motion.reactions\["rod"\].{part}'):
            ask()


def test_reactions_say_what_was_meant_and_are_a_mapping():
    reactions = _held().reactions
    with pytest.raises(KeyError, match="did you mean `rod`") as caught:
        reactions["rodd"]
    assert isinstance(caught.value, ModelError) and str(caught.value).startswith(
        "The motion has no reaction"
    )
    assert (
        list(reactions) == ["rod"]
        and "rod" in reactions
        and "rodd" not in reactions
        and reactions.get("rodd") is None
    )
    x = da.coordinates("x")
    np.testing.assert_allclose(reactions["rod"].force[0], -2.0, atol=1e-12)
    np.testing.assert_array_equal(
        reactions[da.holonomic(x, name="rod")].force, reactions["rod"].force
    )


def _held():
    """x is held against the force 2."""
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        forces={x: 2},
        constraints=[da.holonomic(x, name="rod")],
    )
    return da.simulate(system, {y.dot: 1.0}, (0, 1), at=[0, 0.5, 1])
