"""The Stewart platform: a plate on six legs that change their lengths.

Each leg is a tube on a universal joint and a piston in it, with a ball joint at the plate; the six
ball joints close the loops.
"""

from __future__ import annotations

import math

from ...model.bodies.body import Body, ground
from ...model.bodies.joints import Joint, free, prismatic, spherical, universal
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.shapes import line
from ...model.bodies.vectors import Rotation
from ...model.scenario import Scenario
from ...model.symbols import as_expression, parameters

BASE, TOP, HEIGHT = 1.0, 0.6, 1.0


def mechanism() -> Mechanism:
    """Springs and dampers in the legs carry the plate."""
    m, k, c, g = parameters("m k c g", positive=True)
    feet = [_on_circle(BASE, 60 * (leg // 2 * 2) + (10 if leg % 2 else -10)) for leg in range(6)]
    tips = [_on_circle(TOP, 60 * (leg // 2 * 2) + (50 if leg % 2 else -50)) for leg in range(6)]
    rim = line(*((*tip, 0.0) for tip in (*tips, tips[0])))
    plate = Body("plate", 10 * m, inertia=(m, m, 2 * m), shapes=[rim])
    joints: list[Joint] = [free("plate", ground(), plate, at=(0, 0, HEIGHT))]
    for leg, (foot, tip) in enumerate(zip(feet, tips, strict=True), start=1):
        way = (tip[0] - foot[0], tip[1] - foot[1], HEIGHT)
        length = math.hypot(*way)
        half = length / 2
        tube = Body(
            f"tube{leg}", m, (0, 0, half / 2), (m / 50, m / 50, m / 500),
            shapes=[line((0, 0, 0), (0, 0, half))],
        )  # fmt: skip
        piston = Body(
            f"piston{leg}", m, (0, 0, -half / 2), (m / 50, m / 50, m / 500),
            shapes=[line((0, 0, -half), (0, 0, 0), color="accent")],
        )  # fmt: skip
        joints += [
            universal(f"foot{leg}", ground(), tube, at=(*foot, 0), rotation=_towards(way)),
            prismatic(f"leg{leg}", tube, piston, at=(0, 0, length), stiffness=k, damping=c),
            spherical(f"tip{leg}", piston, plate, child_at=(*tip, 0)),
        ]
    return Mechanism(joints, gravity=(0, 0, -g), name="Stewart platform")


def _on_circle(radius: float, degrees: float) -> tuple[float, float]:
    return (
        radius * math.cos(math.radians(degrees)),
        radius * math.sin(math.radians(degrees)),
    )


def _towards(way: tuple[float, float, float]) -> Rotation:
    """Axes whose z points along a vector."""
    length = math.hypot(*way)
    z = tuple(component / length for component in way)
    across = math.hypot(z[1], z[2])
    x = (across, -z[0] * z[1] / across, -z[0] * z[2] / across)
    y = (z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0])
    rows = [tuple(as_expression(entry) for entry in row) for row in zip(x, y, z, strict=True)]
    return Rotation((rows[0], rows[1], rows[2]))


def scenario() -> Scenario:
    """The plate, pushed sideways, swings on its springs."""
    return Scenario(
        mechanism().system(),
        parameters={"m": 1.0, "k": 5000.0, "c": 20.0, "g": 9.81},
        start={"plate_x_dot": 0.5, "plate_qz_dot": 0.3},
        simulate={"span": (0.0, 2.0), "rtol": 1e-9},
        source="Stewart, Proceedings of the Institution of Mechanical Engineers 180 (1965)",
        summary="Six closed loops: thirteen bodies, six degrees of freedom.",
    )
