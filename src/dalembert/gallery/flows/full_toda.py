"""The full symmetric Toda flow, with the frame that turns the first matrix into later ones."""

from __future__ import annotations

from ...model.builders.bracket_flows import toda
from ...model.builders.flow_drawings import bars
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """A full 4 x 4 matrix and k with k_dot = k pi_k(A)."""
    flow = toda(4, full=True, frame=True)
    matrix = [
        [1.0, 0.5, -0.3, 0.2],
        [0.5, 0.0, 0.3, -0.4],
        [-0.3, 0.3, -1.0, 0.4],
        [0.2, -0.4, 0.4, 0.5],
    ]
    unit = [[1.0 if i == j else 0.0 for j in range(4)] for i in range(4)]
    a = flow.matrices["A"]
    return Scenario(
        flow,  # type: ignore[arg-type]
        start=flow.start(A=matrix, k=unit),
        simulate={"span": (0.0, 15.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "The full Toda flow: exp(t A_0) = k l gives it in closed form, and its diagonal ends"
            " sorted."
        ),
        drawing=bars([a[k, k] for k in range(4)], [a[k, k + 1] for k in range(3)], 1.6),
    )
