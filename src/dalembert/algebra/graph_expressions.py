"""Scalars of CasADi's graph as expressions of SymPy, each operation once and nothing simplified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import casadi as ca
import sympy

from ..errors import ExpressionError

__all__ = ["BINARY", "OPERATIONS", "expressions_of", "number_of"]

#: The largest denominator of a constant that is read as the rational number next to it.
_SIMPLE = 1000

_SAME_NAMES = (
    "sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sign floor atan2"
)
OPERATIONS: dict[int, Callable[..., sympy.Expr]] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_POW: lambda a, b: a**b,
    ca.OP_CONSTPOW: lambda a, b: a**b,
    ca.OP_FMIN: sympy.Min,
    ca.OP_FMAX: sympy.Max,
    ca.OP_NEG: lambda a: -a,
    ca.OP_SQ: lambda a: a**2,
    ca.OP_TWICE: lambda a: 2 * a,
    ca.OP_INV: lambda a: 1 / a,
    ca.OP_ASSIGN: lambda a: a,
    **{getattr(ca, f"OP_{name.upper()}"): getattr(sympy, name) for name in _SAME_NAMES.split()},
    ca.OP_FABS: sympy.Abs,
    ca.OP_CEIL: sympy.ceiling,
    ca.OP_LT: lambda a, b: _indicator(sympy.Lt(a, b)),
    ca.OP_LE: lambda a, b: _indicator(sympy.Le(a, b)),
    ca.OP_EQ: lambda a, b: _indicator(sympy.Eq(a, b)),
    ca.OP_NE: lambda a, b: _indicator(sympy.Ne(a, b)),
    ca.OP_IF_ELSE_ZERO: lambda a, b: sympy.Piecewise((b, sympy.Ne(a, 0)), (0, True)),
    ca.OP_NOT: lambda a: _indicator(sympy.Eq(a, 0)),
    ca.OP_AND: lambda a, b: _indicator(sympy.And(sympy.Ne(a, 0), sympy.Ne(b, 0))),
    ca.OP_OR: lambda a, b: _indicator(sympy.Or(sympy.Ne(a, 0), sympy.Ne(b, 0))),
}

#: The operations of two operands.
BINARY = frozenset({ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_POW, ca.OP_CONSTPOW})
BINARY |= {ca.OP_FMIN, ca.OP_FMAX, ca.OP_ATAN2, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE}
BINARY |= {ca.OP_IF_ELSE_ZERO, ca.OP_AND, ca.OP_OR}


def expressions_of(symbols: Mapping[sympy.Symbol, ca.SX], block: ca.SX) -> list[sympy.Expr]:
    """The entries of a block as expressions, column by column.

    >>> x, y = sympy.symbols("x y")
    >>> nodes = {x: ca.SX.sym("x"), y: ca.SX.sym("y")}
    >>> expressions_of(nodes, ca.vertcat(ca.sin(nodes[x]) / 3 + nodes[y] ** 2, 0))
    [y**2 + sin(x)/3, 0]
    """
    flat = ca.densify(ca.vec(ca.SX(block)))
    function = ca.Function("block", list(symbols.values()), [flat])
    names = list(symbols)
    work: list[sympy.Expr] = [sympy.Integer(0)] * function.sz_w()
    found: list[sympy.Expr] = [sympy.Integer(0)] * flat.numel()
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            found[targets[1]] = work[sources[0]]
        elif code == ca.OP_INPUT:
            work[targets[0]] = names[sources[0]]
        elif code == ca.OP_CONST:
            work[targets[0]] = number_of(function.instruction_constant(k))
        elif code in OPERATIONS:
            work[targets[0]] = OPERATIONS[code](*(work[source] for source in sources))
        else:
            raise ExpressionError("An operation has no expression", seen=f"CasADi's code {code}")
    return found


def _indicator(condition: sympy.Basic) -> sympy.Expr:
    """One where a condition holds, zero elsewhere."""
    return sympy.Piecewise((1, condition), (0, True))


def number_of(value: float) -> sympy.Expr:
    """A constant of a graph: the rational number next to it where that is simple."""
    simple = Fraction(value).limit_denominator(_SIMPLE) if abs(value) < 2.0**53 else Fraction(value)
    if float(simple) == value:
        return sympy.Rational(simple.numerator, simple.denominator)
    return sympy.Float(value)
