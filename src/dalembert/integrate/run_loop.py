"""The loop of every run: `advance` takes steps in native code until a decision is needed."""

from __future__ import annotations

import time as clock
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import advance as loop
from .outcome import Outcome, Termination
from .pace import Pace, interrupted

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel
    from ..typing import Array
    from .method_watch import MethodWatch
    from .task_record import Task

__all__ = ["RunLoop"]

#: Steps between two looks at a run that is one of many.
STEADY = 1024


class RunLoop(ABC):
    """Advance a run until it ends.

    `Driver` takes every decision and keeps every step; `LightRun`, for the ordinary runs of an
    ensemble, keeps the states at the times asked for and leaves decisions to a driver.

    Attributes
    ----------
    run : AdaptiveRun, FixedRun or ExternalRun
        What goes on in the current mode.
    stop : function or None
        Says whether to end the run now, for one of many. Its loop does not look at the clock then,
        so that a run that crawls ends at the same state whatever else the machine does.
    watch : MethodWatch or None
        Looks for reasons to take another method where that was left open.
    is_left : bool
        Whether the run needs a decision that is not taken here.
    """

    task: Task
    kernel: Kernel
    run: Any
    start_state: Array
    stop: Callable[[], bool] | None
    is_left = False
    watch: MethodWatch | None = None
    native_seconds = 0.0

    def follow(self) -> Termination | None:
        """Run until the end or trouble; None for a run that is left to another loop."""
        budget, pace = 64 if self.stop is None else STEADY, Pace()
        while True:
            began, reached, left = clock.perf_counter(), self.run.t, self.steps_left()
            most = min(budget, left, self.steps_to_look())
            code = self.run.call(self.run.entry, max(1, most))
            spent = clock.perf_counter() - began
            ending = pace.ending(self, code, reached, left - self.steps_left())
            if ending is not None:
                return ending
            self.native_seconds += spent
            if self.stop is None and spent < 0.05 and budget < 65536:
                budget *= 8 if spent < 0.005 else 2
            elif self.stop is None and spent > 0.2 and budget > 8:
                budget //= 2
            self.report_progress()
            if self.watch is not None and code in (loop.BUDGET, loop.FULL):
                self.watch.look(self.run)
            ending = self.decide(code)
            if ending is not None or self.is_left:
                return ending
            if self.stop is not None and self.stop():
                return interrupted(self.run.t)
            if self.steps_left() <= 0 and self.run.t != self.task.span[1]:
                return self._too_many_steps()

    def decide(self, code: int) -> Termination | None:
        """Act on the code that `advance` returned; the termination, or None to go on."""
        match code:
            case loop.END:
                sentence = f"The motion was followed to t = {self.task.span[1]:.9g}."
                return Termination(Outcome.FINISHED, sentence)
            case loop.BUDGET:
                pass
            case loop.FULL:
                self.empty_buffer()
            case loop.NOT_COMPILED:
                self.complete()
            case loop.COMMIT_NOT_COMPILED:
                self.complete()
                self.run.call("commit")
            case loop.UNSOLVED:
                if not self.run.prepare_newton():  # only fixed steps end so
                    from .termination import unsolved

                    return unsolved(self)
            case _:
                from .termination import classify

                return classify(self, code)
        return None

    def _too_many_steps(self) -> Termination:
        remedy = "rtol" if self.task.stepping is None else "step"
        return Termination(
            Outcome.TOO_MANY_STEPS,
            f"More than {self.task.max_steps} steps were needed; t = {self.run.t:.9g} was reached."
            f" Raise max_steps or {remedy}.",
        )

    def steps_left(self) -> int:
        """Steps that the run may still take."""
        return int(self.task.max_steps - self.run.counts.accepted - self.run.counts.rejected)

    def steps_to_look(self) -> int:
        """Steps until the loop must return to Python for a look at the run, by no clock."""
        return self.task.max_steps if self.watch is None else self.watch.steps_to_look(self.run)

    def report_progress(self) -> None:
        """Tell how far the run has come."""
        if self.task.progress is not None:
            first, last = self.task.span
            self.task.progress(
                abs(self.run.t - first) / abs(last - first) if last != first else 1.0, self.run.t
            )

    @abstractmethod
    def empty_buffer(self) -> None:
        """Take over the steps that native code has stored."""

    @abstractmethod
    def complete(self) -> None:
        """Compile the programs that the run needs only now."""

    def at_switch(self) -> Termination | None:
        """The end of a run that cannot pass a switch of its equations; None if it is at none."""
        return None

    @property
    def bad_input(self) -> str | None:
        """Describe the last value of an input function that was not finite, as a clause."""
        return None

    def check_inputs(self) -> None:
        """Raise what an input function raised inside native code."""
        return None
