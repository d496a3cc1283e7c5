"""First guesses of the phases of a trajectory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from ...integrate.motion import Motion
from ...model.labels import labelled
from ...model.symbols import name_of, t
from .guesses import Course, Guess, first_course
from .phase_statement import Phase
from .problem_statement import FreeSpan, Range, Statement, read_range

__all__ = ["guessed_times", "phase_course"]


def guessed_times(
    statements: Sequence[Statement], span: FreeSpan, guess: Guess | None
) -> list[float]:
    """Times of the ends of phases: their durations, stretched to the span where it is given."""
    first, last = statements[0].times[0], statements[-1].times[1]
    begin = first.clip(0.0)
    widths = []
    for own in statements:
        low, high = own.duration
        widths.append((low + high) / 2 if np.isfinite(high) else max(2 * low, 1.0))
    total = begin + sum(widths)
    if isinstance(guess, Mapping):
        given = {name_of(key): value for key, value in guess.items()}.get("t")
        total = float(given) if given is not None else total
    total = last.clip(total)
    factor = (total - begin) / sum(widths)
    return [begin, *(begin + factor * np.cumsum(widths))]


def phase_course(
    statement: Statement, phase: Phase, guess: Guess | None, times: Sequence[float], k: int,
    start: Any, end: Any,
) -> Course:  # fmt: skip
    """The course of a phase: its own guess, that of the whole, lines between the ends."""
    names = {s.name for s in (*statement.dynamics.state, *statement.dynamics.inputs)}
    names |= {s.name for s in statement.dynamics.parameters}
    table: dict[Any, Any] = _lines(start, end, times)
    for given in (guess, phase.guess):
        table |= _by_time(given, times[0], times[-1])
    table = {name: value for name, value in table.items() if name in names}
    fixed = tuple(Range(float(time), float(time)) for time in times[k : k + 2])
    return first_course(replace(statement, times=(fixed[0], fixed[1])), table)


def _by_time(given: Any, first: float, last: float) -> dict[str, Any]:
    """A guess by name, as functions of the time of the whole trajectory."""
    if given is None:
        return {}
    motion = given if isinstance(given, Motion) else getattr(given, "motion", None)
    if isinstance(motion, Motion):
        part = (motion.t - motion.t[0]) / (motion.t[-1] - motion.t[0])
        table = {s.name: motion[s.name] for s in motion.state}
        return {n: _interpolated(first + part * (last - first), v) for n, v in table.items()}
    found = {}
    for key, value in dict(labelled(given)).items():
        if isinstance(value, (list, tuple, np.ndarray)):
            value = _interpolated(np.linspace(first, last, len(value)), np.asarray(value))
        found[name_of(key)] = value
    return found


def _interpolated(times: Any, values: Any) -> Any:
    return lambda time: float(np.interp(time, times, values))


def _lines(start: Any, end: Any, times: Sequence[float]) -> dict[str, Any]:
    """Lines of symbols that are given at both ends."""
    ends = [
        {name_of(k): v for k, v in dict(labelled(each) or {}).items() if _is_symbol(k)}
        for each in (start, end)
    ]
    found = {}
    for name in ends[0]:
        if name in ends[1]:
            pair = [read_range(each[name], name) for each in ends]
            if all(own.is_fixed for own in pair):
                part = (t - times[0]) / (times[-1] - times[0])
                found[name] = pair[0].low + (pair[1].low - pair[0].low) * part
    return found


def _is_symbol(key: Any) -> bool:
    return isinstance(key, (str, sympy.Symbol))
