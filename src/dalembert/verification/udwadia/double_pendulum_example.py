"""Udwadia, Constrained motion of Hamiltonian systems: the double pendulum with p_1 = alpha p_2 sin(omega t) (eqs. 67 to 76)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.forces import gravity, particle
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..numeric import Probe, derivative, distance, largest, worst
from ..row_registry import Corrected, claim
from .constrained_motion import example_states

NAME = "driven-double-pendulum"
RANDOM = "random masses, lengths, drives, times and states"


def _mass_matrix(v: SimpleNamespace, angle: Any) -> Any:
    mixed = v.m2 * v.l1 * v.l2 * np.cos(angle)
    return np.array([[(v.m1 + v.m2) * v.l1**2, mixed], [mixed, v.m2 * v.l2**2]])


def _kinetic(v: SimpleNamespace, q: Any, p: Any) -> Any:
    delta = v.m1 + v.m2 * np.sin(q[0] - q[1]) ** 2
    mixed = 2 * v.m2 * v.l1 * v.l2 * p[0] * p[1] * np.cos(q[0] - q[1])
    top = (v.m1 + v.m2) * v.l1**2 * p[1] ** 2 + v.m2 * v.l2**2 * p[0] ** 2 - mixed
    return top / (2 * v.m2 * v.l1**2 * v.l2**2 * delta)


def _hamiltonian(v: SimpleNamespace, q: Any, p: Any) -> Any:
    height = -v.m1 * v.l1 * np.cos(q[0]) - v.m2 * (v.l1 * np.cos(q[0]) + v.l2 * np.cos(q[1]))
    return _kinetic(v, q, p) + v.g * height


def _sigma(v: SimpleNamespace, q: Any, p: Any) -> Any:
    angle = q[0] - q[1]
    top = v.m2 * v.l1 * v.l2 * _kinetic(v, q, p) * np.sin(2 * angle) - p[0] * p[1] * np.sin(angle)
    return top / (v.l1 * v.l2 * (v.m1 + v.m2 * np.sin(angle) ** 2))


def _free_rates(v: SimpleNamespace, q: Any, p: Any) -> Any:
    sigma = _sigma(v, q, p)
    return np.array([sigma - (v.m1 + v.m2) * v.l1 * v.g * np.sin(q[0]), -sigma - v.m2 * v.l2 * v.g * np.sin(q[1])])


def _velocities(v: SimpleNamespace, q: Any, p: Any) -> Any:
    cosine, delta = np.cos(q[0] - q[1]), v.m1 + v.m2 * np.sin(q[0] - q[1]) ** 2
    first = (v.l2 * p[0] - v.l1 * p[1] * cosine) / (v.l1**2 * v.l2 * delta)
    second = ((v.m1 + v.m2) * v.l1 * p[1] - v.m2 * v.l2 * p[0] * cosine) / (v.m2 * v.l1 * v.l2**2 * delta)
    return np.array([first, second])


def _over_states(residual: Callable[[SimpleNamespace], float]) -> float:
    """The worst residual over random states; `residual` takes probe, time, parameters v, q, p, blocks and the drive s."""
    found = []
    for probe, time, state in example_states(NAME):
        v = SimpleNamespace(**probe.parameters)
        found.append(
            residual(
                SimpleNamespace(
                    probe=probe, time=time, state=state, v=v, q=state[:2], p=state[2:],
                    blocks=probe.blocks(time, state), s=np.sin(v.omega * time), c=np.cos(v.omega * time),
                )
            )
        )  # fmt: skip
    return worst(found)


def _from_points() -> Probe:
    """The pendulum stated by two point masses under gravity, without the drive."""
    theta1, theta2 = coordinates("theta1 theta2")
    m1, m2, g, l1, l2 = parameters("m1 m2 g l1 l2", positive=True)
    elbow = [l1 * sympy.sin(theta1), -l1 * sympy.cos(theta1)]
    tip = [elbow[0] + l2 * sympy.sin(theta2), elbow[1] - l2 * sympy.cos(theta2)]
    parts = [particle(m1, elbow), particle(m2, tip), gravity(m1, elbow[1], g), gravity(m2, tip[1], g)]
    return Probe(derive(System([theta1, theta2], parts=parts), "hamilton"), dict.fromkeys(("m1", "m2", "g", "l1", "l2"), 1))


def _free_values(v: SimpleNamespace) -> dict[str, float]:
    return {name: getattr(v, name) for name in ("m1", "m2", "g", "l1", "l2")}


@claim(
    "U-67",
    "H = T + V of the double pendulum in momenta",
    how=f"library Legendre transformation of two point masses under gravity against the formula, {RANDOM}",
)
def pendulum_energy() -> float:
    reference = _from_points()

    def residual(s: SimpleNamespace) -> float:
        stated = reference.with_parameters(**_free_values(s.v)).blocks(s.time, s.state).energy
        closed = _hamiltonian(s.v, s.q, s.p)
        return largest(distance(stated, closed), distance(s.blocks.energy, closed))

    return _over_states(residual)


@claim(
    "U-68",
    "p = M(theta) theta_dot, and that matrix is H_pp^-1",
    how=f"library velocities and H_pp against the printed matrix, {RANDOM}",
)
def pendulum_momenta() -> float:
    def residual(s: SimpleNamespace) -> float:
        M = _mass_matrix(s.v, s.q[0] - s.q[1])
        return largest(distance(M @ s.blocks.velocities, s.p), distance(np.linalg.inv(s.blocks.G), M))

    return _over_states(residual)


@claim("U-69", "theta_dot = H_p in closed form", how=f"library velocities against the formula, {RANDOM}")
def pendulum_velocities() -> float:
    return _over_states(lambda s: distance(s.blocks.velocities, _velocities(s.v, s.q, s.p)))


@claim(
    "U-70",
    "Without the drive p_dot = -H_theta = (Sigma - (m_1+m_2) l_1 g sin theta_1, -Sigma - m_2 l_2 g sin theta_2)",
    how=f"library rates of two point masses under gravity, {RANDOM}",
)
def pendulum_free_rates() -> float:
    reference = _from_points()
    return _over_states(
        lambda s: distance(
            reference.with_parameters(**_free_values(s.v)).rates(s.time, s.state)[2:], _free_rates(s.v, s.q, s.p)
        )
    )


@claim(
    "U-71",
    "Sigma = (m_2 l_1 l_2 T sin 2 theta_12 - p_1 p_2 sin theta_12) / (l_1 l_2 Delta)",
    how=f"minus the complex-step derivative of T by theta_1, and plus that by theta_2, {RANDOM}",
)
def sigma() -> float:
    def residual(s: SimpleNamespace) -> float:
        by_angle = derivative(lambda x: _kinetic(s.v, x, s.p), s.q)
        return largest(distance(_sigma(s.v, s.q, s.p), -by_angle[0]), distance(_sigma(s.v, s.q, s.p), by_angle[1]))

    return _over_states(residual)


@claim(
    "U-72",
    "A_p = [1, -alpha sin(omega t)] and b_p = alpha omega cos(omega t) p_2; the print lacks the comma",
    how=f"library blocks, {RANDOM}; the printed bracket read as the one number it states, in every column",
)
def drive_rows() -> Corrected:
    def entries(s: SimpleNamespace) -> float:
        right = s.v.alpha * s.v.omega * s.c * s.p[1]
        return largest(distance(s.blocks.A[0], [1, -s.v.alpha * s.s]), distance(s.blocks.b[0], right))

    return Corrected(_over_states(entries), _over_states(lambda s: distance(s.blocks.A[0], [1 - s.v.alpha * s.s] * 2)))


def _gammas(s: SimpleNamespace) -> tuple[Any, Any]:
    v, a = s.v, s.v.alpha * s.s
    mixed = v.m2 * v.l1 * v.l2 * np.cos(s.q[0] - s.q[1])
    first = (v.m1 + v.m2) * v.l1**2 - 2 * a * mixed + a**2 * v.m2 * v.l2**2
    weights = (v.m1 + v.m2) * v.l1 * v.g * np.sin(s.q[0]) - a * v.m2 * v.l2 * v.g * np.sin(s.q[1])
    return first, v.alpha * v.omega * s.p[1] * s.c - (1 + a) * _sigma(v, s.q, s.p) + weights


@claim(
    "U-73",
    "For the one drive p_dot = -H_theta + (gamma_2 / gamma_1) H_pp^-1 A_p^T",
    how=f"library p_dot; gamma_1 and gamma_2 from the library's blocks, {RANDOM}",
)
def drive_equation() -> float:
    def residual(s: SimpleNamespace) -> float:
        dual, free = np.linalg.solve(s.blocks.G, s.blocks.A[0]), np.linalg.solve(s.blocks.G, s.blocks.f)
        ratio = (s.blocks.b[0] - s.blocks.A[0] @ free) / (s.blocks.A[0] @ dual)
        return distance(s.probe.rates(s.time, s.state)[2:], free + ratio * dual)

    return _over_states(residual)


@claim(
    "U-74",
    "The driven double pendulum in closed form",
    how=f"library rates of angles and momenta against the printed formulas, {RANDOM}",
)
def driven_pendulum() -> float:
    def residual(s: SimpleNamespace) -> float:
        first, second = _gammas(s)
        direction = _mass_matrix(s.v, s.q[0] - s.q[1]) @ np.array([1, -s.v.alpha * s.s])
        closed = [*_velocities(s.v, s.q, s.p), *(_free_rates(s.v, s.q, s.p) + second / first * direction)]
        return distance(s.probe.rates(s.time, s.state), closed)

    return _over_states(residual)


@claim("U-75", "gamma_1 = A_p H_pp^-1 A_p^T in closed form", how=f"library blocks against the formula, {RANDOM}")
def first_gamma() -> float:
    return _over_states(lambda s: distance(s.blocks.A[0] @ np.linalg.solve(s.blocks.G, s.blocks.A[0]), _gammas(s)[0]))


@claim("U-76", "gamma_2 = b_p + A_p H_theta in closed form", how=f"library blocks against the formula, {RANDOM}")
def second_gamma() -> float:
    return _over_states(
        lambda s: distance(s.blocks.b[0] - s.blocks.A[0] @ np.linalg.solve(s.blocks.G, s.blocks.f), _gammas(s)[1])
    )


@claim(
    "U-4.4",
    "The drive contains time and is not integrable, and still conserves H, because it is homogeneous in the momenta",
    how="H along a library motion over ten seconds; the twist of the form in (theta, t) against alpha omega cos det M",
    tolerance=1e-8,
)
def driven_pendulum_energy() -> float:
    motion = simulate(gallery.load(NAME), rtol=1e-12)

    def form(v: SimpleNamespace, x: Any) -> Any:
        """Coefficients of d theta_1, d theta_2 and dt in the constraint as a form."""
        M = _mass_matrix(v, x[0] - x[1])
        drive = v.alpha * np.sin(v.omega * x[2])
        return np.array([M[0, 0] - drive * M[0, 1], M[0, 1] - drive * M[1, 1], 0 * x[2]])

    def twist(s: SimpleNamespace) -> float:
        point = np.array([*s.q, s.time])
        a, J = form(s.v, point), derivative(lambda x: form(s.v, x), point)
        curl = np.array([J[2, 1] - J[1, 2], J[0, 2] - J[2, 0], J[1, 0] - J[0, 1]])
        expected = s.v.alpha * s.v.omega * s.c * np.linalg.det(_mass_matrix(s.v, s.q[0] - s.q[1]))
        return distance(a @ curl, expected)

    return largest(float(np.ptp(motion.energy)), _over_states(twist))
