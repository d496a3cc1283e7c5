"""The symmetric rigid body: two rotations Q and P with the same angular velocity."""

from __future__ import annotations

import math

from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.builders.rigid_bodies import rigid_body
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """P is Q turned by a right angle and a little more: the norm of M stays below 2."""
    body = rigid_body(3, symmetric=True).replacing(name="Symmetric rigid body")
    unit = [[1.0 if i == j else 0.0 for j in range(3)] for i in range(3)]
    c, s = math.cos(1.2), math.sin(1.2)
    d, e = math.cos(0.3), math.sin(0.3)
    turned = [[c * d, -s, c * e], [s * d, c, s * e], [-e, 0.0, d]]
    place, partner = body.matrices["Q"], body.matrices["P"]
    return Scenario(
        body,  # type: ignore[arg-type]
        parameters={"Lambda_1": 0.3, "Lambda_2": 0.2, "Lambda_3": 0.5},
        start=body.start(Q=unit, P=turned),
        simulate={"span": (0.0, 20.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "The rigid body on SO(3) x SO(3): M = Q^T P - P^T Q, and P Q^T - Q P^T is conserved."
        ),
        drawing=vectors_on_sphere(
            [[matrix[i, 0] for i in range(3)] for matrix in (place, partner)]
        ),
    )
