"""A heavy horizontal bar that moves vertically, guided by the tip of a massless pendulum of length
l.

    L = m/2 v^2 + m g l cos(theta),     v = l sin(theta) theta_dot

with v the velocity of the bar, a fibre velocity. In theta_dot the Legendre transform is singular at
sin(theta) = 0, in v it is regular everywhere. The bar falls freely, l cos(theta) = l cos(theta0) -
v0 t + g t^2 / 2, until the pendulum is vertical, where the equations no longer determine the
motion.
"""

from __future__ import annotations

from math import pi

from sympy import cos, sin

from ...model.drawing import Drawing, Link, PointMark
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters, speeds
from ...model.system import System
from ..shared_parts import MOREAU


def scenario() -> Scenario:
    """The bar thrown upwards from the level of the pivot, short of the singular position."""
    theta = coordinates("theta")
    v = speeds("v")
    m, l, g = parameters("m l g", positive=True)
    system = System(
        coordinates=[theta],
        kinetic=m / 2 * v**2,
        potential=-m * g * l * cos(theta),
        bundle={v: l * sin(theta) * theta.dot},
        name="Bar and massless pendulum",
    )
    tip = (l * sin(theta), -l * cos(theta))
    return Scenario(
        system,
        parameters={"m": 1.0, "l": 1.0, "g": 9.81},
        start={"theta": pi / 2, "theta_dot": 1.0},
        simulate={"span": (0.0, 0.5), "rtol": 1e-10},
        source=f"{MOREAU}, eqs. 40 to 49",
        summary="A singular Legendre transform; the motion ends where the pendulum is vertical.",
        drawing=Drawing(
            shapes=(
                Link((-1.3 * l, tip[1]), (1.3 * l, tip[1]), width=6.0, color="body"),
                Link((0, 0), tip),
                PointMark((0, 0), size=6.0, color="ground"),
                PointMark(tip, size=7.0, color="accent"),
            ),
            limits=((-1.5, 1.5), (-1.3, 1.3)),
        ),
    )
