"""A knife edge on a horizontal plane, pushed along its blade by u1 and turned by u2.

    m x'' = mu sin(varphi) + u1 cos(varphi),   m y'' = -mu cos(varphi) + u1 sin(varphi),   J
    varphi'' = u2 x_dot sin(varphi) - y_dot cos(varphi) = 0

The inputs are u1 = c0 + c1 cos(w t) and u2 = d0 + d1 sin(w t) unless others are given. With unit
constants the multiplier is -v varphi_dot, v the speed along the blade.
"""

from __future__ import annotations

from sympy import cos, sin

from ...model.constraints import velocity
from ...model.drawing import Drawing, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, inputs, parameters, t
from ...model.system import System
from ..shared_parts import BLOCH, segment_along


def scenario() -> Scenario:
    """The knife edge under a constant push and a swaying torque."""
    x, y, varphi = coordinates("x y varphi")
    m, J = parameters("m J", positive=True)
    c0, c1, d0, d1, w = parameters("c0 c1 d0 d1 w")
    u1, u2 = inputs("u1 u2")
    system = System(
        coordinates=[x, y, varphi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + J / 2 * varphi.dot**2,
        forces={x: u1 * cos(varphi), y: u1 * sin(varphi), varphi: u2},
        constraints=[velocity(x.dot * sin(varphi) - y.dot * cos(varphi), name="blade")],
        inputs={u1: c0 + c1 * cos(w * t), u2: d0 + d1 * sin(w * t)},
        name="Knife edge",
    )
    blade = (cos(varphi), sin(varphi))
    return Scenario(
        system,
        parameters={"m": 1.0, "J": 1.0, "c0": 0.1, "c1": 0.0, "d0": 0.0, "d1": 0.2, "w": 1.0},
        start={"x": 0.0, "y": 0.0, "varphi": 0.0, "x_dot": 1.0, "y_dot": 0.0, "varphi_dot": 0.5},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 6.6 (eqs. 6.6.14 to 6.6.22)",
        summary=(
            "A steered and pushed blade: the standard example that no smooth feedback stabilises."
        ),
        drawing=Drawing(
            shapes=(
                Trace((x, y)),
                segment_along((x, y), blade, 0.6, width=5.0, color="body"),
                PointMark((x + 3 * blade[0] / 10, y + 3 * blade[1] / 10), size=6.0, color="accent"),
            )
        ),
    )
