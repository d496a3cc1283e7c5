"""A particle on a potential hill with valleys: it escapes, but not in finite time.

    T = m/2 (x_dot^2 + y_dot^2),      V = m (c x^2 y^2 - b (x^2 + y^2))

Where V/m >= a - b |q|^2 (here a = 0), every motion exists for all time, and |q(t)| <= r(t) with r''
= 2 b r, r(0) = |q(0)| and r'(0) = sqrt(2 (E/m - a + b |q(0)|^2)).
"""

from __future__ import annotations

from sympy import sqrt

from ...model.drawing import Drawing, Link, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import parameters
from ...model.system import System
from ..shared_parts import BLOCH, point_in_space


def scenario() -> Scenario:
    """The particle bouncing between the valley's walls on its way out."""
    m = parameters("m", positive=True)
    b, c = parameters("b c", nonnegative=True)
    (x, y), kinetic = point_in_space(m, "x y")
    system = System(
        coordinates=[x, y],
        kinetic=kinetic,
        potential=m * (c * x**2 * y**2 - b * (x**2 + y**2)),
        outputs={"radius": sqrt(x**2 + y**2)},
        name="Particle in a potential",
    )
    place = (x, y)
    return Scenario(
        system,
        parameters={"m": 1.0, "b": 0.1, "c": 2.0},
        start={"x": 0.5, "y": 0.4, "x_dot": 0.2, "y_dot": -0.6},
        simulate={"span": (0.0, 8.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 2.1",
        summary="A potential that falls no faster than a parabola: motions exist for all time.",
        drawing=Drawing(
            shapes=(
                Link((-1, 0), (1, 0), width=1.0, color="ground"),
                Link((0, -1), (0, 1), width=1.0, color="ground"),
                Trace(place),
                PointMark(place),
            )
        ),
    )
