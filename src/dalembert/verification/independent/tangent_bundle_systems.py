"""Random systems on a tangent bundle, as a `System` and as NumPy functions of (q, v).

    L = v^T M(q) v / 2 + m(q)^T v + k sum_i v_i^4 / 4 - V(q)

under conditions f(q, v) = 0 of one kind. The quartic term makes the Hessian depend on the
velocities, so that nothing holds only because L is quadratic. The numeric side differentiates by
complex steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, StateBlocks, derivative
from ..samples import Generator, sampler
from .random_systems import Point, Sinusoid, draw_sinusoids

#: Names of the coordinates of each kind.
KINDS = dict.fromkeys(("free", "linear", "affine", "nonlinear", "homogeneous"), "q1 q2 q3")
KINDS |= {"bent": "r1 r2 r3 s1 s2", "flat": "r1 r2 r3 s1 s2"}

QUARTIC = 0.2
#: The flat connection's coefficients: s^a exp(sum_al c^a_al r_al^2 / 2) stays constant.
FLAT = np.array([[0.3, -0.2, 0.25], [-0.15, 0.35, 0.2]])


@dataclass(frozen=True)
class TangentSystem:
    """A random system in both languages; n coordinates, m conditions."""

    kind: str
    system: System
    sinusoids: tuple[Sinusoid, ...]

    @property
    def size(self) -> int:
        """n."""
        return len(self.system.coordinates)

    def mass(self, q: Array) -> Any:
        """M(q), the quadratic part of L (n, n)."""
        return np.array(_mass(self.sinusoids, q))

    def hessian(self, q: Array, v: Array) -> Any:
        """L_vv (n, n)."""
        return self.mass(q) + np.diag(3 * QUARTIC * v**2)

    def shift(self, q: Array) -> Any:
        """m(q) (n,)."""
        return np.array(_shift(self.sinusoids, q))

    def lagrangian(self, q: Array, v: Array) -> Any:
        """L."""
        quadratic = v @ self.mass(q) @ v / 2 + self.shift(q) @ v
        return quadratic + QUARTIC * np.sum(v**4) / 4 - self.sinusoids[0](q)

    def momenta(self, q: Array, v: Array) -> Any:
        """L_v in closed form (n,)."""
        return self.mass(q) @ v + self.shift(q) + QUARTIC * v**3

    def energy(self, q: Array, v: Array) -> Any:
        """L_v . v - L."""
        return self.momenta(q, v) @ v - self.lagrangian(q, v)

    def condition(self, q: Array, v: Array) -> Any:
        """f (m,)."""
        return np.array(_conditions(self.kind, self.sinusoids, q, v))

    def forms(self, q: Array, v: Array) -> tuple[Any, Any]:
        """The constraint forms df = a dq + b dv: a = f_q and b = f_v, both (m, n)."""
        if self.kind == "free":
            return np.zeros((0, self.size)), np.zeros((0, self.size))
        by_position = derivative(lambda x: self.condition(x, v), q)
        return by_position, derivative(lambda w: self.condition(q, w), v)

    def connection(self, q: Array) -> Any:
        """A^a_al(r, s) of the kinds "bent" and "flat" (2, 3)."""
        return np.array(_connection(self.kind, self.sinusoids, q))

    def euler(self, q: Array, v: Array, z: Array) -> Any:
        """d/dt L_v - L_q along the path with velocity v and acceleration z (n,)."""
        inertia = derivative(lambda w: self.momenta(q + w[0] * v, v + w[0] * z), [0.0])[:, 0]
        return inertia - derivative(lambda x: self.lagrangian(x, v), q)

    def accelerations(self, q: Array, v: Array) -> tuple[Any, Any]:
        """q_ddot and lambda of euler = lambda b, b q_ddot = -a v, from one dense system."""
        a, b = self.forms(q, v)
        n, m = self.size, len(a)
        matrix = np.block([[self.hessian(q, v), -b.T], [b, np.zeros((m, m))]])
        solution = np.linalg.solve(matrix, np.concatenate([-self.euler(q, v, np.zeros(n)), -a @ v]))
        return solution[:n], solution[n:]

    def obeying(self, q: Array, v: Array) -> Any:
        """A velocity near v with f(q, v) = 0, by Newton's method."""
        for _ in range(50):
            rest, rows = self.condition(q, v), self.forms(q, v)[1]
            if not len(rest) or np.max(np.abs(rest)) < 1e-15:
                break
            v = v - rows.T @ np.linalg.solve(rows @ rows.T, rest)
        return v


def _mass(sinusoids: tuple[Sinusoid, ...], q: Point) -> list[list[Any]]:
    """Sinusoids on the diagonal and between cyclic neighbours."""
    n = len(q)
    table: list[list[Any]] = [[0] * n for _ in range(n)]
    for i in range(n):
        table[i][i] = 3 + sinusoids[1 + i](q)
        table[i][(i + 1) % n] = table[(i + 1) % n][i] = sinusoids[6 + i](q)
    return table


def _shift(sinusoids: tuple[Sinusoid, ...], q: Point) -> list[Any]:
    return [f(q) for f in sinusoids[11 : 11 + len(q)]]


def _connection(kind: str, sinusoids: tuple[Sinusoid, ...], q: Point) -> list[list[Any]]:
    """A^a_al(r, s) of s_dot^a = -A^a_al r_dot^al, two rows of three."""
    if kind == "flat":
        return [[q[3 + a] * float(FLAT[a, k]) * q[k] for k in range(3)] for a in range(2)]
    return [[sinusoids[16 + 3 * a + k](q) for k in range(3)] for a in range(2)]


def _conditions(kind: str, sinusoids: tuple[Sinusoid, ...], q: Point, v: Point) -> list[Any]:
    """f(q, v), in symbols or in numbers."""
    if kind in ("bent", "flat"):
        table = _connection(kind, sinusoids, q)
        return [v[3 + a] + sum(table[a][k] * v[k] for k in range(3)) for a in range(2)]
    w = [f(q) for f in sinusoids[16:22]]
    if kind == "homogeneous":
        root = sympy.sqrt if isinstance(v[0], sympy.Expr) else np.sqrt
        return [v[2] + (1 + w[0]) * root(v[0] ** 2 + (2 + w[1]) * v[1] ** 2)]
    if kind == "nonlinear":
        first = v[0] * v[1] + (2 + w[0]) * v[2] + w[1]
        return [first, w[2] * v[2] ** 2 + v[0] + (2 + w[3]) * v[1] + w[4]]
    rest = [w[4], w[5]] if kind == "affine" else [0, 0]
    first = w[0] * v[0] + (2 + w[1]) * v[2] + rest[0]
    second = w[2] * v[0] + w[0] * v[2] + (2 + w[3]) * v[1] + rest[1]
    return [] if kind == "free" else [first, second]


@cache
def tangent_system(kind: str, seed: int = 5) -> TangentSystem:
    """A random system under conditions of one kind; see `KINDS`."""
    q = coordinates(KINDS[kind])
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    sinusoids = draw_sinusoids(random, 22, len(q), 0.2, 0.5)
    v = sympy.Matrix([x.dot for x in q])
    lagrangian = (v.T * sympy.Matrix(_mass(sinusoids, q)) * v)[0] / 2
    lagrangian = lagrangian + (sympy.Matrix(_shift(sinusoids, q)).T * v)[0]
    lagrangian += QUARTIC * sum(x.dot**4 for x in q) / 4 - sinusoids[0](q)
    conditions = _conditions(kind, sinusoids, q, [x.dot for x in q])
    rows = [velocity(condition, name=f"f{k + 1}") for k, condition in enumerate(conditions)]
    system = System(q, lagrangian=lagrangian, constraints=rows, name=f"random {kind}")
    return TangentSystem(kind, system, sinusoids)


@cache
def tangent_probe(kind: str, form: str = "lagrange") -> Probe:
    """The library's equations of a random system."""
    return Probe(derive(tangent_system(kind).system, form), {})


@dataclass(frozen=True)
class TangentSample:
    """A random (q, v) that obeys the conditions, with accelerations z that it need not have."""

    model: TangentSystem
    q: Array
    v: Array
    z: Array

    @property
    def state(self) -> Any:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    @property
    def probe(self) -> Probe:
        """Lagrange's equations by the library."""
        return tangent_probe(self.model.kind)

    @property
    def blocks(self) -> StateBlocks:
        """The library's blocks of Lagrange's equations."""
        return self.probe.blocks(0.0, self.state)

    @property
    def rates(self) -> Any:
        """The library's (q_dot, q_ddot) (2n,)."""
        return self.probe.rates(0.0, self.state)

    @property
    def accelerations(self) -> Any:
        """The library's q_ddot."""
        return self.rates[self.model.size :]

    @property
    def reaction(self) -> Any:
        """The library's force of all conditions together (n,)."""
        return self.probe.reaction(0.0, self.state)

    @property
    def multipliers(self) -> Any:
        """The library's multipliers (m,)."""
        return self.probe.observe(0.0, self.state)["multipliers"]

    @cached_property
    def forms(self) -> tuple[Any, Any]:
        """f_q and f_v by complex steps, both (m, n)."""
        return self.model.forms(self.q, self.v)

    @property
    def constraint_forms(self) -> Any:
        """df_i as rows (a, b) by complex steps (m, 2n)."""
        return np.hstack(self.forms)


@sampler(*KINDS, seed=11, count=4)
def samples(kind: str, random: Generator) -> TangentSample:
    """Random states of one kind of system."""
    model = tangent_system(kind)
    q, v, z = random.uniform(-1, 1, (3, model.size))
    return TangentSample(model, q, model.obeying(q, v), z)
