"""The elastic pendulum whose mass moves in the direction -b u / l, as Gavin's section 12.2 words
the constraint.

    u_dot cos(B) - (l + u) theta_dot sin(B) = 0,      B = theta + b u / l

The speed across the spring is (l + u) theta_dot, where the printed formula has l theta_dot.
"""

from __future__ import annotations

from sympy import cos, sin

from ...model.constraints import velocity
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ..shared_parts import GAVIN, ElasticPendulum, segment_along


def scenario() -> Scenario:
    """The steered pendulum, with the direction of motion drawn at the mass."""
    pendulum = ElasticPendulum()
    theta, u, length = pendulum.angle, pendulum.stretch, pendulum.length
    b = parameters("b")
    B = theta + b * u / length
    direction = (cos(b * u / length), -sin(b * u / length))
    steering = velocity(u.dot * cos(B) - (length + u) * theta.dot * sin(B), name="steering")
    return Scenario(
        pendulum.system([steering], name="Elastic pendulum, steered"),
        parameters={**pendulum.values, "b": 5.0},
        start={"theta": 0.2, "u": 0.5, "theta_dot": 1.0, "u_dot": -0.7090914436545562},
        simulate={"span": (0.0, 1.5), "rtol": 1e-10},
        source=f"{GAVIN}, section 12.2 as worded",
        summary="The mass can only move in a direction that its stretch prescribes.",
        drawing=pendulum.drawing(
            [segment_along(pendulum.position, direction, length / 2, color="accent")]
        ),
    )
