"""Many copies of an expression under other names, and large sums, built directly for speed.

Names that differ from each other are replaced by names that differ from each other. Nothing can
cancel or combine then, so that a copy needs none of SymPy's evaluation, only its order of the
arguments of sums and products.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from typing import Any

import sympy

from ..quantities import Quantity

__all__ = ["renamed", "sum_of_terms"]

_ORDER = cmp_to_key(sympy.Basic.compare)


def renamed(
    expression: sympy.Expr,
    symbols: Sequence[sympy.Symbol],
    copies: Sequence[Sequence[sympy.Symbol]],
) -> list[sympy.Expr]:
    """The expression with `symbols` replaced by each of the copies, whose symbols are distinct.

    >>> x, y, a, b, c, d = sympy.symbols("x y a b c d")
    >>> renamed((x - y)**2, [x, y], [(a, b), (d, c)])
    [(a - b)**2, (-c + d)**2]
    """
    steps = _steps(expression, symbols)
    found = []
    for copy in copies:
        if len(set(copy)) < len(copy):
            found.append(expression.xreplace(dict(zip(symbols, copy, strict=True))))
            continue
        values: list[Any] = list(copy)
        for node, places in steps:
            values.append(
                _built(
                    node, [values[place] if isinstance(place, int) else place for place in places]
                )
            )
        found.append(values[-1])
    return found


def _steps(expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> list[tuple[Any, list[Any]]]:
    """What to build, in order: nodes, the places of arguments that change, and the others."""
    places: dict[Any, int] = {symbol: number for number, symbol in enumerate(symbols)}
    steps: list[tuple[Any, list[Any]]] = []
    for node in sympy.postorder_traversal(expression):
        if node not in places and any(argument in places for argument in node.args):
            steps.append((node, [places.get(argument, argument) for argument in node.args]))
            places[node] = len(symbols) + len(steps) - 1
    return steps


def _built(node: sympy.Basic, arguments: list[Any]) -> Any:
    """A node like another one with other arguments."""
    if isinstance(node, (sympy.Add, sympy.Mul)):
        return type(node)._from_args(_ordered(arguments), is_commutative=True)
    if isinstance(node, sympy.Pow):
        made = sympy.Expr.__new__(sympy.Pow, *arguments)
        made.is_commutative = True
        return made
    return node.func(*arguments)


def _ordered(arguments: list[Any]) -> tuple[Any, ...]:
    """In the order that sums and products have: a number first."""
    numbers = [argument for argument in arguments if argument.is_Number]
    others = [argument for argument in arguments if not argument.is_Number]
    if len(others) > 20:
        others.sort(key=_spelled)  # nearly the same order, found quickly
    others.sort(key=_ORDER)
    return (*numbers, *others)


def _spelled(node: sympy.Basic) -> str:
    if node.is_Symbol or isinstance(node, Quantity):
        return str(node.name)
    return (
        f"{type(node).__name__}({','.join(map(_spelled, node.args))})" if node.args else str(node)
    )


def sum_of_terms(parts: Sequence[tuple[sympy.Expr, int]]) -> sympy.Expr:
    """The sum of expressions times +1 or -1, equal terms collected, in linear time.

    >>> x, y = sympy.symbols("x y")
    >>> sum_of_terms([(2*x + y, 1), (x - 3, -1)])
    x + y + 3
    """
    coefficients: dict[Any, Any] = {}
    constant: Any = sympy.Integer(0)
    for expression, sign in parts:
        for term in sympy.Add.make_args(expression):
            factor, rest = _split(term)
            if rest is None:
                constant += sign * factor
            elif rest in coefficients:
                coefficients[rest] += sign * factor
            else:
                coefficients[rest] = factor if sign > 0 else -factor
    terms = [_times(factor, rest) for rest, factor in coefficients.items() if factor != 0]
    if constant != 0:
        terms.append(constant)
    if not terms:
        return sympy.Integer(0)
    return (
        terms[0] if len(terms) == 1 else sympy.Add._from_args(_ordered(terms), is_commutative=True)
    )


def _split(term: sympy.Expr) -> tuple[Any, Any]:
    """The number in front of a term and the rest, None where there is no rest."""
    if term.is_Number:
        return term, None
    if isinstance(term, sympy.Mul) and term.args[0].is_Number:
        rest = term.args[1:]
        return term.args[0], (
            rest[0] if len(rest) == 1 else sympy.Mul._from_args(rest, is_commutative=True)
        )
    return sympy.Integer(1), term


def _times(factor: sympy.Expr, rest: sympy.Expr) -> Any:
    if factor == 1 and factor.is_Integer:
        return rest
    arguments = rest.args if isinstance(rest, sympy.Mul) else (rest,)
    if isinstance(rest, sympy.Add) or (arguments and arguments[0].is_Number):
        return factor * rest
    return sympy.Mul._from_args((factor, *arguments), is_commutative=True)
