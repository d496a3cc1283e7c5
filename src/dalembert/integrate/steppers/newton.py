r"""Simplified Newton steps for the equations of a Gauss step that sweeps do not solve.

    (1 - h b_i mu_ij f_y(stage_i)) dL = h b_i f(stage_i) - L_i

with f_y at the stages of some step, by differences, kept for as long as it serves; the matrix is factored by reflections.
"""

from __future__ import annotations

from ...compiled.factorisations import pivoted_qr, reflect, solve_triangle
from ...compiled.language import Integers, integers_at, native, rare, reals_at
from ...compiled.native import MISSING, STATE, evaluate, is_finite
from ...compiled.verdicts import CONTRADICTORY, SINGULAR
from ..advance import COUNTS, EVALUATIONS, STAGE, STAGES, Y
from .gauss import gauss_stage
from .places import (
    FACTOR,
    FACTOR_ORDER,
    FACTORED,
    FRESH,
    HEADS,
    JACOBIAN,
    LEAST,
    MIX,
    N_STAGES,
    NODES,
    NOT_CONTRACTING,
    RESIDUAL,
    SWEEPS,
    UNKNOWNS_NOW,
    UNSOLVABLE,
    WEIGHTS,
)

__all__ = ["newton_solve"]

#: The most Newton steps, and after how many the matrix is made again for the next step.
MOST_NEWTON, MANY = 30, 9
#: The share of a letter by which it is moved for a difference quotient.
DIFFERENCE = 1.5e-8
CONVERGED = 1e-11
#: Newton steps that shrink by less than this want another matrix, which is made so often for one step.
SLOW, MOST_MATRICES = 0.5, 8

INFINITY = float("inf")


@rare
def stage_jacobian(book: Integers, i: int, t: float, h: float) -> int:
    """JACOBIAN <- f_y at stage i of the unknowns, by differences."""
    ns, stages, counts = book[STATE], book[N_STAGES], integers_at(book[COUNTS])
    y, stage, rate = reals_at(book[Y]), reals_at(book[STAGE]), reals_at(book[STAGES])
    moved, jacobian, unknowns = rate + (ns + 1), reals_at(book[JACOBIAN]), reals_at(book[UNKNOWNS_NOW])
    mix, time = reals_at(book[MIX]) + i * stages, t + reals_at(book[NODES])[i] * h
    for c in range(ns):
        stage[c] = y[c]
        for j in range(stages):
            stage[c] += mix[j] * unknowns[j * ns + c]
    counts[EVALUATIONS] += ns + 1
    status = evaluate(book, time, stage, rate)
    if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
        return status
    for j in range(ns):
        place = stage[j]
        width = DIFFERENCE * max(max(abs(place), abs(h * rate[j])), 1e-6)
        stage[j] = place + width
        status = evaluate(book, time, stage, moved)
        if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
            return status
        for c in range(ns):
            jacobian[c * ns + j] = (moved[c] - rate[c]) / width
        stage[j] = place
    return 0


@rare
def newton_matrix(book: Integers, t: float, h: float) -> int:
    """FACTOR <- the factorisation of the matrix of the Newton steps."""
    ns, stages, size = book[STATE], book[N_STAGES], book[N_STAGES] * book[STATE]
    columns, jacobian = reals_at(book[FACTOR]), reals_at(book[JACOBIAN])
    weights, mix = reals_at(book[WEIGHTS]), reals_at(book[MIX])
    for i in range(stages):
        status = stage_jacobian(book, i, t, h)
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
    heads, order = reals_at(book[HEADS]), integers_at(book[FACTOR_ORDER])
    if pivoted_qr(size, size, columns, heads, order, 1e-300, heads, order, False) < size:
        return UNSOLVABLE
    counts = integers_at(book[COUNTS])
    counts[FACTORED] = 1
    return 0


@rare
def newton_iterate(book: Integers, t: float, h: float) -> int:
    """Newton steps until no component comes closer; NOT_CONTRACTING where the matrix no longer serves."""
    ns, stages, counts = book[STATE], book[N_STAGES], integers_at(book[COUNTS])
    size = stages * ns
    unknowns, fresh, residual = reals_at(book[UNKNOWNS_NOW]), reals_at(book[FRESH]), reals_at(book[RESIDUAL])
    least, order = reals_at(book[LEAST]), integers_at(book[FACTOR_ORDER])
    columns, heads = reals_at(book[FACTOR]), reals_at(book[HEADS])
    for c in range(size):
        least[c] = INFINITY
    before = INFINITY
    for attempt in range(MOST_NEWTON):
        for i in range(stages):
            status = gauss_stage(book, i, t, h, unknowns, fresh)
            if status != 0:
                return NOT_CONTRACTING if status == SINGULAR and attempt > 0 else status
            for c in range(ns):
                residual[i * ns + c] = fresh[c] - unknowns[i * ns + c]
        counts[EVALUATIONS] += stages
        counts[SWEEPS] += 1
        reflect(size, size, columns, heads, residual, False)
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
        if not is_closer or attempt == MOST_NEWTON - 1 or (change > SLOW * before and (is_small or attempt > 1)):
            if attempt > MANY:
                counts[FACTORED] = 0
            return 0 if is_small else NOT_CONTRACTING
        before = change
    return NOT_CONTRACTING


@native
def newton_solve(book: Integers, t: float, h: float) -> int:
    """UNKNOWNS_NOW <- the solution from a guess that it holds; UNSOLVABLE where fresh matrices do not help."""
    counts = integers_at(book[COUNTS])
    status = NOT_CONTRACTING
    for _ in range(MOST_MATRICES):
        status = newton_matrix(book, t, h) if counts[FACTORED] == 0 else 0
        if status == 0:
            status = newton_iterate(book, t, h)
        if status != NOT_CONTRACTING:
            return status
        counts[FACTORED] = 0
        if not is_finite(book[N_STAGES] * book[STATE], reals_at(book[UNKNOWNS_NOW])):
            return UNSOLVABLE
    return UNSOLVABLE
