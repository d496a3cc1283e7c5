"""A ball that rolls without slipping in a spherical bowl.

Small oscillations have omega^2 = g / ((R - r) (1 + 2/5)): the ball also turns.
"""

from __future__ import annotations

from ...model.bodies.body import Body, ground
from ...model.bodies.contributions import Element
from ...model.bodies.joints import Joint, free
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.rolling import ball_on_surface
from ...model.bodies.rolling_surfaces import implicit
from ...model.bodies.shapes import ball, trace
from ...model.scenario import Scenario
from ...model.symbols import parameters


def mechanism() -> Mechanism:
    """One body; the point of contact has coordinates without mass."""
    m, R, r, g = parameters("m R r g", positive=True)
    marble = Body("marble", m, inertia=(2 * m * r**2 / 5,) * 3, shapes=[ball(r), trace()])
    bowl = implicit(lambda x, y, z: x**2 + y**2 + z**2 - R**2, inside=True)
    joints: list[Joint | Element] = [
        free("marble", ground(), marble),
        ball_on_surface("contact", marble, r, on=ground(), ground=bowl),
    ]
    return Mechanism(joints, gravity=(0, 0, -g), name="Ball in a bowl")


def scenario() -> Scenario:
    """The ball rolls around the bottom with a push to the side."""
    return Scenario(
        mechanism().system(),
        parameters={"m": 1.0, "R": 1.0, "r": 0.2, "g": 9.81},
        start={"marble_x": 0.4, "marble_z": -0.69, "marble_y_dot": 1.0}
        | {"contact_sx": 0.5, "contact_sz": -0.86},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source="Routh, Dynamics of a System of Rigid Bodies, Advanced Part, section 214",
        summary="Rolling on a curved surface: exact contact on the inside of a sphere.",
    )
