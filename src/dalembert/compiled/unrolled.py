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

from ..algebra.sparse_factor import Budget, Column, SparseFactor, columns_of, dense

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
    budget: Budget | None = None,
) -> UnrolledSolution:
    """Solve G z = f + A^T mu, A z = b in straight-line code.

    With `free` (G^-1 f) and `dual_rows` (G^-1 A^T) given, only the m x m problem is solved. With `augment`, G + w A^T A takes
    the place of G: for a G that is singular but positive definite on ker A. Where G is not `definite`, a small pivot may stand
    before large ones; then the health falls with the growth of the factors as well. A `budget` bounds the operations;
    beyond it TooManyOperationsError is raised.
    """
    m, n = rows.shape[0], metric.shape[0]
    if free is not None and dual_rows is not None:
        if not m:
            return UnrolledSolution(free, ca.SX(0, 1), ca.SX(1))
        small = SparseFactor(ca.sparsify(rows @ dual_rows), budget)
        mu = dense(small.solve(columns_of(right - rows @ free)[0]), m)
        return UnrolledSolution(free + dual_rows @ mu, mu, _health([small], definite))
    if augment and m:
        weights = [_weight(metric, rows[k, :]) for k in range(m)]
        metric = metric + rows.T @ ca.diag(ca.vertcat(*weights)) @ rows
        force = force + rows.T @ (ca.vertcat(*weights) * right)
    # With G = L D L^T and H = L^-1 A^T: (H^T D^-1 H) mu = b - H^T D^-1 L^-1 f, and z = L^-T D^-1 (L^-1 f + H mu).
    whole = SparseFactor(ca.sparsify(metric), budget)
    push = whole.forward(columns_of(ca.sparsify(force))[0])
    if not m:
        return UnrolledSolution(dense(whole.backward(whole.divided(push)), n), ca.SX(0, 1), _health([whole], definite))
    half = [whole.forward(column) for column in columns_of(ca.sparsify(rows.T))]
    scaled = [whole.divided(column) for column in half]
    compliance = _products(half, scaled)
    small = SparseFactor(compliance, budget)
    rest = {k: right[k] - _inner(scaled[k], push) for k in range(m)}
    found = small.solve(rest)
    for k, column in enumerate(half):
        for place, entry in column.items():
            step = entry * found[k]
            push[place] = push[place] + step if place in push else step
    z = dense(whole.backward(whole.divided(push)), n)
    return UnrolledSolution(z, dense(found, m), _health([whole, small], definite))


def _products(left: Sequence[Column], right: Sequence[Column]) -> Any:
    """The matrix of inner products of sparse columns, (m x m), its upper half."""
    by_place: dict[int, list[int]] = {}
    for k, column in enumerate(left):
        for place in column:
            by_place.setdefault(place, []).append(k)
    found = ca.SX(len(left), len(left))
    for k, column in enumerate(left):
        for other in sorted({j for place in column for j in by_place[place] if j >= k}):
            found[k, other] = _inner(column, right[other])
    return found


def _inner(left: Column, right: Column) -> Any:
    total = ca.SX(0)
    for place, entry in left.items():
        if place in right:
            total = total + entry * right[place]
    return total


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


def _health(factors: Sequence[SparseFactor], definite: bool) -> Any:
    """The least |pivot / diagonal entry|; where a matrix need not be definite, also 1 / L_ik^2, because rounding grows so."""
    ratios = []
    for factor in factors:
        for pivot, entry in zip(factor.pivots, factor.diagonal, strict=True):
            if not ca.is_equal(pivot, entry, 1):
                ratios.append(ca.fabs(pivot / entry))
        ratios += [] if definite else [1 / ca.fmax(1, entry**2) for entry in factor.entries]
    return _least(ratios)


def _least(ratios: Sequence[Any]) -> Any:
    least = ca.SX(1)
    for ratio in ratios:
        least = ca.fmin(least, ratio)
    return least
