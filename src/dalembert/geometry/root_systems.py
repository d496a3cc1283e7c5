r"""Root systems A to G: reflections, orbits of the Weyl group, matrices of the Lie algebra.

Simple roots alpha_i in Bourbaki's coordinates give the coroots and the reflections

    alpha^v = 2 alpha / (alpha, alpha),        s_i(x) = x - (alpha_i^v . x) alpha_i

which generate the Weyl group; all else follows from them. In the smallest representation, with the
weights w_1, ..., w_N, a point x of the Cartan algebra is diag(w_k . x), and the root vectors
E_alpha are real matrices with

    [x, E_alpha] = alpha(x) E_alpha,      E_-alpha = E_alpha^T,      [E_alpha, E_-alpha] = alpha^v

The weights are one orbit of the Weyl group, E_alpha_i w = w + alpha_i, or the short roots with the
weight zero as often as there are short simple roots: there E_alpha_i takes -alpha_i to a vector
n_i of the zero weights and n to (n_i . n) alpha_i, with n_i . n_i = 2 and n_i . n_j = 1 for short
neighbours (Jantzen, Lectures on Quantum Groups, section 5A).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
import sympy
from scipy.linalg import expm

from ..errors import ModelError
from ..typing import Array, ArrayLike, Expression, IntArray
from .polytopes import MomentPolytope, moment_polytope

__all__ = ["Root", "RootSystem"]

#: Numbers that differ by less, relative to their size, are one point of an orbit.
SAME = 1e-9
#: The most points of an orbit, and the largest rank.
MOST_POINTS, LARGEST_RANK = 60_000, 12
#: Families with the least and the largest rank of each.
RANKS = {
    "A": (1, LARGEST_RANK),
    "B": (2, LARGEST_RANK),
    "C": (2, LARGEST_RANK),
    "D": (3, LARGEST_RANK),
    "E": (6, 8),
    "F": (4, 4),
    "G": (2, 2),
}
#: Coordinates: rationals, and integers but for E and F.
Root = tuple[Fraction, ...]
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class RootSystem:
    """A root system by its name, with the matrices of its Lie algebra.

    Parameters
    ----------
    name : str
        "A1", "A2", ..., "B2", ..., "C2", ..., "D3", ..., "E6", "E7", "E8", "F4" or "G2".

    Examples
    --------
    >>> b2 = RootSystem("B2")
    >>> b2.cartan_matrix.tolist(), len(b2.roots), b2.degrees
    ([[2, -1], [-2, 2]], 8, (2, 4))
    >>> b2.weyl_orbit([2, 1]).shape
    (8, 2)
    >>> RootSystem("E8").weyl_order, len(RootSystem("E7").weights)
    (696729600, 56)
    """

    name: str

    def __post_init__(self) -> None:
        read = re.fullmatch(r"([A-G])(\d+)", str(self.name))
        least, largest = RANKS[read[1]] if read is not None else (1, 0)
        if read is None or not least <= int(read[2]) <= largest:
            raise ModelError(
                "There is no such root system here",
                seen=str(self.name)[:40],
                remedy=f"name one such as A3, B2, D4, E8, F4 or G2, of rank at most {LARGEST_RANK}",
            )

    @property
    def family(self) -> str:
        """A, B, C, D, E, F or G."""
        return self.name[0]

    @property
    def rank(self) -> int:
        """The number of simple roots."""
        return int(self.name[1:])

    # -- roots -------------------------------------------------------------------------------------

    @cached_property
    def simple_roots(self) -> tuple[Root, ...]:
        """alpha_i, in the d coordinates of Bourbaki."""
        n, family = self.rank, self.family
        unit = np.eye(self.dimension, dtype=int).tolist()

        def total(*terms: tuple[Fraction | int, int]) -> Root:
            columns = zip(*([c * x for x in unit[k]] for c, k in terms), strict=True)
            return tuple(sum(column, Fraction(0)) for column in columns)

        if family == "G":
            return total((1, 0), (-1, 1)), total((-2, 0), (1, 1), (1, 2))
        if family == "F":
            halves = [(HALF if k == 0 else -HALF, k) for k in range(4)]
            return total((1, 1), (-1, 2)), total((1, 2), (-1, 3)), total((1, 3)), total(*halves)
        if family == "E":
            halves = [(HALF if k in (0, 7) else -HALF, k) for k in range(8)]
            chain = [total((1, k + 1), (-1, k)) for k in range(n - 2)]
            return total(*halves), total((1, 0), (1, 1)), *chain
        chain = [total((1, k), (-1, k + 1)) for k in range(n if family == "A" else n - 1)]
        last = {"B": [(1, n - 1)], "C": [(2, n - 1)], "D": [(1, n - 2), (1, n - 1)]}
        return tuple(chain if family == "A" else [*chain, total(*last[family])])

    @property
    def dimension(self) -> int:
        """d, the number of coordinates: n + 1 for A, 3 for G2, 8 for E, n for the others."""
        return {"A": self.rank + 1, "G": 3, "E": 8}.get(self.family, self.rank)

    @cached_property
    def cartan_matrix(self) -> IntArray:
        """alpha_i^v . alpha_j at [i, j], (n, n) of integers."""
        rows = self.simple_roots
        return np.array([[int(_pairing(a, b)) for b in rows] for a in rows])

    @cached_property
    def _heights(self) -> dict[Root, tuple[int, ...]]:
        """The positive roots with their coefficients by simple ones."""
        n = self.rank
        found = {
            root: tuple(int(i == k) for i in range(n)) for k, root in enumerate(self.simple_roots)
        }
        waiting = list(found)
        for root in waiting:
            for k, simple in enumerate(self.simple_roots):
                image = _reflected(simple, root)
                if simple != root and image not in found:
                    own, times = found[root], int(_pairing(simple, root))
                    found[image] = tuple(c - times * (i == k) for i, c in enumerate(own))
                    waiting.append(image)
        return found

    @cached_property
    def positive_roots(self) -> tuple[Root, ...]:
        """The roots that are sums of simple ones, the highest root last."""
        return tuple(sorted(self._heights, key=lambda root: (sum(self._heights[root]), root)))

    @property
    def roots(self) -> tuple[Root, ...]:
        """All roots."""
        return (*self.positive_roots, *(tuple(-c for c in root) for root in self.positive_roots))

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """m_i of the highest root theta = sum m_i alpha_i."""
        return self._heights[self.positive_roots[-1]]

    @staticmethod
    def coroot(root: Sequence[Fraction]) -> tuple[sympy.Rational, ...]:
        """2 alpha / (alpha, alpha)."""
        square = sum(c * c for c in root)
        return tuple(sympy.Rational(2 * c / square) for c in root)

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        """Degrees of the basic invariant polynomials; their product is the Weyl group's order.

        One more than the exponents: k is the exponent of as many invariants as there are more
        positive roots of the height k than of k + 1 (Kostant).
        """
        heights = [sum(own) for own in self._heights.values()]
        counts = [heights.count(k + 1) for k in range(max(heights) + 1)]
        pairs = enumerate(pairwise(counts), start=2)
        return tuple(degree for degree, (a, b) in pairs for _ in range(a - b))

    @property
    def weyl_order(self) -> int:
        """The number of elements of the Weyl group."""
        return prod(self.degrees)

    # -- the Weyl group ----------------------------------------------------------------------------

    def dominant(self, point: ArrayLike) -> Array:
        """The image (d,) of a point under the Weyl group with alpha_i^v . x >= 0 for all i.

        >>> RootSystem("A2").dominant([0, 3, 1]).tolist()
        [3.0, 1.0, 0.0]
        """
        x, grain = self._point(point), SAME * max(1.0, float(np.max(np.abs(self._point(point)))))
        roots, coroots = self._arrays
        while True:
            values = coroots @ x
            k = int(np.argmin(values))
            if values[k] >= -grain:
                return np.asarray(x)
            x = x - values[k] * roots[k]

    @property
    def _arrays(self) -> tuple[Array, Array]:
        roots = np.array(self.simple_roots, dtype=float)
        return roots, 2 * roots / np.sum(roots * roots, axis=1)[:, None]

    @cached_property
    def _coweights(self) -> Array:
        """The fundamental coweights omega_i (d, r) in the span of the roots."""
        roots, _ = self._arrays
        return np.asarray(np.linalg.solve(roots @ roots.T, roots).T)

    def weyl_orbit(self, point: ArrayLike) -> Array:
        """The images (k, d) of a point under the Weyl group, in lexicographic order.

        Raises
        ------
        ModelError
            For a point with another number of coordinates, and for orbits that are too long.
        """
        roots, coroots = self._arrays
        layer = self.dominant(point)[None, :]
        grain = SAME * max(1.0, float(np.max(np.abs(layer))))
        found, count = [layer], 1
        while len(layer):  # reflections that lengthen the element of the Weyl group
            values = layer @ coroots.T
            places, k = np.nonzero(values > grain)
            images = layer[places] - values[places, k][:, None] * roots[k]
            _, first = np.unique(np.round(images / grain), axis=0, return_index=True)
            layer, count = images[first], count + len(first)
            found.append(layer)
            if count > MOST_POINTS:
                what = "The orbit of the Weyl group is too long to be listed"
                remedy = "take a smaller rank, or a point on more walls of the Weyl chambers"
                raise ModelError(what, f"over {MOST_POINTS} points", remedy)
        every = np.concatenate(found)
        return np.asarray(every[np.lexsort(np.round(every / grain).T[::-1])])

    def _point(self, point: ArrayLike) -> Array:
        x = np.asarray(point, dtype=float)
        if x.shape != (self.dimension,) or not np.all(np.isfinite(x)):
            what = f"A point of the Cartan algebra of {self.name} has {self.dimension} coordinates"
            raise ModelError(what, f"shape {x.shape}", "give one number for each")
        return x

    def polytope(self, point: ArrayLike) -> MomentPolytope:
        """The image of the adjoint orbit through a point under its projection on the torus.

        By Kostant's theorem it is the convex hull of the orbit of the Weyl group; for A it is the
        theorem of Schur and Horn on diagonals of Hermitian matrices with the given eigenvalues. The
        normals of its facets are the images of those fundamental coweights whose other simple
        roots, in each component of their diagram, have one that does not vanish at the point.

        >>> horn = RootSystem("A2").polytope([3, 1, 0])
        >>> len(horn.vertices), horn.dimension
        (6, 2)
        >>> RootSystem("E6").polytope([0, 0, 0, 0, 0, -2/3, -2/3, 2/3])     # Gosset's polytope 2_21
        <MomentPolytope of dimension 6: 27 vertices, 99 facets>
        """
        names = tuple(f"x_{k + 1}" for k in range(self.dimension))
        vertices, top = self.weyl_orbit(point), self.dominant(point)
        _, coroots = self._arrays
        moved = coroots @ top > SAME * max(1.0, float(np.max(np.abs(top))))
        if not np.any(moved):
            return moment_polytope(vertices, names)
        sides = [
            self.weyl_orbit(coweight / np.linalg.norm(coweight))
            for i, coweight in enumerate(self._coweights.T)
            if all(any(moved[k] for k in part) for part in self._components(i))
        ]
        offsets = [np.full(len(side), np.max(side @ top)) for side in sides]
        return MomentPolytope(vertices, np.concatenate(sides), np.concatenate(offsets), names)

    def _components(self, without: int) -> list[set[int]]:
        """The connected parts of the diagram without one simple root."""
        left, parts = set(range(self.rank)) - {without}, []
        while left:
            part, waiting = set(), [left.pop()]
            while waiting:
                k = waiting.pop()
                part.add(k)
                near = {j for j in left if self.cartan_matrix[k, j]}
                left -= near
                waiting += near
            parts.append(part)
        return parts

    def orbit_samples(self, point: ArrayLike, count: int, seed: int = 0) -> Array:
        """Projections (count, d) of random points of the adjoint orbit through a point.

        g x g^-1 with random g of the compact group, projected on the Cartan algebra.
        """
        random, weights = np.random.default_rng(seed), np.array(self.weights, dtype=float)
        roots = np.array([np.array(E.evalf().tolist(), float) for E in self.root_vectors])
        x, (simple, _) = self._point(point), self._arrays
        fixed = x - x @ self._coweights @ simple  # no group element moves this part
        start = weights @ (x - fixed)
        size = float(np.sum((weights @ simple[0]) ** 2) / (simple[0] @ simple[0]))
        found = []
        for _ in range(count):
            element = np.eye(len(weights), dtype=complex)
            for _ in range(2):
                c = random.normal(size=len(roots)) + 1j * random.normal(size=len(roots))
                upper = np.einsum("a,aij->ij", c, roots)
                element = element @ expm(upper - upper.conj().T)
            moved = np.einsum("ij,j,ij->i", element, start, element.conj()).real
            found.append(weights.T @ moved / size + fixed)
        return np.array(found)

    # -- matrices ----------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> tuple[Root, ...]:
        """w_k of the smallest representation, from the highest to the lowest, (N, d)."""
        if self.family in "BFG" or self.name == "E8":
            least = min(sum(c * c for c in root) for root in self.roots)
            found = [root for root in self.roots if sum(c * c for c in root) == least]
            found += [(Fraction(0),) * self.dimension] * len(self._short)
        else:
            unit = tuple(Fraction(int(k == 0)) for k in range(self.dimension))
            found = [_HIGHEST_WEIGHTS.get(self.name, unit)]
            for weight in found:
                images = (_reflected(simple, weight) for simple in self.simple_roots)
                found += [image for image in dict.fromkeys(images) if image not in found]
        rho = np.sum(self._coweights, axis=1)  # alpha_i . rho = 1
        values = [round(2 * float(np.array(w, dtype=float) @ rho)) for w in found]
        order = sorted(range(len(found)), key=lambda k: (values[k], found[k]), reverse=True)
        return tuple(found[k] for k in order)

    @property
    def _short(self) -> list[int]:
        """The simple roots of least length."""
        squares = [sum(c * c for c in root) for root in self.simple_roots]
        return [k for k, square in enumerate(squares) if square == min(squares)]

    def diagonal(self, point: Sequence[Expression]) -> sympy.ImmutableSparseMatrix:
        """diag(w_k . x), (N x N), of a point of the Cartan algebra."""
        pairs = [zip(weight, point, strict=True) for weight in self.weights]
        entries = (sympy.Add(*(sympy.Rational(c) * x for c, x in pair if c)) for pair in pairs)
        return _sparse(len(pairs), {(k, k): entry for k, entry in enumerate(entries)})

    @cached_property
    def raising(self) -> tuple[sympy.ImmutableSparseMatrix, ...]:
        """E_alpha of the simple roots, (N x N) each."""
        places = {weight: k for k, weight in enumerate(self.weights) if any(weight)}
        zeros = [k for k, weight in enumerate(self.weights) if not any(weight)]
        found = []
        for own, root in enumerate(self.simple_roots):
            entries: dict[tuple[int, int], Expression] = {}
            for weight, k in places.items():
                image = tuple(a + b for a, b in zip(weight, root, strict=True))
                if image in places:
                    entries[places[image], k] = sympy.S.One
                elif zeros and not any(image):
                    vector = self._zero_vectors[self._short.index(own)]
                    for place, c in zip(zeros, vector, strict=True):
                        entries[place, k] = entries[places[root], place] = c
            found.append(_sparse(len(self.weights), {at: c for at, c in entries.items() if c != 0}))
        return tuple(found)

    @cached_property
    def _zero_vectors(self) -> list[list[sympy.Expr]]:
        """n_i of the short simple roots: squares 2, products 1 of neighbours and 0 of others."""
        short = self._short
        if len(short) == self.dimension:  # E8: alpha_i with alternating signs
            signs = {0: 1}
            for k in (0, 2, 3, 1, 4, 5, 6, 7):
                for j in np.flatnonzero(self.cartan_matrix[k] == -1):
                    signs.setdefault(int(j), -signs[k])
            rows = self.simple_roots
            return [[sympy.Rational(signs[k] * c) for c in rows[k]] for k in short]
        table = np.abs(self.cartan_matrix[np.ix_(short, short)])
        return list(sympy.Matrix(table.tolist()).cholesky().tolist())

    @cached_property
    def root_vectors(self) -> tuple[sympy.ImmutableSparseMatrix, ...]:
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

    def _normalised(self, matrix: sympy.Matrix, root: Root) -> sympy.ImmutableSparseMatrix:
        """The multiple with [E, E^T] = alpha^v."""
        wanted = self.diagonal(self.coroot(root))
        square = dict.fromkeys(range(matrix.rows), sympy.S.Zero)
        for (i, j), entry in matrix.todok().items():
            square[i] += entry**2
            square[j] -= entry**2
        place = next(k for k, own in square.items() if own != 0)
        factor = sympy.sqrt(wanted[place, place] / square[place])
        entries = {at: sympy.nsimplify(c * factor) for at, c in matrix.todok().items()}
        return _sparse(matrix.rows, entries)

    @cached_property
    def lowest(self) -> sympy.ImmutableSparseMatrix:
        """E_-theta of the highest root theta: the raising matrix of the affine root."""
        return self.root_vectors[-1].T

    @cached_property
    def quadratic_form(self) -> sympy.ImmutableSparseMatrix:
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


#: Those of E6 and E7; of A, C and D it is the first unit vector.
_HIGHEST_WEIGHTS: dict[str, Root] = {
    "E6": (*(Fraction(0),) * 5, Fraction(-2, 3), Fraction(-2, 3), Fraction(2, 3)),
    "E7": (*(Fraction(0),) * 5, Fraction(1), -HALF, HALF),
}


def _pairing(by: Root, other: Root) -> Fraction:
    """by^v . other."""
    return (
        2
        * sum((a * b for a, b in zip(by, other, strict=True)), Fraction(0))
        / sum(a * a for a in by)
    )


def _reflected(by: Root, other: Root) -> Root:
    factor = _pairing(by, other)
    return tuple(b - factor * a for a, b in zip(by, other, strict=True))


def _sparse(size: int, entries: dict[tuple[int, int], Expression]) -> sympy.ImmutableSparseMatrix:
    return sympy.ImmutableSparseMatrix(size, size, entries)
