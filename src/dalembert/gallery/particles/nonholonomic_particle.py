"""A free particle whose momentum obeys z^2 p_x = p_y.

    H = |p|^2 / (2 m),      (z^2 p_x - p_y) / m = 0

The constraint is not integrable away from z = 0. Exactly: p_z is constant, p_x = c / sqrt(1 + z^4),
and p_y = c z^2 / sqrt(1 + z^4). The constraint is written by velocities, z^2 x_dot - y_dot, so that
its multiplier is a force.
"""

from __future__ import annotations

from sympy import sqrt

from ...model.constraints import momentum
from ...model.drawing import Drawing, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import UDWADIA, segment_along


def scenario() -> Scenario:
    """The particle by its Hamiltonian, with the constraint on its momenta."""
    x, y, z = coordinates("x y z")
    m = parameters("m", positive=True)
    system = System(
        coordinates=[x, y, z],
        hamiltonian=(x.momentum**2 + y.momentum**2 + z.momentum**2) / (2 * m),
        constraints=[momentum((z**2 * x.momentum - y.momentum) / m, name="slope")],
        outputs={"horizontal_momentum": x.momentum * sqrt(1 + z**4)},
        name="Nonholonomic particle",
    )
    return Scenario(
        system,
        parameters={"m": 1.0},
        start={"x": 0.0, "y": 0.0, "z": 0.5, "p_x": 1.0, "p_y": 0.25, "p_z": 0.8},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{UDWADIA}, example 4.2 (eqs. 43 to 46)",
        summary="A nonholonomic constraint on momenta, with a closed-form solution.",
        drawing=nonholonomic_particle_drawing(x, y, z),
    )


def nonholonomic_particle_drawing(x: object, y: object, z: object) -> Drawing:
    """The particle, its path, and the horizontal direction in which it may move."""
    place = (x, y, z)
    allowed = (1, z**2, 0)  # type: ignore[operator]
    return Drawing(
        shapes=(Trace(place), segment_along(place, allowed, 0.8, color="accent"), PointMark(place))
    )
