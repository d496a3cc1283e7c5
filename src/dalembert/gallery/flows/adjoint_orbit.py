"""An optimal motion on an adjoint orbit of SO(3): a circle at constant speed on a sphere."""

from __future__ import annotations

from ...model.builders.bracket_flows import orbit_flow
from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """x_dot = [x, [p, x]], p_dot = [p, [p, x]]; the control [p, x] is constant."""
    flow = orbit_flow(3, name="Motion on an adjoint orbit")
    place = [[0.0, -0.5, 0.0], [0.5, 0.0, -1.0], [0.0, 1.0, 0.0]]
    costate = [[0.0, 0.3, 0.7], [-0.3, 0.0, -0.2], [-0.7, 0.2, 0.0]]
    x = flow.matrices["x"]
    return Scenario(
        flow,  # type: ignore[arg-type]
        start=flow.start(x=place, p=costate),
        simulate={"span": (0.0, 10.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "A double bracket on so(3) with a constant optimal control: the orbit is a sphere, the"
            " motion a circle on it."
        ),
        drawing=vectors_on_sphere([(x[2, 1], x[0, 2], x[1, 0])], 1.25**0.5),
    )
