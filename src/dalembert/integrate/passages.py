"""Events inside the last step of a run: where they pass through zero, the state there, and the step cut off there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from . import advance as loop
from .events import Event, find_root
from .run import Run
from .steppers.taylor_places import EXPANSION

__all__ = ["cut", "passages", "state_after"]


#: An expression that changes its sign where it is so many times larger than nearby has a pole there, and no zero.
POLE = 100.0


def state_after(run: Run, elapsed: float) -> Any:
    """The state a time after the beginning of the last step."""
    if elapsed == run.clock[loop.H_OLD]:
        return run.y.copy()
    if elapsed == 0.0:
        return run.y_old.copy()
    result = np.zeros(len(run.y))
    run.call("short_step", elapsed, result)
    return result


def passages(run: Run, events: Sequence[Event]) -> list[tuple[float, int]]:
    """Every passage of an event through zero inside the last step, as (time after its beginning, event), in order."""
    parts = loop.TAYLOR_PARTS if run.book.entries[EXPANSION] else loop.PARTS
    points = np.linspace(0.0, 1.0, parts + 1) * float(run.clock[loop.H_OLD])
    count = len(events)
    inside = [_values(run, count, x) for x in points[1:-1]]
    table = np.array([run.events_old[:count], *inside, run.events_new[:count]])
    found: list[tuple[float, int]] = []
    for number, event in enumerate(events):
        for k in range(parts):
            low, high = table[k, number], table[k + 1, number]
            passed = low * high < 0 or (high == 0 and low != 0)
            if not passed or (event.direction and event.direction * (high - low) < 0):
                continue
            value = partial(_value, run, count, number)
            root = find_root(value, points[k], points[k + 1], low, high)
            if abs(value(root)) <= POLE * max(abs(low), abs(high)):
                found.append((root, number))
    return sorted(found)


def _values(run: Run, count: int, elapsed: float) -> Any:
    return run.book.events(run.clock[loop.T_OLD] + elapsed, state_after(run, elapsed), count)


def _value(run: Run, count: int, number: int, elapsed: float) -> float:
    return float(_values(run, count, elapsed)[number])


def cut(run: Run, t: float, y: Any) -> None:
    """End the last step at an earlier time."""
    run.y[:] = y
    run.clock[loop.H_OLD] = t - run.clock[loop.T_OLD]
    run.clock[loop.T] = t
    run.counts[loop.HAS_DENSE] = 0
    run.book.settle(t, run.y, run.stages[12])
    if run.clock[loop.H_OLD] != 0:
        run.call("finish_step")
