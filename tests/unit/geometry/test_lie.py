"""Lie groups by their identities: homomorphisms, exponentials against independent implementations,
tangent maps by differences, and names.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

from dalembert.errors import ModelError
from dalembert.geometry.lie import LieGroup
from dalembert.geometry.lie_algebra import LieAlgebra

SL2 = [[[1, 0], [0, -1]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]]
AFF = [[[1, 0], [0, 0]], [[0, 1], [0, 0]]]
GROUPS = {
    "SO(2)": LieGroup.SO(2),
    "SO(3)": LieGroup.SO(3),
    "SO(5)": LieGroup.SO(5),
    "SE(2)": LieGroup.SE(2),
    "SE(3)": LieGroup.SE(3),
    "SE(4)": LieGroup.SE(4),
    "R^3": LieGroup.R(3),
    "SO(2) x SE(2)": LieGroup.product(LieGroup.SO(2), LieGroup.SE(2)),
    "SE(3) x R x SO(3)": LieGroup.product(LieGroup.SE(3), LieGroup.R(), LieGroup.SO(3)),
    "SL(2,R)": LieGroup.from_generators(SL2, ["h", "e", "f"], "SL(2,R)"),
    "Aff(1)": LieGroup.from_generators(AFF),
}


def elements(group: LieGroup, count: int = 4, size: float = 0.8) -> list[np.ndarray]:
    random = np.random.default_rng(sum(map(ord, group.name)))
    return [
        size * random.standard_normal(group.dimension) / np.sqrt(group.dimension)
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", GROUPS)
class TestEveryGroup:
    def test_exp_is_that_of_matrices_and_log_its_inverse(self, name):
        group = GROUPS[name]
        for xi in elements(group):
            g = group.exp(xi)
            assert np.allclose(g, expm(group.hat(xi)), atol=1e-14, rtol=0)
            assert np.allclose(group.log(g), xi, atol=2e-14, rtol=0)
            assert np.allclose(group.vee(group.hat(xi)), xi, atol=1e-14)
            assert group.contains(g)

    def test_adjoint_representations(self, name):
        group = GROUPS[name]
        xi, eta, zeta, _ = elements(group)
        g, h = group.exp(xi), group.exp(eta)
        assert np.allclose(group.adjoint(g @ h), group.adjoint(g) @ group.adjoint(h), atol=1e-12)
        assert np.allclose(
            group.coadjoint(g @ h), group.coadjoint(g) @ group.coadjoint(h), atol=1e-12
        )
        assert np.allclose(expm(group.ad(xi)), group.adjoint(g), atol=1e-12)
        assert np.allclose(group.adjoint(g) @ group.bracket(eta, zeta),
                           group.bracket(group.adjoint(g) @ eta, group.adjoint(g) @ zeta),
                           atol=1e-12)  # fmt: skip
        commutator = group.hat(xi) @ group.hat(eta) - group.hat(eta) @ group.hat(xi)
        assert np.allclose(group.hat(group.bracket(xi, eta)), commutator, atol=1e-13)
        momentum = np.arange(1.0, group.dimension + 1)  # <Ad*_{g^-1} mu, Ad_g xi> = <mu, xi>
        assert np.isclose((group.coadjoint(g) @ momentum) @ (group.adjoint(g) @ xi), momentum @ xi)

    def test_jacobi_and_the_killing_form_is_invariant(self, name):
        group = GROUPS[name]
        algebra = group.algebra
        assert algebra.jacobi_residual < 1e-13
        x, y, z, _ = elements(group)
        K = algebra.killing_form
        assert np.isclose(algebra.bracket(x, y) @ K @ z, x @ K @ algebra.bracket(y, z), atol=1e-12)
        for k in range(algebra.centre.shape[1]):
            assert np.allclose(algebra.ad(algebra.centre[:, k]), 0, atol=1e-12)

    @pytest.mark.parametrize("side", ["left", "right"])
    def test_tangent_of_exp_by_differences(self, name, side):
        group = GROUPS[name]
        xi, rate, *_ = elements(group)
        step = 1e-4
        near = [group.exp(xi + k * step * rate) for k in (-2, -1, 1, 2)]
        velocity = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * step)
        inverse = np.linalg.inv(group.exp(xi))
        trivialised = group.vee(inverse @ velocity if side == "left" else velocity @ inverse)
        assert np.allclose(group.dexp(xi, side) @ rate, trivialised, atol=1e-10)
        assert np.allclose(
            group.dexp_inverse(xi, side) @ group.dexp(xi, side), np.eye(group.dimension), atol=1e-12
        )

    def test_left_and_right_tangents_differ_by_the_adjoint(self, name):
        group = GROUPS[name]
        for xi in elements(group):
            left, right = group.dexp(xi, "left"), group.dexp(xi, "right")
            assert np.allclose(group.adjoint(group.exp(xi)) @ left, right, atol=1e-12)
            if not group.is_abelian:
                assert not np.allclose(left, right, atol=1e-3)


def test_the_conventions():
    turn, plane = LieGroup.SO(3), LieGroup.SE(2)
    u, v = np.array([0.3, -1.2, 0.7]), np.array([1.1, 0.4, -0.2])
    assert np.allclose(turn.hat(u) @ v, np.cross(u, v))
    assert np.allclose(turn.bracket(u, v), np.cross(u, v))
    assert plane.names == ("e_x", "e_y", "e_th")
    e_x, e_y, e_th = np.eye(3)
    assert np.allclose(plane.bracket(e_th, e_x), e_y)
    assert np.allclose(plane.bracket(e_th, e_y), -e_x)
    for n in (2, 3, 4):
        generators = LieGroup.SO(n).generators
        assert np.allclose(
            -np.einsum("aij,bji->ab", generators, generators) / 2, np.eye(len(generators))
        )


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-11, 1e-13])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, -0.48, 0.64)])
def test_logarithm_near_half_a_turn_and_near_zero(gap, axis):
    turn, motion = LieGroup.SO(3), LieGroup.SE(3)
    for angle in (np.pi - gap, gap):
        xi = angle * np.array(axis, dtype=float)
        assert np.max(np.abs(turn.log(turn.exp(xi)) - xi)) < 1e-15 * max(1.0, angle) * 4
        whole = np.concatenate([[0.4, -1.3, 2.0], xi])
        assert np.max(np.abs(motion.log(motion.exp(whole)) - whole)) < 1e-14


@pytest.mark.parametrize("n", [4, 5, 6])
def test_logarithm_of_rotations_in_several_planes(n):
    group = LieGroup.SO(n)
    axes = group.exp(elements(group, 1, 3.0)[0])
    angles = np.zeros((n, n))
    for k, angle in enumerate((3.1, 1e-7, 3.1)[: n // 2]):  # also equal angles
        angles[2 * k + 1, 2 * k], angles[2 * k, 2 * k + 1] = angle, -angle
    turn = axes @ angles @ axes.T
    assert np.allclose(group.hat(group.log(axes @ expm(angles) @ axes.T)), turn, atol=1e-12)


def test_logarithms_outside_their_domain():
    for group, half in ((LieGroup.SO(2), -np.eye(2)), (LieGroup.SO(3), np.diag([1.0, -1.0, -1.0]))):
        with pytest.raises(ModelError, match="half a turn has two logarithms"):
            group.log(half)
    with pytest.raises(ModelError, match="half a turn has two logarithms"):
        LieGroup.SE(3).log(np.diag([-1.0, -1.0, 1.0, 1.0]))
    with pytest.raises(ModelError, match="half a turn"):
        LieGroup.SO(4).log(-np.eye(4))
    with pytest.raises(ModelError, match="not an element of SO\\(3\\)"):
        LieGroup.SO(3).log(np.diag([1.0, 1.0, -1.0]))  # a reflection
    with pytest.raises(ModelError, match="not an element of SE\\(2\\)"):
        LieGroup.SE(2).log(2 * np.eye(3))
    with pytest.raises(ModelError, match="no principal logarithm"):
        GROUPS["SL(2,R)"].log(-np.eye(2))
    with pytest.raises(ModelError, match="not in the Lie algebra"):
        GROUPS["SL(2,R)"].log(np.diag([2.0, 1.0]))  # determinant 2
    assert not GROUPS["SL(2,R)"].contains(np.diag([2.0, 1.0]))
    with pytest.raises(ModelError, match="singular here"):
        LieGroup.SO(3).dexp_inverse([0.0, 0.0, 2 * np.pi])


def test_generators_must_be_a_basis_and_close():
    with pytest.raises(ModelError, match="are dependent"):
        LieGroup.from_generators([SL2[0], SL2[1], np.add(SL2[0], SL2[1])])
    with pytest.raises(ModelError, match="`e` and `f` is no combination"):
        LieGroup.from_generators(SL2[1:], ["e", "f"])
    with pytest.raises(ModelError, match="break Jacobi"):
        LieAlgebra.from_brackets(
            "a b c", {("a", "b"): {"c": 1}, ("a", "c"): {"a": 1}, ("b", "c"): {"b": 1}}
        )


# -- which algebra it is ---------------------------------------------------------------------------

ATOMS = {
    "R": LieAlgebra(("z",), np.zeros((1, 1, 1))),
    "aff(1)": LieAlgebra.from_brackets("a b", {("a", "b"): {"b": 1}}),
    "Heisenberg": LieAlgebra.from_brackets("x p 1", {("x", "p"): {"1": 1}}),
    "Heisenberg(5)": LieAlgebra.from_brackets(
        "a b c d 1", {("a", "b"): {"1": 1}, ("c", "d"): {"1": 1}}
    ),
    "se(2)": LieGroup.SE(2).algebra,
    "se(1,1)": LieAlgebra.from_brackets("t x y", {("t", "x"): {"y": 1}, ("t", "y"): {"x": 1}}),
    "so(3)": LieGroup.SO(3).algebra,
    "sl(2,R)": GROUPS["SL(2,R)"].algebra,
    "se(3)": LieGroup.SE(3).algebra,
}
SUMS = [
    (name,) for name in ATOMS
] + [
    ("R", "R", "R"), ("R", "so(3)"), ("R", "sl(2,R)"), ("R", "se(2)"), ("R", "R", "se(2)"),
    ("R", "Heisenberg"),
    ("so(3)", "so(3)"), ("se(2)", "se(2)"), ("Heisenberg", "Heisenberg"), ("aff(1)", "aff(1)"),
    ("Heisenberg(5)", "se(2)"),
    ("R", "aff(1)", "sl(2,R)"), ("se(2)", "so(3)"), ("R", "se(3)", "so(3)"), ("se(1,1)",
    "se(2)", "sl(2,R)"),
]  # fmt: skip


@pytest.mark.parametrize("names", SUMS, ids=" + ".join)
def test_an_algebra_is_recognised_in_any_basis(names):
    parts = [ATOMS[name] for name in names]
    d, first = sum(part.dimension for part in parts), 0
    table = np.zeros((d, d, d))
    for part in parts:
        last = first + part.dimension
        table[first:last, first:last, first:last] = part.constants
        first = last
    random = np.random.default_rng(3)
    basis = np.eye(d) + 0.4 * random.standard_normal((d, d))
    mixed = np.einsum("ai,bj,abc,kc->ijk", basis, basis, table, np.linalg.inv(basis))
    found = LieAlgebra(
        tuple(f"e{k}" for k in range(d)), mixed - (mixed + np.swapaxes(mixed, 0, 1)) / 2
    ).identify()
    lines = names.count("R")
    flat = [] if not lines else ["R"] if lines == 1 else [f"R^{lines}"]
    assert found.name == " + ".join([*flat, *sorted(name for name in names if name != "R")])
    assert found.known and sum(factor.basis.shape[1] for factor in found.factors) == d


def test_so4_is_a_sum_and_lorentz_is_not():
    assert LieGroup.SO(4).algebra.identify().name == "so(3) + so(3)"
    boosts = np.zeros((3, 4, 4))
    for k in range(3):
        boosts[k, k, 3] = boosts[k, 3, k] = 1.0
    turns = np.zeros((3, 4, 4))
    turns[:, :3, :3] = LieGroup.SO(3).generators
    assert (
        LieGroup.from_generators(np.concatenate([turns, boosts])).algebra.identify().name
        == "so(3,1)"
    )


def test_an_unknown_algebra_says_so_with_its_invariants():
    spiral = LieAlgebra.from_brackets(
        "t x y", {("t", "x"): {"x": 1, "y": 1}, ("t", "y"): {"x": -1, "y": 1}}
    )
    found = spiral.identify()
    assert not found.known
    assert found.name.startswith("unidentified, dimension 3, with derived series (3, 2, 0)")
    assert spiral.is_solvable and not spiral.is_nilpotent


# -- symbols ---------------------------------------------------------------------------------------

CHARTS = {
    "SE(2)": (LieGroup.SE(2), ()),
    "Cardan": (LieGroup.SO(3), ()),
    "Euler": (LieGroup.SO(3), ("e3", "e1", "e3")),
    "SE(3)": (LieGroup.SE(3), ()),
    "product": (GROUPS["SO(2) x SE(2)"], ()),
    "SL(2,R)": (GROUPS["SL(2,R)"], ()),
    "Aff(1)": (GROUPS["Aff(1)"], ()),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] if n == "SE(3)" else []) for n in CHARTS]
)
def test_charts_give_the_velocities_of_their_matrices(name):
    group, order = CHARTS[name]
    symbols = sympy.symbols(f"s1:{group.dimension + 1}", real=True)
    chart = group.chart(symbols, order)
    random = np.random.default_rng(8)
    point = random.uniform(0.3, 1.0, group.dimension)
    rates, step = random.uniform(-1.0, 1.0, group.dimension), 1e-4
    matrix = sympy.lambdify(symbols, chart.matrix, "numpy")
    near = [np.array(matrix(*(point + k * step * rates)), dtype=float) for k in (-2, -1, 1, 2)]
    velocity = (near[0] - 8 * near[1] + 8 * near[2] - near[3]) / (12 * step)
    inverse = np.linalg.inv(np.array(matrix(*point), dtype=float))
    values = dict(zip(symbols, point, strict=True))
    left, right = (
        np.array(form.subs(values), dtype=float) for form in (chart.left_form, chart.right_form)
    )
    assert np.allclose(left @ rates, group.vee(inverse @ velocity), atol=1e-9)
    assert np.allclose(right @ rates, group.vee(velocity @ inverse), atol=1e-9)
    for form, frame in ((left, chart.left_frame), (right, chart.right_frame)):
        assert np.allclose(
            form @ np.array(frame.subs(values), dtype=float), np.eye(group.dimension), atol=1e-12
        )


def test_left_and_right_invariant_fields_commute_and_have_opposite_brackets():
    symbols = sympy.symbols("a b c", real=True)
    chart = LieGroup.SO(3).chart(symbols, ("e3", "e1", "e3"))
    values = dict(zip(symbols, (0.4, 0.9, -0.7), strict=True))

    def bracket(first, second):
        found = second.jacobian(symbols) * first - first.jacobian(symbols) * second
        return np.array(found.subs(values), dtype=float).ravel()

    left, right = (
        [frame[:, k] for k in range(3)] for frame in (chart.left_frame, chart.right_frame)
    )
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        assert np.allclose(
            bracket(left[a], left[b]),
            np.array(left[c].subs(values), dtype=float).ravel(),
            atol=1e-12,
        )
        assert np.allclose(
            bracket(right[a], right[b]),
            -np.array(right[c].subs(values), dtype=float).ravel(),
            atol=1e-12,
        )
        for other in range(3):
            assert np.allclose(bracket(left[a], right[other]), 0, atol=1e-12)


def test_a_chart_that_is_no_chart_says_so():
    with pytest.raises(ModelError, match="no coordinates"):
        LieGroup.SO(3).chart(sympy.symbols("a b c"), ("e1", "e1", "e2")).left_frame  # noqa: B018
    with pytest.raises(ModelError, match="needs 3 symbols"):
        LieGroup.SO(3).chart(sympy.symbols("a b"))


@pytest.mark.parametrize(("size", "part"), [(2, 0.5), (2, 0.99), (2, 1 - 1e-6), (3, 0.99)])
def test_logarithms_of_unitary_elements_near_half_a_turn_are_good_to_rounding(size, part):
    group, random = LieGroup.SU(size), np.random.default_rng(3)
    for _ in range(10):
        xi = random.normal(size=group.dimension)
        xi *= part * np.pi / np.max(np.abs(np.linalg.eigvals(group.hat(xi))))
        element = group.exp(xi)
        assert np.max(np.abs(group.exp(group.log(element)) - element)) < 1e-14
