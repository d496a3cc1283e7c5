r"""The implicit equations of one step, solved to rounding: U_i = F_i(U_1, ..., U_s), rows of increments.

The guess continues the polynomial through the rates of the steps before. Sweeps take each stage at once, and go on until they
come no closer to what was there a sweep before: a tolerance would leave a part that is the same in every step and adds up
(E. Hairer, R. McLachlan, A. Razakarivony, BIT 48 (2008) 231-243). Where sweeps do not contract, `newton` takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import SINGULAR
from ...run_fields import FixedFields
from ..fixed.fixed_fields import GAUSS, ISOSPECTRAL, NOT_CONTRACTING
from ..groups.isospectral import isospectral_end, isospectral_stage, transported
from ..groups.lie_verlet import verlet_end, verlet_stage
from ..groups.orbit_steps import fill_matrices
from .gauss_collocation import gauss_stage
from .newton import newton_solve

__all__ = ["implicit_step"]

#: The most sweeps of a step; a contraction that needs more costs more than Newton's method.
MOST_SWEEPS = 30
#: Sweeps that come to rest with a change above this part of the increments have not converged.
CONVERGED = 1e-11
#: Near an equilibrium there are no increments; changes below this part of the symbols themselves are rounding.
REST = 2e-15
#: Sweeps are at rest where all changes together fall by less than this, or no single one falls.
STAGNANT = 0.8

INFINITY = float("inf")
ONES: Any = np.ones(3)


@native
def stage_increments(context: FixedFields, i: int, t: float, h: float, unknowns: Reals, fresh: Reals) -> int:
    """fresh <- the increments of stage i, by the method of the run."""
    if context.method_kind == GAUSS:
        return gauss_stage(context, i, t, h, unknowns, fresh)
    if context.method_kind == ISOSPECTRAL:
        return isospectral_stage(context, i, t, h, unknowns, fresh)
    return verlet_stage(context, t, h, unknowns, fresh)


@native
def first_guess(context: FixedFields, t: float, h: float, unknowns: Reals) -> int:
    """The unknowns from the steps before, or from one sweep from zero."""
    counts = context.counts
    stages, width = context.n_stages, context.n_stage_unknowns
    if counts.remembered == 0:
        for c in range(stages * width):
            unknowns[c] = 0.0
        for i in range(stages):
            status = stage_increments(context, i, t, h, unknowns, unknowns + i * width)
            if status != 0:
                return status
        counts.evaluations += stages
        return 0
    before, earlier = context.before, context.before_last
    is_long = counts.remembered > 1
    for i in range(stages):
        row = unknowns + i * width
        for c in range(width):
            row[c] = 0.0
        for j in range(stages):
            source = before + j * width
            if is_long:
                weight = context.long_guess[i * 2 * stages + stages + j]
                past = context.long_guess[i * 2 * stages + j]
                other = earlier + j * width
                for c in range(width):
                    row[c] += weight * source[c] + past * other[c]
            else:
                weight = context.guess[i * stages + j]
                for c in range(width):
                    row[c] += weight * source[c]
    return 0


@native
def size_of(context: FixedFields) -> float:
    """The sum of the sizes of the symbols."""
    y, total = context.y, 0.0
    for c in range(context.n_state):
        total += abs(y[c])
    return total


@native
def sweep(context: FixedFields, t: float, h: float) -> int:
    """UNKNOWNS_NOW <- the solution by sweeps; NOT_CONTRACTING where they do not converge."""
    counts = context.counts
    stages, width = context.n_stages, context.n_stage_unknowns
    unknowns, fresh, least = context.unknowns_now, context.fresh, context.least
    for c in range(stages * width):
        least[c] = INFINITY
    size = size_of(context)
    before = INFINITY
    for _ in range(MOST_SWEEPS):
        is_closer = False
        change, total = 0.0, 0.0
        for i in range(stages):
            row, nearest = unknowns + i * width, least + i * width
            status = stage_increments(context, i, t, h, unknowns, fresh)
            if status != 0:  # a stage that ran away has no rates
                return NOT_CONTRACTING if status == SINGULAR else status
            for c in range(width):
                difference = abs(fresh[c] - row[c])
                row[c] = fresh[c]
                total += abs(fresh[c])
                change += difference
                if difference < nearest[c]:
                    nearest[c] = difference
                    if difference > 0.0:
                        is_closer = True
        counts.sweeps += 1
        counts.evaluations += stages
        is_small = change <= CONVERGED * total + REST * size and total < INFINITY
        if not is_closer or (is_small and change > STAGNANT * before):
            return 0 if is_small else NOT_CONTRACTING
        before = change
    return NOT_CONTRACTING


@native
def implicit_step(context: FixedFields, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state. Returns 0, or a status of `native`, `verdicts` or `places`."""
    counts, unknowns = context.counts, context.unknowns_now
    if context.method_kind != GAUSS:
        fill_matrices(context, context.y)
    status = NOT_CONTRACTING
    if context.uses_newton == 0:
        status = first_guess(context, t, h, unknowns)
        if status == 0:
            status = sweep(context, t, h)
        if counts.remembered > 0 and (status == NOT_CONTRACTING or status == SINGULAR):
            counts.remembered = 0
            status = first_guess(context, t, h, unknowns)
            if status == 0:
                status = sweep(context, t, h)
    else:
        # Where sweeps do not contract, no polynomial foretells the rates.
        for c in range(context.n_stages * context.n_stage_unknowns):
            unknowns[c] = 0.0
        status = newton_solve(context, t, h)
    if status == 0:
        end_of_step(context)
    return status


@native
def end_of_step(context: FixedFields) -> None:
    """DELTA from the unknowns of a step, which are remembered for the guesses of the next."""
    counts, delta, unknowns = context.counts, context.delta, context.unknowns_now
    if context.method_kind == GAUSS:
        width = context.n_stage_unknowns
        for c in range(width):
            total = 0.0
            for i in range(context.n_stages):
                total += unknowns[i * width + c]
            delta[c] = total
    elif context.method_kind == ISOSPECTRAL:
        isospectral_end(context, ONES, unknowns, delta)
        transported(context, unknowns)
        if counts.remembered > 0:
            transported(context, context.before)
    else:
        verlet_end(context, unknowns, delta)
    context.before_last, context.before, context.unknowns_now = context.before, context.unknowns_now, context.before_last
    counts.remembered = min(counts.remembered + 1, 2)
