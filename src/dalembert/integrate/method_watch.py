"""Look for stiffness along a run whose method was left open.

Looks come after counts of steps, never by a clock, so that the same call makes the same run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import FormError
from .diagnostics import STIFF, decay_in_step
from .methods.table import find_method
from .tolerances import COARSE

if TYPE_CHECKING:
    from .native_run import AdaptiveRun
    from .task import Task

__all__ = ["MethodWatch", "OtherMethodError", "implicit_method"]

#: Steps between two looks.
INTERVAL = 1024
#: So many looks at a run, one after another, tell that it is stiff.
LOOKS = 4


class OtherMethodError(Exception):
    """A run that another method suits better, for a reason."""

    def __init__(self, method: str, reason: str) -> None:
        super().__init__(reason)
        self.method, self.reason = method, reason


def implicit_method(rtol: float) -> str:
    """The method for stiff equations that suits a tolerance."""
    return "radau5" if rtol >= COARSE else "radau9"


class MethodWatch:
    """Looks at a run after every `INTERVAL` steps.

    The step times the fastest decay, h L, is small where accuracy bounds the steps. Where it stays
    near the bound of stability, the decay is over and an implicit method takes longer steps.
    """

    def __init__(self, task: Task) -> None:
        self.task, self.seen, self.next_look = task, 0, INTERVAL
        self.may_be_stiff = not find_method(task.method).is_stiff

    def steps_to_look(self, run: AdaptiveRun) -> int:
        """Steps until the next look."""
        return max(1, self.next_look - _taken(run))

    def look(self, run: AdaptiveRun) -> None:
        """Look at the last step, if it is time; raise where another method suits better."""
        if _taken(run) < self.next_look:
            return
        self.next_look = _taken(run) + INTERVAL
        if not self.may_be_stiff:
            return
        decay = decay_in_step(run.context, run.t, run.y, float(run.clock.h_old))
        self.seen = self.seen + 1 if decay >= STIFF else 0
        if self.seen < LOOKS:
            return
        method = implicit_method(self.task.rtol)
        try:
            find_method(method).check(self.task.equations, method)
        except FormError:
            self.may_be_stiff = False
            return
        raise OtherMethodError(
            method,
            f"the equations became stiff: near t = {run.t:.3g} the steps of {self.task.method}"
            " were held short by stability, and the run was made again",
        )


def _taken(run: AdaptiveRun) -> int:
    return int(run.counts.accepted + run.counts.rejected)
