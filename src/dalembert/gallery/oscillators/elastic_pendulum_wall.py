"""The elastic pendulum beside a wall, (l + u) sin(theta) <= w, with restitution e."""

from __future__ import annotations

from ...model.constraints import unilateral
from ...model.drawing import Link
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ..shared_parts import GAVIN, ElasticPendulum


def scenario() -> Scenario:
    """The pendulum swinging against the wall."""
    pendulum = ElasticPendulum()
    wall, restitution = parameters("w e", positive=True)
    length = pendulum.length
    return Scenario(
        pendulum.system(
            [unilateral(pendulum.position[0] - wall, restitution=restitution, name="wall")],
            name="Elastic pendulum against a wall",
        ),
        parameters={**pendulum.values, "w": 0.3, "e": 0.8},
        start={"theta": -0.8, "u": 0.3, "theta_dot": 0.0, "u_dot": 0.0},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{GAVIN}, the inequality constraints that section 12 names, for the elastic"
        " pendulum",
        summary="A one-sided constraint: impacts with restitution.",
        drawing=pendulum.drawing(
            [Link((wall, -5 * length / 2), (wall, 0), width=5.0, color="ground")]
        ),
    )
