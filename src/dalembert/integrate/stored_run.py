"""The run of a compiled model from the cache: steps alone, with no expressions behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.work_clock import clock_reading
from ..runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ..runtime.stored_kernel import NotStoredError
from . import advance as loop
from .events.watches import hold_watch
from .method_watch import MethodWatch, OtherMethodError
from .native_run import RunStart, first_step
from .outcome import Outcome, Termination
from .pace import interrupted
from .record import Decisions, RunRecord, motion_of
from .run_kinds import prepared_run
from .run_loop import RunLoop
from .run_seconds import with_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from .motion import Motion
    from .stored_model import StoredModel

__all__ = ["run_stored"]

#: What native code returns where steps go on or end, so that nothing is to be decided.
ORDINARY = (loop.END, loop.BUDGET, loop.FULL, loop.NOT_COMPILED, loop.COMMIT_NOT_COMPILED)


def run_stored(
    model: StoredModel, progress: Callable[[float, float], None] | None = None
) -> Motion:
    """Run the call that a model was compiled for.

    Raises
    ------
    NotStoredError
        Where a decision is needed that only the model itself can take.
    """
    since = clock_reading()
    try:
        return with_seconds(lambda: StoredRun(model, progress).execute(), since)
    except OtherMethodError as other:
        raise NotStoredError(str(other)) from None


class StoredRun(RunLoop):
    """A run without decisions; `Driver` takes them."""

    decisions = Decisions()
    stop = None

    def __init__(
        self, model: StoredModel, progress: Callable[[float, float], None] | None = None
    ) -> None:
        self.task = model.task(progress)
        self.call, self.report = model.call, model.report
        self.start_state, self.record = model.start.copy(), RunRecord(self.task)
        kernel: Any = model.kernel
        self.kernel = kernel
        if self.task.method_reason:
            self.watch = MethodWatch(self.task)

    def execute(self) -> Motion:
        """Run until the end, or Ctrl-C."""
        self._begin()
        try:
            ending = self.follow()
        except KeyboardInterrupt:
            ending = interrupted(self.run.t)
        if ending is None or ending.outcome not in (Outcome.FINISHED, Outcome.INTERRUPTED):
            raise NotStoredError("the run ended otherwise")
        self.record.close(self.run, ())
        return motion_of(self, ending)

    def _begin(self) -> None:
        task, at = self.task, self.record.at
        t, y, states = (
            task.span[0],
            self.start_state,
            np.full((len(at), self.kernel.n_state), np.nan),
        )
        run = self.run = prepared_run(RunStart(self.kernel, task, t, y, at, states, 0), 0)
        self.record.begin(run, t, y)
        status = run.context.evaluate_on_constraints(t, run.y, run.stages[0])
        if status in (SINGULAR, CONTRADICTORY):
            raise NotStoredError("the start is singular")
        hold_watch(run, self.kernel, t)
        run.clock.h = first_step(run, task, t)

    def decide(self, code: int) -> Termination | None:
        """Go on or end."""
        if code not in ORDINARY:
            raise NotStoredError(f"code {code}")
        return super().decide(code)

    def empty_buffer(self) -> None:
        """Take over the steps that native code has stored."""
        self.record.flush(self.run)

    def complete(self) -> None:
        """Load the programs that the run needs only now."""
        self.run.context.complete()
