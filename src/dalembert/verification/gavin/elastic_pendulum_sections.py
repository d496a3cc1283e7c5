"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints: sections 9 to 11 (eqs. 32 to 45, listings)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...errors import SingularError
from ...formulations.registry import derive
from ...gallery._shared import ElasticPendulum
from ...integrate.simulate import simulate
from ...model.forces import gravity, particle, spring
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ..independent.elastic_pendulum_model import Pendulum, Swing, over_swings, pendulum_motion
from ..numeric import derivative, distance, gallery_probe, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random pendulums and states"
PATHS = "random pendulums on random paths"


@claim(
    "G-32",
    "T = M ((l + u) theta_dot)^2 / 2 + M u_dot^2 / 2",
    how=f"the library's particle at r(q), and |r_q q_dot|^2 M / 2 by complex steps, {RANDOM}",
)
def kinetic_energy() -> float:
    shape = ElasticPendulum()
    energy = particle(shape.mass, shape.position).kinetic

    def residual(s: Swing) -> float:
        speed = derivative(s.pendulum.position, s.q) @ s.v
        closed = s.pendulum.kinetic(s.q, s.v)
        stated = s.probe.value([energy], 0.0, s.state)[0]
        return largest(distance(stated, closed), distance(s.pendulum.M / 2 * speed @ speed, closed))

    return over_swings(residual)


@claim(
    "G-33",
    "V = M g (l - (l + u) cos(theta)) + K u^2 / 2",
    how=f"the library's weight at height l + y and spring against the formula, {RANDOM}",
)
def potential_energy() -> float:
    shape = ElasticPendulum()
    weight = gravity(shape.mass, shape.length + shape.position[1], shape.g)
    energy = (weight + spring(shape.stiffness, shape.stretch)).potential

    def residual(s: Swing) -> float:
        closed = s.pendulum.potential(s.q)
        in_plane = s.pendulum.potential_at(s.pendulum.position(s.q))
        return largest(distance(s.probe.value([energy], 0.0, s.state)[0], closed), distance(in_plane, closed))

    return over_swings(residual)


def _momentum_rate(s: Swing) -> Any:
    def along(w: Any) -> Any:
        q, v = s.path(w[0])
        return derivative_of_kinetic(s, q, v)

    return derivative(along, [0.0])[:, 0]


def derivative_of_kinetic(s: Swing, q: Any, v: Any) -> Any:
    """T_v for complex q and v, as momenta r_q^T M r_q v."""
    J = s.pendulum.jacobian(q)
    return s.pendulum.M * J.T @ J @ v


@claim(
    "G-34",
    "d/dt T_thetadot = M (2 (l + u) u_dot theta_dot + (l + u)^2 theta_ddot)",
    how=f"complex steps of r_q^T M r_q q_dot, {PATHS}",
)
def rate_of_angular_momentum() -> float:
    def residual(s: Swing) -> float:
        reach = s.pendulum.l + s.q[1]
        printed = s.pendulum.M * (2 * reach * s.v[1] * s.v[0] + reach**2 * s.z[0])
        return distance(_momentum_rate(s)[0], printed)

    return over_swings(residual)


@claim("G-35", "T does not depend on theta", how=f"complex steps of T in Cartesian velocities, {RANDOM}")
def kinetic_energy_by_angle() -> float:
    def residual(s: Swing) -> float:
        return float(derivative(lambda x: s.pendulum.M / 2 * np.sum((s.pendulum.jacobian(x) @ s.v) ** 2), s.q)[0])

    return over_swings(residual)


@claim("G-36", "V_theta = M g (l + u) sin(theta)", how=f"complex steps of V(r(q)), {RANDOM}")
def potential_by_angle() -> float:
    def residual(s: Swing) -> float:
        by_steps = derivative(lambda x: s.pendulum.potential_at(s.pendulum.position(x)), s.q)[0]
        return distance(s.pendulum.M * s.pendulum.g * (s.pendulum.l + s.q[1]) * np.sin(s.q[0]), by_steps)

    return over_swings(residual)


@claim("G-37", "d/dt T_udot = M u_ddot", how=f"complex steps of r_q^T M r_q q_dot, {PATHS}")
def rate_of_stretch_momentum() -> float:
    return over_swings(lambda s: distance(_momentum_rate(s)[1], s.pendulum.M * s.z[1]))


@claim("G-38", "T_u = M (l + u) theta_dot^2", how=f"complex steps of T in Cartesian velocities, {RANDOM}")
def kinetic_energy_by_stretch() -> float:
    def residual(s: Swing) -> float:
        by_steps = derivative(lambda x: s.pendulum.M / 2 * np.sum((s.pendulum.jacobian(x) @ s.v) ** 2), s.q)[1]
        return distance(s.pendulum.M * (s.pendulum.l + s.q[1]) * s.v[0] ** 2, by_steps)

    return over_swings(residual)


@claim("G-39", "V_u = K u - M g cos(theta)", how=f"complex steps of V(r(q)), {RANDOM}")
def potential_by_stretch() -> float:
    def residual(s: Swing) -> float:
        by_steps = derivative(lambda x: s.pendulum.potential_at(s.pendulum.position(x)), s.q)[1]
        return distance(s.pendulum.K * s.q[1] - s.pendulum.M * s.pendulum.g * np.cos(s.q[0]), by_steps)

    return over_swings(residual)


def _moments(s: Swing, length: float) -> Any:
    """The left side of eq. 40 with `length` for l."""
    reach, M = length + s.q[1], s.pendulum.M
    inertia = M * (2 * reach * s.v[1] * s.v[0] + reach**2 * s.z[0])
    return inertia + M * s.pendulum.g * reach * np.sin(s.q[0])


def _forces(s: Swing, length: float) -> Any:
    """The left side of eq. 41 with `length` for l."""
    M, pull = s.pendulum.M, s.pendulum.K * s.q[1] - s.pendulum.M * s.pendulum.g * np.cos(s.q[0])
    return M * s.z[1] - M * (length + s.q[1]) * s.v[0] ** 2 + pull


@claim(
    "G-40",
    "M (2 (l + u) u_dot theta_dot + (l + u)^2 theta_ddot) + M g (l + u) sin(theta) = 0",
    how=f"the library's first equation at accelerations it need not have, {PATHS}",
)
def moment_equation() -> float:
    return over_swings(lambda s: distance(s.library_euler[0], _moments(s, s.pendulum.l)))


@claim(
    "G-41",
    "M u_ddot - M (l + u) theta_dot^2 + K u - M g cos(theta) = 0",
    how=f"the library's second equation at accelerations it need not have, {PATHS}",
)
def force_equation() -> float:
    return over_swings(lambda s: distance(s.library_euler[1], _forces(s, s.pendulum.l)))


@claim(
    "G-42",
    "The mass matrix is diag(M (l + u)^2, M), with its right side",
    how=f"library mass matrix and forcing, {RANDOM}",
)
def matrix_form() -> float:
    def residual(s: Swing) -> float:
        blocks = s.probe.blocks(0.0, s.state)
        return largest(distance(blocks.G, s.pendulum.mass(s.q)), distance(blocks.f, s.pendulum.forcing(s.q, s.v)))

    return over_swings(residual)


@claim(
    "G-42-singular",
    "Where l + u = 0 the mass matrix is singular and the accelerations are not determined",
    how="least eigenvalue of the library's mass matrix there, and the library's refusal to give rates",
)
def singular_mass_matrix() -> float:
    def residual(s: Swing) -> float:
        state = np.array([s.q[0], -s.pendulum.l, *s.v])
        least = float(np.linalg.eigvalsh(s.probe.blocks(0.0, state).G)[0])
        try:
            s.probe.rates(0.0, state)
        except SingularError:
            return least
        return 1.0

    return over_swings(residual)


@claim(
    "G-43",
    "The equations have the form M(q, t) q_ddot = Q(q, q_dot, t)",
    how=f"library accelerations against a dense solve of M and Q by complex steps, {RANDOM}",
)
def general_form() -> float:
    def residual(s: Swing) -> float:
        rest = s.pendulum.euler(s.q, s.v, np.zeros(2))
        J = derivative(s.pendulum.position, s.q)
        return distance(s.accelerations, np.linalg.solve(s.pendulum.M * J.T @ J, -rest))

    return over_swings(residual)


def _turning(s: Swing, length: float) -> Any:
    return -(2 * s.v[1] * s.v[0] + s.pendulum.g * np.sin(s.q[0])) / (length + s.q[1])


def _stretching(s: Swing, length: float) -> Any:
    spring_pull = s.pendulum.K / s.pendulum.M * s.q[1]
    return (length + s.q[1]) * s.v[0] ** 2 - spring_pull + s.pendulum.g * np.cos(s.q[0])


@claim("G-44", "theta_ddot = -(2 u_dot theta_dot + g sin(theta)) / (l + u)", how=f"library accelerations, {RANDOM}")
def turning() -> float:
    return over_swings(lambda s: distance(s.accelerations[0], _turning(s, s.pendulum.l)))


@claim("G-45", "u_ddot = (l + u) theta_dot^2 - (K/M) u + g cos(theta)", how=f"library accelerations, {RANDOM}")
def stretching() -> float:
    return over_swings(lambda s: distance(s.accelerations[1], _stretching(s, s.pendulum.l)))


@claim(
    "G-10.1",
    "The forced oscillator obeys M u'' + C u' + K u = f(t), whose motion under F0 cos(Omega t) is known",
    how="the library's equation at random states, and its motion against transient plus response",
    tolerance=1e-9,
)
def forced_oscillator() -> float:
    M, K, C, F0, Omega, u0, v0 = 1.3, 18.0, 0.7, 1.9, 3.6, -0.2, 0.5
    values = {"M": M, "K": K, "C": C, "F0": F0, "Omega": Omega}
    times = np.linspace(0, 6, 25)
    scenario = gallery.load("forced-oscillator")
    motion = simulate(scenario, {"u": u0, "u_dot": v0}, (0, 6), parameters=values, at=times, rtol=1e-12)
    response = F0 / (K - M * Omega**2 + 1j * C * Omega)
    decay, ringing = C / (2 * M), np.sqrt(K / M - (C / (2 * M)) ** 2)
    a = u0 - response.real
    b = (v0 - (1j * Omega * response).real + decay * a) / ringing
    transient = np.exp(-decay * times) * (a * np.cos(ringing * times) + b * np.sin(ringing * times))
    probe = gallery_probe("forced-oscillator", "lagrange").with_parameters(**values)
    found = [distance(motion["u"], transient + (response * np.exp(1j * Omega * times)).real)]
    for time, u, v in np.random.default_rng(10).uniform(-1, 1, (4, 3)):
        found.append(distance(M * probe.rates(time, [u, v])[1] + C * v + K * u, F0 * np.cos(Omega * time)))
    return worst(found)


@claim(
    "G-10.1.1",
    "Lagrange's recipe in a computer algebra system gives M u'' + K u = -C u' + f(t) for any f",
    how="the library's symbolic equation with three forcing functions, at random states",
)
def oscillator_by_recipe() -> float:
    u = coordinates("u")
    M, C, K = parameters("M C K", positive=True)
    random, found = np.random.default_rng(12), []
    for forcing in (sympy.sin(3 * t), sympy.exp(-t), t**2):
        system = System([u], kinetic=M / 2 * u.dot**2, potential=K / 2 * u**2, forces={u: -C * u.dot + forcing})
        blocks = derive(system).symbolic
        left = sympy.lambdify([u, u.dot, u.ddot, t, M, C, K], blocks.metric[0] * u.ddot - blocks.force[0], "numpy")
        for x, v, z, time, m, c, k in random.uniform(0.2, 1.5, (3, 7)):
            expected = m * z + k * x + c * v - float(forcing.subs(t, time))
            found.append(distance(left(x, v, z, time, m, c, k), expected))
    return worst(found)


def _listing(residual: Callable[[Swing, float], float]) -> Corrected:
    """A listing's formula with l, and with the digit 1 that stands in its place."""
    return Corrected(over_swings(lambda s: residual(s, s.pendulum.l)), over_swings(lambda s: residual(s, 1.0)))


@claim(
    "G-10.1.2",
    "Lagrange's recipe needs the derivative of T by the coordinate; the listing differentiates a U that it never defined,"
    " which only the oscillator forgives",
    how=f"the recipe for the elastic pendulum with T_u, and with zero in its place, against the library, {PATHS}",
)
def oscillator_listing() -> Corrected:
    def recipe(s: Swing, by_stretch: float) -> float:
        by_potential = derivative(s.pendulum.potential, s.q)[1]
        return distance(_momentum_rate(s)[1] - by_stretch + by_potential, s.library_euler[1])

    return Corrected(
        over_swings(lambda s: recipe(s, derivative(lambda x: s.pendulum.kinetic(x, s.v), s.q)[1])),
        over_swings(lambda s: recipe(s, 0.0)),
    )


@claim(
    "G-10.2.1-length",
    "The first listing's energies have l + u, where the print has 1 + u",
    how=f"T and V with either length against the library's energy, {RANDOM} with l other than 1",
)
def first_listing_length() -> Corrected:
    def residual(s: Swing, length: float) -> float:
        reach, M, g = length + s.q[1], s.pendulum.M, s.pendulum.g
        kinetic = M / 2 * ((reach * s.v[0]) ** 2 + s.v[1] ** 2)
        potential = M * g * (length - reach * np.cos(s.q[0])) + s.pendulum.K / 2 * s.q[1] ** 2
        return distance(kinetic + potential, s.probe.blocks(0.0, s.state).energy)

    return _listing(residual)


@claim(
    "G-10.2.1-squares",
    "Its equations have second derivatives, where the printed output has squares of first ones",
    how=f"both equations with q'' and u'', and with q'^2 and u'^2, against the library, {PATHS}",
)
def first_listing_squares() -> Corrected:
    def residual(s: Swing, second: Any) -> float:
        reach, M, g = s.pendulum.l + s.q[1], s.pendulum.M, s.pendulum.g
        inertia = 2 * M * reach * s.v[0] * s.v[1] + M * reach**2 * second[0]
        first = inertia + M * g * reach * np.sin(s.q[0])
        pull = M * g * np.cos(s.q[0]) - s.pendulum.K * s.q[1]
        return distance([first, M * second[1] - M * reach * s.v[0] ** 2 - pull], s.library_euler)

    return Corrected(over_swings(lambda s: residual(s, s.z)), over_swings(lambda s: residual(s, s.v**2)))


@claim(
    "G-10.2.2",
    "The second listing's equations have l + u, where the print has 1 + u",
    how=f"both collected equations with either length against the library, {PATHS} with l other than 1",
)
def second_listing() -> Corrected:
    def residual(s: Swing, length: float) -> float:
        M, pendulum = s.pendulum.M, s.pendulum
        collected = s.q[1] * (pendulum.K - M * s.v[0] ** 2)
        second = -pendulum.g * M * np.cos(s.q[0]) - length * M * s.v[0] ** 2 + collected + M * s.z[1]
        return distance([_moments(s, length), second], s.library_euler)

    return _listing(residual)


@claim(
    "G-sec11-listing",
    "The simulation's accelerations and energies have l + u, where the listing has 1 + u (harmless only for l = 1)",
    how=f"accelerations and energies with either length against the library, {RANDOM} with l other than 1",
)
def simulation_listing() -> Corrected:
    def residual(s: Swing, length: float) -> float:
        reach = length + s.q[1]
        kinetic = s.pendulum.M / 2 * ((reach * s.v[0]) ** 2 + s.v[1] ** 2)
        height = length - reach * np.cos(s.q[0])
        energy = kinetic + s.pendulum.M * s.pendulum.g * height + s.pendulum.K / 2 * s.q[1] ** 2
        found = [*s.accelerations, s.probe.blocks(0.0, s.state).energy]
        return distance([_turning(s, length), _stretching(s, length), energy], found)

    return _listing(residual)


FIGURE = {"theta": 0.0, "u": 1.0, "theta_dot": 0.5, "u_dot": 0.0}


def _closest(near: float, target: Any) -> tuple[float, float]:
    """The time near `near` at which Figure 1's motion is closest to a state, and how close."""
    from scipy.optimize import minimize_scalar

    motion = pendulum_motion("elastic-pendulum", 50.0, 501)

    def gap(time: float) -> float:
        return float(np.linalg.norm(motion.sol(time) - target))

    grid = np.linspace(near - 0.5, near + 0.5, 401)
    best = float(grid[int(np.argmin(np.linalg.norm(motion.sol(grid) - np.asarray(target)[:, None], axis=0)))])
    found = minimize_scalar(gap, bounds=(best - 0.005, best + 0.005), method="bounded", options={"xatol": 1e-9})
    return float(found.x), float(found.fun)


@claim(
    "G-Figure-1",
    "The record does not repeat after 24 s: its mirror image nearly does after 24.106 s (distance 0.0027), and the record"
    " itself after 48.212 s (0.005), neither exactly",
    how="closest approaches of a library motion to its start and to the mirror image; as printed, the distance from the"
    " start around 24 s",
    tolerance=1e-3,
)
def figure_one() -> Corrected:
    start = np.array(list(FIGURE.values()))
    mirror_time, mirror_gap = _closest(24.1, start * [-1, 1, -1, 1])
    return_time, return_gap = _closest(48.2, start)
    right = worst([mirror_time - 24.106, return_time - 48.212, mirror_gap - 0.0027, return_gap - 0.005])
    return Corrected(right, _closest(24.0, start)[1])


@claim(
    "G-Figure-1-periods",
    "Spring and pendulum periods are 1.242 s and 2.007 s, nearly in the golden ratio",
    how="periods from the library's mass matrix and the derivative of its forcing at rest length, without weight or spring",
    tolerance=1e-3,
)
def figure_one_periods() -> float:
    probe = gallery_probe("elastic-pendulum", "lagrange")

    def period(index: int, **changes: float) -> float:
        at, step = probe.with_parameters(**changes), 1e-5
        ahead, behind = np.zeros(4), np.zeros(4)
        ahead[index], behind[index] = step, -step
        stiffness = -(at.rates(0.0, ahead)[2 + index] - at.rates(0.0, behind)[2 + index]) / (2 * step)
        return float(2 * np.pi / np.sqrt(stiffness))

    spring_period, pendulum_period = period(1), period(0)
    golden = (np.sqrt(5) - 1) / 2
    return worst([spring_period - 1.242, pendulum_period - 2.007, spring_period / pendulum_period - golden])


@claim(
    "G-Figure-1-energy",
    "Without damping and forcing T + V is constant",
    how="T + V by the formulas along a library motion over fifty seconds",
    tolerance=1e-8,
)
def figure_one_energy() -> float:
    state = pendulum_motion("elastic-pendulum", 50.0, 501).y
    probe = gallery_probe("elastic-pendulum", "lagrange")
    pendulum = Pendulum.of(probe.parameters)
    return float(np.ptp(pendulum.kinetic(state[:2], state[2:]) + pendulum.potential(state[:2])))


@claim(
    "G-sec11-state",
    "The state (theta, u, theta_dot, u_dot) obeys a first-order system x_dot = f(t, x)",
    how="library motion over five seconds against SciPy's integration of eqs. 44 and 45",
    tolerance=1e-8,
)
def state_form() -> float:
    from scipy.integrate import solve_ivp

    motion = pendulum_motion("elastic-pendulum", 5.0)

    def field(_: float, x: Any) -> Any:
        return [x[2], x[3], -(2 * x[3] * x[2] + 9.8 * np.sin(x[0])) / (1 + x[1]),
                (1 + x[1]) * x[2] ** 2 - 25.6 * x[1] + 9.8 * np.cos(x[0])]  # fmt: skip

    reference = solve_ivp(field, (0, 5), list(FIGURE.values()), "DOP853", motion.t, rtol=1e-12, atol=1e-13)
    return distance(motion.y, reference.y)
