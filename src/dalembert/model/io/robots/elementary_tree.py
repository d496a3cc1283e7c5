"""A mechanism as robot files state it: links in numbers, and joints of one axis, a ball or free.

The frame of a link is that of the joint which leads to it, on its child. A joint of several axes
becomes a chain of joints of one axis, whose names are those of the coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ModelError
from ...bodies.body import GROUND, Body, Frame
from ...bodies.joint_options import Axis
from ...bodies.joints import Joint
from ...bodies.mechanism import Mechanism
from ...bodies.steps import Ball, Slide, Turn
from ...symbols import Coordinate, as_expression
from .poses import FilePose

if TYPE_CHECKING:
    from .poses import Array

__all__ = ["ElementaryJoint", "ElementaryLink", "ElementaryTree"]


@dataclass(frozen=True)
class ElementaryLink:
    """A body in the frame of the joint that leads to it.

    `pose` is the frame of the link on the body.
    """

    name: str
    pose: FilePose
    body: Body
    mass: float
    centre: Array
    tensor: Array


@dataclass(frozen=True)
class ElementaryJoint:
    """A joint of kind fixed, hinge, slide, ball or free.

    `place` is its frame on the parent; `child` may be a frame between two joints, without a link.
    """

    name: str
    kind: str
    parent: str
    child: str
    place: FilePose
    direction: Array
    axis: Axis | None


@dataclass
class ElementaryTree:
    """The tree of a mechanism, its loops, and what a file cannot say (`lost`)."""

    mechanism: Mechanism
    values: Mapping[Any, float]
    links: dict[str, ElementaryLink] = field(default_factory=dict)
    joints: list[ElementaryJoint] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.links[GROUND] = ElementaryLink(
            GROUND, FilePose.identity(), Body(GROUND), 0.0, np.zeros(3), np.zeros((3, 3))
        )
        for joint in self.mechanism._tree[1]:
            self._join(joint)

    # -- numbers -----------------------------------------------------------------------------------

    def number(self, value: Any, what: str) -> float:
        """An expression without coordinates as a number."""
        found = as_expression(value).xreplace(dict(self.values))
        try:
            double = float(found)
        except TypeError:
            double = math.nan
        if not math.isfinite(double):
            raise ModelError(
                f"The {what} is not a number",
                seen=value,
                remedy="pass values of its parameters as parameters={...}",
            )
        return double

    def numbers(self, values: Any, what: str) -> Array:
        """Several expressions as numbers."""
        return np.array([self.number(value, what) for value in values])

    def pose(self, frame: Frame, what: str) -> FilePose:
        """A frame on a body, in numbers."""
        rows = [self.numbers(row, what) for row in frame.rotation.rows]
        return FilePose(np.array(rows), self.numbers(frame.position, what))

    def on_link(self, frame: Frame, what: str) -> FilePose:
        """A frame on a body, in the frame of its link."""
        return self.links[frame.body.name].pose.inverse @ self.pose(frame, what)

    # -- the tree ----------------------------------------------------------------------------------

    def _join(self, joint: Joint) -> None:
        parent, child, back = joint.parent, joint.child, 1.0
        what = f"frame of the joint `{joint.name}`"
        if parent.body.name not in self.links:
            parent, child, back = child, parent, -1.0
        self._link(child.body, self.pose(child, what))
        place = self.on_link(parent, what)
        names = (parent.body.name, child.body.name)
        moves = list(self._elementary(joint, back))
        if not moves:
            moves = [(joint.name, "fixed", np.zeros(3), None)]
        if back < 0:
            moves.reverse()
        here = names[0]
        for k, (name, kind, direction, axis) in enumerate(moves, start=1):
            there = names[1] if k == len(moves) else self._free_name(f"{name}_frame")
            self.joints.append(
                ElementaryJoint(name, kind, here, there, place, back * direction, axis)
            )
            here, place = there, FilePose.identity()

    def _free_name(self, stem: str) -> str:
        """A name that no body has, for a frame between two joints."""
        taken = {body.name for body in self.mechanism.bodies}
        while stem in taken:
            stem += "_"
        return stem

    def _link(self, body: Body, pose: FilePose) -> None:
        """The inertia of a body in the frame of its link."""
        what = f"inertia of `{body.name}`"
        tensor = np.array([self.numbers(row, what) for row in body.inertia.tolist()])
        centre = pose.inverse.axes @ (self.numbers(body.com, what) - pose.origin)
        turned = pose.axes.T @ tensor @ pose.axes
        self.links[body.name] = ElementaryLink(
            body.name,
            pose,
            body,
            self.number(body.mass, what),
            centre,
            (turned + turned.T) / 2,
        )

    def _elementary(
        self, joint: Joint, back: float
    ) -> Iterator[tuple[str, str, Array, Axis | None]]:
        """The motions of a joint one after the other: name, kind, direction, what acts."""
        what = f"axis of the joint `{joint.name}`"
        if any(isinstance(step, Ball) for step in joint.steps):
            default = [f"{joint.name}_q{part}" for part in "wxyz"]
            names = [q.name for q in joint.coordinates]
            if names[-4:] != default or back < 0 or joint.kind not in ("free", "spherical"):
                raise ModelError(
                    f"The joint `{joint.name}` cannot be written",
                    seen="a quaternion of other names, or from the child to the parent",
                    remedy="state it from the parent to the child, without coordinates=",
                )
            kind = "free" if joint.kind == "free" else "ball"
            if kind == "free" and not joint.is_passive:
                self.lost.append(f"what acts along the free joint `{joint.name}`")
            yield joint.name, kind, np.zeros(3), joint.axes[-1]
            return
        along = {axis.coordinates[0]: axis for axis in joint.axes}
        for step in joint.steps:
            assert isinstance(step, (Slide, Turn))
            value = step.angle if isinstance(step, Turn) else step.distance
            direction = step.axis if isinstance(step, Turn) else step.direction
            if not isinstance(value, Coordinate) or len(joint.steps) != len(along):
                raise ModelError(
                    f"The joint `{joint.name}` cannot be written",
                    seen=joint.kind,
                    remedy="use joints whose coordinates are single angles and lengths",
                )
            kind = "hinge" if isinstance(step, Turn) else "slide"
            yield value.name, kind, self.numbers(direction, what), along[value]

    # -- what acts along an axis -------------------------------------------------------------------

    def acting(self, joint: ElementaryJoint, known: tuple[str, ...]) -> dict[str, float]:
        """The numbers of stiffness, damping, ... that are not zero; others are lost."""
        found: dict[str, float] = {}
        if joint.axis is None or joint.kind == "free":
            return found
        for key in ("stiffness", "rest", "damping", "armature", "effort", "speed", "friction_loss"):
            value = getattr(joint.axis, key)
            if value is None or value == 0:
                continue
            if key in known:
                found[key] = self.number(value, f"{key} of `{joint.name}`")
            elif key != "rest":
                self.lost.append(f"{key} of `{joint.name}`")
        if joint.axis.limits is not None and joint.axis.restitution != 0:
            self.lost.append(f"restitution of `{joint.name}`")
        return found

    def limits(self, joint: ElementaryJoint) -> tuple[float, float] | None:
        """Both limits; a single one is lost."""
        if joint.axis is None or joint.axis.limits is None:
            return None
        low, high = joint.axis.limits
        if low is None or high is None:
            self.lost.append(f"the one limit of `{joint.name}`")
            return None
        what = f"limit of `{joint.name}`"
        return self.number(low, what), self.number(high, what)
