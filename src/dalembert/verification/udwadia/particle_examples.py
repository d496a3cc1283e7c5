"""Udwadia, Constrained motion of Hamiltonian systems: the spherical pendulum and the nonholonomic particle (eqs. 37 to 46)."""

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
from ..numeric import Probe, derivative, distance, gallery_probe, largest, worst
from ..row_registry import Corrected, claim
from .constrained_motion import example_states

PENDULUM, PARTICLE = "spherical-pendulum", "nonholonomic-particle"
ON_SPHERE = "random masses, lengths and states on the sphere"
ON_DERIVATIVE = "random masses and states with z^2 p_x = p_y"


@cache
def long_motion(name: str) -> Motion:
    """An example of the paper over four seconds, to twelve digits."""
    return simulate(gallery.load(name), span=(0.0, 4.0), at=np.linspace(0, 4, 81), rtol=1e-12)


@claim(
    "U-37",
    "A particle under gravity with z downwards has H = |p|^2 / (2 m) - m g z",
    how="library Legendre transformation of m |v|^2 / 2 + m g z against the gallery's H and the formula",
)
def particle_hamiltonian() -> float:
    q = coordinates("x y z")
    m, g = parameters("m g", positive=True)
    newton = System(q, lagrangian=m / 2 * sum(c.dot**2 for c in q) + m * g * q[2])
    reference = Probe(derive(newton, "hamilton"), {"m": 1.0, "g": 9.81})
    found = []
    for probe, time, state in example_states(PENDULUM):
        v = probe.parameters
        closed = state[3:] @ state[3:] / (2 * v["m"]) - v["m"] * v["g"] * state[2]
        other = reference.with_parameters(m=v["m"], g=v["g"]).blocks(time, state).energy
        found += [distance(probe.blocks(time, state).energy, closed), distance(other, closed)]
    return worst(found)


@claim(
    "U-38",
    "Without its rod the particle has q_dot = p / m and p_dot = (0, 0, m g)",
    how="library rates of the gallery's system stripped of its constraint",
)
def free_particle() -> float:
    free = Probe(derive(gallery.load(PENDULUM).system.replacing(constraints=()), "hamilton"), {"m": 1.0, "g": 9.81})
    found = []
    for probe, time, state in example_states(PENDULUM):
        m, g = probe.parameters["m"], probe.parameters["g"]
        rates = free.with_parameters(m=m, g=g).rates(time, state)
        found.append(distance(rates, [*state[3:] / m, 0, 0, m * g]))
    return worst(found)


@claim(
    "U-39",
    "The particle keeps its distance L from the origin",
    how="|q|^2 along a library motion over four seconds",
    tolerance=1e-9,
)
def stays_on_sphere() -> float:
    y = long_motion(PENDULUM).y
    return distance(np.sum(y[:3] ** 2, axis=0), np.ones(y.shape[1]))


@claim(
    "U-40",
    "The rate of the distance condition is q . p = 0; the print has the rate of p, and differentiates eq. 38 where 39 is meant",
    how="q . p and q . p_dot along a library motion over four seconds",
    tolerance=1e-9,
)
def velocity_condition() -> Corrected:
    motion, probe = long_motion(PENDULUM), gallery_probe(PENDULUM, "hamilton")
    rates = np.array([probe.rates(time, y)[3:] for time, y in zip(motion.t, motion.y.T, strict=True)]).T
    corrected, printed = (np.sum(motion.y[:3] * vector, axis=0) for vector in (motion.y[3:], rates))
    return Corrected(worst(corrected), worst(printed))


@claim(
    "U-41",
    "A_p = q^T, b_p = -|p|^2 / m and H_pp^-1 = m I for the condition q . p = 0",
    how=f"library blocks, {ON_SPHERE}; the gallery's condition is 1/m times this one",
)
def pendulum_rows() -> float:
    found = []
    for probe, time, state in example_states(PENDULUM):
        m, blocks = probe.parameters["m"], probe.blocks(time, state)
        found += [distance(m * blocks.A[0], state[:3]), distance(m * blocks.b[0], -state[3:] @ state[3:] / m)]
        found.append(distance(np.linalg.inv(blocks.G), m * np.eye(3)))
    return worst(found)


def _pendulum_rate(state: Any, m: float, g: float, length_squared: float) -> Any:
    pull = m / length_squared * (state[3:] @ state[3:] / m**2 + g * state[2])
    return np.array([0, 0, m * g]) - pull * state[:3]


@claim(
    "U-42",
    "p_dot = (0, 0, m g) - (m / L^2) (|p|^2 / m^2 + g z) q on the sphere |q| = L",
    how=f"library p_dot, {ON_SPHERE}",
)
def pendulum_equation() -> float:
    return worst(
        distance(probe.rates(time, state)[3:], _pendulum_rate(state, v["m"], v["g"], v["L"] ** 2))
        for probe, time, state in example_states(PENDULUM)
        for v in [probe.parameters]
    )


@claim(
    "U-42-off",
    "Off the sphere the general equation has |q|^2 where the closed form, which has used the constraint, has L^2",
    how="library p_dot at random states off the constraint against the form with |q|^2; one with L^2 must differ there",
)
def pendulum_equation_off_the_sphere() -> float:
    found = []
    for probe, time, state in example_states(PENDULUM, consistent=False):
        v, rate = probe.parameters, probe.rates(time, state)[3:]
        found.append(distance(rate, _pendulum_rate(state, v["m"], v["g"], state[:3] @ state[:3])))
        on_sphere = distance(rate, _pendulum_rate(state, v["m"], v["g"], v["L"] ** 2))
        found.append(0.0 if on_sphere > 1e-3 else 1.0)
    return worst(found)


@claim(
    "U-4.1",
    "The spherical pendulum conserves its energy and the vertical angular momentum",
    how="library motion over four seconds",
    tolerance=1e-9,
)
def pendulum_invariants() -> float:
    motion = long_motion(PENDULUM)
    x, y, _, p_x, p_y, _ = motion.y
    return largest(float(np.ptp(motion.energy)), float(np.ptp(x * p_y - y * p_x)))


@claim("U-43", "The free particle has H = |p|^2 / (2 m)", how=f"library energy, {ON_DERIVATIVE}")
def free_hamiltonian() -> float:
    return worst(
        distance(probe.blocks(time, state).energy, state[3:] @ state[3:] / (2 * probe.parameters["m"]))
        for probe, time, state in example_states(PARTICLE)
    )


@claim(
    "U-44",
    "z^2 p_x = p_y holds along the motion and is not integrable: its form a has a . curl a = -2 z",
    how="library motion over four seconds; the curl by SymPy",
    tolerance=1e-9,
)
def derivative_condition() -> float:
    x, y, z = sympy.symbols("x y z")
    a = sympy.Matrix([z**2, -1, 0])
    curl = sympy.Matrix(
        [
            sympy.diff(a[2], y) - sympy.diff(a[1], z),
            sympy.diff(a[0], z) - sympy.diff(a[2], x),
            sympy.diff(a[1], x) - sympy.diff(a[0], y),
        ]
    )
    twist = sympy.lambdify(z, a.dot(curl) + 2 * z)
    state = long_motion(PARTICLE).y
    return largest(worst(state[2] ** 2 * state[3] - state[4]), worst(twist(value) for value in state[2]))


@claim(
    "U-45",
    "A_p = (z^2, -1, 0), b_p = -2 z p_x p_z / m and H_pp^-1 = m I",
    how=f"library blocks, {ON_DERIVATIVE}; the gallery's condition is 1/m times this one",
)
def derivative_rows() -> float:
    found = []
    for probe, time, state in example_states(PARTICLE):
        m, blocks, (z, p_x, _, p_z) = probe.parameters["m"], probe.blocks(time, state), state[2:]
        found += [distance(m * blocks.A[0], [z**2, -1, 0]), distance(m * blocks.b[0], -2 * z * p_x * p_z / m)]
        found.append(distance(np.linalg.inv(blocks.G), m * np.eye(3)))
    return worst(found)


@claim(
    "U-46",
    "p_dot = -2 z p_x p_z / (m (1 + z^4)) (z^2, -1, 0)",
    how=f"library p_dot, {ON_DERIVATIVE}",
)
def derivative_equation() -> float:
    found = []
    for probe, time, state in example_states(PARTICLE):
        m, (z, p_x, _, p_z) = probe.parameters["m"], state[2:]
        closed = -2 * z * p_x * p_z / (m * (1 + z**4)) * np.array([z**2, -1, 0])
        found.append(distance(probe.rates(time, state)[3:], closed))
    return worst(found)


@claim(
    "U-4.2",
    "Its motion is known: p_z constant, p_x = c / sqrt(1 + z^4), p_y = c z^2 / sqrt(1 + z^4)",
    how="library motion over four seconds against the closed form, which is put into the equation by complex steps",
    tolerance=1e-9,
)
def derivative_motion() -> float:
    motion = long_motion(PARTICLE)
    z, c = 0.5 + 0.8 * motion.t, np.sqrt(1 + 0.5**4)
    closed = [c / np.sqrt(1 + z**4), c * z**2 / np.sqrt(1 + z**4), 0.8 + 0 * z]
    rate = derivative(lambda w: c / np.sqrt(1 + (0.5 + 0.8 * w[0]) ** 4), [1.0])[0]
    equation = -2 * 1.3 * (c / np.sqrt(1 + 1.3**4)) * 0.8 / (1 + 1.3**4) * 1.3**2
    return largest(distance(motion.y[2:], [z, *closed]), distance(rate, equation))
