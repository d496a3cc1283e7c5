r"""Sure bounds of expressions over boxes, for many boxes at once.

An expression is followed from its symbols upwards, and each step is rounded outwards, so that for
every point of a box

    low <= f(x) <= high        (natural interval extension)

holds for the real numbers, not only for their roundings. An operation that is not defined on the
whole box (a division by an interval that holds zero, the logarithm of one that does not stay
positive) has the bounds nan, and so has everything computed from it: sin(1/x) has no bounds across
x = 0. The result of an `IntervalFunction` has the bounds minus and plus infinity there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import sympy

from ...errors import ModelError
from ...typing import Array, BoolArray, IntArray

__all__ = ["IntervalFunction", "add", "halved", "multiply", "outward"]

#: The relative accuracy of NumPy's sine, exponential and the like (twice what NumPy states).
LIBRARY_ERROR = 8 * np.finfo(float).eps
LARGEST = np.finfo(float).max
#: The largest whole power that is taken by repeated products.
LARGEST_POWER = 64

Bounds = tuple[Array, Array]


def outward(low: Array, high: Array) -> Bounds:
    """The next numbers outside; nan, for what is not defined, stays."""
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def halved(low: Array, high: Array, sides: IntArray, at: float) -> Bounds:
    """Boxes (2 m, n) cut at a part of one side each."""
    rows = np.arange(len(low))
    cut = low[rows, sides] + at * (high[rows, sides] - low[rows, sides])
    left_high, right_low = high.copy(), low.copy()
    left_high[rows, sides], right_low[rows, sides] = cut, cut
    return np.concatenate([low, right_low]), np.concatenate([left_high, high])


def _where_defined(defined: BoolArray, bounds: Bounds) -> Bounds:
    """The bounds where an operation is defined, nan elsewhere."""
    return np.where(defined, bounds[0], np.nan), np.where(defined, bounds[1], np.nan)


def add(first: Bounds, second: Bounds) -> Bounds:
    """Bounds of x + y."""
    return outward(first[0] + second[0], first[1] + second[1])


def multiply(first: Bounds, second: Bounds) -> Bounds:
    """Bounds of x y.

    >>> low, high = multiply((np.array(-1.0), np.array(2.0)), (np.array(3.0), np.array(4.0)))
    >>> bool(low <= -4 and high >= 8)
    True
    """
    (a, b), (c, d) = first, second
    ac, ad, bc, bd = a * c, a * d, b * c, b * d
    low = np.minimum(np.minimum(ac, ad), np.minimum(bc, bd))
    high = np.maximum(np.maximum(ac, ad), np.maximum(bc, bd))
    return outward(low, high)


def reciprocal(x: Bounds) -> Bounds:
    """Bounds of 1 / x: not defined where x may vanish."""
    low, high = x
    return _where_defined((low > 0) | (high < 0), outward(1 / high, 1 / low))


def power(x: Bounds, exponent: int) -> Bounds:
    """Bounds of x^n, tight for even n."""
    if exponent < 0:
        return reciprocal(power(x, -exponent))
    if exponent % 2 == 0:
        x = magnitude(x)
    one = np.ones_like(x[0])
    found = (one, one)
    for _ in range(exponent):
        found = _monotone_product(found, x) if exponent % 2 == 0 else multiply(found, x)
    if exponent % 2 == 0:
        return np.maximum(found[0], 0.0), found[1]
    return found


def _monotone_product(first: Bounds, second: Bounds) -> Bounds:
    """Bounds of x y where neither is negative."""
    return outward(first[0] * second[0], first[1] * second[1])


def sine(x: Bounds) -> Bounds:
    """Bounds of sin x."""
    low, high = x
    defined, finite = ~(np.isnan(low) | np.isnan(high)), np.isfinite(low) & np.isfinite(high)
    a, b = np.where(finite, low, 0.0), np.where(finite, high, 0.0)
    slack = 1e-14 * (1 + np.maximum(np.abs(a), np.abs(b)))
    ends = np.sin(a), np.sin(b)
    least, most = np.minimum(*ends) - LIBRARY_ERROR, np.maximum(*ends) + LIBRARY_ERROR
    top = _holds_a_multiple(a - np.pi / 2 - slack, b - np.pi / 2 + slack)
    bottom = _holds_a_multiple(a + np.pi / 2 - slack, b + np.pi / 2 + slack)
    most = np.where(top | ~finite, 1.0, np.minimum(most, 1.0))
    least = np.where(bottom | ~finite, -1.0, np.maximum(least, -1.0))
    return _where_defined(defined, (least, most))


def _holds_a_multiple(low: Array, high: Array) -> BoolArray:
    """Whether an interval holds a whole multiple of a full turn, or might."""
    turn = 2 * np.pi
    return np.floor(high / turn) >= np.ceil(low / turn)


def cosine(x: Bounds) -> Bounds:
    """Bounds of cos x."""
    quarter = np.pi / 2
    shift = np.array(np.nextafter(quarter, 0)), np.array(np.nextafter(quarter, 2))
    return sine(outward(*add(x, shift)))


def _increasing(
    function: Callable[[Array], Array], least: float = -np.inf, strictly: bool = False
) -> Callable[[Bounds], Bounds]:
    """Bounds of an increasing function that is defined from `least` on, or strictly above it."""

    def bounds(x: Bounds) -> Bounds:
        defined = ((x[0] > least) if strictly else (x[0] >= least)) & ~np.isnan(x[1])
        ends = [function(np.where(defined, end, max(least, 0.0) + 1.0)) for end in x]
        low, high = np.minimum(ends[0], LARGEST), ends[1]
        low, high = low - LIBRARY_ERROR * np.abs(low), high + LIBRARY_ERROR * np.abs(high)
        return _where_defined(defined, outward(low, high))

    return bounds


def magnitude(x: Bounds) -> Bounds:
    """Bounds of |x|."""
    low, high = x
    across = (low <= 0) & (high >= 0)
    sizes = np.abs(low), np.abs(high)
    return np.where(across, 0.0, np.minimum(*sizes)), np.maximum(*sizes)


def _smooth_magnitude(x: Bounds) -> Bounds:
    """Bounds of |x| where it is smooth: x keeps away from zero."""
    return _where_defined((x[0] > 0) | (x[1] < 0), magnitude(x))


_UNARY: dict[type, Callable[[Bounds], Bounds]] = {
    sympy.sin: sine,
    sympy.cos: cosine,
    sympy.tan: lambda x: multiply(sine(x), reciprocal(cosine(x))),
    sympy.exp: _increasing(np.exp),
    sympy.log: _increasing(np.log, np.finfo(float).tiny),
    sympy.atan: _increasing(np.arctan),
    sympy.sinh: _increasing(np.sinh),
    sympy.tanh: _increasing(np.tanh),
    sympy.cosh: lambda x: _increasing(np.cosh)(magnitude(x)),
    sympy.Abs: magnitude,
}
_ROOT, _SMOOTH_ROOT = _increasing(np.sqrt, 0.0), _increasing(np.sqrt, 0.0, strictly=True)


class IntervalFunction:
    """Expressions of some symbols, with sure bounds over boxes.

    Parameters
    ----------
    expressions : sequence of expressions (k,)
    symbols : sequence of symbols (n,)
        What a box gives bounds of, in this order.
    values : mapping of symbol to float
        The other symbols; their values are taken as exact.
    smooth : bool
        Count Abs and square roots as not defined where their argument may vanish. An expression
        with finite bounds is then analytic on the box.

    Examples
    --------
    >>> x = sympy.Symbol("x")
    >>> low, high = IntervalFunction([x * (1 - x)], [x])(np.array([[0.0]]), np.array([[1.0]]))
    >>> bool(low[0, 0] <= 0 and 1 <= high[0, 0] < 1.1)
    True
    """

    def __init__(
        self,
        expressions: Sequence[sympy.Expr],
        symbols: Sequence[sympy.Symbol],
        values: Mapping[sympy.Symbol, float] | None = None,
        *,
        smooth: bool = False,
    ) -> None:
        self.symbols = tuple(symbols)
        self.values = dict(values or {})
        self._root = _SMOOTH_ROOT if smooth else _ROOT
        self._unary = _UNARY | {sympy.Abs: _smooth_magnitude} if smooth else _UNARY
        self._places: dict[sympy.Basic, int] = {}
        self._steps: list[tuple[Callable[..., Bounds], tuple[int, ...]]] = []
        self._fixed: dict[int, Bounds] = {}
        self._outputs = [self._place(expression) for expression in expressions]

    def __call__(self, low: Array, high: Array) -> Bounds:
        """Bounds (m, k) over m boxes `low` to `high` (m, n); infinite where not defined."""
        with np.errstate(all="ignore"):
            found: list[Bounds] = []
            for place, (step, arguments) in enumerate(self._steps):
                known = self._fixed.get(place)
                if known is None:
                    known = step((low, high), *(found[a] for a in arguments))
                found.append(known)
        shape = (len(low), len(self._outputs))
        table = np.empty((2, *shape))
        for k, place in enumerate(self._outputs):
            table[0, :, k], table[1, :, k] = found[place]
        undefined = np.isnan(table).any(axis=0)
        return np.where(undefined, -np.inf, table[0]), np.where(undefined, np.inf, table[1])

    def at(self, points: Array) -> Bounds:
        """Bounds (m, k) at points (m, n): as wide as rounding."""
        return self(points, points)

    # -- from expressions to steps -----------------------------------------------------------------

    def _place(self, expression: sympy.Basic) -> int:
        known = self._places.get(expression)
        if known is not None:
            return known
        step, parts = self._step(expression)
        arguments = tuple(self._place(part) for part in parts)
        place = len(self._steps)
        self._places[expression] = place
        self._steps.append((step, arguments))
        if not expression.has(*self.symbols) if self.symbols else True:
            with np.errstate(all="ignore"):
                empty = np.zeros((1, 0))
                self._fixed[place] = step((empty, empty), *(self._fixed[a] for a in arguments))
        return place

    def _step(self, node: sympy.Basic) -> tuple[Callable[..., Bounds], tuple[sympy.Basic, ...]]:
        match node:
            case sympy.Symbol() if node in self.symbols:
                column = self.symbols.index(node)
                return (lambda box: (box[0][:, column], box[1][:, column])), ()
            case sympy.Symbol() if node in self.values:
                number = np.array([float(self.values[node])])
                return (lambda box: (number, number)), ()
            case sympy.Number() | sympy.NumberSymbol():
                bounds = _constant(node)
                return (lambda box: bounds), ()
            case sympy.Add():
                return (lambda box, *parts: _folded(add, parts)), node.args
            case sympy.Mul():
                return (lambda box, *parts: _folded(multiply, parts)), node.args
            case sympy.Pow() if node.exp.is_Integer and abs(int(node.exp)) <= LARGEST_POWER:
                exponent = int(node.exp)
                return (lambda box, x: power(x, exponent)), (node.base,)
            case sympy.Pow() if node.exp == sympy.Rational(1, 2):
                return (lambda box, x: self._root(x)), (node.base,)
            case sympy.Pow() if node.exp == sympy.Rational(-1, 2):
                return (lambda box, x: reciprocal(self._root(x))), (node.base,)
            case sympy.Pow():
                whole = sympy.exp(node.exp * sympy.log(node.base), evaluate=False)
                return (lambda box, x: x), (whole,)
        unary = self._unary.get(type(node))
        if unary is None:
            raise ModelError(
                f"There are no bounds for `{type(node).__name__}`",
                seen=str(node)[:60],
                remedy="give every parameter a value, and use elementary functions",
            )
        return (lambda box, x: unary(x)), (node.args[0],)


def _folded(operation: Callable[[Bounds, Bounds], Bounds], parts: Sequence[Bounds]) -> Bounds:
    found = parts[0]
    for part in parts[1:]:
        found = operation(found, part)
    return found


def _constant(number: sympy.Expr) -> Bounds:
    """Bounds of a SymPy number: itself if it is a float, else the neighbours of its rounding."""
    if not (number.is_finite and number.is_real):
        return np.array([np.nan]), np.array([np.nan])
    try:
        rounded = float(number)
    except OverflowError:
        rounded = np.inf if number.is_positive else -np.inf
    exact = np.isfinite(rounded) and (number.is_Rational or number.is_Float)
    value = np.array([rounded])
    same = exact and sympy.Rational(*rounded.as_integer_ratio()) == sympy.Rational(number)
    return (value, value) if same else outward(value, value)
