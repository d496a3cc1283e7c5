"""The decisions of a run: modes of contact, events, endings. The steps themselves are native, see `advance`."""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..compiled import native
from ..compiled.book import Book
from ..compiled.kernel import Kernel, compile_equations
from ..compiled.program import Program, straight_line
from ..compiled.trouble import explain
from ..compiled.verdicts import CONTRADICTORY, SINGULAR
from ..errors import FormError, ModelError
from ..formulations.equations import Equations
from ..formulations.registry import derive
from . import advance as loop
from .contact import Contacts
from .endings import classify, crawling
from .events import Event, find_root
from .inputs import InputCallback
from .motion import Motion, Segment, shown_states
from .outcome import Outcome
from .run import Run
from .start import Start, consistent_start, state_with_velocities

__all__ = ["Driver", "kernel_of"]

#: A run whose steps are on average shorter than this part of its span is looked at: something may have become singular.
CRAWL = 1e-9
#: With at most this many times asked for, each is reached by a step of its own; with more, by dense output.
EXACT_TIMES = 256


def kernel_of(equations: Equations, parameters: Sequence[Any]) -> Kernel:
    """The kernel of a record of equations, compiled once and kept with it."""
    kept = equations.__dict__.get("_kernel")
    if kept is None:
        kept = compile_equations(equations, parameters=parameters)
        object.__setattr__(equations, "_kernel", kept)
    return kept  # type: ignore[no-any-return]


#: The name of the event that asks for another choice of independent velocities.
CHART = "independent velocities"
#: Qualities of such a choice at which it is looked at again.
THRESHOLDS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)
ZERO = sympy.Integer(0)


def reported_letters(equations: Equations) -> tuple[sympy.Symbol, ...]:
    """The letters of a motion's state: all velocities, also where the form keeps only the independent ones."""
    if equations.rechoose is None:
        return equations.state
    return (*equations.system.coordinates, *equations.system.velocities)


@dataclass
class Found:
    """Passages of one event."""

    event: Event
    times: list[float] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)


class Driver:
    """One run from its task to its motion."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self.contacts = Contacts(task.equations.system)
        self.modes: dict[tuple[str, ...], Equations] = {}
        self.callbacks: dict[tuple[str, ...], InputCallback] = {}
        self.found = [Found(event) for event in task.events]
        self.segments: list[Segment] = []
        self.report: list[str] = []
        self.totals = dict.fromkeys(("steps", "rejected", "nfev", "projections", "impacts"), 0)
        self.native_seconds = 0.0
        times = np.zeros(0) if task.at is None else task.at
        order = np.argsort(times, kind="stable")
        self.at_order = order[::-1] if task.span[1] < task.span[0] else order
        self.at = np.ascontiguousarray(times[self.at_order])
        self.letters = reported_letters(task.equations)
        self.at_states = np.full((len(self.at), len(self.letters)), np.nan)
        self.threshold: float | None = None
        self.switches: list[tuple[float, str]] = []
        self.at_segment = np.zeros(len(self.at), np.int64)

    # -- the run -------------------------------------------------------------------------------------------------

    def execute(self) -> Motion:
        """Run until the end, an event, trouble, or Ctrl-C."""
        task = self.task
        self.mode: tuple[str, ...] = ()
        self.kernel = self.kernel_for(())
        start = self._start()
        self.start_state = start.state.copy()
        self.report += start.report
        self.contacts.check_start(self, start.state, task.span[0])
        self._begin(task.span[0], start.state, None)
        try:
            if self.contacts:
                self.contacts.settle_start(self, task.span[0])
            outcome, message = self._loop()
        except KeyboardInterrupt:
            outcome = Outcome.INTERRUPTED
            message = f"Interrupted at t = {self.run.t:.9g}; what was computed is kept."
        self._close_segment()
        return self._motion(outcome, message)

    def _start(self) -> Start:
        """A consistent start, found in another form where this one has no words for an inconsistent one."""
        task, equations = self.task, self.task.equations
        t, p = task.span[0], task.parameters
        if equations.start_form is None:
            return consistent_start(Book(self.kernel, p), t, task.start, p, task.project_start)
        system = equations.system.touching(()) if self.contacts else equations.system
        other = kernel_of(derive(system, equations.start_form), equations.system.parameters)
        found = consistent_start(Book(other, p), t, task.start, p, task.project_start)
        n = len(equations.system.coordinates)
        if equations.rechoose is not None:
            self._choose_chart(t, found.state[: 2 * n])
            return Start(self._chart_state(t, found.state[: 2 * n]), found.report)
        return Start(state_with_velocities(self.kernel, t, found.state[:n], found.state[n : 2 * n], p), found.report)

    # -- choices of independent velocities -----------------------------------------------------------------------

    def _choose_chart(self, t: float, full: Any) -> bool:
        """Choose the independent velocities anew at a state (q, q_dot); whether another choice came out."""
        current = self.equations_for(self.mode)
        assert current.rechoose is not None
        names = [symbol.name for symbol in (*current.system.coordinates, *current.system.velocities)]
        values = dict(zip(names, full, strict=True)) | {"t": t}
        values |= {s.name: v for s, v in zip(self.task.equations.system.parameters, self.task.parameters, strict=True)}
        try:
            better = current.rechoose(values)
        except FormError:
            better = current
        changed = better is not current
        if changed:
            self.modes[self.mode] = better
        self.kernel = self.kernel_for(self.mode)
        self.threshold = self._next_threshold(t, self._chart_state(t, full), changed)
        return changed

    def _next_threshold(self, t: float, y: Any, changed: bool) -> float | None:
        """The quality below which the choice is looked at again: well below what it is now, in fixed steps."""
        quality = float(self._number(self.kernel.graph.chart_quality, t, y))
        ceiling = quality / 2 if changed or self.threshold is None else min(quality, self.threshold) / 2
        return next((value for value in THRESHOLDS if value < ceiling), None)

    def _chart_state(self, t: float, full: Any) -> Any:
        """The state of the current mode at (q, q_dot)."""
        table = dict(zip(self.letters, full, strict=True))
        equations = self.equations_for(self.mode)
        if all(symbol in table for symbol in equations.state):
            return np.array([table[symbol] for symbol in equations.state])
        n = len(equations.system.coordinates)
        return state_with_velocities(self.kernel, t, full[:n], full[n:], self.task.parameters)

    def _number(self, expression: Any, t: float, y: Any) -> Any:
        function = ca.Function("number", self.kernel._inputs(), [expression])
        return function(t, y, self.task.parameters, np.zeros(len(self.kernel.free_inputs)), np.zeros(0))

    def _switch_chart(self, t: float, y: Any) -> tuple[Outcome, str] | None:
        """Go on with better independent velocities; the end where the form has none."""
        full, step = self._shown(t, y), float(self.run.clock[loop.H])
        changed = self._choose_chart(t, full)
        if self.threshold is None:
            self.threshold = THRESHOLDS[-1]
            form = self.task.equations.form
            return (
                Outcome.SINGULAR,
                f'The motion became singular at t = {t:.9g}: the form "{form}" has no independent velocities there. '
                'Use the form "lagrange".',
            )
        self._close_segment()
        if changed:
            self.switches.append((t, f"independent velocities {', '.join(self.kernel.equations.chart)}"))
        self._begin(t, self._chart_state(t, full), abs(step))
        return None

    # -- the loop ------------------------------------------------------------------------------------------------

    def _loop(self) -> tuple[Outcome, str]:
        budget, slow_steps = 64, 0
        while True:
            began, reached, left = clock.perf_counter(), self.run.t, self._steps_left()
            code = self.run.call("advance", max(1, min(budget, left)))
            spent = clock.perf_counter() - began
            if code in (loop.BUDGET, loop.FULL):
                tried = left - self._steps_left()
                slow = abs(self.run.t - reached) < tried * CRAWL * abs(self.task.span[1] - self.task.span[0])
                slow_steps = slow_steps + tried if slow else 0
                ending = crawling(self, slow_steps) if slow else None
                if ending is not None:
                    return ending
            self.native_seconds += spent
            if spent < 0.05 and budget < 65536:
                budget *= 2
            elif spent > 0.2 and budget > 8:
                budget //= 2
            self._report_progress()
            match code:
                case loop.END:
                    return Outcome.FINISHED, f"The motion was followed to t = {self.task.span[1]:.9g}."
                case loop.BUDGET:
                    if self._steps_left() <= 0:
                        return (
                            Outcome.TOO_MANY_STEPS,
                            f"More than {self.task.max_steps} steps were needed; t = {self.run.t:.9g} was reached. "
                            "Raise max_steps or rtol.",
                        )
                case loop.FULL:
                    self._flush()
                case loop.NOT_COMPILED:
                    self.run.book.complete()
                case loop.COMMIT_NOT_COMPILED:
                    self.run.book.complete()
                    self.run.call("commit")
                case loop.EVENT:
                    stop = self._handle_events()
                    if stop is not None:
                        return stop
                case _:
                    self._flush()
                    return classify(self, code)

    def _steps_left(self) -> int:
        done = self.totals["steps"] + self.totals["rejected"]
        return int(self.task.max_steps - done - self.run.counts[loop.ACCEPTED] - self.run.counts[loop.REJECTED])

    def _report_progress(self) -> None:
        if self.task.progress is not None:
            first, last = self.task.span
            self.task.progress(abs(self.run.t - first) / abs(last - first) if last != first else 1.0, self.run.t)

    # -- modes ---------------------------------------------------------------------------------------------------

    def equations_for(self, mode: tuple[str, ...]) -> Equations:
        """The equations with some one-sided constraints closed."""
        if mode not in self.modes:
            equations = self.task.equations
            if self.contacts:
                equations = derive(equations.system.touching(mode), equations.form)
            self.modes[mode] = equations
        return self.modes[mode]

    def kernel_for(self, mode: tuple[str, ...]) -> Kernel:
        """The kernel of a mode."""
        return kernel_of(self.equations_for(mode), self.task.equations.system.parameters)

    def switch(self, mode: tuple[str, ...], t: float, y: Any, step: float | None = None) -> None:
        """Go on from (t, y) in another mode, or in the same one after a jump."""
        self._close_segment()
        self.enter(mode, t, y, step)

    def enter(self, mode: tuple[str, ...], t: float, y: Any, step: float | None = None) -> None:
        """Begin at (t, y) in a mode, without a trace of the one before."""
        self.mode = mode
        self.kernel = self.kernel_for(mode)
        self._begin(t, y, step)

    def input_values(self, t: float, y: Any) -> Any:
        """The free inputs at a state of the current mode."""
        callback = self.callbacks.get(self.mode)
        if callback is None:
            return np.zeros(len(self.kernel.free_inputs))
        try:
            return np.array(callback.values(t, y))
        except BaseException as error:
            callback.error = error
            self.check_inputs()
            raise

    def _begin(self, t: float, y: Any, step: float | None) -> None:
        """Start a segment at (t, y) in the current mode."""
        task, kernel = self.task, self.kernel
        self.mode_events = [*(found.event for found in self.found), *self.contacts.events(self.mode)]
        if self.threshold is not None:
            self.mode_events.append(Event(ZERO, -1, True, CHART))
        searched = len(self.mode_events) - (self.threshold is not None)
        states = np.full((len(self.at), kernel.n_state), np.nan)
        self.run = Run(kernel, task, t, y, self.at, states, len(self.mode_events))
        entries = self.run.book.entries
        if task.project and kernel.is_constrained:
            self.run.book.prepare_projection()
            entries[loop.PROJECT] = 1
        entries[loop.N_SEARCHED] = searched
        entries[loop.EXACT_AT] = len(self.at) <= EXACT_TIMES
        if task.inputs:
            if self.mode not in self.callbacks:
                self.callbacks[self.mode] = InputCallback(kernel, task.inputs)
            self.run.book.call_for_inputs(self.callbacks[self.mode])
        if self.mode_events:
            entries[native.EVENTS] = kernel.load_program(self._event_program())
        self.segment_at = self.run.counts[loop.NEXT_AT] = self._store_at_start(t, y)
        self.steps_t: list[Any] = [np.array([t])]
        self.steps_y: list[Any] = [np.array([y], dtype=float)]
        status = self.run.book.evaluate(t, self.run.y, self.run.stages[0])
        if status in (SINGULAR, CONTRADICTORY):
            self.check_inputs()
            raise explain(kernel, status, t, self.run.y, task.parameters, self.run.book.info)
        self.run.clock[loop.H] = step or self._first_step(t)
        if self.mode_events:
            self.run.events_old[:] = self.run.book.events(t, self.run.y, len(self.mode_events))

    def _event_program(self) -> Program:
        """The native program of the user's events, of the contacts, and of the choice of independent velocities."""
        kernel = self.kernel
        columns = [kernel.lower([event.expression for event in self.task.events])] if self.task.events else []
        columns += self.contacts.event_columns(kernel, self.mode)
        if self.threshold is not None:
            columns.append(kernel.graph.chart_quality - self.threshold)
        return straight_line("events", kernel._inputs(), columns)

    def check_inputs(self) -> None:
        """Raise what an input function raised inside native code."""
        for callback in self.callbacks.values():
            if callback.error is not None and not isinstance(callback.error, Exception):
                raise callback.error  # Ctrl-C, or an exit that was asked for
            if callback.error is not None:
                raise ModelError(
                    "An input function failed", seen=repr(callback.error)[:120], remedy="make it return a number"
                ) from callback.error

    def _shown(self, t: float, y: Any) -> Any:
        """A state of the current mode as the motion shows it."""
        return shown_states(self.run.book, np.array([t]), np.array([y]))[0]

    def _store_at_start(self, t: float, y: Any) -> int:
        """Store what was asked for at the very beginning of a segment; returns the next place in `at`."""
        forward = self.task.span[1] >= self.task.span[0]
        place = 0
        while place < len(self.at) and (self.at[place] < t if forward else self.at[place] > t):
            place += 1
        while place < len(self.at) and self.at[place] == t:
            self.at_states[place] = self._shown(t, y)
            self.at_segment[place] = len(self.segments)
            place += 1
        return place

    def _first_step(self, t: float) -> float:
        """A first step from the size of the state and of its first two derivatives (Hairer et al., section II.4)."""
        run, task = self.run, self.task
        length = abs(task.span[1] - t)
        if task.first_step is not None or length == 0:
            return float(task.first_step or 1.0)
        ns = self.kernel.n_state
        direction = 1.0 if task.span[1] > t else -1.0
        scale, rate = run.atol + run.clock[loop.RTOL] * np.abs(run.y), run.stages[0, :ns]
        d0, d1 = np.sqrt(np.mean((run.y / scale) ** 2)), np.sqrt(np.mean((rate / scale) ** 2))
        h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, length)
        out = np.zeros(ns + 1)
        status = run.book.evaluate(t + direction * h0, run.y + direction * h0 * rate, out)
        d2 = np.sqrt(np.mean(((out[:ns] - rate) / scale) ** 2)) / h0 if status < CONTRADICTORY else np.inf
        largest = max(d1, d2)
        if not np.isfinite(largest):
            return float(min(1e-3 * h0, length))
        h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1 / 8)
        return float(min(100 * h0, h1, length))

    # -- events --------------------------------------------------------------------------------------------------

    def _state_after(self, elapsed: float) -> Any:
        """The state a time after the beginning of the last step."""
        run = self.run
        if elapsed == run.clock[loop.H_OLD]:
            return run.y.copy()
        if elapsed == 0.0:
            return run.y_old.copy()
        result = np.zeros(self.kernel.n_state)
        run.call("short_step", elapsed, result)
        return result

    def _event_value(self, number: int, elapsed: float) -> float:
        t = self.run.clock[loop.T_OLD] + elapsed
        return float(self.run.book.events(t, self._state_after(elapsed), len(self.mode_events))[number])

    def _handle_events(self) -> tuple[Outcome, str] | None:
        """Find the events inside the last step in their order; stop, jump or go on."""
        run = self.run
        began, h = float(run.clock[loop.T_OLD]), float(run.clock[loop.H_OLD])
        for elapsed, number in self._passages(h):
            event = self.mode_events[number]
            t, y = (run.t if elapsed == h else began + elapsed), self._state_after(elapsed)
            if number < len(self.found):
                self.found[number].times.append(t)
                self.found[number].states.append(self._shown(t, y))
                if not event.terminal:
                    continue
                self._cut(t, y)
                return Outcome.STOPPED, f"Stopped by the event `{event.name}` at t = {t:.9g}."
            self._cut(t, y)
            if event.name == CHART:
                return self._switch_chart(t, y)
            return self.contacts.handle(self, event, t, y)
        run.call("commit")
        return None

    def _passages(self, h: float) -> list[tuple[float, int]]:
        """Every passage of an event through zero inside the last step, as (time after its beginning, event), in order."""
        points = np.linspace(0.0, 1.0, loop.PARTS + 1) * h
        count = len(self.mode_events)
        began = self.run.clock[loop.T_OLD]
        inside = [self.run.book.events(began + x, self._state_after(x), count) for x in points[1:-1]]
        table = np.array([self.run.events_old[:count], *inside, self.run.events_new[:count]])
        found: list[tuple[float, int]] = []
        for number, event in enumerate(self.mode_events):
            for k in range(loop.PARTS):
                low, high = table[k, number], table[k + 1, number]
                passed = low * high < 0 or (high == 0 and low != 0)
                if not passed or (event.direction and event.direction * (high - low) < 0):
                    continue
                root = find_root(partial(self._event_value, number), points[k], points[k + 1], low, high)
                found.append((root, number))
        return sorted(found)

    def _cut(self, t: float, y: Any) -> None:
        """End the last step at an earlier time."""
        run = self.run
        run.y[:] = y
        run.clock[loop.H_OLD] = t - run.clock[loop.T_OLD]
        run.clock[loop.T] = t
        run.counts[loop.HAS_DENSE] = 0
        run.book.evaluate(t, run.y, run.stages[12])
        if run.clock[loop.H_OLD] != 0:
            run.call("finish_step")

    # -- storage -------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        times, states = self.run.take_steps()
        self.steps_t.append(times)
        self.steps_y.append(states)

    def _close_segment(self) -> None:
        self._flush()
        counts = self.run.counts
        here = slice(self.segment_at, int(counts[loop.NEXT_AT]))
        self.at_segment[here] = len(self.segments)
        fresh = self.run.book.arrays[loop.AT_STATES][here]
        written = ~np.isnan(fresh).any(axis=1)
        self.at_states[here][written] = shown_states(self.run.book, self.at[here][written], fresh[written])
        times, states = np.concatenate(self.steps_t), np.concatenate(self.steps_y)
        self.segments.append(Segment(self.run.book, self.mode, times, states))
        self.reached_at = int(counts[loop.NEXT_AT])
        for key, place in (
            ("steps", loop.ACCEPTED),
            ("rejected", loop.REJECTED),
            ("nfev", loop.EVALUATIONS),
            ("projections", loop.PROJECTED),
        ):
            self.totals[key] += int(counts[place])

    def _motion(self, outcome: Outcome, message: str) -> Motion:
        task = self.task
        if task.at is None:
            t = np.concatenate([s.step_t for s in self.segments])
            y = np.concatenate([s.full_y for s in self.segments])
            owner = np.concatenate([np.full(len(s.step_t), k) for k, s in enumerate(self.segments)])
        else:
            place = np.argsort(self.at_order, kind="stable")
            kept = place[place < self.reached_at]
            t, y, owner = self.at[kept], self.at_states[kept], self.at_segment[kept]
        statistics = self.totals | {
            "derive_seconds": self.kernel.derive_seconds,
            "compile_seconds": self.kernel.compile_seconds,
            "integrate_seconds": self.native_seconds,
            "method": task.method,
            "form": task.equations.form,
            "rtol": task.rtol,
            "atol": float(np.min(task.atol)),
            "span": list(task.span),
        }
        system, names = task.equations.system, [symbol.name for symbol in self.letters]
        return Motion(
            equations=task.equations,
            parameters={s.name: float(v) for s, v in zip(system.parameters, task.parameters, strict=True)},
            t=t,
            y=np.ascontiguousarray(y.T),
            segments=tuple(self.segments),
            owner=owner,
            outcome=outcome,
            message=message,
            event_names=tuple(found.event.name for found in self.found),
            t_events=[np.array(found.times) for found in self.found],
            y_events=[_stacked(found.states, len(names)) for found in self.found],
            impacts=tuple(self.contacts.impacts),
            switches=tuple(self.switches),
            state=self.letters,
            start=dict(zip(names, (float(v) for v in self.segments[0].full_y[0]), strict=True)),
            start_report=tuple(self.report),
            statistics=statistics,
            scenario=task.scenario,
        )


def _stacked(states: Sequence[Any], size: int) -> Any:
    return np.array(states) if states else np.zeros((0, size))
