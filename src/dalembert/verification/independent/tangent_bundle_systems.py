"""Random systems on a tangent bundle, stated twice: as a `System`, and as plain NumPy functions of (q, v).

    L = v^T M(q) v / 2 + m(q)^T v + k sum_i v_i^4 / 4 - V(q)

under conditions f(q, v) = 0 of one kind. The quartic term makes the Hessian depend on the velocities, so that nothing
holds only because L is quadratic. The numeric side differentiates by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..numeric import Probe, derivative, worst
from .random_systems import Wave

__all__ = ["KINDS", "Place", "TangentSystem", "connection", "over_places", "places", "tangent_probe", "tangent_system"]

#: Names of the coordinates and number of conditions of each kind.
KINDS: dict[str, tuple[str, int]] = {
    "free": ("q1 q2 q3", 0),
    "linear": ("q1 q2 q3", 2),
    "affine": ("q1 q2 q3", 2),
    "nonlinear": ("q1 q2 q3", 2),
    "homogeneous": ("q1 q2 q3", 1),
    "bent": ("r1 r2 r3 s1 s2", 2),
    "flat": ("r1 r2 r3 s1 s2", 2),
}

QUARTIC = 0.2
#: The flat connection's coefficients: s^a exp(sum_al c^a_al r_al^2 / 2) stays constant.
FLAT = np.array([[0.3, -0.2, 0.25], [-0.15, 0.35, 0.2]])


@dataclass(frozen=True)
class TangentSystem:
    """A random system in both languages; n coordinates, m conditions."""

    kind: str
    system: System
    sinusoids: tuple[Wave, ...]

    @property
    def size(self) -> int:
        """n."""
        return len(self.system.coordinates)

    def mass(self, q: Any) -> Any:
        """M(q), the quadratic part of L (n, n)."""
        return np.array(_mass(self.sinusoids, q))

    def hessian(self, q: Any, v: Any) -> Any:
        """L_vv (n, n)."""
        return self.mass(q) + np.diag(3 * QUARTIC * v**2)

    def shift(self, q: Any) -> Any:
        """m(q) (n,)."""
        return np.array(_shift(self.sinusoids, q))

    def lagrangian(self, q: Any, v: Any) -> Any:
        """L."""
        return v @ self.mass(q) @ v / 2 + self.shift(q) @ v + QUARTIC * np.sum(v**4) / 4 - self.sinusoids[0](q, 0)

    def momenta(self, q: Any, v: Any) -> Any:
        """L_v in closed form (n,)."""
        return self.mass(q) @ v + self.shift(q) + QUARTIC * v**3

    def energy(self, q: Any, v: Any) -> Any:
        """L_v . v - L."""
        return self.momenta(q, v) @ v - self.lagrangian(q, v)

    def condition(self, q: Any, v: Any) -> Any:
        """f (m,)."""
        return np.array(_conditions(self.kind, self.sinusoids, q, v))

    def forms(self, q: Any, v: Any) -> tuple[Any, Any]:
        """The constraint forms df = a dq + b dv: a = f_q and b = f_v, both (m, n)."""
        if not KINDS[self.kind][1]:
            return np.zeros((0, self.size)), np.zeros((0, self.size))
        return derivative(lambda x: self.condition(x, v), q), derivative(lambda w: self.condition(q, w), v)

    def euler(self, q: Any, v: Any, z: Any) -> Any:
        """d/dt L_v - L_q along the path with velocity v and acceleration z (n,)."""
        inertia = derivative(lambda w: self.momenta(q + w[0] * v, v + w[0] * z), [0.0])[:, 0]
        return inertia - derivative(lambda x: self.lagrangian(x, v), q)

    def accelerations(self, q: Any, v: Any) -> tuple[Any, Any]:
        """q_ddot and lambda of euler = lambda b, b q_ddot = -a v: d'Alembert's principle with explicit multipliers."""
        a, b = self.forms(q, v)
        n, m = self.size, len(a)
        matrix = np.block([[self.hessian(q, v), -b.T], [b, np.zeros((m, m))]])
        solution = np.linalg.solve(matrix, np.concatenate([-self.euler(q, v, np.zeros(n)), -a @ v]))
        return solution[:n], solution[n:]

    def obeying(self, q: Any, v: Any) -> Any:
        """A velocity near v with f(q, v) = 0, by Newton's method."""
        for _ in range(50):
            rest, rows = self.condition(q, v), self.forms(q, v)[1]
            if not len(rest) or np.max(np.abs(rest)) < 1e-15:
                break
            v = v - rows.T @ np.linalg.solve(rows @ rows.T, rest)
        return v


def _mass(sinusoids: tuple[Wave, ...], q: Any) -> list[list[Any]]:
    """Waves on the diagonal and between neighbours, the last of whom is the first's."""
    n = len(q)
    table: list[list[Any]] = [[0] * n for _ in range(n)]
    for i in range(n):
        table[i][i] = 3 + sinusoids[1 + i](q, 0)
        table[i][(i + 1) % n] = table[(i + 1) % n][i] = sinusoids[6 + i](q, 0)
    return table


def _shift(sinusoids: tuple[Wave, ...], q: Any) -> list[Any]:
    return [wave(q, 0) for wave in sinusoids[11 : 11 + len(q)]]


def connection(kind: str, sinusoids: tuple[Wave, ...], q: Any) -> list[list[Any]]:
    """A^a_al(r, s) of s_dot^a = -A^a_al r_dot^al, two rows of three."""
    if kind == "flat":
        return [[q[3 + a] * float(FLAT[a, k]) * q[k] for k in range(3)] for a in range(2)]
    return [[sinusoids[16 + 3 * a + k](q, 0) for k in range(3)] for a in range(2)]


def _conditions(kind: str, sinusoids: tuple[Wave, ...], q: Any, v: Any) -> list[Any]:
    """f(q, v), in symbols or in numbers."""
    if kind in ("bent", "flat"):
        table = connection(kind, sinusoids, q)
        return [v[3 + a] + sum(table[a][k] * v[k] for k in range(3)) for a in range(2)]
    w = [wave(q, 0) for wave in sinusoids[16:22]]
    if kind == "homogeneous":
        root = sympy.sqrt if isinstance(v[0], sympy.Expr) else np.sqrt
        return [v[2] + (1 + w[0]) * root(v[0] ** 2 + (2 + w[1]) * v[1] ** 2)]
    if kind == "nonlinear":
        return [v[0] * v[1] + (2 + w[0]) * v[2] + w[1], w[2] * v[2] ** 2 + v[0] + (2 + w[3]) * v[1] + w[4]]
    rest = [w[4], w[5]] if kind == "affine" else [0, 0]
    first = w[0] * v[0] + (2 + w[1]) * v[2] + rest[0]
    second = w[2] * v[0] + w[0] * v[2] + (2 + w[3]) * v[1] + rest[1]
    return [] if kind == "free" else [first, second]


@cache
def tangent_system(kind: str, seed: int = 5) -> TangentSystem:
    """A random system under conditions of one kind; see `KINDS`."""
    names, count = KINDS[kind]
    q = coordinates(names)
    random = np.random.default_rng([seed, list(KINDS).index(kind)])

    def wave() -> Wave:
        amplitude, phase = (round(float(x), 3) for x in random.uniform(0.2, 0.5, 2))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1, 1, len(q))), 0.0, phase)

    sinusoids = tuple(wave() for _ in range(22))
    v = sympy.Matrix([x.dot for x in q])
    lagrangian = (v.T * sympy.Matrix(_mass(sinusoids, q)) * v)[0] / 2 + (sympy.Matrix(_shift(sinusoids, q)).T * v)[0]
    lagrangian += QUARTIC * sum(x.dot**4 for x in q) / 4 - sinusoids[0](q, 0)
    conditions = _conditions(kind, sinusoids, q, [x.dot for x in q])
    rows = [velocity(condition, name=f"f{k + 1}") for k, condition in enumerate(conditions)]
    assert len(rows) == count
    return TangentSystem(kind, System(q, lagrangian=lagrangian, constraints=rows, name=f"random {kind}"), sinusoids)


@cache
def tangent_probe(kind: str, form: str = "lagrange") -> Probe:
    """The library's equations of a random system."""
    return Probe(derive(tangent_system(kind).system, form), {})


@dataclass(frozen=True)
class Place:
    """A random system at a random (q, v) that obeys its conditions, with accelerations z that it need not have."""

    twin: TangentSystem
    q: Any
    v: Any
    z: Any

    @property
    def state(self) -> Any:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    @property
    def probe(self) -> Probe:
        """Lagrange's equations by the library."""
        return tangent_probe(self.twin.kind)

    @property
    def accelerations(self) -> Any:
        """The library's q_ddot."""
        return self.probe.rates(0.0, self.state)[self.twin.size :]

    @property
    def reaction(self) -> Any:
        """The library's force of all conditions together (n,)."""
        return self.probe.reaction(0.0, self.state)

    @property
    def multipliers(self) -> Any:
        """The library's multipliers (m,)."""
        return self.probe.observe(0.0, self.state)["multipliers"]

    @property
    def constraint_forms(self) -> Any:
        """df_i as rows (a, b) by complex steps (m, 2n)."""
        return np.hstack(self.twin.forms(self.q, self.v))


@cache
def places(kind: str, count: int = 4) -> tuple[Place, ...]:
    """Random places of one kind of system."""
    twin = tangent_system(kind)
    random = np.random.default_rng([11, list(KINDS).index(kind)])
    return tuple(_place(twin, random) for _ in range(count))


def _place(twin: TangentSystem, random: Any) -> Place:
    q, v, z = random.uniform(-1, 1, (3, twin.size))
    return Place(twin, q, twin.obeying(q, v), z)


def all_places(kinds: tuple[str, ...]) -> Iterator[Place]:
    """The places of several kinds."""
    for kind in kinds:
        yield from places(kind)


def over_places(residual: Callable[[Place], float], *kinds: str) -> float:
    """The worst residual over the places of some kinds."""
    return worst(residual(place) for place in all_places(kinds))
