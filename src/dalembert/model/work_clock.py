"""Where the seconds of a call go: deriving, checking, compiling, starting.

Work of one kind inside work of another counts as its own, so that the kinds add up.
"""

from __future__ import annotations

import threading
import time
from contextlib import ContextDecorator
from dataclasses import dataclass, field
from typing import Literal, get_args

__all__ = ["ClockReading", "WorkKind", "clock_reading", "seconds_since", "work"]

WorkKind = Literal["derive", "check", "compile", "start"]


class _WorkClock(threading.local):
    """The seconds of each kind in this thread, and the kinds that are under way."""

    def __init__(self) -> None:
        self.seconds: dict[WorkKind, float] = dict.fromkeys(get_args(WorkKind), 0.0)
        self.open: list[WorkKind] = []
        self.since = 0.0

    def turn(self) -> None:
        """Count the time since the last turn as work of the innermost kind."""
        now = time.perf_counter()
        if self.open:
            self.seconds[self.open[-1]] += now - self.since
        self.since = now


_clock = _WorkClock()


class work(ContextDecorator):  # noqa: N801 - read like a function, as `contextlib.suppress`
    """Count what is done inside as work of a kind; also a decorator.

    >>> before = clock_reading()
    >>> with work("derive"), work("compile"):
    ...     pass
    >>> sorted(seconds_since(before))
    ['check', 'compile', 'derive', 'start']
    """

    def __init__(self, kind: WorkKind) -> None:
        self.kind = kind

    def __enter__(self) -> None:
        _clock.turn()
        _clock.open.append(self.kind)

    def __exit__(self, *_: object) -> None:
        _clock.turn()
        _clock.open.pop()


@dataclass(frozen=True)
class ClockReading:
    """A reading of the wall clock, and of the work of this thread so far."""

    wall: float = field(default_factory=time.perf_counter)
    seconds: dict[WorkKind, float] = field(default_factory=dict)


def clock_reading() -> ClockReading:
    """The reading now."""
    _clock.turn()
    return ClockReading(seconds=dict(_clock.seconds))


def seconds_since(before: ClockReading) -> dict[WorkKind, float]:
    """The seconds of work in this thread since a reading, by kind."""
    _clock.turn()
    return {kind: spent - before.seconds[kind] for kind, spent in _clock.seconds.items()}
