r"""The implicit equations of one step, solved to rounding: U_i = F_i(U_1, ..., U_s), rows of
increments.

The guess continues the polynomial through the rates of the steps before. Sweeps take each stage at
once, and go on until they come no closer to what was there a sweep before: a tolerance would leave
a part that is the same in every step and adds up (E. Hairer, R. McLachlan, A. Razakarivony, BIT 48
(2008) 231-243). Where sweeps do not contract, `newton` takes over.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import SINGULAR
from ...run_fields import FixedFields
from ..fixed.fixed_fields import NOT_CONTRACTING
from ..fixed.fixed_steps import method_step
from ..hypotheses import refuse_positions
from ..method import FixedStep, Method
from .gauss_collocation import gauss_stage, tableau
from .newton import newton_solve

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = [
    "METHODS",
    "begin_stages",
    "bind_stages",
    "implicit_step",
    "stage_increments",
    "sum_stages",
]

#: The most sweeps of a step; a contraction that needs more costs more than Newton's method.
MOST_SWEEPS = 30
#: Sweeps that come to rest with a change above this part of the increments have not converged.
CONVERGED = 1e-11
#: Changes below this part of the symbols are rounding, as near an equilibrium.
REST = 2e-15
#: Sweeps are at rest where all changes together fall by less than this, or no single one falls.
STAGNANT = 0.8

INFINITY = float("inf")


@native
def stage_increments(
    context: FixedFields, i: int, t: float, h: float, unknowns: Reals, fresh: Reals
) -> int:
    """fresh <- the increments of stage i; each method binds its own."""
    return NOT_CONTRACTING


@native
def begin_stages(context: FixedFields) -> None:
    """Prepare the stages of a step; methods that need that bind their own."""


@native
def sum_stages(context: FixedFields) -> None:
    """delta <- what the unknowns of a step add to the state; a sum by default."""
    delta, unknowns, width = context.delta, context.unknowns_now, context.n_stage_unknowns
    for c in range(width):
        total = 0.0
        for i in range(context.n_stages):
            total += unknowns[i * width + c]
        delta[c] = total


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
    """delta <- what a step from (t, y) adds to the state; see `fixed_steps.method_step`."""
    counts, unknowns = context.counts, context.unknowns_now
    begin_stages(context)
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
    """Set delta from the unknowns of a step, and remember these for the guesses of the next."""
    counts = context.counts
    sum_stages(context)
    context.before_last, context.before, context.unknowns_now = (
        context.before,
        context.unknowns_now,
        context.before_last,
    )
    counts.remembered = min(counts.remembered + 1, 2)


def bind_stages(run: FixedRun, stages: int, width: int) -> None:
    """Bind the coefficients of `stages` stages with `width` unknowns each, and their arrays."""
    bind, fields, table = run.context.fields.bind, run.context.fields, tableau(stages)
    fields.n_stages, fields.n_stage_unknowns = stages, width
    for name in ("unknowns_now", "least", "before", "before_last"):
        bind(name, np.zeros((stages, max(1, width))))
    bind("fresh", np.zeros(max(1, width)))
    for name in ("nodes", "weights", "mix", "guess", "long_guess"):
        bind(name, getattr(table, name))


def _prepare(run: FixedRun, stages: int) -> None:
    bind_stages(run, stages, run.kernel.n_state)


METHODS = tuple(
    Method(
        f"gauss{2 * stages}",
        f"Gauss collocation with {stages} stage{'s' * (stages > 1)}; keeps quadratic integrals",
        2 * stages,
        FixedStep(
            ((method_step, implicit_step), (stage_increments, gauss_stage)),
            partial(_prepare, stages=stages),
            has_newton=True,
            allows_adapt=True,
        ),
        check=refuse_positions,
        is_symplectic=True,
    )
    for stages in (1, 2, 3)
)
