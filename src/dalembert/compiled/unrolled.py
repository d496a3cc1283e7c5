"""The constrained solve written out as straight-line code, for systems small enough.

It is the regular case of `gauss_problem` without its rank decision. In place of that it reports a health: the least
pivot met, relative to its scale. Below `HEALTHY`, or where a result is not finite, the caller turns to
`gauss_problem`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from ..algebra.graph import back_substitute, factor, forward_substitute

__all__ = ["HEALTHY", "UnrolledSolution", "unrolled_elimination", "unrolled_solve"]

#: The least relative pivot at which straight-line code is trusted.
HEALTHY = 1e-7


@dataclass(frozen=True)
class UnrolledSolution:
    """z (n x 1), mu (m x 1) and the health as graph expressions."""

    z: Any
    multipliers: Any
    health: Any


def unrolled_solve(
    metric: Any,
    force: Any,
    rows: Any,
    right: Any,
    *,
    free: Any | None = None,
    dual_rows: Any | None = None,
    augment: bool = False,
    definite: bool = True,
) -> UnrolledSolution:
    """Solve G z = f + A^T mu, A z = b in straight-line code.

    With `free` (G^-1 f) and `dual_rows` (G^-1 A^T) given, only the m x m problem is solved. With `augment`, G + w A^T A takes
    the place of G: for a G that is singular but positive definite on ker A. Where G is not `definite`, a small pivot may stand
    before large ones; then the health falls with the growth of the factors as well.
    """
    m = rows.shape[0]
    ratios: list[Any] = []
    if free is None or dual_rows is None:
        if augment and m:
            weights = [_weight(metric, rows[k, :]) for k in range(m)]
            metric = metric + rows.T @ ca.diag(ca.vertcat(*weights)) @ rows
            force = force + rows.T @ (ca.vertcat(*weights) * right)
        lower, pivots = factor(metric)
        ratios += _ratios(pivots, [metric[k, k] for k in range(metric.shape[0])])
        ratios += [] if definite else _growth(lower)
        free = back_substitute(lower, pivots, force)
        if m:
            half = forward_substitute(lower, rows.T)
            scaled = half / ca.repmat(ca.vertcat(*pivots), 1, m)
            dual_rows = back_substitute(lower, pivots, rows.T)
            compliance = half.T @ scaled
    else:
        compliance = rows @ dual_rows
    if not m:
        return UnrolledSolution(free, ca.SX(0, 1), _least(ratios))
    small_lower, small_pivots = factor(compliance)
    ratios += _ratios(small_pivots, [compliance[k, k] for k in range(m)])
    ratios += [] if definite else _growth(small_lower)
    mu = back_substitute(small_lower, small_pivots, right - rows @ free)
    return UnrolledSolution(free + dual_rows @ mu, mu, _least(ratios))


def unrolled_elimination(matrix: Any, right: Any) -> Any:
    """Solve a square system by elimination in the order it stands in, without a search for pivots; zeros stay unwritten.

    For matrices that are nearly symmetric and positive, such as G(q1) M^-1 G(q0)^T. A vanishing pivot gives values that are not
    finite.
    """
    m = matrix.shape[0]
    rows = [{int(j): matrix[i, j] for j in matrix[i, :].sparsity().get_triplet()[1]} for i in range(m)]
    values = [right[i] for i in range(m)]
    below: list[list[int]] = [[] for _ in range(m)]
    for i, row in enumerate(rows):
        for j in row:
            if j < i:
                below[j].append(i)
    for k in range(m):
        pivot = rows[k].get(k, ca.SX(0))
        for i in sorted(set(below[k])):
            factor = rows[i].pop(k) / pivot
            for j, entry in rows[k].items():
                if j > k:
                    if j not in rows[i] and j < i:
                        below[j].append(i)
                    rows[i][j] = rows[i].get(j, ca.SX(0)) - factor * entry
            values[i] = values[i] - factor * values[k]
    for k in reversed(range(m)):
        for j, entry in rows[k].items():
            if j > k:
                values[k] = values[k] - entry * values[j]
        values[k] = values[k] / rows[k].get(k, ca.SX(0))
    return ca.vertcat(*values)


def _weight(metric: Any, row: Any) -> Any:
    return ca.trace(metric) / metric.shape[0] / ca.sumsqr(row)


def _ratios(pivots: Sequence[Any], diagonal: Sequence[Any]) -> list[Any]:
    """|pivot / diagonal entry| of every pivot but the first, which is its diagonal entry."""
    return [ca.fabs(pivot / entry) for pivot, entry in zip(pivots[1:], diagonal[1:], strict=True)]


def _growth(lower: Any) -> list[Any]:
    """1 / L_ik^2 where that is below one: rounding grows like the square of the factors of an indefinite matrix."""
    n = lower.shape[0]
    entries = [lower[i, k] for i in range(n) for k in range(i) if not lower[i, k].is_zero()]
    return [1 / ca.fmax(1, entry**2) for entry in entries]


def _least(ratios: Sequence[Any]) -> Any:
    least = ca.SX(1)
    for ratio in ratios:
        least = ca.fmin(least, ratio)
    return least
