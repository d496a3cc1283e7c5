"""Steps by Taylor coefficients, as native code: the expansion at the beginning of a step, its size, and states within it.

The size of a step is that at which the last two terms reach the tolerance, symbol by symbol (A. Jorba, M. Zou: A software
package for the numerical integration of ODEs by means of high-order Taylor methods, Experimental Mathematics 14 (2005),
section 3.2). There are no rejected steps, and the expansion is the dense output.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, call_program, native
from ....codegen.passes.unrolled import HEALTHY
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.projection import is_finite
from ...run_fields import RunFields

__all__ = ["expand", "largest_step", "taylor_rate", "taylor_state"]

INFINITY = float("inf")


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
