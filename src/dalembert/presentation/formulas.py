r"""Named formulas: a list of left sides with expressions or matrices, as text and as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import sympy

from ..model.text_width import wrapped_formula
from .typeset import expression_latex, matrix_latex

__all__ = ["Formula", "Formulas"]


@dataclass(frozen=True)
class Formula:
    """One line: its left side in plain text and in LaTeX, and what it equals."""

    label: str
    sign: str
    value: sympy.Expr | sympy.MatrixBase

    @property
    def text(self) -> str:
        """The line in plain text; a matrix by its rows."""
        if isinstance(self.value, sympy.MatrixBase):
            rows = (", ".join(map(_plain, self.value.row(k))) for k in range(self.value.rows))
            return "\n".join([f"{self.label} =", *(f"    [{row}]" for row in rows)])
        return f"{self.label} = {_plain(self.value)}"

    def latex(self, signs: Mapping[str, str]) -> str:
        """The line in LaTeX, aligned at its sign of equality; `signs` are symbols by name."""
        if isinstance(self.value, sympy.MatrixBase):
            return f"{self.sign} &= {matrix_latex(self.value, signs)}"
        return f"{self.sign} &= {expression_latex(self.value, signs)}"


@dataclass(frozen=True, repr=False)
class Formulas:
    r"""Lines of formulas in order, and the LaTeX of symbols that have their own.

    >>> r = sympy.Symbol("r")
    >>> found = Formulas((Formula("A", "A_{r}", r**2), Formula("B", "B", sympy.Matrix([[r, 0]]))))
    >>> print(found)
    A = r**2
    B =
        [r, 0]
    >>> print(found.latex().splitlines()[1])
    A_{r} &= r^{2} \\
    """

    lines: tuple[Formula, ...]
    signs: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The lines in plain text."""
        return "\n".join(line.text for line in self.lines)

    def latex(self) -> str:
        """An ``aligned`` environment."""
        body = " \\\\\n".join(line.latex(self.signs) for line in self.lines)
        return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"

    def __getitem__(self, label: str) -> sympy.Expr | sympy.MatrixBase:
        """What the line with a label equals."""
        return next(line.value for line in self.lines if line.label == label)

    def __str__(self) -> str:
        """The lines, wrapped to the width of the terminal."""
        return "\n".join(wrapped_formula(line) for line in self.text().splitlines())

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def _plain(value: sympy.Expr) -> str:
    """An expression in plain text, floating numbers with six digits."""
    known = {number: sympy.Float(f"{float(number):.6g}", 6) for number in value.atoms(sympy.Float)}
    return str(value.xreplace(known)) if known else str(value)
