"""Equations as lines that a person reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy

from ..model.symbols import Coordinate

if TYPE_CHECKING:
    from .equations import Equations

__all__ = ["equation_lines"]


def equation_lines(equations: Equations) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """Kinematic rates, then G z = f + A^T mu row by row (or z itself where it is known), then A z = b."""
    blocks = equations.symbolic
    z, mu = blocks.unknowns, blocks.multipliers
    lines: list[tuple[sympy.Expr, sympy.Expr]] = []
    for letter, rate in zip(equations.state, blocks.rates, strict=True):
        name = letter.dot if isinstance(letter, Coordinate) else sympy.Symbol(f"{letter.name}_dot", real=True)
        if rate not in z and str(rate) != str(name):
            lines.append((name, tidy(rate)))
    if blocks.free is not None and blocks.dual_rows is not None:
        right = blocks.free + blocks.dual_rows @ mu if len(mu) else blocks.free
        lines += [(letter, tidy(value)) for letter, value in zip(z, right, strict=True)]
    else:
        left = blocks.metric @ z
        reaction = blocks.rows.T @ mu if len(mu) else sympy.zeros(len(z), 1)
        lines += [(tidy(a), tidy(b) + c) for a, b, c in zip(left, blocks.force, reaction, strict=True)]
    if len(mu):
        lines += [(tidy(a), tidy(b)) for a, b in zip(blocks.rows @ z, blocks.right, strict=True)]
    return lines


def tidy(expression: sympy.Expr, effort: int = 120) -> sympy.Expr:
    """A shorter form of the expression where one is found within bounded work."""
    if expression.count_ops() > effort:
        return expression
    return min((expression, sympy.simplify(expression)), key=lambda candidate: candidate.count_ops())
