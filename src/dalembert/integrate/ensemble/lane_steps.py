"""The native loop of many Taylor runs: eight lanes with one run each, refilled when a run ends.

A lane has its own time, step and run. What it computes does not depend on the others: every
operation goes lane by lane. A run that meets trouble is left, for the driver to tell what happened.
"""

from __future__ import annotations

from math import nextafter

from ...codegen.native.language import Reals, call_program, native, rare
from ...codegen.passes.solve_limits import HEALTHY
from ...runtime.gauss.solve_status import REGULAR
from ...runtime.projection import evaluate, project
from ..events.watches import row_reversed
from ..run_fields import LaneFields
from .lane_deviations import (
    LANES,
    begin_deviations,
    bound_deviations,
    end_deviations,
    look_at,
)

__all__ = ["LANES", "advance_lanes", "fill_lanes"]

#: Codes of runs: went to its end, left to the driver, may deserve a diagnostic.
FINISHED, LEFT, DOUBTFUL = 0, -2, -3

INFINITY = float("inf")


@native
def enter_parameters(context: LaneFields, lane: int) -> None:
    """Let the programs of the kernel see the parameters of a lane."""
    own, parameters = context.parameters, context.lane_parameters
    for i in range(context.n_parameters):
        own[i] = parameters[i * LANES + lane]


@native
def is_reversed(context: LaneFields, lane: int, t: float, y: Reals) -> bool:
    """Whether a watched row of a lane reversed or vanished since the last look at it."""
    count = context.n_watched
    width = context.n_watch_entries + 2 * count
    own = context.lane_watch + lane * (2 * width + count + 2 + context.n_state)
    context.watch_old, context.watch_new = own, own + width
    context.watch_largest = own + 2 * width
    context.watch_state = own + (2 * width + count + 1)
    found = row_reversed(context, t, y)
    for i in range(width):
        own[i] = own[width + i]
    return found


@rare
def begin_lane(context: LaneFields, lane: int) -> None:
    """Look at the watched rows of a new run, and make its deviations."""
    ns, y, states = context.n_full, context.stage, context.lane_states
    clock, fine = context.clock, True
    enter_parameters(context, lane)
    for i in range(ns):
        y[i] = states[i * LANES + lane]
    if context.watch_program != 0:
        count = context.n_watched
        size = 2 * (context.n_watch_entries + 2 * count) + count + 2 + context.n_state
        own = context.lane_watch + lane * size
        for i in range(size):
            own[i] = 0.0
        fine = not is_reversed(context, lane, clock.t, y)
    if context.n_deviations > 0:
        fine = begin_deviations(context, lane, clock.t, y) and fine
    for i in range(ns):
        states[i * LANES + lane] = y[i] if fine else INFINITY  # the lane is then left


@native
def load_lane(context: LaneFields, lane: int) -> None:
    """Begin the next run in a lane; no run (-1) where there is none."""
    ns, np, nt = context.n_full, context.n_parameters, context.n_at
    clock, progress = context.clock, context.progress
    runs, nexts, steps = context.lane_run, context.lane_next, context.lane_steps
    times, states, parameters = context.lane_times, context.lane_states, context.lane_parameters
    run = progress[0]
    runs[lane] = -1
    if run >= context.n_runs:
        return
    progress[0] = run + 1
    runs[lane] = run
    own, start = context.run_parameters + run * np, context.run_starts + run * ns
    for i in range(np):
        parameters[i * LANES + lane] = own[i]
    for i in range(ns):
        states[i * LANES + lane] = start[i]
    times[lane] = clock.t
    steps[lane] = 0
    sizes = context.lane_sizes
    sizes[lane] = 0.0
    if context.watch_program != 0 or context.n_deviations > 0:
        begin_lane(context, lane)
    at, found = context.at, context.run_states + run * nt * ns
    count = context.n_deviations
    noted = context.run_deviations + run * nt * (count + 2)
    forward = clock.t_end >= clock.t
    k = 0
    while k < nt and ((forward and at[k] <= clock.t) or (not forward and at[k] >= clock.t)):
        for i in range(ns):
            found[k * ns + i] = states[i * LANES + lane]
        if count > 0:
            noted[k * (count + 2) + count] = 1.0
        k += 1
    nexts[lane] = k


@native
def fill_lanes(context: LaneFields) -> None:
    """Begin the first runs; lanes without a run compute along with the last one."""
    runs = context.lane_run
    states, parameters = context.lane_states, context.lane_parameters
    for lane in range(LANES):
        load_lane(context, lane)
        if runs[lane] < 0 and lane > 0:
            for i in range(context.n_full):
                states[i * LANES + lane] = states[i * LANES + lane - 1]
            for i in range(context.n_parameters):
                parameters[i * LANES + lane] = parameters[i * LANES + lane - 1]


@rare
def last_is_doubtful(context: LaneFields, lane: int) -> bool:
    """Whether the least pivot ratio at the last state of a lane calls for a diagnostic."""
    enter_parameters(context, lane)
    times, states, y, info = context.lane_times, context.lane_states, context.stage, context.info
    for i in range(context.n_state):
        y[i] = states[i * LANES + lane]
    bounds = context.pivots
    return (
        evaluate(context, times[lane], y, context.out) != REGULAR
        or min(info[1], info[3]) < bounds[0]
    )


@native
def end_run(context: LaneFields, lane: int, code: int) -> None:
    """Write down how the run of a lane ended, and begin the next."""
    runs, steps = context.lane_run, context.lane_steps
    codes, counted = context.run_codes, context.run_steps
    codes[runs[lane]] = code
    counted[runs[lane]] = steps[lane]
    bounds, health = context.pivots, context.lane_found
    if code == FINISHED and health[lane] < bounds[1] and last_is_doubtful(context, lane):
        codes[runs[lane]] = DOUBTFUL
    load_lane(context, lane)


@native
def lane_sizes(context: LaneFields) -> None:
    """The step of every lane by its last two terms, and its numbers after it."""
    ns, full, order = context.n_state, context.n_full, context.lane_order
    clock, atol = context.clock, context.atol
    times, states = context.lane_times, context.lane_states
    found, sizes = context.lane_found + LANES, context.lane_sizes
    most, before = sizes + LANES, sizes + 2 * LANES
    last, other = found + order * full * LANES, found + (order - 1) * full * LANES
    rtol = clock.rtol
    for lane in range(LANES):
        most[lane] = 0.0
        before[lane] = 0.0
    for i in range(ns):
        for lane in range(LANES):
            scale = 1.0 / (atol[i] + rtol * abs(states[i * LANES + lane]))
            most[lane] = max(most[lane], abs(last[i * LANES + lane]) * scale)
            before[lane] = max(before[lane], abs(other[i * LANES + lane]) * scale)
    if context.n_deviations > 0:
        bound_deviations(context, last, other, most, before)
    for lane in range(LANES):
        # The larger of most h^K and before h^(K-1), with the last step for one h: a single power.
        guess = abs(sizes[lane])
        if guess == 0.0 and most[lane] > 0.0:
            guess = most[lane] ** (-1.0 / float(order))
        larger = max(most[lane] * guess, before[lane])
        size = clock.max_step
        if larger > 0.0:
            size = min(size, larger ** (-1.0 / float(order - 1)))
        left = clock.t_end - times[lane]
        step = size if left > 0.0 else -size
        sizes[lane] = (
            left if abs(left) < 1.1 * size else (times[lane] + step) - times[lane]
        )  # what the clock can tell
    new, work, inputs = context.lane_new, context.lane_work, context.input_values
    call_program(context.lane_sum, sizes, states, work, inputs, found, new)


@native
def projected(context: LaneFields, lane: int, t: float, y: Reals) -> bool:
    """Bring a state of a lane to its constraints; whether that went well."""
    enter_parameters(context, lane)
    return project(context, t, y, 0, 1, 8) == 0


@native
def within(context: LaneFields, lane: int, elapsed: float, y: Reals) -> None:
    """y <- the numbers of a lane a time after the beginning of its step."""
    ns, order = context.n_full, context.lane_order
    found, states = context.lane_found + (LANES + lane), context.lane_states
    for i in range(ns):
        value = 0.0
        for k in range(order, 0, -1):
            value = (value + found[(k * ns + i) * LANES]) * elapsed
        y[i] = states[i * LANES + lane] + value


@native
def is_sound(context: LaneFields, lane: int) -> bool:
    """Whether a lane's expansion is well conditioned, its step large enough, its state finite."""
    times, sizes = context.lane_times, context.lane_sizes
    found, new, clock = context.lane_found, context.lane_new, context.clock
    if not found[lane] > HEALTHY:
        return False
    for i in range(context.n_full):
        if not abs(new[i * LANES + lane]) < INFINITY:
            return False
    size, t = abs(sizes[lane]), times[lane]
    return size >= 10.0 * (nextafter(abs(t), INFINITY) - abs(t)) or t + sizes[lane] == clock.t_end


@native
def store(context: LaneFields, lane: int, y: Reals, noted: Reals) -> None:
    """Store the state of a lane at the next requested time, with what its deviations say."""
    ns, nt, count = context.n_full, context.n_at, context.n_deviations
    runs, nexts = context.lane_run, context.lane_next
    place = runs[lane] * nt + nexts[lane]
    found = context.run_states + place * ns
    for i in range(ns):
        found[i] = y[i]
    if count > 0:
        row = context.run_deviations + place * (count + 2)
        for i in range(count + 2):
            row[i] = noted[i]
    nexts[lane] += 1


@native
def completed(context: LaneFields, lane: int, elapsed: float, t: float, y: Reals) -> bool:
    """Bring a state in a lane's step to its constraints, with its deviations; whether it went."""
    if context.projects != 0 and not projected(context, lane, t, y):
        return False
    if context.n_deviations > 0:
        enter_parameters(context, lane)
        return look_at(context, lane, elapsed, y, context.deviation_noted)
    return True


@native
def finish_lane(context: LaneFields, lane: int) -> int:
    """Store requested times in a lane's step and accept it; 1 if the run goes on, else its code."""
    ns, nt = context.n_full, context.n_at
    clock, at, y = context.clock, context.at, context.stage
    times, states, new = context.lane_times, context.lane_states, context.lane_new
    nexts, steps, noted = context.lane_next, context.lane_steps, context.deviation_noted
    sizes = context.lane_sizes
    if not is_sound(context, lane) or steps[lane] >= context.most_steps:
        return LEFT
    health, bounds = context.lane_found, context.pivots
    if health[lane] < bounds[0]:
        return DOUBTFUL
    t, h = times[lane], sizes[lane]
    ends = h == clock.t_end - t
    t_new = clock.t_end if ends else t + h
    while nexts[lane] < nt:
        wanted = at[nexts[lane]]
        if (h > 0.0 and wanted >= t_new) or (h < 0.0 and wanted <= t_new):
            break
        within(context, lane, wanted - t, y)
        if not completed(context, lane, wanted - t, wanted, y):
            return LEFT
        store(context, lane, y, noted)
    for i in range(ns):
        y[i] = new[i * LANES + lane]
    if not completed(context, lane, h, t_new, y):
        return LEFT
    if context.watch_program != 0:
        enter_parameters(context, lane)
        if is_reversed(context, lane, t_new, y):
            return LEFT
    while nexts[lane] < nt and at[nexts[lane]] == t_new:
        store(context, lane, y, noted)
    if context.n_deviations > 0:
        end_deviations(context, lane, y, noted)
    for i in range(ns):
        states[i * LANES + lane] = y[i]
    times[lane] = t_new
    steps[lane] += 1
    return FINISHED if ends else 1


@native
def advance_lanes(context: LaneFields, budget: int) -> int:
    """Steps of all lanes until every run has ended (0), or `budget` of them (1)."""
    runs, work = context.lane_run, context.lane_work
    times, states = context.lane_times, context.lane_states
    parameters, inputs, found = context.lane_parameters, context.input_values, context.lane_found
    for _ in range(budget):
        going = False
        for lane in range(LANES):
            going = going or runs[lane] >= 0
        if not going:
            return 0
        call_program(context.lane_expansion, times, states, parameters, inputs, work, found)
        lane_sizes(context)
        for lane in range(LANES):
            if runs[lane] >= 0:
                code = finish_lane(context, lane)
                if code != 1:
                    if code == LEFT:
                        for k in range(1, context.lane_size):
                            work[k] = 0.0
                    end_run(context, lane, code)
    return 1
