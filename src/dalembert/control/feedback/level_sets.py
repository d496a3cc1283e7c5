"""The largest sublevel set of a controlled energy: an estimate of the region of attraction.

E~ = g~ q_dot q_dot / 2 + U~ does not grow along the closed loop, and where g~ is definite E~ < c
keeps q in {U~ < c}. So the states with E~ < c whose q lie in the component of {U~ < c} around the
equilibrium stay there, if g~ is definite on it and it is bounded. The largest such c is found on a
grid of configurations, flooded from the equilibrium in the order of U~ until it meets the edge of
definiteness, or of a box. It is an estimate: between the points of the grid nothing is proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...typing import Array, BoolArray
from .shaped import Shaped

__all__ = ["LevelSet", "largest_level_set"]

#: Points of the grid along each coordinate, by the number of coordinates.
POINTS = {1: 2001, 2: 241, 3: 49}
#: The same while the grid is enlarged.
COARSE = {1: 501, 2: 81, 3: 25}
#: The part of the level that is kept; how often a grid is enlarged, and made finer.
KEPT, ENLARGED, REFINED = 0.97, 16, 3
#: The first half-width of the grid, and how far unactuated coordinates may go.
FIRST, TURN = 0.05, np.pi
#: A set that shrinks by more than this at a slightly lower level was connected to others by a pass.
PASS = 0.8
DEFINITE, BOX = "the edge of the region where g~ is definite", "the edge of the box"
SADDLE = "a saddle of U~, beyond which it falls to other places"


@dataclass(frozen=True, eq=False)
class LevelSet:
    """States from which the closed loop is expected to converge.

    Attributes
    ----------
    level : float
        c: |E~| < c.
    bounds : dict of coordinate name to (low, high)
        Of the component of {U~ < c}.
    limited_by : str
        What stopped the search.
    points : int
        Of the grid, inside the component.
    other_minima : int
        Points of the component, besides the equilibrium, where U~ is least among their neighbours.
    """

    level: float
    bounds: dict[str, tuple[float, float]]
    limited_by: str
    points: int
    other_minima: int
    _surface: _Surface = field(repr=False)
    _flood: _Flood = field(repr=False)

    def contains(self, state: Mapping[str, float]) -> bool:
        """Whether a state is in the set: E~ below the level, q beside a point of the component."""
        surface, axes, inside = self._surface, self._flood.axes, self._flood.inside
        q = np.array([state[x.name] for x in surface.here.coordinates])
        z = surface.to_z @ (q - surface.origin)
        if any(abs(x) > axis[-1] for x, axis in zip(z, axes, strict=True)):
            return False
        near = []
        for x, axis in zip(z, axes, strict=True):
            k = int(np.argmin(np.abs(axis - x)))
            near.append(range(max(0, k - 1), min(len(axis), k + 2)))
        is_inside = any(inside[place] for place in product(*near))
        return 0 <= surface.energy(state) < self.level and is_inside

    def energy(self, state: Mapping[str, float]) -> float:
        """|E~| of a state by name, above the equilibrium."""
        return float(self._surface.energy(state))

    def grid(self, side: int, beyond: float = 1.3) -> list[dict[str, float]]:
        """side^2n states around the set, even in coordinates that make E~ a sum of squares nearby.

        Parameters
        ----------
        beyond : float
            How far the grid goes, where 1 is as far as the level along each axis.
        """
        surface = self._surface
        n = len(surface.origin)
        axis = beyond * np.sqrt(2 * self.level) * np.linspace(-1, 1, side)
        points = np.stack([m.ravel() for m in np.meshgrid(*[axis] * (2 * n), indexing="ij")])
        q = surface.origin[:, None] + surface.from_z @ points[:n]
        v = surface.from_momentum @ points[n:]
        names = [x.name for x in (*surface.here.coordinates, *surface.here.velocities)]
        return [dict(zip(names, state.tolist(), strict=True)) for state in np.vstack([q, v]).T]


def largest_level_set(
    shaped: Shaped, sign: int, within: Mapping[str, tuple[float, float]] | None = None
) -> LevelSet | None:
    """The set, or None for more coordinates than a grid can hold.

    Parameters
    ----------
    sign : 1 or -1
        Of the definite E~.
    within : mapping of coordinate name to (low, high)
        A box; by default a turn to both sides for unactuated coordinates, and none for actuated
        ones.
    """
    here = shaped.mechanics
    if len(here.coordinates) not in POINTS:
        return None
    surface = _Surface(shaped, sign, within or {})
    half = np.full(len(here.coordinates), FIRST * np.sqrt(abs(surface.scale)))
    flood = surface.flooded(half, points=COARSE)
    for _ in range(ENLARGED):
        if flood.left_through is None:
            break
        half[flood.left_through] *= 1.6
        flood = surface.flooded(half, points=COARSE)
    flood = surface.flooded(half)
    for _ in range(REFINED):
        half = np.minimum(half, 1.15 * flood.reach + half / 20)
        again = surface.flooded(half)
        flood = again if again.left_through is None else flood
    level = KEPT * flood.level
    last = surface.flooded(half, stop=level)
    shrunk = bool(np.any(last.reach < PASS * flood.reach))
    passed = shrunk or flood.over_a_pass
    if shrunk:
        last = surface.flooded(1.3 * last.reach + half / 50, stop=level)
    reason = BOX if flood.boxed else DEFINITE
    if passed or flood.left_through is not None:
        reason = SADDLE if passed else "the grid"
    minima = max(0, _minima(last.height, last.inside) - 1)
    bounds = surface.bounds(last)
    return LevelSet(level, bounds, reason, int(last.inside.sum()), minima, surface, last)


@dataclass(frozen=True, eq=False)
class _Flood:
    """What was reached from the equilibrium on a grid of z."""

    level: float
    left_through: int | None
    boxed: bool
    over_a_pass: bool
    inside: BoolArray
    axes: tuple[Array, ...]
    height: Array

    @property
    def reach(self) -> Array:
        """The largest |z| inside along each axis."""
        held = [axis[k] for axis, k in zip(self.axes, np.argwhere(self.inside).T, strict=True)]
        return np.array([np.max(np.abs(values), initial=0.0) for values in held])


class _Surface:
    """U~ above the equilibrium, and whether g~ is definite, on grids of z.

    z = C^T (q - q_0) with the second variation C C^T of U~ at the equilibrium, actuated coordinates
    first: U~ is |z|^2 / 2 nearby, and the last axes are those along which actuated coordinates
    follow without tension.
    """

    def __init__(
        self, shaped: Shaped, sign: int, within: Mapping[str, tuple[float, float]]
    ) -> None:
        here = self.here = shaped.mechanics
        self.sign = sign
        algebra = GraphAlgebra()
        q, v = algebra.vector(here.coordinates), algebra.vector(here.velocities)
        height, whole = (algebra.scalar(e) for e in (shaped.potential, shaped.energy))
        metric = algebra.vector(list(shaped.metric))
        others = [x for x in algebra.symbols if x not in {*here.coordinates, *here.velocities}]
        self.numbers = np.array([here.values[x.name] for x in others])
        blocks = [ca.densify(height), ca.densify(metric)]
        self._configuration = ca.Function("surface", [q, algebra.vector(others)], blocks)
        self._state = ca.Function("energy", [q, v, algebra.vector(others)], [whole])
        self.origin = np.array(list(here.equilibrium.values()))
        self.base = float(self._configuration(self.origin, self.numbers)[0])
        order = [*here.actuated, *here.unactuated]
        second = sign * here.hessian(shaped.potential)[np.ix_(order, order)]
        self.to_z = np.linalg.cholesky(second).T @ np.eye(len(order))[order]
        self.from_z = np.linalg.inv(self.to_z)
        self.scale = float(np.max(np.abs(second)))
        self.from_momentum = np.linalg.inv(np.linalg.cholesky(sign * here.numbers(shaped.metric)).T)
        free = {q.name: (-np.inf, np.inf) for q in here.coordinates}
        rest = {x.name: here.equilibrium[x.name] for x in here.symbols(here.unactuated)}
        turns = {name: (value - TURN, value + TURN) for name, value in rest.items()}
        self.box = np.array(list({**free, **turns, **within}.values()))

    def energy(self, state: Mapping[str, float]) -> float:
        """|E~| above the equilibrium; velocities that are left out are zero."""
        q = [state[x.name] for x in self.here.coordinates]
        v = [state.get(x.name, 0.0) for x in self.here.velocities]
        return self.sign * (float(self._state(q, v, self.numbers)) - self.base)

    def flooded(
        self, half: Array, stop: float = np.inf, points: Mapping[int, int] = POINTS
    ) -> _Flood:
        """Points in the order of U~ from the equilibrium, up to the edge or to U~ = `stop`."""
        n = len(self.origin)
        axes = tuple(np.linspace(-h, h, points[n]) for h in half)
        grid = np.stack([m.ravel() for m in np.meshgrid(*axes, indexing="ij")])
        mesh = self.origin[:, None] + self.from_z @ grid
        numbers = np.tile(self.numbers[:, None], mesh.shape[1])
        heights, metrics = self._configuration.map(mesh.shape[1])(mesh, numbers)
        shape = tuple(len(axis) for axis in axes)
        height = self.sign * (np.asarray(heights).ravel() - self.base).reshape(shape)
        tables = self.sign * np.asarray(metrics).T.reshape(-1, n, n)
        finite = np.all(np.isfinite(tables), axis=(1, 2))
        least = np.full(len(tables), -np.inf)
        even = (tables[finite] + np.swapaxes(tables[finite], 1, 2)) / 2
        least[finite] = np.linalg.eigvalsh(even)[:, 0]
        boxed = np.all((mesh >= self.box[:, :1]) & (mesh <= self.box[:, 1:]), axis=0)
        good = (least > 0) & np.isfinite(height.ravel()) & boxed
        start = tuple(k // 2 for k in shape)
        level, through, inside, end = _flood(height, good.reshape(shape), start, stop)
        at_box = end is not None and through is None and _is_beside(~boxed.reshape(shape), end)
        over_a_pass = end is not None and not _is_beside(inside, end)
        return _Flood(level, through, at_box, over_a_pass, inside, axes, height)

    def bounds(self, flood: _Flood) -> dict[str, tuple[float, float]]:
        """How far each coordinate goes inside."""
        held = np.argwhere(flood.inside)
        z = np.stack([axis[held[:, k]] for k, axis in enumerate(flood.axes)])
        q = self.origin[:, None] + self.from_z @ z
        rows = zip(self.here.coordinates, q, strict=True)
        return {x.name: (float(row.min()), float(row.max())) for x, row in rows}


def _flood(
    height: Array, good: BoolArray, start: tuple[int, ...], stop: float
) -> tuple[float, int | None, BoolArray, tuple[int, ...] | None]:
    """The level at the edge, the axis that leaves the grid, what lies below, where it ended.

    The level is the least c for which the component of U~ <= c around the start has a point at the
    edge of the grid or beside a bad place: found by bisection over the heights that occur.
    """
    from scipy import ndimage

    whole = ndimage.generate_binary_structure(height.ndim, height.ndim)
    edges = np.ones(height.shape, dtype=bool)
    edges[(slice(1, -1),) * height.ndim] = False
    ends = edges | ndimage.binary_dilation(~good, whole)

    def component(below: BoolArray) -> BoolArray:
        labels, _ = ndimage.label(below, whole)
        found: BoolArray = (labels == labels[start]) & below[start]
        return found

    heights = np.unique(height[np.isfinite(height) & (height >= height[start])])
    low, high = 0, len(heights) - 1
    while low < high:
        middle = (low + high) // 2
        if np.any(component(height <= heights[middle]) & ends):
            high = middle
        else:
            low = middle + 1
    level = float(heights[low])
    reached = component(height <= level) & ends
    if level >= stop or not np.any(reached):
        return min(stop, max(0.0, level)), None, component(height < min(stop, np.inf)), None
    place = tuple(np.argwhere(reached)[np.argmin(height[reached])].tolist())
    axes = [axis for axis, k in enumerate(place) if k in (0, height.shape[axis] - 1)]
    return max(0.0, level), (axes[0] if axes else None), component(height < level), place


def _is_beside(region: BoolArray, place: tuple[int, ...]) -> bool:
    """Whether a place of the grid, or one of its neighbours, belongs to a region."""
    around = tuple(slice(max(0, k - 1), k + 2) for k in place)
    return bool(np.any(region[around]))


def _minima(height: Array, inside: BoolArray) -> int:
    """Points inside that are lower than all neighbours."""
    lowest = inside.copy()
    for step in product((-1, 0, 1), repeat=height.ndim):
        lowest &= height <= np.roll(height, step, tuple(range(height.ndim)))
    return int(lowest.sum())
