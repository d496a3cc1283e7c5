"""Brockett's problem on an adjoint orbit of SO(3), with the potential -|[x, n]|^2 / 2."""

from __future__ import annotations

from ...model.builders.bracket_flows import orbit_flow
from ...model.builders.flow_drawings import vectors_on_sphere
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """x_dot = [x, [p, x]], p_dot = [p, [p, x]] - [n, [n, x]] with n a turn about the third axis."""
    target = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    flow = orbit_flow(
        3,
        brockett=[[int(entry) for entry in row] for row in target],
        name="Brockett's motion on an orbit",
    )
    place = [[0.0, -0.5, 0.0], [0.5, 0.0, -1.0], [0.0, 1.0, 0.0]]
    costate = [[0.0, 0.3, 0.7], [-0.3, 0.0, -0.2], [-0.7, 0.2, 0.0]]
    x = flow.matrices["x"]
    return Scenario(
        flow,  # type: ignore[arg-type]
        start=flow.start(x=place, p=costate),
        simulate={"span": (0.0, 6.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary=(
            "An optimal motion on an orbit with a potential: the spectrum of x stays, [p, x] does"
            " not."
        ),
        drawing=vectors_on_sphere([(x[2, 1], x[0, 2], x[1, 0])], 1.25**0.5),
    )
