"""The two fast solves: the looped dense one for every size, and the straight-line one against the
Gauss solve.
"""

from __future__ import annotations

import ctypes
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.codegen.backends.llvm import native_library
from dalembert.codegen.passes.dense_solve import dense_solve_text, padded, row_length
from dalembert.codegen.passes.unrolled import HEALTHY, unrolled_solve
from dalembert.runtime.gauss.constrained_solve import solve

DOUBLES = ctypes.POINTER(ctypes.c_double)


def dense(G: Any, f: Any) -> tuple[np.ndarray, float]:
    """z and the health of the native dense solve; what it need not read is filled with NaN."""
    n = len(f)
    rows, stride = padded(n), row_length(n)
    table = np.zeros((rows, stride))
    table[:n, :n], table[:n, rows] = G, f
    table[np.arange(n, rows), np.arange(n, rows)] = 1.0
    table[:, :rows][np.tril_indices(rows, -1)] = np.nan
    library = native_library([], dense_solve_text(n), ["dense_solve"])
    function = ctypes.CFUNCTYPE(ctypes.c_double, DOUBLES, DOUBLES)(library.addresses["dense_solve"])
    aligned, z = np.ascontiguousarray(table), np.full(n + 4, 7.0)
    health = function(aligned.ctypes.data_as(DOUBLES), z.ctypes.data_as(DOUBLES))
    assert (z[n:] == 7.0).all(), "wrote past the end"
    return z[:n], health


def positive(random: np.random.Generator, n: int) -> np.ndarray:
    factor = random.normal(size=(n, n))
    return factor @ factor.T / n + 0.5 * np.eye(n)


@pytest.mark.parametrize("n", range(1, 46))
def test_the_dense_solve_of_every_size(n: int) -> None:
    random = np.random.default_rng(n)
    G, f = positive(random, n), random.normal(size=n)
    z, health = dense(G, f)
    assert np.allclose(z, np.linalg.solve(G, f), rtol=1e-12, atol=1e-12)
    pivots = np.diag(np.linalg.cholesky(G)) ** 2 / np.diag(G)
    assert health == pytest.approx(min(1.0, pivots.min()), rel=1e-10)


@pytest.mark.parametrize("n", [2, 5, 16, 23])
def test_the_dense_solve_in_any_units(n: int) -> None:
    random = np.random.default_rng(n)
    G, f, S = positive(random, n), random.normal(size=n), 10.0 ** random.uniform(-8, 8, n)
    z, health = dense(S[:, None] * G * S, S * f)
    assert np.allclose(S * z, np.linalg.solve(G, f), rtol=1e-11, atol=1e-11)
    assert health == pytest.approx(dense(G, f)[1], rel=1e-9)


@pytest.mark.parametrize("n", [1, 3, 8, 17])
def test_the_dense_solve_does_not_trust_what_is_not_positive(n: int) -> None:
    random = np.random.default_rng(n)
    factor = random.normal(size=(n, n))
    for G in (-np.eye(n), np.zeros((n, n)), factor @ np.diag([-1.0] + [1.0] * (n - 1)) @ factor.T):
        z, health = dense(G, random.normal(size=n))
        assert not health > HEALTHY or not np.isfinite(z).all()


def test_the_dense_solve_keeps_zeros_of_the_solution() -> None:
    z, _ = dense(np.diag(np.arange(1.0, 10.0)), np.array([1.0, 0, 0, 4, 0, 6, 0, 0, 0]))
    assert np.allclose(z, [1, 0, 0, 1, 0, 1, 0, 0, 0], rtol=0, atol=4e-16)
    assert (z[[1, 2, 4, 6, 7, 8]] == 0).all()


# -- straight-line code ----------------------------------------------------------------------------


def unrolled(
    G: Any, f: Any, A: Any, b: Any, **options: Any
) -> tuple[np.ndarray, np.ndarray, float]:
    """The straight-line solve with symbols in place of all numbers, so that nothing is folded
    away.
    """
    blocks = [ca.SX.sym(name, *np.atleast_2d(x).T.shape) for name, x in (("f", f), ("b", b))]
    shapes = {"G": ca.SX.sym("G", *np.shape(G)), "A": ca.SX.sym("A", *np.shape(A))}
    solution = unrolled_solve(shapes["G"], blocks[0], shapes["A"], blocks[1], **options)
    function = ca.Function(
        "solve", [shapes["G"], blocks[0], shapes["A"], blocks[1]],
        [solution.z, solution.multipliers, solution.health],
    )  # fmt: skip
    z, mu, health = (np.asarray(item) for item in function(G, f, A, b))
    return z.ravel(), mu.ravel(), float(health.item())


@pytest.mark.long
@given(st.integers(0, 5000))
def test_straight_line_code_agrees_where_it_is_healthy(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6))
    m = int(random.integers(0, n + 1))
    G, f = positive(random, n), random.normal(size=n)
    A, b = random.normal(size=(m, n)), random.normal(size=m)
    z, mu, health = unrolled(G, f, A, b)
    if health <= HEALTHY:
        return
    reference = solve(G, f, A, b)
    allowed = 1e-14 / health * (1 + np.abs(reference.multipliers).max(initial=1.0))
    assert np.allclose(z, reference.z, atol=allowed)
    assert np.allclose(mu, reference.multipliers, atol=10 * allowed)


@pytest.mark.long
@given(st.integers(0, 5000), st.floats(-12, 0))
def test_dependent_rows_are_unhealthy(seed: int, exponent: float) -> None:
    """Rows at an angle a have a compliance with relative pivot a^2: the health must say so."""
    random = np.random.default_rng(seed)
    n = 4
    G, first, tilt = positive(random, n), random.normal(size=n), random.normal(size=n)
    A = np.vstack([first, 2 * first + 10.0**exponent * tilt])
    _, _, health = unrolled(G, random.normal(size=n), A, random.normal(size=2))
    assert health < 100 * 10.0 ** (2 * exponent) + 1e-12
    if exponent < -5:
        assert not health > HEALTHY


@pytest.mark.long
@given(st.integers(0, 5000))
def test_a_singular_mass_matrix_is_unhealthy_and_the_augmented_one_is_not(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m = 4, 2
    factor, A = random.normal(size=(n, n - 1)), random.normal(size=(m, n))
    G, f, b = factor @ factor.T, random.normal(size=n), random.normal(size=m)
    kernel = np.linalg.svd(A)[2][m:]
    if np.linalg.eigvalsh(kernel @ G @ kernel.T).min() < 0.05:
        return
    z, _, health = unrolled(G, f, A, b)
    assert not health > HEALTHY or not np.isfinite(z).all()
    z, mu, health = unrolled(G, f, A, b, augment=True)
    if health > 1e-4:
        reference = solve(G, f, A, b)
        assert np.allclose(z, reference.z, atol=1e-8)
        assert np.allclose(mu, reference.multipliers, atol=1e-7)


@given(st.integers(0, 5000), st.floats(-16, -1))
def test_an_indefinite_matrix_with_a_small_leading_entry_is_unhealthy(
    seed: int, exponent: float
) -> None:
    """Without pivoting a small first pivot loses digits; either the health says so, or the solution
    is good.
    """
    random = np.random.default_rng(seed)
    n = 3
    factor = random.normal(size=(n, n))
    G, f = factor + factor.T, random.normal(size=n)
    G[0, 0] = 10.0**exponent
    A, b = np.zeros((0, n)), np.zeros(0)
    if np.linalg.cond(G) > 1e3:
        return
    z, _, health = unrolled(G, f, A, b, definite=False)
    if health > HEALTHY:
        assert np.allclose(z, np.linalg.solve(G, f), atol=1e-8)


@given(st.integers(0, 5000))
def test_known_duals_give_the_same(seed: int) -> None:
    """With G^-1 f and G^-1 A^T given, only the small problem is solved."""
    random = np.random.default_rng(seed)
    n, m = 4, 2
    G, f, A, b = (
        positive(random, n),
        random.normal(size=n),
        random.normal(size=(m, n)),
        random.normal(size=m),
    )
    free, dual = np.linalg.solve(G, f), np.linalg.solve(G, A.T)
    solution = unrolled_solve(
        ca.SX(G), ca.SX(f), ca.SX(A), ca.SX(b), free=ca.SX(free), dual_rows=ca.SX(dual)
    )
    z, mu = (np.asarray(ca.evalf(item)).ravel() for item in (solution.z, solution.multipliers))
    reference = solve(G, f, A, b)
    health = float(ca.evalf(solution.health))
    assert np.allclose(z, reference.z, atol=1e-13 / health)
    assert np.allclose(mu, reference.multipliers, atol=1e-13 / health)


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e3, 1e6])
def test_the_augmented_solve_is_healthy_in_any_unit_of_the_rows(unit: float) -> None:
    """Rows in another unit change mu alone: neither z nor the health."""
    random = np.random.default_rng(3)
    factor, A = random.normal(size=(4, 3)), random.normal(size=(2, 4))
    G, f, b = factor @ factor.T, random.normal(size=4), random.normal(size=2)
    z, mu, health = unrolled(G, f, A, b, augment=True)
    assert health > 1e-3
    scale = np.array([unit, 1.0])
    other_z, other_mu, other_health = unrolled(G, f, scale[:, None] * A, scale * b, augment=True)
    assert np.allclose(other_z, z, rtol=1e-9, atol=1e-9)
    assert np.allclose(scale * other_mu, mu, rtol=1e-9, atol=1e-9)
    assert other_health == pytest.approx(health, rel=1e-9)
