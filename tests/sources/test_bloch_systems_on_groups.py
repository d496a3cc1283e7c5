"""Systems on groups outside the source documents, beside models in NumPy and SciPy alone."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import fsolve
from sympy import cos, sin

import dalembert as da
from dalembert.lie import LieGroup
from recorded_differences import apart


def test_the_rigid_body_on_so5_is_reduced_and_reconstructed(record_property):
    Lambda = np.array([1.0, 2.0, 3.0, 1.5, 0.7])
    upper = np.triu(np.random.default_rng(1).normal(size=(5, 5)), 1)
    M = upper - upper.T
    sums = Lambda[:, None] + Lambda

    def rates(_t, y):
        Q, momentum = y.reshape(2, 5, 5)
        Omega = momentum / sums
        return np.concatenate([(Q @ Omega).ravel(), (momentum @ Omega - Omega @ momentum).ravel()])

    first = np.concatenate([np.eye(5).ravel(), M.ravel()])
    other = solve_ivp(rates, (0, 5), first, method="DOP853", rtol=1e-12, atol=1e-13)
    Q, momentum = other.y[:, -1].reshape(2, 5, 5)
    body = da.lie.rigid_body(Lambda.tolist())
    motion = da.simulate(body, body.start(Q=np.eye(5), M=M), (0, 5), rtol=1e-12)
    reached = [motion["Q"][-1], motion["M"][-1]]
    assert apart(record_property, "rigid body on SO(5)", reached, [Q, momentum]) < 1e-9
    spatial = [Q_k @ M_k @ Q_k.T for Q_k, M_k in zip(motion["Q"], motion["M"], strict=True)]
    assert np.max(np.abs(np.array(spatial) - M)) < 1e-9


def continuous_cost(group, inertia, end):
    """Euler's and Poincare's equations with commutators of matrices, by shooting in SciPy."""
    E = np.array(group.generators)
    flat = E.reshape(len(E), -1).T
    brackets = np.einsum("aij,bjk->abik", E, E) - np.einsum("bij,ajk->abik", E, E)
    table = brackets.reshape(len(E) ** 2, -1).T
    C = np.linalg.lstsq(flat, table, rcond=None)[0].reshape(len(E), len(E), len(E))  # c, a, b
    size, d = E.shape[1], len(E)

    def rates(_t, y):
        xi, g = y[:d], y[d:-1].reshape(size, size)
        turned = np.einsum("c,cab,a->b", inertia * xi, C, xi)
        moved = g @ np.einsum("a,aij->ij", xi, E)
        return np.concatenate([turned / inertia, moved.ravel(), [inertia @ xi**2 / 2]])

    def arrive(xi):
        start = np.concatenate([xi, np.eye(size).ravel(), [0.0]])
        return solve_ivp(rates, (0, 1), start, method="DOP853", rtol=1e-11, atol=1e-12).y[:, -1]

    def missed(xi):
        gap = np.linalg.solve(end, arrive(xi)[d:-1].reshape(size, size))
        return E.reshape(d, -1) @ (gap - np.linalg.inv(gap)).ravel()

    return arrive(fsolve(missed, group.log(end), xtol=1e-12))[-1]


@pytest.mark.parametrize(
    ("group", "inertia", "way"),
    [
        (LieGroup.SU(2), [1.0, 2.0, 3.0], [0.4, 0.6, -0.5]),
        (LieGroup.SE(3), [1.0, 2.0, 3.0, 4.0, 5.0, 2.0], [0.4, 0.6, -0.5, 0.3, 0.2, 0.7]),
    ],
    ids=["SU(2)", "SE(3)"],
)
def test_optimal_control_on_a_group_converges_to_continuous_shooting(
    group, inertia, way, record_property
):
    end = expm(np.einsum("a,aij->ij", np.array(way), np.array(group.generators)))
    exact = continuous_cost(group, np.array(inertia), end)
    start = np.eye(group.size)
    costs = [
        da.control.discrete_group_extremal(group, inertia, start, end, (0, 1), count).cost
        for count in (8, 16)
    ]
    name = f"optimal control on {group.name}"
    assert apart(record_property, name, (4 * costs[1] - costs[0]) / 3, exact) < 1e-5
    assert 3.9 < (costs[0] - exact) / (costs[1] - exact) < 4.1


def body_rates(phi, theta, psi):
    """Omega in the body for the angles of Euler (3, 1, 3)."""
    return (
        phi.dot * sin(theta) * sin(psi) + theta.dot * cos(psi),
        phi.dot * sin(theta) * cos(psi) - theta.dot * sin(psi),
        phi.dot * cos(theta) + psi.dot,
    )


def test_a_satellite_with_a_rotor_is_reduced_and_stabilised_about_its_middle_axis(record_property):
    phi, theta, psi, alpha = da.coordinates("phi theta psi alpha")
    inertia, J = np.array([1.0, 2.0, 3.0]), 0.5
    w = body_rates(phi, theta, psi)
    kinetic = sum(i * c**2 for i, c in zip(inertia, w, strict=True)) / 2
    kinetic += sympy.Rational(1, 2) * J * (w[1] + alpha.dot) ** 2  # the rotor spins about axis 2
    satellite = da.System([phi, theta, psi, alpha], kinetic=kinetic)
    start = {theta: 1.0, psi: 0.3, phi.dot: 0.4, theta.dot: -0.2, psi.dot: 0.7, alpha.dot: 1.5}
    motion = da.simulate(satellite, start, (0, 8), rtol=1e-12)
    values = {s: motion[s.name] for s in (theta, psi, phi.dot, theta.dot, psi.dot, alpha.dot)}
    numbers = sympy.lambdify(list(values), [*w, w[1] + alpha.dot])(*values.values())
    omega = np.array(numbers[:3])
    spin = J * numbers[3][0]

    def rates(_t, Pi):
        Omega = (Pi - np.array([0, spin, 0])) / inertia
        return np.cross(Pi, Omega)

    Pi = inertia[:, None] * omega + np.array([0, spin, 0])[:, None]
    other = solve_ivp(rates, (0, 8), Pi[:, 0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert apart(record_property, "satellite with a rotor", Pi[:, -1], other) < 1e-9
    assert np.ptp(numbers[3]) < 1e-10  # the rotor's momentum is conserved
    # Judged on the reduced space: turns about axis 2 are unstable without spin, stable with enough.
    m = sympy.symbols("m1:4", real=True)
    dual = da.lie.PoissonStructure.lie_poisson(LieGroup.SO(3), m, sign=-1)
    point, casimir = {m[0]: 0, m[1]: 2, m[2]: 0}, sum(c**2 for c in m)
    for push, verdict in ((0, "unstable"), (3, "stable")):
        H = m[0] ** 2 / 2 + (m[1] - push) ** 2 / 4 + m[2] ** 2 / 6
        assert da.lie.energy_casimir(dual, H, [casimir], point).stability == verdict
        steady = (2 - push) / 2  # Omega_2; linearised Euler equations by hand
        growth = -(2 / 3 - steady) * (2 - steady)  # p_1'' = growth p_1, by m_2 / I_3 and m_2 / I_1
        assert (growth > 0) == (verdict == "unstable")


@pytest.mark.long
def test_suslovs_body_is_judged_and_compared(record_property):
    phi, theta, psi = da.coordinates("phi theta psi")
    I = np.array([[2.0, 0.0, 0.3], [0.0, 3.0, -0.4], [0.3, -0.4, 1.5]])
    w = sympy.Matrix(body_rates(phi, theta, psi))
    kinetic = (w.T * sympy.Matrix(I.tolist()) * w)[0] / 2
    hold = da.velocity(w[2], name="no_spin")
    body = da.System([phi, theta, psi], kinetic=kinetic, constraints=[hold])
    described = da.describe(body)
    assert "no_spin" in str(described)
    start = {theta: 1.2, psi: 0.4, phi.dot: 0.5, theta.dot: 0.3}
    motion = da.simulate(body, start, (0, 6), rtol=1e-12)
    values = {s: motion[s.name] for s in (theta, psi, phi.dot, theta.dot, psi.dot)}
    omega = np.array(sympy.lambdify(list(values), list(w))(*values.values()))

    def rates(_t, pair):
        Omega = np.array([*pair, 0.0])
        return np.linalg.solve(I[:2, :2], np.cross(I @ Omega, Omega)[:2])

    other = solve_ivp(rates, (0, 6), omega[:2, 0], method="DOP853", rtol=1e-12, atol=1e-13)
    assert np.max(np.abs(omega[2])) < 1e-9
    assert apart(record_property, "Suslov's body", omega[:2, -1], other.y[:, -1]) < 1e-8
    energy = np.einsum("it,ij,jt->t", omega, I, omega) / 2
    assert np.ptp(energy) < 1e-9
    assert da.compare(body).worst < 1e-8


def test_a_planar_skater_turns_by_its_mechanical_connection(record_property):
    ends = {(1, 2): (1, 0), (2, 1): (-0.5, 0), (2, 3): (0.5, 0), (3, 2): (-1, 0)}
    chain = da.planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 1], hinges=ends)
    system = chain.system()
    a, b, c = system.coordinates
    arms = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 1.0, 1.0]])

    def mass(angles):
        turned = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
        place = arms[:, :, None] * turned[None]
        place = place - place.mean(axis=0)
        return np.einsum("iax,ibx->ab", place, place) + np.eye(3)

    angles = np.array([0.2, -0.3, 0.5])
    shape_rates = np.array([0.7, -0.4])
    J = mass(angles)
    free = np.array([0.0, shape_rates[0], shape_rates.sum()])
    first = -(J.sum(axis=0) @ free) / J.sum()
    speeds = free + first
    start = dict(zip((a, b, c), angles, strict=True))
    start |= dict(zip((a.dot, b.dot, c.dot), speeds, strict=True))
    motion = da.simulate(system, start, (0, 6), rtol=1e-12)

    def rates(_t, y):
        q, v = y[:3], y[3:]
        by = np.array([mass(q + 1e-30j * e).imag / 1e-30 for e in np.eye(3)])
        force = np.einsum("ijk,j,k->i", by, v, v) / 2 - np.einsum("kij,k,j->i", by, v, v)
        return np.concatenate([v, np.linalg.solve(mass(q), force)])

    other = solve_ivp(rates, (0, 6), [*angles, *speeds], method="DOP853", rtol=1e-12, atol=1e-13)
    reached = np.array([motion[s.name][-1] for s in (a, b, c)])
    assert apart(record_property, "planar skater", reached, other.y[:3, -1]) < 1e-8
    # Reconstructed from the shapes alone: J = 0, so that xi = A v = 0 at every instant.
    turn = da.symmetry.momentum_map(system, {"turn": {a: 1, b: 1, c: 1}})
    for k in range(0, len(motion.t), max(1, len(motion.t) // 10)):
        place = {s: motion[s.name][k] for s in (a, b, c)}
        v = np.array([motion[s.dot.name][k] for s in (a, b, c)])
        assert abs((turn.mechanical_connection(place) @ v)[0]) < 1e-9
