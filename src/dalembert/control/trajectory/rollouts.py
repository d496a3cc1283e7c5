"""A guess from sampling: inputs drawn at random are simulated, and the best motions are kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ...errors import RunError
from ...typing import Array
from .guesses import Course, first_course, on_mesh
from .nonlinear_program import Unknowns
from .polynomials import input_values
from .problem_statement import Range, Statement
from .replay import replay
from .schemes import find_scheme

__all__ = ["best_rollouts"]

#: Motions that are simulated for one that is kept, and at least so many.
FOR_ONE, LEAST = 16, 64
#: Intervals of an input, which is constant on each, and the tolerance of the motions.
INTERVALS, ACCURACY = 24, 1e-6


@dataclass(frozen=True, eq=False)
class _Rollout:
    """A simulated motion with its inputs; the merit is its distance from what is asked for."""

    merit: float
    course: Course


def best_rollouts(statement: Statement, kept: int, seed: int) -> list[Course]:
    """The courses of the motions that come nearest to the end and to the bounds, best first.

    Each input is constant for a few random stretches, within its bounds (within 1 where it has
    none), and free end times are drawn within theirs.
    """
    random = np.random.default_rng(seed)
    scheme = find_scheme("gauss2")
    edges = np.linspace(0.0, 1.0, INTERVALS + 1)
    found = []
    for _ in range(max(LEAST, FOR_ONE * kept)):
        line = first_course(statement, None)
        last = _drawn(statement.times[1], line.times[1], random)
        times = (line.times[0], max(last, line.times[0] + 1e-3))
        inputs = _random_inputs(statement, line, edges, random)
        course = Course(times, line.parameters, line.states, partial(_held, edges, inputs))
        rollout = _simulated(statement, on_mesh(statement, scheme, edges, course))
        if rollout is not None:
            found.append(rollout)
    if not found:
        raise RunError(
            "No motion with random inputs could be simulated",
            f"{max(LEAST, FOR_ONE * kept)} were tried",
            "give a guess by symbol, or tighten the bounds of inputs and of the end time",
        )
    found.sort(key=lambda each: each.merit)
    return [each.course for each in found[:kept]]


def _drawn(own: Range, usual: float, random: np.random.Generator) -> float:
    if own.is_fixed:
        return own.low
    return own.clip(usual * float(np.exp(0.4 * random.normal())))


def _random_inputs(
    statement: Statement, line: Course, edges: Array, random: np.random.Generator
) -> Array:
    """Values (N, m) that change at a few random places."""
    count = int(random.integers(2, INTERVALS // 2))
    places = np.sort(random.uniform(size=count - 1))
    rows = np.searchsorted(places, (edges[:-1] + edges[1:]) / 2)
    middle = line.inputs(np.zeros(1))[0]
    low = np.array([o.low if np.isfinite(o.low) else -1.0 for o in statement.inputs])
    high = np.array([o.high if np.isfinite(o.high) else 1.0 for o in statement.inputs])
    drawn = middle + random.uniform() * (random.uniform(low, high, (count, len(low))) - middle)
    return np.asarray(np.clip(drawn, low, high)[rows], dtype=float)


def _held(edges: Array, values: Array, s: Array) -> Array:
    found: Array = values[np.clip(np.searchsorted(edges, s, side="right") - 1, 0, len(values) - 1)]
    return found


def _simulated(statement: Statement, unknowns: Unknowns) -> _Rollout | None:
    """The motion of some inputs; None where it does not reach the end time."""
    again = replay(statement, unknowns, ACCURACY)
    motion = again.motion
    if motion is None or again.integrals is None:
        return None
    states = np.stack([motion[s.name] for s in statement.dynamics.state], axis=1)
    parts = (motion.t - motion.t[0]) / (motion.t[-1] - motion.t[0])
    missed = [
        max(own.low - value, value - own.high, 0.0)
        for own, value in zip(statement.end, states[-1], strict=True)
    ]
    merit = float(np.linalg.norm(missed)) + again.violation
    # Among motions that meet everything the cheapest is best.
    merit += 1e-6 * float(np.arctan(again.cost)) if np.isfinite(again.cost) else 1.0
    return _Rollout(
        merit,
        Course(
            unknowns.times, unknowns.parameters, partial(_columns, parts, states),
            partial(input_values, unknowns),
        ),
    )  # fmt: skip


def _columns(parts: Array, states: Array, s: Array) -> Array:
    return np.stack([np.interp(s, parts, column) for column in states.T], axis=1)
