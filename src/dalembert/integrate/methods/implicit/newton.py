r"""Simplified Newton steps for the equations of a Gauss step that sweeps do not solve.

    (1 - h b_i mu_ij f_y(stage_i)) dL = h b_i f(stage_i) - L_i

with f_y at the stages of some step, by differences, kept for as long as it serves; the matrix is
factored by reflections.
"""

from __future__ import annotations

from ....codegen.native.language import native, rare
from ....runtime.gauss.factorisations import pivoted_qr, reflect, solve_triangle
from ....runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ....runtime.projection import MISSING, evaluate, is_finite
from ...run_fields import FixedFields
from ..fixed.fixed_fields import NOT_CONTRACTING, UNSOLVABLE
from .gauss_collocation import gauss_stage

__all__ = ["newton_solve"]

#: The most Newton steps, and after how many the matrix is made again for the next step.
MOST_NEWTON, MANY = 30, 9
#: The share of a symbol by which it is moved for a difference quotient.
DIFFERENCE = 1.5e-8
CONVERGED = 1e-11
#: Newton steps that shrink by less want another matrix, made so often for one step.
SLOW, MOST_MATRICES = 0.5, 8

INFINITY = float("inf")


@rare
def stage_jacobian(context: FixedFields, i: int, t: float, h: float) -> int:
    """JACOBIAN <- f_y at stage i of the unknowns, by differences."""
    ns, stages, counts = context.n_state, context.n_stages, context.counts
    y, stage, rate = context.y, context.stage, context.stages
    moved, jacobian, unknowns = rate + (ns + 1), context.jacobian, context.unknowns_now
    mix, time = context.mix + i * stages, t + context.nodes[i] * h
    for c in range(ns):
        stage[c] = y[c]
        for j in range(stages):
            stage[c] += mix[j] * unknowns[j * ns + c]
    counts.evaluations += ns + 1
    status = evaluate(context, time, stage, rate)
    if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
        return status
    for j in range(ns):
        place = stage[j]
        width = DIFFERENCE * max(max(abs(place), abs(h * rate[j])), 1e-6)
        stage[j] = place + width
        status = evaluate(context, time, stage, moved)
        if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
            return status
        for c in range(ns):
            jacobian[c * ns + j] = (moved[c] - rate[c]) / width
        stage[j] = place
    return 0


@rare
def newton_matrix(context: FixedFields, t: float, h: float) -> int:
    """FACTOR <- the factorisation of the matrix of the Newton steps."""
    ns, stages, size = context.n_state, context.n_stages, context.n_stages * context.n_state
    columns, jacobian = context.factor, context.jacobian
    weights, mix = context.weights, context.mix
    for i in range(stages):
        status = stage_jacobian(context, i, t, h)
        if status != 0:
            return status
        for j in range(stages):
            factor = -h * weights[i] * mix[i * stages + j]
            for d in range(ns):
                column = columns + ((j * ns + d) * size + i * ns)
                for c in range(ns):
                    column[c] = factor * jacobian[c * ns + d]
                if i == j:
                    column[d] += 1.0
    collected, order = context.factor_diagonals, context.factor_order
    if pivoted_qr(size, size, columns, collected, order, 1e-300, collected, order, False) < size:
        return UNSOLVABLE
    counts = context.counts
    counts.factored = 1
    return 0


@rare
def newton_iterate(context: FixedFields, t: float, h: float) -> int:
    """Newton steps until no component comes closer; NOT_CONTRACTING if the matrix fails."""
    ns, stages, counts = context.n_state, context.n_stages, context.counts
    size = stages * ns
    unknowns, fresh, residual = context.unknowns_now, context.fresh, context.residual
    least, order = context.least, context.factor_order
    columns, collected = context.factor, context.factor_diagonals
    for c in range(size):
        least[c] = INFINITY
    before = INFINITY
    for attempt in range(MOST_NEWTON):
        for i in range(stages):
            status = gauss_stage(context, i, t, h, unknowns, fresh)
            if status != 0:
                return NOT_CONTRACTING if status == SINGULAR and attempt > 0 else status
            for c in range(ns):
                residual[i * ns + c] = fresh[c] - unknowns[i * ns + c]
        counts.evaluations += stages
        counts.sweeps += 1
        reflect(size, size, columns, collected, residual, False)
        solve_triangle(size, size, columns, residual)
        is_closer, change, largest = False, 0.0, 0.0
        for k in range(size):
            c, step = order[k], residual[k]
            unknowns[c] += step
            largest = max(largest, abs(unknowns[c]))
            change += abs(step)
            if abs(step) < least[c]:
                least[c] = abs(step)
                if step != 0.0:
                    is_closer = True
        if not change < INFINITY:
            return NOT_CONTRACTING
        is_small = change <= CONVERGED * size * largest
        if (
            not is_closer
            or attempt == MOST_NEWTON - 1
            or (change > SLOW * before and (is_small or attempt > 1))
        ):
            if attempt > MANY:
                counts.factored = 0
            return 0 if is_small else NOT_CONTRACTING
        before = change
    return NOT_CONTRACTING


@native
def newton_solve(context: FixedFields, t: float, h: float) -> int:
    """unknowns_now <- the solution from a guess; UNSOLVABLE if fresh matrices do not help."""
    counts = context.counts
    status = NOT_CONTRACTING
    for _ in range(MOST_MATRICES):
        status = newton_matrix(context, t, h) if counts.factored == 0 else 0
        if status == 0:
            status = newton_iterate(context, t, h)
        if status != NOT_CONTRACTING:
            return status
        counts.factored = 0
        if not is_finite(context.n_stages * context.n_state, context.unknowns_now):
            return UNSOLVABLE
    return UNSOLVABLE
