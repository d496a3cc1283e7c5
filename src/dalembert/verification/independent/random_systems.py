"""Random systems stated twice: as a `System`, and as plain NumPy functions that know nothing of the library.

    L = v^T M(q,t) v / 2 + m(q,t)^T v + c(q,t) - V(q,t)

with every entry a wave in q and t, under constraints on positions, velocities or momenta that are nonlinear and depend
on time. The numeric side differentiates by complex steps, so that it is an independent implementation of the library's algebra.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.constraints import Constraint, holonomic, momentum, velocity
from ...model.symbols import coordinates, t
from ...model.system import System
from ..numeric import Probe, derivative, least_norm_solution

__all__ = ["KINDS", "Twin", "random_states", "twin", "twin_probe"]

#: Free, and one kind of constraint each; "dependent" has a third row that combines the other two.
KINDS = ("free", "holonomic", "velocity", "momentum", "dependent")

SIZE = 3


@dataclass(frozen=True)
class Wave:
    """amplitude * sin(frequency . q + drift t + phase), for symbols and for numbers."""

    amplitude: float
    frequency: tuple[float, ...]
    drift: float
    phase: float

    def _angle(self, q: Any, time: Any) -> Any:
        return sum(w * x for w, x in zip(self.frequency, q, strict=True)) + self.drift * time + self.phase

    def __call__(self, q: Any, time: Any) -> Any:
        angle = self._angle(q, time)
        return self.amplitude * (sympy.sin(angle) if isinstance(angle, sympy.Expr) else np.sin(angle))

    def rate(self, q: Any, v: Any, time: Any) -> Any:
        """Its time derivative along v, for numbers."""
        speed = sum(w * x for w, x in zip(self.frequency, v, strict=True)) + self.drift
        return self.amplitude * np.cos(self._angle(q, time)) * speed


@dataclass(frozen=True)
class Twin:
    """A random system in both languages; n = 3 coordinates, m constraint rows."""

    system: System
    kind: str
    sinusoids: tuple[Wave, ...]

    # -- energies as numbers -------------------------------------------------------------------------------------

    def mass(self, q: Any, time: Any) -> Any:
        """M (n, n)."""
        return np.array(_mass(self.sinusoids, q, time))

    def shift(self, q: Any, time: Any) -> Any:
        """m (n,), the part of T that is linear in the velocities."""
        return np.array(_shift(self.sinusoids, q, time))

    def constant(self, q: Any, time: Any) -> Any:
        """c, the part of T without velocities."""
        return self.sinusoids[9](q, time)

    def potential(self, q: Any, time: Any) -> Any:
        """V."""
        return self.sinusoids[10](q, time)

    def kinetic(self, q: Any, v: Any, time: Any) -> Any:
        """T."""
        return v @ self.mass(q, time) @ v / 2 + self.shift(q, time) @ v + self.constant(q, time)

    def lagrangian(self, q: Any, v: Any, time: Any) -> Any:
        """L = T - V."""
        return self.kinetic(q, v, time) - self.potential(q, time)

    def momenta(self, q: Any, v: Any, time: Any) -> Any:
        """p = M v + m, in closed form."""
        return self.mass(q, time) @ v + self.shift(q, time)

    def velocities(self, q: Any, p: Any, time: Any) -> Any:
        """v = M^-1 (p - m), in closed form."""
        return np.linalg.solve(self.mass(q, time), p - self.shift(q, time))

    def hamiltonian(self, q: Any, p: Any, time: Any) -> Any:
        """H = (p - m)^T M^-1 (p - m) / 2 - c + V, in closed form."""
        rest = p - self.shift(q, time)
        return rest @ np.linalg.solve(self.mass(q, time), rest) / 2 - self.constant(q, time) + self.potential(q, time)

    # -- constraints as numbers ----------------------------------------------------------------------------------

    def constraint(self, q: Any, v: Any, time: Any) -> Any:
        """f(q, v, t) (m,), whatever it was written in."""
        if self.kind == "free":
            return np.zeros(0)
        if self.kind == "holonomic":
            return np.array([v[0] + self.sinusoids[11].rate(q, v, time), v[1] + self.sinusoids[12].rate(q, v, time)])
        symbols = v if self.kind == "velocity" else self.momenta(q, v, time)
        return np.array(_conditions(self.sinusoids, q, symbols, time, self.kind == "dependent"))

    def phi(self, q: Any, p: Any, time: Any) -> Any:
        """The same as a function of momenta (Udwadia's eq. 2)."""
        return self.constraint(q, self.velocities(q, p, time), time)

    # -- the motion as numbers -----------------------------------------------------------------------------------

    def momentum_drift(self, q: Any, v: Any, time: float) -> Any:
        """dp/dt - M q_ddot = (M v + m)_q v + (M v + m)_t."""
        return (
            derivative(lambda x: self.momenta(x, v, time), q) @ v + derivative(lambda s: self.momenta(q, v, s[0]), [time])[:, 0]
        )

    def velocity_rows(self, q: Any, v: Any, time: float) -> tuple[Any, Any]:
        """A_v and b_v with A_v q_ddot = b_v."""
        if self.kind == "free":
            return np.zeros((0, len(q))), np.zeros(0)
        rows = derivative(lambda w: self.constraint(q, w, time), v)
        right = derivative(lambda x: self.constraint(x, v, time), q) @ v
        return rows, -right - derivative(lambda s: self.constraint(q, v, s[0]), [time])[:, 0]

    def generalised_force(self, q: Any, v: Any, time: float) -> Any:
        """The right side of M q_ddot = ... without constraints: L_q - (M v + m)_q v - (M v + m)_t."""
        return derivative(lambda x: self.lagrangian(x, v, time), q) - self.momentum_drift(q, v, time)

    def constraint_along(self, q: Any, p: Any, time: float, rates: Any) -> Any:
        """The rate of phi along given rates of (q, p), (m,)."""
        n = len(q)
        return derivative(lambda w: self.phi(q + w[0] * rates[:n], p + w[0] * rates[n:], time + w[0]), [0.0])[:, 0]

    def accelerations(self, q: Any, v: Any, time: float) -> tuple[Any, Any]:
        """q_ddot and the reaction A_v^T mu by Lagrange's equations with multipliers."""
        force = self.generalised_force(q, v, time)
        rows, right = self.velocity_rows(q, v, time)
        if not len(right):
            return np.linalg.solve(self.mass(q, time), force), np.zeros(len(q))
        z, multipliers = least_norm_solution(self.mass(q, time), force, rows, right)
        return z, rows.T @ multipliers

    def momentum_rates(self, q: Any, p: Any, time: float) -> Any:
        """p_dot by way of the accelerations."""
        v = self.velocities(q, p, time)
        z, _ = self.accelerations(q, v, time)
        return self.mass(q, time) @ z + self.momentum_drift(q, v, time)


def _mass(sinusoids: tuple[Wave, ...], q: Any, time: Any) -> list[list[Any]]:
    places = iter(range(6))
    table: list[list[Any]] = [[0] * SIZE for _ in range(SIZE)]
    for i in range(SIZE):
        for j in range(i, SIZE):
            entry = sinusoids[next(places)](q, time)
            table[i][j] = table[j][i] = entry + (3 if i == j else 0)
    return table


def _shift(sinusoids: tuple[Wave, ...], q: Any, time: Any) -> list[Any]:
    return [wave(q, time) for wave in sinusoids[6:9]]


def _conditions(sinusoids: tuple[Wave, ...], q: Any, w: Any, time: Any, dependent: bool) -> list[Any]:
    """Two conditions on q and on velocities or momenta w, nonlinear in both; the third is the first plus twice the second."""
    first = w[0] * w[1] + (2 + sinusoids[13](q, time)) * w[2] + sinusoids[14](q, time)
    second = w[0] + sinusoids[15](q, time) * w[1] ** 2 + sinusoids[16](q, time)
    return [first, second, first + 2 * second] if dependent else [first, second]


def _constraints(kind: str, sinusoids: tuple[Wave, ...], q: Any) -> list[Constraint]:
    if kind == "free":
        return []
    if kind == "holonomic":
        return [holonomic(q[k] + sinusoids[11 + k](q, t), name=f"g{k + 1}") for k in range(2)]
    symbols = [x.dot if kind == "velocity" else x.momentum for x in q]
    impose: Callable[..., Constraint] = velocity if kind == "velocity" else momentum
    conditions = _conditions(sinusoids, q, symbols, t, kind == "dependent")
    return [impose(condition, name=f"f{k + 1}") for k, condition in enumerate(conditions)]


@cache
def twin(kind: str, seed: int = 1) -> Twin:
    """A random system under constraints of one kind; see `KINDS`."""
    random = np.random.default_rng([seed, KINDS.index(kind)])

    def wave() -> Wave:
        amplitude, drift, phase = (round(float(x), 3) for x in random.uniform(0.3, 0.8, 3))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1, 1, SIZE)), drift, phase)

    sinusoids = tuple(wave() for _ in range(17))
    q = coordinates("q1:4")
    v = sympy.Matrix([x.dot for x in q])
    kinetic = (v.T * sympy.Matrix(_mass(sinusoids, q, t)) * v)[0] / 2
    kinetic += (sympy.Matrix(_shift(sinusoids, q, t)).T * v)[0] + sinusoids[9](q, t)
    system = System(
        q, kinetic=kinetic, potential=sinusoids[10](q, t), constraints=_constraints(kind, sinusoids, q), name=f"random {kind}"
    )
    return Twin(system, kind, sinusoids)


@cache
def twin_probe(kind: str, form: str = "hamilton", seed: int = 1) -> Probe:
    """The library's equations of a random system."""
    return Probe(derive(twin(kind, seed).system, form), {})


def random_states(kind: str, count: int = 4, seed: int = 1, consistent: bool = True) -> list[tuple[float, Any, Any]]:
    """Random times with states (t, q, p) of a random system, on its constraints unless told otherwise."""
    random = np.random.default_rng([seed, 7, KINDS.index(kind)])
    found = []
    for _ in range(count):
        time, state = float(random.uniform(0, 2)), random.uniform(-1, 1, 2 * SIZE)
        if consistent and kind != "free":
            state = twin_probe(kind, "hamilton", seed).projected(time, state)
        found.append((time, state[:SIZE], state[SIZE:]))
    return found
