"""LaTeX as MathML, which browsers draw without any script, and which holds nothing but MathML.

Names of constraints are any words of a model file and stand in formulas: what the converter makes of them is read again, and
a formula with other elements or attributes than those of mathematics is given as plain words.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

import sympy

from ..errors import MissingExtraError
from ..formulations.presentation import Line, Written
from ..formulations.typeset import letter_latex, lines_latex

__all__ = ["expression_mathml", "letter_mathml", "mathml"]

#: The name of a function, with its power, and a letter right after it.
_FUNCTION = re.compile(
    r"(<mi>(?:sin|cos|tan|cot)</mi>|<msup><mi>(?:sin|cos|tan|cot)</mi><mrow>.*?</mrow></msup>)(?=(<m[ion]>|<mover>)?)"
)
_SPACE = '<mspace width="0.167em" />'

_ELEMENTS = (
    "math mrow mi mo mn mtext mspace msup msub msubsup mover munder munderover mfrac msqrt mroot mtable mtr mtd mstyle mpadded"
)
_ATTRIBUTES = (
    "xmlns display mathvariant stretchy displaystyle scriptlevel columnspacing rowspacing columnalign rowalign width height "
    "depth lspace rspace accent fence form separator minsize maxsize linethickness movablelimits symmetric"
)
_ATTRIBUTE = rf"\s+(?:{_ATTRIBUTES.replace(' ', '|')})=\"[\w .:/%#;-]*\""
#: A tag of MathML, or text between tags.
_PIECE = re.compile(rf"</?(?:{_ELEMENTS.replace(' ', '|')})(?:{_ATTRIBUTE})*\s*/?>|[^<>&]+|&#?\w{{1,12}};")


@lru_cache(maxsize=4096)
def mathml(latex: str, display: bool = False) -> str:
    """A formula.

    >>> mathml("x").startswith("<math")
    True
    >>> mathml(r"\\text{<script>}")
    '<math><mtext>\\\\text{&lt;script&gt;}</mtext></math>'
    """
    try:
        from latex2mathml.converter import convert
    except ImportError as missing:
        raise MissingExtraError("latex2mathml", "lab") from missing
    try:
        found = str(convert(latex.replace("{aligned}", "{split}"), display="block" if display else "inline"))
    except Exception:  # whatever the converter does not understand
        return _words(latex)
    if _PIECE.sub("", found) or "javascript:" in found:
        return _words(latex)
    return _FUNCTION.sub(lambda match: f"{_SPACE}{match[1]}{_SPACE if match[2] in ('<mi>', '<mn>') else ''}", found)


def _words(latex: str) -> str:
    return f"<math><mtext>{html.escape(latex)}</mtext></math>"


def letter_mathml(symbol: sympy.Symbol) -> str:
    """A letter, with dots and subscripts."""
    return mathml(letter_latex(symbol))


def expression_mathml(expression: sympy.Expr, relation: str = "=") -> str:
    """An expression and that it is, or is at most, zero."""
    line = Line(((expression, None),), ((sympy.Integer(0), None),))
    ((left, right),) = lines_latex(Written((line,), ()))
    return mathml(f"{left} {relation} {right}")
