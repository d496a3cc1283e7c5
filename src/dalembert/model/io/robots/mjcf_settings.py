"""Settings of MJCF files that hold for many elements: includes, the compiler, default classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ....errors import nearest
from ...bodies.vectors import IDENTITY, Rotation, angles, cross, quaternion, turn, unit_axis
from ...bodies.vectors import cosine_and_sine as both
from ...names import shortened
from ...symbols import as_expression
from .xml_reader import Node, read_xml

__all__ = ["Settings", "least_turn", "with_includes"]

MOST_INCLUDES = 50
#: Settings of the compiler that would change the model and are not supported.
UNSUPPORTED = ("settotalmass", "boundmass", "boundinertia", "inertiagrouprange", "alignfree")
ROTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")


def with_includes(root: Node, folder: Path | None, read_bytes: Callable[[Path], bytes]) -> Node:
    """The same tree with the content of included files, which lie in the folder or below it.

    Without a folder, an included file is an error.
    """
    seen: set[Path] = set()

    def expanded(node: Node) -> Node:
        children: list[Node] = []
        for child in node:
            if child.tag != "include":
                children.append(expanded(child))
                continue
            name = child.text("file")
            if folder is None:
                child.fault(
                    f"The file {shortened(name)} is included by a text that lies in no folder",
                    remedy="write its content here, or open the file itself",
                )
            path = (folder / name).resolve()
            if not path.is_relative_to(folder.resolve()):
                child.fault(
                    f"The included file {shortened(name)} is outside the folder of the model",
                    remedy="move it there",
                )
            if path in seen or len(seen) >= MOST_INCLUDES:
                child.fault(
                    f"The file {shortened(name)} is included twice, or more than {MOST_INCLUDES}"
                    " files are",
                    remedy="include each file once",
                )
            seen.add(path)
            children += expanded(read_xml(read_bytes(path), "included")).children
        return Node(node.tag, node.attributes, node.line, children)

    return expanded(root)


@dataclass
class Settings:
    """The compiler's settings, and attributes of elements by class."""

    degrees: bool = True
    sequence: str = "xyz"
    auto_limits: bool = True
    inertia_from_geom: str = "auto"
    #: Where meshes lie, below the folder of the model.
    mesh_folder: str = ""
    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})

    @classmethod
    def of(cls, root: Node) -> Settings:
        """Read <compiler> and <default> of a file."""
        found = cls()
        for node in root.all("compiler"):
            found._compiler(node)
        for node in root.all("default"):
            found._default(node, node.attributes.get("class", "main"), {})
        return found

    def _compiler(self, node: Node) -> None:
        for key in UNSUPPORTED:
            if key in node.attributes and node.attributes[key] not in ("0", "-1", "false"):
                node.fault(
                    f"The compiler's setting `{key}` is not supported",
                    shortened(node.attributes[key]),
                    "write the numbers that result into the file",
                )
        if node.attributes.get("coordinate", "local") != "local":
            node.fault("Global coordinates are not supported", remedy="use local coordinates")
        if "angle" in node.attributes:
            if node.attributes["angle"] not in ("degree", "radian"):
                node.fault("Angles are in `degree` or `radian`", shortened(node.text("angle")))
            self.degrees = node.attributes["angle"] == "degree"
        self.sequence = node.text("eulerseq", self.sequence)
        if len(self.sequence) != 3 or any(axis not in "xyzXYZ" for axis in self.sequence):
            node.fault("`eulerseq` has three of the axes x, y, z", shortened(self.sequence))
        self.auto_limits = node.flag("autolimits", self.auto_limits)
        self.inertia_from_geom = node.text("inertiafromgeom", self.inertia_from_geom)
        if self.inertia_from_geom not in ("true", "false", "auto"):
            node.fault(
                "`inertiafromgeom` is true, false or auto", shortened(self.inertia_from_geom)
            )
        self.mesh_folder = node.text("meshdir", node.text("assetdir", self.mesh_folder))
        if node.flag("balanceinertia", False):
            node.fault("`balanceinertia` is not supported", remedy="correct the inertia instead")

    def _default(self, node: Node, name: str, inherited: dict[str, dict[str, str]]) -> None:
        own = {tag: dict(values) for tag, values in inherited.items()}
        for child in node:
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.attributes)
        self.classes[name] = own
        for child in node.all("default"):
            self._default(child, child.text("class"), own)

    def applied(self, node: Node, childclass: str, tag: str | None = None) -> Node:
        """An element with the attributes of its class."""
        name = node.attributes.get("class", childclass)
        if name not in self.classes:
            near = nearest(name, self.classes)
            remedy = f"did you mean {near}" if near else "state the class in <default>"
            node.fault(f"There is no default class {shortened(name)}", None, remedy)
        defaults = self.classes[name].get(tag or node.tag, {})
        return Node(node.tag, {**defaults, **node.attributes}, node.line, node.children)

    # -- angles and rotations ----------------------------------------------------------------------

    def radians(self, value: float) -> float:
        """An angle of the file in radians."""
        return math.radians(value) if self.degrees else value

    def rotation(self, node: Node) -> Rotation:
        """The orientation of an element, in any of the ways of MJCF."""
        given = [key for key in ROTATIONS if key in node.attributes]
        if len(given) > 1:
            node.fault(f"<{node.tag}> has two orientations", ", ".join(given), "keep one")
        match given:
            case ["quat"]:
                parts = node.numbers("quat", 4)
                if not any(parts):
                    node.fault(
                        "A quaternion of norm 0 is no rotation", remedy="write 1 0 0 0 for none"
                    )
                return quaternion(*parts)
            case ["axisangle"]:
                *axis, angle = node.numbers("axisangle", 4)
                cosine, sine = both(as_expression(self.radians(angle)))
                return turn(unit_axis(self._direction(node, axis)), cosine, sine)
            case ["euler"]:
                values = [self.radians(value) for value in node.numbers("euler", 3)]
                return self._euler(values)
            case ["xyaxes"]:
                numbers = node.numbers("xyaxes", 6)
                normal = cross(
                    unit_axis(self._direction(node, numbers[:3])),
                    tuple(map(as_expression, numbers[3:])),
                )  # type: ignore[arg-type]
                x, z = unit_axis(numbers[:3]), unit_axis(normal)
                return Rotation((x, cross(z, x), z)).inverse
            case ["zaxis"]:
                return least_turn(self._direction(node, node.numbers("zaxis", 3)))
        return IDENTITY

    def _euler(self, values: list[float]) -> Rotation:
        found = IDENTITY
        for axis, value in zip(self.sequence, values, strict=True):
            step = angles(axis.lower(), value)
            found = found @ step if axis.islower() else step @ found
        return found

    def _direction(self, node: Node, axis: list[float]) -> list[float]:
        if not any(axis):
            node.fault("An axis has a direction", axis, "give one that is not 0")
        return axis


def least_turn(direction: list[float]) -> Rotation:
    """The smallest rotation that carries z to a direction."""
    length = math.sqrt(sum(entry**2 for entry in direction))
    x, y, z = (entry / length for entry in direction)
    if z < -1 + 1e-15:
        return angles("x", math.pi)
    return quaternion(1 + z, -y, x, 0)
