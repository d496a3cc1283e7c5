"""Quasi-velocities that a system states: in files, in forms, in starts, beside SciPy alone."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import sin

import dalembert as da
from dalembert.cli import main
from dalembert.errors import DalembertError, FormError, ModelError
from dalembert.model.io.files import dumps, loads
from dalembert.presentation.typeset import symbol_latex

SLEIGH = """
name = "Sleigh"
coordinates = ["x", "y", "theta"]
kinetic = "m*((x_dot - a*theta_dot*sin(theta))**2 + (y_dot + a*theta_dot*cos(theta))**2)/2 + J*theta_dot**2/2"
constraints = [{expression = "x_dot*sin(theta) - y_dot*cos(theta) = 0", name = "blade"}]
[parameters]
m = 2.0
a = 0.3
J = 0.5
[quasi_velocities]
forward = "x_dot*cos(theta) + y_dot*sin(theta)"
turn = "theta_dot"
[start]
theta = 0.4
forward = 1.0
turn = 0.5
[simulate]
t = [0, 3]
rtol = 1e-11
"""  # noqa: E501
SPEEDS = ("maggi", "hamel", "kane", "gibbs-appell")
x, y, z = da.coordinates("x y z")


def reference() -> np.ndarray:
    """x, y, theta, v, w of the sleigh by hand: v' = a w^2, (J + m a^2) w' = -m a v w."""

    def rates(_, s):
        v, w = s[3:]
        return [
            *(v * np.cos(s[2]), v * np.sin(s[2]), w),
            *(0.3 * w**2, -2.0 * 0.3 * v * w / (0.5 + 2.0 * 0.09)),
        ]

    return solve_ivp(rates, (0, 3), [0, 0, 0.4, 1.0, 0.5], rtol=1e-12, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("form", [*SPEEDS, "canonical-quasi", "lagrange", "voronets", None])
def test_every_form_takes_a_start_in_them_and_reports_them(form: str | None) -> None:
    motion = da.simulate(loads(SLEIGH), form=form)
    ours = [motion[name][-1] for name in ("x", "y", "theta", "forward", "turn")]
    np.testing.assert_allclose(ours, reference(), atol=1e-9)


@pytest.mark.parametrize("form", SPEEDS)
def test_forms_in_speeds_are_written_in_them(form: str) -> None:
    system = loads(SLEIGH).system
    assert [s.name for s in da.derive(system, form).state[3:]] == ["forward", "turn"]
    chosen = da.derive(system, form, quasi_velocities={})
    assert "forward" not in [s.name for s in chosen.state]


def test_a_model_file_keeps_them() -> None:
    scenario = loads(SLEIGH)
    again = loads(dumps(scenario))
    assert again.system == scenario.system and "[quasi_velocities]" in dumps(scenario)
    assert "forward" not in dumps(scenario).split("[quasi_velocities]")[0]


def test_a_saved_motion_keeps_them(tmp_path) -> None:
    motion = da.simulate(loads(SLEIGH), form="hamel")
    motion.save(tmp_path / "m.nc")
    again = da.load(tmp_path / "m.nc")
    np.testing.assert_array_equal(again["forward"], motion["forward"])
    np.testing.assert_array_equal(again.sol(1.0), motion.sol(1.0))


def test_the_command_line(tmp_path, capsys) -> None:
    path = tmp_path / "sleigh.toml"
    path.write_text(SLEIGH)
    assert main(["run", str(path), "--set", "forward=2", "--form", "hamel", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outputs"]["forward"][0] == 2.0
    assert main(["derive", str(path), "--form", "kane"]) == 0
    assert "forward_dot" in capsys.readouterr().out
    assert main(["check", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["agreement"]["worst"] < 1e-10


def test_transitivity_and_principles_are_written_in_them() -> None:
    scenario = loads(SLEIGH)
    assert da.variational.transitivity(scenario).quasi_velocities == ("forward", "turn")
    motion = da.simulate(scenario)
    variation = {"forward": sin(da.t) * da.t * (3 - da.t), "turn": da.t * (3 - da.t)}
    found = da.variational.principle_integrands(motion, variation)
    assert found.independent == ("forward", "turn") and found.spread < 1e-12
    assert abs(found.integral) < 1e-9


def test_nonlinear_ones_under_a_constraint_on_the_speed() -> None:
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=y,
        constraints=[da.velocity(x.dot**2 + y.dot**2 - 1, name="speed")],
        quasi_velocities={"u": x.dot + x.dot**3},
    )
    runs = [
        da.simulate(system, {"u": 0.6 + 0.216, y.dot: 0.8}, (0, 1), form=form, rtol=1e-11)
        for form in ("lagrange", "kane", "hamel")
    ]
    for motion in runs:
        np.testing.assert_allclose(motion["y"][-1], runs[0]["y"][-1], atol=1e-9)
        np.testing.assert_allclose(motion["u"], motion["x_dot"] + motion["x_dot"] ** 3, atol=1e-9)


def test_wrong_ones_are_told() -> None:
    free = {"coordinates": [x, y], "kinetic": (x.dot**2 + y.dot**2) / 2}
    one = da.System(**free, quasi_velocities={"u": x.dot})
    with pytest.raises(FormError, match="as many as the degrees of freedom"):
        da.derive(one, "maggi")
    assert da.derive(one, "lagrange").text()
    with pytest.raises(ModelError, match="quasi-velocity"):
        da.System(**free, quasi_velocities={"u": x.dot}, outputs={"u": y.dot})
    with pytest.raises(DalembertError, match="z_dot"):
        da.System(**free, quasi_velocities={"u": z.dot})
    with pytest.raises(DalembertError, match="quasi_velocities"):
        loads('coordinates = ["x"]\n[rates]\nx = "-x"\n[quasi_velocities]\nu = "x"\n')


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("v_xytheta", r"v_{x y \theta}"),
        ("v_xytheta_dot", r"\dot{v}_{x y \theta}"),
        ("v_thetapsi1", r"v_{\theta \psi_{1}}"),
        ("v_xy", "v_{xy}"),
        ("v_pipe", r"v_{\mathrm{pipe}}"),
        ("forward", r"\mathrm{forward}"),
        ("theta", r"\theta"),
        ("kp", "kp"),
    ],
)
def test_speeds_are_typeset(name: str, shown: str) -> None:
    assert symbol_latex(da.parameters(name)) == shown


def test_the_sleigh_in_latex() -> None:
    shown = da.derive(loads(SLEIGH).system, "hamel").latex()
    assert r"\dot{\mathrm{forward}}" in shown
