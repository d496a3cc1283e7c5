"""Native loops around a kernel: evaluation, projection onto the constraints, observation.

These functions find the compiled programs, the sizes and the working arrays of a kernel in its
context (`fields.KernelFields`). They are compiled once for all models.
"""

from __future__ import annotations

from ..codegen.native.language import Integers, Reals, call_program, native
from ..codegen.passes.solve_limits import HEALTHY
from .gauss.active_rows import choose_rows
from .gauss.gauss_problem import gauss_solve
from .gauss.solve_status import CONTRADICTION_TOLERANCE, DEPENDENT, REGULAR, SINGULAR
from .kernel_fields import KernelFields

__all__ = [
    "MISSING",
    "STUCK",
    "correction",
    "evaluate",
    "evaluate_on_constraints",
    "evaluate_points",
    "fill_inputs",
    "is_finite",
    "map_rows",
    "observe_points",
    "project",
    "project_rows",
    "repeat_rates",
]

#: Statuses beside those of `solve_status`: program not compiled; projection not converging.
MISSING, STUCK = 8, 9

INFINITY = float("inf")
#: What rounding makes of a residual, relative to the longest row.
NOISE = 1e-13
#: Newton steps of a projection from a start, which may be far away.
MOST_PROJECTIONS = 60


@native
def is_finite(n: int, values: Reals) -> bool:
    """Whether the first n values are finite."""
    # Four sums at once: each waits for itself alone.
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    i = 0
    while i + 4 <= n:
        first += abs(values[i])
        second += abs(values[i + 1])
        third += abs(values[i + 2])
        fourth += abs(values[i + 3])
        i += 4
    while i < n:
        first += abs(values[i])
        i += 1
    return first + second + third + fourth < INFINITY


@native
def run_program(context: KernelFields, address: int, y: Reals, out: Reals) -> None:
    """Call a program with the working arrays of the context."""
    call_program(
        address, context.time, y, context.parameters, context.input_values, context.solution, out
    )


@native
def fill_inputs(context: KernelFields, y: Reals) -> None:
    """input_values <- the free inputs: piecewise polynomials of tables, or those of a program."""
    if context.n_tables == 0:
        run_program(context, context.inputs, y, context.input_values)
        return
    clock, sizes, data, values = (
        context.time,
        context.table_sizes,
        context.table_data,
        context.input_values,
    )
    time = clock[0]
    for k in range(context.n_tables):
        width = sizes[4 * k + 1]
        times = data + sizes[4 * k + 2]
        low, high = 0, sizes[4 * k] - 1
        while low < high:
            middle = (low + high + 1) // 2
            if times[middle] <= time:
                low = middle
            else:
                high = middle - 1
        row = data + (sizes[4 * k + 3] + low * width)
        tau = min(max((time - times[low]) / (times[low + 1] - times[low]), 0.0), 1.0)
        value, power, binomial = row[0], 1.0, 1.0
        for j in range(1, width):  # Horner's rule in Bernstein's basis
            power *= tau
            binomial *= float(width - j) / float(j)
            value = value * (1.0 - tau) + binomial * power * row[j]
        values[k] = value


@native
def evaluate(context: KernelFields, time: float, y: Reals, out: Reals) -> int:
    """Evaluate the rates: by straight-line code if well conditioned, else by the Gauss solve.

    `out` has n_state + 1 places: the last takes the health.
    """
    ns = context.n_state
    clock, info, choice = context.time, context.info, context.active_rows
    clock[0] = time
    if context.inputs != 0:
        fill_inputs(context, y)
    if context.fast != 0 and choice[0] <= 0:
        run_program(context, context.fast, y, out)
        if out[ns] > HEALTHY and is_finite(ns, out):
            info[0] = float(context.n_constraints)
            info[1] = out[ns]
            info[3] = 1.0
            return REGULAR
    if context.blocks == 0:
        return MISSING
    status = solve_unknowns(context, y)
    if status == SINGULAR:
        return SINGULAR
    run_program(context, context.rates, y, out)
    if not is_finite(ns, out):
        return SINGULAR
    return status


@native
def evaluate_on_constraints(context: KernelFields, time: float, y: Reals, out: Reals) -> int:
    """Evaluate the rates on the constraints; select the active rows until the next such state."""
    info, choice = context.info, context.active_rows
    before = choice[0]
    choice[0] = 0
    status = evaluate(context, time, y, out)
    if status > DEPENDENT:
        choice[0] = before
    elif choose_rows(context.n_constraints, context.order, info, before, choice):
        status = evaluate(context, time, y, out)
    return status


@native
def evaluate_points(
    context: KernelFields,
    first: int,
    count: int,
    times: Reals,
    states: Reals,
    out: Reals,
    found: Reals,
) -> int:
    """Evaluate points of a motion in order: found (count, 3) is status, rank and least pivot ratio.

    Returns the point at which a program is missing, or the count.
    """
    info = context.info
    for point in range(first, count):
        info[3] = 1.0  # stays so in straight-line code, whose health is in info[1]
        status = evaluate_on_constraints(
            context, times[point], states + point * context.n_state, out
        )
        if status == MISSING:
            return point
        found[3 * point] = float(status)
        found[3 * point + 1] = info[0]
        found[3 * point + 2] = min(info[1], info[3])
    return count


@native
def solve_unknowns(context: KernelFields, y: Reals) -> int:
    """Solve for z and mu: by the sparse program if well conditioned, else by the Gauss solve."""
    n, m = context.n_unknowns, context.n_constraints
    work, info, solution = context.work, context.info, context.solution
    choice = context.active_rows
    if context.sparse != 0 and choice[0] <= 0:
        run_program(context, context.sparse, y, solution)
        if solution[n + m] > HEALTHY and is_finite(n + m, solution):
            info[0] = float(m)
            info[3] = 1.0
            return REGULAR
        if context.blocks == 0:
            return MISSING
    end = n * n + n + m * n + m
    run_program(context, context.blocks, y, work)
    if not is_finite(end, work):
        info[0] = 0.0
        info[1] = 0.0
        return SINGULAR
    return gauss_solve(
        n,
        m,
        work,
        work + n * n,
        work + (n * n + n),
        work + (end - m),
        solution,
        solution + n,
        context.is_definite != 0,
        context.has_gauge != 0,
        work + end,
        context.order,
        info,
        choice,
    )


@native
def correction(context: KernelFields, level: int, count: int, y: Reals, out: Reals) -> int:
    """One Newton step to a level's constraints: step (n_state), residual (count), scale (count)."""
    ns = context.n_state
    n = context.n_position_unknowns if level == 0 else context.n_velocity_unknowns
    step = context.position_step if level == 0 else context.velocity_step
    # The last entry of the active set leaves nothing out: positions are projected by all rows.
    shift = (
        1 + context.n_constraints
        if level == 1
        else 2 + context.n_constraints + context.n_velocities
    )
    info, choice = context.info, context.active_rows + shift
    if step != 0 and choice[0] <= 0:
        run_program(context, step, y, out)
        if out[ns + 2 * count] > HEALTHY and is_finite(ns, out):
            info[0] = float(count)
            info[3] = 1.0
            return REGULAR
    parts = context.position_parts if level == 0 else context.velocity_parts
    if parts == 0:
        return MISSING
    work, solution = context.work, context.solution
    run_program(context, parts, y, work)
    end = 2 * count + count * n + n * n + ns * n
    if not is_finite(end, work):
        return SINGULAR
    rows, metric = work + 2 * count, work + (2 * count + count * n)
    lift, right, force = metric + n * n, work + end, work + (end + count)
    for i in range(count):
        out[ns + i] = work[i]
        out[ns + count + i] = work[count + i]
        right[i] = -work[i]
    for i in range(n):
        force[i] = 0.0
    status = gauss_solve(
        n,
        count,
        metric,
        force,
        rows,
        right,
        solution,
        solution + n,
        context.is_definite != 0,
        True,
        force + n,
        context.order,
        info,
        choice,
    )
    if status == SINGULAR:
        return SINGULAR
    for i in range(ns):
        total = 0.0
        for j in range(n):
            total += lift[i * n + j] * solution[j]
        out[i] = total
    return REGULAR


@native
def first_correction(context: KernelFields, level: int, count: int, y: Reals, out: Reals) -> int:
    """The first Newton step of a level; for velocities it selects the active rows."""
    info, choice = context.info, context.active_rows + (1 + context.n_constraints)
    before = choice[0]
    if level == 0:
        return correction(context, level, count, y, out)
    choice[0] = 0
    status = correction(context, level, count, y, out)
    if status != REGULAR:
        choice[0] = before
    elif choose_rows(count, context.order, info, before, choice):
        status = correction(context, level, count, y, out)
    return status


@native
def project(context: KernelFields, time: float, y: Reals, first: int, last: int, most: int) -> int:
    """Project y onto its constraints (level 0 positions, 1 velocities) in the kinetic metric.

    A level is finished when its residual is at rounding, or right after a step from so near that
    Newton's quadratic convergence leaves nothing. Residuals are measured by their derivatives times
    the state, at position level the coordinates, or times one where that is larger; where the state
    is small against one, which units may make it, they go on until they come no closer. A row that
    is left out may be about to vanish: its residual is measured by the longest row. Returns
    REGULAR, MISSING, SINGULAR or STUCK.
    """
    ns = context.n_state
    out, clock = context.out, context.time
    choice = context.active_rows + (1 + context.n_constraints)
    clock[0] = time
    for level in range(first, last + 1):
        count = context.n_positions if level == 0 else context.n_velocities
        if count == 0:
            continue
        before = INFINITY
        for attempt in range(most + 1):
            status = (
                first_correction(context, level, count, y, out)
                if attempt == 0
                else correction(context, level, count, y, out)
            )
            if status != REGULAR:
                return status
            size = 0.0
            for i in range(context.n_coordinates if level == 0 else ns):
                size = max(size, abs(y[i]))
            worst, share, longest = 0.0, 0.0, 0.0
            for i in range(count):
                longest = max(longest, out[ns + count + i])
            for i in range(count):
                residual = abs(out[ns + i])
                if not residual < INFINITY:
                    return SINGULAR
                if level == 1 and choice[0] > 0 and choice[1 + i] != 0:
                    noise = min(NOISE * longest, CONTRADICTION_TOLERANCE * out[ns + count + i])
                    if residual <= max(size, 1.0) * noise:
                        continue
                if residual > 0.0:
                    worst = max(worst, residual / (max(size, 1.0) * out[ns + count + i] + 1e-300))
                    share = max(share, residual / (size * out[ns + count + i] + 1e-300))
            if (worst <= 4.5e-16 and share <= 1e-12) or (worst < 1e-11 and worst >= before):
                break
            if attempt == most:
                if worst < 1e-10 and share < 1e-6:
                    return REGULAR
                return STUCK
            for i in range(ns):
                y[i] += out[i]
            if share < 1e-8:
                break
            before = worst
    return REGULAR


@native
def project_rows(
    context: KernelFields,
    time: float,
    count: int,
    rows: Integers,
    y: Reals,
    width: int,
    p: Reals,
    level: int,
    statuses: Integers,
) -> None:
    """Project some rows of a table of states, each with its `width` parameters; one status each."""
    ns, own = context.n_state, context.parameters
    choice = context.active_rows + (1 + context.n_constraints)
    for k in range(count):
        for i in range(width):
            own[i] = p[rows[k] * width + i]
        choice[0] = 0
        statuses[k] = project(context, time, y + rows[k] * ns, level, level, MOST_PROJECTIONS)


@native
def observe_points(
    context: KernelFields,
    count: int,
    times: Reals,
    states: Reals,
    inputs: Reals,
    statuses: Integers,
    results: Reals,
) -> None:
    """Observe every point of a motion: states (count, n_state) -> results (count, OBSERVED)."""
    ns, nu, width = context.n_state, context.n_inputs, context.n_observed
    clock, values = context.time, context.input_values
    info, order, choice = context.info, context.order, context.active_rows
    for point in range(count):
        clock[0] = times[point]
        y = states + point * ns
        if context.inputs != 0:
            fill_inputs(context, y)
            for i in range(nu):
                inputs[point * nu + i] = values[i]
        before = choice[0]
        choice[0] = 0
        statuses[point] = solve_unknowns(context, y)
        if statuses[point] > DEPENDENT:
            choice[0] = before
        elif choose_rows(context.n_constraints, order, info, before, choice):
            statuses[point] = solve_unknowns(context, y)
        run_program(context, context.observe, y, results + point * width)


@native
def map_rows(
    address: int,
    count: int,
    width: int,
    strides: Integers,
    t: Reals,
    y: Reals,
    p: Reals,
    u: Reals,
    w: Reals,
    results: Reals,
) -> None:
    """Run a program for every row of tables with given strides (0: the same row for all)."""
    for k in range(count):
        call_program(
            address,
            t + k * strides[0],
            y + k * strides[1],
            p + k * strides[2],
            u + k * strides[3],
            w + k * strides[4],
            results + k * width,
        )


@native
def repeat_rates(context: KernelFields, repeats: int, time: float, y: Reals, out: Reals) -> int:
    """Evaluate the rates many times, each depending on the one before, for timing."""
    start = y[0]
    status = REGULAR
    for _ in range(repeats):
        status = evaluate(context, time, y, out)
        y[0] = start + 1e-12 * out[0]
    y[0] = start
    return status


@native
def call_events(context: KernelFields, time: float, y: Reals, out: Reals) -> None:
    """The event functions at a state."""
    clock = context.time
    clock[0] = time
    run_program(context, context.events, y, out)
