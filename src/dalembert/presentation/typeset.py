r"""Lines of equations as plain text and as LaTeX.

In LaTeX, dots stand over coordinates, subscripts below symbols, and the factors of a product are
ordered as in a paper: numbers, constants, coordinates, sums, functions, then velocities, momenta
and multipliers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import sympy

from ..model.symbols import Acceleration, Coordinate, Input, Momentum, Parameter, Speed, Velocity
from .latex_symbols import GREEK, GREEK_NAMES

if TYPE_CHECKING:
    from .equation_printer import Term, Written

__all__ = ["expression_latex", "latex", "lines_latex", "matrix_latex", "symbol_latex", "text"]

#: The rank of sums of velocities among the factors of a product; what has a higher one stands
#: behind fractions.
SUM_IN_MOTION = 6

_CIRCULAR = {sympy.sin: r"\sin", sympy.cos: r"\cos", sympy.tan: r"\tan", sympy.cot: r"\cot"}


def text(written: Written) -> str:
    """Lines of plain text, and what the names mean after the word ``with``."""
    lines = [f"{_side(line.left, str)} = {_side(line.right, str)}" for line in written.lines]
    if written.names:
        lines += ["with", *(f"    {name} = {meaning}" for name, meaning in written.names)]
    return "\n".join(lines)


def latex(written: Written) -> str:
    """An ``aligned`` environment."""
    body = " \\\\\n".join(f"{left} &= {right}" for left, right in lines_latex(written))
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def lines_latex(written: Written) -> list[tuple[str, str]]:
    """Left and right sides of the lines and of the meanings of names, the first of these after the
    word ``with``.
    """
    show = _Setter(symbol for line in written.lines for _, symbol in (*line.left, *line.right)).show
    lines = [(_side(line.left, show), _side(line.right, show)) for line in written.lines]
    for place, (name, meaning) in enumerate(written.names):
        lines.append((rf"\text{{with }}{show(name)}" if place == 0 else show(name), show(meaning)))
    return lines


def expression_latex(expression: sympy.Expr, signs: Mapping[str, str] | None = None) -> str:
    r"""An expression in LaTeX; floating numbers have six digits, `signs` are symbols by name.

    >>> expression_latex(2 * sympy.cos(sympy.Symbol("theta")) ** 2)
    '2 \\cos^{2}\\theta'
    """
    atoms = expression.atoms(sympy.Float)
    known = {number: sympy.Float(f"{float(number):.6g}", 6) for number in atoms}
    return _Setter((), signs).show(expression.xreplace(known))


def matrix_latex(table: sympy.MatrixBase, signs: Mapping[str, str] | None = None) -> str:
    r"""A matrix of expressions between brackets; floating numbers have six digits.

    >>> matrix_latex(sympy.Matrix([[sympy.Symbol("m"), 0], [0, 0.5]]))
    '\\begin{bmatrix} m & 0 \\\\ 0 & 0.5 \\end{bmatrix}'
    """
    show = _Setter((), signs).show

    def cell(entry: sympy.Expr) -> str:
        return f"{float(entry):.6g}" if entry.is_Float else show(entry)

    rows = [" & ".join(map(cell, table.row(k))) for k in range(table.rows)]
    body = r" \\ ".join(rows)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


def _side(terms: Sequence[Term], show: Callable[[sympy.Expr], str]) -> str:
    """A sum of coefficients times symbols, in the order given."""
    found = ""
    for coefficient, symbol in terms:
        piece = show(coefficient if symbol is None else coefficient * symbol)
        sign, piece = ("-", piece[1:]) if piece.startswith("-") else ("+", piece)
        found += f" {sign} {piece}" if found else piece if sign == "+" else f"-{piece}"
    return found or "0"


# -- LaTeX -----------------------------------------------------------------------------------------


class _Setter:
    """Sets expressions in LaTeX."""

    def __init__(
        self, unknowns: Iterable[sympy.Symbol | None], signs: Mapping[str, str] | None = None
    ) -> None:
        self._unknowns = {symbol for symbol in unknowns if symbol is not None}
        self._signs = signs or {}

    def show(self, expression: sympy.Expr) -> str:
        """An expression."""
        match expression:
            case sympy.Symbol():
                return self._signs.get(expression.name) or symbol_latex(expression)
            case sympy.MatrixSymbol():
                return symbol_latex(sympy.Symbol(expression.name))
            case sympy.Add():
                return self._sum(expression)
            case sympy.Mul():
                return self._product(expression)
            case sympy.Pow():
                return self._power(expression)
        if type(expression) in _CIRCULAR:
            return self._function(expression, 1)
        inner = {
            symbol: symbol_latex(symbol)
            for symbol in expression.free_symbols
            if isinstance(symbol, sympy.Symbol)
        }
        return str(sympy.latex(expression, symbol_names=inner | _matrix_names(expression)))

    def _sum(self, expression: sympy.Expr) -> str:
        terms = expression.as_ordered_terms()
        terms.sort(key=lambda term: term.could_extract_minus_sign())
        if not terms[
            0
        ].could_extract_minus_sign():  # the order of SymPy, with a positive term first
            first = terms[0]
            terms = [first, *(term for term in expression.as_ordered_terms() if term != first)]
        found = ""
        for term in terms:
            negative = term.could_extract_minus_sign()
            piece = self.show(-term) if negative else self.show(term)
            found += (
                (f" - {piece}" if negative else f" + {piece}")
                if found
                else (f"-{piece}" if negative else piece)
            )
        return found

    def _product(self, expression: sympy.Expr) -> str:
        if expression.could_extract_minus_sign():
            return f"-{self.show(-expression)}"
        above, below = sympy.fraction(expression, exact=True)
        if below == 1:
            return self._factors(above)
        collected = [
            factor for factor in sympy.Mul.make_args(above) if self._rank(factor)[0] > SUM_IN_MOTION
        ]
        rest = above / sympy.Mul(*collected)
        if not collected or rest == 1:
            return rf"\frac{{{self._factors(above)}}}{{{self._factors(below)}}}"
        outside = self._factors(sympy.Mul(*collected))
        return rf"\frac{{{self._factors(rest)}}}{{{self._factors(below)}}}\,{outside}"

    def _factors(self, expression: sympy.Expr) -> str:
        factors = sorted(sympy.Mul.make_args(expression), key=self._rank)
        found, after_function = "", False
        for factor in factors:
            piece = (
                _in_brackets(self.show(factor))
                if factor.is_Add and len(factors) > 1
                else self.show(factor)
            )
            found += (r"\," if after_function else " " if found else "") + piece
            after_function = type(factor.base if factor.is_Pow else factor) in _CIRCULAR
        return found

    def _rank(self, factor: sympy.Expr) -> tuple[int, str]:
        """The place of a factor in a product."""
        base = factor.base if factor.is_Pow else factor
        if base.is_Number:
            return 0, ""
        if base.is_Add:
            return (
                SUM_IN_MOTION
                if any(self._symbol_rank(s) > SUM_IN_MOTION for s in base.free_symbols)
                else 4
            ), str(base)
        if not base.is_Symbol:
            return 5, f"{list(_CIRCULAR).index(type(base)) if type(base) in _CIRCULAR else 9}{base}"
        return self._symbol_rank(base), base.name

    def _symbol_rank(self, symbol: sympy.Symbol) -> int:
        if symbol in self._unknowns:
            return 8
        match symbol:
            case Velocity() | Momentum() | Speed() | Acceleration():
                return 7
            case Coordinate():
                return 2
            case Parameter() | Input():
                return 7 if symbol.name.startswith(("chi_", "eta_", "xi_", "y_")) else 1
        return 7 if symbol.name.endswith("_dot") else 3

    def _power(self, expression: sympy.Expr) -> str:
        base, exponent = expression.args
        if exponent.is_negative:
            return rf"\frac{{1}}{{{self.show(base**-exponent)}}}"
        if exponent == sympy.Rational(1, 2):
            return rf"\sqrt{{{self.show(base)}}}"
        if type(base) in _CIRCULAR and exponent.is_Integer:
            return self._function(base, int(exponent))
        shown = self.show(base)
        if not (base.is_Symbol or base.is_Number) or shown.startswith("-"):
            shown = _in_brackets(shown)
        elif "_dot" in str(base) or isinstance(base, Velocity):
            shown = f"{{{shown}}}"
        return f"{shown}^{{{self.show(exponent)}}}"

    def _function(self, expression: sympy.Expr, power: int) -> str:
        (argument,) = expression.args
        shown = self.show(argument)
        number, symbol = argument.as_coeff_Mul()
        if symbol.is_Symbol and number.is_Integer and number > 0:
            shown = f" {shown}" if not shown.startswith("\\") or number != 1 else shown
        else:
            shown = _in_brackets(shown)
        return _CIRCULAR[type(expression)] + (f"^{{{power}}}" if power > 1 else "") + shown


def _in_brackets(shown: str) -> str:
    return rf"\left({shown}\right)" if r"\frac" in shown else f"({shown})"


def symbol_latex(symbol: sympy.Symbol) -> str:
    r"""A symbol: dots over coordinates, names of constraints as upright subscripts.

    >>> symbol_latex(Coordinate("theta1").dot), symbol_latex(
    ...     Coordinate("x").momentum
    ... ), symbol_latex(Parameter("mu_blade"))
    ('\\dot{\\theta}_{1}', 'p_{x}', '\\mu_{\\mathrm{blade}}')
    >>> symbol_latex(Parameter("v_xytheta")), symbol_latex(Parameter("forward_dot"))
    ('v_{x y \\theta}', '\\dot{\\mathrm{forward}}')
    """
    name = symbol.name
    match symbol:
        case Velocity():
            return _dotted(r"\dot", name.removesuffix("_dot"))
        case Acceleration():
            return _dotted(r"\ddot", name.removesuffix("_ddot"))
        case Momentum():
            return f"p_{{{_plain(name.removeprefix('p_'))}}}"
    for prefix, greek in (("mu_", r"\mu"), ("chi_", r"\chi")):
        if name.startswith(prefix):
            inner, dot = (
                (name.removesuffix("_dot"), r"\dot") if name.endswith("_dot") else (name, "")
            )
            upright = _upright(inner.removeprefix(prefix))
            if dot:
                return rf"{dot}{{{greek}}}_{{\mathrm{{{upright}}}}}"
            return rf"{greek}_{{\mathrm{{{upright}}}}}"
    if name.endswith("_ddot"):
        return _dotted(r"\ddot", name.removesuffix("_ddot"))
    return _dotted(r"\dot", name.removesuffix("_dot")) if name.endswith("_dot") else _plain(name)


def _upright(words: str) -> str:
    """Any words inside a formula: what has a meaning in LaTeX is shown and does nothing."""
    special = {"\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim "}
    special |= {c: rf"{command} " for c, command in GREEK.items()}
    printable = (
        c if c.isprintable() else " " for c in words
    )  # an empty line would end the formula
    return "".join(special.get(c, rf"\{c}" if c in "_%&#${}" else c) for c in printable)


def _dotted(dot: str, name: str) -> str:
    """The symbol with dots over it and its subscript beside them."""
    symbol, bar, rest = _plain(name).partition("_")
    return f"{dot}{{{symbol}}}{bar}{rest}"


def _plain(name: str) -> str:
    head, bar, rest = name.partition("_")
    if bar and rest:
        joined = _joined_coordinates(rest) if head == "v" else None
        return f"{_plain(head)}_{{{joined or _plain(rest)}}}"
    numbered = re.fullmatch(r"([^\W\d]+)(\d+\w*)", name)
    if numbered:
        return f"{_plain(numbered[1])}_{{{numbered[2]}}}"
    if name.isascii():
        shown = str(sympy.latex(sympy.Symbol(name)))
        is_word = shown == name and len(name) > 2 and name.isalpha()
        return rf"\mathrm{{{name}}}" if is_word else shown
    return " ".join(GREEK.get(c, c if c.isascii() else rf"\text{{{c}}}") for c in name)


def _joined_coordinates(names: str) -> str | None:
    """The coordinates that a speed is named after, "xytheta"; None where there is no Greek one."""
    parts = re.findall(rf"(?:{'|'.join(GREEK_NAMES)}|[q-z])\d*", names)
    if "".join(parts) != names or not any(part[1:2].isalpha() for part in parts):
        return None
    return " ".join(map(_plain, parts))


def _matrix_names(expression: sympy.Expr) -> dict[sympy.Expr, str]:
    return {matrix: matrix.name for matrix in expression.atoms(sympy.MatrixSymbol)}
