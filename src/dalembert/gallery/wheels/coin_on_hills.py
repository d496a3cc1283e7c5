"""A coin that rolls without slipping over hills, z = a sin(k x) cos(k y)."""

from __future__ import annotations

from sympy import cos, pi, sin

from ...model.bodies.body import Body, ground
from ...model.bodies.contributions import Element
from ...model.bodies.joints import Joint, free
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.rolling import rolling
from ...model.bodies.rolling_surfaces import disk, height_field
from ...model.bodies.shapes import cylinder, trace
from ...model.bodies.vectors import angles
from ...model.scenario import Scenario
from ...model.symbols import parameters


def mechanism() -> Mechanism:
    """One body; its edge touches the height field at a point with coordinates without mass."""
    m, r, a, k, g = parameters("m r a k g", positive=True)
    edge = cylinder(r, rotation=angles("x", pi / 2))
    coin = Body(
        "coin", m, inertia=(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), shapes=[edge, trace()]
    )
    hills = height_field(lambda x, y: a * sin(k * x) * cos(k * y))
    joints: list[Joint | Element] = [
        free("coin", ground(), coin),
        rolling("edge", coin, disk(r), on=ground(), ground=hills),
    ]
    return Mechanism(joints, gravity=(0, 0, -g), name="Coin on hills")


def scenario() -> Scenario:
    """The coin runs over the first hill, leaning a little."""
    return Scenario(
        mechanism().system(),
        parameters={"m": 1.0, "r": 0.5, "a": 0.2, "k": 1.0, "g": 9.81},
        start={"coin_z": 0.6, "coin_x_dot": 2.0, "coin_qx": 0.02},
        simulate={"span": (0.0, 3.0), "rtol": 1e-10},
        source="a question of users of MuJoCo (issue 1310 of its repository)",
        summary="A disk on a height field: exact rolling on ground that is not flat.",
    )
