"""Many short runs for one picture: sweeps, bifurcation diagrams and maps of Lyapunov exponents.

A page asks for a few points at a time, so that it can draw while it waits, and stop.
"""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np

from ...analysis.sensitivity.lyapunov import lyapunov
from ...errors import DalembertError, ModelError, nearest
from ...integrate.energy_columns import sampled_at
from ...integrate.simulate import simulate
from ...model.scenario import Scenario
from ...plotting.motion_samples import Array, finite_span
from ..job_progress import JobProgress
from .running import column
from .scenarios import options_of, scenario_of, span_of, start_names

__all__ = ["study"]

#: Times at which a run is looked at, and values of one point that are sent.
SAMPLES, MOST_VALUES = 4000, 400
STEPS = 500_000
#: Seconds after which the points that are there are sent.
ENOUGH = 1.0


def study(request: dict[str, Any], job_context: JobProgress) -> dict[str, Any]:
    """What each point of the study gives, up to where the time for an answer is up: a list of
    values, or the reason why there are none.
    """
    scenario = scenario_of(request)
    known = {*scenario.parameters, *start_names(scenario)}
    for name in request["names"]:
        if name not in known:
            near = nearest(name, known)
            remedy = f"did you mean {near}" if near else "name a parameter or a start value"
            raise ModelError(f"`{name}` cannot be varied", ", ".join(sorted(known)), remedy)
    found: list[dict[str, Any]] = []
    began = clock.perf_counter()
    for point in request["points"]:
        if found and (job_context.is_late or clock.perf_counter() - began > ENOUGH):
            break
        job_context.progress(len(found) / len(request["points"]), 0.0)
        found.append(_one(request, scenario, point, job_context))
    return {"points": found}


def _one(
    request: dict[str, Any], scenario: Scenario, point: list[float], job_context: JobProgress
) -> dict[str, Any]:
    """The values of one point."""
    varied = dict(zip(request["names"], point, strict=True))
    parameters = {name: x for name, x in varied.items() if name in scenario.parameters}
    start = {name: x for name, x in varied.items() if name not in scenario.parameters}
    case = request | {
        "parameters": {**(request.get("parameters") or {}), **parameters},
        "start": {**(request.get("start") or {}), **start},
    }
    own = scenario_of(case)
    own = own.replacing(simulate={k: v for k, v in own.simulate.items() if k != "at"})
    try:
        if request["study"] == "chaos":
            return {"values": [_exponent(own, case)]}
        return {"values": _values(own, case, job_context)}
    except DalembertError as error:
        return {"values": [], "message": str(error)}


def _exponent(scenario: Scenario, case: dict[str, Any]) -> float:
    first, last = span_of(scenario, case)
    transient = case["skip"] * (last - first)
    options = options_of(case) | {"span": (first, last), "max_steps": STEPS}
    found = lyapunov(scenario, count=1, transient=transient, **options)
    return float(found.exponents[0])


def _values(scenario: Scenario, case: dict[str, Any], job_context: JobProgress) -> list[float]:
    """Least, largest and last value of the quantity; of a bifurcation diagram its maxima, or with
    a period its values once in each.
    """

    def progress(_: float, __: float) -> None:
        job_context.check()

    options = options_of(case) | {"span": span_of(scenario, case), "max_steps": STEPS}
    motion = simulate(scenario, progress=progress, **options)
    first, last = finite_span(motion)
    if not motion.success:
        raise ModelError(motion.message)
    begin = first + case["skip"] * (last - first)
    period = case.get("period")
    if case["study"] == "bifurcation" and period:
        count = int(min(abs(last - begin) / period, MOST_VALUES - 1))
        step = period if last > first else -period
        times = last - step * np.arange(count, -1, -1.0)
    else:
        times = np.linspace(begin, last, SAMPLES)
    sampled = sampled_at(motion, times)
    if case["quantity"] not in sampled.names:
        near = nearest(case["quantity"], sampled.names)
        remedy = f"did you mean {near}" if near else "name a quantity of the motion"
        raise ModelError(f"A motion has no quantity `{case['quantity']}`", None, remedy)
    values = np.asarray(sampled[case["quantity"]], dtype=float)
    if case["study"] == "sweep":
        return column([np.min(values), np.max(values), values[-1]])
    return column(values if period else _maxima(values)[-MOST_VALUES:])


def _maxima(values: Array) -> Array:
    """The local maxima of equally spaced values, by the parabola through three of them.

    >>> _maxima(np.sin(np.linspace(0, 20, 4000))).round(9).tolist()
    [1.0, 1.0, 1.0]
    """
    left, middle, right = values[:-2], values[1:-1], values[2:]
    peak = (middle >= left) & (middle > right)
    left, middle, right = left[peak], middle[peak], right[peak]
    bend = left - 2 * middle + right
    found: Array = middle - (right - left) ** 2 / (8 * bend)
    return found
