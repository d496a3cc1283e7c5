"""A thin disk that rolls on a horizontal plane without slipping.

Its coordinates are the tilt theta, the turn psi, the heading phi, and the point of contact (x, y).
With the centre at c = (x - r sin(theta) sin(phi), y + r sin(theta) cos(phi), r cos(theta)),

    L = m/2 |c_dot|^2 - m g r cos(theta)
        + 1/2 (A (theta_dot^2 + phi_dot^2 cos^2(theta)) + C (psi_dot + phi_dot sin(theta))^2)
    x_dot + r psi_dot cos(phi) = 0,      y_dot + r psi_dot sin(phi) = 0

The Lagrangian printed in the source has a sign, a rate and the vertical energy wrong; this one
agrees with Newton and Euler.
"""

from __future__ import annotations

from sympy import cos, sin

from ...model.constraints import velocity
from ...model.drawing import Drawing
from ...model.forces import gravity, particle
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import RUMYANTSEV, TiltedWheel


def scenario() -> Scenario:
    """The disk wobbling along its path."""
    theta, psi, phi, x, y = coordinates("theta psi phi x y")
    m, r, g, A, C = parameters("m r g A C", positive=True)
    wheel = TiltedWheel(theta, psi, phi, (x, y))
    center = wheel.axle(r)
    spin = (
        A * (theta.dot**2 + phi.dot**2 * cos(theta) ** 2)
        + C * (psi.dot + phi.dot * sin(theta)) ** 2
    )
    system = System(
        coordinates=[theta, psi, phi, x, y],
        kinetic=spin / 2,
        parts=[particle(m, list(center)), gravity(m, center[2], g)],
        constraints=[
            velocity(x.dot + r * psi.dot * cos(phi), name="rolling_x"),
            velocity(y.dot + r * psi.dot * sin(phi), name="rolling_y"),
        ],
        name="Rolling disk",
    )
    return Scenario(
        system,
        parameters={"m": 1.0, "r": 0.5, "g": 9.81, "A": 0.0625, "C": 0.125},
        start={"theta": 0.3, "psi": 0.0, "phi": 0.2, "x": 0.0, "y": 0.0}
        | {"theta_dot": 0.4, "psi_dot": 3.0, "phi_dot": 0.7}
        | {"x_dot": -1.4700998667618623, "y_dot": -0.2980039961925918},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{RUMYANTSEV}, example 4.2 (eq. 2.3), with the Lagrangian corrected",
        summary="Rolling without slipping: two nonholonomic constraints on five coordinates.",
        drawing=Drawing(shapes=wheel.shapes(r)),
    )
