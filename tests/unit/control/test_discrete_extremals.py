"""Discrete extremals against a constrained optimiser and continuous shooting, both in SciPy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import fsolve, minimize

import dalembert as da
from dalembert.errors import ModelError, RunError
from dalembert.lie import LieGroup

LAMBDA = np.array([1.0, 2.0, 3.0])


def hat(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def test_the_discrete_body_extremal_is_the_maximum_that_an_optimiser_finds():
    end = expm(hat([0.5, -0.8, 0.6]))
    count = 4
    found = da.control.discrete_body_extremal(LAMBDA, np.eye(3), end, count)

    def last(free):
        turns = [expm(hat(w)) for w in free.reshape(-1, 3)]
        rest = np.linalg.multi_dot([*reversed([t.T for t in turns]), end])
        return [*turns, rest]

    def cost(free):
        return -sum(np.trace(LAMBDA[:, None] * U) for U in last(free))

    guess = np.tile(np.array([0.5, -0.8, 0.6]) / count, count - 1)
    best = minimize(cost, guess, method="BFGS", options={"gtol": 1e-9})
    assert found.cost == pytest.approx(-best.fun, abs=1e-9)
    for own, other in zip(found.controls, last(best.x), strict=True):
        assert np.max(np.abs(own - other)) < 1e-5


def test_the_equations_of_the_discrete_body_and_its_partner_hold():
    end = expm(hat([0.5, -0.8, 0.6]))
    start = expm(hat([0.2, 0.1, -0.4]))
    found = da.control.discrete_body_extremal(LAMBDA, start, end, 12)
    assert np.max(np.abs(found.places[-1] - end)) < 1e-10
    for U, M in zip(found.controls, found.momenta, strict=True):
        assert np.max(np.abs(U * LAMBDA - (U * LAMBDA).T - M)) < 1e-12
    for U, M, after in zip(found.controls, found.momenta, found.momenta[1:], strict=False):
        assert np.max(np.abs(U.T @ M @ U - after)) < 1e-12
    for Q, P, M in zip(found.places, found.partners, found.momenta, strict=False):
        assert np.max(np.abs(Q.T @ P - P.T @ Q - M)) < 1e-12
        assert np.max(np.abs(P.T @ P - np.eye(3))) < 1e-12


def test_so5_is_reached_too():
    group = LieGroup.SO(5)
    end = group.exp(np.linspace(-0.4, 0.5, 10))
    found = da.control.discrete_body_extremal([1, 2, 3, 1.5, 0.7], np.eye(5), end, 15)
    assert np.max(np.abs(found.places[-1] - end)) < 1e-9


def continuous_su2(inertia, target):
    """Euler's equations on SU(2) with quaternions, by shooting in SciPy: the cost."""

    def rates(_t, y):
        w, q = y[:3], y[3:7]
        turning = np.cross(inertia * w, w)
        # q_dot = q (0, w) for the basis with [e_1, e_2] = scale e_3
        product = [-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))]
        return [*(2 * turning / inertia), *product, inertia @ w**2 / 2]

    def end(w):
        return solve_ivp(rates, (0, 1), [*w, 1, 0, 0, 0, 0], rtol=1e-11, atol=1e-12).y[:, -1]

    found = fsolve(lambda w: end(w)[4:7] - target[1:], target[1:], xtol=1e-12)
    return end(found)[7]


def test_unitary_extremals_converge_to_continuous_ones_with_order_two():
    group = LieGroup.SU(2)
    inertia, way = np.array([1.0, 2.0, 3.0]), np.array([0.4, 0.6, -0.5])
    scale = group.bracket([1, 0, 0], [0, 1, 0])[2]  # [e_1, e_2] = scale e_3
    angle = np.linalg.norm(way) * abs(scale) / 2
    axis = way / np.linalg.norm(way) * np.sign(scale)
    target = np.array([np.cos(angle), *(np.sin(angle) * axis)])
    exact = continuous_su2(inertia, target) * (2 / abs(scale)) ** 2
    costs = [
        da.control.discrete_group_extremal(
            group, inertia, group.identity, group.exp(way), (0, 1), count
        ).cost
        for count in (5, 10, 20)
    ]
    errors = np.abs(np.array(costs) - exact)
    orders = np.log2(errors[:-1] / errors[1:])
    assert np.all(orders > 1.9) and errors[-1] < 1e-3


def test_rigid_motions_obey_the_discrete_equations_and_conserve_the_spatial_momentum():
    group = LieGroup.SE(3)
    inertia = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 2.0])
    end = group.exp([0.4, 0.6, -0.5, 0.3, 0.2, 0.7])
    found = da.control.discrete_group_extremal(group, inertia, np.eye(4), end, (0, 1), 8)
    assert found.residual < 1e-9
    # m_k = Ad*_{g_k+1} of one spatial momentum
    spatial = [
        np.linalg.solve(group.adjoint(g).T, m)
        for g, m in zip(found.places[1:], found.momenta, strict=True)
    ]
    assert np.max(np.abs(np.array(spatial) - spatial[0])) < 1e-9
    # A variation of one inner place changes the cost to second order alone.
    table = np.array(group.generators)

    def cost(shift):
        places = found.places.copy()
        places[3] = places[3] @ expm(np.einsum("a,aij->ij", shift, table))
        ways = [group.log(np.linalg.inv(a) @ b) * 8 for a, b in pairwise(places)]
        return sum(w @ inertia @ w for w in ways) / 16

    for e in np.eye(6):
        assert abs(cost(1e-4 * e) - cost(-1e-4 * e)) / 2e-4 < 1e-6


def test_wrong_calls_are_refused():
    with pytest.raises(ModelError, match="two steps or more"):
        da.control.discrete_body_extremal(LAMBDA, np.eye(3), np.eye(3), 1)
    with pytest.raises(ModelError, match="not on the group"):
        da.control.discrete_body_extremal(LAMBDA, np.eye(3), 2 * np.eye(3), 5)
    group = LieGroup.SO(3)
    with pytest.raises(ModelError, match="positive definite"):
        da.control.discrete_group_extremal(group, [1, 1, 0], np.eye(3), np.eye(3), (0, 1), 4)
    with pytest.raises((ModelError, RunError)):
        half = np.diag([-1.0, -1.0, 1.0])
        da.control.discrete_body_extremal(LAMBDA, np.eye(3), half, 2, guess=9 * hat([0, 0, 1]))
