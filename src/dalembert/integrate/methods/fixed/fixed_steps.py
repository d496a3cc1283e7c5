"""The native loop of a run with fixed steps: one increment after another, added with compensation,
and what is stored.

A step y <- y + d loses what d has below the last digit of y. It is carried along and added to the
next increment (Kahan), so that what is kept exactly by each step drifts over a million of them like
a random walk of a digit that is not shown.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import CONTRADICTORY
from ....runtime.projection import MISSING, call_events, is_finite, project
from ...advance import (
    BUDGET,
    DEGENERATE,
    END,
    EXCLUDED,
    FULL,
    NOT_COMPILED,
    NOT_DETERMINED,
    ROW_REVERSED,
    UNSOLVED,
)
from ...events.watches import row_reversed
from ...run_fields import FixedFields
from .fixed_fields import NOT_CONTRACTING, UNSOLVABLE

__all__ = ["advance_fixed", "method_step", "step_from"]

#: Rows of constraints are compared after so many steps.
WATCHED = 8


@native
def method_step(context: FixedFields, t: float, h: float) -> int:
    """delta <- what a step from (t, y) adds to the state; each method binds its own.

    Returns 0, or a status of `projection`, `solve_status` or `fixed_fields`.
    """
    return UNSOLVABLE


@native
def increment(context: FixedFields, t: float, h: float) -> int:
    """delta <- what a step from (t, y) adds to the state; UNSOLVABLE where it is not finite."""
    status = method_step(context, t, h)
    if status == 0 and not is_finite(context.n_state, context.delta):
        return UNSOLVABLE
    return status


@native
def reason(status: int) -> int:
    """Why to return to Python after the status of a step."""
    if status == 0:
        return BUDGET
    if status == MISSING:
        return NOT_COMPILED
    if status == CONTRADICTORY:
        return EXCLUDED
    return UNSOLVED if status == UNSOLVABLE or status == NOT_CONTRACTING else NOT_DETERMINED


@native
def store_step(context: FixedFields) -> None:
    """Store the state if it was asked for: every so many steps, at the end, and at `at`."""
    ns = context.n_state
    clock, counts, y = context.clock, context.counts, context.y
    number, wanted = counts.number, context.at_numbers
    while counts.next_at < context.n_at and wanted[counts.next_at] <= number:
        target = context.at_states + counts.next_at * ns
        for c in range(ns):
            target[c] = y[c]
        counts.next_at += 1
    if number >= counts.next_stored or number == context.n_steps:
        counts.next_stored = number + context.store_every - number % context.store_every
        times, states = context.step_times, context.step_states + counts.recorded * ns
        times[counts.recorded] = clock.t
        for c in range(ns):
            states[c] = y[c]
        counts.recorded += 1


@native
def take_steps(context: FixedFields, budget: int) -> int:
    """Steps until the end, a full buffer, a failure, or `budget` steps."""
    ns = context.n_state
    clock, counts = context.clock, context.counts
    y, low, delta = context.y, context.rounding, context.delta
    for _ in range(budget):
        if counts.number >= context.n_steps:
            return END
        if counts.recorded >= context.capacity:
            return FULL
        status = increment(context, clock.t, clock.h)
        if status != 0:
            counts.last_status = status
            return reason(status)
        for c in range(ns):
            low[c] += delta[c]
            before = y[c]
            y[c] = before + low[c]
            low[c] += before - y[c]
        counts.number += 1
        clock.t = (
            clock.t_end
            if counts.number == context.n_steps
            else clock.t_begin + clock.h * counts.number
        )
        counts.accepted += 1
        if context.projects != 0:
            status = project(context, clock.t, y, 1, 1, 8)
            counts.projected += 1
            if status != 0:
                counts.last_status = status
                return NOT_DETERMINED
        store_step(context)
        if context.n_events > 0:
            quality = context.events_new
            call_events(context, clock.t, y, quality)
            if quality[0] < 0.0:
                return DEGENERATE
    if counts.number >= context.n_steps:
        return END
    return BUDGET


@native
def advance_fixed(context: FixedFields, budget: int) -> int:
    """Take at most `budget` steps, until the end, a full buffer, a failure or a reversed row."""
    if context.watch_program == 0:
        return take_steps(context, budget)
    clock, done = context.clock, 0
    while done < budget:
        code = take_steps(context, min(WATCHED, budget - done))
        if (code == BUDGET or code == END) and row_reversed(context, clock.t, context.y):
            return ROW_REVERSED
        if code != BUDGET:
            return code
        done += WATCHED
    return BUDGET


@native
def step_from(context: FixedFields, t: float, h: float, y_from: Reals, result: Reals) -> int:
    """result <- the state after one step of any size from (t, y_from), without memory of steps
    before.

    Returns BUDGET, or why there is none.
    """
    ns, counts = context.n_state, context.counts
    y, delta = context.y, context.delta
    counts.remembered = 0
    for c in range(ns):
        y[c] = y_from[c]
    status = increment(context, t, h)
    if status == 0:
        for c in range(ns):
            result[c] = y[c] + delta[c]
        if context.projects != 0:
            status = project(context, t + h, result, 1, 1, 8)
    return reason(status)
