"""Hamel's equations: transitivity symbols by identity, quasi-velocities of the caller's own, and
what a run makes of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from agreement import evidence, instants, numbers_of, symbols_at, worst_gap
from core_systems import random_system
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import FormError, ModelError
from dalembert.formulations.forms import voronets
from dalembert.formulations.forms.hamel import transitivity, transitivity_of_inverse
from dalembert.formulations.independent_velocities import Reduction, choose_split
from dalembert.formulations.quasi_velocities import stated_speeds

BOTH = ("first", "second")


def quasi_velocities(system: da.System, kind: str, seed: int = 0) -> dict[str, Any]:
    """As many random quasi-velocities as degrees of freedom: linear in the velocities, or affine
    with time in them.
    """
    random = np.random.default_rng(seed)
    q, v = system.coordinates, system.velocities
    free = choose_split(system).independent
    # What is affine in all velocities is not affine in the free ones where a constraint is
    # nonlinear.
    places = free if any(c.name[0] == "s" for c in system.bilateral) else range(len(v))
    found = {}
    for number, k in enumerate(free):
        row = sum(
            (float(random.uniform(-1, 1)) + sin(q[j - 1]) / 3 + 2 * int(j == k)) * v[j]
            for j in places
        )
        found[f"eta{number + 1}"] = row + (cos(q[0]) * sin(da.t) if kind == "affine" else 0)
    return found


def on_speeds(system: da.System, stated: dict[str, Any] | None) -> Reduction:
    """The system on quasi-velocities, or on independent velocities."""
    choice = None if stated is None else stated_speeds(system, stated).near()
    return Reduction(system, GraphAlgebra(), choice)


def skate(**further: Any) -> da.System:
    """A blade on ice, pushed, with a force that depends on all velocities."""
    x, y, theta = da.coordinates("x y theta")
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    kinetic = (x.dot**2 + y.dot**2) / 2 + (theta.dot + x.dot / 5) ** 2 / 4
    return da.System(
        [x, y, theta],
        kinetic=kinetic,
        constraints=[blade],
        forces={x: 1 + y.dot, theta: -x.dot},
        **further,
    )


def along_and_turn(system: da.System) -> dict[str, Any]:
    x, y, theta = system.coordinates
    return {"forward": x.dot * cos(theta) + y.dot * sin(theta), "turn": theta.dot}


# -- transitivity ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", ["v", "ha", "s", "t", "vvd"])
@pytest.mark.parametrize("stated", ["", "linear", "affine"])
def test_the_two_kinds_of_symbols_are_related(kinds: str, stated: str) -> None:
    """W_s^r = -f_ri T_s^i (Rumyantsev 1.21), for quasi-velocities that need not be integrable."""
    system = random_system(3, n=4, kinds=kinds)
    reduction = on_speeds(system, quasi_velocities(system, stated) if stated else None)
    algebra = reduction.algebra
    derivative = reduction.here(algebra.jacobian(reduction.definition, reduction.v))
    first, second = transitivity(reduction), transitivity_of_inverse(reduction)
    gap = numbers_of(algebra, first + derivative @ second, 1)
    assert np.abs(gap).max() < 1e-10 * (1 + np.abs(numbers_of(algebra, first, 1)).max())
    assert np.abs(numbers_of(algebra, first, 1)).max() > 1e-3
    inverse = numbers_of(algebra, derivative @ reduction.frame, 1)
    assert np.allclose(inverse, np.eye(*inverse.shape), atol=1e-12)


@pytest.mark.parametrize("power", [1, 3])
def test_the_symbols_of_solved_constraints_are_those_of_voronets(power: int) -> None:
    """With eta_a = v_a - phi_a(q, v_I, t) and eta_s = v_s: W_s^a = -A_s^a (Rumyantsev 1.10), and no
    others.
    """
    q1, q2, q3, q4 = da.coordinates("q1:5")
    constraints = [
        da.velocity(q3.dot - sin(q1) * q2.dot - q4 * q1.dot**power, name="a"),
        da.velocity(q4.dot - q3 * q1.dot - cos(da.t) * q2.dot + q2, name="b"),
    ]
    kinetic = sum(q.dot**2 for q in (q1, q2, q3, q4)) / 2
    system = da.System([q1, q2, q3, q4], kinetic=kinetic, constraints=constraints)
    reduction = Reduction(system, GraphAlgebra())
    assert reduction.split.dependent == (2, 3)
    symbols = numbers_of(reduction.algebra, transitivity(reduction), 2)
    of_voronets = numbers_of(reduction.algebra, voronets.transitivity(reduction), 2)
    assert np.abs(of_voronets).max() > 0.1
    assert np.allclose(symbols[:2], 0, atol=1e-12)
    assert np.allclose(symbols[2:], -of_voronets.T, atol=1e-12)


def test_the_symbols_of_a_constraint_that_is_a_derivative_vanish() -> None:
    """W of f = dg/dt is zero: d/dt dg/dq_j = d(dg/dt)/dq_j; the free ones here are not derivatives,
    and theirs are not zero.
    """
    system = random_system(8, n=3, kinds="r")
    reduction = on_speeds(system, quasi_velocities(system, "linear"))
    symbols = numbers_of(reduction.algebra, transitivity(reduction), 1)
    assert np.allclose(symbols[-1], 0, atol=1e-12)
    assert np.abs(symbols[:-1]).max() > 1e-2


# -- the same motion -------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kinds", ["v", "ha", "s", "ss", "t", "hd"])
def test_every_choice_of_quasi_velocities_gives_the_same_motion(kinds: str) -> None:
    """Linear, affine and by default, of both kinds, also with constraints nonlinear in the
    velocities.
    """
    n = 2 + sum(kind != "d" for kind in kinds)
    system = random_system(21, n=n, kinds=kinds)
    records = [da.derive(system, "hamel", kind=kind) for kind in BOTH]
    for stated in ("linear", "affine"):
        own = quasi_velocities(system, stated)
        records += [da.derive(system, "hamel", quasi_velocities=own, kind=kind) for kind in BOTH]
    assert all([s.name for s in record.state[n:]] == ["eta1", "eta2"] for record in records[2:])
    assert worst_gap(system, records, count=1) < 1e-10


def test_quasi_velocities_without_constraints() -> None:
    """All velocities are free then, and the caller says how they are written."""
    system = random_system(4, n=3, kinds="")
    with pytest.raises(FormError, match="needs constraints"):
        da.derive(system, "hamel")
    records = [
        da.derive(system, "hamel", quasi_velocities=quasi_velocities(system, "affine"), kind=kind)
        for kind in BOTH
    ]
    assert worst_gap(system, records) < 1e-10


def test_the_velocities_may_be_given_by_speeds() -> None:
    """Appell's particle in polar quasi-velocities: its speed falls as w0 - g a t/(1 + a^2), its
    heading stays.
    """
    system = da.gallery.load("appell").system
    q1, q2, q3 = system.coordinates
    a = next(p for p in system.parameters if p.name == "a")
    w, heading = da.speeds("w", positive=True), da.speeds("heading")
    with pytest.raises(FormError, match="positive=True"):
        free = da.speeds("w")
        da.derive(
            system,
            "hamel",
            velocities={q1: free * cos(heading), q2: free * sin(heading), q3: a * free},
        )
    equations = da.derive(
        system, "hamel", velocities={q1: w * cos(heading), q2: w * sin(heading), q3: a * w}
    )
    values = {"m": 2.0, "g": 9.81, "a": 0.5}
    motion = da.simulate(
        equations, {"q1_dot": 3.0, "q2_dot": 4.0}, (0, 1), parameters=values, at=[0, 0.4, 1.0]
    )
    assert np.allclose(motion["w"], 5 - 9.81 * 0.5 / 1.25 * motion.t, atol=1e-9)
    assert np.allclose(motion["heading"], np.arctan2(4, 3), atol=1e-9)
    assert np.allclose(motion.reactions["slope"].multiplier, 2.0 * 9.81 / 1.25, atol=1e-9)


# -- what a run makes of them ----------------------------------------------------------------------


@pytest.mark.long
def test_a_motion_knows_its_quasi_velocities(tmp_path: Path) -> None:
    """By name, past the angle where a partition of the velocities degenerates, and from a file."""
    system = skate()
    own = along_and_turn(system)
    start = {"theta": 0.4, "x_dot": 0.3, "theta_dot": 1.1}
    motion = da.simulate(
        da.derive(system, "hamel", quasi_velocities=own), start, (0, 4), rtol=1e-11
    )
    assert motion["theta"].min() < 0 < motion["theta"].max() and not motion.switches
    assert {"forward", "turn"} <= set(motion.names)
    expected = motion["x_dot"] * np.cos(motion["theta"]) + motion["y_dot"] * np.sin(motion["theta"])
    assert np.allclose(motion["forward"], expected, atol=1e-13)
    assert np.array_equal(motion["turn"], motion["theta_dot"])
    plain = da.simulate(system, start, (0, 4), form="lagrange", rtol=1e-11)
    assert np.allclose(motion.y[:, -1], plain.y[:, -1], atol=1e-9)
    assert np.allclose(motion.total_reaction[:, -1], plain.total_reaction[:, -1], atol=1e-8)

    motion.save(tmp_path / "skate.nc")
    again = da.load(tmp_path / "skate.nc")
    assert again.names == motion.names
    for name in motion.names:
        assert np.array_equal(again[name], motion[name]), name
    assert [s.name for s in again.equations.state] == ["x", "y", "theta", "forward", "turn"]
    times = np.linspace(0, 4, 9)
    assert np.allclose(again.sol(times), motion.sol(times), atol=1e-13)


@pytest.mark.long
def test_symbols_that_only_some_charts_have_are_kept_too(tmp_path: Path) -> None:
    """They are nan where the others are chosen."""
    system = skate()
    start = {"theta": 0.4, "x_dot": 0.3, "theta_dot": 2.5}
    motion = da.simulate(system, start, (0, 1), form="canonical-voronets", at=[0, 0.2, 0.8, 1])
    own = ["y_x", "y_y", "y_theta"]
    assert set(own) <= set(motion.names)
    assert np.isfinite([motion[name] for name in own]).sum(axis=0).tolist() == [2, 2, 2, 2]
    motion.save(tmp_path / "skate.nc")
    again = da.load(tmp_path / "skate.nc")
    for name in motion.names:
        assert np.array_equal(again[name], motion[name], equal_nan=True), name


@pytest.mark.long
def test_frames_come_back_from_a_file(tmp_path: Path) -> None:
    system = skate()
    x, y, theta = system.coordinates
    frame = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "spin": {theta: 1},
    }
    equations = da.derive(system, "poincare-chetaev", frame=frame)
    motion = da.simulate(equations, {"theta": 0.4, "x_dot": 0.3, "theta_dot": 1.1}, (0, 0.2))
    motion.save(tmp_path / "motion.nc")
    again = da.load(tmp_path / "motion.nc")
    assert again.equations.options == {
        "frame": {name: {q.name: e for q, e in field.items()} for name, field in frame.items()}
    }
    assert np.allclose(again.sol(0.1), motion.sol(0.1), atol=1e-14)


# -- refusals --------------------------------------------------------------------------------------


def test_the_wrong_number_of_quasi_velocities_is_refused() -> None:
    system = skate()
    own = along_and_turn(system)
    with pytest.raises(FormError, match="1 given, 2 degrees of freedom"):
        da.derive(system, "hamel", quasi_velocities={"forward": own["forward"]})
    with pytest.raises(FormError, match="3 given"):
        da.derive(system, "hamel", quasi_velocities=own | {"third": system.velocities[0]})


@pytest.mark.parametrize(
    "name", ["x", "y_dot", "p_x", "theta_ddot", "t", "energy", "speed", "two words", "turn_dot"]
)
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    x, y, _ = da.coordinates("x y theta")
    system = skate(outputs={"speed": sympy.sqrt(x.dot**2 + y.dot**2)})
    own = along_and_turn(system)
    with pytest.raises(FormError, match="a name of its own"):
        da.derive(system, "hamel", quasi_velocities={name: own["forward"], "turn": own["turn"]})


def test_symbols_that_the_system_does_not_have_are_refused() -> None:
    system = skate()
    own = along_and_turn(system)
    z, scale = da.coordinates("z"), da.parameters("scale")
    for strange in (z.dot, scale, system.momenta[0]):
        with pytest.raises(FormError, match="symbols that have no place there"):
            da.derive(system, "hamel", quasi_velocities=own | {"turn": own["turn"] * strange})


def test_velocities_by_speeds_are_checked_too() -> None:
    system = skate()
    x, y, theta = system.coordinates
    u, w, taken = da.speeds("u w x_dot")

    def derived(turn: Any, ahead: Any = u) -> da.Equations:
        return da.derive(
            system, "hamel", velocities={x: ahead * cos(theta), y: ahead * sin(theta), theta: turn}
        )

    assert [s.name for s in derived(w).state[3:]] == ["u", "w"]
    for strange in (da.parameters("scale"), x.dot, x.momentum):
        with pytest.raises(FormError, match="symbols that have no place there"):
            derived(w * strange)
    with pytest.raises(FormError, match="a name of its own"):
        derived(w, taken)
    with pytest.raises(FormError, match="do not obey the constraints"):
        da.derive(system, "hamel", velocities={x: u, y: u, theta: w})
    with pytest.raises(FormError, match="rank 1 of 2"):
        derived(u + w, u + w)
    with pytest.raises(FormError, match="1 speeds for 2 degrees of freedom"):
        derived(u)
    with pytest.raises(FormError, match="leave one out"):
        da.derive(system, "hamel", velocities={x: u}, quasi_velocities=along_and_turn(system))


def test_a_run_with_inputs_keeps_the_options() -> None:
    """A symbolic input makes a new system, and the equations are derived again as they were asked
    for.
    """
    push = da.inputs("push")
    system = skate()
    x, _, theta = system.coordinates
    driven = system.replacing(forces={x: push}, inputs=[push])
    equations = da.derive(driven, "hamel", quasi_velocities=along_and_turn(driven), kind="second")
    motion = da.simulate(
        equations, {theta: 0.4, theta.dot: 1.0}, (0, 0), inputs={push: sin(da.t) + 1}
    )
    assert {"forward", "turn"} <= set(motion.names)
    assert motion.equations.options["kind"] == "second"


def test_a_parameter_called_like_a_symbol_of_the_derivation_changes_nothing() -> None:
    """The quasi-velocities of the constraints have symbols inside the derivation; none is a name
    that a model can have.
    """
    eta = da.Parameter("eta_blade")
    system = skate()
    x = system.coordinates[0]
    pushed = system.replacing(forces={x: eta})
    start = {"theta": 0.4, "x_dot": 0.3, "theta_dot": 1.1}
    motions = [
        da.simulate(pushed, start, (0, 0), parameters={eta: 0.7}, form=form)
        for form in ("lagrange", "hamel")
    ]
    assert np.allclose(*([m[q.ddot][0] for q in system.coordinates] for m in motions), atol=1e-12)
    with pytest.raises(ModelError, match="`mu_blade` is the multiplier"):
        system.replacing(forces={x: da.Parameter("mu_blade")})


def test_quasi_velocities_that_depend_on_each_other_are_refused() -> None:
    system = skate()
    own = along_and_turn(system)
    other = 2 * own["forward"]
    with pytest.raises(FormError, match=r"do not determine the velocities .*rank 2 of 3"):
        da.derive(system, "hamel", quasi_velocities={"forward": own["forward"], "other": other})


def test_kinds_and_options_are_named() -> None:
    with pytest.raises(FormError, match='kind="second"'):
        da.derive(skate(), "hamel", kind="third")
    with pytest.raises(FormError, match="has no option `quasi`"):
        da.derive(skate(), "hamel", quasi={})
    with pytest.raises(FormError, match="has no option `kind`"):
        da.derive(skate(), "maggi", kind="first")


# -- the orthonormal frame -------------------------------------------------------------------------


@pytest.mark.long
def test_the_orthonormal_frame_is_orthonormal() -> None:
    """The kinetic energy is half the sum of squares of the components, where there are no terms
    linear in the velocities.
    """
    system = random_system(9, n=4, kinds="vd", gyroscopic=False, forced=False)
    for instant in instants(system, 1, 3):
        symbols = symbols_at(da.derive(system, "hamel-orthonormal"), instant)
        word = evidence(da.derive(system, "lagrange"), instant)
        assert word is not None
        assert sum(symbols[f"eta_{k + 1}"] ** 2 for k in range(3)) == pytest.approx(
            word["momenta"] @ instant.v, rel=1e-12
        )


def test_the_orthonormal_frame_says_where_there_is_none() -> None:
    with pytest.raises(FormError, match='use the form "hamel"'):
        da.derive(random_system(2, n=3, kinds="s"), "hamel-orthonormal")
    with pytest.raises(FormError, match="no freedom"):
        da.derive(random_system(2, n=2, kinds="hv"), "hamel-orthonormal")
    x, y = da.coordinates("x y")
    slow = da.System(
        [x, y], kinetic=x.dot**2 / 2, potential=y**2, constraints=[da.velocity(x.dot - x, name="c")]
    )
    with pytest.raises(FormError, match="singular on the constraints"):
        da.derive(slow, "hamel-orthonormal")
