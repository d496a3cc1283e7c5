"""Matrices that move by a group, and the methods with fixed steps with the orders that they
claim.
"""

from __future__ import annotations

import numpy as np
import sympy

import dalembert as da

ORDERS = {
    "gauss2": 2,
    "gauss4": 4,
    "gauss6": 6,
    "isospectral2": 2,
    "isospectral4": 4,
    "isospectral6": 6,
}
ORDERS |= {"lie-verlet": 2, "rkmk4": 4}
ON_GROUPS = [method for method in ORDERS if not method.startswith("gauss")]


def skew(n: int, seed: int, size: float = 1.0) -> np.ndarray:
    entries = np.random.default_rng(seed).normal(size=(n, n))
    return size * (entries - entries.T) / np.linalg.norm(entries - entries.T)


def body(inertias: list[float]) -> da.Flow:
    """The free rigid body, written out here: M' = [M, O], Q' = Q O, M_ij = (l_i + l_j) O_ij."""
    n = len(inertias)
    upper = [(i, j) for i in range(n) for j in range(i + 1, n)]
    symbols = {place: da.coordinates(f"m{place[0]}{place[1]}") for place in upper}
    M = sympy.Matrix(n, n, lambda i, j: 0 if i == j else symbols[i, j] if i < j else -symbols[j, i])
    Q = sympy.Matrix(n, n, lambda i, j: da.coordinates(f"q{i}{j}"))
    turn = sympy.Matrix(n, n, lambda i, j: M[i, j] / (inertias[i] + inertias[j]))
    moved, turned = M * turn - turn * M, Q * turn
    side = sympy.ImmutableMatrix(-turn)
    return da.Flow(
        {symbols[place]: moved[place] for place in upper}
        | dict(zip(list(Q), list(turned), strict=True)),
        matrices={"M": M, "Q": Q},
        actions=[da.lie.Action("M", side, side), da.lie.Action("Q", None, side)],
        integrals={"energy": -(M * turn).trace() / 4},
    )
