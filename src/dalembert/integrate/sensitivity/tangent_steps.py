r"""The derivative of a motion along the very steps it took, as native code.

A step of DOP853 is a map; its derivative along k columns S, with dx the constant directions of the
parameters, is

    Y_s = y + h sum_j a_sj K_j,         K_s = f(t + c_s h, Y_s, x)
    D_s = S + h sum_j a_sj L_j,         L_s = f_y D_s + f_x dx                 D_s, L_s (n_state, k)

the same method applied to the variational equations S_dot = f_y S + f_x dx (E. Hairer, S. P.
Norsett, G. Wanner: Solving Ordinary Differential Equations I, 2nd ed., section II.6). The
projection that ends a step is differentiated with it, so that S stays tangent to the constraints.

A column is n_state + nx numbers, dy and dx; columns stand behind each other, and k is a multiple of
the program's width.

The steps were chosen for the motion, not for its derivative: at an equilibrium nothing limits them.
Therefore the last column is a probe, the same direction at the beginning of every step. Its error,
estimated like that of the motion, tells which steps must be made shorter before the derivative can
be trusted; `refine` cuts them.
"""

from __future__ import annotations

from math import sqrt

from ...codegen.native.language import Reals, call_program, native
from ...codegen.passes.solve_limits import HEALTHY
from ...runtime.gauss.solve_status import REGULAR, SINGULAR
from ...runtime.projection import MISSING, evaluate, is_finite, project
from ..methods.adaptive.dop853 import EXPONENT, stage_state
from ..methods.adaptive.dop853_coefficients import E3, E5, A, C
from ..run_fields import TangentFields

__all__ = [
    "follow_states",
    "follow_tangents",
    "probe_error",
    "push",
    "refine",
    "set_probe",
    "short_state",
    "tangent_step",
]


@native
def push(context: TangentFields, address: int, time: float, y: Reals, w: Reals, out: Reals) -> None:
    """Call a program of derivatives with w in place of the unknowns."""
    clock = context.time
    clock[0] = time
    call_program(address, clock, y, context.parameters, context.input_values, w, out)


@native
def tangent_rates(
    context: TangentFields, time: float, y: Reals, columns: Reals, rates: Reals, derivatives: Reals
) -> int:
    """rates <- f(y) and derivatives <- f_y dy + f_x dx of every column."""
    ns, size, width = context.n_state, context.n_directions, context.width
    out = context.pushed
    c = 0
    while c < context.n_columns:
        push(context, context.tangent, time, y, columns + c * size, out)
        if not out[ns] > HEALTHY or not is_finite(ns * (width + 1) + 1, out):
            return SINGULAR
        for i in range(width * ns):
            derivatives[c * ns + i] = out[ns + 1 + i]
        c += width
    for i in range(ns):
        rates[i] = out[i]
    return REGULAR


@native
def evaluate_on_constraints(
    context: TangentFields, address: int, time: float, y: Reals, columns: Reals
) -> int:
    """Make the columns tangent to the constraints of one level at y."""
    ns, size, width = context.n_state, context.n_directions, context.width
    out = context.pushed
    c = 0
    while c < context.n_columns:
        push(context, address, time, y, columns + c * size, out)
        if not out[ns * width] > HEALTHY or not is_finite(ns * width, out):
            return SINGULAR
        for k in range(width):
            for i in range(ns):
                columns[(c + k) * size + i] += out[k * ns + i]
        c += width
    return REGULAR


@native
def project_levels(context: TangentFields, time: float, y: Reals, columns: Reals) -> int:
    """Make the columns tangent to the constraints, positions before velocities."""
    status = REGULAR
    if context.is_projected != 0 and context.n_positions > 0:
        status = evaluate_on_constraints(context, context.position_tangent, time, y, columns)
    if status == REGULAR and context.is_projected != 0 and context.n_velocities > 0:
        status = evaluate_on_constraints(context, context.velocity_tangent, time, y, columns)
    return status


@native
def tangent_step(
    context: TangentFields, t: float, h: float, y: Reals, columns: Reals, y_new: Reals
) -> int:
    """Move the columns along a step from (t, y), and y_new <- its end, both before projection."""
    ns, size, count = context.n_state, context.n_directions, context.n_columns
    stages, inner = context.stages, context.stage_states
    derivatives, moved = context.stage_derivatives, context.moved
    for i in range(count * size):
        moved[i] = columns[i]
    for s in range(12):
        stage = inner + s * ns
        stage_state(ns, s, h, y, stages, stage)
        for c in range(count):
            target, begin = moved + c * size, columns + c * size
            for i in range(ns):
                target[i] = begin[i]
            for j in range(s):
                weight = h * A[s, j]
                if weight != 0.0:
                    row = derivatives + (j * count + c) * ns
                    for i in range(ns):
                        target[i] += weight * row[i]
        status = tangent_rates(
            context, t + C[s] * h, stage, moved, stages + s * (ns + 1), derivatives + s * count * ns
        )
        if status != REGULAR:
            return status
    stage_state(ns, 12, h, y, stages, y_new)
    for c in range(count):
        target = columns + c * size
        for j in range(12):
            weight = h * A[12, j]
            row = derivatives + (j * count + c) * ns
            for i in range(ns):
                target[i] += weight * row[i]
    return REGULAR


@native
def set_probe(context: TangentFields, columns: Reals) -> None:
    """The last column <- the probe."""
    size = context.n_directions
    probe, target = context.probe, columns + (context.n_columns - 1) * size
    for i in range(size):
        target[i] = probe[i]


@native
def probe_error(context: TangentFields, h: float, columns: Reals) -> float:
    """The error of the probe on the last step, relative to its size."""
    ns, size, count = context.n_state, context.n_directions, context.n_columns
    derivatives, end = context.stage_derivatives + (count - 1) * ns, columns + (count - 1) * size
    largest, worst5, worst3 = 1.0, 0.0, 0.0
    for i in range(ns):
        e5, e3 = 0.0, 0.0
        for s in range(12):
            value = derivatives[s * count * ns + i]
            e5 += E5[s] * value
            e3 += E3[s] * value
        largest = max(largest, abs(end[i]))
        worst5 = max(worst5, abs(e5))
        worst3 = max(worst3, abs(e3))
    if worst5 == 0.0:
        return 0.0
    return abs(h) * worst5**2 / (sqrt(worst5**2 + 0.01 * worst3**2) * largest)


@native
def refine(
    context: TangentFields, steps: int, times: Reals, states: Reals, column: Reals, limit: float,
    room: int, new_times: Reals, new_states: Reals,
) -> int:  # fmt: skip
    """Cut the steps where the probe's error exceeds a limit; the only column is the probe.

    new_times and new_states (room, n_state) take the steps, those of the motion among them. Returns
    their number, 0 where there is not room enough, or -1 - k where the derivative is not determined
    on step k.
    """
    ns, ratios = context.n_state, context.ratios
    for i in range(ns):
        new_states[i] = states[i]
    new_times[0] = times[0]
    done = 1
    for k in range(steps):
        end = times[k + 1]
        h = end - times[k]
        if ratios[k] <= limit and done < room:
            new_times[done] = end
            for i in range(ns):
                new_states[done * ns + i] = states[(k + 1) * ns + i]
            done += 1
            continue
        while new_times[done - 1] != end:
            if done >= room:
                return 0
            t, y, y_new = new_times[done - 1], new_states + (done - 1) * ns, new_states + done * ns
            if (t + 1.1 * h - end) * h > 0.0:
                h = end - t
            set_probe(context, column)
            if tangent_step(context, t, h, y, column, y_new) != REGULAR:
                return -1 - k
            ratio = probe_error(context, h, column) / limit
            if ratio > 1.0 and t + 0.001 * h != t:
                h *= max(0.1, 0.9 * ratio**-EXPONENT)
                continue
            new_times[done] = end if h == end - t else t + h
            if new_times[done] == end:
                for i in range(ns):
                    y_new[i] = states[(k + 1) * ns + i]
            elif context.is_projected != 0 and project(context, t + h, y_new, 0, 1, 8) != REGULAR:
                return -1 - k
            done += 1
            h *= 4.0 if ratio == 0.0 else min(4.0, max(0.3, 0.9 * ratio**-EXPONENT))
    return done


@native
def keep(context: TangentFields, columns: Reals, target: Reals) -> None:
    """target <- the state part of the columns, (k, n_state)."""
    ns, size = context.n_state, context.n_directions
    for c in range(context.n_columns):
        for i in range(ns):
            target[c * ns + i] = columns[c * size + i]


@native
def follow_tangents(
    context: TangentFields, steps: int, times: Reals, states: Reals, columns: Reals, spare: Reals,
    wanted: int, at: Reals, at_states: Reals, at_derivatives: Reals,
) -> int:  # fmt: skip
    """Carry the columns along stored steps; keep states and columns at the wanted times, in order.

    A time inside a step is reached by a shorter step from its beginning. Returns the number of
    times kept, or -1 - k where the derivative is not determined on step k.
    """
    ns, count, size = context.n_state, context.n_columns, context.n_directions
    ratios = context.ratios
    done = 0
    for k in range(steps + 1):
        t, y = times[k], states + k * ns
        while done < wanted and at[done] == t:
            for i in range(ns):
                at_states[done * ns + i] = y[i]
            keep(context, columns, at_derivatives + done * count * ns)
            done += 1
        if k == steps:
            break
        h = times[k + 1] - t
        while done < wanted and (at[done] - times[k + 1]) * h < 0.0:
            for i in range(count * size):
                spare[i] = columns[i]
            target = at_states + done * ns
            if tangent_step(context, t, at[done] - t, y, spare, target) != REGULAR:
                return -1 - k
            if context.is_projected != 0 and project(context, at[done], target, 0, 1, 8) != REGULAR:
                return -1 - k
            if project_levels(context, at[done], target, spare) != REGULAR:
                return -1 - k
            keep(context, spare, at_derivatives + done * count * ns)
            done += 1
        set_probe(context, columns)
        if tangent_step(context, t, h, y, columns, spare) != REGULAR:
            return -1 - k
        ratios[k] = probe_error(context, h, columns)
        if project_levels(context, times[k + 1], states + (k + 1) * ns, columns) != REGULAR:
            return -1 - k
    return done


@native
def fill_stages(context: TangentFields, t: float, h: float, y: Reals) -> int:
    """The states Y_s and the rates K_s of the stages of a step from (t, y)."""
    ns = context.n_state
    stages, inner = context.stages, context.stage_states
    for s in range(12):
        stage = inner + s * ns
        stage_state(ns, s, h, y, stages, stage)
        status = evaluate(context, t + C[s] * h, stage, stages + s * (ns + 1))
        if status == SINGULAR or status == MISSING:
            return SINGULAR
    return REGULAR


@native
def short_state(context: TangentFields, t: float, h: float, y: Reals, y_new: Reals) -> int:
    """y_new <- the state after a separate step from (t, y), projected; fills the stages."""
    if fill_stages(context, t, h, y) != REGULAR:
        return SINGULAR
    stage_state(context.n_state, 12, h, y, context.stages, y_new)
    if context.is_projected != 0:
        return project(context, t + h, y_new, 0, 1, 8)
    return REGULAR


@native
def follow_states(
    context: TangentFields, steps: int, times: Reals, states: Reals, wanted: int, at: Reals,
    at_states: Reals
) -> int:  # fmt: skip
    """The states at the wanted times by the same shorter steps, without derivatives."""
    ns = context.n_state
    done = 0
    for k in range(steps + 1):
        t, y = times[k], states + k * ns
        while done < wanted and at[done] == t:
            for i in range(ns):
                at_states[done * ns + i] = y[i]
            done += 1
        if k == steps:
            break
        h = times[k + 1] - t
        while done < wanted and (at[done] - times[k + 1]) * h < 0.0:
            if short_state(context, t, at[done] - t, y, at_states + done * ns) != REGULAR:
                return -1 - k
            done += 1
    return done
