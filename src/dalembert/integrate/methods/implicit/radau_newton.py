r"""The equations of a Radau step, D z = h f(y + z), solved by simplified Newton iterations.

One Jacobian J at the beginning of the step stands for those of all stages,

    (D/h (x) 1 - 1 (x) J) dz = f(y + z) - D z/h,       D = T Lambda T^-1

so that T^-1 dz is found from one real and (s - 1)/2 complex systems mu/h - J of the size of the
state (E. Hairer, G. Wanner: Solving Ordinary Differential Equations II, 2nd ed., section IV.8). The
residual is that of the equations themselves: the eigenvectors decide how fast the iteration
contracts, not what it converges to.

Where a stiff direction turns within a step, as that of a rod which is a stiff spring does, one
Jacobian does not stand for all: the iteration contracts like h lambda (turn)^2 (C. Lubich:
Integration of stiff mechanical systems by Runge-Kutta methods, ZAMP 44 (1993) 1022-1053). Newton's
method then takes the Jacobian of each stage, in one matrix D/h (x) 1 - diag(J_i).
"""

from __future__ import annotations

from math import sqrt

from ....codegen.native.language import Reals, call_program, native
from ....runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ....runtime.projection import MISSING, evaluate, fill_inputs, is_finite
from ...run_fields import RunFields
from ..fixed.fixed_fields import NOT_CONTRACTING
from .sparse_lu import factor_complex, factor_real, shifted, solve_complex, solve_real

__all__ = [
    "collocated",
    "collocated_rate",
    "factor_matrices",
    "filtered",
    "make_jacobian",
    "newton",
]

#: Most iterations of a step, and the contraction from which they are given up.
MOST_ITERATIONS, DIVERGING = 12, 0.9
#: With the Jacobians of all stages, a contraction above this asks for new ones.
SLOW = 0.1
#: What is left of the iteration, as a share of the tolerance of a step; and what rounding leaves.
REMAINDER, ROUNDING = 0.1, 2e-14
#: The relative width of differences.
DIFFERENCE = 1.5e-8
#: The least contraction that is believed when the next step is solved.
LEAST_CONTRACTION = 3e-3

INFINITY = float("inf")


# -- the Jacobian ----------------------------------------------------------------------------------


@native
def make_jacobian(context: RunFields, t: float, y: Reals, rate: Reals) -> int:
    """The entries of f_y at (t, y), where `rate` is f; 0 or a status."""
    ns, radau, counts = context.n_state, context.radau, context.counts
    values, clock = radau.values, context.time
    radau.h_factored = 0.0
    clock[0] = t
    if context.inputs != 0:
        fill_inputs(context, y)
    if radau.jacobian_program != 0:
        call_program(
            radau.jacobian_program, clock, y, context.parameters, context.input_values,
            context.solution, values,
        )  # fmt: skip
        return 0 if is_finite(radau.n_values, values) else SINGULAR
    moved, found, widths = context.stage, radau.stage_rates, radau.work
    first = radau.colour_first
    for colour in range(radau.n_colours):
        for i in range(ns):
            moved[i] = 0.0 if radau.tangent_program != 0 else y[i]
        for k in range(first[colour], first[colour + 1]):
            j = radau.value_columns[k]
            widths[j] = DIFFERENCE * max(max(abs(y[j]), 1e-3 * abs(rate[j])), 1e-6)
            moved[j] = 1.0 if radau.tangent_program != 0 else y[j] + widths[j]
        if radau.tangent_program != 0:
            call_program(
                radau.tangent_program, clock, y, context.parameters, context.input_values, moved,
                found,
            )  # fmt: skip
        else:
            counts.evaluations += 1
            status = evaluate(context, t, moved, found)
            if status == MISSING or status >= CONTRADICTORY:
                return status
        for k in range(first[colour], first[colour + 1]):
            i, j = radau.value_rows[k], radau.value_columns[k]
            values[k] = found[i] if radau.tangent_program != 0 else (found[i] - rate[i]) / widths[j]
    return 0 if is_finite(radau.n_values, values) else SINGULAR


@native
def factor_matrices(context: RunFields, h: float) -> int:
    """Factor mu/h - J for the real eigenvalue and one of each complex pair."""
    ns, radau = context.n_state, context.radau
    entries, count, diagonals = radau.n_entries, radau.n_values, radau.diagonals
    radau.n_factored += 1
    radau.h_factored = 0.0
    matrix = radau.matrices
    shifted(ns, entries, count, radau.places, diagonals, radau.real_value / h, radau.values, matrix)
    if not factor_real(ns, radau.row_first, radau.columns, diagonals, matrix, radau.work):
        return NOT_CONTRACTING
    for pair in range(radau.n_stages // 2):
        real = radau.matrices + (1 + 2 * pair) * entries
        imaginary = real + entries
        shifted(
            ns, entries, count, radau.places, diagonals, radau.pairs[2 * pair] / h, radau.values,
            real,
        )  # fmt: skip
        for p in range(entries):
            imaginary[p] = 0.0
        for i in range(ns):
            imaginary[diagonals[i]] = radau.pairs[2 * pair + 1] / h
        if not factor_complex(
            ns, radau.row_first, radau.columns, diagonals, real, imaginary, radau.work
        ):
            return NOT_CONTRACTING
    radau.h_factored = h
    return 0


@native
def filtered(context: RunFields, values: Reals) -> None:
    """values <- (gamma/h - J)^-1 values."""
    ns, radau = context.n_state, context.radau
    work, order = radau.work, radau.order
    for i in range(ns):
        work[i] = values[order[i]]
    solve_real(ns, radau.row_first, radau.columns, radau.diagonals, radau.matrices, work)
    for i in range(ns):
        values[order[i]] = work[i]


# -- the polynomial --------------------------------------------------------------------------------


@native
def collocated(context: RunFields, x: float, z: Reals, result: Reals) -> None:
    """result <- the polynomial through 0 and the increments z, at the fraction x of its step."""
    ns, radau = context.n_state, context.radau
    nodes, stages = radau.nodes, radau.n_stages
    for i in range(ns):
        result[i] = 0.0
    for j in range(stages):
        weight = x / nodes[j]
        for k in range(stages):
            if k != j:
                weight *= (x - nodes[k]) / (nodes[j] - nodes[k])
        row = z + j * ns
        for i in range(ns):
            result[i] += weight * row[i]


@native
def collocated_rate(context: RunFields, x: float, h: float, z: Reals, result: Reals) -> None:
    """result <- the time derivative of that polynomial."""
    ns, radau = context.n_state, context.radau
    nodes, stages = radau.nodes, radau.n_stages
    for i in range(ns):
        result[i] = 0.0
    for j in range(stages):
        total = 0.0
        for left in range(stages + 1):
            # The factor that is differentiated: x, or that of a node; not that of node j.
            if left != j:
                product = 1.0 / nodes[j]
                if left < stages:
                    product *= x / (nodes[j] - nodes[left])
                for k in range(stages):
                    if k != j and k != left:
                        product *= (x - nodes[k]) / (nodes[j] - nodes[k])
                total += product
        row = z + j * ns
        for i in range(ns):
            result[i] += total * row[i] / h


# -- Newton's method -------------------------------------------------------------------------------


@native
def stage_residual(context: RunFields, t: float, h: float, y: Reals, z: Reals) -> int:
    """residual <- f(y + z) - D z/h, stage by stage."""
    ns, radau, counts = context.n_state, context.radau, context.counts
    stages, residual, rates, stage = (
        radau.n_stages,
        radau.residual,
        radau.stage_rates,
        context.stage,
    )
    for s in range(stages):
        increment = z + s * ns
        for i in range(ns):
            stage[i] = y[i] + increment[i]
        status = evaluate(context, t + radau.nodes[s] * h, stage, rates)
        counts.evaluations += 1
        if status == SINGULAR or status == MISSING:
            return status
        row = residual + s * ns
        for i in range(ns):
            row[i] = rates[i]
        for j in range(stages):
            weight, other = radau.derivatives[s * stages + j] / h, z + j * ns
            for i in range(ns):
                row[i] -= weight * other[i]
    return 0


@native
def newton_change(context: RunFields) -> None:
    """residual <- the change of the increments, from the residual of the equations."""
    ns, radau = context.n_state, context.radau
    stages, order, transformed = radau.n_stages, radau.order, radau.transformed
    row_first, columns, diagonals = radau.row_first, radau.columns, radau.diagonals
    residual = radau.residual
    for s in range(stages):
        row = transformed + s * ns
        for i in range(ns):
            row[i] = 0.0
        for j in range(stages):
            weight, other = radau.inverse[s * stages + j], residual + j * ns
            for i in range(ns):
                row[i] += weight * other[order[i]]
    solve_real(ns, row_first, columns, diagonals, radau.matrices, transformed)
    for pair in range(stages // 2):
        real = radau.matrices + (1 + 2 * pair) * radau.n_entries
        first = transformed + (1 + 2 * pair) * ns
        solve_complex(
            ns, row_first, columns, diagonals, real, real + radau.n_entries, first, first + ns
        )
    for s in range(stages):
        row = residual + s * ns
        for i in range(ns):
            row[i] = 0.0
        for j in range(stages):
            weight, other = radau.vectors[s * stages + j], transformed + j * ns
            for i in range(ns):
                row[order[i]] += weight * other[i]


@native
def factor_blocks(context: RunFields, t: float, h: float, y: Reals, z: Reals) -> int:
    """Factor the matrix with the Jacobians of all stages at y + z."""
    ns, radau = context.n_state, context.radau
    stages, count, matrix = radau.n_stages, radau.n_values, radau.block_matrix
    state, rate, kept = radau.block_state, radau.block_rate, radau.h_factored
    for p in range(radau.n_block_entries):
        matrix[p] = 0.0
    for k in range(stages * stages * ns):
        matrix[radau.block_shifts[k]] += radau.derivatives[k // ns] / h
    status = 0
    radau.values, radau.block_values = radau.block_values, radau.values
    for s in range(stages):
        for i in range(ns):
            state[i] = y[i] + z[s * ns + i]
        time = t + radau.nodes[s] * h
        if status == 0 and radau.jacobian_program == 0 and radau.tangent_program == 0:
            status = evaluate(context, time, state, rate)
            status = 0 if status < CONTRADICTORY else status
        if status == 0:
            status = make_jacobian(context, time, state, rate)
        for k in range(count):
            matrix[radau.block_places[s * count + k]] -= radau.values[k]
    radau.values, radau.block_values = radau.block_values, radau.values
    radau.h_factored = kept
    if status != 0:
        return status
    radau.n_factored += 1
    is_regular = factor_real(
        stages * ns, radau.block_row_first, radau.block_columns, radau.block_diagonals, matrix,
        radau.block_work,
    )  # fmt: skip
    return 0 if is_regular else NOT_CONTRACTING


@native
def block_change(context: RunFields) -> None:
    """residual <- the change of the increments, by the Jacobians of all stages."""
    radau = context.radau
    size, order = radau.n_stages * context.n_state, radau.block_order
    residual, work = radau.residual, radau.block_work
    for k in range(size):
        work[k] = residual[order[k]]
    solve_real(
        size, radau.block_row_first, radau.block_columns, radau.block_diagonals,
        radau.block_matrix, work,
    )  # fmt: skip
    for k in range(size):
        residual[order[k]] = work[k]


@native
def newton(context: RunFields, t: float, h: float, y: Reals, z: Reals, by_blocks: bool) -> int:
    """Solve for the increments z from a guess; NOT_CONTRACTING where the iteration fails.

    The iteration ends where what is left, by the contraction so far, is a share of the tolerance.
    """
    ns, radau = context.n_state, context.radau
    atol, rtol = context.atol, context.clock.rtol
    size, change = radau.n_stages * ns, radau.residual
    limit = max(REMAINDER, ROUNDING / rtol)
    before, contraction = INFINITY, 0.0
    # What the steps before contracted by is believed less and less.
    left = max(radau.remainder, LEAST_CONTRACTION) ** 0.8
    for attempt in range(MOST_ITERATIONS):
        status = 0
        if by_blocks and (attempt == 0 or contraction > SLOW):
            status = factor_blocks(context, t, h, y, z)
        if status == 0:
            status = stage_residual(context, t, h, y, z)
        if status != 0:
            return NOT_CONTRACTING if status == SINGULAR and attempt > 0 else status
        if by_blocks:
            block_change(context)
        else:
            newton_change(context)
        total = 0.0
        for k in range(size):
            i = k % ns
            total += (change[k] / (atol[i] + rtol * abs(y[i]))) ** 2
            z[k] += change[k]
        norm = sqrt(total / float(size))
        radau.n_iterations = attempt + 1
        if not norm < INFINITY:
            return NOT_CONTRACTING
        if attempt > 0:
            contraction = norm / before if before > 0.0 else 0.0
            radau.contraction = contraction
            if contraction >= DIVERGING:
                # Where the changes are at rounding they shrink no more.
                return 0 if norm <= limit else NOT_CONTRACTING
            left = contraction / (1.0 - contraction)
            ahead = float(MOST_ITERATIONS - 2 - attempt)
            if not by_blocks and left * norm * contraction**ahead > limit:
                return NOT_CONTRACTING
        if left * norm <= limit:
            radau.remainder, radau.contraction = left, contraction
            return 0
        before = norm
    return NOT_CONTRACTING
