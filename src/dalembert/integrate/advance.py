"""The native loop of a run: steps, step control, projection, detection of events, and what is stored.

A run is a set of arrays (`run.Run`), found through its context (`fields.RunFields`); `advance` works on
them until something needs a decision that Python takes: an event, a full buffer, an end. Nothing is lost
in between, so that a run can be looked at, interrupted and continued at any return.
"""

from __future__ import annotations

from math import nextafter, sqrt

import numpy as np

from ..codegen.native.language import Reals, native
from ..runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ..runtime.projection import MISSING, STUCK, call_events, evaluate, evaluate_on_constraints, project
from .events.rank_watch import row_reversed
from .methods.adaptive.dop853 import EXPONENT, dense_coefficients, error_norm, interpolate, interpolate_rate, step
from .methods.adaptive.taylor_steps import expand, largest_step, taylor_rate, taylor_state
from .run_fields import RunFields

__all__ = ["advance", "commit", "conclude", "finish_step", "scaled_norm", "short_step"]

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

#: The status of an attempt whose error is too large, beside those of `native` and `verdicts`.
INACCURATE = 10

#: Into how many parts a step is cut when the sign of an event is looked for; the steps of the Taylor method are longer.
PARTS, TAYLOR_PARTS = 4, 32

#: The residual of the dense output, times the step, may be so many tolerances of a step: it is of a lower order than the step.
MOST_RESIDUAL = 1e4
#: Where in a step it is looked at: between the stages of dop853, and at points without a pattern for the Taylor method.
POINTS = np.array([0.47, 0.75, 0.93])
TAYLOR_POINTS = np.array([0.11, 0.23, 0.36, 0.48, 0.61, 0.74, 0.87, 1.0])
N_POINTS, N_TAYLOR_POINTS = 3, 8
#: What rounding makes of a residual, relative to the rates.
RATE_NOISE = 1e-12

#: The part of a step after which an event that began at zero has the sign by which it left, and the size that it counts with.
SOON, JUST_OFF = 2.0**-20, 1e-300

#: Where rows are left out, the projection of positions after a step may move it by so many times the tolerance of a step. Rows
#: on velocities that are left out are looked at by the projection itself.
MOST_MOVED = 300.0

INFINITY = float("inf")


@native
def short_step(context: RunFields, elapsed: float, result: Reals) -> int:
    """result <- the state a time `elapsed` after the beginning of the last step, by a step of its own, projected."""
    ns = context.n_state
    clock, counts = context.clock, context.counts
    status = 0
    if context.expansion != 0:
        taylor_state(context, elapsed, context.y_old, result)
    else:
        stages, spare = context.stages, context.spare_stages
        for i in range(ns):
            spare[i] = stages[i]
        status = step(context, clock.t_old, elapsed, context.y_old, spare, context.stage, result)
        counts.evaluations += 11
    if status == 0 and context.projects != 0:
        status = project(context, clock.t_old + elapsed, result, 0, 1, 8)
    return status


@native
def make_dense(context: RunFields) -> int:
    """The polynomial of the last step, once."""
    clock, counts = context.clock, context.counts
    if counts.has_dense != 0 or context.expansion != 0:
        return 0
    status = dense_coefficients(
        context,
        clock.t_old,
        clock.h_old,
        context.y_old,
        context.y,
        context.stages,
        context.stage,
        context.dense,
    )
    counts.evaluations += 3
    if status == 0:
        counts.has_dense = 1
    return status


@native
def state_within(context: RunFields, x: float, result: Reals) -> None:
    """result <- the state at the fraction x of the last step, by its polynomial."""
    y_old = context.y_old
    if context.expansion != 0:
        clock = context.clock
        taylor_state(context, x * clock.h_old, y_old, result)
    else:
        interpolate(context.n_state, x, y_old, context.dense, result)


@native
def finish_step(context: RunFields) -> int:
    """Store what was asked for inside the last step, which ends at clock.t in y, and the step itself."""
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
        for i in range(ns):
            stages[i] = stages[12 * (ns + 1) + i]
        old, new = context.events_old, context.events_new
        for e in range(context.n_events):
            old[e] = new[e]
    return status


@native
def may_dip(before: float, here: float, after: float) -> bool:
    """Whether three neighbouring values of one sign leave room for two zero crossings through zero between them.

    The parabola through them has its vertex -d/s spacings from the middle, with the value here - d^2/(2 s), where d is half
    the difference of the outer values and s the second difference. What is nearer to zero than s is near enough to be looked
    at. An event that has just left zero has turned there.
    """
    if before * here <= 0.0 or here * after <= 0.0 or abs(before) <= JUST_OFF:
        return False
    sign = 1.0 if here > 0.0 else -1.0
    derivative, bend = 0.5 * sign * (after - before), sign * (before - 2.0 * here + after)
    return bend > 0.0 and abs(derivative) <= 1.5 * bend and sign * here - 0.5 * derivative * derivative / bend < bend


@native
def leave_zero(context: RunFields) -> None:
    """An event that is zero where the last step began counts by the sign that it has soon after.

    Else it could leave zero and return unseen before the first point at which its sign is looked at.
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
    """Whether any event changed its sign inside the last step, looked for at its end and at points inside, or may have.

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
    parts = PARTS if context.expansion == 0 else TAYLOR_PARTS
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
            if may_dip(tried[(k - 1) * events + e], tried[k * events + e], tried[(k + 1) * events + e]):
                return True
    return False


@native
def residual(context: RunFields, time: float, h: float, state: Reals, rate: Reals, found: Reals) -> float:
    """The residual of a polynomial that has this state and rate inside a step h, relative to what a step may have."""
    ns = context.n_state
    clock, atol = context.clock, context.atol
    status = evaluate(context, time, state, found)
    if status == MISSING or status == SINGULAR:
        return 0.0
    total = 0.0
    for i in range(ns):
        scale = MOST_RESIDUAL * (atol[i] + clock.rtol * abs(state[i])) + abs(h) * RATE_NOISE * abs(found[i])
        total += (h * (found[i] - rate[i]) / scale) ** 2
    return sqrt(total / ns)


@native
def jumps_over(context: RunFields, h: float) -> bool:
    """Whether an attempt that seems accurate has passed something unseen: its polynomial does not obey the equations inside.

    Stages lie apart, and coefficients know the beginning alone. What is narrower than a step shows in between.
    """
    ns = context.n_state
    clock, counts, y = context.clock, context.counts, context.y
    state, spare = context.stage, context.spare_stages
    rate, found, points = spare, spare + (ns + 1), N_TAYLOR_POINTS
    if context.expansion == 0:
        points = N_POINTS
        stages, dense = context.stages, context.dense
        if dense_coefficients(context, clock.t, h, y, context.y_new, stages, state, dense) != 0:
            return False
        counts.evaluations += 3
    for k in range(points):
        x = POINTS[k] if context.expansion == 0 else TAYLOR_POINTS[k]
        if context.expansion == 0:
            interpolate(ns, x, y, context.dense, state)
            interpolate_rate(ns, x, h, context.dense, rate)
        else:
            taylor_state(context, x * h, y, state)
            taylor_rate(context, x * h, rate)
        counts.evaluations += 1
        if not residual(context, clock.t + x * h, h, state, rate, found) <= 1.0:
            return True
    return False


@native
def try_expansion(context: RunFields, h: float, t_new: float) -> int:
    """One attempt by the expansion at the present state: its sum, projected. Returns a status; clock.cap bounds the next."""
    clock, counts = context.clock, context.counts
    y_new = context.y_new
    taylor_state(context, h, context.y, y_new)
    if context.projects != 0:
        status = project(context, t_new, y_new, 0, 1, 8)
        counts.projected += 1
        if status != 0:
            clock.cap = 0.25 * abs(h)
            return status
    if context.is_controlled != 0 and jumps_over(context, h):
        clock.cap = 0.25 * abs(h)
        return INACCURATE
    clock.cap *= 4.0
    return 0


@native
def scaled_norm(ns: int, values: Reals, other: Reals, y: Reals, rtol: float, atol: Reals) -> float:
    """The root mean square of values - other, relative to the tolerance at y."""
    total = 0.0
    for i in range(ns):
        total += ((values[i] - other[i]) / (atol[i] + rtol * abs(y[i]))) ** 2
    return sqrt(total / ns)


@native
def try_step(context: RunFields, h: float, t_new: float) -> int:
    """One attempt: the step, its projection, and the rate at its end. Returns a status; clock.h is the next step to try."""
    ns = context.n_state
    clock, counts = context.clock, context.counts
    y, y_new, stages, choice = context.y, context.y_new, context.stages, context.active_rows
    status = step(context, clock.t, h, y, stages, context.stage, y_new)
    counts.evaluations += 11
    if status != 0:
        clock.h = 0.25 * h
        return status
    error = error_norm(ns, h, y, y_new, stages, clock.rtol, context.atol)
    if not error <= 1.0:
        factor = 0.9 * error**-EXPONENT if error < INFINITY else 0.25
        clock.h = h * max(0.2, min(factor, 0.9))
        return INACCURATE
    if context.projects != 0:
        reached, atol = context.stage, context.atol
        for i in range(ns):
            reached[i] = y_new[i]
        status = project(context, t_new, y_new, 0, 0, 8)
        counts.projected += 1
        if status == 0 and choice[0] > 0 and scaled_norm(ns, y_new, reached, y_new, clock.rtol, atol) > MOST_MOVED:
            status = STUCK  # a row that was left out of the stages says something of its own
        if status == 0:
            status = project(context, t_new, y_new, 1, 1, 8)
        if status != 0:
            clock.h = 0.25 * h
            return status
    status = evaluate_on_constraints(context, t_new, y_new, stages + 12 * (ns + 1))
    counts.evaluations += 1
    if status == MISSING or status == SINGULAR:
        clock.h = 0.25 * h
        return status
    clock.h = h * (6.0 if error == 0.0 else min(6.0, max(0.3, 0.9 * error**-EXPONENT)))
    info = context.info
    clock.weakest = min(clock.weakest, min(info[1], info[3]) if info[0] >= float(context.n_constraints) else 0.0)
    if context.is_controlled != 0 and jumps_over(context, h):
        clock.h = 0.2 * h
        return INACCURATE
    if status == CONTRADICTORY:
        return CONTRADICTORY
    return 0


@native
def conclude(context: RunFields) -> int:
    """Look for events inside the last step, and finish it where there is none; BUDGET where the run goes on."""
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
    """Steps until the end, an event, a full buffer, a failure, or `budget` attempts. The first stage is the rate at y."""
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
        if context.expansion != 0:
            if expand(context, clock.t, y) != 0:
                return NOT_DETERMINED
            counts.evaluations += 1
            clock.h = min(clock.cap, largest_step(context, y, clock.rtol, context.atol))
        h = direction * min(abs(clock.h), clock.max_step)
        if abs(h) < 10.0 * abs(nextafter(clock.t, direction * INFINITY) - clock.t) and abs(h) < abs(left):
            return TOO_SMALL
        if abs(left) < 1.1 * abs(h):
            h = left
        t_new = clock.t_end if h == left else clock.t + h
        h = t_new - clock.t  # what the clock can tell: far from zero a sum of steps would leave its own times
        status = try_expansion(context, h, t_new) if context.expansion != 0 else try_step(context, h, t_new)
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
