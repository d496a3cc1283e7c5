r"""Ways from one place to another: first guesses of extremals, and the search from each of them.

Guesses are geodesics of the bi-invariant metric: for rotations every logarithm that turns planes by
less than a full turn, for vectors the two arcs of the great circle, elsewhere the chord seen from
the tangent space and random directions beside it. Where Newton's method fails from a guess it is
led: by parameters from easy values to those wanted, or by the end, from where the guess arrives to
where it should.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import ModelError, RunError
from ...model.values import numbers_by_name
from ...typing import Array, ArrayLike, Values
from .arc_sensitivities import Arcs
from .group_problem import GroupProblem
from .rotations import RotationLogarithm, logarithms
from .shooting import Boundary, Shot, damped_step, shoot

__all__ = ["approached", "continued", "guesses", "reach", "turn_name"]

#: The smallest step of a continuation from 0 to 1.
SMALLEST = 1 / 64


def guesses(
    problem: GroupProblem, given: ArrayLike | None, ways: int, seed: int, number: int = 0
) -> list[tuple[str, Array]]:
    """Names and unknowns (d,) of the ways to be tried; those after the first round are random."""
    if given is not None:
        costates = np.asarray(given, dtype=float).ravel()
        if costates.size != len(problem.costate_index):
            remedy = f"give {len(problem.costate_index)}"
            raise ModelError("The guess needs all costates", costates.size, remedy)
        return [("the given guess", problem.directions.T @ costates)]
    length = problem.span[1] - problem.span[0]
    moves: list[tuple[str, Array]]
    if number:
        moves = _chords(problem, ways + 1, seed + number, f"{number + 1}.")[1:]
    elif problem.is_rotation:
        turns = logarithms(problem.start.T @ problem.end, max(1, ways))
        moves = [(turn_name(turn), (problem.start @ turn.logarithm).ravel()) for turn in turns]
    elif problem.start.shape[1] == 1:
        moves = _great_circles(problem.start.ravel(), problem.end.ravel(), seed)[: max(1, ways)]
    else:
        moves = _chords(problem, ways, seed)
    felt = problem.frame(problem.start_vector) @ problem.directions
    return [(name, damped_step(felt, -move / length, 1e-12)) for name, move in moves]


def _chords(
    problem: GroupProblem, ways: int, seed: int, label: str = ""
) -> list[tuple[str, Array]]:
    """The chord seen from the tangent space, and random ways of growing length."""
    chord = problem.end_vector - problem.start_vector
    tangent = problem.tangent(problem.start_vector)
    straight = tangent @ (tangent.T @ chord)
    size = float(np.linalg.norm(chord))
    scale = size / max(float(np.linalg.norm(straight)), 0.2 * size, 1e-300)
    random = np.random.default_rng(seed)
    found = [("along the chord", scale * straight)]
    for k in range(1, ways):
        aside = tangent @ random.normal(size=tangent.shape[1])
        share = 0.5 * k * size * aside / max(float(np.linalg.norm(aside)), 1e-300)
        mixed = scale * straight + share
        found.append((f"random way {label}{k}", mixed))
    return found


def reach(problem: GroupProblem, unknowns: Array, easy: Values | None) -> Shot | None:
    """The best that Newton's method finds from a guess, by continuation where it fails."""
    shot = _shoot(problem, problem.arcs, problem.boundary, unknowns)
    if shot is None or not shot.converged:
        led = _led_by_parameters(problem, unknowns, easy) if easy else None
        if not easy:
            led = approached(problem.arcs, problem.boundary, problem.span, unknowns)
        if led is not None and (shot is None or led.residual < shot.residual):
            shot = led
    return shot


def _shoot(problem: GroupProblem, arcs: Arcs, boundary: Boundary, unknowns: Array) -> Shot | None:
    try:
        return shoot(arcs, boundary, problem.span, unknowns)
    except RunError:  # this guess leads nowhere; others follow
        return None


def _led_by_parameters(problem: GroupProblem, unknowns: Array, easy: Values) -> Shot | None:
    given = numbers_by_name(easy)
    strange = [name for name in given if name not in problem.table]
    if strange:
        what = f"The flow has no parameter `{strange[0]}`"
        raise ModelError(what, ", ".join(problem.table), "name its own")

    def attempt(share: float, unknowns: Array) -> Shot | None:
        mixed = {
            name: (1 - share) * given.get(name, x) + share * x for name, x in problem.table.items()
        }
        return _shoot(problem, problem.arcs.with_parameters(mixed), problem.boundary, unknowns)

    return continued(attempt, unknowns)


def approached(
    arcs: Arcs, boundary: Boundary, span: tuple[float, float], unknowns: Array
) -> Shot | None:
    """Move the end from where the guess arrives to where it should: r = (1 - s) r_0."""
    base, directions = boundary.base, boundary.directions
    try:
        arrived = arcs.run(*span, base + directions @ unknowns, directions)
    except RunError:  # the arc of the guess cannot be followed
        return None
    missed = boundary.end(arrived.state)[0]

    def attempt(share: float, unknowns: Array) -> Shot | None:
        def end(state: Array) -> tuple[Array, Array]:
            values, derivatives = boundary.end(state)
            return values - (1 - share) * missed, derivatives

        try:
            return shoot(arcs, Boundary(base, directions, end), span, unknowns)
        except RunError:  # the way to the end cannot be followed
            return None

    return continued(attempt, unknowns)


def continued(attempt: Callable[[float, Array], Shot | None], unknowns: Array) -> Shot | None:
    """Follow a solution from share 0 to 1, halving steps that fail; None if the smallest fails."""
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


def turn_name(turn: RotationLogarithm) -> str:
    """A way to turn, in words."""
    angles = ", ".join(f"{abs(angle):.4g}" for angle in turn.angles) or "0"
    if turn.is_principal and any(abs(angle) > np.pi - 1e-9 for angle in turn.angles):
        return f"one side of a half turn, by {angles}"
    return f"{'short' if turn.is_principal else 'long'} way, turning by {angles}"


def _great_circles(start: Array, end: Array, seed: int) -> list[tuple[str, Array]]:
    """The two ways along the great circle through two vectors, as moves of the first."""
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
