"""First guesses of a trajectory from data: its mesh, and smoothed coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from ...analysis.sensitivity.data import Data
from ...errors import ModelError
from ...model.symbols import name_of
from ...typing import Array
from .problem_statement import Statement

__all__ = ["mesh_of_data", "smoothed_coordinates"]

#: Most sample times that are nodes of the first mesh.
MOST_NODES = 200

#: Samples that a smoothed guess takes together.
NEIGHBOURS = 7


def mesh_of_data(times: Array, intervals: int) -> Array:
    """Even intervals, or those between the times of the data where these are few."""
    if int(intervals) < 2:
        raise ModelError("A mesh has at least two intervals", intervals, "pass intervals=50")
    first, last = float(np.min(times)), float(np.max(times))
    parts = np.unique((np.asarray(times) - first) / (last - first))
    even = np.linspace(0.0, 1.0, int(intervals) + 1)
    if len(parts) > MOST_NODES:
        return even
    kept = [float(part) for part in parts]
    width = 0.5 / int(intervals)
    kept += [float(p) for p in even if np.min(np.abs(parts - p)) > width]
    return np.unique(kept)


def smoothed_coordinates(data: Data, statement: Statement) -> dict[str, Any]:
    """Coordinates that were measured, and their rates, by local polynomials."""
    system = statement.dynamics.equations.system
    names = {symbol.name for symbol in statement.dynamics.state}
    rates = {q.name: q.dot.name for q in system.coordinates}
    found: dict[str, Any] = {}
    for k, quantity in enumerate(data.quantities):
        name = name_of(quantity) if isinstance(quantity, (str, sympy.Symbol)) else ""
        here = data.measured[:, k]
        times, places = np.unique(data.t[here], return_index=True)
        if name not in names or len(times) < 5:
            continue
        curve = _local_polynomials(times, data.values[here, k][places])
        found[name] = _clipped(curve, times)
        if rates.get(name) in names:
            found.setdefault(rates[name], _clipped(curve.derivative(), times))
    return found


def _local_polynomials(times: Array, values: Array) -> Any:
    """A smooth curve: at each time the cubic through its neighbours by least squares."""
    from scipy.interpolate import CubicHermiteSpline

    table = np.zeros((len(times), 2))
    count = min(NEIGHBOURS, len(times))
    for k, time in enumerate(times):
        first = min(max(k - count // 2, 0), len(times) - count)
        near = slice(first, first + count)
        own = np.polynomial.Polynomial.fit(times[near] - time, values[near], 3)
        table[k] = own(0.0), own.deriv()(0.0)
    return CubicHermiteSpline(times, table[:, 0], table[:, 1])


def _clipped(curve: Any, times: Array) -> Callable[[float], float]:
    return lambda time: float(curve(np.clip(time, times[0], times[-1])))
