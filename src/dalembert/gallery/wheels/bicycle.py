"""A simplified bicycle: a point mass on massless wheels, steered by phi = tan(steering angle) /
wheelbase.

Its coordinates are the rear contact (x, y), the yaw theta, the roll psi from the vertical, and phi.
The mass is at the distance c ahead of the rear contact and at the height a when upright. With the
body velocities xi1 = x_dot cos(theta) + y_dot sin(theta) and xi2 = -x_dot sin(theta) + y_dot
cos(theta),

    L = m/2 ((xi1 + a sin(psi) theta_dot)^2 + (xi2 - a cos(psi) psi_dot + c theta_dot)^2 + (a
    sin(psi) psi_dot)^2)
        + J(psi, phi)/2 phi_dot^2 - m g a cos(psi),      J = j0 + j1 cos^2(psi) + j2 phi^2
    theta_dot - phi xi1 = 0,      xi2 = 0

The mass matrix has rank four of five; on the constraints it is regular.
"""

from __future__ import annotations

from sympy import Expr, Matrix, atan, cos, sin

from ...model.constraints import velocity
from ...model.drawing import Circle, Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """The bicycle without a rider: it curves and falls over."""
    x, y, theta, psi, phi = coordinates("x y theta psi phi")
    m, a, c, g = parameters("m a c g", positive=True)
    j0, j1, j2 = parameters("j0 j1 j2")
    xi1 = x.dot * cos(theta) + y.dot * sin(theta)
    xi2 = -x.dot * sin(theta) + y.dot * cos(theta)
    translation = (
        (xi1 + a * sin(psi) * theta.dot) ** 2
        + (xi2 - a * cos(psi) * psi.dot + c * theta.dot) ** 2
        + (a * sin(psi) * psi.dot) ** 2
    )
    system = System(
        coordinates=[x, y, theta, psi, phi],
        kinetic=m / 2 * translation + (j0 + j1 * cos(psi) ** 2 + j2 * phi**2) / 2 * phi.dot**2,
        potential=m * g * a * cos(psi),
        constraints=[
            velocity(theta.dot - phi * xi1, name="front_wheel"),
            velocity(xi2, name="rear_wheel"),
        ],
        name="Bicycle",
    )
    return Scenario(
        system,
        parameters={"m": 1.0, "a": 1.0, "c": 0.5, "g": 9.81, "j0": 0.5, "j1": 0.0, "j2": 0.0},
        start={"x": 0.0, "y": 0.0, "theta": 0.0, "psi": 0.05, "phi": 0.1}
        | {
            "x_dot": 3.0,
            "y_dot": 0.0,
            "theta_dot": 0.30000000000000004,
            "psi_dot": 0.0,
            "phi_dot": 0.1,
        },
        simulate={"span": (0.0, 0.9), "rtol": 1e-10},
        source=f"{BLOCH}, section 5.9 (eqs. 5.9.81 to 5.9.96)",
        summary="A mass matrix that is singular, and regular on the constraints.",
        drawing=_drawing((x, y), theta, psi, phi, a, c),
    )


def _drawing(
    rear: tuple[Expr, Expr], theta: Expr, psi: Expr, phi: Expr, a: Expr, c: Expr
) -> Drawing:
    """Two wheels, a frame and the mass; the wheelbase is drawn as 2 c."""
    ahead, left = Matrix([cos(theta), sin(theta), 0]), Matrix([-sin(theta), cos(theta), 0])
    up = -sin(psi) * left + cos(psi) * Matrix([0, 0, 1])
    steer = atan(2 * c * phi)
    steered = cos(steer) * ahead + sin(steer) * up.cross(ahead)
    radius = 3 * a / 10
    rear_contact = Matrix([*rear, 0])
    front_contact = rear_contact + 2 * c * ahead
    rear_hub, front_hub = rear_contact + radius * up, front_contact + radius * up
    mass, head = rear_contact + c * ahead + a * up, front_hub + a / 2 * up
    return Drawing(
        shapes=(
            Trace(tuple(rear_contact)),
            Trace(tuple(front_contact), color="accent"),
            Circle(tuple(rear_hub), radius, axes=(tuple(ahead), tuple(up))),
            Circle(tuple(front_hub), radius, axes=(tuple(steered), tuple(up))),
            Link(tuple(rear_hub), tuple(head)),
            Link(tuple(front_hub), tuple(head)),
            Link(tuple(rear_hub), tuple(mass)),
            Link(tuple(head), tuple(mass)),
            PointMark(tuple(mass), size=14.0),
        )
    )
