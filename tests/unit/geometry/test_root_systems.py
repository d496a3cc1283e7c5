"""Root systems and moment polytopes against matrices of SciPy and majorisation."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.linalg import block_diag
from scipy.stats import special_ortho_group, unitary_group

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.polytopes import moment_polytope
from dalembert.geometry.root_systems import RootSystem

NAMES = ["A1", "A3", "B2", "B3", "C3", "D3", "D4", "G2", "F4"]


def regular_point(roots: RootSystem) -> np.ndarray:
    x = np.arange(roots.dimension, 0, -1.0) ** 1.3
    if roots.family in "EG":
        x = np.linalg.pinv(np.array(roots.simple_roots, float)) @ np.arange(1.0, roots.rank + 1)
    return x


@pytest.mark.parametrize("name", NAMES)
def test_root_vectors_obey_the_relations_of_the_algebra(name):
    roots = RootSystem(name)
    x = sympy.symbols(f"x1:{roots.dimension + 1}")
    H = roots.diagonal(x)
    for root, E in zip(roots.positive_roots, roots.root_vectors, strict=True):
        value = sum(c * s for c, s in zip(root, x, strict=True))
        assert (H * E - E * H - value * E).applyfunc(sympy.expand).is_zero_matrix
        assert (E * E.T - E.T * E - roots.diagonal(roots.coroot(root))).is_zero_matrix
    for i, e in enumerate(roots.raising):
        for j, f in enumerate(roots.raising):
            assert i == j or (e * f.T - f.T * e).is_zero_matrix


@pytest.mark.parametrize("name", NAMES)
def test_orders_of_weyl_groups_and_numbers_of_roots(name):
    roots = RootSystem(name)
    order = np.prod(roots.degrees)
    assert len(roots.weyl_orbit(regular_point(roots))) == order
    assert len(roots.positive_roots) == sum(k - 1 for k in roots.degrees)
    assert len(roots.polytope(regular_point(roots)).vertices) == order


@pytest.mark.parametrize("name", ["E6", "E7", pytest.param("E8", marks=pytest.mark.long)])
def test_exceptional_algebras_obey_the_relations_of_serre(name):
    """[e_i, f_j] = delta_ij h_i, [h_i, e_j] = a_ij e_j, ad(e_i)^(1 - a_ij) e_j = 0, in NumPy."""
    roots = RootSystem(name)
    e = [np.array(E.tolist(), float) for E in roots.raising]
    weights = np.array(roots.weights, float)
    h = [np.diag(np.round(weights @ np.array(a, float), 9)) for a in roots.simple_roots]
    for i, j in np.ndindex(roots.rank, roots.rank):
        a = roots.cartan_matrix[i, j]
        assert np.array_equal(e[i] @ e[j].T - e[j].T @ e[i], h[i] * (i == j))
        assert np.array_equal(h[i] @ e[j] - e[j] @ h[i], a * e[j])
        moved = e[j]
        for _ in range(1 - a if i != j else 0):
            moved = e[i] @ moved - moved @ e[i]
        assert i == j or not np.any(moved)


def test_the_exceptional_groups_have_their_orders():
    orders = {"E6": 51_840, "E7": 2_903_040, "E8": 696_729_600, "F4": 1152}
    for name, order in orders.items():
        assert RootSystem(name).weyl_order == order
    e6 = RootSystem("E6")
    assert len(e6.weyl_orbit(regular_point(e6))) == 51_840
    with pytest.raises(ModelError, match="too long to be listed"):
        RootSystem("E7").weyl_orbit(regular_point(RootSystem("E7")))


@pytest.mark.parametrize(
    ("name", "node", "vertices", "facets"),
    [
        ("F4", 3, 24, 24),
        ("E6", 0, 27, 99),
        ("E6", 1, 72, 54),
        ("E7", 6, 56, 702),
        ("E7", 0, 126, 632),
        ("E8", 7, 240, 19_440),
    ],
)
def test_orbits_of_fundamental_weights_are_the_semiregular_polytopes(name, node, vertices, facets):
    """The 24-cell, and 2_21, 1_22, 3_21, 2_31 and 4_21 of Gosset and Coxeter."""
    roots = RootSystem(name)
    weight = np.linalg.pinv(np.array(roots.simple_roots, float))[:, node]
    shape = roots.polytope(weight)
    assert (len(shape.vertices), len(shape.offsets)) == (vertices, facets)
    on = np.abs(shape.vertices @ shape.normals.T - shape.offsets) < 1e-9
    assert np.max(shape.excess(shape.vertices)) < 1e-9 and np.min(on.sum(axis=0)) >= roots.rank


@pytest.mark.parametrize(
    ("name", "point"),
    [
        ("A3", [3, 1, 1, 0]),
        ("B3", [2, 0, 0]),
        ("C3", [2, 2, 1]),
        ("D4", [1, 1, 0, 0]),
        ("G2", [1, 0, -1]),
        ("F4", [1, 1, 0, 0]),
        ("F4", [3, 1, 1, 1]),
    ],
)
def test_facets_are_those_of_the_convex_hull(name, point):
    roots = RootSystem(name)
    shape, hull = roots.polytope(point), moment_polytope(roots.weyl_orbit(point))
    assert len(shape.vertices) == len(hull.vertices)
    rows = [np.round(np.c_[own.normals, own.offsets], 9) + 0.0 for own in (shape, hull)]
    assert len(rows[0]) == len(rows[1])
    assert np.allclose(*(own[np.lexsort(own.T)] for own in rows), atol=1e-8)


def test_diagonals_of_hermitian_matrices_fill_the_polytope_of_schur_and_horn():
    spectrum = np.array([3.0, 1.0, 0.5, -1.0])
    shape = RootSystem("A3").polytope(spectrum)
    turned = unitary_group(4, seed=3).rvs(400)
    diagonals = np.einsum("kij,j,kij->ki", turned, spectrum, turned.conj()).real
    assert np.max(shape.excess(diagonals)) <= 1e-12
    # Membership is majorisation, also for points outside.
    random = np.random.default_rng(4)
    points = random.uniform(-1.5, 3.2, (400, 4))
    points += (spectrum.sum() - points.sum(axis=1, keepdims=True)) / 4
    sums = np.cumsum(-np.sort(-points, axis=1), axis=1)
    majorised = np.all(sums <= np.cumsum(spectrum) + 1e-12, axis=1)
    assert 0 < majorised.sum() < 400
    assert np.array_equal(shape.contains(points), majorised)


@pytest.mark.parametrize(("name", "odd"), [("B2", 1), ("D3", 0)])
def test_blocks_of_skew_matrices_stay_in_the_polytope_of_kostant(name, odd):
    roots = RootSystem(name)
    point = np.array([2.5, 1.0, 0.4][: roots.rank])
    planes = [np.array([[0.0, c], [-c, 0.0]]) for c in point]
    whole = block_diag(*planes, np.zeros((odd, odd)))
    shape = roots.polytope(point)
    images = []
    for Q in special_ortho_group(len(whole), seed=5).rvs(300):
        moved = Q @ whole @ Q.T
        images.append([moved[2 * k, 2 * k + 1] for k in range(roots.rank)])
    assert np.max(shape.excess(images)) < 0
    flipped = shape.vertices * ([1] * (roots.rank - 1) + [-1])
    assert bool(np.all(shape.contains(flipped))) == (name == "B2")


@pytest.mark.parametrize("name", ["A2", "B2", "C2", "D3", "G2", "F4"])
def test_sampled_orbits_stay_inside_and_leave_smaller_polytopes(name):
    roots = RootSystem(name)
    point = regular_point(roots)
    samples = roots.orbit_samples(point, 300, seed=1)
    assert np.max(roots.polytope(point).excess(samples)) <= 1e-9
    shrunk = (point - point.mean() if roots.family == "A" else point) * 0.5
    centre = point.mean() if roots.family == "A" else 0.0
    smaller = moment_polytope(roots.weyl_orbit(shrunk + centre))
    assert np.max(smaller.excess(samples)) > 0


def test_the_affine_span_the_volume_and_points_inside_an_edge():
    square = moment_polytope([[0, 0, 1], [2, 0, 1], [0, 2, 1], [2, 2, 1], [1, 0, 1], [1, 1, 1]])
    assert square.dimension == 2 and len(square.vertices) == 4 and len(square.edges) == 4
    assert square.volume == pytest.approx(4.0)
    assert square.contains([[1, 1, 1], [1, 1, 1.1], [3, 1, 1]]).tolist() == [True, False, False]
    assert moment_polytope([[1.0, 2.0]]).dimension == 0


@pytest.mark.parametrize("name", ["A0", "E5", "E9", "F3", "G3", "B1", "B", 3])
def test_unknown_root_systems_are_refused(name):
    with pytest.raises(ModelError, match="no such root system"):
        RootSystem(name)


def test_wrong_points_are_refused():
    with pytest.raises(ModelError, match="has 2 coordinates"):
        RootSystem("B2").weyl_orbit([1, 2, 3])
    with pytest.raises(ModelError, match="finite numbers"):
        moment_polytope([[np.nan, 1.0]])
    with pytest.raises(ModelError, match="two or three dimensions"):
        da.plotting.polytope(RootSystem("A4").polytope([4, 3, 2, 1, 0]))


@pytest.mark.parametrize(("name", "edges"), [("B2", 8), ("A3", 36)])
def test_pictures_have_every_edge(name, edges):
    roots = RootSystem(name)
    point = regular_point(roots)
    picture = da.plotting.polytope(roots.polytope(point), roots.orbit_samples(point, 10))
    assert len(picture.axes[0].lines) == edges
