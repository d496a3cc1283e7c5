"""URDF: links and joints of a robot as a mechanism.

The frame of a link is the frame of the joint above it, displaced by nothing: joint `origin` is
given in the frame of the parent link, `axis` in the frame of the joint. Angles ``rpy`` are about
fixed axes, R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy

from ....errors import ModelError, nearest
from ...bodies.body import Body, inertia
from ...bodies.elements import Coupling, coupling
from ...bodies.joints import Joint, free, planar, prismatic, revolute, weld
from ...bodies.vectors import Rotation, Triple, cross, unit_axis
from ...names import shortened
from ...symbols import Input
from .robot_names import Names
from .robot_options import ReadOptions, Robot
from .visuals import Visuals, origin_of
from .xml_reader import Node, Unread

__all__ = ["read_urdf"]

#: Children of a joint that say nothing about its motion.
BESIDE_MOTION = ("calibration", "safety_controller", "gazebo")
IN_JOINT = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic")
ONE_AXIS = ("revolute", "continuous", "prismatic")
#: Attributes that are read; others are counted.
READ = {
    "link": ("name",),
    "joint": ("name", "type"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
}


def read_urdf(root: Node, options: ReadOptions) -> Robot:
    """The mechanism that a URDF file states.

    Raises
    ------
    ModelError
        Where the file contradicts itself or asks for something that is not supported.
    """
    if root.tag != "robot":
        root.fault(
            "A URDF file has the root element <robot>",
            seen=shortened(root.tag),
            remedy="give a URDF file, or an MJCF file, whose root element is <mujoco>",
        )
    reader = _Urdf(options)
    return reader.robot(root)


@dataclass
class _Urdf:
    """What is known of a file while it is read."""

    options: ReadOptions
    unread: Unread = field(default_factory=Unread)
    bodies: dict[str, Body] = field(default_factory=dict)
    links: Names = field(default_factory=Names)
    joints: Names = field(default_factory=Names)

    def robot(self, root: Node) -> Robot:
        """Read every link, then every joint."""
        for node in root:
            if node.tag not in ("link", "joint", "material"):
                self.unread.note(f"<{shortened(node.tag)}>")
        for node in root.all("link"):
            name = node.text("name")
            if name in self.bodies:
                node.fault(f"There are two links called {shortened(name)}", remedy="rename one")
            self.bodies[name] = self._body(name, node)
        if not self.bodies:
            root.fault("The robot has no link", remedy="state at least one <link>")
        nodes = root.all("joint")
        children = self._children(nodes)
        base = self._base(root, children)
        found: list[Joint | Coupling] = [base] if base else []
        found += [self._joint(node) for node in nodes]
        found += [mimic for node in nodes if (mimic := self._mimic(node, found))]
        names = {**self.links.changed, **self.joints.changed}
        return Robot(root.text("name", "robot"), tuple(found), self.unread, names)

    # -- links -------------------------------------------------------------------------------------

    def _body(self, name: str, node: Node) -> Body:
        self._attributes(node)
        for child in node:
            if child.tag == "collision" or (child.tag == "visual" and not self.options.shapes):
                self.unread.note(f"<{child.tag}>")
            elif child.tag not in ("inertial", "visual"):
                self.unread.note(f"<{shortened(child.tag)}> of a link")
        looks = Visuals(self.unread, self.options.folder)
        shapes = looks.shapes(node) if self.options.shapes else []
        inertial = node.one("inertial")
        if inertial is None:
            return Body(self.links.of(name), shapes=shapes)
        self._attributes(*inertial)
        position, rotation = origin_of(inertial)
        mass, tensor = inertial.one("mass"), inertial.one("inertia")
        if mass is None:
            inertial.fault("<inertial> has no <mass>", remedy='write <mass value="..."/>')
        moments = (
            {key: tensor.number(f"i{key}", 0.0) for key in ("xx", "yy", "zz", "xy", "xz", "yz")}
            if tensor is not None
            else dict.fromkeys(("xx", "yy", "zz"), 0.0)
        )
        try:
            return Body(
                self.links.of(name),
                mass=mass.number("value"),
                com=position,
                inertia=inertia(**moments),
                inertia_axes=rotation,
                check=self.options.check,
                shapes=shapes,
            )
        except ModelError as error:
            inertial.fault(error.what, error.seen, error.remedy)

    def _attributes(self, *nodes: Node) -> None:
        """Count attributes that nothing reads."""
        for node in nodes:
            if node.tag in READ:
                self.unread.attributes(node, READ[node.tag])

    # -- the tree ----------------------------------------------------------------------------------

    def _children(self, nodes: list[Node]) -> dict[str, str]:
        """The parent of each child."""
        parents: dict[str, str] = {}
        for node in nodes:
            parent, child = self._link(node, "parent"), self._link(node, "child")
            if child in parents:
                node.fault(
                    f"The link {shortened(child)} is the child of two joints",
                    remedy="URDF states trees: remove one of them, and close the loop in Python",
                )
            parents[child] = parent
        return parents

    def _link(self, node: Node, role: str) -> str:
        end = node.one(role)
        if end is None:
            node.fault(f"The joint has no <{role}>", remedy=f'write <{role} link="..."/>')
        name = end.text("link")
        if name not in self.bodies:
            near = nearest(name, self.bodies)
            end.fault(
                f"There is no link {shortened(name)}",
                None,
                f"did you mean {near}" if near else "state the link",
            )
        return name

    def _base(self, root: Node, parents: Mapping[str, str]) -> Joint | None:
        """The joint between the ground and the root link; the link "world" is the ground."""
        roots = [name for name in self.bodies if name not in parents]
        if len(roots) != 1:
            seen = ", ".join(shortened(name) for name in roots[:5]) or "every link has a parent"
            root.fault("The links do not make one tree", seen, "connect them by joints")
        base = self.bodies[roots[0]]
        if roots[0] == "world":
            if base.mass != 0:
                root.fault("The link `world` is the ground and has no mass", base.mass)
            if self.options.base == "free":
                root.fault("The base is fixed: the root link is `world`", 'base="free"')
            self.bodies[roots[0]] = Body("ground", shapes=base.shapes)
            return None
        joins = free if self.options.base == "free" else weld
        return joins(self.joints.new(self.options.base_name), Body("ground"), base)

    # -- joints ------------------------------------------------------------------------------------

    def _joint(self, node: Node) -> Joint:
        kind, name = node.text("type"), node.text("name")
        if name in self.joints.found:
            node.fault(f"There are two joints called {shortened(name)}", remedy="rename one")
        make = _KINDS.get(kind)
        if make is None:
            near = nearest(kind, _KINDS)
            remedy = f"did you mean {near}" if near else f"use {', '.join(_KINDS)}"
            node.fault(f"There is no joint of type {shortened(kind)}", None, remedy)
        position, rotation = origin_of(node)
        self._attributes(node, *node)
        for child in node:
            if child.tag in BESIDE_MOTION:
                self.unread.note(f"<{child.tag}>")
            elif child.tag not in IN_JOINT:
                self.unread.note(f"<{shortened(child.tag)}> of a joint")
            elif child.tag in ("limit", "dynamics") and kind not in ONE_AXIS:
                self.unread.note(f"<{child.tag}> of a {kind} joint")
        axis = node.one("axis")
        direction = axis.numbers("xyz", 3, (1.0, 0.0, 0.0)) if axis else [1.0, 0.0, 0.0]
        if kind not in ("fixed", "floating") and not any(direction):
            node.fault("The axis of a joint has a direction", direction, "give one that is not 0")
        parent = self.bodies[self._link(node, "parent")]
        child_body = self.bodies[self._link(node, "child")]
        identifier = self.joints.of(name)
        frame = parent.frame(position, rotation)
        return make(identifier, frame, child_body, direction, self._acting(kind, identifier, node))

    def _acting(self, kind: str, name: str, node: Node) -> dict[str, Any]:
        """What acts along a joint of one axis."""
        if kind not in ONE_AXIS:
            return {}
        acting: dict[str, Any] = {}
        dynamics, limit = node.one("dynamics"), node.one("limit")
        if dynamics is not None:
            acting["damping"] = dynamics.number("damping", 0.0)
            acting["friction_loss"] = dynamics.number("friction", 0.0)
        if limit is not None:
            for key, option in (("effort", "effort"), ("velocity", "speed")):
                if key in limit.attributes:
                    acting[option] = limit.number(key)
                    self.unread.note(f"{key} of <limit> (data of the joint, not enforced)")
        if limit is not None and kind != "continuous" and self.options.limits:
            low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
            if low > high:
                limit.fault("The limits of a joint are in order", f"lower {low}, upper {high}")
            acting["limits"] = (low, high)
        if self.options.inputs:
            acting["force"] = Input(f"{self.options.input_prefix}{name}")
        return acting

    def _mimic(self, node: Node, joints: list[Joint | Coupling]) -> Coupling | None:
        mimic = node.one("mimic")
        if mimic is None:
            return None
        leader, own = mimic.text("joint"), self.joints.of(node.text("name"))
        by_name = {joint.name: joint for joint in joints if isinstance(joint, Joint)}
        other = by_name.get(self.joints.found.get(leader, ""))
        if other is None or len(other.coordinates) != 1 or len(by_name[own].coordinates) != 1:
            mimic.fault(
                "A mimic joint and its leader have one axis each",
                shortened(leader),
                "name a revolute, continuous or prismatic joint",
            )
        ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        relation = by_name[own].coordinates[0] - ratio * other.coordinates[0] - offset
        return coupling(self.joints.new(f"{own}_mimic"), relation)


def _across(direction: list[float]) -> Rotation:
    """A frame whose third axis has a given direction."""
    normal = unit_axis(direction)
    least = min(range(3), key=lambda k: abs(float(normal[k])))
    first = unit_axis(cross(unit_axis("xyz"[least]), normal))
    return Rotation((first, cross(normal, first), normal)).inverse


def _planar(
    name: str, frame: Any, child: Body, direction: list[float], acting: dict[str, Any]
) -> Joint:
    turned = _across(direction)
    return planar(name, frame, child, rotation=turned, child_rotation=turned, **acting)


_Maker = Callable[[str, Any, Body, list[float], dict[str, Any]], Joint]
_KINDS: dict[str, _Maker] = {
    "revolute": lambda name, frame, child, axis, acting: revolute(
        name, frame, child, _exact(axis), **acting
    ),
    "continuous": lambda name, frame, child, axis, acting: revolute(
        name, frame, child, _exact(axis), **acting
    ),
    "prismatic": lambda name, frame, child, axis, acting: prismatic(
        name, frame, child, _exact(axis), **acting
    ),
    "fixed": lambda name, frame, child, axis, acting: weld(name, frame, child, **acting),
    "floating": lambda name, frame, child, axis, acting: free(name, frame, child, **acting),
    "planar": _planar,
}


def _exact(direction: list[float]) -> Triple:
    """A direction along an axis of the frame in exact numbers."""
    return unit_axis(
        [sympy.Integer(int(entry)) if entry in (-1.0, 0.0, 1.0) else entry for entry in direction]
    )
