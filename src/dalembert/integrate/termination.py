"""Why a run could not go on, told apart and told in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..runtime.diagnosis import explain, undefined, vanishing
from ..runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ..runtime.projection import STUCK
from . import advance as loop
from .events.rank_watch import vanished_row
from .outcome import Outcome, Termination

if TYPE_CHECKING:
    from ..formulations.equations import Equations
    from ..typing import Array
    from .driver import Driver
    from .run_loop import RunLoop

__all__ = [
    "broken_row",
    "classify",
    "leaves_rows_out",
    "lost_rank",
    "singular_end",
    "unsolved",
]

#: Inertia that fell below this part of what it was at the start is on its way to zero.
LOST = 1e-6
#: Rows that are this many times nearer to dependence than at the start are losing rank.
DEPENDENT = 1e-2
#: The most constraints that a sentence names.
NAMED = 8
#: A constraint that was left out, because it follows from others, holds to this.
HELD = 1e-6
#: Parts of the way that is left at which expressions are looked at where a run could not go on.
AHEAD = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
#: A state this many times larger than everything before is on its way to infinity.
GROWTH = 1e6


def leaves_rows_out(equations: Equations) -> bool:
    """Whether a form on independent velocities has left out rows because they depend on others."""
    system = equations.system
    return equations.rechoose is not None and len(system.bilateral) > len(system.coordinates) - len(
        equations.chart
    )


def broken_row(driver: Driver) -> Termination | None:
    """The termination of a motion along which a row that was left out does not hold, or None.

    Whether they follow from the others was asked at generic states when the form was derived.
    """
    names = [constraint.name for constraint in driver.task.equations.system.bilateral]
    for segment in driver.record.segments:
        kernel = segment.context.kernel
        inputs = np.zeros((len(segment.step_t), len(kernel.free_inputs)))
        values, _ = segment.context.observe(
            segment.step_t, np.ascontiguousarray(segment.step_y), inputs
        )
        residuals = np.abs(values[:, kernel.observed["velocity residual"]])
        largest = np.max(np.abs(segment.step_y), axis=1, keepdims=True)
        broken = residuals > HELD * (min(1.0, float(np.max(largest))) + largest)
        if broken.any():
            place = int(np.argmax(broken.any(axis=1)))
            name = names[int(np.argmax(residuals[place]))]
            return Termination(
                Outcome.CONTRADICTORY,
                f"The constraint `{name}`, which was taken to follow from the others, has"
                f" residual {residuals[place].max():.3g} at t = {segment.step_t[place]:.9g}."
                ' Use the form "lagrange", or correct it.',
            )
    return None


def classify(driver: RunLoop, code: int) -> Termination:
    """The outcome of a run that `advance` ended with `code`."""
    driver.check_inputs()
    run, t = driver.run, driver.run.t
    if code == loop.EXCLUDED:
        return Termination(Outcome.CONTRADICTORY, str(_explained(driver, CONTRADICTORY)))
    start = np.asarray(driver.start_state)
    if code in (loop.NOT_DETERMINED, loop.OFF_CONSTRAINTS):
        return singular_end(driver, t, start)
    row = vanished_row(driver)
    lost = (row and row.clause) or _lost_inertia(driver) or lost_rank(driver)
    reason = vanishing(driver.kernel, t, run.y, run.context.parameters, start)
    if lost is not None or reason is not None:
        return singular_end(driver, t, start, reason or lost)
    if np.max(np.abs(run.y)) > (1.0 + float(np.max(np.abs(start)))) * GROWTH:
        return _blown_up(driver)
    if run.counts.last_status in (SINGULAR, STUCK):
        return singular_end(driver, t, start)
    other = (
        "look for a jump in the functions of the inputs"
        if driver.task.inputs
        else "take other coordinates"
    )
    return driver.at_switch() or Termination.step_too_small(
        t, f"the tolerance {driver.task.rtol:g} cannot be met there. Raise rtol, or {other}"
    )


def unsolved(driver: RunLoop) -> Termination:
    """The termination of a run whose implicit equations could not be solved in a step."""
    driver.check_inputs()
    run, task = driver.run, driver.task
    if np.max(np.abs(run.y)) > (1.0 + float(np.max(np.abs(driver.start_state)))) * GROWTH:
        return _blown_up(driver)
    reason = vanishing(driver.kernel, run.t, run.y, run.context.parameters, driver.start_state)
    if reason is not None:
        return singular_end(driver, run.t, driver.start_state, reason)
    size = 0.0 if task.stepping is None else abs(task.stepping.step)
    return Termination(
        Outcome.UNSOLVED,
        f"The equations of the next step of {task.method} could not be solved at t ="
        f" {run.t:.9g} with step {size:g}. Take a smaller step.",
    )


def _blown_up(driver: RunLoop) -> Termination:
    run = driver.run
    largest = driver.kernel.equations.state[int(np.argmax(np.abs(run.y)))].name
    return Termination(
        Outcome.BLEW_UP,
        f"The motion blew up at t = {run.t:.9g}: {largest} reached {np.max(np.abs(run.y)):.3g}"
        " and grows without bound.",
    )


def _explained(driver: RunLoop, status: int) -> Exception:
    run = driver.run
    return explain(driver.kernel, status, run.t, run.y, run.context.parameters, run.context.info)


def singular_end(driver: RunLoop, t: float, start: Array, reason: str | None = None) -> Termination:
    """The termination of a run whose motion is not determined further, for a reason if known."""
    run = driver.run
    found = reason or vanishing(driver.kernel, t, run.y, run.context.parameters, start)
    if found is None and (row := vanished_row(driver)) is not None:
        found = row.clause
    why = (
        found
        or driver.bad_input
        or _undefined_ahead(driver)
        or "the accelerations are no longer determined by the equations"
    )
    return Termination.singular(t, why)


def _undefined_ahead(driver: RunLoop) -> str | None:
    """Name an expression without a finite value a little further along the rates."""
    run, kernel = driver.run, driver.kernel
    if driver.task.inputs:
        return None
    rates = np.zeros(len(run.y) + 1)
    if run.context.evaluate(run.t, run.y, rates) > CONTRADICTORY:
        return undefined(kernel, run.t, run.y, run.context.parameters)
    way = float(driver.task.span[1] - run.t)
    for part in AHEAD:
        found = undefined(
            kernel, run.t + part * way, run.y + part * way * rates[:-1], run.context.parameters
        )
        if found is not None:
            return found
    if driver.task.method == "taylor":
        return (
            "the Taylor coefficients there are beyond the range of numbers, though the rates are"
            " not; use method dop853"
        )
    return None


def _lost_inertia(driver: RunLoop) -> str | None:
    """Say whether the mass matrix, relative to its start, lost a direction on the way."""
    import casadi as ca

    kernel, run = driver.kernel, driver.run
    if not kernel.equations.is_definite:
        return None
    function = ca.Function("metric", kernel._inputs(), [kernel.graph.metric, kernel.graph.rows])
    u = np.zeros(len(kernel.free_inputs))
    values = []
    for t, y in ((driver.task.span[0], driver.start_state), (run.t, run.y)):
        metric, rows = (
            np.asarray(b, dtype=float)
            for b in function(t, y, run.context.parameters, u, np.zeros(0))
        )
        values.append(_extremes_on_kernel(metric, rows))
    (least_before, most_before), (least, most) = values
    is_lost = least < LOST * least_before or most > most_before / LOST
    if np.isfinite(least_before) and least_before > 0 and is_lost:
        return (
            "the mass matrix loses rank on the directions that the constraints allow, as angles"
            " make it do at a pole or in gimbal lock. If the motion itself goes on there, state it"
            " in other coordinates"
        )
    return None


def lost_rank(driver: RunLoop) -> str | None:
    """Say which constraints have come to depend on each other on the way."""
    import casadi as ca

    kernel, run = driver.kernel, driver.run
    if kernel.graph.rows.shape[0] == 0:
        return None
    function = ca.Function("rows", kernel._inputs(), [ca.densify(kernel.graph.rows)])
    u = np.zeros(len(kernel.free_inputs))
    found, lengths = [], np.zeros((kernel.graph.rows.shape[0], 1))
    for t, y in ((driver.task.span[0], driver.start_state), (run.t, run.y)):
        rows = np.asarray(function(t, y, run.context.parameters, u, np.zeros(0)), dtype=float)
        if not np.all(np.isfinite(rows)):
            return None
        # A row that vanishes on the way is measured by its length at the start.
        lengths = np.maximum(lengths, np.linalg.norm(rows, axis=1, keepdims=True))
        scaled = rows / np.where(lengths > 0, lengths, 1.0)
        squares, combinations = np.linalg.eigh(scaled @ scaled.T)
        found.append((combinations.T, np.sqrt(np.maximum(squares, 0.0))))
    (_, before), (combinations, after) = found
    for size, start, combination in zip(after, before, combinations, strict=True):
        if start > HELD and size < DEPENDENT * start:
            names = [
                name
                for name, part in zip(kernel.equations.row_names, combination, strict=True)
                if abs(part) > 0.05
            ]
            if len(names) == 1:
                return f"the gradient of the constraint `{names[0]}` vanishes"
            more = f" and {len(names) - NAMED} others" * (len(names) > NAMED)
            return (
                f"the constraints {', '.join(f'`{name}`' for name in names[:NAMED])}{more} come to"
                " depend on each other"
            )
    return None


def _extremes_on_kernel(metric: Array, rows: Array) -> tuple[float, float]:
    """The least and largest eigenvalue of G + A^T A."""
    if not np.all(np.isfinite(metric)) or not np.all(np.isfinite(rows)):
        return float("nan"), float("nan")
    found = np.linalg.eigvalsh(metric + rows.T @ rows)
    return float(found[0]), float(found[-1])
