"""The engine of the Taylor method for many runs: eight at a time in vector lanes.

Lanes have no words. A run that may deserve a diagnostic on its digits is made alone, from its
start, which tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...codegen.native.native_module import NativeModule, aligned_zeros
from ...runtime.context import Context
from ...runtime.kernel_derivatives import ReferencePoint
from ...typing import Array, BoolArray, IntArray
from ..diagnostics import MANY_STEPS, STIFF, coarse_times, decay_in_step, few_digits, weak_pivot
from ..events.watches import is_controlled, row_watch
from ..methods.adaptive.taylor_programs import (
    kernel_expansion,
    taylor_order,
    variational_expansion,
)
from ..outcome import Outcome, Termination
from ..run_fields import LaneFields
from ..sensitivity.tangent_run import tangent_projection
from ..tolerances import LEAST_RTOL, LOCAL_SHARE
from . import lane_steps as lanes
from .chunks import CODE, LEFT, NOT_RUN, Reached, RunPlan
from .engine import one_by_one
from .indicators import Deviations, Indicators

__all__ = ["by_lanes"]

#: Steps between two looks at whether the user wants to end.
BUDGET = 20_000
#: Entered where a run has not been looked at.
UNTOUCHED = -9
#: A run is made alone if its least pivot is within this factor of the reported one.
MARGIN = 2.0
#: The last state is looked at where the one before had a least pivot this many times above. A step
#: is a small part of the way to where the motion becomes singular, so that none brings the pivot so
#: far down.
NEAR = 100.0


@lru_cache(maxsize=1)
def lane_functions() -> dict[str, Any]:
    """The native functions of the lanes, compiled once."""
    entries: list[Callable[..., Any]] = [lanes.fill_lanes, lanes.advance_lanes]
    return NativeModule(entries).functions


def by_lanes(plan: RunPlan, parameters: Array, starts: Array, stop: Callable[[], bool]) -> Reached:
    """Make runs by Taylor coefficients (`chunks.register_engine`); leave trouble to the driver."""
    if plan.task.first_step is not None or is_controlled(plan.kernel, plan.task):
        return one_by_one(plan, parameters, starts, stop)
    count, nt, ns = len(parameters), len(plan.times), plan.kernel.n_state
    good = np.ones(count, bool)
    if plan.is_steady:
        qualities = plan.values("quality", np.full(count, plan.task.span[0]), starts, parameters)[
            :, 0
        ]
        good = plan.is_good_choice(qualities)
    chunk = _Chunk(plan, parameters[good], starts[good])
    chunk.follow(stop)
    codes = np.full(count, LEFT, np.int64)
    codes[good] = chunk.codes
    codes[codes == UNTOUCHED] = NOT_RUN
    codes[codes == lanes.FINISHED] = CODE[Outcome.FINISHED]
    places = np.argsort(plan.order, kind="stable")
    states, steps = np.full((count, nt, ns), np.nan), np.zeros(count, np.int64)
    states[good], steps[good] = chunk.states[:, places, :ns], chunk.steps
    finished = codes == CODE[Outcome.FINISHED]
    about_times = coarse_times(plan.task)
    ended = Termination(Outcome.FINISHED, "", (about_times,) if about_times else ())
    reached = Reached(
        states,
        codes.astype(np.int8),
        [ended if is_finished else None for is_finished in finished.tolist()],
        {"steps": steps},
    )
    if plan.indicators is not None:
        reached.codes[codes == lanes.DOUBTFUL] = LEFT
        outputs = np.full((count, nt, len(plan.indicators.names)), np.nan)
        outputs[good] = plan.indicators.values(plan.elapsed, chunk.deviations(places))
        return replace(reached, outputs=outputs)
    again = np.flatnonzero(
        (codes == lanes.DOUBTFUL)
        | finished
        & (
            _are_small(starts, states, few_digits(plan.task))
            | _may_be_stiff(plan, parameters, reached)
        )
    )
    if again.size:
        _replace(reached, again, one_by_one(plan, parameters[again], starts[again], stop))
    return reached


def _are_small(starts: Array, states: Array, bound: float) -> BoolArray:
    """Which runs keep every symbol below a bound, at the start and the kept times, (k,) of bool."""
    small: BoolArray = np.max(np.abs(starts), axis=1, initial=0.0) < bound
    small[small] = ~np.any(np.abs(states[small]) >= bound, axis=(1, 2))
    return small


def _may_be_stiff(plan: RunPlan, parameters: Array, reached: Reached) -> BoolArray:
    """Which runs took many steps, and have a fast decay where they were seen last, (k,) of bool."""
    found: BoolArray = reached.statistics["steps"] >= MANY_STEPS
    last, length = int(plan.order[-1]), abs(plan.task.span[1] - plan.task.span[0])
    for k in np.flatnonzero(found):
        h = length / float(reached.statistics["steps"][k])
        context = plan.kernel.plain_context(parameters[k])
        found[k] = (
            decay_in_step(context, float(plan.times[last]), reached.states[k, last], h) >= STIFF / 2
        )
    return found


def _replace(reached: Reached, places: IntArray, again: Reached) -> None:
    """Enter runs that were made again at their places."""
    reached.states[places], reached.codes[places] = again.states, again.codes
    reached.statistics["steps"][places] = again.statistics["steps"]
    for place, ending in zip(places, again.endings, strict=True):
        reached.endings[place] = ending


class _Chunk:
    """The arrays of some runs."""

    def __init__(self, plan: RunPlan, parameters: Array, starts: Array) -> None:
        task, kernel, asked = plan.task, plan.kernel, plan.indicators
        self.ns, self.asked = kernel.n_state, asked
        with plan._lock:
            found = (
                kernel_expansion(kernel, lanes.LANES)
                if asked is None
                else variational_expansion(kernel, asked.count, asked.is_averaged, lanes.LANES)
            )
            self.context = Context(kernel, task.parameters, LaneFields)
            if task.project and kernel.is_constrained:
                self.context.prepare_projection()
                self.context.complete()
                self.context.fields.projects = 1
        if asked is not None:
            columns = np.tile(asked.directions(self.ns).ravel(), (len(starts), 1))
            integrals = np.zeros((len(starts), int(asked.is_averaged)))
            starts = np.hstack([starts, columns, integrals])
        bind, fields = self.context.fields.bind, self.context.fields
        count, self.full = starts.shape[0], starts.shape[1] if len(starts) else self.ns
        clock = fields.clock
        clock.t, clock.t_end = task.span
        clock.rtol = max(LOCAL_SHARE * task.rtol, LEAST_RTOL)
        clock.max_step = task.max_step
        order = taylor_order(clock.rtol)
        at = bind("at", np.ascontiguousarray(plan.times[plan.order]))
        bind("atol", LOCAL_SHARE * task.atol)
        bind("stage", np.zeros(self.full))
        bind("lane_work", aligned_zeros(found.work_size))[0] = order
        bind("lane_found", aligned_zeros(found.out_size))
        for name, size in (
            ("lane_times", 1),
            ("lane_states", self.full),
            ("lane_parameters", max(1, parameters.shape[1])),
            ("lane_new", self.full),
            ("lane_sizes", 3),
        ):
            bind(name, aligned_zeros(size * lanes.LANES))
        for name in ("lane_run", "lane_next", "lane_steps"):
            bind(name, np.zeros(lanes.LANES, np.int64))
        bind("run_parameters", np.ascontiguousarray(parameters, dtype=float))
        bind("run_starts", np.ascontiguousarray(starts, dtype=float))
        self.states = bind("run_states", np.full((count, len(at), self.full), np.nan))
        self.codes = bind("run_codes", np.full(count, UNTOUCHED, np.int64))
        self.steps = bind("run_steps", np.zeros(count, np.int64))
        bind("pivots", np.array([MARGIN, NEAR]) * weak_pivot(task))
        bind("progress", np.zeros(1, np.int64))
        for name, value in (
            ("lane_expansion", found.address),
            ("lane_sum", found.sum_address),
            ("lane_order", order),
            ("lane_size", found.work_size),
            ("n_parameters", parameters.shape[1]),
            ("n_runs", count),
            ("most_steps", task.max_steps),
            ("n_at", len(at)),
            ("n_full", self.full),
        ):
            setattr(fields, name, value)
        with plan._lock:
            self._watch(plan)
            if asked is not None and count:
                self._deviate(plan, asked, parameters[0], starts[0, : self.ns])

    def _watch(self, plan: RunPlan) -> None:
        """Let every lane watch the constraint rows that can vanish."""
        watch, fields = row_watch(plan.kernel), self.context.fields
        if watch is None:
            return
        count = len(watch.numbers)
        size = 2 * (watch.entries + 2 * count) + count + 2 + self.ns
        fields.bind("lane_watch", np.zeros(lanes.LANES * size))
        fields.n_watch_entries, fields.n_watched = watch.entries, count
        fields.watch_program = watch.address

    def _deviate(self, plan: RunPlan, asked: Indicators, parameters: Array, start: Array) -> None:
        """Let deviations go along, tangent to the constraints."""
        count, fields = asked.count, self.context.fields
        fields.n_deviations = count
        fields.is_averaged = int(asked.is_averaged) + int("mean_megno" in asked.names)
        for name, size in (
            ("lane_powers", count * lanes.LANES),
            ("lane_largest", lanes.LANES),
            ("lane_means", lanes.LANES),
            ("deviation_room", count * self.ns + 1),
            ("deviation_noted", count + 2),
            ("deviation_sizes", lanes.LANES),
        ):
            fields.bind(name, np.zeros(size))
        shape = (*self.states.shape[:2], count + 2)
        self.noted = fields.bind("run_deviations", np.zeros(shape))
        if fields.projects:
            instant = ReferencePoint(float(plan.task.span[0]), start, parameters)
            found = tangent_projection(plan.kernel, instant, count)
            fields.position_tangent, fields.velocity_tangent = found

    def deviations(self, places: IntArray) -> Deviations:
        """What the deviations of the runs are at the requested times, in the order of `places`."""
        assert self.asked is not None
        count, ns = self.asked.count, self.ns
        if not len(self.codes):
            return Deviations.empty(len(places), count, ns)
        states, noted = self.states[:, places], self.noted[:, places]
        columns = states[:, :, ns : ns * (count + 1)].reshape(*states.shape[:2], count, ns)
        integral = states[:, :, -1]
        powers, largest, means = np.split(noted, [count, count + 1], axis=2)
        return Deviations(columns, powers, largest, means, integral)

    def follow(self, stop: Callable[[], bool]) -> None:
        """Run all of them, or until it is enough."""
        if not len(self.codes):
            return
        functions = lane_functions()
        functions["fill_lanes"](self.context.fields)
        while functions["advance_lanes"](self.context.fields, BUDGET) and not stop():
            pass
