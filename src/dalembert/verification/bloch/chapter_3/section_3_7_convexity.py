"""Bloch and others, Internet Supplement, 3.7: momentum maps that are not lifted, and convexity.

Independent implementations are random unitary matrices of NumPy, majorisation, and brackets by
complex steps.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import sympy

from ....analysis.symmetry.poisson_actions import poisson_momentum_map
from ....geometry.lie import LieGroup
from ....geometry.poisson import PoissonStructure
from ....geometry.root_systems import RootSystem
from ....typing import Array
from ...numeric import Residual, derivative, distance, excess
from ...row_registry import listed

SPECTRUM = np.array([3.0, 1.0, 0.5, -1.0])


def _unitary(n: int, count: int, seed: int) -> Array:
    """Random unitary matrices (count, n, n)."""
    random = np.random.default_rng(seed)
    square = random.normal(size=(count, n, n)) + 1j * random.normal(size=(count, n, n))
    return np.asarray(np.linalg.qr(square)[0])


@listed("B-3.7-shifts-cocycle")
def shifts_of_the_plane() -> Residual:
    x, y = sympy.symbols("x y", real=True)
    plane = PoissonStructure.symplectic([[0, 1], [-1, 0]], [x, y])
    found = poisson_momentum_map(plane, {"e1": {x: 1}, "e2": {y: 1}})
    on_torus = poisson_momentum_map(plane, {"e1": {x: 1}}, angles=[x, y])
    if found.momentum is None or found.cocycle is None or not found.equivariance.is_refuted:
        return np.inf

    values = sympy.lambdify([x, y], list(found.momentum))
    table = derivative(lambda z: np.array(values(*z)), np.array([0.3, -0.4]))
    bracket = table[0, 0] * table[1, 1] - table[0, 1] * table[1, 0]
    refused = 0.0 if on_torus.existence.is_refuted else np.inf
    return distance(float(found.cocycle[0, 1]), bracket), refused


@listed("B-3.7-schur-horn")
def diagonals_of_hermitian_matrices() -> Residual:
    shape = RootSystem("A3").polytope(SPECTRUM)
    turned = _unitary(4, 200, 3)
    diagonals = np.einsum("kij,j,kij->ki", turned, SPECTRUM, turned.conj()).real
    random = np.random.default_rng(4).uniform(-1.5, 3.2, (300, 4))
    random += (SPECTRUM.sum() - random.sum(axis=1, keepdims=True)) / 4
    sums = np.cumsum(-np.sort(-random, axis=1), axis=1)
    majorised = np.all(sums <= np.cumsum(SPECTRUM) + 1e-12, axis=1)
    agree = np.array_equal(shape.contains(random), majorised) and 0 < majorised.sum() < 300
    return [excess(value) for value in shape.excess(diagonals)], 0.0 if agree else np.inf


@listed("B-3.7-kostant")
def projections_of_orbits() -> Residual:
    """so(5) in blocks of two, beside the orbit of the Weyl group of B2."""
    point = np.array([2.5, 1.0])
    whole = np.zeros((5, 5))
    whole[0, 1], whole[2, 3] = point
    whole -= whole.T
    random = np.random.default_rng(6).normal(size=(200, 5, 5))
    turned = np.linalg.qr(random)[0]
    moved = turned @ whole @ np.swapaxes(turned, 1, 2)
    images = np.stack([moved[:, 0, 1], moved[:, 2, 3]], axis=1)
    shape = RootSystem("B2").polytope(point)
    corners = {(s * a, t * b) for a, b in (point, point[::-1]) for s in (1, -1) for t in (1, -1)}
    wanted = np.array(sorted(corners))
    found = np.array(sorted(map(tuple, shape.vertices)))
    return [excess(value) for value in shape.excess(images)], distance(found, wanted)


@listed("B-3.7-kostant-exceptional")
def exceptional_polytopes() -> Residual:
    """The 24-cell has the corners e_k, -e_k and (1/2, ...) with all signs."""
    f4 = RootSystem("F4")
    cell = f4.polytope([1, 0, 0, 0])
    units = np.concatenate([np.eye(4), -np.eye(4)])
    wanted = np.concatenate([units, np.array(list(product((-0.5, 0.5), repeat=4)))])
    found, wanted = (np.array(sorted(map(tuple, own))) for own in (cell.vertices, wanted))
    smallest = {"E6": (27, 99), "E7": (56, 702), "E8": (240, 19_440)}
    points = {"E6": [0, 0, 0, 0, 0, -2 / 3, -2 / 3, 2 / 3], "E7": [0, 0, 0, 0, 0, 1, -0.5, 0.5]}
    counted = len(cell.offsets) == 24
    for name, numbers in smallest.items():
        shape = RootSystem(name).polytope(points.get(name, [1, 1, 0, 0, 0, 0, 0, 0]))
        counted = counted and (len(shape.vertices), len(shape.offsets)) == numbers
    samples = cell.excess(f4.orbit_samples([1, 0, 0, 0], 40))
    return [excess(value) for value in samples], distance(found, wanted), 0 if counted else np.inf


@listed("B-3.7-convexity")
def product_of_spheres() -> Residual:
    """J = (2 z_1, z_2) on spheres of radius 2 and 1: a rectangle."""
    m = sympy.symbols("m1:7", real=True)
    one, two = (PoissonStructure.lie_poisson(LieGroup.SO(3), part) for part in (m[:3], m[3:]))
    torus = {"a": {m[0]: -m[1], m[1]: m[0]}, "b": {m[3]: -m[4], m[4]: m[3]}}
    found = poisson_momentum_map(one.product(two), torus)
    squares = [sum(x**2 for x in part) for part in (m[:3], m[3:])]
    shape = found.polytope({squares[0]: 4, squares[1]: 1})
    points = np.random.default_rng(1).normal(size=(200, 2, 3))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    images = points[:, :, 2] * [2, 1]
    wanted = np.array([[-2.0, -1.0], [-2.0, 1.0], [2.0, -1.0], [2.0, 1.0]])
    corners = np.array(sorted(map(tuple, shape.vertices)))
    return [excess(value) for value in shape.excess(images)], distance(corners, wanted)
