r"""Equations solved for their unknowns by formula: no multipliers, dependent rows included.

The Gauss problem G z = f + A^T mu, A z = b (n unknowns, m rows) has the solution

    z = a + K e,   a = G^-1 f,   e = b - A a,   K = G^-1 A^T W^+,   W = A G^-1 A^T,   mu = W^+ e

(Udwadia 35, 36, where z = p_dot, G = H_pp, A = A_p, b = b_p and a = -H_q + Q; Udwadia and Kalaba
1992 where z = q_ddot, G = M; Gavin 70). The Moore-Penrose inverse needs no singular values. Let A_k
be r independent rows of A, r its rank at almost every state. Then A = C A_k with C (m x r) of full
column rank, W = C W_k C^T with a regular W_k = A_k G^-1 A_k^T, and

    W^+ = (C^+)^T W_k^-1 C^+,   K = G^-1 A_k^T W_k^-1 C^+,   C = A A_k^T (A_k A_k^T)^-1,
    C^+ = (C^T C)^-1 C^T.

e is in the range of A if the rows agree with each other (the rank of [A b] is r); then C^+ e = e_k,
and z = a + G^-1 A_k^T W_k^-1 e_k does not depend on the rows that were kept. The formula holds
where det W_k is not zero. Where G is singular, and regular on ker A, G + A_k^T A_k and f + A_k^T
b_k take the places of G and f, which adds nothing to motions with A z = b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..algebra.graph import GraphAlgebra
from ..algebra.verdicts import Rank, Verdict
from ..errors import FormError
from ..model.system import System
from .constraint_equations import row_names
from .constraint_jacobian import constraint_rows, independent_rows
from .velocity_splits import check_agreement

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block
    from .blocks import GaussBlocks, Projection
    from .equations import Equations

__all__ = [
    "ExplicitSolution",
    "KeptRows",
    "formula",
    "kept_rows",
    "pseudo_inverse",
    "rank_notes",
    "solution",
]


@dataclass(frozen=True)
class KeptRows:
    """A largest set of constraint rows that are independent at almost every state.

    Attributes
    ----------
    kept : tuple of int
        The places of these rows, those with the fewest operations where there is a choice.
    count : int
        The number m of all rows.
    rank : Rank
        The rank r of A at almost every state, or on the constraints if it is lower there; that is
        read off samples, and not established.
    agreement : Verdict
        Whether the right sides of the other rows follow at every state: the rank of [A b] is r.
        Where it is refuted, the rows may still agree on the constraints.
    is_augmented : bool
        Whether G is singular, so that G + A_k^T A_k takes its place.
    """

    kept: tuple[int, ...]
    count: int
    rank: Rank
    agreement: Verdict
    is_augmented: bool

    @property
    def is_whole(self) -> bool:
        """Whether no row depends on others."""
        return len(self.kept) == self.count


def kept_rows(equations: Equations) -> KeptRows:
    """The rows that the formula keeps, by the oracle of `algebra.structure`.

    Raises
    ------
    FormError
        Where the unknowns are not determined, or the rates contain multipliers that are not.
    """
    return equations.cache.get("kept rows", lambda: _chosen(equations))


def _chosen(equations: Equations) -> KeptRows:
    algebra = GraphAlgebra()
    blocks = equations.blocks(algebra)
    rows, (n, m) = blocks.rows, (len(equations.unknowns), len(equations.row_names))
    rank = algebra.rank(rows)
    kept = tuple(range(m)) if rank.value == m else _spanning(algebra, rows, rank.value)
    rank, kept = _on_constraints(equations, rank, kept)
    if len(kept) < m and algebra.depends(blocks.rates, blocks.multipliers):
        raise FormError(
            f'The rates of the form "{equations.form}" depend on multipliers that are not'
            " determined",
            seen=f"rank {rank.value} of {m} constraint rows",
            remedy="drop the constraints that repeat others",
        )
    agreement = algebra.rank(algebra.columns([rows, blocks.right])).is_at_most(len(kept))
    is_augmented = blocks.free is None and algebra.rank(blocks.metric).value < n
    found = KeptRows(kept, m, rank, agreement, is_augmented)
    if is_augmented or not equations.is_definite:
        _check_determined(equations, algebra, blocks, found)
    return found


def _spanning(algebra: GraphAlgebra, rows: Any, rank: int) -> tuple[int, ...]:
    """Rows of full rank, chosen one after another, those with the fewest entries first."""
    kept: list[int] = []
    for k in sorted(range(rows.shape[0]), key=lambda k: (rows[k, :].nnz(), k)):
        if len(kept) < rank and algebra.rank(rows[[*kept, k], :]).value > len(kept):
            kept.append(k)
    return tuple(sorted(kept))


def _on_constraints(
    equations: Equations, rank: Rank, kept: tuple[int, ...]
) -> tuple[Rank, tuple[int, ...]]:
    """The same where the constraints hold, if the rank is lower there, as for a parallelogram.

    Rows that depend on others and contradict them are refused.
    """
    system = equations.system
    if not isinstance(system, System) or system.image is not None or not kept:
        return rank, kept
    if equations.row_names != row_names(system):
        return rank, kept
    rows = constraint_rows(system)
    samples, lower, *_ = rows.generic()
    if samples and lower < len(kept):
        kept, rank = independent_rows(samples[0], lower), Rank(lower, rank.at_most)
    if len(kept) < len(equations.row_names):
        check_agreement(system, rows.contradicted(kept))
    return rank, kept


def _check_determined(
    equations: Equations, algebra: GraphAlgebra, blocks: GaussBlocks, rows: KeptRows
) -> None:
    """The saddle-point matrix of the rows that are kept must be regular."""
    chosen, r = blocks.rows[list(rows.kept), :], len(rows.kept)
    whole = blocks.metric
    if r:
        above = algebra.columns([blocks.metric, chosen.T])
        whole = algebra.stack([above, algebra.columns([chosen, algebra.zeros(r, r)])])
    if algebra.rank(whole).value < len(equations.unknowns) + r:
        raise FormError(
            f'The unknowns of the form "{equations.form}" are not determined',
            seen=f"{len(equations.unknowns)} unknowns, {rows.count} constraint rows of rank {r}",
            remedy="add the missing inertia or a constraint, or use another form",
        )


@dataclass(frozen=True)
class ExplicitSolution:
    """The parts of z = a + K e in one algebra, with the rows A_k, b_k that are kept.

    Attributes
    ----------
    metric : matrix (n x n)
        G, or G + A_k^T A_k where G is singular.
    free : column (n x 1)
        a.
    dual : matrix (n x r)
        G^-1 A_k^T.
    weight : matrix (r x r)
        W_k.
    error, multipliers : columns (r x 1)
        e_k and W_k^-1 e_k.
    unknowns : column (n x 1)
        z.
    """

    metric: Any
    free: Any
    dual: Any
    weight: Any
    error: Any
    multipliers: Any
    unknowns: Any


def solution(algebra: Algebra, blocks: GaussBlocks, rows: KeptRows) -> ExplicitSolution:
    """The Gauss problem of the blocks solved by formula."""
    n = blocks.unknowns.shape[0]
    chosen = algebra.part(blocks.rows, rows.kept, range(n))
    right = algebra.part(blocks.right, rows.kept, [0])
    if blocks.free is not None and blocks.dual_rows is not None:
        metric, free = blocks.metric, algebra.layer(blocks.free)
        dual = algebra.part(blocks.dual_rows, range(n), rows.kept)
    else:
        metric, force = blocks.metric, blocks.force
        if rows.is_augmented:
            metric, force = metric + chosen.T @ chosen, force + chosen.T @ right
        free, dual = algebra.layer(algebra.solve(metric, force)), algebra.zeros(n, 0)
        if rows.kept:
            dual = algebra.solve(metric, chosen.T)
    if not rows.kept:
        empty = algebra.zeros(0)
        return ExplicitSolution(metric, free, dual, algebra.zeros(0, 0), empty, empty, free)
    weight, error = chosen @ dual, right - chosen @ free
    multipliers = algebra.layer(algebra.solve(weight, error))
    return ExplicitSolution(
        metric, free, dual, weight, error, multipliers, free + dual @ multipliers
    )


def pseudo_inverse(algebra: Algebra, blocks: GaussBlocks, rows: KeptRows) -> Block:
    """C^+ (r x m) of the module's head, for dependent rows."""
    everything = range(blocks.unknowns.shape[0])
    chosen = algebra.part(blocks.rows, rows.kept, everything)
    transposed = algebra.solve(chosen @ chosen.T, chosen @ blocks.rows.T)  # C^T
    return algebra.solve(transposed @ transposed.T, transposed)


def formula(equations: Equations) -> Equations:
    """The same equations as a record without rows, whose unknowns are given by the formula.

    It is what is printed and exported; runs take the equations themselves.
    """
    rows = kept_rows(equations)
    derivation: Callable[[Any], GaussBlocks] = equations.derivation

    def solved(algebra: Algebra) -> GaussBlocks:
        return _solved_blocks(algebra, derivation(algebra), rows)

    return replace(
        equations, row_names=(), derivation=solved, is_explicit=False, rechoose=None, chart=()
    )


def _solved_blocks(algebra: Algebra, blocks: GaussBlocks, rows: KeptRows) -> GaussBlocks:
    found = solution(algebra, blocks, rows)
    n, mu = blocks.unknowns.shape[0], found.multipliers
    if not rows.count:
        mu = blocks.multipliers
    elif not rows.is_whole:
        mu = pseudo_inverse(algebra, blocks, rows).T @ mu

    def put(block: Block) -> Block:
        return algebra.substitute(block, blocks.multipliers, mu)

    def with_metric(projection: Projection) -> Projection:
        own = blocks.metric if projection.metric is None else projection.metric
        return replace(projection, metric=own)

    return replace(
        blocks,
        stated_metric=algebra.jacobian(blocks.unknowns, blocks.unknowns),
        force=found.unknowns,
        rows=algebra.zeros(0, n),
        right=algebra.zeros(0),
        multipliers=algebra.zeros(0),
        rates=put(blocks.rates),
        accelerations=put(blocks.accelerations),
        reactions={name: put(value) for name, value in blocks.reactions.items()},
        position=with_metric(blocks.position),
        velocity=with_metric(blocks.velocity),
        row_multipliers=mu if rows.count else blocks.row_multipliers,
        free=found.unknowns,
    )


def rank_notes(rows: KeptRows, names: Sequence[str]) -> tuple[str, ...]:
    """Sentences about constraints that depend on each other, and about what is not proved.

    >>> rows = KeptRows((1, 2), 3, Rank(2, 2), Rank(2, 2).is_at_most(2), False)
    >>> rank_notes(rows, ["rod", "skate1", "skate2"])
    ('rank 2 of 3 constraints (proved), by skate1, skate2',)
    """
    found = []
    if not rows.is_whole or rows.rank.status != "proved":
        by = ", ".join(names[k] for k in rows.kept)
        found.append(
            f"rank {len(rows.kept)} of {rows.count} constraints ({rows.rank.status}), by {by}"
        )
    if rows.agreement.is_refuted:
        found.append("dependent constraints differ at some states: it holds where they agree")
    elif not rows.is_whole and not rows.agreement.is_proved:
        found.append(f"the constraints agree with each other: {rows.agreement}")
    return tuple(found)
