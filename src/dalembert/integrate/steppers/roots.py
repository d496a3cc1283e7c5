r"""Steps whose equations are programs of the model: R(y, x, h) = 0 for the unknowns x, solved to rounding by Newton's method.

A method states one or several sets of equations, each with its matrix R_x, and how the state ends. A step of a composition is a
row of steps of sizes gamma_i h (`compositions`); each has unknowns of its own, whose guess continues those of the two steps
before, and a factored matrix of its own, which is kept for as long as it serves. As in `collocation`, an iteration ends where
it comes no closer, not at a tolerance, which would leave a part that is the same in every step and adds up.
"""

from __future__ import annotations

from ...compiled.factorisations import pivoted_qr, reflect, solve_triangle
from ...compiled.language import Integers, Reals, integers_at, native, rare, reals_at
from ...compiled.native import STATE, TIME, is_finite
from ..advance import COUNTS, EVALUATIONS, STAGE, Y
from .collocation import size_of
from .places import (
    DELTA,
    FACTORS_OF,
    FIRST_OF,
    INCREMENTS_OF,
    LETTERS_FROM,
    LETTERS_TO,
    LOW,
    MATRIX_OF,
    N_ROOT_STAGES,
    N_STAGES,
    NOT_CONTRACTING,
    REMEMBERED,
    RESIDUAL_OF,
    ROOT_BEGIN,
    ROOT_COLUMNS,
    ROOT_END,
    ROOT_FACTORS,
    ROOT_HEADS,
    ROOT_INPUT,
    ROOT_KEPT,
    ROOT_ORDER,
    ROOT_RESIDUAL,
    ROOT_SCALES,
    ROOT_STEP,
    ROOT_TABLE,
    ROOT_WIDTH,
    ROOTS_BEFORE,
    ROOTS_EARLIER,
    ROOTS_NOW,
    SIZE_OF,
    SWEEPS,
    UNSOLVABLE,
    WEIGHTS,
)
from .rattle import call_with

__all__ = ["root_step"]

#: The most iterations with one matrix, how many of them ask for another one in the next step, and the most matrices of a step.
MOST_ITERATIONS, MANY, MOST_MATRICES = 25, 4, 6
#: Steps with a fresh matrix that do not shrink have come to rest at rounding where they are below this part of the increments,
#: or below that part of the letters themselves. Steps do not shrink, or an old matrix makes them shrink too slowly, where each
#: is longer than these parts of the one before.
CONVERGED, REST, RESTING, SLOW = 1e-10, 4e-15, 0.7, 0.3
#: Steps below this part of the letters that they move are at rounding also with an old matrix; a step that would be below this
#: part of the increments need not be made.
ROUNDING, NEGLIGIBLE = 1e-15, 1e-17
#: An increment whose own steps are above this part of it, and still shrink by half, is not settled, however small it is beside
#: the others: letters may have very different units.
SETTLED = 1e-12
#: A matrix with pivots below this, where the largest entry of each row is one, does not determine the unknowns.
LEAST_PIVOT = 1e-14
#: A matrix of so many more unknowns is worth one iteration more, before it is made again.
WORTH = 6
#: Steps that differ by no more than this part of them continue each other.
SMOOTH = 0.2

INFINITY = float("inf")


@rare
def root_matrix(book: Integers, row: Integers, number: int) -> int:
    """Factor the matrix of one set of equations at the unknowns in ROOT_INPUT, with rows scaled to entries of at most one.

    Reflections mix the rounding of long rows into short ones.
    """
    size, width = row[SIZE_OF], book[ROOT_WIDTH]
    columns = reals_at(book[ROOT_FACTORS]) + (number * width * width + row[FACTORS_OF])
    call_with(book, row[MATRIX_OF], reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[ROOT_INPUT]), columns)
    if not is_finite(size * size, columns):
        return UNSOLVABLE
    shift = number * width + row[FIRST_OF]
    heads, order = reals_at(book[ROOT_HEADS]) + shift, integers_at(book[ROOT_ORDER]) + shift
    scales = reals_at(book[ROOT_SCALES]) + shift
    for i in range(size):
        largest = 0.0
        for j in range(size):
            largest = max(largest, abs(columns[j * size + i]))
        if largest == 0.0:
            return UNSOLVABLE
        scales[i] = 1.0 / largest
        for j in range(size):
            columns[j * size + i] *= scales[i]
    return 0 if pivoted_qr(size, size, columns, heads, order, LEAST_PIVOT, heads, order, False) == size else UNSOLVABLE


@native
def iterate_roots(book: Integers, row: Integers, number: int, scale: float, floor: float, is_fresh: bool) -> int:
    """Newton steps with the factored matrix until they come no closer; returns their number, or -1 where it does not serve.

    Steps that no longer shrink are at rounding, unless an old matrix is to blame.
    """
    size, increments, width = row[SIZE_OF], row[INCREMENTS_OF], book[ROOT_WIDTH]
    y, low, w, residual = reals_at(book[Y]), reals_at(book[LOW]), reals_at(book[ROOT_INPUT]), reals_at(book[ROOT_RESIDUAL])
    unknowns, shift = w + (book[STATE] + row[FIRST_OF]), number * width + row[FIRST_OF]
    columns = reals_at(book[ROOT_FACTORS]) + (number * width * width + row[FACTORS_OF])
    heads, order, counts = reals_at(book[ROOT_HEADS]) + shift, integers_at(book[ROOT_ORDER]) + shift, integers_at(book[COUNTS])
    scales = reals_at(book[ROOT_SCALES]) + shift
    before, last = INFINITY, residual + width
    for k in range(size):
        last[k] = INFINITY
    for attempt in range(MOST_ITERATIONS):
        call_with(book, row[RESIDUAL_OF], y, low, w, residual)
        counts[EVALUATIONS] += 1
        counts[SWEEPS] += 1
        for k in range(size):
            residual[k] *= scales[k]
        reflect(size, size, columns, heads, residual, False)
        solve_triangle(size, size, columns, residual)
        change, total, is_settled = 0.0, 0.0, True
        for k in range(size):
            c, step = order[k], abs(residual[k])
            unknowns[c] -= residual[k]
            if c < increments:
                change = max(change, step)
                total = max(total, abs(unknowns[c]))
                if step > SETTLED * abs(unknowns[c]) and step < 0.5 * last[k]:
                    is_settled = False
                last[k] = step
        if not change < INFINITY or not is_finite(size, unknowns):
            return -1
        expected = change * change / before if attempt > 0 else change
        if expected <= NEGLIGIBLE * total and is_settled:
            return attempt + 1
        if change > (RESTING if is_fresh else SLOW) * before:
            is_resting = change <= ROUNDING * (total + scale)
            if not is_resting and not (is_fresh and change <= CONVERGED * total + floor):
                return -1
            if is_settled:
                return attempt + 1
        before = change
    return -1


@native
def solve_roots(book: Integers, row: Integers, number: int, kept: Integers) -> int:
    """The unknowns of one set of equations from the guess in ROOT_INPUT."""
    is_fresh, scale, y = False, 0.0, reals_at(book[Y])
    for c in range(row[LETTERS_FROM], row[LETTERS_TO]):
        scale += abs(y[c])
    floor = REST * size_of(book)
    for _ in range(MOST_MATRICES):
        if kept[0] == 0:
            is_fresh = True
            if root_matrix(book, row, number) != 0:
                return UNSOLVABLE
            kept[0] = 1
        used = iterate_roots(book, row, number, scale, floor, is_fresh)
        if used > 0:
            if used > MANY + row[SIZE_OF] // WORTH:
                kept[0] = 0
            return 0
        kept[0] = 0
        if not is_finite(row[SIZE_OF], reals_at(book[ROOT_INPUT]) + (book[STATE] + row[FIRST_OF])):
            return UNSOLVABLE
    return UNSOLVABLE


@native
def guess_roots(book: Integers, number: int, w: Reals) -> None:
    """The unknowns of one step of a composition from those of the steps before, or from the program of the method."""
    ns, width, counts = book[STATE], book[ROOT_WIDTH], integers_at(book[COUNTS])
    if counts[REMEMBERED] == 0:
        call_with(book, book[ROOT_BEGIN], reals_at(book[Y]), reals_at(book[LOW]), w, w + ns)
        return
    before, earlier = reals_at(book[ROOTS_BEFORE]) + number * width, reals_at(book[ROOTS_EARLIER]) + number * width
    factor = 1.0 if counts[REMEMBERED] > 1 else 0.0
    for c in range(width):
        w[ns + c] = before[c] + factor * (before[c] - earlier[c])


@native
def roots_of_step(book: Integers, t: float, h: float) -> int:
    """All steps of a composition: the increment of the state, at the head of ROOT_INPUT."""
    ns, width, sets = book[STATE], book[ROOT_WIDTH], book[N_ROOT_STAGES]
    w, stage, now = reals_at(book[ROOT_INPUT]), reals_at(book[STAGE]), reals_at(book[ROOTS_NOW])
    weights, clock, table = reals_at(book[WEIGHTS]), reals_at(book[TIME]), integers_at(book[ROOT_TABLE])
    reached = t
    for c in range(ns):
        w[c] = 0.0
    for i in range(book[N_STAGES]):
        clock[0] = reached
        w[ns + width] = weights[i] * h
        guess_roots(book, i, w)
        for j in range(sets):
            kept = integers_at(book[ROOT_KEPT]) + (i * sets + j)
            status = solve_roots(book, table + j * ROOT_COLUMNS, i, kept)
            if status != 0:
                return status
        for c in range(width):
            now[i * width + c] = w[ns + c]
        call_with(book, book[ROOT_END], reals_at(book[Y]), reals_at(book[LOW]), w, stage)
        for c in range(ns):
            w[c] = stage[c]
        reached += weights[i] * h
    return 0


@rare
def root_step(book: Integers, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state."""
    counts, last = integers_at(book[COUNTS]), reals_at(book[ROOT_STEP])
    before = last[0]
    last[0] = h
    if not abs(h - before) <= SMOOTH * abs(before):
        counts[REMEMBERED] = 0
        for k in range(book[N_STAGES] * book[N_ROOT_STAGES]):
            integers_at(book[ROOT_KEPT])[k] = 0
    status = roots_of_step(book, t, h)
    if status != 0 and counts[REMEMBERED] > 0:
        counts[REMEMBERED] = 0
        for k in range(book[N_STAGES] * book[N_ROOT_STAGES]):
            integers_at(book[ROOT_KEPT])[k] = 0
        status = roots_of_step(book, t, h)
    if status != 0:
        counts[REMEMBERED] = 0
        return UNSOLVABLE if status == NOT_CONTRACTING else status
    w, delta = reals_at(book[ROOT_INPUT]), reals_at(book[DELTA])
    for c in range(book[STATE]):
        delta[c] = w[c]
    book[ROOTS_EARLIER], book[ROOTS_BEFORE], book[ROOTS_NOW] = book[ROOTS_BEFORE], book[ROOTS_NOW], book[ROOTS_EARLIER]
    counts[REMEMBERED] = min(counts[REMEMBERED] + 1, 2)
    return 0
