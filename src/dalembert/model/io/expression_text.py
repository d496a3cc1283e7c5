"""Expression to text in the model language: the inverse of `parse`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import sympy
from sympy.core.relational import Relational

from ...errors import ExpressionError
from ..names import check_name, shortened
from ..quantities import Quantity
from ..symbols import as_expression
from .expression_rules import FUNCTIONS, MOST_ARGUMENTS

__all__ = ["format"]

# How tightly a text holds together; a part is put into parentheses where it holds less than its
# place asks.
_SUM, _PRODUCT, _POWER, _ATOM = 0, 1, 2, 3

_NAMES = {
    head: name
    for name, (head, _, _) in FUNCTIONS.items()
    if name not in ("abs", "min", "max", "where")
}
_RECIPROCALS: dict[Any, str] = {
    sympy.cot: "tan",
    sympy.sec: "cos",
    sympy.csc: "sin",
    sympy.coth: "tanh",
    sympy.sech: "cosh",
    sympy.csch: "sinh",
}
#: Longer sums and products are written in the order in which SymPy keeps them.
_LONGEST_ORDERED = 200


def format(expression: sympy.Expr, *, taken: Collection[str] = ()) -> str:
    """Text in the model language that `parse` reads as the same expression.

    Floating numbers are written with all the digits of a double. `taken` lists names that stand for
    symbols wherever the text will be read, so that ``pi`` can be written otherwise where it is one
    of them.

    >>> x, y = sympy.symbols("x y", real=True)
    >>> format(sympy.sqrt(x**2 + y**2)/2 - 0.1*x)
    '-0.1*x + sqrt(x**2 + y**2)/2'
    >>> format(sympy.Piecewise((x, x > 0), (y, True)))
    'where(x > 0, x, y)'
    """
    expression = as_expression(expression)
    symbols = {symbol.name for symbol in expression.free_symbols}
    try:
        return _ExpressionWriter("pi" in symbols or "pi" in taken).text(expression, _SUM)
    except RecursionError as error:
        raise ExpressionError(
            "An expression is nested too deeply to be written", remedy="write it flatter"
        ) from error


class _ExpressionWriter:
    """Writes the parts of an expression; `pi_is_symbol` asks for another name of the constant."""

    def __init__(self, pi_is_symbol: bool) -> None:
        self.pi = "acos(-1)" if pi_is_symbol else "pi"

    def text(self, expression: sympy.Basic, place: int) -> str:
        text, strength = self._written(expression)
        return text if strength >= place else f"({text})"

    def _written(self, expression: sympy.Basic) -> tuple[str, int]:
        if expression.is_Symbol or isinstance(expression, Quantity):
            check_name(expression.name)
            return expression.name, _ATOM
        if expression.is_Float:
            return self._float(expression)
        if expression.is_Integer:
            return str(expression.p), _ATOM if expression.p >= 0 else _SUM
        if expression.is_Rational:
            return f"{expression.p}/{expression.q}", _PRODUCT if expression.p > 0 else _SUM
        if expression == sympy.pi:
            return self.pi, _ATOM
        if expression == sympy.E:
            return "exp(1)", _ATOM
        if expression.is_Add:
            return self._sum(expression)
        if expression.is_Mul:
            return self._product(expression)
        if expression.is_Pow:
            return self._power(expression)
        if isinstance(expression, sympy.Piecewise):
            return self._cases(expression.args), _ATOM
        if expression.func in (sympy.Min, sympy.Max):
            return self._extreme(_NAMES[expression.func], expression.args), _ATOM
        if expression.func in _NAMES:
            return f"{_NAMES[expression.func]}({self._listed(expression.args)})", _ATOM
        if expression.func in _RECIPROCALS:
            return f"1/{_RECIPROCALS[expression.func]}({self._listed(expression.args)})", _PRODUCT
        raise ExpressionError(
            f"The model language has no {type(expression).__name__}",
            seen=shortened(str(expression)),
            remedy="write it with the functions of the language",
        )

    def _listed(self, arguments: Sequence[Any]) -> str:
        return ", ".join(self.text(argument, _SUM) for argument in arguments)

    def _extreme(self, name: str, arguments: Sequence[Any]) -> str:
        """The least or greatest of arguments, in calls of as many as the language takes."""
        texts = [self.text(argument, _SUM) for argument in arguments]
        while len(texts) > MOST_ARGUMENTS:
            groups = (texts[k : k + MOST_ARGUMENTS] for k in range(0, len(texts), MOST_ARGUMENTS))
            texts = [f"{name}({', '.join(group)})" for group in groups]
        return f"{name}({', '.join(texts)})"

    def _float(self, expression: sympy.Float) -> tuple[str, int]:
        value = float(expression)
        if not math.isfinite(value):
            raise ExpressionError("A number is outside the range of doubles", seen=expression)
        return repr(value), _SUM if repr(value).startswith("-") else _ATOM

    def _sum(self, expression: sympy.Add) -> tuple[str, int]:
        ordered = len(expression.args) <= _LONGEST_ORDERED
        terms = expression.as_ordered_terms() if ordered else expression.args
        parts: list[str] = []
        for term in terms:
            text = self.text(term, _PRODUCT if term.is_Add else _SUM)
            if not parts:
                parts.append(text)
            else:
                parts.append(f"- {text[1:]}" if text.startswith("-") else f"+ {text}")
        return " ".join(parts), _SUM

    def _product(self, expression: sympy.Basic) -> tuple[str, int]:
        coefficient, rest = expression.as_coeff_Mul()
        above: list[str] = []
        below: list[str] = []
        negative = bool(coefficient.is_negative)
        coefficient = abs(coefficient)
        sums_below = False
        if (coefficient.is_Rational and coefficient.p != 1) or coefficient.is_Float:
            above.append(
                self.text(
                    sympy.Integer(coefficient.p) if coefficient.is_Rational else coefficient, _POWER
                )
            )
        ordered = rest.is_Mul and len(rest.args) <= _LONGEST_ORDERED
        for factor in rest.as_ordered_factors() if ordered else sympy.Mul.make_args(rest):
            base, exponent = factor.args if factor.is_Pow else (factor, sympy.Integer(1))
            if exponent.is_Rational and exponent < 0:
                below.append(
                    self.text(
                        sympy.Pow(base, -exponent, evaluate=False) if exponent != -1 else base,
                        _POWER,
                    )
                )
                sums_below |= base.is_Add
            else:
                above.append(self.text(factor, _POWER))
        text = "*".join(above) or "1"
        divisor = str(coefficient.q) if coefficient.is_Rational and coefficient.q != 1 else ""
        if divisor and sums_below and len(below) == 1:
            # 1/(2*(x + y)) would be read as 1/(2*x + 2*y).
            text += f"/{divisor}"
        elif divisor:
            below.insert(0, divisor)
        if below:
            text += f"/{below[0]}" if len(below) == 1 else f"/({'*'.join(below)})"
        return (f"-{text}", _SUM) if negative else (text, _PRODUCT)

    def _power(self, expression: sympy.Basic) -> tuple[str, int]:
        base, exponent = expression.args
        if exponent == sympy.Rational(1, 2):
            return f"sqrt({self.text(base, _SUM)})", _ATOM
        if exponent.is_Rational and exponent < 0:
            return self._product(expression)
        return f"{self.text(base, _ATOM)}**{self.text(exponent, _ATOM)}", _POWER

    def _cases(self, pairs: Sequence[Any]) -> str:
        (value, test), *others = pairs
        if test == sympy.true:
            return self.text(value, _SUM)
        if not others:
            raise ExpressionError(
                "A Piecewise has no value where its conditions all fail",
                seen=test,
                remedy="add a last case (value, True)",
            )
        return self._where(test, self.text(value, _SUM), self._cases(others))

    def _where(self, test: sympy.Basic, then: str, otherwise: str) -> str:
        if isinstance(test, sympy.Not):
            return self._where(test.args[0], otherwise, then)
        if isinstance(test, (sympy.And, sympy.Or)):
            for part in reversed(test.args):
                if isinstance(test, sympy.And):
                    then = self._where(part, then, otherwise)
                else:
                    otherwise = self._where(part, then, otherwise)
            return then if isinstance(test, sympy.And) else otherwise
        if not isinstance(test, Relational):
            raise ExpressionError(
                "A condition is not a comparison",
                seen=shortened(str(test)),
                remedy="compare with <",
            )
        left, right = (self.text(side, _SUM) for side in test.args)
        return f"where({left} {test.rel_op} {right}, {then}, {otherwise})"
