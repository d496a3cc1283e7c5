"""Flows by brackets and motions of symmetric spaces: against closed forms, definitions in NumPy and
reference motions.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.exact_flows import orbit_motion, ql, toda_motion, two_sided_motion

DATA = Path(__file__).parents[2] / "sources" / "data" / "matrix_flows.json"
REFERENCE = {entry["id"]: entry for entry in json.loads(DATA.read_text())["systems"]}


def commutator(a, b):
    return a @ b - b @ a


def matrices_at(flow: da.Flow, states) -> dict[str, np.ndarray]:
    """The matrices of a flow at random values of its symbols, from the model alone."""
    values = dict(zip(flow.coordinates, states, strict=True))
    return {k: np.array(m.subs(values).tolist(), dtype=float) for k, m in flow.matrices.items()}


def rates_at(flow: da.Flow, states, parameters=()) -> dict[str, np.ndarray]:
    """Rates of the matrices by the compiled equations."""
    rates = da.derive(flow).function()(0.0, states, parameters)
    values = dict(zip(flow.coordinates, rates, strict=True))
    return {k: np.array(m.subs(values).tolist(), dtype=float) for k, m in flow.matrices.items()}


def random_states(flow: da.Flow, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=len(flow.coordinates))


ALGEBRAS = {"so3": 3, "so4": 4, "su2": da.lie.LieGroup.SU(2), "su3": da.lie.LieGroup.SU(3)}


@pytest.mark.long
@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_orbit_flows_are_double_brackets(algebra: str) -> None:
    flow = da.lie.orbit_flow(ALGEBRAS[algebra])
    states = random_states(flow)
    here, rate = matrices_at(flow, states), rates_at(flow, states)
    x, p = here["x"], here["p"]
    assert np.allclose(rate["x"], commutator(x, commutator(p, x)), atol=1e-12)
    assert np.allclose(rate["p"], commutator(p, commutator(p, x)), atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("algebra", ALGEBRAS)
def test_orbits_without_potential_have_a_closed_form(algebra: str) -> None:
    flow = da.lie.orbit_flow(ALGEBRAS[algebra])
    states = 0.5 * random_states(flow)
    here = matrices_at(flow, states)
    motion = da.simulate(flow, flow.start(**here), (0, 4), at=[0, 1, 4])
    x, p = orbit_motion(here["x"], here["p"], motion.t)
    assert np.allclose(motion["x"], x, atol=1e-9)
    assert np.allclose(motion["p"], p, atol=1e-9)


def test_brocketts_potential_and_its_gradient() -> None:
    target = np.array([[0.0, -1.0, 0.2], [1.0, 0.0, 0.5], [-0.2, -0.5, 0.0]])
    flow = da.lie.orbit_flow(3, brockett=target.tolist())
    states = random_states(flow)
    here, rate = matrices_at(flow, states), rates_at(flow, states)
    x, p = here["x"], here["p"]
    expected = commutator(p, commutator(p, x)) - commutator(target, commutator(target, x))
    assert np.allclose(rate["p"], expected, atol=1e-12)
    # With the opposite sign of V the force would be the opposite one.
    assert not np.allclose(
        rate["p"], expected + 2 * commutator(target, commutator(target, x)), atol=1e-3
    )


def test_with_inertia_only_the_spectrum_of_the_moment_stays() -> None:
    flow = da.lie.orbit_flow(3, inertia=[1.0, 2.0, 3.0])
    assert "w_12" not in flow.integrals
    found = da.describe(flow)
    assert max(found.integrals.values()) < 1e-10
    motion = da.simulate(
        flow,
        dict(
            zip([q.name for q in flow.coordinates], [0.4, -0.8, 0.3, 0.9, 0.2, -0.5], strict=True)
        ),
        (0, 5),
    )
    moments = np.array([commutator(p, x) for p, x in zip(motion["p"], motion["x"], strict=True)])
    spectra = np.array([np.sort(np.linalg.eigvals(m).imag) for m in moments])
    assert np.allclose(spectra, spectra[0], atol=1e-9)
    assert np.max(np.abs(moments - moments[0])) > 1e-2


@pytest.mark.parametrize("name", ["double_bracket_so3.V0", "double_bracket_so3.brockett"])
def test_reference_motions_of_orbits(name: str) -> None:
    entry = REFERENCE[name]
    flow = da.lie.orbit_flow(3, brockett=entry["potential_n"])
    motion = da.simulate(
        flow, flow.start(**entry["initial"]), (0, entry["times"][-1]), at=entry["times"], rtol=1e-12
    )
    for k, state in enumerate(entry["states"]):
        assert np.allclose(motion["x"][k], state["x"], rtol=1e-9, atol=1e-9)
        assert np.allclose(motion["p"][k], state["p"], rtol=1e-9, atol=1e-9)
    assert motion.energy[0] == pytest.approx(entry["invariants"]["H"], abs=1e-12)


def test_the_euler_lagrange_form_of_brocketts_problem() -> None:
    """x_ddot = [x_dot, ad_x^-1 x_dot] + ad_x^2 ad_n^2 x, with ad_x^-1 on the image of ad_x."""
    target = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    flow = da.lie.orbit_flow(3, brockett=target.tolist())
    entry = REFERENCE["double_bracket_so3.brockett"]
    motion = da.simulate(flow, flow.start(**entry["initial"]), (0, 1), at=[0.6])
    x, p = motion["x"][0], motion["p"][0]
    velocity = commutator(x, commutator(p, x))
    # [p, x] lies in the image of ad_x, so that it is the inverse there.
    unknown = commutator(p, x)
    assert np.allclose(commutator(x, unknown), velocity, atol=1e-10)
    potential = commutator(x, commutator(x, commutator(target, commutator(target, x))))
    acceleration = np.array([motion[f"x_{k}_ddot"][0] for k in ("12", "13", "23")])
    expected = commutator(velocity, unknown) + potential
    assert np.allclose(acceleration, [expected[0, 1], expected[0, 2], expected[1, 2]], atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("case", ["real", "complex", "inertia"])
def test_two_sided_flows_are_what_they_say(case: str) -> None:
    options = {
        "real": {},
        "complex": {"complex": True},
        "inertia": {"left_inertia": [1, 2, 4], "right_inertia": [3, 5]},
    }[case]
    flow = da.lie.grassmannian_flow(3, 2, **options)
    states = random_states(flow)
    here, rate = matrices_at(flow, states), rates_at(flow, states)
    place, costate = (
        (m[:3, :2] + 1j * m[3:, :2]) if case == "complex" else m for m in (here["Q"], here["P"])
    )
    left = costate @ place.conj().T - place @ costate.conj().T
    right = costate.conj().T @ place - place.conj().T @ costate
    if case == "inertia":
        left = left * 2 / np.add.outer([1, 2, 4], [1, 2, 4])
        right = right * 2 / np.add.outer([3, 5], [3, 5])
    for name, matrix in (("Q", place), ("P", costate)):
        found = rate[name][:3, :2] + 1j * rate[name][3:, :2] if case == "complex" else rate[name]
        assert np.allclose(found, left @ matrix - matrix @ right, atol=1e-12)
    assert max(da.describe(flow).integrals.values()) < 1e-10


def test_reference_motion_of_the_grassmannian() -> None:
    entry = REFERENCE["grassmann_two_sided.r32"]
    flow = da.lie.grassmannian_flow(3, 2)
    motion = da.simulate(
        flow, flow.start(**entry["initial"]), (0, entry["times"][-1]), at=entry["times"], rtol=1e-12
    )
    exact = two_sided_motion(entry["initial"]["Q"], entry["initial"]["P"], entry["times"])
    for k, state in enumerate(entry["states"]):
        for name, closed in zip("QP", exact, strict=True):
            assert np.allclose(motion[name][k], state[name], rtol=1e-9, atol=1e-9)
            assert np.allclose(closed[k], state[name], atol=1e-12)
    assert np.allclose([np.linalg.svd(m, compute_uv=False) for m in motion["Q"]], 1, atol=1e-9)


def test_the_sphere_and_the_general_flow_agree() -> None:
    flow = da.lie.sphere_flow(4)
    motion = da.simulate(
        flow, {"q_1": 1.0, "p_2": 0.8, "p_4": -0.3}, (0, 5), at=np.linspace(0, 5, 6)
    )
    speed = np.hypot(0.8, 0.3)
    direction = np.array([0, 0.8, 0, -0.3]) / speed
    expected = np.outer(np.cos(speed * motion.t), [1, 0, 0, 0]) + np.outer(
        np.sin(speed * motion.t), direction
    )
    assert np.allclose(motion["q"][..., 0], expected, atol=1e-9)
    assert np.allclose(
        [motion[f"q_{k}_ddot"] for k in range(1, 5)], -(speed**2) * expected.T, atol=1e-8
    )


def test_toda_is_a_double_bracket_where_it_is_tridiagonal() -> None:
    lattice, general = da.lie.toda(4), da.lie.double_bracket(4)
    a, b = [0.3, -0.2, 0.5, 0.1], [0.4, 0.6, 0.2]
    matrix = np.diag(a) + np.diag(b, 1) + np.diag(b, -1)
    first = rates_at(lattice, [*a, *b])["A"]
    second = rates_at(general, list(general.start(x=matrix).values()))["x"]
    assert np.allclose(first, second, atol=1e-14)
    dense = matrix + 0.1 * (np.ones((4, 4)) - np.eye(4))
    full = da.lie.toda(4, full=True)
    third = rates_at(full, list(full.start(A=dense).values()))["A"]
    fourth = rates_at(general, list(general.start(x=dense).values()))["x"]
    upper = np.triu(dense, 1)
    assert np.allclose(third, commutator(dense, upper - upper.T), atol=1e-14)
    assert not np.allclose(third, fourth, atol=1e-3)


@pytest.mark.parametrize("full", [False, True])
def test_reference_motion_of_toda(full: bool) -> None:
    entry = REFERENCE["toda_full.tridiag4"]
    flow = da.lie.toda(4, full=full)
    motion = da.simulate(
        flow, flow.start(A=entry["initial"]), (0, entry["times"][-1]), at=entry["times"], rtol=1e-12
    )
    exact = toda_motion(entry["initial"], entry["times"])
    assert np.allclose(motion["A"], entry["states"], rtol=1e-9, atol=1e-9)
    assert np.allclose(exact, entry["states"], atol=1e-12)


def test_the_frame_of_toda_turns_the_first_matrix() -> None:
    first = np.array([[0.5, 0.3, 0.1], [0.3, -0.2, 0.4], [0.1, 0.4, 0.9]])
    flow = da.lie.toda(3, full=True, frame=True)
    motion = da.simulate(flow, flow.start(A=first, k=np.eye(3)), (0, 3), at=[0, 1, 3])
    for a, k in zip(motion["A"], motion["k"], strict=True):
        assert np.allclose(k.T @ first @ k, a, atol=1e-9)
    _, frames = toda_motion(first, motion.t, frame=True)
    assert np.allclose(motion["k"], frames, atol=1e-9)


@pytest.mark.parametrize("full", [False, True])
def test_the_factor_of_toda_is_that_of_the_exponential(full: bool) -> None:
    first = np.array([[0.5, 0.3, 0.1], [0.3, -0.2, 0.4], [0.1, 0.4, 0.9]])
    if not full:
        first[0, 2] = first[2, 0] = 0
    flow = da.lie.toda(3, full=full, factor=True)
    motion = da.simulate(flow, flow.start(A=first, X=np.eye(3)), (0, 2), at=[0, 1, 2])
    for time, a, lower in zip(motion.t, motion["A"], motion["X"], strict=True):
        _, expected = ql(expm(time * first))
        assert np.allclose(lower, expected, atol=1e-9)
        assert np.allclose(np.linalg.solve(lower, a @ lower), first, atol=1e-9)


def test_gradient_flows_sort() -> None:
    flow = da.lie.double_bracket(4, [1, 3, 2, 4])
    first = np.random.default_rng(5).normal(size=(4, 4))
    first = first + first.T
    motion = da.simulate(flow, flow.start(x=first), (0, 40))
    last, spectrum = motion["x"][-1], np.linalg.eigvalsh(first)
    assert np.allclose(np.diag(last), spectrum[[0, 2, 1, 3]], atol=1e-6)
    assert np.allclose(last - np.diag(np.diag(last)), 0, atol=1e-6)
    assert np.all(np.diff(motion["height"]) > -1e-9)


FAULTS = {
    "not skew": (lambda: da.lie.orbit_flow([np.eye(2)]), "skew"),
    "not orthogonal": (
        lambda: da.lie.orbit_flow(
            [[[0, 1, 0], [-1, 0, 0], [0, 0, 0]], [[0, 1, 1], [-1, 0, 0], [-1, 0, 0]]]
        ),
        "orthogonal",
    ),
    "inertia": (lambda: da.lie.orbit_flow(3, inertia=[1, 2]), "one entry"),
    "outside": (
        lambda: da.lie.orbit_flow(3, brockett=np.eye(3).tolist()),
        "element of the Lie algebra",
    ),
    "both": (
        lambda: da.lie.orbit_flow(
            3, brockett=np.zeros((3, 3)).tolist(), potential=lambda x: x[0, 1]
        ),
        "not both",
    ),
    "toda": (lambda: da.lie.toda(1), "two particles"),
    "target": (lambda: da.lie.double_bracket(3, [1, 2]), "one number"),
    "sizes": (lambda: da.lie.grassmannian_flow(0, 2), "rows"),
    "left inertia": (lambda: da.lie.grassmannian_flow(3, 2, left_inertia=[1]), "left inertia"),
    "sphere": (lambda: da.lie.sphere_flow(1), "two components"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_told(fault: str) -> None:
    make, words = FAULTS[fault]
    with pytest.raises(ModelError, match=words):
        make()


def test_a_potential_of_ones_own() -> None:
    flow = da.lie.orbit_flow(3, potential=lambda x: sympy.Rational(1, 2) * x[0, 1] ** 2)
    states = random_states(flow)
    here, rate = matrices_at(flow, states), rates_at(flow, states)
    force = np.zeros((3, 3))
    force[0, 1], force[1, 0] = here["x"][0, 1], -here["x"][0, 1]
    assert np.allclose(
        rate["p"], commutator(here["p"], commutator(here["p"], here["x"])) - force, atol=1e-12
    )
    assert da.describe(flow).integrals["energy"] < 1e-10
