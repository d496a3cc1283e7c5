r"""How the zeros of a function change with a parameter: how many, and where two of them meet.

For each value of the parameter all zeros are found with proofs. Between two values with different
signatures (how many zeros, and the signs of their determinants) the interval is halved, each half
again with proofs, and the critical value is then found by Newton's method: at a fold two zeros are
born together,

    f(x, s) = 0,      det f_x(x, s) = 0,      with a regular Jacobian in (x, s),

and at a branching a zero stays and changes its sign, while others leave or join it, as symmetry
makes them do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Unpack

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...model.scenario import Scenario
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, IntArray, Ranges, Symbol, Values
from ..anatomy import read_model
from ..proofs.zeros import TURN, SearchOptions, Zeros, find_zeros
from .equilibria import rest_conditions

__all__ = ["Bifurcation", "BifurcationDiagram", "bifurcation_diagram", "zero_diagram"]

#: Halving ends at this part of the step between two values.
NARROWEST = 2.0**-8
#: What is left of f and its determinant at a critical point, relative to their sizes nearby.
CONVERGED = 1e-10


@dataclass(frozen=True)
class Bifurcation:
    """A value of the parameter where the zeros change.

    Attributes
    ----------
    value : float
    kind : "fold", "branching" or "undecided"
    point : array (n,)
        The zero that is singular there.
    bracket : (float, float)
        Values on both sides, with proved numbers of zeros, between which the change lies.
    counts : (int, int)
        How many zeros there are on the two sides.
    """

    value: float
    kind: str
    point: Array
    bracket: tuple[float, float]
    counts: tuple[int, int]


@dataclass(frozen=True)
class BifurcationDiagram:
    """Zeros over a parameter; see `bifurcation_diagram`.

    Attributes
    ----------
    parameter : str
    values : array (k,)
    zeros : tuple of Zeros (k,)
    bifurcations : tuple of Bifurcation
    """

    parameter: str
    values: Array
    zeros: tuple[Zeros, ...] = field(repr=False)
    bifurcations: tuple[Bifurcation, ...]

    @property
    def counts(self) -> IntArray:
        """How many zeros there are at each value (k,)."""
        return np.array([len(found) for found in self.zeros])

    @property
    def complete(self) -> bool:
        """Whether the zeros of every value are proved to be all."""
        return all(found.complete for found in self.zeros)


def bifurcation_diagram(
    system: System | Scenario,
    parameter: Symbol,
    values: Sequence[float],
    parameters: Values | None = None,
    within: Ranges | None = None,
    fixed: Values | None = None,
    **search: Unpack[SearchOptions],
) -> BifurcationDiagram:
    """The equilibria of a system over a parameter, with the values where their number changes.

    Parameters
    ----------
    system : System or Scenario
        See `equilibria`.
    parameter : symbol or name
        Varied over `values`, ascending. Changes that undo each other between two values are missed.
    parameters, within, fixed, **search
        See `equilibria`. With constraints, `zeros` have multipliers after the coordinates.

    Examples
    --------
    A bead on a hoop that turns leaves the bottom where w^2 = g / r:

    >>> import dalembert as da
    >>> theta, w = da.coordinates("theta"), da.parameters("w")
    >>> turning = sympy.sin(theta) ** 2 * w**2 / 2
    >>> bead = da.System([theta], lagrangian=theta.dot**2 / 2 + turning + sympy.cos(theta))
    >>> diagram = bifurcation_diagram(bead, w, [0.5, 1.5])
    >>> change = diagram.bifurcations[0]
    >>> diagram.counts.tolist(), change.kind, round(change.value, 9)
    ([2, 4], 'branching', 1.0)
    """
    model, numbers, _ = read_model(system, parameters, None)
    conditions = rest_conditions(model, fixed)
    region = {**(within or {}), **conditions.bounds}
    f, x = conditions.equations, conditions.symbols
    found = zero_diagram(f, x, parameter, values, numbers, region or None, **search)
    if not conditions.bounds:
        return found
    size = len(x) - len(conditions.bounds)
    changes = tuple(replace(change, point=change.point[:size]) for change in found.bifurcations)
    return replace(found, bifurcations=changes)


def zero_diagram(
    equations: Sequence[sympy.Expr],
    symbols: Sequence[sympy.Symbol],
    parameter: Symbol,
    values: Sequence[float],
    parameters: Values | None = None,
    within: Ranges | None = None,
    **search: Unpack[SearchOptions],
) -> BifurcationDiagram:
    """The diagram of the zeros of n equations in n symbols, such as the gradient of 1^T J 1."""
    name = getattr(parameter, "name", str(parameter))
    known = {symbol.name for equation in equations for symbol in equation.free_symbols}
    if name not in known:
        what = f"The equations do not depend on `{name}`"
        raise ModelError(what, seen=", ".join(sorted(known)), remedy="vary one of these")
    steps = np.asarray(values, dtype=float)
    if steps.ndim != 1 or len(steps) < 2 or np.any(np.diff(steps) <= 0):
        remedy = "sort them"
        raise ModelError("A diagram needs two values or more, ascending", list(values)[:8], remedy)
    base = numbers_by_name(parameters)
    family = _Branches(equations, symbols, name, base, within, search)
    found = tuple(family.zeros(float(value)) for value in steps)
    sides = list(zip(steps.tolist(), found, strict=True))
    changes = [
        family.refined(low, high)
        for low, high in pairwise(sides)
        if _signature(low[1]) != _signature(high[1])
    ]
    return BifurcationDiagram(name, steps, found, tuple(changes))


def _signature(zeros: Zeros) -> tuple[int, ...]:
    return tuple(sorted(zero.sign for zero in zeros.zeros))


class _Branches:
    """Equations that depend on a parameter, with derivatives in numbers."""

    def __init__(
        self,
        equations: Sequence[sympy.Expr],
        symbols: Sequence[sympy.Symbol],
        name: str,
        base: Mapping[str, float],
        within: Ranges | None,
        search: SearchOptions,
    ) -> None:
        self.equations, self.symbols = list(equations), tuple(symbols)
        self.name, self.base, self.within, self.search = name, dict(base), within, search
        algebra = GraphAlgebra()
        f, x = algebra.vector(self.equations), algebra.vector(self.symbols)
        varied = next(node for symbol, node in algebra.symbols.items() if symbol.name == name)
        own = {name, *(symbol.name for symbol in self.symbols)}
        others = [symbol for symbol in algebra.symbols if symbol.name not in own]
        values = [self.base[symbol.name] for symbol in others if symbol.name in self.base]
        if len(values) < len(others):
            missing = [symbol.name for symbol in others if symbol.name not in self.base]
            remedy = "pass parameters={name: value}"
            raise ModelError("Parameters have no value", ", ".join(missing), remedy)
        derivative = ca.jacobian(f, x)
        both = ca.vertcat(f, ca.det(derivative))
        unknowns = ca.vertcat(x, varied)
        outputs = [ca.densify(block) for block in (both, ca.jacobian(both, unknowns), derivative)]
        function = ca.Function("family", [unknowns, algebra.vector(others)], outputs)
        self._compiled, self._values = function, np.array(values)

    def _function(self, unknowns: Array) -> list[Array]:
        """f with det f_x (n + 1, 1), their Jacobian in (x, s) (n + 1, n + 1), and f_x (n, n)."""
        return [np.array(block, dtype=float) for block in self._compiled(unknowns, self._values)]

    def zeros(self, value: float) -> Zeros:
        """All zeros at one value of the parameter."""
        values = self.base | {self.name: value}
        return find_zeros(
            self.equations, self.symbols, self.within, parameters=values, **self.search
        )

    def refined(self, low: tuple[float, Zeros], high: tuple[float, Zeros]) -> Bifurcation:
        """The change of signature between two values."""
        wanted, narrow = _signature(low[1]), NARROWEST * (high[0] - low[0])
        while high[0] - low[0] > narrow:
            middle = (low[0] + high[0]) / 2
            found = self.zeros(middle)
            if not found.complete:
                break
            if _signature(found) == wanted:
                low = (middle, found)
            else:
                high = (middle, found)
        value, kind, point = self._critical(low, high)
        return Bifurcation(value, kind, point, (low[0], high[0]), (len(low[1]), len(high[1])))

    def _critical(
        self, low: tuple[float, Zeros], high: tuple[float, Zeros]
    ) -> tuple[float, str, Array]:
        """Where a determinant vanishes between two near values: a fold first, else a branching."""
        for side in (high, low) if len(high[1]) > len(low[1]) else (low, high):
            points = [zero.point for zero in side[1].zeros]
            if points:
                flat = min(points, key=lambda point: self._flatness(point, side[0]))
                found = self._fold(np.append(flat, side[0]), low[0], high[0])
                if found is not None:
                    return float(found[-1]), "fold", found[:-1]
        for zero in low[1].zeros if high[1].zeros else ():
            other = min(high[1].zeros, key=lambda z: _apart(z.point, zero.point))
            if other.sign != zero.sign and _apart(other.point, zero.point) < 0.1:
                value, point = self._branching(low[0], zero.point, high[0], other.point)
                return value, "branching", point
        middle = (low[0] + high[0]) / 2
        return middle, "undecided", np.full(len(self.symbols), np.nan)

    def _flatness(self, point: Array, value: float) -> float:
        return abs(float(np.linalg.det(self._function(np.append(point, value))[2])))

    def _fold(self, start: Array, low: float, high: float) -> Array | None:
        """A regular solution of f = 0, det f_x = 0 by Newton's method; None where singular."""
        unknowns, width = start.copy(), high - low
        for _ in range(40):
            left, derivative, _ = self._function(unknowns)
            if np.linalg.cond(derivative) > 1e9:
                return None
            step = np.linalg.solve(derivative, left.ravel())
            unknowns = unknowns - step
            if np.max(np.abs(step)) < CONVERGED * (1 + np.max(np.abs(unknowns))):
                inside = low - 0.01 * width <= unknowns[-1] <= high + 0.01 * width
                if inside and np.linalg.cond(self._function(unknowns)[1]) < 1e7:
                    return unknowns
                return None
            if not np.all(np.isfinite(unknowns)) or abs(unknowns[-1] - start[-1]) > 10 * width:
                return None
        return None

    def _branching(self, low: float, start: Array, high: float, end: Array) -> tuple[float, Array]:
        """Where the determinant along a persistent zero changes sign, by halving and secants."""
        ends = ((low, start), (high, end))
        sides = [(value, point, self._determinant(point, value)) for value, point in ends]
        value, point = high, end
        for turn in range(100):
            (a, p, f), (b, q, g) = sides
            part = 0.5 if turn % 3 == 2 else min(max(f / (f - g), 0.01), 0.99)
            value = a + part * (b - a)
            point = self._followed(p + part * (q - p), value)
            here = self._determinant(point, value)
            sides[int(np.sign(here) == np.sign(g))] = (value, point, here)
            if abs(sides[1][0] - sides[0][0]) < 1e-14 * (1 + abs(value)) or here == 0:
                break
        return float(value), point

    def _determinant(self, point: Array, value: float) -> float:
        return float(self._function(np.append(point, value))[0].ravel()[-1])

    def _followed(self, point: Array, value: float) -> Array:
        """Newton's method at a fixed parameter, ended when it gains no more."""
        for _ in range(8):
            left, _, derivative = self._function(np.append(point, value))
            size = float(np.max(np.abs(left.ravel()[:-1])))
            if size < 1e-15 or np.linalg.cond(derivative) > 1e12:
                return point
            moved = point - np.linalg.solve(derivative, left.ravel()[:-1])
            if np.max(np.abs(self._function(np.append(moved, value))[0].ravel()[:-1])) >= size:
                return point
            point = moved
        return point


def _apart(first: Array, second: Array) -> float:
    """The distance of two points, angles by the shorter way."""
    difference = np.abs(first - second)
    return float(np.max(np.minimum(difference, np.abs(difference - TURN))))
