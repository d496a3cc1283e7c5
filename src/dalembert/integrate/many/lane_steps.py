"""The native loop of many runs by Taylor coefficients: four lanes, in each of them one run, and the next when it has ended.

A lane has its own time, step and run. What it computes does not depend on the others: every operation goes lane by lane. A run
that meets trouble is left, for the driver to tell what happened.
"""

from __future__ import annotations

from math import nextafter

from ...compiled.language import Integers, Reals, call_program, integers_at, native, rare, reals_at
from ...compiled.native import INFO, INPUT_VALUES, OUT, PARAMETERS, STATE, evaluate, project
from ...compiled.unrolled import HEALTHY
from ...compiled.verdicts import REGULAR
from ..advance import AT, ATOL, BOOK_SIZE, CLOCK, MAX_STEP, N_AT, PROJECT, RTOL, STAGE, T_END, T

__all__ = ["LANES", "advance_lanes", "fill_lanes"]

LANES = 4

# Places in the book of a chunk, beside those of a run: program and sizes,
(LANE_EXPANSION, LANE_ORDER, LANE_SIZE, N_PARAMETERS, N_RUNS, MOST_STEPS) = range(BOOK_SIZE, BOOK_SIZE + 6)
# arrays of the lanes: working memory, coefficients, times, states, parameters, new states, sizes of steps and of last terms,
(LANE_WORK, LANE_FOUND, LANE_TIMES, LANE_STATES, LANE_PARAMETERS, LANE_NEW, LANE_SIZES) = range(BOOK_SIZE + 6, BOOK_SIZE + 13)
# which run a lane has, its next time and its steps; all runs: parameters, starts, states at the times, codes, steps; the least
# pivots below which a run is doubtful, and below which its last state is looked at.
(
    LANE_RUN,
    LANE_NEXT,
    LANE_STEPS,
    RUN_PARAMETERS,
    RUN_STARTS,
    RUN_STATES,
    RUN_CODES,
    RUN_STEPS,
    PIVOTS,
    PROGRESS,
) = range(BOOK_SIZE + 13, BOOK_SIZE + 23)
LANE_BOOK_SIZE = BOOK_SIZE + 23

#: Codes of runs: went to its end, left to the driver, may deserve a remark.
FINISHED, LEFT, DOUBTFUL = 0, -2, -3

INFINITY = float("inf")


@native
def load_lane(book: Integers, lane: int) -> None:
    """Begin the next run in a lane; no run (-1) where there is none."""
    ns, np, nt = book[STATE], book[N_PARAMETERS], book[N_AT]
    clock, progress = reals_at(book[CLOCK]), integers_at(book[PROGRESS])
    runs, nexts, steps = integers_at(book[LANE_RUN]), integers_at(book[LANE_NEXT]), integers_at(book[LANE_STEPS])
    times, states, parameters = reals_at(book[LANE_TIMES]), reals_at(book[LANE_STATES]), reals_at(book[LANE_PARAMETERS])
    run = progress[0]
    runs[lane] = -1
    if run >= book[N_RUNS]:
        return
    progress[0] = run + 1
    runs[lane] = run
    own, start = reals_at(book[RUN_PARAMETERS]) + run * np, reals_at(book[RUN_STARTS]) + run * ns
    for i in range(np):
        parameters[i * LANES + lane] = own[i]
    for i in range(ns):
        states[i * LANES + lane] = start[i]
    times[lane] = clock[T]
    steps[lane] = 0
    sizes = reals_at(book[LANE_SIZES])
    sizes[lane] = 0.0
    at, found = reals_at(book[AT]), reals_at(book[RUN_STATES]) + run * nt * ns
    forward = clock[T_END] >= clock[T]
    k = 0
    while k < nt and ((forward and at[k] <= clock[T]) or (not forward and at[k] >= clock[T])):
        for i in range(ns):
            found[k * ns + i] = start[i]
        k += 1
    nexts[lane] = k


@native
def fill_lanes(book: Integers) -> None:
    """Begin the first runs; lanes without a run compute along with the last one."""
    runs = integers_at(book[LANE_RUN])
    states, parameters = reals_at(book[LANE_STATES]), reals_at(book[LANE_PARAMETERS])
    for lane in range(LANES):
        load_lane(book, lane)
        if runs[lane] < 0 and lane > 0:
            for i in range(book[STATE]):
                states[i * LANES + lane] = states[i * LANES + lane - 1]
            for i in range(book[N_PARAMETERS]):
                parameters[i * LANES + lane] = parameters[i * LANES + lane - 1]


@rare
def last_is_doubtful(book: Integers, lane: int) -> bool:
    """Whether the least pivot at the last state of a lane, from which no expansion starts, gives reason for a remark."""
    own, parameters, info = reals_at(book[PARAMETERS]), reals_at(book[LANE_PARAMETERS]), reals_at(book[INFO])
    for i in range(book[N_PARAMETERS]):
        own[i] = parameters[i * LANES + lane]
    times, states, y = reals_at(book[LANE_TIMES]), reals_at(book[LANE_STATES]), reals_at(book[STAGE])
    for i in range(book[STATE]):
        y[i] = states[i * LANES + lane]
    bounds = reals_at(book[PIVOTS])
    return evaluate(book, times[lane], y, reals_at(book[OUT])) != REGULAR or min(info[1], info[3]) < bounds[0]


@native
def end_run(book: Integers, lane: int, code: int) -> None:
    """Write down how the run of a lane ended, and begin the next."""
    runs, steps = integers_at(book[LANE_RUN]), integers_at(book[LANE_STEPS])
    codes, counted = integers_at(book[RUN_CODES]), integers_at(book[RUN_STEPS])
    codes[runs[lane]] = code
    counted[runs[lane]] = steps[lane]
    bounds, health = reals_at(book[PIVOTS]), reals_at(book[LANE_FOUND])
    if code == FINISHED and health[lane] < bounds[1] and last_is_doubtful(book, lane):
        codes[runs[lane]] = DOUBTFUL
    load_lane(book, lane)


@native
def lane_sizes(book: Integers) -> None:
    """The step of every lane by its last two terms, and the states after it."""
    ns, order = book[STATE], book[LANE_ORDER]
    clock, atol = reals_at(book[CLOCK]), reals_at(book[ATOL])
    times, states, new = reals_at(book[LANE_TIMES]), reals_at(book[LANE_STATES]), reals_at(book[LANE_NEW])
    found, sizes = reals_at(book[LANE_FOUND]) + LANES, reals_at(book[LANE_SIZES])
    most, before = sizes + LANES, sizes + 2 * LANES
    last, other = found + order * ns * LANES, found + (order - 1) * ns * LANES
    rtol = clock[RTOL]
    for lane in range(LANES):
        most[lane] = 0.0
        before[lane] = 0.0
    for i in range(ns):
        for lane in range(LANES):
            scale = 1.0 / (atol[i] + rtol * abs(states[i * LANES + lane]))
            most[lane] = max(most[lane], abs(last[i * LANES + lane]) * scale)
            before[lane] = max(before[lane], abs(other[i * LANES + lane]) * scale)
    for lane in range(LANES):
        # The larger of two terms, most h^K and before h^(K-1), with the step before for one h: one power instead of two.
        guess = abs(sizes[lane])
        if guess == 0.0 and most[lane] > 0.0:
            guess = most[lane] ** (-1.0 / float(order))
        larger = max(most[lane] * guess, before[lane])
        size = clock[MAX_STEP]
        if larger > 0.0:
            size = min(size, larger ** (-1.0 / float(order - 1)))
        left = clock[T_END] - times[lane]
        step = size if left > 0.0 else -size
        sizes[lane] = left if abs(left) < 1.1 * size else (times[lane] + step) - times[lane]  # what the clock can tell
    h0, h1, h2, h3 = sizes[0], sizes[1], sizes[2], sizes[3]  # Horner's rule in registers, one for each lane
    for i in range(ns):
        row, start, result = last + i * LANES, states + i * LANES, new + i * LANES
        s0, s1, s2, s3 = row[0], row[1], row[2], row[3]
        for k in range(order - 1, 0, -1):
            row = found + (k * ns + i) * LANES
            s0, s1, s2, s3 = s0 * h0 + row[0], s1 * h1 + row[1], s2 * h2 + row[2], s3 * h3 + row[3]
        result[0], result[1], result[2], result[3] = (
            start[0] + s0 * h0,
            start[1] + s1 * h1,
            start[2] + s2 * h2,
            start[3] + s3 * h3,
        )


@native
def projected(book: Integers, lane: int, t: float, y: Reals) -> bool:
    """Bring a state of a lane to its constraints; whether that went well."""
    own, parameters = reals_at(book[PARAMETERS]), reals_at(book[LANE_PARAMETERS])
    for i in range(book[N_PARAMETERS]):
        own[i] = parameters[i * LANES + lane]
    return project(book, t, y, 0, 1, 8) == 0


@native
def within(book: Integers, lane: int, elapsed: float, y: Reals) -> None:
    """y <- the state of a lane a time after the beginning of its step."""
    ns, order = book[STATE], book[LANE_ORDER]
    found, states = reals_at(book[LANE_FOUND]) + (LANES + lane), reals_at(book[LANE_STATES])
    for i in range(ns):
        value = 0.0
        for k in range(order, 0, -1):
            value = (value + found[(k * ns + i) * LANES]) * elapsed
        y[i] = states[i * LANES + lane] + value


@native
def is_sound(book: Integers, lane: int) -> bool:
    """Whether the expansion of a lane is healthy, its step not too small, and its new state finite."""
    times, sizes = reals_at(book[LANE_TIMES]), reals_at(book[LANE_SIZES])
    found, new, clock = reals_at(book[LANE_FOUND]), reals_at(book[LANE_NEW]), reals_at(book[CLOCK])
    if not found[lane] > HEALTHY:
        return False
    for i in range(book[STATE]):
        if not abs(new[i * LANES + lane]) < INFINITY:
            return False
    size, t = abs(sizes[lane]), times[lane]
    return size >= 10.0 * (nextafter(abs(t), INFINITY) - abs(t)) or t + sizes[lane] == clock[T_END]


@native
def finish_lane(book: Integers, lane: int) -> int:
    """Store what was asked for inside the step of a lane, and take it. Returns whether the run goes on (1), or its code."""
    ns, nt = book[STATE], book[N_AT]
    clock, at, y = reals_at(book[CLOCK]), reals_at(book[AT]), reals_at(book[STAGE])
    times, states, new = reals_at(book[LANE_TIMES]), reals_at(book[LANE_STATES]), reals_at(book[LANE_NEW])
    runs, nexts, steps = integers_at(book[LANE_RUN]), integers_at(book[LANE_NEXT]), integers_at(book[LANE_STEPS])
    sizes = reals_at(book[LANE_SIZES])
    if not is_sound(book, lane) or steps[lane] >= book[MOST_STEPS]:
        return LEFT
    health, bounds = reals_at(book[LANE_FOUND]), reals_at(book[PIVOTS])
    if health[lane] < bounds[0]:
        return DOUBTFUL
    t, h = times[lane], sizes[lane]
    ends = h == clock[T_END] - t
    t_new = clock[T_END] if ends else t + h
    found = reals_at(book[RUN_STATES]) + runs[lane] * nt * ns
    while nexts[lane] < nt:
        wanted = at[nexts[lane]]
        if (h > 0.0 and wanted >= t_new) or (h < 0.0 and wanted <= t_new):
            break
        within(book, lane, wanted - t, y)
        if book[PROJECT] != 0 and not projected(book, lane, wanted, y):
            return LEFT
        for i in range(ns):
            found[nexts[lane] * ns + i] = y[i]
        nexts[lane] += 1
    for i in range(ns):
        y[i] = new[i * LANES + lane]
    if book[PROJECT] != 0 and not projected(book, lane, t_new, y):
        return LEFT
    while nexts[lane] < nt and at[nexts[lane]] == t_new:
        for i in range(ns):
            found[nexts[lane] * ns + i] = y[i]
        nexts[lane] += 1
    for i in range(ns):
        states[i * LANES + lane] = y[i]
    times[lane] = t_new
    steps[lane] += 1
    return FINISHED if ends else 1


@native
def advance_lanes(book: Integers, budget: int) -> int:
    """Steps of all lanes until every run has ended (0), or `budget` of them (1)."""
    runs, work = integers_at(book[LANE_RUN]), reals_at(book[LANE_WORK])
    times, states = reals_at(book[LANE_TIMES]), reals_at(book[LANE_STATES])
    parameters, inputs, found = reals_at(book[LANE_PARAMETERS]), reals_at(book[INPUT_VALUES]), reals_at(book[LANE_FOUND])
    for _ in range(budget):
        going = False
        for lane in range(LANES):
            going = going or runs[lane] >= 0
        if not going:
            return 0
        call_program(book[LANE_EXPANSION], times, states, parameters, inputs, work, found)
        lane_sizes(book)
        for lane in range(LANES):
            if runs[lane] >= 0:
                code = finish_lane(book, lane)
                if code != 1:
                    if code == LEFT:
                        for k in range(1, book[LANE_SIZE]):
                            work[k] = 0.0
                    end_run(book, lane, code)
    return 1
