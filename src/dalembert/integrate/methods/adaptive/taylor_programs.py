"""What the Taylor method needs of a kernel, and what it cannot follow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ....codegen.native.native_module import aligned_zeros
from ....codegen.program import straight_line
from ....codegen.taylor.expansion import HIGHEST_ORDER, Expansion, expansion
from ....errors import FormError
from ....formulations.equations import Equations
from ....runtime.context import Context
from ....runtime.kernel import Kernel, kernel_of
from ....runtime.kernel_derivatives import regular_rates
from ....typing import Array, IntArray
from ...run_fields import RunFields
from ...tolerances import LEAST_RTOL, LOCAL_SHARE
from ..hypotheses import refuse_dependent_constraints
from ..method import AdaptiveStep, Method, Natives, by_step
from .taylor_steps import TAYLOR_FUNCTIONS, expand, taylor_state

if TYPE_CHECKING:
    from ...motion import Motion
    from ...native_run import AdaptiveRun
    from ...segment import Segment
    from ...task import Task

__all__ = [
    "METHODS",
    "check_expansion",
    "hold_expansion",
    "kernel_expansion",
    "taylor_order",
    "variational_expansion",
]

#: Lower orders are no faster.
LOWEST_ORDER = 4
#: The least steps that are taken where events are looked for.
LEAST_STEPS = 64


def taylor_order(tolerance: float) -> int:
    """The order that takes the least work for a tolerance.

    Where an order costs its square, 1 - ln(tolerance)/2 is best (Jorba and Zou, section 3.1); our
    sums cost less, and three orders more were measured to be faster.
    """
    return min(HIGHEST_ORDER, max(LOWEST_ORDER, math.ceil(4.0 - 0.5 * math.log(tolerance))))


def kernel_expansion(kernel: Kernel, lanes: int = 1) -> Expansion:
    """The expansion of a kernel, compiled once."""
    return kernel.cache.get(
        ("expansion", lanes), lambda: expansion(kernel.program("fast"), kernel.n_state, lanes)
    )


def variational_expansion(
    kernel: Kernel, deviations: int, is_averaged: bool, lanes: int = 1
) -> Expansion:
    r"""The expansion of a motion with its variational equations, compiled once.

    The unknowns are y (n_state), the deviations w_c (n_state each) and, with `is_averaged`, L:

        y' = f(t, y),      w_c' = f_y w_c,      L' = 1/2 log(w_1 . w_1)
    """

    def written() -> Expansion:
        time, y, p, u, w = kernel._inputs()
        found = regular_rates(kernel)
        columns = ca.SX.sym("deviation", kernel.n_state, deviations)
        rates = [found.rates, ca.vec(ca.jtimes(found.rates, y, columns))]
        unknowns = [y, ca.vec(columns)]
        if is_averaged:
            rates.append(ca.log(ca.sumsqr(columns[:, 0])) / 2)
            unknowns.append(ca.SX.sym("integral"))
        inputs, outputs = ca.vertcat(*unknowns), ca.densify(ca.vertcat(*rates))
        program = straight_line("variational", [time, inputs, p, u, w], [outputs, found.health])
        return expansion(program, int(inputs.numel()), lanes)

    return kernel.cache.get(("variational", deviations, is_averaged, lanes), written)


def hold_expansion(context: Context, order: int) -> None:
    """Let the context of a run take its steps by Taylor coefficients."""
    found = kernel_expansion(context.kernel)
    work = context.fields.bind("expansion_work", aligned_zeros(found.work_size))
    work[0] = order
    context.fields.bind("coefficients", aligned_zeros(found.out_size))
    context.fields.expansion = found.address
    context.fields.expansion_order = order
    context.fields.expansion_size = found.work_size


def check_expansion(equations: Equations, method: str = "taylor") -> None:
    """Refuse what has no Taylor coefficients in closed form."""
    kernel = kernel_of(equations, equations.system.parameters)
    if kernel.free_inputs:
        raise FormError(
            f"The method {method} needs inputs that are expressions",
            seen=f"the function for `{kernel.free_inputs[0]}`",
            remedy="give the input as an expression of time and state, or use method dop853",
        )
    if kernel.solved is None:
        raise FormError(
            f"The method {method} needs equations that can be solved in straight-line code",
            seen=f"{kernel.n} unknowns and {kernel.m} constraints, too many or never independent",
            remedy="use method dop853, or another form",
        )
    refuse_dependent_constraints(equations, method)
    kernel_expansion(kernel)


def _prepare(run: AdaptiveRun, task: Task, events: int) -> None:
    """Bind the expansion to a run; where events are looked for, bound its steps."""
    hold_expansion(run.context, taylor_order(run.clock.rtol))
    longest = abs(task.span[1] - task.span[0]) / LEAST_STEPS
    if events and longest:  # a polynomial takes one step, in which an event may pass twice
        run.clock.max_step = min(task.max_step, longest)


class Expansions:
    """The Taylor expansions of one segment, made again from the beginnings of its steps."""

    def __init__(self, motion: Motion, segment: Segment, sign: float, functions: Natives) -> None:
        self.segment, self.sign, self.functions = segment, sign, functions
        self.context = Context(segment.context.kernel, segment.context.parameters, RunFields)
        rtol = max(LOCAL_SHARE * motion.statistics["rtol"], LEAST_RTOL)
        hold_expansion(self.context, taylor_order(rtol))

    def fill(self, times: Array, places: IntArray, result: Array) -> None:
        """result[place] <- the state at times[place], for some places."""
        nodes = self.sign * self.segment.step_t
        steps = np.clip(
            np.searchsorted(nodes, self.sign * times[places], side="right") - 1,
            0,
            max(0, len(nodes) - 2),
        )
        expand, state = (self.functions[name] for name in ("expand", "taylor_state"))
        for number, own in by_step(steps, places):
            begin, y = (
                self.segment.step_t[number],
                np.ascontiguousarray(self.segment.step_y[number]),
            )
            expand(self.context.fields, begin, y)
            for place in own:
                state(self.context.fields, times[place] - begin, y, result[place])


METHODS = (
    Method(
        "taylor",
        "Taylor expansions of the order that suits the tolerance",
        None,
        AdaptiveStep(
            TAYLOR_FUNCTIONS,
            entries=(expand, taylor_state),
            dense=Expansions,
            prepare=_prepare,
            rows=2,
            end_row=1,
            parts=32,
        ),
        check=check_expansion,
    ),
)
