"""Expressions in lowest terms, and linear systems solved in lowest terms."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from .quotients import EFFORT, AngleSubstitution, Generators, PolynomialQuotient
from .trigonometric_ring import TooMuchWorkError, Work

__all__ = ["eliminated", "lowest_terms"]


def lowest_terms(
    expression: sympy.Expr, work: Work | None = None, turns: Sequence[AngleSubstitution] = ()
) -> sympy.Expr:
    """The expression as one quotient in lowest terms.

    >>> u = sympy.Symbol("u")
    >>> lowest_terms(
    ...     (1 - sympy.cos(u) ** 2) / (sympy.sin(u) + sympy.sin(u) ** 2)
    ...     + sympy.sin(u) / (1 + sympy.sin(u))
    ... )
    2*sin(u)/(sin(u) + 1)

    Raises
    ------
    TooMuchWorkError
        Where the limit is reached.
    """
    if not expression.args:
        return expression
    work = work or Work(EFFORT)
    generators = Generators(
        [expression], work, turns, lambda inner: lowest_terms(inner, work, turns)
    )
    return generators.expression(generators.read(expression))


def eliminated(
    matrix: sympy.MatrixBase,
    right: sympy.MatrixBase,
    work: Work | None = None,
    turns: Sequence[AngleSubstitution] = (),
) -> sympy.MatrixBase:
    """X (n x k) with matrix @ X = right, in lowest terms; pivots are the smallest entries left.

    >>> u = sympy.Symbol("u")
    >>> turn = sympy.Matrix([[sympy.cos(u), -sympy.sin(u)], [sympy.sin(u), sympy.cos(u)]])
    >>> eliminated(turn, sympy.eye(2))
    Matrix([
    [ cos(u), sin(u)],
    [-sin(u), cos(u)]])

    Raises
    ------
    TooMuchWorkError
        Where the limit is reached, or the matrix is singular.
    """
    n = matrix.rows
    generators = Generators([*matrix, *right], work, turns)
    table = [
        [generators.read(entry) for entry in (*matrix.row(k), *right.row(k))] for k in range(n)
    ]
    columns: dict[int, int] = {}
    for _ in range(n):
        free = [
            (i, j)
            for i in range(n)
            for j in range(n)
            if i not in columns and j not in columns.values()
        ]
        candidates = [(i, j) for i, j in free if table[i][j].above]
        if not candidates:
            raise TooMuchWorkError
        row, column = min(candidates, key=lambda place: (_length(table[place[0]][place[1]]), place))
        columns[row] = column
        inverse = generators.power(table[row][column], -1)
        table[row] = [generators.times([entry, inverse]) for entry in table[row]]
        for i in range(n):
            factor = table[i][column]
            if i != row and factor.above:
                negative = PolynomialQuotient(-factor.above, factor.divisor, factor.below)
                table[i] = [
                    (
                        generators.total([entry, generators.times([negative, other])])
                        if other.above
                        else entry
                    )
                    for entry, other in zip(table[i], table[row], strict=True)
                ]
    rows = {column: row for row, column in columns.items()}
    return sympy.Matrix(n, right.cols, lambda j, k: generators.expression(table[rows[j]][n + k]))


def _length(quotient: PolynomialQuotient) -> int:
    return len(quotient.above) + sum(
        len(factor) * power for factor, power in quotient.below if len(factor) > 1
    )
