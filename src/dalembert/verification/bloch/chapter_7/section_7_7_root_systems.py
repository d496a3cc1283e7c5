"""Bloch and others, Internet Supplement, 7.7: semisimple groups, after 7.7.37, and Toda lattices.

Independent implementations are dense matrices and SciPy's integrator.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from ....formulations.groups.semisimple_bodies import (
    CompactAlgebra,
    mishchenko_fomenko,
    shifted_invariants,
)
from ....geometry.root_systems import RootSystem
from ....integrate.simulate import simulate
from ....model.builders.bracket_flows import toda
from ....typing import Array
from ...numeric import Residual, distance
from ...row_registry import listed

A, B = np.array([2.0, 0.5, -1.0]), np.array([1.0, 3.0, -0.7])


@listed("B-7.7.37-sectional")
def body_on_the_unitary_group() -> Residual:
    algebra, start = CompactAlgebra(RootSystem("A2")), 0.6 * np.cos(np.arange(8.0))
    factor = np.subtract.outer(B, B) / (np.subtract.outer(A, A) + np.eye(3))

    def rates(_: float, y: Array) -> Array:
        M = y.reshape(3, 3)
        Omega = factor * M + np.diag(np.diag(M))
        return np.asarray((M @ Omega - Omega @ M).ravel())

    first = algebra.matrix(start)
    run = solve_ivp(rates, (0, 2), first.ravel(), method="DOP853", rtol=1e-12, atol=1e-13)
    named = dict(zip(algebra.names, start, strict=True))
    motion = simulate(mishchenko_fomenko("A2", list(A), list(B)), named, (0, 2), rtol=1e-12)
    end = np.array([motion[name][-1] for name in algebra.names])
    gap = algebra.matrix(end) - run.y[:, -1].reshape(3, 3)
    return np.asarray(np.abs(gap))


@listed("B-7.7.37-shifted-invariants")
def shifted_invariants_on_g2() -> Residual:
    algebra, a = CompactAlgebra(RootSystem("G2")), np.array([0.3, -1.1, 0.8])
    start = 0.5 * np.cos(np.arange(14.0))
    flow = mishchenko_fomenko("G2", list(a), [1.0, 0.2, -1.2])
    named = dict(zip(algebra.names, start, strict=True))
    motion = simulate(flow, named, (0, 2), rtol=1e-12)
    end = np.array([motion[name][-1] for name in algebra.names])
    before, after = (shifted_invariants("G2", a, M) for M in (start, end))
    table = [shifted_invariants("G2", a, start + 1e-4 * e) - before for e in np.eye(14)]
    scaled = np.array(table) / np.linalg.norm(table, axis=0)
    independent = np.linalg.svd(scaled, compute_uv=False)[-1] > 1e-3 and scaled.shape[1] == 8
    return (after - before) / (1 + np.abs(before)), 0.0 if independent else np.inf


@listed("B-7.7-toda-b", given={"name": "B3", "periodic": False})
@listed("B-7.7-toda-g2", given={"name": "G2", "periodic": False})
@listed("B-7.7-toda-f4", given={"name": "F4", "periodic": False})
@listed("B-7.7-toda-e6-periodic", given={"name": "E6", "periodic": True})
@listed("B-7.7-toda-periodic", given={"name": "A3", "periodic": True})
def toda_of_roots(name: str, periodic: bool) -> Residual:
    roots = RootSystem(name)
    rows = [*roots.simple_roots]
    if periodic:
        rows.append(tuple(-c for c in roots.positive_roots[-1]))
    table, d = np.array(rows, dtype=float), roots.dimension
    weights = 2 / np.sum(table * table, axis=1)

    def rates(_: float, y: Array) -> Array:
        force = -2 * table.T @ (weights * np.exp(2 * table @ y[:d]))
        return np.concatenate([y[d:], force])

    q, p = 0.3 * np.sin(np.arange(d) + 1.0), np.cos(2.0 * np.arange(d))
    run = solve_ivp(rates, (0, 2), [*q, *p], method="DOP853", rtol=1e-12, atol=1e-13)
    flow = toda(name, periodic=periodic)
    labels = [f"b_{k + 1}" for k in range(roots.rank)] + ["b_0"] * periodic
    start = dict(zip(labels, np.exp(table @ q), strict=True))
    start |= {f"a_{k + 1}": float(value) for k, value in enumerate(p)}
    motion = simulate(flow, start, (0, 2), rtol=1e-12)
    end = np.array([motion[f"a_{k + 1}"][-1] for k in range(d)])
    spectra = np.linalg.eigvalsh(motion["A"][[0, -1]])
    return distance(end, run.y[d:, -1]), distance(spectra[1], spectra[0])
