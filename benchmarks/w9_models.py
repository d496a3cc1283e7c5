"""The closed mechanisms of W9: rods between unit masses, in coordinates and as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

GRAVITY = 9.81
#: The angle of the cranks, and of the columns of a net, from the vertical; and the rate of it.
ANGLE, RATE = 0.3, 0.5


@dataclass(frozen=True)
class Rods:
    """Unit masses and rods.

    Attributes
    ----------
    places, speeds : arrays (points, dimensions)
    fixed : array (fixed points, dimensions)
    ends : array (rods, 2)
        Numbers of points; those of fixed points follow the others.
    """

    places: np.ndarray
    speeds: np.ndarray
    fixed: np.ndarray
    ends: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """Squares of the lengths, (rods,)."""
        every = np.vstack([self.places, self.fixed])
        return np.sum((every[self.ends[:, 0]] - every[self.ends[:, 1]]) ** 2, 1)

    @property
    def state(self) -> np.ndarray:
        return np.concatenate([self.places.ravel(), self.speeds.ravel()])

    def accelerations(self) -> np.ndarray:
        """The accelerations by a dense solve, (points * dimensions,); rods may be redundant."""
        count, size = self.places.shape
        every, moving = np.vstack([self.places, self.fixed]), len(self.ends)
        speeds = np.vstack([self.speeds, np.zeros_like(self.fixed)])
        first, second = self.ends.T
        rows = np.zeros((moving, len(every), size))
        rows[np.arange(moving), first] += every[first] - every[second]
        rows[np.arange(moving), second] -= every[first] - every[second]
        matrix = rows[:, :count].reshape(moving, -1)
        right = -np.sum((speeds[first] - speeds[second]) ** 2, 1)
        free = np.zeros((count, size))
        free[:, -1] = -GRAVITY
        pull = np.linalg.lstsq(matrix @ matrix.T, right - matrix @ free.ravel(), rcond=1e-11)[0]
        return free.ravel() + matrix.T @ pull


def four_bars(loops: int) -> Rods:
    """Parallel cranks with masses at their tips, joined by couplers: all of unit length."""
    feet = np.stack([np.arange(loops + 1.0), np.zeros(loops + 1)], 1)
    places = feet + np.array([np.sin(ANGLE), -np.cos(ANGLE)])
    speeds = np.tile([RATE * np.cos(ANGLE), RATE * np.sin(ANGLE)], (loops + 1, 1))
    tips = np.arange(loops + 1)
    cranks = np.stack([tips, loops + 1 + tips], 1)
    couplers = np.stack([tips[1:], tips[:-1]], 1)
    ends = np.empty((2 * loops + 1, 2), int)
    ends[0::2], ends[1::2] = cranks, couplers
    return Rods(places, speeds, feet, ends)


def braced_four_bars(loops: int) -> Rods:
    """Four-bars with a rod from the first tip to the last, which follows from the others."""
    rods = four_bars(loops)
    return Rods(rods.places, rods.speeds, rods.fixed, np.vstack([rods.ends, [loops, 0]]))


def net(side: int) -> Rods:
    """A net of side x side masses in space that hangs by two corners and is bent along its rows."""
    grid = np.arange(side * side).reshape(side, side)
    down = np.cumsum([0.0, *(np.cos(ANGLE + 0.1 * k) for k in range(side - 1))])
    along = np.cumsum([0.0, *(np.sin(ANGLE + 0.1 * k) for k in range(side - 1))])
    places = np.array([(along[i], float(j), -down[i]) for i in range(side) for j in range(side)])
    fixed = places[[0, side - 1]] + [0.0, 0.0, 1.0]
    ends = [
        *zip(grid[1:].ravel(), grid[:-1].ravel(), strict=True),
        *zip(grid[:, 1:].ravel(), grid[:, :-1].ravel(), strict=True),
        (0, side * side),
        (side - 1, side * side + 1),
    ]
    return Rods(places, np.zeros_like(places), fixed, np.array(ends))


def stated(rods: Rods) -> Any:
    """The system in Cartesian coordinates, from its energies and rods."""
    import sympy

    import dalembert as da

    size = rods.places.shape[1]
    q = da.coordinates(
        " ".join(f"{'xyz'[c]}{k}" for k in range(len(rods.places)) for c in range(size))
    )
    every = [*np.reshape(np.array(q, object), (-1, size)), *rods.fixed.tolist()]
    constraints = [
        da.holonomic(
            sympy.Add(*[(a - b) ** 2 for a, b in zip(every[i], every[j], strict=True)]) - length,
            name=f"rod{k}",
        )
        for k, ((i, j), length) in enumerate(zip(rods.ends, rods.lengths.tolist(), strict=True))
    ]
    kinetic = sympy.Add(*[c.dot**2 / 2 for c in q])
    potential = GRAVITY * sympy.Add(*q[size - 1 :: size])
    return da.System(q, kinetic=kinetic, potential=potential, constraints=constraints)


def coupler_chain(loops: int) -> tuple[Any, np.ndarray]:
    """Four-bars in the angles of their couplers, a chain held by the cranks; and a state."""
    import sympy

    import dalembert as da

    x, y = da.coordinates("x y")
    angles = da.coordinates(" ".join(f"a{k}" for k in range(loops)))
    places, speeds = [(x, y)], [(x.dot, y.dot)]
    for a in angles:
        (px, py), (vx, vy) = places[-1], speeds[-1]
        places.append((px + sympy.cos(a), py + sympy.sin(a)))
        speeds.append((vx - sympy.sin(a) * a.dot, vy + sympy.cos(a) * a.dot))
    kinetic = sympy.Add(*[(vx**2 + vy**2) / 2 for vx, vy in speeds])
    potential = GRAVITY * sympy.Add(*[py for _, py in places])
    cranks = [
        da.holonomic((px - k) ** 2 + py**2 - 1, name=f"crank{k}")
        for k, (px, py) in enumerate(places)
    ]
    system = da.System([x, y, *angles], kinetic=kinetic, potential=potential, constraints=cranks)
    first, rest = four_bars(loops), np.zeros(loops)
    return system, np.concatenate([first.places[0], rest, first.speeds[0], rest])
