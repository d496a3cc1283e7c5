r"""The native loop of a run whose steps vary with the state, and which is reversible all the same.

A step of size h_n = eps / rho is taken by a symmetric method; the density rho of the steps is
integrated along with the motion instead of being read off it, so that a step is the same seen from
either end:

    rho_(n+1/2) = rho_(n-1/2) + eps R(y_n),      y_(n+1) = Phi_(eps/rho_(n+1/2))(y_n),       R =
    d/dt log (1/s)

for steps that are to be proportional to s(y), with half of the increment at the start (E. Hairer,
G. Soederlind, SIAM J. Sci. Comput. 26 (2005) 1838). R changes its sign with the velocities. Times
add up with compensation.
"""

from __future__ import annotations

from ....codegen.native.language import call_program, native
from ...advance import BUDGET, END, FULL, ROW_REVERSED, UNSOLVED
from ...events.watches import row_reversed
from ...run_fields import FixedFields
from .fixed_steps import increment, reason, step_from

__all__ = ["advance_reversible"]

#: A time this part of a step away from a step is that step.
SAME = 1e-9


@native
def density_rate(context: FixedFields) -> float:
    """R at the state reached."""
    time = context.time
    time[0] = context.clock.t
    u = context.input_values
    call_program(
        context.control_program, time, context.y, context.parameters, u, u, context.density_values
    )
    return context.density_values[1]


@native
def record_state(context: FixedFields) -> None:
    """Store the state reached as a step."""
    ns, counts = context.n_state, context.counts
    y, states = context.y, context.step_states + counts.recorded * ns
    context.step_times[counts.recorded] = context.clock.t
    for c in range(ns):
        states[c] = y[c]
    counts.recorded += 1


@native
def reach(context: FixedFields, elapsed: float, place: int) -> int:
    """Reach a time `elapsed` on by a step of its own: answer `place`, or the state for -1."""
    ns, counts, clock = context.n_state, context.counts, context.clock
    y, delta = context.y, context.delta
    code = step_from(
        context, clock.t, elapsed, y, y if place < 0 else context.at_states + place * ns
    )
    counts.remembered, counts.factored = 0, 0
    for c in range(ns):
        delta[c] = 0.0
    return code


@native
def answer_times(context: FixedFields, h: float) -> int:
    """The states at the times asked for within the next step."""
    clock, counts, asked = context.clock, context.counts, context.at
    while counts.next_at < context.n_at:
        elapsed = asked[counts.next_at] - clock.t
        if abs(elapsed) > (1.0 + SAME) * abs(h):
            return BUDGET
        code = BUDGET
        if abs(elapsed) > SAME * abs(h):
            code = reach(context, elapsed, counts.next_at)
        else:
            y, target = context.y, context.at_states + counts.next_at * context.n_state
            for c in range(context.n_state):
                target[c] = y[c]
        if code != BUDGET:
            return code
        counts.next_at += 1
    return BUDGET


@native
def whole_step(context: FixedFields, h: float) -> int:
    """The state and the time after a step of size h."""
    ns, clock, control = context.n_state, context.clock, context.control
    y, low, delta, counts = context.y, context.rounding, context.delta, context.counts
    status = increment(context, clock.t, h)
    if status != 0:
        counts.last_status = status
        return reason(status)
    for c in range(ns):
        low[c] += delta[c]
        before = y[c]
        y[c] = before + low[c]
        low[c] += before - y[c]
    control.time_low += h
    earlier = clock.t
    clock.t = earlier + control.time_low
    control.time_low += earlier - clock.t
    counts.number += 1
    counts.accepted += 1
    return BUDGET


@native
def advance_reversible(context: FixedFields, budget: int) -> int:
    """Steps until the end, a full buffer, a failure, or `budget` steps."""
    clock, control, counts = context.clock, context.control, context.counts
    epsilon = control.epsilon
    for _ in range(budget):
        if clock.t == clock.t_end:
            return END
        if counts.recorded >= context.capacity:
            return FULL
        if control.density == 0.0:
            density_rate(context)
        density = control.whole + 0.5 * epsilon * context.density_values[1]
        if not density > 0.0:
            return UNSOLVED
        h, rest = epsilon / density, (clock.t_end - clock.t) - control.time_low
        is_last = abs(rest) <= (1.0 + SAME) * abs(h)
        code = answer_times(context, rest if is_last else h)
        if code == BUDGET and is_last and abs(rest) < (1.0 - SAME) * abs(h):
            # The end lies within the step: it is reached by a shorter one, and rho stays that of
            # the step before.
            code = reach(context, rest, -1)
            counts.accepted += 1
        elif code == BUDGET:
            code = whole_step(context, h)
            if code == BUDGET:
                control.density = density
                control.whole = density + 0.5 * epsilon * density_rate(context)
        if code != BUDGET:
            return code
        if is_last:
            clock.t = clock.t_end
        if is_last or counts.number >= counts.next_stored:
            counts.next_stored = counts.number + context.store_every
            record_state(context)
        if context.watch_program != 0 and row_reversed(context, clock.t, context.y):
            return ROW_REVERSED
    return END if clock.t == clock.t_end else BUDGET
