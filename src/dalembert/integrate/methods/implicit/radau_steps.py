"""Steps by Radau's formulas: attempts, their error, growth, dense output, as native code.

The Newton matrix is kept where the iteration contracts well and the step hardly changes (E. Hairer,
G. Wanner: Solving Ordinary Differential Equations II, 2nd ed., section IV.8). The guess of a step
continues the polynomial of the one before.
"""

from __future__ import annotations

from math import sqrt

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.projection import MISSING, evaluate
from ...run_fields import RunFields
from ...step_control import MOST_RESIDUAL, RATE_NOISE, jumps_over, try_controlled_step
from ..fixed.fixed_fields import NOT_CONTRACTING
from ..step_functions import (
    shorter_step,
    state_within,
    step_growth,
    trial_error,
    trial_step,
    try_step,
)
from .radau_newton import (
    MOST_ITERATIONS,
    collocated,
    collocated_rate,
    factor_matrices,
    filtered,
    make_jacobian,
    newton,
)

__all__ = ["RADAU_FUNCTIONS", "solve_step"]

#: A Jacobian is kept while iterations contract by this, and factors while the step is this near.
CONTRACTING, NEAR = 1e-2, 1e-3
#: Steps that would grow by less stay as they are, so that the factors are kept.
HARDLY = 1.2
#: The contraction that growing steps stay below.
WANTED = 0.3
#: Steps stay below this part of one whose equations were not solved; the bound grows by this.
NOT_AGAIN, FORGET = 0.7, 1.3
#: Most steps by the Jacobians of all stages, before the simplified iteration is tried again.
MOST_BLOCKS = 256
#: The share of the step that the estimate allows.
SAFETY = 0.9


@native
def keep_accepted(context: RunFields) -> None:
    """Keep the last attempt where the run has gone on from it: the base of the next guess."""
    radau, clock = context.radau, context.clock
    if radau.h_now == 0.0 or clock.t_old != radau.t_begin or clock.t == radau.t_begin:
        return
    radau.increments, radau.increments_before = radau.increments_before, radau.increments
    radau.h_before, radau.end_before = radau.h_now, clock.h_old / radau.h_now
    radau.error_before = max(radau.error_now, 1e-2)
    radau.h_now = 0.0
    radau.accepted += 1
    radau.h_limit *= FORGET
    radau.blocks_left = max(0, radau.blocks_left - 1)
    radau.is_fresh = 0
    radau.was_rejected = 0


@native
def guess_increments(context: RunFields, h: float) -> None:
    """increments <- the polynomial of the step before, continued; zero where there is none."""
    ns, radau = context.n_state, context.radau
    z, end = radau.increments, context.stage
    if radau.h_before == 0.0 or radau.h_before * h < 0.0:
        for k in range(radau.n_stages * ns):
            z[k] = 0.0
        return
    collocated(context, radau.end_before, radau.increments_before, end)
    for s in range(radau.n_stages):
        x = radau.end_before + radau.nodes[s] * h / radau.h_before
        row = z + s * ns
        collocated(context, x, radau.increments_before, row)
        for i in range(ns):
            row[i] -= end[i]


@native
def by_blocks(context: RunFields, h: float) -> int:
    """Solve the step with the Jacobians of all stages, and so the next ones if that succeeds."""
    radau, y = context.radau, context.y
    guess_increments(context, h)
    radau.remainder = 1.0
    status = newton(context, context.clock.t, h, y, radau.increments, True)
    if status == 0:
        radau.blocks_left = radau.blocks_next
        radau.blocks_next = min(2 * radau.blocks_next, MOST_BLOCKS)
    return status


@native
def radau_trial(context: RunFields, h: float) -> int:
    """y_new <- the end of a step h from (t, y); its increments are kept."""
    ns, radau, clock = context.n_state, context.radau, context.clock
    y, y_new, rate = context.y, context.y_new, context.stages
    keep_accepted(context)
    status = NOT_CONTRACTING
    for _ in range(2):
        if radau.is_fresh == 0 and radau.wants_jacobian != 0:
            status = make_jacobian(context, clock.t, y, rate)
            if status != 0:
                return status
            radau.is_fresh = 1
        status = 0
        if abs(h - radau.h_factored) > NEAR * abs(h):
            status = factor_matrices(context, h)
        if status == 0:
            guess_increments(context, h)
            status = newton(context, clock.t, h, y, radau.increments, radau.blocks_left > 0)
        if status == 0 or status == MISSING or radau.is_fresh != 0:
            break
        radau.wants_jacobian = 1
    if status != 0 and status != MISSING and radau.blocks_left == 0:
        status = by_blocks(context, h)
    radau.wants_jacobian = 1 if status != 0 or radau.contraction > CONTRACTING else 0
    if status != 0:
        radau.remainder = 1.0
        radau.was_rejected = 1
        radau.h_limit = NOT_AGAIN * abs(h)
        return status
    radau.t_begin, radau.h_now = clock.t, h
    end = radau.increments + (radau.n_stages - 1) * ns
    for i in range(ns):
        y_new[i] = y[i] + end[i]
    return 0


@native
def estimate(context: RunFields, h: float, rate: Reals) -> float:
    """estimated <- the estimated error of the attempt, from a rate at its beginning; its size."""
    ns, radau = context.n_state, context.radau
    y, y_new, atol, rtol = context.y, context.y_new, context.atol, context.clock.rtol
    found, z = radau.estimated, radau.increments
    for i in range(ns):
        found[i] = rate[i]
    for s in range(radau.n_stages):
        weight, row = radau.error_weights[s] / h, z + s * ns
        for i in range(ns):
            found[i] += weight * row[i]
    filtered(context, found)
    total = 0.0
    for i in range(ns):
        tolerance = radau.estimate_share * (atol[i] + rtol * max(abs(y[i]), abs(y_new[i])))
        total += (found[i] / tolerance) ** 2
    return sqrt(total / float(ns))


@native
def radau_error(context: RunFields, h: float) -> float:
    """The error of the step just tried, relative to the tolerance.

    At the first step and after a rejected one, the rate is looked at once more where the estimate
    leads: stiff components are damped so.
    """
    ns, radau, clock, counts = context.n_state, context.radau, context.clock, context.counts
    error = estimate(context, h, context.stages)
    if error >= 1.0 and (radau.accepted == 0 or radau.was_rejected != 0):
        stage, rates, y = context.stage, radau.stage_rates, context.y
        for i in range(ns):
            stage[i] = y[i] + radau.estimated[i]
        counts.evaluations += 1
        status = evaluate(context, clock.t, stage, rates)
        if status != SINGULAR and status != MISSING:
            error = estimate(context, h, rates)
    radau.error_now = error
    if not error <= 1.0:
        radau.was_rejected = 1
    return error


@native
def radau_growth(context: RunFields, error: float) -> float:
    """The factor of the next step: by this error, and by how the last two went (Gustafsson)."""
    radau = context.radau
    power = -1.0 / float(radau.n_stages + 1)
    most = float(2 * MOST_ITERATIONS + 1)
    safety = SAFETY * most / (most - 1.0 + float(radau.n_iterations))
    factor = safety * float(error**power)
    if error <= 1.0 and radau.h_before != 0.0 and radau.was_rejected == 0:
        change = abs(radau.h_now / radau.h_before)
        factor = min(factor, safety * change * float((error * error / radau.error_before) ** power))
    if error <= 1.0 and factor > 1.0:
        # Where the Jacobian varies, contraction grows about like the square of the step.
        if radau.blocks_left == 0 and radau.n_iterations > 1:
            factor = max(1.0, min(factor, sqrt(WANTED / max(radau.contraction, 1e-10))))
        factor = max(1.0, min(factor, radau.h_limit / abs(radau.h_now)))
        if radau.was_rejected != 0:
            factor = 1.0
    if error <= 1.0 and factor >= 1.0 and factor <= HARDLY:
        return 1.0
    return factor


@native
def radau_shorter(context: RunFields, elapsed: float, result: Reals) -> int:
    """result <- the state a time after the beginning of the last step, by a step of its own.

    Where its equations are not solved, the polynomial of the step gives the state.
    """
    ns, radau, clock = context.n_state, context.radau, context.clock
    y, z = context.y_old, radau.increments_short
    for s in range(radau.n_stages):
        collocated(context, radau.nodes[s] * elapsed / radau.h_now, radau.increments, z + s * ns)
    end = z + (radau.n_stages - 1) * ns
    for i in range(ns):
        result[i] = end[i]
    status = factor_matrices(context, elapsed)
    contraction, remainder = radau.contraction, radau.remainder
    radau.remainder = 1.0
    if status == 0:
        status = newton(context, clock.t_old, elapsed, y, z, radau.blocks_left > 0)
    radau.contraction, radau.remainder, radau.h_factored = contraction, remainder, 0.0
    if status == MISSING:
        return status
    for i in range(ns):
        result[i] = y[i] + (end[i] if status == 0 else result[i])
    return 0


@native
def radau_within(context: RunFields, x: float, result: Reals) -> None:
    """result <- the state at the fraction x of the last step, which may have been truncated."""
    radau, y_old = context.radau, context.y_old
    collocated(context, x * context.clock.h_old / radau.h_now, radau.increments, result)
    for i in range(context.n_state):
        result[i] += y_old[i]


@native
def radau_jumps_over(context: RunFields, h: float) -> bool:
    """Whether an attempt has passed something unseen: between its nodes, the polynomial does not
    obey the equations.

    The residual is filtered like the error: where the equations are stiff, it is large for a
    polynomial that is near the motion.
    """
    ns, radau, clock, counts = context.n_state, context.radau, context.clock, context.counts
    state, rate, found, atol = context.stage, context.spare_stages, radau.stage_rates, context.atol
    y, nodes, before = context.y, radau.nodes, 0.0
    for s in range(radau.n_stages):
        x = 0.5 * (before + nodes[s])
        before = nodes[s]
        collocated(context, x, radau.increments, state)
        collocated_rate(context, x, h, radau.increments, rate)
        for i in range(ns):
            state[i] += y[i]
        counts.evaluations += 1
        status = evaluate(context, clock.t + x * h, state, found)
        if status == MISSING or status == SINGULAR:
            continue
        for i in range(ns):
            rate[i] = found[i] - rate[i]
        filtered(context, rate)
        total = 0.0
        for i in range(ns):
            noise = RATE_NOISE * abs(h * found[i])
            scale = MOST_RESIDUAL * (atol[i] + clock.rtol * abs(state[i])) + noise
            total += (rate[i] / scale) ** 2
        if not total <= float(ns):
            return True
    return False


@native
def solve_step(context: RunFields, t: float, h: float, y: Reals, y_end: Reals) -> int:
    """increments <- those of a step whose ends are known, for dense output."""
    ns, radau, stages = context.n_state, context.radau, context.stages
    z = radau.increments
    status = evaluate(context, t, y, stages)
    if status == SINGULAR or status == MISSING:
        return status
    status = make_jacobian(context, t, y, stages)
    if status == 0:
        status = factor_matrices(context, h)
    if status != 0:
        return status
    radau.remainder = 1.0
    for s in range(radau.n_stages):
        for i in range(ns):
            z[s * ns + i] = radau.nodes[s] * (y_end[i] - y[i])
    status = newton(context, t, h, y, z, False)
    if status == NOT_CONTRACTING:
        for s in range(radau.n_stages):
            for i in range(ns):
                z[s * ns + i] = radau.nodes[s] * (y_end[i] - y[i])
        radau.remainder = 1.0
        status = newton(context, t, h, y, z, True)
    return status


RADAU_FUNCTIONS = (
    (try_step, try_controlled_step),
    (trial_step, radau_trial),
    (trial_error, radau_error),
    (step_growth, radau_growth),
    (shorter_step, radau_shorter),
    (state_within, radau_within),
    (jumps_over, radau_jumps_over),
)
