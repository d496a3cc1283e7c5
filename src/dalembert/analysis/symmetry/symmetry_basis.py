r"""Readable fields from a subspace of coefficients known at several parameter values.

The subspace has one basis in reduced echelon form. Each entry of it is then either the same number
for all values of the parameters, and a small fraction; or a small fraction times powers of
parameters and of their sums; or it is left as a number that holds for one set of values only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import sympy

from ...typing import Array

__all__ = ["Recogniser", "echelon", "fraction"]

#: Entries below this beside pivots of one are zero; also the relative distance of equal numbers.
ROUNDING = 1e-7
#: The largest denominator of a coefficient, and the largest power of a parameter.
MOST_PARTS, POWERS = 12, (1, -1, 2, -2)
#: With more parameters only single ones and pairs are tried.
FEW_PARAMETERS = 8


def echelon(vectors: Array) -> tuple[Array, tuple[int, ...]]:
    """The reduced echelon form (d, K) of independent rows, and its pivot columns.

    >>> echelon(np.array([[1.0, 1.0, 3.0], [1.0, -1.0, 1.0]]))
    (array([[1., 0., 2.],
           [0., 1., 1.]]), (0, 1))
    """
    table = np.array(vectors, dtype=float)
    count, width = table.shape
    pivots: list[int] = []
    for column in range(width):
        row = len(pivots)
        if row == count:
            break
        best = row + int(np.argmax(np.abs(table[row:, column])))
        if abs(table[best, column]) < 1e-6 * max(1.0, float(np.max(np.abs(table[row:])))):
            table[row:, column] = 0.0
            continue
        table[[row, best]] = table[[best, row]]
        table[row] /= table[row, column]
        for other in range(count):
            if other != row:
                table[other] -= table[other, column] * table[row]
        pivots.append(column)
    table[np.abs(table) < ROUNDING] = 0.0
    return table, tuple(pivots)


def fraction(value: float) -> sympy.Rational | None:
    """A number as a fraction with a small denominator, where it is one.

    >>> fraction(0.3333333333), fraction(0.123)
    (1/3, None)
    """
    near = Fraction(float(value)).limit_denominator(MOST_PARTS)
    if abs(float(near) - value) > ROUNDING * max(1.0, abs(value)):
        return None
    return sympy.Rational(near.numerator, near.denominator)


class Recogniser:
    """Expressions of parameters by their values at several sets of them.

    Parameters
    ----------
    symbols : sequence of symbols
    sets : sequence of mappings of name to value

    Examples
    --------
    >>> a, b = sympy.symbols("a b")
    >>> sets = [{"a": 0.7, "b": 1.3}, {"a": 1.1, "b": 0.6}, {"a": 0.9, "b": 1.2}]
    >>> known = Recogniser([a, b], sets)
    >>> values = [-3 * v["a"] / v["b"] / 2 for v in known.sets]
    >>> known.expression(values), known.expression([0.5, 0.5, 0.5])
    (-3*a/(2*b), 1/2)
    """

    def __init__(
        self, symbols: Sequence[sympy.Symbol], sets: Sequence[Mapping[str, float]]
    ) -> None:
        self.symbols, self.sets = list(symbols), list(sets)

    def expression(self, values: Sequence[float]) -> sympy.Expr | None:
        """The expression with these values at the sets; None where no simple one has them."""
        numbers = np.asarray(values, dtype=float)
        size = max(1.0, float(np.max(np.abs(numbers))))
        if np.max(np.abs(numbers - numbers[0])) <= ROUNDING * size:
            return fraction(float(numbers[0]))
        if len(self.sets) < 3 or np.any(numbers == 0):
            return None
        for factor, sizes in self._products():
            ratio = numbers / sizes
            if np.max(np.abs(ratio - ratio[0])) <= ROUNDING * abs(ratio[0]):
                rational = fraction(float(ratio[0]))
                if rational is not None and rational != 0:
                    return rational * factor
        return None

    def _products(self) -> Iterator[tuple[sympy.Expr, Array]]:
        """Products of powers: of one parameter, of two, of a parameter and a sum, of three."""
        named = ((s, [float(values[s.name]) for values in self.sets]) for s in self.symbols)
        symbols = [(s, np.array(sizes)) for s, sizes in named if all(size != 0 for size in sizes)]
        every = ((a + b, one + two) for (a, one), (b, two) in combinations(symbols, 2))
        sums = [(total, sizes) for total, sizes in every if np.all(sizes != 0)]
        for s, sizes in symbols:
            yield from ((s**power, sizes**power) for power in POWERS)
        for (a, one), (b, two) in combinations(symbols, 2):
            yield from ((a**i * b**j, one**i * two**j) for i, j in product(POWERS, POWERS))
        if len(symbols) > FEW_PARAMETERS:
            return
        for total, sizes in sums:
            yield from ((total**power, sizes**power) for power in (1, -1))
            for (s, own), i, j in product(symbols, (1, -1), (1, -1)):
                yield s**i * total**j, own**i * sizes**j
        for (a, one), (b, two), (c, three) in combinations(symbols, 3):
            for i, j, k in product(POWERS, POWERS, POWERS):
                yield a**i * b**j * c**k, one**i * two**j * three**k
