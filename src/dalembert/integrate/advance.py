"""The native loop of a run: steps, step control, projection, detection of events, and what is stored.

A run is a set of arrays (`run.Run`), found through a book; `advance` works on them until something needs a decision that Python
takes: an event, a full buffer, an end. Nothing is lost in between, so that a run can be looked at, interrupted and continued at
any return.
"""

from __future__ import annotations

from math import nextafter, sqrt

import numpy as np

from ..compiled.language import Integers, Reals, integers_at, native, reals_at
from ..compiled.native import CHOICES, FIRST_FREE, INFO, MISSING, ROWS, STATE, STUCK, call_events, evaluate, project, settle
from ..compiled.verdicts import CONTRADICTORY, SINGULAR
from .row_watch import row_reversed
from .steppers.dop853 import EXPONENT, dense_coefficients, error_norm, interpolate, interpolate_rate, step
from .steppers.taylor import expand, largest_step, taylor_rate, taylor_state
from .steppers.taylor_places import EXPANSION
from .watch_places import WATCH_PROGRAM, WATCH_ROWS

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

# Places in the book of a run: addresses of arrays, then sizes.
(
    CLOCK, COUNTS, Y, Y_OLD, Y_NEW, STAGES, SPARE_STAGES, DENSE, STAGE, AT, AT_STATES, STEP_TIMES, STEP_STATES,
    EVENTS_OLD, EVENTS_NEW, EVENTS_TRIED, ATOL, N_AT, CAPACITY, N_EVENTS, N_SEARCHED, PROJECT, EXACT_AT,
    CONTROLLED,
) = range(FIRST_FREE, FIRST_FREE + 24)  # fmt: skip
BOOK_SIZE = WATCH_ROWS + 1

# Places in the array CLOCK (reals) and COUNTS (integers). WEAKEST is the least pivot at the ends of steps by stages, 0 where
# rows were left out.
T, H, T_END, T_OLD, H_OLD, MAX_STEP, RTOL, CAP, WEAKEST = range(9)
CLOCK_SIZE = 9
EVALUATIONS, ACCEPTED, REJECTED, PROJECTED, RECORDED, NEXT_AT, LAST_STATUS, HAS_DENSE = range(8)

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
def short_step(book: Integers, elapsed: float, result: Reals) -> int:
    """result <- the state a time `elapsed` after the beginning of the last step, by a step of its own, projected."""
    ns = book[STATE]
    clock, counts = reals_at(book[CLOCK]), integers_at(book[COUNTS])
    status = 0
    if book[EXPANSION] != 0:
        taylor_state(book, elapsed, reals_at(book[Y_OLD]), result)
    else:
        stages, spare = reals_at(book[STAGES]), reals_at(book[SPARE_STAGES])
        for i in range(ns):
            spare[i] = stages[i]
        status = step(book, clock[T_OLD], elapsed, reals_at(book[Y_OLD]), spare, reals_at(book[STAGE]), result)
        counts[EVALUATIONS] += 11
    if status == 0 and book[PROJECT] != 0:
        status = project(book, clock[T_OLD] + elapsed, result, 0, 1, 8)
    return status


@native
def make_dense(book: Integers) -> int:
    """The polynomial of the last step, once."""
    clock, counts = reals_at(book[CLOCK]), integers_at(book[COUNTS])
    if counts[HAS_DENSE] != 0 or book[EXPANSION] != 0:
        return 0
    status = dense_coefficients(
        book,
        clock[T_OLD],
        clock[H_OLD],
        reals_at(book[Y_OLD]),
        reals_at(book[Y]),
        reals_at(book[STAGES]),
        reals_at(book[STAGE]),
        reals_at(book[DENSE]),
    )
    counts[EVALUATIONS] += 3
    if status == 0:
        counts[HAS_DENSE] = 1
    return status


@native
def state_within(book: Integers, x: float, result: Reals) -> None:
    """result <- the state at the fraction x of the last step, by its polynomial."""
    y_old = reals_at(book[Y_OLD])
    if book[EXPANSION] != 0:
        clock = reals_at(book[CLOCK])
        taylor_state(book, x * clock[H_OLD], y_old, result)
    else:
        interpolate(book[STATE], x, y_old, reals_at(book[DENSE]), result)


@native
def finish_step(book: Integers) -> int:
    """Store what was asked for inside the last step, which ends at clock[T] in y, and the step itself."""
    ns = book[STATE]
    clock, counts, y = reals_at(book[CLOCK]), integers_at(book[COUNTS]), reals_at(book[Y])
    at, at_states = reals_at(book[AT]), reals_at(book[AT_STATES])
    forward = clock[H_OLD] > 0.0
    while counts[NEXT_AT] < book[N_AT]:
        k = counts[NEXT_AT]
        wanted, target = at[k], at_states + k * ns
        if (forward and wanted > clock[T]) or (not forward and wanted < clock[T]):
            break
        if wanted == clock[T]:
            for i in range(ns):
                target[i] = y[i]
        elif book[EXACT_AT] != 0:
            status = short_step(book, wanted - clock[T_OLD], target)
            if status != 0:
                return status
        else:
            status = make_dense(book)
            if status != 0:
                return status
            x = (wanted - clock[T_OLD]) / clock[H_OLD]
            state_within(book, x, target)
            if book[PROJECT] != 0:
                status = project(book, wanted, target, 0, 1, 2)
                if status != 0:
                    return status
        counts[NEXT_AT] += 1
    times, states = reals_at(book[STEP_TIMES]), reals_at(book[STEP_STATES]) + counts[RECORDED] * ns
    times[counts[RECORDED]] = clock[T]
    for i in range(ns):
        states[i] = y[i]
    counts[RECORDED] += 1
    return 0


@native
def commit(book: Integers) -> int:
    """Finish the last step and make its end the beginning of the next."""
    status = finish_step(book)
    if status == 0:
        ns = book[STATE]
        stages = reals_at(book[STAGES])
        for i in range(ns):
            stages[i] = stages[12 * (ns + 1) + i]
        old, new = reals_at(book[EVENTS_OLD]), reals_at(book[EVENTS_NEW])
        for e in range(book[N_EVENTS]):
            old[e] = new[e]
    return status


@native
def may_dip(before: float, here: float, after: float) -> bool:
    """Whether three neighbouring values of one sign leave room for two passages through zero between them.

    The parabola through them has its vertex -d/s spacings from the middle, with the value here - d^2/(2 s), where d is half
    the difference of the outer values and s the second difference. What is nearer to zero than s is near enough to be looked
    at. An event that has just left zero has turned there.
    """
    if before * here <= 0.0 or here * after <= 0.0 or abs(before) <= JUST_OFF:
        return False
    sign = 1.0 if here > 0.0 else -1.0
    slope, bend = 0.5 * sign * (after - before), sign * (before - 2.0 * here + after)
    return bend > 0.0 and abs(slope) <= 1.5 * bend and sign * here - 0.5 * slope * slope / bend < bend


@native
def leave_zero(book: Integers) -> None:
    """An event that is zero where the last step began counts by the sign that it has soon after.

    Else it could leave zero and return unseen before the first point at which its sign is looked at.
    """
    at_zero = 0
    clock, stage = reals_at(book[CLOCK]), reals_at(book[STAGE])
    old, tried = reals_at(book[EVENTS_OLD]), reals_at(book[EVENTS_TRIED])
    for e in range(book[N_SEARCHED]):
        at_zero += 1 if old[e] == 0.0 else 0
    if at_zero == 0 or make_dense(book) != 0:
        return
    state_within(book, SOON, stage)
    call_events(book, clock[T_OLD] + SOON * clock[H_OLD], stage, tried)
    for e in range(book[N_SEARCHED]):
        if old[e] == 0.0 and tried[e] != 0.0:
            old[e] = JUST_OFF if tried[e] > 0.0 else -JUST_OFF


@native
def crossed(book: Integers) -> bool:
    """Whether any event changed its sign inside the last step, looked for at its end and at points inside, or may have.

    The first N_SEARCHED events are worth the search inside.
    """
    events, searched = book[N_EVENTS], book[N_SEARCHED]
    clock, stage = reals_at(book[CLOCK]), reals_at(book[STAGE])
    old, new, tried = reals_at(book[EVENTS_OLD]), reals_at(book[EVENTS_NEW]), reals_at(book[EVENTS_TRIED])
    call_events(book, clock[T], reals_at(book[Y]), new)
    leave_zero(book)
    for e in range(events):
        if old[e] * new[e] < 0.0 or (new[e] == 0.0 and old[e] != 0.0):
            return True
    if searched == 0 or make_dense(book) != 0:
        return False
    parts = PARTS if book[EXPANSION] == 0 else TAYLOR_PARTS
    for e in range(events):
        tried[e], tried[parts * events + e] = old[e], new[e]
    for k in range(1, parts):
        x = float(k) / float(parts)
        state_within(book, x, stage)
        call_events(book, clock[T_OLD] + x * clock[H_OLD], stage, tried + k * events)
        for e in range(searched):
            if old[e] * tried[k * events + e] < 0.0 or tried[k * events + e] * new[e] < 0.0:
                return True
    for k in range(1, parts):
        for e in range(searched):
            if may_dip(tried[(k - 1) * events + e], tried[k * events + e], tried[(k + 1) * events + e]):
                return True
    return False


@native
def residual(book: Integers, time: float, h: float, state: Reals, rate: Reals, found: Reals) -> float:
    """The residual of a polynomial that has this state and rate inside a step h, relative to what a step may have."""
    ns = book[STATE]
    clock, atol = reals_at(book[CLOCK]), reals_at(book[ATOL])
    status = evaluate(book, time, state, found)
    if status == MISSING or status == SINGULAR:
        return 0.0
    total = 0.0
    for i in range(ns):
        scale = MOST_RESIDUAL * (atol[i] + clock[RTOL] * abs(state[i])) + abs(h) * RATE_NOISE * abs(found[i])
        total += (h * (found[i] - rate[i]) / scale) ** 2
    return sqrt(total / ns)


@native
def jumps_over(book: Integers, h: float) -> bool:
    """Whether an attempt that seems accurate has passed something unseen: its polynomial does not obey the equations inside.

    Stages lie apart, and coefficients know the beginning alone. What is narrower than a step shows in between.
    """
    ns = book[STATE]
    clock, counts, y = reals_at(book[CLOCK]), integers_at(book[COUNTS]), reals_at(book[Y])
    state, spare = reals_at(book[STAGE]), reals_at(book[SPARE_STAGES])
    rate, found, points = spare, spare + (ns + 1), N_TAYLOR_POINTS
    if book[EXPANSION] == 0:
        points = N_POINTS
        stages, dense = reals_at(book[STAGES]), reals_at(book[DENSE])
        if dense_coefficients(book, clock[T], h, y, reals_at(book[Y_NEW]), stages, state, dense) != 0:
            return False
        counts[EVALUATIONS] += 3
    for k in range(points):
        x = POINTS[k] if book[EXPANSION] == 0 else TAYLOR_POINTS[k]
        if book[EXPANSION] == 0:
            interpolate(ns, x, y, reals_at(book[DENSE]), state)
            interpolate_rate(ns, x, h, reals_at(book[DENSE]), rate)
        else:
            taylor_state(book, x * h, y, state)
            taylor_rate(book, x * h, rate)
        counts[EVALUATIONS] += 1
        if not residual(book, clock[T] + x * h, h, state, rate, found) <= 1.0:
            return True
    return False


@native
def try_expansion(book: Integers, h: float, t_new: float) -> int:
    """One attempt by the expansion at the present state: its sum, projected. Returns a status; clock[CAP] bounds the next."""
    clock, counts = reals_at(book[CLOCK]), integers_at(book[COUNTS])
    y_new = reals_at(book[Y_NEW])
    taylor_state(book, h, reals_at(book[Y]), y_new)
    if book[PROJECT] != 0:
        status = project(book, t_new, y_new, 0, 1, 8)
        counts[PROJECTED] += 1
        if status != 0:
            clock[CAP] = 0.25 * abs(h)
            return status
    if book[CONTROLLED] != 0 and jumps_over(book, h):
        clock[CAP] = 0.25 * abs(h)
        return INACCURATE
    clock[CAP] *= 4.0
    return 0


@native
def scaled_norm(ns: int, values: Reals, other: Reals, y: Reals, rtol: float, atol: Reals) -> float:
    """The root mean square of values - other, relative to the tolerance at y."""
    total = 0.0
    for i in range(ns):
        total += ((values[i] - other[i]) / (atol[i] + rtol * abs(y[i]))) ** 2
    return sqrt(total / ns)


@native
def try_step(book: Integers, h: float, t_new: float) -> int:
    """One attempt: the step, its projection, and the rate at its end. Returns a status; clock[H] is the next step to try."""
    ns = book[STATE]
    clock, counts = reals_at(book[CLOCK]), integers_at(book[COUNTS])
    y, y_new, stages, choice = reals_at(book[Y]), reals_at(book[Y_NEW]), reals_at(book[STAGES]), integers_at(book[CHOICES])
    status = step(book, clock[T], h, y, stages, reals_at(book[STAGE]), y_new)
    counts[EVALUATIONS] += 11
    if status != 0:
        clock[H] = 0.25 * h
        return status
    error = error_norm(ns, h, y, y_new, stages, clock[RTOL], reals_at(book[ATOL]))
    if not error <= 1.0:
        factor = 0.9 * error**-EXPONENT if error < INFINITY else 0.25
        clock[H] = h * max(0.2, min(factor, 0.9))
        return INACCURATE
    if book[PROJECT] != 0:
        reached, atol = reals_at(book[STAGE]), reals_at(book[ATOL])
        for i in range(ns):
            reached[i] = y_new[i]
        status = project(book, t_new, y_new, 0, 0, 8)
        counts[PROJECTED] += 1
        if status == 0 and choice[0] > 0 and scaled_norm(ns, y_new, reached, y_new, clock[RTOL], atol) > MOST_MOVED:
            status = STUCK  # a row that was left out of the stages says something of its own
        if status == 0:
            status = project(book, t_new, y_new, 1, 1, 8)
        if status != 0:
            clock[H] = 0.25 * h
            return status
    status = settle(book, t_new, y_new, stages + 12 * (ns + 1))
    counts[EVALUATIONS] += 1
    if status == MISSING or status == SINGULAR:
        clock[H] = 0.25 * h
        return status
    clock[H] = h * (6.0 if error == 0.0 else min(6.0, max(0.3, 0.9 * error**-EXPONENT)))
    info = reals_at(book[INFO])
    clock[WEAKEST] = min(clock[WEAKEST], min(info[1], info[3]) if info[0] >= float(book[ROWS]) else 0.0)
    if book[CONTROLLED] != 0 and jumps_over(book, h):
        clock[H] = 0.2 * h
        return INACCURATE
    if status == CONTRADICTORY:
        return CONTRADICTORY
    return 0


@native
def conclude(book: Integers) -> int:
    """Look for events inside the last step, and finish it where there is none; BUDGET where the run goes on."""
    if book[N_EVENTS] > 0 and crossed(book):
        return EVENT
    status = commit(book)
    if status == MISSING:
        return COMMIT_NOT_COMPILED
    if status != 0:
        return OFF_CONSTRAINTS if status == STUCK else NOT_DETERMINED
    return BUDGET


@native
def advance(book: Integers, budget: int) -> int:
    """Steps until the end, an event, a full buffer, a failure, or `budget` attempts. The first stage is the rate at y."""
    ns = book[STATE]
    clock, counts = reals_at(book[CLOCK]), integers_at(book[COUNTS])
    y, y_old, y_new = reals_at(book[Y]), reals_at(book[Y_OLD]), reals_at(book[Y_NEW])
    for _ in range(budget):
        left = clock[T_END] - clock[T]
        if left == 0.0:
            return END
        if counts[RECORDED] >= book[CAPACITY]:
            return FULL
        direction = 1.0 if left > 0.0 else -1.0
        if book[EXPANSION] != 0:
            if expand(book, clock[T], y) != 0:
                return NOT_DETERMINED
            counts[EVALUATIONS] += 1
            clock[H] = min(clock[CAP], largest_step(book, y, clock[RTOL], reals_at(book[ATOL])))
        h = direction * min(abs(clock[H]), clock[MAX_STEP])
        if abs(h) < 10.0 * abs(nextafter(clock[T], direction * INFINITY) - clock[T]) and abs(h) < abs(left):
            return TOO_SMALL
        if abs(left) < 1.1 * abs(h):
            h = left
        t_new = clock[T_END] if h == left else clock[T] + h
        h = t_new - clock[T]  # what the clock can tell: far from zero a sum of steps would leave its own times
        status = try_expansion(book, h, t_new) if book[EXPANSION] != 0 else try_step(book, h, t_new)
        if status == MISSING:
            clock[H] = h
            return NOT_COMPILED
        if status != 0 and status != CONTRADICTORY:
            counts[REJECTED] += 1
            counts[LAST_STATUS] = status
            continue
        counts[LAST_STATUS] = status
        counts[ACCEPTED] += 1
        counts[HAS_DENSE] = 0
        for i in range(ns):
            y_old[i] = y[i]
            y[i] = y_new[i]
        clock[T_OLD], clock[H_OLD], clock[T] = clock[T], h, t_new
        if status == CONTRADICTORY:
            return EXCLUDED
        if book[WATCH_PROGRAM] != 0 and row_reversed(book, t_new, y):
            return ROW_REVERSED
        code = conclude(book)
        if code != BUDGET:
            return code
    if clock[T_END] == clock[T]:
        return END
    return BUDGET
