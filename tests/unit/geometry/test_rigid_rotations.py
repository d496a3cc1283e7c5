"""Inertia, the symmetric form and its limit, and Manakov's integrals, by identities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, logm

from dalembert.errors import ModelError
from dalembert.geometry.rigid_rotations import (
    body_energy,
    checked_inertias,
    manakov_integrals,
    momentum_of_pair,
    momentum_of_velocity,
    on_boundary,
    operator_norm,
    spatial_momentum,
    symmetric_partner,
    time_scale,
    velocity_of_momentum,
)


def skew(n: int, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((n, n))
    return values - values.T


def rotation(n: int, seed: int) -> np.ndarray:
    return expm(skew(n, seed))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
class TestInertia:
    def test_is_inverted(self, n):
        Lambda = np.random.default_rng(n).uniform(0.3, 2, n)
        Lambda[0] = -0.2  # only the sums need be positive
        Omega = skew(n, n)
        M = momentum_of_velocity(Lambda, Omega)
        assert np.allclose(M, np.diag(Lambda) @ Omega + Omega @ np.diag(Lambda), atol=1e-14)
        assert np.allclose(velocity_of_momentum(Lambda, M), Omega, atol=1e-14)
        assert body_energy(Lambda, M) == pytest.approx(-np.trace(M @ Omega) / 4)

    def test_manakov_is_the_trace_at_any_z(self, n):
        Lambda, M = np.random.default_rng(n).uniform(0.3, 2, n), skew(n, n + 1)
        found = manakov_integrals(Lambda, M)
        for k in range(2, n + 1):
            for z in (0.7, -1.3):
                whole = np.trace(np.linalg.matrix_power(M + z * np.diag(Lambda**2), k))
                parts = sum(found[f"k{k} z{j}"] * z**j for j in range(k % 2, k, 2)) + z**k * np.sum(
                    Lambda ** (2 * k)
                )
                assert parts == pytest.approx(whole, rel=1e-12)

    def test_manakov_does_not_move_with_the_body_and_other_traces_do(self, n):
        Lambda, M = np.random.default_rng(n).uniform(0.3, 2, n), skew(n, n + 2)
        Omega, small = velocity_of_momentum(Lambda, M), 1e-6
        rate = M @ Omega - Omega @ M
        before, after = (
            manakov_integrals(Lambda, M - small * rate),
            manakov_integrals(Lambda, M + small * rate),
        )
        for name in before:
            assert abs(after[name] - before[name]) / (2 * small) <= 1e-7 * (1 + abs(before[name]))
        if n > 2:
            other = [
                np.trace((M + s * rate) @ (M + s * rate) @ np.diag(Lambda**3))
                for s in (small, -small)
            ]
            assert abs(other[0] - other[1]) / (2 * small) > 1e-3


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("norm", [0.0, 0.3, 1.9, 2 - 1e-9, 2.0])
def test_a_pair_of_rotations_and_its_momentum(n, side, norm):
    Q, M = rotation(n, n), skew(n, 3 * n)
    M = M * norm / operator_norm(M)
    P = symmetric_partner(Q, M, side)
    assert np.allclose(P.T @ P, np.eye(n), atol=1e-13)
    assert np.linalg.det(P) == pytest.approx(1, abs=1e-12)
    assert np.allclose(momentum_of_pair(Q, P, side), M, atol=1e-13)
    assert bool(on_boundary(M)) == (norm == 2.0)
    if norm < 1.99:  # independent implementation: exp(asinh(M/2)) by logarithms of matrices
        reference = expm(np.real(logm(M / 2 + expm(logm(np.eye(n) + M @ M / 4) / 2))))
        assert np.allclose(P, Q @ reference if side == "left" else reference @ Q, atol=1e-9)
    conserved = P @ Q.T - Q @ P.T if side == "left" else Q.T @ P - P.T @ Q
    assert np.allclose(spatial_momentum(Q, M, side), conserved, atol=1e-13)


def test_the_boundary_in_three_dimensions_is_a_quarter_turn():
    """Q^T P = c c^T + hat(c), and not 1 + hat(c), which is no rotation."""
    c = np.array([2.0, -1.0, 2.0]) / 3
    hat = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    P = symmetric_partner(np.eye(3), 2 * hat)
    assert np.allclose(P, np.outer(c, c) + hat, atol=1e-14)
    printed = np.eye(3) + hat
    assert np.max(np.abs(printed.T @ printed - np.eye(3))) > 0.5
    assert np.allclose(printed - printed.T, 2 * hat)


def test_two_rotations_share_a_momentum_on_either_side_of_the_boundary():
    hat = np.array([[0, -1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    near, far = expm(1.2 * hat), expm((np.pi - 1.2) * hat)
    assert np.allclose(
        momentum_of_pair(np.eye(3), near), momentum_of_pair(np.eye(3), far), atol=1e-15
    )
    assert np.allclose(
        symmetric_partner(np.eye(3), momentum_of_pair(np.eye(3), far)), near, atol=1e-14
    )


class TestErrors:
    def test_beyond_the_boundary(self):
        M = skew(4, 1) * 3
        with pytest.raises(ModelError, match="exceeds 2") as caught:
            symmetric_partner(np.eye(4), M)
        assert f"{2 / operator_norm(M):.6g}" in str(caught.value)
        assert operator_norm(time_scale(M) * M) == pytest.approx(1)
        symmetric_partner(np.eye(4), time_scale(M, 1.99) * M)

    def test_inertia_of_a_plane(self):
        with pytest.raises(ModelError, match=r"plane \(1, 3\).*Lambda_1 \+ Lambda_3 = -0.5"):
            checked_inertias([-1, 2, 0.5])
        with pytest.raises(ModelError, match="positive"):
            checked_inertias([-0.1, 2, 0.5], positive=True)
        with pytest.raises(ModelError, match="two numbers or more"):
            checked_inertias([1.0])

    @pytest.mark.parametrize(
        "M", [np.eye(3), np.zeros((2, 3)), np.zeros((4, 4))], ids=["symmetric", "oblong", "large"]
    )
    def test_not_a_momentum(self, M):
        with pytest.raises(ModelError):
            velocity_of_momentum([1, 2, 3], M)
