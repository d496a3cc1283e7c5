"""Partial derivatives by rules are those of `sympy.diff`, term by term."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from sympy import Abs, Function, Max, Piecewise, atan2, cos, exp, log, pi, sin, sqrt, tan

import dalembert as da
from dalembert.algebra.tree_derivatives import partial_derivative

x, y, z = sympy.symbols("x y z", real=True)
f = Function("f")
EXPRESSIONS = [
    sympy.Integer(3),
    x,
    2 * (x + y) ** 2 * sin(x * y) / (1 + z**2),
    (x + 2 * y) ** z,
    sqrt(x**2 + y**2) * exp(-x * sin(y)),
    tan(x) * log(y + cos(x)) + pi * x,
    x**-2.5 + 1.5 * y**3 * x,
    atan2(x, y) + f(x * y, z),
    Abs(x - y) + Max(x, y) * x,
    Piecewise((x**2, x > y), (sin(x), True)),
    x * (y + z * (x + y * (x + z) ** 3) ** 2) ** 2,
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
@pytest.mark.parametrize("symbol", [x, y, z])
def test_it_is_the_derivative_of_sympy(expression: Any, symbol: Any) -> None:
    first = partial_derivative(expression, symbol)
    assert first == sympy.diff(expression, symbol)
    assert partial_derivative(first, x) == sympy.diff(first, x)


def test_defined_quantities_are_differentiated_through_their_definition() -> None:
    q = da.coordinates("q")
    height = da.define("height", sin(q) ** 2)
    assert partial_derivative(height**2, q) == sympy.diff(height**2, q) != 0


@pytest.mark.parametrize("name", ["rolling-disk", "snakeboard"])
def test_second_derivatives_of_lagrangians(name: str) -> None:
    system = da.gallery.load(name).system
    for velocity in system.velocities:
        momentum = partial_derivative(system.lagrangian, velocity)
        assert momentum == sympy.diff(system.lagrangian, velocity)
        for symbol in system.coordinates:
            assert partial_derivative(momentum, symbol) == sympy.diff(momentum, symbol)
