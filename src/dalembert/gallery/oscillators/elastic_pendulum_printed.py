"""The elastic pendulum with the velocity constraint of Gavin's eq. 62 as it is printed.

    u_dot cos(B) - l theta_dot sin(B) = 0,      B = theta + b u / l

The source calls it nonholonomic. One homogeneous form in two coordinates always has an integrating
factor: along a motion u/l - b theta + ln|cos B + b sin B| is constant, and the mass stays on one
curve.
"""

from __future__ import annotations

from sympy import Abs, cos, log, sin

from ...model.constraints import velocity
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ..shared_parts import GAVIN, ElasticPendulum


def scenario() -> Scenario:
    """The pendulum under the printed constraint; the integral is reported as the output `leaf`."""
    pendulum = ElasticPendulum()
    theta, u, length = pendulum.angle, pendulum.stretch, pendulum.length
    b = parameters("b")
    B = theta + b * u / length
    system = pendulum.system(
        [velocity(u.dot * cos(B) - length * theta.dot * sin(B), name="steering")],
        name="Elastic pendulum, constraint as printed",
    ).replacing(outputs={"leaf": u / length - b * theta + log(Abs(cos(B) + b * sin(B)))})
    return Scenario(
        system,
        parameters={**pendulum.values, "b": 5.0},
        start={"theta": 0.2, "u": 0.5, "theta_dot": 1.0, "u_dot": -0.47272762910303746},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{GAVIN}, eq. 62 as printed",
        summary=(
            "A constraint written with velocities that is integrable after all; the motion is"
            " periodic."
        ),
        drawing=pendulum.drawing(),
    )
