r"""RATTLE, and its symmetric compositions, for systems of constant mass with holonomic constraints g(q, t) = 0.

One step of size h from (q0, v0), with D = M^-1 G^T, G = dg/dq and a = M^-1 f(q, t):

    w  = v0 + h/2 a(q0),      q1 = q0 + h w - D(q0) l,      g(q1) = 0,      w <- w - D(q0) l / h
    v1 = w + h/2 a(q1) - D(q1) m,     G(q1) v1 + g_t = 0

(H. C. Andersen, J. Comput. Phys. 52 (1983) 24; symplectic and of order 2: B. Leimkuhler, R. Skeel, J. Comput. Phys. 112 (1994)
117). Within a composition the correction m of one step and the multiplier l of the next push along the same D(q1), so that the
velocities are brought to the constraints at the end of the whole step alone. l is found by Newton's method on g(q1) = 0; its
guess continues the forces of the last two steps.
"""

from __future__ import annotations

from ...compiled.language import Integers, Reals, call_program, integers_at, native, reals_at
from ...compiled.native import INPUT_VALUES, PARAMETERS, STATE, TIME
from ..advance import COUNTS, EVALUATIONS, STAGE, Y
from .places import (
    BEFORE,
    COLUMN_OF_ENTRY,
    DELTA,
    DIRECTIONS,
    FORCES,
    LOW,
    MULTIPLIERS,
    N_CONDITIONS,
    N_DIRECTIONS,
    N_STAGES,
    RATTLE_OUT,
    REMEMBERED,
    ROW_OF_ENTRY,
    STEP_PROGRAM,
    SWEEPS,
    UNSOLVABLE,
    VELOCITY_PROGRAM,
    WEIGHTS,
)

__all__ = ["rattle_step"]

#: The most corrections of a position; changes of it that are rounding, relative to its size; those that may be left at rest.
MOST_CORRECTIONS, ROUNDING, RESTING = 15, 4e-16, 1e-13

INFINITY = float("inf")


@native
def call_with(book: Integers, address: int, y: Reals, w: Reals, out: Reals) -> None:
    """Call a program with letters w of its own."""
    call_program(address, reals_at(book[TIME]), y, reals_at(book[PARAMETERS]), reals_at(book[INPUT_VALUES]), w, out)


@native
def guessed_multipliers(book: Integers, t: float, step: float, before: float) -> None:
    """MULTIPLIERS <- step (step + before) / 2 times the forces, continued to t from the last two times."""
    counts, forces, found = integers_at(book[COUNTS]), reals_at(book[FORCES]), reals_at(book[MULTIPLIERS])
    m, clock = book[N_CONDITIONS], reals_at(book[BEFORE])
    scale = 0.5 * step * (step + before)
    weight = 0.0
    if counts[REMEMBERED] > 1:
        weight = (t - clock[1]) / (clock[1] - clock[0])
    for k in range(m):
        force = 0.0
        if counts[REMEMBERED] > 0:
            force = forces[m + k] + weight * (forces[m + k] - forces[k])
        found[k] = scale * force


@native
def remember_forces(book: Integers, t: float, step: float, before: float) -> None:
    """The multipliers as forces, at the time where they act."""
    counts, forces, found = integers_at(book[COUNTS]), reals_at(book[FORCES]), reals_at(book[MULTIPLIERS])
    m, clock = book[N_CONDITIONS], reals_at(book[BEFORE])
    scale = 1.0 / (0.5 * step * (step + before))
    for k in range(m):
        forces[k] = forces[m + k]
        forces[m + k] = scale * found[k]
    clock[0], clock[1] = clock[1], t
    counts[REMEMBERED] = min(counts[REMEMBERED] + 1, 2)


@native
def constrained_position(book: Integers, step: float, n: int, free: Reals) -> int:
    """The position of a step: STAGE <- y + LOW + free - D l with g = 0 there, and `free` <- free - D l; l in MULTIPLIERS.

    RATTLE_OUT takes what the program of a step gives at that position: corrections of l, a, D.
    """
    counts, y, low, stage = integers_at(book[COUNTS]), reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[STAGE])
    m, entries = book[N_CONDITIONS], book[N_DIRECTIONS]
    rows, columns = integers_at(book[ROW_OF_ENTRY]), integers_at(book[COLUMN_OF_ENTRY])
    out, directions, found = reals_at(book[RATTLE_OUT]), reals_at(book[DIRECTIONS]), reals_at(book[MULTIPLIERS])
    for e in range(entries):
        free[rows[e]] -= directions[e] * found[columns[e]]
    for c in range(n):
        stage[c] = y[c] + (low[c] + free[c])
    last = INFINITY
    for _ in range(MOST_CORRECTIONS):
        call_with(book, book[STEP_PROGRAM], stage, directions, out)
        counts[EVALUATIONS] += 1
        counts[SWEEPS] += 1
        if m == 0:
            return 0
        # The change is made in `free`, and undone where it is rounding: a, D belong to the position they were found at.
        for e in range(entries):
            free[rows[e]] -= directions[e] * out[columns[e]]
        change, size = 0.0, 1e-300
        for c in range(n):
            change = max(change, abs(y[c] + (low[c] + free[c]) - stage[c]))
            size = max(size, abs(stage[c]))
        if change <= ROUNDING * size or (change <= RESTING * size and change >= last):
            for e in range(entries):
                free[rows[e]] += directions[e] * out[columns[e]]
            return 0
        if not change < last:
            return UNSOLVABLE
        last = change if change > 0.5 * last else 0.5 * last
        for k in range(m):
            found[k] += out[k]
        for c in range(n):
            stage[c] = y[c] + (low[c] + free[c])
    return UNSOLVABLE


@native
def take_fields(book: Integers, n: int) -> None:
    """D of the program's output, which the next position is corrected along; a stays in the output."""
    out, directions = reals_at(book[RATTLE_OUT]) + (book[N_CONDITIONS] + n), reals_at(book[DIRECTIONS])
    for e in range(book[N_DIRECTIONS]):
        directions[e] = out[e]


@native
def rattle_step(book: Integers, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state (q, v)."""
    n, m, counts = book[STATE] // 2, book[N_CONDITIONS], integers_at(book[COUNTS])
    y, low, delta, stage = reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[DELTA]), reals_at(book[STAGE])
    out, weights, clock = reals_at(book[RATTLE_OUT]), reals_at(book[WEIGHTS]), reals_at(book[TIME])
    rows, columns = integers_at(book[ROW_OF_ENTRY]), integers_at(book[COLUMN_OF_ENTRY])
    directions, found = reals_at(book[DIRECTIONS]), reals_at(book[MULTIPLIERS])
    field = out + m
    push = delta + n
    if counts[REMEMBERED] == 0:
        clock[0] = t
        call_with(book, book[STEP_PROGRAM], y, directions, out)
        take_fields(book, n)
    for c in range(2 * n):
        delta[c] = 0.0
    before, now = 0.0, t
    for i in range(book[N_STAGES]):
        step = weights[i] * h
        guessed_multipliers(book, now, step, before)
        for c in range(n):
            push[c] += 0.5 * step * field[c]
            delta[c] += step * (y[n + c] + (low[n + c] + push[c]))
        clock[0] = now + step
        status = constrained_position(book, step, n, delta)
        if status != 0:
            counts[REMEMBERED] = 0
            return status
        for e in range(book[N_DIRECTIONS]):
            push[rows[e]] -= directions[e] * found[columns[e]] / step
        if m > 0:
            remember_forces(book, now, step, before)
        else:
            counts[REMEMBERED] = 1
        take_fields(book, n)
        for c in range(n):
            push[c] += 0.5 * step * field[c]
        before, now = step, now + step
    if m > 0:
        for c in range(n):
            stage[n + c] = y[n + c] + (low[n + c] + push[c])
        correction = reals_at(book[BEFORE]) + 2
        call_with(book, book[VELOCITY_PROGRAM], stage, directions, correction)
        for c in range(n):
            push[c] -= correction[c]
    return 0
