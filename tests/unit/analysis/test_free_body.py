"""The free rigid body in elliptic functions: the functions against many digits, the motion against
its equations and a run.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.analysis.closed_forms.elliptic import first_kind, jacobi, quarter_period, third_kind
from dalembert.errors import ModelError
from dalembert.geometry.rigid_rotations import body_energy, spatial_momentum, velocity_of_momentum

#: Where the three moments of inertia are 5, 4, 3: m_3^2/3 = m_1^2/5 is the separatrix.
LAMBDA = np.array([1.0, 2.0, 3.0])
STARTS = {
    "largest": [0.9, 0.3, 0.2],
    "largest, backwards": [-0.9, -0.3, 0.2],
    "smallest": [0.2, 0.3, 0.9],
    "smallest, backwards": [0.2, 0.3, -0.9],
    "separatrix": [0.3 * np.sqrt(5.0), 0.2, 0.3 * np.sqrt(3.0)],
    "separatrix, other sheet": [-0.3 * np.sqrt(5.0), 0.2, 0.3 * np.sqrt(3.0)],
    "separatrix, other end": [0.3 * np.sqrt(5.0), 0.2, -0.3 * np.sqrt(3.0)],
    "above the separatrix": [0.3 * np.sqrt(5.0) * (1 + 1e-9), 0.2, 0.3 * np.sqrt(3.0)],
    "below the separatrix": [0.3 * np.sqrt(5.0) * (1 - 1e-9), 0.2, 0.3 * np.sqrt(3.0)],
    "nearly steady": [1.0, 1e-7, -1e-7],
    "steady, first axis": [1.0, 0.0, 0.0],
    "steady, middle axis": [0.0, -1.0, 0.0],
    "at rest": [0.0, 0.0, 0.0],
}


def hat(m) -> np.ndarray:
    x, y, z = m
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


@cache
def body_to_run() -> da.Flow:
    return da.lie.rigid_body(LAMBDA.tolist())


class TestFunctions:
    @pytest.mark.parametrize("m1", [1.0, 0.6, 1e-3, 1e-8, 1e-11, 1e-20, 0.0])
    def test_against_many_digits(self, m1):
        with mpmath.workdps(50):
            parameter = 1 - mpmath.mpf(m1)
            for u in (0.0, 0.2, -1.7, 6.0, 33.0):
                found = jacobi(u, m1)
                for name in ("sn", "cn", "dn"):
                    expected = float(mpmath.ellipfun(name, mpmath.mpf(u), m=parameter))
                    assert getattr(found, name) == pytest.approx(expected, abs=1e-14)

    @pytest.mark.parametrize("m1", [1.0, 0.6, 1e-3, 1e-8])
    def test_amplitude_is_inverted_and_grows(self, m1):
        u = np.linspace(-0.9, 0.9, 7) * 2 * quarter_period(m1)
        found = jacobi(u, m1)
        assert np.allclose(
            [first_kind(phi, m1) for phi in found.phi], u, atol=1e-12 * np.max(np.abs(u))
        )
        assert np.all(np.diff(jacobi(np.linspace(-40, 40, 500), m1).phi) > 0)

    @pytest.mark.parametrize("m1", [1.0, 0.3, 1e-6, 0.0])
    @pytest.mark.parametrize("n", [0.0, -0.7, -40.0])
    def test_the_third_kind_by_quadrature(self, m1, n):
        for u in (0.4, -3.3, 9.0):
            places = np.linspace(0, u, 200)
            nodes, weights = np.polynomial.legendre.leggauss(20)
            total = 0.0
            for a, b in pairwise(places):
                inside = jacobi((a + b) / 2 + (b - a) / 2 * nodes, m1)
                total += (b - a) / 2 * np.sum(weights / (1 - n * inside.sn**2))
            assert third_kind(n, u, jacobi(u, m1).phi, m1) == pytest.approx(total, abs=2e-13)


@pytest.mark.parametrize("name", STARTS)
class TestMotion:
    def test_solves_the_equations(self, name):
        """The rates by differences of high order, the integrals, and the start."""
        M, Q = hat(STARTS[name]), expm(hat([0.3, -1.0, 0.5]))
        t, h = np.linspace(0, 9, 10), 0.02
        here = da.lie.exact_free_body(LAMBDA, M, Q, t=t)
        assert np.allclose(here.Q[0], Q, atol=1e-15)
        assert np.allclose(here.M[0], M, atol=1e-15)
        weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
        rates = {"Q": 0.0, "M": 0.0}
        for k, weight in weights.items():
            for sign in (1, -1):
                there = da.lie.exact_free_body(LAMBDA, M, Q, t=t + sign * k * h)
                for matrix in rates:
                    rates[matrix] = rates[matrix] + sign * weight / h * getattr(there, matrix)
        Omega = velocity_of_momentum(LAMBDA, here.M)
        assert np.allclose(rates["Q"], here.Q @ Omega, atol=1e-12)
        assert np.allclose(rates["M"], here.M @ Omega - Omega @ here.M, atol=1e-12)
        assert np.allclose(spatial_momentum(here.Q, here.M), Q @ M @ Q.T, atol=1e-14)
        assert np.ptp(body_energy(LAMBDA, here.M)) < 1e-15
        assert np.allclose(np.swapaxes(here.Q, 1, 2) @ here.Q, np.eye(3), atol=1e-14)

    def test_against_a_run(self, name):
        M, Q = hat(STARTS[name]), expm(hat([0.3, -1.0, 0.5]))
        body = body_to_run()
        at = [0.0, 3.0, 11.0]
        run = da.simulate(body, body.start(Q=Q, M=M), (0, at[-1]), at=at, rtol=1e-13, atol=1e-15)
        exact = da.lie.exact_free_body(LAMBDA, M, Q, t=at)
        tolerance = (
            2e-11 if "separatrix" in name else 1e-12
        )  # a run leaves the separatrix by its rounding
        assert np.allclose(run["Q"], exact.Q, atol=tolerance)
        assert np.allclose(run["M"], exact.M, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("largest", "about the axis of largest inertia"),
        ("smallest", "about the axis of smallest inertia"),
        ("separatrix", "separatrix"),
        ("above the separatrix", "about the axis of largest inertia"),
        ("below the separatrix", "about the axis of smallest inertia"),
        ("steady, middle axis", "steady"),
        ("at rest", "steady"),
    ],
)
def test_cases(name, case):
    assert da.lie.exact_free_body(LAMBDA, hat(STARTS[name]), t=[0.0]).case == case


def test_period_of_the_momentum():
    for name in ("largest", "smallest", "above the separatrix"):
        motion = da.lie.exact_free_body(LAMBDA, hat(STARTS[name]), t=[0.0])
        later = da.lie.exact_free_body(
            LAMBDA, hat(STARTS[name]), t=[motion.period, motion.period / 2]
        )
        assert np.allclose(later.M[0], motion.M[0], atol=1e-13)
        assert not np.allclose(later.M[1], motion.M[0], atol=1e-3)
    separatrix = da.lie.exact_free_body(LAMBDA, hat(STARTS["separatrix"]), t=[-300.0, 300.0])
    assert separatrix.period == np.inf
    assert np.allclose(np.abs(separatrix.M[:, 0, 2]), np.sqrt(0.09 * 8 + 0.04), atol=1e-14)
    assert separatrix.M[0, 0, 2] == pytest.approx(-separatrix.M[1, 0, 2])


@pytest.mark.parametrize(
    "Lambda", [[1, 1, 2], [2, 1, 1], [1, 2, 1], [1.5, 1.5, 1.5], [-0.3, 1, 2]], ids=str
)
def test_symmetric_and_unusual_bodies(Lambda):
    M = hat([0.4, -0.6, 0.5])
    exact = da.lie.exact_free_body(Lambda, M, t=[0.0, 1.0, 2.0])
    step = 1e-3
    assert np.allclose(spatial_momentum(exact.Q, exact.M), M, atol=1e-14)
    near = da.lie.exact_free_body(Lambda, M, t=[1 - step, 1 + step])
    Omega = velocity_of_momentum(Lambda, exact.M[1])
    assert np.allclose((near.Q[1] - near.Q[0]) / (2 * step), exact.Q[1] @ Omega, atol=1e-6)


def test_right():
    M, Q = hat(STARTS["largest"]), expm(hat([0.3, -1.0, 0.5]))
    motion = da.lie.exact_free_body(LAMBDA, M, Q, t=[0.0, 2.0], side="right")
    body = da.lie.rigid_body(LAMBDA.tolist(), "right")
    run = da.simulate(body, body.start(Q=Q, M=M), (0, 2), at=[0, 2], rtol=1e-13)
    assert np.allclose(run["Q"], motion.Q, atol=1e-12)
    assert np.allclose(run["M"], motion.M, atol=1e-12)


def test_three_dimensions_alone():
    with pytest.raises(ModelError, match="three dimensions"):
        da.lie.exact_free_body([1, 2, 3, 4], np.zeros((4, 4)), t=[0.0])
