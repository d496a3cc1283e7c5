r"""Moment polytopes: the image of the momentum map of a torus.

The image of a compact connected symplectic manifold under the momentum map of a torus is the convex
hull of the images of the fixed points (Atiyah 1982, Guillemin and Sternberg 1984; Bloch and others,
Supplement, section 3.7). Of a coadjoint orbit it is the hull of an orbit of the Weyl group
(Kostant, Schur and Horn), which `RootSystem.polytope` lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull

from ..errors import ModelError
from ..typing import Array, ArrayLike, IntArray
from .subspaces import span

__all__ = ["MomentPolytope", "moment_polytope"]

#: Facets and vertices that differ by less than this part of the size are one.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class MomentPolytope:
    """A convex polytope by its vertices, in d coordinates; it may lie in a smaller affine space.

    Attributes
    ----------
    vertices : array (k, d)
    normals : array (f, d)
        Outward unit normals of the facets, within the affine span.
    offsets : array (f,)
        normal . x <= offset holds on the polytope.
    names : tuple of str (d,)
        The components of the momentum.
    """

    vertices: Array
    normals: Array
    offsets: Array
    names: tuple[str, ...]

    @cached_property
    def centre(self) -> Array:
        """The mean of the vertices, (d,)."""
        return np.asarray(np.mean(self.vertices, axis=0))

    @cached_property
    def directions(self) -> Array:
        """An orthonormal basis (d, r) of the directions of the affine span."""
        return span((self.vertices - self.centre).T)

    @property
    def dimension(self) -> int:
        """r, the dimension of the affine span."""
        return int(self.directions.shape[1])

    @cached_property
    def volume(self) -> float:
        """The r-dimensional volume."""
        flat = (self.vertices - self.centre) @ self.directions
        if self.dimension == 0:
            return 1.0
        if self.dimension == 1:
            return float(np.ptp(flat))
        return float(ConvexHull(flat).volume)

    def excess(self, points: ArrayLike) -> Array:
        """How far points (m, d) lie outside, (m,): negative inside, by the nearest facet.

        What leaves the affine span counts as outside, too.
        """
        given = np.atleast_2d(np.asarray(points, dtype=float))
        away = given - self.centre
        across = np.linalg.norm(away - away @ self.directions @ self.directions.T, axis=1)
        if not len(self.offsets):
            return np.asarray(np.linalg.norm(away, axis=1))
        beyond = np.max(given @ self.normals.T - self.offsets, axis=1)
        rounding = SAME * (1 + float(np.max(np.abs(self.vertices))))
        return np.asarray(np.where(across > rounding, np.maximum(beyond, across), beyond))

    def contains(self, points: ArrayLike, tolerance: float = SAME) -> Array:
        """Whether points (m, d) lie inside up to a tolerance of the size, (m,) of bool.

        >>> square = moment_polytope([[0, 0], [1, 0], [0, 1], [1, 1]])
        >>> square.contains([[0.5, 1.0], [0.5, 1.1]]).tolist()
        [True, False]
        """
        size = 1 + float(np.max(np.abs(self.vertices)))
        return np.asarray(self.excess(points) <= tolerance * size)

    @cached_property
    def facets(self) -> tuple[tuple[int, ...], ...]:
        """The vertices on each facet."""
        close = SAME * (1 + float(np.max(np.abs(self.vertices))))
        on = np.abs(self.vertices @ self.normals.T - self.offsets) <= 10 * close
        return tuple(tuple(int(k) for k in np.flatnonzero(column)) for column in on.T)

    @cached_property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """Pairs of vertices that share r - 1 independent facets."""
        r, found = self.dimension, []
        if r == 1:
            return ((0, 1),)
        for i in range(len(self.vertices)):
            for j in range(i):
                shared = [k for k, facet in enumerate(self.facets) if i in facet and j in facet]
                if len(shared) >= r - 1 and span(self.normals[shared].T).shape[1] == r - 1:
                    found.append((j, i))
        return tuple(found)

    def __str__(self) -> str:
        counts = f"{len(self.vertices)} vertices, {len(self.offsets)} facets"
        return f"<MomentPolytope of dimension {self.dimension}: {counts}>"

    __repr__ = __str__


def moment_polytope(points: ArrayLike, names: Sequence[str] = ()) -> MomentPolytope:
    """The convex hull of the images of the fixed points of a torus action.

    Parameters
    ----------
    points : array (m, d)
        Values of the momentum map at the fixed points, such as the weights of a linear action on
        a complex projective space.
    names : sequence of d str

    Raises
    ------
    ModelError
        For points that are not finite numbers in d coordinates.

    Examples
    --------
    The torus of two dimensions that turns the complex projective plane:

    >>> triangle = moment_polytope([[0, 0], [1, 0], [0, 1]])
    >>> triangle, triangle.volume
    (<MomentPolytope of dimension 2: 3 vertices, 3 facets>, 0.5)
    """
    given = np.atleast_2d(np.asarray(points, dtype=float))
    if given.ndim != 2 or not given.size or not np.all(np.isfinite(given)):
        what = "A moment polytope needs the images of fixed points as finite numbers"
        raise ModelError(what, f"shape {given.shape}", "give an array (m, d)")
    labels = tuple(map(str, names)) or tuple(f"J_{k + 1}" for k in range(given.shape[1]))
    if len(labels) != given.shape[1]:
        what = "There must be one name for each component of the momentum"
        raise ModelError(what, len(labels), f"give {given.shape[1]}")
    centre = given.mean(axis=0)
    size = 1 + float(np.max(np.abs(given)))
    axes = span((given - centre).T, scale=size)
    flat = (given - centre) @ axes
    corners, normals, offsets = _hull(flat, size)
    turned = normals @ axes.T
    return MomentPolytope(given[corners], turned, offsets + turned @ centre, labels)


def _hull(flat: Array, size: float) -> tuple[IntArray, Array, Array]:
    """The vertices among points (m, r) that span their space, and the facets without repeats."""
    r = flat.shape[1]
    if r == 0:
        return np.array([0]), np.zeros((0, 0)), np.zeros(0)
    if r == 1:
        ends = np.array([int(np.argmin(flat[:, 0])), int(np.argmax(flat[:, 0]))])
        return ends, np.array([[-1.0], [1.0]]), np.array([-flat[ends[0], 0], flat[ends[1], 0]])
    hull = ConvexHull(flat)
    rows = {tuple(np.round(row / (SAME * size)).astype(int)): row for row in hull.equations}
    table = np.array(list(rows.values()))
    normals, offsets = table[:, :-1], -table[:, -1]
    close = 100 * SAME * size
    corners = [
        k
        for k in hull.vertices
        if span(normals[np.abs(normals @ flat[k] - offsets) < close].T).shape[1] == r
    ]
    return np.array(corners), normals, offsets
