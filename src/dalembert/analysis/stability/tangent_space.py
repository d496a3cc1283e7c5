r"""Linear motions on the constraint tangent space, modulo a symmetry; eigenvalue error bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from ...errors import FormError, RunError
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ComplexArray
from .linear_field import FieldValue, LinearField

if TYPE_CHECKING:
    from ...runtime.gauss.constrained_solve import MatrixRank

__all__ = ["EPSILON", "ConstraintTangent", "LinearQuotient", "eigenvalues_with_errors", "scales"]

EPSILON = 2.0**-52


def scales(point: Array) -> Array:
    """The size of each variable: its own, at least a part of the largest; one if all vanish."""
    largest = float(np.max(np.abs(point), initial=0.0)) or 1.0
    return np.maximum(np.abs(point), 1e-3 * largest)


class ConstraintTangent:
    """ker c_y: independent variables (places) and a basis (n, d) that is the identity on them."""

    def __init__(self, value: FieldValue, point: Array, field: LinearField) -> None:
        C, n = value.jacobian, len(point)
        self.grounds: list[str] = []
        self.places, self.basis, self.doubt = np.arange(n), np.eye(n), np.zeros((n, n))
        if not len(C):
            return
        found = rank(C)
        if found.rank < len(C) and not field.has_rank(found.rank):
            _check_rank(field, point, found)
            share = f"{found.rank} of {len(C)}"
            self.grounds.append(
                f"the rank of the constraints, {share}, is the same at nearby states"
            )
        if not found.rank:
            return
        pivots = scipy.linalg.qr(found.null_space.T, mode="r", pivoting=True)[1]
        self.places = np.sort(pivots[: n - found.rank])
        others = np.setdiff1d(np.arange(n), self.places)
        rows = C[found.independent]
        inverse = np.linalg.inv(rows[:, others])
        self.basis, self.doubt = np.zeros((n, len(self.places))), np.zeros((n, len(self.places)))
        self.basis[self.places] = np.eye(len(self.places))
        self.basis[others] = -np.linalg.solve(rows[:, others], rows[:, self.places])
        sizes = value.jacobian_sizes[found.independent]
        self.doubt[others] = 32 * EPSILON * np.abs(inverse) @ (sizes @ np.abs(self.basis))

    def restricted(self, matrix: Array, error: Array) -> tuple[Array, Array]:
        """The matrix on the tangent space (d, d), and its error."""
        rows = matrix[self.places]
        doubt = error[self.places] @ np.abs(self.basis) + np.abs(rows) @ self.doubt
        image = matrix @ self.basis
        inner, size = image[self.places], np.abs(self.basis)
        left = np.abs(image - self.basis @ inner)
        terms = np.abs(matrix) @ size + size @ np.abs(inner)
        if np.any(left > 1e-6 * terms + 1e-9 * np.max(terms, initial=0.0)):
            what = "The linearised motion leaves the tangent space of the constraints"
            remedy = "the constraints lose rank here: choose other coordinates, or another point"
            raise RunError(what, f"by {np.max(left):.3g}", remedy)
        return inner, doubt


def _check_rank(field: LinearField, point: Array, found: MatrixRank) -> None:
    """Raise where the constraints lose rank at the point, so that no tangent space exists."""
    random = np.random.default_rng(5)
    for _ in range(6):
        direction = found.null_space @ random.standard_normal(found.null_space.shape[1])
        size = 1e-3 * float(np.max(scales(point)))
        near = point + size * direction / max(float(np.linalg.norm(direction)), 1e-300)
        context = field.kernel.plain_context(field.values)
        context.project(0.0, near)
        beside = rank(field(near).jacobian).rank
        if np.all(np.isfinite(near)) and beside > found.rank:
            what = "The constraints lose rank at this point, and have no tangent space there"
            seen = f"rank {found.rank} here, {beside} beside it"
            raise RunError(what, seen, "linearise about a regular point of each branch")


class LinearQuotient:
    """A linear motion modulo an invariant subspace N (d, r), as a block triangular form."""

    def __init__(self, linear: tuple[Array, Array], N: Array) -> None:
        A, E = linear
        N = N[:, rank(N.T).independent]
        r = N.shape[1]
        self.pivots = np.sort(scipy.linalg.qr(N.T, mode="r", pivoting=True)[1][:r])
        self.rest = np.setdiff1d(np.arange(len(A)), self.pivots)
        self._across = N[self.rest] @ np.linalg.inv(N[self.pivots])
        self._image, self._size = A @ N, np.abs(A) @ np.abs(N)
        self._largest = float(np.max(np.abs(A)) * np.max(np.abs(N)))
        self.matrix = self.projected(A[:, self.rest])
        rows, size = np.ix_(self.pivots, self.rest), np.abs(self._across)
        self.error = E[np.ix_(self.rest, self.rest)] + size @ E[rows]
        if np.any(self._across):
            self.error = self.error + 32 * EPSILON * size @ np.abs(A[rows])

    def projected(self, columns: Array) -> Any:
        """Vectors (d, k) modulo N, (d - r, k)."""
        return columns[self.rest] - self._across @ columns[self.pivots]

    def check_closed(self, names: tuple[str, ...]) -> None:
        """Raise where the linear motion does not preserve the given directions."""
        left = np.abs(self.projected(self._image))
        size = self._size[self.rest] + np.abs(self._across) @ self._size[self.pivots]
        if np.any(left > 1e-6 * size + 1e-9 * self._largest):
            what = "The symmetry fields are not closed under brackets along this motion"
            raise FormError(what, seen=", ".join(names), remedy="give all the fields of the group")


def eigenvalues_with_errors(matrix: Array, error: Array) -> tuple[ComplexArray, Array]:
    """Eigenvalues, and bounds of their errors for a matrix that is known up to E.

    The bound is |y| E |x| / |y . x|, of first order in E, times 2 n: in a Jordan chain of length m
    the first order is short by m. A cluster of m close eigenvalues is bounded as a whole too
    (`_cluster_bound`), and the smaller bound taken.
    """
    n = len(matrix)
    if not n:
        return np.zeros(0, complex), np.zeros(0)
    # Entries below their own error would only mislead the balancing.
    noise = np.abs(matrix) <= np.maximum(error, 1e-290)
    matrix, error = np.where(noise, 0.0, matrix), np.where(noise, error + np.abs(matrix), error)
    balanced, (scale, _) = scipy.linalg.matrix_balance(matrix, permute=False, separate=True)
    size = float(np.linalg.norm(balanced))
    doubt = error * scale[None, :] / scale[:, None] + n * EPSILON * size / 2
    if not size:
        return np.zeros(n, complex), np.full(n, float(np.linalg.norm(doubt)))
    values, left, right = scipy.linalg.eig(balanced, left=True, right=True)
    with np.errstate(divide="ignore"):
        terms = np.einsum("ik,ij,jk->k", np.abs(left), doubt, np.abs(right))
        bounds = 2 * n * (terms / np.abs(np.sum(left.conj() * right, axis=0)))
    part = float(np.linalg.norm(doubt)) / size
    for k in range(n):
        apart = np.sort(np.abs(values - values[k]))
        m = max(m for m in range(1, n + 1) if apart[m - 1] <= 10 * size * part ** (1 / m))
        if m > 1:
            edge = (apart[m - 1] + apart[m]) / 2 if m < n else np.inf
            cluster = _cluster_bound(balanced / size, values[k] / size, edge / size, part)
            bounds[k] = min(bounds[k], cluster * size)
    return values, bounds


def _cluster_bound(matrix: Array, centre: complex, radius: float, error: float) -> float:
    """How far a perturbation of norm `error` moves m eigenvalues near a centre (Henrici).

    In Schur form T with the cluster first, T11 X - X T22 = -T12, the part of the cluster is
    perturbed by no more than p = sqrt(1 + |X|^2) times the error, and its eigenvalues by max(s,
    s^(1/m)), s = p error sum |N|^k for the strictly upper part N of T11.
    """

    def is_near(value: complex) -> bool:
        return abs(value - centre) <= radius

    T, _, m = scipy.linalg.schur(matrix, output="complex", sort=is_near)
    inner, spread = T[:m, :m], 1.0
    if m < len(T):
        X = scipy.linalg.solve_sylvester(inner, -T[m:, m:], -T[:m, m:])
        spread = float(np.hypot(1.0, np.linalg.norm(X)))
    length = float(np.linalg.norm(np.triu(inner, 1)))
    moved = spread * error * sum(length**k for k in range(m))
    return float(max(moved, moved ** (1 / m)))
