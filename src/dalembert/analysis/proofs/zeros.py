r"""All zeros of a function on a box or a torus, each with a proof that it is there and alone.

A box X is thrown away where bounds of f over it exclude zero, and kept for halving where they do
not. With a point c, bounds F'(B) of the Jacobian over a box B around c that holds X with a margin,
and an inverse Y of their middle, Krawczyk's operator

    K(B) = c - Y f(c) + (1 - Y F'(B)) (B - c)

holds every zero of f in B. Where K(B) misses X there is none in X; where K(B) lies inside B there
is exactly one in B, and the Jacobian is regular on B, so that the sign of its determinant is known
too. All bounds are rounded outwards.

Zeros where the Jacobian is singular cannot be proved so. What is left around them is reported as
undecided, and the list of zeros is complete only where nothing is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np
import sympy

from ...errors import ModelError
from ...model.symbols import by_name
from ...model.values import numbers_by_name
from ...typing import Array, BoolArray, Ranges, Values
from .intervals import Bounds, IntervalFunction, halved

__all__ = ["Zero", "Zeros", "find_zeros", "full_turns"]

TURN = 2 * np.pi
#: Where the circle of an angle is cut, away from common angles.
CUT = -np.pi - 0.3701
#: How far a box is widened for the proof, in parts of its width, on each side.
MARGIN = 0.25
#: Up to how many undecided boxes are gathered one by one.
MOST_GROUPED = 300
#: A box around a zero is narrowed until a step leaves more than this part of it.
SLOWEST = 0.98
#: How many boxes are treated at once.
BATCH = 4096
#: What moving a box by full turns may be off by.
TURN_ROUNDING = 1e-14


@dataclass(frozen=True)
class Zero:
    """A proved zero.

    Attributes
    ----------
    point : array (n,)
    radius : array (n,)
        The true zero differs from `point` by at most this.
    sign : int
        The sign of the determinant of the Jacobian.
    low, high : arrays (n,)
        Corners of a box that holds no other zero.
    """

    point: Array
    radius: Array
    sign: int
    low: Array = field(repr=False)
    high: Array = field(repr=False)


@dataclass(frozen=True)
class Zeros:
    """The zeros of a function on a region.

    Attributes
    ----------
    symbols : tuple of symbols (n,)
    zeros : tuple of Zero
    undecided : array (k, 2, n)
        Corners of boxes that may hold further zeros.
    examined : int
        How many boxes were looked at.
    """

    symbols: tuple[sympy.Symbol, ...]
    zeros: tuple[Zero, ...]
    undecided: Array
    examined: int

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no other zeros."""
        return len(self.undecided) == 0

    @property
    def points(self) -> Array:
        """The zeros (k, n)."""
        shape = len(self.zeros), len(self.symbols)
        return np.array([zero.point for zero in self.zeros]).reshape(shape)

    @property
    def index(self) -> int:
        """The sum of the signs (degree): 0 for all zeros of a gradient on a torus."""
        return sum(zero.sign for zero in self.zeros)

    def __len__(self) -> int:
        return len(self.zeros)


def full_turns(expressions: Sequence[sympy.Expr], symbol: sympy.Symbol) -> bool:
    """Whether expressions have the period 2 pi in a symbol: only in sin and cos of multiples.

    >>> x, y = sympy.symbols("x y")
    >>> full_turns([sympy.cos(2 * x + y) / y], x), full_turns([sympy.cos(x / 2)], x)
    (True, False)
    """
    rest = sympy.Dummy()
    for expression in expressions:
        nodes = expression.atoms(sympy.sin, sympy.cos, sympy.tan)
        sinusoids = [node for node in nodes if node.has(symbol)]
        if not all(sympy.diff(node.args[0], symbol).is_Integer for node in sinusoids):
            return False
        if expression.xreplace(dict.fromkeys(sinusoids, rest)).has(symbol):
            return False
    return True


class SearchOptions(TypedDict, total=False):
    """How finely zeros are searched for; see `find_zeros`."""

    smallest: float
    most_boxes: int


def find_zeros(
    equations: Sequence[sympy.Expr],
    symbols: Sequence[sympy.Symbol],
    within: Ranges | None = None,
    *,
    parameters: Values | None = None,
    smallest: float = 1e-7,
    most_boxes: int = 200_000,
) -> Zeros:
    """All solutions of n equations f(x) = 0 in n symbols, with proofs.

    Parameters
    ----------
    equations : sequence of expressions (n,)
        Made of sums, products, powers, sin, cos, tan, exp, log and square roots.
    symbols : sequence of symbols (n,)
    within : mapping of symbol or name to (low, high)
        The region. Other symbols must be angles of period 2 pi; they take the whole circle.
    parameters : mapping of other symbols, or their names, to numbers
    smallest : float
        Boxes below this part of the region's width are not halved any more.
    most_boxes : int
        When the search gives up; what is left is undecided.

    Returns
    -------
    Zeros
        Angles between -pi and pi. Zeros that may lie on the edge of the region are listed.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> third = sympy.sin(x + y) / 3
    >>> found = find_zeros([sympy.sin(x) + third, sympy.sin(y) + third], [x, y])
    >>> found.complete, len(found), found.index
    (True, 4, 0)
    """
    names = tuple(symbols)
    if len(equations) != len(names):
        what = "There must be as many equations as symbols"
        raise ModelError(what, seen=f"{len(equations)} and {len(names)}", remedy="give n of each")
    free = set().union(*(equation.free_symbols for equation in equations)) - {*names}
    values = _by_symbol(numbers_by_name(parameters), free)
    region = _Region(names, equations, _read_region(within or {}, names))
    derivatives = [sympy.diff(equation, symbol) for equation in equations for symbol in names]
    function = IntervalFunction(equations, names, values)
    search = _BoxSearch(function, IntervalFunction(derivatives, names, values), region)
    search.run(smallest, most_boxes)
    zeros = sorted(search.zeros, key=lambda zero: tuple(np.round(zero.point, 9)))
    return Zeros(names, tuple(zeros), search.undecided_boxes(smallest), search.examined)


def _by_symbol(given: Mapping[str, float], symbols: set[sympy.Symbol]) -> dict[sympy.Symbol, float]:
    """Values by name as those by symbol; names that do not occur are passed over."""
    found = {symbol: given[symbol.name] for symbol in symbols if symbol.name in given}
    missing = sorted(symbol.name for symbol in symbols if symbol not in found)
    if missing:
        remedy = "pass parameters={name: value}"
        raise ModelError("Parameters have no value", ", ".join(missing), remedy)
    return found


def _read_region(
    within: Ranges, symbols: Sequence[sympy.Symbol]
) -> dict[sympy.Symbol, tuple[float, float]]:
    """The bounds by symbol, a pair of numbers each."""
    by_symbol = {symbol.name: symbol for symbol in symbols}
    found: dict[sympy.Symbol, tuple[float, float]] = {}
    for name, ends in by_name(within, "region").items():
        if name not in by_symbol:
            seen = ", ".join(by_symbol)
            remedy = "bound one of these"
            raise ModelError(f"The region names `{name}`, which is not looked for", seen, remedy)
        try:
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError):
            what = f"The bounds of `{name}` must be two numbers"
            raise ModelError(what, seen=str(ends)[:60], remedy="pass (low, high)") from None
        found[by_symbol[name]] = (low, high)
    return found


class _Region:
    """The box that is searched, and which of its sides are circles."""

    def __init__(
        self,
        symbols: Sequence[sympy.Symbol],
        equations: Sequence[sympy.Expr],
        within: Mapping[sympy.Symbol, tuple[float, float]],
    ) -> None:
        self.round = np.array([symbol not in within for symbol in symbols])
        around = (symbol for symbol in symbols if symbol not in within)
        open_symbols = [symbol.name for symbol in around if not full_turns(equations, symbol)]
        if open_symbols:
            what = "These symbols are no angles, and have no bounds"
            raise ModelError(what, ", ".join(open_symbols), "pass within={symbol: (low, high)}")
        ends = np.array([within.get(symbol, (CUT, CUT + TURN)) for symbol in symbols], dtype=float)
        self.low, high = ends[:, 0], ends[:, 1]
        self.high = np.where(self.round, np.nextafter(high, np.inf), high)
        if not np.all(np.isfinite(ends)) or np.any(self.low >= self.high):
            what = "The region of a search must have finite bounds that rise"
            raise ModelError(what, seen=ends.tolist(), remedy="check within=")

    @property
    def width(self) -> Any:
        return self.high - self.low

    def turned(self, point: Array) -> Array:
        """A point with its angles between -pi and pi."""
        turns = np.ceil((point - np.pi) / TURN - 1e-9)
        return np.where(self.round, point - TURN * turns, point)

    def is_outside(self, low: Array, high: Array) -> bool:
        """Whether a box has no point in common with the region; circles have no outside."""
        return bool(np.any(~self.round & ((high < self.low) | (low > self.high))))

    def moved(self, low: Array, high: Array) -> Bounds:
        """A box whose middle has its angles between -pi and pi."""
        shift = self.turned((low + high) / 2) - (low + high) / 2
        return low + shift, high + shift

    def copies(self, low: Array, high: Array, near: Array) -> Bounds:
        """A box moved by full turns to where the point `near` is, rounded outwards."""
        turns = np.where(self.round, np.round((near - (low + high) / 2) / TURN), 0.0)
        slack = np.where(turns != 0, TURN_ROUNDING, 0.0)
        return low + TURN * turns - slack, high + TURN * turns + slack


class _BoxSearch:
    """Halving, throwing away and proving, for batches of boxes."""

    def __init__(
        self, function: IntervalFunction, derivative: IntervalFunction, region: _Region
    ) -> None:
        self.function, self.derivative, self.region = function, derivative, region
        self.size = len(region.low)
        self.zeros: list[Zero] = []
        self.examined = 0
        self._undecided: list[Bounds] = []

    def run(self, smallest: float, most_boxes: int) -> None:
        """Search the whole region."""
        waiting = [(self.region.low[None], self.region.high[None])]
        while waiting:
            low, high = waiting.pop()
            if len(low) > BATCH:
                waiting += [(low[BATCH:], high[BATCH:]), (low[:BATCH], high[:BATCH])]
                continue
            if self.examined >= most_boxes:
                self._undecided.append((low, high))
                continue
            self.examined += len(low)
            low, high = self._reduced(low, high)
            tiny = np.all(high - low <= smallest * self.region.width, axis=1)
            if tiny.any():
                self._undecided.append((low[tiny], high[tiny]))
            low, high = low[~tiny], high[~tiny]
            if len(low):
                waiting.append(self._halved(low, high))

    def _reduced(self, low: Array, high: Array) -> Bounds:
        """What is left of some boxes: without those that hold no zero, or a zero that is proved."""
        least, most = self.function(low, high)
        kept = np.all((least <= 0) & (most >= 0), axis=1)
        low, high = low[kept], high[kept]
        kept = ~self._known(low, high)
        low, high = low[kept], high[kept]
        if not len(low):
            return low, high
        wide_low, wide_high = low - MARGIN * (high - low), high + MARGIN * (high - low)
        below, above, regular, signs = self._krawczyk(wide_low, wide_high)
        inside = regular & np.all((below > wide_low) & (above < wide_high), axis=1)
        for k in np.nonzero(inside)[0]:
            if not self._is_listed(below[k], above[k]):
                self._prove(wide_low[k], wide_high[k], below[k], above[k], int(signs[k]))
        empty = np.any((above < low) | (below > high), axis=1)
        going = ~inside & ~empty
        return np.maximum(low, below)[going], np.minimum(high, above)[going]

    def _known(self, low: Array, high: Array) -> BoolArray:
        """Which boxes lie where a proved zero is the only one."""
        known = np.zeros(len(low), dtype=bool)
        for zero in self.zeros:
            for corner_low, corner_high in self._shifts(zero):
                known |= np.all((low >= corner_low) & (high <= corner_high), axis=1)
        return known

    def _shifts(self, zero: Zero) -> list[Bounds]:
        """The box of a zero, and its copy at the other end of each circle, narrowed by rounding."""
        found = [(zero.low, zero.high)]
        for k in np.nonzero(self.region.round)[0]:
            for turn in (-TURN, TURN):
                step = np.zeros(self.size)
                step[k] = turn
                found.append((zero.low + step + TURN_ROUNDING, zero.high + step - TURN_ROUNDING))
        return found

    def _krawczyk(self, low: Array, high: Array) -> tuple[Array, Array, BoolArray, Array]:
        """K over boxes: corners (m, n), whether it is defined, sign of the Jacobian."""
        n, eps = self.size, 2.0**-52
        center = (low + high) / 2
        radius = np.nextafter(np.maximum(high - center, center - low), np.inf)
        least, most = (part.reshape(-1, n, n) for part in self.derivative(low, high))
        value_low, value_high = self.function.at(center)
        usable = np.all(np.isfinite(least) & np.isfinite(most), axis=(1, 2))
        usable &= np.all(np.isfinite(value_low) & np.isfinite(value_high), axis=1)
        least, most = (np.where(usable[:, None, None], x, np.eye(n)) for x in (least, most))
        value_low = np.where(usable[:, None], value_low, 0.0)
        value_high = np.where(usable[:, None], value_high, 0.0)
        middle = (least + most) / 2
        determinant = np.linalg.det(middle)
        usable &= np.abs(determinant) > 1e-290
        middle = np.where(usable[:, None, None], middle, np.eye(n))
        spread = (most - least) / 2 * (1 + 4 * eps) + eps * np.abs(middle)
        inverse = np.linalg.inv(middle)
        size = np.abs(inverse)
        rounding = (2 * n + 4) * eps
        rest = np.abs(np.eye(n) - inverse @ middle) + size @ spread
        rest = rest + rounding * (size @ (np.abs(middle) + spread))
        value = (value_low + value_high) / 2
        doubt = (value_high - value_low) / 2 * (1 + 4 * eps) + eps * np.abs(value)
        step = (inverse @ value[:, :, None])[:, :, 0]
        off = (size @ (doubt + rounding * np.abs(value))[:, :, None])[:, :, 0]
        off = (off + (rest @ radius[:, :, None])[:, :, 0]) * (1 + rounding)
        off = off + rounding * (np.abs(step) + np.abs(center))
        below = np.where(usable[:, None], center - step - off, -np.inf)
        above = np.where(usable[:, None], center - step + off, np.inf)
        return below, above, usable, np.sign(determinant)

    def _is_listed(self, low: Array, high: Array) -> bool:
        """Whether a box that holds a zero lies where a zero of the list is the only one."""
        for zero in self.zeros:
            moved = self.region.copies(low, high, zero.point)
            if np.all((moved[0] >= zero.low) & (moved[1] <= zero.high)):
                return True
        return False

    def _prove(
        self, low: Array, high: Array, tight_low: Array, tight_high: Array, sign: int
    ) -> None:
        """List the one zero of a box, inside a tighter one, unless it is listed or outside."""
        for _ in range(200):
            below, above, _, _ = self._krawczyk(tight_low[None], tight_high[None])
            new_low, new_high = np.maximum(tight_low, below[0]), np.minimum(tight_high, above[0])
            done = np.all(new_high - new_low > SLOWEST * (tight_high - tight_low))
            tight_low, tight_high = new_low, new_high
            if done:
                break
        if self.region.is_outside(tight_low, tight_high) or self._is_listed(tight_low, tight_high):
            return
        point = (tight_low + tight_high) / 2
        turned = self.region.turned(point)
        radius = (tight_high - tight_low) / 2 + 4e-16 * (np.abs(point) + np.abs(turned))
        shift = turned - point
        slack = np.where(shift != 0, TURN_ROUNDING, 0.0)
        self.zeros.append(Zero(turned, radius, sign, low + shift + slack, high + shift - slack))

    def _halved(self, low: Array, high: Array) -> Bounds:
        """Boxes cut across their longest side, beside the middle, where zeros often lie."""
        return halved(low, high, np.argmax((high - low) / self.region.width, axis=1), 0.5037)

    def undecided_boxes(self, smallest: float) -> Array:
        """Corners (k, 2, n) of what is left, boxes that almost touch gathered into one."""
        if not self._undecided:
            return np.zeros((0, 2, self.size))
        low = np.concatenate([part[0] for part in self._undecided])
        high = np.concatenate([part[1] for part in self._undecided])
        if len(low) > MOST_GROUPED:
            return np.array([[low.min(axis=0), high.max(axis=0)]])
        groups: list[Bounds] = []
        slack = 100 * smallest * self.region.width
        for a, b in zip(low, high, strict=True):
            touching = [g for g in groups if np.all((a <= g[1] + slack) & (b >= g[0] - slack))]
            groups = [g for g in groups if not any(g is other for other in touching)]
            least = np.min([a, *(g[0] for g in touching)], axis=0)
            groups.append((least, np.max([b, *(g[1] for g in touching)], axis=0)))
        return np.array([self.region.moved(a, b) for a, b in groups])
