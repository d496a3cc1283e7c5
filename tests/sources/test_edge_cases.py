"""What must happen where a problem degenerates: dependent or contradictory rows, bad starts,
singular points.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from reference_motions import DATA, distance

import dalembert as da
from dalembert.errors import ContradictionError, DalembertError, SingularError, StartError
from dalembert.runtime.gauss.constrained_solve import solve

CASES = json.loads((DATA / "edge_cases.json").read_text())


# -- rank ------------------------------------------------------------------------------------------


def _two_particles_at_the_case() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """H_pp, -H_pp H_q, A_p and b_p of the two particles, at the velocities (0, 1) and (0, -1/2)."""
    case = CASES["rank_deficient_two_particles"]
    m1, m2 = case["masses"]
    weight = 9.81 * np.sin(0.5)
    inverse_mass = np.diag([1 / m1, 1 / m1, 1 / m2, 1 / m2])
    derivative = np.array([0.0, m1 * weight, 0.0, m2 * weight])
    first, second = np.array([0.0, 1.0]), np.array([0.0, -0.5])
    relative = first - second
    right = -np.array([relative @ relative, relative @ first, relative @ second])
    return inverse_mass, -inverse_mass @ derivative, np.array(case["A_p"]), right


def test_dependent_rows_have_their_rank_and_one_reaction() -> None:
    case = CASES["rank_deficient_two_particles"]
    G, f, A, b = _two_particles_at_the_case()
    assert np.array_equal(np.array(case["left_null_vector"]) @ A, np.zeros(4))
    full, independent = solve(G, f, A, b), solve(G, f, A[1:], b[1:])
    assert full.rank == case["rank"] == independent.rank
    assert distance(full.z, independent.z) < 1e-14
    assert distance(full.reaction, independent.reaction) < 1e-14


def test_multipliers_of_dependent_rows_are_the_smallest() -> None:
    """mu = (A H_pp^-1 A^T)^+ (b - A a), the pseudo-inverse as the reference gives it (Udwadia, eq.
    36).
    """
    case = CASES["rank_deficient_two_particles"]
    G, f, A, b = _two_particles_at_the_case()
    expected = np.array(case["pinv_AHinvAT"]) @ (b - A @ np.linalg.solve(G, f))
    assert distance(solve(G, f, A, b).multipliers, expected) < 1e-14


def test_contradictory_rows_are_an_error_and_not_a_compromise() -> None:
    case = CASES["inconsistent_rank_deficient"]
    with pytest.raises(ContradictionError):
        solve(np.eye(2), np.zeros(2), case["A"], case["b"])


def test_a_start_with_contradictory_constraints_is_refused() -> None:
    """x_dot = 0 and x_dot = t agree at the start, but not on the acceleration: the rows of the case
    above.
    """
    x, y = da.coordinates("x y")
    system = da.System(
        coordinates=[x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[da.velocity(x.dot, name="rest"), da.velocity(x.dot - da.t, name="pace")],
    )
    with pytest.raises(ContradictionError, match=r"rest|pace"):
        da.simulate(system, start={y.dot: 1.0}, span=(0, 1))


def test_constraints_that_come_to_exclude_each_other_end_the_motion() -> None:
    """On the circle x^2 + y^2 = 1 the height y = t can only be kept until t = 1."""
    x, y = da.coordinates("x y")
    system = da.System(
        coordinates=[x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[
            da.holonomic(x**2 + y**2 - 1, name="circle"),
            da.holonomic(y - da.t, name="height"),
        ],
    )
    motion = da.simulate(system, start={x: 1.0, y: 0.0, x.dot: 0.0, y.dot: 1.0}, span=(0, 2))
    assert not motion.success
    assert motion.outcome is not da.Outcome.FINISHED
    assert 0.99 < motion.t[-1] < 1.001
    assert distance(motion["x"] ** 2 + motion["y"] ** 2, np.ones_like(motion.t)) < 1e-8


# -- inconsistent starts ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("driven-double-pendulum", "initial_state_violates_velocity_constraint"),
        ("elastic-pendulum-arc", "initial_state_violates_position_constraint"),
    ],
)
class TestInconsistentStart:
    def test_is_refused_on_request(self, name: str, case: str) -> None:
        scenario = da.gallery.load(name)
        with pytest.raises(StartError, match=scenario.system.constraints[0].name):
            da.simulate(scenario, start=CASES[case]["start"], project_start=False)

    def test_is_projected_and_reported_otherwise(self, name: str, case: str) -> None:
        scenario = da.gallery.load(name)
        motion = da.simulate(scenario, start=CASES[case]["start"], span=(0, 1))
        assert motion.success
        assert motion.start_report
        assert motion.worst_residual["position"] < 1e-9
        assert motion.worst_residual["velocity"] < 1e-9

    def test_a_projected_start_is_not_moved_again(self, name: str, case: str) -> None:
        scenario = da.gallery.load(name)
        motion = da.simulate(scenario, start=CASES[case]["start"], span=(0, 0.1))
        names = scenario.start.keys()
        again = da.simulate(
            scenario, start={k: motion.start[k] for k in names}, span=(0, 0.1), project_start=False
        )
        assert not again.start_report
        assert distance(again.y[:, -1], motion.y[:, -1]) < 1e-9


def test_a_velocity_is_projected_in_the_kinetic_metric() -> None:
    """The nearest momentum is p - A_v^T (A_v M^-1 A_v^T)^-1 phi; at t = 0 the constraint reads
    p_theta1 = 0.
    """
    scenario = da.gallery.load("driven-double-pendulum")
    case = CASES["initial_state_violates_velocity_constraint"]
    start = dict(scenario.start) | case["start"]
    values = scenario.parameters
    coupling = (
        values["m2"] * values["l1"] * values["l2"] * np.cos(start["theta1"] - start["theta2"])
    )
    first = (values["m1"] + values["m2"]) * values["l1"] ** 2
    moved = start["p_theta2"] - coupling / first * case["residual"]
    found = da.simulate(scenario, start=case["start"], span=(0, 0.1)).start
    assert abs(found["p_theta1"]) < 1e-14
    assert abs(found["p_theta2"] - moved) < 1e-13


# -- singular Legendre transform -------------------------------------------------------------------


def test_the_bar_pendulum_cannot_start_where_its_mass_vanishes() -> None:
    with pytest.raises(SingularError):
        da.simulate(da.gallery.load("bar-pendulum"), start=CASES["singular_legendre"]["start"])


def test_the_bar_pendulum_ends_where_it_hangs_down() -> None:
    """The bar is at l cos(theta) = -v0 t + g t^2 / 2 and cannot fall below the pendulum's
    length.
    """
    scenario = da.gallery.load("bar-pendulum")
    g, v0 = scenario.parameters["g"], scenario.start["theta_dot"]
    end = (v0 + np.sqrt(v0**2 + 2 * g)) / g
    motion = da.simulate(scenario, span=(0, 2))
    assert motion.outcome is da.Outcome.SINGULAR
    assert not motion.success
    assert end - 1e-3 < motion.t[-1] < end + 1e-6
    assert np.isfinite(motion.y).all()
    reached = np.cos(motion["theta"]) - (g * motion.t**2 / 2 - v0 * motion.t)
    assert np.abs(reached).max() < 1e-7


# -- image against kernel --------------------------------------------------------------------------


def _kernel(system: da.System) -> da.System:
    x1, x2, x3, x4 = system.coordinates
    row = (x1 - x3) * (x1.dot - x3.dot) + (x2 - x4) * (x2.dot - x4.dot)
    return system.replacing(constraints=[da.velocity(row, name="link")])


def test_the_image_has_rank_two_where_the_particles_coincide() -> None:
    case = CASES["kernel_representation_loses_rank"]
    x1, x2, x3, x4 = case["x"]
    frame = np.array([[1, 0, 0], [0, 1, 0], [1, 0, x2 - x4], [0, 1, x3 - x1]], dtype=float)
    assert np.linalg.matrix_rank(frame) == case["image_rank"]
    mass = np.diag([1.0, 1.0, 2.0, 2.0])
    assert solve(mass, np.ones(4), [case["kernel_row"]], [0.0]).rank == 0
    speeds = solve(frame.T @ mass @ frame, frame.T @ mass @ np.ones(4), gauge=True)
    assert distance(frame @ speeds.z, np.ones(4)) < 1e-14


def test_the_image_holds_coincident_particles_together_and_the_kernel_does_not() -> None:
    scenario = da.gallery.load("linked-particles-zero-distance")
    together = da.simulate(scenario)
    assert distance(together["x1"], together["x3"]) < 1e-12
    assert distance(together["x2"], together["x4"]) < 1e-12
    start = {f"x{k}": scenario.start[f"x{k}"] for k in (1, 2, 3, 4)}
    velocities = {"x1_dot": 0.5, "x2_dot": 1.0, "x3_dot": 0.5, "x4_dot": 1.0}
    free = da.simulate(
        scenario.system.replacing(constraints=[]),
        start=start | velocities,
        span=(0, 0.5),
        parameters=scenario.parameters,
    )
    assert abs(free["x1"][-1] - free["x3"][-1]) > 1e-2
    state = [*start.values(), *velocities.values()]
    by_kernel = da.derive(_kernel(scenario.system)).function()(0.0, state, scenario.parameters)
    unconstrained = da.derive(free.system).function()(0.0, state, scenario.parameters)
    assert distance(by_kernel, unconstrained) < 1e-14


def test_the_speed_that_the_image_leaves_open_does_not_move_the_particles() -> None:
    scenario = da.gallery.load("linked-particles-zero-distance")
    still, spinning = (
        da.simulate(scenario, span=(0, 1)),
        da.simulate(scenario, span=(0, 1), start={"u3": 5.0}),
    )
    for name in ("x1", "x2", "x3", "x4"):
        assert abs(still[name][-1] - spinning[name][-1]) < 1e-9


def test_image_and_kernel_agree_where_both_have_full_rank() -> None:
    scenario = da.gallery.load("linked-particles")
    values = dict(scenario.parameters) | {"k1": 1.5, "k2": 0.7}
    image = da.simulate(scenario, parameters=values, span=(0, 3), rtol=1e-12)
    names = [f"x{k}" for k in (1, 2, 3, 4)]
    start = {name: image[name][0] for name in [*names, *(f"{n}_dot" for n in names)]}
    kernel = da.simulate(
        _kernel(scenario.system), start=start, parameters=values, span=(0, 3), rtol=1e-12
    )
    for name in names:
        assert abs(image[name][-1] - kernel[name][-1]) < 1e-9


# -- nonsmooth and vakonomic singularities ---------------------------------------------------------


def test_appells_constraint_has_no_derivative_at_rest() -> None:
    with pytest.raises(DalembertError, match=r"(?i)square root|sqrt"):
        da.simulate(da.gallery.load("appell"), start=CASES["nonsmooth_constraint"]["start"])


def test_appells_particle_ends_where_it_comes_to_rest() -> None:
    scenario = da.gallery.load("appell")
    g, a = scenario.parameters["g"], scenario.parameters["a"]
    end = 5 * (1 + a**2) / (g * a)
    motion = da.simulate(scenario, span=(0, 2), max_steps=20_000)
    assert motion.outcome is da.Outcome.SINGULAR, motion.message
    assert end - 1e-3 < motion.t[-1] < end + 1e-6
    assert distance(motion["horizontal_speed"], 5 - g * a / (1 + a**2) * motion.t) < 1e-7


def test_the_vakonomic_heading_is_undetermined_for_one_multiplier() -> None:
    case = CASES["vakonomic_singular"]
    with pytest.raises(SingularError):
        da.simulate(
            da.gallery.load("appell-vakonomic"), parameters=case["parameters"], start=case["start"]
        )


@pytest.mark.parametrize("multiplier", [-3.0, 0.0, 4.0, 9.9, 10.1, 25.0])
def test_other_multipliers_give_the_mechanical_motion(multiplier: float) -> None:
    times = np.linspace(0, 1, 5)
    mechanical = da.simulate(da.gallery.load("appell"), span=(0, 1), at=times)
    vakonomic = da.simulate(
        da.gallery.load("appell-vakonomic"), start={"chi_slope": multiplier}, span=(0, 1), at=times
    )
    for name in ("q1", "q2", "q3"):
        assert distance(vakonomic[name], mechanical[name]) < 1e-7


# -- masses ----------------------------------------------------------------------------------------


def _paths(masses: tuple[float, float], momenta: dict[str, float]) -> np.ndarray:
    scenario = da.gallery.load("two-particles-incline")
    values = {"m1": masses[0], "m2": masses[1]}
    motion = da.simulate(
        scenario, parameters=values, start=momenta, at=np.linspace(0, 3, 7), span=(0, 3)
    )
    return np.array([motion[name] for name in ("x1", "y1", "x2", "y2")])


def test_paths_do_not_depend_on_the_masses_for_equal_velocities() -> None:
    light = _paths((1.0, 2.0), {"p_y1": 1.0 * 1.0, "p_y2": 2.0 * -0.5})
    heavy = _paths((3.7, 0.4), {"p_y1": 3.7 * 1.0, "p_y2": 0.4 * -0.5})
    assert distance(light, heavy) < 1e-8


def test_paths_depend_on_the_masses_for_equal_momenta() -> None:
    momenta = {"p_y1": 1.0, "p_y2": -1.0}
    assert distance(_paths((1.0, 2.0), momenta), _paths((3.7, 0.4), momenta)) > 1e-2


@pytest.mark.parametrize("name", ["appell", "rolling-disk", "constrained-particle"])
def test_quasi_velocities_of_solved_constraints_turn_the_other_way(name: str) -> None:
    """For eta_a = q_dot_a - phi_a and eta_s = q_dot_s the symbols of Hamel and Voronets are
    opposite: W = -A.
    """
    import casadi as ca

    from dalembert.algebra.graph import GraphAlgebra
    from dalembert.formulations.forms import hamel, voronets
    from dalembert.formulations.independent_velocities import Reduction

    reduction = Reduction(da.gallery.load(name).system, GraphAlgebra())
    turning = hamel.transitivity(reduction)[len(reduction.split.independent) :, :]
    symbols = list(reduction.algebra.symbols.values())
    # eta_a is the constraint as written; its coefficient of the dependent velocity scales W.
    derivative = reduction.here(
        ca.jacobian(reduction.level.residual[list(reduction.split.rows), :], reduction.dependent)
    )
    function = ca.Function(
        "symbols", symbols, [turning, derivative @ voronets.transitivity(reduction).T]
    )
    random = np.random.default_rng(5)
    for _ in range(5):
        found, expected = (
            np.asarray(block, dtype=float)
            for block in function(*random.uniform(0.3, 1.2, len(symbols)))
        )
        assert np.abs(expected).max() > 1e-3
        assert found == pytest.approx(-expected, abs=1e-12)
