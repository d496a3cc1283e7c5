"""How a run ended."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Outcome"]


class Outcome(StrEnum):
    """How a run ended; the value is what results and the command line print.

    >>> print(Outcome.STOPPED, Outcome.STOPPED.is_success, Outcome("blew up").is_success)
    stopped by event True False
    """

    FINISHED = "finished"
    STOPPED = "stopped by event"
    BLEW_UP = "blew up"
    SINGULAR = "became singular"
    CONTRADICTORY = "constraints contradict"
    STEP_TOO_SMALL = "step too small"
    UNSOLVED = "step not solved"
    TOO_MANY_STEPS = "too many steps"
    INTERRUPTED = "interrupted"

    @property
    def is_success(self) -> bool:
        """Whether the run reached its end or an event that was to stop it."""
        return self in (Outcome.FINISHED, Outcome.STOPPED)

    def __str__(self) -> str:
        return self.value
