"""The constrained solve and matrix rank for Python: the place for solves that may be singular.

    find z minimising (z - a)^T G (z - a) / 2  subject to  A z = b,   G a = f

Both run the native functions that the integrators run: `gauss_problem` for the solve,
`factorisations` for the rank and the thresholds that decide it, `verdicts` and `null_space_solve`
for what is not regular.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import ContradictionError, SingularError
from ...typing import Array, ArrayLike
from .factorisations import INFINITY, RANK_TOLERANCE
from .gauss_problem import order_size, work_size
from .solve_status import CONTRADICTORY, SINGULAR

__all__ = ["MatrixRank", "Solution", "rank", "solve", "solve_rows"]


@dataclass(frozen=True)
class Solution:
    """What the constrained solve found.

    Attributes
    ----------
    z : array (n,)
    multipliers : array (m,)
        The least-norm mu; not unique where rank < m.
    reaction : array (n,)
        A^T mu, always unique.
    rank : int
        The number of independent rows.
    condition : float
        The inverse of the least pivot met, relative to its scale: large where the problem is nearly
        singular.
    """

    z: Array
    multipliers: Any
    reaction: Any
    rank: int
    condition: float


def solve(
    G: ArrayLike,
    f: ArrayLike,
    A: ArrayLike | None = None,
    b: ArrayLike | None = None,
    *,
    definite: bool = True,
    gauge: bool = False,
) -> Solution:
    """Solve one Gauss problem with NumPy arrays.

    Raises
    ------
    SingularError
        Where z is not determined.
    ContradictionError
        Where the rows exclude each other.

    Examples
    --------
    >>> solve([[2.0, 0.0], [0.0, 1.0]], [0.0, -1.0], [[1.0, 1.0]], [0.0]).z
    array([ 0.33333333, -0.33333333])
    """
    metric = np.ascontiguousarray(G, dtype=float)
    n = metric.shape[0]
    rows = np.zeros((0, n)) if A is None else np.ascontiguousarray(A, dtype=float)
    rows = rows.reshape(rows.size // n if n else rows.shape[0], n)
    m = rows.shape[0]
    right = np.zeros(m) if b is None else np.ascontiguousarray(b, dtype=float).reshape(m)
    z, mu, info = np.zeros(n), np.zeros(m), np.zeros(4)
    status = _functions()["gauss_solve"](
        n, m, metric.ravel(), np.ascontiguousarray(f, dtype=float).reshape(n), rows.ravel(), right,
        z, mu, definite, gauge, np.zeros(work_size(n, m)), np.zeros(order_size(n, m), np.int64),
        info, np.zeros(1, np.int64),
    )  # fmt: skip
    if status == SINGULAR:
        raise SingularError(
            "The unknowns are not determined: G is singular on the directions that the constraints"
            " allow",
            seen=f"least pivot {info[1]:.1e}",
            remedy="add the missing inertia or a constraint",
        )
    if status == CONTRADICTORY:
        error = ContradictionError(
            f"Row {int(info[2])} contradicts the rows it depends on",
            seen=f"b = {right.tolist()}",
            remedy="remove one of the contradictory constraints",
        )
        error.row = int(info[2])
        raise error
    least = min(float(info[1]), float(info[3]))
    return Solution(z, mu, rows.T @ mu, int(info[0]), 1.0 / least if least > 0 else INFINITY)


def solve_rows(rows: ArrayLike, right: ArrayLike) -> Array:
    """Solve rows @ x = right for x (n,), in the least squares and of least norm.

    Unknowns and rows that differ too much in their units for that are measured by the largest
    entries of their own.

    Raises
    ------
    SingularError
        Where x is not determined in any units.

    Examples
    --------
    >>> solve_rows([[2.0, 0.0], [0.0, 1e-30]], [4.0, 3e-30]).round(12)
    array([2., 3.])
    """
    table, wanted = np.asarray(rows, dtype=float), np.asarray(right, dtype=float).ravel()
    try:
        found = solve(table.T @ table, table.T @ wanted, gauge=True)
        return found.z
    except SingularError:
        lengths = np.abs(table).max(axis=1, initial=0.0)
        scaled = table / np.where(lengths > 0, lengths, 1.0)[:, None]
        units = np.abs(scaled).max(axis=0, initial=0.0)
        units = np.where(units > 0, units, 1.0)
        scaled, wanted = scaled / units, wanted / np.where(lengths > 0, lengths, 1.0)
        try:  # by reflections: the condition of scaled.T @ scaled is that of `scaled` squared
            found = solve(np.eye(len(units)), np.zeros(len(units)), scaled, wanted)
        except ContradictionError:
            found = solve(scaled.T @ scaled, scaled.T @ wanted, gauge=True)
        return found.z / units


class MatrixRank(NamedTuple):
    """What a matrix (m x n) of rank r spans and what it annihilates.

    Attributes
    ----------
    rank : int
    independent : array of int (r,)
        Rows that span the others, in ascending order.
    null_space : array (n, n - r)
        An orthonormal basis of the vectors that every row annihilates.
    """

    rank: int
    independent: Any
    null_space: Any


def rank(rows: ArrayLike, tolerance: float = RANK_TOLERANCE) -> MatrixRank:
    """The rank of a matrix by the Gauss solve's factorisation: unit rows, reflections, pivoting.

    Rows of zeros stay zero. A row whose part outside the span of the others is below `tolerance`
    depends on them.

    Examples
    --------
    >>> found = rank([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 2.0, 1.0]])
    >>> found.rank, found.null_space.shape
    (2, (3, 1))
    """
    table = np.atleast_2d(np.ascontiguousarray(rows, dtype=float))
    m, n = table.shape
    columns, lengths, collected = np.zeros(m * n + 1), np.zeros(m + 1), np.zeros(max(m, n, 1))
    order = np.zeros(max(m, 1), np.int64)
    functions = _functions()
    functions["scaled_columns"](
        n, m, table.ravel() if table.size else np.zeros(1), columns, lengths, np.ones(n + 1), False
    )
    found = int(
        functions["pivoted_qr"](n, m, columns, collected, order, tolerance, lengths, order, False)
    )
    basis = np.eye(n)[found:]
    for vector in basis:
        functions["reflect"](n, found, columns, collected, vector, True)
    return MatrixRank(found, np.sort(order[:found]), basis.T)


def _functions() -> dict[str, Any]:
    """The native functions, compiled together with the loops around a kernel."""
    from ..native_functions import functions

    return functions()
