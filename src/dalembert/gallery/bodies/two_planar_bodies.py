"""Two planar rigid bodies with a common hinge, free in the plane and seen from their centre of
mass.

With theta = theta2 - theta1 the kinetic energy is w^T J(theta) w / 2 for w = (theta1_dot,
theta2_dot), and the momenta of the two angles are the mu_1 and mu_2 of the source; their sum is
conserved. Stretched (theta = 0) the pair turns stably, folded (theta = pi) unstably, where d12 and
d21 point in opposite directions.
"""

from __future__ import annotations

from ...model.builders.planar_bodies import planar_chain
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """Two equal bodies that fold and unfold."""
    chain = planar_chain(2)
    return Scenario(
        chain.system("Two planar bodies"),
        parameters={"m1": 1.0, "m2": 1.0, "I1": 1.0, "I2": 1.0}
        | {"d12x": 1.0, "d12y": 0.0, "d21x": -1.0, "d21y": 0.0},
        start={"theta1": 0.0, "theta2": 0.5, "p_theta1": 1.0, "p_theta2": 0.2},
        simulate={"span": (0.0, 20.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 3.13",
        summary="Two coupled bodies with conserved angular momentum.",
        drawing=chain.drawing,
    )
