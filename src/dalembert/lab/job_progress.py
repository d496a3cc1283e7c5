"""What an answer tells whoever waits for it while it is made."""

from __future__ import annotations

from typing import Protocol

__all__ = ["JobProgress"]


class JobProgress(Protocol):
    """A job under way: it is told how far it is, and says whether to stop."""

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        ...

    def check(self) -> None:
        """Raise where the job was cancelled."""

    def progress(self, fraction: float, time: float) -> None:
        """Take the share that is done, and the time of the motion."""
