"""A mechanism as URDF."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from ...bodies.body import GROUND
from ...bodies.elements import Coupling
from ...symbols import Input
from .elementary_tree import ElementaryJoint, ElementaryLink, ElementaryTree
from .poses import FilePose, roll_pitch_yaw
from .relations import linear_pair

__all__ = ["text_of", "written_urdf"]

WORLD = "world"
GRAVITY = (0.0, 0.0, -9.81)


def text_of(*values: float) -> str:
    """Numbers as an attribute, to the last digit."""
    return '"' + " ".join(repr(float(value) + 0.0) for value in values) + '"'


def written_urdf(tree: ElementaryTree) -> str:
    """The text of a URDF file; what it cannot say is noted in `tree.lost`."""
    mechanism = tree.mechanism
    if not np.array_equal(tree.numbers(mechanism.gravity, "gravity"), GRAVITY):
        tree.lost.append("gravity other than (0, 0, -9.81)")
    tree.lost += [f"the joint `{joint.name}`, which closes a loop" for joint in mechanism.loops]
    mimics = _mimics(tree)
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(mechanism.name)}>"]
    for link in tree.links.values():
        lines += _link(link)
    for joint in tree.joints:
        if joint.child not in tree.links:
            lines.append(f'  <link name="{joint.child}"/>')
    for joint in tree.joints:
        lines += _joint(joint, tree, mimics.get(joint.name, ""))
    return "\n".join([*lines, "</robot>", ""])


def _named(link: str) -> str:
    return WORLD if link == GROUND else link


def _origin(pose: FilePose) -> str:
    angles = text_of(*roll_pitch_yaw(pose.axes))
    return f"<origin xyz={text_of(*pose.origin)} rpy={angles}/>"


def _link(link: ElementaryLink) -> Iterator[str]:
    if link.mass == 0 and not link.tensor.any():
        yield f'  <link name="{_named(link.name)}"/>'
        return
    keys = {
        "ixx": (0, 0),
        "ixy": (0, 1),
        "ixz": (0, 2),
        "iyy": (1, 1),
        "iyz": (1, 2),
        "izz": (2, 2),
    }
    tensor = " ".join(f"{key}={text_of(link.tensor[at])}" for key, at in keys.items())
    yield f'  <link name="{_named(link.name)}">'
    yield f"    <inertial><origin xyz={text_of(*link.centre)}/><mass value={text_of(link.mass)}/>"
    yield f"      <inertia {tensor}/></inertial>"
    yield "  </link>"


def _joint(joint: ElementaryJoint, tree: ElementaryTree, mimic: str) -> Iterator[str]:
    limits = tree.limits(joint) if joint.kind in ("hinge", "slide") else None
    kinds = {
        "fixed": "fixed",
        "free": "floating",
        "hinge": "continuous" if limits is None else "revolute",
        "slide": "prismatic",
    }
    if joint.kind not in kinds:
        tree.lost.append(f"the ball joint `{joint.name}`")
        return
    acting = tree.acting(joint, ("damping", "effort", "speed", "friction_loss"))
    yield f'  <joint name="{joint.name}" type="{kinds[joint.kind]}">'
    yield f'    <parent link="{_named(joint.parent)}"/><child link="{_named(joint.child)}"/>'
    yield f"    {_origin(joint.place)}"
    if joint.kind in ("hinge", "slide"):
        yield f"    <axis xyz={text_of(*joint.direction)}/>"
    bounds = {} if limits is None else {"lower": limits[0], "upper": limits[1]}
    bounds |= {
        name: acting[key] for key, name in (("effort", "effort"), ("speed", "velocity"))
        if key in acting
    }  # fmt: skip
    if bounds:
        listed = " ".join(f"{key}={text_of(value)}" for key, value in bounds.items())
        yield f"    <limit {listed}/>"
    losses = {"damping": "damping", "friction_loss": "friction"}
    stated = [f"{word}={text_of(acting[key])}" for key, word in losses.items() if key in acting]
    if stated:
        yield f"    <dynamics {' '.join(stated)}/>"
    if mimic:
        yield f"    {mimic}"
    if joint.axis is not None and any(
        not isinstance(force, Input) or force.name != f"u_{joint.name}"
        for force in joint.axis.force
    ):
        tree.lost.append(f"the force along `{joint.name}`")
    yield "  </joint>"


def _mimics(tree: ElementaryTree) -> dict[str, str]:
    """<mimic> by the name of its joint, for linear relations of two coordinates."""
    found: dict[str, str] = {}
    names = {joint.name for joint in tree.joints}
    for element in tree.mechanism.elements:
        pair = linear_pair(element.relation, tree) if isinstance(element, Coupling) else None
        if pair is None or not {pair.follower, pair.leader} <= names or pair.follower in found:
            tree.lost.append(f"`{element.name}` ({type(element).__name__})")
            continue
        found[pair.follower] = (
            f'<mimic joint="{pair.leader}" multiplier={text_of(pair.ratio)}'
            f" offset={text_of(pair.offset)}/>"
        )
    return found
