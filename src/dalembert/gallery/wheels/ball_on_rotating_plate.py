"""A homogeneous ball that rolls on a plate turning at the constant rate Omega: an affine
constraint.

The energy does not depend on the ball's attitude, so that three quasi-angles, whose rates are the
components of the angular velocity, serve as coordinates: turn_x, turn_y, turn_z. With the squared
radius of gyration k2 and the radius r,

    T = m/2 (x_dot^2 + y_dot^2 + k2 |omega|^2)
    x_dot + Omega y - r omega_y = 0,      y_dot - Omega x + r omega_x = 0

The ball moves on a circle at constant speed, with the rate k2 Omega / (k2 + r^2); the spin omega_z
is constant. The plate does work on the ball: the total energy is not conserved.
"""

from __future__ import annotations

from sympy import cos, pi, sin

from ...model.constraints import velocity
from ...model.drawing import Circle, Drawing, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ..shared_parts import segment_along


def scenario() -> Scenario:
    """The ball on its circle, which is not about the plate's axis."""
    x, y, turn_x, turn_y, turn_z = coordinates("x y turn_x turn_y turn_z")
    m, k2, r = parameters("m k2 r", positive=True)
    Omega = parameters("Omega")
    spin = turn_x.dot**2 + turn_y.dot**2 + turn_z.dot**2
    system = System(
        coordinates=[x, y, turn_x, turn_y, turn_z],
        kinetic=m / 2 * (x.dot**2 + y.dot**2 + k2 * spin),
        constraints=[
            velocity(x.dot + Omega * y - r * turn_y.dot, name="rolling_x"),
            velocity(y.dot - Omega * x + r * turn_x.dot, name="rolling_y"),
        ],
        outputs={"omega_z": turn_z.dot},
        name="Ball on a rotating plate",
    )
    right, ahead, plate = (1, 0, 0), (0, 1, 0), 4
    spokes = [Omega * t + k * pi / 3 for k in range(3)]
    return Scenario(
        system,
        parameters={"m": 1.0, "k2": 0.4, "r": 1.0, "Omega": 1.0},
        start={"x": 1.0, "y": 0.0, "turn_x": 0.0, "turn_y": 0.0, "turn_z": 0.0}
        | {"x_dot": 0.0, "y_dot": 0.5, "turn_x_dot": 0.5, "turn_y_dot": 0.0, "turn_z_dot": 0.3},
        simulate={"span": (0.0, 25.0), "rtol": 1e-10},
        source="Bloch and others, Nonholonomic Mechanics and Control, a standard example",
        summary="An affine constraint that does work: the ball circles away from the plate's axis.",
        drawing=Drawing(
            shapes=(
                Circle((0, 0, 0), plate, axes=(right, ahead), color="ground"),
                *(
                    segment_along(
                        (0, 0, 0), (cos(a), sin(a), 0), 2 * plate, width=1.0, color="ground"
                    )
                    for a in spokes
                ),
                Trace((x, y, 0)),
                Circle((x, y, r), r),
                PointMark((x, y, 0), size=5.0, color="accent"),
            )
        ),
    )
