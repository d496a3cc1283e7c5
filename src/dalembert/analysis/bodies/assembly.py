"""Consistent configurations: assembling loops, and inverse kinematics.

Newton's steps of least norm on the residuals, with the one rank decision of the kernel, halved
where they do not reduce the residual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError, StartError
from ...model.bodies.body import Place
from ...model.bodies.body_starts import JointStart
from ...model.bodies.mechanism import Coordinates, Mechanism
from ...model.bodies.vectors import Rotated, as_rotation
from ...runtime.gauss.constrained_solve import rank, solve_rows
from .body_model import BodyModel

if TYPE_CHECKING:
    from ...typing import Array, BySymbol, Values

__all__ = ["Assembly", "assemble", "inverse_kinematics"]

STEPS, HALVINGS, CLOSED = 100, 30, 1e-12
#: Configurations that differ by less are one branch.
SAME = 1e-6


@dataclass(frozen=True)
class Assembly:
    """A configuration that obeys all holonomic constraints.

    Attributes
    ----------
    values : dict
        By coordinate; a start of `simulate`.
    residual : float
        The largest residual that is left.
    freedom : int
        In how many directions the coordinates that are not held can still move.
    redundant : int
        How many constraints depend on the others here.
    branches : tuple of dict
        Other configurations that further guesses led to.

    >>> Assembly({"q": 0.5}, residual=0.0, freedom=1, redundant=0).values["q"]
    0.5
    """

    values: dict[str, float]
    residual: float
    freedom: int
    redundant: int
    branches: tuple[dict[str, float], ...] = ()


def assemble(
    mechanism: Mechanism,
    hold: BySymbol[JointStart] | None = None,
    guess: BySymbol[JointStart] | None = None,
    *,
    parameters: Values | None = None,
    coordinates: Coordinates = "joint",
    search: int = 0,
) -> Assembly:
    """Find a configuration in which all loops are closed.

    Parameters
    ----------
    hold : mapping of coordinate to number
        Values that are kept; a rotation for a free or spherical joint, as in `Mechanism.start`.
    guess : mapping of coordinate to number
        Where the search begins for the others (home where it says nothing); it decides the branch.
    search : int
        How many further guesses are tried, to list other branches.

    Raises
    ------
    StartError
        Where there is no such configuration near the guess; it names the constraint that stays
        open, and says where too much is held.

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> left, right = (b.Body(name, mass=1, com=(0.5, 0, 0)) for name in ("left", "right"))
    >>> triangle = b.Mechanism([
    ...     b.revolute("p", b.ground(), left),
    ...     b.revolute("q", left, right, at=(1, 0, 0)),
    ...     b.spherical("end", right, b.ground(), at=(1, 0, 0), child_at=(1, 0, 0)),
    ... ])
    >>> found = assemble(triangle, guess={"p": 1.0, "q": -2.0})
    >>> {name: round(value, 6) for name, value in found.values.items()}
    {'p': 1.047198, 'q': -2.094395}
    """
    model = BodyModel(mechanism, parameters, coordinates)
    holding = mechanism.start(hold or {}, coordinates)
    held = model.array({**mechanism.start(guess or {}, coordinates), **holding})
    kept = set(holding)
    free = [k for k, name in enumerate(model.names) if name not in kept]

    def conditions(q: Array) -> tuple[Array, Array]:
        residual, rows = model.residual(q)
        return residual, rows[:, free]

    found = _newton(conditions, held, free)
    residual, rows = model.residual(found)
    if residual.size and abs(residual).max() > 1e-9:
        raise _open(model, found, kept, free)
    others = _branches(conditions, held, free, found, search)
    all_rank = rank(rows).rank if rows.size else 0
    free_rank = rank(rows[:, free]).rank if rows.size and free else 0
    return Assembly(
        dict(zip(model.names, map(float, found), strict=True)),
        float(abs(residual).max()) if residual.size else 0.0,
        len(free) - free_rank,
        len(rows) - all_rank,
        tuple(dict(zip(model.names, map(float, other), strict=True)) for other in others),
    )


def _open(model: BodyModel, q: Array, kept: set[str], free: Sequence[int]) -> StartError:
    residual, rows = model.residual(q)
    names = [c.name for c in model.system.bilateral if c.is_position_level]
    worst = int(np.argmax(abs(residual)))
    is_over = bool(kept) and rank(rows).rank > (rank(rows[:, free]).rank if free else 0)
    remedy = (
        f"hold less than {', '.join(sorted(kept))}, or give values that fit together"
        if is_over
        else "begin nearer to a closed configuration with guess={...}"
    )
    return StartError(
        f"The constraint `{names[worst]}` cannot be closed"
        + (": what is held is over-determined" if is_over else ""),
        seen=f"residual {abs(residual[worst]):.2g}",
        remedy=remedy,
    )


def _newton(
    conditions: Callable[[Array], tuple[Array, Array]], start: Array, free: Sequence[int]
) -> Array:
    q = start.copy()
    residual, rows = conditions(q)
    size = float(np.linalg.norm(residual))
    for _ in range(STEPS):
        if not residual.size or not free or abs(residual).max() < CLOSED:
            break
        step = solve_rows(rows, -residual)
        for halving in range(HALVINGS):
            trial = q.copy()
            trial[list(free)] += step * 0.5**halving
            value, matrix = conditions(trial)
            if np.linalg.norm(value) < size:
                break
        else:
            break
        q, residual, rows = trial, value, matrix
        size = float(np.linalg.norm(residual))
    return q


def _branches(
    conditions: Callable[[Array], tuple[Array, Array]],
    start: Array,
    free: Sequence[int],
    found: Array,
    search: int,
) -> list[Array]:
    rng, kept = np.random.default_rng(0), [found]
    for _ in range(search):
        trial = start.copy()
        trial[list(free)] += rng.uniform(-np.pi, np.pi, len(free))
        other = _newton(conditions, trial, free)
        residual, _ = conditions(other)
        if residual.size and abs(residual).max() > 1e-9:
            continue
        if all(_apart(other, one) > SAME for one in kept):
            kept.append(other)
    return kept[1:]


def _apart(first: Array, second: Array) -> float:
    """How far configurations differ, angles modulo whole turns."""
    difference = np.abs(first - second)
    return float(np.max(np.minimum(difference, np.abs(np.sin(difference / 2)))))


def inverse_kinematics(
    mechanism: Mechanism,
    place: Place,
    position: Sequence[float] | None = None,
    rotation: Rotated = None,
    *,
    guess: BySymbol[JointStart] | None = None,
    hold: BySymbol[JointStart] | None = None,
    parameters: Values | None = None,
) -> dict[str, float]:
    """Coordinates for which a frame has a given position or rotation, or both, loops closed.

    Raises
    ------
    StartError
        Where the frame cannot get there from the guess; it says how near it came.

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> upper, lower = b.Body("upper"), b.Body("lower")
    >>> arm = b.Mechanism([b.revolute("p", b.ground(), upper),
    ...                    b.revolute("q", upper, lower, at=(1, 0, 0))])
    >>> tip, guess = lower.point((1, 0, 0)), {"p": 0.5, "q": 1.0}
    >>> found = inverse_kinematics(arm, tip, (0, 2**0.5, 0), guess=guess)
    >>> {name: round(value, 6) for name, value in found.items()}
    {'p': 0.785398, 'q': 1.570796}
    """
    if position is None and rotation is None:
        raise ModelError("A position or a rotation is needed", remedy="pass position=(x, y, z)")
    model = BodyModel(mechanism, parameters)
    holding = mechanism.start(hold or {})
    start = model.array({**mechanism.start(guess or {}), **holding})
    kept = set(holding)
    free = [k for k, name in enumerate(model.names) if name not in kept]
    target = np.array(as_rotation(rotation).rows, dtype=float) if rotation is not None else None

    def conditions(q: Array) -> tuple[Array, Array]:
        pose, jacobian = model.pose(place, q), model.jacobian(place, q)
        residual, rows = model.residual(q)
        values, matrices = [residual], [rows]
        if position is not None:
            values.append(pose.position - np.asarray(position, dtype=float))
            matrices.append(jacobian[3:])
        if target is not None:
            axes = pose.rotation
            values.append(np.cross(target.T, axes.T).sum(axis=0) / 2)
            turn = (np.trace(target.T @ axes) * np.eye(3) - axes @ target.T) / 2
            matrices.append(turn @ jacobian[:3])
        return np.concatenate(values), np.vstack(matrices)[:, free]

    found = _newton(conditions, start, free)
    left, _ = conditions(found)
    if abs(left).max() > 1e-9:
        raise StartError(
            "The frame cannot get there",
            seen=f"it comes within {abs(left).max():.3g}",
            remedy="ask for a pose within reach, or begin nearer to it with guess={...}",
        )
    return dict(zip(model.names, map(float, found), strict=True))
