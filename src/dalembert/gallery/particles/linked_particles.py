"""Two particles in a vertical plane with a rigid, massless link, by the image of three speeds.

    x1_dot = u1,   x2_dot = u2,   x3_dot = u1 + (x2 - x4) u3,   x4_dot = u2 - (x1 - x3) u3

The same constraint as a kernel, (x1 - x3)(x1_dot - x3_dot) + (x2 - x4)(x2_dot - x4_dot) = 0, loses
its row where the particles coincide; the image does not. Springs of stiffness k1 and k2 tie the
particles to the origin.
"""

from __future__ import annotations

from ...model.constraints import image
from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.forces import gravity, particle
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters, speeds
from ...model.system import System
from ..shared_parts import MOREAU


def scenario() -> Scenario:
    """The link thrown upwards without springs: it falls freely and spins at a constant rate."""
    x1, x2, x3, x4 = coordinates("x1 x2 x3 x4")
    m1, m2, g = parameters("m1 m2 g", positive=True)
    k1, k2 = parameters("k1 k2", nonnegative=True)
    u1, u2, u3 = speeds("u1 u2 u3")
    velocities = {x1: u1, x2: u2, x3: u1 + (x2 - x4) * u3, x4: u2 - (x1 - x3) * u3}
    system = System(
        coordinates=[x1, x2, x3, x4],
        potential=k1 / 2 * (x1**2 + x2**2) + k2 / 2 * (x3**2 + x4**2),
        parts=[
            particle(m1, [x1, x2]),
            particle(m2, [x3, x4]),
            gravity(m1, x2, g),
            gravity(m2, x4, g),
        ],
        constraints=[image(velocities, [u1, u2, u3], name="link")],
        outputs={"distance_squared": (x1 - x3) ** 2 + (x2 - x4) ** 2},
        name="Linked particles",
    )
    first, second = (x1, x2), (x3, x4)
    return Scenario(
        system,
        parameters={"m1": 1.0, "m2": 2.0, "g": 9.81, "k1": 0.0, "k2": 0.0},
        start={"x1": 0.0, "x2": 0.0, "x3": 1.0, "x4": 0.0, "u1": 0.3, "u2": 2.0, "u3": -2.5},
        simulate={"span": (0.0, 1.2), "rtol": 1e-10},
        source=f"{MOREAU}, eqs. 33 to 39",
        summary="The image representation of a constraint: velocities as combinations of speeds.",
        drawing=Drawing(
            shapes=(
                Trace(first),
                Trace(second),
                Link(first, second),
                PointMark(first),
                PointMark(second, size=13.0),
            )
        ),
    )
