"""Solve a Gauss problem whose metric is an energy's Hessian, without forming the Hessian.

See `lifted` for how. It is the choice for chains and trees of many bodies in joint coordinates,
where G is dense but its energy shares the velocities that are passed on from body to body. A few
constraints, such as those that close loops, are carried along: each takes one more pass over the
bodies. Many constraints share velocities with the energy, and their multipliers are eliminated
together with the bodies, as soon as the symbols behind them are: N loops take of the order of N
operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...algebra.lifted import Lifting, lift
from ...algebra.lifted_factor import LiftedFactor, bordered
from ...algebra.scalars import minus, plus, times
from ...algebra.sparse_factor import (
    Budget,
    Column,
    SparseFactor,
    TooManyOperationsError,
    columns_of,
    dense,
    elimination_order,
)
from ...model.without_gc import without_gc
from .unrolled import GraphScalars, UnrolledSolution, determined_health

if TYPE_CHECKING:
    from ..protocols import GaussProblem, HessianMatrix

__all__ = ["SPARSE_SHARE", "lifted_solution"]

#: Fewest and most unknowns for shared velocities, and how many are needed per constraint.
LEAST_UNKNOWNS, MOST_UNKNOWNS, UNKNOWNS_PER_ROW = 5, 2000, 8
#: Fewest unknowns for which multipliers are eliminated with the bodies, and the share of the
#: operations of dense matrices up to which it is done.
LEAST_BORDERED, BORDERED_WORTH = 10, 0.5
#: With no more than this share of G nonzero, multipliers are left to `sparse_solve`.
SPARSE_SHARE = 0.2
#: With no more entries of G than this for each unknown, its own factors are short.
SPARSE = 3
#: Most unknowns for which G is formed to count operations; beyond, operations assumed per entry.
COUNTED, OPERATIONS_PER_ENTRY = 24, 3
#: Pivots are sequential, so that operations are worth less than in a dense solve.
WORTH = 1.0
#: The same where operations of the elimination are bounded, not counted: products with 0 and 1 fall
#: away there. A humanoid of 53 unknowns with 0.8 of the ordinary operations takes 0.4 of the time.
BOUNDED_WORTH = 1.5
#: An operation of the solve by loops on a dense G, beside one of straight-line code.
LOOPED = 0.2


@without_gc
def lifted_solution(graph: GaussProblem) -> UnrolledSolution | None:
    """z, mu and pivot ratio of G z = f + A^T mu, A z = b for `Blocks`; None if it does not pay.

    It pays where velocities are shared and fewer operations are needed than to form G and solve
    with it.
    """
    n, m, hessian = graph.unknowns.numel(), graph.rows.shape[0], graph.hessian
    if hessian is None or graph.free is not None or not LEAST_UNKNOWNS <= n <= MOST_UNKNOWNS:
        return None
    is_bordered = UNKNOWNS_PER_ROW * m > n
    if is_bordered and n < LEAST_BORDERED:
        return None
    pattern = ca.jacobian_sparsity(ca.gradient(hessian.scalar, hessian.symbols), hessian.symbols)
    if pattern.nnz() <= SPARSE * n:
        return None
    if is_bordered and (pattern.nnz() <= SPARSE_SHARE * n**2 or not _are_lifted(graph)):
        return None
    affine = graph.velocity.residual if is_bordered else None
    lifting = lift(hessian.scalar, hessian.symbols, affine)
    if lifting is None or not lifting.definitions:
        return None
    if is_bordered:
        return _bordered_solution(graph, lifting)
    worth = WORTH if n <= COUNTED else BOUNDED_WORTH
    allowed = worth * _ordinary_operations(hessian, pattern, lifting)
    try:
        factor = LiftedFactor(lifting, Budget(allowed))
    except TooManyOperationsError:  # not worth it: the ordinary solve is shorter
        return None
    if n <= COUNTED and _operations([ca.vertcat(*factor.pivots.values()), factor.health]) > allowed:
        return None
    return _solved(factor, graph)


def _are_lifted(graph: GaussProblem) -> bool:
    """Whether rows of all levels are the derivatives of the residuals at velocity level."""
    hessian, m = graph.hessian, graph.rows.shape[0]
    levels = (graph.position, graph.velocity)
    if hessian is None or any(
        level.metric is not None or level.residual.numel() != m for level in levels
    ):
        return False
    direction = ca.SX.sym("direction", graph.unknowns.numel())
    moved = ca.jtimes(graph.velocity.residual, hessian.symbols, direction)
    blocks = [moved, graph.rows, *(level.rows for level in levels)]
    symbols = ca.vertcat(*ca.symvar(ca.veccat(*blocks, direction)))
    random = np.random.default_rng(21)
    point = random.uniform(0.3, 1.1, symbols.numel())
    function = ca.Function("rows", [symbols], [*blocks, direction])
    along, *rows, ahead = function(point)
    limit = 1e-9 * max(1.0, float(ca.norm_inf(along)))
    return all(float(ca.norm_inf(along - row @ ahead)) < limit for row in rows)


def _bordered_solution(graph: GaussProblem, lifting: Lifting) -> UnrolledSolution | None:
    """The solution by factors of the whole system in (z, -mu); None if they are too long."""
    n, m = lifting.n, len(lifting.rows)
    dense_operations = n**3 / 3 + m * n**2 + m**2 * n + m**3 / 3
    whole, after = bordered(lifting)
    try:
        factor = LiftedFactor(whole, Budget(BORDERED_WORTH * dense_operations), after)
    except TooManyOperationsError:
        return None

    def solve(force: Column, right: ca.SX) -> Column:
        return factor.solve(force | {n + k: right[k] for k in range(m)})

    found = solve(columns_of(ca.sparsify(graph.force))[0], graph.right)
    multipliers = {k: -found[n + k] for k in range(m) if n + k in found}
    z = {place: value for place, value in found.items() if place < n}
    pivots = {place: pivot for place, pivot in factor.pivots.items() if place < n}
    health = determined_health(GraphScalars(), factor.health, z, pivots)
    return UnrolledSolution(
        dense(z, n), dense(multipliers, m), health, lambda right: dense(solve({}, right), n)
    )


def _ordinary_operations(hessian: HessianMatrix, pattern: ca.Sparsity, lifting: Lifting) -> float:
    """Estimate the operations to form and factor a Hessian, by straight-line code or loops.

    A Hessian of many unknowns is not formed for that: its columns are unit velocities, passed on
    through all shared velocities that depend on them.
    """
    n, entries = pattern.size1(), pattern.nnz()
    forming = (
        _operations([ca.triu(hessian.matrix)])
        if n <= COUNTED
        else max(OPERATIONS_PER_ENTRY * (entries + n) / 2, lifting.passing_operations)
    )
    if n > COUNTED and entries > SPARSE_SHARE * n**2:
        return float(forming + LOOPED * n**3 / 3)
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in zip(*pattern.get_triplet(), strict=True):
        if i != j:
            neighbours[i].add(j)
    _, filled = elimination_order(neighbours)
    return float(forming + filled * (filled / n + 3))


def _operations(blocks: list[Any]) -> int:
    outputs = [ca.sparsify(block) for block in blocks]
    count: int = ca.Function(
        "count", [], outputs, {"allow_free": True, "cse": True}
    ).n_instructions()
    return count - sum(int(block.nnz()) for block in outputs)


def _solved(factor: LiftedFactor, graph: GaussProblem) -> UnrolledSolution:
    """Solve (H^T D^-1 H) mu = b - H^T D^-1 L^-1 f, z = L^-T D^-1 (L^-1 f + H mu), H = L^-1 A^T."""
    n, m = factor.n, graph.rows.shape[0]
    push = factor.forward(columns_of(ca.sparsify(graph.force))[0])
    if not m:
        z = factor.backward(factor.divided(push))
        return UnrolledSolution(
            dense(z, n),
            ca.SX(0, 1),
            determined_health(GraphScalars(), factor.health, z, factor.pivots),
        )
    half = [factor.forward(column) for column in columns_of(ca.sparsify(graph.rows.T))]
    scaled = [factor.divided(column) for column in half]
    compliance = ca.SX(m, m)
    for k in range(m):
        for j in range(k, m):
            compliance[k, j] = _inner(half[k], scaled[j])
    small = SparseFactor(compliance)
    mu = small.solve({k: minus(graph.right[k], _inner(scaled[k], push)) for k in range(m)})
    for k, column in enumerate(half):
        for place, entry in column.items():
            step = times(entry, mu[k])
            push[place] = plus(push[place], step) if place in push else step
    health = factor.health
    for pivot, entry in zip(small.pivots, small.diagonal, strict=True):
        health = ca.fmin(health, ca.fabs(pivot / entry))
    z = factor.backward(factor.divided(push))
    return UnrolledSolution(
        dense(z, n), dense(mu, m), determined_health(GraphScalars(), health, z, factor.pivots)
    )


def _inner(left: Column, right: Column) -> ca.SX:
    total = ca.SX(0)
    for place, entry in left.items():
        if place in right:
            total = plus(total, times(entry, right[place]))
    return total
