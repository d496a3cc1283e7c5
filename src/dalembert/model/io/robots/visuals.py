"""How the links of a URDF file look: primitives, and outlines of meshes.

A drawing is made of lines. A mesh is drawn by the convex outlines of its projections along its
three axes, each in the middle of the mesh.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...bodies.shapes import Geometry, ball, box, cylinder
from ...bodies.vectors import Rotation, angles
from .mesh_files import mesh_path, read_mesh
from .xml_reader import Node, Unread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Visuals", "origin_of", "outlines"]

#: The most points of an outline, and the attributes of <origin>.
MOST_POINTS, ORIGIN = 10, {"xyz", "rpy"}


@dataclass(frozen=True)
class Visuals:
    """Reads the <visual> elements of links; what cannot be drawn is counted in `unread`.

    Meshes are looked for in `folder`; without one they are counted.
    """

    unread: Unread
    folder: Path | None = None

    def shapes(self, link: Node) -> list[Geometry]:
        """The shapes of a link, in its frame."""
        found: list[Geometry] = []
        for visual in link.all("visual"):
            geometry = visual.one("geometry")
            if geometry is None:
                self.unread.note("<visual> without geometry")
                continue
            position, rotation = origin_of(visual)
            for shape in geometry:
                found += self._shape(shape, position, rotation)
        return found

    def _shape(self, node: Node, position: list[float], rotation: Rotation) -> list[Geometry]:
        match node.tag:
            case "box":
                return [box(_positive(node, node.numbers("size", 3)), position, rotation)]
            case "cylinder":
                radius, length = _positive(node, [node.number("radius"), node.number("length")])
                return [cylinder(radius, length, position, rotation)]
            case "sphere":
                (radius,) = _positive(node, [node.number("radius")])
                return [ball(radius, at=position)]
            case "mesh":
                return self._mesh(node, position, rotation)
        self.unread.note("shape of a <visual> that is not known")
        return []

    def _mesh(self, node: Node, position: list[float], rotation: Rotation) -> list[Geometry]:
        path = mesh_path(self.folder, node.text("filename"))
        if path is None:
            self.unread.note("<mesh> that is not in the folder of the file")
            return []
        if importlib.util.find_spec("trimesh") is None:
            self.unread.note("<mesh> (pip install dalembert[meshes] draws them)")
            return []
        try:
            points = read_mesh(path).vertices
        except Exception:  # readers of meshes raise whatever they meet
            self.unread.note("<mesh> that cannot be read")
            return []
        scale = np.array(node.numbers("scale", 3, (1.0, 1.0, 1.0)))
        x, y, z = position
        return [
            Geometry("line", (), (x, y, z), rotation, outline, "link")
            for outline in outlines(points * scale)
        ]


def outlines(points: NDArray[np.float64]) -> list[tuple[tuple[float, float, float], ...]]:
    """Closed outlines of points along each axis, each a line in the middle of the points.

    >>> corners = np.array([[x, y, z] for x in (0, 2) for y in (0, 1) for z in (0, 4)], dtype=float)
    >>> [len(outline) for outline in outlines(corners)]
    [5, 5, 5]
    >>> outlines(corners)[0][0]
    (1.0, 0.0, 0.0)
    """
    from scipy.spatial import ConvexHull, QhullError

    middle, found = (points.min(axis=0) + points.max(axis=0)) / 2, []
    for axis in range(3):
        others = [k for k in range(3) if k != axis]
        try:
            ring = points[:, others][ConvexHull(points[:, others]).vertices]
        except (QhullError, ValueError):  # flat along another axis: no outline
            continue
        if len(ring) > MOST_POINTS:
            ring = ring[np.linspace(0, len(ring), MOST_POINTS, endpoint=False).astype(int)]
        ring = np.roll(ring, -int(np.lexsort(ring.T[::-1])[0]), axis=0)
        closed = np.insert(np.vstack([ring, ring[:1]]), axis, middle[axis], axis=1)
        found.append(tuple((float(x), float(y), float(z)) for x, y, z in closed))
    return found


def origin_of(node: Node) -> tuple[list[float], Rotation]:
    """Position and rotation of an element, by its <origin>."""
    origin = node.one("origin")
    if origin is None:
        return [0.0, 0.0, 0.0], angles("")
    origin.only(ORIGIN)
    roll, pitch, yaw = origin.numbers("rpy", 3, (0.0, 0.0, 0.0))
    return origin.numbers("xyz", 3, (0.0, 0.0, 0.0)), angles("zyx", yaw, pitch, roll)


def _positive(node: Node, sizes: list[float]) -> list[float]:
    if min(sizes) < 0:
        node.fault(f"A <{node.tag}> has sizes that are not negative", sizes)
    return sizes
