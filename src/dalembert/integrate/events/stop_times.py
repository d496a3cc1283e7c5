"""The times at which a run must stop and begin anew, because the equations switch there.

They are read off the expressions of the model (`model.switches`, `model.time_zeros`). A step ends
a few spacings of the clock before such a time, one tiny step leads across it, and the next begins
on the other side: no step sees both. Narrow functions of time, such as the pulse
exp(-((t - 5)/0.01)^2), are met at their centres, so that the control of the step sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction, function_of_one
from ...errors import ModelError
from ...model.hazards import stated_expressions
from ...model.switches import SWITCHING, Switch, narrow_functions, switches
from ...model.symbols import t
from ...model.time_zeros import UnknownTimesError, switch_times, times_of_value
from ...runtime.kernel import Kernel
from ...typing import Array

__all__ = [
    "Stop",
    "has_stops",
    "may_pass_unseen",
    "merged",
    "model_switches",
    "narrow_centres",
    "stop_times",
]

#: Least distance from a switch in spacings of the clock, and how often it may double.
SPACINGS, DOUBLINGS = 4.0, 6
#: A smooth function is narrow where it changes within this part of the way to its neighbours.
NARROW_PART = 0.25


class Stop(NamedTuple):
    """A time at which a run restarts: steps end at `before` and go on from `after`."""

    before: float
    after: float


def model_switches(kernel: Kernel) -> list[Switch]:
    """The switches of the model of a kernel; found once."""
    return kernel.cache.get("switches", lambda: switches(kernel.equations.system))


def _narrow(kernel: Kernel) -> list[sympy.Expr]:
    return kernel.cache.get("narrow", lambda: narrow_functions(kernel.equations.system))


def has_stops(kernel: Kernel) -> bool:
    """Whether runs of a kernel may have to stop on their way."""
    return bool(model_switches(kernel)) or any(
        t in argument.free_symbols for argument in _narrow(kernel)
    )


def may_pass_unseen(kernel: Kernel, by_expansion: bool) -> bool:
    """Whether steps may skip something narrow; see `watches.is_controlled`."""
    system = kernel.equations.system
    fixed = {t, *system.parameters}
    stated = stated_expressions(system) if by_expansion else ()
    return any(t in value.free_symbols for _, value in stated) or any(
        argument.free_symbols - fixed for argument in _narrow(kernel)
    )


def stop_times(kernel: Kernel, parameters: Array, span: tuple[float, float]) -> list[Stop]:
    """Where a run of a kernel stops on its way through a span, in its direction.

    Raises
    ------
    ModelError
        Where the times of a switch cannot be listed.
    """
    if not has_stops(kernel):
        return []
    low, high = min(span), max(span)
    in_time = kernel.cache.get("time switches", lambda: _time_switches(kernel))
    found = [Stop(time, time) for time, _ in narrow_centres(kernel, parameters, span)]
    if in_time.coefficients is not None:
        found += _linear_stops(in_time.coefficients(parameters)[0], low, high)
    values = _values(kernel, parameters) if in_time.others else {}
    for switch in in_time.others:
        expression = switch.expression.xreplace(values)
        try:
            found += _stops_of(expression, switch.at_integers, low, high)
        except UnknownTimesError:
            raise ModelError(
                f"The times at which {switch.node} in {switch.place} switches cannot be listed",
                seen=f"the span from {low:.6g} to {high:.6g}",
                remedy=(
                    "shorten the span if there are very many of them, or write a switch that can be"
                    " inverted"
                ),
            ) from None
    together = merged(sorted(found))
    if span[0] <= span[1]:
        return together
    return [Stop(stop.after, stop.before) for stop in reversed(together)]


class _TimeSwitches(NamedTuple):
    """Switches of a model in time alone: rates and values at t = 0 if linear, and the others."""

    coefficients: Callable[..., Any] | None
    others: list[Switch]


def _time_switches(kernel: Kernel) -> _TimeSwitches:
    linear: dict[tuple[sympy.Expr, sympy.Expr], None] = {}
    others: list[Switch] = []
    for switch in model_switches(kernel):
        if not switch.expression.free_symbols <= {t, *kernel.parameters}:
            continue
        derivative = switch.expression.diff(t)
        if switch.at_integers or t in derivative.free_symbols or switch.expression.has(*SWITCHING):
            others.append(switch)
        else:
            linear[derivative, switch.expression.subs(t, 0)] = None
    function = None
    if linear:
        columns = [kernel.algebra.vector(list(column)) for column in zip(*linear, strict=True)]
        function = DenseFunction([kernel._inputs()[2]], [ca.horzcat(*columns)])
    return _TimeSwitches(function, others)


def _linear_stops(coefficients: Array, low: float, high: float) -> list[Stop]:
    derivatives, values = coefficients.T
    values, derivatives = values[derivatives != 0], derivatives[derivatives != 0]
    times = -values / derivatives
    edge = _edge(low, high)
    near = (times >= low - edge) & (times <= high + edge)
    values, derivatives = values[near], derivatives[near]
    return _around(
        lambda moments: np.sign(derivatives * moments + values),
        np.clip(times[near], low, high),
        low,
        high,
    )


def _edge(low: float, high: float) -> float:
    return 2.0 * SPACINGS * float(np.spacing(max(abs(low), abs(high))))


@lru_cache(maxsize=1024)
def _stops_of(expression: sympy.Expr, at_integers: bool, low: float, high: float) -> list[Stop]:
    node = sympy.floor(expression) if at_integers else sympy.sign(expression)
    edge = _edge(low, high)
    times = np.clip(switch_times(node, low - edge, high + edge), low, high)
    return _around(function_of_one(t, node), times, low, high)


def narrow_centres(
    kernel: Kernel, parameters: Array, span: tuple[float, float]
) -> list[tuple[float, float]]:
    """Centres of narrow smooth functions of time in a span, each with its width."""
    low, high = min(span), max(span)
    found: list[tuple[float, float]] = []
    for argument in _narrow(kernel):
        if argument.free_symbols <= {t, *kernel.parameters}:
            values = _values(kernel, parameters)
            found += _centres_of(argument.xreplace(values), low, high)
    inside = sorted((time, width) for time, width in found if low < time < high)
    ends = [low, *(time for time, _ in inside), high]
    room = [max(ends[k] - ends[k - 1], ends[k + 1] - ends[k]) for k in range(1, len(ends) - 1)]
    return [
        centre for centre, way in zip(inside, room, strict=True) if centre[1] < NARROW_PART * way
    ]


def _values(kernel: Kernel, parameters: Array) -> dict[Any, Any]:
    return {
        s: sympy.Float(float(v), 17) for s, v in zip(kernel.parameters, parameters, strict=True)
    }


def _around(side: Callable[[Any], Any], times: Array, low: float, high: float) -> list[Stop]:
    """Intervals around times, whose ends lie on both sides of a switch despite rounding."""
    if not len(times):
        return []
    width = SPACINGS * np.spacing(np.maximum(np.abs(times), max(abs(low), abs(high)) * 1e-3))
    for _ in range(DOUBLINGS):
        undecided = side(times - width) == side(times + width)
        width = np.where(undecided, 2.0 * width, width)
    width = np.where(
        undecided, width / 2.0**DOUBLINGS, 2.0 * width
    )  # a zero without a change of sign stays narrow
    before, after = np.maximum(times - width, low), np.minimum(times + width, high)
    return [Stop(float(a), float(b)) for a, b in zip(before, after, strict=True)]


@lru_cache(maxsize=1024)
def _centres_of(argument: sympy.Expr, low: float, high: float) -> list[tuple[float, float]]:
    """Where an argument vanishes or turns, and within which time a function of it changes there."""
    first = argument.diff(t)
    second = first.diff(t)
    found = []
    for expression, rate in ((argument, first), (first, second)):
        try:
            times = times_of_value(expression, [0.0], low, high)
        except UnknownTimesError:  # times that cannot be bounded are no stops
            continue
        rates = np.abs(function_of_one(t, rate)(times)) if len(times) else np.zeros(0)
        with np.errstate(divide="ignore"):
            widths = 1.0 / (rates if expression is argument else np.sqrt(rates))
        found += list(zip(times.tolist(), widths.tolist(), strict=True))
    return found


def merged(stops: Sequence[Stop]) -> list[Stop]:
    """Stops without overlaps."""
    found: list[Stop] = []
    for stop in stops:
        if found and stop.before <= found[-1].after:
            found[-1] = Stop(found[-1].before, max(stop.after, found[-1].after))
        else:
            found.append(stop)
    return found
