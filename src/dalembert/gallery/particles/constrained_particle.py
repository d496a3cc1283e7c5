"""A free particle with z_dot = y x_dot, the simplest nonholonomic system.

Exactly: y_dot is constant, and so is x_dot sqrt(1 + y^2).
"""

from __future__ import annotations

from sympy import sqrt

from ...model.constraints import velocity
from ...model.drawing import Drawing, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ...model.system import System
from ..shared_parts import BLOCH, point_in_space, segment_along


def scenario() -> Scenario:
    """The particle and the steepest direction that it may take."""
    m = parameters("m", positive=True)
    (x, y, z), kinetic = point_in_space(m, "x y z")
    system = System(
        coordinates=[x, y, z],
        kinetic=kinetic,
        constraints=[velocity(z.dot - y * x.dot, name="slope")],
        outputs={"noether": x.dot * sqrt(1 + y**2)},
        name="Constrained particle",
    )
    place = (x, y, z)
    return Scenario(
        system,
        parameters={"m": 1.0},
        start={"x": 0.0, "y": 0.0, "z": 0.0, "x_dot": 1.0, "y_dot": 1.0, "z_dot": 0.0},
        simulate={"span": (0.0, 4.0), "rtol": 1e-10},
        source=f"{BLOCH}, example 5.8.9",
        summary="The simplest nonholonomic system, with a closed-form solution.",
        drawing=Drawing(
            shapes=(
                Trace(place),
                segment_along(place, (1, 0, y), 0.8, color="accent"),
                PointMark(place),
            )
        ),
    )
