r"""Root systems A, B, C, D and G2: reflections, orbits of the Weyl group, matrices of the algebra.

Simple roots alpha_i in Bourbaki's coordinates give the coroots and the reflections

    alpha^v = 2 alpha / (alpha, alpha),        s_i(x) = x - (alpha_i^v . x) alpha_i

which generate the Weyl group. In the smallest representation, with the weights w_1, ..., w_N, a
point x of the Cartan algebra is diag(w_k . x), and the root vectors E_alpha are real matrices with

    [x, E_alpha] = alpha(x) E_alpha,      E_-alpha = E_alpha^T,      [E_alpha, E_-alpha] = alpha^v
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import sympy
from scipy.linalg import expm

from ..errors import ModelError
from ..typing import Array, ArrayLike, Expression, IntArray
from .polytopes import MomentPolytope, moment_polytope

__all__ = ["RootSystem"]

#: Numbers that differ by less, relative to their size, are one point of an orbit.
SAME = 1e-9
#: The most points of an orbit, and the largest rank.
MOST_POINTS, LARGEST_RANK = 50_000, 12
#: Families with the least rank of each.
LEAST_RANK = {"A": 1, "B": 2, "C": 2, "D": 3, "G": 2}
Root = tuple[int, ...]


@dataclass(frozen=True)
class RootSystem:
    """A root system by its name, with the matrices of its Lie algebra.

    Parameters
    ----------
    name : str
        "A1", "A2", ..., "B2", ..., "C2", ..., "D3", ... or "G2".

    Examples
    --------
    >>> b2 = RootSystem("B2")
    >>> b2.cartan_matrix.tolist(), len(b2.roots), b2.degrees
    ([[2, -1], [-2, 2]], 8, (2, 4))
    >>> b2.weyl_orbit([2, 1]).shape
    (8, 2)
    """

    name: str

    def __post_init__(self) -> None:
        read = re.fullmatch(r"([ABCDG])(\d+)", str(self.name))
        known = read is not None and LEAST_RANK[read[1]] <= int(read[2]) <= LARGEST_RANK
        if not known or (str(self.name)[0] == "G" and self.name != "G2"):
            raise ModelError(
                "There is no such root system here",
                seen=str(self.name)[:40],
                remedy=f"name one such as A3, B2, C3, D4 or G2, of rank at most {LARGEST_RANK}",
            )

    @property
    def family(self) -> str:
        """A, B, C, D or G."""
        return self.name[0]

    @property
    def rank(self) -> int:
        """The number of simple roots."""
        return int(self.name[1:])

    # -- roots -------------------------------------------------------------------------------------

    @cached_property
    def simple_roots(self) -> tuple[Root, ...]:
        """alpha_i, in the d coordinates of Bourbaki."""
        n, d = self.rank, self.dimension
        unit = np.eye(d, dtype=int)
        if self.family == "G":
            return (1, -1, 0), (-2, 1, 1)
        last = {"B": unit[-1], "C": 2 * unit[-1], "D": unit[-2] + unit[-1]}
        chain = [unit[k] - unit[k + 1] for k in range(n if self.family == "A" else n - 1)]
        rows = chain if self.family == "A" else [*chain, last[self.family]]
        return tuple(tuple(int(c) for c in row) for row in rows)

    @property
    def dimension(self) -> int:
        """d, the number of coordinates: n + 1 for A, 3 for G2, n for the others."""
        return {"A": self.rank + 1, "G": 3}.get(self.family, self.rank)

    @cached_property
    def cartan_matrix(self) -> IntArray:
        """alpha_i^v . alpha_j at [i, j], (n, n) of integers."""
        rows = np.array(self.simple_roots)
        return np.asarray((2 * rows @ rows.T) // np.sum(rows * rows, axis=1)[:, None])

    @cached_property
    def positive_roots(self) -> tuple[Root, ...]:
        """The roots that are sums of simple ones, the highest root last."""
        known = list(self.simple_roots)
        for root in known:
            images = (
                self._reflected(simple, root) for simple in self.simple_roots if simple != root
            )
            known += [image for image in dict.fromkeys(images) if image not in known]
        return tuple(sorted(known, key=lambda root: (sum(self.in_simple_roots(root)), root)))

    @property
    def roots(self) -> tuple[Root, ...]:
        """All roots."""
        return (*self.positive_roots, *(tuple(-c for c in root) for root in self.positive_roots))

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """m_i of the highest root theta = sum m_i alpha_i."""
        return self.in_simple_roots(self.positive_roots[-1])

    def in_simple_roots(self, root: Sequence[int]) -> tuple[int, ...]:
        """The integer coefficients (n,) of a root by simple ones."""
        table = sympy.Matrix(self.simple_roots).T
        return tuple(int(c) for c in (table.T * table).LUsolve(table.T * sympy.Matrix(root)))

    @staticmethod
    def coroot(root: Sequence[int]) -> tuple[sympy.Rational, ...]:
        """2 alpha / (alpha, alpha)."""
        square = sum(c * c for c in root)
        return tuple(sympy.Rational(2 * c, square) for c in root)

    @staticmethod
    def _reflected(by: Root, root: Root) -> Root:
        twice = 2 * sum(a * b for a, b in zip(by, root, strict=True))
        factor = twice // sum(a * a for a in by)
        return tuple(b - factor * a for a, b in zip(by, root, strict=True))

    @property
    def degrees(self) -> tuple[int, ...]:
        """Degrees of the basic invariant polynomials; their product is the Weyl group's order."""
        n = self.rank
        if self.family == "G":
            return 2, 6
        if self.family == "A":
            return tuple(range(2, n + 2))
        even = tuple(range(2, 2 * n + 1, 2))
        return tuple(sorted((*even[:-1], n))) if self.family == "D" else even

    # -- the Weyl group ----------------------------------------------------------------------------

    def weyl_orbit(self, point: ArrayLike) -> Array:
        """The images (k, d) of a point under the Weyl group, in lexicographic order.

        Raises
        ------
        ModelError
            For a point with another number of coordinates, and for orbits that are too long.
        """
        start = self._point(point)
        roots = np.array(self.simple_roots, dtype=float)
        coroots = 2 * roots / np.sum(roots * roots, axis=1)[:, None]
        grain = SAME * max(1.0, float(np.max(np.abs(start))))

        def key(x: Array) -> tuple[int, ...]:
            return tuple(int(c) for c in np.round(x / grain))

        found, waiting = {key(start): start}, [start]
        while waiting:
            x = waiting.pop()
            for root, coroot in zip(roots, coroots, strict=True):
                image = x - (coroot @ x) * root
                if key(image) not in found:
                    found[key(image)] = image
                    waiting.append(image)
            if len(found) > MOST_POINTS:
                what = "The orbit of the Weyl group is too long to be listed"
                raise ModelError(what, f"over {MOST_POINTS} points", "take a smaller rank")
        return np.array(sorted(found.values(), key=tuple))

    def _point(self, point: ArrayLike) -> Array:
        x = np.asarray(point, dtype=float)
        if x.shape != (self.dimension,) or not np.all(np.isfinite(x)):
            what = f"A point of the Cartan algebra of {self.name} has {self.dimension} coordinates"
            raise ModelError(what, f"shape {x.shape}", "give one number for each")
        return x

    def polytope(self, point: ArrayLike) -> MomentPolytope:
        """The image of the adjoint orbit through a point under its projection on the torus.

        By Kostant's theorem it is the convex hull of the orbit of the Weyl group; for A it is the
        theorem of Schur and Horn on diagonals of Hermitian matrices with the given eigenvalues.

        >>> horn = RootSystem("A2").polytope([3, 1, 0])
        >>> len(horn.vertices), horn.dimension
        (6, 2)
        """
        names = tuple(f"x_{k + 1}" for k in range(self.dimension))
        return moment_polytope(self.weyl_orbit(point), names)

    def orbit_samples(self, point: ArrayLike, count: int, seed: int = 0) -> Array:
        """Projections (count, d) of random points of the adjoint orbit through a point.

        g x g^-1 with random g of the compact group, projected on the Cartan algebra.
        """
        random, weights = np.random.default_rng(seed), np.array(self.weights, dtype=float)
        roots = np.array([np.array(E.evalf().tolist(), float) for E in self.root_vectors])
        start = weights @ self._point(point)
        shared = float(np.mean(self._point(point))) if self.family == "A" else 0.0
        square = np.array(self.simple_roots[0], dtype=float)
        size = float(np.sum((weights @ square) ** 2) / (square @ square))
        found = []
        for _ in range(count):
            element = np.eye(len(weights), dtype=complex)
            for _ in range(2):
                c = random.normal(size=len(roots)) + 1j * random.normal(size=len(roots))
                upper = np.einsum("a,aij->ij", c, roots)
                element = element @ expm(upper - upper.conj().T)
            moved = np.einsum("ij,j,ij->i", element, start, element.conj()).real
            found.append(weights.T @ (moved - shared) / size + shared)
        return np.array(found)

    # -- matrices ----------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> tuple[Root, ...]:
        """w_k of the smallest representation, (N, d)."""
        d = self.dimension
        if self.family == "G":
            return (0, -1, 1), (-1, 0, 1), (1, -1, 0), (0, 0, 0), (-1, 1, 0), (1, 0, -1), (0, 1, -1)
        units = [tuple(int(c) for c in row) for row in np.eye(d, dtype=int)]
        if self.family == "A":
            return tuple(units)
        middle = [(0,) * d] if self.family == "B" else []
        return (*units, *middle, *(tuple(-c for c in unit) for unit in reversed(units)))

    def diagonal(self, point: Sequence[Expression]) -> sympy.Matrix:
        """diag(w_k . x), (N x N), of a point of the Cartan algebra."""
        pairs = [zip(weight, point, strict=True) for weight in self.weights]
        return sympy.diag(*(sympy.Add(*(c * x for c, x in pair if c)) for pair in pairs))

    @cached_property
    def raising(self) -> tuple[sympy.ImmutableMatrix, ...]:
        """E_alpha of the simple roots, (N x N) each."""
        n, size = self.rank, len(self.weights)
        if self.family == "G":
            return _sparse(7, {(0, 1): 1, (2, 3): _ROOT, (3, 4): _ROOT, (5, 6): 1}), _sparse(
                7, {(1, 2): 1, (4, 5): 1}
            )
        if self.family == "A":
            return tuple(_sparse(size, {(k, k + 1): 1}) for k in range(n))
        chain = [
            _sparse(size, {(k, k + 1): 1, (size - 2 - k, size - 1 - k): 1}) for k in range(n - 1)
        ]
        last = {
            "B": {(n - 1, n): _ROOT, (n, n + 1): _ROOT},
            "C": {(n - 1, n): 1},
            "D": {(n - 2, n): 1, (n - 1, n + 1): 1},
        }
        return (*chain, _sparse(size, last[self.family]))

    @cached_property
    def root_vectors(self) -> tuple[sympy.ImmutableMatrix, ...]:
        """E_alpha of the positive roots in the order of `positive_roots`, (N x N) each."""
        found = dict(zip(self.simple_roots, self.raising, strict=True))
        for root in self.positive_roots:
            if root in found:
                continue
            for simple, e in zip(self.simple_roots, self.raising, strict=True):
                below = tuple(a - b for a, b in zip(root, simple, strict=True))
                if below in found:
                    found[root] = self._normalised(found[below] * e - e * found[below], root)
                    break
        return tuple(found[root] for root in self.positive_roots)

    def _normalised(self, matrix: sympy.Matrix, root: Root) -> sympy.ImmutableMatrix:
        """The multiple with [E, E^T] = alpha^v."""
        wanted = self.diagonal(self.coroot(root))
        given = matrix * matrix.T - matrix.T * matrix
        place = next(k for k in range(given.rows) if given[k, k] != 0)
        factor = sympy.sqrt(wanted[place, place] / given[place, place])
        return sympy.ImmutableMatrix((matrix * factor).applyfunc(sympy.nsimplify))

    @cached_property
    def lowest(self) -> sympy.ImmutableMatrix:
        """E_-theta of the highest root theta: the raising matrix of the affine root."""
        return sympy.ImmutableMatrix(self.root_vectors[-1].T)

    @cached_property
    def quadratic_form(self) -> sympy.ImmutableMatrix:
        """The antidiagonal S with X S + S X^T = 0 on the algebras B, C and D, (N x N)."""
        size = len(self.weights)
        if self.family not in "BCD":
            what = f"The algebra of {self.name} is not that of a form"
            raise ModelError(what, self.family, "take B, C or D")
        signs = [1]
        for k, _ in pairwise(range(size)):
            alike = self.family == "D" and k == self.rank - 1
            signs.append(signs[-1] if alike else -signs[-1])
        return _sparse(size, {(k, size - 1 - k): sign for k, sign in enumerate(signs)})

    def __str__(self) -> str:
        return self.name


_ROOT = sympy.sqrt(2)


def _sparse(size: int, entries: dict[tuple[int, int], Expression]) -> sympy.ImmutableMatrix:
    return sympy.ImmutableMatrix(size, size, lambda i, j: entries.get((i, j), 0))
