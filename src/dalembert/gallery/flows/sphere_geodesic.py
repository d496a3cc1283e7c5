"""A geodesic of the sphere: a great circle."""

from __future__ import annotations

from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.builders.symmetric_spaces import sphere_flow
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """q_dot = p, p_dot = -|p|^2 q."""
    flow = sphere_flow(3, name="Geodesic of the sphere")
    return Scenario(
        flow,  # type: ignore[arg-type]
        start={"q_1": 1.0, "p_2": 0.6, "p_3": 0.5},
        simulate={"span": (0.0, 8.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary="A great circle at constant speed.",
        drawing=vectors_on_sphere([list(flow.matrices["q"])]),
    )
