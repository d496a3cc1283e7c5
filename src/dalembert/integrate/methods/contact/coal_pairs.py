"""Contacts of pairs of convex solids that have no formula here, from the library coal.

`coal` (J. Pan, S. Chitta, D. Manocha, ICRA 2012; L. Montaut et al., RSS 2022) finds the distance of
two convex shapes, the normal and the patch where they touch, by the algorithms of Gilbert, Johnson
and Keerthi and of expanding polytopes, to 1e-6 where they touch. From these contacts are made as in
`solid_distances`: the normal is that of a face where one explains the distance, and each corner of
the patch is moved along it to both surfaces, so that gaps are exact for that normal.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....errors import MissingExtraError, ModelError, RunError
from ...contact_fields import ShapeFields
from .solid_distances import (
    BOX,
    CAPSULE,
    CYLINDER,
    FACE,
    FACE_OF_FIRST,
    HULL,
    MOST_POINTS,
    RECORD,
    SPHERE,
)

if TYPE_CHECKING:
    import coal

    from ....typing import Array

__all__ = ["CoalPairs", "ConvexPair", "ConvexSolid", "PlacedSolid"]

#: A face explains a distance up to this part of the sizes; lines enter a solid up to the next.
FACE_MARGIN, INSIDE = 1e-6, 1e-9
#: The corners of a patch are those of the solids up to this part of their sizes at least, at most.
LEAST_REACH, MOST_REACH = 1e-4, 0.1
#: The most corners of a patch that become contacts.
MOST_CORNERS = MOST_POINTS // 2
#: The sides of the prism in a cylinder that gives the corners of its patches.
SIDES = 8
#: A cylinder stands on its end where its axis is less than this from the normal.
LEVEL = 1e-6
_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)


def _coal() -> Any:
    """The package coal."""
    try:
        import coal
    except ImportError as error:
        raise MissingExtraError("coal", "contact-shapes") from error
    return coal


class _Nearest(NamedTuple):
    """A signed distance, the normal from the second to the first, and the nearest points."""

    distance: float
    normal: Array
    on_first: Array
    on_second: Array


class _Contact(NamedTuple):
    """What measures the gap, the feature, a point on each body, the normal and a radius."""

    measure: int
    feature: int
    first: Array
    second: Array
    normal: Array
    radius: float


class ConvexSolid:
    """A convex solid about its middle: coal's shape, and its flat faces n . x <= offset."""

    def __init__(self, kind: int, sizes: Array, points: Array) -> None:
        self.kind, self.sizes, self.points = kind, sizes, points
        self.normals, self.offsets = np.zeros((0, 3)), np.zeros(0)
        coal = _coal()
        if kind == SPHERE:
            self.shape = coal.Sphere(sizes[0])
        elif kind == CAPSULE:
            self.shape = coal.Capsule(sizes[0], 2 * sizes[1])
        elif kind == BOX:
            self.shape = coal.Box(*(2 * sizes))
            self.normals = np.concatenate([np.eye(3), -np.eye(3)])
            self.offsets = np.concatenate([sizes, sizes])
        elif kind == CYLINDER:
            self.shape = coal.Cylinder(sizes[0], 2 * sizes[1])
            self.normals, self.offsets = np.array([[0, 0, 1.0], [0, 0, -1.0]]), sizes[[1, 1]]
            angles = 2 * np.pi * np.arange(SIDES) / SIDES
            ring = sizes[0] * np.column_stack([np.cos(angles), np.sin(angles)])
            ends = [np.column_stack([ring, np.full(SIDES, z)]) for z in (sizes[1], -sizes[1])]
            self.prism = _convex(np.concatenate(ends))
        elif kind == HULL:
            self._read_hull()
        self.size = float(np.linalg.norm(points, axis=1).max() if len(points) else sizes.sum())

    def _read_hull(self) -> None:
        from scipy.spatial import ConvexHull, QhullError

        try:
            found = ConvexHull(self.points)
        except (QhullError, ValueError) as error:
            raise ModelError(
                "The distance to a hull needs one with a volume",
                seen=f"{len(self.points)} points, which lie in a plane or are too few",
                remedy="give it points that do not lie in a plane, or a thin box",
            ) from error
        self.points = self.points[found.vertices]
        _, rows = np.unique(found.equations.round(9), axis=0, return_index=True)
        self.normals, self.offsets = found.equations[rows, :3], -found.equations[rows, 3]
        self.shape = _convex(self.points)

    def heights(self, directions: Array) -> Array:
        """How far the solid reaches along directions (k x 3)."""
        if self.kind == HULL:
            return np.asarray((directions @ self.points.T).max(axis=1))
        if self.kind == BOX:
            return np.asarray(abs(directions) @ self.sizes)
        across = np.hypot(directions[:, 0], directions[:, 1])
        return np.asarray(self.sizes[0] * across + self.sizes[1] * abs(directions[:, 2]))

    def entry(self, x: Array, way: Array) -> float | None:
        """Where the line x + t way enters the solid; None where it passes beside it."""
        slack = INSIDE * self.size
        rates, room = self.normals @ way, self.offsets - self.normals @ x
        inward, outward = rates <= -1e-9, rates >= 1e-9
        if (room[~(inward | outward)] < -slack).any():
            return None
        low = max(room[inward] / rates[inward], default=-np.inf)
        high = min(room[outward] / rates[outward], default=np.inf)
        if self.kind == CYLINDER:
            a, b = way[:2] @ way[:2], x[:2] @ way[:2]
            c = x[:2] @ x[:2] - (self.sizes[0] + slack) ** 2
            if a < 1e-18:
                return None if c > 0 else float(low)
            root = b * b - a * c
            if root < 0:
                return None
            low, high = max(low, (-b - root**0.5) / a), min(high, (-b + root**0.5) / a)
        return float(low) if low <= high + slack else None


def _convex(points: Array) -> coal.Convex:
    """The convex hull of points as a shape of coal."""
    coal = _coal()
    corners = coal.StdVec_Vec3s()
    for point in points:
        corners.append(point)
    return coal.Convex.convexHull(corners, False, "Qt")


class CoalPairs:
    """The contacts of pairs of solids of a run, as native code asks for them.

    It reads `pair` and `pair_margin` of the fields of a run and writes `found`, `marks` and
    `n_found`. An exception cannot cross native code: it is kept, and -1 contacts are found.

    Attributes
    ----------
    address : int
        Of the function that native code calls.
    """

    def __init__(self, fields: ShapeFields, hulls: Sequence[Array], asked: Sequence[int]) -> None:
        self.fields = fields
        self.error: BaseException | None = None
        kinds, sizes = fields.arrays["kinds"], fields.arrays["sizes"].reshape(-1, 3)
        self.solids = {k: ConvexSolid(int(kinds[k]), sizes[k], hulls[k]) for k in asked}
        self._function = _SIGNATURE(self._answer)
        self.address = int(ctypes.cast(self._function, ctypes.c_void_p).value or 0)

    def check(self) -> None:
        """Raise what went wrong inside native code."""
        if self.error is not None and not isinstance(self.error, Exception):
            raise self.error  # Ctrl-C, or an exit that was asked for
        if self.error is not None:
            raise RunError(
                "A distance of two solids was not found by coal",
                seen=repr(self.error)[:120],
                remedy="make up the shapes of balls, capsules or boxes",
            ) from self.error

    def _answer(self, *_: int) -> None:
        s = self.fields
        try:
            arrays, first, second = s.arrays, s.pair // s.n_solids, s.pair % s.n_solids
            frames = arrays["frames"].reshape(-1, 12)
            pair = ConvexPair(
                PlacedSolid(self.solids[first], frames[first]),
                PlacedSolid(self.solids[second], frames[second]),
                s.pair_margin,
            )
            found = pair.contacts()
            for k, (measure, feature, x1, x2, n, r1) in enumerate(found):
                arrays["marks"][2 * k : 2 * k + 2] = measure, feature
                row = arrays["found"][RECORD * k : RECORD * (k + 1)]
                row[:3], row[3:6], row[6:9], row[9:] = x1, x2, n, (r1, 0.0)
            s.n_found = len(found)
        except BaseException as error:
            self.error, s.n_found = error, -1


class PlacedSolid:
    """A solid at its pose."""

    def __init__(self, solid: ConvexSolid, frame: Array) -> None:
        self.solid, self.axes, self.middle = solid, frame[:9].reshape(3, 3), frame[9:]
        self.pose = _coal().Transform3s(self.axes.copy(), self.middle.copy())

    def heights(self, directions: Array) -> Array:
        return directions @ self.middle + self.solid.heights(directions @ self.axes)

    def flat(self, way: Array) -> tuple[coal.CollisionGeometry, coal.Transform3s]:
        """A polytope with the corners of the solid along a way: of a cylinder the prism in it.

        Of curved shapes coal's patches have one point.
        """
        if self.solid.kind != CYLINDER:
            return self.solid.shape, self.pose
        x, y, _ = way @ self.axes
        length = np.hypot(x, y)
        c, s = (x / length, y / length) if length > LEVEL else (1.0, 0.0)
        turned = self.axes @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return self.solid.prism, _coal().Transform3s(turned, self.middle.copy())

    def entry(self, x: Array, way: Array) -> float:
        """Where a line enters; beside the solid, where it comes as far as the solid reaches."""
        found = self.solid.entry((x - self.middle) @ self.axes, way @ self.axes)
        return -float(self.heights(-way[None])[0] + way @ x) if found is None else found


class ConvexPair:
    """Two solids at their poses; normals lead from the second to the first."""

    def __init__(self, first: PlacedSolid, second: PlacedSolid, margin: float) -> None:
        self.first, self.second, self.margin = first, second, margin

    def distance(self, shape: coal.CollisionGeometry, pose: coal.Transform3s) -> _Nearest:
        """From a shape to the second solid."""
        coal = _coal()
        request, result = coal.DistanceRequest(True, True), coal.DistanceResult()
        far = coal.distance(shape, pose, self.second.solid.shape, self.second.pose, request, result)
        if not np.isfinite(far):
            raise RunError("The distance of two solids is no number", seen=str(far))
        points = result.getNearestPoint1(), result.getNearestPoint2()
        return _Nearest(far, -np.asarray(result.normal), *map(np.asarray, points))

    def contacts(self) -> list[_Contact]:
        """The contacts up to the margin."""
        solid = self.first.solid
        near = self.distance(solid.shape, self.first.pose)
        if near.distance > self.margin:
            return []
        if solid.kind == SPHERE:
            return [self._of_ball(0, self.first.middle, near)]
        if solid.kind == CAPSULE:
            return self._of_capsule(near)
        return self._of_faces(near)

    def _of_ball(self, feature: int, middle: Array, near: _Nearest) -> _Contact:
        radius = self.first.solid.sizes[0]
        foot = middle - (near.distance + radius) * near.normal
        return _Contact(FACE, feature, middle, foot, near.normal, radius)

    def _of_capsule(self, near: _Nearest) -> list[_Contact]:
        """The ends that are near, and the nearest point of the axis between them."""
        (radius, half), axis = self.first.solid.sizes[:2], self.first.axes[:, 2]
        coal, found = _coal(), []
        ball = coal.Sphere(radius)
        for k, end in enumerate((half, -half)):
            middle = self.first.middle + end * axis
            at_end = self.distance(ball, coal.Transform3s(np.eye(3), middle))
            if at_end.distance <= self.margin:
                found.append(self._of_ball(k, middle, at_end))
        along = float((near.on_first - self.first.middle) @ axis)
        if abs(along) < half * (1 - 1e-3):
            middle = self.first.middle + along * axis
            found.append(self._of_ball(2, middle, near))
        return found

    def _of_faces(self, near: _Nearest) -> list[_Contact]:
        """The corners of the patch where the solids touch, moved to both surfaces."""
        measure, normal, gap = self._normal(near)
        if gap > self.margin:
            return []
        found, least = [], self.margin
        for k, corner in enumerate(self._patch(normal, gap, near)):
            low = self.first.entry(corner, normal)
            high = -self.second.entry(corner, -normal)
            if low - high <= self.margin:
                x1, x2 = corner + low * normal, corner + high * normal
                found.append(_Contact(measure, 1 + k, x1, x2, normal, 0.0))
                least = min(least, low - high)
        if not found or least > gap + LEAST_REACH * self.first.solid.size:
            middle = (near.on_first + near.on_second) / 2
            x1, x2 = middle + gap / 2 * normal, middle - gap / 2 * normal
            found.append(_Contact(measure, 0, x1, x2, normal, 0.0))
        return found

    def _normal(self, near: _Nearest) -> tuple[int, Array, float]:
        """What holds the normal, the normal, and the gap of the solids along it.

        The distance is the largest gap along any direction, and that of a face is exact.
        """
        first, second = self.first, self.second
        own, other = first.solid.normals @ first.axes.T, second.solid.normals @ second.axes.T
        ways = np.concatenate([near.normal[None], other, -own])
        gaps = -first.heights(-ways) - second.heights(ways)
        slack = FACE_MARGIN * (first.solid.size + second.solid.size)
        best = 1 + int(np.argmax(gaps[1:]))
        if gaps[best] < gaps[0] - slack:
            best = 0
        return (FACE if best <= len(other) else FACE_OF_FIRST), ways[best], float(gaps[best])

    def _patch(self, normal: Array, gap: float, near: _Nearest) -> list[Array]:
        """Corners of the patch along a normal, at most so many, evenly chosen."""
        first, second = self.first, self.second
        size = min(first.solid.size, second.solid.size)
        reach = min(max(self.margin - gap, LEAST_REACH * size), MOST_REACH * size)
        coal = _coal()
        request = coal.ContactPatchRequest()
        request.setPatchTolerance(reach)
        (one, pose), (two, other) = first.flat(-normal), second.flat(normal)
        middle = (near.on_first + near.on_second) / 2
        touching, patches = coal.CollisionResult(), coal.ContactPatchResult()
        touching.addContact(coal.Contact(one, two, -1, -1, middle, -normal, gap))
        coal.computeContactPatch(one, pose, two, other, touching, request, patches)
        if patches.numContactPatches() == 0:
            return []
        patch = patches.getContactPatch(0)
        count = patch.size()
        chosen = np.linspace(0, count, min(count, MOST_CORNERS), endpoint=False)
        return [np.asarray(patch.getPoint(int(k))) for k in chosen]
