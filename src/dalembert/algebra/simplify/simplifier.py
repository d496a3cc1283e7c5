"""The one simplifier: a shorter form of an expression within bounded work.

It reads an expression into a quotient of polynomials in which every pair of a sine and a cosine
obeys Pythagoras (`quotients.py`, `circle.py`), brings it to lowest terms, and writes the smallest
of many forms of it (`smallest.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import sympy
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from .quotient_printer import LOOKS, QuotientPrinter
from .quotients import AngleSubstitution, Generators
from .trigonometric_ring import TooMuchWorkError, Work
from .written_terms import size

__all__ = [
    "EFFORT",
    "expand_angles",
    "expansion_size",
    "is_small_quotient",
    "lowest_terms",
    "simplify",
]

#: The work that one expression may take, and the least that is worth beginning.
EFFORT, LEAST_EFFORT = 150_000, 5_000
#: The number of terms that the search for a short form looks at where nobody reads the result.
FEW_LOOKS = 50
#: The most symbols, operations and terms of a quotient that is factored.
FACTORED_SYMBOLS, FACTORED_OPERATIONS, FACTORED_TERMS = 8, 100, 200
#: The most binary digits of all its numbers; factors are sought among integers of that length.
FACTORED_BITS = 400
#: The most angles in a sum, and the largest multiple of one, in which functions are expanded:
#: cos(200 x) is a polynomial of degree 200 in cos(x).
MOST_ANGLES, LARGEST_MULTIPLE = 8, 16


def simplify(
    expression: sympy.Expr,
    effort: int = EFFORT,
    collected: Iterable[sympy.Symbol] = (),
    turns: Sequence[AngleSubstitution] = (),
    looks: int = LOOKS,
) -> sympy.Expr:
    """Simplify within bounded work: lowest terms, Pythagoras, common factors.

    The bound is a count of operations, so that the result is the same on every machine.

    Parameters
    ----------
    expression : expression
    effort : int
        Products of terms after which it is left as it is.
    collected : iterable of symbols
        Symbols by which sums are grouped.
    turns : sequence of AngleSubstitution
        Differences of angles to work in.
    looks : int
        How many terms the search for the smallest form looks at.

    >>> r, phi = sympy.symbols("r phi")
    >>> simplify(r * sympy.cos(phi) ** 2 * sympy.sin(2 * phi) / (1 - sympy.cos(phi) ** 2))
    2*r*cos(phi)**2*cot(phi)
    """
    try:
        generators = Generators([expression], Work(effort), turns, simplify)
        writer = QuotientPrinter(generators, collected, Work(looks))
        found = writer.quotient(generators.read(expression))
    except TooMuchWorkError:
        share = effort // max(1, len(expression.args))
        if share < LEAST_EFFORT or not (expression.is_Add or expression.is_Mul):
            return expression
        return expression.func(
            *(simplify(part, share, collected, turns, looks) for part in expression.args)
        )
    return min([found, expression, *_factored(expression)], key=size)


def lowest_terms(expression: sympy.Expr) -> sympy.Expr:
    """Simplify what nobody reads: lowest terms and Pythagoras, with little search for short forms.

    On sums of many terms this takes a tenth of the time of `simplify`.

    >>> x, phi = sympy.symbols("x phi")
    >>> lowest_terms((x**2 - sympy.sin(phi) ** 2 - sympy.cos(phi) ** 2) / (x - 1))
    x + 1
    """
    return expression if expression.is_Atom else simplify(expression, looks=FEW_LOOKS)


def _factored(expression: sympy.Expr) -> list[sympy.Expr]:
    """Factor a product with sines and cosines as independent symbols, if that is cheap."""
    sinusoids = sorted(expression.atoms(sympy.sin, sympy.cos), key=sympy.default_sort_key)
    symbols = {wave: sympy.Dummy(f"w{k}") for k, wave in enumerate(sinusoids)}
    plain = expression.xreplace(symbols)
    if not sinusoids or not is_small_quotient(plain):
        return []
    back = {symbol: wave for wave, symbol in symbols.items()}
    return [sympy.factor(plain).xreplace(back)]


def is_small_quotient(expression: sympy.Expr) -> bool:
    """Whether an expression is a quotient of polynomials that can be factored with little work."""
    few = (
        len(expression.free_symbols) <= FACTORED_SYMBOLS
        and expression.count_ops() <= FACTORED_OPERATIONS
        and sum(map(_bits, expression.atoms(sympy.Float, sympy.Rational))) <= FACTORED_BITS
    )
    return bool(
        few and expression.is_rational_function() and expansion_size(expression) <= FACTORED_TERMS
    )


def _bits(number: sympy.Number) -> int:
    """Count the binary digits of a number: of its mantissa, or of numerator and denominator."""
    if isinstance(number, sympy.Float):
        return int(number._mpf_[3])
    return int(number.p).bit_length() + int(number.q).bit_length()


def expansion_size(expression: sympy.Basic) -> float:
    """Bound the number of terms of an expansion, counting denominators each time.

    >>> x, y = sympy.symbols("x y")
    >>> expansion_size((x + y) ** 3 * (x + 1))
    16.0
    """
    match expression:
        case sympy.Add():
            return float(sum(expansion_size(part) for part in expression.args))
        case sympy.Mul():
            return math.prod(expansion_size(part) for part in expression.args)
        case sympy.Pow() if expression.exp.is_Integer:
            return float(min(expansion_size(expression.base), 1e6)) ** min(
                abs(int(expression.exp)), 40
            )
    return 1.0


def expand_angles(expression: sympy.Expr) -> sympy.Expr:
    """Expand functions of sums and of small multiples of angles; larger multiples stay.

    >>> x = sympy.Symbol("x")
    >>> expand_angles(sympy.sin(2 * x) + sympy.tanh(200 * x))
    2*sin(x)*cos(x) + tanh(200*x)
    """
    periodic = expression.atoms(TrigonometricFunction, HyperbolicFunction)
    kept = {node: sympy.Dummy() for node in periodic if _is_large_multiple(node.args[0])}
    back = {symbol: node for node, symbol in kept.items()}
    return sympy.expand_trig(expression.xreplace(kept)).xreplace(back)


def _is_large_multiple(angle: sympy.Expr) -> bool:
    terms = sympy.Add.make_args(sympy.expand_mul(angle, deep=False))
    return len(terms) > MOST_ANGLES or any(
        abs(term.as_coeff_Mul()[0]) > LARGEST_MULTIPLE for term in terms
    )
