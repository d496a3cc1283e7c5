"""`stationarity`: which nonholonomic motions make the action stationary, against the vakonomic
motion itself.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from core_systems import random_system
from dalembert.analysis.anatomy import read_model
from dalembert.analysis.path import path_of, split_of
from dalembert.analysis.variational.all_motions import prolonged
from dalembert.analysis.variational.conditions import ways_to_vanish
from dalembert.analysis.variational.variational import (
    MotionStationarity,
    SystemStationarity,
    stationarity,
)
from dalembert.errors import FormError, ModelError, SingularError

#: Whether all motions of a gallery system are stationary: integrable constraints, and Rumyantsev's
#: example 4.1.
ALL_MOTIONS = {
    "spherical-pendulum": True,
    "elastic-pendulum-arc": True,
    "elastic-pendulum-printed": True,
    "elastic-pendulum-steered": True,
    "appell": True,
    "rolling-disk": False,
    "nonholonomic-particle": False,
    "constrained-particle": False,
    "two-particles-incline": False,
    "driven-double-pendulum": False,
    "snakeboard": False,
    "bicycle": False,
    "knife-edge": False,
    "chaplygin-sleigh": False,
    "ball-on-rotating-plate": False,
    "unicycle-rider": False,
}


@cache
def judged(name: str) -> SystemStationarity:
    return stationarity(da.gallery.load(name))


@cache
def followed(name: str, length: float = 1.0) -> da.Motion:
    return da.simulate(da.gallery.load(name), span=(0, length))


def disk_motion(length: float = 1.0, **start: float) -> da.Motion:
    return da.simulate(da.gallery.load("rolling-disk"), start, (0, length))


def derivative_system(potential: Any = 0) -> da.System:
    """L = |v|^2 / 2 - V with z_dot = y x_dot."""
    x, y, z = da.coordinates("x y z")
    slope = da.velocity(z.dot - y * x.dot, name="slope")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    return da.System([x, y, z], kinetic=kinetic, potential=potential, constraints=[slope])


def upright_disk() -> da.System:
    """A disk that rolls upright: two constraints whose coefficients have rank one, and every motion
    is stationary.
    """
    psi, phi, x, y = da.coordinates("psi phi x y")
    m, R, J, K = da.parameters("m R J K", positive=True)
    return da.System(
        [psi, phi, x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + J / 2 * psi.dot**2 + K / 2 * phi.dot**2,
        constraints=[
            da.velocity(x.dot - R * cos(phi) * psi.dot, name="along"),
            da.velocity(y.dot - R * sin(phi) * psi.dot, name="across"),
        ],
        name="Upright disk",
    )


# -- all motions -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", ALL_MOTIONS)
def test_all_motions(name: str) -> None:
    found = judged(name)
    assert found.all_motions is ALL_MOTIONS[name], found.text()


@pytest.mark.parametrize("name", [name for name, stationary in ALL_MOTIONS.items() if stationary])
def test_random_states_agree_with_formulas(name: str) -> None:
    system, values, start = read_model(da.gallery.load(name), None, None)
    assert judged(name).certificate == "formulas"
    found = prolonged(system, split_of(system), values, start, 5)
    assert found.verdict is True
    assert all(ranks == (0,) for ranks in found.ranks)


@pytest.mark.parametrize("name", list(ALL_MOTIONS))
def test_one_motion_agrees_with_all_motions(name: str) -> None:
    """The starts of the gallery are generic: one motion is stationary where all are, and is not
    where not all are.
    """
    found = stationarity(followed(name))
    assert found.is_mechanical
    assert found.is_stationary is ALL_MOTIONS[name]
    assert found.residual < 1e-9 or found.residual > 1e-4


@pytest.mark.long
def test_a_disk_upright_is_always_stationary_with_one_choice_of_multipliers() -> None:
    system = upright_disk()
    found = stationarity(system)
    assert found.all_motions is True
    assert found.certificate == "formulas"
    assert found.conditions is not None
    assert not found.conditions.integrable
    sampled = prolonged(system, split_of(system), {}, {}, 6)
    assert sampled.verdict is True
    assert set(sampled.ranks) == {(1, 2, 2)}
    motion = da.simulate(
        system,
        {"psi_dot": 1.3, "phi_dot": 0.8, "phi": 0.4},
        (0, 2),
        parameters={"m": 1.2, "R": 0.7, "J": 0.3, "K": 0.4},
    )
    single = stationarity(motion)
    assert single.is_stationary
    assert single.freedom.shape == (2, 0)
    assert single.chi_start["along"] == pytest.approx(
        -1.2 * motion["x_dot"][0], rel=1e-8
    )  # chi = -dL/dv_a
    assert single.chi_start["across"] == pytest.approx(-1.2 * motion["y_dot"][0], rel=1e-8)
    assert single.momentum_test is not None
    assert single.momentum_test.is_sufficient
    assert single.reference().coincides
    assert single.reference({"along": 0.5, "across": 0.5}).gap > 1e-3


@pytest.mark.long
def test_the_rolling_disk_prints_its_conditions() -> None:
    found = judged("rolling-disk")
    theta, psi, phi, _, _ = da.gallery.load("rolling-disk").system.coordinates
    m, r = da.parameters("m r", positive=True)
    assert found.conditions is not None
    expected = (
        0,
        -m * r**2 * theta.dot * phi.dot * cos(theta),
        m * r**2 * theta.dot * psi.dot * cos(theta),
    )
    assert all(
        sympy.simplify(a - b) == 0 for a, b in zip(found.conditions.momenta, expected, strict=True)
    )
    assert set(found.momentum_ways) == {(theta.dot,), (cos(theta),), (phi.dot, psi.dot)}
    c_x, c_y = found.conditions.constants
    general = m * r * cos(theta) * theta.dot - (c_y * cos(phi) - c_x * sin(phi))
    assert len(found.ways) == 2
    assert sympy.simplify(found.ways[0][0] - general) == 0
    assert set(found.ways[1]) == {phi.dot, psi.dot}


def test_free_systems_and_free_inputs() -> None:
    assert stationarity(da.gallery.load("two-planar-bodies")).all_motions is True
    knife = da.gallery.load("knife-edge").system
    free = knife.replacing(inputs=list(knife.inputs))
    with pytest.raises(ModelError, match="input is free"):
        stationarity(free)
    assert stationarity(free.driven({"u1": 0, "u2": 0})).all_motions is False


def test_ways_to_vanish() -> None:
    x, y, z = sympy.symbols("x y z")
    m = sympy.Symbol("m", positive=True)
    assert ways_to_vanish([m * x * y**2, x * z / m]) == ((x,), (y, z))
    assert ways_to_vanish([sympy.S.Zero]) == ((),)
    assert ways_to_vanish([m, x]) == ()


# -- one motion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chi", [-3.0, 0.0, 0.7, 9.0, 25.0])
def test_appells_vakonomic_motion_is_the_mechanical_one_from_every_multiplier(chi: float) -> None:
    found = stationarity(followed("appell", 0.8))
    assert found.freedom.shape == (1, 1)
    assert found.momentum_test is not None
    assert found.momentum_test.holds
    assert not found.momentum_test.obeys  # gravity acts on q3
    assert found.reference({"slope": chi}).gap < 1e-11


def test_appells_heading_is_lost_at_one_multiplier() -> None:
    speed, parameters = 5.0, da.gallery.load("appell").parameters
    with pytest.raises(SingularError):
        stationarity(followed("appell", 0.8)).reference(
            {"slope": parameters["m"] * speed / parameters["a"]}
        )


def steady_rolling(tilt: float, turn: float) -> da.Motion:
    """The disk at a constant tilt: psi_dot from theta_ddot = 0, which is affine in it."""
    disk = da.gallery.load("rolling-disk")
    rates = da.derive(disk.system, "maggi").function()

    def fall(spin: float) -> float:
        return float(rates(0.0, [tilt, 0, 0.2, 0, 0, 0, spin, turn], disk.parameters)[5])

    spin = -fall(0.0) / (fall(1.0) - fall(0.0))
    start = {"theta": tilt, "theta_dot": 0.0, "phi_dot": turn, "psi_dot": spin}
    r = disk.parameters["r"]
    start |= {"x_dot": -r * spin * np.cos(0.2), "y_dot": -r * spin * np.sin(0.2)}
    return da.simulate(disk, start, (0, 1.5))


def test_steady_rolling_is_stationary() -> None:
    motion = steady_rolling(0.4, 1.7)
    assert np.ptp(motion["theta"]) < 1e-9
    assert np.ptp(motion["phi"]) > 2.0
    found = stationarity(motion)
    assert found.is_stationary
    assert found.momentum_test is not None
    assert found.momentum_test.is_sufficient
    assert found.reference().gap < 1e-8
    assert found.reference({"rolling_x": 1.0, "rolling_y": 1.0}).gap > 1e-3


def test_a_falling_disk_is_stationary_with_any_multipliers() -> None:
    motion = disk_motion(0.5, phi_dot=0, psi_dot=0, x_dot=0, y_dot=0)
    assert np.ptp(motion["theta"]) > 0.1
    found = stationarity(motion)
    assert found.is_stationary
    assert found.freedom.shape == (2, 2)
    for chi in ((0.0, 0.0), (0.4, -1.0)):
        assert found.reference(dict(zip(("rolling_x", "rolling_y"), chi, strict=True))).gap < 1e-9


def test_a_wobbling_disk_is_not_stationary() -> None:
    found = stationarity(disk_motion(2.0))
    assert not found.is_stationary
    assert found.residual > 1e-3
    assert found.reference().gap > 1e-3  # even from the best multipliers


def test_the_reduced_test_is_not_necessary() -> None:
    """The line y = const under z_dot = y x_dot is an extremal with chi = 0, and dL/dz_dot A does
    not vanish on it.
    """
    motion = da.simulate(derivative_system(), {"y": 0.7, "x_dot": 1.3, "z_dot": 0.91}, (0, 2))
    found = stationarity(motion)
    assert found.is_stationary
    assert abs(found.chi_start["slope"]) < 1e-12
    assert found.momentum_test is not None
    assert found.momentum_test.obeys
    assert not found.momentum_test.holds
    place = found.momentum_test.independent.index("y_dot")
    assert np.allclose(found.momentum_test.values[place], -0.91 * 1.3)  # -z_dot x_dot
    assert found.reference().gap < 1e-12


def test_the_reduced_test_is_not_sufficient_by_itself() -> None:
    """On y = 0 under gravity along z the momentum is zero, so (4.6) holds; but chi must be zero and
    grow as -g t.
    """
    motion = da.simulate(derivative_system(3 * da.Coordinate("z")), {"x_dot": 1.0}, (0, 1))
    assert np.abs(motion["y"]).max() < 1e-12
    found = stationarity(motion)
    assert found.momentum_test is not None
    assert found.momentum_test.holds
    assert not found.momentum_test.obeys
    assert not found.is_stationary
    assert found.reference().gap > 1e-2
    assert "proves nothing" in found.text()


@pytest.mark.parametrize("name", ["nonholonomic-particle-vakonomic", "rolling-disk-vakonomic"])
def test_the_multipliers_of_a_vakonomic_motion_are_found_again(name: str) -> None:
    scenario = da.gallery.load(name)
    motion = da.simulate(scenario, at=np.linspace(*scenario.simulate["span"], 37))
    found = stationarity(motion)
    assert found.is_stationary
    assert not found.is_mechanical
    expected = np.array([motion[f"chi_{c.name}"] for c in scenario.system.bilateral])
    assert np.abs(found.chi - expected).max() < 1e-8


@pytest.mark.parametrize("kinds", ["v", "n", "av", "hv", "nv"])
def test_the_multipliers_of_random_systems_are_found_again(kinds: str) -> None:
    """Also where a constraint is nonlinear in every velocity, so that the dependent ones follow on
    a branch.
    """
    system = random_system(11, n=len(kinds) + 2, kinds=kinds)
    random = np.random.default_rng(2)
    start = {
        s.name: float(random.uniform(-0.5, 0.5)) for s in (*system.coordinates, *system.velocities)
    }
    chi = {f"chi_{c.name}": float(random.uniform(-0.2, 0.2)) for c in system.bilateral}
    motion = da.simulate(system, start | chi, (0.1, 0.9), form="vakonomic")
    assert motion.success
    found = stationarity(motion)
    assert found.is_stationary
    assert not found.is_mechanical
    difference = np.array(
        [found.chi_start[c.name] - chi[f"chi_{c.name}"] for c in system.bilateral]
    )
    free = found.freedom
    assert free.shape[1] == sum(kind in "hr" for kind in kinds)
    rest = (
        difference - free @ np.linalg.lstsq(free, difference, rcond=None)[0]
        if free.size
        else difference
    )
    assert np.abs(rest).max() < 1e-6
    assert found.momentum_test is not None
    if "h" not in kinds:
        expected = reduced_test_by_formula(motion, found.momentum_test.dependent)
        assert np.abs(expected).max() > 1e-3
        assert found.momentum_test.values == pytest.approx(expected, rel=1e-6, abs=1e-7)


def reduced_test_by_formula(motion: da.Motion, dependent: tuple[str, ...]) -> np.ndarray:
    """dL/dv_a A_s^a (k, nt) at Gauss nodes: A_s^a = d(phi_s)/dt - phi_q_s - phi_q_b phi_s^b by
    Rumyantsev's (1.10), the derivatives of phi by the implicit function theorem, rates by steps.
    """
    path, system = path_of(motion), motion.system
    n, split = len(system.coordinates), [v.name in dependent for v in system.velocities]
    bound, free = np.flatnonzero(split), np.flatnonzero(np.logical_not(split))
    q, v = sympy.Matrix(system.coordinates), sympy.Matrix(system.velocities)
    rows = sympy.Matrix([constraint.expression for constraint in system.bilateral])
    momenta = sympy.Matrix([system.lagrangian]).jacobian(v)
    blocks = sympy.lambdify([da.t, *q, *v], [rows.jacobian(q), rows.jacobian(v), momenta])

    def solved(state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        by_place, by_velocity, p = (np.array(block, dtype=float) for block in blocks(*state))
        inverse = -np.linalg.inv(by_velocity[:, bound])
        return inverse @ by_place, inverse @ by_velocity[:, free], p[0, bound]

    found, step = [], 1e-5
    for column in path.values.T[:, : 1 + 3 * n]:
        state, rate = column[: 1 + 2 * n], np.concatenate([[1.0], column[1 + n :]])
        by_place, frame, p = solved(state)
        ahead, behind = (solved(state + h * rate)[1] for h in (step, -step))
        rest = by_place[:, free] + by_place[:, bound] @ frame
        found.append(p @ ((ahead - behind) / (2 * step) - rest))
    return np.array(found).T


def test_no_choice_of_velocities_is_needed() -> None:
    """A blade that turns around has no velocities that stay independent; the verdict does not need
    them.
    """
    motion = da.simulate(da.gallery.load("knife-edge"), {"varphi_dot": 2.0}, (0, 3))
    found = stationarity(motion)
    assert found.momentum_test is None
    assert "independent" in found.text()
    assert not found.is_stationary
    with pytest.raises(ModelError, match="independent"):
        stationarity(motion, independent=["x", "varphi"])


def test_the_verdict_does_not_depend_on_how_a_constraint_is_written() -> None:
    system = derivative_system(da.Coordinate("z"))
    x, _, z = system.coordinates
    factor = 40 * (2 + sin(x) * cos(z))
    other = system.replacing(
        constraints=[da.velocity(factor * system.constraints[0].expression, name="slope")]
    )
    start = {"y": 0.4, "x_dot": 1.0, "y_dot": 0.3, "z_dot": 0.4}
    found: list[MotionStationarity] = [
        stationarity(da.simulate(s, start, (0, 1))) for s in (system, other)
    ]
    assert found[1].residual == pytest.approx(found[0].residual, rel=0.5)
    at_start = float(factor.subs({x: 0, z: 0}))
    assert found[1].chi_start["slope"] * at_start == pytest.approx(
        found[0].chi_start["slope"], rel=1e-3
    )


def test_dependent_constraints_add_free_multipliers_only() -> None:
    system = upright_disk()
    along, across = system.constraints
    both = da.velocity(2 * along.expression - da.Coordinate("psi") * across.expression, name="both")
    wide = system.replacing(constraints=[along, across, both])
    values = {"m": 1.2, "R": 0.7, "J": 0.3, "K": 0.4}
    found = stationarity(
        da.simulate(wide, {"psi_dot": 1.3, "phi_dot": 0.8, "phi": 0.4}, (0, 1), parameters=values)
    )
    assert found.is_stationary
    assert found.freedom.shape == (3, 1)


@pytest.mark.long
@pytest.mark.parametrize("form", ["hamilton", "maggi", "voronets"])
def test_the_form_and_direction_of_the_motion_do_not_matter(form: str) -> None:
    first = stationarity(disk_motion(1.0))
    other = stationarity(da.simulate(da.gallery.load("rolling-disk"), span=(0, 1), form=form))
    for name, value in first.chi_start.items():
        assert other.chi_start[name] == pytest.approx(value, rel=1e-6)
    assert stationarity(
        da.simulate(da.gallery.load("appell"), span=(0, -0.5), form="lagrange")
    ).is_stationary


def test_motions_and_calls_that_are_refused() -> None:
    with pytest.raises(FormError, match="image"):
        stationarity(da.simulate(da.gallery.load("linked-particles"), span=(0, 0.2)))
    with pytest.raises(FormError, match="one-sided"):
        stationarity(da.gallery.load("elastic-pendulum-wall"))
    with pytest.raises(ModelError, match="its start"):
        stationarity(followed("appell", 0.8), start={})  # type: ignore[call-overload]
    with pytest.raises(ModelError, match="did you mean slope"):
        stationarity(followed("appell", 0.8)).reference({"chi_slop": 1.0})
    with pytest.raises(ModelError, match="duration"):
        stationarity(da.simulate(da.gallery.load("appell"), span=(0, 0)))


@pytest.mark.long
def test_results_are_shown_and_stored() -> None:
    for found in (
        judged("rolling-disk"),
        judged("snakeboard"),
        stationarity(followed("appell", 0.8)),
    ):
        assert found.text().splitlines()[0] == found.name
        assert "<table>" in found._repr_html_()
        assert found._repr_markdown_().startswith("### ")
        data = found.to_json()
        assert json.loads(json.dumps(data)) == data
    assert "at the start any" in stationarity(followed("appell", 0.8)).text()
