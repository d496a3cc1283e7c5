"""Random systems on a bundle with an image representation, as a `System` and as functions.

    x_dot = E(x) u,     v = sigma(x) x_dot = F(x) u,     L(x, v) = v^T M(x) v / 2 + m(x)^T v - V(x)

There are four coordinates x = (r1, r2, s1, s2), three fibre velocities v and two speeds u (three in
one kind, which depend on each other). E spans the horizontal vectors of a connection s_dot = -A(x)
r_dot, mixed by a matrix that depends on x, so that its columns do not commute even where the
connection is flat. The numeric side differentiates by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...model.constraints import image, velocity
from ...model.symbols import coordinates, speeds
from ...model.system import System
from ...typing import Array
from ..numeric import derivative
from ..samples import Generator, sampler
from .random_systems import Point, Sinusoid, draw_sinusoids

#: Not involutive; involutive with structure functions; not involutive, with a third speed that adds
#: nothing, and with an L that is linear in one fibre velocity.
KINDS = ("curved", "flat", "crowded", "singular")

SIZE, FIBRE = 4, 3
#: The flat connection: s^a exp(sum_al c^a_al r_al^2 / 2) stays constant.
FLAT = ((0.4, -0.3), (-0.25, 0.5))


@dataclass(frozen=True)
class ImageSystem:
    """A random system in both languages; n = 4 coordinates, k speeds, a fibre of dimension 3."""

    kind: str
    system: System
    sinusoids: tuple[Sinusoid, ...]

    def frame(self, x: Array) -> Any:
        """E (n, k)."""
        return np.array(_frame(self.kind, self.sinusoids, x))

    def sigma(self, x: Array) -> Any:
        """sigma (3, n)."""
        return np.array(_sigma(self.sinusoids, x))

    def fibre_frame(self, x: Array) -> Any:
        """F = sigma E (3, k)."""
        return self.sigma(x) @ self.frame(x)

    def rows(self, x: Array) -> Any:
        """A kernel representation: rows N (2, n) with N E = 0."""
        return np.hstack([np.array(_connection(self.kind, self.sinusoids, x)), np.eye(2)])

    def mass(self, x: Array) -> Any:
        """M = L_vv (3, 3)."""
        return np.array(_mass(self.kind, self.sinusoids, x))

    def shift(self, x: Array) -> Any:
        """m (3,)."""
        return np.array([f(x) for f in self.sinusoids[3:6]])

    def potential(self, x: Array) -> Any:
        """V."""
        return self.sinusoids[6](x)

    def lagrangian(self, x: Array, v: Array) -> Any:
        """L(x, v) on the bundle."""
        return v @ self.mass(x) @ v / 2 + self.shift(x) @ v - self.potential(x)

    def momenta(self, x: Array, v: Array) -> Any:
        """p = L_v (3,)."""
        return self.mass(x) @ v + self.shift(x)

    def energy(self, x: Array, v: Array) -> Any:
        """L_v . v - L."""
        return self.momenta(x, v) @ v - self.lagrangian(x, v)

    def fibre_velocity(self, x: Array, p: Array) -> Any:
        """v(x, p) (3,)."""
        return np.linalg.solve(self.mass(x), p - self.shift(x))

    def hamiltonian(self, x: Array, p: Array) -> Any:
        """H(x, p) in closed form."""
        rest = p - self.shift(x)
        return rest @ np.linalg.solve(self.mass(x), rest) / 2 + self.potential(x)

    # -- fields ------------------------------------------------------------------------------------

    def along(self, columns: Callable[[Array], Any], x: Array, direction: Array) -> Any:
        """The derivative of a matrix function of x along a direction."""
        found = derivative(lambda w: columns(x + w[0] * direction).ravel(), [0.0])[:, 0]
        return found.reshape(columns(x).shape)

    def bracket(self, x: Array, b: int, a: int) -> Any:
        """The printed bracket E_b . d E_a - E_a . d E_b (n,)."""
        E = self.frame(x)
        return self.along(self.frame, x, E[:, b])[:, a] - self.along(self.frame, x, E[:, a])[:, b]

    def structure(self, x: Array) -> tuple[Any, float]:
        """c_bad (k, k, k) by least squares, and the part of the brackets outside the span of E."""
        E = self.frame(x)
        k = E.shape[1]
        table, rest = np.zeros((k, k, k)), 0.0
        for b in range(k):
            for a in range(k):
                value = self.bracket(x, b, a)
                table[b, a] = np.linalg.lstsq(E, value, rcond=None)[0]
                rest = max(rest, float(np.max(np.abs(value - E @ table[b, a]))))
        return table, rest

    # -- motions -----------------------------------------------------------------------------------

    def plain_momenta(self, x: Array, rate: Array) -> Any:
        """The derivative of L(x, sigma x_dot) by x_dot (n,)."""
        sigma = self.sigma(x)
        return sigma.T @ self.momenta(x, sigma @ rate)

    def euler(self, x: Array, rate: Array, second: Array) -> Any:
        """Euler's expression of L(x, sigma x_dot) along a path with these x_dot and x_ddot (n,)."""
        momenta = self.plain_momenta
        inertia = derivative(lambda w: momenta(x + w[0] * rate, rate + w[0] * second), [0.0])[:, 0]
        return inertia - derivative(lambda y: self.lagrangian(y, self.sigma(y) @ rate), x)

    def second(self, x: Array, u: Array, u_dot: Array) -> Any:
        """x_ddot for speeds and their rates (n,)."""
        return self.frame(x) @ u_dot + self.along(self.frame, x, self.frame(x) @ u) @ u

    def dalembert(self, x: Array, u: Array) -> Any:
        """x_ddot of the motion whose Euler expression does no work on the image (n,)."""
        E, rate = self.frame(x), self.frame(x) @ u
        drift = self.second(x, u, np.zeros(len(u)))
        inertia = self.sigma(x).T @ self.mass(x) @ self.sigma(x)
        u_dot = np.linalg.lstsq(E.T @ inertia @ E, -E.T @ self.euler(x, rate, drift), rcond=None)[0]
        return drift + E @ u_dot

    def optimal_speeds(self, x: Array, xi: Array) -> Any:
        """u of L_v F = xi E (k,)."""
        F = self.fibre_frame(x)
        right = self.frame(x).T @ xi - F.T @ self.shift(x)
        return np.linalg.lstsq(F.T @ self.mass(x) @ F, right, rcond=None)[0]

    def extremal_rates(self, x: Array, xi: Array) -> Any:
        """(x_dot, xi_dot) of normal extremals: derivatives of the maximised xi . E u - L (2n,)."""
        u = self.optimal_speeds(x, xi)

        def control_hamiltonian(y: Array) -> Any:
            return xi @ self.frame(y) @ u - self.lagrangian(y, self.fibre_frame(y) @ u)

        return np.concatenate([self.frame(x) @ u, -derivative(control_hamiltonian, x)])


def _connection(kind: str, sinusoids: tuple[Sinusoid, ...], x: Point) -> list[list[Any]]:
    if kind == "flat":
        return [[x[2 + a] * FLAT[a][k] * x[k] for k in range(2)] for a in range(2)]
    return [[sinusoids[7 + 2 * a + k](x) for k in range(2)] for a in range(2)]


def _frame(kind: str, sinusoids: tuple[Sinusoid, ...], x: Point) -> list[list[Any]]:
    """[I; -A] times a regular matrix; the crowded kind has a dependent third column."""
    A, turn, stretch = _connection(kind, sinusoids, x), sinusoids[11](x), sinusoids[12](x)
    lift = [[1, 0], [0, 1], [-A[0][0], -A[0][1]], [-A[1][0], -A[1][1]]]
    mix = [[1, turn], [-turn, 2 + stretch]]
    if kind == "crowded":
        mix = [[1, turn, stretch], [-turn, 2 + stretch, 1]]
    return [[row[0] * mix[0][k] + row[1] * mix[1][k] for k in range(len(mix[0]))] for row in lift]


def _sigma(sinusoids: tuple[Sinusoid, ...], x: Point) -> list[list[Any]]:
    a, b, c, d = (f(x) for f in sinusoids[13:17])
    return [[1 + a, 0, b, 0], [0, 1 + c, 0, d], [b, 0.5, 0, 1]]


def _mass(kind: str, sinusoids: tuple[Sinusoid, ...], x: Point) -> list[list[Any]]:
    a, b, c = (f(x) for f in sinusoids[:3])
    if kind == "singular":
        return [[2 + a, b, 0], [b, 2 + c, 0], [0, 0, 0]]
    return [[2 + a, b, 0], [b, 2 + c, 0.3], [0, 0.3, 1.5 + a * b]]


@cache
def image_system(kind: str, seed: int = 3) -> ImageSystem:
    """A random system of one kind; see `KINDS`."""
    x, u = coordinates("r1 r2 s1 s2"), speeds("u1 u2 u3" if kind == "crowded" else "u1 u2")
    v = speeds("v1 v2 v3")
    random = np.random.default_rng([seed, KINDS.index(kind)])
    sinusoids = draw_sinusoids(random, 17, SIZE, 0.2, 0.5)
    E, sigma = sympy.Matrix(_frame(kind, sinusoids, x)), sympy.Matrix(_sigma(sinusoids, x))
    velocities = dict(zip(x, E * sympy.Matrix(u), strict=True))
    bundle = dict(zip(v, sigma * sympy.Matrix([q.dot for q in x]), strict=True))
    column = sympy.Matrix(v)
    lagrangian = (column.T * sympy.Matrix(_mass(kind, sinusoids, x)) * column)[0] / 2
    lagrangian += sum(f(x) * w for f, w in zip(sinusoids[3:6], v, strict=True))
    lagrangian = lagrangian - sinusoids[6](x)
    rows, name = [image(velocities, u, name="image")], f"random {kind} image"
    system = System(x, lagrangian=lagrangian, bundle=bundle, constraints=rows, name=name)
    return ImageSystem(kind, system, sinusoids)


def kernel_system(kind: str) -> System:
    """The same system with its constraints as rows on the velocities."""
    model = image_system(kind)
    x = model.system.coordinates
    A = _connection(kind, model.sinusoids, x)
    conditions = [x[2 + a].dot + A[a][0] * x[0].dot + A[a][1] * x[1].dot for a in range(2)]
    rows = [velocity(condition, name=f"f{a + 1}") for a, condition in enumerate(conditions)]
    lagrangian, name = model.system.lagrangian, f"random {kind} kernel"
    return System(x, lagrangian=lagrangian, constraints=rows, name=name)


@dataclass(frozen=True)
class ImageSample:
    """A random system at a random x with random speeds, and with a costate."""

    model: ImageSystem
    x: Array
    u: Array
    xi: Array

    @property
    def rate(self) -> Any:
        """x_dot = E u (n,)."""
        return self.model.frame(self.x) @ self.u

    @property
    def v(self) -> Any:
        """v = F u (3,)."""
        return self.model.fibre_frame(self.x) @ self.u

    @property
    def p(self) -> Any:
        """p = L_v (3,)."""
        return self.model.momenta(self.x, self.v)


@sampler(*KINDS, seed=13)
def samples(kind: str, random: Generator) -> ImageSample:
    """Random states of one kind of system."""
    x, xi = random.uniform(-1, 1, (2, SIZE))
    return ImageSample(
        image_system(kind), x, random.uniform(-1, 1, 3 if kind == "crowded" else 2), xi
    )
