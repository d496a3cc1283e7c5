"""Native functions of an exported run beside `native` and `advance`: begin, follow, observe.

In a run of this library Python begins, looks at why `advance` came back, and goes on. Exported code
has no Python; what it does instead is written here, in the language of all native loops, and
translated to C with them.
"""

from __future__ import annotations

from math import nextafter

from ..codegen.native.language import Reals, native
from ..integrate.advance import (
    BUDGET,
    COMMIT_NOT_COMPILED,
    END,
    EVENT,
    EXCLUDED,
    FULL,
    NOT_COMPILED,
    OFF_CONSTRAINTS,
    TOO_SMALL,
    advance,
)
from ..integrate.run_fields import RunFields
from ..integrate.step_control import scaled_norm
from ..runtime.gauss.solve_status import CONTRADICTORY, DEPENDENT, REGULAR, SINGULAR
from ..runtime.projection import (
    MISSING,
    STUCK,
    call_events,
    evaluate,
    evaluate_on_constraints,
    run_program,
    solve_unknowns,
)

__all__ = ["STATUSES", "begin", "first_step", "follow", "observe_state"]

#: What an exported function returns beside the verdicts of a solve, 0 to 3.
STEP_TOO_SMALL, LEFT_CONSTRAINTS, TOO_MANY_STEPS, DEGENERATE, LEFT_OUT = 4, 5, 6, 7, 8
#: The statuses by name, with the sentence that belongs to each.
STATUSES: dict[str, tuple[int, str]] = {
    "OK": (REGULAR, "Fine."),
    "DEPENDENT": (
        DEPENDENT,
        "Constraints depend on each other: rates are right, multipliers least-norm.",
    ),
    "CONTRADICTORY": (CONTRADICTORY, "Constraints contradict each other."),
    "SINGULAR": (SINGULAR, "The rates are not determined, or not finite."),
    "STEP_TOO_SMALL": (STEP_TOO_SMALL, "The steps became too small; the motion may end here."),
    "LEFT_CONSTRAINTS": (LEFT_CONSTRAINTS, "The state cannot be brought back to the constraints."),
    "TOO_MANY_STEPS": (TOO_MANY_STEPS, "More steps were needed than allowed."),
    "DEGENERATE": (DEGENERATE, "The choice of velocities degenerates; export the form lagrange."),
    "LEFT_OUT": (LEFT_OUT, "The sparse solve fails here, and the dense one was left out (size)."),
}

#: Steps that are taken before the buffer of steps is emptied.
CAPACITY = 16
#: A first step is no shorter than so many spacings of the clock.
LEAST_SPACINGS = 128.0
INFINITY = float("inf")


@native
def first_step(context: RunFields, length: float) -> float:
    """A first step from the size of the state and its first two derivatives (Hairer et al., II.4).

    The first stage is the rate at y. The same as `dalembert.integrate.native_run.first_step`.
    """
    ns = context.n_state
    clock, y, stage, atol = context.clock, context.y, context.stage, context.atol
    rate, further = context.stages, context.stages + (ns + 1)
    direction = 1.0 if length > 0.0 else -1.0
    for i in range(ns):
        stage[i] = 0.0
    d0 = scaled_norm(ns, y, stage, y, clock.rtol, atol)
    d1 = scaled_norm(ns, rate, stage, y, clock.rtol, atol)
    h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, abs(length))
    for i in range(ns):
        stage[i] = y[i] + direction * h0 * rate[i]
    status = evaluate(context, clock.t + direction * h0, stage, further)
    d2 = INFINITY
    if status < CONTRADICTORY:
        d2 = scaled_norm(ns, further, rate, y, clock.rtol, atol) / h0
    largest = max(d1, d2)
    if not largest < INFINITY:
        return min(1e-3 * h0, abs(length))
    h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else pow(0.01 / largest, 0.125)
    spacing = nextafter(abs(clock.t), INFINITY) - abs(clock.t)
    return min(min(max(100.0 * h0, LEAST_SPACINGS * spacing), h1), abs(length))


@native
def begin(context: RunFields, time: float, until: float) -> int:
    """Begin a run at (time, y) towards `until`: clock, counts, first stage and first step."""
    ns = context.n_state
    clock, counts, y = context.clock, context.counts, context.y
    clock.t, clock.t_end = time, until
    counts.evaluations, counts.accepted, counts.rejected, counts.projected = 0, 0, 0, 0
    counts.recorded, counts.next_at, counts.last_status, counts.has_dense = 0, 0, 0, 0
    status = evaluate_on_constraints(context, time, y, context.stages)
    if status == MISSING:
        return LEFT_OUT
    if status == SINGULAR or status == CONTRADICTORY:
        return status
    if context.n_events > 0:
        quality = context.events_old
        call_events(context, time, y, quality)
        if not quality[0] > 0.0:
            return DEGENERATE
    at, at_states = context.at, context.at_states
    while counts.next_at < context.n_at and at[counts.next_at] == time:
        for i in range(ns):
            at_states[counts.next_at * ns + i] = y[i]
        counts.next_at += 1
    if clock.h == 0.0 and until != time:
        clock.h = first_step(context, until - time)
    return REGULAR


@native
def follow(context: RunFields, most: int) -> int:
    """Go on to the end of a run by at most `most` attempts; returns one of `STATUSES`."""
    clock, counts = context.clock, context.counts
    code = BUDGET
    while code == BUDGET or code == FULL:
        if counts.accepted + counts.rejected >= most and clock.t != clock.t_end:
            return TOO_MANY_STEPS
        counts.recorded = 0
        code = advance(context, CAPACITY)
    if code == END:
        return REGULAR
    if code == EVENT:
        return DEGENERATE
    if code == NOT_COMPILED or code == COMMIT_NOT_COMPILED:
        return LEFT_OUT
    if code == OFF_CONSTRAINTS or counts.last_status == STUCK:
        return LEFT_CONSTRAINTS
    if code == EXCLUDED:
        return CONTRADICTORY
    if code == TOO_SMALL and counts.last_status != SINGULAR:
        return STEP_TOO_SMALL
    return SINGULAR


@native
def observe_state(context: RunFields, time: float, y: Reals, out: Reals) -> int:
    """Everything observed at one state; nothing where the unknowns are not determined."""
    clock = context.time
    clock[0] = time
    status = solve_unknowns(context, y)
    if status == MISSING:
        return LEFT_OUT
    if status != SINGULAR:
        run_program(context, context.observe, y, out)
    return status
