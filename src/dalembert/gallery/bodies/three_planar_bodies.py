"""Three planar rigid bodies in a row, hinged at their ends, free in the plane and seen from their
centre of mass.

The momenta of the three angles are the mu_i of the source; their sum is conserved.
"""

from __future__ import annotations

from ...model.builders.planar_bodies import planar_chain
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """Three equal bodies that curl up."""
    chain = planar_chain(3)
    return Scenario(
        chain.system("Three planar bodies"),
        parameters={"m1": 1.0, "m2": 1.0, "m3": 1.0, "I1": 1.0, "I2": 1.0, "I3": 1.0}
        | {"d12x": 1.0, "d12y": 0.0, "d21x": -1.0, "d21y": 0.0}
        | {"d23x": 1.0, "d23y": 0.0, "d32x": -1.0, "d32y": 0.0},
        start={
            "theta1": 0.0,
            "theta2": 0.3,
            "theta3": 0.1,
            "p_theta1": 1.0,
            "p_theta2": 0.5,
            "p_theta3": 0.2,
        },
        simulate={"span": (0.0, 20.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 3.13",
        summary="Three coupled bodies with conserved angular momentum.",
        drawing=chain.drawing,
    )
