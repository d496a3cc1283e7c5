"""A geodesic of planes in space: a 3 x 2 matrix that rotations move from both sides."""

from __future__ import annotations

from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.builders.symmetric_spaces import grassmannian_flow
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """The columns of Q stay orthonormal; U and V are constant."""
    flow = grassmannian_flow(3, 2, name="Geodesic of planes")
    q = flow.matrices["Q"]
    return Scenario(
        flow,  # type: ignore[arg-type]
        start=flow.start(
            Q=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], P=[[0.0, 0.3], [0.1, 0.0], [0.5, -0.4]]
        ),
        simulate={"span": (0.0, 12.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "Two orthonormal vectors moved by the optimal controls of SO(3) and SO(2); the singular"
            " values of Q stay."
        ),
        drawing=vectors_on_sphere([[q[i, k] for i in range(3)] for k in range(2)]),
    )
