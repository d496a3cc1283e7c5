"""Toda's lattice in Flaschka's matrix: A_dot = [A, pi_k(A)] sorts a tridiagonal A."""

from __future__ import annotations

from ...model.builders.bracket_flows import toda
from ...model.builders.flow_drawings import bars
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """Eight particles; fast ones come from behind and pass their momentum on."""
    flow = toda(8)
    diagonal = [1.4, -0.3, 0.8, -1.2, 0.5, -0.9, 0.1, -0.6]
    start = {f"a_{k}": value for k, value in enumerate(diagonal, start=1)} | {
        f"b_{k}": 0.4 for k in range(1, 8)
    }
    a, b = flow.coordinates[:8], flow.coordinates[8:]
    return Scenario(
        flow,  # type: ignore[arg-type]
        start=start,
        simulate={"span": (0.0, 30.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "The Toda lattice sorts the eigenvalues of its matrix; bars are the diagonal, dots the"
            " entries beside it."
        ),
        drawing=bars(a, b, 1.8),
    )
