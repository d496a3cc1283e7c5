"""Furuta's pendulum, upright on an arm that turns, with a controlled Lagrangian and a force that
does no work.

    2 T = m l^2 phi_dot^2 + 2 m R l cos(phi) phi_dot theta_dot + (J + m R^2 + m l^2 sin(phi)^2)
    theta_dot^2 U = m g l cos(phi)

The inertia of the arm depends on phi, so that matching by energies alone fails. With

    lambda = (-1, m R l cos(phi) / (J_a + m l^2 sin(phi)^2)),      J_a = (J + m R^2) / a

it succeeds beside a force Y of the closed loop, quadratic in the velocities, with q_dot . Y = 0.
"""

from __future__ import annotations

from sympy import Matrix, atan, cos, sin, sqrt

from ...model.drawing import Circle, Drawing, Link, PointMark, Trace
from ...model.forces import gravity, particle
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters
from ...model.system import System
from ..shared_parts import BLOCH
from .controlled_lagrangians import controlled_energy, law, powerless_force


def scenario() -> Scenario:
    """From a tilt, at rest."""
    phi, theta = coordinates("phi theta")
    m, J, R, l, g, a, k, eps, d = parameters("m J R l g a k eps d", positive=True)
    u = inputs("u")
    elbow = (R * cos(theta), R * sin(theta), 0)
    bob = (elbow[0] - l * sin(phi) * sin(theta), elbow[1] + l * sin(phi) * cos(theta), l * cos(phi))
    arm = J + m * R**2
    cross, swept = m * R * l * cos(phi), m * l**2 * sin(phi) ** 2
    metric = Matrix([[m * l**2, cross], [cross, arm + swept]])
    lift = cross / (arm / a + swept)
    row = Matrix([m * l**2, cross])
    ahead = Matrix([lift, 1])
    wanted = row * row.T / (cross * lift - m * l**2) + k * arm * ahead * ahead.T
    y = theta + R * sqrt(a * m / arm) * atan(l * sqrt(a * m / arm) * sin(phi))
    potential = m * g * l * (1 - cos(phi)) + eps * arm * y**2 / 2
    derivatives = Matrix([potential.diff(phi), potential.diff(theta)])
    beside = powerless_force(metric, wanted, lift, phi, theta)
    system = System(
        coordinates=[phi, theta],
        kinetic=J * theta.dot**2 / 2,
        parts=[particle(m, list(bob)), gravity(m, bob[2], g)],
        forces={theta: u},
        inputs={u: law(metric, wanted, derivatives, d, phi, theta, beside)},
        outputs={"controlled_energy": controlled_energy(wanted, potential, phi, theta)},
        name="Furuta's pendulum, matched",
    )
    return Scenario(
        system,
        parameters={
            "m": 0.14,
            "J": 0.01,
            "R": 0.2,
            "l": 0.215,
            "g": 9.8,
            "a": 5.571428571428571,
            "k": 0.36,
            "eps": 13.4,
            "d": 0.227,
        },
        start={"phi": 0.4, "theta": -0.8, "phi_dot": 0.0, "theta_dot": 0.0},
        simulate={"span": (0.0, 4.0), "rtol": 1e-10},
        source=f"{BLOCH}, 9.4.17 to 9.4.24, with a force without power",
        summary="An upright pendulum on a turning arm, held by a controlled Lagrangian.",
        drawing=Drawing(
            shapes=(
                Circle((0, 0, 0), R, axes=((1, 0, 0), (0, 1, 0)), color="ground"),
                Trace(bob),
                Link((0, 0, 0), elbow, width=3.0),
                Link(elbow, bob, width=2.5, color="accent"),
                PointMark(bob, size=12.0, color="accent"),
            )
        ),
    )
