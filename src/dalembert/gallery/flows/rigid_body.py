"""The free rigid body: Q_dot = Q Omega, M_dot = [M, Omega], close to its middle axis."""

from __future__ import annotations

from ...model.builders.flow_drawings import brick
from ...model.builders.rigid_bodies import rigid_body
from ...model.scenario import Scenario
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """A brick that is thrown with a turn about its middle axis, and tumbles."""
    body = rigid_body(3).replacing(name="Rigid body")
    unit = [[1.0 if i == j else 0.0 for j in range(3)] for i in range(3)]
    momentum = [[0.0, 0.05, -8.0], [-0.05, 0.0, -0.05], [8.0, 0.05, 0.0]]
    return Scenario(
        body,  # type: ignore[arg-type]
        parameters={"Lambda_1": 1.0, "Lambda_2": 2.0, "Lambda_3": 3.0},
        start=body.start(Q=unit, M=momentum),
        simulate={"span": (0.0, 30.0), "rtol": 1e-11},
        source=f"{BLOCH}, section 7.7",
        summary="A thrown brick turns over and over about its unstable middle axis.",
        drawing=brick(body.matrices["Q"], (0.4, 0.7, 1.0)),
    )
