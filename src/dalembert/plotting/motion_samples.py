"""A motion read at any times: its names as smooth curves, expressions of its state, its events."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import sympy

from ..algebra.tabulate import tabulated
from ..errors import ModelError
from ..integrate.reactions import missing_quantity
from ..typing import Array, Expression, IntArray

if TYPE_CHECKING:
    from ..integrate.motion import Motion

__all__ = ["Array", "EventMarks", "curve_times", "evaluate", "event_marks", "finite_span"]
__all__ += ["in_order", "series", "states_at", "through"]

#: Times at which dense output is asked for together.
PIECE = 512
#: Points along a curve below which the steps of the integrator are subdivided.
SMOOTH = 1500


def finite_span(motion: Motion) -> tuple[float, float]:
    """First and last time at which the whole state is finite."""
    order = in_order(motion.t)
    finite = motion.t[order][np.isfinite(motion.y[:, order]).all(axis=0)]
    if finite.size == 0:
        what = "The motion has no finite state to draw"
        raise ModelError(what, motion.message, "simulate another start")
    return float(finite[0]), float(finite[-1])


def in_order(t: Array) -> IntArray:
    """Indices that put stored times in order; times that run backward throughout are left so."""
    steps = np.diff(t)
    if (steps >= 0).all() or (steps <= 0).all():
        return np.arange(t.size)
    return np.argsort(t, kind="stable")


def curve_times(motion: Motion, count: int = SMOOTH) -> Array:
    """The motion's own times, subdivided until there are about `count`, for smooth curves."""
    t = np.asarray(motion.t, dtype=float)[in_order(motion.t)]
    if t.size < 2 or t.size >= count:
        return t
    parts = -(-(count - 1) // (t.size - 1))
    index = np.linspace(0.0, t.size - 1.0, parts * (t.size - 1) + 1)
    return np.asarray(np.interp(index, np.arange(t.size), t), dtype=float)


def series(motion: Motion, names: Sequence[str], times: Array) -> dict[str, Array]:
    """Quantities by name at `times`, from the dense output or through the stored values.

    Raises
    ------
    ModelError
        For a name that the motion does not have.
    """
    known = set(motion.names)
    for name in names:
        if name not in known:
            raise missing_quantity(name, motion.names, motion.reactions)
    states = {symbol.name: k for k, symbol in enumerate(motion.state)}
    dense = None
    if states.keys() & set(names):
        stored = times.shape == motion.t.shape and np.array_equal(times, motion.t)
        dense = motion.y if stored else states_at(motion, np.asarray(times, dtype=float))
    found: dict[str, Array] = {}
    for name in names:
        if name == "t":
            found[name] = np.asarray(times, dtype=float)
        elif dense is not None and name in states:
            found[name] = dense[states[name]]
        else:
            found[name] = through(motion.t, np.asarray(motion[name], dtype=float), times)
    return found


def states_at(motion: Motion, times: Array) -> Array:
    """Dense output (n_state, k) at times (k,), read in order and in pieces, which is faster."""
    if 0 < times.size <= PIECE:
        return np.asarray(motion.sol(times), dtype=float).reshape(len(motion.state), times.size)
    found = np.empty((len(motion.state), times.size))
    order = np.argsort(times, kind="stable")
    for first in range(0, times.size, PIECE):
        places = order[first : first + PIECE]
        found[:, places] = motion.sol(times[places])
    return found


def through(t: Array, values: Array, times: Array) -> Array:
    """A curve through stored values at `times` (Akima), smooth between repeated times.

    An impact repeats its time, with the value before and after it; no curve is drawn smoothly
    across.
    """
    if times.shape == t.shape and np.array_equal(times, t):
        return values
    if t[0] > t[-1]:
        t, values = t[::-1], values[::-1]
    order = np.argsort(t, kind="stable")
    t, values = t[order], values[order]
    usable = np.isfinite(values)
    if not usable.any():
        return np.full(times.shape, np.nan)
    t, values = t[usable], values[usable]
    result: Array = np.interp(times, t, values)
    cuts = [0, *(np.flatnonzero(np.diff(t) <= 0) + 1), t.size]
    for first, last in itertools.pairwise(cuts):
        inside = (t[first] <= times) & (times <= t[last - 1])
        if last - first >= 3 and inside.any():
            from scipy.interpolate import Akima1DInterpolator

            result[inside] = Akima1DInterpolator(t[first:last], values[first:last])(times[inside])
    return result


def evaluate(motion: Motion, expressions: Sequence[Expression], times: Array) -> Array:
    """Expressions of state, parameters, inputs and time along the motion, (expressions, times).

    Raises
    ------
    ModelError
        Where an expression contains a symbol that the motion does not know.
    """
    exact = [e if isinstance(e, sympy.Basic) else sympy.Float(e) for e in expressions]
    symbols = sorted({s for e in exact for s in e.free_symbols}, key=lambda s: str(s.name))
    given = {} if motion.scenario is None else motion.scenario.parameters
    known = {**given, **motion.parameters}
    names = [symbol.name for symbol in symbols]
    moving = series(motion, [name for name in names if name not in known], times)
    arguments = [float(known[name]) if name in known else moving[name] for name in names]
    rows = tabulated(symbols, exact)(arguments)
    return np.array(np.broadcast_to(rows, (len(exact), times.size)))


@dataclass(frozen=True)
class EventMarks:
    """When one event happened."""

    name: str
    times: Array


def event_marks(motion: Motion) -> list[EventMarks]:
    """Events and impacts that happened, each with its times."""
    events = zip(motion.event_names, motion.t_events, strict=True)
    found = {name: np.asarray(times, dtype=float) for name, times in events if len(times)}
    marks = [EventMarks(name, times) for name, times in found.items()]
    for name in dict.fromkeys(name for _, name in motion.impacts):
        times = np.array([time for time, hit in motion.impacts if hit == name])
        marks.append(EventMarks(f"impact {name}", times))
    return marks
