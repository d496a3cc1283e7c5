"""Inertia operators of Mishchenko and Fomenko against complex matrices in SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import ModelError
from dalembert.formulations.groups.semisimple_bodies import CompactAlgebra

POINTS = {
    "A2": ([2.0, 0.5, -1.0], [1.0, 3.0, -0.7]),
    "B2": ([2.0, 0.7], [1.0, 0.2]),
    "G2": ([0.3, -1.1, 0.8], [1.0, 0.2, -1.2]),
    "D4": ([1.3, 0.9, 0.5, 0.2], [1.0, 2.0, 0.1, 0.5]),
}


def algebra(name):
    return CompactAlgebra(da.lie.RootSystem(name))


def test_the_operator_of_a_is_that_of_manakov():
    """M_dot = [M, Omega] with Omega_ij = (b_i - b_j)/(a_i - a_j) M_ij, by SciPy alone."""
    a, b = (np.array(point) for point in POINTS["A2"])
    own, D = algebra("A2"), np.array([[1.5, 0.2], [0.2, 1.5]])
    flow = da.lie.mishchenko_fomenko("A2", a, b, D)
    start = np.random.default_rng(1).normal(size=8) * 0.6
    gaps = np.subtract.outer(a, a) + np.eye(3)
    factor = np.subtract.outer(b, b) / gaps
    coroots = own.basis[:2].diagonal(axis1=1, axis2=2)

    def rates(_t, y):
        M = y.reshape(3, 3)
        h = np.linalg.lstsq(coroots.T, np.diag(M), rcond=None)[0]
        Omega = factor * M + np.diag(coroots.T @ (D @ h))
        return (M @ Omega - Omega @ M).ravel()

    M0 = own.matrix(start)
    end = solve_ivp(rates, (0, 2), M0.ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(3, 3)
    motion = da.simulate(flow, dict(zip(own.names, start, strict=True)), (0, 2), rtol=1e-12)
    assert np.max(np.abs(own.matrix([motion[n][-1] for n in own.names]) - end)) < 1e-9


@pytest.mark.parametrize("name", ["A2", "B2", "G2"])
def test_every_shifted_invariant_is_conserved(name):
    a, b = POINTS[name]
    own, flow = algebra(name), da.lie.mishchenko_fomenko(name, a, b)
    start = np.random.default_rng(2).normal(size=own.dimension) * 0.5
    motion = da.simulate(flow, dict(zip(own.names, start, strict=True)), (0, 3), rtol=1e-12)
    end = np.array([motion[label][-1] for label in own.names])
    before, after = (da.lie.shifted_invariants(name, a, M) for M in (start, end))
    assert np.max(np.abs(end - start)) > 0.1
    assert np.max(np.abs(after - before) / (1 + np.abs(before))) < 1e-10
    assert all(np.ptp(motion[key]) < 1e-10 for key in flow.integrals)


@pytest.mark.parametrize("name", ["A2", "B2", "G2", pytest.param("D4", marks=pytest.mark.long)])
def test_there_are_as_many_independent_invariants_as_integrability_needs(name):
    own, a = algebra(name), POINTS[name][0]
    M = np.random.default_rng(3).normal(size=own.dimension) * 0.3

    def values(x):
        return da.lie.shifted_invariants(name, a, x)

    h = 1e-4
    table = np.array([(values(M + h * e) - values(M - h * e)) / (2 * h) for e in np.eye(len(M))])
    sizes = np.linalg.svd(table / np.linalg.norm(table, axis=0), compute_uv=False)
    assert len(sizes) == (own.dimension + own.roots.rank) // 2 and sizes[-1] > 1e-3


def test_a_singular_point_and_operators_that_are_not_symmetric_are_refused():
    with pytest.raises(ModelError, match="a root vanishes"):
        da.lie.mishchenko_fomenko("B2", [1, 1], [2, 1])
    with pytest.raises(ModelError, match="symmetric in the invariant form"):
        da.lie.mishchenko_fomenko("A2", [2, 0, -1], [1, 3, 0], [[1, 2], [0, 1]])
    with pytest.raises(ModelError, match="have 2 coordinates"):
        da.lie.mishchenko_fomenko("B2", [2, 1, 0], [2, 1])
