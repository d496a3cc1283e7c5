"""Relative periodic orbits against quadratures, closed forms and SciPy's integrator."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import sympy
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

import dalembert as da
from dalembert.errors import ModelError, RunError

orbit = da.symmetry.relative_periodic_orbit


@pytest.fixture(scope="module")
def polar():
    r, phi = da.coordinates("r phi")
    k = da.parameters("k", positive=True)
    kinetic = (r.dot**2 + r**2 * phi.dot**2) / 2
    return da.System([r, phi], kinetic=kinetic, potential=k * (r - 1) ** 2), r, phi, k


def radial(energy, momentum, k):
    """Period and angle of one radial oscillation, by quadrature."""

    def square(r):
        return 2 * (energy - k * (r - 1) ** 2) - momentum**2 / r**2

    grid = np.linspace(0.3, 2.5, 2000)
    edges = [brentq(square, a, b) for a, b in pairwise(grid) if square(a) * square(b) < 0]
    low, high = edges
    mid, half = (low + high) / 2, (high - low) / 2

    def over(weight):
        def integrand(s):
            r = mid + half * np.sin(s)
            return weight(r) * half * np.cos(s) / np.sqrt(max(square(r), 1e-300))

        return 2 * quad(integrand, -np.pi / 2, np.pi / 2, epsabs=1e-12, limit=200)[0]

    return over(lambda r: 1.0), over(lambda r: momentum / r**2)


def test_a_spring_pendulum_has_the_period_and_the_angle_of_its_quadratures(polar):
    system, r, phi, k = polar
    found = orbit(system, {r: 1.5, phi.dot: 0.6}, 3.4, drift=[phi], parameters={k: 1.0})
    period, angle = radial(found.integrals["energy"], found.integrals["momentum_phi"], 1.0)
    assert found.period == pytest.approx(period, abs=1e-7)
    assert found.drift["phi"] == pytest.approx(angle, abs=1e-7)
    assert found.residual < 1e-10 and np.allclose(np.abs(found.multipliers), 1, atol=1e-5)


def test_turns_of_cartesian_coordinates_give_the_same_orbit(polar):
    system, r, phi, k = polar
    first = orbit(system, {r: 1.5, phi.dot: 0.6}, 3.4, drift=[phi], parameters={k: 1.0})
    x, y = da.coordinates("x y")
    length = sympy.sqrt(x**2 + y**2)
    plane = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(length - 1) ** 2)
    second = orbit(plane, {x: 1.5, y.dot: 0.9}, 3.4, drift={"turn": {x: -y, y: x}})
    assert second.period == pytest.approx(first.period, abs=1e-9)
    assert second.drift["turn"] == pytest.approx(first.drift["phi"], abs=1e-9)


def test_multipliers_of_a_limit_cycle_and_its_fold_have_closed_forms():
    """r_dot = a r + r^3 - r^5: cycles r^2 = (1 +- sqrt(1 + 4 a))/2 that fold at a = -1/4."""
    x, y = da.coordinates("x y")
    a = da.parameters("a")
    square = x**2 + y**2
    growth = a + square - square**2
    cycle = da.Flow({x: growth * x - y, y: growth * y + x})
    first = orbit(cycle, {x: 1.0}, 6.0, parameters={a: 0.1})
    radius = (1 + np.sqrt(1.4)) / 2
    assert first.period == pytest.approx(2 * np.pi, abs=1e-9)
    expected = np.exp(2 * np.pi * (0.1 + 3 * radius - 5 * radius**2))
    assert sorted(np.abs(first.multipliers)) == pytest.approx([expected, 1.0], abs=1e-8)
    branch = da.symmetry.continue_orbit(first, a, -0.5, step=0.05, most=80)
    assert branch.folds == pytest.approx([-0.25], abs=1e-6)
    assert branch.note == "the orbit shrinks to a relative equilibrium"
    for value, found in zip(branch.values, branch.orbits, strict=True):
        here = found.start @ found.start
        assert value + here - here**2 == pytest.approx(0.0, abs=1e-7)
    kinds = [found.stability for found in branch.orbits]
    assert kinds[0] == "not established" and kinds[-1] == "unstable"
    assert len(branch.plot().axes) == 2


@pytest.mark.long
def test_three_hinged_bodies_have_two_families_with_the_multipliers_of_scipy():
    """The families near the stretched state, and the monodromy by differences of SciPy motions."""
    ends = {(1, 2): (1, 0), (2, 1): (-0.5, 0), (2, 3): (0.5, 0), (3, 2): (-1, 0)}
    chain = da.planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 1], hinges=ends)
    system = chain.system()
    t1, t2, t3 = system.coordinates
    still = {c.dot: 0.4 for c in (t1, t2, t3)}
    shape = {t1: -0.1, t2: 0.2, t3: -0.1}
    turn = {"turn": {t1: 1, t2: 1, t3: 1}}
    found = orbit(system, {**shape, **still}, 2 * np.pi / 0.49, drift=turn)
    assert found.residual < 1e-10
    arms = np.array(
        [[[0, 0], [0, 0], [0, 0]], [[1, 0], [0.5, 0], [0, 0]], [[1, 0], [1, 0], [1, 0]]]
    )

    def mass(angles):
        # velocity of body i is sum_j arms_ij theta_j' turned by a right angle
        turned = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
        place = arms[:, :, :1] * turned[None]
        place = place - place.mean(axis=0)
        return np.einsum("iax,ibx->ab", place, place) + np.eye(3)

    def rates(_t, y):
        angles, speeds = y[:3], y[3:]
        h, slopes = 1e-5, []
        for k in range(3):
            e = h * np.eye(3)[k]
            slopes.append((mass(angles + e) - mass(angles - e)) / (2 * h))
        slopes = np.array(slopes)
        turning = np.einsum("kij,k,j->i", slopes, speeds, speeds)
        force = np.einsum("ijk,j,k->i", slopes, speeds, speeds) / 2 - turning
        return np.concatenate([speeds, np.linalg.solve(mass(angles), force)])

    def end(start):
        return solve_ivp(rates, (0, found.period), start, rtol=1e-11, atol=1e-12).y[:, -1]

    drifted = found.start + np.array([1, 1, 1, 0, 0, 0]) * found.drift["turn"]
    assert np.max(np.abs(end(found.start) - drifted)) < 1e-6
    h = 1e-4
    table = [(end(found.start + h * e) - end(found.start - h * e)) / (2 * h) for e in np.eye(6)]
    own, other = (np.trace(matrix) for matrix in (found.monodromy, np.array(table)))
    assert own == pytest.approx(other, abs=1e-4)
    branch = da.symmetry.continue_orbit(
        found, "energy", found.integrals["energy"] + 0.02, step=0.05
    )
    assert branch.note == "the goal was passed" and branch.periods[-1] > branch.periods[0]


def test_branches_end_where_the_orbit_shrinks_to_a_relative_equilibrium(polar):
    system, r, phi, k = polar
    first = orbit(system, {r: 1.5, phi.dot: 0.6}, 3.4, drift=[phi], parameters={k: 1.0})
    branch = da.symmetry.continue_orbit(first, k, 3.0, step=0.1)
    assert branch.note == "the orbit shrinks to a relative equilibrium"
    assert branch.values[-1] < 1.2905  # where the energy is the least for this momentum


def test_wrong_calls_are_refused(polar):
    system, r, phi, k = polar
    with pytest.raises(ModelError, match="start cannot be used"):
        orbit(system, {"z": 1.0}, 3.0, drift=[phi], parameters={k: 1.0})
    with pytest.raises(ModelError, match="no such integral"):
        orbit(system, {r: 1.5}, 3.0, drift=[phi], parameters={k: 1.0}, hold={"spin": 1.0})
    with pytest.raises(ModelError, match="affine"):
        orbit(system, {r: 1.5}, 3.0, drift={"e": {r: r * phi}}, parameters={k: 1.0})
    x = da.coordinates("x")
    driven = da.System([x], kinetic=x.dot**2 / 2, potential=x * sympy.cos(da.t))
    with pytest.raises(ModelError, match="depend on time"):
        orbit(driven, {x: 1.0}, 6.0)
    falling = da.System([x], kinetic=x.dot**2 / 2, potential=-(x**2) / 2)
    with pytest.raises(RunError, match="No relative periodic orbit"):
        orbit(falling, {x: 1.0, x.dot: 0.3}, 2.0)
    first = orbit(system, {r: 1.5, phi.dot: 0.6}, 3.4, drift=[phi], parameters={k: 1.0})
    with pytest.raises(ModelError, match="neither a parameter"):
        da.symmetry.continue_orbit(first, "c", 1.0)
