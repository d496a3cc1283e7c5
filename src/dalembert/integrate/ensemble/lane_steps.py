"""The native loop of many Taylor runs: four lanes with one run each, refilled when a run ends.

A lane has its own time, step and run. What it computes does not depend on the others: every
operation goes lane by lane. A run that meets trouble is left, for the driver to tell what happened.
"""

from __future__ import annotations

from math import nextafter

from ...codegen.native.language import Reals, call_program, native, rare
from ...codegen.passes.solve_limits import HEALTHY
from ...runtime.gauss.solve_status import REGULAR
from ...runtime.projection import evaluate, project
from ..run_fields import LaneFields

__all__ = ["LANES", "advance_lanes", "fill_lanes"]

LANES = 4

#: Codes of runs: went to its end, left to the driver, may deserve a diagnostic.
FINISHED, LEFT, DOUBTFUL = 0, -2, -3

INFINITY = float("inf")


@native
def load_lane(context: LaneFields, lane: int) -> None:
    """Begin the next run in a lane; no run (-1) where there is none."""
    ns, np, nt = context.n_state, context.n_parameters, context.n_at
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
    at, found = context.at, context.run_states + run * nt * ns
    forward = clock.t_end >= clock.t
    k = 0
    while k < nt and ((forward and at[k] <= clock.t) or (not forward and at[k] >= clock.t)):
        for i in range(ns):
            found[k * ns + i] = start[i]
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
            for i in range(context.n_state):
                states[i * LANES + lane] = states[i * LANES + lane - 1]
            for i in range(context.n_parameters):
                parameters[i * LANES + lane] = parameters[i * LANES + lane - 1]


@rare
def last_is_doubtful(context: LaneFields, lane: int) -> bool:
    """Whether the least pivot ratio at the last state of a lane calls for a diagnostic."""
    own, parameters, info = context.parameters, context.lane_parameters, context.info
    for i in range(context.n_parameters):
        own[i] = parameters[i * LANES + lane]
    times, states, y = context.lane_times, context.lane_states, context.stage
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
    """The step of every lane by its last two terms, and the states after it."""
    ns, order = context.n_state, context.lane_order
    clock, atol = context.clock, context.atol
    times, states, new = context.lane_times, context.lane_states, context.lane_new
    found, sizes = context.lane_found + LANES, context.lane_sizes
    most, before = sizes + LANES, sizes + 2 * LANES
    last, other = found + order * ns * LANES, found + (order - 1) * ns * LANES
    rtol = clock.rtol
    for lane in range(LANES):
        most[lane] = 0.0
        before[lane] = 0.0
    for i in range(ns):
        for lane in range(LANES):
            scale = 1.0 / (atol[i] + rtol * abs(states[i * LANES + lane]))
            most[lane] = max(most[lane], abs(last[i * LANES + lane]) * scale)
            before[lane] = max(before[lane], abs(other[i * LANES + lane]) * scale)
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
    # Horner's rule in registers, one for each lane.
    h0, h1, h2, h3 = sizes[0], sizes[1], sizes[2], sizes[3]
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
def projected(context: LaneFields, lane: int, t: float, y: Reals) -> bool:
    """Bring a state of a lane to its constraints; whether that went well."""
    own, parameters = context.parameters, context.lane_parameters
    for i in range(context.n_parameters):
        own[i] = parameters[i * LANES + lane]
    return project(context, t, y, 0, 1, 8) == 0


@native
def within(context: LaneFields, lane: int, elapsed: float, y: Reals) -> None:
    """y <- the state of a lane a time after the beginning of its step."""
    ns, order = context.n_state, context.lane_order
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
    for i in range(context.n_state):
        if not abs(new[i * LANES + lane]) < INFINITY:
            return False
    size, t = abs(sizes[lane]), times[lane]
    return size >= 10.0 * (nextafter(abs(t), INFINITY) - abs(t)) or t + sizes[lane] == clock.t_end


@native
def finish_lane(context: LaneFields, lane: int) -> int:
    """Store requested times in a lane's step and accept it; 1 if the run goes on, else its code."""
    ns, nt = context.n_state, context.n_at
    clock, at, y = context.clock, context.at, context.stage
    times, states, new = context.lane_times, context.lane_states, context.lane_new
    runs, nexts, steps = context.lane_run, context.lane_next, context.lane_steps
    sizes = context.lane_sizes
    if not is_sound(context, lane) or steps[lane] >= context.most_steps:
        return LEFT
    health, bounds = context.lane_found, context.pivots
    if health[lane] < bounds[0]:
        return DOUBTFUL
    t, h = times[lane], sizes[lane]
    ends = h == clock.t_end - t
    t_new = clock.t_end if ends else t + h
    found = context.run_states + runs[lane] * nt * ns
    while nexts[lane] < nt:
        wanted = at[nexts[lane]]
        if (h > 0.0 and wanted >= t_new) or (h < 0.0 and wanted <= t_new):
            break
        within(context, lane, wanted - t, y)
        if context.projects != 0 and not projected(context, lane, wanted, y):
            return LEFT
        for i in range(ns):
            found[nexts[lane] * ns + i] = y[i]
        nexts[lane] += 1
    for i in range(ns):
        y[i] = new[i * LANES + lane]
    if context.projects != 0 and not projected(context, lane, t_new, y):
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
