"""Udwadia, Constrained motion of Hamiltonian systems: sections 1 and 2 (eqs. 1 to 24).

Every row compares the library with `Twin`, random systems whose derivatives are taken by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from ...integrate.simulate import simulate
from ...model.forces import particle
from ...model.symbols import coordinates, t
from ..independent.random_systems import KINDS, Twin, random_states, twin, twin_probe
from ..numeric import Blocks, Probe, derivative, distance, excess, largest, null_space, worst
from ..row_registry import Corrected, claim

CONSTRAINED = KINDS[1:]
RANDOM = "random Lagrangians with linear and constant velocity terms"


@dataclass(frozen=True)
class Sample:
    """A random system at a random state on its constraints, in both languages."""

    twin: Twin
    probe: Probe
    time: float
    q: Any
    p: Any

    @property
    def v(self) -> Any:
        """The velocities by the independent implementation."""
        return self.twin.velocities(self.q, self.p, self.time)

    @property
    def state(self) -> Any:
        """(q, p)."""
        return np.concatenate([self.q, self.p])

    @property
    def blocks(self) -> Blocks:
        """The library's G = H_pp, f, A_p and b_p."""
        return self.probe.blocks(self.time, self.state)

    @property
    def momentum_rates(self) -> Any:
        """The library's p_dot."""
        return self.probe.rates(self.time, self.state)[len(self.q) :]

    @property
    def derivative_of_energy(self) -> Any:
        """H_q by the independent implementation."""
        return derivative(lambda x: self.twin.hamiltonian(x, self.p, self.time), self.q)

    @property
    def mass(self) -> Any:
        """M by the independent implementation."""
        return self.twin.mass(self.q, self.time)

    @property
    def momentum_rows(self) -> tuple[Any, Any]:
        """A_p = phi_p and b_p = -phi_q v - phi_t by the independent implementation."""
        rows = derivative(lambda y: self.twin.phi(self.q, y, self.time), self.p)
        along = derivative(lambda x: self.twin.phi(x, self.p, self.time), self.q) @ self.v
        return rows, -along - derivative(lambda s: self.twin.phi(self.q, self.p, s[0]), [self.time])[:, 0]


def samples(kinds: tuple[str, ...] = CONSTRAINED, count: int = 3) -> Iterator[Sample]:
    """Random states of random systems under each kind of constraint."""
    for kind in kinds:
        for time, q, p in random_states(kind, count):
            yield Sample(twin(kind), twin_probe(kind), time, q, p)


def over_samples(residual: Callable[[Sample], float], kinds: tuple[str, ...] = CONSTRAINED) -> float:
    """The worst residual over all samples."""
    return worst(residual(sample) for sample in samples(kinds))


@claim("U-1", "Without constraints q_dot = H_p and p_dot = -H_q", how=f"{RANDOM}: library against complex steps of H")
def hamilton_equations() -> float:
    def residual(s: Sample) -> float:
        by_momentum = derivative(lambda y: s.twin.hamiltonian(s.q, y, s.time), s.p)
        return distance(s.probe.rates(s.time, s.state), np.concatenate([by_momentum, -s.derivative_of_energy]))

    return over_samples(residual, ("free",))


@claim(
    "U-2",
    "Constraints phi(p, q, t) = 0 may be nonlinear, depend on time and depend on each other, and hold along the motion",
    how="random system with two nonlinear rheonomic constraints and their sum, simulated without projection",
    tolerance=1e-8,
)
def constraints_hold() -> float:
    system, (time, q, p) = twin("dependent"), random_states("dependent", 1)[0]
    names = [symbol.name for symbol in twin_probe("dependent").equations.state]
    start = dict(zip(names, np.concatenate([q, p]), strict=True))
    motion = simulate(twin_probe("dependent").equations, start, (time, time + 1), rtol=1e-11, project=False)
    return worst(np.abs(system.phi(y[:3], y[3:], s)).max() for s, y in zip(motion.t, motion.y.T, strict=True))


@claim("U-3", "The canonical momentum is the derivative of L by the velocity", how=f"{RANDOM}: complex steps of L")
def canonical_momentum() -> float:
    def residual(s: Sample) -> float:
        found = twin_probe(s.twin.kind, "lagrange").blocks(s.time, np.concatenate([s.q, s.v])).momenta
        return distance(found, derivative(lambda w: s.twin.lagrangian(s.q, w, s.time), s.v))

    return over_samples(residual, KINDS)


@claim(
    "U-4",
    "Positions that move with time give T = v^T M v / 2 + m^T v + c with M positive definite",
    how="two particles at random rheonomic positions r(q, t): T of the library against J^T m J, J^T m r_t, m |r_t|^2 / 2",
)
def general_kinetic_energy() -> float:
    x, y = coordinates("x y")
    place = [x * sympy.cos(t) + sympy.sin(y), x**2 + t * y, sympy.exp(-t) * y + x]
    part = particle(2, place) + particle(3, [y * sympy.sin(t), x - t**2, x * y])
    weights = np.array([2.0] * 3 + [3.0] * 3)

    def positions(w: Any) -> Any:
        a, b, s = w
        first = [a * np.cos(s) + np.sin(b), a**2 + s * b, np.exp(-s) * b + a]
        return np.array([*first, b * np.sin(s), a - s**2, a * b])

    kinetic = sympy.lambdify([x, y, x.dot, y.dot, t], part.kinetic, "numpy")
    random, found = np.random.default_rng(4), []
    for _ in range(5):
        point, v = random.uniform(-1, 1, 3), random.uniform(-1, 1, 2)
        jacobian = derivative(positions, point)
        by_place, by_time = jacobian[:, :2], jacobian[:, 2]
        M, m, c = (
            by_place.T * weights @ by_place,
            by_place.T * weights @ by_time,
            by_time * weights @ by_time / 2,
        )
        found.append(distance(kinetic(*point[:2], *v, point[2]), v @ M @ v / 2 + m @ v + c))
        found.append(excess(-float(np.linalg.eigvalsh(M)[0])))
    return worst(found)


@claim("U-5", "p = M v + m, with the linear part m of the kinetic energy", how=f"{RANDOM}: library against M and m")
def momentum_with_shift() -> float:
    def residual(s: Sample) -> float:
        found = twin_probe(s.twin.kind, "lagrange").blocks(s.time, np.concatenate([s.q, s.v])).momenta
        return distance(found, s.mass @ s.v + s.twin.shift(s.q, s.time))

    return over_samples(residual, KINDS)


@claim("U-6", "v = M^-1 (p - m)", how=f"{RANDOM}: library Legendre transformation against a linear solve")
def velocity_from_momentum() -> float:
    return over_samples(
        lambda s: distance(s.blocks.velocities, np.linalg.solve(s.mass, s.p - s.twin.shift(s.q, s.time))), KINDS
    )


@claim(
    "U-7",
    "H = p . v - L; it differs from T + V by m . v + 2 c, so that it is the energy only where m and c vanish",
    how=f"{RANDOM}: library H against (p - m)^T M^-1 (p - m) / 2 - c + V and against T + V - m . v - 2 c",
)
def hamiltonian_by_legendre() -> float:
    def residual(s: Sample) -> float:
        sum_of_energies = s.twin.kinetic(s.q, s.v, s.time) + s.twin.potential(s.q, s.time)
        excess = s.twin.shift(s.q, s.time) @ s.v + 2 * s.twin.constant(s.q, s.time)
        closed = s.twin.hamiltonian(s.q, s.p, s.time)
        return largest(distance(s.blocks.energy, closed), distance(s.blocks.energy, sum_of_energies - excess))

    return over_samples(residual, KINDS)


@claim("U-8", "Free motion has p_dot = L_q = -H_q", how=f"{RANDOM}: library rates against complex steps of L and of H")
def momentum_rate_is_derivative_of_lagrangian() -> float:
    def residual(s: Sample) -> float:
        by_lagrangian = derivative(lambda x: s.twin.lagrangian(x, s.v, s.time), s.q)
        return largest(distance(s.momentum_rates, by_lagrangian), distance(s.momentum_rates, -s.derivative_of_energy))

    return over_samples(residual, ("free",))


@claim(
    "U-9",
    "A holonomic g(q, t) enters as phi = g_q M^-1 (p - m) + g_t",
    how="random rheonomic g off its constraint: the library's phi against the rate of g by its own chain rule",
)
def holonomic_as_momentum_constraint() -> float:
    system, probe = twin("holonomic"), twin_probe("holonomic")
    states = random_states("holonomic", 5, consistent=False)
    return worst(
        distance(probe.blocks(time, np.concatenate([q, p])).constraint, system.phi(q, p, time)) for time, q, p in states
    )


@claim(
    "U-10",
    "Along the motion phi_p p_dot = -phi_q v - phi_t: phi does not change",
    how=f"{RANDOM} under four kinds of constraint: complex-step derivative of phi along the library's rates",
)
def constraint_rate() -> float:
    return over_samples(lambda s: worst(s.twin.constraint_along(s.q, s.p, s.time, s.probe.rates(s.time, s.state))))


@claim("U-11", "A_p p_dot = b_p at every instant", how=f"{RANDOM}: library p_dot in rows taken by complex steps")
def differentiated_constraint() -> float:
    def residual(s: Sample) -> float:
        rows, right = s.momentum_rows
        return distance(rows @ s.momentum_rates, right)

    return over_samples(residual)


@claim(
    "U-12",
    "A_p = phi_p and b_p = -phi_q v - phi_t with v = H_p",
    how=f"{RANDOM} under four kinds of constraint: library A_p and b_p against complex steps of phi",
)
def momentum_rows() -> float:
    def residual(s: Sample) -> float:
        rows, right = s.momentum_rows
        return largest(distance(s.blocks.A, rows), distance(s.blocks.b, right))

    return over_samples(residual)


@claim(
    "U-13",
    "Constraints leave q_dot = H_p as it is and add one force Q^C to p_dot = -H_q",
    how=f"{RANDOM}: the library's reported reactions against p_dot + H_q by complex steps",
)
def constraint_force_is_added() -> float:
    def residual(s: Sample) -> float:
        rates = s.probe.rates(s.time, s.state)
        reaction = s.probe.reaction(s.time, s.state)
        return largest(distance(rates[:3], s.v), distance(reaction, rates[3:] + s.derivative_of_energy))

    return over_samples(residual)


def _moved(s: Sample, extra: Any, step: float) -> Any:
    """q after `step` by one Runge-Kutta step of the library's rates, with `extra` in the null space of A_p added."""

    def field(time: float, y: Any) -> Any:
        basis = null_space(s.probe.blocks(time, y).A)
        return s.probe.rates(time, y) + np.concatenate([np.zeros(3), basis @ (basis.T @ extra)])

    y, time = s.state, s.time
    first = field(time, y)
    second = field(time + step / 2, y + step / 2 * first)
    third = field(time + step / 2, y + step / 2 * second)
    last = field(time + step, y + step * third)
    return (y + step / 6 * (first + 2 * second + 2 * third + last))[:3]


def _length(vector: Any) -> float:
    return float(np.linalg.norm(vector))


def _order(remainder: Callable[[float], float], step: float = 4e-3) -> float:
    """The measured order of a remainder as the step is halved."""
    return float(np.log2(remainder(step) / remainder(step / 2)))


def _accelerations(s: Sample, extra: Any) -> Any:
    basis = null_space(s.blocks.A)
    rates = s.momentum_rates + basis @ (basis.T @ extra)
    return np.linalg.solve(s.mass, rates - s.twin.momentum_drift(s.q, s.v, s.time))


@claim(
    "U-14",
    "Positions a moment later follow from position, velocity and acceleration up to third order",
    how="order of the Taylor remainder of actual and possible motions of random systems, against 3",
    tolerance=0.05,
)
def taylor_remainder() -> float:
    extra = np.array([0.7, -0.4, 0.5])

    def residual(s: Sample) -> float:
        z = _accelerations(s, extra)
        return _order(lambda h: _length(_moved(s, extra, h) - s.q - h * s.v - h**2 / 2 * z)) - 3

    return worst(residual(s) for s in samples(("holonomic", "momentum"), 2))


@claim(
    "U-15",
    "A virtual displacement is half the squared step times the difference of two possible accelerations, to third order",
    how="order of the remainder between two possible motions from one state of random systems, against 3",
    tolerance=0.05,
)
def virtual_displacement_order() -> float:
    extra, zero = np.array([0.7, -0.4, 0.5]), np.zeros(3)

    def residual(s: Sample) -> float:
        between = _accelerations(s, extra) - _accelerations(s, zero)
        return _order(lambda h: _length(_moved(s, extra, h) - _moved(s, zero, h) - h**2 / 2 * between)) - 3

    return worst(residual(s) for s in samples(("holonomic", "momentum"), 2))


def _possible_accelerations(s: Sample, seed: int = 3) -> Any:
    """Accelerations that the constraints allow, by the independent implementation's velocity rows: the actual ones plus an
    allowed change.
    """
    rows, _ = s.twin.velocity_rows(s.q, s.v, s.time)
    actual, _ = s.twin.accelerations(s.q, s.v, s.time)
    basis = null_space(rows)
    return actual, actual + basis @ np.random.default_rng(seed).uniform(-1, 1, basis.shape[1])


def _momentum_rates(s: Sample, z: Any) -> Any:
    return s.mass @ z + s.twin.momentum_drift(s.q, s.v, s.time)


@claim(
    "U-16",
    "The momentum rates of every possible motion obey A_p p_dot = b_p",
    how=f"{RANDOM}: rates of accelerations that velocity rows allow, in the library's A_p and b_p",
)
def possible_rates() -> float:
    def residual(s: Sample) -> float:
        rates = _momentum_rates(s, _possible_accelerations(s)[1])
        return distance(s.blocks.A @ rates, s.blocks.b)

    return over_samples(residual)


@claim(
    "U-17",
    "The momentum rates of the actual motion obey A_p p_dot = b_p",
    how=f"{RANDOM}: rates by multipliers in velocity space, in the library's A_p and b_p",
)
def actual_rates() -> float:
    def residual(s: Sample) -> float:
        return distance(s.blocks.A @ s.twin.momentum_rates(s.q, s.p, s.time), s.blocks.b)

    return over_samples(residual)


@claim(
    "U-18",
    "Possible and actual momentum rates differ by a vector that A_p takes to zero",
    how=f"{RANDOM}: difference of two rates that the independent implementation allows, in the library's A_p",
)
def rate_difference() -> float:
    def residual(s: Sample) -> float:
        actual, possible = _possible_accelerations(s)
        return worst(s.blocks.A @ (_momentum_rates(s, possible) - _momentum_rates(s, actual)))

    return over_samples(residual)


@claim(
    "U-19",
    "p_dot = M q_ddot + (dM/dt) v + dm/dt; the print has m with a hook where the rate of m belongs",
    how=f"{RANDOM}: library p_dot and accelerations; the printed last term read as m itself",
)
def momentum_rate() -> Corrected:
    def residual(s: Sample, shift: Any) -> float:
        z = s.probe.observe(s.time, s.state)["accelerations"]

        def mass_along(w: Any) -> Any:
            return (s.twin.mass(s.q + w[0] * s.v, s.time + w[0]) @ s.v).ravel()

        return distance(s.momentum_rates, s.mass @ z + derivative(mass_along, [0.0])[:, 0] + shift)

    def shift_rate(s: Sample) -> Any:
        return derivative(lambda w: s.twin.shift(s.q + w[0] * s.v, s.time + w[0]), [0.0])[:, 0]

    right = over_samples(lambda s: residual(s, shift_rate(s)))
    return Corrected(right, over_samples(lambda s: residual(s, s.twin.shift(s.q, s.time))))


@claim(
    "U-20",
    "Possible and actual accelerations differ by a vector that A_p M takes to zero",
    how=f"{RANDOM}: accelerations that velocity rows allow, in the library's A_p and the independent implementation's M",
)
def acceleration_difference() -> float:
    def residual(s: Sample) -> float:
        actual, possible = _possible_accelerations(s)
        return worst(s.blocks.A @ s.mass @ (possible - actual))

    return over_samples(residual)


@claim(
    "U-21",
    "Virtual displacements w obey A_p M w = 0, which is Chetaev's rule A_v w = 0 in velocity space",
    how=f"{RANDOM}: A_p M of the library against velocity rows by complex steps",
)
def virtual_displacements() -> float:
    return over_samples(lambda s: distance(s.blocks.A @ s.mass, s.twin.velocity_rows(s.q, s.v, s.time)[0]))


@claim(
    "U-22",
    "The constraint force does no work on virtual displacements",
    how=f"{RANDOM}: library reactions on a basis of the null space of A_p M",
)
def no_virtual_work() -> float:
    return over_samples(lambda s: worst(null_space(s.blocks.A @ s.mass).T @ s.probe.reaction(s.time, s.state)))


@claim("U-23", "H_pp is the inverse of the mass matrix", how=f"{RANDOM}: library H_pp times M against the identity")
def inverse_mass_matrix() -> float:
    return over_samples(lambda s: distance(s.blocks.G @ s.mass, np.eye(3)), KINDS)


@claim(
    "U-24",
    "Virtual displacements are the null space of A_p H_pp^-1 (not of A_p)",
    how=f"{RANDOM}: the library's null space of A_p H_pp^-1 in velocity rows by complex steps, dimensions compared",
)
def null_space_of_virtual_displacements() -> float:
    def residual(s: Sample) -> float:
        basis = null_space(s.blocks.A @ np.linalg.inv(s.blocks.G))
        rows, _ = s.twin.velocity_rows(s.q, s.v, s.time)
        return worst([*(rows @ basis).ravel(), basis.shape[1] - null_space(rows).shape[1]])

    return over_samples(residual)
