r"""Branches of relative periodic orbits along a parameter, by pseudo-arclength continuation.

The curve of solutions F(u, s) = 0, of unknowns u = (x(0), T, xi) and a parameter s, is followed
along its tangent and corrected across it, so that it may turn back in the parameter. See
`relative_orbits.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError, RunError
from ...typing import Array, Path, Symbol
from ..tables import Report, Section
from .relative_orbits import RelativeOrbit, orbit_record

if TYPE_CHECKING:
    from ...plotting.style import Picture, Style

__all__ = ["OrbitBranch", "continue_orbit"]

#: A branch ends where the motion beside the group has shrunk to this part.
SHRUNK = 1e-2


@dataclass(frozen=True, repr=False, eq=False)
class OrbitBranch(Report):
    """Relative periodic orbits along a parameter, in the order of the arclength.

    Attributes
    ----------
    parameter : str
    values : array (k,)
    orbits : tuple of RelativeOrbit (k,)
    folds : array (f,)
        Where the parameter turns back.
    note : str
        Why the branch ends.
    """

    parameter: str
    values: Array
    orbits: tuple[RelativeOrbit, ...]
    folds: Array
    note: str

    @property
    def periods(self) -> Array:
        """T, (k,)."""
        return np.array([orbit.period for orbit in self.orbits])

    @property
    def moduli(self) -> Array:
        """|multipliers| by size, (k, n)."""
        return np.array([np.sort(np.abs(orbit.multipliers))[::-1] for orbit in self.orbits])

    def plot(
        self, *, path: Path | None = None, style: str | Style = "light", title: str | None = None
    ) -> Picture:
        """Draw period, drift and multipliers along the branch."""
        from ...plotting.studies.branch_plot import plot_branch

        return plot_branch(self, path=path, style=style, title=title)

    def _title(self) -> str:
        return f"Relative periodic orbits along {self.parameter}"

    def _sections(self) -> list[Section]:
        span = f"{self.values[0]:.6g} to {self.values[-1]:.6g}, {len(self.orbits)} orbits"
        turns = ", ".join(f"{value:.6g}" for value in self.folds) or "none"
        ranged = f"{self.periods.min():.6g} to {self.periods.max():.6g}"
        unstable = sum(orbit.stability == "unstable" for orbit in self.orbits)
        lines = [(self.parameter, span), ("period", ranged), ("folds", turns)]
        return [("Branch", [*lines, ("unstable", str(unstable)), ("end", self.note)])]


def continue_orbit(
    orbit: RelativeOrbit,
    parameter: Symbol,
    to: float,
    *,
    step: float = 0.05,
    most: int = 200,
) -> OrbitBranch:
    """Follow a relative periodic orbit along a parameter by pseudo-arclength continuation.

    Parameters
    ----------
    orbit : RelativeOrbit
    parameter : symbol or name
        A parameter of the model, with the integrals held; or the name of an integral, whose value
        is then the parameter of the family.
    to : float
        The branch ends where the parameter passes this value, or comes back to where it began.
    step : float
        The arclength in the space of state, period, drift and parameter; it adapts.
    most : int
        The most orbits.

    Examples
    --------
    >>> import dalembert as da
    >>> q = da.coordinates("q")
    >>> k = da.parameters("k", positive=True)
    >>> duffing = da.System([q], kinetic=q.dot**2/2, potential=q**2/2 + k*q**4/4)
    >>> first = da.symmetry.relative_periodic_orbit(duffing, {q: 0.5}, 6.2, parameters={k: 0.1})
    >>> branch = da.symmetry.continue_orbit(first, "energy", 0.5, step=0.1)
    >>> bool(branch.periods[-1] < branch.periods[0])
    True
    """
    name = str(getattr(parameter, "name", parameter))
    return _Continuation(orbit, name, float(to), float(step), int(most)).branch()


class _Continuation:
    """Pseudo-arclength: the tangent of the curve, a step along it, and Newton's method across."""

    def __init__(self, orbit: RelativeOrbit, name: str, to: float, step: float, most: int) -> None:
        problem = orbit.problem
        self.problem, self.name, self.to, self.step, self.most = problem, name, to, step, most
        self.is_level = name in problem.integrals
        if not self.is_level and name not in {s.name for s in problem.model.parameters}:
            known = ", ".join([*(s.name for s in problem.model.parameters), *problem.integrals])
            what = f"`{name}` is neither a parameter of the model nor an integral"
            raise ModelError(what, name, f"use one of {known}")
        self.parameters = dict(orbit.parameters)
        self.levels = np.array(list(orbit.integrals.values()))
        value = orbit.integrals[name] if self.is_level else orbit.parameters[name]
        xi = list(orbit.drift.values())
        self.first = np.array([*orbit.start, orbit.period, *xi, value])
        self.orbit = orbit

    def at(self, point: Array, anchor: Array) -> tuple[Array, Array]:
        """Residuals and derivative (N, N + 1) at a point (unknowns, parameter)."""
        levels, parameters = self._values(float(point[-1]))
        residual, matrix, by_free = self.problem.equations(
            point[:-1], levels, parameters, anchor, self.name
        )
        return residual, np.hstack([matrix, by_free[:, None]])

    def _values(self, value: float) -> tuple[Array, dict[str, float]]:
        levels, parameters = self.levels.copy(), dict(self.parameters)
        if self.is_level:
            levels[self.problem.integrals.index(self.name)] = value
        else:
            parameters[self.name] = value
        return levels, parameters

    def tangent(self, matrix: Array, before: Array) -> Array:
        """The unit tangent of the curve, in the direction of the one before."""
        square = np.vstack([matrix, before])
        right = np.zeros(len(square))
        right[-1] = 1.0
        found = np.linalg.solve(square, right)
        return np.asarray(found / np.linalg.norm(found))

    def corrected(self, guess: Array, tangent: Array) -> tuple[Array, Array, int] | None:
        """The point of the curve across the tangent through a guess, with the derivative there."""
        point = np.array(guess)
        for count in range(12):
            try:
                residual, matrix = self.at(point, guess)
                square = np.vstack([matrix, tangent])
                right = -np.append(residual, tangent @ (point - guess))
                change = np.linalg.solve(square, right)
            except (np.linalg.LinAlgError, RunError):
                return None
            point = point + change
            size = 1 + float(np.max(np.abs(point)))
            if not np.all(np.isfinite(point)) or np.max(np.abs(change)) > size:
                return None
            if np.max(np.abs(change)) < 1e-9 * size:
                return point, matrix, count
        return None

    def branch(self) -> OrbitBranch:
        """All orbits until the parameter passes its goal."""
        way = np.sign(self.to - self.first[-1]) or 1.0
        point, orbits, values = self.first, [self.orbit], [float(self.first[-1])]
        folds: list[float] = []
        before = np.zeros(len(point))
        before[-1] = way
        tangent = self.tangent(self.at(point, point)[1], before)
        step, note = self.step, "the most orbits were reached"
        small = SHRUNK * self.problem.motion_off_group(point, self.parameters)
        while len(orbits) < self.most:
            ahead = self.corrected(point + step * tangent, tangent)
            if ahead is None:
                step /= 2
                if step < 1e-4 * self.step:
                    note = "Newton's method no longer converges"
                    break
                continue
            following, matrix, count = ahead
            if self.shrinks(point, following, small):
                note = "the orbit shrinks to a relative equilibrium"
                break
            turned = self.tangent(matrix, tangent)
            if turned[-1] * tangent[-1] < 0:
                folds.append(self.fold(point, tangent, turned, step))
            tangent, point = turned, following
            parameters = self._values(float(point[-1]))[1]
            orbits.append(orbit_record(self.problem, point[:-1], parameters))
            values.append(float(point[-1]))
            if (values[-1] - self.to) * way >= 0 or (values[-1] - values[0]) * way < 0:
                passed = (values[-1] - self.to) * way >= 0
                note = "the goal was passed" if passed else "the parameter came back to its start"
                break
            step = min(step * (1.5 if count <= 3 else 0.7 if count > 6 else 1.0), 4 * self.step)
        return OrbitBranch(self.name, np.array(values), tuple(orbits), np.array(folds), note)

    def shrinks(self, point: Array, following: Array, small: float) -> bool:
        """Whether the motion beside the group vanishes at a point, or turned round on the way."""
        problem, n = self.problem, len(self.problem.names)
        parameters = self._values(float(following[-1]))[1]
        speeds = [problem.rates(x[:n], parameters) for x in (point, following)]
        beside = problem.motion_off_group(following, parameters)
        return bool(beside < small or speeds[0] @ speeds[1] < 0)

    def fold(self, point: Array, tangent: Array, turned: Array, step: float) -> float:
        """The parameter where its rate along the curve vanishes, by the secant method."""
        ends, rates = [0.0, step], [tangent[-1], turned[-1]]
        value = float(point[-1])
        for _ in range(8):
            place = ends[0] - rates[0] * (ends[1] - ends[0]) / (rates[1] - rates[0])
            found = self.corrected(point + place * tangent, tangent)
            if found is None:
                break
            value, rate = float(found[0][-1]), self.tangent(found[1], tangent)[-1]
            side = 0 if rate * rates[0] > 0 else 1
            ends[side], rates[side] = place, rate
            if abs(rate) < 1e-6:
                break
        return value
