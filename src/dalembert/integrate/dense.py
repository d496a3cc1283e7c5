"""Dense output after the fact: the polynomial of a step is made again from its ends when someone asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ModelError
from ..model.method_names import EXTERNAL
from ..model.values import real_array
from ..runtime.context import Context
from ..runtime.projection import MISSING
from ..typing import Array, ArrayLike
from .methods.adaptive.taylor_programs import hold_expansion, taylor_order
from .methods.fixed.fixed_dense import ShorterSteps
from .native_run import LEAST_RTOL, LOCAL_SHARE, native_functions
from .run_fields import RunFields
from .state_symbols import shown_states

__all__ = ["dense_states"]


def dense_states(motion: Any, t: ArrayLike) -> Array:
    """States (n_state, ...) of a motion at any times inside it."""
    try:
        times = real_array(t)
    except (TypeError, ValueError):
        raise ModelError("Dense output needs times", seen=repr(t)[:60], remedy="give real numbers") from None
    flat = times.ravel()
    result = np.empty((flat.size, len(motion.state)))
    ends = [segment.step_t[k] for segment in motion.segments for k in (0, -1)]
    low, high = min(ends), max(ends)
    slack = 1e-12 * abs(high - low) + 4 * float(np.spacing(max(abs(low), abs(high))))
    if flat.size and not (np.min(flat) >= low - slack and np.max(flat) <= high + slack):
        raise ModelError(
            "Dense output was asked for outside the motion",
            seen=f"{np.min(flat):g} to {np.max(flat):g}",
            remedy=f"stay between {low:g} and {high:g}",
        )
    sign = -1.0 if motion.segments[-1].step_t[-1] < motion.segments[0].step_t[0] else 1.0
    done = np.zeros(flat.size, bool)
    for segment in reversed(motion.segments):  # a jump belongs to what follows it
        here = ~done & (sign * flat >= sign * segment.step_t[0])
        if segment is motion.segments[0]:
            here = ~done
        places = np.flatnonzero(here)
        if not places.size:
            continue
        local = np.empty((flat.size, segment.step_y.shape[1]))
        is_fixed = "step" in motion.statistics
        between: Any
        if motion.statistics["method"] == "taylor":
            between = _Expansions(segment, sign, motion.statistics["rtol"])
        elif motion.statistics["method"] in EXTERNAL:
            from .methods.external.external_run import ShortPropagations

            between = ShortPropagations(motion, segment, sign)
        else:
            between = ShorterSteps(motion, segment, sign) if is_fixed else _Interpolator(segment, sign)
        between.fill(flat, places, local)
        result[places] = shown_states(segment.context, flat[places], local[places])
        done |= here
    return np.moveaxis(result.reshape((*times.shape, len(motion.state))), -1, 0)


def _by_step(steps: Any, places: Any) -> Iterator[tuple[int, Any]]:
    """The steps that are needed, and the places whose times lie in each."""
    order = np.argsort(steps, kind="stable")
    numbers, first = np.unique(steps[order], return_index=True)
    for number, own in zip(numbers, np.split(places[order], first[1:]), strict=True):
        yield int(number), own


class _Expansions:
    """The Taylor expansions of one segment, made again from the beginnings of its steps."""

    def __init__(self, segment: Any, sign: float, rtol: float) -> None:
        self.segment, self.sign = segment, sign
        self.context = Context(segment.context.kernel, segment.context.parameters, RunFields)
        hold_expansion(self.context, taylor_order(max(LOCAL_SHARE * rtol, LEAST_RTOL)))

    def fill(self, times: Any, places: Any, result: Any) -> None:
        nodes = self.sign * self.segment.step_t
        steps = np.clip(np.searchsorted(nodes, self.sign * times[places], side="right") - 1, 0, max(0, len(nodes) - 2))
        expand, state = (native_functions()[name] for name in ("expand", "taylor_state"))
        for number, own in _by_step(steps, places):
            begin, y = self.segment.step_t[number], np.ascontiguousarray(self.segment.step_y[number])
            expand(self.context.fields, begin, y)
            for place in own:
                state(self.context.fields, times[place] - begin, y, result[place])


class _Interpolator:
    """The polynomials of one segment."""

    def __init__(self, segment: Any, sign: float) -> None:
        self.segment, self.sign = segment, sign
        ns = segment.step_y.shape[1]
        self.stages, self.polynomial = np.zeros((16, ns + 1)), np.zeros((7, ns))
        self.stage, self.end = np.zeros(ns), np.zeros(ns)

    def fill(self, times: Any, places: Any, result: Any) -> None:
        nodes = self.sign * self.segment.step_t
        if len(nodes) == 1:
            result[places] = self.segment.step_y[0]
            return
        steps = np.clip(np.searchsorted(nodes, self.sign * times[places], side="right") - 1, 0, len(nodes) - 2)
        interpolate = native_functions()["interpolate"]
        for number, own in _by_step(steps, places):
            begin, finish = self.segment.step_t[number], self.segment.step_t[number + 1]
            self._prepare(begin, finish - begin, self.segment.step_y[number], self.segment.step_y[number + 1])
            for place in own:
                x = (times[place] - begin) / (finish - begin) if finish != begin else 1.0
                interpolate(len(self.stage), x, self.segment.step_y[number], self.polynomial, result[place])

    def _prepare(self, t: float, h: float, y: Any, y_end: Any) -> None:
        if self._try(t, h, y, y_end) == MISSING:  # a stage may need the Gauss solve although both ends do not
            self.segment.context.complete()
            self._try(t, h, y, y_end)

    def _try(self, t: float, h: float, y: Any, y_end: Any) -> int:
        context, functions = self.segment.context, native_functions()
        context.evaluate_on_constraints(t, y, self.stages[0])
        status = functions["step"](context.fields, t, h, y, self.stages, self.stage, self.end)
        if status == MISSING:
            return MISSING
        context.evaluate_on_constraints(t + h, y_end, self.stages[12])
        return int(functions["dense_coefficients"](context.fields, t, h, y, y_end, self.stages, self.stage, self.polynomial))
