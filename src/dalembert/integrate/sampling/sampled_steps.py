"""The native loop of a run with a sampled law: `advance` between the instants of its clock.

At a sample the state is measured and the law evaluated; at a switch an input takes another value.
A switch is crossed within a few spacings of the clock, so that no step sees both its sides.
"""

from __future__ import annotations

from math import floor

from ...codegen.native.language import call_program, native
from ...runtime.gauss.solve_status import DEPENDENT
from ...runtime.projection import MISSING, evaluate_on_constraints, run_program
from ..advance import BUDGET, END, FULL, NOT_COMPILED, NOT_DETERMINED, advance
from ..run_fields import RunFields

__all__ = ["LAW", "advance_samples", "limit_commands"]

#: Why `advance_samples` returned besides: the law is a function of Python.
LAW = 22
#: How far a sample is: not begun, measured, commanded.
NOT_BEGUN, MEASURED, COMMANDED = 0, 1, 2


@native
def rounded(value: float, quantum: float) -> float:
    """The nearest multiple of a quantum, where there is one."""
    if quantum <= 0.0:
        return value
    return quantum * floor(value / quantum + 0.5)


@native
def measure(context: RunFields) -> None:
    """measured <- the quantities that the law reads, with noise, rounded to their quanta."""
    s, clock = context.sampling, context.time
    n = s.n_measured
    if n == 0:
        return
    clock[0] = context.clock.t
    here = s.measured + s.n_samples * n
    noise, quanta = s.noise + s.n_samples * n, s.quanta
    run_program(context, s.observe_program, context.y, here)
    for i in range(n):
        here[i] = rounded(here[i] + noise[i], quanta[i])


@native
def limit_commands(context: RunFields) -> int:
    """Round the commands, limit their change and their size, and move the memory of the law on.

    `limits` has quantum, most change, least and most of each command.
    """
    s, clock = context.sampling, context.time
    m, k = s.n_commands, s.n_samples
    limits, before, here = s.limits, s.commands + k * m, s.commands + (k + 1) * m
    for i in range(m):
        own = limits + 4 * i
        value = rounded(here[i], own[0])
        value = min(max(value, before[i] - own[1]), before[i] + own[1])
        here[i] = min(max(value, own[2]), own[3])
    if s.update_program != 0:
        clock[0] = context.clock.t
        measured = s.measured + k * s.n_measured
        memory = s.memory + k * s.n_memory
        call_program(
            s.update_program, clock, measured, context.parameters, here, memory, memory + s.n_memory
        )
    s.n_samples += 1
    s.progress = NOT_BEGUN
    return 0


@native
def take_sample(context: RunFields) -> bool:
    """Measure and evaluate the law; False where Python must do that first."""
    s, clock = context.sampling, context.time
    if s.progress == NOT_BEGUN:
        measure(context)
        s.progress = MEASURED
    if s.progress == MEASURED:
        if s.law_program == 0:
            return False
        k, m = s.n_samples, s.n_commands
        clock[0] = context.clock.t
        call_program(
            s.law_program,
            clock,
            s.measured + k * s.n_measured,
            context.parameters,
            s.commands + k * m,
            s.memory + k * s.n_memory,
            s.commands + (k + 1) * m,
        )
    limit_commands(context)
    return True


@native
def set_inputs(context: RunFields, is_command: bool, time: float) -> None:
    """Write the pieces of the held inputs into their tables, and log them."""
    s = context.sampling
    if is_command:
        s.n_applied += 1
        s.switched_on = time
    m, applied, limits = s.n_commands, s.n_applied, s.limits
    now, before = s.commands + applied * m, s.commands + max(applied - 1, 0) * m
    data, places, noise = context.table_data, s.table_places, s.disturbances
    log = s.pieces + s.n_switches * s.n_held * 4
    for i in range(s.n_held):
        first, last = 0.0, 0.0
        if i < m:
            first = now[i]
            last = first
            if s.is_linear != 0 and applied > 1:
                last = min(max(2.0 * now[i] - before[i], limits[4 * i + 2]), limits[4 * i + 3])
        added = noise[max(s.n_samples - 1, 0) * s.n_held + i] if s.is_disturbed != 0 else 0.0
        piece, row = data + places[i], log + 4 * i
        row[0], row[1] = s.switched_on, s.switched_on + s.period
        row[2], row[3] = first + added, last + added
        for j in range(4):
            piece[j] = row[j]
    s.n_switches += 1


@native
def take_instant(context: RunFields) -> int:
    """Act on the next instant of the law's clock; BUDGET to go on."""
    s, clock, counts = context.sampling, context.clock, context.counts
    kinds = s.kinds + 3 * s.next_instant
    if kinds[0] != 0 and s.progress != COMMANDED and not take_sample(context):
        return LAW
    s.progress = NOT_BEGUN
    if kinds[1] != 0 or kinds[2] != 0:
        if counts.recorded >= context.capacity:
            s.progress = COMMANDED
            return FULL
        t_new = clock.t + s.width
        set_inputs(context, kinds[1] != 0, clock.t)
        y, rates, ns = context.y, context.stages, context.n_state
        status = evaluate_on_constraints(context, t_new, y, rates)
        if status == MISSING:
            s.n_switches -= 1
            s.n_applied -= 1 if kinds[1] != 0 else 0
            s.progress = COMMANDED
            return NOT_COMPILED
        if status > DEPENDENT:
            counts.last_status = status
            return NOT_DETERMINED
        counts.evaluations += 1
        states = context.step_states + counts.recorded * ns
        times = context.step_times
        for i in range(ns):
            y[i] += s.width * rates[i]
            states[i] = y[i]
        times[counts.recorded] = t_new
        counts.recorded += 1
        counts.has_dense = 0
        clock.t_old, clock.h_old, clock.t = clock.t, s.width, t_new
    s.next_instant += 1
    return BUDGET


@native
def advance_samples(context: RunFields, budget: int) -> int:
    """Take at most `budget` attempts, with samples and switches on the way."""
    s, clock, counts = context.sampling, context.clock, context.counts
    goal, instants = clock.t_end, s.instants
    before, code = counts.accepted + counts.rejected, BUDGET
    while code == BUDGET and clock.t < goal:
        while (
            code == BUDGET
            and s.next_instant < s.n_instants
            and (instants[s.next_instant] <= clock.t)
        ):
            code = take_instant(context)
        left = budget - (counts.accepted + counts.rejected - before)
        if code != BUDGET or left <= 0:
            break
        clock.t_end = goal
        if s.next_instant < s.n_instants:
            clock.t_end = min(goal, instants[s.next_instant])
        first, rejected = abs(clock.h), counts.rejected
        code = advance(context, left)
        if code == END:
            # The last step was shortened to end at the instant: what was possible before still is.
            if counts.rejected == rejected:
                clock.h = max(abs(clock.h), first)
            code = BUDGET
    clock.t_end = goal
    return END if code == BUDGET and clock.t == goal else code
