"""A mass on a rigid, massless rod of length L, free in space; the z axis points down.

    H = |p|^2 / (2 m) - m g z,      (x^2 + y^2 + z^2 - L^2) / 2 = 0

Energy and the vertical angular momentum x p_y - y p_x are conserved.
"""

from __future__ import annotations

from ...model.constraints import holonomic
from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import UDWADIA


def scenario() -> Scenario:
    """The pendulum by its Hamiltonian, on a tilted loop."""
    x, y, z = coordinates("x y z")
    m, g, L = parameters("m g L", positive=True)
    system = System(
        coordinates=[x, y, z],
        hamiltonian=(x.momentum**2 + y.momentum**2 + z.momentum**2) / (2 * m) - m * g * z,
        constraints=[holonomic((x**2 + y**2 + z**2 - L**2) / 2, name="rod")],
        outputs={"angular_momentum": x * y.momentum - y * x.momentum},
        name="Spherical pendulum",
    )
    bob = (x, y, -z)
    return Scenario(
        system,
        parameters={"m": 1.0, "g": 9.81, "L": 1.0},
        start={"x": 0.6, "y": 0.0, "z": 0.8, "p_x": 0.4, "p_y": 1.1, "p_z": -0.3},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{UDWADIA}, example 4.1 (eqs. 37 to 42)",
        summary="A holonomic constraint imposed on Hamilton's equations.",
        drawing=Drawing(
            shapes=(
                Trace(bob),
                Link((0, 0, 0), bob),
                PointMark((0, 0, 0), size=5.0, color="ground"),
                PointMark(bob, size=12.0),
            ),
            limits=((-1.1, 1.1), (-1.1, 1.1), (-1.1, 0.3)),
        ),
    )
