"""Symbolic questions answered within bounded work: are these equal, and is there a product.

`algebra.structure` decides equality; where it neither proves nor refutes it, a proof by expansion is tried if the expressions
are small. Nothing here calls a general simplifier or a general equation solver, whose running time has no bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy
from sympy.simplify.fu import TR5, TR6

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import expansion_size, is_small_quotient, simplify
from ...algebra.structure import without_unrepresented

__all__ = [
    "PROVED",
    "Points",
    "Verdict",
    "differs_nowhere",
    "established_zero",
    "exact",
    "factored",
    "fresh",
    "is_small",
]

#: The most terms that the expansion of an expression may have, and its operations, in a proof.
MOST_TERMS, MOST_OPERATIONS = 1500, 1500
#: How a verdict was reached where it is a proof.
PROVED = "symbolically"


@dataclass(frozen=True)
class Verdict:
    """Whether something holds identically.

    Attributes
    ----------
    holds : bool
        Whether it is proved, or holds to the rounding of constants that stand for irrational numbers.
    by : str
        "symbolically", or what else the answer rests on.
    is_refuted : bool
        Where it neither holds nor is refuted, nothing is established.
    """

    holds: bool
    by: str
    is_refuted: bool = False


class Points:
    """Random values of some symbols: of their sign where they have one, and nearer to one where that is not enough.

    Parameters
    ----------
    count : int
        How many points with finite values are wanted.
    """

    def __init__(self, count: int = 6, seed: int = 11) -> None:
        self.count, self.seed = count, seed

    def values(self, expressions: Sequence[sympy.Expr]) -> Any:
        """Finite values (points, k) of k expressions; fewer points, down to none, where they are rarely finite."""
        algebra = GraphAlgebra()
        column = algebra.vector(expressions)
        return self.evaluated(algebra, column)[:, :, 0]

    def evaluated(self, algebra: GraphAlgebra, block: Any) -> Any:
        """Finite values (points, rows, columns) of a block of a graph at random values of all its symbols."""
        symbols = sorted(algebra.symbols, key=lambda symbol: symbol.name)
        function = ca.Function("points", [algebra.vector(symbols)], [ca.densify(block)])
        random = np.random.default_rng(self.seed)
        found: list[Any] = []
        for attempt in range(12 * self.count):
            point = [_draw(symbol, random, attempt < 4 * self.count) for symbol in symbols]
            value = np.asarray(function(point), dtype=float)
            if np.all(np.isfinite(value)):
                found.append(value)
            if len(found) == self.count:
                break
        return np.array(found).reshape(len(found), *block.shape)


def _draw(symbol: sympy.Symbol, random: Any, anywhere: bool) -> float:
    size = float(random.uniform(0.4, 1.6))
    if symbol.is_negative:
        return -size
    if symbol.is_positive or symbol.is_nonnegative:
        return size
    return float(random.uniform(-1.5, 1.5)) if anywhere else size


def differs_nowhere(pairs: Iterable[tuple[sympy.Expr, sympy.Expr]]) -> Verdict:
    """Whether the two sides of every pair are the same function.

    >>> x = sympy.Symbol("x", real=True)
    >>> differs_nowhere([(sympy.sin(x) ** 2, 1 - sympy.cos(x) ** 2)]).by
    'symbolically'
    >>> differs_nowhere([(x, x + sympy.Rational(1, 10**6))]).holds
    False
    >>> differs_nowhere([(x, sympy.Min(x, 1000))])
    Verdict(holds=False, by='no proof was found that it is zero, and no point where not', is_refuted=False)
    """
    sides = [(left, right) for left, right in pairs if left != right]
    general = [tuple(without_unrepresented(side) for side in pair) for pair in sides]
    algebra = GraphAlgebra()
    # Each side keeps its own rounded coefficients: their difference would be taken for a term of its own.
    left, right = (algebra.vector([pair[k] for pair in general]) for k in (0, 1))
    found = established_zero(algebra, [pair[0] - pair[1] for pair in general], left - right)
    if found.is_refuted and general != sides:
        return Verdict(False, "numbers that floats round stand in it")
    return found


def established_zero(algebra: GraphAlgebra, expressions: Sequence[sympy.Expr], block: ca.SX | None = None) -> Verdict:
    """Whether all expressions vanish; `block` is their column in the algebra where there is one already."""
    found = algebra.vanishing(algebra.vector(expressions) if block is None else block)
    if found.is_refuted:
        return Verdict(False, found.grounds, True)
    if found.is_proved or (expressions and all(_is_zero(expression) for expression in expressions)):
        return Verdict(True, PROVED)
    return Verdict(found.holds_to_rounding, found.grounds)


def is_small(expression: sympy.Expr, operations: int = MOST_OPERATIONS, terms: int = MOST_TERMS) -> bool:
    """Whether an expression can be expanded with little work."""
    return bool(expression.count_ops() <= operations and expansion_size(expression) <= terms)


def _is_zero(expression: sympy.Expr) -> bool:
    """Whether an expression is shown to vanish by expansion, a common denominator, or Pythagoras."""
    if not is_small(expression):
        return False
    expression = expression.replace(sympy.sign, lambda x: x / sympy.Abs(x))
    positive = {node.args[0] for node in expression.atoms(sympy.log)}  # where the expression is defined
    expression = expression.xreplace({sympy.Abs(x): x for x in positive if not isinstance(x, sympy.Abs)})
    expanded = sympy.expand(expression)
    if expanded == 0:
        return True
    if expanded.has(sympy.sin, sympy.cos, sympy.tan):
        plain = sympy.expand(sympy.expand_trig(expanded.replace(sympy.tan, lambda x: sympy.sin(x) / sympy.cos(x))))
        if any(sympy.expand(rule(plain)) == 0 for rule in (TR5, TR6)):
            return True
    above = sympy.fraction(sympy.together(expanded, deep=True))[0]
    if not is_small(above):
        return False
    above = sympy.powsimp(sympy.expand(above))
    return bool(above == 0 or (above.has(sympy.sin) and sympy.expand(TR5(above)) == 0))


def factored(expression: sympy.Expr) -> sympy.Expr:
    """A product of polynomials over another where the expression is a small quotient of polynomials; else a shorter form.

    >>> x, y = sympy.symbols("x y")
    >>> factored(x + x / y**2)
    x*(y**2 + 1)/y**2
    """
    return sympy.factor(expression) if is_small_quotient(expression) else sympy.factor_terms(simplify(expression))


def exact(expression: sympy.Expr) -> sympy.Expr:
    """The same expression with decimal numbers as fractions, so that differences of equals are zero.

    >>> x = sympy.Symbol("x")
    >>> exact(0.1 * x)
    x/10
    """
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: sympy.Rational(repr(float(number))) for number in floats}) if floats else expression


def fresh(name: str, taken: set[str]) -> str:
    """The name, or the name with underscores behind it where it is taken; and taken from now on.

    >>> fresh("E", {"E"})
    'E_'
    """
    while name in taken:
        name += "_"
    taken.add(name)
    return name
