"""The Chaplygin sleigh: a rigid body on a knife edge at (x, y), its centre of mass at the distance
a ahead.

    T = m/2 ((x_dot - a theta_dot sin(theta))^2 + (y_dot + a theta_dot cos(theta))^2) + I/2
    theta_dot^2 x_dot sin(theta) - y_dot cos(theta) = 0

The energy is conserved, and yet every motion tends to a straight line: v' = a w^2, w' = -m a v w /
(I + m a^2).
"""

from __future__ import annotations

from sympy import cos, sin

from ...model.constraints import velocity
from ...model.drawing import Drawing, PointMark, Polyline, Trace
from ...model.forces import body
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import segment_along


def scenario() -> Scenario:
    """The sleigh turning into its asymptotic straight line."""
    x, y, theta = coordinates("x y theta")
    m, I, a = parameters("m I a", positive=True)
    ahead, left = (cos(theta), sin(theta)), (-sin(theta), cos(theta))
    center = (x + a * ahead[0], y + a * ahead[1])
    system = System(
        coordinates=[x, y, theta],
        parts=[body(m, I, list(center), angle=theta)],
        constraints=[velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
        outputs={"speed": x.dot * cos(theta) + y.dot * sin(theta)},
        name="Chaplygin sleigh",
    )

    def place(along: float, across: float) -> tuple[object, object]:
        return tuple(
            origin + a * (along * forward + across * side)
            for origin, forward, side in zip((x, y), ahead, left, strict=True)
        )  # type: ignore[return-value]

    return Scenario(
        system,
        parameters={"m": 1.0, "I": 1.0, "a": 1.0},
        start={"x": 0.0, "y": 0.0, "theta": 0.0, "x_dot": 0.5, "y_dot": 0.0, "theta_dot": 1.0},
        simulate={"span": (0.0, 8.0), "rtol": 1e-10},
        source="Bloch and others, Nonholonomic Mechanics and Control, a standard example",
        summary="Energy is conserved and the motion is still attracted to a straight line.",
        drawing=Drawing(
            shapes=(
                Trace((x, y)),
                Trace(center, color="accent"),
                Polyline([place(-0.3, 0.0), place(1.5, 0.5), place(1.5, -0.5)], closed=True),
                segment_along((x, y), ahead, 0.5 * a, width=5.0, color="link"),
                PointMark(center, color="accent"),
            )
        ),
    )
