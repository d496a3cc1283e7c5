"""Gavin: sections 9 to 11, the elastic pendulum (eqs. 32 to 45, listings)."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from ... import gallery
from ...errors import SingularError
from ...formulations.registry import derive
from ...gallery.shared_parts import ElasticPendulum
from ...integrate.simulate import simulate
from ...model.forces import gravity, particle, spring
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ...typing import Array
from ..independent.elastic_pendulum_model import pendulum_motion
from ..numeric import Residual, Residuals, derivative, distance, gallery_probe
from ..row_registry import Corrected, listed
from .pendulum_samples import DIGITS, FREE, PendulumSample, free, gallery_pendulum

SHAPE = ElasticPendulum()


@listed("G-32", over=free)
def kinetic_energy(s: PendulumSample) -> Residual:
    speed, closed = derivative(s.pendulum.position, s.q) @ s.v, s.pendulum.kinetic(s.q, s.v)
    stated = s.probe.value([particle(SHAPE.mass, SHAPE.position).kinetic], 0.0, s.state)[0]
    return distance(stated, closed), distance(s.pendulum.M / 2 * speed @ speed, closed)


@listed("G-33", over=free)
def potential_energy(s: PendulumSample) -> Residual:
    weight = gravity(SHAPE.mass, SHAPE.length + SHAPE.position[1], SHAPE.g)
    energy = (weight + spring(SHAPE.stiffness, SHAPE.stretch)).potential
    closed, in_plane = s.pendulum.potential(s.q), s.pendulum.potential_at(s.pendulum.position(s.q))
    return distance(s.probe.value([energy], 0.0, s.state)[0], closed), distance(in_plane, closed)


def _momentum_rate(s: PendulumSample) -> Array:
    """d/dt T_v along the path of a swing, with T_v = r_q^T M r_q v."""

    def along(w: Array) -> Any:
        q, v = s.path(w[0])
        J = s.pendulum.jacobian(q)
        return s.pendulum.M * J.T @ J @ v

    return derivative(along, [0.0])[:, 0]


def _kinetic_by_position(s: PendulumSample) -> Array:
    p = s.pendulum
    return derivative(lambda x: p.M / 2 * np.sum((p.jacobian(x) @ s.v) ** 2), s.q)


def _potential_by_position(s: PendulumSample) -> Array:
    return derivative(lambda x: s.pendulum.potential_at(s.pendulum.position(x)), s.q)


listed("G-34", over=free)(
    lambda s: distance(
        _momentum_rate(s)[0],
        s.pendulum.M * (2 * s.reach * s.v[1] * s.v[0] + s.reach**2 * s.z[0]),
    )
)
listed("G-35", over=free)(lambda s: _kinetic_by_position(s)[0])
listed("G-36", over=free)(
    lambda s: distance(
        s.pendulum.M * s.pendulum.g * s.reach * np.sin(s.q[0]), _potential_by_position(s)[0]
    )
)
listed("G-37", over=free)(lambda s: distance(_momentum_rate(s)[1], s.pendulum.M * s.z[1]))
listed("G-38", over=free)(
    lambda s: distance(s.pendulum.M * s.reach * s.v[0] ** 2, _kinetic_by_position(s)[1])
)
listed("G-39", over=free)(
    lambda s: distance(
        s.pendulum.K * s.q[1] - s.pendulum.M * s.pendulum.g * np.cos(s.q[0]),
        _potential_by_position(s)[1],
    )
)


def _moments(s: PendulumSample, length: float) -> float:
    """The left side of eq. 40 with `length` for l."""
    reach, M = length + s.q[1], s.pendulum.M
    inertia = M * (2 * reach * s.v[1] * s.v[0] + reach**2 * s.z[0])
    return float(inertia + M * s.pendulum.g * reach * np.sin(s.q[0]))


def _forces(s: PendulumSample, length: float) -> float:
    """The left side of eq. 41 with `length` for l."""
    M, pull = s.pendulum.M, s.pendulum.K * s.q[1] - s.pendulum.M * s.pendulum.g * np.cos(s.q[0])
    return float(M * s.z[1] - M * (length + s.q[1]) * s.v[0] ** 2 + pull)


listed("G-40", over=free)(lambda s: distance(s.library_euler[0], _moments(s, s.pendulum.l)))
listed("G-41", over=free)(lambda s: distance(s.library_euler[1], _forces(s, s.pendulum.l)))
listed("G-42", over=free)(
    lambda s: (
        distance(s.blocks.G, s.pendulum.mass(s.q)),
        distance(s.blocks.f, s.pendulum.forcing(s.q, s.v)),
    )
)


@listed("G-42-singular", over=free)
def singular_mass_matrix(s: PendulumSample) -> Residual:
    state = np.array([s.q[0], -s.pendulum.l, *s.v])
    least = float(np.linalg.eigvalsh(s.probe.blocks(0.0, state).G)[0])
    try:
        s.probe.rates(0.0, state)
    except SingularError:
        return least
    return 1.0


@listed("G-43", over=free)
def general_form(s: PendulumSample) -> Residual:
    rest, J = s.pendulum.euler(s.q, s.v, np.zeros(2)), derivative(s.pendulum.position, s.q)
    return distance(s.accelerations, np.linalg.solve(s.pendulum.M * J.T @ J, -rest))


def _turning(s: PendulumSample, length: float) -> float:
    return float(-(2 * s.v[1] * s.v[0] + s.pendulum.g * np.sin(s.q[0])) / (length + s.q[1]))


def _stretching(s: PendulumSample, length: float) -> float:
    spring_pull = s.pendulum.K / s.pendulum.M * s.q[1]
    return float((length + s.q[1]) * s.v[0] ** 2 - spring_pull + s.pendulum.g * np.cos(s.q[0]))


listed("G-44", over=free)(lambda s: distance(s.accelerations[0], _turning(s, s.pendulum.l)))
listed("G-45", over=free)(lambda s: distance(s.accelerations[1], _stretching(s, s.pendulum.l)))


@listed("G-10.1")
def forced_oscillator() -> Residual:
    M, K, C, F0, Omega, u0, v0 = 1.3, 18.0, 0.7, 1.9, 3.6, -0.2, 0.5
    values = {"M": M, "K": K, "C": C, "F0": F0, "Omega": Omega}
    times, start = np.linspace(0, 6, 25), {"u": u0, "u_dot": v0}
    scenario = gallery.load("forced-oscillator")
    motion = simulate(scenario, start, (0, 6), parameters=values, at=times, rtol=1e-12)
    response = F0 / (K - M * Omega**2 + 1j * C * Omega)
    decay, ringing = C / (2 * M), np.sqrt(K / M - (C / (2 * M)) ** 2)
    a = u0 - response.real
    b = (v0 - (1j * Omega * response).real + decay * a) / ringing
    transient = np.exp(-decay * times) * (a * np.cos(ringing * times) + b * np.sin(ringing * times))
    probe = gallery_probe("forced-oscillator", "lagrange").with_parameters(**values)
    states = np.random.default_rng(10).uniform(-1, 1, (4, 3))
    return distance(motion["u"], transient + (response * np.exp(1j * Omega * times)).real), [
        distance(M * probe.rates(time, [u, v])[1] + C * v + K * u, F0 * np.cos(Omega * time))
        for time, u, v in states
    ]


@listed("G-10.1.1")
def oscillator_by_recipe() -> Residuals:
    u = coordinates("u")
    M, C, K = parameters("M C K", positive=True)
    random = np.random.default_rng(12)
    energies = {"kinetic": M / 2 * u.dot**2, "potential": K / 2 * u**2}
    for forcing in (sympy.sin(3 * t), sympy.exp(-t), t**2):
        blocks = derive(System([u], **energies, forces={u: -C * u.dot + forcing})).symbolic
        equation = blocks.metric[0] * u.ddot - blocks.force[0]
        left = sympy.lambdify([u, u.dot, u.ddot, t, M, C, K], equation, "numpy")
        for x, v, z, time, m, c, k in random.uniform(0.2, 1.5, (3, 7)):
            expected = m * z + k * x + c * v - float(forcing.subs(t, time))
            yield distance(left(x, v, z, time, m, c, k), expected)


@listed("G-10.1.2", over=free, misprint={"factor": 0.0})
def oscillator_listing(s: PendulumSample, factor: float = 1.0) -> Residual:
    by_stretch = factor * derivative(lambda x: s.pendulum.kinetic(x, s.v), s.q)[1]
    by_potential = derivative(s.pendulum.potential, s.q)[1]
    return distance(_momentum_rate(s)[1] - by_stretch + by_potential, s.library_euler[1])


@listed("G-10.2.1-length", over=free, misprint={"length": 1.0})
def first_listing_length(s: PendulumSample, length: float | None = None) -> Residual:
    return distance(_energy(s, length or s.pendulum.l), s.blocks.energy)


def _energy(s: PendulumSample, length: float) -> float:
    """T + V with `length` for l."""
    reach, p = length + s.q[1], s.pendulum
    kinetic = p.M / 2 * ((reach * s.v[0]) ** 2 + s.v[1] ** 2)
    potential = p.M * p.g * (length - reach * np.cos(s.q[0])) + p.K / 2 * s.q[1] ** 2
    return float(kinetic + potential)


@listed("G-10.2.1-squares", over=free, misprint={"squares": True})
def first_listing_squares(s: PendulumSample, squares: bool = False) -> Residual:
    M, g, second = s.pendulum.M, s.pendulum.g, s.v**2 if squares else s.z
    inertia = 2 * M * s.reach * s.v[0] * s.v[1] + M * s.reach**2 * second[0]
    first = inertia + M * g * s.reach * np.sin(s.q[0])
    pull = M * g * np.cos(s.q[0]) - s.pendulum.K * s.q[1]
    return distance([first, M * second[1] - M * s.reach * s.v[0] ** 2 - pull], s.library_euler)


@listed("G-10.2.2", over=free, misprint={"length": 1.0})
def second_listing(s: PendulumSample, length: float | None = None) -> Residual:
    M, p, l = s.pendulum.M, s.pendulum, length or s.pendulum.l
    collected = s.q[1] * (p.K - M * s.v[0] ** 2)
    second = -p.g * M * np.cos(s.q[0]) - l * M * s.v[0] ** 2 + collected + M * s.z[1]
    return distance([_moments(s, l), second], s.library_euler)


@listed("G-sec11-listing", over=free, misprint={"length": 1.0})
def simulation_listing(s: PendulumSample, length: float | None = None) -> Residual:
    reach, p, l = (length or s.pendulum.l) + s.q[1], s.pendulum, length or s.pendulum.l
    kinetic = p.M / 2 * ((reach * s.v[0]) ** 2 + s.v[1] ** 2)
    energy = kinetic + p.M * p.g * (l - reach * np.cos(s.q[0])) + p.K / 2 * s.q[1] ** 2
    found = [*s.accelerations, s.blocks.energy]
    return distance([_turning(s, l), _stretching(s, l), energy], found)


START = np.array([0.0, 1.0, 0.5, 0.0])


def _closest(near: float, target: Array) -> tuple[float, float]:
    """The time near `near` at which Figure 1's motion is closest to a state, and how close."""
    motion = pendulum_motion(FREE, 50.0, 501)

    def gap(time: float) -> float:
        return float(np.linalg.norm(motion.sol(time) - target))

    grid = np.linspace(near - 0.5, near + 0.5, 401)
    best = float(grid[int(np.argmin(np.linalg.norm(motion.sol(grid) - target[:, None], axis=0)))])
    bounds = (best - 0.005, best + 0.005)
    found = minimize_scalar(gap, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return float(found.x), float(found.fun)


@listed("G-Figure-1")
def figure_one() -> Corrected:
    found = [*_closest(24.1, START * [-1, 1, -1, 1]), *_closest(48.2, START)]
    return Corrected(np.array(found) - [24.106, 0.0027, 48.212, 0.005], _closest(24.0, START)[1])


@listed("G-Figure-1-periods")
def figure_one_periods() -> Residual:
    probe, step = gallery_probe(FREE, "lagrange"), 1e-5

    def period(index: int) -> float:
        ahead, behind = np.zeros(4), np.zeros(4)
        ahead[index], behind[index] = step, -step
        change = probe.rates(0.0, ahead)[2 + index] - probe.rates(0.0, behind)[2 + index]
        return float(2 * np.pi / np.sqrt(-change / (2 * step)))

    spring_period, pendulum_period = period(1), period(0)
    golden = spring_period / pendulum_period - (np.sqrt(5) - 1) / 2
    return spring_period - 1.242, pendulum_period - 2.007, golden


@listed("G-Figure-1-energy")
def figure_one_energy() -> Residual:
    state, p = pendulum_motion(FREE, 50.0, 501).y, gallery_pendulum()
    return float(np.ptp(p.kinetic(state[:2], state[2:]) + p.potential(state[:2])))


@listed("G-sec11-state")
def state_form() -> Residual:
    motion = pendulum_motion(FREE, 5.0)

    def field(_: float, x: Array) -> list[float]:
        return [x[2], x[3], -(2 * x[3] * x[2] + 9.8 * np.sin(x[0])) / (1 + x[1]),
                (1 + x[1]) * x[2] ** 2 - 25.6 * x[1] + 9.8 * np.cos(x[0])]  # fmt: skip

    reference = solve_ivp(field, (0, 5), START, "DOP853", motion.t, **DIGITS)
    return distance(motion.y, reference.y)
