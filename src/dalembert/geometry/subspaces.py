"""Subspaces of a space of numbers: spans, annihilators and gaps.

Bases are orthonormal, in columns. Rank is decided here for all of geometry that works with numbers:
a direction counts where its singular value is above `TOLERANCE` of a scale, the largest one unless
the caller knows better.
"""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..typing import Array, ArrayLike

__all__ = [
    "TOLERANCE",
    "annihilator",
    "column_lengths",
    "complement",
    "demand_one_size",
    "equal_units",
    "gap",
    "largest_power",
    "nearest_isotropic",
    "orthonormal",
    "read_matrix",
    "read_square",
    "skew_part",
    "span",
    "unit_columns",
]

#: A singular value below this part of its scale counts as rounding.
TOLERANCE = 1e-9
#: A flow and an effort of one coordinate whose sizes differ by more differ by rounding.
WIDEST_UNITS = 1e14
#: Each round halves the difference in orders of magnitude between flows and efforts.
ROUNDS_OF_BALANCING = 8


def span(vectors: ArrayLike, tolerance: float = TOLERANCE, scale: float | None = None) -> Array:
    """An orthonormal basis (n, r) of the span of the columns of `vectors` (n, k), of any rank.

    >>> span(np.array([[1.0, 2.0], [0.0, 0.0]])).shape
    (2, 1)
    """
    table = np.asarray(vectors, dtype=float)
    if 0 in table.shape:
        return np.zeros((table.shape[0], 0))
    left, values, _ = np.linalg.svd(table, full_matrices=False)
    size = values[0] if scale is None else scale
    return left[:, values > max(tolerance * size, np.finfo(float).tiny)]


def complement(basis: Array) -> Array:
    """An orthonormal basis (n, n - r) of the complement of orthonormal columns `basis` (n, r)."""
    n, r = basis.shape
    return np.linalg.qr(basis, mode="complete")[0][:, r:] if r else np.eye(n)


def annihilator(
    vectors: ArrayLike, tolerance: float = TOLERANCE, scale: float | None = None
) -> Array:
    """An orthonormal basis (n, n - r) of the z with v . z = 0 for all columns v (n, k).

    Of a matrix of rows it is the kernel: ``annihilator(rows.T)``.

    >>> abs(annihilator(np.array([[1.0], [1.0]]))).round(3).tolist()
    [[0.707], [0.707]]
    """
    return complement(span(vectors, tolerance, scale))


def orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the span of independent columns (n, r)."""
    return np.linalg.qr(columns)[0] if columns.shape[1] else columns


def column_lengths(vectors: Array) -> Array:
    """The length of each column, 1 for those of zeros."""
    lengths = np.linalg.norm(vectors, axis=0)
    return np.where(lengths > 0, lengths, 1.0)


def unit_columns(vectors: Array) -> Array:
    """The columns brought to length one; columns of zeros stay."""
    return vectors / column_lengths(vectors)


def gap(first: Array, second: Array) -> float:
    """The sine of the largest angle between spans of orthonormal bases (n, r); 1 if dims differ.

    >>> gap(np.eye(2)[:, :1], np.eye(2)[:, 1:])
    1.0
    """
    if first.shape != second.shape:
        return 1.0
    if first.shape[1] == 0:
        return 0.0
    return min(1.0, float(np.linalg.norm(second - first @ (first.T @ second), ord=2)))


def largest_power(basis: Array) -> float:
    """The largest |<b, w'> + <b', w>| of the columns (w, b) of an orthonormal basis (2n, r)."""
    n = len(basis) // 2
    exchanged = basis[:n].T @ basis[n:]
    return float(np.max(np.abs(exchanged + exchanged.T)))


def nearest_isotropic(basis: Array) -> Array:
    """The subspace without power near that of an orthonormal basis (2n, n) of pairs (w, b).

    It is halfway between the subspace and the complement of its swapped pairs (b, w).
    """
    n = len(basis) // 2
    swapped = np.roll(basis, n, axis=0)
    return np.linalg.eigh(basis @ basis.T - swapped @ swapped.T)[1][:, n:]


def read_matrix(values: ArrayLike, what: str) -> Array:
    """A matrix of finite numbers."""
    try:
        table = np.array(values, dtype=float)
    except (TypeError, ValueError):
        table = np.full((1, 1), np.nan)
    if table.ndim != 2 or not np.all(np.isfinite(table)):
        what, remedy = f"The {what} must be a matrix of finite numbers", "give rows of numbers"
        raise ModelError(what, seen=str(values)[:80], remedy=remedy)
    return table


def read_square(values: ArrayLike, what: str) -> Array:
    """A square matrix of finite numbers."""
    table = read_matrix(values, what)
    if table.shape[0] != table.shape[1]:
        seen = f"{table.shape[0]} x {table.shape[1]}"
        raise ModelError(f"The {what} must be a square matrix", seen, "give n x n")
    return table


def equal_units(flows: Array, efforts: Array) -> Array:
    """Factors u (n,) that make the rows of u * flows and efforts / u, (n, k), equally large.

    Columns count by their directions. A row of rounding beside its partner keeps the factor 1.
    """
    sizes, others = np.linalg.norm(flows, axis=1), np.linalg.norm(efforts, axis=1)
    known = (sizes * WIDEST_UNITS > others) & (others * WIDEST_UNITS > sizes)
    units = np.ones(len(flows))
    for _ in range(ROUNDS_OF_BALANCING):
        lengths = column_lengths(np.vstack([units[:, None] * flows, efforts / units[:, None]]))
        sizes = units * np.linalg.norm(flows / lengths, axis=1)
        others = np.linalg.norm(efforts / lengths, axis=1) / units
        units = units * np.sqrt(np.where(known, others, 1.0) / np.where(known, sizes, 1.0))
    return units


def demand_one_size(first: Array, second: Array, remedy: str) -> None:
    """Raise where two matrices differ in shape, or are empty."""
    if first.shape != second.shape or 0 in first.shape:
        what, seen = "The parts for flows and efforts differ in size", (first.shape, second.shape)
        raise ModelError(what, seen, remedy=f"give both {remedy}")


def skew_part(matrix: Array) -> Array:
    """(M - M^T) / 2."""
    return (matrix - matrix.T) / 2
