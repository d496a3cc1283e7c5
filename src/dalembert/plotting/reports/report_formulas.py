"""Formulas as HTML: MathML where the converter is installed, else LaTeX as text.

Names of constraints may be any words, and they stand in formulas; so what the converter makes is
read as XML, and only elements and attributes of mathematics are written again.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import sympy

from ...model.quantities import inlined_if_short
from ...presentation.equation_printer import Line, Written
from ...presentation.typeset import lines_latex, symbol_latex

if TYPE_CHECKING:
    from ...formulations.equations import Equations

__all__ = ["can_typeset", "equation_lines", "expression_latex", "formula", "is_longer_than"]
__all__ += ["mathml", "symbol_latex"]

#: Named quantities are spelt out in expressions with no more operations.
MOST_INLINED = 400

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        """math mrow mi mo mn mtext mspace msup msub msubsup mover munder munderover mfrac msqrt
        mroot mtable mtr mtd mstyle mpadded""",
    )
)
_ATTRIBUTES = frozenset(
    re.findall(
        r"\w+",
        """display mathvariant stretchy displaystyle scriptlevel columnspacing rowspacing
        columnalign rowalign width height depth lspace rspace accent fence form separator
        linethickness""",
    )
)
_SPACE = '<mspace width="0.167em"></mspace>'
_FUNCTIONS = frozenset(("sin", "cos", "tan", "cot", "log", "exp", "sinh", "cosh", "tanh"))


def can_typeset() -> bool:
    """Whether formulas become MathML here."""
    try:
        import latex2mathml.converter  # noqa: F401
    except ImportError:
        return False
    return True


@lru_cache(maxsize=4096)
def mathml(latex: str, display: bool = False) -> str | None:
    """A formula as MathML, with nothing else in it; None where it cannot be had.

    >>> mathml("x^2") == mathml("x^2", display=True)
    False
    """
    try:
        from latex2mathml.converter import convert

        kind = "block" if display else "inline"
        made = str(convert(latex.replace("{aligned}", "{split}"), display=kind))
        return _written(ElementTree.fromstring(made))
    except Exception:  # no converter, or a formula that it, or the reader of XML, does not take
        return None


def formula(latex: str, display: bool = False, bare: str = "code") -> str:
    r"""A formula as HTML, or its LaTeX as text in the element `bare`, or between dollars.

    Parameters
    ----------
    bare : "code", "pre" or "dollars"
        Notebooks typeset what stands between dollars.

    >>> "<script" in formula(r"\text{<script>}", bare="code")
    False
    """
    typeset = mathml(latex, display)
    if typeset is not None:
        return typeset
    words = html.escape(latex)
    if bare == "dollars":
        return f"$${words}$$" if display else f"${words}$"
    return f'<{bare} class="tex">{words}</{bare}>'


def _written(element: Element, form: str | None = None) -> str:
    """An element of MathML and what is in it, and nothing else."""
    name = _name(element)
    if name not in _ELEMENTS:
        raise ValueError(f"{name} is no element of mathematics")
    given = {**element.attrib, **({"form": form} if form else {})}
    given = {key: value for key, value in given.items() if key in _ATTRIBUTES}
    plain = {key: value for key, value in given.items() if re.fullmatch(r"[\w .:%#-]*", value)}
    attributes = "".join(f' {key}="{html.escape(value)}"' for key, value in plain.items())
    children = list(element)
    in_row = name in ("math", "mrow", "mtd", "mstyle")
    inside = html.escape(element.text or "")
    for place, child in enumerate(children):
        before = children[place - 1] if place else None
        piece = _written(child, "prefix" if in_row and _is_sign(child, before) else None)
        inside += f"{_SPACE}{piece}{_SPACE}" if in_row and _is_function(child) else piece
    return f"<{name}{attributes}>{inside}</{name}>"


def _name(element: Element) -> str:
    return str(element.tag).removeprefix(f"{{{_NAMESPACE}}}")


def _is_function(element: Element) -> bool:
    """Whether it is the name of a function, or a power of one."""
    head = element[0] if _name(element) == "msup" and len(element) else element
    return _name(head) == "mi" and head.text in _FUNCTIONS


def _is_sign(element: Element, before: Element | None) -> bool:
    """Whether it is a minus sign of what follows, because an operator stands in front of it."""
    if _name(element) != "mo" or element.text not in ("-", "\u2212"):
        return False
    return before is not None and _name(before) == "mo" and before.text not in (")", "]", "}", "|")


def expression_latex(expression: sympy.Expr) -> str:
    r"""An expression in LaTeX, as the equations are set.

    >>> from dalembert.model.symbols import coordinates
    >>> expression_latex(coordinates("theta").dot ** 2 / 2)
    '\\frac{{\\dot{\\theta}}^{2}}{2}'
    """
    spelt = inlined_if_short(expression, MOST_INLINED)
    line = Line(((expression if spelt is None else spelt, None),), ((sympy.Integer(0), None),))
    return lines_latex(Written((line,), ()))[0][0]


def equation_lines(equations: Equations) -> list[str]:
    """The equations in LaTeX, a formula for each line."""
    return [f"{left} = {right}" for left, right in lines_latex(equations.written())]


def is_longer_than(expressions: Iterable[sympy.Basic], most: int) -> bool:
    """Whether expressions have more than `most` nodes together; the count stops there.

    >>> [is_longer_than([sympy.Symbol("x") ** 2 + 1], most) for most in (4, 5)]
    [True, False]
    """
    count = 0
    for expression in expressions:
        pending = [expression]
        while pending:
            count += 1
            if count > most:
                return True
            pending.extend(pending.pop().args)
    return False
