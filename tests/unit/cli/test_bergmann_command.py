"""Degenerate Lagrangians on the command line, against the library and SciPy."""

import numpy as np
import pytest
from command_line import call
from scipy.integrate import solve_ivp

import dalembert as da

CHRIST_LEE = """\
name = "Christ and Lee"
coordinates = ["x", "y", "z"]
lagrangian = "((x_dot - y*z)**2 + (y_dot + x*z)**2)/2 - k*(x**2 + y**2)**2/4"
[parameters]
k = 2.0
[start]
x = 1.0
x_dot = 0.3
[simulate]
t = [0, 2]
rtol = 1e-11
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(CHRIST_LEE)
    return path


def test_check_reports_what_the_algorithm_finds(model, capsys) -> None:
    found = call(capsys, "check", str(model), "--json").json["degenerate"]
    assert [c["stage"] for c in found["constraints"]] == ["primary", "secondary"]
    assert found["gauge"] == ["u_z"] and found["degrees_of_freedom"] == 1.0
    assert "Degenerate Lagrangian" in call(capsys, "check", str(model)).out


def test_regular_lagrangians_have_no_such_section(capsys) -> None:
    assert "degenerate" not in call(capsys, "check", "rolling-disk", "--json").json


def test_what_the_algorithm_does_not_take_is_said() -> None:
    x, y = da.coordinates("x y")
    pushed = da.System([x, y], kinetic=x.dot**2 / 2, potential=y**2, forces={x: -x.dot})
    assert "Lagrangian alone describes" in da.describe(pushed).degenerate


def test_a_gauge_gives_a_model_that_runs(model, tmp_path, capsys) -> None:
    file = tmp_path / "motion.toml"
    found = call(capsys, "bergmann", str(model), "--gauge", "y", "-o", str(file), "--json").json
    assert found["gauge"] == [] and found["multipliers"] == {"u_z": "0"}
    ending = call(capsys, "run", str(file), "--json").json
    assert ending["outcome"] == "finished"
    reference = solve_ivp(
        lambda _, s: [s[1], -2.0 * s[0] ** 3], (0, 2), [1.0, 0.3], rtol=1e-12, atol=1e-12
    ).y[:, -1]
    ours = [ending["state"]["x"][-1], ending["state"]["p_x"][-1]]
    np.testing.assert_allclose(ours, reference, atol=1e-9)


def test_a_product_needs_a_branch(tmp_path, capsys) -> None:
    path = tmp_path / "branches.toml"
    path.write_text('coordinates = ["x", "y", "z"]\nlagrangian = "x_dot**2/2 + z*x*y"\n')
    ending = call(capsys, "bergmann", str(path))
    assert ending.status == 2 and "nonzero" in ending.err
    assert call(capsys, "bergmann", str(path), "--nonzero", "x").status == 0


def test_a_flow_is_no_lagrangian(tmp_path, capsys) -> None:
    path = tmp_path / "flow.toml"
    path.write_text('coordinates = ["x"]\n[rates]\nx = "-x"\n')
    ending = call(capsys, "bergmann", str(path))
    assert ending.status == 2 and "needs a Lagrangian" in ending.err
