"""Systems (D(x), H) on Dirac structures that depend on the point: integrability, motions, ports and
composition, against SciPy and closed forms.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.dirac import DiracManifold, DiracStructure, system
from dalembert.errors import ModelError

x, y, z, theta = da.coordinates("x y z theta")
a, b, c = da.coordinates("a b c")
k, m, d = da.parameters("k m d", positive=True)
TOP = [[0, z, -y], [-z, 0, x], [y, -x, 0]]


def follow(field, start, end: float) -> np.ndarray:
    return solve_ivp(field, (0, end), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


@pytest.mark.parametrize(
    ("structure", "status"),
    [
        (DiracManifold.from_bivector([x, y, z], TOP), "proved"),
        (DiracManifold.from_bivector([x, y, z], [[0, y, 0], [-y, 0, 1], [0, -1, 0]]), "refuted"),
        (DiracManifold.from_two_form([x, y, z], [[0, z, 0], [-z, 0, 0], [0, 0, 0]]), "refuted"),
        (DiracManifold.from_two_form([x, y, z], [[0, x, 0], [-x, 0, 0], [0, 0, 0]]), "proved"),
        (DiracManifold.canonical([x, y], [a, b]).restricted([[x, y, 0, 0]]), "proved"),
        (
            DiracManifold.canonical([x, y, z], [a, b, c]).restricted([[-y, 0, 1, 0, 0, 0]]),
            "refuted",
        ),
    ],
)
def test_integrability_by_courants_bracket(structure: DiracManifold, status: str) -> None:
    """Jacobi's identity, closedness and involutivity, decided by one tensor."""
    assert structure.integrability.status == status


def test_representations_are_one_structure() -> None:
    by_graph = DiracManifold.from_bivector([x, y, z], TOP)
    by_image = DiracManifold.from_image([x, y, z], *by_graph.image)
    point = {x: 0.3, y: -0.8, z: 1.1}
    numbers = np.array([[float(sympy.sympify(e).subs(point)) for e in row] for row in TOP])
    plain = DiracStructure.from_bivector(numbers, ["x", "y", "z"])
    for made in (by_graph, by_image):
        assert made.at(point).equals(plain)


def test_a_restriction_is_lemma_one_at_every_point() -> None:
    row = [sin(theta), -cos(theta), 0, 0, 0, 0]
    edge = DiracManifold.canonical([x, y, theta], [a, b, c]).restricted([row])
    point = dict.fromkeys([x, y, a, b, c], 0.2) | {theta: 0.7}
    omega = np.block([[np.zeros((3, 3)), -np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    numbers = [[np.sin(0.7), -np.cos(0.7), 0, 0, 0, 0]]
    assert edge.at(point).equals(DiracStructure.from_constraints(numbers, omega))


def test_the_knife_edge_on_its_dirac_structure() -> None:
    """Forward speed and turn rate stay: a circle of radius v / w."""
    row = [[sin(theta), -cos(theta), 0, 0, 0, 0]]
    edge = DiracManifold.canonical([x, y, theta], [a, b, c]).restricted(row)
    flow = system(edge, (a**2 + b**2 + c**2) / 2)
    motion = da.simulate(flow, {"a": 0.6, "b": 0.0, "c": 1.5}, (0, 3), rtol=1e-12)
    assert np.allclose(motion["x"], 0.4 * np.sin(1.5 * motion.t), atol=1e-9)
    assert np.allclose(motion["y"], 0.4 * (1 - np.cos(1.5 * motion.t)), atol=1e-9)
    assert np.ptp(motion.energy) < 1e-11


def test_eulers_top_and_its_casimir() -> None:
    structure = DiracManifold.from_bivector([x, y, z], TOP)
    assert [sympy.expand(e) for e in structure.casimirs()] == [x**2 + y**2 + z**2]
    flow = system(structure, x**2 / 2 + y**2 / 4 + z**2 / 6)
    motion = da.simulate(flow, {"x": 1.0, "y": 0.2, "z": 0.5}, (0, 4), rtol=1e-12)
    inertia = np.array([1.0, 2.0, 3.0])
    end = follow(lambda _, p: np.cross(p / inertia, p), [1.0, 0.2, 0.5], 4)
    assert np.allclose([motion[n][-1] for n in ("x", "y", "z")], end, atol=1e-9)


def test_resistors_and_sources_balance_power() -> None:
    """m q'' + d q' + k q = -cos(2 t), and dH/dt = - sum of e f."""
    structure = DiracManifold.canonical([x], [a]).opened([[1, 0], [1, 0]], ["damper", "force"])
    flow = system(
        structure,
        a**2 / (2 * m) + k * x**2 / 2,
        resistors={"damper": d},
        efforts={"force": -cos(2 * da.t)},
    )
    values = {"m": 1.3, "k": 4.0, "d": 0.4}
    motion = da.simulate(flow, {"x": 0.5, "a": 0.1}, (0, 5), parameters=values, rtol=1e-12)

    def field(t: float, s: np.ndarray) -> list[float]:
        return [s[1] / 1.3, -4.0 * s[0] - 0.4 * s[1] / 1.3 - np.cos(2 * t)]

    end = follow(field, [0.5, 0.1], 5)
    assert np.allclose([motion["x"][-1], motion["a"][-1]], end, atol=1e-9)
    power = sum(motion[f"effort_{p}"] * motion[f"flow_{p}"] for p in ("damper", "force"))
    stored = motion["a"] / 1.3 * motion["a_dot"] + 4.0 * motion["x"] * motion["x_dot"]
    assert np.allclose(stored, -power, atol=1e-10)


def test_two_masses_joined_at_a_port_move_as_one() -> None:
    """Equal efforts and opposite flows: q1' = -q2', with the reaction between them."""
    first = DiracManifold.canonical([x], [a]).opened([[1, 0]], ["right"])
    second = DiracManifold.canonical([y], [b]).opened([[1, 0]], ["left"])
    joined = first.compose(second, [("right", "left")])
    flow = system(joined, a**2 / 2 + b**2 / 4 + 3 * x**2 / 2)
    assert joined.ports == () and joined.integrability.is_proved and len(flow.constraints) == 1
    motion = da.simulate(flow, {"x": 0.4, "y": 0.1, "a": 0.6}, (0, 3), rtol=1e-12)
    rate = np.sqrt(3.0 / 3.0)
    exact = 0.4 * np.cos(rate * motion.t) + 0.6 * np.sin(rate * motion.t)
    assert np.allclose(motion["x"], exact, atol=1e-9)
    assert np.allclose(motion["x"] + motion["y"], 0.5, atol=1e-10)


def test_composition_is_that_of_the_linear_structures() -> None:
    first = DiracManifold.from_bivector([x, y, z], TOP).opened([[1, 0, 0]], ["p"])
    second = DiracManifold.canonical([a], [b]).opened([[a, 1]], ["q"])
    joined = first.compose(second, [("p", "q")])
    point = {x: 0.3, y: 0.9, z: -0.4, a: 1.2, b: 0.1}
    one = first.at({s: point[s] for s in (x, y, z)})
    two = second.at({s: point[s] for s in (a, b)})
    assert joined.at(point).equals(one.compose(two, [("p", "q")]))


def test_faults_of_structures_and_systems() -> None:
    with pytest.raises(ModelError, match="exchange power"):
        DiracManifold.from_bivector([x, y], [[0, 1], [1, 0]])
    with pytest.raises(ModelError, match="Each port needs"):
        system(DiracManifold.canonical([x], [a]).opened([[1, 0]], ["tip"]), a**2)
    with pytest.raises(ModelError, match="undetermined"):
        system(DiracManifold.from_two_form([x, y, z], [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]), x**2)
    with pytest.raises(ModelError, match="symbols and ports of their own"):
        first = DiracManifold.canonical([x], [a])
        first.compose(first)


def test_a_presymplectic_structure_gives_constraints() -> None:
    """omega = dx ^ dy on (x, y, z): H_z = 0 is a relation, and fixes z where H_zz is not zero."""
    structure = DiracManifold.from_two_form([x, y, z], [[0, -1, 0], [1, 0, 0], [0, 0, 0]])
    flow = system(structure, x**2 / 2 + y**2 / 2 + (z - x * y) ** 2)
    motion = da.simulate(flow, {"x": 1.0, "y": 0.0}, (0, 2), rtol=1e-12)
    assert np.allclose(motion["z"], motion["x"] * motion["y"], atol=1e-10)
    assert np.allclose(motion["x"], np.cos(motion.t), atol=1e-9)


def test_the_hybrid_representation_is_skew_and_the_same_structure() -> None:
    """(W_K, beta_K') = J (beta_K, W_K'): pairs made of it lie in D."""
    row = [sin(theta), -cos(theta), 0, 0, 0, 0]
    edge = DiracManifold.canonical([x, y, theta], [a, b, c]).restricted([row])
    chosen, table = edge.hybrid()
    point = dict.fromkeys([x, y, a, b, c], 0.2) | {theta: 0.7}
    J = np.array(table.subs(point).tolist(), dtype=float)
    assert np.allclose(J, -J.T)
    order = [*chosen, *(k for k in range(6) if k not in chosen)]
    given = np.random.default_rng(3).uniform(-1, 1, 6)
    found, flow, effort = J @ given, np.zeros(6), np.zeros(6)
    for place, k in enumerate(order):
        first, second = (flow, effort) if k in chosen else (effort, flow)
        first[k], second[k] = found[place], given[place]
    assert edge.at(point).contains(flow, effort)
