"""The constrained solve written out as straight-line code, for systems small enough.

It is the regular case of `gauss_problem` without its rank decision. In place of that it reports a
health: the least pivot met, relative to its scale. Below `HEALTHY`, or where a result is not
finite, the caller turns to `gauss_problem`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import casadi as ca
import numpy as np

from ...algebra.sparse_factor import Budget, Column, FactorEntry, SparseFactor, columns_of, dense
from .solve_limits import HEALTHY

__all__ = [
    "GraphScalars",
    "UnrolledSolution",
    "determined_health",
    "solve_columns",
    "unrolled_elimination",
    "unrolled_solve",
]

#: What makes of every pivot that is not zero a large number.
LARGEST = 1e300


T = TypeVar("T", bound=FactorEntry)


class Scalars(Protocol[T]):
    """What a solve asks of scalars beside arithmetic."""

    @property
    def zero(self) -> T: ...
    @property
    def one(self) -> T: ...
    def constant(self, number: float) -> T: ...
    def magnitude(self, value: T) -> T: ...
    def least(self, first: T, second: T) -> T: ...
    def greatest(self, first: T, second: T) -> T: ...
    def same(self, first: T, second: T) -> bool: ...


@dataclass(frozen=True)
class UnrolledSolution:
    """z (n x 1), mu (m x 1) and the health as graph expressions.

    `step` gives the least d in the metric G with A d = right (m x 1), where the same factors have
    it.
    """

    z: ca.SX
    multipliers: ca.SX
    health: ca.SX
    step: Callable[[ca.SX], ca.SX] | None = None


def unrolled_solve(
    metric: ca.SX,
    force: ca.SX,
    rows: ca.SX,
    right: ca.SX,
    *,
    free: ca.SX | None = None,
    dual_rows: ca.SX | None = None,
    augment: bool = False,
    definite: bool = True,
    determined: bool = False,
    budget: Budget | None = None,
) -> UnrolledSolution:
    """Solve G z = f + A^T mu, A z = b in straight-line code.

    With `free` (G^-1 f) and `dual_rows` (G^-1 A^T) given, only the m x m problem is solved. With
    `augment`, G + w A^T A takes the place of G: for a G that is singular but positive definite on
    ker A. Where G is not `definite`, a small pivot may stand before large ones; then the health
    falls with the growth of the factors as well. Where all unknowns must be `determined`, it is
    zero if one that nothing drives has no inertia. A `budget` bounds the operations; beyond it
    TooManyOperationsError is raised.
    """
    m, n = rows.shape[0], metric.shape[0]
    if free is not None and dual_rows is not None:
        if not m:
            return UnrolledSolution(free, ca.SX(0, 1), ca.SX(1))
        small = SparseFactor(ca.sparsify(rows @ dual_rows), budget)
        mu = dense(small.solve(columns_of(right - rows @ free)[0]), m)
        return UnrolledSolution(
            free + dual_rows @ mu, mu, _health(GraphScalars(), [small], definite)
        )
    if augment and m:
        weights = [_weight(metric, rows[k, :]) for k in range(m)]
        metric = metric + rows.T @ ca.diag(ca.vertcat(*weights)) @ rows
        force = force + rows.T @ (ca.vertcat(*weights) * right)
    columns = columns_of(ca.sparsify(rows.T)) if m else []
    found = solve_columns(
        GraphScalars(),
        SparseFactor(ca.sparsify(metric), budget),
        columns_of(ca.sparsify(force))[0],
        columns,
        [right[k] for k in range(m)],
        definite,
        determined,
    )
    return UnrolledSolution(dense(found.z, n), dense(found.multipliers, m), found.health)


@dataclass(frozen=True)
class ColumnSolution:
    """z and mu by place, and the health, in the scalars of the problem."""

    z: Column
    multipliers: Column
    health: Any


def solve_columns(
    scalars: Scalars[T],
    whole: SparseFactor,
    force: Column,
    rows: Sequence[Column],
    right: Sequence[T],
    definite: bool,
    determined: bool = False,
) -> ColumnSolution:
    """Solve G z = f + A^T mu, A z = b, for factored G over any scalars; `rows` holds A by unknown.

    With G = L D L^T and H = L^-1 A^T: (H^T D^-1 H) mu = b - H^T D^-1 L^-1 f, and z = L^-T D^-1
    (L^-1 f + H mu).
    """
    push = whole.forward(force)
    if not rows:
        z, health = whole.backward(whole.divided(push)), _health(scalars, [whole], definite)
        return ColumnSolution(
            z, {}, determined_health(scalars, health, z, _pivots(whole)) if determined else health
        )
    half = [whole.forward(column) for column in rows]
    scaled = [whole.divided(column) for column in half]
    small = SparseFactor(_products(scalars, half, scaled), whole.budget, scalars.zero)
    rest = {k: right[k] - _inner(scalars, scaled[k], push) for k in range(len(rows))}
    found = small.solve(rest)
    for k, column in enumerate(half):
        for place, entry in column.items():
            step = entry * found[k]
            push[place] = push[place] + step if place in push else step
    z, health = whole.backward(whole.divided(push)), _health(scalars, [whole, small], definite)
    return ColumnSolution(
        z, found, determined_health(scalars, health, z, _pivots(whole)) if determined else health
    )


class GraphScalars:
    """What a solve asks of scalars beside arithmetic, for nodes of CasADi's graph."""

    zero, one = ca.SX(0), ca.SX(1)

    def constant(self, number: float) -> ca.SX:
        """A constant."""
        return ca.SX(number)

    def magnitude(self, value: ca.SX) -> ca.SX:
        """|value|."""
        return ca.fabs(value)

    def least(self, first: ca.SX, second: ca.SX) -> ca.SX:
        """The lesser of two values."""
        return ca.fmin(first, second)

    def greatest(self, first: ca.SX, second: ca.SX) -> ca.SX:
        """The greater of two values."""
        return ca.fmax(first, second)

    def same(self, first: ca.SX, second: ca.SX) -> bool:
        """Whether two values are the same expression."""
        return bool(ca.is_equal(first, second, 1))


def _products(scalars: Scalars[T], left: Sequence[Column], right: Sequence[Column]) -> list[Column]:
    """The symmetric (m x m) matrix of inner products of sparse columns, by row, without zeros."""
    by_place: dict[int, list[int]] = {}
    for k, column in enumerate(left):
        for place in column:
            by_place.setdefault(place, []).append(k)
    found: list[Column] = [{} for _ in left]
    for k, column in enumerate(left):
        for other in sorted({j for place in column for j in by_place[place] if j >= k}):
            entry = _inner(scalars, column, right[other])
            if not entry.is_zero():
                found[k][other] = found[other][k] = entry
    return found


def _inner(scalars: Scalars[T], left: Column, right: Column) -> T:
    total = scalars.zero
    for place, entry in left.items():
        if place in right:
            total = total + entry * right[place]
    return total


def unrolled_elimination(matrix: ca.SX, right: ca.SX) -> ca.SX:
    """Eliminate a square system in its given order, without pivoting; zeros stay unwritten.

    For matrices that are nearly symmetric and positive, such as G(q1) M^-1 G(q0)^T. A vanishing
    pivot gives values that are not finite.
    """
    m = matrix.shape[0]
    rows = [
        {int(j): matrix[i, j] for j in matrix[i, :].sparsity().get_triplet()[1]} for i in range(m)
    ]
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


def _weight(metric: ca.SX, row: ca.SX) -> ca.SX:
    return ca.trace(metric) / metric.shape[0] / ca.sumsqr(row)


def _health(scalars: Scalars[T], factors: Sequence[SparseFactor], definite: bool) -> T:
    """The least |pivot / diagonal entry|; for indefinite matrices also 1 / L_ik^2."""
    least, one = scalars.one, scalars.one
    for factor in factors:
        for pivot, entry in zip(factor.pivots, factor.diagonal, strict=True):
            if (
                pivot.is_zero()
            ):  # A G^-1 A^T vanishes identically, as on null directions of an indefinite G
                return scalars.zero
            if not scalars.same(pivot, entry):
                least = scalars.least(least, scalars.magnitude(pivot / entry))
        for entry in () if definite else factor.entries:
            least = scalars.least(least, one / scalars.greatest(one, entry * entry))
    return least


def _pivots(factor: SparseFactor) -> dict[int, Any]:
    return dict(zip(factor.order, factor.pivots, strict=True))


def determined_health(scalars: Scalars[T], health: T, z: Column, pivots: Mapping[int, T]) -> T:
    """The pivot ratio, or zero if an unknown has no inertia at any state."""
    for place, pivot in pivots.items():
        if place not in z or z[place].is_zero():
            health = scalars.least(health, scalars.magnitude(pivot) * scalars.constant(LARGEST))
    return health


def is_generically_healthy(inputs: Sequence[ca.SX], health: ca.SX, most_instructions: int) -> bool:
    """Whether a solve of at most so many instructions works at some random state."""
    function = ca.Function("health", list(inputs), [health])
    if function.n_instructions() > most_instructions:
        return False
    random = np.random.default_rng(20)
    undefined = 0
    for _ in range(8):
        value = float(function(*[random.uniform(0.3, 1.1, block.numel()) for block in inputs]))
        if value > 10 * HEALTHY:
            return True
        undefined += not np.isfinite(value)
    return undefined == 8
