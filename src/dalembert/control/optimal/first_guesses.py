r"""Ways from one place to another: first guesses of extremals, and the search from each of them.

Guesses are geodesics of the bi-invariant metric: for rotations every logarithm that turns planes by less than a full turn, for
vectors the two arcs of the great circle, elsewhere the chord seen from the tangent space and random directions beside it. Where
Newton's method fails from a guess it is led: by parameters from easy values to those wanted, or by the end, from where the
guess arrives to where it should.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import ModelError, RunError
from ...model.values import numbers_by_name
from ...typing import Values
from .arc_sensitivities import Arcs
from .group_problem import GroupProblem
from .rotations import Turn, turns
from .shooting import Boundary, Shot, damped_step, shoot

__all__ = ["continued", "guesses", "reach", "turn_name"]

#: The smallest step of a continuation from 0 to 1.
SMALLEST = 1 / 64


def guesses(problem: GroupProblem, given: Any, ways: int, seed: int, number: int = 0) -> list[tuple[str, Any]]:
    """Names and unknowns (d,) of the ways to be tried; those after the first round are random."""
    if given is not None:
        costates = np.asarray(given, dtype=float).ravel()
        if costates.size != len(problem.costate_index):
            raise ModelError("The guess needs all costates", seen=costates.size, remedy=f"give {len(problem.costate_index)}")
        return [("the given guess", problem.directions.T @ costates)]
    length = problem.span[1] - problem.span[0]
    moves: list[tuple[str, Any]]
    if number:
        moves = _chords(problem, ways + 1, seed + number, f"{number + 1}.")[1:]
    elif problem.is_rotation:
        moves = [
            (turn_name(turn), (problem.start @ turn.logarithm).ravel())
            for turn in turns(problem.start.T @ problem.end, max(1, ways))
        ]
    elif problem.start.shape[1] == 1:
        moves = _great_circles(problem.start.ravel(), problem.end.ravel(), seed)[: max(1, ways)]
    else:
        moves = _chords(problem, ways, seed)
    felt = problem.frame(problem.start_vector) @ problem.directions
    return [(name, damped_step(felt, -move / length, 1e-12)) for name, move in moves]


def _chords(problem: GroupProblem, ways: int, seed: int, label: str = "") -> list[tuple[str, Any]]:
    """The straight way to the end seen from the tangent space, and random ways of growing length."""
    chord = problem.end_vector - problem.start_vector
    tangent = problem.tangent(problem.start_vector)
    straight = tangent @ (tangent.T @ chord)
    size = float(np.linalg.norm(chord))
    scale = size / max(float(np.linalg.norm(straight)), 0.2 * size, 1e-300)
    random = np.random.default_rng(seed)
    found = [("along the chord", scale * straight)]
    for k in range(1, ways):
        aside = tangent @ random.normal(size=tangent.shape[1])
        mixed = scale * straight + 0.5 * k * size * aside / max(float(np.linalg.norm(aside)), 1e-300)
        found.append((f"random way {label}{k}", mixed))
    return found


def reach(problem: GroupProblem, unknowns: Any, easy: Values | None) -> Shot | None:
    """The best that Newton's method finds from a guess, led by continuation where it fails alone."""
    shot = _shoot(problem, problem.arcs, problem.boundary, unknowns)
    if shot is None or not shot.converged:
        led = _led_by_parameters(problem, unknowns, easy) if easy else _led_by_end(problem, unknowns)
        if led is not None and (shot is None or led.residual < shot.residual):
            shot = led
    return shot


def _shoot(problem: GroupProblem, arcs: Arcs, boundary: Boundary, unknowns: Any) -> Shot | None:
    try:
        return shoot(arcs, boundary, problem.span, unknowns)
    except RunError:
        return None


def _led_by_parameters(problem: GroupProblem, unknowns: Any, easy: Values) -> Shot | None:
    given = numbers_by_name(easy)
    strange = [name for name in given if name not in problem.table]
    if strange:
        raise ModelError(f"The flow has no parameter `{strange[0]}`", seen=", ".join(problem.table), remedy="name its own")

    def attempt(share: float, unknowns: Any) -> Shot | None:
        mixed = {name: (1 - share) * given.get(name, value) + share * value for name, value in problem.table.items()}
        return _shoot(problem, problem.arcs.with_parameters(mixed), problem.boundary, unknowns)

    return continued(attempt, unknowns)


def _led_by_end(problem: GroupProblem, unknowns: Any) -> Shot | None:
    """The end is moved from where the guess arrives to where it should: r = (1 - s) r_0."""
    try:
        arrived = problem.arcs.run(
            *problem.span, problem.boundary.base + problem.boundary.directions @ unknowns, problem.boundary.directions
        )
    except RunError:
        return None
    missed = problem.boundary.end(arrived.state)[0]

    def attempt(share: float, unknowns: Any) -> Shot | None:
        def end(state: Any) -> tuple[Any, Any]:
            values, derivatives = problem.boundary.end(state)
            return values - (1 - share) * missed, derivatives

        return _shoot(problem, problem.arcs, Boundary(problem.boundary.base, problem.boundary.directions, end), unknowns)

    return continued(attempt, unknowns)


def continued(attempt: Callable[[float, Any], Shot | None], unknowns: Any) -> Shot | None:
    """Follow a solution from share 0 to 1 with steps that are halved where they fail; None where the smallest fails."""
    done, step = 0.0, 0.25
    shot = attempt(0.0, unknowns)
    while shot is not None and shot.converged and done < 1.0:
        further = attempt(min(1.0, done + step), shot.unknowns)
        if further is not None and further.converged:
            done, shot, step = min(1.0, done + step), further, min(2 * step, 0.5)
        elif step <= SMALLEST:
            return None
        else:
            step /= 2
    return shot if done >= 1.0 else None


def turn_name(turn: Turn) -> str:
    """A way to turn, in words."""
    angles = ", ".join(f"{abs(angle):.4g}" for angle in turn.angles) or "0"
    if turn.is_principal and any(abs(angle) > np.pi - 1e-9 for angle in turn.angles):
        return f"one side of a half turn, by {angles}"
    return f"{'short' if turn.is_principal else 'long'} way, turning by {angles}"


def _great_circles(start: Any, end: Any, seed: int) -> list[tuple[str, Any]]:
    """The two ways along the great circle through two vectors of the same length, as moves of the first."""
    size = float(np.linalg.norm(start))
    one, other = start / size, end / size
    across = other - one * (one @ other)
    if np.linalg.norm(across) < 1e-10:
        across = np.random.default_rng(seed).normal(size=len(one))
        across -= one * (one @ across)
    across /= np.linalg.norm(across)
    angle = float(np.arctan2(other @ across, one @ other))
    return [
        (f"short way, angle {angle:.4g}", size * angle * across),
        (f"long way, angle {2 * np.pi - angle:.4g}", size * (angle - 2 * np.pi) * across),
    ]
