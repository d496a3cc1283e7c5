"""How fast a run goes on, and the end of one that crawls or was told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import advance as loop
from .outcome import Outcome, Termination

if TYPE_CHECKING:
    from .run_loop import RunLoop

__all__ = ["Pace", "interrupted"]

#: A run crawls if steps are below this part of the span, and of what they were before.
CRAWL, SLOWER = 1e-9, 1e-4
#: So many events one after another within such steps are looked at.
MOST_EVENTS = 64
#: A run that crawls for this many steps without a reason that we know ends all the same.
PATIENCE = 20_000


def interrupted(t: float) -> Termination:
    """The termination of a run that was told to stop."""
    return Termination(
        Outcome.INTERRUPTED, f"Interrupted at t = {t:.9g}; what was computed is kept."
    )


class Pace:
    """How fast a run goes on: tiny steps may mean that something has become singular."""

    def __init__(self) -> None:
        self._steps, self._events, self._best = 0, 0, 0.0

    def ending(self, driver: RunLoop, code: int, reached: float, tried: int) -> Termination | None:
        """The termination of a run that no longer advances; None if it may go on."""
        if code not in (loop.BUDGET, loop.FULL, loop.EVENT) or driver.task.stepping is not None:
            return None
        run, (first, last) = driver.run, driver.task.span
        pace = abs(run.t - reached) / max(1, tried)
        self._best = max(self._best, pace)
        if pace >= min(CRAWL * abs(last - first), SLOWER * self._best):
            self._steps = self._events = 0
            return None
        self._steps, self._events = self._steps + tried, self._events + (code == loop.EVENT)
        if code == loop.EVENT and self._events % MOST_EVENTS:
            return None
        from ..runtime.diagnosis import vanishing
        from .termination import classify, singular_end

        reason = vanishing(driver.kernel, run.t, run.y, run.context.parameters, driver.start_state)
        if reason is not None:
            return singular_end(driver, run.t, driver.start_state, reason)
        is_over = self._steps > PATIENCE or self._events >= 8 * MOST_EVENTS
        return classify(driver, loop.TOO_SMALL) if is_over else None
