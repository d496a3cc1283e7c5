"""Where the seconds of a run went, in its statistics."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..model.work_clock import ClockReading, seconds_since

if TYPE_CHECKING:
    from .motion import Motion

__all__ = ["with_seconds"]


def with_seconds(make: Callable[[], Motion], before: ClockReading) -> Motion:
    """Make a motion; its statistics say where the seconds since a reading went."""
    motion = make()
    spent = seconds_since(before)
    wall = clock.perf_counter() - before.wall
    told = motion.statistics
    told |= {f"{kind}_seconds": seconds for kind, seconds in spent.items()}
    told["other_seconds"] = max(0.0, wall - told["integrate_seconds"] - sum(spent.values()))
    told["wall_seconds"] = wall
    return motion
