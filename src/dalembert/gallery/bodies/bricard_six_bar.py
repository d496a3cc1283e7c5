"""Bricard's six-bar: six links along edges of a cube, hinged in a closed loop.

Its hinges turn about three directions, each across both of its links. Counting says that the loop
is rigid; it moves with one degree of freedom, because one of the five closing conditions depends on
the others.
"""

from __future__ import annotations

from ...model.bodies.body import Body, ground
from ...model.bodies.joints import revolute
from ...model.bodies.mechanism import Mechanism
from ...model.bodies.shapes import line
from ...model.scenario import Scenario
from ...model.symbols import parameters

#: The directions of the five moving links, and the axes of the hinges at their beginnings.
LINKS = (((1, 0, 0), "y"), ((0, 1, 0), "z"), ((0, 0, 1), "x"), ((-1, 0, 0), "y"), ((0, -1, 0), "z"))


def mechanism() -> Mechanism:
    """Five rods between hinges; the sixth link is the ground."""
    m, l, g = parameters("m l g", positive=True)
    joints, before, end = [], ground(), (0, 0, 0)
    for number, (direction, axis) in enumerate(LINKS, start=1):
        along = tuple(l * component for component in direction)
        moments = tuple(m * l**2 / 12 * (1 - component**2) for component in direction)
        middle = tuple(component / 2 for component in along)
        shape = line((0, 0, 0), along)
        rod = Body(f"rod{number}", m, middle, moments, shapes=[shape])
        joints.append(revolute(f"q{number}", before, rod, axis=axis, at=end))
        before, end = rod, along
    joints.append(revolute("q6", before, ground(), axis="x", at=end, child_at=(0, 0, l)))
    return Mechanism(joints, gravity=(0, -g, 0), name="Bricard's six-bar")


def scenario() -> Scenario:
    """The loop falls out of the cube and swings."""
    return Scenario(
        mechanism().system(),
        parameters={"m": 1.0, "l": 1.0, "g": 9.81},
        start={},
        simulate={"span": (0.0, 5.0), "rtol": 1e-10},
        source="Bricard 1897; IFToMM benchmark A05 of multibody dynamics",
        summary="A closed loop with a redundant constraint: rigid by counting, and it moves.",
    )
