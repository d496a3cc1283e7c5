r"""Linear partial differential equations, completed to a passive system (Riquier, Janet).

Linear homogeneous equations for functions u_1, ..., u_m of x_1, ..., x_d,

    sum c_(alpha, i)(x) D^alpha u_i = 0,

are *passive* where differentiating them gives no equation that they do not solve already. Then
their leading derivatives and the derivatives of these are determined. All others, the *parametric*
ones, may be given at a point at will, and the power series that follows converges near almost every
point (Riquier), since derivatives are ranked by their order, then by alpha, and by i last.

The completion is Buchberger's algorithm for operators that do not commute with their coefficients.
Leading coefficients are divided by: what is said holds where these are not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .differential_fields import DifferentialField, Element

__all__ = ["PassiveSystem", "Row", "TooLargeError", "complete"]

#: The most terms of a coefficient, and the most reductions, of a completion.
MOST_TERMS, MOST_REDUCTIONS = 200, 400

#: A derivative D^alpha u_i, and an equation as the coefficients of derivatives.
Derivative = tuple[tuple[int, ...], int]
Row = dict[Derivative, Element]


class TooLargeError(Exception):
    """The completion grows beyond its limits."""


@dataclass(frozen=True)
class PassiveSystem:
    """Equations with their leading derivatives, none of which is a derivative of another.

    Attributes
    ----------
    rows : dict of derivative to equation
        With the coefficient 1 at the leading derivative.
    count : int
        m, the number of functions.
    dimension : int
        d, the number of variables.
    """

    rows: dict[Derivative, Row]
    count: int
    dimension: int

    @property
    def values(self) -> list[list[Element]]:
        """The equations between the values of the functions themselves, m coefficients each."""
        zero = (0,) * self.dimension
        return [
            [row.get((zero, i), 0) for i in range(self.count)]
            for (alpha, _), row in self.rows.items()
            if alpha == zero
        ]

    def parametric(self, order: int) -> int:
        """How many derivatives of at most some order may be given at a point."""
        found = 0
        for i in range(self.count):
            leading = [alpha for alpha, own in self.rows if own == i]
            found += sum(
                not any(_divides(beta, alpha) for beta in leading)
                for alpha in _exponents(self.dimension, order)
            )
        return found

    @property
    def arbitrariness(self) -> tuple[int, int]:
        """(k, n): solutions depend on k functions of n variables, and on fewer variables besides.

        The degree of Hilbert's polynomial and its first coefficient; n = 0 means k constants.
        """
        exponents = zip(*(alpha for alpha, _ in self.rows), strict=True)
        reached = sum(max(own) for own in exponents)  # Hilbert's polynomial holds from here
        values = [self.parametric(reached + k) for k in range(self.dimension + 2)]
        degree, last = 0, values[-1]
        while len(values) > 1 and any(values):
            values = [b - a for a, b in pairwise(values)]
            if any(values):
                degree, last = degree + 1, values[-1]
        return last, degree


def complete(field: DifferentialField, rows: Sequence[Row], count: int) -> PassiveSystem:
    """The passive system that has the solutions of some equations.

    Raises
    ------
    TooLargeError
        Where coefficients or the number of equations grow beyond the limits.

    Examples
    --------
    u_xx = y u and u_y = 0 leave the solution zero alone.

    >>> import sympy
    >>> from .differential_fields import differential_field
    >>> x, y = sympy.symbols("x y")
    >>> field, (one, up) = differential_field([sympy.S.One, y], (x, y))
    >>> rows = [{((2, 0), 0): one, ((0, 0), 0): -up}, {((0, 1), 0): one}]
    >>> complete(field, rows, 1).values
    [[1]]
    >>> complete(field, rows[:1], 1).arbitrariness
    (2, 1)
    """
    return _PassiveCompletion(field, count).run(rows)


def _divides(beta: tuple[int, ...], alpha: tuple[int, ...]) -> bool:
    return all(b <= a for b, a in zip(beta, alpha, strict=True))


def _exponents(dimension: int, order: int) -> list[tuple[int, ...]]:
    """All exponents of at most some order."""
    if dimension == 0:
        return [()]
    return [(k, *rest) for k in range(order + 1) for rest in _exponents(dimension - 1, order - k)]


def _rank(derivative: Derivative) -> tuple[int, tuple[int, ...], int]:
    alpha, i = derivative
    return sum(alpha), alpha, i


class _PassiveCompletion:
    def __init__(self, field: DifferentialField, count: int) -> None:
        self.field, self.count = field, count
        self.basis: dict[Derivative, Row] = {}
        self.left = MOST_REDUCTIONS

    def run(self, rows: Sequence[Row]) -> PassiveSystem:
        waiting = [dict(row) for row in rows]
        while waiting:
            waiting.sort(key=self._size, reverse=True)
            row = self._monic(self._reduced(waiting.pop()))
            if not row:
                continue
            lead = max(row, key=_rank)
            replaced = [
                own for own in self.basis if own[1] == lead[1] and _divides(lead[0], own[0])
            ]
            waiting += [self.basis.pop(own) for own in replaced]
            waiting += [
                pair
                for own in self.basis
                if own[1] == lead[1]
                for pair in self._difference(lead, row, own)
            ]
            self.basis[lead] = row
        for lead, row in list(self.basis.items()):
            tail = {own: c for own, c in row.items() if own != lead}
            self.basis[lead] = {lead: row[lead], **self._reduced(tail)}
        return PassiveSystem(self.basis, self.count, len(self.field.variables))

    @staticmethod
    def _size(row: Row) -> tuple[int, int]:
        order = max((sum(alpha) for alpha, _ in row), default=0)
        return order, sum(len(c.numer) + len(c.denom) for c in row.values())

    def _monic(self, row: Row) -> Row:
        if not row:
            return row
        first = row[max(row, key=_rank)]
        return {own: c / first for own, c in row.items()}

    def _derived(self, row: Row, by: int) -> Row:
        found: Row = {}
        for (alpha, i), c in row.items():
            up = tuple(a + (k == by) for k, a in enumerate(alpha))
            for own, value in (((alpha, i), self.field.derivative(c, by)), ((up, i), c)):
                found[own] = found[own] + value if own in found else value
        return {own: c for own, c in found.items() if c}

    def _raised(self, row: Row, by: tuple[int, ...]) -> Row:
        for k, times in enumerate(by):
            for _ in range(times):
                row = self._derived(row, k)
        return row

    def _difference(self, lead: Derivative, row: Row, other: Derivative) -> list[Row]:
        """The derivatives of two equations to a common leading derivative, subtracted."""
        top = tuple(max(a, b) for a, b in zip(lead[0], other[0], strict=True))
        first = self._raised(row, tuple(t - a for t, a in zip(top, lead[0], strict=True)))
        second = self._raised(
            self.basis[other], tuple(t - b for t, b in zip(top, other[0], strict=True))
        )
        return [_sum(first, second, -self.field.field.one)]

    def _reduced(self, row: Row) -> Row:
        """An equation without the leading derivatives of the others and their derivatives."""
        self.left -= 1
        if self.left < 0:
            raise TooLargeError
        done: Row = {}
        while row:
            top = max(row, key=_rank)
            c = row[top]
            if max(len(c.numer), len(c.denom)) > MOST_TERMS and len(row) + len(done) > 1:
                raise TooLargeError  # one term alone is divided by its coefficient
            divisor = next(
                (own for own in self.basis if own[1] == top[1] and _divides(own[0], top[0])), None
            )
            if divisor is None:
                done[top] = c
                row = {own: value for own, value in row.items() if own != top}
            else:
                by = tuple(a - b for a, b in zip(top[0], divisor[0], strict=True))
                row = _sum(row, self._raised(self.basis[divisor], by), -c)
        return done


def _sum(row: Row, other: Row, factor: Element) -> Row:
    found = dict(row)
    for own, c in other.items():
        found[own] = found[own] + factor * c if own in found else factor * c
    return {own: c for own, c in found.items() if c}
