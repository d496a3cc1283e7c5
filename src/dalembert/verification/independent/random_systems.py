"""Random systems stated twice: as a `System`, and as NumPy functions independent of the library.

    L = v^T M(q,t) v / 2 + m(q,t)^T v + c(q,t) - V(q,t)

with every entry a sinusoid in q and t, under constraints on positions, velocities or momenta that
are nonlinear and depend on time. The numeric side differentiates by complex steps, so that it is an
independent implementation of the library's algebra.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.constraints import Constraint, holonomic, momentum, velocity
from ...model.symbols import coordinates, t
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, derivative, least_norm_solution
from ..samples import Generator

#: Variables (n,) of a function that is written once: symbols, or numbers for complex steps.
Point: TypeAlias = "Sequence[sympy.Expr] | Array"
#: A time: a symbol or a number.
Time: TypeAlias = "sympy.Expr | float"

#: Free, and one kind of constraint each; "dependent" has a third row that combines the other two.
KINDS = ("free", "holonomic", "velocity", "momentum", "dependent")

SIZE = 3


@dataclass(frozen=True)
class Sinusoid:
    """amplitude * sin(frequency . q + drift t + phase), for symbols and for numbers."""

    amplitude: float
    frequency: tuple[float, ...]
    drift: float
    phase: float

    def _angle(self, q: Point, time: Time) -> Any:
        angle = sum(w * x for w, x in zip(self.frequency, q, strict=True))
        return angle + self.drift * time + self.phase

    def __call__(self, q: Point, time: Time = 0) -> Any:
        angle = self._angle(q, time)
        sine = sympy.sin if isinstance(angle, sympy.Expr) else np.sin
        return self.amplitude * sine(angle)

    def rate(self, q: Array, v: Array, time: float) -> Any:
        """Its time derivative along v, for numbers."""
        speed = sum(w * x for w, x in zip(self.frequency, v, strict=True)) + self.drift
        return self.amplitude * np.cos(self._angle(q, time)) * speed


def draw_sinusoids(
    random: Generator, count: int, size: int, low: float, high: float, reach: float = 1.0,
    drifting: bool = False,
) -> tuple[Sinusoid, ...]:  # fmt: skip
    """Random sinusoids in `size` variables, with frequencies up to `reach`."""
    found = []
    for _ in range(count):
        numbers = random.uniform(low, high, 3 if drifting else 2)
        amplitude, *drift, phase = (round(float(x), 3) for x in numbers)
        frequency = tuple(round(float(x), 3) for x in random.uniform(-reach, reach, size))
        found.append(Sinusoid(amplitude, frequency, drift[0] if drift else 0.0, phase))
    return tuple(found)


def symmetric(
    sinusoids: Iterable[Sinusoid], q: Point, time: Time = 0, *, size: int, diagonal: int
) -> list[list[Any]]:
    """A symmetric matrix of sinusoids, row by row in its upper triangle, plus a diagonal."""
    source = iter(sinusoids)
    table: list[list[Any]] = [[0] * size for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            table[i][j] = table[j][i] = next(source)(q, time) + (diagonal if i == j else 0)
    return table


class QuadraticSystem(ABC):
    """Numeric mechanics of L = v^T M v / 2 + m^T v + ..., by closed forms and complex steps."""

    @abstractmethod
    def mass(self, q: Array, time: float) -> Any:
        """M (n, n)."""

    @abstractmethod
    def shift(self, q: Array, time: float) -> Any:
        """m (n,), the part of T that is linear in the velocities."""

    @abstractmethod
    def lagrangian(self, q: Array, v: Array, time: float) -> Any:
        """L."""

    def momenta(self, q: Array, v: Array, time: float) -> Any:
        """p = M v + m (n,)."""
        return self.mass(q, time) @ v + self.shift(q, time)

    def velocities(self, q: Array, p: Array, time: float) -> Any:
        """v = M^-1 (p - m) (n,)."""
        return np.linalg.solve(self.mass(q, time), p - self.shift(q, time))

    def momentum_drift(self, q: Array, v: Array, time: float) -> Any:
        """dp/dt - M q_ddot = (M v + m)_q v + (M v + m)_t."""
        by_time = derivative(lambda s: self.momenta(q, v, s[0]), [time])[:, 0]
        return derivative(lambda x: self.momenta(x, v, time), q) @ v + by_time

    def generalised_force(self, q: Array, v: Array, time: float) -> Any:
        """The right side of M q_ddot = L_q - (M v + m)_q v - (M v + m)_t without constraints."""
        by_position = derivative(lambda x: self.lagrangian(x, v, time), q)
        return by_position - self.momentum_drift(q, v, time)


@dataclass(frozen=True)
class RandomSystem(QuadraticSystem):
    """A random system in both languages; n = 3 coordinates, m constraint rows."""

    system: System
    kind: str
    sinusoids: tuple[Sinusoid, ...]

    # -- energies as numbers -----------------------------------------------------------------------

    def mass(self, q: Array, time: float) -> Any:
        return np.array(symmetric(self.sinusoids, q, time, size=SIZE, diagonal=3))

    def shift(self, q: Array, time: float) -> Any:
        return np.array([f(q, time) for f in self.sinusoids[6:9]])

    def constant(self, q: Array, time: float) -> Any:
        """c, the part of T without velocities."""
        return self.sinusoids[9](q, time)

    def potential(self, q: Array, time: float) -> Any:
        """V."""
        return self.sinusoids[10](q, time)

    def kinetic(self, q: Array, v: Array, time: float) -> Any:
        """T."""
        return v @ self.mass(q, time) @ v / 2 + self.shift(q, time) @ v + self.constant(q, time)

    def lagrangian(self, q: Array, v: Array, time: float) -> Any:
        return self.kinetic(q, v, time) - self.potential(q, time)

    def hamiltonian(self, q: Array, p: Array, time: float) -> Any:
        """H = (p - m)^T M^-1 (p - m) / 2 - c + V, in closed form."""
        rest = p - self.shift(q, time)
        kinetic = rest @ np.linalg.solve(self.mass(q, time), rest) / 2
        return kinetic - self.constant(q, time) + self.potential(q, time)

    # -- constraints as numbers --------------------------------------------------------------------

    def constraint(self, q: Array, v: Array, time: float) -> Any:
        """f(q, v, t) (m,), whatever it was written in."""
        if self.kind == "free":
            return np.zeros(0)
        if self.kind == "holonomic":
            return np.array([v[k] + self.sinusoids[11 + k].rate(q, v, time) for k in range(2)])
        symbols = v if self.kind == "velocity" else self.momenta(q, v, time)
        return np.array(_conditions(self.sinusoids, q, symbols, time, self.kind == "dependent"))

    def phi(self, q: Array, p: Array, time: float) -> Any:
        """The same as a function of momenta (Udwadia's eq. 2)."""
        return self.constraint(q, self.velocities(q, p, time), time)

    def velocity_rows(self, q: Array, v: Array, time: float) -> tuple[Any, Any]:
        """A_v and b_v with A_v q_ddot = b_v."""
        if self.kind == "free":
            return np.zeros((0, len(q))), np.zeros(0)
        rows = derivative(lambda w: self.constraint(q, w, time), v)
        right = derivative(lambda x: self.constraint(x, v, time), q) @ v
        return rows, -right - derivative(lambda s: self.constraint(q, v, s[0]), [time])[:, 0]

    def constraint_along(self, q: Array, p: Array, time: float, rates: Array) -> Any:
        """The rate of phi along given rates of (q, p), (m,)."""
        n = len(q)
        return derivative(
            lambda w: self.phi(q + w[0] * rates[:n], p + w[0] * rates[n:], time + w[0]), [0.0]
        )[:, 0]

    # -- the motion as numbers ---------------------------------------------------------------------

    def accelerations(self, q: Array, v: Array, time: float) -> tuple[Any, Any]:
        """q_ddot and the reaction A_v^T mu by Lagrange's equations with multipliers."""
        force = self.generalised_force(q, v, time)
        rows, right = self.velocity_rows(q, v, time)
        if not len(right):
            return np.linalg.solve(self.mass(q, time), force), np.zeros(len(q))
        z, multipliers = least_norm_solution(self.mass(q, time), force, rows, right)
        return z, rows.T @ multipliers

    def momentum_rates(self, q: Array, p: Array, time: float) -> Any:
        """p_dot by way of the accelerations."""
        v = self.velocities(q, p, time)
        z, _ = self.accelerations(q, v, time)
        return self.mass(q, time) @ z + self.momentum_drift(q, v, time)


def _conditions(
    sinusoids: tuple[Sinusoid, ...], q: Point, w: Point, time: Time, dependent: bool
) -> list[Any]:
    """Two nonlinear conditions on q and w (velocities or momenta); a third combines the two."""
    first = w[0] * w[1] + (2 + sinusoids[13](q, time)) * w[2] + sinusoids[14](q, time)
    second = w[0] + sinusoids[15](q, time) * w[1] ** 2 + sinusoids[16](q, time)
    return [first, second, first + 2 * second] if dependent else [first, second]


def _constraints(kind: str, sinusoids: tuple[Sinusoid, ...], q: Sequence[Any]) -> list[Constraint]:
    if kind == "free":
        return []
    if kind == "holonomic":
        return [holonomic(q[k] + sinusoids[11 + k](q, t), name=f"g{k + 1}") for k in range(2)]
    symbols = [x.dot if kind == "velocity" else x.momentum for x in q]
    impose: Callable[..., Constraint] = velocity if kind == "velocity" else momentum
    conditions = _conditions(sinusoids, q, symbols, t, kind == "dependent")
    return [impose(condition, name=f"f{k + 1}") for k, condition in enumerate(conditions)]


@cache
def random_system(kind: str, seed: int = 1) -> RandomSystem:
    """A random system under constraints of one kind; see `KINDS`."""
    random = np.random.default_rng([seed, KINDS.index(kind)])
    sinusoids = draw_sinusoids(random, 17, SIZE, 0.3, 0.8, drifting=True)
    q = coordinates("q1:4")
    v = sympy.Matrix([x.dot for x in q])
    mass = sympy.Matrix(symmetric(sinusoids, q, t, size=SIZE, diagonal=3))
    kinetic = (v.T * mass * v)[0] / 2
    shift = sympy.Matrix([f(q, t) for f in sinusoids[6:9]])
    kinetic += (shift.T * v)[0] + sinusoids[9](q, t)
    constraints = _constraints(kind, sinusoids, q)
    potential, name = sinusoids[10](q, t), f"random {kind}"
    system = System(q, kinetic=kinetic, potential=potential, constraints=constraints, name=name)
    return RandomSystem(system, kind, sinusoids)


@cache
def random_probe(kind: str, form: str = "hamilton", seed: int = 1) -> Probe:
    """The library's equations of a random system."""
    return Probe(derive(random_system(kind, seed).system, form), {})


def random_states(
    kind: str, count: int = 4, seed: int = 1, consistent: bool = True
) -> list[tuple[float, Array, Array]]:
    """Random times with states (t, q, p) of a random system; `consistent` ones obey constraints."""
    random = np.random.default_rng([seed, 7, KINDS.index(kind)])
    found = []
    for _ in range(count):
        time, state = float(random.uniform(0, 2)), random.uniform(-1, 1, 2 * SIZE)
        if consistent and kind != "free":
            state = random_probe(kind, "hamilton", seed).projected(time, state)
        found.append((time, state[:SIZE], state[SIZE:]))
    return found
