"""Formulas of the page, as MathML: what `report_formulas` makes, or the LaTeX in words."""

from __future__ import annotations

import html

import sympy

from ...errors import MissingExtraError
from ...plotting.reports import report_formulas
from ...presentation.typeset import symbol_latex

__all__ = ["expression_mathml", "mathml", "symbol_mathml"]


def mathml(latex: str, display: bool = False) -> str:
    """A formula.

    >>> mathml("x").startswith("<math")
    True
    """
    if not report_formulas.can_typeset():
        raise MissingExtraError("latex2mathml", "lab")
    return (
        report_formulas.mathml(latex, display)
        or f"<math><mtext>{html.escape(latex)}</mtext></math>"
    )


def symbol_mathml(symbol: sympy.Symbol) -> str:
    """A symbol, with dots and subscripts."""
    return mathml(symbol_latex(symbol))


def expression_mathml(expression: sympy.Expr, relation: str = "=") -> str:
    """An expression and that it is, or is at most, zero."""
    return mathml(f"{report_formulas.expression_latex(expression)} {relation} 0")
