"""Udwadia: the double pendulum with p_1 = alpha p_2 sin(omega t) (eqs. 67 to 76)."""

from __future__ import annotations

from functools import cache
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
from ...typing import Array
from ..numeric import Probe, Residual, derivative, distance
from ..row_registry import Corrected, listed
from ..samples import State
from .constrained_motion import examples

NAME = "driven-double-pendulum"


def _mass_matrix(v: SimpleNamespace, angle: Array) -> Array:
    mixed = v.m2 * v.l1 * v.l2 * np.cos(angle)
    return np.array([[(v.m1 + v.m2) * v.l1**2, mixed], [mixed, v.m2 * v.l2**2]])


def _kinetic(v: SimpleNamespace, q: Array, p: Array) -> Any:
    delta = v.m1 + v.m2 * np.sin(q[0] - q[1]) ** 2
    mixed = 2 * v.m2 * v.l1 * v.l2 * p[0] * p[1] * np.cos(q[0] - q[1])
    top = (v.m1 + v.m2) * v.l1**2 * p[1] ** 2 + v.m2 * v.l2**2 * p[0] ** 2 - mixed
    return top / (2 * v.m2 * v.l1**2 * v.l2**2 * delta)


def _hamiltonian(v: SimpleNamespace, q: Array, p: Array) -> Any:
    height = -v.m1 * v.l1 * np.cos(q[0]) - v.m2 * (v.l1 * np.cos(q[0]) + v.l2 * np.cos(q[1]))
    return _kinetic(v, q, p) + v.g * height


def _sigma(v: SimpleNamespace, q: Array, p: Array) -> Any:
    angle = q[0] - q[1]
    top = v.m2 * v.l1 * v.l2 * _kinetic(v, q, p) * np.sin(2 * angle) - p[0] * p[1] * np.sin(angle)
    return top / (v.l1 * v.l2 * (v.m1 + v.m2 * np.sin(angle) ** 2))


def _free_rates(v: SimpleNamespace, q: Array, p: Array) -> Array:
    sigma = _sigma(v, q, p)
    first, second = (v.m1 + v.m2) * v.l1 * v.g * np.sin(q[0]), v.m2 * v.l2 * v.g * np.sin(q[1])
    return np.array([sigma - first, -sigma - second])


def _velocities(v: SimpleNamespace, q: Array, p: Array) -> Array:
    cosine, delta = np.cos(q[0] - q[1]), v.m1 + v.m2 * np.sin(q[0] - q[1]) ** 2
    first = (v.l2 * p[0] - v.l1 * p[1] * cosine) / (v.l1**2 * v.l2 * delta)
    top = (v.m1 + v.m2) * v.l1 * p[1] - v.m2 * v.l2 * p[0] * cosine
    return np.array([first, top / (v.m2 * v.l1 * v.l2**2 * delta)])


def _with_symbols(e: State) -> SimpleNamespace:
    """A state with parameters v, q, p, the drive's sine s and cosine c, and the library's view."""
    v = SimpleNamespace(**e.probe.parameters)
    return SimpleNamespace(
        probe=e.probe, time=e.time, state=e.state, v=v, q=e.state[:2], p=e.state[2:],
        blocks=e.blocks, rates=e.rates, s=np.sin(v.omega * e.time), c=np.cos(v.omega * e.time),
    )  # fmt: skip


states = examples.of(NAME).map(_with_symbols)


@cache
def _from_points() -> Probe:
    """The pendulum stated by two point masses under gravity, without the drive."""
    theta1, theta2 = coordinates("theta1 theta2")
    m1, m2, g, l1, l2 = parameters("m1 m2 g l1 l2", positive=True)
    elbow = [l1 * sympy.sin(theta1), -l1 * sympy.cos(theta1)]
    tip = [elbow[0] + l2 * sympy.sin(theta2), elbow[1] - l2 * sympy.cos(theta2)]
    masses = [particle(m1, elbow), particle(m2, tip)]
    weights = [gravity(m1, elbow[1], g), gravity(m2, tip[1], g)]
    system = System([theta1, theta2], parts=masses + weights)
    return Probe(derive(system, "hamilton"), dict.fromkeys(("m1", "m2", "g", "l1", "l2"), 1))


def _free(v: SimpleNamespace) -> Probe:
    values = {name: getattr(v, name) for name in ("m1", "m2", "g", "l1", "l2")}
    return _from_points().with_parameters(**values)


@listed("U-67", over=states)
def pendulum_energy(s: SimpleNamespace) -> Residual:
    stated = _free(s.v).blocks(s.time, s.state).energy
    closed = _hamiltonian(s.v, s.q, s.p)
    return distance(stated, closed), distance(s.blocks.energy, closed)


@listed("U-68", over=states)
def pendulum_momenta(s: SimpleNamespace) -> Residual:
    M = _mass_matrix(s.v, s.q[0] - s.q[1])
    return distance(M @ s.blocks.velocities, s.p), distance(np.linalg.inv(s.blocks.G), M)


listed("U-69", over=states)(lambda s: distance(s.blocks.velocities, _velocities(s.v, s.q, s.p)))
listed("U-70", over=states)(
    lambda s: distance(_free(s.v).rates(s.time, s.state)[2:], _free_rates(s.v, s.q, s.p))
)


@listed("U-71", over=states)
def sigma(s: SimpleNamespace) -> Residual:
    found, by_angle = _sigma(s.v, s.q, s.p), derivative(lambda x: _kinetic(s.v, x, s.p), s.q)
    return distance(found, -by_angle[0]), distance(found, by_angle[1])


@listed("U-72", over=states)
def drive_rows(s: SimpleNamespace) -> Corrected:
    right = distance(s.blocks.b[0], s.v.alpha * s.v.omega * s.c * s.p[1])
    printed = distance(s.blocks.A[0], [1 - s.v.alpha * s.s] * 2)
    return Corrected((distance(s.blocks.A[0], [1, -s.v.alpha * s.s]), right), printed)


def _gammas(s: SimpleNamespace) -> tuple[float, float]:
    v, a = s.v, s.v.alpha * s.s
    mixed = v.m2 * v.l1 * v.l2 * np.cos(s.q[0] - s.q[1])
    first = (v.m1 + v.m2) * v.l1**2 - 2 * a * mixed + a**2 * v.m2 * v.l2**2
    weights = (v.m1 + v.m2) * v.l1 * v.g * np.sin(s.q[0]) - a * v.m2 * v.l2 * v.g * np.sin(s.q[1])
    return first, v.alpha * v.omega * s.p[1] * s.c - (1 + a) * _sigma(v, s.q, s.p) + weights


@listed("U-73", over=states)
def drive_equation(s: SimpleNamespace) -> Residual:
    G, f, A, b = s.blocks[:4]
    dual, free = np.linalg.solve(G, A[0]), np.linalg.solve(G, f)
    ratio = (b[0] - A[0] @ free) / (A[0] @ dual)
    return distance(s.rates[2:], free + ratio * dual)


@listed("U-74", over=states)
def driven_pendulum(s: SimpleNamespace) -> Residual:
    first, second = _gammas(s)
    direction = _mass_matrix(s.v, s.q[0] - s.q[1]) @ np.array([1, -s.v.alpha * s.s])
    momenta = _free_rates(s.v, s.q, s.p) + second / first * direction
    return distance(s.rates, [*_velocities(s.v, s.q, s.p), *momenta])


listed("U-75", over=states)(
    lambda s: distance(s.blocks.A[0] @ np.linalg.solve(s.blocks.G, s.blocks.A[0]), _gammas(s)[0])
)
listed("U-76", over=states)(
    lambda s: distance(
        s.blocks.b[0] - s.blocks.A[0] @ np.linalg.solve(s.blocks.G, s.blocks.f), _gammas(s)[1]
    )
)


@listed("U-4.4")
def driven_pendulum_energy() -> Residual:
    motion = simulate(gallery.load(NAME), rtol=1e-12)

    def form(v: SimpleNamespace, x: Array) -> Array:
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

    return float(np.ptp(motion.energy)), states.worst(twist)
