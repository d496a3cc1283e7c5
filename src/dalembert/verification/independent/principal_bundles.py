"""Random systems on a principal bundle, stated twice: as a `System` with its group, and as plain NumPy functions.

The shape has two coordinates and the group is SE(2) x R, with coordinates x, y, theta, z. In the speeds w = (r_dot, xi), xi the
body velocity,

    L = w^T M(r) w / 2 - V(r),        c(r) w = 0

with sinusoids and linear functions of the shape for entries. There are no constraints ("free"), as many as the group
has dimensions ("kinematic"), one that a normal subgroup obeys ("horizontal": only the velocity along z is bound, and S
is the orbit of SE(2)), or two of no special kind ("general"). The independent implementations know the action by its
generators and by Ad_g, and find subspaces by singular values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy
from sympy import cos, sin

from ...analysis.symmetry.connections import Connection, connection
from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..numeric import Probe, derivative, null_space, worst
from .random_systems import Wave

__all__ = ["KINDS", "BundleSystem", "Spot", "bundle_system", "over_spots", "spots"]

#: How many constraints each kind has.
KINDS = {"free": 0, "kinematic": 4, "horizontal": 1, "general": 2}

SHAPE, GROUP, SIZE = 2, 4, 6
R, G = slice(0, SHAPE), slice(SHAPE, SIZE)


@dataclass(frozen=True)
class BundleSystem:
    """A random system of one kind in both languages."""

    kind: str
    system: System
    group: dict[str, dict[Any, Any]]
    sinusoids: tuple[Wave, ...]

    @property
    def connection(self) -> Connection:
        """The library's."""
        return _connection(self.kind)

    @property
    def probe(self) -> Probe:
        """Lagrange's equations by the library."""
        return _probe(self.kind)

    # -- in speeds -----------------------------------------------------------------------------------------------

    def inertia(self, r: Any) -> Any:
        """M(r), (6, 6)."""
        return np.array(_inertia(self.sinusoids, r))

    def bonds(self, r: Any) -> Any:
        """c(r), (rows, 6)."""
        return np.array(_bonds(self.kind, self.sinusoids, r)).reshape(-1, SIZE)

    # -- in coordinates ------------------------------------------------------------------------------------------

    def speeds(self, q: Any) -> Any:
        """The matrix of w as a function of q_dot, (6, 6)."""
        turn = np.cos(q[4]), np.sin(q[4])
        matrix = np.eye(SIZE, dtype=np.asarray(q).dtype)
        matrix[2:4, 2:4] = [[turn[0], turn[1]], [-turn[1], turn[0]]]
        return matrix

    def mass(self, q: Any) -> Any:
        """The kinetic metric, (6, 6)."""
        W = self.speeds(q)
        return W.T @ self.inertia(q[R]) @ W

    def rows(self, q: Any) -> Any:
        """The constraints, (rows, 6); D is their kernel."""
        return self.bonds(q[R]) @ self.speeds(q)

    def momenta(self, q: Any, v: Any) -> Any:
        """p = M v."""
        return self.mass(q) @ v

    # -- the group -----------------------------------------------------------------------------------------------

    @staticmethod
    def generators(q: Any) -> Any:
        """K_a of left translations, (6, 4)."""
        K = np.zeros((SIZE, GROUP), dtype=np.asarray(q).dtype)
        K[2:, :] = np.eye(GROUP)
        K[2, 2], K[3, 2] = -q[3], q[2]
        return K

    @staticmethod
    def adjoint(g: Any) -> Any:
        """Ad_g for g = (x, y, theta, z), (4, 4)."""
        Ad = np.eye(GROUP, dtype=np.asarray(g).dtype)
        Ad[:2, :2] = [[np.cos(g[2]), -np.sin(g[2])], [np.sin(g[2]), np.cos(g[2])]]
        Ad[0, 2], Ad[1, 2] = g[1], -g[0]
        return Ad

    @staticmethod
    def moved(g: Any, q: Any) -> Any:
        """g q, (6,)."""
        turn = np.array([[np.cos(g[2]), -np.sin(g[2])], [np.sin(g[2]), np.cos(g[2])]])
        return np.concatenate([q[R], g[:2] + turn @ q[2:4], [g[2] + q[4], g[3] + q[5]]])

    def pushed(self, g: Any, q: Any) -> Any:
        """The tangent of q -> g q, (6, 6)."""
        return derivative(lambda x: self.moved(g, x), q)

    def momentum_map(self, q: Any, v: Any) -> Any:
        """J(q, q_dot) in the fixed basis of the Lie algebra, (4,)."""
        return self.generators(q).T @ self.momenta(q, v)

    def body_momentum(self, q: Any, v: Any) -> Any:
        """l_xi, which is Ad_g^* J, (4,)."""
        return (self.inertia(q[R]) @ (self.speeds(q) @ v))[G]

    # -- subspaces and projections -------------------------------------------------------------------------------

    def momentum_directions(self, q: Any) -> Any:
        """A basis of S = D n T Orb, (6, m)."""
        K, rows = self.generators(q), self.rows(q)
        return K @ null_space(rows @ K) if len(rows) else K

    def horizontal(self, q: Any) -> Any:
        """A basis of the orthogonal complement of S within D, (6, 2)."""
        S = self.momentum_directions(q)
        return null_space(np.vstack([self.rows(q), S.T @ self.mass(q)]))

    def form(self, q: Any) -> Any:
        """The principal connection with this horizontal space, (4, 6): A K = 1, A H = 0."""
        H = self.horizontal(q)
        target = np.hstack([np.eye(GROUP), np.zeros((GROUP, H.shape[1]))])
        return target @ np.linalg.inv(np.hstack([self.generators(q), H]))

    def vertical(self, q: Any) -> Any:
        """The same as an Ehresmann connection, (6, 6)."""
        return self.generators(q) @ self.form(q)


def _inertia(sinusoids: tuple[Wave, ...], r: Any) -> list[list[Any]]:
    places = iter(sinusoids)
    table: list[list[Any]] = [[0] * SIZE for _ in range(SIZE)]
    for i in range(SIZE):
        for j in range(i, SIZE):
            table[i][j] = table[j][i] = next(places)(r, 0) + (4 if i == j else 0)
    return table


def _bonds(kind: str, sinusoids: tuple[Wave, ...], r: Any) -> list[list[Any]]:
    """Rows in w, on the body velocities with coefficients linear in the shape; those of "horizontal" bind z alone."""
    rest, rows = iter(sinusoids[21:]), []
    for row in range(KINDS[kind]):
        entries = [next(rest)(r, 0) for _ in range(SHAPE)]
        slants = [sum(f * x for f, x in zip(next(rest).frequency, r, strict=True)) / 3 for _ in range(GROUP)]
        slants[-1 - row] = slants[-1 - row] + 2
        rows.append([*entries, 0, 0, 0, 1] if kind == "horizontal" else [*entries, *slants])
    return rows


@cache
def bundle_system(kind: str, seed: int = 8) -> BundleSystem:
    """A random system of one kind; see `KINDS`."""
    random = np.random.default_rng([seed, list(KINDS).index(kind)])

    def wave() -> Wave:
        amplitude, phase = (round(float(x), 3) for x in random.uniform(0.2, 0.5, 2))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1.5, 1.5, SHAPE)), 0.0, phase)

    sinusoids = tuple(wave() for _ in range(21 + 4 * SIZE))
    q = coordinates("r1 r2 x y theta z")
    r1, r2, x, y, theta, z = q
    w = sympy.Matrix(
        [r1.dot, r2.dot, x.dot * cos(theta) + y.dot * sin(theta), -x.dot * sin(theta) + y.dot * cos(theta), theta.dot, z.dot]
    )
    bonds = [sum(a * b for a, b in zip(row, w, strict=True)) for row in _bonds(kind, sinusoids, (r1, r2))]
    system = System(
        q,
        kinetic=(w.T * sympy.Matrix(_inertia(sinusoids, (r1, r2))) * w)[0] / 2,
        potential=sinusoids[0]((r2, r1), 0),
        constraints=[velocity(bond, name=f"c{k + 1}") for k, bond in enumerate(bonds)],
        name=f"random {kind} bundle",
    )
    group = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: sympy.Integer(1)},
        "rise": {z: sympy.Integer(1)},
    }
    return BundleSystem(kind, system, group, sinusoids)


@cache
def _connection(kind: str) -> Connection:
    twin = bundle_system(kind)
    return connection(twin.system, twin.group)


@cache
def _probe(kind: str) -> Probe:
    return Probe(derive(bundle_system(kind).system, "lagrange"), {})


@dataclass(frozen=True)
class Spot:
    """A random system at a configuration with a velocity that obeys the constraints, a group element g and a covector mu."""

    twin: BundleSystem
    q: Any
    v: Any
    g: Any
    mu: Any

    @property
    def place(self) -> dict[str, float]:
        """The configuration by name."""
        return {symbol.name: float(x) for symbol, x in zip(self.twin.system.coordinates, self.q, strict=True)}

    @property
    def shape(self) -> dict[str, float]:
        """The shape by name."""
        return {name: value for name, value in self.place.items() if name in ("r1", "r2")}

    @property
    def speeds(self) -> Any:
        """(r_dot, xi), (6,)."""
        return self.twin.speeds(self.q) @ self.v

    @property
    def moved(self) -> Any:
        """g q, (6,)."""
        return self.twin.moved(self.g, self.q)

    @property
    def there(self) -> dict[str, float]:
        """g q by name."""
        return dict(zip(self.place, map(float, self.moved), strict=True))

    @property
    def pushed(self) -> Any:
        """The tangent of the action of g at q, (6, 6)."""
        return self.twin.pushed(self.g, self.q)

    @property
    def oblique(self) -> Any:
        """Body velocities that span a complement of S, not an orthogonal one, (4, 4 - m)."""
        S = null_space(self.twin.bonds(self.q[R])[:, G])
        U = null_space(S.T)
        return U + S @ np.random.default_rng(9).uniform(0.5, 1, (S.shape[1], U.shape[1]))

    def projections(self, complement: Any, printed: bool) -> Any:
        """A^kin + A^sym as printed, or A^kin + A^sym (1 - A^kin), with the library's parts, (6, 6)."""
        found = self.twin.connection.split(self.place, complement=complement)
        rest = np.eye(SIZE) if printed else np.eye(SIZE) - found.kinematic
        return found.kinematic + found.symmetric @ rest

    @property
    def accelerations(self) -> Any:
        """The library's q_ddot."""
        return self.twin.probe.rates(0.0, np.concatenate([self.q, self.v]))[SIZE:]

    def rate(self, function: Callable[[Any, Any], Any]) -> Any:
        """The time derivative of a function of (q, q_dot) along the library's motion."""
        z = self.accelerations
        return derivative(lambda s: function(self.q + s[0] * self.v, self.v + s[0] * z), [0.0])[..., 0]


@cache
def spots(kind: str, count: int = 4) -> tuple[Spot, ...]:
    """Random spots of one kind of system."""
    twin = bundle_system(kind)
    random = np.random.default_rng([31, list(KINDS).index(kind)])
    found = []
    for _ in range(count):
        q, v = random.uniform(-1, 1, (2, SIZE))
        rows = twin.rows(q)
        basis = null_space(rows) if len(rows) else np.eye(SIZE)
        found.append(Spot(twin, q, basis @ (basis.T @ v), *random.uniform(-1, 1, (2, GROUP))))
    return tuple(found)


def all_spots(kinds: tuple[str, ...]) -> Iterator[Spot]:
    """The spots of several kinds."""
    for kind in kinds:
        yield from spots(kind)


def over_spots(residual: Callable[[Spot], float], *kinds: str) -> float:
    """The worst residual over the spots of some kinds, of all by default."""
    return worst(residual(spot) for spot in all_spots(kinds or tuple(KINDS)))
