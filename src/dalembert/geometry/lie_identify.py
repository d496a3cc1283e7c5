r"""Which Lie algebra this is, from its structure constants.

An abelian part that splits off is taken away first. The rest is split into a direct sum of ideals
by its centroid,

    Gamma = {F : F [x, y] = [F x, y] = [x, F y]},

an associative algebra that contains the projections onto all direct summands and nothing that mixes
them: the generalised eigenspaces of one of its generic elements are the summands. Each summand is
then known by invariants: dimensions of its derived and lower central series, its centre, the
signature of its Killing form, its radical, and for three dimensions with a plane of translations
the eigenvalues of what acts on it (Bianchi).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.linalg import schur

from ..typing import Array
from .lie_algebra import LieAlgebra
from .subspaces import annihilator, complement, span

__all__ = ["DirectSum", "Factor", "identify"]

#: Eigenvalues of a generic element of the centroid nearer than this belong to one summand.
APART = 1e-3
#: How many generic elements are tried.
TRIES = 4


@dataclass(frozen=True)
class Factor:
    """A direct summand.

    Attributes
    ----------
    name : str
        "R", "so(3)", "se(2)", ..., or "unidentified, dimension 4, with ..." with its invariants.
    basis : array (d, r)
        Its elements in the basis of the whole, in orthonormal columns.
    known : bool
        Whether the name is that of an algebra rather than a list of invariants.
    """

    name: str
    basis: Array
    known: bool


@dataclass(frozen=True)
class DirectSum:
    """A Lie algebra as a direct sum.

    Attributes
    ----------
    name : str
        Such as "R + se(2)", "R^2", "0".
    factors : tuple of Factor
        Its indecomposable summands; an abelian part counts as one.
    """

    name: str
    factors: tuple[Factor, ...]

    @property
    def known(self) -> bool:
        """Whether every summand has a name."""
        return all(factor.known for factor in self.factors)


def identify(algebra: LieAlgebra) -> DirectSum:
    """The direct sum of known algebras that this one is isomorphic to.

    >>> gl2 = LieAlgebra.from_brackets(
    ...     "h e f z", {("h", "e"): {"e": 2}, ("h", "f"): {"f": -2}, ("e", "f"): {"h": 1}}
    ... )
    >>> identify(gl2).name
    'R + sl(2,R)'
    """
    d = algebra.dimension
    if d == 0:
        return DirectSum("0", ())
    flat, rest = _split_abelian(algebra)
    factors, r = [], flat.shape[1]
    if r:
        factors.append(Factor("R" if r == 1 else f"R^{r}", flat, True))
    if rest.shape[1]:
        named = [_named(algebra, ideal) for ideal in _summands(algebra, rest)]
        factors += sorted(named, key=lambda factor: factor.name)
    return DirectSum(" + ".join(factor.name for factor in factors), tuple(factors))


# -- direct sums -----------------------------------------------------------------------------------


def _split_abelian(algebra: LieAlgebra) -> tuple[Array, Array]:
    """A central part (d, r) outside the derived algebra, and a complementary ideal (d, d - r)."""
    centre, derived = algebra.centre, algebra.derived
    # As a map on the centre, `outside` has the part inside the derived algebra as its kernel.
    outside = centre - derived @ (derived.T @ centre)
    inside = annihilator(outside.T, scale=1.0) if centre.shape[1] else np.zeros((0, 0))
    flat = centre @ complement(inside) if centre.shape[1] else centre
    further = annihilator(np.hstack([derived, flat]), scale=1.0)
    return flat, np.hstack([derived, further])


def _summands(algebra: LieAlgebra, ideal: Array) -> list[Array]:
    """Indecomposable direct summands (d, r) of an ideal with its centre in the derived algebra."""
    inner = algebra.restricted(ideal)
    centroid, best = _centroid(inner), [np.eye(inner.dimension)]
    random = np.random.default_rng(5)
    for _ in range(TRIES):
        pieces = _eigenspaces(np.tensordot(random.standard_normal(len(centroid)), centroid, axes=1))
        pieces = _sharpened(pieces, centroid) if len(pieces) > len(best) else []
        if len(pieces) > len(best) and _is_direct(inner, pieces):
            best = pieces
    return [span(ideal @ piece) for piece in best]


def _sharpened(pieces: list[Array], centroid: Array) -> list[Array]:
    """The summands to full accuracy, by idempotents projected into the centroid.

    Eigenspaces of defective matrices are known to half of the digits only; P -> 3 P^2 - 2 P^3 finds
    the rest.
    """
    together = np.hstack(pieces)
    if together.shape[0] != together.shape[1] or np.linalg.cond(together) > 1e8:
        return []
    inverse, first, found = np.linalg.inv(together), 0, []
    for piece in pieces:
        width = piece.shape[1]
        projection = piece @ inverse[first : first + width]
        projection = np.tensordot(np.einsum("kij,ij->k", centroid, projection), centroid, axes=1)
        for _ in range(8):
            square = projection @ projection
            projection = 3 * square - 2 * square @ projection
        found.append(span(projection, tolerance=1e-6))
        first += width
    return found


def _centroid(algebra: LieAlgebra) -> Array:
    """A basis (r, d, d) of the maps F with F [x, y] = [F x, y] = [x, F y]."""
    d, C = algebra.dimension, algebra.constants
    identity = np.eye(d)
    # F at [p, q] takes e_q to e_p: F^p_c C^c_ab - F^c_a C^p_cb = 0, and the same for the second
    # argument by antisymmetry
    conditions = np.einsum("abq,pr->abrpq", C, identity) - np.einsum("pbr,qa->abrpq", C, identity)
    rows = conditions.reshape(d**3, d * d)
    return annihilator(rows.T).T.reshape(-1, d, d)


def _eigenspaces(matrix: Array) -> list[Array]:
    """Generalised eigenspaces of clusters of eigenvalues, complex ones with conjugates."""
    values = np.linalg.eigvals(matrix)
    size = np.max(np.abs(values))
    groups: list[list[complex]] = []
    upper = (complex(v.real, abs(v.imag)) for v in values)
    for value in sorted(upper, key=lambda v: (v.real, v.imag)):
        near = [g for g in groups if any(abs(value - other) < APART * size for other in g)]
        merged = [value, *(other for group in near for other in group)]
        groups = [group for group in groups if group not in near] + [merged]
    pieces = []
    for group in groups:

        def belongs(real: float, imaginary: float, group: list[complex] = group) -> bool:
            value = complex(real, abs(imaginary))
            return any(abs(value - other) < 0.4 * APART * size for other in group)

        _, vectors, count = schur(matrix, output="real", sort=belongs)
        pieces.append(vectors[:, :count])
    return pieces


def _is_direct(algebra: LieAlgebra, pieces: list[Array]) -> bool:
    """Whether subspaces together are a basis, and brackets between different ones vanish."""
    together = np.hstack(pieces)
    if together.shape[1] != algebra.dimension or np.linalg.cond(together) > 1e6:
        return False
    size = np.max(np.abs(algebra.constants))
    for first, second in combinations(pieces, 2):
        crossed = np.einsum("ai,bj,abc->cij", first, second, algebra.constants)
        if not np.max(np.abs(crossed)) < 1e-6 * size:
            return False
    return True


# -- names -----------------------------------------------------------------------------------------


def _named(algebra: LieAlgebra, ideal: Array) -> Factor:
    own = algebra.restricted(ideal)
    name = _name(own)
    return Factor(_invariants(own) if name is None else name, ideal, name is not None)


def _name(own: LieAlgebra) -> str | None:
    """The name of an indecomposable algebra, where its invariants leave one."""
    d, derived, centre = own.dimension, own.derived_series, own.centre.shape[1]
    if d == 2:
        return "aff(1)"
    if own.lower_central_series[1:] == (1, 0) and centre == 1:
        return "Heisenberg" if d == 3 else f"Heisenberg({d})"
    if d == 3 and derived[1:] == (2, 0):
        return _bianchi(own)
    positive, negative, null = own.killing_signature
    if null == 0 and positive == 0:
        return {3: "so(3)", 10: "so(5)", 15: "so(6)"}.get(d)
    if null == 0:
        return {(3, 2, 1): "sl(2,R)", (6, 3, 3): "so(3,1)"}.get((d, positive, negative))
    if d == 6 and derived == (6,) and (positive, negative) == (0, 3) and _is_flat(own, own.radical):
        return "se(3)"
    return None


def _bianchi(own: LieAlgebra) -> str | None:
    """Three dimensions with a plane of translations: the action on it, up to scale."""
    plane = own.derived
    across = own.ad(complement(plane)[:, 0])
    action = plane.T @ across @ plane
    trace, size = float(np.trace(action)), float(np.max(np.abs(action)))
    if abs(trace) > 1e-8 * size:
        return None
    return "se(2)" if np.linalg.det(action) > 0 else "se(1,1)"


def _is_flat(own: LieAlgebra, ideal: Array) -> bool:
    """Whether three directions have vanishing brackets with each other."""
    brackets = np.einsum("ai,bj,abc->cij", ideal, ideal, own.constants)
    largest = 1e-6 * np.max(np.abs(own.constants))
    return ideal.shape[1] == 3 and bool(np.max(np.abs(brackets)) < largest)


def _invariants(own: LieAlgebra) -> str:
    def listed(numbers: tuple[int, ...]) -> str:
        return f"({', '.join(map(str, numbers))})"

    return (
        f"unidentified, dimension {own.dimension}, with derived series"
        f" {listed(own.derived_series)}, lower central series {listed(own.lower_central_series)},"
        f" centre of dimension {own.centre.shape[1]}, Killing signature"
        f" {listed(own.killing_signature)}"
    )
