"""Dirac structures against their definition, their representations against each other, and
interconnection against lemma 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from dalembert.errors import ModelError
from dalembert.geometry.dirac import DiracStructure, interconnect
from dalembert.geometry.subspaces import annihilator, gap, span
from dalembert.geometry.two_forms import exterior_derivative, is_closed


def skew(n: int, seed: int, rank: int | None = None) -> Any:
    """A random skew matrix of even rank."""
    random = np.random.default_rng(seed)
    m = n if rank is None else rank
    full = random.normal(size=(m, m))
    frame = random.normal(size=(n, m))
    return frame @ (full - full.T) @ frame.T


def canonical(n: int) -> Any:
    """(q_dot, p_dot) -> (-p_dot, q_dot)."""
    return np.block([[np.zeros((n, n)), -np.eye(n)], [np.eye(n), np.zeros((n, n))]])


def lemma(omega: Any, rows: Any) -> DiracStructure:
    """Lemma 1 written out as an image, by NumPy alone: Sigma = ker rows."""
    n, rank = len(omega), np.linalg.matrix_rank(rows)
    _, _, right = np.linalg.svd(rows)
    sigma, reactions = right[rank:].T, right[:rank].T
    return DiracStructure(
        np.hstack([sigma, np.zeros((n, rank))]), np.hstack([omega @ sigma, reactions])
    )


def some(seed: int = 0, n: int = 5) -> dict[str, DiracStructure]:
    """One structure of each kind on n dimensions."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(2, n))
    return {
        "two-form": DiracStructure.from_two_form(skew(n, seed)),
        "degenerate": DiracStructure.from_two_form(skew(n, seed, rank=2)),
        "bivector": DiracStructure.from_bivector(skew(n, seed + 1)),
        "induced": DiracStructure.induced(skew(n, seed + 2), random.normal(size=(n, 3))),
        "kirchhoff": DiracStructure.from_constraints(rows),
        "restricted": DiracStructure.from_bivector(skew(n, seed + 3)).restricted(rows=rows),
    }


KINDS = list(some())


# -- the definition --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_pair_has_no_power_and_the_dimension_is_that_of_the_space(
    kind: str, seed: int
) -> None:
    structure = some(seed)[kind]
    random = np.random.default_rng(seed)
    flows, efforts = structure.image
    for _ in range(5):
        c, d = random.normal(size=5), random.normal(size=5)
        assert abs((efforts @ c) @ (flows @ c)) < 1e-11
        assert abs((efforts @ c) @ (flows @ d) + (efforts @ d) @ (flows @ c)) < 1e-11
    assert np.linalg.matrix_rank(np.vstack([flows, efforts])) == structure.dimension == 5
    assert structure.isotropy < 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_and_image_are_converted_both_ways(kind: str) -> None:
    structure = some(4)[kind]
    of_flows, of_efforts = structure.kernel
    flows, efforts = structure.image
    assert np.abs(of_flows @ flows + of_efforts @ efforts).max() < 1e-11
    mixing = np.random.default_rng(1).normal(size=(7, 5))  # dependent rows
    assert (
        DiracStructure.from_kernel(mixing @ of_flows, mixing @ of_efforts).distance(structure)
        < 1e-10
    )
    assert (
        DiracStructure.from_image(flows @ mixing.T, efforts @ mixing.T).distance(structure) < 1e-10
    )


def test_the_flow_of_the_canonical_form_is_hamiltons() -> None:
    structure = DiracStructure.from_two_form(canonical(2), ["x", "y", "p_x", "p_y"])
    derivative = np.array([1.0, 2.0, 3.0, 4.0])  # (H_q, H_p)
    assert structure.contains([3.0, 4.0, -1.0, -2.0], derivative)
    assert not structure.contains([-3.0, -4.0, 1.0, 2.0], derivative)
    assert np.allclose(structure.bivector() @ derivative, [3.0, 4.0, -1.0, -2.0], atol=1e-14)
    assert structure.is_symplectic


def test_graphs_give_their_matrices_back() -> None:
    omega, pi = skew(4, 3), skew(6, 4, rank=4)
    assert np.allclose(DiracStructure.from_two_form(omega).two_form(), omega, atol=1e-12)
    assert np.allclose(
        DiracStructure.from_two_form(omega).bivector(), np.linalg.inv(omega), atol=1e-11
    )
    assert np.allclose(DiracStructure.from_bivector(pi).bivector(), pi, atol=1e-12)
    structure = DiracStructure.from_bivector(pi)
    assert structure.is_poisson and not structure.is_presymplectic
    assert structure.admissible_flows.shape[1] == 4
    with pytest.raises(ModelError, match=r"not the graph of a two-form.*Poisson"):
        structure.two_form()
    with pytest.raises(ModelError, match="not the graph of a bivector"):
        DiracStructure.from_two_form(skew(4, 1, rank=2)).bivector()


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e6, 1e12])
def test_units_do_not_change_what_a_structure_is(size: float) -> None:
    """Inductances in microhenry and capacitances in picofarad are no degeneracy; a factor between
    coordinates neither.
    """
    factors = np.array([size, 1.0, 1.0, 1.0])
    structure = DiracStructure.from_two_form(factors[:, None] * canonical(2) * factors)
    assert structure.is_symplectic
    assert np.allclose(
        structure.two_form(), factors[:, None] * canonical(2) * factors, rtol=1e-9, atol=0
    )
    assert DiracStructure.from_two_form(size * canonical(2)).is_symplectic
    held = DiracStructure.from_constraints([[size, -2 * size, 0, 0]], size * canonical(2))
    assert held.admissible_flows.shape[1] == 3
    assert held.contains([2, 1, 0, 0], np.array([5 * size, -10 * size, 2 * size, size]))
    not_skew = size * np.array([[0.0, 1.0], [-1.001, 0.0]])
    with pytest.raises(ModelError, match="exchange power"):
        DiracStructure.from_two_form(not_skew)


def test_what_is_zero_by_rounding_is_no_unit() -> None:
    """sin(pi) is 1e-16: the form of the bar on its pendulum is degenerate there, not symplectic in
    small units.
    """
    assert not DiracStructure.from_two_form(np.sin(np.pi) * canonical(1)).is_symplectic
    assert DiracStructure.from_two_form(1e-9 * canonical(1)).is_symplectic


def test_admissible_flows_and_reactions_of_lemma_1() -> None:
    random = np.random.default_rng(3)
    sigma = random.normal(size=(6, 2)) @ random.normal(size=(2, 5))  # five vectors of rank two
    omega = skew(6, 8)
    structure = DiracStructure.induced(omega, sigma)
    assert structure.dimension == 6
    assert gap(structure.admissible_flows, span(sigma)) < 1e-12
    assert np.abs(sigma.T @ structure.flowless_efforts).max() < 1e-12
    assert structure.flowless_efforts.shape == (6, 4)
    flow = sigma @ random.normal(size=5)
    reaction = annihilator(sigma) @ random.normal(size=4)
    assert structure.contains(flow, omega @ flow + reaction)
    assert not structure.contains(flow + annihilator(sigma)[:, 0], omega @ flow)
    assert not structure.contains(flow, omega @ flow + sigma[:, 0])
    idle = structure.effortless_flows
    assert structure.contains(idle, np.zeros_like(idle))


@pytest.mark.parametrize("rank", [0, 6])
def test_lemma_1_with_no_freedom_and_with_all(rank: int) -> None:
    omega = skew(6, 9)
    structure = DiracStructure.induced(omega, np.eye(6)[:, :rank] if rank else np.zeros((6, 3)))
    assert structure.admissible_flows.shape[1] == rank
    assert structure.is_presymplectic == (rank == 6)
    if rank:
        assert structure.equals(DiracStructure.from_two_form(omega))
    else:
        assert structure.equals(DiracStructure.from_bivector(np.zeros((6, 6))))


def test_a_direction_that_is_short_beside_the_others_is_zero_and_a_small_row_is_a_row() -> None:
    omega, wide = canonical(2), np.eye(4)
    assert DiracStructure.induced(omega, wide[:, :3] * [1, 1, 1e-15]).admissible_flows.shape[1] == 2
    assert DiracStructure.from_constraints(1e-15 * wide[:1], omega).admissible_flows.shape[1] == 3
    assert DiracStructure.from_constraints(0 * wide[:1], omega).is_symplectic


# -- pairs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_projection_is_nearest_and_stays_inside(kind: str) -> None:
    structure = some(6)[kind]
    random = np.random.default_rng(6)
    flow, effort = random.normal(size=5), random.normal(size=5)
    near_flow, near_effort = structure.project(flow, effort)
    assert structure.contains(near_flow, near_effort, 1e-12)
    again = structure.project(near_flow, near_effort)
    assert np.allclose(again[0], near_flow, atol=1e-12) and np.allclose(
        again[1], near_effort, atol=1e-12
    )
    u = structure.units

    def distance(w: Any, b: Any) -> float:
        return float(np.hypot(np.linalg.norm(u * (flow - w)), np.linalg.norm((effort - b) / u)))

    least = distance(near_flow, near_effort)
    for _ in range(5):
        c = random.normal(size=5)
        assert (
            distance(
                near_flow + 0.1 * structure.flows @ c, near_effort + 0.1 * structure.efforts @ c
            )
            > least
        )
    length = np.hypot(np.linalg.norm(u * flow), np.linalg.norm(effort / u))
    assert structure.residual(flow, effort) == pytest.approx(least / length)
    assert structure.residual(np.zeros(5), np.zeros(5)) == 0
    many = structure.project(
        np.column_stack([flow, near_flow]), np.column_stack([effort, near_effort])
    )
    assert np.allclose(many[0][:, 0], near_flow, atol=1e-12) and np.allclose(
        many[0][:, 1], near_flow, atol=1e-12
    )


def test_structures_are_told_apart() -> None:
    omega = skew(4, 2)
    first, second = DiracStructure.from_two_form(omega), DiracStructure.from_two_form(1.01 * omega)
    assert first.equals(DiracStructure.from_bivector(np.linalg.inv(omega)))
    assert not first.equals(second)
    assert 1e-4 < first.distance(second) < 1e-1


# -- interconnection -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dependent", [False, True], ids=["independent", "dependent"])
def test_interconnection_is_the_joint_structure_of_lemma_1(seed: int, dependent: bool) -> None:
    random = np.random.default_rng(seed)
    first, second = skew(4, seed, rank=2), skew(6, seed + 10)
    rows = random.normal(size=(3, 10))
    if dependent:
        rows = np.vstack([rows, rows[0] - rows[1], np.zeros(10), 1e6 * rows[2]])
    joint = np.block([[first, np.zeros((4, 6))], [np.zeros((6, 4)), second]])
    made = interconnect(
        DiracStructure.from_two_form(first), DiracStructure.from_two_form(second), rows
    )
    assert made.distance(lemma(joint, rows)) < 1e-10
    assert made.distance(DiracStructure.induced(joint, annihilator(rows.T))) < 1e-10
    assert made.admissible_flows.shape[1] == 7
    assert not made.equals(
        DiracStructure.from_two_form(first).product(DiracStructure.from_two_form(second))
    )


@pytest.mark.parametrize("dependent", [False, True], ids=["independent", "dependent"])
def test_ports_that_are_joined_are_a_constraint(dependent: bool) -> None:
    """f = -R W on both sides, with opposite flows and equal efforts, is R W + R' W' = 0 and its
    reaction.
    """
    random = np.random.default_rng(5)
    first, second = (
        DiracStructure.from_two_form(skew(4, 1)),
        DiracStructure.from_bivector(skew(5, 2)),
    )
    left, right = random.normal(size=(2, 4)), random.normal(size=(2, 5))
    if dependent:
        left, right = np.vstack([left, left.sum(axis=0)]), np.vstack([right, right.sum(axis=0)])
    places = list(range(len(left)))
    joined = first.opened(left).compose(second.opened(right), [(4 + k, 5 + k) for k in places])
    assert joined.dimension == 9
    assert joined.distance(interconnect(first, second, np.hstack([left, right]))) < 1e-10


def test_a_closed_port_is_a_constraint_and_an_idle_one_is_none() -> None:
    structure, rows = (
        DiracStructure.from_two_form(skew(4, 7)),
        np.random.default_rng(2).normal(size=(1, 4)),
    )
    opened = structure.opened(rows, ["tip"])
    assert opened.labels[-1] == "tip" and opened.dimension == 5
    wall = DiracStructure.from_bivector([[0.0]], ["wall"])  # no flow, any effort
    free = DiracStructure.from_two_form([[0.0]], ["free"])  # any flow, no effort
    assert opened.compose(wall, [("tip", "wall")]).distance(structure.restricted(rows=rows)) < 1e-11
    assert opened.compose(free, [("tip", "free")]).distance(structure) < 1e-11


def test_composition_is_associative() -> None:
    a, b, c = (DiracStructure.from_two_form(skew(n, n)) for n in (3, 4, 5))
    one = a.compose(b, [(2, 0)]).compose(c, [(4, 0)])
    other = a.compose(b.compose(c, [(3, 0)]), [(2, 0)])
    assert one.dimension == 8
    assert one.distance(other) < 1e-9


def test_composition_of_two_bivectors_is_again_dirac_where_the_junction_is_degenerate() -> None:
    """Two walls face each other at the port: its conditions repeat, and the dimension still comes
    out right.
    """
    wall, other = (
        DiracStructure.from_bivector(np.zeros((2, 2))),
        DiracStructure.from_bivector(np.zeros((3, 3))),
    )
    assert wall.compose(other, [(0, 0)]).equals(DiracStructure.from_bivector(np.zeros((3, 3))))


def test_restriction_twice_is_restriction_by_both() -> None:
    rows = np.random.default_rng(8).normal(size=(3, 6))
    structure = DiracStructure.from_bivector(skew(6, 5))
    step = structure.restricted(rows=rows[:2]).restricted(rows=rows[1:])
    assert step.distance(structure.restricted(rows=rows)) < 1e-10
    assert step.restricted(rows=rows).distance(step) < 1e-10


def test_pull_back_of_a_restricted_form_is_the_restriction_of_the_pulled_back_form() -> None:
    """The structure on V of theorem 2 is the pull-back of the one on V*, also where the map is
    singular.
    """
    random = np.random.default_rng(12)
    omega, rows = skew(6, 3), random.normal(size=(2, 6))
    for tangent in (
        random.normal(size=(6, 6)),
        random.normal(size=(6, 2)) @ random.normal(size=(2, 5)),
        np.zeros((6, 3)),
    ):
        made = DiracStructure.from_constraints(rows, omega).pulled_back(tangent)
        expected = DiracStructure.from_constraints(rows @ tangent, tangent.T @ omega @ tangent)
        assert made.distance(expected) < 1e-9


def test_tellegens_theorem() -> None:
    """Currents that obey the node law and voltages that obey the loop law have no power, whatever
    the elements are.
    """
    incidence = np.array([[1, 0, -1, 1], [-1, 1, 0, 0], [0, -1, 1, -1]])  # the rows sum to zero
    network = DiracStructure.from_constraints(incidence)
    currents, voltages = network.admissible_flows, network.flowless_efforts
    assert currents.shape[1] == 2 and voltages.shape[1] == 2
    assert np.abs(incidence @ currents).max() < 1e-14
    assert np.abs(currents.T @ voltages).max() < 1e-14
    potentials = np.random.default_rng(0).normal(size=3)
    assert network.contains(currents[:, 0], incidence.T @ potentials)


# -- what is refused -------------------------------------------------------------------------------


def test_pairs_that_are_no_dirac_structure_are_refused() -> None:
    n = np.eye(3)
    with pytest.raises(
        ModelError, match=r"wrong dimension .*2 dimensions on a space of 3.*: give pairs"
    ):
        DiracStructure.from_image(n[:, :2], 0 * n[:, :2])
    with pytest.raises(ModelError, match="wrong dimension"):
        DiracStructure.from_kernel(n[:2], 0 * n[:2])
    with pytest.raises(ModelError, match=r"exchange power.*seen.*give a skew"):
        DiracStructure.from_image(n, n)
    with pytest.raises(ModelError, match="exchange power"):
        DiracStructure.from_two_form([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(
        ModelError, match="exchange power"
    ):  # every <beta, W> vanishes on the basis, not on sums of it
        DiracStructure.from_image([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ModelError, match="exchange power"):
        DiracStructure.from_bivector([[1.0, 0.0], [0.0, 1.0]])


def test_wrong_shapes_and_values_are_refused_in_a_sentence() -> None:
    structure = DiracStructure.from_two_form(canonical(1), ["q", "p"])
    calls = {
        "differ in size.*n x k": lambda: DiracStructure.from_image(np.eye(2), np.eye(3)),
        "differ in size.*m x n": lambda: DiracStructure.from_kernel(np.eye(2), np.eye(3)),
        "finite": lambda: DiracStructure.from_two_form([[0.0, np.nan], [1.0, 0.0]]),
        "matrix of finite numbers": lambda: DiracStructure.from_two_form([["a"]]),
        "square": lambda: DiracStructure.from_two_form(np.ones((2, 3))),
        "rows or directions": lambda: structure.restricted(),
        "Constraint rows need": lambda: structure.restricted(rows=np.ones((1, 3))),
        "Directions need": lambda: structure.restricted(directions=np.ones((3, 1))),
        "no coordinate 'r'": lambda: structure.compose(structure, [("r", "q")]),
        "shared once": lambda: structure.compose(structure, [("q", "q"), ("q", "p")]),
        "Nothing is left": lambda: structure.compose(structure, [("q", "q"), ("p", "p")]),
        "2 components": lambda: structure.contains([1.0], [1.0]),
        "different labels": lambda: DiracStructure.from_two_form(canonical(1), ["q", "q"]),
        "different spaces": lambda: structure.distance(DiracStructure.from_two_form(canonical(2))),
    }
    for message, call in calls.items():
        with pytest.raises(ModelError, match=message):
            call()


def test_a_structure_cannot_be_changed() -> None:
    structure = DiracStructure.from_two_form(canonical(1))
    with pytest.raises(ValueError, match="read-only"):
        structure.flows[0, 0] = 3.0
    with pytest.raises(AttributeError):
        structure.flows = np.eye(2)  # type: ignore[misc]


def test_it_says_what_it_is() -> None:
    assert (
        repr(DiracStructure.from_two_form(canonical(1), ["q", "p"]))
        == "<DiracStructure on q, p: symplectic>"
    )
    assert "presymplectic" in repr(DiracStructure.from_two_form(np.zeros((2, 2))))
    assert "Poisson" in repr(DiracStructure.from_bivector(np.zeros((2, 2))))


# -- fields of two-forms ---------------------------------------------------------------------------

x, y, z, p, m = sympy.symbols("x y z p m", real=True)


def exact(components: list[sympy.Expr], symbols: list[sympy.Symbol]) -> sympy.Matrix:
    """omega = d alpha, which is closed."""
    return sympy.Matrix(
        len(symbols),
        len(symbols),
        lambda i, j: sympy.diff(components[j], symbols[i]) - sympy.diff(components[i], symbols[j]),
    )


def test_exact_forms_are_closed_and_a_factor_breaks_that() -> None:
    symbols = [x, y, z]
    omega = exact([x * y * sympy.sin(z), sympy.exp(x) * z, x**2 + y**3], symbols)
    assert is_closed(omega, symbols)
    assert not is_closed(sympy.exp(y) * omega, symbols)
    assert is_closed(sympy.zeros(3, 3), symbols)


def test_a_form_in_two_symbols_is_always_closed() -> None:
    assert is_closed([[0, -sympy.sin(x) * p], [sympy.sin(x) * p, 0]], [x, p])


def test_the_exterior_derivative_is_the_gauge_charge() -> None:
    """The magnetic form B . (dx x dx) / 2 has d omega = div B: closed without monopoles, and 3 for
    B = r.
    """
    field = [x, y, z]
    magnetic = sympy.Matrix(
        [[0, field[2], -field[1]], [-field[2], 0, field[0]], [field[1], -field[0], 0]]
    )
    assert exterior_derivative(magnetic, [x, y, z]) == {(0, 1, 2): 3}
    assert is_closed(magnetic.subs({x: y, y: z, z: x}, simultaneous=True), [x, y, z])
    r3 = sympy.sqrt(x**2 + y**2 + z**2) ** 3
    assert is_closed(magnetic / r3, [x, y, z])


def test_forms_that_are_not_forms_are_refused() -> None:
    with pytest.raises(ModelError, match="skew"):
        is_closed([[0, x], [x, 0]], [x, y])
    with pytest.raises(ModelError, match="2 x 2 for 3 symbols"):
        is_closed([[0, x], [-x, 0]], [x, y, z])
    with pytest.raises(ModelError, match="text"):
        is_closed([["0", "x"], ["-x", "0"]], [x, y])


def test_rounding_is_removed_from_a_structure_and_an_error_is_not() -> None:
    omega = skew(4, 1)
    rounded = DiracStructure.from_two_form(omega + 1e-9 * np.abs(omega))
    assert rounded.isotropy < 1e-14
    assert (
        rounded.distance(DiracStructure.from_two_form(omega)) < 1e-13
    )  # the symmetric part is gone, and nothing else
    with pytest.raises(ModelError, match="exchange power"):
        DiracStructure.from_two_form(omega + 1e-4 * np.abs(omega))


@pytest.mark.parametrize("seed", range(8))
def test_joining_survives_units_that_differ_by_orders_of_magnitude(seed: int) -> None:
    random = np.random.default_rng(seed)
    first, second = 10.0 ** random.uniform(-3, 3, 5), 10.0 ** random.uniform(-3, 3, 4)
    a = DiracStructure.from_two_form(first[:, None] * skew(5, seed) * first)
    b = DiracStructure.from_bivector(skew(4, seed, rank=2) / second[:, None] / second)
    left, right = random.normal(size=(2, 5)) * first, random.normal(size=(2, 4)) * second
    joined = a.opened(left).compose(b.opened(right), [(5, 4), (6, 5)])
    assert joined.distance(interconnect(a, b, np.hstack([left, right]))) < 1e-8
    assert a.compose(b, [(0, 0), (3, 1)]).isotropy < 1e-13
