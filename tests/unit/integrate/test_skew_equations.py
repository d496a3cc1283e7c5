"""Native parts of the discrete body: numbers in two parts against exact fractions, Lyapunov's
equation against SciPy.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

from dalembert.codegen.native.native_module import NativeModule
from dalembert.integrate.methods.groups import double_word as two_parts
from dalembert.integrate.methods.groups import skew_equations

FUNCTIONS = NativeModule(
    [
        skew_equations.factor_planes,
        skew_equations.solve_planes,
        skew_equations.solve_planes_by_sign,
        skew_equations.invert,
        two_parts.split_parts,
        two_parts.product_in_parts,
        two_parts.gram_excess,
    ]
).functions


def in_parts(values):
    high, low = np.zeros_like(values), np.zeros_like(values)
    FUNCTIONS["split_parts"](values.size, np.ascontiguousarray(values), high, low)
    low += np.random.default_rng(0).uniform(-1, 1, values.shape) * 2.0**-60
    return high, low


def exact(high, low):
    return [
        [Fraction(h) + Fraction(s) for h, s in zip(*rows, strict=True)]
        for rows in zip(high, low, strict=True)
    ]


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_products_in_two_parts_have_eighty_bits(n):
    random = np.random.default_rng(n)
    turns = [values - values.T for values in random.standard_normal((2, n, n))]
    (A, a), (B, b) = (in_parts(expm(turn)) for turn in turns)
    high, low = np.zeros((n, n)), np.zeros((n, n))
    FUNCTIONS["product_in_parts"](n, A, a, B, b, high, low)
    first, second, found = exact(A, a), exact(B, b), exact(high, low)
    worst = max(
        abs(sum(first[i][k] * second[k][j] for k in range(n)) - found[i][j])
        for i in range(n)
        for j in range(n)
    )
    assert worst < n * Fraction(1, 2**78)
    assert np.array_equal(high * 2.0**26, np.round(high * 2.0**26))
    assert np.max(np.abs(low)) <= 2.0**-26
    excess = np.zeros((n, n))
    FUNCTIONS["gram_excess"](n, A, a, excess, np.zeros(n))
    for i in range(n):
        for j in range(n):
            expected = sum(first[k][i] * first[k][j] for k in range(n)) - (i == j)
            assert abs(Fraction(excess[i, j]) - expected) < n * Fraction(1, 2**77)


@pytest.mark.parametrize("n", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("definite", [True, False], ids=["definite", "indefinite"])
def test_equations_on_skew_matrices(n, definite):
    random = np.random.default_rng(n)
    S, M, R = random.standard_normal((3, n, n))
    X = np.ascontiguousarray(
        S @ S.T / n + np.eye(n) if definite else np.diag(np.linspace(1, 2, n)) + np.triu(4 * S, 1)
    )
    X = X + (M - M.T) / 2 if definite else X
    assert np.min(np.linalg.eigvals(X).real) > 0
    assert (np.min(np.linalg.eigvalsh(X + X.T)) > 0) == definite or n == 2
    R = R - R.T
    expected = solve_continuous_lyapunov(X.T, R)
    pairs = n * (n - 1) // 2
    factors, order = np.zeros(max(pairs * pairs, 4 * n * n)), np.zeros(max(pairs, n), np.int64)
    planes = R.copy()
    assert FUNCTIONS["factor_planes"](n, X, factors, order)
    FUNCTIONS["solve_planes"](n, factors, order, planes, np.zeros(pairs))
    by_sign = R.copy()
    assert FUNCTIONS["solve_planes_by_sign"](n, X, by_sign, factors, order)
    scale = np.max(np.abs(expected))
    assert np.allclose(planes, expected, atol=1e-11 * scale)
    assert np.allclose(by_sign, expected, atol=1e-9 * scale)


def test_inverse_and_mean_of_the_pivots():
    A = np.random.default_rng(3).standard_normal((5, 5))
    result = np.zeros((5, 5))
    mean = FUNCTIONS["invert"](5, A, np.zeros(25), np.zeros(5, np.int64), result)
    assert np.allclose(result @ A, np.eye(5), atol=1e-12)
    assert mean == pytest.approx(abs(np.linalg.det(A)) ** 0.2)
    assert (
        FUNCTIONS["invert"](
            2, np.zeros((2, 2)), np.zeros(4), np.zeros(2, np.int64), np.zeros((2, 2))
        )
        == 0.0
    )


@pytest.mark.parametrize("unit", [1e-40, 1e40])
def test_the_sign_iteration_works_in_any_unit(unit):
    random = np.random.default_rng(1)
    X = np.diag(np.linspace(1, 2, 5)) + np.triu(random.standard_normal((5, 5)), 1)
    R = random.standard_normal((5, 5))
    R = R - R.T
    expected = solve_continuous_lyapunov(X.T, R)
    found = R.copy()
    assert FUNCTIONS["solve_planes_by_sign"](
        5, unit * X, found, np.zeros(100), np.zeros(10, np.int64)
    )
    assert np.allclose(unit * found, expected, rtol=0, atol=1e-10 * np.max(np.abs(expected)))
