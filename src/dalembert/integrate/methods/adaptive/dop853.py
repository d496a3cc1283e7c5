"""Dormand and Prince's method of order 8 with step control and dense output, as native code.

E. Hairer, S. P. Norsett, G. Wanner: Solving Ordinary Differential Equations I, 2nd ed., section
II.10. Which model is integrated is in the kernel's context. Stages K are rows of n_state + 1
places.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from ....codegen.native.language import Integers, Reals, native
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.kernel_fields import KernelFields
from ....runtime.projection import MISSING, evaluate, evaluate_on_constraints
from ....typing import Array, IntArray
from ...run_fields import RunFields
from ...step_control import try_controlled_step
from ..method import AdaptiveStep, Method, Natives
from ..step_functions import (
    end_stage,
    make_dense,
    residual_point,
    residual_points,
    shorter_step,
    state_within,
    step_growth,
    trial_dense,
    trial_error,
    trial_state,
    trial_step,
    try_step,
)
from .dop853_coefficients import E3, E5, A, C, D

if TYPE_CHECKING:
    from ...motion import Motion
    from ...native_run import AdaptiveRun
    from ...segment import Segment
    from ...task import Task

__all__ = ["DOP853_STEP", "EXPONENT", "METHODS", "stage_state"]

ORDER = 8
#: The error of a step grows like h to the inverse of this power.
EXPONENT = 1.0 / 8.0


@native
def stage_state(ns: int, s: int, h: float, y: Reals, K: Reals, stage: Reals) -> None:
    """stage <- y + h sum_j A[s, j] K[j] over the stages before s."""
    for i in range(ns):
        stage[i] = 0.0
    for j in range(s):
        weight = A[s, j]
        if weight != 0.0:
            row = K + j * (ns + 1)
            for i in range(ns):
                stage[i] += weight * row[i]
    for i in range(ns):
        stage[i] = y[i] + h * stage[i]


@native
def step(
    context: KernelFields, t: float, h: float, y: Reals, K: Reals, stage: Reals, y_new: Reals
) -> int:
    """One step from (t, y) with K[0] known: fills K[1:12] and y_new. Returns 0 or a status."""
    ns = context.n_state
    for s in range(1, 12):
        stage_state(ns, s, h, y, K, stage)
        status = evaluate(context, t + C[s] * h, stage, K + s * (ns + 1))
        if status == SINGULAR or status == MISSING:
            return status
    stage_state(ns, 12, h, y, K, y_new)
    return 0


@native
def error_norm(
    ns: int, h: float, y: Reals, y_new: Reals, K: Reals, rtol: float, atol: Reals
) -> float:
    """The error of a step relative to the tolerance; a step with at most 1 is accepted."""
    total5, total3 = 0.0, 0.0
    for i in range(ns):
        scale = atol[i] + rtol * max(abs(y[i]), abs(y_new[i]))
        e5, e3 = 0.0, 0.0
        for s in range(12):
            value = K[s * (ns + 1) + i]
            e5 += E5[s] * value
            e3 += E3[s] * value
        total5 += (e5 / scale) ** 2
        total3 += (e3 / scale) ** 2
    if total5 == 0.0 and total3 == 0.0:
        return 0.0
    return abs(h) * total5 / sqrt((total5 + 0.01 * total3) * ns)


@native
def dense_coefficients(
    context: KernelFields,
    t: float,
    h: float,
    y: Reals,
    y_new: Reals,
    K: Reals,
    stage: Reals,
    F: Reals,
) -> int:
    """The polynomial of a finished step, F (7, n_state), from K[0:13] and three more stages."""
    ns = context.n_state
    width = ns + 1
    for s in range(13, 16):
        stage_state(ns, s, h, y, K, stage)
        status = evaluate(context, t + C[s] * h, stage, K + s * width)
        if status == SINGULAR or status == MISSING:
            return status
    for i in range(ns):
        delta = y_new[i] - y[i]
        F[i] = delta
        F[ns + i] = h * K[i] - delta
        F[2 * ns + i] = 2.0 * delta - h * (K[12 * width + i] + K[i])
        for r in range(4):
            total = 0.0
            for s in range(16):
                total += D[r, s] * K[s * width + i]
            F[(3 + r) * ns + i] = h * total
    return 0


@native
def interpolate(ns: int, x: float, y: Reals, F: Reals, out: Reals) -> None:
    """out <- the state at the fraction x of a step that began at y."""
    for i in range(ns):
        value = 0.0
        for r in range(6, -1, -1):
            value += F[r * ns + i]
            value *= x if r % 2 == 0 else 1.0 - x
        out[i] = y[i] + value


@native
def states_between(
    context: KernelFields,
    first: int,
    count: int,
    times: Reals,
    steps: Integers,
    step_t: Reals,
    step_y: Reals,
    K: Reals,
    stage: Reals,
    F: Reals,
    out: Reals,
) -> int:
    """out[k] <- the state at times[k] in the step steps[k], in rising order, from `first` on.

    Returns `count`, or the place at which a program is missing.
    """
    ns = context.n_state
    present = -1
    for k in range(first, count):
        number = steps[k]
        t, y = step_t[number], step_y + number * ns
        h = step_t[number + 1] - t
        if number != present:
            end = step_y + (number + 1) * ns
            missing = evaluate_on_constraints(context, t, y, K) == MISSING
            missing = missing or step(context, t, h, y, K, stage, F) == MISSING
            end_row = K + 12 * (ns + 1)
            missing = missing or evaluate_on_constraints(context, t + h, end, end_row) == MISSING
            missing = missing or dense_coefficients(context, t, h, y, end, K, stage, F) == MISSING
            if missing:
                return k
            present = number
        x = 1.0
        if h != 0.0:
            x = (times[k] - t) / h
        interpolate(ns, x, y, F, out + k * ns)
    return count


@native
def interpolate_rate(ns: int, x: float, h: float, F: Reals, out: Reals) -> None:
    """out <- the time derivative of the interpolated state at the fraction x of a step h."""
    for i in range(ns):
        value, rate = 0.0, 0.0
        for r in range(6, -1, -1):
            value += F[r * ns + i]
            weight = x if r % 2 == 0 else 1.0 - x
            rate = rate * weight + (value if r % 2 == 0 else -value)
            value *= weight
        out[i] = rate / h


# -- what the loop calls ---------------------------------------------------------------------------

#: Where in a step the residual is looked at: between the stages.
POINTS = np.array([0.47, 0.75, 0.93])


@native
def dop853_trial(context: RunFields, h: float) -> int:
    """y_new <- the end of a step h from (t, y)."""
    counts, clock, y_new = context.counts, context.clock, context.y_new
    counts.evaluations += 11
    return step(context, clock.t, h, context.y, context.stages, context.stage, y_new)


@native
def dop853_error(context: RunFields, h: float) -> float:
    """The error of the step just tried, relative to the tolerance."""
    y, y_new, rtol = context.y, context.y_new, context.clock.rtol
    return error_norm(context.n_state, h, y, y_new, context.stages, rtol, context.atol)


@native
def dop853_growth(context: RunFields, error: float) -> float:
    """The factor that makes the error nearly as large as the tolerance."""
    return float(0.9 * error**-EXPONENT)


@native
def dop853_end_stage(context: RunFields) -> int:
    """The stage at the end of a step, which is the first of the next."""
    return 12


@native
def dop853_shorter(context: RunFields, elapsed: float, result: Reals) -> int:
    """result <- the state a time after the beginning of the last step."""
    counts, stages, spare, t = context.counts, context.stages, context.spare_stages, context.clock
    for i in range(context.n_state):
        spare[i] = stages[i]
    counts.evaluations += 11
    return step(context, t.t_old, elapsed, context.y_old, spare, context.stage, result)


@native
def dop853_dense(context: RunFields) -> int:
    """The polynomial of the last step, once."""
    clock, counts, stages, stage = context.clock, context.counts, context.stages, context.stage
    if counts.has_dense != 0:
        return 0
    t, h, y_old, y = clock.t_old, clock.h_old, context.y_old, context.y
    status = dense_coefficients(context, t, h, y_old, y, stages, stage, context.dense)
    counts.evaluations += 3
    if status == 0:
        counts.has_dense = 1
    return status


@native
def dop853_within(context: RunFields, x: float, result: Reals) -> None:
    """result <- the state at the fraction x of the last step."""
    interpolate(context.n_state, x, context.y_old, context.dense, result)


@native
def dop853_trial_dense(context: RunFields, h: float) -> int:
    """The polynomial of an attempt."""
    counts, t, stages, stage = context.counts, context.clock.t, context.stages, context.stage
    y, y_new = context.y, context.y_new
    status = dense_coefficients(context, t, h, y, y_new, stages, stage, context.dense)
    if status == 0:
        counts.evaluations += 3
    return status


@native
def dop853_trial_state(context: RunFields, x: float, h: float, state: Reals, rate: Reals) -> None:
    """state, rate <- those at the fraction x of an attempt."""
    interpolate(context.n_state, x, context.y, context.dense, state)
    interpolate_rate(context.n_state, x, h, context.dense, rate)


@native
def dop853_points(context: RunFields) -> int:
    """The number of points."""
    return 3


@native
def dop853_point(context: RunFields, k: int) -> float:
    """The fraction of a step at which point k lies."""
    return float(POINTS[k])


class Interpolator:
    """The polynomials of one segment, made again from the ends of its steps."""

    def __init__(self, motion: Motion, segment: Segment, sign: float, functions: Natives) -> None:
        self.segment, self.sign, self.functions = segment, sign, functions
        ns = segment.step_y.shape[1]
        self.stages, self.polynomial = np.zeros((16, ns + 1)), np.zeros((7, ns))
        self.stage = np.zeros(ns)

    def fill(self, times: Array, places: IntArray, result: Array) -> None:
        """result[place] <- the state at times[place], for some places."""
        nodes = self.sign * self.segment.step_t
        if len(nodes) == 1:
            result[places] = self.segment.step_y[0]
            return
        steps = np.clip(
            np.searchsorted(nodes, self.sign * times[places], side="right") - 1, 0, len(nodes) - 2
        )
        order = np.argsort(steps, kind="stable")
        places, steps = places[order], np.ascontiguousarray(steps[order], dtype=np.int64)
        own, found = np.ascontiguousarray(times[places]), np.empty((len(places), len(self.stage)))
        step_t, step_y = (
            np.ascontiguousarray(each) for each in (self.segment.step_t, self.segment.step_y)
        )
        made, done = (self.stages, self.stage, self.polynomial, found), 0
        context = self.segment.context
        while (
            done := self.functions["states_between"](
                context.fields, done, len(own), own, steps, step_t, step_y, *made
            )
        ) < len(own):
            context.complete()  # a stage may need the Gauss solve although both ends do not
        result[places] = found


def _prepare(run: AdaptiveRun, task: Task, events: int) -> None:
    """Bind the polynomial of a step."""
    run.context.fields.bind("dense", np.zeros((7, len(run.y))))


DOP853_STEP = AdaptiveStep(
    (
        (try_step, try_controlled_step),
        (trial_step, dop853_trial),
        (trial_error, dop853_error),
        (step_growth, dop853_growth),
        (end_stage, dop853_end_stage),
        (shorter_step, dop853_shorter),
        (make_dense, dop853_dense),
        (state_within, dop853_within),
        (trial_dense, dop853_trial_dense),
        (trial_state, dop853_trial_state),
        (residual_points, dop853_points),
        (residual_point, dop853_point),
    ),
    entries=(states_between,),
    dense=Interpolator,
    prepare=_prepare,
    rows=16,
    end_row=12,
    parts=4,
)
METHODS = (
    Method(
        "dop853",
        "Dormand and Prince's explicit Runge-Kutta method with step control and dense output",
        ORDER,
        DOP853_STEP,
    ),
)
