"""The spherical double pendulum of W5: two unit masses on two unit rods, in Cartesian
coordinates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

GRAVITY, STEP = 9.81, 0.01
_FIRST = np.array([math.sin(1.0), 0.0, -math.cos(1.0)])
_SECOND = _FIRST + np.array([0.0, math.sin(0.5), -math.cos(0.5)])
START = np.concatenate([_FIRST, _SECOND, [0.0, 0.5, 0.0], [0.5, 0.5, 0.0]])
#: Positions after 100 steps, by a Taylor method to rounding.
SHORT = 100


def energy(states: Any) -> Any:
    """T + V of states (k, 12)."""
    return 0.5 * np.sum(states[..., 6:] ** 2, -1) + GRAVITY * (states[..., 2] + states[..., 5])


def energy_error(states: Any) -> float:
    """The largest change of the energy, relative to that above the lowest state."""
    return float(np.max(np.abs(energy(states) - energy(START))) / (energy(START) + 3 * GRAVITY))


def constraint_error(states: Any) -> float:
    """The largest change of the lengths of the rods."""
    first, second = states[..., :3], states[..., 3:6] - states[..., :3]
    return float(max(np.max(np.abs(np.linalg.norm(rod, axis=-1) - 1)) for rod in (first, second)))


def energy_derivative(states: Any) -> float:
    """The drift of the energy over the whole run by a straight line through it, relative to that
    above the lowest state.
    """
    times = np.linspace(0, 1, len(states))
    return float(np.polyfit(times, energy(states), 1)[0] / (energy(START) + 3 * GRAVITY))
