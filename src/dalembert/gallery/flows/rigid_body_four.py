"""The free rigid body in four dimensions, with Manakov's integrals."""

from __future__ import annotations

from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.builders.rigid_bodies import rigid_body
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """A generic motion; three of the four body axes are drawn by their first three components."""
    body = rigid_body(4).replacing(name="Rigid body in four dimensions")
    unit = [[1.0 if i == j else 0.0 for j in range(4)] for i in range(4)]
    above = {(0, 1): 0.6, (0, 2): -0.9, (0, 3): 1.2, (1, 2): 0.5, (1, 3): -0.4, (2, 3): 0.8}
    momentum = [
        [above.get((i, j), 0.0) - above.get((j, i), 0.0) for j in range(4)] for i in range(4)
    ]
    rotation = body.matrices["Q"]
    return Scenario(
        body,  # type: ignore[arg-type]
        parameters={f"Lambda_{k}": float(k) for k in range(1, 5)},
        start=body.start(Q=unit, M=momentum),
        simulate={"span": (0.0, 30.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "An integrable rigid body in four dimensions: energy, spatial momentum and Manakov's"
            " integrals stay."
        ),
        drawing=vectors_on_sphere([[rotation[i, k] for i in range(3)] for k in range(3)]),
    )
