r"""Surfaces given by relations f(x) = 0, and linear equations whose rank is decided on them.

Each relation is solved for a symbol where it is linear or quadratic in one, so that an expression
on the surface is one of the remaining symbols, and `algebra.structure` says whether it vanishes
there. What was assumed on the way, such as a coefficient that is not zero or the sign of a root, is
kept. Relations that cannot be solved so are met by Newton's method: points on the surface then
refute, and nothing is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.simplify.simplifier import lowest_terms, simplify
from ..algebra.verdicts import Verdict, conjunction
from .vanishing import drawn_points, vanish

__all__ = ["Elimination", "Surface", "eliminate"]

#: Points of a surface that is not solved for symbols, Newton steps to each, what counts as zero.
POINTS, STEPS, ROUNDING = 6, 60, 1e-7
ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Surface:
    """The points where all relations vanish.

    Attributes
    ----------
    symbols : tuple of symbols
        What relations may be solved for.
    relations : tuple of expressions
    solved : mapping of symbol to expression
        Symbols by the others on the surface.
    steady : mapping of symbol to expression
        Those of them that need no root and no division by what may vanish.
    unsolved : tuple of expressions
        Relations that were not solved for a symbol.
    assumptions : tuple of str
        What the solution takes for granted.

    Examples
    --------
    >>> x, y, p = sympy.symbols("x y p", real=True)
    >>> circle = Surface((x, y, p)).with_relation(x**2 + y**2 - 1).with_relation(x * p)
    >>> circle.vanish(p * y).status, circle.vanish(x**2 + y**2 - 2).status
    ('proved', 'refuted')
    """

    symbols: tuple[sympy.Symbol, ...]
    relations: tuple[sympy.Expr, ...] = ()
    solved: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)
    steady: Mapping[sympy.Symbol, sympy.Expr] = field(default_factory=dict)
    unsolved: tuple[sympy.Expr, ...] = ()
    assumptions: tuple[str, ...] = ()

    def on(self, expression: sympy.Expr) -> sympy.Expr:
        """An expression on the surface, in the symbols that are not solved for."""
        return lowest_terms((expression + ZERO).xreplace(dict(self.solved)))

    def reduced(self, expression: sympy.Expr) -> sympy.Expr:
        """The same by the steady solutions alone: an equal expression without roots."""
        return lowest_terms((expression + ZERO).xreplace(dict(self.steady)))

    def vanish(self, expression: sympy.Expr) -> Verdict:
        """Whether an expression is zero on the surface."""
        reduced = self.on(expression)
        found = vanish([reduced])
        if not self.unsolved or found.holds:
            return found
        for point in self._points:
            terms = [_number(term, point) for term in sympy.Add.make_args(reduced)]
            if abs(sum(terms)) > ROUNDING * (sum(map(abs, terms)) or 1.0):
                return Verdict("refuted", "at a point of the surface")
        seen = f"zero at {len(self._points)} points of a surface whose relations are not solved"
        return Verdict("not established", seen, holds_to_rounding=bool(self._points))

    def with_relation(self, relation: sympy.Expr) -> Surface:
        """The part of the surface on which one more relation holds."""
        whole = replace(self, relations=(*self.relations, relation))
        plain, rest = (_numerator(way(relation)) for way in (self.reduced, self.on))
        if rest == 0:
            return whole
        best = self._best(plain)
        if best is not None and best.is_steady and best.symbol not in self.solved:
            new = {best.symbol: simplify(best.value)}
            whole = replace(whole, steady=_extended(self.steady, new))
        else:
            best = self._best(rest)
        if best is None:
            return replace(whole, unsolved=(*self.unsolved, rest))
        new = {best.symbol: self.on(best.value)}
        return replace(
            whole,
            solved=_extended(self.solved, new),
            unsolved=tuple(e.xreplace(new) for e in self.unsolved),
            assumptions=(*self.assumptions, *best.assumptions),
        )

    def _best(self, relation: sympy.Expr) -> _Solution | None:
        """The simplest solution of a relation for a symbol that is not solved for."""
        found = (_solution(relation, s, self.symbols) for s in self.symbols if s not in self.solved)
        choices = [choice for choice in found if choice is not None]
        return min(choices, key=lambda choice: choice.cost) if choices else None

    @property
    def _points(self) -> list[dict[sympy.Symbol, float]]:
        """Points of the surface, by Newton's method on the relations that are not solved."""
        names = sorted(set().union(*(e.free_symbols for e in self.unsolved)), key=str)
        moving = [s for s in names if s in self.symbols]
        algebra = GraphAlgebra()
        column, relations = algebra.vector(names), algebra.vector(self.unsolved)
        residual = ca.Function("residual", [column], [relations])
        rows = ca.Function("rows", [column], [algebra.jacobian(relations, algebra.vector(moving))])
        places = [names.index(s) for s in moving]
        found = []
        others = [s for s in self.symbols if s not in names]
        for drawn in drawn_points([*names, *others], 4 * POINTS):
            x = np.array([float(drawn[s]) for s in names])
            for _ in range(STEPS):
                value = np.asarray(residual(x), dtype=float).ravel()
                table = np.asarray(rows(x), dtype=float)
                gram = table @ table.T + 1e-14 * np.eye(len(value))
                x[places] -= table.T @ np.linalg.solve(gram, value)
            if np.all(np.isfinite(x)) and np.max(np.abs(np.asarray(residual(x)))) < 1e-11:
                here = {s: float(drawn[s]) for s in others}
                found.append(here | dict(zip(names, x, strict=True)))
        return found[:POINTS]


@dataclass(frozen=True)
class _Solution:
    """A symbol by the others, and how little one would like to choose it."""

    symbol: sympy.Symbol
    value: sympy.Expr
    cost: tuple[int, int]
    assumptions: tuple[str, ...] = ()

    @property
    def is_steady(self) -> bool:
        """Whether the solution holds at every point."""
        return self.cost[0] == 0


def _numerator(expression: sympy.Expr) -> sympy.Expr:
    return sympy.fraction(sympy.together(expression))[0]


def _extended(
    table: Mapping[sympy.Symbol, sympy.Expr], new: Mapping[sympy.Symbol, sympy.Expr]
) -> dict[sympy.Symbol, sympy.Expr]:
    """A table of solutions with a new one, which is put into the others."""
    return {s: simplify(value.xreplace(dict(new))) for s, value in table.items()} | dict(new)


def _solution(
    relation: sympy.Expr, symbol: sympy.Symbol, moving: Sequence[sympy.Symbol]
) -> _Solution | None:
    """The solution for a symbol in which a relation is linear or quadratic."""
    if not relation.has(symbol):
        return None
    try:
        coefficients = sympy.Poly(relation, symbol).all_coeffs()
    except sympy.PolynomialError:
        return None
    lead, size = coefficients[0], sum(c.count_ops() for c in coefficients)
    steady = not lead.free_symbols & set(moving)
    known = () if steady or lead.is_nonzero else (f"{lead} is not zero",)
    match len(coefficients):
        case 2:
            value = -coefficients[1] / lead
            return _Solution(symbol, value, (0 if steady else 2, size), known)
        case 3:
            middle, last = coefficients[1:]
            root = sympy.sqrt(simplify(middle**2 - 4 * lead * last))
            words = (*known, f"{symbol} is taken on one branch of a square root")
            return _Solution(
                symbol, (root - middle) / (2 * lead), (4 if steady else 6, size), words
            )
    return None


def _number(expression: sympy.Expr, point: Mapping[Any, float]) -> complex:
    """The value at a point; other symbols are one half."""
    others = {s: 0.5 for s in expression.free_symbols if s not in point}
    return complex(sympy.N(expression.subs(dict(point) | others)))


@dataclass(frozen=True)
class Elimination:
    """The solution of linear equations M x = r.

    Attributes
    ----------
    pivots : mapping of column to row of M
    values : mapping of column to (right-hand sides, coefficients of free columns)
        x_column = right - sum of coefficient times x_free.
    free : tuple of int
        Columns that the equations leave undetermined.
    conditions : mapping of row to list
        What the right-hand sides must make zero, for each dependent row.
    verdict : Verdict
        On the rank decisions.
    """

    pivots: Mapping[int, int]
    values: Mapping[int, tuple[list[sympy.Expr], dict[int, sympy.Expr]]]
    free: tuple[int, ...]
    conditions: Mapping[int, list[sympy.Expr]]
    verdict: Verdict


def eliminate(
    surface: Surface, matrix: Sequence[Sequence[sympy.Expr]], right: Sequence[Sequence[sympy.Expr]]
) -> Elimination:
    """Solve M x = r for several right-hand sides by elimination; what is zero is zero on a surface.

    >>> x, y = sympy.symbols("x y", real=True)
    >>> found = eliminate(Surface((x, y)), [[x, 1], [x * y, y]], [[1], [y]])
    >>> found.values, found.free, found.conditions
    ({1: ([1], {0: x})}, (0,), {1: [0]})
    """
    rows = [
        [surface.reduced(entry) for entry in (*a, *b)] for a, b in zip(matrix, right, strict=True)
    ]
    count = len(matrix[0]) if rows else 0
    verdicts: dict[str, Verdict] = {}
    is_zero = _zero_test(surface, verdicts)
    left: list[int] = list(range(len(rows)))
    pivots: dict[int, int] = {}
    while True:
        for i in left:
            rows[i] = [ZERO if is_zero(entry) else entry for entry in rows[i]]
        choices = [
            (_cost(rows[i][j], surface.symbols), i, j)
            for i in left
            for j in range(count)
            if j not in pivots and rows[i][j] != 0
        ]
        if not choices:
            break
        _, i, j = min(choices)
        left.remove(i)
        pivots[j] = i
        rows[i] = [lowest_terms(entry / rows[i][j]) for entry in rows[i]]
        for k in range(len(rows)):
            factor = rows[k][j]
            if k != i and factor != 0:
                pairs = zip(rows[k], rows[i], strict=True)
                rows[k] = [
                    one if other == 0 else lowest_terms(one - factor * other)
                    for one, other in pairs
                ]
    free = tuple(j for j in range(count) if j not in pivots)
    values = {
        j: (rows[i][count:], {k: rows[i][k] for k in free if not is_zero(rows[i][k])})
        for j, i in pivots.items()
    }
    sure = Verdict("proved", "no decision was needed", holds_to_rounding=True)
    verdict = conjunction(verdicts) if verdicts else sure
    return Elimination(pivots, values, free, {i: rows[i][count:] for i in left}, verdict)


def _zero_test(surface: Surface, verdicts: dict[str, Verdict]) -> Callable[[sympy.Expr], bool]:
    """Whether an expression is zero on a surface; a decision that is not proved is kept."""
    known: dict[sympy.Expr, bool] = {}

    def is_zero(expression: sympy.Expr) -> bool:
        if expression.is_number:
            return bool(expression == 0)
        if expression not in known:
            found = surface.vanish(expression)
            known[expression] = found.holds
            if found.status == "not established":
                verdicts[str(expression)[:60]] = found
        return known[expression]

    return is_zero


def _cost(expression: sympy.Expr, moving: Sequence[sympy.Symbol]) -> tuple[int, int]:
    """How little one would like to divide by an expression."""
    return int(bool(expression.free_symbols & set(moving))), int(expression.count_ops())
