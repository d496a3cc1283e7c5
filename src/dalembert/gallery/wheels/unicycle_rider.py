"""A unicycle with a rider: a rolling disk, a mass fixed above its centre, and a pendulum that
swings across its plane.

Its coordinates are the tilt theta of the wheel, the angle kappa of the limb to the rod, the turn
psi, the heading phi and the point of contact (x, y). M, R, A, B belong to the disk, m sits at R + l
above the contact along the disk's plane, and mu hangs by a limb of length rho from the rod's end at
R + r. The disk rolls without slipping:

    x_dot + R psi_dot cos(phi) = 0,      y_dot + R psi_dot sin(phi) = 0

The input u is a torque between limb and rod; it is zero unless given. The outputs p1 and p2 are the
nonholonomic momenta, the derivatives of the constrained Lagrangian by phi_dot and psi_dot.
"""

from __future__ import annotations

from sympy import Matrix, cos, sin

from ...model.constraints import velocity
from ...model.drawing import Drawing, Link, PointMark
from ...model.forces import gravity, particle
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters
from ...model.system import System
from ..shared_parts import BLOCH, TiltedWheel


def scenario() -> Scenario:
    """The unicycle without control: it falls over."""
    theta, kappa, psi, phi, x, y = coordinates("theta kappa psi phi x y")
    M, R, A, B, m, l, mu, r, rho, g = parameters("M R A B m l mu r rho g", positive=True)
    u = inputs("u")
    wheel = TiltedWheel(theta, psi, phi, (x, y))
    hub, rider, shoulder = wheel.axle(R), wheel.axle(R + l), wheel.axle(R + r)
    limb = shoulder + rho * (
        sin(kappa - theta) * wheel.sideways - cos(kappa - theta) * Matrix([0, 0, 1])
    )
    spin = (
        A * (theta.dot**2 + phi.dot**2 * cos(theta) ** 2)
        + B * (psi.dot + phi.dot * sin(theta)) ** 2
    )
    masses = [(M, hub), (m, rider), (mu, limb)]
    system = System(
        coordinates=[theta, kappa, psi, phi, x, y],
        kinetic=spin / 2,
        parts=[
            *(particle(mass, list(place)) for mass, place in masses),
            *(gravity(mass, place[2], g) for mass, place in masses),
        ],
        forces={kappa: u},
        inputs={u: 0},
        constraints=[
            velocity(x.dot + R * psi.dot * cos(phi), name="rolling_x"),
            velocity(y.dot + R * psi.dot * sin(phi), name="rolling_y"),
        ],
        outputs={
            "p1": phi.momentum,
            "p2": psi.momentum - R * (x.momentum * cos(phi) + y.momentum * sin(phi)),
        },
        name="Unicycle with rider",
    )
    return Scenario(
        system,
        parameters={
            "M": 1.0,
            "R": 0.5,
            "A": 0.125,
            "B": 0.25,
            "m": 2.0,
            "l": 0.4,
            "mu": 0.6,
            "r": 0.5,
            "rho": 0.35,
        }
        | {"g": 9.81},
        start={"theta": 0.1, "kappa": -0.05, "psi": 0.0, "phi": 0.0, "x": 0.0, "y": 0.0}
        | {
            "theta_dot": 0.0,
            "kappa_dot": 0.0,
            "psi_dot": 2.0,
            "phi_dot": 0.5,
            "x_dot": -1.0,
            "y_dot": 0.0,
        },
        simulate={"span": (0.0, 1.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 9.4",
        summary="A balancing problem with rolling constraints; without control it falls.",
        drawing=Drawing(
            shapes=(
                *wheel.shapes(R),
                Link(tuple(hub), tuple(shoulder), width=3.0),
                PointMark(tuple(rider), size=14.0),
                Link(tuple(shoulder), tuple(limb), color="accent"),
                PointMark(tuple(limb), size=10.0, color="accent"),
            )
        ),
    )
