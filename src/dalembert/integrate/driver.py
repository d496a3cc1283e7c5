"""The decisions of a run: modes of contact, events, endings. `advance` takes the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.program import Program, straight_line
from ..errors import ModelError, SingularError
from ..formulations.equations import Equations
from ..formulations.registry import derive
from ..model.work_clock import work
from ..runtime.diagnosis import explain
from ..runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ..runtime.kernel import Kernel, kernel_of
from . import advance as loop
from .call import call_of
from .contact.contact import Contacts
from .contact.stepped_contacts import SteppedContacts
from .events.rank_watch import vanishing_row
from .events.singular_crossing import SingularCrossings, drop_undetermined
from .events.stop_times import Stop
from .events.switching import SwitchWatch
from .events.watches import hold_watch
from .events.zero_crossings import crossings, cut, state_after
from .input_table import all_stops
from .inputs import InputCallback
from .methods.table import find_method
from .motion import Motion
from .native_run import RunStart, first_step
from .outcome import Outcome, Termination
from .pace import interrupted
from .record import Decisions, RunRecord, motion_of
from .run_kinds import prepared_run
from .run_loop import RunLoop
from .sampling.sampled_steps import LAW
from .sampling.sampler import SampledRun
from .start import Start, changed_symbols, consistent_start, in_velocities
from .start_symbols import start_form
from .state_symbols import shown_states, state_with_velocities
from .termination import broken_row, leaves_rows_out
from .velocity_partition import DEGENERATES, VelocityPartition

if TYPE_CHECKING:
    from ..typing import Array
    from .task import Task

__all__ = ["Driver"]

#: The first step behind a stop is at least this part of the way to the next one.
RESTART = 1e-4
#: Events not more than so many spacings of the clock apart are met at one instant.
SAME_INSTANT = 8


class Driver(RunLoop):
    """One run from its task to its motion.

    Attributes
    ----------
    mode : tuple of str
        The one-sided constraints that are closed; `kernel` is that of the mode, `run` what goes on
        in it.
    modes : dict of mode to Equations
    contacts, chart, record : what decides on contacts and on independent velocities, and what is
    kept
    """

    def __init__(self, task: Task, stop: Callable[[], bool] | None = None) -> None:
        self.task, self.stop = task, stop
        kind = SteppedContacts if find_method(task.method).steps_contacts else Contacts
        self.contacts: Contacts | SteppedContacts = kind(task.equations.system)
        self.chart = VelocityPartition()
        self.singular_crossings = SingularCrossings()
        self.record = RunRecord(task)
        self.modes: dict[tuple[str, ...], Equations] = {}
        self.callbacks: dict[tuple[str, ...], InputCallback] = {}
        self.report: list[str] = []
        self.stops: list[Stop] = []
        self.sampler: SampledRun | None = None

    # -- the run -----------------------------------------------------------------------------------

    def execute(self) -> Motion:
        """Run until the end, an event, trouble, or Ctrl-C."""
        t = self.task.span[0]
        start = self._start()
        self.sampler = SampledRun.of(self.task, self.kernel)
        self.start_state = start.state.copy()
        self.report += start.report
        self.contacts.check_start(self)
        if self.task.stepping is None:
            self.stops = all_stops(self.kernel, self.task)
        self.switching = SwitchWatch(self.kernel, self.task)
        self._begin(t, start.state, None)
        try:
            ending = self.contacts.consistent_values(self, t) if self.contacts else None
            ending = ending or self.follow()
            assert ending is not None  # a driver takes every decision
            while ending.outcome is Outcome.SINGULAR and self.task.through_singular:
                ending = self.singular_crossings.cross(self, ending)
                if ending is not None:
                    break
                ending = self.follow()
                assert ending is not None
            if ending.outcome is Outcome.SINGULAR:
                drop_undetermined(self)
        except KeyboardInterrupt:
            ending = interrupted(self.run.t)
        self.record.close(self.run, self.mode)
        if self.sampler is not None:
            self._keep_samples(self.sampler)
        if ending.is_success and leaves_rows_out(self.kernel.equations):
            ending = broken_row(self) or ending
        if ending.is_success and self.task.stepping is not None:
            from .methods.fixed.fixed_checks import untrue

            ending = untrue(self) or ending
        if ending.is_success:
            ending = self.contacts.violated(self) or ending
        return motion_of(self, ending)

    @work("start")
    def _start(self) -> Start:
        """Find a consistent start, using another form if this one cannot express it."""
        task, equations = self.task, self.task.equations
        t, p = task.span[0], task.parameters
        form = start_form(equations, task.start)
        self.mode: tuple[str, ...] = ()
        self.kernel = self.kernel_for(())
        if form is None:
            return consistent_start(
                self.kernel.plain_context(p), t, task.start, p, task.project_start
            )
        has_contacts = bool(equations.system.unilateral)
        system = equations.system.touching(()) if has_contacts else equations.system
        other = kernel_of(derive(system, form), equations.system.parameters)
        given = in_velocities(equations, other.plain_context(p), t, task.start, p)
        found = consistent_start(other.plain_context(p), t, given, p, task.project_start)
        n = len(equations.system.coordinates)
        full = found.state[: 2 * n]
        if equations.rechoose is not None:
            self.chart.choose(self, t, full)
            state = self.chart.state(self, t, full)
            return Start(
                state, (*found.report, *changed_symbols(self.kernel.equations, state, task.start))
            )
        return Start(state_with_velocities(self.kernel, t, full[:n], full[n:], p), found.report)

    @property
    def call(self) -> dict[str, Any]:
        """What the run was asked to do, as plain data."""
        return call_of(self.task)

    @property
    def decisions(self) -> Decisions:
        """What was decided on the way."""
        contacts = self.contacts
        return Decisions(
            tuple(contacts.impacts),
            tuple(contacts.log.changes),
            tuple(self.chart.switches),
            (*contacts.sentences, *self.singular_crossings.sentences),
            contacts.statistics,
            None if self.sampler is None else self.sampler.samples_taken(),
        )

    def decide(self, code: int) -> Termination | None:
        """Act on the code that `advance` returned; the termination, or None to go on."""
        match code:
            case loop.END if self._aim():
                self._restart()
            case loop.TOO_SMALL | loop.EXCLUDED if self.run.is_crossing:
                self.switching.give_up(self, code)
            case loop.EVENT:
                return self._handle_events()
            case _ if code == LAW and self.sampler is not None:
                self.sampler.answer(self.run)
            case loop.ROW_REVERSED:
                return self._handle_reversed_row()
            case loop.DEGENERATE:
                return self.chart.switch(self, self.run.t, self.run.y.copy())
            case _:
                return super().decide(code)
        return None

    def empty_buffer(self) -> None:
        """Take over the steps that native code has stored."""
        self.record.flush(self.run)

    def complete(self) -> None:
        """Compile the programs that the run needs only now."""
        self.run.context.complete()

    def _aim(self) -> bool:
        """Aim the run at the next stop or at the end of the span; False if it is there already."""
        run, (first, last) = self.run, self.task.span
        if self.task.stepping is not None or run.t == last:
            return False
        ahead = 1.0 if last > first else -1.0
        while self.stops and ahead * (run.t - self.stops[0].after) >= 0.0:
            self.stops.pop(0)
        is_between = bool(self.stops) and ahead * (run.t - self.stops[0].before) >= 0.0
        run.clock.t_end = (
            last if not self.stops else self.stops[0].after if is_between else self.stops[0].before
        )
        run.cross(is_between)
        return True

    def _restart(self) -> None:
        """Choose a step for the way to the next stop, where those before say nothing about it."""
        run = self.run
        if not run.is_crossing:
            least = RESTART * abs(run.clock.t_end - run.t)
            run.clock.h = max(first_step(run, self.task, run.t), least)

    def steps_left(self) -> int:
        """Steps that the run may still take, with those of the modes before."""
        done = self.record.totals["steps"] + self.record.totals["rejected"]
        return super().steps_left() - int(done)

    def _handle_events(self) -> Termination | None:
        """Find the events inside the last step in their order; stop, jump or go on."""
        run, found = self.run, self.record.found
        began, h = run.clock.t_old, run.clock.h_old
        met = crossings(run, self.mode_events)
        switched = [
            (elapsed, number - self._first_switch)
            for elapsed, number in met
            if self._is_switch(number)
        ]
        switched = switched if self.switching.is_on else []
        if switched and not run.is_crossing:
            self.switching.take_back(self, [elapsed for elapsed, _ in switched])
            return None
        for place, (elapsed, number) in enumerate(met):
            event = self.mode_events[number]
            if self._is_switch(number):
                continue
            t, y = (run.t if elapsed == h else began + elapsed), state_after(run, elapsed)
            if number < len(found):
                found[number].times.append(t)
                found[number].states.append(self.shown(t, y))
                if not event.terminal:
                    continue
                self._note_others(met[place + 1 :], elapsed, t, y)
                cut(run, t, y)
                return Termination(
                    Outcome.STOPPED, f"Stopped by the event `{event.name}` at t = {t:.9g}."
                )
            if event is DEGENERATES:
                cut(run, t, y)
                return self.chart.switch(self, t, y)
            t, y = self.contacts.refined(self, event, elapsed, t, y)
            cut(run, t, y)
            return self.contacts.handle(self, event, t, y)
        run.call("commit")
        return (
            self.switching.passed(self, switched[0][1])
            if switched
            else self.switching.sliding(self)
        )

    def at_switch(self) -> Termination | None:
        """The end of a run that cannot pass a switch of its equations; None if it is at none."""
        return self.switching.sliding(self) or self.switching.crowded(self)

    def _is_switch(self, number: int) -> bool:
        return 0 <= number - self._first_switch < len(self.switching.columns)

    def stop_at(self, stop: Stop) -> None:
        """Stop around an instant that was found on the way, before those that were known."""
        self.stops.insert(0, stop)
        self._aim()

    def skip_stop(self) -> None:
        """Go on without the next stop."""
        self.stops.pop(0)
        self._aim()
        self._restart()

    def _handle_reversed_row(self) -> Termination | None:
        """End the run where the gradient of a constraint vanishes; go on where it turned."""
        found, run, task = vanishing_row(self), self.run, self.task
        looks_inside = find_method(task.method).looks_inside
        if found is None:
            return self.decide(run.call("conclude")) if looks_inside else None
        if looks_inside:
            ending = self._repeat_until(found.t)
            if ending is not None or self.run is not run:
                return ending
        else:
            self.record.flush(run)
            self.record.drop_after(run, found.t)
        return Termination.singular(found.t, found.clause)

    def _repeat_until(self, t: float) -> Termination | None:
        """Repeat the unfinished last step up to t; the ending if an event stops it before."""
        run = self.run
        run.y[:], run.clock.t = run.y_old, run.clock.t_old
        run.context.fields.watch_program = 0
        code = loop.BUDGET
        while code != loop.END and self.run is run and self.steps_left() > 0:
            run.clock.t_end = t  # a decision may have aimed at another end
            code = run.call(run.entry, 64)
            ending = None if code == loop.END else self.decide(code)
            if ending is not None:
                return ending if ending.is_success else None
        return None

    def _note_others(
        self, later: list[tuple[float, int]], elapsed: float, t: float, y: Array
    ) -> None:
        """Record the user's events that are met at the instant of one that stops the run."""
        for other, number in later:
            if abs(other - elapsed) <= SAME_INSTANT * np.spacing(abs(t)) and number < len(
                self.record.found
            ):
                self.record.found[number].times.append(t)
                self.record.found[number].states.append(self.shown(t, y))

    # -- modes -------------------------------------------------------------------------------------

    def equations_for(self, mode: tuple[str, ...]) -> Equations:
        """The equations with some one-sided constraints closed."""
        if mode not in self.modes:
            equations = self.task.equations
            if equations.system.unilateral:
                equations = derive(equations.system.touching(mode), equations.form)
            self.modes[mode] = equations
        return self.modes[mode]

    def kernel_for(self, mode: tuple[str, ...]) -> Kernel:
        """The kernel of a mode."""
        return kernel_of(self.equations_for(mode), self.task.equations.system.parameters)

    def switch(self, mode: tuple[str, ...], t: float, y: Array, step: float | None = None) -> None:
        """Go on from (t, y) in another mode, or in the same one after a jump."""
        self.record.close(self.run, self.mode)
        self.enter(mode, t, y, step)

    def enter(self, mode: tuple[str, ...], t: float, y: Array, step: float | None = None) -> None:
        """Begin at (t, y) in a mode, without a trace of the one before."""
        self.mode = mode
        self.kernel = self.kernel_for(mode)
        self._begin(t, y, step)

    def _begin(self, t: float, y: Array, step: float | None) -> None:
        """Start a segment at (t, y) in the current mode."""
        task, kernel, at = self.task, self.kernel, self.record.at
        searched = [*(found.event for found in self.record.found), *self.contacts.events(self.mode)]
        self._first_switch = len(searched)
        searched += self.switching.events
        self.mode_events = [*searched, *self.chart.events]
        states = np.full((len(at), kernel.n_state), np.nan)
        start = RunStart(kernel, task, t, y, at, states, len(self.mode_events))
        run = self.run = prepared_run(start, len(searched))
        if task.inputs:
            if self.mode not in self.callbacks:
                inputs = task.inputs if self.sampler is None else self.sampler.inputs
                self.callbacks[self.mode] = InputCallback(kernel, inputs)
            run.context.call_for_inputs(self.callbacks[self.mode])
            if self.sampler is not None:
                self.sampler.bind(run)
        if self.mode_events:
            run.context.fields.events = kernel.load_program(self._event_program())
        self.record.begin(run, t, y)
        status = run.context.evaluate_on_constraints(t, run.y, run.stages[0])
        if status in (SINGULAR, CONTRADICTORY):
            self.check_inputs()
            if self.bad_input:
                raise SingularError(
                    f"The motion is not determined: {self.bad_input}",
                    remedy="make it return a finite number",
                )
            raise explain(kernel, status, t, run.y, task.parameters, run.context.info)
        hold_watch(run, kernel, t)
        if (
            task.stepping is None and task.method != "taylor"
        ):  # which finds its steps in their coefficients
            run.clock.h = step or first_step(run, task, t)
        if self.mode_events:
            run.events_old[:] = run.context.events(t, run.y, len(self.mode_events))
            self.contacts.watch(self)
        if self.stops:
            self._aim()

    def _event_program(self) -> Program:
        """The native program of events, of contacts, and of the choice of velocities."""
        stated = tuple(event.expression for event in self.task.events)
        switches = tuple(column for _, column in self.switching.columns)
        key = ("events", self.mode, self.task.span, stated, switches, self.chart.threshold)
        program: Program = self.kernel.cache.get(key, self._new_event_program)
        return program

    def _new_event_program(self) -> Program:
        kernel = self.kernel
        columns = (
            [kernel.lower([event.expression for event in self.task.events])]
            if self.task.events
            else []
        )
        columns += [
            *self.contacts.event_columns(self),
            *self.switching.event_columns(kernel),
        ]
        columns += self.chart.event_columns(kernel)
        return straight_line("events", kernel._inputs(), columns)

    def shown(self, t: float, y: Array) -> Any:
        """A state of the current mode as the motion shows it."""
        return shown_states(self.run.context, np.array([t]), np.array([y]))[0]

    def _keep_samples(self, sampler: SampledRun) -> None:
        """Let the motion read the inputs that a sampled law has set from tables."""
        self.task = replace(self.task, inputs=sampler.tables())
        for segment in self.record.segments:
            callback = InputCallback(segment.context.kernel, self.task.inputs)
            segment.context.call_for_inputs(callback)

    # -- inputs ------------------------------------------------------------------------------------

    def input_values(self, t: float, y: Array) -> Array:
        """The free inputs at a state of the current mode."""
        callback = self.callbacks.get(self.mode)
        if callback is None:
            return np.zeros(len(self.kernel.free_inputs))
        try:
            values = np.array(callback.values(t, y), dtype=float)
            if self.sampler is not None:
                held = self.sampler.values(t)
                for k, symbol in enumerate(self.kernel.free_inputs):
                    values[k] = held.get(symbol.name, values[k])
            return values
        except BaseException as error:
            callback.error = error
            self.check_inputs()
            raise

    @property
    def bad_input(self) -> str | None:
        """Describe the last value of an input function that was not finite, as a clause."""
        callback = self.callbacks.get(self.mode)
        return None if callback is None else callback.not_finite

    def check_inputs(self) -> None:
        """Raise what an input function raised inside native code."""
        for callback in self.callbacks.values():
            if callback.error is not None and not isinstance(callback.error, Exception):
                raise callback.error  # Ctrl-C, or an exit that was asked for
            if callback.error is not None:
                raise ModelError(
                    "An input function failed",
                    seen=repr(callback.error)[:120],
                    remedy="make it return a number",
                ) from callback.error
