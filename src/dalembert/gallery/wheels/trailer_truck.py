"""A truck with a trailer: six wheels on three axles, and each rolls without slipping.

The front axle steers as a whole. The wheels touch the ground at one height and those of an axle do
not move across it, so that eight of the eighteen constraints depend on the others.
"""

from __future__ import annotations

from collections.abc import Iterator

from sympy import Expr, pi

from ...model.bodies.body import Body, Place, ground
from ...model.bodies.contributions import Element
from ...model.bodies.joints import Joint, planar, prismatic, revolute
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.rolling import rolling
from ...model.bodies.rolling_surfaces import disk
from ...model.bodies.shapes import box, cylinder, line
from ...model.bodies.vectors import angles
from ...model.scenario import Scenario
from ...model.symbols import parameters


def mechanism() -> Mechanism:
    """Torques on the rear wheels and on the steering axle drive it."""
    m, r, w, g = parameters("m r w g", positive=True)
    drive, steering = parameters("drive steering")
    height = Body("height")
    truck = Body(
        "truck", 8 * m, (1, 0, 0.3), (m, 4 * m, 4 * m), shapes=[box((3, 1, 0.4), at=(1.2, 0, 0.3))]
    )
    axle = Body("axle", m / 2, inertia=(m / 8, m / 50, m / 8), shapes=[line((0, -w, 0), (0, w, 0))])
    trailer = Body(
        "trailer",
        4 * m,
        (0.3, 0, 0.3),
        (m, 2 * m, 2 * m),
        shapes=[box((2, 1, 0.4), at=(0.5, 0, 0.3))],
    )
    joints: list[Joint | Element] = [
        planar("truck", ground(), height, coordinates="x y heading"),
        prismatic("z", height, truck),
        revolute("steer", truck, axle, at=(2.5, 0, 0), force=steering, damping=0.5),
        revolute("hitch", truck, trailer, at=(-0.6, 0, 0), child_at=(1.8, 0, 0), damping=0.2),
        *_wheels("rear", truck, m / 5, r, w, drive / 2),
        *_wheels("front", axle, m / 5, r, w),
        *_wheels("trailer", trailer, m / 5, r, w),
    ]
    return Mechanism(joints, gravity=(0, 0, -g), name="Truck with a trailer")


def _wheels(
    name: str, on: Place, m: Expr, r: Expr, w: Expr, torque: Expr | int = 0
) -> Iterator[Joint | Element]:
    """Two wheels on one axis, which turn independently."""
    shape = cylinder(r, rotation=angles("x", pi / 2))
    for side, y in (("left", w), ("right", -w)):
        moments = (m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
        wheel = Body(f"{name}_{side}_wheel", m, inertia=moments, shapes=[shape])
        yield revolute(f"{name}_{side}", on, wheel, axis="y", at=(0, y, 0), force=torque)
        yield rolling(f"{name}_{side}_rolls", wheel, disk(r), on=ground())


def scenario() -> Scenario:
    """The truck pulls away and steers to the left."""
    return Scenario(
        mechanism().system(),
        parameters={"m": 100.0, "r": 0.4, "w": 0.8, "g": 9.81} | {"drive": 400.0, "steering": 3.0},
        start={"z": 0.4, "x_dot": 2.0},
        simulate={"span": (0.0, 4.0), "rtol": 1e-9},
        source="Murray and Sastry, IEEE Transactions on Automatic Control 38 (1993)",
        summary="Six wheels that roll exactly, with dependent constraints among them.",
    )
