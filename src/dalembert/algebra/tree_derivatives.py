"""Partial derivatives of SymPy expressions by the rules of sums, products, powers and functions.

`sympy.diff` makes a `Derivative` of every term and asks for the assumptions of each; the same
expressions follow from the rules alone, with common subexpressions differentiated once.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy
from sympy.core.function import ArgumentIndexError

__all__ = ["partial_derivative"]

Rule = Callable[[sympy.Expr], sympy.Expr]


def partial_derivative(expression: sympy.Expr, symbol: sympy.Expr) -> sympy.Expr:
    """The derivative of an expression with respect to a symbol, as `sympy.diff` gives it.

    >>> x, y = sympy.symbols("x y")
    >>> partial_derivative(x**2 * sympy.sin(x * y), x)
    x**2*y*cos(x*y) + 2*x*sin(x*y)
    """
    if not symbol.is_Symbol:
        return sympy.diff(expression, symbol)
    known: dict[sympy.Expr, sympy.Expr] = {symbol: sympy.S.One}

    def derivative(part: sympy.Expr) -> sympy.Expr:
        found = known.get(part)
        if found is None:
            found = known[part] = _by_rules(part, symbol, derivative)
        return found

    return derivative(sympy.S.Zero + expression)


def _by_rules(part: sympy.Expr, symbol: sympy.Expr, derivative: Rule) -> sympy.Expr:
    if part.is_Number or part.is_NumberSymbol or part.is_Symbol:
        return sympy.S.Zero
    if part.is_Add:
        return sympy.Add(*map(derivative, part.args))
    if part.is_Mul and part.is_commutative:
        return sympy.Add(*_products(part.args, derivative))
    if part.is_Pow and not part.exp.has(symbol):
        return part * (derivative(part.base) * part.exp / part.base)
    if isinstance(part, sympy.Function) and _has_common_rule(part):
        rates = [derivative(argument) for argument in part.args]
        return sympy.Add(*(_outer(part, k) * rate for k, rate in enumerate(rates) if rate != 0))
    return sympy.diff(part, symbol)


def _products(factors: tuple[sympy.Expr, ...], derivative: Rule) -> list[sympy.Expr]:
    """The terms of the product rule."""
    rates = [derivative(factor) for factor in factors]
    return [
        sympy.Mul(*factors[:k], rate, *factors[k + 1 :])
        for k, rate in enumerate(rates)
        if rate != 0
    ]


def _outer(function: sympy.Function, place: int) -> sympy.Expr:
    """The derivative of a function with respect to one of its arguments."""
    try:
        return function.fdiff(place + 1)
    except ArgumentIndexError:
        return sympy.Function.fdiff(function, place + 1)


def _has_common_rule(function: sympy.Function) -> bool:
    """Whether a function is differentiated by the chain rule, without a rule of its own."""
    return bool(type(function)._eval_derivative is sympy.Function._eval_derivative)
