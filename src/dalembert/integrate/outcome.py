"""How a run ended, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Outcome", "Termination"]


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


@dataclass(frozen=True)
class Termination:
    """How a run ended, with what limits its accuracy.

    Attributes
    ----------
    outcome : Outcome
    sentence : str
        How it ended, in words.
    diagnostics : tuple of str
        Warnings about the digits of the motion, a sentence each.

    Examples
    --------
    >>> Termination(Outcome.STOPPED, "Stopped at t = 1.", ("The equations are stiff.",)).message
    'Stopped at t = 1. The equations are stiff.'
    """

    outcome: Outcome
    sentence: str
    diagnostics: tuple[str, ...] = ()

    @classmethod
    def singular(cls, t: float, clause: str) -> Termination:
        """The end of a motion that became singular, with the reason as a clause."""
        return cls(Outcome.SINGULAR, f"The motion became singular at t = {t:.9g}: {clause}.")

    @classmethod
    def step_too_small(cls, t: float, clause: str) -> Termination:
        """The end of a motion whose steps became too small, with the reason as a clause."""
        return cls(Outcome.STEP_TOO_SMALL, f"The step became too small at t = {t:.9g}: {clause}.")

    @property
    def is_success(self) -> bool:
        """Whether the run reached its end or an event that was to stop it."""
        return self.outcome.is_success

    @property
    def message(self) -> str:
        """The sentence, and the diagnostics behind it."""
        return " ".join([self.sentence, *self.diagnostics])
