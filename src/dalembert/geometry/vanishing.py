"""Whether expressions vanish identically, and what the answer rests on.

`algebra.structure` decides it for expressions that can be lowered to a graph. For others, such as those with
special functions, random points of thirty digits can refute, and expansion can prove.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.structure import without_unrepresented
from ..errors import ModelError

__all__ = ["Certificate", "drawn_points", "generic_rank", "value", "vanish"]

PROVED = "symbolically"

#: How many random points are tried, with how many digits, and what counts as zero there.
POINTS, DIGITS, ROUNDING = 4, 30, 1e-18
#: The most operations and the most terms of an expression that is expanded for a proof.
MOST_OPERATIONS, MOST_TERMS = 600, 2000


@dataclass(frozen=True)
class Certificate:
    """Whether some expressions vanish, and how that was found out.

    Attributes
    ----------
    holds : bool
        Whether it is proved, or holds to the rounding of constants that stand for irrational numbers.
    by : str
        "symbolically", or what else the answer rests on.
    worst : float
        Not zero where they do not vanish.
    where : int
        The place of the expression with that value.
    """

    holds: bool
    by: str
    worst: float = 0.0
    where: int = 0

    def __bool__(self) -> bool:
        return self.holds


def vanish(expressions: Sequence[sympy.Expr], seed: int = 5) -> Certificate:
    """Whether all expressions are zero for all values of their symbols.

    >>> x = sympy.Symbol("x", real=True)
    >>> vanish([sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - 1])
    Certificate(holds=True, by='symbolically', worst=0.0, where=0)
    >>> vanish([x, x**2]).holds
    False
    """
    present = [(k, expression) for k, expression in enumerate(expressions) if expression != 0]
    if not present:
        return Certificate(True, PROVED)
    algebra, general = GraphAlgebra(), [without_unrepresented(expression) for _, expression in present]
    try:
        block = algebra.vector(general)
    except (ModelError, TypeError):
        return _without_graph(present, seed)
    found = algebra.vanishing(block)
    if not found.is_proved and any(one is not own for one, (_, own) in zip(general, present, strict=True)):
        return _without_graph(present, seed)
    where = present[found.entry][0] if found.entry is not None else 0
    by = PROVED if found.is_proved else found.grounds
    return Certificate(found.holds_to_rounding, by, 1.0 if found.is_refuted else 0.0, where)


def generic_rank(matrix: sympy.Matrix) -> int:
    """The rank of a matrix of expressions at almost all values of its symbols."""
    algebra = GraphAlgebra()
    rows = [algebra.vector(matrix.row(k)).T for k in range(matrix.rows)]
    return algebra.rank(algebra.stack(rows)).value if rows else 0


def _without_graph(present: Sequence[tuple[int, sympy.Expr]], seed: int) -> Certificate:
    """The answer for functions that have no node in a graph: proved by expansion, refuted at points, or neither."""
    symbols = sorted(set().union(*(e.free_symbols for _, e in present)), key=lambda symbol: symbol.name)
    for point in drawn_points(symbols, POINTS, seed):
        for place, expression in present:
            size = _relative(expression, point)
            if size is not None and size > ROUNDING:
                return Certificate(False, "at a random point", size, place)
    if all(_is_zero(expression) for _, expression in present):
        return Certificate(True, PROVED)
    return Certificate(False, f"neither proved nor refuted at {POINTS} random points", float("nan"), present[0][0])


def drawn_points(symbols: Sequence[sympy.Symbol], count: int, seed: int = 5) -> list[dict[sympy.Symbol, sympy.Float]]:
    """Random values of some symbols, of their sign where they have one."""
    source = random.Random(seed)
    points = []
    for _ in range(count):
        point = {}
        for symbol in symbols:
            size = source.uniform(0.3, 1.7)
            sign = -1 if symbol.is_negative else 1 if symbol.is_nonnegative else source.choice((-1, 1))
            whole = source.randint(2, 5) if symbol.is_integer else None
            point[symbol] = sympy.Integer(sign * whole) if whole else sympy.Float(sign * size, DIGITS)
        points.append(point)
    return points


def value(expression: sympy.Expr, point: Mapping[Any, Any]) -> sympy.Expr:
    """The number that an expression has at a point, to thirty digits."""
    return sympy.N(expression.xreplace(dict(point)), DIGITS)


def _relative(expression: sympy.Expr, point: Mapping[Any, Any]) -> float | None:
    """The size of a value as a part of the sizes of its terms; None where it is not finite and real."""
    terms = [value(term, point) for term in sympy.Add.make_args(expression)]
    if not all(term.is_Number and term.is_finite and term.is_real for term in terms):
        return None
    size = sum(abs(term) for term in terms)
    return float(abs(sum(terms)) / size) if size else 0.0


def _is_zero(expression: sympy.Expr) -> bool:
    """Whether expansion, Pythagoras or a common denominator show that a small expression is zero."""
    if expression.count_ops() > MOST_OPERATIONS or _terms(expression) > MOST_TERMS:
        return False
    expanded = sympy.expand(expression)
    if expanded == 0:
        return True
    if expanded.has(sympy.sin, sympy.cos):
        plain = sympy.expand(sympy.expand_trig(expanded))
        expanded = sympy.expand(
            plain.replace(
                lambda node: isinstance(node, sympy.Pow) and isinstance(node.base, sympy.cos) and node.exp.is_Integer,
                lambda node: (1 - sympy.sin(node.base.args[0]) ** 2) ** (node.exp // 2) * node.base ** (node.exp % 2),
            )
        )
        if expanded == 0:
            return True
    if expanded.count_ops() > MOST_OPERATIONS:
        return False
    above, _ = sympy.fraction(sympy.together(expanded))
    return _terms(above) <= MOST_TERMS and sympy.expand(above) == 0


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
