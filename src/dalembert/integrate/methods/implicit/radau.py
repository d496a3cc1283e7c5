"""Radau IIA methods of order 5, 9 and 13 for stiff equations, with step control and dense output.

They are collocation at Radau's nodes, whose last is the end of a step: stiffly accurate and
L-stable, so that a fast decay that is over does not bound the steps (E. Hairer, G. Wanner: Solving
Ordinary Differential Equations II, 2nd ed., sections IV.5 and IV.8). A step ends with the same
projection onto the constraints as every other one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ....errors import SingularError
from ....runtime.context import Context
from ....runtime.kernel_derivatives import ReferencePoint
from ....runtime.projection import MISSING
from ....runtime.rates_jacobian import RatesJacobian, rates_jacobian
from ....typing import Array, IntArray
from ...run_fields import RunFields
from ...tolerances import LEAST_RTOL, LOCAL_SHARE
from ..method import AdaptiveStep, Method, Natives, by_step
from .radau_steps import RADAU_FUNCTIONS, solve_step
from .radau_tables import radau_table
from .sparse_lu import elimination_pattern

if TYPE_CHECKING:
    from ...motion import Motion
    from ...native_run import AdaptiveRun
    from ...segment import Segment
    from ...task import Task

__all__ = ["METHODS", "hold_radau"]

#: The error estimate has the order s of the polynomial, the state at the end of a step 2 s - 1. The
#: first is held to so many tolerances of a step, less than half of the tolerance of the motion.
ESTIMATE = {3: 20.0, 5: 5.0, 7: 2.0}
#: So many steps are taken with the Jacobians of all stages after the first failure of one.
FIRST_BLOCKS = 8
#: A step whose equations dense output does not solve again is halved so often.
HALVINGS = 10


def hold_radau(context: Context, stages: int, t: float, y: Array) -> None:
    """Let a context take steps of a Radau method, with the Jacobian at a state near (t, y)."""
    kernel, fields = context.kernel, context.fields.radau
    size, bind = kernel.n_state, fields.bind
    table = radau_table(stages)
    fields.n_stages, fields.real_value = stages, table.real
    for name, values in (
        ("nodes", table.nodes),
        ("derivatives", table.derivatives),
        ("vectors", table.vectors),
        ("inverse", table.inverse),
        ("pairs", table.pairs),
        ("error_weights", table.error),
    ):
        bind(name, np.ascontiguousarray(values))
    found = rates_jacobian(kernel, ReferencePoint(t, y, context.parameters))
    for name, program in (("jacobian_program", found.entries), ("tangent_program", found.product)):
        setattr(fields, name, 0 if program is None else kernel.load_program(program))
    fields.n_values, fields.n_colours = len(found.rows), len(found.colour_first) - 1
    bind("value_rows", found.rows)
    bind("value_columns", found.columns)
    bind("colour_first", found.colour_first)
    bind("values", np.zeros(len(found.rows)))
    pattern = kernel.cache.get(
        ("elimination", found.rows.tobytes(), found.columns.tobytes()),
        lambda: elimination_pattern(size, found.rows, found.columns),
    )
    for name, numbers in pattern._asdict().items():
        bind(name, numbers)
    fields.n_entries = len(pattern.columns)
    bind("matrices", np.zeros(stages * fields.n_entries))
    _hold_blocks(context, found, stages)
    for name in ("increments", "increments_before", "increments_short", "residual", "transformed"):
        bind(name, np.zeros((stages, size)))
    bind("stage_rates", np.zeros(size + 1))
    bind("estimated", np.zeros(size))
    bind("work", np.zeros(2 * size))
    fields.wants_jacobian, fields.remainder, fields.h_limit = 1, 1.0, math.inf
    fields.estimate_share = ESTIMATE[stages]


def _hold_blocks(context: Context, found: RatesJacobian, stages: int) -> None:
    """Bind the matrix of Newton's method with a Jacobian for each stage."""
    kernel, fields = context.kernel, context.fields.radau
    size, count = kernel.n_state, len(found.rows)
    first = size * np.arange(stages)
    # Entries of D for each pair of stages, then those of each J_i.
    of_stage, of_other, symbol = np.meshgrid(first, first, np.arange(size), indexing="ij")
    rows = np.concatenate([(of_stage + symbol).ravel(), (first[:, None] + found.rows).ravel()])
    columns = np.concatenate(
        [(of_other + symbol).ravel(), (first[:, None] + found.columns).ravel()]
    )
    pattern = kernel.cache.get(
        ("block elimination", stages, found.rows.tobytes(), found.columns.tobytes()),
        lambda: elimination_pattern(stages * size, rows, columns),
    )
    for name in ("order", "row_first", "columns", "diagonals"):
        fields.bind(f"block_{name}", getattr(pattern, name))
    fields.bind("block_shifts", np.ascontiguousarray(pattern.places[: size * stages**2]))
    fields.bind("block_places", np.ascontiguousarray(pattern.places[size * stages**2 :]))
    fields.n_block_entries = len(pattern.columns)
    fields.bind("block_matrix", np.zeros(len(pattern.columns)))
    fields.bind("block_values", np.zeros(count))
    fields.bind("block_work", np.zeros(stages * size))
    fields.bind("block_state", np.zeros(size))
    fields.bind("block_rate", np.zeros(size + 1))
    fields.blocks_next = FIRST_BLOCKS


class ShorterRadauSteps:
    """The states of one segment between its steps, each by a step of its own.

    Where equations are stiff, the polynomial of a long step is exact at its nodes alone.
    """

    def __init__(self, motion: Motion, segment: Segment, sign: float, functions: Natives) -> None:
        self.segment, self.sign, self.functions = segment, sign, functions
        own = segment.context
        self.context = context = Context(own.kernel, own.parameters, RunFields)
        if own.callback is not None:
            context.call_for_inputs(own.callback)
        size = own.kernel.n_state
        rtol = float(motion.statistics["rtol"])
        context.fields.clock.rtol = max(LOCAL_SHARE * rtol, LEAST_RTOL)
        context.fields.bind("atol", np.full(size, LOCAL_SHARE * float(motion.statistics["atol"])))
        context.fields.bind("stages", np.zeros((2, size + 1)))
        context.fields.bind("stage", np.zeros(size))
        order = int(str(motion.statistics["method"]).removeprefix("radau"))
        hold_radau(context, (order + 1) // 2, float(segment.step_t[0]), segment.step_y[0])

    def fill(self, times: Array, places: IntArray, result: Array) -> None:
        """result[place] <- the state at times[place], for some places."""
        segment = self.segment
        nodes = self.sign * segment.step_t
        if len(nodes) == 1:
            result[places] = segment.step_y[0]
            return
        steps = np.clip(
            np.searchsorted(nodes, self.sign * times[places], side="right") - 1, 0, len(nodes) - 2
        )
        for number, own in by_step(steps, places):
            begin, end = segment.step_t[number], segment.step_t[number + 1]
            y, y_end = segment.step_y[number], segment.step_y[number + 1]
            for place in own:
                x = (times[place] - begin) / (end - begin) if end != begin else 1.0
                guess = y + x * (y_end - y)
                ends = (float(begin), float(times[place]))
                result[place] = y_end if x == 1.0 else self._state(ends, y, guess, HALVINGS)

    def _state(self, ends: tuple[float, float], y: Array, guess: Array, halvings: int) -> Array:
        """The state after a step between two times; after two halves where it is not solved."""
        begin, end = ends
        if end == begin:
            return y
        arguments = (begin, end - begin, *map(np.ascontiguousarray, (y, guess)))
        solve, fields = self.functions["solve_step"], self.context.fields
        status = solve(fields, *arguments)
        if status == MISSING:
            self.context.complete()
            status = solve(fields, *arguments)
        if status == 0:
            return np.asarray(y + fields.radau.arrays["increments"][-1])
        if halvings == 0:
            raise SingularError(
                "The equations of a step could not be solved again for dense output",
                seen=f"the step from t = {begin:.9g} to {end:.9g}",
                remedy="ask for these times by `at` when the motion is simulated",
            )
        middle = 0.5 * (begin + end)
        halfway = self._state((begin, middle), y, 0.5 * (y + guess), halvings - 1)
        return self._state((middle, end), halfway, guess, halvings - 1)


def _method(order: int) -> Method:
    stages = (order + 1) // 2

    def prepare(run: AdaptiveRun, task: Task, events: int) -> None:
        hold_radau(run.context, stages, run.t, run.y)

    step = AdaptiveStep(
        RADAU_FUNCTIONS,
        entries=(solve_step,),
        dense=ShorterRadauSteps,
        prepare=prepare,
        parts=4 if stages == 3 else 8,
    )
    return Method(
        f"radau{order}",
        f"Radau IIA of {stages} stages for stiff equations, with step control and dense output",
        order,
        step,
        is_stiff=True,
    )


METHODS = tuple(_method(order) for order in (5, 9, 13))
