"""A mechanism as MJCF."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from ....errors import ModelError
from ...bodies.body import GROUND, Frame
from ...bodies.elements import Coupling
from ...bodies.joints import Joint
from ...bodies.quaternions import quaternion_of
from ...bodies.steps import Turn
from ...symbols import Coordinate
from .elementary_tree import ElementaryJoint, ElementaryLink, ElementaryTree
from .poses import FilePose
from .relations import actuators, polynomial_pair
from .write_urdf import text_of

__all__ = ["written_mjcf"]


def written_mjcf(tree: ElementaryTree) -> str:
    """The text of an MJCF file; what it cannot say is noted in `tree.lost`."""
    writer = _Writer(tree)
    equalities = [line for joint in tree.mechanism.loops for line in writer.loop(joint)]
    for element in tree.mechanism.elements:
        equalities += writer.relation(element)
    gravity = text_of(*tree.numbers(tree.mechanism.gravity, "gravity"))
    lines = [
        f"<mujoco model={quoteattr(tree.mechanism.name)}>",
        '  <compiler angle="radian"/>',
        f"  <option gravity={gravity}/>",
        "  <worldbody>",
        *writer.members(GROUND, "    "),
        "  </worldbody>",
    ]
    for tag, content in (("equality", equalities), ("actuator", writer.actuators)):
        if content:
            lines += [f"  <{tag}>", *(f"    {line}" for line in content), f"  </{tag}>"]
    return "\n".join([*lines, "</mujoco>", ""])


class _Writer:
    """Writes bodies with their joints, and keeps what stands outside of the tree."""

    def __init__(self, tree: ElementaryTree) -> None:
        self.tree = tree
        #: The joints that lead to each link, and the link where they begin.
        self.chains: dict[str, list[ElementaryJoint]] = {}
        self.sites: dict[str, list[str]] = {}
        self.actuators: list[str] = []
        chain: list[ElementaryJoint] = []
        for joint in tree.joints:
            chain.append(joint)
            if joint.child in tree.links:
                self.chains[joint.child], chain = chain, []

    # -- the tree ----------------------------------------------------------------------------------

    def members(self, parent: str, indent: str) -> Iterator[str]:
        """Sites and bodies in a body."""
        yield from (f"{indent}{site}" for site in self.sites.get(parent, ()))
        for name, chain in self.chains.items():
            if chain[0].parent == parent:
                yield from self.body(self.tree.links[name], chain, indent)

    def body(
        self, link: ElementaryLink, chain: list[ElementaryJoint], indent: str
    ) -> Iterator[str]:
        yield f'{indent}<body name="{link.name}" {_pose(chain[0].place)}>'
        for joint in chain:
            yield from (f"{indent}  {line}" for line in self.joint(joint))
        if link.mass != 0 or link.tensor.any():
            entries = [link.tensor[at] for at in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
            yield (
                f"{indent}  <inertial pos={text_of(*link.centre)} mass={text_of(link.mass)}"
                f" fullinertia={text_of(*entries)}/>"
            )
        yield from self.members(link.name, f"{indent}  ")
        yield f"{indent}</body>"

    def joint(self, joint: ElementaryJoint) -> Iterator[str]:
        if joint.kind == "fixed":
            return
        if joint.kind == "free":
            here = np.array_equal(joint.place.axes, np.eye(3)) and not joint.place.origin.any()
            if joint.parent != GROUND or not here:
                raise ModelError(
                    f"The free joint `{joint.name}` does not begin at the frame of the ground",
                    remedy="state it there, or write URDF",
                )
            yield f'<freejoint name="{joint.name}"/>'
            return
        known = ("damping", "armature", "friction_loss") if joint.kind == "ball" else (
            "stiffness", "rest", "damping", "armature", "effort", "friction_loss"
        )  # fmt: skip
        acting = self.tree.acting(joint, known)
        parts = [f'name="{joint.name}" type="{joint.kind}"']
        if joint.kind != "ball":
            parts.append(f"axis={text_of(*joint.direction)}")
            limits = self.tree.limits(joint)
            if limits is not None:
                parts.append(f"range={text_of(*limits)}")
        if "effort" in acting:
            effort = acting.pop("effort")
            parts.append(f"actuatorfrcrange={text_of(-effort, effort)}")
        renamed = {"rest": "springref", "friction_loss": "frictionloss"}
        acting = {renamed.get(key, key): value for key, value in acting.items()}
        parts += [f"{key}={text_of(value)}" for key, value in acting.items()]
        self.force(joint)
        yield f"<joint {' '.join(parts)}/>"

    def force(self, joint: ElementaryJoint) -> None:
        """The actuators along a joint."""
        if joint.axis is None or not joint.axis.force:
            return
        laws = (
            actuators(joint.axis.force[0], Coordinate(joint.name), self.tree)
            if len(joint.axis.force) == 1
            else None
        )
        if laws is None:
            self.tree.lost.append(f"the force along `{joint.name}`")
        for law in laws or ():
            numbers = " ".join(f"{key}={text_of(value)}" for key, value in law.numbers.items())
            self.actuators.append(f'<{law.kind} name="{law.name}" joint="{joint.name}" {numbers}/>')

    # -- loops and relations -----------------------------------------------------------------------

    def loop(self, joint: Joint) -> Iterator[str]:
        """A joint that closes a loop, between sites on its two bodies."""
        if joint.kind not in ("weld", "spherical", "revolute") or not joint.is_passive:
            self.tree.lost.append(f"the {joint.kind} joint `{joint.name}`, which closes a loop")
            return
        if joint.kind == "weld":
            yield f'<weld name="{joint.name}" {self.pair(joint, joint.name, np.zeros(3))}/>'
            return
        yield f'<connect name="{joint.name}" {self.pair(joint, joint.name, np.zeros(3))}/>'
        if joint.kind == "revolute":
            (step,) = joint.steps
            assert isinstance(step, Turn)
            along = self.tree.numbers(step.axis, f"axis of `{joint.name}`")
            name = f"{joint.name}_axis"
            yield f'<connect name="{name}" {self.pair(joint, name, along)}/>'

    def pair(
        self, joint: Joint, name: str, offset: np.ndarray[tuple[int], np.dtype[np.float64]]
    ) -> str:
        """Sites at an offset from the frames of a joint."""
        words = []
        for number, frame in enumerate((joint.parent, joint.child), start=1):
            site = f"{name}_site{number}"
            words.append(f'site{number}="{site}"')
            self._site(site, frame, FilePose(np.eye(3), offset))
        return " ".join(words)

    def _site(self, name: str, frame: Frame, inner: FilePose) -> None:
        pose = self.tree.on_link(frame, f"frame of `{name}`") @ inner
        self.sites.setdefault(frame.body.name, []).append(f'<site name="{name}" {_pose(pose)}/>')

    def relation(self, element: object) -> Iterator[str]:
        """A relation of coordinates; other elements are lost."""
        name = getattr(element, "name", "")
        pair = (
            polynomial_pair(element.relation, self.tree) if isinstance(element, Coupling) else None
        )
        known = {joint.name for joint in self.tree.joints if joint.kind in ("hinge", "slide")}
        if pair is None or not {pair.follower, pair.leader or pair.follower} <= known:
            self.tree.lost.append(f"`{name}` ({type(element).__name__})")
            return
        leader = f' joint2="{pair.leader}"' if pair.leader else ""
        terms = (*pair.coefficients, 0.0, 0.0, 0.0, 0.0)[:5]
        yield f'<joint name="{name}" joint1="{pair.follower}"{leader} polycoef={text_of(*terms)}/>'


def _pose(pose: FilePose) -> str:
    return f"pos={text_of(*pose.origin)} quat={text_of(*quaternion_of(pose.axes))}"
