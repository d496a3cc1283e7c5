"""Two particles on an inclined plane, at a fixed distance and each moving at right angles to their
rod.

    H = sum |p_i|^2 / (2 m_i) + g sin(alpha) (m_1 y_1 + m_2 y_2),      d = r_1 - r_2
    (|d|^2 - L^2) / 2 = 0,      d . p_1 / m_1 = 0,      d . p_2 / m_2 = 0

The y axis points up the incline. Three constraints of rank two: the rate of the first is the
difference of the others. The rod turns at a constant rate, and the paths do not depend on the
masses for equal initial velocities.
"""

from __future__ import annotations

from sympy import Expr, sin

from ...model.constraints import holonomic, momentum
from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..shared_parts import UDWADIA, segment_along


def scenario() -> Scenario:
    """Both particles by their Hamiltonian, with all three constraints."""
    x1, y1, x2, y2 = coordinates("x1 y1 x2 y2")
    m1, m2, g, alpha, L = parameters("m1 m2 g alpha L", positive=True)
    dx, dy = x1 - x2, y1 - y2
    system = System(
        coordinates=[x1, y1, x2, y2],
        hamiltonian=(x1.momentum**2 + y1.momentum**2) / (2 * m1)
        + (x2.momentum**2 + y2.momentum**2) / (2 * m2)
        + g * sin(alpha) * (m1 * y1 + m2 * y2),
        constraints=[
            holonomic((dx**2 + dy**2 - L**2) / 2, name="rod"),
            momentum((dx * x1.momentum + dy * y1.momentum) / m1, name="skate1"),
            momentum((dx * x2.momentum + dy * y2.momentum) / m2, name="skate2"),
        ],
        name="Two particles on an incline",
    )
    return Scenario(
        system,
        parameters={"m1": 1.0, "m2": 2.0, "g": 9.81, "alpha": 0.5, "L": 1.0},
        start={"x1": 1.0, "y1": 0.0, "x2": 0.0, "y2": 0.0}
        | {"p_x1": 0.0, "p_y1": 1.0, "p_x2": 0.0, "p_y2": -1.0},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source=f"{UDWADIA}, example 4.3 (eqs. 47 to 66)",
        summary=(
            "Three dependent constraints of rank two: multipliers are not unique, the reaction is."
        ),
        drawing=_drawing((x1, y1), (x2, y2), L),
    )


def _drawing(first: tuple[Expr, Expr], second: tuple[Expr, Expr], length: Expr) -> Drawing:
    across = (-(first[1] - second[1]), first[0] - second[0])
    return Drawing(
        shapes=(
            Trace(first),
            Trace(second),
            Link(first, second),
            segment_along(first, across, 3 * length / 5, width=4.0, color="accent"),
            segment_along(second, across, 3 * length / 5, width=4.0, color="accent"),
            PointMark(first),
            PointMark(second, size=13.0),
        )
    )
