"""Integrals of one-forms, each checked by differentiation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import Abs, cos, log, sin, tan

from dalembert.geometry.integrals import find_integral, trigonometric_quotient

x, y, z, t, theta, u = sympy.symbols("x y z t theta u", real=True)
l, b = sympy.symbols("l b", positive=True)
RANDOM = np.random.default_rng(4)


def equal(pairs: Sequence[tuple[Any, Any]]) -> bool:
    """Equality at random points, by SymPy's own numbers."""
    for left, right in pairs:
        for _ in range(4):
            point = {s: RANDOM.uniform(0.3, 1.2) for s in sympy.Tuple(left, right).free_symbols}
            first, second = (complex(sympy.S(side).subs(point)) for side in (left, right))
            if abs(first - second) > 1e-9 * (abs(first) + abs(second)) + 1e-13:
                return False
    return True


def gavin(arm: Any) -> list[Any]:
    angle = theta + b * u / l
    return [-arm * sin(angle), cos(angle)]


@pytest.mark.long
def test_gavins_constraint_has_the_integral_of_its_errata() -> None:
    found = find_integral(gavin(l), [theta, u], equal)
    angle = theta + b * u / l
    expected = u / l - b * theta + log(Abs(cos(angle) + b * sin(angle)))
    assert found is not None
    assert equal([(sympy.diff(found, s), sympy.diff(expected, s)) for s in (theta, u)])


def test_the_steered_pendulum_has_none_in_closed_form() -> None:
    assert find_integral(gavin(l + u), [theta, u], equal) is None


@pytest.mark.parametrize(
    "potential",
    [
        x * y * z,
        sin(x) * y + z**3,
        x**2 / 2 + y**2 / 2 - cos(t) * z,
        log(x) + y * z,
        x * sin(y * z),
    ],
)
@pytest.mark.parametrize("factor", [sympy.S(1), sympy.S(3) / l])
def test_differentials_are_integrated(potential: Any, factor: Any) -> None:
    symbols = [x, y, z, t]
    form = [factor * sympy.diff(potential, s) for s in symbols]
    found = find_integral(form, symbols, equal)
    assert found is not None
    derivatives = [(sympy.diff(found, s), sympy.diff(potential, s)) for s in symbols]
    ratio = derivatives[0][0] / derivatives[0][1]
    assert equal([(mine, ratio * other) for mine, other in derivatives])


@pytest.mark.parametrize(
    "form",
    [
        [y, -x],
        [y**2 + 1, -(x**2) - 1],
        [sin(x + y), sympy.S(1)],
        [(x + y) ** 2, sympy.S(-1)],
        [tan(2 * x - y), sympy.S(1)],
        [y * cos(x), sin(x) * y**2],
    ],
)
def test_forms_that_need_a_factor(form: list[Any]) -> None:
    found = find_integral(form, [x, y], equal)
    assert found is not None
    assert equal([(sympy.diff(found, x) * form[1], sympy.diff(found, y) * form[0])])


def test_forms_without_an_integral_get_none() -> None:
    assert find_integral([sin(z), -cos(z), sympy.S(0)], [x, y, z], equal) is None
    assert find_integral([-y, sympy.S(0), sympy.S(1)], [x, y, z], equal) is None


@pytest.mark.parametrize(
    "quotient",
    [
        cos(x) / (cos(x) + b * sin(x)),
        (2 * cos(3 * x + l) - sin(3 * x + l)) / (cos(3 * x + l) + b * sin(3 * x + l)),
        1 / (1 + b * tan(x)),
    ],
)
def test_trigonometric_quotients(quotient: Any) -> None:
    found = trigonometric_quotient(quotient, x)
    assert found is not None
    assert equal([(sympy.diff(found, x), quotient)])


@pytest.mark.parametrize(
    "other", [cos(x) ** 2, 1 / (1 + cos(x)), sin(x) / cos(2 * x), sin(x**2) / cos(x**2)]
)
def test_other_forms_are_left_alone(other: Any) -> None:
    assert trigonometric_quotient(other, x) is None
