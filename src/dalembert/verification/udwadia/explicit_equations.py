"""Udwadia, sections 1 and 2 (eqs. 1 to 24): the library against complex steps of random systems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ...integrate.simulate import simulate
from ...model.forces import particle
from ...model.symbols import coordinates, t
from ...typing import Array
from ..independent.random_systems import (
    KINDS,
    RandomSystem,
    random_probe,
    random_states,
    random_system,
)
from ..numeric import (
    Probe,
    Residual,
    Residuals,
    StateBlocks,
    derivative,
    distance,
    excess,
    null_space,
)
from ..row_registry import listed
from ..samples import Sampler


@dataclass(frozen=True)
class Sample:
    """A random system at a random state on its constraints, in both languages."""

    model: RandomSystem
    probe: Probe
    time: float
    q: Array
    p: Array

    @cached_property
    def v(self) -> Any:
        """The velocities by the independent implementation."""
        return self.model.velocities(self.q, self.p, self.time)

    @cached_property
    def state(self) -> Array:
        """(q, p)."""
        return np.concatenate([self.q, self.p])

    @cached_property
    def blocks(self) -> StateBlocks:
        """The library's G = H_pp, f, A_p and b_p."""
        return self.probe.blocks(self.time, self.state)

    @cached_property
    def library_momenta(self) -> Array:
        """The library's L_v."""
        probe = random_probe(self.model.kind, "lagrange")
        return probe.blocks(self.time, np.concatenate([self.q, self.v])).momenta

    @cached_property
    def rates(self) -> Any:
        """The library's (q_dot, p_dot)."""
        return self.probe.rates(self.time, self.state)

    @property
    def momentum_rates(self) -> Any:
        """The library's p_dot."""
        return self.rates[len(self.q) :]

    @cached_property
    def reaction(self) -> Any:
        """The library's Q^C."""
        return self.probe.reaction(self.time, self.state)

    @cached_property
    def derivative_of_energy(self) -> Array:
        """H_q by the independent implementation."""
        return derivative(lambda x: self.model.hamiltonian(x, self.p, self.time), self.q)

    @cached_property
    def mass(self) -> Any:
        """M by the independent implementation."""
        return self.model.mass(self.q, self.time)

    @cached_property
    def shift(self) -> Any:
        """m by the independent implementation."""
        return self.model.shift(self.q, self.time)

    @cached_property
    def momentum_rows(self) -> tuple[Array, Array]:
        """A_p = phi_p and b_p = -phi_q v - phi_t by the independent implementation."""
        rows = derivative(lambda y: self.model.phi(self.q, y, self.time), self.p)
        along = derivative(lambda x: self.model.phi(x, self.p, self.time), self.q) @ self.v
        by_time = derivative(lambda s: self.model.phi(self.q, self.p, s[0]), [self.time])[:, 0]
        return rows, -along - by_time

    @cached_property
    def velocity_rows(self) -> Any:
        """A_v by the independent implementation."""
        return self.model.velocity_rows(self.q, self.v, self.time)[0]

    @cached_property
    def model_rates(self) -> Any:
        """p_dot by multipliers in velocity space."""
        return self.model.momentum_rates(self.q, self.p, self.time)


def _samples(kind: str) -> list[Sample]:
    model, probe = random_system(kind), random_probe(kind)
    return [Sample(model, probe, time, q, p) for time, q, p in random_states(kind, 3)]


everywhere = Sampler(_samples, KINDS)
samples = everywhere.of(*KINDS[1:])


@listed("U-1", over=everywhere.of("free"))
def hamilton_equations(s: Sample) -> Residual:
    by_momentum = derivative(lambda y: s.model.hamiltonian(s.q, y, s.time), s.p)
    return distance(s.rates, np.concatenate([by_momentum, -s.derivative_of_energy]))


@listed("U-2")
def constraints_hold() -> Residual:
    system, (time, q, p) = random_system("dependent"), random_states("dependent", 1)[0]
    equations = random_probe("dependent").equations
    names = [symbol.name for symbol in equations.state]
    start = dict(zip(names, np.concatenate([q, p]), strict=True))
    motion = simulate(equations, start, (time, time + 1), rtol=1e-11, project=False)
    return [system.phi(y[:3], y[3:], s) for s, y in zip(motion.t, motion.y.T, strict=True)]


listed("U-3", over=everywhere)(
    lambda s: distance(
        s.library_momenta, derivative(lambda w: s.model.lagrangian(s.q, w, s.time), s.v)
    )
)


@listed("U-4")
def general_kinetic_energy() -> Residuals:
    x, y = coordinates("x y")
    place = [x * sympy.cos(t) + sympy.sin(y), x**2 + t * y, sympy.exp(-t) * y + x]
    both = particle(2, place) + particle(3, [y * sympy.sin(t), x - t**2, x * y])
    weights = np.array([2.0] * 3 + [3.0] * 3)

    def positions(w: Array) -> Array:
        a, b, s = w
        first = [a * np.cos(s) + np.sin(b), a**2 + s * b, np.exp(-s) * b + a]
        return np.array([*first, b * np.sin(s), a - s**2, a * b])

    kinetic = sympy.lambdify([x, y, x.dot, y.dot, t], both.kinetic, "numpy")
    random = np.random.default_rng(4)
    for _ in range(5):
        point, v = random.uniform(-1, 1, 3), random.uniform(-1, 1, 2)
        jacobian = derivative(positions, point)
        by_place, by_time = jacobian[:, :2], jacobian[:, 2]
        M, m = by_place.T * weights @ by_place, by_place.T * weights @ by_time
        c = by_time * weights @ by_time / 2
        yield distance(kinetic(*point[:2], *v, point[2]), v @ M @ v / 2 + m @ v + c)
        yield excess(-float(np.linalg.eigvalsh(M)[0]))


listed("U-5", over=everywhere)(lambda s: distance(s.library_momenta, s.mass @ s.v + s.shift))
listed("U-6", over=everywhere)(
    lambda s: distance(s.blocks.velocities, np.linalg.solve(s.mass, s.p - s.shift))
)


@listed("U-7", over=everywhere)
def hamiltonian_by_legendre(s: Sample) -> Residual:
    sum_of_energies = s.model.kinetic(s.q, s.v, s.time) + s.model.potential(s.q, s.time)
    surplus = s.shift @ s.v + 2 * s.model.constant(s.q, s.time)
    closed = s.model.hamiltonian(s.q, s.p, s.time)
    energy = s.blocks.energy
    return distance(energy, closed), distance(energy, sum_of_energies - surplus)


@listed("U-8", over=everywhere.of("free"))
def momentum_rate_is_derivative_of_lagrangian(s: Sample) -> Residual:
    by_lagrangian = derivative(lambda x: s.model.lagrangian(x, s.v, s.time), s.q)
    return distance(s.momentum_rates, by_lagrangian), distance(
        s.momentum_rates, -s.derivative_of_energy
    )


@listed("U-9")
def holonomic_as_momentum_constraint() -> Residual:
    system, probe = random_system("holonomic"), random_probe("holonomic")
    return [
        distance(probe.blocks(time, np.concatenate([q, p])).constraint, system.phi(q, p, time))
        for time, q, p in random_states("holonomic", 5, consistent=False)
    ]


listed("U-10", over=samples)(lambda s: s.model.constraint_along(s.q, s.p, s.time, s.rates))
listed("U-11", over=samples)(
    lambda s: distance(s.momentum_rows[0] @ s.momentum_rates, s.momentum_rows[1])
)
listed("U-12", over=samples)(
    lambda s: (distance(s.blocks.A, s.momentum_rows[0]), distance(s.blocks.b, s.momentum_rows[1]))
)
listed("U-13", over=samples)(
    lambda s: (
        distance(s.rates[:3], s.v),
        distance(s.reaction, s.rates[3:] + s.derivative_of_energy),
    )
)


def _moved(s: Sample, extra: Array, step: float) -> Any:
    """q after one Runge-Kutta step of the library's rates plus `extra` in the null space of A_p."""

    def field(time: float, y: Array) -> Any:
        basis = null_space(s.probe.blocks(time, y).A)
        return s.probe.rates(time, y) + np.concatenate([np.zeros(3), basis @ (basis.T @ extra)])

    y, time = s.state, s.time
    first = field(time, y)
    second = field(time + step / 2, y + step / 2 * first)
    third = field(time + step / 2, y + step / 2 * second)
    last = field(time + step, y + step * third)
    return (y + step / 6 * (first + 2 * second + 2 * third + last))[:3]


def _order(remainder: Callable[[float], Array], step: float = 4e-3) -> float:
    """The measured order of a remainder as the step is halved."""
    first, second = (float(np.linalg.norm(remainder(h))) for h in (step, step / 2))
    return float(np.log2(first / second))


def _accelerations(s: Sample, extra: Array) -> Array:
    basis = null_space(s.blocks.A)
    rates = s.momentum_rates + basis @ (basis.T @ extra)
    return np.linalg.solve(s.mass, rates - s.model.momentum_drift(s.q, s.v, s.time))


EXTRA = np.array([0.7, -0.4, 0.5])
moving = samples.of("holonomic", "momentum").first(2)


@listed("U-14", over=moving)
def taylor_remainder(s: Sample) -> Residual:
    z = _accelerations(s, EXTRA)
    return _order(lambda h: _moved(s, EXTRA, h) - s.q - h * s.v - h**2 / 2 * z) - 3


@listed("U-15", over=moving)
def virtual_displacement_order(s: Sample) -> Residual:
    zero = np.zeros(3)
    between = _accelerations(s, EXTRA) - _accelerations(s, zero)
    return _order(lambda h: _moved(s, EXTRA, h) - _moved(s, zero, h) - h**2 / 2 * between) - 3


def _possible_accelerations(s: Sample, seed: int = 3) -> tuple[Array, Array]:
    """Actual accelerations, and others that velocity rows by complex steps allow."""
    actual, _ = s.model.accelerations(s.q, s.v, s.time)
    basis = null_space(s.velocity_rows)
    return actual, actual + basis @ np.random.default_rng(seed).uniform(-1, 1, basis.shape[1])


def _momentum_rates(s: Sample, z: Array) -> Any:
    return s.mass @ z + s.model.momentum_drift(s.q, s.v, s.time)


listed("U-16", over=samples)(
    lambda s: distance(s.blocks.A @ _momentum_rates(s, _possible_accelerations(s)[1]), s.blocks.b)
)
listed("U-17", over=samples)(lambda s: distance(s.blocks.A @ s.model_rates, s.blocks.b))


@listed("U-18", over=samples)
def rate_difference(s: Sample) -> Any:
    actual, possible = _possible_accelerations(s)
    return s.blocks.A @ (_momentum_rates(s, possible) - _momentum_rates(s, actual))


@listed("U-19", over=samples, misprint={"hook": True})
def momentum_rate(s: Sample, hook: bool = False) -> Residual:
    z = s.probe.observe(s.time, s.state)["accelerations"]

    def along(function: Callable[[Array, float], Array]) -> Array:
        return derivative(lambda w: function(s.q + w[0] * s.v, s.time + w[0]), [0.0])[:, 0]

    shift = s.shift if hook else along(s.model.shift)
    drift = along(lambda q, time: (s.model.mass(q, time) @ s.v).ravel())
    return distance(s.momentum_rates, s.mass @ z + drift + shift)


@listed("U-20", over=samples)
def acceleration_difference(s: Sample) -> Any:
    actual, possible = _possible_accelerations(s)
    return s.blocks.A @ s.mass @ (possible - actual)


listed("U-21", over=samples)(lambda s: distance(s.blocks.A @ s.mass, s.velocity_rows))
listed("U-22", over=samples)(lambda s: null_space(s.blocks.A @ s.mass).T @ s.reaction)
listed("U-23", over=everywhere)(lambda s: distance(s.blocks.G @ s.mass, np.eye(3)))


@listed("U-24", over=samples)
def null_space_of_virtual_displacements(s: Sample) -> Residual:
    basis = null_space(s.blocks.A @ np.linalg.inv(s.blocks.G))
    return s.velocity_rows @ basis, basis.shape[1] - null_space(s.velocity_rows).shape[1]
