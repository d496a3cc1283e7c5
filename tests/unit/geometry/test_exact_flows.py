"""Closed forms: Toda by factorisation against integration and its projections, SU(n)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from dalembert.errors import ModelError
from dalembert.geometry.exact_flows import ql, toda_motion, toda_projections
from dalembert.geometry.lie import LieGroup


def symmetric(n: int, seed: int) -> np.ndarray:
    matrix = np.random.default_rng(seed).normal(size=(n, n))
    return matrix + matrix.T


@pytest.mark.parametrize("n", [2, 5, 9])
def test_ql_factors(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(n, n))
    k, lower = ql(matrix)
    assert np.allclose(k @ lower, matrix)
    assert np.allclose(k.T @ k, np.eye(n))
    assert np.all(np.triu(lower, 1) == 0)
    assert np.all(np.diag(lower) > 0)


def test_toda_by_factorisation_is_the_flow() -> None:
    first = symmetric(4, 1)

    def rates(t, y):
        a = y.reshape(4, 4)
        upper = np.triu(a, 1)
        generator = upper - upper.T
        return (a @ generator - generator @ a).ravel()

    reference = (
        solve_ivp(rates, (0, 1.5), first.ravel(), rtol=1e-12, atol=1e-12, method="DOP853")
        .y[:, -1]
        .reshape(4, 4)
    )
    forward = toda_motion(first, [1.5])[0]
    assert np.allclose(forward, reference, atol=1e-9)
    k, _ = ql(expm(1.5 * first))
    assert np.allclose(k.T @ first @ k, forward, atol=1e-8)
    assert np.allclose(toda_motion(forward, [-1.5])[0], first, atol=1e-8)


def test_toda_sorts_and_keeps_the_spectrum() -> None:
    first = symmetric(20, 7)
    last = toda_motion(first, [300.0])[0]
    spectrum = np.linalg.eigvalsh(first)
    assert np.allclose(np.linalg.eigvalsh(last), spectrum, atol=1e-12)
    assert np.allclose(np.diag(last), spectrum, atol=1e-6)


def test_times_may_come_in_any_order() -> None:
    first = symmetric(3, 2)
    together = toda_motion(first, [2.0, -1.0, 0.0, 0.5])
    for time, found in zip([2.0, -1.0, 0.0, 0.5], together, strict=True):
        assert np.allclose(found, toda_motion(first, [time])[0], atol=1e-10)


def test_digits_help_where_entries_are_lost() -> None:
    """Eigenvalues in the wrong order change places when their neighbour has grown from below
    rounding.
    """
    first = np.diag([2.0, 1.0, 0.0]) + np.diag([1e-20, 1e-12], 1) + np.diag([1e-20, 1e-12], -1)

    def rates(t, y):
        a, b = y[:3], y[3:]
        square = np.concatenate([[0.0], b * b, [0.0]])
        return np.concatenate([2 * (square[:-1] - square[1:]), b * (a[:-1] - a[1:])])

    reference = solve_ivp(
        rates, (0, 40), [2, 1, 0, 1e-20, 1e-12], "DOP853", rtol=1e-12, atol=1e-40
    ).y[:, -1]
    many, frames = toda_motion(first, [40.0], frame=True, digits=120)
    assert np.allclose(np.diag(many[0]), reference[:3], atol=1e-7)
    assert np.allclose(frames[0].T @ frames[0], np.eye(3))
    assert np.allclose(
        toda_motion(symmetric(4, 1), [1.5], digits=40),
        toda_motion(symmetric(4, 1), [1.5]),
        atol=1e-11,
    )


def test_only_symmetric_matrices() -> None:
    with pytest.raises(ModelError, match="symmetric"):
        toda_motion([[0.0, 1.0], [0.0, 0.0]], [1.0])


def test_projections_are_projections_and_dual() -> None:
    random = np.random.default_rng(4)
    a, b = random.normal(size=(2, 5, 5))
    parts, others = toda_projections(a), toda_projections(b)
    assert np.allclose(parts["pi_l"] + parts["pi_k"], a)
    assert np.allclose(parts["pi_kperp"] + parts["pi_lperp"], a)
    for name in parts:
        assert np.allclose(toda_projections(parts[name])[name], parts[name])
    # pi_kperp is the transpose of pi_l in the pairing tr(a^T b), and k and kperp are orthogonal in
    # it.
    assert np.sum(parts["pi_l"] * b) == pytest.approx(np.sum(a * others["pi_kperp"]))
    assert np.sum(parts["pi_k"] * others["pi_kperp"]) == pytest.approx(0)
    assert np.sum(parts["pi_l"] * others["pi_lperp"]) == pytest.approx(0)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_special_unitary_groups(n: int) -> None:
    group = LieGroup.SU(n)
    assert group.dimension == n * n - 1
    element = group.exp(np.random.default_rng(n).normal(size=group.dimension))
    complex_form = element[:n, :n] + 1j * element[n:, :n]
    assert np.allclose(complex_form.conj().T @ complex_form, np.eye(n))
    assert np.linalg.det(complex_form) == pytest.approx(1)
    assert np.allclose(element[:n, :n], element[n:, n:])
    gram = np.einsum("aij,bij->ab", group.generators, group.generators)
    assert np.allclose(gram, np.diag(np.diag(gram)))
