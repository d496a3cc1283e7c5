"""The native loop of a run: steps, step control, projection, detection of events, and what is
stored.

A run is a set of arrays (`run.Run`), found through its context (`fields.RunFields`); `advance`
works on them until something needs a decision that Python takes: an event, a full buffer, an end.
Nothing is lost in between, so that a run can be looked at, interrupted and continued at any return.
"""

from __future__ import annotations

from math import nextafter

from ..codegen.native.language import Reals, native
from ..runtime.gauss.solve_status import CONTRADICTORY
from ..runtime.projection import MISSING, STUCK, call_events, project
from .events.watches import row_reversed
from .methods.step_functions import (
    begin_step,
    end_stage,
    make_dense,
    shorter_step,
    state_within,
    try_step,
)
from .run_fields import RunFields

__all__ = ["advance", "commit", "conclude", "finish_step", "short_step"]

# Why `advance` returned.
(
    BUDGET,
    END,
    EVENT,
    FULL,
    TOO_SMALL,
    NOT_DETERMINED,
    EXCLUDED,
    NOT_COMPILED,
    OFF_CONSTRAINTS,
    COMMIT_NOT_COMPILED,
    ROW_REVERSED,
) = range(11)
# Of fixed steps: the equations of a step are not solved; the independent velocities want to be
# chosen anew.
UNSOLVED, DEGENERATE = 20, 21

#: An event at zero counts by its sign after this part of a step, and with this size.
SOON, JUST_OFF = 2.0**-20, 1e-300

INFINITY = float("inf")


@native
def short_step(context: RunFields, elapsed: float, result: Reals) -> int:
    """result <- the state `elapsed` after the last step began, by a step of its own, projected."""
    clock = context.clock
    status = shorter_step(context, elapsed, result)
    if status == 0 and context.projects != 0:
        status = project(context, clock.t_old + elapsed, result, 0, 1, 8)
    return status


@native
def finish_step(context: RunFields) -> int:
    """Store the last step, and the states at the times that were asked for inside it."""
    ns = context.n_state
    clock, counts, y = context.clock, context.counts, context.y
    at, at_states = context.at, context.at_states
    forward = clock.h_old > 0.0
    while counts.next_at < context.n_at:
        k = counts.next_at
        wanted, target = at[k], at_states + k * ns
        if (forward and wanted > clock.t) or (not forward and wanted < clock.t):
            break
        if wanted == clock.t:
            for i in range(ns):
                target[i] = y[i]
        elif context.exact_at != 0:
            status = short_step(context, wanted - clock.t_old, target)
            if status != 0:
                return status
        else:
            status = make_dense(context)
            if status != 0:
                return status
            x = (wanted - clock.t_old) / clock.h_old
            state_within(context, x, target)
            if context.projects != 0:
                status = project(context, wanted, target, 0, 1, 2)
                if status != 0:
                    return status
        counts.next_at += 1
    times, states = context.step_times, context.step_states + counts.recorded * ns
    times[counts.recorded] = clock.t
    for i in range(ns):
        states[i] = y[i]
    counts.recorded += 1
    return 0


@native
def commit(context: RunFields) -> int:
    """Finish the last step and make its end the beginning of the next."""
    status = finish_step(context)
    if status == 0:
        ns = context.n_state
        stages = context.stages
        end = stages + end_stage(context) * (ns + 1)
        for i in range(ns):
            stages[i] = end[i]
        old, new = context.events_old, context.events_new
        for e in range(context.n_events):
            old[e] = new[e]
    return status


@native
def may_dip(before: float, here: float, after: float) -> bool:
    """Whether three neighbouring values of one sign leave room for two zero crossings between
    them.

    The parabola through them has its vertex -d/s spacings from the middle, with the value here -
    d^2/(2 s), where d is half the difference of the outer values and s the second difference. What
    is nearer to zero than s is near enough to be looked at. An event that has just left zero has
    turned there.
    """
    if before * here <= 0.0 or here * after <= 0.0 or abs(before) <= JUST_OFF:
        return False
    sign = 1.0 if here > 0.0 else -1.0
    derivative, bend = 0.5 * sign * (after - before), sign * (before - 2.0 * here + after)
    return (
        bend > 0.0
        and abs(derivative) <= 1.5 * bend
        and sign * here - 0.5 * derivative * derivative / bend < bend
    )


@native
def leave_zero(context: RunFields) -> None:
    """An event that is zero where the last step began counts by the sign that it has soon after.

    Else it could leave zero and return unseen before the first point at which its sign is looked
    at.
    """
    at_zero = 0
    clock, stage = context.clock, context.stage
    old, tried = context.events_old, context.events_tried
    for e in range(context.n_searched):
        at_zero += 1 if old[e] == 0.0 else 0
    if at_zero == 0 or make_dense(context) != 0:
        return
    state_within(context, SOON, stage)
    call_events(context, clock.t_old + SOON * clock.h_old, stage, tried)
    for e in range(context.n_searched):
        if old[e] == 0.0 and tried[e] != 0.0:
            old[e] = JUST_OFF if tried[e] > 0.0 else -JUST_OFF


@native
def crossed(context: RunFields) -> bool:
    """Whether any event changed its sign inside the last step, looked for at its end and at points
    inside, or may have.

    The first N_SEARCHED events are worth the search inside.
    """
    events, searched = context.n_events, context.n_searched
    clock, stage = context.clock, context.stage
    old, new, tried = context.events_old, context.events_new, context.events_tried
    call_events(context, clock.t, context.y, new)
    leave_zero(context)
    for e in range(events):
        if old[e] * new[e] < 0.0 or (new[e] == 0.0 and old[e] != 0.0):
            return True
    if searched == 0 or make_dense(context) != 0:
        return False
    parts = context.n_parts
    for e in range(events):
        tried[e], tried[parts * events + e] = old[e], new[e]
    for k in range(1, parts):
        x = float(k) / float(parts)
        state_within(context, x, stage)
        call_events(context, clock.t_old + x * clock.h_old, stage, tried + k * events)
        for e in range(searched):
            if old[e] * tried[k * events + e] < 0.0 or tried[k * events + e] * new[e] < 0.0:
                return True
    for k in range(1, parts):
        for e in range(searched):
            if may_dip(
                tried[(k - 1) * events + e], tried[k * events + e], tried[(k + 1) * events + e]
            ):
                return True
    return False


@native
def conclude(context: RunFields) -> int:
    """Look for events inside the last step, and finish it if there is none; BUDGET to go on."""
    if context.n_events > 0 and crossed(context):
        return EVENT
    status = commit(context)
    if status == MISSING:
        return COMMIT_NOT_COMPILED
    if status != 0:
        return OFF_CONSTRAINTS if status == STUCK else NOT_DETERMINED
    return BUDGET


@native
def advance(context: RunFields, budget: int) -> int:
    """Take at most `budget` attempts, until something needs a decision; stage 0 is the rate."""
    ns = context.n_state
    clock, counts = context.clock, context.counts
    y, y_old, y_new = context.y, context.y_old, context.y_new
    for _ in range(budget):
        left = clock.t_end - clock.t
        if left == 0.0:
            return END
        if counts.recorded >= context.capacity:
            return FULL
        direction = 1.0 if left > 0.0 else -1.0
        if begin_step(context) != 0:
            return NOT_DETERMINED
        h = direction * min(abs(clock.h), clock.max_step)
        if abs(h) < 10.0 * abs(nextafter(clock.t, direction * INFINITY) - clock.t) and abs(h) < abs(
            left
        ):
            return TOO_SMALL
        if abs(left) < 1.1 * abs(h):
            h = left
        t_new = clock.t_end if h == left else clock.t + h
        # What the clock can tell: far from zero a sum of steps would leave its own times.
        h = t_new - clock.t
        status = try_step(context, h, t_new)
        if status == MISSING:
            clock.h = h
            return NOT_COMPILED
        if status != 0 and status != CONTRADICTORY:
            counts.rejected += 1
            counts.last_status = status
            continue
        counts.last_status = status
        counts.accepted += 1
        counts.has_dense = 0
        for i in range(ns):
            y_old[i] = y[i]
            y[i] = y_new[i]
        clock.t_old, clock.h_old, clock.t = clock.t, h, t_new
        if status == CONTRADICTORY:
            return EXCLUDED
        if context.watch_program != 0 and row_reversed(context, t_new, y):
            return ROW_REVERSED
        code = conclude(context)
        if code != BUDGET:
            return code
    if clock.t_end == clock.t:
        return END
    return BUDGET
