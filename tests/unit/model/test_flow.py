"""First-order systems: stated, checked, simulated, written to files."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import dalembert as da
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import FormError, ModelError
from dalembert.model.io import files

x, y, z = da.coordinates("x y z")
s, r, b = da.parameters("s r b")
LORENZ = {x: s * (y - x), y: x * (r - z) - y, z: x * y - b * z}
NUMBERS = {"s": 10.0, "r": 28.0, "b": 8 / 3}


def lorenz_rates(t: float, v: np.ndarray) -> list[float]:
    return [10 * (v[1] - v[0]), v[0] * (28 - v[2]) - v[1], v[0] * v[1] - 8 / 3 * v[2]]


def turning() -> da.Flow:
    """R_dot = R w with a constant w: R = R(0) exp(t w)."""
    entries = da.coordinates("R_11 R_12 R_21 R_22")
    matrix = sympy.Matrix(2, 2, entries)
    rate = da.parameters("w")
    generator = sympy.Matrix([[0, -rate], [rate, 0]])
    moved = matrix * generator
    return da.Flow(
        dict(zip(entries, moved, strict=True)),
        matrices={"R": matrix},
        actions=[da.lie.Action("R", None, sympy.ImmutableMatrix(-generator))],
        constraints=[da.holonomic(entries[0] ** 2 + entries[2] ** 2 - 1, name="length")],
        integrals={"energy": rate**2 / 2, "determinant": matrix.det()},
    )


def test_the_motion_is_that_of_another_integrator() -> None:
    motion = da.simulate(da.Flow(LORENZ), {x: 1.0}, (0, 2), parameters=NUMBERS, at=[0, 2])
    reference = solve_ivp(
        lorenz_rates, (0, 2), [1, 0, 0], rtol=1e-12, atol=1e-12, method="DOP853"
    ).y[:, -1]
    assert np.allclose(motion.y[:, -1], reference, rtol=1e-8)


def test_rates_and_their_derivatives_are_reported() -> None:
    motion = da.simulate(da.Flow(LORENZ), {x: 1.0}, (0, 1), parameters=NUMBERS)
    rates = np.array([lorenz_rates(0.0, state) for state in motion.y.T]).T
    assert np.allclose([motion["x_dot"], motion["y_dot"], motion["z_dot"]], rates)
    assert np.allclose(motion["x_ddot"], 10 * (rates[1] - rates[0]))


def test_the_second_derivative_has_the_part_of_time() -> None:
    """x' = t^2 x has x = exp(t^3/3) and x'' = (t^4 + 2 t) x."""
    motion = da.simulate(da.Flow({x: da.t**2 * x}), {x: 1.0}, (0, 1.5), at=[0, 0.5, 1, 1.5])
    assert np.allclose(motion["x"], np.exp(motion.t**3 / 3), rtol=1e-8)
    assert np.allclose(motion["x_ddot"], (motion.t**4 + 2 * motion.t) * motion["x"], rtol=1e-12)


def test_there_are_as_many_residuals_as_relations() -> None:
    for flow, count in ((da.Flow(LORENZ), 0), (turning(), 1)):
        blocks = da.derive(flow).blocks(GraphAlgebra())
        assert [block.numel() for block in blocks.residuals] == [count, count]
        for projection, rows in ((blocks.position, count), (blocks.velocity, 0)):
            assert projection.residual.numel() == projection.rows.shape[0] == rows


def test_a_flow_without_energy_reports_none() -> None:
    motion = da.simulate(da.Flow(LORENZ), {x: 1.0}, (0, 1), parameters=NUMBERS)
    assert "energy" not in motion.names
    with pytest.raises(ModelError, match="no quantity `energy`"):
        _ = motion.energy


def test_matrices_are_arrays_and_can_start_a_motion() -> None:
    flow = turning()
    first = np.array([[0.6, -0.8], [0.8, 0.6]])
    motion = da.simulate(flow, flow.start(R=first), (0, 3), parameters={"w": 0.7}, at=[0, 1, 3])
    assert motion["R"].shape == (3, 2, 2)
    for time, found in zip(motion.t, motion["R"], strict=True):
        assert np.allclose(
            found, first @ expm(time * 0.7 * np.array([[0, -1], [1, 0]])), atol=1e-10
        )
    assert np.allclose(motion["determinant"], 1)
    assert np.allclose(motion.energy, 0.245)


def test_a_start_is_brought_to_the_relations() -> None:
    flow = turning()
    motion = da.simulate(flow, {"R_11": 2.0, "R_21": 0.0}, (0, 1), parameters={"w": 1.0})
    assert motion.y[0, 0] ** 2 + motion.y[2, 0] ** 2 == pytest.approx(1)
    assert motion.start_report


def test_inputs_drive_a_flow() -> None:
    u = da.inputs("u")
    flow = da.Flow({x: u, y: x}, inputs=[u])
    motion = da.simulate(flow, {}, (0, 2), inputs={u: 3 * da.t**2}, at=[2])
    assert motion.y[:, -1] == pytest.approx([8, 4])
    with pytest.raises(ModelError, match="not imposed"):
        da.simulate(flow, {}, (0, 1))


def test_text_is_readable() -> None:
    assert da.derive(da.Flow({x: -b * x, y: x})).text() == "x_dot = -b*x\ny_dot = x"


def test_model_files_hold_flows() -> None:
    flow = turning()
    scenario = da.Scenario(flow, {"w": 0.4}, flow.start(R=np.eye(2)), {"span": (0, 2)})
    again = files.loads(files.dumps(scenario))
    assert isinstance(again.system, da.Flow)
    assert again.system.rates == flow.rates
    assert again.system.matrices == flow.matrices
    assert again.system.actions == flow.actions
    assert again.system.integrals == flow.integrals
    assert np.array_equal(da.simulate(again).y, da.simulate(scenario).y)


def test_a_saved_motion_comes_back(tmp_path) -> None:
    flow = turning()
    motion = da.simulate(flow, flow.start(R=np.eye(2)), (0, 2), parameters={"w": 0.4})
    motion.save(tmp_path / "turn.nc")
    again = da.load(tmp_path / "turn.nc")
    assert np.array_equal(again["R"], motion["R"])
    assert np.allclose(again.sol(1.234), motion.sol(1.234), atol=0)


def test_a_flow_without_energy_is_saved_and_run_from_the_command_line(tmp_path, capsys) -> None:
    from dalembert.cli import main

    scenario = da.Scenario(da.Flow(LORENZ, name="Lorenz"), NUMBERS, {"x": 1.0}, {"span": (0, 1)})
    motion = da.simulate(scenario)
    motion.save(tmp_path / "lorenz.nc")
    again = da.load(tmp_path / "lorenz.nc")
    assert np.array_equal(again.y, motion.y)
    assert "energy" not in again.names
    (tmp_path / "lorenz.toml").write_text(files.dumps(scenario))
    assert main(["run", str(tmp_path / "lorenz.toml"), "--json"]) == 0
    assert '"energy"' not in capsys.readouterr().out
    assert main(["run", str(tmp_path / "lorenz.toml")]) == 0


FAULTS = {
    "velocity": (lambda: da.Flow({x: y.dot, y: x}), "symbols alone"),
    "foreign": (lambda: da.Flow({x: y}), "give these symbols rates"),
    "not a mapping": (lambda: da.Flow([x, y]), "rate of each symbol"),
    "constraint": (
        lambda: da.Flow({x: y, y: -x}, constraints=[da.velocity(x.dot)]),
        "relation of its symbols",
    ),
    "matrix entry": (
        lambda: da.Flow({x: y, y: -x}, matrices={"A": [[x**2, y]]}),
        "multiples of them",
    ),
    "matrix name": (
        lambda: da.Flow({x: y, y: -x}, matrices={"x": [[x, y]]}),
        "a matrix and for a number",
    ),
    "unknown matrix": (
        lambda: da.Flow({x: y, y: -x}, actions=[da.lie.Action("A")]),
        "names the matrix `A`",
    ),
    "wrong action": (
        lambda: da.Flow(
            {x: y, y: -x},
            matrices={"A": [[x], [y]]},
            actions=[da.lie.Action("A", sympy.ImmutableMatrix([[0, -1], [1, 0]]))],
        ),
        "not those of its action",
    ),
    "action shape": (
        lambda: da.Flow(
            {x: y, y: -x},
            matrices={"A": [[x], [y]]},
            actions=[da.lie.Action("A", sympy.ImmutableMatrix([[1]]))],
        ),
        "wrong shape",
    ),
    "pattern": (
        lambda: da.Flow({x: y, y: -x}, matrices={"A": [[x, y], [-y, x]]}).start(A=[[1, 2], [3, 1]]),
        "pattern",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told(fault: str) -> None:
    make, words = FAULTS[fault]
    with pytest.raises(ModelError, match=words):
        make()


def test_a_right_action_is_accepted() -> None:
    spin = sympy.ImmutableMatrix([[0, 1], [-1, 0]])
    flow = da.Flow({x: y, y: -x}, matrices={"A": [[x], [y]]}, actions=[da.lie.Action("A", spin)])
    assert not flow.actions[0].is_conjugation


def test_mechanical_forms_refuse_flows() -> None:
    with pytest.raises(FormError, match="mechanical system"):
        da.derive(da.Flow(LORENZ), "lagrange")
    with pytest.raises(FormError, match="no options"):
        da.derive(da.Flow(LORENZ), kind="first")


BAD_FILES = {
    "both": ('coordinates = ["x"]\nkinetic = "x_dot**2"\n[rates]\nx = "1"\n', "rates or energies"),
    "missing": ('coordinates = ["x", "y"]\n[rates]\nx = "1"\n', "no rate of y"),
    "strange": ('coordinates = ["x"]\n[rates]\nx = "1"\nz = "2"\n', "no coordinate"),
    "matrix": (
        'coordinates = ["x"]\n[rates]\nx = "1"\n[matrices]\nA = [["x"], ["x", "x"]]\n',
        "equal length",
    ),
    "action": (
        'coordinates = ["x"]\n[rates]\nx = "1"\n[matrices]\nA = [["x"]]\n[actions]\nA = 3\n',
        "left, right",
    ),
    "no rates": (
        'coordinates = ["x"]\nkinetic = "x_dot**2"\n[integrals]\nh = "x"\n',
        "belongs to a flow",
    ),
}


@pytest.mark.parametrize("fault", BAD_FILES)
def test_bad_files_are_told(fault: str) -> None:
    text, words = BAD_FILES[fault]
    with pytest.raises(ModelError, match=words):
        files.loads(text)


def test_a_description_says_kept_only_where_that_is_proved() -> None:
    x, y = da.coordinates("x y")
    turned = {x: y, y: -x + sympy.Max(x - 1e6, 0)}
    found = da.describe(da.Flow(turned, integrals={"radius": x**2 + y**2}))
    assert "radius" not in found.proved and "not established" in found.text()
    small = da.describe(
        da.Flow({x: y, y: -x - sympy.Float(1e-12) * y}, integrals={"radius": x**2 + y**2})
    )
    assert (
        not small.proved
        and small.divergence == pytest.approx(-1e-12)
        and "volume is kept" not in small.text()
    )
    plain = da.describe(da.Flow({x: y, y: -x}, integrals={"radius": x**2 + y**2}))
    assert plain.proved == {"radius"} and plain.divergence == 0.0


def test_an_integral_that_depends_on_time_changes_with_it() -> None:
    x, y = da.coordinates("x y")
    found = da.describe(
        da.Flow(
            {x: y, y: -x},
            integrals={
                "bad": x**2 + y**2 + da.t,
                "good": x * sympy.cos(da.t) - y * sympy.sin(da.t),
            },
        )
    )
    assert found.proved == {"good"} and found.integrals["bad"] > 0.1


def _rotation(extra: sympy.Expr) -> da.Flow:
    """R_dot = R W in the plane with an angular velocity; `extra` is added to one rate of the
    matrix.
    """
    r = da.coordinates("r11 r12 r21 r22")
    R = sympy.Matrix(2, 2, r)
    W = sympy.Matrix([[0, -1], [1, 0]])
    rates = dict(zip(r, R * W, strict=True))
    rates[r[0]] += extra
    return da.Flow(rates, matrices={"R": R}, actions=[da.lie.Action("R", right=-W)])


def test_rates_that_are_those_of_an_action_only_at_samples_are_refused() -> None:
    start = _rotation(sympy.S.Zero).start(R=np.eye(2))
    assert (
        da.simulate(_rotation(sympy.S.Zero), start, (0, 1), method="rkmk4", step=0.1).t[-1] == 1.0
    )
    r11, *_ = da.coordinates("r11 r12 r21 r22")
    for extra in (sympy.Max(r11 - 50, 0), sympy.Float(1e-12) * r11):
        with pytest.raises(FormError, match="not shown to be those of its action"):
            da.simulate(_rotation(extra), start, (0, 1), method="rkmk4", step=0.1)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_actions_and_values_of_matrices_in_any_units(unit):
    p, q = da.coordinates("p q")
    skew = sympy.Matrix([[0, p], [-p, 0]])
    rates = {p: unit * q, q: -unit * p}
    column = sympy.Matrix([p, q])
    turn = unit * sympy.Matrix([[0, 1], [-1, 0]])
    da.Flow(rates, matrices={"X": column}, actions=[da.lie.Action("X", left=turn)])
    with pytest.raises(ModelError, match="are not those of its action"):
        da.Flow(rates, matrices={"X": column}, actions=[da.lie.Action("X", left=2 * turn)])
    flow = da.Flow({p: -p}, matrices={"S": skew})
    assert flow.start(S=[[0, unit], [-unit, 0]]) == {"p": unit}
    with pytest.raises(ModelError, match="cannot have this value"):
        flow.start(S=[[0, unit], [unit, 0]])


def test_actions_hold_to_the_rounding_of_their_terms():
    p, q = da.coordinates("p q")
    rates = {p: (0.1 + 0.2) * p - 0.3 * p + q, q: sympy.S.Zero}
    turn = sympy.Matrix([[0, 1], [0, 0]])
    da.Flow(rates, matrices={"X": sympy.Matrix([p, q])}, actions=[da.lie.Action("X", left=turn)])
