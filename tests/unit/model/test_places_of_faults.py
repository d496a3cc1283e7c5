"""An error of an expression names the place of its fault, and an expression is written in the form
that is smallest to read.
"""

from __future__ import annotations

import pytest
import sympy

from dalembert.errors import ExpressionError
from dalembert.model.io.expressions import format, parse
from dalembert.model.symbols import Coordinate

SYMBOLS = {name: Coordinate(name) for name in "xyz"}
x, y, z = SYMBOLS.values()


@pytest.mark.parametrize(
    ("text", "character"),
    [
        ("x +", 4),
        ("(x + (y", 6),
        ("x y", 3),
        ("2*tehta", 3),
        ("sin(x) + atan2(x)", 10),
        ("x)", 2),
        ("x + * y", 5),
        ("x + (y = 1)", 8),
        ("x, y", 2),
        ("1 + where(x, 1, 2)", 5),
        ("1 + cos", 5),
        ("x + " + "(" * 101 + "x", 105),
        ("3*x(y)", 3),
        ("x # y", 3),
        ("x + 2y", 5),
        ("x // y", 3),
        ("x + 1e999", 5),
    ],
)
def test_the_place_of_a_fault_is_named(text: str, character: int) -> None:
    with pytest.raises(ExpressionError, match=rf"at character {character}\b"):
        parse(text, SYMBOLS)


def test_the_surroundings_of_a_fault_are_shown_and_no_more() -> None:
    """Twenty characters before and thirty from the place on; dots where something was left out."""
    with pytest.raises(ExpressionError) as caught:
        parse("x+" * 40 + "?" + "+y" * 40, SYMBOLS)
    assert f"'...{'x+' * 10}?{'+y' * 14}+...'" in str(caught.value)
    with pytest.raises(ExpressionError) as caught:
        parse("x+" * 10 + "?" + "+y" * 14 + "+", SYMBOLS)
    assert "..." not in str(caught.value)
    for text, shown in (
        ("x+" * 10 + "?" + "+y" * 15, "'...' behind"),
        ("x" + "+x" * 10 + "?", "'...' before"),
    ):
        with pytest.raises(ExpressionError) as caught:
            parse(text, SYMBOLS)
        assert str(caught.value).count("...") == 1, shown


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sympy.sqrt(x), "sqrt(x)"),
        (1 / sympy.sqrt(x), "1/sqrt(x)"),
        (x ** sympy.Rational(3, 2), "x**(3/2)"),
        (x**-2, "1/x**2"),
        (x - y, "x - y"),
        (-x - y, "-x - y"),
        (z * (-x - y), "z*(-x - y)"),
        (x / (y * z), "x/(y*z)"),
        (-3 * x / (4 * y * z), "-3*x/(4*y*z)"),
        (sympy.Integer(-2) ** x, "(-2)**x"),
        (x ** (-y), "x**(-y)"),
        (sympy.cot(x), "1/tan(x)"),
        (sympy.E * x, "exp(1)*x"),
        (sympy.Piecewise((x, x > 0), (y, True)), "where(x > 0, x, y)"),
    ],
)
def test_the_smallest_form_is_written(expression: sympy.Expr, text: str) -> None:
    assert format(expression) == text
