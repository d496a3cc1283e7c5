"""Udwadia: the spherical pendulum and the nonholonomic particle (eqs. 37 to 46)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ...typing import Array, Numbers
from ..numeric import Probe, Residual, derivative, distance, gallery_probe
from ..row_registry import Corrected, listed
from ..samples import State
from .constrained_motion import examples, examples_off

PENDULUM, PARTICLE = "spherical-pendulum", "nonholonomic-particle"

pendulums, particles = examples.of(PENDULUM), examples.of(PARTICLE)


@cache
def long_motion(name: str) -> Motion:
    """An example of the paper over four seconds, to twelve digits."""
    return simulate(gallery.load(name), span=(0.0, 4.0), at=np.linspace(0, 4, 81), rtol=1e-12)


@cache
def _newton() -> Probe:
    q = coordinates("x y z")
    m, g = parameters("m g", positive=True)
    newton = System(q, lagrangian=m / 2 * sum(c.dot**2 for c in q) + m * g * q[2])
    return Probe(derive(newton, "hamilton"), {"m": 1.0, "g": 9.81})


@cache
def _free() -> Probe:
    free = gallery.load(PENDULUM).system.replacing(constraints=())
    return Probe(derive(free, "hamilton"), {"m": 1.0, "g": 9.81})


@listed("U-37", over=pendulums)
def particle_hamiltonian(e: State) -> Residual:
    (m, g), p = (e.probe.parameters[name] for name in "mg"), e.state[3:]
    closed = p @ p / (2 * m) - m * g * e.state[2]
    other = _newton().with_parameters(m=m, g=g).blocks(e.time, e.state).energy
    return distance(e.blocks.energy, closed), distance(other, closed)


@listed("U-38", over=pendulums)
def free_particle(e: State) -> Residual:
    m, g = (e.probe.parameters[name] for name in "mg")
    rates = _free().with_parameters(m=m, g=g).rates(e.time, e.state)
    return distance(rates, [*e.state[3:] / m, 0, 0, m * g])


@listed("U-39")
def stays_on_sphere() -> Residual:
    y = long_motion(PENDULUM).y
    return distance(np.sum(y[:3] ** 2, axis=0), np.ones(y.shape[1]))


@listed("U-40")
def velocity_condition() -> Corrected:
    motion, probe = long_motion(PENDULUM), gallery_probe(PENDULUM, "hamilton")
    rates = [probe.rates(time, y)[3:] for time, y in zip(motion.t, motion.y.T, strict=True)]
    q, p = motion.y[:3], motion.y[3:]
    return Corrected(np.sum(q * p, axis=0), np.sum(q * np.array(rates).T, axis=0))


def _rows(e: State, A: Array, b: Numbers) -> Residual:
    """The library's blocks against m A_p, m b_p and H_pp^-1 = m I."""
    m, blocks = e.probe.parameters["m"], e.blocks
    inverse = distance(np.linalg.inv(blocks.G), m * np.eye(3))
    return distance(m * blocks.A[0], A), distance(m * blocks.b[0], b), inverse


listed("U-41", over=pendulums)(
    lambda e: _rows(e, e.state[:3], -e.state[3:] @ e.state[3:] / e.probe.parameters["m"])
)


def _pendulum_rate(e: State, length_squared: Numbers) -> Any:
    (m, g), p = (e.probe.parameters[name] for name in "mg"), e.state[3:]
    pull = m / length_squared * (p @ p / m**2 + g * e.state[2])
    return np.array([0, 0, m * g]) - pull * e.state[:3]


listed("U-42", over=pendulums)(
    lambda e: distance(e.rates[3:], _pendulum_rate(e, e.probe.parameters["L"] ** 2))
)


@listed("U-42-off", over=examples_off.of(PENDULUM))
def pendulum_equation_off_the_sphere(e: State) -> Residual:
    on_sphere = distance(e.rates[3:], _pendulum_rate(e, e.probe.parameters["L"] ** 2))
    general = distance(e.rates[3:], _pendulum_rate(e, e.state[:3] @ e.state[:3]))
    return general, 0.0 if on_sphere > 1e-3 else 1.0


@listed("U-4.1")
def pendulum_invariants() -> Residual:
    motion = long_motion(PENDULUM)
    x, y, _, p_x, p_y, _ = motion.y
    return float(np.ptp(motion.energy)), float(np.ptp(x * p_y - y * p_x))


listed("U-43", over=particles)(
    lambda e: distance(e.blocks.energy, e.state[3:] @ e.state[3:] / (2 * e.probe.parameters["m"]))
)


@listed("U-44")
def derivative_condition() -> Residual:
    x, y, z = sympy.symbols("x y z")
    a = sympy.Matrix([z**2, -1, 0])
    J = a.jacobian([x, y, z])
    curl = sympy.Matrix([J[2, 1] - J[1, 2], J[0, 2] - J[2, 0], J[1, 0] - J[0, 1]])
    twist = sympy.lambdify(z, a.dot(curl) + 2 * z)
    state = long_motion(PARTICLE).y
    return state[2] ** 2 * state[3] - state[4], [twist(value) for value in state[2]]


@listed("U-45", over=particles)
def derivative_rows(e: State) -> Residual:
    z, p_x, _, p_z = e.state[2:]
    return _rows(e, np.array([z**2, -1, 0]), -2 * z * p_x * p_z / e.probe.parameters["m"])


@listed("U-46", over=particles)
def derivative_equation(e: State) -> Residual:
    m, (z, p_x, _, p_z) = e.probe.parameters["m"], e.state[2:]
    closed = -2 * z * p_x * p_z / (m * (1 + z**4)) * np.array([z**2, -1, 0])
    return distance(e.rates[3:], closed)


@listed("U-4.2")
def derivative_motion() -> Residual:
    motion = long_motion(PARTICLE)
    z, c = 0.5 + 0.8 * motion.t, np.sqrt(1 + 0.5**4)
    closed = [c / np.sqrt(1 + z**4), c * z**2 / np.sqrt(1 + z**4), 0.8 + 0 * z]
    rate = derivative(lambda w: c / np.sqrt(1 + (0.5 + 0.8 * w[0]) ** 4), [1.0])[0]
    equation = -2 * 1.3 * (c / np.sqrt(1 + 1.3**4)) * 0.8 / (1 + 1.3**4) * 1.3**2
    return distance(motion.y[2:], [z, *closed]), distance(rate, equation)
