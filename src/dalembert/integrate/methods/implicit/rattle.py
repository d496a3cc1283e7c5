r"""RATTLE, and its symmetric compositions, for systems of constant mass with holonomic constraints
g(q, t) = 0.

One step of size h from (q0, v0), with D = M^-1 G^T, G = dg/dq and a = M^-1 f(q, t):

    w  = v0 + h/2 a(q0),      q1 = q0 + h w - D(q0) l,      g(q1) = 0,      w <- w - D(q0) l / h
    v1 = w + h/2 a(q1) - D(q1) m,     G(q1) v1 + g_t = 0

(H. C. Andersen, J. Comput. Phys. 52 (1983) 24; symplectic and of order 2: B. Leimkuhler, R. Skeel,
J. Comput. Phys. 112 (1994) 117). Within a composition the correction m of one step and the
multiplier l of the next push along the same D(q1), so that the velocities are brought to the
constraints at the end of the whole step alone. l is found by Newton's method on g(q1) = 0; its
guess are the forces of the step before.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, call_program, native
from ...run_fields import FixedFields
from ..fixed.fixed_fields import UNSOLVABLE

__all__ = ["rattle_step"]

#: The most tries of a substep, each with two corrections; the last correction, relative to the size
#: of the position, after which the error is about its square.
MOST_TRIES, LAST_CORRECTION = 6, 2e-9

INFINITY = float("inf")


@native
def call_with(context: FixedFields, address: int, y: Reals, u: Reals, w: Reals, out: Reals) -> None:
    """Call a program with symbols u and w of its own."""
    call_program(address, context.time, y, context.parameters, u, w, out)


@native
def guessed_multipliers(context: FixedFields, scale: float, found: Reals) -> None:
    """found (m) <- `scale` times the last forces, extrapolated if steps are equal."""
    counts, forces = context.counts, context.forces
    m = context.n_conditions
    derivative = scale if counts.remembered > 1 and context.n_stages == 1 else 0.0
    for k in range(m):
        found[k] = scale * forces[m + k] + derivative * (forces[m + k] - forces[k])


@native
def remember_forces(context: FixedFields, scale: float, found: Reals) -> None:
    """The multipliers as forces."""
    counts, forces = context.counts, context.forces
    m, inverse = context.n_conditions, 1.0 / scale
    for k in range(m):
        forces[k] = forces[m + k]
        forces[m + k] = inverse * found[k]
    counts.remembered = min(counts.remembered + 1, 2)


@native
def substep(context: FixedFields, scale: float, start: Reals, end: Reals) -> int:
    """One RATTLE step but for its last velocities, iterated: `end` <- results from `start`."""
    n, m, counts = context.n_state // 2, context.n_conditions, context.counts
    y, low = context.y, context.rounding
    found = 3 * n + context.n_directions
    guessed_multipliers(context, scale, start + found)
    last = INFINITY
    for _ in range(MOST_TRIES):
        call_with(context, context.substep_program, y, low, start, end)
        counts.sweeps += 1
        change, size = end[found + m], end[found + m + 1]
        if change <= LAST_CORRECTION * size:
            remember_forces(context, scale, end + found)
            return 0
        if not change < last:
            return UNSOLVABLE
        last = change
        for k in range(m):
            start[found + k] = end[found + k]
    return UNSOLVABLE


@native
def rattle_step(context: FixedFields, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state (q, v)."""
    n, m, counts = context.n_state // 2, context.n_conditions, context.counts
    y, low, delta = context.y, context.rounding, context.delta
    weights, clock = context.weights, context.time
    start, end = context.substep, context.substep_end
    size = 3 * n + context.n_directions + m
    if counts.remembered == 0:
        clock[0] = t
        call_with(context, context.field_program, y, low, low, start + 2 * n)
        for k in range(2 * m):
            context.forces[k] = 0.0
    for c in range(2 * n):
        start[c] = 0.0
    before, now = 0.0, t
    for i in range(context.n_stages):
        step = weights[i] * h
        clock[0] = now + step
        start[size] = step
        status = substep(context, 0.5 * step * (step + before), start, end)
        counts.evaluations += 1
        if status != 0:
            counts.remembered = 0
            return status
        # What a substep ends with, in the same order, is what the next one begins with.
        context.substep, context.substep_end = context.substep_end, context.substep
        start, end = context.substep, context.substep_end
        before, now = step, now + step
    for c in range(2 * n):
        delta[c] = start[c]
    if m > 0:
        stage, lost = context.stage, context.lost
        for c in range(2 * n):
            stage[c] = y[c] + (low[c] + start[c])
        call_with(context, context.velocity_program, stage, low, low, lost)
        for c in range(n):
            delta[n + c] -= lost[c]
    return 0
