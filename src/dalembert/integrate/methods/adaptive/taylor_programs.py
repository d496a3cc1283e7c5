"""What the Taylor method needs of a kernel, and what it cannot follow."""

from __future__ import annotations

import math
from typing import Any

from ....codegen.native.native_module import aligned_zeros
from ....codegen.taylor.expansion import HIGHEST_ORDER, Expansion, expansion
from ....errors import FormError
from ....formulations.equations import Equations
from ....runtime.kernel import Kernel, kernel_of
from ..hypotheses import refuse_dependent_constraints

__all__ = ["check_expansion", "hold_expansion", "kernel_expansion", "taylor_order"]

#: Lower orders are no faster.
LOWEST_ORDER = 4


def taylor_order(tolerance: float) -> int:
    """The order that takes the least work for a tolerance.

    Where an order costs its square, 1 - ln(tolerance)/2 is best (Jorba and Zou, section 3.1); our sums cost less, and three
    orders more were measured to be faster.
    """
    return min(HIGHEST_ORDER, max(LOWEST_ORDER, math.ceil(4.0 - 0.5 * math.log(tolerance))))


def kernel_expansion(kernel: Kernel, lanes: int = 1) -> Expansion:
    """The expansion of a kernel, compiled once."""
    kept: dict[int, Expansion] = kernel.__dict__.setdefault("_expansions", {})
    if lanes not in kept:
        kept[lanes] = expansion(kernel.program("fast"), kernel.n_state, lanes)
    return kept[lanes]


def hold_expansion(context: Any, order: int) -> None:
    """Let the context of a run take its steps by Taylor coefficients."""
    found = kernel_expansion(context.kernel)
    work = context.fields.bind("expansion_work", aligned_zeros(found.work_size))
    work[0] = order
    context.fields.bind("coefficients", aligned_zeros(found.out_size))
    context.fields.expansion = found.address
    context.fields.expansion_order = order
    context.fields.expansion_size = found.work_size


def check_expansion(equations: Equations) -> None:
    """Refuse what has no Taylor coefficients in closed form."""
    kernel = kernel_of(equations, equations.system.parameters)
    if kernel.free_inputs:
        raise FormError(
            "The method taylor needs inputs that are expressions",
            seen=f"the function for `{kernel.free_inputs[0]}`",
            remedy="give the input as an expression of time and state, or use method dop853",
        )
    if kernel.solved is None:
        raise FormError(
            "The method taylor needs equations that can be solved in straight-line code",
            seen=f"{kernel.n} unknowns and {kernel.m} constraints, too many or never independent",
            remedy="use method dop853, or another form",
        )
    refuse_dependent_constraints(equations, "taylor")
    kernel_expansion(kernel)
