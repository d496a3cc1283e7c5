"""The geoms of MJCF: their mass, centre and tensor of inertia, and how they look."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ....errors import DalembertError
from ...bodies.shapes import Geometry, ball, box, capsule, cylinder, line
from ...bodies.vectors import quaternion
from ...names import shortened
from .mesh_files import RULES, Mesh, UniformSolid, mesh_path, mesh_solid, read_mesh
from .mjcf_settings import Settings, least_turn
from .poses import FilePose, numeric
from .visuals import outlines
from .xml_reader import Node, Unread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Geoms", "joined"]

Array: TypeAlias = "NDArray[np.float64]"
DENSITY = 1000.0
MESH = {"name", "class", "file", "content_type", "scale", "inertia", "vertex", "face", "normal"}
MESH |= {"texcoord", "smoothnormal", "maxhullvert", "refpos", "refquat", "material"}
#: Groups of geoms that MuJoCo draws, the points of an ellipse, and the most numbers of a mesh.
DRAWN_GROUPS, ELLIPSE, MOST_NUMBERS = (0, 1, 2), 17, 1_000_000


def joined(solids: Sequence[UniformSolid]) -> UniformSolid:
    """Several solids as one, by the theorem of parallel axes.

    >>> ball = UniformSolid(1.0, np.array([1.0, 0, 0]), np.zeros((3, 3)))
    >>> both = joined([ball, UniformSolid(1.0, np.array([-1.0, 0, 0]), np.zeros((3, 3)))])
    >>> both.mass, float(both.centre[0]), float(both.tensor[2, 2])
    (2.0, 0.0, 2.0)
    """
    mass = sum(each.mass for each in solids)
    if mass == 0:
        return UniformSolid(0.0, np.zeros(3), np.zeros((3, 3)))
    centre = sum((each.mass * each.centre for each in solids), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for each in solids:
        d = each.centre - centre
        tensor += each.tensor + each.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return UniformSolid(float(mass), centre, tensor)


@dataclass
class Geoms:
    """Reads the <geom> elements of a file, and the meshes of its <asset> that they name."""

    settings: Settings
    unread: Unread
    folder: Path | None
    assets: dict[str, Node] = field(default_factory=dict)
    #: Meshes that were read, by name.
    meshes: dict[str, Mesh] = field(default_factory=dict)

    @classmethod
    def of(cls, root: Node, settings: Settings, unread: Unread, folder: Path | None) -> Geoms:
        """Collect the meshes that a file states; none is read before it is needed."""
        found = cls(settings, unread, folder)
        for node in (child for group in root.all("asset") for child in group):
            if node.tag != "mesh":
                unread.note(f"<{shortened(node.tag)}> of <asset>")
                continue
            node = settings.applied(node, "main")
            stem = Path(node.attributes.get("file", "")).stem
            found.assets[node.text("name", stem)] = node
        return found

    # -- mass --------------------------------------------------------------------------------------

    def solid(self, node: Node, at: FilePose) -> UniformSolid | None:
        """The mass of a <geom>, placed by the pose of its <frame>; None for a plane."""
        kind = node.text("type", "sphere")
        if kind == "plane" or node.attributes.get("mass", "").strip() in ("0", "0.0"):
            return None
        found = self._mesh_mass(node) if kind == "mesh" else self._primitive(node, kind)
        if found.mass < 0:
            node.fault("The mass of a geom is not negative", found.mass)
        return UniformSolid(
            found.mass, at.origin + at.axes @ found.centre, at.axes @ found.tensor @ at.axes.T
        )

    def _primitive(self, node: Node, kind: str) -> UniformSolid:
        if kind not in _SHAPES:
            node.fault(
                f"The mass of a geom of type {shortened(kind)} is not computed",
                remedy="give its body an <inertial>, or the geom mass 0",
            )
        for key, what in (("mesh", "fitted to a mesh"), ("shellinertia", "a shell")):
            if node.attributes.get(key, "false") != "false":
                node.fault(
                    f"The mass of a geom of type {kind} that is {what} is not computed",
                    remedy="give its body an <inertial>, or the geom mass 0",
                )
        centre, axes, size = _placed(node, self.settings, kind)
        volume, moments = _SHAPES[kind][1](*size)
        mass = node.number("mass", node.number("density", DENSITY) * volume)
        return UniformSolid(
            mass, centre, axes @ np.diag([mass * moment for moment in moments]) @ axes.T
        )

    def _mesh_mass(self, node: Node) -> UniformSolid:
        name = node.text("mesh")
        asset = self._asset(node, name)
        rule = "shell" if node.flag("shellinertia", False) else asset.text("inertia", "legacy")
        if rule not in RULES:
            asset.fault("`inertia` of a mesh is " + ", ".join(RULES), shortened(rule))
        try:
            unit = mesh_solid(self._mesh(asset, name), rule)
        except DalembertError as error:
            node.fault(
                f"The mass of the mesh {shortened(name)} cannot be found: {error.what}",
                error.seen,
                f"{error.remedy}, or give the body an <inertial>",
            )
        density = node.number("mass", node.number("density", DENSITY) * unit.mass) / unit.mass
        axes = numeric(self.settings.rotation(node).rows)
        centre = np.array(node.numbers("pos", 3, (0.0, 0.0, 0.0))) + axes @ unit.centre
        return UniformSolid(density * unit.mass, centre, density * axes @ unit.tensor @ axes.T)

    # -- meshes ------------------------------------------------------------------------------------

    def _asset(self, node: Node, name: str) -> Node:
        if name not in self.assets:
            node.fault(f"There is no mesh {shortened(name)}", remedy="state it in <asset>")
        return self.assets[name]

    def _mesh(self, asset: Node, name: str) -> Mesh:
        """The vertices and triangles of a mesh; DalembertError where they cannot be had."""
        if name not in self.meshes:
            asset.only(MESH)
            mesh = _stated(asset) if "vertex" in asset.attributes else self._from_file(asset)
            scale = np.array(asset.numbers("scale", 3, (1.0, 1.0, 1.0)))
            triangles = mesh.triangles if np.prod(scale) > 0 else mesh.triangles[:, ::-1]
            origin = np.array(asset.numbers("refpos", 3, (0.0, 0.0, 0.0)))
            turned = quaternion(*asset.numbers("refquat", 4, (1.0, 0.0, 0.0, 0.0)))
            vertices = (mesh.vertices - origin) @ numeric(turned.rows) * scale
            self.meshes[name] = Mesh(vertices, triangles)
        return self.meshes[name]

    def _from_file(self, asset: Node) -> Mesh:
        name = asset.text("file", "")
        path = mesh_path(self.folder, str(Path(self.settings.mesh_folder, name)))
        if path is None:
            raise DalembertError(
                "its file is no STL, OBJ or COLLADA file in the folder of the model",
                shortened(name),
                "put it there",
            )
        if importlib.util.find_spec("trimesh") is None:
            raise DalembertError(
                "its file needs the package trimesh", None, "pip install dalembert[meshes]"
            )
        try:
            return read_mesh(path)
        except Exception as error:  # readers of meshes raise whatever they meet
            raise DalembertError(
                "its file cannot be read", shortened(str(error)), "repair the file"
            ) from error

    # -- drawings ----------------------------------------------------------------------------------

    def shapes(self, node: Node, at: FilePose) -> list[Geometry]:
        """How a <geom> looks, in the frame of its body."""
        kind = node.text("type", "sphere")
        if node.number("group", 0.0) not in DRAWN_GROUPS or kind not in (*_SHAPES, "mesh"):
            return []
        if kind != "mesh" and "mesh" in node.attributes:
            self.unread.note("drawing of a geom that is fitted to a mesh")
            return []
        if kind == "mesh":
            return self._mesh_shapes(node, at)
        centre, axes, size = _placed(node, self.settings, kind)
        position, rotation = (at.origin + at.axes @ centre).tolist(), (at.axes @ axes).tolist()
        match kind:
            case "sphere":
                return [ball(size[0], at=position)]
            case "box":
                return [box([2 * side for side in size], position, rotation)]
            case "cylinder":
                return [cylinder(size[0], 2 * size[1], position, rotation)]
            case "capsule":
                return [capsule(size[0], 2 * size[1], position, rotation)]
        return [
            line(*(at.origin + (centre + ring * size @ axes.T) @ at.axes.T).tolist(), color="body")
            for ring in _rings()
        ]

    def _mesh_shapes(self, node: Node, at: FilePose) -> list[Geometry]:
        name = node.text("mesh")
        try:
            vertices = self._mesh(self._asset(node, name), name).vertices
        except DalembertError as error:
            self.unread.note(f"drawing of a mesh: {error.what}")
            return []
        axes = numeric(self.settings.rotation(node).rows)
        origin = np.array(node.numbers("pos", 3, (0.0, 0.0, 0.0)))
        placed = at.origin + (origin + vertices @ axes.T) @ at.axes.T
        return [line(*outline) for outline in outlines(placed)]


def _stated(asset: Node) -> Mesh:
    """A mesh that is written in the file; without triangles it is the convex hull."""
    vertices = _bounded(asset, "vertex").reshape(-1, 3)
    if "face" not in asset.attributes:
        return Mesh.hull(vertices)
    corners = _bounded(asset, "face")
    triangles = corners.astype(np.int64)
    if np.any(triangles != corners) or np.any((triangles < 0) | (triangles >= len(vertices))):
        asset.fault("`face` of <mesh> has indices of vertices", f"{len(vertices)} vertices")
    return Mesh(vertices, triangles.reshape(-1, 3))


def _bounded(asset: Node, key: str) -> Array:
    count = len(asset.text(key).split())
    if count > MOST_NUMBERS or count % 3 or not count:
        asset.fault(f"`{key}` of <mesh> has triples, at most {MOST_NUMBERS} numbers", count)
    return np.array([asset.parsed(key, word) for word in asset.text(key).split()])


def _rings() -> list[Array]:
    """Unit circles about the three axes, as closed lines."""
    angle = np.linspace(0.0, 2 * np.pi, ELLIPSE)
    c, s, zero = np.cos(angle), np.sin(angle), 0.0 * angle
    return [np.stack(ring, axis=1) for ring in ((zero, c, s), (c, zero, s), (c, s, zero))]


def _placed(node: Node, settings: Settings, kind: str) -> tuple[Array, Array, list[float]]:
    """Centre, axes and sizes of a geom."""
    count, words = _SHAPES[kind][0], node.text("size", "").split()
    if "fromto" in node.attributes:
        ends = np.array(node.numbers("fromto", 6)).reshape(2, 3)
        along = ends[1] - ends[0]
        length = float(np.linalg.norm(along))
        if kind not in ("capsule", "cylinder") or length == 0:
            node.fault("`fromto` gives the two ends of a capsule or a cylinder", shortened(kind))
        if not words:
            node.fault(f"A geom of type {kind} has a size", remedy='write size="radius"')
        size = [Node("geom", {"size": words[0]}, node.line).number("size"), length / 2]
        if size[0] <= 0:
            node.fault("The sizes of a geom are positive", size)
        return ends.mean(axis=0), numeric(least_turn(list(along)).rows), size
    if len(words) < count:
        node.fault(f"A geom of type {kind} has {count} sizes", shortened(node.text("size", "")))
    size = Node("geom", {"size": " ".join(words[:count])}, node.line).numbers("size", count)
    centre = np.array(node.numbers("pos", 3, (0.0, 0.0, 0.0)))
    if any(value <= 0 for value in size):
        node.fault("The sizes of a geom are positive", size)
    return centre, numeric(settings.rotation(node).rows), size


def _sphere(r: float) -> tuple[float, tuple[float, ...]]:
    return 4 / 3 * math.pi * r**3, (2 / 5 * r**2,) * 3


def _ellipsoid(a: float, b: float, c: float) -> tuple[float, tuple[float, ...]]:
    moments = ((b**2 + c**2) / 5, (a**2 + c**2) / 5, (a**2 + b**2) / 5)
    return 4 / 3 * math.pi * a * b * c, moments


def _box(a: float, b: float, c: float) -> tuple[float, tuple[float, ...]]:
    return 8 * a * b * c, ((b**2 + c**2) / 3, (a**2 + c**2) / 3, (a**2 + b**2) / 3)


def _cylinder(r: float, h: float) -> tuple[float, tuple[float, ...]]:
    across = (3 * r**2 + 4 * h**2) / 12
    return 2 * math.pi * r**2 * h, (across, across, r**2 / 2)


def _capsule(r: float, h: float) -> tuple[float, tuple[float, ...]]:
    """A cylinder of half length h with two half balls, whose centres are 3 r / 8 beyond."""
    tube, balls = 2 * math.pi * r**2 * h, 4 / 3 * math.pi * r**3
    part = tube / (tube + balls)
    across = part * (3 * r**2 + 4 * h**2) / 12
    across += (1 - part) * (2 / 5 * r**2 + h**2 + 3 / 4 * r * h)
    return tube + balls, (across, across, part * r**2 / 2 + (1 - part) * 2 / 5 * r**2)


#: The number of sizes of each shape; its volume and its principal moments per mass.
_SHAPES: dict[str, tuple[int, Callable[..., tuple[float, tuple[float, ...]]]]] = {
    "sphere": (1, _sphere),
    "ellipsoid": (3, _ellipsoid),
    "box": (3, _box),
    "cylinder": (2, _cylinder),
    "capsule": (2, _capsule),
}
