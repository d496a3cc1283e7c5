"""The arrays of a run in one mode, and the native functions that work on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..codegen.native.native_module import NativeModule
from ..runtime.context import Context
from ..runtime.gauss.solve_status import CONTRADICTORY
from . import advance as loop
from .events.watches import is_controlled, row_reversed
from .methods.adaptive.dop853 import DOP853_STEP
from .methods.method import AdaptiveStep, Natives
from .methods.table import find_method
from .run_fields import RunFields
from .sampling import sampled_steps
from .tolerances import LEAST_RTOL, LOCAL_SHARE

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel
    from ..typing import Array
    from .task import Task

__all__ = ["COUNTED", "AdaptiveRun", "BufferedRun", "RunStart", "first_step", "native_functions"]

#: A step across a switch may have an error of so many tolerances, and of this part of the state.
CROSSING, CROSSING_RTOL = 1e4, 1e-10
#: A first step is no shorter than so many spacings of the clock.
LEAST_SPACINGS = 128.0
#: How many steps are stored before Python collects them.
CAPACITY = 4096
#: What is counted in a run, and the field in which native code counts it.
COUNTED = {
    "steps": "accepted",
    "rejected": "rejected",
    "nfev": "evaluations",
    "projections": "projected",
}


@lru_cache(maxsize=16)
def native_functions(step: AdaptiveStep) -> Natives:
    """The native loop with the step of a method, compiled once."""
    entries: list[Callable[..., Any]] = [
        loop.advance,
        loop.commit,
        loop.conclude,
        loop.finish_step,
        loop.short_step,
        sampled_steps.advance_samples,
        sampled_steps.limit_commands,
        row_reversed,
        *step.entries,
    ]
    return NativeModule(entries, dict(step.bound)).functions


class RunStart(NamedTuple):
    """Where a run begins in one mode: at (t, y), towards times `at` whose states it fills.

    `events` counts the event functions that the run looks at.
    """

    kernel: Kernel
    task: Task
    t: float
    y: Array
    at: Array
    at_states: Array
    events: int


class BufferedRun:
    """What every run has: context, clock, counts, state, and a buffer of steps."""

    counted: Mapping[str, str] = COUNTED
    #: The native function that takes steps.
    entry = "advance"

    def __init__(self, start: RunStart, record: type[RunFields], functions: Natives) -> None:
        kernel, self._functions = start.kernel, functions
        self.context = Context(kernel, start.task.parameters, record)
        bind, fields = self.context.fields.bind, self.context.fields
        self.clock, self.counts = fields.clock, fields.counts
        self.y: Array = bind("y", np.array(start.y, dtype=float))
        bind("at_states", start.at_states)
        self.step_times = bind("step_times", np.zeros(CAPACITY))
        self.step_states = bind("step_states", np.zeros((CAPACITY, kernel.n_state)))
        self.events_old = bind("events_old", np.zeros(max(1, start.events)))
        self.events_new = bind("events_new", np.zeros(max(1, start.events)))
        fields.n_at, fields.capacity, fields.n_events = len(start.at), CAPACITY, start.events
        self.clock.t, self.clock.t_end, self.clock.weakest = start.t, start.task.span[1], 1.0

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.clock.t)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a native function on this run."""
        return int(self._functions[name](self.context.fields, *arguments))

    def take_steps(self) -> tuple[Array, Array]:
        """The steps stored since the last time, which make room for more."""
        count = self.counts.recorded
        self.counts.recorded = 0
        return self.step_times[:count].copy(), self.step_states[:count].copy()

    def last_step(self) -> tuple[Array, Array]:
        """What is left to store at the end: nothing, because every step is stored."""
        return self.step_times[:0].copy(), self.step_states[:0].copy()


class AdaptiveRun(BufferedRun):
    """A run whose steps are chosen by a tolerance."""

    #: Whether the next step leads across a switch of the equations, and sees both its sides.
    is_crossing = False

    def __init__(self, start: RunStart) -> None:
        kernel, task, events = start.kernel, start.task, start.events
        step = find_method(task.method).step
        # Of the native loop, a run by another package calls the watch of rows alone.
        self.step = step if isinstance(step, AdaptiveStep) else DOP853_STEP
        super().__init__(start, RunFields, native_functions(self.step))
        bind, fields, ns = self.context.fields.bind, self.context.fields, kernel.n_state
        self.y_old = bind("y_old", self.y.copy())
        bind("y_new", self.y.copy())
        self.stages = bind("stages", np.zeros((self.step.rows, ns + 1)))
        self.end_rate = self.stages[self.step.end_row]
        bind("spare_stages", np.zeros((self.step.rows, ns + 1)))
        bind("stage", np.zeros(ns))
        bind("at", start.at)
        bind("events_tried", np.zeros((self.step.parts + 1, max(1, events))))
        self.atol = bind("atol", LOCAL_SHARE * task.atol)
        fields.is_controlled = int(is_controlled(kernel, task))
        self.clock.max_step, self.clock.cap = task.max_step, task.first_step or math.inf
        self.clock.rtol = max(LOCAL_SHARE * task.rtol, LEAST_RTOL)
        fields.n_parts = self.step.parts
        self.step.prepare(self, task, events)

    def cross(self, is_crossing: bool) -> None:
        """Allow a larger error in the next step, across a switch; or restore the tolerance."""
        if is_crossing == self.is_crossing:
            return
        self.is_crossing = is_crossing
        if is_crossing:
            self._tolerance = self.clock.rtol, self.atol.copy()
            self.clock.rtol = CROSSING_RTOL
            self.atol[:] = CROSSING * self.atol + CROSSING_RTOL * float(
                np.max(np.abs(self.y), initial=0.0)
            )
        else:
            self.clock.rtol, self.atol[:] = self._tolerance


@np.errstate(over="ignore", invalid="ignore")
def first_step(run: AdaptiveRun, task: Task, t: float) -> float:
    """A first step from the state and its first two derivatives (Hairer et al., section II.4)."""
    length = abs(task.span[1] - t)
    if task.first_step is not None or length == 0:
        return float(task.first_step or 1.0)
    ns = len(run.y)
    direction = 1.0 if task.span[1] > t else -1.0
    scale, rate = run.atol + run.clock.rtol * np.abs(run.y), run.stages[0, :ns]
    d0, d1 = np.sqrt(np.mean((run.y / scale) ** 2)), np.sqrt(np.mean((rate / scale) ** 2))
    h0 = min(1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1, length)
    out = np.zeros(ns + 1)
    status = run.context.evaluate(t + direction * h0, run.y + direction * h0 * rate, out)
    d2 = (
        np.sqrt(np.mean(((out[:ns] - rate) / scale) ** 2)) / h0
        if status < CONTRADICTORY
        else np.inf
    )
    largest = max(d1, d2)
    if not np.isfinite(largest):
        return float(min(1e-3 * h0, length))
    h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1 / 8)
    # A state near zero with large rates makes h0 shorter than the clock can tell.
    return float(min(max(100 * h0, LEAST_SPACINGS * np.spacing(abs(t))), h1, length))
