"""The factorisation that writes out no zeros: against NumPy, with the order of elimination and its
cost.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from dalembert.algebra.sparse_factor import (
    Budget,
    SparseFactor,
    TooManyOperationsError,
    columns_of,
    dense,
    elimination_order,
)
from dalembert.codegen.passes.unrolled import unrolled_elimination, unrolled_solve


def numbers(expression) -> np.ndarray:
    return np.array(ca.DM(ca.evalf(expression)))


def sparse_matrix(n: int, seed: int) -> np.ndarray:
    """Symmetric and positive, with about four entries in a row."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((n, n))
    for _ in range(2 * n):
        i, j = random.integers(n, size=2)
        matrix[i, j] = matrix[j, i] = random.normal()
    return matrix + 6 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_it_solves(n: int) -> None:
    matrix, right = sparse_matrix(n, n), np.random.default_rng(n).normal(size=n)
    factor = SparseFactor(ca.sparsify(ca.SX(matrix)))
    found = numbers(dense(factor.solve(columns_of(ca.SX(right))[0]), n)).ravel()
    assert np.allclose(found, np.linalg.solve(matrix, right))
    assert sorted(factor.order) == list(range(n))
    assert np.prod([float(p) for p in factor.pivots]) == pytest.approx(np.linalg.det(matrix))


def arrow(n: int) -> list[set[int]]:
    """The first unknown meets all others, which meet nothing else."""
    return [set(range(1, n)), *({0} for _ in range(n - 1))]


def test_the_order_avoids_fill() -> None:
    order, filled = elimination_order(arrow(20))
    assert filled == 19
    assert 0 in order[-2:]
    _, chain = elimination_order([{k for k in (i - 1, i + 1) if 0 <= k < 50} for i in range(50)])
    assert chain == 49


def test_the_cost_of_a_chain_grows_with_its_length() -> None:
    spent = []
    for n in (20, 40, 80):
        budget = Budget(10_000)
        SparseFactor(
            ca.sparsify(
                ca.SX(
                    np.diag(np.full(n, 3.0))
                    + np.diag(np.ones(n - 1), 1)
                    + np.diag(np.ones(n - 1), -1)
                )
            ),
            budget,
        )
        spent.append(10_000 - budget.left)
    assert spent[1] / spent[0] == pytest.approx(2, rel=0.1)
    assert spent[2] / spent[1] == pytest.approx(2, rel=0.1)


def test_the_budget_is_kept() -> None:
    full = np.ones((30, 30)) + 30 * np.eye(30)
    with pytest.raises(TooManyOperationsError):
        SparseFactor(ca.SX(full), Budget(1000))


@pytest.mark.parametrize("m", [0, 1, 6])
def test_the_constrained_problem_is_that_of_the_whole_matrix(m: int) -> None:
    n, random = 18, np.random.default_rng(m)
    metric, force = sparse_matrix(n, 5), random.normal(size=n)
    rows = np.where(random.uniform(size=(m, n)) < 0.3, random.normal(size=(m, n)), 0.0) + np.eye(
        m, n
    )
    right = random.normal(size=m)
    found = unrolled_solve(
        *(ca.sparsify(ca.SX(block)) for block in (metric, force, rows.reshape(m, n))), ca.SX(right)
    )
    whole = np.block([[metric, -rows.T], [rows, np.zeros((m, m))]])
    expected = np.linalg.solve(whole, np.concatenate([force, right]))
    assert np.allclose(numbers(found.z).ravel(), expected[:n])
    if m:
        assert np.allclose(numbers(found.multipliers).ravel(), expected[n:])
    assert 0 < float(ca.evalf(found.health)) <= 1


def test_the_health_shows_dependent_rows() -> None:
    rows = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1e-9]])
    found = unrolled_solve(ca.SX(np.eye(3)), ca.SX(np.ones(3)), ca.SX(rows), ca.SX(np.zeros(2)))
    assert float(ca.evalf(found.health)) < 1e-12


def test_elimination_without_symmetry() -> None:
    matrix = sparse_matrix(12, 3) + np.triu(sparse_matrix(12, 4), 1) * 0.3
    right = np.arange(12.0)
    found = unrolled_elimination(ca.sparsify(ca.SX(matrix)), ca.SX(right))
    assert np.allclose(numbers(found).ravel(), np.linalg.solve(matrix, right))
