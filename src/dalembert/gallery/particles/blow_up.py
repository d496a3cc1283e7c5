"""A particle that reaches infinity in finite time.

    T = q_dot^2 / 2,      V = -eps^2 q^(2 + 4/eps) / 8

From q = q_dot = 1 with eps = 2 the motion is q = (1 - t)^(-eps/2), which ends at t = 1; the start
for any eps is q = 1, q_dot = eps/2.
"""

from __future__ import annotations

from ...model.drawing import Drawing, Link, PointMark
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import BLOCH


def scenario() -> Scenario:
    """The run asks for two seconds and ends in a blow-up after one."""
    q = coordinates("q")
    eps = parameters("eps", positive=True)
    system = System(
        coordinates=[q],
        kinetic=q.dot**2 / 2,
        potential=-(eps**2) * q ** (2 + 4 / eps) / 8,
        name="Finite-time blow-up",
    )
    return Scenario(
        system,
        parameters={"eps": 2.0},
        start={"q": 1.0, "q_dot": 1.0},
        simulate={"span": (0.0, 2.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 2.1",
        summary="A potential that falls too fast: the motion ends at t = 1.",
        drawing=Drawing(
            shapes=(Link((0, 0), (20, 0), width=1.0, color="ground"), PointMark((q, 0))),
            limits=((0.0, 20.0), (-2.0, 2.0)),
        ),
    )
