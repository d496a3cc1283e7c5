"""When a motion comes back: distances to its start, closest returns, periods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np
import sympy

from ...errors import ModelError
from ...model.symbols import Coordinate
from ...typing import ArrayLike
from ..motion_samples import Array

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["Return", "closest_return", "period", "return_distance", "section_through_start"]


@dataclass(frozen=True)
class Return:
    """A time at which a motion is near its start, or near the mirror image of it, and how near."""

    time: float
    distance: float


@overload
def return_distance(motion: Motion, times: float, mirror: Sequence[str] = ...) -> float: ...
@overload
def return_distance(
    motion: Motion, times: Array | Sequence[float], mirror: Sequence[str] = ...
) -> Array: ...
def return_distance(motion: Motion, times: ArrayLike, mirror: Sequence[str] = ()) -> float | Array:
    """Euclidean distance of the state at `times` from the state at the start.

    Parameters
    ----------
    times : float or array
    mirror : sequence of names
        Quantities of the state whose sign is changed in the start: the distance from its mirror
        image.

    Returns
    -------
    float or array, as `times`
    """
    at = np.atleast_1d(np.asarray(times, dtype=float))
    total: Array = np.zeros(at.shape)
    pairs = zip(motion.state, motion.sol(at), motion.sol(motion.t[:1]), strict=True)
    for symbol, now, start in pairs:
        total += (now - (-start if symbol.name in mirror else start)) ** 2
    distance = np.sqrt(total)
    return float(distance[0]) if np.ndim(times) == 0 else distance


def closest_return(
    motion: Motion, near: float, within: float = 1.0, mirror: Sequence[str] = ()
) -> Return:
    """The closest return to the start (or its mirror image) within a distance of time `near`."""
    from scipy.optimize import minimize_scalar

    low, high = max(near - within, float(motion.t[0])), min(near + within, float(motion.t[-1]))
    if low >= high:
        end = f"it ends at {float(motion.t[-1]):g}"
        raise ModelError(
            f"The motion does not reach the time {near}", end, "simulate a longer span"
        )
    grid = np.linspace(low, high, 2001)
    best = int(np.argmin(return_distance(motion, grid, mirror)))
    around = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]

    def distance(time: float) -> float:
        return return_distance(motion, float(time), mirror)

    options = {"xatol": 1e-10}
    found = minimize_scalar(distance, bounds=around, method="bounded", options=options)
    return Return(float(found.x), float(found.fun))


def section_through_start(
    coordinates: Sequence[Coordinate], start: Mapping[str, float]
) -> sympy.Expr:
    """The plane through the start across its velocity (Poincare's section), which vanishes on it.

    Parameters
    ----------
    coordinates : sequence of Coordinate
    start : mapping of name to float
        With the values of coordinates and velocities.
    """
    plane: sympy.Expr = sum(start[q.dot.name] * (q - start[q.name]) for q in coordinates)
    return plane


def period(motion: Motion, tolerance: float = 1e-6) -> Return:
    """The first event after the start at which the whole state is back, within `tolerance`.

    Raises
    ------
    ModelError
        Where no event is a return: the motion is too short, not periodic, or was simulated without
        events.
    """
    found = [np.asarray(times, dtype=float) for times in motion.t_events or ()]
    times = np.sort(np.concatenate(found or [np.empty(0)]))
    for time in times[np.abs(times - float(motion.t[0])) > 1e-9]:
        distance = return_distance(motion, float(time))
        if distance < tolerance:
            return Return(float(time) - float(motion.t[0]), distance)
    raise ModelError(
        "The motion does not return to its start at any of its events",
        f"{times.size} events",
        "simulate longer, with events=[event(section_through_start(...), direction=1)]",
    )
