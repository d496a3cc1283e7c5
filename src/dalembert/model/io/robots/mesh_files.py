"""Meshes of robot files: vertices and triangles, and the solids that they bound.

Mesh files lie in the folder of the robot file or below it; the package trimesh reads them
(``pip install dalembert[meshes]``).
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....errors import DalembertError
from ..plain_file import read_plain
from .xml_reader import read_xml

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["RULES", "Mesh", "UniformSolid", "mesh_path", "mesh_solid", "read_mesh"]

Array: TypeAlias = "NDArray[np.float64]"
#: Formats of meshes, and the largest file.
FORMATS, LARGEST_MESH = (".stl", ".obj", ".dae"), 50_000_000
PACKAGE = "package://"
#: How MJCF asks for the mass of a mesh.
RULES = ("legacy", "exact", "convex", "shell")


@dataclass(frozen=True)
class UniformSolid:
    """A mass, its centre (3,) and its tensor of inertia (3, 3) about the centre."""

    mass: float
    centre: Array
    tensor: Array


@dataclass(frozen=True)
class Mesh:
    """Vertices (n, 3), and triangles (m, 3): indices of vertices, counterclockwise from outside."""

    vertices: Array
    triangles: NDArray[np.int64]

    @staticmethod
    def hull(vertices: Array) -> Mesh:
        """The convex hull of points.

        >>> cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
        >>> Mesh.hull(cube).triangles.shape
        (12, 3)
        """
        from scipy.spatial import ConvexHull, QhullError

        try:
            found = ConvexHull(vertices)
        except (QhullError, ValueError) as error:
            raise DalembertError(
                "A mesh has four vertices that are not in a plane",
                f"{len(vertices)} vertices",
                "repair the mesh",
            ) from error
        triangles = found.simplices.astype(np.int64)
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), found.equations[:, :3]) < 0
        triangles[inward] = triangles[inward][:, ::-1]
        return Mesh(vertices, triangles)


def mesh_path(folder: Path | None, name: str) -> Path | None:
    """The file of a mesh, if it lies in the folder and can be read."""
    if folder is None or not name.lower().endswith(FORMATS):
        return None
    relative = name.removeprefix(PACKAGE).removeprefix("file://")
    places = [relative, relative.partition("/")[2]] if name.startswith(PACKAGE) else [relative]
    root = folder.resolve()
    for place in filter(None, places):
        try:
            path = (root / place).resolve()
            if path.is_relative_to(root) and path.is_file():
                return path if path.stat().st_size <= LARGEST_MESH else None
        except (OSError, ValueError):  # names that no file can have
            continue
    return None


def read_mesh(path: Path) -> Mesh:
    """Read an STL, OBJ or COLLADA file."""
    try:  # `mesh_path` found no link on the way; one that is there now leads out of the folder
        content = read_plain(path, LARGEST_MESH, links=False)
    except OSError as error:
        raise DalembertError(
            "A mesh cannot be read", error.strerror or str(error), "check the file"
        ) from error
    if len(content) > LARGEST_MESH:
        raise DalembertError(f"A mesh has at most {LARGEST_MESH} bytes", remedy="simplify it")
    import trimesh

    kind = path.suffix.lower().removeprefix(".")
    if kind == "dae":
        read_xml(content, "mesh")  # it refuses entities
    options: dict[str, Any] = {"skip_materials": True} if kind == "obj" else {}
    found: Any = trimesh.load(io.BytesIO(content), file_type=kind, process=False, **options)
    if isinstance(found, trimesh.Scene):
        found = found.to_geometry()
    vertices: Array = np.asarray(found.vertices, dtype=np.float64)
    if not len(vertices) or not np.all(np.isfinite(vertices)):
        raise DalembertError("A mesh has finite vertices", remedy="repair the file")
    return Mesh(vertices, np.asarray(found.faces, dtype=np.int64))


def mesh_solid(mesh: Mesh, rule: str) -> UniformSolid:
    """The solid of density one that a mesh bounds, by a rule of MJCF.

    A triangle with the corners a, b, c and an apex o spans a tetrahedron of volume
    V = det(a - o, b - o, c - o) / 6, whose second moment about o is

        int x x^T = V / 20 (a a^T + b b^T + c c^T + s s^T),    s = a + b + c.

    Parameters
    ----------
    rule : str
        "exact" adds these with their signs, "convex" does so for the convex hull, "legacy" adds
        their magnitudes (which counts volume twice where a mesh is not star-shaped, as MuJoCo
        does by default), and "shell" distributes the mass over the surface.

    Examples
    --------
    >>> cube = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    >>> solid = mesh_solid(Mesh.hull(cube), "exact")
    >>> np.round(solid.centre, 12).tolist(), round(6 * float(solid.tensor[0, 0]), 12)
    ([0.5, 0.5, 0.5], 1.0)
    """
    mesh = Mesh.hull(mesh.vertices) if rule == "convex" else mesh
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    centre = areas @ (a + b + c) / 3 / max(float(areas.sum()), 1e-300)
    if rule == "shell":
        mass, _, second = _moments(areas, 12, *(corner - centre for corner in (a, b, c)))
    else:
        # The mass and its moments are taken about the centre of the volumes about `centre`.
        _, first, _ = _moments(*_tetrahedra(a, b, c, centre, rule))
        centre = centre + first
        mass, _, second = _moments(*_tetrahedra(a, b, c, centre, rule))
    if not mass > 0 or not np.all(np.isfinite(second)):
        raise DalembertError(
            "A mesh bounds a positive volume", f"{mass:.3g}", "orient its triangles outwards"
        )
    return UniformSolid(mass, centre, np.trace(second) * np.eye(3) - second)


def _tetrahedra(
    a: Array, b: Array, c: Array, apex: Array, rule: str
) -> tuple[Array, int, Array, Array, Array]:
    """Volumes of tetrahedra, and their corners, relative to an apex."""
    a, b, c = a - apex, b - apex, c - apex
    volumes: Array = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    return np.abs(volumes) if rule == "legacy" else volumes, 20, a, b, c


def _moments(sizes: Array, divisor: int, *corners: Array) -> tuple[float, Array, Array]:
    """Sum, centre (3,) and second moment (3, 3) of tetrahedra (20) or triangles (12)."""
    total, middle = float(sizes.sum()), sum(corners[1:], corners[0])
    second = sum(
        (np.einsum("i,ij,ik->jk", sizes, x, x) for x in (*corners, middle)), np.zeros((3, 3))
    )
    first = sizes @ middle / (4 if divisor == 20 else 3) / (total or 1.0)
    return total, first, second / divisor
