"""Passive systems of equations whose solutions are known."""

from __future__ import annotations

import pytest
import sympy

from dalembert.geometry.differential_fields import UnrepresentedError, differential_field
from dalembert.geometry.linear_pde import PassiveSystem, TooLargeError, complete

x, y, c = sympy.symbols("x y c")


def killing(E: sympy.Expr, G: sympy.Expr) -> PassiveSystem:
    """Killing's equations of the metric E dx^2 + G dy^2: u_i;j + u_j;i = 0 for the field (u, v)."""
    field, metric = differential_field([E, G], (x, y))
    rates = [[field.derivative(entry, k) for k in range(2)] for entry in metric]
    rows = [
        {((1, 0), 0): 2 * metric[0], ((0, 0), 0): rates[0][0], ((0, 0), 1): rates[0][1]},
        {((0, 1), 1): 2 * metric[1], ((0, 0), 0): rates[1][0], ((0, 0), 1): rates[1][1]},
        {((0, 1), 0): metric[0], ((1, 0), 1): metric[1]},
    ]
    return complete(field, [{at: c for at, c in row.items() if c} for row in rows], 2)


@pytest.mark.parametrize(
    ("E", "G", "count"),
    [
        (1, 1, 3),  # the plane
        (1, sympy.sin(x) ** 2, 3),  # the sphere
        (1, sympy.exp(2 * c * x), 3),  # the hyperbolic plane
        (1, sympy.cosh(c * x) ** 2, 3),
        (1, sympy.exp(x) * (1 + x**2), 1),  # a surface of revolution
        (1 + x**2 * y**2, 1 + x + y**2, 0),
    ],
)
def test_surfaces_have_as_many_symmetries_as_they_should(E, G, count):
    found = killing(sympy.sympify(E), sympy.sympify(G))
    assert found.arbitrariness == (count, 0)
    assert len(found.values) == {3: 0, 1: 1, 0: 2}[count]


def test_equations_of_cauchy_and_riemann_leave_two_functions_of_one_variable():
    field, (one,) = differential_field([sympy.S.One], (x, y))
    rows = [
        {((1, 0), 0): one, ((0, 1), 1): -one},
        {((0, 1), 0): one, ((1, 0), 1): one},
    ]
    assert complete(field, rows, 2).arbitrariness == (2, 1)


@pytest.mark.parametrize(
    "expression",
    [sympy.sqrt(x), x**c, sympy.exp(1 / x), sympy.sin(sympy.pi * x), sympy.log(1 + x)],
)
def test_functions_outside_the_field_are_refused(expression):
    with pytest.raises(UnrepresentedError):
        differential_field([expression], (x, y))


@pytest.mark.parametrize(
    "expression",
    [
        sympy.sin(x + 2 * y) * sympy.exp(x / 2 - y),
        sympy.tan(x / 3) + sympy.cos(x / 2) ** 2,
        sympy.log(x) * sympy.tanh(x * y) / sympy.cosh(y),
        sympy.cot(c * x) - sympy.sec(x) * sympy.csc(x),
    ],
)
def test_derivatives_are_those_of_sympy(expression):
    derivatives = [sympy.diff(expression, s) for s in (x, y)]
    field, (own, *wanted) = differential_field([expression, *derivatives], (x, y))
    assert [field.derivative(own, k) for k in range(2)] == wanted


def test_completions_beyond_their_limits_stop(monkeypatch):
    monkeypatch.setattr("dalembert.geometry.linear_pde.MOST_TERMS", 3)
    with pytest.raises(TooLargeError):
        killing(1 + x**2 * y**2, 1 + x + y**2)
