"""The native loop of a run with fixed steps: one increment after another, added with compensation, and what is stored.

A step y <- y + d loses what d has below the last digit of y. It is carried along and added to the next increment (Kahan), so
that what is kept exactly by each step drifts over a million of them like a random walk of a digit that is not shown.
"""

from __future__ import annotations

from ..compiled.language import Integers, Reals, integers_at, native, reals_at
from ..compiled.native import MISSING, STATE, call_events, is_finite, project
from ..compiled.verdicts import CONTRADICTORY
from .advance import (
    ACCEPTED,
    AT_STATES,
    BUDGET,
    CAPACITY,
    CLOCK,
    COUNTS,
    END,
    EVALUATIONS,
    EVENTS_NEW,
    EXCLUDED,
    FULL,
    LAST_STATUS,
    N_AT,
    N_EVENTS,
    NEXT_AT,
    NOT_COMPILED,
    NOT_DETERMINED,
    PROJECT,
    PROJECTED,
    RECORDED,
    ROW_REVERSED,
    STEP_STATES,
    STEP_TIMES,
    T_END,
    H,
    T,
    Y,
)
from .row_watch import row_reversed
from .steppers.collocation import implicit_step
from .steppers.orbits import fill_matrices
from .steppers.places import (
    AT_NUMBERS,
    DELTA,
    EVERY,
    KIND,
    LOW,
    N_STEPS,
    NEXT_STORED,
    NOT_CONTRACTING,
    NUMBER,
    RATTLE,
    REMEMBERED,
    RKMK,
    ROOTS,
    T_BEGIN,
    UNSOLVABLE,
)
from .steppers.rattle import rattle_step
from .steppers.rkmk import munthe_kaas_step
from .steppers.roots import root_step
from .watch_places import WATCH_PROGRAM

__all__ = ["DEGENERATE", "UNSOLVED", "advance_fixed", "step_from"]

# Why `advance_fixed` returned, beside the reasons of `advance`: the equations of a step are not solved; the independent
# velocities want to be chosen anew.
UNSOLVED, DEGENERATE = 20, 21
#: Rows of constraints are compared after so many steps.
WATCHED = 8


@native
def increment(book: Integers, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state, by the method of the run."""
    status = 0
    if book[KIND] == RATTLE:
        status = rattle_step(book, t, h)
    elif book[KIND] == ROOTS:
        status = root_step(book, t, h)
    elif book[KIND] == RKMK:
        counts = integers_at(book[COUNTS])
        counts[EVALUATIONS] += 4
        fill_matrices(book, reals_at(book[Y]))
        status = munthe_kaas_step(book, t, h)
    else:
        status = implicit_step(book, t, h)
    if status == 0 and not is_finite(book[STATE], reals_at(book[DELTA])):
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
def store_step(book: Integers) -> None:
    """Keep the state where it was asked for: every so many steps, at the end, and at the times `at`."""
    ns = book[STATE]
    clock, counts, y = reals_at(book[CLOCK]), integers_at(book[COUNTS]), reals_at(book[Y])
    number, wanted = counts[NUMBER], integers_at(book[AT_NUMBERS])
    while counts[NEXT_AT] < book[N_AT] and wanted[counts[NEXT_AT]] <= number:
        target = reals_at(book[AT_STATES]) + counts[NEXT_AT] * ns
        for c in range(ns):
            target[c] = y[c]
        counts[NEXT_AT] += 1
    if number >= counts[NEXT_STORED] or number == book[N_STEPS]:
        counts[NEXT_STORED] = number + book[EVERY] - number % book[EVERY]
        times, states = reals_at(book[STEP_TIMES]), reals_at(book[STEP_STATES]) + counts[RECORDED] * ns
        times[counts[RECORDED]] = clock[T]
        for c in range(ns):
            states[c] = y[c]
        counts[RECORDED] += 1


@native
def take_steps(book: Integers, budget: int) -> int:
    """Steps until the end, a full buffer, a failure, or `budget` steps."""
    ns = book[STATE]
    clock, counts = reals_at(book[CLOCK]), integers_at(book[COUNTS])
    y, low, delta = reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[DELTA])
    for _ in range(budget):
        if counts[NUMBER] >= book[N_STEPS]:
            return END
        if counts[RECORDED] >= book[CAPACITY]:
            return FULL
        status = increment(book, clock[T], clock[H])
        if status != 0:
            counts[LAST_STATUS] = status
            return reason(status)
        for c in range(ns):
            low[c] += delta[c]
            before = y[c]
            y[c] = before + low[c]
            low[c] += before - y[c]
        counts[NUMBER] += 1
        clock[T] = clock[T_END] if counts[NUMBER] == book[N_STEPS] else clock[T_BEGIN] + clock[H] * counts[NUMBER]
        counts[ACCEPTED] += 1
        if book[PROJECT] != 0:
            status = project(book, clock[T], y, 1, 1, 8)
            counts[PROJECTED] += 1
            if status != 0:
                counts[LAST_STATUS] = status
                return NOT_DETERMINED
        store_step(book)
        if book[N_EVENTS] > 0:
            quality = reals_at(book[EVENTS_NEW])
            call_events(book, clock[T], y, quality)
            if quality[0] < 0.0:
                return DEGENERATE
    if counts[NUMBER] >= book[N_STEPS]:
        return END
    return BUDGET


@native
def advance_fixed(book: Integers, budget: int) -> int:
    """Steps until the end, a full buffer, a failure, a row of the constraints that reversed, or `budget` steps."""
    if book[WATCH_PROGRAM] == 0:
        return take_steps(book, budget)
    clock, done = reals_at(book[CLOCK]), 0
    while done < budget:
        code = take_steps(book, min(WATCHED, budget - done))
        if (code == BUDGET or code == END) and row_reversed(book, clock[T], reals_at(book[Y])):
            return ROW_REVERSED
        if code != BUDGET:
            return code
        done += WATCHED
    return BUDGET


@native
def step_from(book: Integers, t: float, h: float, y_from: Reals, result: Reals) -> int:
    """result <- the state after one step of any size from (t, y_from), without memory of steps before.

    Returns BUDGET, or why there is none.
    """
    ns, counts = book[STATE], integers_at(book[COUNTS])
    y, delta = reals_at(book[Y]), reals_at(book[DELTA])
    counts[REMEMBERED] = 0
    for c in range(ns):
        y[c] = y_from[c]
    status = increment(book, t, h)
    if status == 0:
        for c in range(ns):
            result[c] = y[c] + delta[c]
        if book[PROJECT] != 0:
            status = project(book, t + h, result, 1, 1, 8)
    return reason(status)
