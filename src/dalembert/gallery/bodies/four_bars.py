"""Four-bars side by side: parallel cranks, joined by couplers, swing as one pendulum.

Where all rods are in line the constraints lose rank: each loop could fold. The motion goes through
this position along the branch with continuous velocity, on which n loops with links of the mass m
and the length l move as the pendulum with

    T = m l^2 w^2 ((n + 1) / 6 + n / 2),      V = -m g l cos(theta) ((n + 1) / 2 + n).
"""

from __future__ import annotations

from math import pi

from ...model.bodies.body import Body, ground
from ...model.bodies.joints import Joint, revolute
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.shapes import line
from ...model.scenario import Scenario
from ...model.symbols import parameters


def mechanism(loops: int = 2) -> Mechanism:
    """Cranks hang from the ground; couplers lie between their lower ends."""
    m, l, g = parameters("m l g", positive=True)
    moment = m * l**2 / 12
    cranks = [
        Body(
            f"crank{k}",
            m,
            (0, 0, -l / 2),
            (moment, moment, 0),
            shapes=[line((0, 0, 0), (0, 0, -l))],
        )
        for k in range(loops + 1)
    ]
    joints: list[Joint] = [
        revolute(f"a{k}", ground(), crank, axis="y", at=(k * l, 0, 0))
        for k, crank in enumerate(cranks)
    ]
    for k in range(1, loops + 1):
        shape = line((0, 0, 0), (l, 0, 0))
        coupler = Body(f"coupler{k}", m, (l / 2, 0, 0), (0, moment, moment), shapes=[shape])
        before, after = cranks[k - 1], cranks[k]
        joints.append(revolute(f"b{k}", before, coupler, axis="y", at=(0, 0, -l)))
        joints.append(
            revolute(f"c{k}", coupler, after, axis="y", at=(l, 0, 0), child_at=(0, 0, -l))
        )
    return Mechanism(joints, gravity=(0, 0, -g), name="Four-bars side by side")


def scenario() -> Scenario:
    """The cranks turn from above, as in the benchmark, through the singular position."""
    return Scenario(
        mechanism().system(),
        parameters={"m": 1.0, "l": 1.0, "g": 9.81},
        start=dict.fromkeys(("a0", "a1", "a2"), pi) | {"b1": -pi, "b2": -pi, "a0_dot": 1.0},
        simulate={"span": (0.0, 10.0), "rtol": 1e-10, "through_singular": True},
        source="IFToMM library of computational benchmark problems, A02",
        summary="Loops in a row: one degree of freedom, and more of them where all rods align.",
    )
