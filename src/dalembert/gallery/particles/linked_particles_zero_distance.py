"""The linked particles at zero distance, on springs: the image has rank two and still ties them
together.

With x1 = x3 and x2 = x4 the image says x1_dot = x3_dot and x2_dot = x4_dot, whatever the third
speed is, while the kernel of the same constraint says 0 = 0 and would let the particles part.
"""

from __future__ import annotations

from ...model.drawing import Drawing, PointMark, Spring, Trace
from ...model.scenario import Scenario
from ..shared_parts import MOREAU
from . import linked_particles


def scenario() -> Scenario:
    """Both particles at one place, pulled apart by different springs."""
    linked = linked_particles.scenario()
    x1, x2, x3, x4 = linked.system.coordinates
    return linked.replacing(
        system=linked.system.replacing(name="Linked particles at zero distance"),
        parameters={"m1": 1.0, "m2": 2.0, "g": 9.81, "k1": 4.0, "k2": 3.0},
        start={"x1": 0.2, "x2": -0.1, "x3": 0.2, "x4": -0.1, "u1": 0.5, "u2": 1.0, "u3": 0.0},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{MOREAU}, eqs. 33 to 39 where the particles coincide",
        summary="Where the particles coincide the image keeps its meaning and the kernel loses it.",
        drawing=Drawing(
            shapes=(
                Trace((x1, x2)),
                Spring((0, 0), (x1, x2)),
                Spring((0, 0), (x3, x4), coils=7),
                PointMark((0, 0), size=5.0, color="ground"),
                PointMark((x1, x2), size=14.0),
                PointMark((x3, x4), size=8.0, color="accent"),
            )
        ),
    )
