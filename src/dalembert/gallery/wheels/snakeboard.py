"""The snakeboard: a board on two steered wheel pairs, with a rotor in its middle for the rider.

Its coordinates are the position (x, y) and heading theta of the board, the rotor's angle psi, and
the steering angle phi of the back wheels, which the front wheels mirror. With the total inertia m
r^2,

    L = m/2 (x_dot^2 + y_dot^2) + m r^2/2 theta_dot^2 + J0/2 psi_dot^2 + J0 psi_dot theta_dot + J1
    phi_dot^2 -sin(theta + phi) x_dot + cos(theta + phi) y_dot - r cos(phi) theta_dot = 0     (back)
    -sin(theta - phi) x_dot + cos(theta - phi) y_dot + r cos(phi) theta_dot = 0     (front)

The output `p` is the nonholonomic momentum, p_dot = 2 J0 cos^2(phi) phi_dot psi_dot - tan(phi)
phi_dot p.
"""

from __future__ import annotations

from sympy import Expr, cos, sin

from ...model.constraints import velocity
from ...model.drawing import Drawing, Link, PointMark, Shape, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import BLOCH, segment_along


def scenario() -> Scenario:
    """The board coasting while rotor and wheels turn freely."""
    x, y, theta, psi, phi = coordinates("x y theta psi phi")
    m, r, J0, J1 = parameters("m r J0 J1", positive=True)
    forward = x.dot * cos(theta) + y.dot * sin(theta)
    spin = m * r**2 * theta.dot + J0 * psi.dot
    system = System(
        coordinates=[x, y, theta, psi, phi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2)
        + m * r**2 / 2 * theta.dot**2
        + J0 / 2 * psi.dot**2
        + J0 * psi.dot * theta.dot
        + J1 * phi.dot**2,
        constraints=[
            velocity(
                -sin(theta + phi) * x.dot + cos(theta + phi) * y.dot - r * cos(phi) * theta.dot,
                name="back_wheels",
            ),
            velocity(
                -sin(theta - phi) * x.dot + cos(theta - phi) * y.dot + r * cos(phi) * theta.dot,
                name="front_wheels",
            ),
        ],
        outputs={"p": -2 * m * r * cos(phi) ** 2 * forward + spin * sin(2 * phi)},
        name="Snakeboard",
    )
    return Scenario(
        system,
        parameters={"m": 1.0, "r": 1.0, "J0": 0.25, "J1": 0.1},
        start={"x": 0.0, "y": 0.0, "theta": 0.0, "psi": 0.0, "phi": 0.5}
        | {
            "x_dot": -0.5491463165137356,
            "y_dot": 0.0,
            "theta_dot": 0.3,
            "psi_dot": 0.7,
            "phi_dot": 0.2,
        },
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 5.9",
        summary="The momentum p changes although nothing pushes; p_psi and p_phi are conserved.",
        drawing=_drawing(x, y, theta, psi, phi, r),
    )


def _drawing(x: Expr, y: Expr, theta: Expr, psi: Expr, phi: Expr, r: Expr) -> Drawing:
    """The board from above: two wheel pairs with axles, and the rotor with its weights."""
    ahead = (cos(theta), sin(theta))
    back, front = (x - r * ahead[0], y - r * ahead[1]), (x + r * ahead[0], y + r * ahead[1])
    arm = (r / 2 * cos(theta + psi), r / 2 * sin(theta + psi))
    shapes: list[Shape] = [Trace((x, y)), Link(back, front, width=6.0)]
    for place, angle in ((back, theta + phi), (front, theta - phi)):
        along, across = (cos(angle), sin(angle)), (-sin(angle), cos(angle))
        shapes.append(segment_along(place, across, r / 2, width=1.5))
        for side in (-r / 4, r / 4):
            wheel = (place[0] + side * across[0], place[1] + side * across[1])
            shapes.append(segment_along(wheel, along, r / 3, width=4.0, color="body"))
    ends = ((x - arm[0], y - arm[1]), (x + arm[0], y + arm[1]))
    shapes += [
        Link(*ends, color="accent"),
        PointMark(ends[0], size=7.0, color="accent"),
        PointMark(ends[1], size=7.0, color="accent"),
        PointMark((x, y), size=5.0, color="ground"),
    ]
    return Drawing(shapes=tuple(shapes))
