"""Sampled laws: the discrete-time closed loop by SciPy, limits, noise, delays, contacts."""

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

import dalembert as da
from dalembert.errors import ModelError

x = da.coordinates("x")
u, w = da.inputs("u w")
MASS = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2, forces={x: u}, inputs=[u])
A = np.array([[0.0, 1.0], [-1.0, 0.0]])
GAIN = np.array([4.0, 3.0])


def moved(state, force, h):
    """x_ddot = -x + u with a constant force over h, by the exponential of the augmented matrix."""
    block = np.zeros((3, 3))
    block[:2, :2], block[1, 2] = A, 1.0
    return (expm(block * h) @ np.append(state, force))[:2]


def closed_loop(start, period, delay, count, command):
    """The states at the samples of a loop whose delay is shorter than its period."""
    state, force, found = np.array(start), 0.0, []
    for k in range(count):
        found.append(state)
        new = command(k, state)
        state = moved(moved(state, force, delay), new, period - delay)
        force = new
    return np.array([*found, state])


@pytest.mark.parametrize("delay", [0.0, 0.03])
def test_sampled_feedback_is_the_discrete_time_system(delay):
    loop = da.control.sampled({u: -4 * x - 3 * x.dot}, 0.1, delay=delay)
    at = 0.1 * np.arange(31)
    motion = da.simulate(MASS, {x: 1.0}, (0, 3), inputs=loop, at=at, rtol=1e-12)
    expected = closed_loop([1.0, 0.0], 0.1, delay, 30, lambda k, y: -GAIN @ y)
    assert np.max(np.abs(motion.y.T - expected)) < 1e-11
    assert np.allclose(motion.samples.commands["u"], -expected[:-1] @ GAIN, atol=1e-11)


def test_a_delay_of_several_periods_applies_old_commands():
    loop = da.control.sampled({u: -x}, 0.1, delay=0.25)
    at = 0.1 * np.arange(21)
    motion = da.simulate(MASS, {x: 1.0}, (0, 2), inputs=loop, at=at, rtol=1e-12)
    state, found = np.array([1.0, 0.0]), [np.array([1.0, 0.0])]
    for k in range(20):
        old = [-found[j][0] if j >= 0 else 0.0 for j in (k - 3, k - 2)]
        state = moved(moved(state, old[0], 0.05), old[1], 0.05)
        found.append(state)
    assert np.max(np.abs(motion.y.T - np.array(found))) < 1e-11


def test_limits_round_then_bound_the_change_then_the_size():
    loop = da.control.sampled(
        {u: -4 * x - 3 * x.dot}, 0.1,
        bounds={u: (-1, 0.5)}, rate={u: 6}, quantum={u: 0.25, x: 0.125},
    )  # fmt: skip
    at = 0.1 * np.arange(41)
    motion = da.simulate(MASS, {x: 1.0}, (0, 4), inputs=loop, at=at, rtol=1e-12)
    last = [0.0]

    def command(k, state):
        read = np.array([0.125 * np.floor(state[0] / 0.125 + 0.5), state[1]])
        value = 0.25 * np.floor(-GAIN @ read / 0.25 + 0.5)
        value = np.clip(value, last[0] - 0.6, last[0] + 0.6)
        last[0] = float(np.clip(value, -1, 0.5))
        return last[0]

    expected = closed_loop([1.0, 0.0], 0.1, 0.0, 40, command)
    assert np.max(np.abs(motion.y.T - expected)) < 1e-10
    given = motion.samples.commands["u"]
    assert given.min() == -1 and np.max(np.abs(np.diff(given, prepend=0))) <= 0.6 + 1e-12


def test_a_first_order_hold_continues_linearly():
    loop = da.control.sampled({u: sympy.sin(da.t)}, 0.1, hold="first")
    motion = da.simulate(MASS, {}, (0, 2), inputs=loop)
    times = np.linspace(0.213, 1.981, 56)
    k = np.floor(times / 0.1)
    now, before = np.sin(0.1 * k), np.sin(0.1 * (k - 1))
    expected = now + (now - before) * (times - 0.1 * k) / 0.1
    at = da.simulate(MASS, {}, (0, 2), inputs=loop, at=times)
    assert np.max(np.abs(at["u"] - expected)) < 1e-12
    error = np.max(np.abs(at["u"] - np.sin(times)))
    held = da.simulate(
        MASS, {}, (0, 2), inputs=da.control.sampled({u: sympy.sin(da.t)}, 0.1), at=times
    )
    assert error < 0.25 * np.max(np.abs(held["u"] - np.sin(times)))
    assert motion.success


def test_memory_is_an_integrator_and_a_python_law_is_the_same():
    z = sympy.Symbol("z")
    loop = da.control.sampled(
        {u: -2 * x - 2 * x.dot - 3 * z}, 0.05, memory={z: (0.0, z + 0.05 * (x - 0.2))}
    )

    class Integrating:
        def __init__(self):
            self.z = 0.0

        def fresh(self):
            return Integrating()

        def __call__(self, t, y):
            command = -2 * y["x"] - 2 * y["x_dot"] - 3 * self.z
            self.z += 0.05 * (y["x"] - 0.2)
            return command

    slow = da.control.sampled(Integrating(), 0.05, inputs=[u])
    native, python = (da.simulate(MASS, {x: 1.0}, (0, 60), inputs=law) for law in (loop, slow))
    assert abs(native["x"][-1] - python["x"][-1]) < 1e-10
    assert abs(native["x"][-1] - 0.2) < 1e-3
    again = da.simulate(MASS, {x: 1.0}, (0, 60), inputs=slow)
    assert again["x"][-1] == python["x"][-1]
    assert abs(np.sum(native.samples.measured["x"][:-1] - 0.2) * 0.05
               - native.samples.memory["z"][-1]) < 1e-12  # fmt: skip


def test_noise_has_its_deviation_and_its_seed():
    pushed = da.System(
        [x], kinetic=x.dot**2 / 2, potential=x**2 / 2, forces={x: u + w}, inputs=[u, w]
    )
    law = {u: -4 * x - 3 * x.dot}
    loop = da.control.sampled(law, 0.01, noise={x: 0.02, w: 0.5}, seed=7)
    motion = da.simulate(pushed, {}, (0, 40), inputs=loop)
    exact = motion.sol(motion.samples.times)[0]
    error = motion.samples.measured["x"] - exact
    assert abs(np.std(error) / 0.02 - 1) < 0.05 and abs(np.mean(error)) < 0.002
    held = da.simulate(pushed, {}, (0, 40), inputs=loop, at=motion.samples.times + 0.005)["w"]
    assert abs(np.std(held) / 0.5 - 1) < 0.05 and len(np.unique(held)) == 4000
    assert abs(np.corrcoef(error, held)[0, 1]) < 0.05
    again = da.simulate(pushed, {}, (0, 40), inputs=loop)
    other = da.control.sampled(law, 0.01, noise={x: 0.02, w: 0.5}, seed=8)
    assert np.array_equal(again.y, motion.y)
    assert not np.array_equal(
        da.simulate(pushed, {}, (0, 1), inputs=other).y[:, -1], motion.y[:, -1]
    )


def test_every_run_of_an_ensemble_draws_its_own_noise():
    loop = da.control.sampled({u: -4 * x - 3 * x.dot}, 0.05, noise={x: 0.05, u: 0.3}, seed=3)
    runs = da.simulate(MASS, {x: np.full(40, 0.1)}, (0, 5), inputs=loop)
    final = runs.final["x"]
    assert runs.success and len(np.unique(final)) == 40
    one = da.simulate(MASS, {x: np.full(40, 0.1)}, (0, 5), inputs=loop, workers=1)
    assert np.array_equal(one.final["x"], final)
    assert abs(runs.motion(17)["x"][-1] - final[17]) < 1e-12
    single = da.simulate(MASS, {x: 0.1}, (0, 5), inputs=loop)
    assert abs(single["x"][-1] - final[0]) < 1e-12


def test_a_law_reads_velocities_that_constraints_determine():
    y, theta = da.coordinates("y theta")
    rolling = da.System(
        [y, theta], kinetic=y.dot**2 / 2 + theta.dot**2 / 4, forces={theta: u}, inputs=[u],
        constraints=[da.velocity(y.dot - theta.dot, name="rolling")],
    )  # fmt: skip
    loop = da.control.sampled({u: -1.5 * y.dot - 1.5 * y}, 0.1)
    motion = da.simulate(rolling, {y: 1.0, theta: 0.0}, (0, 2), inputs=loop, at=[2.0], rtol=1e-12)
    state = np.array([1.0, 0.0])
    for _ in range(20):  # 3/2 y_ddot = u
        force = (-1.5 * state[1] - 1.5 * state[0]) / 1.5
        state = np.array([state[0] + 0.1 * state[1] + 0.005 * force, state[1] + 0.1 * force])
    assert (
        abs(motion["y"][-1] - state[0]) < 1e-11 and abs(motion["theta_dot"][-1] - state[1]) < 1e-11
    )


def test_a_contact_opens_where_a_command_jumps():
    floor = da.unilateral(-x, name="floor")
    g = da.parameters("g", positive=True)
    block = da.System(
        [x], kinetic=x.dot**2 / 2, potential=g * x, forces={x: u}, inputs=[u], constraints=[floor]
    )
    loop = da.control.sampled({u: sympy.Piecewise((0, da.t < 0.999), (3, True))}, 0.1)
    motion = da.simulate(block, {x: 0.0}, (0, 2), parameters={g: 1.0}, inputs=loop)
    assert abs(motion["x"][-1] - 1.0) < 1e-9  # half (3 - 1) 1^2
    assert motion.samples.times[-1] == pytest.approx(1.9)


def test_events_are_met_between_and_at_samples():
    loop = da.control.sampled({u: -4 * x - 3 * x.dot}, 0.1)
    stop = da.event(x - 0.5, terminal=True)
    motion = da.simulate(MASS, {x: 1.0}, (0, 3), inputs=loop, events=[stop])
    assert abs(motion["x"][-1] - 0.5) < 1e-9 and motion.t[-1] < 3
    assert len(motion.samples.times) == np.floor(motion.t[-1] / 0.1) + 1
    jump = da.event(u + 2.5, terminal=False)
    found = da.simulate(MASS, {x: 1.0}, (0, 1), inputs=loop, events=[jump]).t_events[0]
    given = motion.samples.commands["u"]
    expected = 0.1 * (np.flatnonzero(np.diff(np.sign(given + 2.5))) + 1)
    assert np.allclose(found[found > 0.01], expected, atol=1e-9)


def test_the_motion_keeps_the_inputs_as_tables(tmp_path):
    loop = da.control.sampled({u: -4 * x - 3 * x.dot}, 0.1, delay=0.02, noise={x: 0.01})
    motion = da.simulate(MASS, {x: 1.0}, (0, 3), inputs=loop)
    table = motion.call["tables"]["u"]
    again = da.simulate(
        MASS, {x: 1.0}, (0, 3),
        inputs={u: da.control.InputTable(table["times"], table["coefficients"])},
    )  # fmt: skip
    times = np.linspace(0, 3, 301)
    assert np.max(np.abs(again.sol(times) - motion.sol(times))) < 1e-9
    power = np.trapezoid(motion["u"] * motion["x_dot"], motion.t)
    assert abs(motion.energy[-1] - motion.energy[0] - power) < 0.01


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"law": {u: -x}, "period": 0.0}, "period"),
        ({"law": {u: -x}, "period": 0.1, "delay": -1}, "delay"),
        ({"law": {u: -x}, "period": 0.1, "hold": "cubic"}, "rule"),
        ({"law": {}, "period": 0.1}, "at least one"),
        ({"law": {u: -x}, "period": 0.1, "bounds": {u: (1, -1)}}, "bounds"),
        ({"law": {u: -x}, "period": 0.1, "bounds": {u: (1, 2)}}, "initial"),
        ({"law": {u: -x}, "period": 0.1, "rate": {"v": 1}}, "does not command"),
        ({"law": lambda t, y: 0.0, "period": 0.1}, "name its inputs"),
        ({"law": {u: -x}, "period": 0.1, "noise": {x: -1}}, "at least 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_sampled_is_said(options, words):
    with pytest.raises(ModelError, match=words):
        da.control.sampled(**options)


def test_what_cannot_be_run_is_said():
    k = da.parameters("k")
    law = da.control.sampled({u: -k * x}, 0.1)
    with pytest.raises(ModelError, match="reads `k`"):
        da.simulate(MASS, {x: 1.0}, (0, 1), inputs=law)
    law = da.control.sampled({u: -x}, 0.1, noise={"speed": 0.1})
    with pytest.raises(ModelError, match="`speed` has noise"):
        da.simulate(MASS, {x: 1.0}, (0, 1), inputs=law)
    law = da.control.sampled({u: -x}, 0.1)
    for options in ({"method": "gauss4", "step": 0.1}, {"span": (1, 0)}):
        with pytest.raises(ModelError, match="dop853"):
            da.simulate(MASS, {x: 1.0}, options.pop("span", (0, 1)), inputs=law, **options)
    with pytest.raises(ModelError, match="at most"):
        da.simulate(MASS, {x: 1.0}, (0, 1e9), inputs=law)
    law = da.control.sampled(lambda t, y: float("nan"), 0.1, inputs=[u])
    with pytest.raises(ModelError, match="finite numbers for u"):
        da.simulate(MASS, {x: 1.0}, (0, 1), inputs=law)
