"""Random systems on a principal bundle, as a `System` with its group and as NumPy functions.

The shape has two coordinates and the group is SE(2) x R, with coordinates x, y, theta, z. In the
speeds w = (r_dot, xi), xi the body velocity,

    L = w^T M(r) w / 2 - V(r),        c(r) w = 0

with sinusoids and linear functions of the shape for entries. There are no constraints ("free"), as
many as the group has dimensions ("kinematic"), one that a normal subgroup obeys ("horizontal": only
the velocity along z is bound, and S is the orbit of SE(2)), or two of no special kind ("general").
The independent implementations know the action by its generators and by Ad_g, and find subspaces by
singular values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy import cos, sin

from ...analysis.symmetry.connections import Connection, connection
from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import Coordinate, coordinates
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, derivative, null_space
from ..samples import Generator, sampler
from .random_systems import Point, Sinusoid, draw_sinusoids, symmetric

#: How many constraints each kind has.
KINDS = {"free": 0, "kinematic": 4, "horizontal": 1, "general": 2}

SHAPE, GROUP, SIZE = 2, 4, 6
R, G = slice(0, SHAPE), slice(SHAPE, SIZE)


@dataclass(frozen=True)
class BundleSystem:
    """A random system of one kind in both languages."""

    kind: str
    system: System
    group: dict[str, dict[Coordinate, sympy.Expr]]
    sinusoids: tuple[Sinusoid, ...]

    @property
    def connection(self) -> Connection:
        """The library's."""
        return _connection(self.kind)

    @property
    def probe(self) -> Probe:
        """Lagrange's equations by the library."""
        return _probe(self.kind)

    # -- in speeds and in coordinates --------------------------------------------------------------

    def inertia(self, r: Array) -> Any:
        """M(r), (6, 6)."""
        return np.array(symmetric(self.sinusoids, r, size=SIZE, diagonal=4))

    def bonds(self, r: Array) -> Any:
        """c(r), (rows, 6)."""
        return np.array(_bonds(self.kind, self.sinusoids, r)).reshape(-1, SIZE)

    def speeds(self, q: Array) -> Any:
        """The matrix of w as a function of q_dot, (6, 6)."""
        c, s = np.cos(q[4]), np.sin(q[4])
        matrix = np.eye(SIZE, dtype=np.asarray(q).dtype)
        matrix[2:4, 2:4] = [[c, s], [-s, c]]
        return matrix

    def mass(self, q: Array) -> Any:
        """The kinetic metric, (6, 6)."""
        W = self.speeds(q)
        return W.T @ self.inertia(q[R]) @ W

    def rows(self, q: Array) -> Any:
        """The constraints, (rows, 6); D is their kernel."""
        return self.bonds(q[R]) @ self.speeds(q)

    def momenta(self, q: Array, v: Array) -> Any:
        """p = M v."""
        return self.mass(q) @ v

    # -- the group ---------------------------------------------------------------------------------

    @staticmethod
    def generators(q: Array) -> Any:
        """K_a of left translations, (6, 4)."""
        K = np.zeros((SIZE, GROUP), dtype=np.asarray(q).dtype)
        K[2:, :] = np.eye(GROUP)
        K[2, 2], K[3, 2] = -q[3], q[2]
        return K

    @staticmethod
    def adjoint(g: Array) -> Any:
        """Ad_g for g = (x, y, theta, z), (4, 4)."""
        Ad = np.eye(GROUP, dtype=np.asarray(g).dtype)
        Ad[:2, :2] = _rotation(g[2])
        Ad[0, 2], Ad[1, 2] = g[1], -g[0]
        return Ad

    @staticmethod
    def moved(g: Array, q: Array) -> Any:
        """g q, (6,)."""
        there = g[:2] + _rotation(g[2]) @ q[2:4]
        return np.concatenate([q[R], there, [g[2] + q[4], g[3] + q[5]]])

    def momentum_map(self, q: Array, v: Array) -> Any:
        """J(q, q_dot) in the fixed basis of the Lie algebra, (4,)."""
        return self.generators(q).T @ self.momenta(q, v)

    def body_momentum(self, q: Array, v: Array) -> Any:
        """l_xi, which is Ad_g^* J, (4,)."""
        return (self.inertia(q[R]) @ (self.speeds(q) @ v))[G]

    # -- subspaces and projections -----------------------------------------------------------------

    def momentum_directions(self, q: Array) -> Any:
        """A basis of S = D n T Orb, (6, m)."""
        K, rows = self.generators(q), self.rows(q)
        return K @ null_space(rows @ K) if len(rows) else K

    def horizontal(self, q: Array) -> Any:
        """A basis of the orthogonal complement of S within D, (6, 2)."""
        S = self.momentum_directions(q)
        return null_space(np.vstack([self.rows(q), S.T @ self.mass(q)]))

    def form(self, q: Array) -> Any:
        """The principal connection with this horizontal space, (4, 6): A K = 1, A H = 0."""
        H = self.horizontal(q)
        target = np.hstack([np.eye(GROUP), np.zeros((GROUP, H.shape[1]))])
        return target @ np.linalg.inv(np.hstack([self.generators(q), H]))

    def vertical(self, q: Array) -> Any:
        """The same as an Ehresmann connection, (6, 6)."""
        return self.generators(q) @ self.form(q)


def _rotation(angle: float) -> Array:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


def _bonds(kind: str, sinusoids: tuple[Sinusoid, ...], r: Point) -> list[list[Any]]:
    """Rows in w, on body velocities linear in the shape; those of "horizontal" bind z alone."""
    rest, rows = iter(sinusoids[21:]), []
    for row in range(KINDS[kind]):
        entries = [next(rest)(r) for _ in range(SHAPE)]
        linear: list[Any] = [
            sum(f * x for f, x in zip(next(rest).frequency, r, strict=True)) / 3
            for _ in range(GROUP)
        ]
        linear[-1 - row] = linear[-1 - row] + 2
        rows.append([*entries, 0, 0, 0, 1] if kind == "horizontal" else [*entries, *linear])
    return rows


@cache
def bundle_system(kind: str, seed: int = 8) -> BundleSystem:
    """A random system of one kind; see `KINDS`."""
    random = np.random.default_rng([seed, list(KINDS).index(kind)])
    sinusoids = draw_sinusoids(random, 21 + 4 * SIZE, SHAPE, 0.2, 0.5, 1.5)
    q = r1, r2, x, y, theta, z = coordinates("r1 r2 x y theta z")
    c, s = cos(theta), sin(theta)
    ahead, aside = x.dot * c + y.dot * s, -x.dot * s + y.dot * c
    w = sympy.Matrix([r1.dot, r2.dot, ahead, aside, theta.dot, z.dot])
    rows = _bonds(kind, sinusoids, (r1, r2))
    bonds = [sum(a * b for a, b in zip(row, w, strict=True)) for row in rows]
    inertia = sympy.Matrix(symmetric(sinusoids, (r1, r2), size=SIZE, diagonal=4))
    system = System(
        q,
        kinetic=(w.T * inertia * w)[0] / 2,
        potential=sinusoids[0]((r2, r1)),
        constraints=[velocity(bond, name=f"c{k + 1}") for k, bond in enumerate(bonds)],
        name=f"random {kind} bundle",
    )
    one = sympy.Integer(1)
    turns = {"turn": {theta: one}, "rise": {z: one}}
    group = {"ahead": {x: c, y: s}, "aside": {x: -s, y: c}, **turns}
    return BundleSystem(kind, system, group, sinusoids)


@cache
def _connection(kind: str) -> Connection:
    model = bundle_system(kind)
    return connection(model.system, model.group)


@cache
def _probe(kind: str) -> Probe:
    return Probe(derive(bundle_system(kind).system, "lagrange"), {})


@dataclass(frozen=True)
class BundleSample:
    """A configuration q, a velocity v on the constraints, a group element g and a covector mu."""

    model: BundleSystem
    q: Array
    v: Array
    g: Array
    mu: Array

    def by_name(self, values: Array, prefix: str = "", suffix: str = "") -> dict[str, float]:
        """Components in the order of the coordinates, by the names of these."""
        names = (f"{prefix}{q.name}{suffix}" for q in self.model.system.coordinates)
        return dict(zip(names, map(float, values), strict=True))

    @property
    def place(self) -> dict[str, float]:
        """The configuration by name."""
        return self.by_name(self.q)

    @property
    def shape(self) -> dict[str, float]:
        """The shape by name."""
        return {name: value for name, value in self.place.items() if name in ("r1", "r2")}

    @property
    def speeds(self) -> Any:
        """(r_dot, xi), (6,)."""
        return self.model.speeds(self.q) @ self.v

    @property
    def moved(self) -> Any:
        """g q, (6,)."""
        return self.model.moved(self.g, self.q)

    @property
    def there(self) -> dict[str, float]:
        """g q by name."""
        return self.by_name(self.moved)

    @property
    def pushed(self) -> Any:
        """The tangent of q -> g q, (6, 6)."""
        return derivative(lambda x: self.model.moved(self.g, x), self.q)

    @property
    def generators(self) -> Any:
        """K_a (6, 4)."""
        return self.model.generators(self.q)

    @property
    def mass(self) -> Any:
        """The kinetic metric (6, 6)."""
        return self.model.mass(self.q)

    @property
    def allowed(self) -> Any:
        """A basis of D, (6, 6 - rows)."""
        rows = self.model.rows(self.q)
        return null_space(rows) if len(rows) else np.eye(SIZE)

    @property
    def oblique(self) -> Any:
        """Body velocities that span a complement of S, not an orthogonal one, (4, 4 - m)."""
        S = null_space(self.model.bonds(self.q[R])[:, G])
        U = null_space(S.T)
        return U + S @ np.random.default_rng(9).uniform(0.5, 1, (S.shape[1], U.shape[1]))

    def projections(self, complement: Array | None, printed: bool) -> Any:
        """A^kin + A^sym as printed, or A^kin + A^sym (1 - A^kin), by the library, (6, 6)."""
        found = self.model.connection.split(self.place, complement=complement)
        rest = np.eye(SIZE) if printed else np.eye(SIZE) - found.kinematic
        return found.kinematic + found.symmetric @ rest

    def rate(self, function: Callable[[Any, Any], Any]) -> Any:
        """The time derivative of a function of (q, q_dot) along the library's motion."""
        q, v = self.q, self.v
        z = self.model.probe.rates(0.0, np.concatenate([q, v]))[SIZE:]
        return derivative(lambda s: function(q + s[0] * v, v + s[0] * z), [0.0])[..., 0]


@sampler(*KINDS, seed=31, count=4)
def samples(kind: str, random: Generator) -> BundleSample:
    """Random states of one kind of system."""
    model = bundle_system(kind)
    q, v = random.uniform(-1, 1, (2, SIZE))
    rows = model.rows(q)
    basis = null_space(rows) if len(rows) else np.eye(SIZE)
    return BundleSample(model, q, basis @ (basis.T @ v), *random.uniform(-1, 1, (2, GROUP)))
