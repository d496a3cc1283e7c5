"""The elastic pendulum with its mass on a curve: the constraint 1 - theta^2 - u/l = 0."""

from __future__ import annotations

from sympy import cos, sin

from ...model.constraints import holonomic
from ...model.drawing import Polyline
from ...model.scenario import Scenario
from ..shared_parts import GAVIN, ElasticPendulum


def scenario() -> Scenario:
    """The pendulum swinging along the arc."""
    pendulum = ElasticPendulum()
    theta, u, length = pendulum.angle, pendulum.stretch, pendulum.length
    angles = [k / 40 for k in range(-48, 49)]
    arc = [(length * (2 - a**2) * sin(a), -length * (2 - a**2) * cos(a)) for a in angles]
    return Scenario(
        pendulum.system(
            [holonomic(1 - theta**2 - u / length, name="arc")], name="Elastic pendulum on an arc"
        ),
        parameters=pendulum.values,
        start={"theta": 0.0, "u": 1.0, "theta_dot": 1.0, "u_dot": 0.0},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{GAVIN}, eqs. 49 to 58",
        summary="A holonomic constraint with its reaction.",
        drawing=pendulum.drawing([Polyline(arc, width=1.0, color="ground")]),
    )
