"""The rotation of a discrete step: which branch, how far it exists, and what it is not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dalembert.errors import ModelError
from dalembert.geometry.discrete_rotations import (
    discrete_momentum,
    discrete_rotation,
    hamiltonian_matrix,
    largest_factor,
)


def body(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inertias, and a momentum at the limit of what a step can take."""
    random = np.random.default_rng(100 * seed + n)
    Lambda, values = random.uniform(0.4, 2.5, n), random.standard_normal((n, n))
    M = values - values.T
    return Lambda, M * largest_factor(Lambda, M)


def every_branch(Lambda, M):
    """All U with U Lambda - Lambda U^T = M, one for each real half of the spectrum of H that holds
    no z and -z.
    """
    n = Lambda.size
    values, vectors = np.linalg.eig(hamiltonian_matrix(Lambda, M))
    for chosen in combinations(range(2 * n), n):
        half = values[list(chosen)]
        paired = np.min(np.abs(half[:, None] + half)) < 1e-6  # z and -z together
        real = all(np.min(np.abs(np.conj(z) - half)) < 1e-9 for z in half)
        basis = vectors[:, chosen]
        if paired or not real:
            continue
        S = np.real(basis[n:] @ np.linalg.inv(basis[:n]))
        yield -half, (S + M / 2) / Lambda


@pytest.mark.parametrize("n", [2, 3, 4, 6, 9])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.7, 0.99, 1 - 1e-6, 1 - 1e-10])
def test_solves_in_the_right_half_plane(n, share):
    Lambda, limit = body(n)
    M = share * limit
    U = discrete_rotation(Lambda, M)
    assert np.allclose(U.T @ U, np.eye(n), atol=1e-14)
    assert np.linalg.det(U) == pytest.approx(1)
    assert np.allclose(discrete_momentum(Lambda, U), M, atol=2e-14)
    assert np.min(np.linalg.eigvals(U * Lambda).real) > 0


@pytest.mark.parametrize("n", [3, 4])
def test_one_of_several_and_the_one_that_continues_the_identity(n):
    Lambda, limit = body(n)
    M = 0.6 * limit
    ours, others = discrete_rotation(Lambda, M), []
    for spectrum, U in every_branch(Lambda, M):
        assert np.allclose(discrete_momentum(Lambda, U), M, atol=1e-9)
        assert np.allclose(U.T @ U, np.eye(n), atol=1e-9)
        if np.min(spectrum.real) > 0:
            assert np.allclose(U, ours, atol=1e-9)
        elif np.linalg.det(U) > 0:
            others.append(U)
            assert (
                np.trace(U * Lambda)
                < np.trace(ours * Lambda) - 2 * np.min(np.abs(spectrum.real)) + 1e-9
            )
    assert others
    last = np.eye(n)
    for s in np.linspace(0, 1, 41):
        following = discrete_rotation(Lambda, s * M)
        assert np.max(np.abs(following - last)) < 0.1
        last = following
    assert np.allclose(last, ours)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_neither_the_symmetric_part_nor_the_constant_is_definite_near_the_limit(n):
    Lambda, limit = body(n)
    M = (1 - 1e-8) * limit
    X = discrete_rotation(Lambda, M) * Lambda
    assert np.min(np.linalg.eigvalsh((X + X.T) / 2)) < 0
    assert np.min(np.linalg.eigvalsh(np.diag(Lambda**2) + M @ M / 4)) < 0


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_the_limit_is_where_eigenvalues_become_imaginary(n):
    Lambda, limit = body(n, seed=1)
    assert largest_factor(Lambda, limit) == pytest.approx(1, abs=1e-12)
    for share, solvable in ((1 - 1e-6, True), (1 + 1e-6, False)):
        roots = np.linalg.eigvals(hamiltonian_matrix(Lambda, share * limit))
        assert (np.min(np.abs(roots.real)) > 1e-5) == solvable
    with pytest.raises(ModelError, match="times the largest M") as caught:
        discrete_rotation(Lambda, 1.25 * limit)
    assert "1.25 times" in str(caught.value)
    assert "less than 0.8," in str(caught.value)


@pytest.mark.parametrize("share", [0.2, 0.9, 1 - 1e-12])
def test_about_an_axis_it_is_the_inverse_sine(share):
    Lambda = np.array([1.0, 2.0, 3.0])
    m = share * (Lambda[0] + Lambda[1])
    U = discrete_rotation(Lambda, [[0, -m, 0], [m, 0, 0], [0, 0, 0]])
    assert U[1, 0] == pytest.approx(share, abs=1e-15)
    assert U[0, 0] == pytest.approx(np.sqrt((1 - share) * (1 + share)), rel=1e-4)
    assert U[2, 2] == pytest.approx(1)


def test_at_the_limit_about_an_axis_and_beyond():
    for m in (3.0, 3.1):
        with pytest.raises(ModelError, match="too large"):
            discrete_rotation([1, 2, 3], [[0, -m, 0], [m, 0, 0], [0, 0, 0]])


def test_inertias_far_apart():
    Lambda = np.array([1e-3, 1.0, 1e3])
    U = discrete_rotation(Lambda, [[0, -1e-3, 0.2], [1e-3, 0, -300.0], [-0.2, 300.0, 0]])
    assert np.allclose(U.T @ U, np.eye(3), atol=1e-14)
    assert np.allclose(
        discrete_momentum(Lambda, U),
        [[0, -1e-3, 0.2], [1e-3, 0, -300.0], [-0.2, 300.0, 0]],
        atol=1e-12,
    )
