"""A double pendulum whose momenta are tied by a law that depends on time: p_1 = alpha p_2 sin(omega
t).

The angles are measured from the downward vertical. The constraint contains time and is not
integrable, yet it is homogeneous in the momenta, so that H is conserved.
"""

from __future__ import annotations

from sympy import cos, sin

from ...model.constraints import momentum
from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ..shared_parts import UDWADIA


def scenario() -> Scenario:
    """The double pendulum by its Hamiltonian, with the rheonomic constraint on its momenta."""
    theta1, theta2 = coordinates("theta1 theta2")
    m1, m2, g, l1, l2 = parameters("m1 m2 g l1 l2", positive=True)
    alpha, omega = parameters("alpha omega")
    p1, p2 = theta1.momentum, theta2.momentum
    kinetic = (
        m2 * l2**2 * p1**2
        + (m1 + m2) * l1**2 * p2**2
        - 2 * m2 * l1 * l2 * cos(theta1 - theta2) * p1 * p2
    ) / (2 * m2 * l1**2 * l2**2 * (m1 + m2 * sin(theta1 - theta2) ** 2))
    potential = -(m1 + m2) * g * l1 * cos(theta1) - m2 * g * l2 * cos(theta2)
    system = System(
        coordinates=[theta1, theta2],
        hamiltonian=kinetic + potential,
        constraints=[momentum(p1 - alpha * p2 * sin(omega * t), name="drive")],
        name="Driven double pendulum",
    )
    elbow = (l1 * sin(theta1), -l1 * cos(theta1))
    tip = (elbow[0] + l2 * sin(theta2), elbow[1] - l2 * cos(theta2))
    return Scenario(
        system,
        parameters={
            "m1": 1.0,
            "m2": 1.0,
            "g": 9.81,
            "l1": 1.0,
            "l2": 1.0,
            "alpha": 0.5,
            "omega": 2.0,
        },
        start={"theta1": 0.4, "theta2": -0.3, "p_theta1": 0.0, "p_theta2": 1.2},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{UDWADIA}, example 4.4 (eqs. 67 to 76)",
        summary="A constraint on momenta that depends on time and still conserves the energy.",
        drawing=Drawing(
            shapes=(
                Trace(tip),
                Link((0, 0), elbow),
                Link(elbow, tip),
                PointMark((0, 0), size=5.0, color="ground"),
                PointMark(elbow),
                PointMark(tip),
            ),
            limits=((-2.2, 2.2), (-2.2, 0.6)),
        ),
    )
