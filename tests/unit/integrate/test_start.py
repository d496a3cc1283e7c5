"""Starts: completed, projected, refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
import whipple_bicycle
from core_systems import random_system
from dalembert.errors import ContradictionError, ModelError, SingularError, StartError

X, Y, THETA = da.coordinates("x y theta")
M = da.parameters("m", positive=True)
POINT = da.System(
    [X, Y],
    kinetic=(X.dot**2 + 3 * Y.dot**2) / 2,
    potential=Y,
    constraints=[da.holonomic(X**2 + Y**2 - 1, name="rod")],
)
SKATE = da.System(
    [X, Y, THETA],
    kinetic=M / 2 * (X.dot**2 + Y.dot**2) + THETA.dot**2 / 2,
    constraints=[da.velocity(X.dot * sympy.sin(THETA) - Y.dot * sympy.cos(THETA), name="blade")],
)


def start_of(system: da.System, start: Any, **options: Any) -> da.Motion:
    return da.simulate(system, start, (0, 0), **options)


def test_what_is_missing_and_free_is_zero() -> None:
    motion = start_of(SKATE, {"x_dot": 1.0}, parameters={M: 1})
    assert motion.start == {"x": 0, "y": 0, "theta": 0, "x_dot": 1, "y_dot": 0, "theta_dot": 0}
    assert not motion.start_report


def test_what_is_missing_is_completed_from_the_constraints() -> None:
    motion = start_of(POINT, {X: 0.6, Y.dot: 0.3})
    assert abs(motion.start["y"]) == pytest.approx(0.8, abs=1e-13)
    assert motion.start["x"] == 0.6 and motion.start["y_dot"] == 0.3
    assert motion.start["x_dot"] == pytest.approx(-0.3 * motion.start["y"] / 0.6, abs=1e-13)
    assert any("y = " in sentence for sentence in motion.start_report)
    assert any("x_dot = " in sentence for sentence in motion.start_report)


def test_what_is_given_is_held_where_that_is_possible() -> None:
    motion = start_of(SKATE, {THETA: 0.7, X.dot: 1.0, THETA.dot: 0.2}, parameters={M: 1})
    assert motion.start["x_dot"] == 1.0 and motion.start["theta_dot"] == 0.2
    assert motion.start["y_dot"] == pytest.approx(np.tan(0.7), abs=1e-14)


def test_a_start_off_the_constraint_is_moved_and_reported() -> None:
    motion = start_of(POINT, {X: 0.7, Y: 0.8, X.dot: 0.1, Y.dot: 0.0})
    assert max(motion.worst_residual.values()) < 1e-15
    assert len(motion.start_report) == 2
    assert "rod" in motion.start_report[0] or "residual" in motion.start_report[0]
    assert "0.7 -> " in motion.start_report[0]


def test_it_is_moved_to_the_nearest_point_in_the_kinetic_metric() -> None:
    """Velocities: v - M^-1 A^T (A M^-1 A^T)^-1 A v, with NumPy."""
    motion = start_of(POINT, {X: 0.6, Y: 0.8, X.dot: 1.0, Y.dot: 1.0})
    mass, row, v = np.diag([1.0, 3.0]), np.array([0.6, 0.8]), np.ones(2)
    away = np.linalg.solve(mass, row)
    assert motion.y[2:, 0] == pytest.approx(v - away * (row @ v) / (row @ away), abs=1e-14)


def test_rounding_is_removed_in_silence() -> None:
    motion = start_of(POINT, {X: 0.6 + 1e-16, Y: 0.8, X.dot: 0.8, Y.dot: -0.6}, project_start=False)
    assert not motion.start_report
    assert max(motion.worst_residual.values()) < 1e-15


@pytest.mark.parametrize("factor", [1e-12, 1e-9, 1.0, 1e9])
@pytest.mark.parametrize("off", [1e-11, 2e-10, 0.3])
def test_whatever_is_moved_is_reported_or_refused(factor: float, off: float) -> None:
    """The distance decides, not the factor that a constraint was written with."""
    rod = da.holonomic(factor * (X**2 + Y**2 - 1), name="rod")
    system = da.System([X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, constraints=[rod])
    start = {X: 1.0 + off, Y: 0.0, X.dot: 0.0, Y.dot: 0.5}
    motion = start_of(system, start)
    assert motion.start["x"] == pytest.approx(1.0, abs=1e-14)
    assert any("Moved" in sentence and "x 1" in sentence for sentence in motion.start_report)
    with pytest.raises(StartError, match="rod"):
        start_of(system, start, project_start=False)


def test_a_start_of_another_run_is_taken_as_it_is() -> None:
    motion = da.simulate(POINT, {X: 0.7, Y: 0.8, X.dot: 0.1}, (0, 5))
    again = start_of(
        POINT, dict(zip(motion.start, motion.y[:, -1], strict=True)), project_start=False
    )
    assert not again.start_report


@pytest.mark.parametrize(
    ("start", "level"),
    [({X: 0.7, Y: 0.8}, "position"), ({X: 0.6, Y: 0.8, X.dot: 1.0, Y.dot: 1.0}, "velocity")],
)
def test_a_start_off_the_constraint_is_refused_on_request(start: Any, level: str) -> None:
    with pytest.raises(StartError, match=f"rod.*{level}"):
        start_of(POINT, start, project_start=False)


def test_a_start_that_cannot_be_moved_is_refused() -> None:
    impossible = POINT.replacing(constraints=[da.holonomic(X**2 + Y**2 + 1, name="never")])
    with pytest.raises(StartError, match="never"):
        start_of(impossible, {X: 0.5, Y: 0.5})


def test_completion_needs_no_luck() -> None:
    """Nothing given at all, although the constraint has no derivative at the origin."""
    motion = start_of(POINT, {})
    assert motion.worst_residual["position"] < 1e-14 and motion.start_report
    assert start_of(POINT, {Y: -1.0}).start["x"] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_velocities_and_momenta_are_both_understood(form: str) -> None:
    by_velocity = start_of(SKATE, {THETA: 0.3, THETA.dot: 2.0}, parameters={M: 4}, form=form)
    by_momentum = start_of(SKATE, {THETA: 0.3, THETA.momentum: 2.0}, parameters={M: 4}, form=form)
    assert by_velocity["theta_dot"][0] == by_momentum["theta_dot"][0] == pytest.approx(2.0)
    mixed = start_of(SKATE, {X.momentum: 2.0, THETA.dot: 1.0}, parameters={M: 4}, form=form)
    assert mixed["x_dot"][0] == pytest.approx(0.5) and mixed["p_theta"][0] == pytest.approx(1.0)


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_velocities_and_momenta_of_one_coordinate_must_agree(form: str) -> None:
    assert start_of(SKATE, {X.momentum: 2.0, X.dot: 0.5}, parameters={M: 4}, form=form)["x_dot"][
        0
    ] == pytest.approx(0.5)
    with pytest.raises(StartError, match=r"x_dot|p_x"):
        start_of(SKATE, {X.momentum: 2.0, X.dot: 1.0}, parameters={M: 4}, form=form)


def test_all_faults_of_a_start_are_named_at_once() -> None:
    with pytest.raises(ModelError) as caught:
        start_of(SKATE, {"x_dott": 1.0, "phi": 2.0, "y": np.nan}, parameters={M: 1})
    message = str(caught.value)
    assert "x_dott" in message and "did you mean x_dot" in message
    assert "phi" in message and "`y` must be a finite number" in message


@pytest.mark.parametrize("value", [np.nan, np.inf, None, "one", 1j])
def test_values_must_be_finite_numbers(value: Any) -> None:
    with pytest.raises(StartError, match="finite"):
        start_of(SKATE, {X: value}, parameters={M: 1})


def test_names_and_symbols_may_be_mixed() -> None:
    motion = start_of(SKATE, {"x": 1.0, Y: 2.0, "theta_dot": 3.0}, parameters={"m": 1})
    assert (motion.start["x"], motion.start["y"], motion.start["theta_dot"]) == (1, 2, 3)


def test_contradictory_constraints_at_the_start_are_an_error() -> None:
    twice = da.System(
        [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[da.velocity(X.dot, name="rest"), da.velocity(X.dot - da.t, name="pace")],
    )  # fmt: skip
    with pytest.raises(ContradictionError, match=r"rest|pace"):
        start_of(twice, {Y.dot: 1.0})


def test_an_undetermined_start_is_an_error() -> None:
    massless = da.System([X, Y], kinetic=X.dot**2 / 2, potential=Y**2 / 2)
    with pytest.raises(SingularError, match="not determined"):
        start_of(massless, {X: 1.0})


def test_the_start_of_a_motion_is_a_start() -> None:
    motion = start_of(POINT, {X: 0.7, Y: 0.8, X.dot: 0.1})
    again = start_of(POINT, motion.start, project_start=False)
    assert not again.start_report
    assert np.allclose(again.y, motion.y, atol=1e-15)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_random_starts_of_random_systems_end_on_their_constraints(seed: int) -> None:
    system = random_system(seed, n=4, kinds=["hv", "ra", "hn", "rv"][seed])
    random = np.random.default_rng(seed)
    start = {s: float(random.uniform(-0.5, 0.5)) for s in (*system.coordinates, *system.velocities)}
    for form in ("lagrange", "hamilton"):
        motion = da.simulate(system, start, (0.3, 0.3), form=form)
        assert max(motion.worst_residual.values()) < 1e-13
        assert motion.start_report


def test_the_multipliers_of_a_vakonomic_start() -> None:
    motion = start_of(SKATE, {X.dot: 1.0, "chi_blade": 0.5}, parameters={M: 1}, form="vakonomic")
    assert motion.start["chi_blade"] == 0.5
    assert (
        start_of(SKATE, {X.dot: 1.0}, parameters={M: 1}, form="vakonomic").start["chi_blade"] == 0.0
    )
    with pytest.raises(StartError, match="chi_blade"):
        start_of(SKATE, {X.dot: 1.0, "chi_blade": 0.5}, parameters={M: 1}, form="lagrange")


def test_a_scenario_is_overridden_by_arguments() -> None:
    scenario = da.Scenario(
        SKATE, {"m": 1.0}, {"x": 1.0, "x_dot": 1.0}, {"span": (0, 2), "rtol": 1e-6}
    )
    motion = da.simulate(scenario, {"x": 5.0}, (0, 1), parameters={M: 2.0}, at=[1.0])
    assert motion["x"].tolist() == pytest.approx([6.0])
    assert motion.parameters == {"m": 2.0} and motion.statistics["rtol"] == 1e-6
    assert da.simulate(scenario).t[-1] == 2.0


# -- the same start in every form ------------------------------------------------------------------

ARM = da.System(
    [X, Y],
    lagrangian=X.dot**2 + sympy.cos(X - Y) * X.dot * Y.dot + Y.dot**2 + (0.4 + Y) * X.dot - X**2,
)


@pytest.mark.parametrize(
    "start",
    [{X: 0.3, X.dot: 0.5}, {X: 0.3}, {Y.dot: -0.2, Y: 0.1, X.dot: 0.1}],
    ids=["some", "none", "all"],
)
@pytest.mark.parametrize(
    "options", [{"form": "hamilton"}, {"method": "galerkin4", "step": 0.1}], ids=["form", "method"]
)
def test_missing_velocities_are_zero_also_where_the_symbols_are_momenta(
    start: Any, options: Any
) -> None:
    motion = da.simulate(ARM, start, (0, 0.1), **options)
    assert motion.equations.form == "hamilton"
    for symbol in (X.dot, Y.dot):
        assert motion[symbol][0] == pytest.approx(start.get(symbol, 0.0), abs=1e-14)


def test_a_velocity_is_completed_from_the_constraints_in_momenta_as_in_velocities() -> None:
    """Two speeds are to be found for one row: the least ones, whatever the masses are."""
    rolling = ARM.replacing(
        coordinates=[X, Y, THETA], lagrangian=ARM.lagrangian + THETA.dot**2 * (2 + X)
    )
    rolling = rolling.replacing(
        constraints=[da.velocity(X.dot - 0.3 * Y.dot + (1 + X) * THETA.dot, name="row")]
    )
    start = {X: 0.3, X.dot: 0.5}
    motions = [start_of(rolling, start, form=form) for form in ("lagrange", "hamilton")]
    for symbol in (X.dot, Y.dot, THETA.dot):
        assert motions[1][symbol][0] == pytest.approx(motions[0][symbol][0], abs=1e-14)
    assert motions[0].start_report == motions[1].start_report


def test_missing_momenta_are_zero_where_the_hamiltonian_is_stated_or_momenta_are_given() -> None:
    stated = da.System([X, Y], hamiltonian=(X.momentum - Y) ** 2 / 2 + (Y.momentum + X) ** 2 / 4)
    assert start_of(stated, {X: 0.3, Y: 0.2}, form="hamilton").start["p_x"] == 0.0
    assert start_of(ARM, {X: 0.3, "p_x": 0.2}, form="hamilton").start["p_y"] == 0.0


@pytest.mark.parametrize("unit", [2.0**-80, 1.0, 2.0**80])
def test_velocities_become_momenta_in_any_units(unit: float) -> None:
    free = da.System([X, Y], kinetic=(X.dot**2 + 3 * Y.dot**2 + X.dot * Y.dot) / 2)
    motion = da.simulate(free, {Y.dot: 0.25 * unit}, (0, 1), method="galerkin4", step=0.5)
    assert motion["y_dot"][0] / unit == pytest.approx(0.25, rel=1e-14)
    assert motion["p_x"][0] / unit == pytest.approx(0.125, rel=1e-14)


def rod_with_mass(mass: float, form: str) -> da.System:
    momenta = (X.momentum**2 + Y.momentum**2) / (2 * mass)
    energies = (
        {"hamiltonian": momenta}
        if form == "hamilton"
        else {"kinetic": mass * (X.dot**2 + Y.dot**2) / 2}
    )
    return da.System([X, Y], constraints=[da.holonomic(X**2 + Y**2 - 1, name="rod")], **energies)


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize("mass", [1e-15, 1.0, 1e15])
def test_a_start_on_the_constraints_is_accepted_in_any_unit_of_mass(mass: float, form: str) -> None:
    """A step of the coordinates in Hamilton's form is found as one of momenta, whose unit says
    nothing of coordinates.
    """
    start = {X: 0.6, Y: 0.8 + 2e-16, X.dot: 0.8, Y.dot: -0.6}
    motion = da.simulate(rod_with_mass(mass, form), start, (0, 1), at=[0, 1])
    assert motion.equations.form == form and not motion.start_report
    assert motion["x"] ** 2 + motion["y"] ** 2 == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("mass", [1e-15, 1.0, 1e15])
@pytest.mark.parametrize(
    ("x", "speed", "level"), [(0.6003, 0.8, "position"), (0.6, 0.8003, "velocity")]
)
def test_a_broken_constraint_is_told_in_any_unit_of_mass(
    mass: float, x: float, speed: float, level: str
) -> None:
    system = rod_with_mass(mass, "hamilton")
    start = {X: x, Y: 0.8, "p_x": speed * mass, "p_y": -0.6 * mass}
    motion = start_of(system, start)
    assert f"at {level} level" in motion.start_report[0]
    assert max(motion.worst_residual.values()) < 1e-15
    with pytest.raises(StartError, match=f"rod.*{level}"):
        start_of(system, start, project_start=False)


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e10])
def test_a_broken_velocity_is_told_in_any_unit_of_length(unit: float) -> None:
    rod = da.holonomic(X**2 + Y**2 - unit**2, name="rod")
    system = da.System([X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, constraints=[rod])
    motion = start_of(system, {X: 0.6 * unit, Y: 0.8 * unit, X.dot: 0.8003, Y.dot: -0.6})
    assert "at velocity level" in motion.start_report[0]
    assert abs(0.6 * motion.start["x_dot"] + 0.8 * motion.start["y_dot"]) < 1e-15


@pytest.mark.parametrize("mass", [1e-15, 1.0, 1e15])
def test_a_velocity_that_is_rounding_beside_the_coordinates_is_rest(mass: float) -> None:
    system = rod_with_mass(mass, "hamilton")
    motion = start_of(system, {X: 0.6, Y: 0.8, X.dot: 1e-17, Y.dot: 0.0}, project_start=False)
    assert abs(motion.start["p_x"]) < 1e-16 * mass


@pytest.mark.long
@pytest.mark.parametrize("speed", [3.0, 6.0])
def test_a_given_speed_is_kept_where_other_rates_are_rounding(speed: float) -> None:
    """The vertical velocities of a bicycle vanish up to rounding, beside which no residual is
    small.
    """
    motion = da.simulate(
        whipple_bicycle.system(), {"x_dot": speed}, (0, 0.01), parameters=whipple_bicycle.BENCHMARK
    )
    assert motion["x_dot"][0] == pytest.approx(speed, rel=1e-14) and "x_dot" not in " ".join(
        motion.start_report
    )


@pytest.mark.parametrize("form", ["lagrange", "hamilton", "maggi", "kane"])
def test_an_output_of_velocities_may_be_given_in_their_place(form: str) -> None:
    x, y, theta = da.coordinates("x y theta")
    blade = da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
    forward = x.dot * sympy.cos(theta) + y.dot * sympy.sin(theta)
    sleigh = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[blade],
        outputs={"forward": forward, "turning": theta.dot, "height": y},
    )
    start = {theta: 0.7, "forward": 2.0, "turning": 0.5}
    motion = da.simulate(sleigh, start, (0, 1), form=form)
    np.testing.assert_allclose(motion["x_dot"][0], 2 * np.cos(0.7), rtol=1e-12)
    np.testing.assert_allclose([motion["forward"][0], motion["turning"][0]], [2.0, 0.5], rtol=1e-12)
    with pytest.raises(StartError, match="`height`, which is no part of the state"):
        da.simulate(sleigh, {**start, "height": 1.0}, (0, 1), form=form)
    with pytest.raises(StartError, match="cannot be met together"):
        da.simulate(sleigh, {**start, theta.dot: 0.1}, (0, 1), form=form)


def test_outputs_in_the_starts_of_many_runs() -> None:
    x = da.coordinates("x")
    system = da.System([x], kinetic=x.dot**2 / 2, outputs={"twice": 2 * x.dot})
    many = da.simulate(system, {"twice": np.array([1.0, 4.0])}, (0, 1), at=[0, 1])
    np.testing.assert_allclose(many["x"][:, -1], [0.5, 2.0])
