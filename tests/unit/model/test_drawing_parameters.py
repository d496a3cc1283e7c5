"""Parameters that only a drawing has are parameters of the system: given, saved and refused like
all others.
"""

from __future__ import annotations

import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError, UnusedParameterWarning
from dalembert.model.io.files import dumps, loads

theta = da.coordinates("theta")
m, g, H, u0, w = da.parameters("m g H u0 w", positive=True)
u = da.inputs("u")
BOB = (sin(theta), H - cos(theta))
VALUES = {m: 1.0, g: 9.81, H: 0.9, u0: 0.1, w: 2.0}


def pendulum() -> da.System:
    return da.System(
        [theta],
        kinetic=m * theta.dot**2 / 2,
        potential=-m * g * cos(theta),
        forces={theta: u},
        inputs={u: u0 * sin(w * da.t)},
        drawing=[da.draw.link((0, H), BOB), da.draw.point(BOB)],
    )


def test_a_parameter_of_the_drawing_has_a_value_like_every_other():
    motion = da.simulate(pendulum(), {theta: 0.3}, (0, 1), parameters=VALUES)
    assert motion.parameters["H"] == 0.9
    with pytest.raises(ModelError, match="parameter H has no value"):
        da.simulate(
            pendulum(),
            {theta: 0.3},
            (0, 1),
            parameters={key: value for key, value in VALUES.items() if key != H},
        )


def test_a_model_file_keeps_it_and_it_can_be_changed():
    scenario = da.Scenario(
        pendulum(),
        {key.name: value for key, value in VALUES.items()},
        {"theta": 0.3},
        {"span": (0, 1)},
    )
    read = loads(dumps(scenario))
    assert da.simulate(read, parameters={"H": 2.0}).parameters["H"] == 2.0


@pytest.mark.long
def test_the_model_file_of_a_report_has_it(tmp_path):
    motion = da.simulate(pendulum(), {theta: 0.3}, (0, 1), parameters=VALUES)
    motion.report(tmp_path / "run.html")
    assert "H = 0.9" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_a_law_that_replaces_the_systems_own_leaves_its_parameters_idle():
    still = da.simulate(pendulum(), {theta: 0.3}, (0, 1), parameters=VALUES, inputs={u: 0})
    free = da.simulate(pendulum(), {theta: 0.3}, (0, 1), parameters=VALUES | {u0: 0.0})
    assert abs(still["theta"][-1] - free["theta"][-1]) < 1e-9
    with pytest.warns(UnusedParameterWarning, match="does not use the parameter `other`"):
        da.simulate(
            pendulum(), {theta: 0.3}, (0, 1), parameters=VALUES | {"other": 1.0}, inputs={u: 0}
        )
