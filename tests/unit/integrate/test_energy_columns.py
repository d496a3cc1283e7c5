"""Energies, the action and positions of named points as columns of a motion."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.cli import main
from dalembert.errors import ModelError
from dalembert.model.io.files import dumps, loads
from dalembert.model.scenario import Scenario

theta, x, y = da.coordinates("theta x y")
l, g, B = da.parameters("l g B", positive=True)
BOB = (l * sin(theta), -l * cos(theta))
VALUES = {l: 0.7, g: 9.81}


def pendulum(**stated) -> da.System:
    parts = [da.particle(2, BOB, name="bob"), da.gravity(2, BOB[1], g)]
    return da.System([theta], parts=parts, **stated)


def reference(span: float) -> np.ndarray:
    """Angle, rate and action by SciPy alone."""

    def rates(_, s):
        kinetic, potential = 0.49 * s[1] ** 2, -2 * 9.81 * 0.7 * np.cos(s[0])
        return [s[1], -9.81 / 0.7 * np.sin(s[0]), kinetic - potential]

    return solve_ivp(rates, (0, span), [1.0, 0.5, 0.0], rtol=1e-13, atol=1e-13).y[:, -1]


@pytest.mark.parametrize("method", ["dop853", "taylor", "rk4", "rattle2"])
def test_the_action_is_the_integral_of_the_lagrangian(method: str) -> None:
    fixed = {"step": 0.002} if method in ("rk4", "rattle2") else {"rtol": 1e-11}
    motion = da.simulate(
        pendulum(), {theta: 1.0, theta.dot: 0.5}, (0, 3), parameters=VALUES, method=method, **fixed
    )
    limit = {"rk4": 1e-8, "rattle2": 1e-3}.get(method, 1e-9)
    assert abs(motion["action"][-1] - reference(3.0)[2]) < limit
    assert motion["action"][0] == 0.0


@pytest.mark.parametrize("stored", [{"at": [1.0, 3.0]}, {"every": 500}, {"every": 7}])
def test_the_action_begins_with_the_motion_whatever_is_stored(stored) -> None:
    """L = -cos(2 sqrt(2) t): S(3) is the same from two times, from every step and from a few."""
    oscillator = da.System([x], kinetic=x.dot**2 / 2, potential=x**2)
    method = {} if "at" in stored else {"method": "gauss6", "step": 0.01}
    motion = da.simulate(oscillator, {x: 1.0}, (0, 7), **method, **stored)
    rate = 2 * np.sqrt(2)
    np.testing.assert_allclose(motion["action"], -np.sin(rate * motion.t) / rate, atol=1e-9)


def test_energies_are_those_that_were_stated() -> None:
    motion = da.simulate(pendulum(), {theta: 1.0}, (0, 2), parameters=VALUES)
    np.testing.assert_allclose(motion["kinetic"], 0.49 * motion["theta_dot"] ** 2, atol=1e-13)
    height = -0.7 * np.cos(motion["theta"])
    np.testing.assert_allclose(motion["potential"], 2 * 9.81 * height, atol=1e-13)
    np.testing.assert_allclose(
        motion["lagrangian"], motion["kinetic"] - motion["potential"], atol=1e-12
    )


def test_a_frame_that_turns_keeps_the_stated_kinetic_energy() -> None:
    """T = ((x_dot - w y)^2 + (y_dot + w x)^2)/2: E is Jacobi's integral, not T + V."""
    motive = ((x.dot - 3 * y) ** 2 + (y.dot + 3 * x) ** 2) / 2
    motion = da.simulate(da.System([x, y], kinetic=motive), {x: 1.0, y.dot: 0.2}, (0, 1))
    absolute = (motion["x_dot"] - 3 * motion["y"]) ** 2 + (motion["y_dot"] + 3 * motion["x"]) ** 2
    np.testing.assert_allclose(motion["kinetic"], absolute / 2, atol=1e-10)
    assert np.abs(motion["kinetic"] - motion.energy).max() > 1.0


def test_a_magnetic_term_has_no_part_in_the_kinetic_energy() -> None:
    field = da.System([x, y], lagrangian=(x.dot**2 + y.dot**2) / 2 + B * x * y.dot - x**2)
    motion = da.simulate(field, {x: 1.0, y.dot: 1.0}, (0, 1), parameters={B: 2.0})
    speed = (motion["x_dot"] ** 2 + motion["y_dot"] ** 2) / 2
    np.testing.assert_allclose(motion["kinetic"], speed, atol=1e-12)
    np.testing.assert_allclose(motion["potential"], motion["x"] ** 2, atol=1e-13)


def test_a_hamiltonian_has_them_where_rest_is_known() -> None:
    plain = da.System([x], hamiltonian=x.momentum**2 / 4 + x**2)
    motion = da.simulate(plain, {x: 1.0}, (0, 1))
    np.testing.assert_allclose(motion["kinetic"], motion["x_dot"] ** 2, atol=1e-12)
    shifted = da.System([x], hamiltonian=(x.momentum - 3 * x) ** 2 / 2)
    names = da.simulate(shifted, {x: 1.0, x.momentum: 1.0}, (0, 1)).names
    assert "kinetic" not in names and "action" in names


def test_names_of_the_system_take_precedence() -> None:
    q = da.coordinates("action")
    motion = da.simulate(da.System([q], kinetic=q.dot**2 / 2), {q.dot: 2.0}, (0, 1))
    assert abs(motion["action"][-1] - 2.0) < 1e-12 and abs(motion["kinetic"][-1] - 2.0) < 1e-12


def test_files_pickles_and_copies_have_them(tmp_path) -> None:
    motion = da.simulate(pendulum(), {theta: 1.0}, (0, 1), parameters=VALUES)
    motion.save(tmp_path / "m.nc")
    again = da.load(tmp_path / "m.nc")
    assert again.names == motion.names
    for other in (again, pickle.loads(pickle.dumps(motion)), copy.copy(motion)):
        for name in ("kinetic", "potential", "lagrangian", "action", "bob_x"):
            np.testing.assert_array_equal(other[name], motion[name])
    assert motion.to_xarray()["action"].attrs["long_name"].startswith("action")


def test_inputs_that_no_file_keeps_lose_nothing(tmp_path) -> None:
    u = da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    motion = da.simulate(pushed, {x: 0.0}, (0, 1), inputs={u: lambda t, s: np.cos(t)})
    again = pickle.loads(pickle.dumps(motion))
    assert again.names == motion.names
    np.testing.assert_array_equal(again["action"], motion["action"])
    assert "action" in again.to_xarray()


def test_flows_have_no_energies() -> None:
    motion = da.simulate(da.Flow({x: -x}), {x: 1.0}, (0, 1))
    assert "action" not in motion.names


def test_named_points_are_outputs() -> None:
    drawn = [da.draw.point((BOB[0] / 2, BOB[1] / 2), name="middle"), da.draw.point(BOB)]
    system = pendulum(drawing=drawn)
    assert list(system.outputs) == ["bob_x", "bob_y", "middle_x", "middle_y"]
    motion = da.simulate(system, {theta: 1.0}, (0, 1), parameters=VALUES)
    np.testing.assert_allclose(motion["bob_x"], 0.7 * np.sin(motion["theta"]), atol=1e-14)
    np.testing.assert_allclose(motion["middle_y"], -0.35 * np.cos(motion["theta"]), atol=1e-14)


def test_a_model_file_keeps_named_points() -> None:
    system = pendulum(drawing=[da.draw.point(BOB, name="drawn")])
    text = dumps(Scenario(system, parameters={"l": 0.7, "g": 9.81}))
    again = loads(text)
    assert list(again.system.outputs) == list(system.outputs) and 'name = "drawn"' in text
    assert again.drawing.shapes[0].name == "drawn"


def test_one_name_has_one_meaning() -> None:
    with pytest.raises(ModelError, match=r"Two quantities are called `bob_x`"):
        pendulum(drawing=[da.draw.point((0, theta), name="bob")], outputs={"bob_x": theta**2})
    with pytest.raises(ModelError, match="Two points are called `bob`"):
        da.System([x, y], parts=[da.particle(1, [x], name="bob"), da.particle(1, [y], name="bob")])


def test_points_of_a_mechanism_in_both_coordinates() -> None:
    b = da.bodies
    arm = b.Body("arm", mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    hinge = b.revolute("phi", b.ground(), arm, axis="y")
    mechanism = b.Mechanism([hinge], gravity=(0, 0, -9.81))
    tip = arm.point((0, 0, -1), name="tip")
    for coordinates in ("joint", "maximal"):
        system = mechanism.system(coordinates, points=[tip])
        motion = da.simulate(system, span=(0, 1), start={"phi": 0.4} if "j" in coordinates else {})
        np.testing.assert_allclose(np.hypot(motion["tip_x"], motion["tip_z"]), 1.0, atol=1e-9)
    with pytest.raises(ModelError, match="has no name"):
        mechanism.system(points=[arm.point((0, 0, -1))])


def test_the_command_line_prints_them(capsys) -> None:
    assert main(["run", "rolling-disk", "--json", "--at", "0,1,2"]) == 0
    outputs = json.loads(capsys.readouterr().out)["outputs"]
    total = np.add(outputs["kinetic"], outputs["potential"])
    np.testing.assert_allclose(total, outputs["energy"], rtol=1e-12)
    assert outputs["action"][0] == 0.0 and outputs["action"][2] != 0.0
