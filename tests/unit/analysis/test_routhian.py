"""The nonholonomic Routhian against reduced equations, whole motions and printed formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, lambdify, simplify, sin

import dalembert as da
from dalembert.analysis.symmetry.nonholonomic_routhian import NonholonomicRouthian
from dalembert.errors import FormError, ModelError
from dalembert.verification.independent.unicycle_with_rider import (
    printed_inertia,
    printed_metric,
    printed_potential,
    printed_routhian,
)


def rolling_group(system: da.System) -> dict[str, dict[Any, Any]]:
    """SO(2) x SE(2) of a wheel."""
    q = {symbol.name: symbol for symbol in system.coordinates}
    x, y, phi, psi = q["x"], q["y"], q["phi"], q["psi"]
    ahead, aside = {x: cos(phi), y: sin(phi)}, {x: -sin(phi), y: cos(phi)}
    return {"xi_x": ahead, "xi_y": aside, "xi_turn": {phi: 1}, "xi_roll": {psi: 1}}


def unicycle(torque: float = 0.0) -> tuple[da.System, NonholonomicRouthian]:
    scenario = da.gallery.load("unicycle-rider")
    system = scenario.system.driven({"u": torque})
    R = next(symbol for symbol in system.parameters if symbol.name == "R")
    section = [[0, 0, 1, 0], [-R, 0, 0, 1]]
    return system, da.symmetry.nonholonomic_routhian(system, rolling_group(system), section=section)


@pytest.fixture(scope="module")
def numbers() -> dict[str, float]:
    return dict(da.gallery.load("unicycle-rider").parameters)


@pytest.mark.long
def test_the_parts_of_the_unicycle_are_the_printed_ones(numbers: dict[str, float]) -> None:
    """Section 9.4: g_ab, I_ab, U and R."""
    _, found = unicycle()
    symbols = [*found.shape, *(q.dot for q in found.shape), *found.momenta]
    parts = (found.shape_metric, found.inertia, found.potential, found.routhian)
    known = list(found.bundle.system.parameters)
    functions = [lambdify([*symbols, *known], part) for part in parts]
    for z in np.random.default_rng(1).uniform(-1, 1, (4, 6)):
        metric, inertia, potential, routhian = (
            f(*z, *(numbers[symbol.name] for symbol in known)) for f in functions
        )
        assert np.allclose(metric, printed_metric(z[:2]), atol=1e-13)
        assert np.allclose(inertia, printed_inertia(z[:2]), atol=1e-13)
        assert potential == pytest.approx(printed_potential(*z[:2]), abs=1e-12)
        assert routhian == pytest.approx(printed_routhian(z), abs=1e-12)


@pytest.mark.long
def test_its_equations_give_the_motion_of_the_whole_unicycle(numbers: dict[str, float]) -> None:
    """By another integrator than the library's, with a torque on the limb, to 1e-9."""
    system, found = unicycle(0.4)
    assert found.residual < 1e-13
    at = [0.0, 0.25, 0.5]
    start = da.gallery.load("unicycle-rider").start
    whole = da.simulate(
        system, start, (0, 0.5), form="lagrange", parameters=numbers, rtol=1e-12, at=at
    )
    reduced = found.equations
    first = [
        float(whole[name][0]) for name in ("theta", "kappa", "theta_dot", "kappa_dot", "p1", "p2")
    ]
    names = ("theta", "kappa", "theta_dot", "kappa_dot", "p_1", "p_2")
    assert tuple(symbol.name for symbol in reduced.state) == names

    def field(_: float, z: Any) -> Any:
        return np.concatenate([z[2:4], *found.rates(dict(zip(names, z, strict=True)), numbers)])

    reference = solve_ivp(
        field, (0, 0.5), first, method="DOP853", t_eval=at, rtol=1e-12, atol=1e-13
    ).y
    ours = da.simulate(
        reduced,
        dict(zip(names, first, strict=True)),
        (0, 0.5),
        parameters=numbers,
        rtol=1e-12,
        at=at,
    )
    for k, (name, there) in enumerate(
        zip(names, ("theta", "kappa", "theta_dot", "kappa_dot", "p1", "p2"), strict=True)
    ):
        assert np.allclose(reference[k], whole[there], rtol=1e-9, atol=1e-9), name
        assert np.allclose(ours[name], whole[there], rtol=1e-9, atol=1e-9), name


@pytest.mark.long
def test_a_rolling_disk_and_a_particle_have_one() -> None:
    disk = da.gallery.load("rolling-disk")
    found = da.symmetry.nonholonomic_routhian(disk, rolling_group(disk.system))
    assert (
        [q.name for q in found.shape] == ["theta"]
        and len(found.momenta) == 2
        and found.residual < 1e-12
    )
    assert "Inertia of the momenta" in str(found)
    particle = da.gallery.load("constrained-particle")
    x, y, z = particle.system.coordinates
    lonely = da.symmetry.nonholonomic_routhian(particle, {"u": {x: 1}, "w": {z: 1}})
    state = {y: 0.7, y.dot: -0.4, "p_1": 1.3}
    # p = m (1 + y^2) x_dot with x_dot sqrt(1 + y^2) conserved: p_dot = p y y_dot/(1 + y^2), and y
    # moves freely.
    accelerations, rates = lonely.rates(state)
    assert accelerations[0] == pytest.approx(0.0, abs=1e-14)
    assert rates[0] == pytest.approx(1.3 * 0.7 * -0.4 / (1 + 0.7**2), rel=1e-13)
    m = particle.system.parameters[0]
    assert simplify(lonely.inertia[0, 0] - m * (1 + y**2)) == 0


def test_systems_without_one_are_refused_with_the_terms_in_the_way() -> None:
    board = da.gallery.load("snakeboard")
    x, y, theta, _, _ = board.system.coordinates
    plane = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: 1},
    }
    with pytest.raises(FormError, match="quadratic in the shape velocities"):
        da.symmetry.nonholonomic_routhian(board, plane)
    sleigh = da.gallery.load("chaplygin-sleigh")
    x, y, theta = sleigh.system.coordinates
    plane = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: 1},
    }
    with pytest.raises(FormError, match="shape coordinates and momenta"):
        da.symmetry.nonholonomic_routhian(sleigh, plane)


def test_values_are_asked_for_by_name() -> None:
    particle = da.gallery.load("constrained-particle")
    x, y, z = particle.system.coordinates
    found = da.symmetry.nonholonomic_routhian(particle.system, {"u": {x: 1}, "w": {z: 1}})
    with pytest.raises(ModelError, match="has no value"):
        found.rates({y: 0.7, y.dot: -0.4, "p_1": 1.3})
