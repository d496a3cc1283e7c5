"""What a run keeps on its way, and the motion that is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .diagnostics import diagnostics
from .motion import Motion
from .native_run import COUNTED, AdaptiveRun
from .outcome import Termination
from .segment import Segment
from .state_symbols import reported_symbols, shown_states

if TYPE_CHECKING:
    from ..typing import Array
    from .contact.contact_modes import ContactChange
    from .events.events import Event
    from .sampling.sampler import SampleTable
    from .task_record import Task

__all__ = ["Decisions", "EventStates", "FollowedRun", "RunRecord", "motion_of"]


@dataclass
class EventStates:
    """Zero crossings of one event."""

    event: Event
    times: list[float] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)


class RunRecord:
    """The segments, events and counts of a run, and the states at the times that were asked for.

    Attributes
    ----------
    at : array (k,)
        The times asked for, in the direction of the run; `at_states` (k, n_shown) and `at_segment`
        (k,) belong to them.
    segments : list of Segment
        Those that are closed.
    found : list of EventStates
        The user's events.
    totals : dict of counts
    """

    def __init__(self, task: Task) -> None:
        times = np.zeros(0) if task.at is None else task.at
        self.forward = task.span[1] >= task.span[0]
        ahead = times if self.forward else -times
        is_sorted = bool((ahead[1:] >= ahead[:-1]).all())
        #: Where the run meets each of the times; None if it meets them as they were given.
        self._places = None if is_sorted else np.argsort(np.argsort(ahead, kind="stable"))
        self.at = times if is_sorted else times[np.argsort(ahead, kind="stable")]
        self.at_states = np.full((len(self.at), len(reported_symbols(task.equations))), np.nan)
        self.at_segment = np.zeros(len(self.at), np.int64)
        self.reached = 0
        self.found = [EventStates(event) for event in task.events]
        self.segments: list[Segment] = []
        self.totals = dict.fromkeys(COUNTED, 0)
        self._contexts: dict[Any, Any] = {}

    def begin(self, run: AdaptiveRun, t: float, y: Array) -> None:
        """Begin a segment at (t, y), with what was asked for at this very time."""
        ahead, now = (self.at, t) if self.forward else (-self.at, -t)
        self._first = int(np.searchsorted(ahead, now, "left"))
        run.counts.next_at = int(np.searchsorted(ahead, now, "right"))
        run.context.fields.arrays["at_states"][self._first : run.counts.next_at] = y
        self._times: list[Any] = [np.array([t])]
        self._states: list[Any] = [np.array([y], dtype=float)]

    def flush(self, run: AdaptiveRun) -> None:
        """Take over the steps that native code has stored."""
        times, states = run.take_steps()
        self._times.append(times)
        self._states.append(states)

    def close(self, run: AdaptiveRun, mode: tuple[str, ...]) -> None:
        """End the segment."""
        self.flush(run)
        times, states = run.last_step()
        stored = np.concatenate(self._times)
        if len(times) and stored[-1] == times[0]:  # stored, where steps after it were dropped
            times, states = times[:0], states[:0]
        self._times.append(times)
        self._states.append(states)
        self.reached = run.counts.next_at
        here = slice(self._first, self.reached)
        self.at_segment[here] = len(self.segments)
        fresh = run.context.fields.arrays["at_states"][here]
        missing = np.isnan(fresh)
        written = ~missing.any(axis=1) if missing.any() else slice(None)
        self.at_states[here][written] = shown_states(
            run.context, self.at[here][written], fresh[written]
        )
        self.segments.append(
            Segment(
                self._context_of(run),
                mode,
                np.concatenate(self._times),
                np.concatenate(self._states),
            )
        )
        for key, name in run.counted.items():
            self.totals[key] = self.totals.get(key, 0) + getattr(run.counts, name)

    def drop_after(self, run: AdaptiveRun, t: float) -> None:
        """Drop the steps of the open segment after t, and put the run back to the last one."""
        times, states = np.concatenate(self._times), np.concatenate(self._states)
        kept = times <= t if self.forward else times >= t
        self._times, self._states = [times[kept]], [states[kept]]
        run.y[:], run.clock.t = states[kept][-1], times[kept][-1]
        asked = self.at <= run.t if self.forward else self.at >= run.t
        run.counts.next_at = int(np.sum(asked))

    def forget_events(self, t: float) -> None:
        """Forget the user's events after t, where the run goes another way."""
        for found in self.found:
            kept = [time <= t if self.forward else time >= t for time in found.times]
            found.times = [time for time, is_kept in zip(found.times, kept, strict=True) if is_kept]
            found.states = found.states[: len(found.times)]

    @property
    def open_steps(self) -> tuple[Array, Array]:
        """Times and states of the open segment that were taken over."""
        return np.concatenate(self._times), np.concatenate(self._states)

    def interpolate(
        self,
        run: AdaptiveRun,
        mode: tuple[str, ...],
        times: Array,
        state_at: Callable[[float], Array],
    ) -> None:
        """End the segment, and add one of interpolated states, with those asked for inside it."""
        filled = run.context.fields.arrays["at_states"]
        asked = self.at <= times[-1] if self.forward else self.at >= times[-1]
        for place in range(run.counts.next_at, int(np.sum(asked))):
            filled[place] = state_at(float(self.at[place]))
        run.counts.next_at = int(np.sum(asked))
        self.close(run, mode)
        states = np.array([state_at(float(t)) for t in times])
        context = self.segments[-1].context
        self.segments.append(Segment(context, mode, times, states, interpolated=True))

    def _context_of(self, run: AdaptiveRun) -> Any:
        """The context for a segment without room for steps; segments of a kernel share one."""
        context = self._contexts.setdefault(run.context.kernel, run.context)
        if context is not run.context and run.context.fields.blocks:
            context.complete()
        for name in ("step_times", "step_states"):
            run.context.fields.release(name)
        return context

    def points(self, asked: bool) -> tuple[Any, Any, Any]:
        """Times, states and the segments they lie in: those that were asked for, or every step."""
        if not asked:
            owner = [np.full(len(s.step_t), k) for k, s in enumerate(self.segments)]
            states = np.concatenate([s.full_y for s in self.segments])
            return np.concatenate([s.step_t for s in self.segments]), states, np.concatenate(owner)
        places = self._places
        kept = slice(self.reached) if places is None else places[places < self.reached]
        return self.at[kept], self.at_states[kept], self.at_segment[kept]


@dataclass(frozen=True)
class Decisions:
    """What was decided along a run: by default nothing.

    `sentences` are diagnostics, and `statistics` are those of the contacts.
    """

    impacts: tuple[tuple[float, str], ...] = ()
    modes: tuple[ContactChange, ...] = ()
    switches: tuple[tuple[float, str], ...] = ()
    sentences: tuple[str, ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)
    samples: SampleTable | None = None


class FollowedRun(Protocol):
    """A run that has come to its end."""

    task: Task
    record: RunRecord
    run: Any
    report: list[str]
    native_seconds: float

    @property
    def decisions(self) -> Decisions:
        """What was decided on the way."""

    @property
    def call(self) -> dict[str, Any]:
        """What the run was asked to do, as plain data."""


def motion_of(driver: FollowedRun, ending: Termination) -> Motion:
    """The motion of a run that has come to its end."""
    task, record, decisions = driver.task, driver.record, driver.decisions
    t, y, owner = record.points(task.at is not None)
    statistics = record.totals | {
        "impacts": len(decisions.impacts),
        "integrate_seconds": driver.native_seconds,
        "method": task.method,
        "form": task.equations.form,
        "span": list(task.span),
    }
    if task.stepping is None:
        statistics |= {"rtol": task.rtol, "atol": float(np.min(task.atol))}
    else:
        statistics |= {"step": abs(task.stepping.step), "every": task.stepping.every}
        if task.stepping.adapt is not None:
            from .methods.fixed.step_density import written_size

            statistics |= {
                "adapt": written_size(task.stepping.adapt),
                "density": driver.run.density,
            }
            if task.stepping.adapt.density is not None:
                statistics["start_density"] = task.stepping.adapt.density
    statistics |= decisions.statistics
    if task.method_reason:
        statistics["method_reason"] = task.method_reason
    system, state = task.equations.system, reported_symbols(task.equations)
    names = [symbol.name for symbol in state]
    return Motion(
        equations=task.equations,
        parameters={
            s.name: float(v) for s, v in zip(system.parameters, task.parameters, strict=True)
        },
        t=t,
        y=np.ascontiguousarray(y.T),
        segments=tuple(record.segments),
        owner=owner,
        termination=replace(
            ending,
            diagnostics=(
                *diagnostics(task, record.segments, ending.is_success),
                *decisions.sentences,
            ),
        ),
        event_names=tuple(found.event.name for found in record.found),
        t_events=[np.array(found.times) for found in record.found],
        y_events=[_stacked(found.states, len(names)) for found in record.found],
        impacts=decisions.impacts,
        modes=decisions.modes,
        switches=decisions.switches,
        state=state,
        start=dict(zip(names, record.segments[0].first_state.tolist(), strict=True)),
        start_report=tuple(driver.report),
        statistics=statistics,
        scenario=task.scenario,
        call=driver.call,
        samples=decisions.samples,
    )


def _stacked(states: Sequence[Any], size: int) -> Array:
    return np.array(states) if states else np.zeros((0, size))
