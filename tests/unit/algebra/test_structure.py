"""What is proved, refuted or left open about expressions, whatever their units and domain."""

from __future__ import annotations

import casadi as ca
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import (
    Abs,
    Heaviside,
    Max,
    Min,
    Piecewise,
    cos,
    cosh,
    exp,
    floor,
    pi,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
)

from dalembert.algebra import structure
from dalembert.algebra.field_numbers import PRIME, rank_modulo
from dalembert.algebra.graph import GraphAlgebra

x, y, z = sympy.symbols("x y z", real=True)
a, b = sympy.symbols("a b", positive=True)


def asked(expression):
    algebra = GraphAlgebra()
    algebra.vector([x, y, z, a, b])
    return algebra, algebra.scalar(sympy.sympify(expression))


IDENTITIES = [
    sin(x + y) - sin(x) * cos(y) - cos(x) * sin(y),
    cos(3 * x) - 4 * cos(x) ** 3 + 3 * cos(x),
    sin(x / 3 + pi / 4) - (sin(x / 3) + cos(x / 3)) / sqrt(2),
    sin(x + pi / 3) - sin(x) / 2 - sqrt(3) / 2 * cos(x),
    1 + tan(x) ** 2 - 1 / cos(x) ** 2,
    cosh(2 * x) - 1 - 2 * sinh(x) ** 2,
    exp(x + y) / exp(y) - exp(x),
    sqrt(x**2 + y**2) ** 3 - (x**2 + y**2) * sqrt(x**2 + y**2),
    sqrt(a * b) - sqrt(a) * sqrt(b),
    (x**2 - y**2) / (x - y) - x - y,
    Max(x, y) + Min(x, y) - x - y,
    Piecewise((x * (y + z), x > 0), (x * y + x * z, True)) - x * (z + y),
]


@pytest.mark.parametrize("expression", IDENTITIES, ids=str)
def test_identities_are_proved(expression):
    algebra, node = asked(expression)
    assert algebra.vanishing(node).status == "proved"


def test_rounded_coefficients_are_read_as_the_decimals_they_stand_for():
    algebra, node = asked(x)
    assert algebra.vanishing(0.1 * node * 3 - 0.3 * node).is_proved


@pytest.mark.parametrize("expression", IDENTITIES, ids=str)
@pytest.mark.parametrize("rest", [x * 1e-30, a**2 / 10**9, sin(x) * 1e-12], ids=str)
def test_a_small_rest_refutes_an_identity(expression, rest):
    algebra, node = asked(expression)
    node = ca.SX(node) + algebra.scalar(sympy.sympify(rest))
    assert algebra.vanishing(node).status != "proved"


@pytest.mark.parametrize(
    "expression",
    [1e-40 * x, 1e-12 * (x - y), sin(x) * 1e12, Max(x - 2, 0), Abs(x) - x, floor(x)],
    ids=str,
)
def test_what_is_not_zero_is_refuted(expression):
    algebra, node = asked(expression)
    assert algebra.vanishing(node).status == "refuted"


@pytest.mark.parametrize(
    "expression", [Max(x - 10**9, 0), Piecewise((1, x > 10**8), (0, True))], ids=str
)
def test_what_only_a_far_sample_would_refute_is_not_established(expression):
    algebra, node = asked(expression)
    assert algebra.vanishing(node).status == "not established"


@pytest.mark.parametrize(
    "expression",
    [sign(x), floor(x), Heaviside(x - 10**7), Max(x - 10**7, 0), 1e-25 * x, x * y / z],
    ids=str,
)
def test_dependence_that_derivatives_or_samples_do_not_show(expression):
    algebra, node = asked(expression)
    assert not algebra.independence(node, algebra.scalar(x)).is_proved
    assert algebra.without(node, algebra.scalar(x)) is None


def test_independence_where_the_variable_is_written():
    algebra, node = asked(y * (x**2 + x) / (x + x**2) + sin(2 * x) / cos(x) - 2 * sin(x))
    assert algebra.depends(node, algebra.scalar(x))
    assert algebra.independence(node, algebra.scalar(x)).is_proved


def test_degrees():
    algebra, node = asked(a * x**2 * cos(z) + x * y + sqrt(b))
    statuses = [algebra.degree(node, algebra.vector([x, y]), k).status for k in (0, 1, 2, 3)]
    assert statuses == ["refuted", "refuted", "proved", "proved"]
    relativistic, lagrangian = asked(-a * b**2 * sqrt(1 - x**2 / b**2))
    assert relativistic.degree(lagrangian, relativistic.scalar(x), 2).status == "refuted"
    kinked, energy = asked(x**2 / 2 + Max(x - 10**6, 0) ** 3)
    assert kinked.degree(energy, kinked.scalar(x), 2).status == "not established"


def test_homogeneity():
    algebra, node = asked(y - x - Max(z - 2, 0))
    velocities = algebra.vector([x, y])
    assert algebra.homogeneity(node, velocities, 1).status == "refuted"
    assert (
        algebra.homogeneity(algebra.scalar(sqrt(x**2 + y**2) * z), velocities, 2).status
        == "refuted"
    )
    assert algebra.homogeneity(
        algebra.scalar(x**2 - y**2 / sympy.Integer(4)), velocities, 2
    ).is_proved


def test_ranks_in_any_units():
    algebra = GraphAlgebra()
    rows = [[x, y], [x * z * 1e-14, y * z * 1e-14]]
    matrix = algebra.stack([algebra.vector(row).T for row in rows])
    assert algebra.rank(matrix) == structure.Rank(1, 1)
    rows[1][1] = y * z * 1e-14 + z * 1e-30
    assert algebra.rank(algebra.stack([algebra.vector(row).T for row in rows])).value == 2
    switched = algebra.stack(
        [algebra.vector([x, Max(y - 10**9, 0)]).T, algebra.vector([y, 0 * y]).T]
    )
    assert algebra.rank(switched) == structure.Rank(1, 2)


def test_a_verdict_is_no_truth_value():
    algebra, node = asked(x)
    with pytest.raises(TypeError):
        bool(algebra.vanishing(node))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=6))
def test_rank_modulo_is_the_rank_of_small_integers(rows):
    assert rank_modulo([[k % PRIME for k in row] for row in rows]) == sympy.Matrix(rows).rank()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_that_differ_are_never_proved_equal(data):
    """Adversarial: an expression plus a term at any place, of any size, is never proved to be the
    expression.
    """
    atoms = [x, y, a, sin(x), cos(y), sqrt(a + b), exp(x / 3), Max(x, y), sqrt(x**2 + 1)]
    pick = st.sampled_from(atoms)
    one = data.draw(pick) * data.draw(pick) + data.draw(pick)
    factor = data.draw(pick) + data.draw(pick) * sympy.Rational(
        1, 10 ** data.draw(st.integers(0, 30))
    )
    algebra, node = asked(one * factor)
    other = algebra.scalar(sympy.expand(one * factor) + data.draw(pick) * sympy.Rational(1, 10**25))
    assert not algebra.vanishing(node - other).is_proved


def test_nothing_holds_to_rounding_where_no_sample_is_defined() -> None:
    graph = GraphAlgebra()
    r, s, t = sympy.symbols("r s t", real=True)
    never = sympy.Float(1.2345678901234567) / sympy.sqrt(-1 - r**2 - s**2 - t**2)
    found = graph.vanishing(graph.scalar(never))
    assert not found.holds_to_rounding and not found.is_proved
