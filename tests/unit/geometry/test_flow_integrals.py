"""Complete sets of integrals of involutive forms: random functions, hidden by random factors."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from sympy import Matrix, cos, diff, exp, sin, symbols

import dalembert as da
from dalembert.geometry.flow_integrals import find_integrals, first_integral
from dalembert.geometry.integrals import find_integral

x, y, z, w = symbols("x y z w", real=True)
POINTS = [(0.31, 0.72, 1.13, 0.57), (1.21, 0.42, 0.83, 1.37), (0.61, 1.52, 0.23, 0.97)]


def same(pairs: Any) -> bool:
    """Equality at points by SymPy's own numbers."""
    for point in POINTS:
        at = dict(zip((x, y, z, w), point, strict=True))
        for left, right in pairs:
            if abs(sympy.N((left - right).subs(at))) > 1e-10:
                return False
    return True


def rank_with(functions: Any, hidden: Any, variables: Any, at: Any) -> tuple[int, int]:
    """Ranks of the gradients of both sets together, and of the functions alone."""
    gradients = [[diff(f, v).subs(at) for v in variables] for f in (*functions, *hidden)]
    rows = Matrix(gradients).evalf(30)
    alone = rows[: len(functions), :]
    return (
        rows.rank(iszerofunc=lambda e: abs(e) < 1e-12),
        alone.rank(iszerofunc=lambda e: abs(e) < 1e-12),
    )


HIDDEN = {
    "x y z times a factor": ([x * y * z], [[1 + x**2]], (x, y, z)),
    "x y z times another": ([x * y * z], [[exp(x) * cos(y) + 2]], (x, y, z)),
    "two of three": ([x * y + z, x - z**2], [[1 + y**2, x], [y, 3]], (x, y, z)),
    "two of four": ([x * y * exp(z), w + x * z], [[y, 1], [w, 2 + x]], (x, y, z, w)),
    "three of four": (
        [x * w, y * w, z + w**2],
        [[y, 1, 0], [w, 2 + x, 1], [0, x, 2]],
        (x, y, z, w),
    ),
    "quotient": ([(x + y) / (z + 1)], [[x * z]], (x, y, z)),
    "trigonometric": ([sin(x) * cos(y) + z], [[x + 2]], (x, y, z)),
    "real eigenvalues": ([(x + y) * exp(-z), (x - y + z) * exp(z)], [[1, y], [x, 3]], (x, y, z)),
    "rotation": (
        [x * cos(z**2) - y * sin(z**2), x * sin(z**2) + y * cos(z**2)],
        [[1, 2], [x, 3]],
        (x, y, z),
    ),
    "rotation of two angles": (
        [x * cos(z + w) - y * sin(z + w), x * sin(z + w) + y * cos(z + w)],
        [[1, 0], [0, 1]],
        (x, y, z, w),
    ),
    "one eigenvector": ([x - (x + y) * z, y + (x + y) * z], [[1, 2], [x, 3]], (x, y, z)),
    "three eigenvectors": (
        [(x - y) * exp(w), (y - z) * exp(w), (x + y + z) * exp(-2 * w)],
        [[1, 0, 2], [0, 1, 1], [1, 1, 0]],
        (x, y, z, w),
    ),
}


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_functions_are_found(name: str) -> None:
    hidden, mixed, variables = HIDDEN[name]
    gradients = Matrix([[diff(function, v) for v in variables] for function in hidden])
    rows = (Matrix(mixed) * gradients).tolist()
    found = find_integrals(rows, variables, same).functions
    at = dict(zip((x, y, z, w), POINTS[0], strict=True))
    assert rank_with(found, hidden, variables, at) == (len(hidden), len(hidden))


@pytest.mark.parametrize("factor", [1 + x**2, exp(y), 1 / (2 + cos(z)), x * y + 1])
def test_integrating_factors_are_found(factor: Any) -> None:
    hidden = sin(x * y) + exp(y * z) + x**3 * z
    form = [diff(hidden, v) * factor for v in (x, y, z)]
    found = find_integral(form, [x, y, z], same)
    at = dict(zip((x, y, z, w), POINTS[1], strict=True))
    assert rank_with([found], [hidden], (x, y, z), at) == (1, 1)


def test_a_form_that_is_not_integrable_has_no_integrals() -> None:
    found = find_integrals([[-y, x, sympy.S.One]], (x, y, z), same)
    assert found.functions == () and "flows" in found.tried


@pytest.mark.parametrize("rate", [x * y + y, y**2 / x + y, (x + y) / (x - y), exp(x) * y**2])
def test_first_integrals_of_scalar_equations(rate: Any) -> None:
    found = first_integral(rate, y, x)
    assert found is not None
    assert same([(diff(found, y) * rate, -diff(found, x))]) and not same([(diff(found, y), 0 * x)])


def test_describe_names_the_integrals_of_a_set() -> None:
    a, b, c = da.coordinates("a b c")
    kinetic = (a.dot**2 + b.dot**2 + c.dot**2) / 2
    pair = [da.velocity(a.dot + b * c.dot, name="slope"), da.velocity(b.dot, name="stop")]
    found = da.describe(da.System([a, b, c], kinetic=kinetic, constraints=pair))
    assert set(found.integrals) == {b, a + b * c}
    assert "together they keep constant: b, a + b*c" in found.constraints[0].note
    assert found.to_json()["integrals"] == ["b", "a + b*c"]


@pytest.mark.long
def test_describe_says_what_was_tried() -> None:
    a, b, c = da.coordinates("a b c")
    hidden = sin(a * b + exp(b * c) * a) + a**3 * c * b + cos(a * c)
    factor = 1 + a**2 + sin(b) * c
    form = sum(diff(hidden, q) * q.dot for q in (a, b, c)) * factor
    kinetic = (a.dot**2 + b.dot**2 + c.dot**2) / 2
    system = da.System([a, b, c], kinetic=kinetic, constraints=[da.velocity(form, name="leaf")])
    (leaf,) = da.describe(system).constraints
    assert leaf.integrable is True
    if leaf.integral is None:
        assert "integrals: not found in closed form; tried" in leaf.note
