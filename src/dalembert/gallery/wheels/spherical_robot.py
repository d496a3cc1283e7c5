"""A spherical robot: a wheel inside a ball drives it, and both roll without slipping.

The wheel sits on a carriage that turns about the centre of the shell. A torque between carriage and
wheel makes the wheel climb inside; its weight then rolls the ball.
"""

from __future__ import annotations

from sympy import pi

from ...model.bodies.body import Body, ground
from ...model.bodies.contributions import Element
from ...model.bodies.joints import Joint, free, revolute, spherical
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.rolling import rolling
from ...model.bodies.rolling_surfaces import disk, implicit, sphere
from ...model.bodies.shapes import ball, cylinder, line, trace
from ...model.bodies.vectors import angles
from ...model.scenario import Scenario
from ...model.symbols import parameters


def mechanism() -> Mechanism:
    """Shell, carriage and wheel."""
    R, r, m, M, u, g = parameters("R r m M u g", positive=True)
    shell = Body("shell", m, inertia=(2 * m * R**2 / 3,) * 3, shapes=[ball(R), trace()])
    carriage = Body(
        "carriage",
        M,
        (0, 0, -(R - r)),
        (M * r**2 / 5,) * 3,
        shapes=[line((0, 0, 0), (0, 0, r - R))],
    )
    wheel = Body(
        "wheel", m / 4, inertia=(m * r**2 / 16, m * r**2 / 8, m * r**2 / 16),
        shapes=[cylinder(r, rotation=angles("x", pi / 2))],
    )  # fmt: skip
    inner = implicit(lambda x, y, z: x**2 + y**2 + z**2 - R**2, inside=True)
    joints: list[Joint | Element] = [
        free("shell", ground(), shell),
        spherical("pivot", shell, carriage, damping=0.05),
        revolute("motor", carriage, wheel, axis="y", at=(0, 0, r - R), force=u),
        rolling("floor", shell, sphere(R), on=ground()),
        rolling("drive", wheel, disk(r), on=shell, ground=inner),
    ]
    return Mechanism(joints, gravity=(0, 0, -g), name="Spherical robot")


def scenario() -> Scenario:
    """The robot starts from rest under a constant torque."""
    return Scenario(
        mechanism().system(),
        parameters={"R": 0.3, "r": 0.1, "m": 1.0, "M": 3.0, "u": 0.2, "g": 9.81},
        start={"shell_z": 0.3, "drive_sz": -0.3},
        simulate={"span": (0.0, 3.0), "rtol": 1e-9},
        source="a question of users of MuJoCo (issue 450 of its repository)",
        summary="A ball driven by a wheel that rolls inside it: exact rolling on a moving body.",
    )
