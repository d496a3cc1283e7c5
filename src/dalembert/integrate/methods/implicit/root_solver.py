r"""Steps whose equations are programs of the model: R(y, x, h) = 0 for the unknowns x, solved to
rounding by Newton's method.

A method states one or several sets of equations, each with its matrix R_x, and how the state ends.
A step of a composition is a row of steps of sizes gamma_i h (`compositions`); each has unknowns of
its own, whose guess continues those of the two steps before, and a factored matrix of its own,
which is kept for as long as it serves. As in `collocation`, an iteration ends where it comes no
closer, not at a tolerance, which would leave a part that is the same in every step and adds up.
"""

from __future__ import annotations

from ....codegen.native.language import Integers, Reals, native, rare
from ....runtime.gauss.factorisations import pivoted_qr, reflect, solve_triangle
from ....runtime.projection import is_finite
from ...run_fields import FixedFields
from ..fixed.fixed_fields import NOT_CONTRACTING, UNSOLVABLE
from .collocation import size_of
from .rattle import call_with

__all__ = ["root_step"]

#: The most iterations with one matrix, how many of them ask for another one in the next step, and
#: the most matrices of a step.
MOST_ITERATIONS, MANY, MOST_MATRICES = 25, 4, 6
#: Steps with a fresh matrix that do not shrink have come to rest at rounding where they are below
#: this part of the increments, or below that part of the symbols themselves. Steps do not shrink,
#: or an old matrix makes them shrink too slowly, where each is longer than these parts of the one
#: before.
CONVERGED, REST, RESTING, SLOW = 1e-10, 4e-15, 0.7, 0.3
#: Steps below this part of the symbols that they move are at rounding also with an old matrix; a
#: step that would be below this part of the increments need not be made.
ROUNDING, NEGLIGIBLE = 1e-15, 1e-17
#: An increment is not converged, however small it is beside the others, if its own steps are above
#: this part of it and below half of the smallest so far: symbols may have very different units.
#: The step before is no measure, because steps at rounding shrink and grow in turn.
STILL_MOVING = 1e-12
#: With smaller pivots, in rows scaled to one, a matrix does not determine the unknowns.
LEAST_PIVOT = 1e-14
#: A matrix of so many more unknowns is worth one iteration more, before it is made again.
WORTH = 6
#: Steps that differ by no more than this part of them continue each other.
SMOOTH = 0.2

INFINITY = float("inf")


@rare
def root_matrix(context: FixedFields, j: int, number: int) -> int:
    """Factor the matrix of one set of equations at the unknowns in root_input, with rows scaled to
    entries of at most one.

    Reflections mix the rounding of long rows into short ones.
    """
    size, width = context.root_size[j], context.root_width
    columns = context.root_factors + (number * width * width + context.root_first_factor[j])
    call_with(
        context,
        context.root_matrix_program[j],
        context.y,
        context.rounding,
        context.root_input,
        columns,
    )
    if not is_finite(size * size, columns):
        return UNSOLVABLE
    shift = number * width + context.root_first[j]
    collected, order = context.root_diagonals + shift, context.root_order + shift
    scales = context.root_scales + shift
    for i in range(size):
        largest = 0.0
        for c in range(size):
            largest = max(largest, abs(columns[c * size + i]))
        if largest == 0.0:
            return UNSOLVABLE
        scales[i] = 1.0 / largest
        for c in range(size):
            columns[c * size + i] *= scales[i]
    return (
        0
        if pivoted_qr(size, size, columns, collected, order, LEAST_PIVOT, collected, order, False)
        == size
        else UNSOLVABLE
    )


@native
def iterate_roots(
    context: FixedFields, j: int, number: int, scale: float, floor: float, is_fresh: bool
) -> int:
    """Newton steps with the factored matrix until they come no closer; returns their number, or -1
    where it does not serve.

    Steps that no longer shrink are at rounding, unless an old matrix is to blame.
    """
    size, increments, width = context.root_size[j], context.root_increments[j], context.root_width
    y, low, w, residual = context.y, context.rounding, context.root_input, context.root_residual
    unknowns, shift = (
        w + (context.n_state + context.root_first[j]),
        number * width + context.root_first[j],
    )
    columns = context.root_factors + (number * width * width + context.root_first_factor[j])
    collected, order, counts = (
        context.root_diagonals + shift,
        context.root_order + shift,
        context.counts,
    )
    scales = context.root_scales + shift
    before, last = INFINITY, residual + width
    for k in range(size):
        last[k] = INFINITY
    for attempt in range(MOST_ITERATIONS):
        call_with(context, context.root_residual_program[j], y, low, w, residual)
        counts.evaluations += 1
        counts.sweeps += 1
        for k in range(size):
            residual[k] *= scales[k]
        reflect(size, size, columns, collected, residual, False)
        solve_triangle(size, size, columns, residual)
        change, total, is_converged = 0.0, 0.0, True
        for k in range(size):
            c, step = order[k], abs(residual[k])
            unknowns[c] -= residual[k]
            if c < increments:
                change = max(change, step)
                total = max(total, abs(unknowns[c]))
                if step > STILL_MOVING * abs(unknowns[c]) and step < 0.5 * last[k]:
                    is_converged = False
                last[k] = min(last[k], step)
        if not change < INFINITY or not is_finite(size, unknowns):
            return -1
        expected = change * change / before if attempt > 0 else change
        if expected <= NEGLIGIBLE * total and is_converged:
            return attempt + 1
        if change > (RESTING if is_fresh else SLOW) * before:
            is_resting = change <= ROUNDING * (total + scale)
            if not is_resting and not (is_fresh and change <= CONVERGED * total + floor):
                return -1
            if is_converged:
                return attempt + 1
        before = change
    return -1


@native
def solve_roots(context: FixedFields, j: int, number: int, kept: Integers) -> int:
    """The unknowns of one set of equations from the guess in root_input."""
    is_fresh, scale, y = False, 0.0, context.y
    for c in range(context.root_symbols_from[j], context.root_symbols_to[j]):
        scale += abs(y[c])
    floor = REST * size_of(context)
    for _ in range(MOST_MATRICES):
        if kept[0] == 0:
            is_fresh = True
            if root_matrix(context, j, number) != 0:
                return UNSOLVABLE
            kept[0] = 1
        used = iterate_roots(context, j, number, scale, floor, is_fresh)
        if used > 0:
            if used > MANY + context.root_size[j] // WORTH:
                kept[0] = 0
            return 0
        kept[0] = 0
        if not is_finite(
            context.root_size[j], context.root_input + (context.n_state + context.root_first[j])
        ):
            return UNSOLVABLE
    return UNSOLVABLE


@native
def guess_roots(context: FixedFields, number: int, w: Reals) -> None:
    """Guess the unknowns of one step of a composition from the steps before, or by a program."""
    ns, width, counts = context.n_state, context.root_width, context.counts
    if counts.remembered == 0:
        call_with(context, context.root_begin, context.y, context.rounding, w, w + ns)
        return
    before, earlier = context.roots_before + number * width, context.roots_earlier + number * width
    factor = 1.0 if counts.remembered > 1 else 0.0
    for c in range(width):
        w[ns + c] = before[c] + factor * (before[c] - earlier[c])


@native
def roots_of_step(context: FixedFields, t: float, h: float) -> int:
    """All steps of a composition: the increment of the state, at the head of root_input."""
    ns, width, sets = context.n_state, context.root_width, context.n_root_stages
    w, stage, now = context.root_input, context.stage, context.roots_now
    weights, clock = context.weights, context.time
    reached = t
    for c in range(ns):
        w[c] = 0.0
    for i in range(context.n_stages):
        clock[0] = reached
        w[ns + width] = weights[i] * h
        guess_roots(context, i, w)
        for j in range(sets):
            kept = context.root_kept + (i * sets + j)
            status = solve_roots(context, j, i, kept)
            if status != 0:
                return status
        for c in range(width):
            now[i * width + c] = w[ns + c]
        call_with(context, context.root_end, context.y, context.rounding, w, stage)
        for c in range(ns):
            w[c] = stage[c]
        reached += weights[i] * h
    return 0


@rare
def root_step(context: FixedFields, t: float, h: float) -> int:
    """delta <- what a step from (t, y) adds to the state."""
    counts, last = context.counts, context.root_step
    before = last[0]
    last[0] = h
    if not abs(h - before) <= SMOOTH * abs(before):
        counts.remembered = 0
        for k in range(context.n_stages * context.n_root_stages):
            context.root_kept[k] = 0
    status = roots_of_step(context, t, h)
    if status != 0 and counts.remembered > 0:
        counts.remembered = 0
        for k in range(context.n_stages * context.n_root_stages):
            context.root_kept[k] = 0
        status = roots_of_step(context, t, h)
    if status != 0:
        counts.remembered = 0
        return UNSOLVABLE if status == NOT_CONTRACTING else status
    w, delta = context.root_input, context.delta
    for c in range(context.n_state):
        delta[c] = w[c]
    context.roots_earlier, context.roots_before, context.roots_now = (
        context.roots_before,
        context.roots_now,
        context.roots_earlier,
    )
    counts.remembered = min(counts.remembered + 1, 2)
    return 0
