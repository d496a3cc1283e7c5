r"""Fields of functions with derivatives, in which zero is decided exactly.

Elements are rational functions over the rationals of symbols and of

    exp(m / k),     tan(m / 2k),     log(x)

for monomials m of the symbols with integers k, and symbols x. Functions of different monomials are
independent, so that the field is that of rational functions of so many generators. A sine or cosine
of a polynomial is a rational function of tangents by the addition theorems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any, NamedTuple

import sympy
from sympy.polys.domains import QQ
from sympy.polys.fields import FracField
from sympy.polys.orderings import lex

__all__ = ["DifferentialField", "Element", "UnrepresentedError", "differential_field"]

#: An element, SymPy's FracElement.
Element = Any
CIRCULAR = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)
HYPERBOLIC = (sympy.sinh, sympy.cosh, sympy.tanh, sympy.coth, sympy.sech, sympy.csch)


class UnrepresentedError(Exception):
    """An expression has a function that is not in such a field; the argument is that function."""


@dataclass(frozen=True)
class DifferentialField:
    """A field of rational functions with derivatives by some symbols.

    Attributes
    ----------
    variables : tuple of symbols (d,)
    field : sympy FracField
        The generators are the variables, other symbols, which are constants, and functions.
    rates : tuple of tuples of elements
        The derivatives of the generators by each variable.
    """

    variables: tuple[sympy.Symbol, ...]
    field: Any
    rates: tuple[tuple[Element, ...], ...]

    def derivative(self, element: Element, by: int) -> Element:
        """The derivative of an element by the variable at an index."""
        total = self.field.zero
        for generator, rate in zip(self.field.gens, self.rates[by], strict=True):
            if rate:
                total += element.diff(generator) * rate
        return total


def differential_field(
    expressions: Sequence[sympy.Expr], variables: Sequence[sympy.Symbol]
) -> tuple[DifferentialField, list[Element]]:
    """The smallest such field that has some expressions, and these as its elements.

    Raises
    ------
    UnrepresentedError
        For roots, numbers such as pi, and functions of what is no polynomial of the symbols.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> field, (s, c) = differential_field([y * sympy.sin(2 * x), sympy.cos(x)], (x, y))
    >>> by_y = field.derivative(s, 1)
    >>> by_y**2 == 4 * c**2 * (1 - c**2)
    True
    """
    generators = _Generators({})
    plain = [expression.rewrite(HYPERBOLIC, sympy.exp) for expression in expressions]
    for expression in plain:
        generators.collect(expression)
    rational = [generators.rewritten(expression) for expression in plain]
    symbols = set(variables).union(*(expression.free_symbols for expression in rational))
    functions = {f.symbol: f for f in generators.functions.values() if f.symbol in symbols}
    for function in functions.values():
        symbols |= function.argument.free_symbols
    ordered = sorted(symbols, key=lambda symbol: (symbol not in functions, symbol.name))
    field: Any = FracField(ordered, QQ, lex)
    rates = tuple(
        tuple(
            field.from_expr(functions[s].rate(x) if s in functions else sympy.Integer(s == x))
            for s in ordered
        )
        for x in variables
    )
    elements = [field.from_expr(expression) for expression in rational]
    return DifferentialField(tuple(variables), field, rates), elements


class _Function(NamedTuple):
    """A generator: exp(a), tan(a / 2) or log(a)."""

    symbol: sympy.Symbol
    kind: str
    argument: sympy.Expr

    def rate(self, x: sympy.Symbol) -> sympy.Expr:
        inner, own = sympy.diff(self.argument, x), self.symbol
        outer = {"exp": own, "tan": (1 + own**2) / 2, "log": 1 / self.argument}
        return inner * outer[self.kind]


class _Generators:
    """Functions of monomials, with the common denominators of the coefficients in arguments."""

    def __init__(self, denominators: dict[tuple[str, sympy.Expr], int]) -> None:
        self.denominators = denominators
        self.functions: dict[tuple[str, sympy.Expr], _Function] = {}

    def collect(self, expression: sympy.Expr) -> None:
        for node in expression.atoms(sympy.Function):
            if isinstance(node, (sympy.exp, *CIRCULAR)):
                kind = "exp" if isinstance(node, sympy.exp) else "tan"
                for monomial, coefficient in _monomials(node).items():
                    key = kind, monomial
                    self.denominators[key] = lcm(self.denominators.get(key, 1), coefficient.q)

    def _function(self, kind: str, argument: sympy.Expr) -> sympy.Symbol:
        key = kind, argument
        if key not in self.functions:
            symbol = sympy.Dummy(f"{kind}_{len(self.functions)}")
            self.functions[key] = _Function(symbol, kind, argument)
        return self.functions[key].symbol

    def rewritten(self, expression: sympy.Expr) -> sympy.Expr:
        """An expression as a rational function of the generators."""
        if expression.is_Rational or expression.is_Symbol:
            return expression
        if isinstance(expression, (sympy.Add, sympy.Mul)):
            return expression.func(*(self.rewritten(part) for part in expression.args))
        if isinstance(expression, sympy.Pow) and expression.exp.is_Integer:
            return self.rewritten(expression.base) ** expression.exp
        if isinstance(expression, sympy.exp):
            return sympy.Mul(*(e**k for e, k in self._powers("exp", expression)))
        if isinstance(expression, CIRCULAR):
            return self._circular(expression)
        if isinstance(expression, sympy.log) and expression.args[0].is_Symbol:
            return self._function("log", expression.args[0])
        raise UnrepresentedError(expression)

    def _powers(self, kind: str, node: sympy.Expr) -> list[tuple[sympy.Symbol, int]]:
        found = []
        for monomial, coefficient in _monomials(node).items():
            whole = self.denominators[kind, monomial]
            found.append((self._function(kind, monomial / whole), int(coefficient * whole)))
        return found

    def _circular(self, node: sympy.Expr) -> sympy.Expr:
        cosine, sine = sympy.S.One, sympy.S.Zero
        for half, times in self._powers("tan", node):
            c, s = (1 - half**2) / (1 + half**2), 2 * half / (1 + half**2)
            for _ in range(abs(times)):
                s_signed = s if times > 0 else -s
                cosine, sine = (
                    sympy.cancel(cosine * c - sine * s_signed),
                    sympy.cancel(sine * c + cosine * s_signed),
                )
        values = {sympy.cos: cosine, sympy.sin: sine, sympy.tan: sine / cosine}
        values |= {sympy.cot: cosine / sine, sympy.sec: 1 / cosine, sympy.csc: 1 / sine}
        return values[node.func]


def _monomials(node: sympy.Expr) -> dict[sympy.Expr, sympy.Rational]:
    """The argument of a function as a sum of rational multiples of monomials of symbols."""
    found: dict[sympy.Expr, sympy.Rational] = {}
    for term in sympy.Add.make_args(sympy.expand(node.args[0])):
        coefficient, monomial = term.as_coeff_Mul()
        polynomial = all(
            base.is_Symbol and power.is_Integer and power > 0
            for base, power in (f.as_base_exp() for f in sympy.Mul.make_args(monomial))
        )
        if not (coefficient.is_Rational and polynomial):
            raise UnrepresentedError(node)
        found[monomial] = coefficient
    return found
