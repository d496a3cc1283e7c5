"""Equations as lines that a person reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import sympy
from sympy.simplify.fu import TR5, TR6

from ..model.symbols import Acceleration, Coordinate, Momentum, Velocity

if TYPE_CHECKING:
    from .equations import Equations

__all__ = ["equation_lines", "latex_names", "tidy"]


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
        left = [_by_letter(blocks.metric.row(k), z) for k in range(len(z))]
        reaction = blocks.rows.T @ mu if len(mu) else sympy.zeros(len(z), 1)
        lines += [(a, tidy(b) + c) for a, b, c in zip(left, blocks.force, reaction, strict=True)]
    if len(mu):
        left = [_by_letter(blocks.rows.row(k), z) for k in range(len(mu))]
        lines += [(a, tidy(b)) for a, b in zip(left, blocks.right, strict=True)]
    return lines


def _by_letter(coefficients: sympy.MatrixBase, letters: sympy.MatrixBase) -> sympy.Expr:
    """A sum of unknowns, each with its coefficient in its shortest form."""
    return sympy.Add(*[tidy(c) * letter for c, letter in zip(coefficients, letters, strict=True)])


def tidy(expression: sympy.Expr, effort: int = 1000) -> sympy.Expr:
    """A shorter form of the expression where one is found within bounded work: expanded, Pythagoras, common factors."""
    if expression.count_ops() > effort:
        return expression
    expanded = sympy.expand(expression)
    if expanded.has(sympy.sin, sympy.cos):
        turned = [sympy.expand(rule(expanded)) for rule in (TR5, TR6)]
        expanded = min([expanded, *turned], key=lambda candidate: candidate.count_ops())
    candidates = (expression, expanded, sympy.factor_terms(expanded))
    return min(candidates, key=lambda candidate: candidate.count_ops())


def latex_names(expressions: Iterable[sympy.Expr]) -> dict[sympy.Symbol, str]:
    """How letters are set: dots over coordinates, constraint names as upright subscripts."""
    letters = {symbol for expression in expressions for symbol in expression.free_symbols}
    return {symbol: _latex_name(symbol) for symbol in letters}


def _latex_name(symbol: sympy.Symbol) -> str:
    name = symbol.name
    match symbol:
        case Velocity():
            return rf"\dot{{{_plain(name.removesuffix('_dot'))}}}"
        case Acceleration():
            return rf"\ddot{{{_plain(name.removesuffix('_ddot'))}}}"
        case Momentum():
            return f"p_{{{_plain(name.removeprefix('p_'))}}}"
    for prefix, letter in (("mu_", r"\mu"), ("chi_", r"\chi"), ("eta_", r"\eta")):
        if name.startswith(prefix):
            upright = name.removeprefix(prefix).replace("_", r"\_")
            return rf"{letter}_{{\mathrm{{{upright}}}}}"
    if name.endswith("_dot"):
        inner = name.removesuffix("_dot")
        return rf"\dot{{p}}_{{{_plain(inner.removeprefix('p_'))}}}" if inner.startswith("p_") else rf"\dot{{{_plain(inner)}}}"
    return _plain(name)


def _plain(name: str) -> str:
    return str(sympy.latex(sympy.Symbol(name)))
