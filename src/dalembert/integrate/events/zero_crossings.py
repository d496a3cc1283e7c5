"""Events inside the last step of a run: their zeros, the state there, and truncation there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from ...typing import Array
from .. import advance as loop
from ..native_run import AdaptiveRun
from .events import Event, find_root

__all__ = ["crossings", "cut", "state_after"]


#: A sign change of an expression so many times larger than nearby is a pole, not a zero.
POLE = 100.0
#: Where an expression turns near zero, the points around its turning point are drawn together so
#: many times, after which they differ by rounding. What reaches less far beyond zero than this part
#: of its size is rounding, too.
HALVINGS, SHALLOW = 26, 1e-14


def state_after(run: AdaptiveRun, elapsed: float) -> Array:
    """The state a time after the beginning of the last step."""
    result: Array = np.zeros(len(run.y))
    if elapsed in (run.clock.h_old, 0.0):
        result[:] = run.y if elapsed == run.clock.h_old else run.y_old
        return result
    run.call("short_step", elapsed, result)
    return result


def crossings(run: AdaptiveRun, events: Sequence[Event]) -> list[tuple[float, int]]:
    """Every zero crossing inside the last step, as (time after its beginning, event), in order."""
    points = np.linspace(0.0, 1.0, run.step.parts + 1) * run.clock.h_old
    count, searched = len(events), int(run.context.fields.n_searched)
    inside = [_values(run, count, x) for x in points[1:-1]]
    table = np.array([run.events_old[:count], *inside, run.events_new[:count]])
    found: list[tuple[float, int]] = []
    for number, event in enumerate(events):
        value = partial(_value, run, count, number)
        seen = [(float(x), float(at_x)) for x, at_x in zip(points, table[:, number], strict=True)]
        if number < searched:
            seen = sorted({*seen, *_other_side(value, seen)}, key=lambda pair: abs(pair[0]))
        for (start, low), (end, high) in pairwise(seen):
            passed = low * high < 0 or (high == 0 and low != 0)
            if not passed or (event.direction and event.direction * (high - low) < 0):
                continue
            root = find_root(value, start, end, low, high)
            if abs(value(root)) <= POLE * max(abs(low), abs(high)):
                found.append((root, number))
    return sorted(found, key=lambda interval_of: abs(interval_of[0]))


def _other_side(
    value: Callable[[float], float], seen: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Points between the sampled ones at which the other side of zero is reached and left."""
    found = []
    for (start, before), (middle, here), (end, after) in zip(
        seen, seen[1:], seen[2:], strict=False
    ):
        width, sign = 0.5 * (end - start), math.copysign(1.0, here)
        beyond = SHALLOW * max(abs(before), abs(here), abs(after))
        lowest, highest = sorted((start, end))
        for _ in range(HALVINGS):
            if not loop.may_dip(before, here, after):
                break
            vertex = middle - width * 0.5 * (after - before) / (before - 2.0 * here + after)
            width *= 0.5
            middle = min(max(vertex, lowest + abs(width)), highest - abs(width))
            places = (middle - width, middle, middle + width)
            before, here, after = values = [value(place) for place in places]
            reached = [
                pair for pair in zip(places, values, strict=True) if sign * pair[1] < -beyond
            ]
            if reached:
                found.append(min(reached, key=lambda pair: sign * pair[1]))
                break
    return found


def _values(run: AdaptiveRun, count: int, elapsed: float) -> Array:
    return run.context.events(run.clock.t_old + elapsed, state_after(run, elapsed), count)


def _value(run: AdaptiveRun, count: int, number: int, elapsed: float) -> float:
    return float(_values(run, count, elapsed)[number])


def cut(run: AdaptiveRun, t: float, y: Array) -> None:
    """End the last step at an earlier time."""
    run.y[:] = y
    run.clock.h_old = t - run.clock.t_old
    run.clock.t = t
    run.counts.has_dense = 0
    run.context.evaluate_on_constraints(t, run.y, run.end_rate)
    if run.clock.h_old != 0:
        run.call("finish_step")
