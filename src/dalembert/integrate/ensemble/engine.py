"""Runs in sequence through the native loop: light if no decision is needed, else by the driver.

A light run is what `Driver` does with an ordinary run, step for step and bit for bit, without what
it prepares for decisions: its arrays are made once for a chunk, and nothing but the states at the
times asked for is kept. What a motion has to say about its digits (`diagnostics`) is found from the
steps in the buffer, where the least pivot or a small start gives reason to look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.native.language import Record
from ...errors import ContradictionError, RunError
from ...runtime.diagnosis import explain
from ...runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ...typing import Array
from .. import advance as loop
from ..diagnostics import (
    MANY_STEPS,
    coarse_times,
    diagnostics,
    few_digits,
    ranks,
    stiffness,
    weak_pivot,
)
from ..driver import Driver
from ..events.watches import hold_watch
from ..methods.fixed.fixed_checks import departure
from ..methods.table import find_method
from ..motion import Motion
from ..native_run import AdaptiveRun, RunStart, first_step
from ..outcome import Outcome, Termination
from ..run_kinds import EXACT_TIMES, run_kind
from ..run_loop import RunLoop
from ..segment import Segment
from ..velocity_partition import THRESHOLDS
from .chunks import CODE, LEFT, NOT_RUN, Reached, RunPlan

if TYPE_CHECKING:
    from ..task import Task

__all__ = ["driven", "one_by_one"]

#: Arrays that every run rewrites: parameters, times, states, steps, and large scratch arrays.
NOT_RESET = ("parameters", "at", "at_states", "step_times", "step_states")
LARGEST_RESET = 2000


def driven(task: Task, stop: Callable[[], bool]) -> Motion:
    """One run by the driver."""
    return Driver(task, stop).execute()


class LightRun(RunLoop):
    """The arrays of one run, used again for the next.

    Runs that need decisions, or whose inputs are functions, are left to a driver.

    Attributes
    ----------
    is_cut : bool
        Whether steps were dropped from a buffer that was full.
    is_watched : bool
        Whether native code keeps the least pivot; else all runs are looked at.
    """

    def __init__(self, plan: RunPlan, stop: Callable[[], bool]) -> None:
        self.plan, self.kernel, self.task, self.stop = plan, plan.kernel, plan.task, stop
        self.forward = self.task.span[1] >= self.task.span[0]
        self.at = np.ascontiguousarray(plan.times[plan.order])
        self.states = np.full((len(self.at), self.kernel.n_state), np.nan)
        self.first = int(
            np.sum(self.at <= self.task.span[0] if self.forward else self.at >= self.task.span[0])
        )
        self.events = 1 if plan.is_steady else 0
        self.about_times = coarse_times(self.task)
        self.small, self.weak = few_digits(self.task), weak_pivot(self.task)
        self.is_watched = self.task.stepping is None and self.task.method != "taylor"
        self._kept: AdaptiveRun | None = None

    def begin(self, parameters: Array, y: Array, quality: float) -> bool:
        """Enter a start; whether the run can go on from here."""
        self.is_left, self.is_cut, t = False, False, self.task.span[0]
        self.start_state, self.states[:] = y, np.nan
        self.states[: self.first] = y
        run: Any = (
            self._fresh(parameters, y)
            if self.task.stepping is not None or find_method(self.task.method).is_stiff
            else self._reset(parameters, y)
        )
        self.run = run
        run.counts.next_at = self.first
        if self.events and not self._watch(quality):
            return False
        run.context.forget_choices()
        hold_watch(run, self.kernel, t)
        self.rejected = run.context.evaluate_on_constraints(t, run.y, run.stages[0])
        if self.rejected in (SINGULAR, CONTRADICTORY):
            return True
        if self.is_watched:
            rank, pivot, _, entry = run.context.info.tolist()
            run.clock.weakest = min(1.0, pivot, entry) if rank >= self.kernel.m else 0.0
        if self.task.stepping is None:
            run.clock.h = first_step(run, self.task, t)
        if self.events:
            run.events_old[:] = run.context.events(t, run.y, self.events)
        return True

    def _reset(self, parameters: Array, y: Array) -> AdaptiveRun:
        """The same arrays for another run, as if they were new."""
        if self._kept is None:
            self._kept = made = self._made(run_kind(self.task), parameters, y)
            bound = made.context.fields.arrays.items()
            held = {
                name: value.words if isinstance(value, Record) else value for name, value in bound
            }
            own = [
                name for name in held if name not in NOT_RESET and held[name].size <= LARGEST_RESET
            ]
            self._fresh_arrays = [(held[name], held[name].copy()) for name in own]
            return made  # type: ignore[no-any-return]
        for array, fresh in self._fresh_arrays:
            array[...] = fresh
        run = self._kept
        run.context.parameters[:] = parameters
        run.y[:] = run.y_old[:] = y
        return run

    def _fresh(self, parameters: Array, y: Array) -> AdaptiveRun:
        return self._made(run_kind(self.task), parameters, y)

    def _made(self, make: type[AdaptiveRun], parameters: Array, y: Array) -> AdaptiveRun:
        task = replace(self.task, parameters=parameters)
        start = (self.kernel, task, task.span[0], y, self.at, self.states, self.events)
        run = make(RunStart(*start))
        if task.project and self.kernel.is_constrained and task.stepping is None:
            with self.plan._lock:
                run.context.prepare_projection()
            run.context.fields.projects = 1
        run.context.fields.n_searched = 0
        is_stiff = find_method(task.method).is_stiff
        run.context.fields.exact_at = len(self.at) <= EXACT_TIMES or is_stiff
        return run

    def _watch(self, quality: float) -> bool:
        """Watch the independent velocities as a driver does; False if it would choose others."""
        threshold = next((value for value in THRESHOLDS if value < quality / 2), None)
        if threshold is None or not self.plan.is_good_choice(quality):
            return False
        self.run.context.fields.events = self.plan.event_address(threshold)
        return True

    def ending(self) -> Termination | None:
        """Follow the run that was begun; None where it is left to the driver."""
        if self.rejected in (SINGULAR, CONTRADICTORY):
            run = self.run
            error = explain(
                self.kernel, self.rejected, run.t, run.y, run.context.parameters, run.context.info
            )
            outcome = (
                Outcome.CONTRADICTORY if isinstance(error, ContradictionError) else Outcome.SINGULAR
            )
            return Termination(outcome, str(error))
        try:
            ending = self.follow()
        except RunError:  # an ending that only the driver can tell
            self.is_left = True
            return None
        if ending is not None and ending.outcome is Outcome.SINGULAR:
            self.is_left = self.task.through_singular
        return None if self.is_left else ending

    def judged(self, ending: Termination, is_small: bool) -> Termination | None:
        """The termination with its diagnostics.

        None where only the driver can tell, because steps were dropped. `is_small` says that all
        symbols of the start have few digits.
        """
        always = tuple(text for text in (self.about_times, self._stiffness()) if text)
        with_those = replace(ending, diagnostics=always) if always else ending
        if ending.outcome is not Outcome.FINISHED:
            return with_those
        if self.is_cut:
            self._look()
        if self.is_watched or self.is_cut:
            is_small = is_small and not np.any(np.abs(self.states) >= self.small)
            if not is_small and self.run.clock.weakest >= self.weak:
                return with_those
            if self.is_cut:
                return None
        return replace(ending, diagnostics=diagnostics(self.task, [self._buffered()], True))

    def _stiffness(self) -> str:
        """What the steps in the buffer, which stays as it is, say of the whole run."""
        steps, recorded = self.run.counts.accepted, self.run.counts.recorded
        if self.task.stepping is not None or steps < MANY_STEPS or recorded < 2:
            return ""
        found = stiffness(self.task, [self._buffered()], steps)
        self.run.counts.recorded = recorded
        return found

    def _buffered(self) -> Segment:
        """The steps in the buffer, behind the start."""
        (times, states), (last, reached) = self.run.take_steps(), self.run.last_step()
        t = np.concatenate([[self.task.span[0]], times, last])
        return Segment(
            self.run.context, (), t, np.concatenate([self.start_state[None], states, reached])
        )

    def _departs(self) -> bool:
        """Whether a run with fixed steps has left its motion, by its buffered and last steps."""
        if self.task.stepping is None:
            return False
        run, count = self.run, self.run.counts.recorded
        times = np.concatenate([[self.task.span[0]], run.step_times[:count], [run.t]])
        states = np.concatenate([self.start_state[None], run.step_states[:count], run.y[None]])
        return departure(self.task, Segment(run.context, (), times, states)) is not None

    def _look(self) -> None:
        """Record the least pivot ratio at some buffered points, without affecting the run."""
        if self.is_watched:
            return
        held, clock = self.run.context.fields.arrays, self.run.clock
        before = {name: held[name].copy() for name in ("active_rows", "info")}
        found = ranks([self._buffered()])
        for name, values in before.items():
            held[name][...] = values
        weakest = 0.0 if any(rows for _, rows in found.dropped) else found.weakest[1]
        clock.weakest = min(clock.weakest, weakest)

    def decide(self, code: int) -> Termination | None:
        """Act on the code that `advance` returned; the termination, or None to go on."""
        if code in (loop.END, loop.FULL) and self._departs():
            self.is_left = True  # the driver finds where
        elif code in (loop.EVENT, loop.ROW_REVERSED, loop.DEGENERATE):
            self.is_left = True
        else:
            return super().decide(code)
        return None

    def empty_buffer(self) -> None:
        """Drop the steps that native code has stored."""
        self.is_cut = True
        self._look()
        self.run.counts.recorded = 0

    def complete(self) -> None:
        """Compile the programs that the run needs only now."""
        self.plan.complete(self.run.context)


def one_by_one(
    plan: RunPlan, parameters: Array, starts: Array, stop: Callable[[], bool]
) -> Reached:
    """The engine of every method that has no other: see `chunks.register_engine`."""
    count, task = len(parameters), plan.task
    states = np.full((count, len(plan.times), plan.kernel.n_state), np.nan)
    codes = np.full(count, NOT_RUN, np.int8)
    endings: list[Termination | None] = [None] * count
    steps = np.zeros(count, np.int64)
    qualities = np.full(count, np.nan)
    if plan.is_steady:
        qualities = plan.values("quality", np.full(count, task.span[0]), starts, parameters)[:, 0]
    light = LightRun(plan, stop)
    small = np.max(np.abs(starts), axis=1, initial=0.0) < light.small
    places = np.argsort(plan.order, kind="stable")
    for k in range(count):
        if stop():
            break
        ending = (
            light.ending() if light.begin(parameters[k], starts[k], float(qualities[k])) else None
        )
        ending = None if ending is None else light.judged(ending, bool(small[k]))
        if ending is None:
            codes[k] = LEFT
            continue
        codes[k], endings[k] = CODE[ending.outcome], ending
        states[k] = light.states[places]
        steps[k] = light.run.counts.accepted
    return Reached(states, codes, endings, {"steps": steps})
