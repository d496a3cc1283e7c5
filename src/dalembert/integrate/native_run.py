"""The arrays of a run in one mode, and the native functions that work on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..codegen.native.native_module import NativeModule
from ..runtime.context import Context
from ..runtime.gauss.solve_status import CONTRADICTORY
from . import advance as loop
from .events import rank_watch as row_watch
from .events.stop_times import is_controlled
from .methods.adaptive import dop853
from .methods.adaptive import taylor_steps as taylor
from .methods.adaptive.taylor_programs import hold_expansion, taylor_order
from .run_fields import RunFields

__all__ = ["COUNTED", "Run", "first_step", "native_functions"]

#: Tolerances speak of the motion; a step is held to this share of them, because errors of steps add up and are amplified.
LOCAL_SHARE = 0.02
#: No step is asked for more than rounding allows.
LEAST_RTOL = 2e-15
#: The least steps that the Taylor method takes where it looks for events.
LEAST_STEPS = 64
#: A step across a switch may have an error of so many tolerances, and of this part of the state.
CROSSING, CROSSING_RTOL = 1e4, 1e-10
#: A first step is no shorter than so many spacings of the clock.
LEAST_SPACINGS = 128.0
#: How many steps are stored before Python collects them.
CAPACITY = 4096
#: What is counted in a run, and the field in which native code counts it.
COUNTED = {"steps": "accepted", "rejected": "rejected", "nfev": "evaluations", "projections": "projected"}


@lru_cache(maxsize=1)
def native_functions() -> dict[str, Any]:
    """The native functions of the integrator, compiled once."""
    entries: list[Callable[..., Any]] = [
        loop.advance,
        loop.commit,
        loop.conclude,
        loop.finish_step,
        loop.short_step,
        row_watch.row_reversed,
        taylor.expand,
        taylor.taylor_state,
        dop853.step,
        dop853.dense_coefficients,
        dop853.interpolate,
    ]
    return NativeModule(entries).functions


class Run:
    """A run from (t, y) in one mode: its context, its clock and counts, its state, and what it has stored."""

    counted = COUNTED
    #: Whether the next step leads across a switch of the equations, and sees both its sides.
    is_crossing = False

    def __init__(self, kernel: Any, task: Any, t: float, y: Any, at: Any, at_states: Any, events: int) -> None:
        self._functions = native_functions()
        self.context = Context(kernel, task.parameters, RunFields)
        bind, fields, ns = self.context.fields.bind, self.context.fields, kernel.n_state
        self.clock, self.counts = fields.clock, fields.counts
        self.y = bind("y", np.array(y, dtype=float))
        self.y_old = bind("y_old", self.y.copy())
        bind("y_new", self.y.copy())
        self.stages = bind("stages", np.zeros((16, ns + 1)))
        bind("spare_stages", np.zeros((16, ns + 1)))
        bind("dense", np.zeros((7, ns)))
        bind("stage", np.zeros(ns))
        bind("at", at)
        bind("at_states", at_states)
        self.step_times = bind("step_times", np.zeros(CAPACITY))
        self.step_states = bind("step_states", np.zeros((CAPACITY, ns)))
        self.events_old = bind("events_old", np.zeros(max(1, events)))
        self.events_new = bind("events_new", np.zeros(max(1, events)))
        bind("events_tried", np.zeros((loop.TAYLOR_PARTS + 1, max(1, events))))
        self.atol = bind("atol", LOCAL_SHARE * task.atol)
        fields.n_at, fields.capacity, fields.n_events = len(at), CAPACITY, events
        fields.is_controlled = int(is_controlled(kernel, task))
        self.clock.t, self.clock.t_end = t, task.span[1]
        self.clock.max_step, self.clock.rtol = task.max_step, max(LOCAL_SHARE * task.rtol, LEAST_RTOL)
        self.clock.cap = task.first_step or math.inf
        self.clock.weakest = 1.0
        if task.method == "taylor":
            hold_expansion(self.context, taylor_order(self.clock.rtol))
            if events:  # a motion that is a polynomial takes one step, in which an event may pass twice
                longest = abs(task.span[1] - task.span[0]) / LEAST_STEPS
                self.clock.max_step = min(task.max_step, longest) if longest else task.max_step

    def cross(self, is_crossing: bool) -> None:
        """Let the next step, of a few spacings of the clock, have a larger error; or return to the tolerance."""
        if is_crossing == self.is_crossing:
            return
        self.is_crossing = is_crossing
        if is_crossing:
            self._tolerance = self.clock.rtol, self.atol.copy()
            self.clock.rtol = CROSSING_RTOL
            self.atol[:] = CROSSING * self.atol + CROSSING_RTOL * float(np.max(np.abs(self.y), initial=0.0))
        else:
            self.clock.rtol, self.atol[:] = self._tolerance

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.clock.t)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a native function on this run."""
        return int(self._functions[name](self.context.fields, *arguments))

    def take_steps(self) -> tuple[Any, Any]:
        """The steps stored since the last time, which make room for more."""
        count = self.counts.recorded
        self.counts.recorded = 0
        return self.step_times[:count].copy(), self.step_states[:count].copy()

    def last_step(self) -> tuple[Any, Any]:
        """What is left to store at the end: nothing, because every step is stored."""
        return self.step_times[:0].copy(), self.step_states[:0].copy()


@np.errstate(over="ignore", invalid="ignore")
def first_step(run: Run, task: Any, t: float) -> float:
    """A first step from the size of the state and of its first two derivatives (Hairer et al., section II.4)."""
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
    d2 = np.sqrt(np.mean(((out[:ns] - rate) / scale) ** 2)) / h0 if status < CONTRADICTORY else np.inf
    largest = max(d1, d2)
    if not np.isfinite(largest):
        return float(min(1e-3 * h0, length))
    h1 = max(1e-6, h0 * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1 / 8)
    # A state near zero with large rates makes h0 shorter than the clock can tell; the control of the step may still refuse.
    return float(min(max(100 * h0, LEAST_SPACINGS * np.spacing(abs(t))), h1, length))
