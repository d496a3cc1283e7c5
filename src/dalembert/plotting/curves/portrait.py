"""The phase portrait of a conservative system with one coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...algebra.graph import GraphAlgebra
from ...analysis.proofs.zeros import full_turns
from ...analysis.stability.equilibria import Equilibrium, equilibria
from ...analysis.stability.separatrices import Separatrix, one_freedom, separatrices
from ...errors import FormError
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Path, Ranges, Values
from ..axis_labels import mathtext
from ..motion_samples import Array
from ..style import Style, figure_for, finished_on, style_named

__all__ = ["phase_portrait"]

#: Points of the grid across and upwards.
GRID = (361, 241)
#: How much taller than the separatrices the window is.
ROOM = 1.6


def phase_portrait(
    system: System | Scenario,
    parameters: Values | None = None,
    within: Ranges | None = None,
    *,
    momentum: bool = False,
    upwards: tuple[float, float] | None = None,
    levels: int | Sequence[float] = 14,
    path: Path | None = None,
    style: str | Style | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the orbits of a system with one coordinate, such as `routh` leaves.

    Parameters
    ----------
    system : conservative System with one coordinate, or Scenario
    parameters : mapping of name to value
    within : mapping of the coordinate to (low, high)
        The window across; a full turn for an angle unless given.
    momentum : bool
        Draw the momentum upwards instead of the velocity.
    upwards : (low, high)
        The window upwards; around the separatrices unless given.
    levels : int or sequence of float
        How many levels of the energy, or which.
    path : path, optional
        A .png, .svg or .pdf to write.
    ax : Axes, optional
        Where to draw, instead of a new picture.

    Returns
    -------
    Figure
        A `Picture`, or the figure of `ax`. Stable equilibria are filled, others open; orbits that
        leave a saddle are in the accent colour.

    Examples
    --------
    >>> import dalembert as da, sympy
    >>> theta = da.coordinates("theta")
    >>> pendulum = da.System([theta], kinetic=theta.dot**2/2, potential=-sympy.cos(theta))
    >>> picture = phase_portrait(pendulum, levels=3)
    >>> len(picture.axes), len(picture.axes[0].lines) > 3
    (1, True)
    """
    model, numbers = one_freedom(system, parameters, within)
    look = style_named(style, ax)
    plane = _PhasePlane(model, numbers, momentum)
    across = _across(model, within)
    orbits = separatrices(model, numbers, within)
    rests = equilibria(model, numbers, within).found
    points = np.array([plane.point(e.point[plane.name], 0.0) for e in rests]).reshape(-1, 2)
    curves = [plane.curve(orbit) for orbit in orbits]
    window = upwards or _upwards(plane, across, points, curves)
    figure = figure_for(ax, look, (5.4, 4.2))
    with look.context():
        drawn = figure.add_subplot() if ax is None else ax
        _draw_levels(drawn, plane, across, window, levels, look)
        turning = full_turns([model.energy_function], model.coordinates[0]) and not within
        for curve in curves:
            for piece in _wrapped(curve, across, turning):
                drawn.plot(*piece, color=look.accent, linewidth=1.8)
        _draw_rests(drawn, rests, points, across, () if within else (-2 * np.pi, 2 * np.pi), look)
        drawn.set(xlim=across, ylim=window)
        drawn.set_xlabel(mathtext(plane.name), fontsize=13)
        upright: dict[str, Any] = {"fontsize": 13, "rotation": 0, "va": "center", "labelpad": 10}
        drawn.set_ylabel(mathtext(plane.upwards_name), **upright)
    return finished_on(figure, ax, path)


def _draw_rests(
    axes: Axes, rests: Sequence[Equilibrium], points: Array, across: tuple[float, float],
    turns: Sequence[float], look: Style,
) -> None:  # fmt: skip
    """Equilibria, and their images a turn further: stable ones are filled, others open."""
    for rest, (x, y) in zip(rests, points, strict=True):
        filled = look.body if rest.stability == "stable" else look.background
        mark: dict[str, Any] = {"ms": 6, "markerfacecolor": filled, "markeredgecolor": look.body}
        for turn in sorted((0.0, *turns)):
            if across[0] - 1e-9 <= x + turn <= across[1] + 1e-9:
                axes.plot(x + turn, y, "o", clip_on=False, zorder=4, **mark)


class _PhasePlane:
    """The plane of a coordinate and its velocity or momentum, with L = 1/2 a v^2 + b v - V."""

    def __init__(self, model: System, numbers: Mapping[str, float], momentum: bool) -> None:
        (q,) = model.coordinates
        self.name, self.momentum = q.name, momentum
        self.upwards_name = q.momentum.name if momentum else q.dot.name
        algebra = GraphAlgebra()
        x, v = algebra.vector([q]), algebra.vector([q.dot])
        lagrangian = algebra.scalar(model.energy_function)
        derivative = algebra.gradient(lagrangian, v)
        mass = algebra.without(algebra.jacobian(derivative, v), v)
        if mass is None:
            what = "A phase portrait needs a Lagrangian quadratic in the velocity"
            raise FormError(what, remedy="plot motions with phase")
        still = algebra.zeros(1)
        shift, height = (algebra.substitute(part, v, still) for part in (derivative, lagrangian))
        parts = [mass, shift, -height]
        others = [symbol for symbol in algebra.symbols if symbol not in (q, q.dot)]
        values = [float(numbers[symbol.name]) for symbol in others]
        if others:
            names, given = algebra.vector(others), ca.DM(values)
            parts = [algebra.substitute(part, names, given) for part in parts]
        self._parts = ca.Function("parts", [x], [ca.densify(part) for part in parts])

    def parts(self, x: Array) -> tuple[Array, Array, Array]:
        """a, b and V at places (n,)."""
        found = self._parts.map(len(x))(np.asarray(x, dtype=float)[None])
        mass, shift, potential = (np.asarray(part, dtype=float).ravel() for part in found)
        return mass, shift, potential

    def point(self, x: float, v: float) -> tuple[float, float]:
        """Where a state is drawn."""
        mass, shift, _ = self.parts(np.array([x]))
        return x, float(mass[0] * v + shift[0]) if self.momentum else v

    def curve(self, orbit: Separatrix) -> tuple[Array, Array]:
        """A separatrix as a curve of the plane."""
        times = np.linspace(float(orbit.motion.t[0]), float(orbit.motion.t[-1]), 1201)
        x, v = orbit.motion.sol(times)
        mass, shift, _ = self.parts(x)
        return x, mass * v + shift if self.momentum else v

    def energy(self, x: Array, y: Array) -> Array:
        """E on a grid, (len(y), len(x))."""
        mass, shift, potential = self.parts(x)
        energies: Array = mass * y[:, None] ** 2 / 2 + potential
        if self.momentum:
            energies = (y[:, None] - shift) ** 2 / (2 * mass) + potential
        return energies


def _across(model: System, within: Ranges | None) -> tuple[float, float]:
    if within:
        low, high = next(iter(within.values()))
        return float(low), float(high)
    return -np.pi, np.pi


def _upwards(
    plane: _PhasePlane,
    across: tuple[float, float],
    points: Array,
    curves: Sequence[tuple[Array, Array]],
) -> tuple[float, float]:
    """Around the separatrices; where there are none, as high as the potential is deep."""
    if curves:
        heights = np.concatenate([curve[1] for curve in curves])
        low, high = float(heights.min()), float(heights.max())
    else:
        x = np.linspace(*across, GRID[0])
        mass, _, potential = plane.parts(x)
        reach = np.sqrt(2 * np.ptp(potential[np.isfinite(potential)]) * mass.max())
        reach = reach if plane.momentum else reach / mass.max()
        middle = float(np.mean(points[:, 1])) if len(points) else 0.0
        low, high = middle - reach, middle + reach
    room = (ROOM - 1) / 2 * ((high - low) or 1.0)
    return low - room, high + room


def _draw_levels(
    axes: Axes, plane: _PhasePlane, across: tuple[float, float], window: tuple[float, float],
    levels: int | Sequence[float], look: Style,
) -> None:  # fmt: skip
    x, y = np.linspace(*across, GRID[0]), np.linspace(*window, GRID[1])
    energies = plane.energy(x, y)
    finite = energies[np.isfinite(energies)]
    if isinstance(levels, int):
        lowest, highest = float(finite.min()), float(np.percentile(finite, 97))
        chosen = lowest + (highest - lowest) * (np.arange(1, levels + 1) / levels) ** 2
    else:
        chosen = np.sort(np.asarray(levels, dtype=float))
    lines: dict[str, Any] = {
        "colors": [look.blend("body", 0.5)],
        "linewidths": 0.8,
        "linestyles": "solid",
    }
    axes.contour(x, y, energies, levels=chosen, **lines)


def _wrapped(
    curve: tuple[Array, Array], across: tuple[float, float], round_about: bool
) -> list[tuple[Array, Array]]:
    """A curve in pieces inside the window of an angle."""
    x, y = curve
    if not round_about:
        return [(x, y)]
    turns = np.floor((x - across[0]) / (across[1] - across[0]))
    pieces = []
    for turn in np.unique(turns):
        shifted = x - turn * (across[1] - across[0])
        inside = (shifted >= across[0]) & (shifted <= across[1])
        pieces.append((np.where(inside, shifted, np.nan), y))
    return pieces
