r"""Primitives by rules that terminate, for the inverse problem and Hamilton-Jacobi equations.

Products of powers of a symbol with exponentials, sines and cosines of linear arguments are
integrated by formula,

    int x^n e^(p x) cos(w x + c) dx,  by parts in n, from  e^(p x) (p cos + w sin) / (p^2 + w^2)
        for n = 0,

and terms with one other function go to SymPy's rules, which are fast there. Every result is
differentiated and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import sympy
from sympy.integrals.manualintegrate import manualintegrate
from sympy.simplify.fu import TR8

from ...algebra.simplify.simplifier import simplify
from ...errors import ModelError
from ...geometry.integrals import generic_branch
from ..proofs.bounded import differs_nowhere, is_small

__all__ = ["at_numbers", "potential", "primitive"]

ZERO = sympy.S.Zero
Way = Callable[[sympy.Expr, sympy.Symbol], sympy.Expr | None]
#: The most operations of an integrated term, the highest power, and degree of a denominator.
INTEGRATED_OPERATIONS, HIGHEST_POWER, HIGHEST_DEGREE = 80, 12, 4
SINUSOIDS = (sympy.sin, sympy.cos, sympy.exp)


def primitive(expression: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr | None:
    """A primitive of the expression by the symbol, term by term; None where no rule applies.

    >>> x, a = sympy.symbols("x a", positive=True)
    >>> primitive(a * x + 1 / x, x)
    a*x**2/2 + log(x)
    """
    if not expression.has(symbol):
        return expression * symbol
    if is_small(expression):
        found = _sum_of(sympy.expand(expression), symbol, (_by_formula, _by_inner))
        if found is None and expression.has(*SINUSOIDS):
            found = _sum_of(sympy.expand(TR8(sympy.expand(expression))), symbol, (_by_formula,))
        if found is not None:
            return found
    whole = _sum_of(expression, symbol, (_by_inner, _by_rules))
    if whole is not None or not is_small(expression):
        return whole
    return _sum_of(sympy.expand(expression), symbol, (_by_formula, _by_inner, _by_rules))


def _sum_of(expression: sympy.Expr, symbol: sympy.Symbol, ways: Sequence[Way]) -> sympy.Expr | None:
    """The primitives of all terms, each by the first rule that applies; None if one has none."""
    total: sympy.Expr = ZERO
    for term in sympy.Add.make_args(expression):
        ways_found = (_checked(term, symbol, way) for way in ways)
        part = next((found for found in ways_found if found is not None), None)
        if part is None:
            return None
        total += part
    return total


def _checked(term: sympy.Expr, x: sympy.Symbol, way: Way) -> sympy.Expr | None:
    """The primitive of one term, compared with it."""
    constant, varying = term.as_independent(x, as_Add=False)
    if not varying.has(x):
        return term * x
    found = way(varying, x) if varying.count_ops() <= INTEGRATED_OPERATIONS else None
    if found is None:
        return None
    try:
        right = differs_nowhere([(sympy.diff(found, x), varying)]).holds
    except ModelError:  # a special function, which has no numbers here
        return None
    return constant * found if right else None


def _by_formula(varying: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """x^n e^(p x + d) times one sine or cosine of w x + c, or neither."""
    power, growth, turn, wave = 0, ZERO, None, ZERO
    for factor in sympy.Mul.make_args(varying):
        base, exponent = factor.as_base_exp()
        inner = sympy.diff(factor.args[0], x) if isinstance(factor, SINUSOIDS) else x
        if base == x and exponent.is_Integer and 0 < exponent <= HIGHEST_POWER:
            power += int(exponent)
        elif isinstance(factor, sympy.exp) and not inner.has(x):
            growth += factor.args[0]
        elif isinstance(factor, (sympy.sin, sympy.cos)) and turn is None and not inner.has(x):
            turn, wave = factor, inner
        else:
            return None
    rate = sympy.diff(growth, x)
    if rate == 0 and turn is None:
        return x ** (power + 1) / (power + 1)
    return _oscillation(x, power, sympy.exp(growth), rate, turn, wave)


def _oscillation(
    x: sympy.Symbol,
    power: int,
    growth: sympy.Expr,
    rate: sympy.Expr,
    turn: sympy.Expr | None,
    wave: sympy.Expr,
) -> sympy.Expr:
    """int x^n growth turn dx, by parts until n = 0."""
    if turn is None:
        once = [(growth / rate, None)]
    else:
        size = rate**2 + wave**2
        other = sympy.cos(turn.args[0]) if isinstance(turn, sympy.sin) else sympy.sin(turn.args[0])
        sign = -1 if isinstance(turn, sympy.sin) else 1
        once = [(growth * rate / size, turn), (sign * growth * wave / size, other)]
    total = x**power * sympy.Add(*(factor * (1 if own is None else own) for factor, own in once))
    if power == 0:
        return total
    for factor, own in once:
        if factor != 0:
            inner = _oscillation(x, power - 1, growth, rate, own, wave)
            total -= power * sympy.powsimp(factor / growth) * inner
    return total


def _by_inner(varying: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """e^u times the derivative of u, up to a constant."""
    for node in varying.atoms(sympy.exp):
        derivative = sympy.diff(node.args[0], x)
        if derivative != 0:
            ratio = sympy.powsimp(varying / node / derivative)
            if not ratio.has(x):
                return ratio * node
    return None


def _by_rules(varying: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """SymPy's rules, for a term with one function of the symbol at most."""
    known = _inverse_cube(varying, x)
    if known is not None:
        return known
    if not _is_tame(varying, x):
        return None
    found = manualintegrate(varying, x)
    if found.has(sympy.Integral):
        return None
    found = found.replace(lambda node: isinstance(node, sympy.Piecewise), generic_branch)
    return found.replace(sympy.log, lambda argument: sympy.log(sympy.Abs(argument)))


def _is_tame(varying: sympy.Expr, x: sympy.Symbol) -> bool:
    """Whether SymPy's rules end soon: a small fraction, one function, or one angle."""
    functions = {node for node in varying.atoms(sympy.Function) if node.has(x)}
    roots = {node for node in varying.atoms(sympy.Pow) if node.has(x) and not node.exp.is_Integer}
    inverses = (sympy.log, sympy.atan, sympy.asin, sympy.acos)
    for node in varying.atoms(sympy.Pow):
        if node.has(x) and node.exp.is_negative and node.base.has(*inverses):
            return False
    if not functions and not roots:
        below = sympy.fraction(sympy.together(varying))[1]
        if below.has(x):
            return bool(below.is_polynomial(x) and sympy.degree(below, x) <= HIGHEST_DEGREE)
        return True
    if len(functions) + len({node.base for node in roots}) == 1:
        return True
    angles = {node.args[0] for node in functions}
    is_sinusoid = all(isinstance(node, (sympy.sin, sympy.cos, sympy.tan)) for node in functions)
    return not roots and len(angles) == 1 and is_sinusoid


def _inverse_cube(varying: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """The primitive x / (A sqrt(A + B x^2)) of (A + B x^2)^(-3/2), which SymPy's rules lack."""
    if not (isinstance(varying, sympy.Pow) and varying.exp == sympy.Rational(-3, 2)):
        return None
    base = varying.base
    start, bend = base.subs(x, 0), sympy.diff(base, x, 2) / 2
    if bend.has(x) or start == 0 or sympy.expand(base - start - bend * x**2) != 0:
        return None
    return x / (start * sympy.sqrt(base))


def potential(form: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]) -> sympy.Expr | None:
    """A function whose derivatives are the entries of a closed form; None where no rule applies.

    The rest for a symbol does not depend on the symbols before it, which are set to a number.

    >>> x, y = sympy.symbols("x y")
    >>> potential([2 * x * y, x**2 + 1], [x, y])
    x**2*y + y
    """
    total: sympy.Expr = ZERO
    for k, (entry, symbol) in enumerate(zip(form, symbols, strict=True)):
        rest = at_numbers(entry - sympy.diff(total, symbol), symbols[:k])
        part = None if rest is None else primitive(simplify(rest), symbol)
        if part is None:
            return None
        total += part
    return total


def at_numbers(expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> sympy.Expr | None:
    """The expression with numbers for symbols it does not depend on; None where undefined."""
    for number in (ZERO, sympy.S.One, sympy.S.Half):
        fixed = expression.subs(dict.fromkeys(symbols, number))
        if not fixed.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
            return fixed
    return None
