"""SymPy expressions on the graph: every function of the language, sharing of partial sums, and what
is refused.
"""

from __future__ import annotations

import math
from itertools import pairwise

import casadi as ca
import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.algebra.graph import GraphAlgebra
from dalembert.codegen.program import straight_line
from dalembert.errors import ModelError

X, Y = da.coordinates("x y")


def lowered(expression: sympy.Expr, *values: float) -> float:
    algebra = GraphAlgebra()
    symbols = algebra.vector([X, Y])
    return float(ca.Function("f", [symbols], [algebra.scalar(expression)])([*values, 0.7][:2]))


#: Each function with an independent implementation of other authors and an interval inside its
#: domain.
UNARY = [
    (sympy.sin, mpmath.sin, (-9, 9)),
    (sympy.cos, mpmath.cos, (-9, 9)),
    (sympy.tan, mpmath.tan, (-1.5, 1.5)),
    (sympy.asin, mpmath.asin, (-1, 1)),
    (sympy.acos, mpmath.acos, (-1, 1)),
    (sympy.atan, mpmath.atan, (-9, 9)),
    (sympy.sinh, mpmath.sinh, (-4, 4)),
    (sympy.cosh, mpmath.cosh, (-4, 4)),
    (sympy.tanh, mpmath.tanh, (-4, 4)),
    (sympy.asinh, mpmath.asinh, (-9, 9)),
    (sympy.acosh, mpmath.acosh, (1, 9)),
    (sympy.atanh, mpmath.atanh, (-0.99, 0.99)),
    (sympy.exp, mpmath.exp, (-5, 5)),
    (sympy.log, mpmath.log, (0.01, 9)),
    (sympy.sqrt, mpmath.sqrt, (0, 9)),
    (sympy.Abs, abs, (-9, 9)),
    (sympy.sign, mpmath.sign, (-9, 9)),
    (sympy.floor, mpmath.floor, (-9, 9)),
    (sympy.ceiling, mpmath.ceil, (-9, 9)),
    (sympy.sec, mpmath.sec, (-1.4, 1.4)),
    (sympy.csc, mpmath.csc, (0.2, 2.9)),
    (sympy.cot, mpmath.cot, (0.2, 2.9)),
    (sympy.sech, mpmath.sech, (-4, 4)),
    (sympy.csch, mpmath.csch, (0.2, 4)),
    (sympy.coth, mpmath.coth, (0.2, 4)),
]


@pytest.mark.parametrize(
    ("function", "reference", "domain"), UNARY, ids=lambda item: getattr(item, "__name__", "")
)
def test_functions_of_one_argument(function, reference, domain: tuple[float, float]) -> None:
    for value in [*np.linspace(*domain, 11), *np.random.default_rng(1).uniform(*domain, 20)]:
        expected = float(reference(mpmath.mpf(float(value))))
        assert math.isclose(lowered(function(X), value), expected, rel_tol=4e-15, abs_tol=4e-16), (
            value
        )


@pytest.mark.long
@given(st.floats(-50, 50), st.floats(-50, 50))
def test_functions_of_two_arguments(a: float, b: float) -> None:
    assert math.isclose(
        lowered(sympy.atan2(X, Y), a, b), math.atan2(a, b), rel_tol=4e-15, abs_tol=1e-300
    )
    assert lowered(sympy.Min(X, Y), a, b) == min(a, b)
    assert lowered(sympy.Max(X, Y, 3), a, b) == max(a, b, 3.0)


@pytest.mark.parametrize("power", [-40, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 12, 31, 32, 33, 100])
def test_whole_powers(power: int) -> None:
    for value in (-1.3, -0.4, 0.7, 1.9):
        assert math.isclose(lowered(X**power, value), value**power, rel_tol=1e-14)


@pytest.mark.parametrize(
    "power", ["1/2", "3/2", "5/2", "-1/2", "-3/2", "61/2", "65/2", "1/3", "-2/3", "0.3", "-1.7"]
)
def test_broken_powers(power: str) -> None:
    exponent = sympy.Float(power) if "." in power else sympy.Rational(power)
    for value in (0.3, 1.0, 2.7):
        assert math.isclose(lowered(X**exponent, value), value ** float(exponent), rel_tol=1e-14)


def test_powers_with_symbols_and_quotients() -> None:
    assert math.isclose(lowered(X**Y, 1.7, -2.3), 1.7**-2.3, rel_tol=1e-15)
    assert math.isclose(lowered(2**X, 1.7), 2**1.7, rel_tol=1e-15)
    quotient = X / (Y**2 * sympy.sqrt(X + 1) * (X + Y)) * sympy.pi / 3
    expected = 1.7 / (2.3**2 * math.sqrt(2.7) * 4.0) * math.pi / 3
    assert math.isclose(lowered(quotient, 1.7, 2.3), expected, rel_tol=1e-15)


@pytest.mark.parametrize("value", [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
def test_cases_and_logic(value: float) -> None:
    steps = sympy.Piecewise(
        (X**2, X < -1), (sympy.sin(X), sympy.And(X >= -1, X <= 0.5)), (5, sympy.Eq(X, 3)), (7, True)
    )
    expected = (
        value**2 if value < -1 else math.sin(value) if value <= 0.5 else 5 if value == 3 else 7
    )
    assert lowered(steps, value) == pytest.approx(expected, rel=1e-15)
    either = sympy.Piecewise((1, sympy.Or(X < -1, X > 1)), (2, sympy.Ne(X, 0)), (3, True))
    assert lowered(either, value) == (1 if abs(value) > 1 else 2 if value != 0 else 3)
    flipped = sympy.Piecewise((1, sympy.Not(sympy.And(X < Y, X > -Y))), (2, True))
    assert lowered(flipped, value, 0.7) == (2 if -0.7 < value < 0.7 else 1)
    assert lowered(sympy.Heaviside(X), value) == float(sympy.Heaviside(sympy.Float(value)))
    assert lowered(sympy.sign(X), value) == np.sign(value)


def test_a_case_outside_its_domain_does_not_spoil_the_others() -> None:
    guarded = sympy.Piecewise((sympy.sqrt(X), X > 0), (-X, True))
    algebra = GraphAlgebra()
    symbols = algebra.vector([X])
    node = algebra.scalar(guarded)
    function = ca.Function("f", [symbols], [node, algebra.gradient(node, symbols)])
    assert [float(item) for item in function(-4.0)] == [4.0, -1.0]
    assert [float(item) for item in function(4.0)] == [2.0, 0.25]


def test_cases_without_a_last_one_are_undefined_outside() -> None:
    assert math.isnan(lowered(sympy.Piecewise((1, X > 0)), -1.0))


@pytest.mark.parametrize(
    "expression",
    [
        sympy.gamma(X),
        sympy.erf(X),
        sympy.sinc(X),
        sympy.besselj(0, X),
        sympy.Function("f")(X),
        sympy.zeta(X),
        sympy.I * X,
        sympy.Derivative(sympy.floor(X), X),
        sympy.Integral(sympy.exp(X * Y), (Y, 0, 1)),
    ],
    ids=str,
)
def test_what_cannot_be_compiled_is_named(expression: sympy.Expr) -> None:
    with pytest.raises(ModelError, match="cannot be compiled"):
        GraphAlgebra().scalar(expression)


def test_every_symbol_is_one_node() -> None:
    algebra = GraphAlgebra()
    first, second = algebra.vector([X, Y]), algebra.vector([X * Y + sympy.sin(X)])
    assert algebra.depends(second, first)
    assert set(algebra.symbols) == {X, Y}


def test_deep_expressions_do_not_overflow() -> None:
    expression = X
    for _ in range(3000):
        expression = sympy.sin(expression, evaluate=False)
    assert abs(lowered(expression, 0.3)) < 1


def chain_energy_size(links: int) -> int:
    """Instructions for the kinetic energy of a chain, whose k-th velocity is a sum of k terms."""
    angles = [da.Coordinate(f"a{k}") for k in range(links)]
    across = [sum(sympy.cos(a) * a.dot for a in angles[: k + 1]) for k in range(links)]
    along = [sum(sympy.sin(a) * a.dot for a in angles[: k + 1]) for k in range(links)]
    energy = sum(u**2 + v**2 for u, v in zip(across, along, strict=True)) / 2
    algebra = GraphAlgebra()
    symbols = algebra.vector([*angles, *(a.dot for a in angles)])
    empty = ca.SX(0, 1)
    metric, derivative = algebra.hessian(
        algebra.scalar(energy), algebra.vector([a.dot for a in angles])
    )
    inputs = [empty, symbols, empty, empty, empty]
    assert ca.Function("e", [symbols], [algebra.scalar(energy)]).n_instructions() < 40 * links
    return straight_line(
        "f", inputs, [metric, derivative, algebra.gradient(algebra.scalar(energy), symbols)]
    ).operation_count


def test_partial_sums_are_shared() -> None:
    """The mass matrix of a chain has N^2 entries and costs N^2 operations, not N^3: the derivative
    over 8, 16, 32 links.
    """
    sizes = [chain_energy_size(links) for links in (8, 16, 32)]
    derivatives = [math.log2(large / small) for small, large in pairwise(sizes)]
    assert max(derivatives) < 2.2, sizes


def test_sharing_does_not_change_a_value() -> None:
    terms = [sympy.cos((k + 1) * X) * Y**k for k in range(7)]
    sums = (
        [sum(terms[: k + 1]) for k in range(7)]
        + [sum(terms[k:]) for k in range(7)]
        + [sum(terms[1::2])]
    )
    algebra = GraphAlgebra()
    function = ca.Function("f", [algebra.vector([X, Y])], [algebra.vector(sums)])
    expected = sympy.lambdify([X, Y], sums)(0.4, 1.2)
    assert np.allclose(np.asarray(function([0.4, 1.2])).ravel(), expected, rtol=1e-14)
