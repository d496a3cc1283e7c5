"""Stiffness along a run: explicit steps that stability holds short, not accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .diagnostics import STIFF, decay_in_step

if TYPE_CHECKING:
    from .native_run import AdaptiveRun

__all__ = ["BecameStiffError", "StiffnessWatch"]

#: So many looks at a run, one after another, tell that it is stiff.
LOOKS = 4


class BecameStiffError(Exception):
    """An explicit run whose steps stability holds short, where another method may be taken."""

    def __init__(self, time: float) -> None:
        super().__init__(f"stiff near t = {time:g}")
        self.time = time


class StiffnessWatch:
    """Looks at an explicit run whenever native code returns.

    The step times the fastest decay, h L, is small where accuracy bounds the steps. Where it stays
    near the bound of stability, the decay is over and an implicit method takes longer steps.
    """

    def __init__(self) -> None:
        self.seen = 0

    def look(self, run: AdaptiveRun) -> None:
        """Look at the last step; raise where several looks in a row found it stiff."""
        decay = decay_in_step(run.context, run.t, run.y, float(run.clock.h_old))
        self.seen = self.seen + 1 if decay >= STIFF else 0
        if self.seen >= LOOKS:
            raise BecameStiffError(run.t)
