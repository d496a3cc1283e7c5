"""A run whose steps another package takes: what is stored, and how its steps end on the
constraints.

The package takes one step at a time, so that the driver sees the same run as with our own methods:
every step is stored, states at the times asked for come from the package's dense output, and both
are brought to the constraints by the native projection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ....codegen.passes.solve_limits import HEALTHY
from ....runtime.context import Context
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.projection import STUCK
from ... import advance as loop
from ...native_run import AdaptiveRun, RunStart
from ...step_control import MOST_MOVED
from ..method import ExternalStep
from ..table import find_method
from .native_program import NativeProgram

if TYPE_CHECKING:
    from ....typing import Array, IntArray
    from ...motion import Motion
    from ...segment import Segment
    from .external_task import ExternalTask

__all__ = ["ExternalRun", "ShortPropagations", "Steps", "steps_of"]

#: The bound of the first step; later ones are bounded by the package and `max_step`.
UNBOUNDED = float("inf")


class Steps(Protocol):
    """Steps of another package.

    Attributes
    ----------
    t : float
        The time reached; `y` (n_state,) is the state there.
    evaluations : int
        How often the rates, or their coefficients, were computed.
    needs_health : bool
        Whether the package computes the rates itself, by straight-line code that may become
        unhealthy.
    """

    t: float
    y: Any
    evaluations: int
    needs_health: bool

    def begin(self, t: float, y: Array) -> None:
        """Stand at a state, without a past."""

    def step(self, end: float) -> bool:
        """One step towards the end and not beyond; False where none could be taken."""

    def within(self, t: float) -> Array:
        """The state at a time inside the last step."""

    def evaluate_on_constraints(self, y: Array) -> None:
        """Go on from this state, to which the end of the last step was projected."""


def steps_of(task: ExternalTask, context: Context) -> Steps:
    """The steps of a task's method."""
    step = find_method(task.method).step
    assert isinstance(step, ExternalStep)
    return step.start(task, context)


class ExternalRun(AdaptiveRun):
    """A run from (t, y) by the steps of another package, which the driver treats as its own."""

    def __init__(self, start: RunStart) -> None:
        super().__init__(start)
        kernel, task, self.at, self.at_states = start.kernel, start.task, start.at, start.at_states
        self.steps = steps_of(task, self.context)
        self.steps.begin(start.t, self.y.copy())
        self._rates: NativeProgram | None = None
        if self.steps.needs_health:
            self._rates = NativeProgram(
                kernel, kernel.program("fast"), task.parameters, kernel.address("fast")
            )

    def call(self, name: str, *arguments: Any) -> int:
        """Advance by at most so many steps; nothing else is asked of such a run."""
        if name == "row_reversed":
            return super().call(name, *arguments)
        if name != "advance":
            raise AssertionError(f"a run of {name} by another package")
        counted = self.steps.evaluations
        code = self._advance(*arguments)
        self.counts.evaluations += self.steps.evaluations - counted
        return code

    def cross(self, is_crossing: bool) -> None:
        """Go on behind a switch of the equations without a past."""
        if self.is_crossing and not is_crossing:
            self.steps.begin(self.t, self.y.copy())
        self.is_crossing = is_crossing

    def _across(self) -> int:
        """One tiny step along the rates: packages take no step of a few spacings of the clock."""
        clock, counts = self.clock, self.counts
        t, rates = clock.t_end, np.zeros(len(self.y) + 1)
        self.context.evaluate(self.t, self.y, rates)
        y = self.y + (t - self.t) * rates[:-1]
        ahead = 1.0 if t > self.t else -1.0
        while counts.next_at < len(self.at) and ahead * (self.at[counts.next_at] - t) < 0.0:
            self.at_states[counts.next_at] = self.y
            counts.next_at += 1
        return self._reached(t, y) or loop.END

    def _advance(self, budget: int) -> int:
        clock, counts = self.clock, self.counts
        if self.is_crossing:
            return self._across()
        for _ in range(budget):
            if clock.t == clock.t_end:
                return loop.END
            if counts.recorded >= len(self.step_times):
                return loop.FULL
            if not self.steps.step(clock.t_end):
                return loop.TOO_SMALL
            t, y = self.steps.t, self.steps.y
            code = self._reached(t, y)
            if code:
                return code
            if len(self.events_new) and self.context.fields.n_events and self._degenerates():
                return loop.DEGENERATE
            if super().call("row_reversed", t, self.y):
                return loop.ROW_REVERSED
        return loop.END if clock.t == clock.t_end else loop.BUDGET

    def _reached(self, t: float, y: Array) -> int:
        """Take over the end of a step; 0, or why the run ends before it."""
        clock, counts = self.clock, self.counts
        if self._rates is not None and not self._rates(t, y)[-1] > HEALTHY:
            counts.last_status = SINGULAR
            return loop.NOT_DETERMINED
        reached = y.copy()
        status = self._project(t, y)
        if (
            not status and self.context.fields.arrays["active_rows"][0] > 0
        ):  # a row that was left out may say something of its own
            moved = (y - reached) / (
                self.context.fields.arrays["atol"] + self.clock.rtol * np.abs(y)
            )
            status = STUCK if np.sqrt(np.mean(moved**2)) > MOST_MOVED else 0
        if status:
            return loop.OFF_CONSTRAINTS if status == STUCK else loop.NOT_DETERMINED
        while counts.next_at < len(self.at):
            place = counts.next_at
            wanted = float(self.at[place])
            if (wanted - t) * (t - clock.t) > 0.0:
                break
            self.at_states[place] = y if wanted == t else self.steps.within(wanted)
            status = self._project(wanted, self.at_states[place]) if wanted != t else 0
            if status:
                return loop.OFF_CONSTRAINTS if status == STUCK else loop.NOT_DETERMINED
            counts.next_at += 1
        if self.context.fields.projects:
            self.context.evaluate_on_constraints(t, y, self.stages[0])
            self.steps.evaluate_on_constraints(y)
        self.y_old[:], self.y[:] = self.y, y
        clock.t_old, clock.h_old, clock.t = clock.t, t - clock.t, t
        place = counts.recorded
        self.step_times[place], self.step_states[place] = t, y
        counts.recorded += 1
        counts.accepted += 1
        return 0

    def _project(self, t: float, y: Array) -> int:
        if not self.context.fields.projects:
            return 0
        self.counts.projected += 1
        return self.context.project(t, y, 0, 1, 8)

    def _degenerates(self) -> bool:
        """Whether to check the choice of velocities again, the only event of such a run."""
        count = self.context.fields.n_events
        self.events_new[:count] = self.context.events(self.t, self.y, count)
        crossed = bool(np.any(self.events_old[:count] * self.events_new[:count] < 0.0))
        self.events_old[:] = self.events_new
        return crossed


class _Call:
    """What the steps of a stored motion need to know of its call."""

    def __init__(
        self, statistics: Mapping[str, Any], size: int, span: tuple[float, float], parameters: Array
    ) -> None:
        self.method, self.rtol = statistics["method"], statistics["rtol"]
        self.atol = np.full(size, statistics["atol"])
        self.max_step, self.first_step = UNBOUNDED, None
        self.span, self.parameters = span, parameters


class ShortPropagations:
    """The states of one segment between its steps, by the package once more."""

    def __init__(self, motion: Motion, segment: Segment, sign: float) -> None:
        self.segment, self.sign = segment, sign
        nodes = segment.step_t
        task = _Call(
            motion.statistics,
            segment.step_y.shape[1],
            (float(nodes[0]), float(nodes[-1])),
            segment.context.parameters,
        )
        self.steps = steps_of(task, segment.context)

    def fill(self, times: Array, places: IntArray, result: Array) -> None:
        """result[place] <- the state at times[place], for some places."""
        nodes, states = self.segment.step_t, self.segment.step_y
        found = np.searchsorted(self.sign * nodes, self.sign * times[places], side="right") - 1
        numbers = np.clip(found, 0, len(nodes) - 1)
        for number in np.unique(numbers):
            inside = places[numbers == number]
            self._follow(
                float(nodes[number]),
                states[number],
                times,
                inside[np.argsort(self.sign * times[inside])],
                result,
            )

    def _follow(
        self, begin: float, y: Array, times: Array, places: IntArray, result: Array
    ) -> None:
        end, begun = float(times[places[-1]]), False
        for place in places:
            t = float(times[place])
            if self.sign * (t - begin) <= 0.0:
                result[place] = y
                continue
            if not begun:
                self.steps.begin(begin, y.copy())
                begun = True
            while self.sign * (t - self.steps.t) > 0.0:
                if not self.steps.step(end):
                    break
            result[place] = self.steps.y if t == self.steps.t else self.steps.within(t)
