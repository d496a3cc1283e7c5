r"""The native loop of a run whose steps vary with the state, and which is reversible all the same.

A step of size h_n = eps / rho is taken by a symmetric method; the density rho of the steps is integrated along with the motion
instead of being read off it, so that a step is the same seen from either end:

    rho_(n+1/2) = rho_(n-1/2) + eps R(y_n),      y_(n+1) = Phi_(eps/rho_(n+1/2))(y_n),       R = d/dt log (1/s)

for steps that are to be proportional to s(y), with half of the increment at the start (E. Hairer, G. Soederlind, SIAM J. Sci.
Comput. 26 (2005) 1838). R changes its sign with the velocities. Times add up with compensation.
"""

from __future__ import annotations

from ..compiled.language import Integers, call_program, integers_at, native, reals_at
from ..compiled.native import INPUT_VALUES, PARAMETERS, STATE, TIME
from .advance import (
    ACCEPTED,
    AT,
    AT_STATES,
    BUDGET,
    CAPACITY,
    CLOCK,
    COUNTS,
    END,
    FULL,
    LAST_STATUS,
    N_AT,
    NEXT_AT,
    RECORDED,
    ROW_REVERSED,
    STEP_STATES,
    STEP_TIMES,
    T_END,
    T,
    Y,
)
from .fixed_steps import UNSOLVED, increment, reason, step_from
from .row_watch import row_reversed
from .steppers.places import CONTROL, CONTROL_PROGRAM, DELTA, EVERY, FACTORED, LOW, NEXT_STORED, NUMBER, REMEMBERED
from .watch_places import WATCH_PROGRAM

__all__ = ["CONTROL_SIZE", "DENSITY", "EPSILON", "WHOLE", "advance_reversible"]

# Places in CONTROL: eps; rho between the last two whole steps, zero before there are two; rho at the last whole step; what the
# time has lost by rounding; then s and R at the last whole step.
EPSILON, DENSITY, WHOLE, TIME_LOW, SIZE, RATE = range(6)
CONTROL_SIZE = 6

#: A time this part of a step away from a step is that step.
SAME = 1e-9


@native
def density_rate(book: Integers) -> float:
    """R at the state reached."""
    clock, control, time = reals_at(book[CLOCK]), reals_at(book[CONTROL]), reals_at(book[TIME])
    time[0] = clock[T]
    u = reals_at(book[INPUT_VALUES])
    call_program(book[CONTROL_PROGRAM], time, reals_at(book[Y]), reals_at(book[PARAMETERS]), u, u, control + SIZE)
    return control[RATE]


@native
def record_state(book: Integers) -> None:
    """Store the state reached as a step."""
    ns, counts = book[STATE], integers_at(book[COUNTS])
    y, states = reals_at(book[Y]), reals_at(book[STEP_STATES]) + counts[RECORDED] * ns
    reals_at(book[STEP_TIMES])[counts[RECORDED]] = reals_at(book[CLOCK])[T]
    for c in range(ns):
        states[c] = y[c]
    counts[RECORDED] += 1


@native
def reach(book: Integers, elapsed: float, place: int) -> int:
    """The state a time `elapsed` on, by a step of its own: the answer of that number, or where that is -1 the state itself."""
    ns, counts, clock = book[STATE], integers_at(book[COUNTS]), reals_at(book[CLOCK])
    y, delta = reals_at(book[Y]), reals_at(book[DELTA])
    code = step_from(book, clock[T], elapsed, y, y if place < 0 else reals_at(book[AT_STATES]) + place * ns)
    counts[REMEMBERED], counts[FACTORED] = 0, 0
    for c in range(ns):
        delta[c] = 0.0
    return code


@native
def answer_times(book: Integers, h: float) -> int:
    """The states at the times asked for within the next step."""
    clock, counts, asked = reals_at(book[CLOCK]), integers_at(book[COUNTS]), reals_at(book[AT])
    while counts[NEXT_AT] < book[N_AT]:
        elapsed = asked[counts[NEXT_AT]] - clock[T]
        if abs(elapsed) > (1.0 + SAME) * abs(h):
            return BUDGET
        code = BUDGET
        if abs(elapsed) > SAME * abs(h):
            code = reach(book, elapsed, counts[NEXT_AT])
        else:
            y, target = reals_at(book[Y]), reals_at(book[AT_STATES]) + counts[NEXT_AT] * book[STATE]
            for c in range(book[STATE]):
                target[c] = y[c]
        if code != BUDGET:
            return code
        counts[NEXT_AT] += 1
    return BUDGET


@native
def whole_step(book: Integers, h: float) -> int:
    """The state and the time after a step of size h."""
    ns, clock, control = book[STATE], reals_at(book[CLOCK]), reals_at(book[CONTROL])
    y, low, delta, counts = reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[DELTA]), integers_at(book[COUNTS])
    status = increment(book, clock[T], h)
    if status != 0:
        counts[LAST_STATUS] = status
        return reason(status)
    for c in range(ns):
        low[c] += delta[c]
        before = y[c]
        y[c] = before + low[c]
        low[c] += before - y[c]
    control[TIME_LOW] += h
    earlier = clock[T]
    clock[T] = earlier + control[TIME_LOW]
    control[TIME_LOW] += earlier - clock[T]
    counts[NUMBER] += 1
    counts[ACCEPTED] += 1
    return BUDGET


@native
def advance_reversible(book: Integers, budget: int) -> int:
    """Steps until the end, a full buffer, a failure, or `budget` steps."""
    clock, control, counts = reals_at(book[CLOCK]), reals_at(book[CONTROL]), integers_at(book[COUNTS])
    epsilon = control[EPSILON]
    for _ in range(budget):
        if clock[T] == clock[T_END]:
            return END
        if counts[RECORDED] >= book[CAPACITY]:
            return FULL
        if control[DENSITY] == 0.0:
            density_rate(book)
        density = control[WHOLE] + 0.5 * epsilon * control[RATE]
        if not density > 0.0:
            return UNSOLVED
        h, rest = epsilon / density, (clock[T_END] - clock[T]) - control[TIME_LOW]
        is_last = abs(rest) <= (1.0 + SAME) * abs(h)
        code = answer_times(book, rest if is_last else h)
        if code == BUDGET and is_last and abs(rest) < (1.0 - SAME) * abs(h):
            # The end lies within the step: it is reached by a shorter one, and rho stays that of the step before.
            code = reach(book, rest, -1)
            counts[ACCEPTED] += 1
        elif code == BUDGET:
            code = whole_step(book, h)
            if code == BUDGET:
                control[DENSITY] = density
                control[WHOLE] = density + 0.5 * epsilon * density_rate(book)
        if code != BUDGET:
            return code
        if is_last:
            clock[T] = clock[T_END]
        if is_last or counts[NUMBER] >= counts[NEXT_STORED]:
            counts[NEXT_STORED] = counts[NUMBER] + book[EVERY]
            record_state(book)
        if book[WATCH_PROGRAM] != 0 and row_reversed(book, clock[T], reals_at(book[Y])):
            return ROW_REVERSED
    return END if clock[T] == clock[T_END] else BUDGET
