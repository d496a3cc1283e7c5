"""What a motion that was followed should say about its own digits: sentences behind that of its ending.

A run can be right in every step and still mean less than its tolerance says: where times are so far from zero that they lie
apart, where all letters are as small as the absolute tolerance, where rows of constraints nearly depend on each other, or where
their rank changes, which is a decision and not a result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from ..compiled.factorisations import RANK_TOLERANCE
from ..compiled.verdicts import CONTRADICTORY

__all__ = ["Ranks", "coarse_times", "few_digits", "ranks", "remarks", "remarks_in", "weak_pivot"]

#: At so many points of a motion the rank of its constraints is looked at.
POINTS = 33
#: A run tells of digits that it may lose where rounding, magnified by the least pivot, is above this share of its tolerance.
SHARE = 0.05
#: Letters that stay below so many absolute tolerances have too few digits.
FEW_DIGITS = 1e3
#: States below this have products that lose digits.
LEAST_STATE = 1e-290
#: The tolerance of runs with fixed steps, as far as times are concerned.
FIXED_RTOL = 1e-10
#: How the message of a run begins that went well.
ENDING = re.compile(r"(The motion was followed to t = \S+\.|Stopped by the event `.*` at t = \S+\.)(?: |$)")


def remarks(task: Any, segments: Sequence[Any], is_success: bool) -> list[str]:
    """The sentences that a motion with these segments deserves; where it failed, that is what it has to say."""
    found = [coarse_times(task)]
    if is_success:
        found += [_small_letters(task, segments), _rank_sentence(task, segments), _undefined_events(task, segments)]
    return [sentence for sentence in found if sentence]


def remarks_in(message: str) -> str:
    """What the message of a run that went well says beside how it ended.

    >>> remarks_in("The motion was followed to t = 1.5. The span has no length.")
    'The span has no length.'
    >>> remarks_in("Stopped by the event `x` at t = 2.")
    ''
    """
    return ENDING.sub("", message, count=1) if ENDING.match(message) else message


def coarse_times(task: Any) -> str:
    """Whether times are so far from zero that they lie apart; the same for all runs of a task."""
    first, last = task.span
    if first == last:
        return "The span has no length, so that the motion is its start."
    apart = float(np.spacing(max(abs(first), abs(last))))
    relative = FIXED_RTOL if task.stepping is not None else task.rtol
    if apart <= relative * abs(last - first):
        return ""
    return (
        f"Times near t = {max(abs(first), abs(last)):.3g} lie {apart:.2g} apart, which is {apart / abs(last - first):.1g} of "
        "the span: events and times asked for are met no finer. Count time from the start."
    )


def few_digits(task: Any) -> float:
    """Below this size letters have too few digits."""
    return max(LEAST_STATE, FEW_DIGITS * _least_atol(task))


def _least_atol(task: Any) -> float:
    return 0.0 if task.stepping is not None else float(np.min(task.atol))


def _small_letters(task: Any, segments: Sequence[Any]) -> str:
    """A run whose letters all stay as small as the absolute tolerance follows them to few digits, or none."""
    if not segments:
        return ""
    largest = max(float(np.max(np.abs(segment.step_y), initial=0.0)) for segment in segments)
    if 0.0 < largest < LEAST_STATE:
        return f"No letter was larger than {largest:.2g}: numbers that small lose their digits. Take larger units."
    least = _least_atol(task)
    if not 0.0 < largest < few_digits(task):
        return ""
    return (
        f"No letter was larger than {largest:.2g}, and the absolute tolerance is {least:.2g}: they have few digits. Pass a "
        "smaller atol, or take units in which they are of size one."
    )


def _undefined_events(task: Any, segments: Sequence[Any]) -> str:
    """An event whose value is not a number cannot be looked for there."""
    if not task.events or task.inputs or not segments:
        return ""
    segment = segments[-1]
    kernel = segment.book.kernel
    values = kernel.lower([event.expression for event in task.events])
    function = ca.Function("events", kernel._inputs(), [values])
    for place in np.unique(np.linspace(0, len(segment.step_t) - 1, POINTS).astype(int)):
        time, y = float(segment.step_t[place]), segment.step_y[place]
        found = np.asarray(function(time, y, task.parameters, np.zeros(0), np.zeros(0))).ravel()
        if np.isnan(found).any():
            name = task.events[int(np.argmax(np.isnan(found)))].name
            return f"The event `{name}` has no value at t = {time:.9g}, where it is not found."
    return ""


class Ranks(NamedTuple):
    """How well the equations determined the accelerations.

    Attributes
    ----------
    dropped : list of (time, rows of constraints that depended on others)
    weakest : (time, part)
        Where they were nearest to being singular: the least pivot met, relative to its scale.
    """

    dropped: list[tuple[float, int]]
    weakest: tuple[float, float]


def ranks(segments: Sequence[Any]) -> Ranks:
    """Rank and least pivot at some points of a motion; the kernel finds them, as in every step."""
    found, weakest = [], (0.0, 1.0)
    for segment in segments[:: 1 + len(segments) // POINTS]:
        count = max(2, POINTS // len(segments))
        places = np.unique(np.linspace(0, len(segment.step_t) - 1, count).astype(int))
        times, rows = segment.step_t[places], segment.book.kernel.m
        for time, (status, rank, part) in zip(
            times.tolist(), segment.book.settle_points(times, segment.step_y[places]).tolist(), strict=True
        ):
            if status > CONTRADICTORY:
                continue
            found.append((time, rows - int(rank) if rows else 0))
            if part < weakest[1]:
                weakest = (time, part)
    return Ranks(found, weakest)


def weak_pivot(task: Any) -> float:
    """Below this least pivot, rounding that it magnifies matters for the tolerance."""
    return float(np.finfo(float).eps) / (SHARE * (FIXED_RTOL if task.stepping is not None else task.rtol))


def _rank_sentence(task: Any, segments: Sequence[Any]) -> str:
    if task.inputs:
        return ""
    found, (when, part) = ranks(segments)
    counts = [rows for _, rows in found]
    if counts and min(counts) != max(counts):
        t, rows = max(found, key=lambda pair: pair[1])
        return (
            f"The rank of the constraints changed along the motion: {rows} row{'s' * (rows != 1)} depended on the others at "
            f"t = {t:.9g} and not everywhere, so that the motion may be one of several."
        )
    if counts and counts[0]:
        return (
            f"{counts[0]} row{'s' * (counts[0] != 1)} of the constraints depended on the others (with a part below "
            f"{RANK_TOLERANCE:.0e}) and {'were' if counts[0] != 1 else 'was'} left out."
        )
    if 0 < part < weak_pivot(task):
        return (
            f"The equations are nearly singular (least pivot {part:.1g} at t = {when:.9g}): accelerations and reactions may "
            f"lose about {-np.log10(part):.0f} digits."
        )
    return ""
