"""Symbolic equality and factors within bounded work.

`algebra.structure` decides equality; where it neither proves nor refutes it, a proof by expansion
is tried if the expressions are small. General simplifiers and equation solvers, whose running time
has no bound, are not called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import sympy
from sympy.simplify.fu import TR5, TR6

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import (
    expand_angles,
    expansion_size,
    is_small_quotient,
    simplify,
)
from ...algebra.structure import Verdict, without_unrepresented
from ...typing import Array

if TYPE_CHECKING:
    from ...algebra.structure import Verdict

__all__ = ["PROVED", "Points", "differs_nowhere", "established_zero", "exact", "factored", "fresh"]
__all__ += ["is_small"]

#: The most terms that the expansion of an expression may have, and its operations, in a proof.
MOST_TERMS, MOST_OPERATIONS = 1500, 1500
#: What `Verdict.by` says of a proof.
PROVED = "symbolically"


class Points:
    """Random values of some symbols, of the right sign, and nearer to one where needed.

    Parameters
    ----------
    count : int
        How many points with finite values are wanted.
    """

    def __init__(self, count: int = 6, seed: int = 11) -> None:
        self.count, self.seed = count, seed

    def values(self, expressions: Sequence[sympy.Expr]) -> Array:
        """Finite values (points, k) of k expressions; fewer points where they are rarely finite."""
        algebra = GraphAlgebra()
        column = algebra.vector(expressions)
        return self.evaluated(algebra, column)[:, :, 0]

    def evaluated(self, algebra: GraphAlgebra, block: ca.SX) -> Array:
        """Finite values (points, rows, columns) of a block at random values of all its symbols."""
        symbols = sorted(algebra.symbols, key=lambda symbol: symbol.name)
        function = ca.Function("points", [algebra.vector(symbols)], [ca.densify(block)])
        random = np.random.default_rng(self.seed)
        found: list[Array] = []
        for attempt in range(12 * self.count):
            point = [_draw(symbol, random, attempt < 4 * self.count) for symbol in symbols]
            value = np.asarray(function(point), dtype=float)
            if np.all(np.isfinite(value)):
                found.append(value)
            if len(found) == self.count:
                break
        return np.array(found).reshape(len(found), *block.shape)


def _draw(symbol: sympy.Symbol, random: np.random.Generator, anywhere: bool) -> float:
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
    >>> print(differs_nowhere([(x, sympy.Min(x, 1000))]))
    not established: no proof was found that it is zero, and no point where not
    """
    sides = [(left, right) for left, right in pairs if left != right]
    general = [tuple(without_unrepresented(side) for side in pair) for pair in sides]
    algebra = GraphAlgebra()
    # Each side keeps its own rounded coefficients, whose difference is no term of its own.
    left, right = (algebra.vector([pair[k] for pair in general]) for k in (0, 1))
    found = established_zero(algebra, [pair[0] - pair[1] for pair in general], left - right)
    if found.is_refuted and general != sides:
        return Verdict("not established", "numbers that floats round stand in it")
    return found


def established_zero(
    algebra: GraphAlgebra, expressions: Sequence[sympy.Expr], block: ca.SX | None = None
) -> Verdict:
    """Whether all expressions vanish; `block` is their column in the graph, where it exists."""
    found = algebra.vanishing(algebra.vector(expressions) if block is None else block)
    if (
        not (found.is_proved or found.is_refuted)
        and expressions
        and all(map(_is_zero, expressions))
    ):
        return Verdict("proved", "expansion gives zero", holds_to_rounding=True)
    return found


def is_small(
    expression: sympy.Expr, operations: int = MOST_OPERATIONS, terms: int = MOST_TERMS
) -> bool:
    """Whether an expression can be expanded with little work."""
    return bool(expression.count_ops() <= operations and expansion_size(expression) <= terms)


def _is_zero(expression: sympy.Expr) -> bool:
    """Whether expansion, a common denominator or Pythagoras show an expression zero."""
    if not is_small(expression):
        return False
    expression = expression.replace(sympy.sign, lambda x: x / sympy.Abs(x))
    # A logarithm has a positive argument where the expression is defined.
    positive = {node.args[0] for node in expression.atoms(sympy.log)}
    moduli = {sympy.Abs(x): x for x in positive if not isinstance(x, sympy.Abs)}
    expanded = sympy.expand(expression.xreplace(moduli))
    if expanded == 0:
        return True
    if expanded.has(sympy.sin, sympy.cos, sympy.tan):
        plain = expanded.replace(sympy.tan, lambda x: sympy.sin(x) / sympy.cos(x))
        plain = sympy.expand(expand_angles(plain))
        if any(sympy.expand(rule(plain)) == 0 for rule in (TR5, TR6)):
            return True
    above = sympy.fraction(sympy.together(expanded, deep=True))[0]
    if not is_small(above):
        return False
    above = sympy.powsimp(sympy.expand(above))
    return bool(above == 0 or (above.has(sympy.sin) and sympy.expand(TR5(above)) == 0))


def factored(expression: sympy.Expr) -> sympy.Expr:
    """A factored quotient where the expression is a small one of polynomials; else a shorter form.

    >>> x, y = sympy.symbols("x y")
    >>> factored(x + x / y**2)
    x*(y**2 + 1)/y**2
    """
    if is_small_quotient(expression):
        return sympy.factor(expression)
    return sympy.factor_terms(simplify(expression))


def exact(expression: sympy.Expr) -> sympy.Expr:
    """The expression with decimal numbers as fractions, so that equal terms cancel.

    >>> x = sympy.Symbol("x")
    >>> exact(0.1 * x)
    x/10
    """
    floats = expression.atoms(sympy.Float)
    return expression.xreplace({number: sympy.Rational(repr(float(number))) for number in floats})


def fresh(name: str, taken: set[str]) -> str:
    """The name, with underscores behind it where it is taken; adds it to the taken ones.

    >>> fresh("E", {"E"})
    'E_'
    """
    while name in taken:
        name += "_"
    taken.add(name)
    return name
