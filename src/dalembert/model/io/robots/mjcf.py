"""MJCF: the bodies, joints, equalities and actuators of a MuJoCo model as a mechanism.

A body moves relative to the one that it is nested in, through its joints in their order; without
joints it is fixed there. The pose that the file states is that of joints at their reference `ref`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ....errors import ModelError
from ...bodies.body import Body, Frame, Place, inertia
from ...bodies.contributions import Element
from ...bodies.elements import coupling
from ...bodies.joints import Joint, free, prismatic, revolute, spherical, weld
from ...bodies.quaternions import quaternion_of
from ...bodies.shapes import Geometry
from ...bodies.vectors import (
    Rotation,
    Triple,
    add,
    angles,
    as_triple,
    quaternion,
    scale,
    turn,
    unit_axis,
)
from ...bodies.vectors import cosine_and_sine as both
from ...names import shortened
from ...symbols import Coordinate, as_expression
from .mjcf_actuators import read_actuators
from .mjcf_geoms import Geoms, joined
from .mjcf_settings import Settings, with_includes
from .mjcf_words import BODY, COMPILER, GEOM, INERTIAL, JOINT, LOOKS, READ, SOLVER, UNSUPPORTED
from .poses import FilePose, numeric
from .robot_names import Names
from .robot_options import ReadOptions, Robot
from .xml_reader import Node, Unread

__all__ = ["read_mjcf"]

#: Children of a body with the class that they inherit, and the pose of the <frame> around them.
Members: TypeAlias = "Sequence[tuple[tuple[Node, str], FilePose]]"


def read_mjcf(root: Node, options: ReadOptions, read_bytes: Callable[[Path], bytes]) -> Robot:
    """The mechanism that an MJCF file states; files that it includes are read by `read_bytes`.

    Raises
    ------
    ModelError
        Where the file contradicts itself or asks for something that is not supported.
    """
    root = with_includes(root, options.folder, read_bytes)
    settings, unread = Settings.of(root), Unread()
    geoms = Geoms.of(root, settings, unread, options.folder)
    return _Mjcf(options, settings, geoms, unread).robot(root)


@dataclass
class _Mjcf:
    """What is known of a file while it is read."""

    options: ReadOptions
    settings: Settings
    geoms: Geoms
    unread: Unread
    bodies: dict[str, Body] = field(default_factory=dict)
    poses: dict[str, FilePose] = field(default_factory=lambda: {"world": FilePose.identity()})
    joints: list[Joint | Element] = field(default_factory=list)
    body_names: Names = field(default_factory=Names)
    joint_names: Names = field(default_factory=Names)
    #: The reference position of each joint of one axis.
    references: dict[str, float] = field(default_factory=dict)
    forces: dict[str, Any] = field(default_factory=dict)
    #: Frames on bodies by name, and those that an equality uses.
    sites: dict[str, Frame] = field(default_factory=dict)
    used_sites: set[str] = field(default_factory=set)
    start: dict[str, float] = field(default_factory=dict)

    def robot(self, root: Node) -> Robot:
        """Read the tree, then what connects its parts."""
        gravity = (0.0, 0.0, -9.81)
        for node in root:
            if node.tag not in READ:
                self.unread.note(f"<{shortened(node.tag)}>")
        for node in root.all("compiler"):
            self.unread.attributes(node, COMPILER)
        for node in root.all("option"):
            gravity = tuple(node.numbers("gravity", 3, gravity))  # type: ignore[assignment]
            for key in sorted(set(node.attributes) - {"gravity"}):
                self.unread.note(f"option {shortened(key)}")
        actuators = [node for group in root.all("actuator") for node in group]
        self.forces = read_actuators(actuators, self.settings, self.options, self.unread)
        self._ground(root)
        for node in root.all("worldbody"):
            for member, pose in self._flattened(node, "main", FilePose.identity()):
                self._member(*member, "world", pose)
        for node in root.all("equality"):
            for child in node:
                self._equality(self.settings.applied(child, "main", "equality"))
        for _ in set(self.sites) - self.used_sites:
            self.unread.note("<site>")
        unknown = sorted(set(self.forces) - set(self.joint_names.found))
        if unknown:
            root.fault(
                f"An actuator names the joint {shortened(unknown[0])}, which is not there",
                remedy="name a joint of the tree",
            )
        if not self.joints:
            root.fault("The model has no body", remedy="state a <body> in <worldbody>")
        name = root.text("model", "robot")
        renamed = {**self.body_names.changed, **self.joint_names.changed}
        joints = tuple(self.joints)
        return Robot(name, joints, self.unread, renamed, gravity, self.start)

    # -- bodies ------------------------------------------------------------------------------------

    def _ground(self, root: Node) -> None:
        """The ground, with the shapes that stand on it."""
        flat = (
            member
            for node in root.all("worldbody")
            for member in self._flattened(node, "main", FilePose.identity())
        )
        self.bodies["world"] = Body("ground", shapes=self._shapes(list(flat)))

    def _flattened(
        self, node: Node, childclass: str, pose: FilePose
    ) -> Iterator[tuple[tuple[Node, str], FilePose]]:
        """The children of an element, those in <frame> with its pose."""
        for child in node:
            if child.tag != "frame":
                yield (child, childclass), pose
                continue
            at = child.numbers("pos", 3, (0.0, 0.0, 0.0))
            inner = pose.moved(at, self.settings.rotation(child))
            yield from self._flattened(child, child.attributes.get("childclass", childclass), inner)

    def _member(self, node: Node, childclass: str, parent: str, frame: FilePose) -> None:
        """A child of a body that is no joint, geom or inertial of it."""
        if node.tag == "body":
            self._body(node, childclass, parent, frame)
        elif node.tag in UNSUPPORTED:
            node.fault(f"<{node.tag}> is not supported", remedy="write out what it stands for")
        elif node.tag == "site":
            self._site(self.settings.applied(node, childclass), parent, frame)
        elif node.tag == "geom":
            node.only(GEOM | LOOKS)
            self.unread.note("<geom> as a shape of contact")
        elif node.tag not in ("joint", "freejoint", "inertial"):
            self.unread.note(f"<{shortened(node.tag)}>")

    def _site(self, node: Node, parent: str, frame: FilePose) -> None:
        """A named frame on a body."""
        node.only(GEOM | LOOKS)
        name = node.text("name", "")
        if name in self.sites:
            node.fault(f"There are two sites called {shortened(name)}", remedy="rename one")
        at = node.numbers("pos", 3, (0.0, 0.0, 0.0))
        place = self._frame_on(parent, frame.moved(at, self.settings.rotation(node)))
        if name:
            self.sites[name] = place

    def _body(self, node: Node, childclass: str, parent: str, frame: FilePose) -> None:
        node.only(BODY)
        if node.flag("mocap", False):
            node.fault("Mocap bodies are not supported", remedy="move a joint by a function of t")
        if node.number("gravcomp", 0.0):
            self.unread.note("gravity compensation of a body")
        name = node.text("name", "") or self.body_names.own("body")
        if name in self.bodies:
            node.fault(f"There are two bodies called {shortened(name)}", remedy="rename one")
        childclass = node.text("childclass", childclass)
        pose = frame.moved(node.numbers("pos", 3, (0.0, 0.0, 0.0)), self.settings.rotation(node))
        inner = FilePose.identity()
        members = list(self._flattened(node, childclass, inner))
        if any(
            child.tag in ("joint", "freejoint", "inertial")
            and not np.array_equal(at.axes, np.eye(3))
            for (child, _), at in members
        ):
            node.fault(
                "Joints and inertials in a turned <frame> are not supported",
                remedy="turn the body instead",
            )
        body = self._massive(node, name, members)
        self.bodies[name], self.poses[name] = body, pose
        self._join(node, body, parent, pose, members)
        for (child, inherited), at in members:
            self._member(child, inherited, name, pose @ at)

    def _massive(self, node: Node, name: str, members: Members) -> Body:
        """A body with its own inertia, or with that of its geoms."""
        own = node.one("inertial")
        rule = self.settings.inertia_from_geom
        if own is not None and rule != "true":
            mass, centre, tensor = self._inertial(own)
        else:
            solids = [
                found
                for child, at in self._geoms(members)
                if rule != "false" and (found := self.geoms.solid(child, at)) is not None
            ]
            whole = joined(solids)
            mass, centre, tensor = whole.mass, list(whole.centre), whole.tensor
        symmetric = (tensor + tensor.T) / 2
        entries = {
            key: float(symmetric["xyz".index(key[0]), "xyz".index(key[1])])
            for key in ("xx", "yy", "zz", "xy", "xz", "yz")
        }
        identifier = self.body_names.of(name)
        try:
            return Body(
                identifier, mass, centre, inertia(**entries),
                check=self.options.check, shapes=self._shapes(members),
            )  # fmt: skip
        except ModelError as error:
            node.fault(error.what, error.seen, error.remedy)

    def _geoms(self, members: Members) -> Iterator[tuple[Node, FilePose]]:
        """The geoms among the children of a body, with the attributes of their classes."""
        for (child, childclass), at in members:
            if child.tag == "geom":
                yield self.settings.applied(child, childclass), at

    def _shapes(self, members: Members) -> list[Geometry]:
        if not self.options.shapes:
            return []
        return [
            shape for child, at in self._geoms(members) for shape in self.geoms.shapes(child, at)
        ]

    def _inertial(self, node: Node) -> tuple[float, list[float], Any]:
        node.only(INERTIAL)
        if "fullinertia" in node.attributes:
            xx, yy, zz, xy, xz, yz = node.numbers("fullinertia", 6)
            tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        else:
            tensor = np.diag(node.numbers("diaginertia", 3))
        axes = numeric(self.settings.rotation(node).rows)
        return node.number("mass"), node.numbers("pos", 3), axes @ tensor @ axes.T

    # -- joints ------------------------------------------------------------------------------------

    def _join(
        self,
        node: Node,
        body: Body,
        parent: str,
        pose: FilePose,
        members: Members,
    ) -> None:
        """Connect a body with the one that it is nested in."""
        given = [pair for pair, _ in members if pair[0].tag in ("joint", "freejoint")]
        joints = [
            child if child.tag == "freejoint" else self.settings.applied(child, childclass)
            for child, childclass in given
        ]
        place: Place = self._frame_on(parent, pose)
        if not joints:
            self.joints.append(weld(self.joint_names.new(f"{body.name}_weld"), place, body))
            return
        is_free = [j.tag == "freejoint" or j.text("type", "hinge") == "free" for j in joints]
        if any(is_free):
            if len(joints) > 1 or parent != "world":
                node.fault(
                    "A free joint is the only one of its body, and its body is in the world",
                    remedy="remove the other joints, or move the body to <worldbody>",
                )
            self._free(joints[0], body, pose)
            return
        for number, joint in enumerate(joints, start=1):
            last = number == len(joints)
            child = body if last else Body(self.body_names.new(f"{body.name}_link_{number}"))
            self.joints.append(self._joint(joint, body, place, child))
            place = child

    def _frame_on(self, parent: str, pose: FilePose) -> Frame:
        """The frame of a pose in space, on a body in its reference pose."""
        there = self.poses[parent]
        rotation = there.axes.T @ pose.axes
        return self.bodies[parent].frame(there.local(pose.origin), rotation.tolist())

    def _free(self, node: Node, body: Body, pose: FilePose) -> None:
        name = self._joint_name(node, body)
        self.joints.append(free(name, self.bodies["world"], body))
        self.start |= {
            f"{name}_{axis}": float(x) for axis, x in zip("xyz", pose.origin, strict=True)
        }
        parts = map(float, quaternion_of(pose.axes))
        self.start |= {f"{name}_q{part}": x for part, x in zip("wxyz", parts, strict=True)}

    def _joint_name(self, node: Node, body: Body) -> str:
        name = node.text("name", "") or f"{body.name}_joint_{len(self.joints) + 1}"
        if name in self.joint_names.found:
            node.fault(f"There are two joints called {shortened(name)}", remedy="rename one")
        return self.joint_names.of(name)

    def _joint(self, node: Node, body: Body, place: Place, child: Body) -> Joint:
        node.only(JOINT)
        kind = node.text("type", "hinge")
        if kind not in ("hinge", "slide", "ball"):
            node.fault(f"There is no joint of type {shortened(kind)}", remedy="use hinge or slide")
        if any(node.numbers("springdamper", 2, (0.0, 0.0))):
            node.fault("`springdamper` is not supported", remedy="give stiffness and damping")
        for key in sorted(SOLVER & set(node.attributes)):
            self.unread.note(f"solver setting {key}")
        if node.flag("actuatorgravcomp", False):
            self.unread.note("gravity compensation of a joint")
        name = self._joint_name(node, body)
        at = node.numbers("pos", 3, (0.0, 0.0, 0.0))
        acting: dict[str, Any] = {
            key: node.number(key, 0.0) for key in ("damping", "stiffness", "armature")
        }
        acting["friction_loss"] = node.number("frictionloss", 0.0)
        if kind == "ball":
            if self._limits(node, kind) is not None:
                self.unread.note("limit of a ball joint")
            if acting.pop("stiffness"):
                node.fault(
                    "A spring in a ball joint is not supported",
                    remedy="remove it, and add a bushing in Python",
                )
            return spherical(name, place, child, at=at, child_at=at, **acting)
        return self._one_axis(node, kind, name, place, child, at, acting)

    def _one_axis(
        self,
        node: Node,
        kind: str,
        name: str,
        place: Place,
        child: Body,
        at: list[float],
        acting: dict[str, Any],
    ) -> Joint:
        """A hinge or a slide; its child is displaced if the file states the pose of q = ref."""
        angle = self.settings.radians if kind == "hinge" else float
        direction = node.numbers("axis", 3, (0.0, 0.0, 1.0))
        if not any(direction):
            node.fault("The axis of a joint has a direction", direction, "give one that is not 0")
        axis = unit_axis(direction)
        reference = angle(node.number("ref", 0.0))
        self.references[name] = reference
        limits = self._limits(node, kind) if self.options.limits else None
        options: dict[str, Any] = {**acting, "at": at, "limits": limits}
        options["rest"] = angle(node.number("springref", 0.0))
        if "actuatorfrcrange" in node.attributes:
            low, high = node.numbers("actuatorfrcrange", 2)
            options["effort"] = max(abs(low), abs(high))
            self.unread.note("actuatorfrcrange (data of the joint, not enforced)")
        named = node.text("name", "")
        if named in self.forces:
            options["force"] = self.forces[named](Coordinate(name))
        shift, rotation = _displaced(kind, axis, reference)
        options["child_at"] = add(as_triple(at, "joint"), shift)
        make = revolute if kind == "hinge" else prismatic
        return make(name, place, child, axis, child_rotation=rotation, **options)

    def _limits(self, node: Node, kind: str) -> tuple[float, float] | None:
        has_range = "range" in node.attributes
        word = node.text("limited", "auto")
        if word not in ("true", "false", "auto"):
            node.fault("`limited` is true, false or auto", shortened(word))
        if word == "false" or (word == "auto" and not (has_range and self.settings.auto_limits)):
            return None
        low, high = node.numbers("range", 2)
        if low > high:
            node.fault("The limits of a joint are in order", f"{low} {high}")
        if kind == "slide":
            return low, high
        return self.settings.radians(low), self.settings.radians(high)

    # -- equalities --------------------------------------------------------------------------------

    def _equality(self, node: Node) -> None:
        if node.attributes.get("active", "true") == "false":
            self.unread.note(f"inactive <{node.tag}>")
            return
        if node.tag == "joint":
            self.joints.append(self._polynomial(node))
            return
        if node.tag not in ("connect", "weld"):
            node.fault(
                f"The equality <{shortened(node.tag)}> between these parts is not supported",
                remedy="use connect or weld between bodies, or joint between joints",
            )
        name = self.joint_names.new(node.text("name", node.tag))
        if "site1" in node.attributes:
            make = spherical if node.tag == "connect" else weld
            self.joints.append(make(name, *(self._at_site(node, k) for k in (1, 2))))
            return
        first, second = (self._known(node, key) for key in ("body1", "body2"))
        here, there = self.poses[first], self.poses[second]
        if node.tag == "connect":
            anchor = node.numbers("anchor", 3)
            meeting = here.origin + here.axes @ np.array(anchor)
            ends = (
                self.bodies[first].point(anchor),
                self.bodies[second].point(there.local(meeting)),
            )
            self.joints.append(spherical(name, *ends))
            return
        if "relpose" in node.attributes and any(node.numbers("relpose", 7)[3:]):
            *at, w, x, y, z = node.numbers("relpose", 7)
            self.joints.append(
                weld(
                    name, self.bodies[first].frame(at, quaternion(w, x, y, z)), self.bodies[second]
                )
            )
            return
        self.joints.append(weld(name, self._frame_on(first, there), self.bodies[second]))

    def _at_site(self, node: Node, number: int) -> Frame:
        name = node.text(f"site{number}")
        if name not in self.sites:
            node.fault(f"There is no site {shortened(name)}", remedy="state the <site> in a body")
        self.used_sites.add(name)
        return self.sites[name]

    def _known(self, node: Node, key: str) -> str:
        name = node.text(key, "world" if key == "body2" else None)
        if name not in self.bodies:
            node.fault(f"There is no body {shortened(name)}", remedy="name a body of the tree")
        return name

    def _polynomial(self, node: Node) -> Element:
        """q1 - ref1 = a0 + a1 (q2 - ref2) + ... + a4 (q2 - ref2)^4."""
        coefficients = node.numbers("polycoef", 5, (0.0, 1.0, 0.0, 0.0, 0.0))
        names = [node.text("joint1"), node.text("joint2", "")]
        known: list[str] = []
        for given in names if names[1] else names[:1]:
            identifier = self.joint_names.found.get(given, "")
            if identifier not in self.references:
                node.fault(
                    f"There is no hinge or slide {shortened(given)}",
                    remedy="name a joint of one axis",
                )
            known.append(identifier)
        first = Coordinate(known[0]) - self.references[known[0]]
        value = as_expression(coefficients[0])
        if len(known) == 2:
            second = Coordinate(known[1]) - self.references[known[1]]
            for power, coefficient in enumerate(coefficients[1:], start=1):
                value += coefficient * second**power
        return coupling(
            self.joint_names.new(node.text("name", f"{known[0]}_relation")), first - value
        )


def _displaced(kind: str, axis: Triple, reference: float) -> tuple[Triple, Rotation | None]:
    """The frame of a joint on its child whose pose is that of q = reference."""
    if kind == "slide":
        return scale(as_expression(reference), axis), None
    shift = as_triple((0, 0, 0), "joint")
    return shift, turn(axis, *both(as_expression(reference))) if reference else angles("")
