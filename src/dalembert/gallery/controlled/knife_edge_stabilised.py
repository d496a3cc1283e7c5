"""The knife edge moved sideways by one loop, and held: where no smooth feedback can bring it to the
origin.

The blade rests at a distance d beside the origin. With z1 = x cos(varphi) + y sin(varphi), z2 =
varphi and z3 = -x sin(varphi) + y cos(varphi) its kinematics are z3_dot = -z1 z2_dot, so that the
loop (0, 0), (a, 0), (a, b), (0, b) of (z1, z2) moves z3 by -a b; a = b = sqrt(d) brings it to zero.
Each side takes the time T. The feedback

    u2 = J v2,    u1 = m (v1 - z3 v2 + z1 varphi_dot^2),     v_i = r_i'' + 2 k (r_i' - z_i') + k^2
    (r_i - z_i)

makes z1 and z2 follow the loop r and stay at its end.
"""

from __future__ import annotations

from sympy import Expr, Max, Min, cos, sin, sqrt

from ...model.drawing import Drawing, PointMark, Trace
from ...model.scenario import Scenario
from ...model.symbols import parameters, t
from ..shared_parts import BLOCH, segment_along
from ..wheels import knife_edge


def _step(s: Expr) -> tuple[Expr, Expr, Expr]:
    """From 0 to 1 while s does, with its first two derivatives; all three are continuous."""
    c = Max(0, Min(1, s))
    return c**3 * (10 - 15 * c + 6 * c**2), 30 * c**2 * (1 - c) ** 2, 60 * c * (1 - c) * (1 - 2 * c)


def scenario() -> Scenario:
    """A blade that is parked one unit aside."""
    plain = knife_edge.scenario()
    system = plain.system
    x, y, varphi = system.coordinates
    m, J = (symbol for symbol in parameters("m J", positive=True))
    d, T, k = parameters("d T k", positive=True)
    side = sqrt(d)

    def reference(up: int, down: int) -> list[Expr]:
        both = zip(_step(t / T - up), _step(t / T - down), strict=True)
        return [side * (rise - fall) / T**order for order, (rise, fall) in enumerate(both)]

    z1, z3 = x * cos(varphi) + y * sin(varphi), -x * sin(varphi) + y * cos(varphi)
    z1_dot = x.dot * cos(varphi) + y.dot * sin(varphi) + varphi.dot * z3
    (r1, r1_dot, r1_ddot), (r2, r2_dot, r2_ddot) = reference(0, 2), reference(1, 3)
    v1 = r1_ddot + 2 * k * (r1_dot - z1_dot) + k**2 * (r1 - z1)
    v2 = r2_ddot + 2 * k * (r2_dot - varphi.dot) + k**2 * (r2 - varphi)
    closed = system.driven({"u1": m * (v1 - z3 * v2 + z1 * varphi.dot**2), "u2": J * v2})
    blade = (cos(varphi), sin(varphi))
    return Scenario(
        closed.replacing(name="Knife edge, stabilised"),
        parameters={"m": 1.0, "J": 1.0, "d": 1.0, "T": 2.0, "k": 3.0},
        start={"x": 0.0, "y": 1.0, "varphi": 0.0, "x_dot": 0.0, "y_dot": 0.0, "varphi_dot": 0.0},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10},
        source=f"{BLOCH}, section 6.6 (eqs. 6.6.14 to 6.6.22)",
        summary=(
            "A blade parked one unit aside by a loop of speed and heading, and held there by"
            " feedback."
        ),
        drawing=Drawing(
            shapes=(
                Trace((x, y)),
                segment_along((x, y), blade, 0.4, width=5.0, color="body"),
                PointMark((x + blade[0] / 5, y + blade[1] / 5), size=6.0, color="accent"),
            )
        ),
    )
