"""The rank of a plain matrix, against NumPy's singular values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.runtime.gauss.constrained_solve import rank


@given(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7), st.integers(0, 10_000))
def test_rank_rows_and_null_space_of_products(m: int, n: int, inner: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(m, inner)) @ random.normal(size=(inner, n))
    found = rank(matrix)
    expected = min(m, n, inner)
    assert found.rank == np.linalg.matrix_rank(matrix) == expected
    assert np.linalg.matrix_rank(matrix[found.independent]) == expected
    assert found.null_space.shape == (n, n - expected)
    assert np.allclose(found.null_space.T @ found.null_space, np.eye(n - expected))
    assert np.abs(matrix @ found.null_space).max(initial=0.0) < 1e-10


def test_rows_are_scaled_before_they_are_judged() -> None:
    assert rank([[1.0, 0.0], [0.0, 1e-30]]).rank == 2


@pytest.mark.parametrize("shape", [(0, 3), (2, 3)])
def test_nothing_and_zeros_have_rank_zero(shape: tuple[int, int]) -> None:
    found = rank(np.zeros(shape))
    assert found.rank == 0
    assert found.null_space.shape == (3, 3)


def test_the_tolerance_is_the_part_outside_the_span() -> None:
    almost = [[1.0, 0.0], [1.0, 1e-6]]
    assert rank(almost).rank == 2
    assert rank(almost, tolerance=1e-5).rank == 1
