"""Deviations along the steps of one motion, and what they say of it (`ensemble.indicators`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from ...errors import ModelError
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from ..ensemble.indicators import LOG_TWO, Deviations, Indicators
from .smoothness import check_jumps, check_ranks
from .start_tangent import own_tangents, shown_tangents
from .tangent_run import SensitiveRun

if TYPE_CHECKING:
    from ..motion import Motion

__all__ = ["indicators_along", "tangent_basis"]

#: The most tolerances of a motion that one step may add to the relative error of a deviation.
SLACK = 10.0
#: Steps after which deviations are brought back to size.
STRETCH = 8
#: Lobatto's rule of five points on (0, 1).
_OUTER = np.sqrt(3.0 / 7.0)
POINTS = np.array([0.0, (1.0 - _OUTER) / 2, 0.5, (1.0 + _OUTER) / 2, 1.0])
WEIGHTS = np.array([1 / 20, 49 / 180, 16 / 45, 49 / 180, 1 / 20])
#: Integrals from 0 to each point of the polynomial through five values.
_POWERS = np.arange(5)
UP_TO = (POINTS[:, None] ** (_POWERS + 1) / (_POWERS + 1)) @ np.linalg.inv(
    POINTS[:, None] ** _POWERS
)


def tangent_basis(run: SensitiveRun) -> Array:
    """An orthonormal basis of the admissible directions at the start, (n_state, dimension)."""
    kernel = run.kernel
    symbols = kernel.algebra.vector(kernel.equations.state)
    residual = ca.vertcat(kernel.graph.position.residual, kernel.graph.velocity.residual)
    if not residual.numel():
        return np.eye(run.ns)
    rows = ca.densify(ca.jacobian(residual, symbols))
    function, free = ca.Function("rows", kernel._inputs(), [rows]), len(kernel.free_inputs)
    start = (run.times[0], run.states[0], run.context.parameters, np.zeros(free), np.zeros(0))
    return np.asarray(rank(np.asarray(function(*start), dtype=float)).null_space)


def indicators_along(motion: Motion, asked: Indicators, times: Array) -> Array:
    """The indicators of a motion by dop853 at some of its times, (nt, n_names)."""
    if motion.statistics.get("method", "dop853") != "dop853":
        what = "Deviations follow motions by taylor or dop853"
        raise ModelError(what, motion.statistics["method"], 'use method="dop853"')
    if len({segment.mode for segment in motion.segments}) > 1 or motion.impacts:
        what = "Chaos indicators are those of a motion without changes of contacts"
        raise ModelError(what, f"{len(motion.impacts)} impacts", "end the span before the first")
    if any(segment.interpolated for segment in motion.segments):
        what = "The motion crosses a singular position, where its derivative is not found"
        raise ModelError(what, seen=motion.message, remedy="end the span before that position")
    order = np.argsort(times, kind="stable")
    parts = list(_followed(motion, asked, times[order]))
    whole = Deviations(*(np.stack(column)[None] for column in zip(*parts, strict=True)))
    first = float(motion.segments[0].step_t[0])
    found = np.empty((len(times), len(asked.names)))
    found[order] = asked.values(times[order] - first, whole)[0]
    return found


class _Interval(NamedTuple):
    """Deviations (points, count, n) at times between two steps or requested times."""

    times: Array
    vectors: Array


class _Followed:
    """What is known of the deviations so far."""

    def __init__(self, asked: Indicators, columns: Array, begin: float) -> None:
        self.asked, self.begin = asked, begin
        self.powers, self.largest = np.zeros(len(columns)), 1.0
        self.integral = self.means = 0.0

    def take(self, interval: _Interval) -> None:
        """Go to the end of an interval."""
        squares = np.sum(interval.vectors[:, 0] ** 2, axis=-1)
        self.largest = max(self.largest, float(squares[-1]))
        if not self.asked.is_averaged:
            return
        length = float(interval.times[-1] - interval.times[0])
        growth = np.log(squares) / 2 + LOG_TWO * self.powers[0]
        inner = self.integral + length * (UP_TO @ growth)
        elapsed = interval.times - self.begin
        at_once = np.where(elapsed > 0, inner / np.where(elapsed > 0, elapsed, 1.0), growth)
        self.means += length * float(WEIGHTS @ at_once)
        self.integral += length * float(WEIGHTS @ growth)

    def rescaled(self, columns: Array) -> Array:
        """The columns near unit length; the rest of it goes to the powers."""
        powers = np.round(np.log2(np.linalg.norm(columns, axis=1)))
        self.powers += powers
        self.largest *= 4.0 ** -powers[0]
        return np.ascontiguousarray(columns * 2.0 ** -powers[:, None])

    def seen(self, vectors: Array) -> Deviations:
        """The record at the time that was reached."""
        largest, means = np.array([self.largest]), np.array([self.means])
        return Deviations(vectors, self.powers.copy(), largest, means, np.array(self.integral))


def _followed(motion: Motion, asked: Indicators, wanted: Array) -> Iterator[Deviations]:
    """The deviations of a motion at times in order."""
    projected = bool(motion.statistics.get("projections", 0))
    limit = SLACK * float(motion.statistics.get("rtol", 1e-10))
    runs = [SensitiveRun(segment, (), projected, limit) for segment in motion.segments]
    basis = tangent_basis(runs[0])
    inside = basis.T @ asked.directions(runs[0].ns).T
    if inside.shape[1] > inside.shape[0]:
        what = f"There are {inside.shape[0]} admissible directions"
        raise ModelError(what, f"{inside.shape[1]} deviations", "ask for a volume of fewer")
    columns = np.ascontiguousarray((basis @ np.linalg.qr(inside)[0]).T)
    so_far = _Followed(asked, columns, float(runs[0].times[0]))
    done, first = 0, float(runs[0].times[0])
    while done < len(wanted) and wanted[done] <= first:
        yield so_far.seen(columns)
        done += 1
    for number, run in enumerate(runs):
        check_ranks(run)
        check_jumps(run)
        run.refine(known=False)
        for place in range(0, run.steps, STRETCH):
            until = min(place + STRETCH, run.steps)
            begin, end = run.times[place], run.times[until]
            here = wanted[(wanted > begin) & (wanted <= end)]
            edges = np.unique(np.concatenate([run.times[place : until + 1], here]))
            intervals, columns = _carried(run, columns, edges, (place, until), asked.is_averaged)
            for interval in intervals:
                so_far.take(interval)
                while done < len(wanted) and wanted[done] <= interval.times[-1]:
                    yield so_far.seen(interval.vectors[-1])
                    done += 1
            columns = so_far.rescaled(columns)
        if number + 1 < len(runs):
            columns = _across(run, runs[number + 1], columns)


def _carried(
    run: SensitiveRun, columns: Array, edges: Array, steps: tuple[int, int], is_averaged: bool
) -> tuple[list[_Interval], Array]:
    """Intervals between the edges with the deviations at their points, and those at the end."""
    points = POINTS if is_averaged else POINTS[[0, -1]]
    times = edges[:-1, None] + np.diff(edges)[:, None] * points
    times[:, -1] = edges[1:]
    flat, places = np.unique(times, return_inverse=True)
    _, found, last = run.tangents(columns, flat, *steps)
    vectors = found[places.reshape(times.shape)]
    return [_Interval(*pair) for pair in zip(times, vectors, strict=True)], last


def _across(before: SensitiveRun, after: SensitiveRun, columns: Array) -> Array:
    """Deviations at the end of a segment in the symbols of the next."""
    time, y, values = float(before.times[-1]), before.states[-1], before.context.parameters
    none = np.zeros((len(before.kernel.parameters), len(columns)))
    full = before.segment.full_y[-1]
    shown = shown_tangents(before.kernel, time, y, columns, values, none)
    return np.asarray(own_tangents(after.kernel, time, full, shown, values, none))
