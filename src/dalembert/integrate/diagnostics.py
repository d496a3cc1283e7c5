"""What limits the accuracy of a motion: sentences behind that of its termination.

A run can be right in every step and still mean less than its tolerance says: where times are so far
from zero that they lie apart, where all symbols are as small as the absolute tolerance, where rows
of constraints nearly depend on each other, or where their rank changes, which is a decision and not
a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..runtime.gauss.factorisations import RANK_TOLERANCE
from ..runtime.gauss.solve_status import CONTRADICTORY
from .events.watches import has_unwatched_rows
from .methods.table import find_method
from .segment import even_places

if TYPE_CHECKING:
    from ..runtime.context import Context
    from ..typing import Array
    from .task import Task

__all__ = [
    "MANY_STEPS",
    "STIFF",
    "Ranks",
    "coarse_times",
    "decay_in_step",
    "diagnostics",
    "few_digits",
    "ranks",
    "stiffness",
    "weak_pivot",
]

#: At so many points of a motion the rank of its constraints is looked at.
POINTS = 33
#: Warn if rounding, magnified by the least pivot, exceeds this share of the tolerance.
SHARE = 0.05
#: Symbols that stay below so many absolute tolerances have too few digits.
FEW_DIGITS = 1e3
#: States below this have products that lose digits.
LEAST_STATE = 1e-290
#: The tolerance of runs with fixed steps, as far as times are concerned.
FIXED_RTOL = 1e-10
#: A run of so many steps is asked whether it is stiff: whether its step times the rate of the
#: fastest decay is above a bound, which is near where explicit steps become unstable; so many
#: iterations find that rate.
MANY_STEPS, STIFF, ITERATIONS = 2000, 2.5, 5
#: How near a time is to the grid of fixed steps that it lies on, in steps.
ON_GRID = 1e-6


def diagnostics(task: Task, segments: Sequence[Any], is_success: bool) -> tuple[str, ...]:
    """Warnings about the digits of a motion with these segments, each a sentence."""
    found = [coarse_times(task), stiffness(task, segments)]
    if is_success:
        found += [
            _small_symbols(task, segments),
            _rank_sentence(task, segments),
            _unwatched_sentence(task, segments),
            _assumed_rank(task),
            _undefined_events(task, segments),
        ]
        found.append(unmet_switches(task, segments))
    return tuple(sentence for sentence in found if sentence)


def coarse_times(task: Task) -> str:
    """Whether times are so far from zero that they lie apart; the same for all runs of a task."""
    first, last = task.span
    if first == last:
        return "The span has no length, so that the motion is its start."
    apart = float(np.spacing(max(abs(first), abs(last))))
    relative = FIXED_RTOL if task.stepping is not None else task.rtol
    if apart <= relative * abs(last - first):
        return ""
    return (
        f"Times near t = {max(abs(first), abs(last)):.3g} lie {apart:.2g} apart, which is"
        f" {apart / abs(last - first):.1g} of the span: events and times asked for are met no"
        " finer. Count time from the start."
    )


def few_digits(task: Task) -> float:
    """Below this size symbols have too few digits."""
    return max(LEAST_STATE, FEW_DIGITS * _least_atol(task))


def _least_atol(task: Task) -> float:
    return 0.0 if task.stepping is not None else float(np.min(task.atol))


def _small_symbols(task: Task, segments: Sequence[Any]) -> str:
    """Warn if all symbols stay as small as the absolute tolerance, and so have few digits."""
    if not segments:
        return ""
    largest = max(float(np.max(np.abs(segment.step_y), initial=0.0)) for segment in segments)
    if 0.0 < largest < LEAST_STATE:
        return (
            f"No symbol was larger than {largest:.2g}: numbers that small lose their digits. Take"
            " larger units."
        )
    least = _least_atol(task)
    if not 0.0 < largest < few_digits(task):
        return ""
    return (
        f"No symbol was larger than {largest:.2g}, and the absolute tolerance is {least:.2g}: they"
        " have few digits. Pass a smaller atol, or take units in which they are of size one."
    )


def _undefined_events(task: Task, segments: Sequence[Any]) -> str:
    """An event whose value is not a number cannot be looked for there."""
    if not task.events or task.inputs or not segments:
        return ""
    import casadi as ca

    segment = segments[-1]
    kernel = segment.context.kernel
    values = kernel.lower([event.expression for event in task.events])
    function = ca.Function("events", kernel._inputs(), [values])
    for place in even_places(len(segment.step_t), POINTS):
        time, y = float(segment.step_t[place]), segment.step_y[place]
        found = np.asarray(function(time, y, task.parameters, np.zeros(0), np.zeros(0))).ravel()
        if np.isnan(found).any():
            name = task.events[int(np.argmax(np.isnan(found)))].name
            return f"The event `{name}` has no value at t = {time:.9g}, where it is not found."
    return ""


def stiffness(task: Task, segments: Sequence[Any], steps: int | None = None) -> str:
    """Whether explicit steps were short for the sake of stability: the fastest decay would allow
    longer ones, being over.

    The segments may be the last of a motion with so many steps.
    """
    count = sum(len(segment.step_t) - 1 for segment in segments) if steps is None else steps
    method = find_method(task.method)
    if not method.looks_inside or method.is_stiff or task.inputs or count < MANY_STEPS:
        return ""
    segment = max(segments, key=lambda s: len(s.step_t))
    places = np.linspace(0, len(segment.step_t) - 2, POINTS + 2).astype(int)[1:-1]
    # A few of them tell of most runs that they are not stiff.
    for some in (places[:: POINTS // 3], places):
        lengths = np.diff(segment.step_t)[some]
        points = zip(segment.step_t[some], segment.step_y[some], lengths, strict=True)
        if (
            np.median([decay_in_step(segment.context, float(t), y, float(h)) for t, y, h in points])
            < STIFF
        ):
            return ""
    return (
        f"The equations are stiff: most of the {count} steps were held short by stability, not by"
        " accuracy. Use an implicit method: radau5 or radau9, or gauss4 with a step."
    )


def decay_in_step(context: Context, t: float, y: Array, h: float) -> float:
    """The step times the rate of the fastest decay, by a power iteration; 0 if none stands out."""
    y = np.ascontiguousarray(y)
    rates, there = np.zeros(len(y) + 1), np.zeros(len(y) + 1)
    if context.evaluate(t, y, rates) > CONTRADICTORY:
        return 0.0
    size = 1e-7 * (float(np.max(np.abs(y))) or 1.0)
    direction, share, decay = rates[:-1] + 1e-3 * float(np.max(np.abs(rates[:-1]))), 0.0, 0.0
    for _ in range(ITERATIONS):
        length = float(np.linalg.norm(direction))
        if not 0.0 < length < np.inf:
            return 0.0
        direction = direction / length
        if context.evaluate(t, y + size * direction, there) > CONTRADICTORY:
            return 0.0
        image = (there[:-1] - rates[:-1]) / size
        decay, full = -float(direction @ image), float(np.linalg.norm(image))
        share, direction = decay / full if full else 0.0, image
    return decay * abs(h) if share > 0.7 else 0.0


def unmet_switches(task: Task, segments: Sequence[Any]) -> str:
    """Switches of the equations inside steps of methods that do not stop at them."""
    if not segments or find_method(task.method).looks_inside:
        return ""
    from .events.switching import passed_switches

    found = _unmet_times(task, segments) + [time for time, _ in passed_switches(segments)]
    if not found:
        return ""
    return (
        f"The equations switch, or have narrow pulses, {len(found)} time{'s' * (len(found) != 1)}"
        f" inside steps (first near t = {min(found):.6g}), where the method {task.method} does not"
        " stop: it is of low order there, and may have passed more of them. Use method dop853,"
        " which stops at each."
    )


def _unmet_times(task: Task, segments: Sequence[Any]) -> list[float]:
    """Times between steps of a fixed grid at which the equations switch or have a narrow pulse."""
    if task.stepping is None:
        return []
    from .events.stop_times import narrow_centres, stop_times

    kernel, step = segments[0].context.kernel, task.stepping.step
    stops = stop_times(kernel, task.parameters, task.span)
    switched = [0.5 * (stop.before + stop.after) for stop in stops if stop.before != stop.after]
    if task.stepping.adapt is None:
        numbers = (np.array(switched) - task.span[0]) / step
        switched = [
            time for time, k in zip(switched, numbers, strict=True) if abs(k - round(k)) > ON_GRID
        ]
    pulses = narrow_centres(kernel, task.parameters, task.span)
    return switched + [time for time, width in pulses if width < abs(step)]


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
        places = even_places(len(segment.step_t), count)
        times, rows = segment.step_t[places], segment.context.kernel.m
        for time, (status, rank, part) in zip(
            times.tolist(),
            segment.context.evaluate_points(times, segment.step_y[places]).tolist(),
            strict=True,
        ):
            if status > CONTRADICTORY:
                continue
            found.append((time, rows - int(rank) if rows else 0))
            if part < weakest[1]:
                weakest = (time, part)
    return Ranks(found, weakest)


def weak_pivot(task: Task) -> float:
    """Below this least pivot, rounding that it magnifies matters for the tolerance."""
    return float(np.finfo(float).eps) / (
        SHARE * (FIXED_RTOL if task.stepping is not None else task.rtol)
    )


def _rank_sentence(task: Task, segments: Sequence[Any]) -> str:
    if task.inputs:
        return ""
    found, (when, part) = ranks(segments)
    counts = [rows for _, rows in found]
    if counts and min(counts) != max(counts):
        t, rows = max(found, key=lambda pair: pair[1])
        return (
            f"The rank of the constraints changed along the motion: {rows} row{'s' * (rows != 1)}"
            f" depended on the others at t = {t:.9g} and not everywhere, so that the motion may be"
            " one of several."
        )
    if counts and counts[0]:
        return (
            f"{counts[0]} row{'s' * (counts[0] != 1)} of the constraints depended on the others"
            f" (with a part below {RANK_TOLERANCE:.0e}) and {'were' if counts[0] != 1 else 'was'}"
            " left out."
        )
    if 0 < part < weak_pivot(task):
        return (
            f"The equations are nearly singular (least pivot {part:.1g} at t = {when:.9g}):"
            f" accelerations and reactions may lose about {-np.log10(part):.0f} digits."
        )
    return ""


def _unwatched_sentence(task: Task, segments: Sequence[Any]) -> str:
    """Say that gradients were too many to be watched, and how short they became."""
    if not segments or not has_unwatched_rows(segments[0].context.kernel):
        return ""
    from .events.rank_watch import least_unwatched_row

    segment = segments[0]
    places = even_places(len(segment.step_t), POINTS)
    found = least_unwatched_row(
        segment.context.kernel, segment.step_t[places], segment.step_y[places], task.parameters
    )
    return (
        f"The gradients of {found.rows} constraints ({found.entries} entries) are too many to be"
        f" watched at each step: at {len(places)} points of the motion the least norm was"
        f" {found.part:.2g} of its largest value. It is not noticed between them if {found.name}."
    )


def _assumed_rank(task: Task) -> str:
    system = task.equations.system
    if "generic rank" not in system.cache:
        return ""
    from ..formulations.constraint_jacobian import rank_is_assumed

    if not rank_is_assumed(system):
        return ""
    return (
        "The constraints were taken to be independent because they are at generic states: no state"
        " on the constraints was found to decide it there."
    )
