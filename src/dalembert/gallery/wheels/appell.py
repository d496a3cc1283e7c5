"""A heavy particle that climbs at a prescribed incline to its horizontal speed: Appell's nonlinear
constraint.

    L = m/2 |q_dot|^2 - m g q3,      f = q3_dot - a sqrt(q1_dot^2 + q2_dot^2) = 0

By Chetaev's rule the multiplier is m g / (1 + a^2), the heading is constant, and the horizontal
speed falls as w0 - g a t / (1 + a^2); at w = 0 the constraint has no derivative and the motion
ends.
"""

from __future__ import annotations

from sympy import sqrt

from ...model.constraints import velocity
from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ...model.system import System
from ..shared_parts import RUMYANTSEV, point_in_space


def scenario() -> Scenario:
    """The particle climbing until shortly before it stops."""
    m, g, a = parameters("m g a", positive=True)
    (q1, q2, q3), kinetic = point_in_space(m, "q1 q2 q3")
    system = System(
        coordinates=[q1, q2, q3],
        kinetic=kinetic,
        potential=m * g * q3,
        constraints=[velocity(q3.dot - a * sqrt(q1.dot**2 + q2.dot**2), name="slope")],
        outputs={"horizontal_speed": sqrt(q1.dot**2 + q2.dot**2)},
        name="Appell's particle",
    )
    place, shadow = (q1, q2, q3), (q1, q2, 0)
    return Scenario(
        system,
        parameters={"m": 1.0, "g": 9.81, "a": 0.5},
        start={"q1": 0.0, "q2": 0.0, "q3": 0.0, "q1_dot": 3.0, "q2_dot": 4.0, "q3_dot": 2.5},
        simulate={"span": (0.0, 1.2), "rtol": 1e-10},
        source=f"{RUMYANTSEV}, example 4.1 (eq. 2.3)",
        summary="A constraint nonlinear in the velocities, by Chetaev's rule.",
        drawing=Drawing(
            shapes=(
                Trace(place),
                Trace(shadow, color="ground"),
                Link(shadow, place, width=1.0, color="ground"),
                PointMark(place),
            )
        ),
    )
