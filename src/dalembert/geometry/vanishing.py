"""Whether SymPy expressions vanish identically.

`algebra.structure` decides it for expressions that can be lowered to a graph. For others, such as
those with special functions, random points of thirty digits can refute, and expansion can prove.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.simplify.simplifier import expand_angles
from ..algebra.structure import Verdict, without_unrepresented
from ..errors import ModelError

if TYPE_CHECKING:
    from ..algebra.structure import Verdict

__all__ = ["drawn_points", "generic_rank", "value", "vanish"]

#: How many random points are tried, with how many digits, and what counts as zero there.
POINTS, DIGITS, ROUNDING = 4, 30, 1e-18
#: The most operations and the most terms of an expression that is expanded for a proof.
MOST_OPERATIONS, MOST_TERMS = 600, 2000
#: The grounds of what expansion proves.
EXPANDED = "expansion gives zero"


def vanish(expressions: Sequence[sympy.Expr], seed: int = 5) -> Verdict:
    """Whether all expressions are zero for all values of their symbols.

    >>> x = sympy.Symbol("x", real=True)
    >>> vanish([sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1]).by
    'symbolically'
    >>> vanish([x, x**2]).holds
    False
    """
    present = [(k, expression) for k, expression in enumerate(expressions) if expression != 0]
    if not present:
        return Verdict("proved", EXPANDED, holds_to_rounding=True)
    algebra, general = GraphAlgebra(), [without_unrepresented(own) for _, own in present]
    try:
        block = algebra.vector(general)
    except (ModelError, TypeError):
        return _without_graph(present, seed)
    found = algebra.vanishing(block)
    changed = any(one is not own for one, (_, own) in zip(general, present, strict=True))
    if not found.is_proved and changed:
        return _without_graph(present, seed)
    return found if found.entry is None else replace(found, entry=present[found.entry][0])


def generic_rank(matrix: sympy.Matrix) -> int:
    """The rank of a matrix of expressions at almost all values of its symbols."""
    algebra = GraphAlgebra()
    rows = [algebra.vector(matrix.row(k)).T for k in range(matrix.rows)]
    return algebra.rank(algebra.stack(rows)).value if rows else 0


def _without_graph(present: Sequence[tuple[int, sympy.Expr]], seed: int) -> Verdict:
    """The answer for functions without a graph node: by expansion, at points, or open."""
    names = set().union(*(expression.free_symbols for _, expression in present))
    for point in drawn_points(sorted(names, key=lambda symbol: symbol.name), POINTS, seed):
        for place, expression in present:
            size = _relative(expression, point)
            if size is not None and size > ROUNDING:
                return Verdict("refuted", "at a random point", place)
    if all(_is_zero(expression) for _, expression in present):
        return Verdict("proved", EXPANDED, holds_to_rounding=True)
    return Verdict("not established", f"neither proved nor refuted at {POINTS} random points")


def drawn_points(
    symbols: Sequence[sympy.Symbol], count: int, seed: int = 5
) -> list[dict[sympy.Symbol, sympy.Float]]:
    """Random values of some symbols, of their sign where they have one."""
    source = random.Random(seed)
    points = []
    for _ in range(count):
        point = {}
        for symbol in symbols:
            size = source.uniform(0.3, 1.7)
            sign = -1 if symbol.is_negative else 1
            if not (symbol.is_negative or symbol.is_nonnegative):
                sign = source.choice((-1, 1))
            whole = source.randint(2, 5) if symbol.is_integer else 0
            number = sympy.Integer(whole) if whole else sympy.Float(size, DIGITS)
            point[symbol] = sign * number
        points.append(point)
    return points


def value(expression: sympy.Expr, point: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """The number that an expression has at a point, to thirty digits."""
    return sympy.N(expression.xreplace(dict(point)), DIGITS)


def _relative(expression: sympy.Expr, point: Mapping[sympy.Symbol, sympy.Expr]) -> float | None:
    """The size of a value relative to its terms; None where it is not finite and real."""
    terms = [value(term, point) for term in sympy.Add.make_args(expression)]
    if not all(term.is_Number and term.is_finite and term.is_real for term in terms):
        return None
    size = sum(abs(term) for term in terms)
    return float(abs(sum(terms)) / size) if size else 0.0


def _is_zero(expression: sympy.Expr) -> bool:
    """Whether expansion, Pythagoras or a common denominator show a small expression zero."""
    if expression.count_ops() > MOST_OPERATIONS or _terms(expression) > MOST_TERMS:
        return False
    expanded = sympy.expand(expression)
    if expanded == 0:
        return True
    if expanded.has(sympy.sin, sympy.cos):
        expanded = _without_cosines(sympy.expand(expand_angles(expanded)))
        if expanded == 0:
            return True
    if expanded.count_ops() > MOST_OPERATIONS:
        return False
    above, _ = sympy.fraction(sympy.together(expanded))
    return _terms(above) <= MOST_TERMS and sympy.expand(above) == 0


def _without_cosines(expression: sympy.Expr) -> sympy.Expr:
    """The expanded expression with powers of cosines written by sines."""

    def is_power(node: sympy.Basic) -> bool:
        is_cosine = isinstance(node, sympy.Pow) and isinstance(node.base, sympy.cos)
        return is_cosine and bool(node.exp.is_Integer)

    def by_sine(node: sympy.Pow) -> sympy.Expr:
        square = 1 - sympy.sin(node.base.args[0]) ** 2
        return square ** (node.exp // 2) * node.base ** (node.exp % 2)

    return sympy.expand(expression.replace(is_power, by_sine))


def _terms(expression: sympy.Basic) -> float:
    """An upper bound of the terms of the expansion."""
    match expression:
        case sympy.Add():
            return sum(_terms(part) for part in expression.args)
        case sympy.Mul():
            product = 1.0
            for part in expression.args:
                product *= _terms(part)
            return product
        case sympy.Pow() if expression.exp.is_Integer:
            return min(_terms(expression.base), 1e6) ** min(abs(int(expression.exp)), 40)
    return 1.0
