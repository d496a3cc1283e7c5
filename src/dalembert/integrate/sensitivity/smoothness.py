r"""Find where a motion is not differentiable along its steps: rank changes and jumps of rates.

The derivative is carried with the constraints that are independent at the start. Where another one
becomes independent later, the motion goes on as that of another system. Where the rates f jump as
the motion crosses sigma(t, y, x) = 0, the derivative jumps with them,

    S+ = S- + (f- - f+) dtau,       dtau = - (sigma_y S- + sigma_x dx) / (sigma_y f- + sigma_t)

(P. C. Müller: Calculation of Lyapunov exponents for dynamic systems with discontinuities, Chaos,
Solitons & Fractals 5 (1995), section 3). Neither follows from the steps, so that both are refused.
At a crossing where f is continuous nothing is added, and none where sigma depends on time alone:
such crossings are differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.backends.interpreter import interpret
from ...codegen.dense_function import DenseFunction
from ...codegen.program import Program
from ...errors import ModelError, RunError
from ...runtime.gauss.active_rows import WEAK
from ...runtime.gauss.constrained_solve import rank
from ...runtime.gauss.solve_status import CONTRADICTORY
from ...typing import Array, BoolArray

if TYPE_CHECKING:
    from .tangent_run import SensitiveRun

__all__ = ["check_jumps", "check_ranks"]

#: Points inside each step at which operations are looked at, as parts of the step.
INSIDE = (0.25, 0.5, 0.75)
#: The rates jump where they change by more than this part of their largest values on the motion.
JUMP = 1e-9
#: So many crossings within a quarter of a step are told apart; more are refused.
MOST_CROSSINGS = 8
#: Points that a program is run on at once.
BATCH = 512

States = Any  # array (k, n_state)
Changed = Callable[[Any, States], Any]  # times (k,) and states -> array of bool (k,)


def check_ranks(run: SensitiveRun) -> None:
    """Raise where constraints that were left out at the start become independent along a segment.

    Parameters
    ----------
    run : SensitiveRun
    """
    kernel, rows = run.kernel, run.derivatives.rows
    changed: list[Changed] = []
    if len(rows.solve) < kernel.m:
        changed.append(_solve_differs(run, len(rows.solve)))
    for level, kept in (("position", rows.position), ("velocity", rows.velocity)):
        table = getattr(kernel.graph, level).rows
        if len(kept) < table.shape[0]:
            changed.append(_rank_differs(run, DenseFunction(kernel._inputs(), [table]), len(kept)))
    for differs in changed:
        later = np.flatnonzero(differs(run.times, run.states))
        if later.size:
            raise _another_rank(run, int(later[0]), differs)


def _another_rank(run: SensitiveRun, k: int, differs: Changed) -> ModelError:
    """The refusal of a motion whose rank is another at the end of step k."""
    try:
        between = run.times[k - 1 : k], run.times[k : k + 1]
        when = float(_located(_without_others(run, k - 1), *between, differs)[1][0])
    except RunError:  # the step across the change is not determined
        when = float(run.times[k])
    return ModelError(
        "A constraint that depends on the others at the start becomes independent along the motion,"
        " which has no derivative there",
        seen=f"another rank at t = {when:.9g}",
        remedy="end the span before, or state the system without that constraint",
    )


def _solve_differs(run: SensitiveRun, count: int) -> Changed:
    """Whether the Gauss solve finds another rank, as it does along the motion after its start."""

    def differs(at: Array, y: States) -> BoolArray:
        run.context.forget_choices()
        times, states = np.append(run.times[:1], at), np.vstack([run.states[:1], y])
        found = run.context.evaluate_points(times, np.ascontiguousarray(states))[1:]
        changed: BoolArray = (found[:, 0] <= CONTRADICTORY) & (found[:, 1] != count)
        return changed

    return differs


def _without_others(run: SensitiveRun, step: int) -> Callable[[Any], States]:
    """States within a step, as they are without the constraints that were left out."""

    def states(at: Array) -> States:
        projected, run.context.fields.is_projected = run.context.fields.is_projected, 0
        try:
            return run.tangents(np.zeros((1, run.size)), at, step, step + 1)[0]
        finally:
            run.context.fields.is_projected = projected

    return states


def _rank_differs(run: SensitiveRun, table: DenseFunction, count: int) -> Changed:
    parameters, free = run.context.parameters, np.zeros(len(run.kernel.free_inputs))

    def differs(at: Array, y: States) -> BoolArray:
        tables = (
            table(time, state, parameters, free, ())[0] for time, state in zip(at, y, strict=True)
        )
        return np.array(
            [bool(np.isfinite(a).all()) and rank(a, WEAK).rank != count for a in tables]
        )

    return differs


def check_jumps(run: SensitiveRun) -> None:
    """Raise where the rates, or an adjoint's integrand, jump in a way that affects the derivative.

    Parameters
    ----------
    run : SensitiveRun
    """
    rates, switches = run.derivatives.switching
    if not switches.outputs or run.steps == 0:
        return
    nodes = run.segment.step_t
    inside = nodes[:-1, None] + np.diff(nodes)[:, None] * np.array([0.0, *INSIDE])
    times = np.append(inside.ravel(), nodes[-1])
    states = run.states_at(times)
    values, largest = _run(run, switches, times, states), None
    left, right, at_left, at_right = times[:-1], times[1:], values[:, :-1], values[:, 1:]
    for _ in range(MOST_CROSSINGS):
        here = np.any(at_left != at_right, axis=0)
        if not here.any():
            return
        if largest is None:
            largest = np.nanmax(np.abs(_run(run, rates, times, states)), axis=1)[:, None]
        left, right, at_left = left[here], right[here], at_left[:, here]
        at_right = at_right[:, here]
        before, after = _located(run.states_at, left, right, _differs_from(run, switches, at_left))
        reached = run.states_at(after)
        jump = np.abs(
            _run(run, rates, after, reached) - _run(run, rates, before, run.states_at(before))
        )
        felt = np.flatnonzero(np.any(jump > JUMP * largest, axis=0))
        if felt.size:
            raise ModelError(
                "The equations jump along the motion, whose derivative jumps with them and is not"
                " carried across",
                seen=(
                    f"a jump of the rates by {np.max(jump[:, felt[0]]):.3g} at t ="
                    f" {float(after[felt[0]]):.9g}"
                ),
                remedy="end the span before, or smooth what switches (tanh for sign, for example)",
            )
        left, at_left = after, _run(run, switches, after, reached)
    raise ModelError(
        "The equations switch too often within a step to be differentiated",
        seen=f"more than {MOST_CROSSINGS} times near t = {float(left[0]):.9g}",
        remedy="end the span before, or smooth what switches",
    )


def _differs_from(
    run: SensitiveRun, switches: Program, begin: Array
) -> Callable[[Any, States], Any]:
    return lambda at, y: np.any(_run(run, switches, at, y) != begin, axis=0)


def _run(run: SensitiveRun, program: Program, times: Array, states: States) -> Array:
    """The outputs of a program at points of a motion, (outputs, k)."""
    free = np.zeros(len(run.kernel.free_inputs))
    parts = [
        interpret(
            program,
            (
                times[None, k : k + BATCH],
                states[k : k + BATCH].T,
                run.context.parameters,
                free,
                np.zeros(0),
            ),
        )
        for k in range(0, len(times), BATCH)
    ]
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(program.outputs), 0))


def _located(
    states: Callable[[Any], States], left: Array, right: Array, differs: Changed
) -> tuple[Array, Array]:
    """Adjacent times around the first change of something, by bisection in each interval."""
    before, after = np.array(left, dtype=float), np.array(right, dtype=float)
    while True:
        middle = before + (after - before) / 2
        if np.all((middle == before) | (middle == after)):
            return before, after
        changed = differs(middle, states(middle))
        before, after = np.where(changed, before, middle), np.where(changed, middle, after)
