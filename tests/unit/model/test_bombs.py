"""Numbers beyond doubles, work beyond bounds and values that contradict each other are refused,
wherever they come in.
"""

from __future__ import annotations

import time

import pytest
import sympy

import dalembert as da
from dalembert.errors import DalembertError, ExpressionError, ModelError, nearest
from dalembert.model.io.expressions import format, parse

X, Y = da.coordinates("x y")
M = da.parameters("m")
SYMBOLS = {"x": X, "y": Y, "m": M}
#: Processor seconds; what is measured is a hundredth.
LIMIT = 10.0


@pytest.mark.parametrize(
    "text",
    [
        "(x*10**300)*10**300",
        "x/10**300/10**300",
        "(x*1e300)*1e300",
        "x*1e-300*1e-300",
        "(1e-200)**2*x",
        "-(-pi*x)*+1e308",
    ],
)
def test_coefficients_are_doubles(text: str) -> None:
    """A product of numbers that are in range may not leave it; 1e-600*x was written as 0.0*x."""
    with pytest.raises(ExpressionError, match="outside the range of doubles"):
        parse(text, SYMBOLS)


def test_extremes_are_not_compared_with_each_other() -> None:
    """SymPy compares all pairs of arguments: a text of 1800 characters took half a minute."""
    text = "x"
    for k in range(38):
        text = (
            f"{'Max' if k % 2 else 'Min'}({text},"
            f" {' + '.join(f'{k + j}*x**{j}*y**{k % 3}' for j in range(3))})"
        )
    began = time.process_time()
    found = parse(text, SYMBOLS)
    assert time.process_time() - began < LIMIT
    assert parse(format(found), SYMBOLS) == found


def test_extremes_take_constants_together_and_any_number_of_arguments() -> None:
    assert parse("Max(1, x, 2, x)", SYMBOLS) == sympy.Max(2, X, evaluate=False)
    assert parse("min(3, 2, pi)", SYMBOLS) == 2
    wide = sympy.Max(*(X + k * Y for k in range(30)), evaluate=False)
    assert parse(format(wide), SYMBOLS) == wide


def test_fine_angles_become_floating() -> None:
    assert parse("cos(pi/12)", SYMBOLS) == sympy.cos(sympy.pi / 12)
    assert isinstance(parse("cos(pi/257)", SYMBOLS), sympy.Float)
    assert float(parse("tan(3*pi/100)", SYMBOLS)) == pytest.approx(0.09452783)


@pytest.mark.long
def test_long_sums_in_many_parentheses_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dalembert.model.io.expressions.MOST_ENCLOSED", 4000)
    text = "2*(" * 99 + "+".join(f"x**{k % 50}*y**{k // 50}" for k in range(100)) + ")" * 99
    with pytest.raises(ExpressionError, match="too many parentheses"):
        parse(text, SYMBOLS)


def test_the_nearest_name_is_looked_for_in_bounds() -> None:
    known = [f"{'ba' * 47}{k:04d}" for k in range(5000)]
    began = time.process_time()
    nearest("ab" * 49, known)
    assert time.process_time() - began < LIMIT / 5
    assert nearest("q41", [f"q{k}" for k in range(1000)]) == "q41"


@pytest.mark.parametrize(
    "number", [sympy.Integer(10) ** 600, sympy.Float("1e600"), sympy.Float("1e-600")], ids=str
)
def test_a_system_has_numbers_that_are_doubles(number: sympy.Expr) -> None:
    """1e-600*x was taken as no potential at all, and 1e600*x as a singular mass matrix."""
    with pytest.raises(ModelError, match="outside the range of doubles"):
        da.System([X], kinetic=X.dot**2 / 2, potential=number * X)


def test_a_name_has_one_value() -> None:
    """Two symbols of one name, or a symbol and its name: the last value won without a word."""
    loose, positive = da.parameters("m"), da.parameters("m", positive=True)
    system = da.System([X], kinetic=loose * X.dot**2 / 2, potential=positive * X)
    for given in ({loose: 1.0, positive: 2.0}, {loose: 1.0, "m": 2.0}):
        with pytest.raises(ModelError, match="gives `m` twice"):
            da.simulate(system, {}, (0, 1), parameters=given)
    with pytest.raises(ModelError, match="gives `x` twice"):
        da.simulate(system, {X: 1.0, "x": 2.0}, (0, 1), parameters={"m": 1.0})


@pytest.mark.parametrize(
    "number",
    [10**400, 10**6000, None, "one", 1j, float("nan")],
    ids=lambda n: str(n)[:9] if n != 10**6000 else "n",
)
def test_values_that_are_no_doubles_are_refused(number: object) -> None:
    """An integer of 400 digits ended in an OverflowError."""
    system = da.System([X], kinetic=M * X.dot**2 / 2)
    for start, parameters in (({"x": number}, {"m": 1.0}), ({}, {"m": number})):
        with pytest.raises(DalembertError, match="must be a finite number"):
            da.simulate(system, start, (0, 1), parameters=parameters)
