"""Steps by Taylor coefficients, as native code: the expansion at the beginning of a step, its size,
and states within it.

The size of a step is that at which the last two terms reach the tolerance, symbol by symbol (A.
Jorba, M. Zou: A software package for the numerical integration of ODEs by means of high-order
Taylor methods, Experimental Mathematics 14 (2005), section 3.2). There are no rejected steps, and
the expansion is the dense output.
"""

from __future__ import annotations

import numpy as np

from ....codegen.native.language import Reals, call_program, native
from ....codegen.passes.solve_limits import HEALTHY
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.projection import is_finite, project
from ...run_fields import RunFields
from ...step_control import INACCURATE, jumps_over
from ..step_functions import (
    begin_step,
    residual_point,
    residual_points,
    shorter_step,
    state_within,
    trial_state,
    try_step,
)

__all__ = ["TAYLOR_FUNCTIONS", "expand", "taylor_state"]

INFINITY = float("inf")
#: Where in a step the residual is looked at: points without a pattern.
POINTS = np.array([0.11, 0.23, 0.36, 0.48, 0.61, 0.74, 0.87, 1.0])


@native
def expand(context: RunFields, t: float, y: Reals) -> int:
    """The coefficients of the motion through (t, y). Returns 0 or SINGULAR."""
    clock, work, found = context.time, context.expansion_work, context.coefficients
    clock[0] = t
    parameters, inputs = context.parameters, context.input_values
    call_program(context.expansion, clock, y, parameters, inputs, work, found)
    count = (context.expansion_order + 1) * context.n_state
    if found[0] > HEALTHY and is_finite(count, found + 1):
        return 0
    for k in range(1, context.expansion_size):
        work[k] = 0.0
    return SINGULAR


@native
def largest_step(context: RunFields, y: Reals, rtol: float, atol: Reals) -> float:
    """The step at which the last two terms of the expansion are as large as the tolerance."""
    ns, order = context.n_state, context.expansion_order
    found = context.coefficients + 1
    last, before = found + order * ns, found + (order - 1) * ns
    most, most_before = 0.0, 0.0
    for i in range(ns):
        scale = atol[i] + rtol * abs(y[i])
        most = max(most, abs(last[i]) / scale)
        most_before = max(most_before, abs(before[i]) / scale)
    size = INFINITY
    if most > 0.0:
        size = most ** (-1.0 / float(order))
    if most_before > 0.0:
        size = min(size, most_before ** (-1.0 / float(order - 1)))
    return size


@native
def taylor_state(context: RunFields, elapsed: float, y: Reals, result: Reals) -> None:
    """result <- the state a time after the point of the expansion, which is y."""
    ns, order = context.n_state, context.expansion_order
    found = context.coefficients + 1
    row = found + order * ns
    for i in range(ns):
        result[i] = row[i]
    for k in range(order - 1, 0, -1):
        row = found + k * ns
        for i in range(ns):
            result[i] = result[i] * elapsed + row[i]
    for i in range(ns):
        result[i] = y[i] + result[i] * elapsed


@native
def taylor_rate(context: RunFields, elapsed: float, result: Reals) -> None:
    """result <- the time derivative of the expansion a time after its point."""
    ns, order = context.n_state, context.expansion_order
    found = context.coefficients + 1
    for i in range(ns):
        result[i] = 0.0
    for k in range(order, 0, -1):
        row = found + k * ns
        for i in range(ns):
            result[i] = result[i] * elapsed + float(k) * row[i]


# -- what the loop calls ---------------------------------------------------------------------------


@native
def begin_expansion(context: RunFields) -> int:
    """Expand the motion at (t, y), and take the size of the step from its last terms."""
    clock, counts, y = context.clock, context.counts, context.y
    status = expand(context, clock.t, y)
    if status == 0:
        counts.evaluations += 1
        clock.h = min(clock.cap, largest_step(context, y, clock.rtol, context.atol))
    return status


@native
def try_expansion(context: RunFields, h: float, t_new: float) -> int:
    """Attempt the sum of the expansion, projected. Returns a status; clock.cap bounds the next."""
    clock, counts = context.clock, context.counts
    y_new = context.y_new
    taylor_state(context, h, context.y, y_new)
    if context.projects != 0:
        status = project(context, t_new, y_new, 0, 1, 8)
        counts.projected += 1
        if status != 0:
            clock.cap = 0.25 * abs(h)
            return status
    if context.is_controlled != 0 and jumps_over(context, h):
        clock.cap = 0.25 * abs(h)
        return INACCURATE
    clock.cap *= 4.0
    return 0


@native
def taylor_shorter(context: RunFields, elapsed: float, result: Reals) -> int:
    """result <- the state a time after the beginning of the last step."""
    taylor_state(context, elapsed, context.y_old, result)
    return 0


@native
def taylor_within(context: RunFields, x: float, result: Reals) -> None:
    """result <- the state at the fraction x of the last step."""
    taylor_state(context, x * context.clock.h_old, context.y_old, result)


@native
def taylor_trial_state(context: RunFields, x: float, h: float, state: Reals, rate: Reals) -> None:
    """state, rate <- those at the fraction x of an attempt."""
    taylor_state(context, x * h, context.y, state)
    taylor_rate(context, x * h, rate)


@native
def taylor_points(context: RunFields) -> int:
    """The number of points."""
    return 8


@native
def taylor_point(context: RunFields, k: int) -> float:
    """The fraction of a step at which point k lies."""
    return float(POINTS[k])


TAYLOR_FUNCTIONS = (
    (begin_step, begin_expansion),
    (try_step, try_expansion),
    (shorter_step, taylor_shorter),
    (state_within, taylor_within),
    (trial_state, taylor_trial_state),
    (residual_points, taylor_points),
    (residual_point, taylor_point),
)
