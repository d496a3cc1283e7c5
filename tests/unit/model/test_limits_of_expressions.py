"""The bounds of the expression language: what stands at a bound is read, one more is refused.

Each bound is named in the message that refuses, so the number in the message is the number that
holds.
"""

from __future__ import annotations

import re

import pytest
import sympy

from dalembert.errors import ExpressionError
from dalembert.model.io.expression_rules import FUNCTIONS, product
from dalembert.model.io.expressions import evaluate, parse, parse_relation
from dalembert.model.symbols import Coordinate

SYMBOLS = {name: Coordinate(name) for name in "abcdefghxy"}
x, y = SYMBOLS["x"], SYMBOLS["y"]
POWERS = "+".join(f"x**{k}" for k in range(1, 1001))
ROOTS = "+".join(f"sqrt({p})" for p in (2, 3, 5, 6, 7, 10, 11, 13, 14))


def nested(opening: str, count: int, inner: str = "x") -> str:
    return opening * count + inner + ")" * count


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x" + " " * 99_999, x, id="100000 characters"),
        pytest.param("+" * 19_999 + "x", x, id="20000 words"),
        pytest.param(
            "0." + "0" * 100 + "1" * 298,
            sympy.Float(float("0." + "0" * 100 + "1" * 298)),
            id="400 digits",
        ),
        pytest.param("9" * 308, sympy.Integer(10**308 - 1), id="308 digits"),
        pytest.param(nested("(", 100), x, id="100 parentheses"),
        pytest.param("x" + "**1" * 40, x, id="40 powers in a row"),
        pytest.param(
            "2**1000*2**-1000*2**1000*2**-1000*2**91",
            sympy.Integer(2**91),
            id="factors of 4096 bits",
        ),
        pytest.param("x**1000", x**1000, id="exponent 1000"),
        pytest.param("(-1)**(-1)", sympy.Integer(-1), id="a base of -1 below"),
        pytest.param("x**-1000", x**-1000, id="exponent -1000"),
        pytest.param("(x**10)**100", x**1000, id="exponents together 1000"),
        pytest.param("x**(2000/2)", x**1000, id="exponent as a quotient"),
        pytest.param("x**(1999/2)", x ** sympy.Rational(1999, 2), id="exponent 999.5"),
        pytest.param(
            "max(a,b,c,d,e,f,g,h)",
            sympy.Max(*(SYMBOLS[name] for name in "abcdefgh")),
            id="eight arguments",
        ),
        pytest.param("sin(pi/12)", sympy.sin(sympy.pi / 12), id="an exact angle"),
        pytest.param("sin((x + y)**59)", sympy.sin((x + y) ** 59), id="60 terms in a function"),
        pytest.param(
            "sin((x + y + 1)**12)", sympy.sin((x + y + 1) ** 12), id="a power of 12 in a function"
        ),
        pytest.param("sin(x**1000)", sympy.sin(x**1000), id="a symbol to 1000 in a function"),
        pytest.param("x*(x - y)**1000", x * (x - y) ** 1000, id="a sum to 1000 outside"),
    ],
)
def test_at_the_bound_it_is_read(text: str, expected: sympy.Expr) -> None:
    assert parse(text, SYMBOLS) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param("x" + " " * 100_000, "at most 100000 characters", id="100001 characters"),
        pytest.param("+" * 20_000 + "x", "at most 20000 words", id="20001 words"),
        pytest.param("0." + "0" * 100 + "1" * 299, "at most 400 digits", id="401 digits"),
        pytest.param("9" * 309, "range of doubles", id="309 digits"),
        pytest.param(nested("(", 101), "deeper than 100 parentheses", id="101 parentheses"),
        pytest.param(nested("sin(", 41), "or 40 functions", id="41 functions"),
        pytest.param("x" + "**1" * 41, "More than 40 powers", id="41 powers in a row"),
        pytest.param("sin((x + y)**60)", "61 terms", id="61 terms in a function"),
        pytest.param("sqrt(1 + x*(x + y)**-60)", "61 terms", id="61 terms in a root"),
        pytest.param("2**((x + y)**60)", "61 terms", id="61 terms in an exponent"),
        pytest.param("cos((a + b + x)**13)", "105 terms", id="105 terms in a function"),
        pytest.param("cos(log(x)**60)", "61 terms", id="a function to 60 in a function"),
        pytest.param(
            "2**1000*2**-1000*2**1000*2**-1000*2**92",
            "more than 4096 bits",
            id="factors of 4097 bits",
        ),
        pytest.param(
            "(2**64)**64",
            "A power of an integer has more than 4096 bits",
            id="a power of 4160 bits",
        ),
        pytest.param("x**1001", "larger than 1000", id="exponent 1001"),
        pytest.param("x**-1001", "larger than 1000", id="exponent -1001"),
        pytest.param("(x**10)**101", "larger than 1000", id="exponents together 1010"),
        pytest.param("(x**-10)**101", "larger than 1000", id="exponents together -1010"),
        pytest.param("x**(2001/2)", "larger than 1000", id="exponent 1000.5"),
        pytest.param("sqrt(x**1000)**3", "larger than 1000", id="exponents together 1500"),
    ],
)
def test_beyond_the_bound_it_is_refused(text: str, part: str) -> None:
    with pytest.raises(ExpressionError, match=part):
        parse(text, SYMBOLS)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("log(-sqrt(2))", "log(-sqrt(2))"), ("x**2000", "2000"), ("2**0.5*x**(3**7)", "2187")],
)
def test_a_refusal_shows_what_was_written(text: str, shown: str) -> None:
    """SymPy would make log(2)/2 + I*pi of the first, and is not asked about functions of
    constants.
    """
    with pytest.raises(ExpressionError, match=re.escape(f"(seen: '{shown}')")):
        parse(text, SYMBOLS)


def test_forty_functions_are_read_and_closing_makes_room_again() -> None:
    deep = parse(nested("sin(", 40), SYMBOLS)
    assert sum(isinstance(part, sympy.sin) for part in sympy.preorder_traversal(deep)) == 40
    assert parse("+".join(["sin(x)"] * 60), SYMBOLS) == 60 * sympy.sin(x)


def test_terms_count_again_in_each_parenthesis_around_them() -> None:
    """1000 terms in 100 parentheses are the 100000 that are allowed; one term more is not."""
    assert len(parse(nested("(", 100, POWERS), SYMBOLS).args) == 1000
    with pytest.raises(ExpressionError, match="too many parentheses"):
        parse(nested("(", 100, POWERS + "+y"), SYMBOLS)


def test_symbols_in_a_product_have_no_bits() -> None:
    """Four factors of 1024 bits, which cancel, are as many bits as there may be; one bit more is
    refused, symbols or not.
    """
    high = sympy.Integer(2) ** 1023
    assert product([high, 1 / high, high, 1 / high, x, y]) == x * y
    with pytest.raises(ExpressionError, match="4096 bits"):
        product([high, 1 / high, high, 1 / high, sympy.Integer(1), x, y])
    with pytest.raises(ExpressionError, match="4096 bits"):
        product([high * x, y / high, high * x, y / high, 2 * x])


def test_constants_of_more_than_thirty_parts_become_floating() -> None:
    """The sum, nine roots of three parts each, 1 and pi are thirty parts."""
    exact, floating = parse(f"1+pi+{ROOTS}", SYMBOLS), parse(f"1+pi+exp(1)+{ROOTS}", SYMBOLS)
    assert not exact.has(sympy.Float)
    assert floating.is_Float
    assert float(floating) == pytest.approx(float(exact) + float(sympy.E), rel=1e-14)


def test_angles_finer_than_a_twentyfourth_of_pi_are_floating() -> None:
    assert parse("cos(pi/25)", SYMBOLS).is_Float
    assert parse("cos(x*pi/25)", SYMBOLS) == sympy.cos(sympy.pi * x / 25)


@pytest.mark.parametrize(
    ("sign", "truths"),
    [("<", "100"), ("<=", "110"), (">", "001"), (">=", "011"), ("==", "010"), ("!=", "101")],
)
def test_comparisons_are_told_apart_at_equality(sign: str, truths: str) -> None:
    """Below, at and above the bound, with symbols and with numbers, which are decided while they
    are read.
    """
    step = parse(f"where(x {sign} 2, 1, 0)", SYMBOLS)
    assert [evaluate(step, {x: value}) for value in (1.5, 2.0, 2.5)] == [
        float(truth) for truth in truths
    ]
    assert [parse(f"where({value} {sign} 2, 1, 0)", SYMBOLS) for value in (1, 2, 3)] == [
        int(truth) for truth in truths
    ]


def test_values_at_the_edges_of_functions() -> None:
    value = {
        name: parse(f"{name}(x)", SYMBOLS)
        for name in ("sign", "abs", "sqrt", "asin", "acosh", "log")
    }
    assert [evaluate(value["sign"], {x: edge}) for edge in (-2.0, -0.0, 0.0, 1e-300)] == [
        -1.0,
        0.0,
        0.0,
        1.0,
    ]
    assert evaluate(value["abs"], {x: -0.5}) == 0.5
    assert evaluate(value["sqrt"], {x: 0.0}) == 0.0
    assert evaluate(value["asin"], {x: 1.0}) == pytest.approx(1.5707963267948966, rel=1e-15)
    assert evaluate(value["acosh"], {x: 1.0}) == 0.0
    for name, outside in (
        ("sqrt", -1e-300),
        ("asin", 1.0000001),
        ("acosh", 0.9999999),
        ("log", 0.0),
    ):
        with pytest.raises(ExpressionError, match="no finite real value"):
            evaluate(value[name], {x: outside})


def test_quotients_are_rounded_as_they_are_written() -> None:
    """m*g/l is one product over another, not a product with 1/l."""
    a, b, c = (SYMBOLS[name] for name in "abc")
    values = {a: 0.1, b: 3.0, c: 0.7}
    assert evaluate(parse("a*b/c", SYMBOLS), values) == (0.1 * 3.0) / 0.7
    assert evaluate(parse("a/(b*c)", SYMBOLS), values) == 0.1 / (3.0 * 0.7)
    assert evaluate(parse("3*a/(7*c**2)", SYMBOLS), values) == pytest.approx(
        3 * 0.1 / (7 * 0.49), rel=1e-15
    )


ONE = [
    *(
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
    ),
    *("exp", "log", "sign", "Abs", "abs", "sqrt"),
]
COUNTS = {
    **dict.fromkeys(ONE, (1, 1)),
    "atan2": (2, 2),
    **dict.fromkeys(("Min", "min", "Max", "max"), (1, 8)),
    "where": (3, 3),
}


def test_the_table_names_every_function() -> None:
    assert {name: entry[1:] for name, entry in FUNCTIONS.items()} == COUNTS


@pytest.mark.parametrize("name", COUNTS)
def test_functions_take_their_number_of_arguments(name: str) -> None:
    least, most = COUNTS[name]
    arguments = ["x > 0" if name == "where" else "x", *"abcdefgh"]
    for count in (least, most):
        assert parse(f"{name}({','.join(arguments[:count])})", SYMBOLS).free_symbols
    for count in (least - 1, most + 1):
        with pytest.raises(ExpressionError, match=r"takes|missing"):
            parse(f"{name}({','.join(arguments[:count])})", SYMBOLS)


@pytest.mark.parametrize("number", [-2, -1, 0, 1, 2])
def test_relations_to_numbers(number: int) -> None:
    assert parse_relation(f"x = {number}", SYMBOLS) == ("equality", x - number)
    assert parse_relation(f"{number} = x", SYMBOLS) == ("equality", number - x)
    assert parse_relation(f"x >= {number}", SYMBOLS) == ("at most", number - x)
