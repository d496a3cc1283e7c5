"""Systems and controllers of python-control, to and from."""

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

ct = pytest.importorskip("control", reason="python-control is the extra `control`")
from dalembert.control import from_control, to_control  # noqa: E402

x, theta = da.coordinates("x theta")
u = da.inputs("u")
k = da.parameters("k", positive=True)
SPRING = da.System([x], kinetic=x.dot**2 / 2, potential=k * x**2 / 2, forces={x: u}, inputs=[u])


def test_a_linearisation_is_a_state_space_with_its_transfer_function():
    line = da.analysis.linearise(SPRING, parameters={k: 4.0})
    plant = to_control(line, outputs=[x])
    found = ct.ss2tf(plant)
    for s in (0.3j, 1 + 2j, -0.5 + 0.1j):
        assert abs(found(s) - 1 / (s**2 + 4)) < 1e-12
    held = to_control(line, period=0.1)
    assert held.dt == 0.1 and held.state_labels == ["x", "x_dot"]
    w = 2.0
    expected = [[np.cos(w * 0.1), np.sin(w * 0.1) / w], [-w * np.sin(w * 0.1), np.cos(w * 0.1)]]
    assert np.allclose(held.A, expected)


def test_a_constrained_model_is_a_nonlinear_system():
    y = da.coordinates("y")
    rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    pendulum = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=k * y, forces={x: u}, inputs=[u],
        constraints=[rod],
    )  # fmt: skip
    plant = to_control(pendulum, {k: 9.81}, outputs={"angle": sympy.atan2(x, -y)})
    start = {x: 0.6, y: -0.8}
    times = np.linspace(0, 1, 101)
    push = np.sin(times)
    state = [{"x": 0.6, "y": -0.8}.get(name, 0.0) for name in plant.state_labels]
    found = ct.input_output_response(
        plant, times, push, state, solve_ivp_kwargs={"rtol": 1e-9, "atol": 1e-11}
    )
    motion = da.simulate(
        pendulum, start, (0, 1), parameters={k: 9.81}, at=times,
        inputs={u: da.control.input_table(times, push)},
    )  # fmt: skip
    angle = np.arctan2(motion["x"], -motion["y"])
    assert np.max(np.abs(found.outputs - angle)) < 1e-6
    assert plant.params == {"k": 9.81}


def test_a_discrete_controller_is_a_sampled_law():
    gain = ct.ss([[0.5]], [[1.0]], [[-2.0]], [[-3.0]], 0.05)
    loop = from_control(gain, [u], [x], references={x: 0.5})
    motion = da.simulate(SPRING, {x: 1.0}, (0, 2), parameters={k: 1.0}, inputs=loop)
    z = 0.0
    for measured, command in zip(
        motion.samples.measured["x"], motion.samples.commands["u"], strict=True
    ):
        assert command == pytest.approx(-2 * z - 3 * (measured - 0.5), abs=1e-12)
        z = 0.5 * z + measured - 0.5
    closed = ct.feedback(
        ct.c2d(ct.ss([[0, 1], [-1, 0]], [[0], [1]], [[1, 0]], 0), 0.05, "zoh"), gain, sign=1
    )
    response = ct.forced_response(closed, np.arange(40) * 0.05, np.zeros(40), [1.0, 0.0, 0.0])
    free = da.simulate(
        SPRING, {x: 1.0}, (0, 2), parameters={k: 1.0}, inputs=from_control(gain, [u], [x])
    )
    assert np.allclose(free.samples.measured["x"], response.outputs, atol=1e-9)


def test_a_continuous_system_is_a_flow():
    filtered = from_control(ct.tf([1.0], [1.0, 0.4, 4.0]))
    (symbol,) = filtered.inputs
    motion = da.simulate(filtered, {}, (0, 30), inputs={symbol: 1.0})
    name = next(iter(filtered.outputs))
    assert abs(motion[name][-1] - 0.25) < 2e-3
    response = ct.step_response(ct.tf([1.0], [1.0, 0.4, 4.0]), np.linspace(0, 5, 51))
    at = da.simulate(filtered, {}, (0, 5), inputs={symbol: 1.0}, at=np.linspace(0, 5, 51))
    assert np.max(np.abs(at[name] - response.outputs)) < 1e-6


def test_what_cannot_be_converted_is_said():
    with pytest.raises(ModelError, match="missing"):
        to_control(SPRING)
    with pytest.raises(ModelError, match="time base"):
        from_control(ct.tf([1], [1, 1], True))
    with pytest.raises(ModelError, match="as many inputs"):
        from_control(ct.tf([1], [1, 0.5], 0.1), [u], [])
    with pytest.raises(ModelError, match="no output `z`"):
        to_control(SPRING, {k: 1.0}, outputs=["z"])
