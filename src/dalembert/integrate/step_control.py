"""The control of steps that adapt: attempts by an estimate of the error, and by the residual.

Which step is taken and what its dense output is comes from the method (`methods.step_functions`).
"""

from __future__ import annotations

from math import sqrt

from ..codegen.native.language import Reals, native
from ..runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ..runtime.projection import MISSING, STUCK, evaluate, evaluate_on_constraints, project
from .methods.step_functions import (
    end_stage,
    residual_point,
    residual_points,
    step_growth,
    trial_dense,
    trial_error,
    trial_state,
    trial_step,
)
from .run_fields import RunFields

__all__ = [
    "INACCURATE",
    "MOST_RESIDUAL",
    "RATE_NOISE",
    "jumps_over",
    "scaled_norm",
    "try_controlled_step",
]

#: The status of an attempt whose error is too large, beside those of `projection`.
INACCURATE = 10
#: The residual of dense output, times the step, may be so many tolerances of a step.
MOST_RESIDUAL = 1e4
#: What rounding makes of a residual, relative to the rates.
RATE_NOISE = 1e-12
#: Where rows are left out, the projection of positions after a step may move it by so many times
#: the tolerance of a step. Rows on velocities that are left out are looked at by the projection
#: itself.
MOST_MOVED = 300.0

INFINITY = float("inf")


@native
def residual(
    context: RunFields, time: float, h: float, state: Reals, rate: Reals, found: Reals
) -> float:
    """The residual of dense output inside a step h, relative to what a step may have."""
    ns = context.n_state
    clock, atol = context.clock, context.atol
    status = evaluate(context, time, state, found)
    if status == MISSING or status == SINGULAR:
        return 0.0
    total = 0.0
    for i in range(ns):
        scale = MOST_RESIDUAL * (atol[i] + clock.rtol * abs(state[i])) + abs(h) * RATE_NOISE * abs(
            found[i]
        )
        total += (h * (found[i] - rate[i]) / scale) ** 2
    return sqrt(total / ns)


@native
def jumps_over(context: RunFields, h: float) -> bool:
    """Whether an attempt that seems accurate has passed something unseen: its polynomial does not
    obey the equations inside.

    Stages lie apart, and coefficients know the beginning alone. What is narrower than a step shows
    in between.
    """
    ns = context.n_state
    clock, counts = context.clock, context.counts
    state, spare = context.stage, context.spare_stages
    rate, found = spare, spare + (ns + 1)
    if trial_dense(context, h) != 0:
        return False
    for k in range(residual_points(context)):
        x = residual_point(context, k)
        trial_state(context, x, h, state, rate)
        counts.evaluations += 1
        if not residual(context, clock.t + x * h, h, state, rate, found) <= 1.0:
            return True
    return False


@native
def scaled_norm(ns: int, values: Reals, other: Reals, y: Reals, rtol: float, atol: Reals) -> float:
    """The root mean square of values - other, relative to the tolerance at y."""
    total = 0.0
    for i in range(ns):
        total += ((values[i] - other[i]) / (atol[i] + rtol * abs(y[i]))) ** 2
    return sqrt(total / ns)


@native
def try_controlled_step(context: RunFields, h: float, t_new: float) -> int:
    """Attempt a step by its estimated error, project it, and find the rate at its end.

    Returns 0 or a status; clock.h is the next step to try.
    """
    ns = context.n_state
    clock, counts = context.clock, context.counts
    y_new, stages, choice = context.y_new, context.stages, context.active_rows
    status = trial_step(context, h)
    if status != 0:
        clock.h = 0.25 * h
        return status
    error = trial_error(context, h)
    if not error <= 1.0:
        factor = step_growth(context, error) if error < INFINITY else 0.25
        clock.h = h * max(0.2, min(factor, 0.9))
        return INACCURATE
    if context.projects != 0:
        reached, atol = context.stage, context.atol
        for i in range(ns):
            reached[i] = y_new[i]
        status = project(context, t_new, y_new, 0, 0, 8)
        counts.projected += 1
        if (
            status == 0
            and choice[0] > 0
            and scaled_norm(ns, y_new, reached, y_new, clock.rtol, atol) > MOST_MOVED
        ):
            status = STUCK  # a row that was left out of the stages says something of its own
        if status == 0:
            status = project(context, t_new, y_new, 1, 1, 8)
        if status != 0:
            clock.h = 0.25 * h
            return status
    status = evaluate_on_constraints(context, t_new, y_new, stages + end_stage(context) * (ns + 1))
    counts.evaluations += 1
    if status == MISSING or status == SINGULAR:
        clock.h = 0.25 * h
        return status
    clock.h = h * (6.0 if error == 0.0 else min(6.0, max(0.3, step_growth(context, error))))
    info = context.info
    clock.weakest = min(
        clock.weakest, min(info[1], info[3]) if info[0] >= float(context.n_constraints) else 0.0
    )
    if context.is_controlled != 0 and jumps_over(context, h):
        clock.h = 0.2 * h
        return INACCURATE
    if status == CONTRADICTORY:
        return CONTRADICTORY
    return 0
