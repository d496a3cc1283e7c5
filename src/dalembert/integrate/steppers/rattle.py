r"""RATTLE, and its symmetric compositions, for systems of constant mass with holonomic constraints g(q, t) = 0.

One step of size h from (q0, v0), with D = M^-1 G^T, G = dg/dq and a = M^-1 f(q, t):

    w  = v0 + h/2 a(q0),      q1 = q0 + h w - D(q0) l,      g(q1) = 0,      w <- w - D(q0) l / h
    v1 = w + h/2 a(q1) - D(q1) m,     G(q1) v1 + g_t = 0

(H. C. Andersen, J. Comput. Phys. 52 (1983) 24; symplectic and of order 2: B. Leimkuhler, R. Skeel, J. Comput. Phys. 112 (1994)
117). Within a composition the correction m of one step and the multiplier l of the next push along the same D(q1), so that the
velocities are brought to the constraints at the end of the whole step alone. l is found by Newton's method on g(q1) = 0; its
guess are the forces of the step before.
"""

from __future__ import annotations

from ...compiled.language import Integers, Reals, call_program, integers_at, native, reals_at
from ...compiled.native import INPUT_VALUES, PARAMETERS, STATE, TIME
from ..advance import COUNTS, EVALUATIONS, STAGE, Y
from .places import (
    CORRECTION_PROGRAM,
    CORRECTIONS,
    DELTA,
    FIELD_PROGRAM,
    FIELDS,
    FORCES,
    LOW,
    N_CONDITIONS,
    N_DIRECTIONS,
    N_STAGES,
    PUSH_PROGRAM,
    REMEMBERED,
    SWEEPS,
    UNSOLVABLE,
    VELOCITY_PROGRAM,
    WEIGHTS,
)

__all__ = ["rattle_step"]

#: The most corrections of a position, and the last one, relative to its size: the error after it is about its square.
MOST_CORRECTIONS, LAST_CORRECTION = 12, 2e-9

INFINITY = float("inf")


@native
def call_with(book: Integers, address: int, y: Reals, w: Reals, out: Reals) -> None:
    """Call a program with letters w of its own."""
    call_program(address, reals_at(book[TIME]), y, reals_at(book[PARAMETERS]), reals_at(book[INPUT_VALUES]), w, out)


@native
def guessed_multipliers(book: Integers, scale: float, found: Reals) -> None:
    """found (m) <- `scale` times the forces of the step before, continued by those before it where steps are equal."""
    counts, forces = integers_at(book[COUNTS]), reals_at(book[FORCES])
    m = book[N_CONDITIONS]
    slope = scale if counts[REMEMBERED] > 1 and book[N_STAGES] == 1 else 0.0
    for k in range(m):
        found[k] = scale * forces[m + k] + slope * (forces[m + k] - forces[k])


@native
def remember_forces(book: Integers, scale: float, found: Reals) -> None:
    """The multipliers as forces."""
    counts, forces = integers_at(book[COUNTS]), reals_at(book[FORCES])
    m, inverse = book[N_CONDITIONS], 1.0 / scale
    for k in range(m):
        forces[k] = forces[m + k]
        forces[m + k] = inverse * found[k]
    counts[REMEMBERED] = min(counts[REMEMBERED] + 1, 2)


@native
def constrained_position(book: Integers, n: int, free: Reals, directions: Reals, found: Reals) -> int:
    """`free` <- free - D l with g = 0 at y + LOW + free, which STAGE takes; `found` holds a guess of l before, and l after."""
    counts, y, low, stage = integers_at(book[COUNTS]), reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[STAGE])
    m, out = book[N_CONDITIONS], reals_at(book[CORRECTIONS])
    call_with(book, book[PUSH_PROGRAM], stage, directions, out)
    size = 1e-300
    for c in range(n):
        free[c] -= out[c]
        stage[c] = y[c] + (low[c] + free[c])
        size = max(size, abs(stage[c]))
    last = INFINITY
    for _ in range(MOST_CORRECTIONS):
        call_with(book, book[CORRECTION_PROGRAM], stage, directions, out)
        counts[SWEEPS] += 1
        change = 0.0
        for c in range(n):
            change = max(change, abs(out[c]))
            free[c] -= out[c]
            stage[c] = y[c] + (low[c] + free[c])
        for k in range(m):
            found[k] += out[n + k]
        if change <= LAST_CORRECTION * size:
            return 0
        if not change < last:
            return UNSOLVABLE
        last = change
    return UNSOLVABLE


@native
def rattle_step(book: Integers, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state (q, v)."""
    n, m, counts = book[STATE] // 2, book[N_CONDITIONS], integers_at(book[COUNTS])
    y, low, delta, stage = reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[DELTA]), reals_at(book[STAGE])
    field, weights, clock = reals_at(book[FIELDS]), reals_at(book[WEIGHTS]), reals_at(book[TIME])
    # FIELDS holds a, the entries of D, and the multipliers, one after the other.
    directions, found, out = field + n, field + (n + book[N_DIRECTIONS]), reals_at(book[CORRECTIONS])
    push = delta + n
    if counts[REMEMBERED] == 0:
        clock[0] = t
        call_with(book, book[FIELD_PROGRAM], y, y, field)
        for k in range(2 * m):
            reals_at(book[FORCES])[k] = 0.0
    for c in range(2 * n):
        delta[c] = 0.0
    before, now = 0.0, t
    for i in range(book[N_STAGES]):
        step = weights[i] * h
        scale, half = 0.5 * step * (step + before), 0.5 * step
        for c in range(n):
            push[c] += half * field[c]
            delta[c] += step * (y[n + c] + (low[n + c] + push[c]))
        clock[0] = now + step
        if m > 0:
            guessed_multipliers(book, scale, found)
            status = constrained_position(book, n, delta, directions, found)
            if status != 0:
                counts[REMEMBERED] = 0
                return status
            call_with(book, book[PUSH_PROGRAM], stage, directions, out)
            inverse = 1.0 / step
            for c in range(n):
                push[c] -= inverse * out[c]
            remember_forces(book, scale, found)
        else:
            for c in range(n):
                stage[c] = y[c] + (low[c] + delta[c])
            counts[REMEMBERED] = 1
        call_with(book, book[FIELD_PROGRAM], stage, stage, field)
        counts[EVALUATIONS] += 1
        for c in range(n):
            push[c] += half * field[c]
        before, now = step, now + step
    if m > 0:
        for c in range(n):
            stage[n + c] = y[n + c] + (low[n + c] + push[c])
        call_with(book, book[VELOCITY_PROGRAM], stage, directions, out)
        for c in range(n):
            push[c] -= out[c]
    return 0
