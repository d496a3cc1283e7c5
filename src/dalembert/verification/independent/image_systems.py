"""Random systems on a bundle with an image representation, stated twice: as a `System`, and as plain NumPy functions.

    x_dot = E(x) u,     v = sigma(x) x_dot = F(x) u,     L(x, v) = v^T M(x) v / 2 + m(x)^T v - V(x)

There are four coordinates x = (r1, r2, s1, s2), three fibre velocities v and two speeds u (three in one kind, which depend on
each other). E spans the horizontal vectors of a connection s_dot = -A(x) r_dot, mixed by a matrix that depends on x, so that
its columns do not commute even where the connection is flat. The numeric side differentiates by complex steps.
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
from ..numeric import derivative, worst
from .random_systems import Wave

__all__ = ["KINDS", "ImageSystem", "Spot", "image_system", "kernel_system", "over_spots", "spots"]

#: Not involutive; involutive with structure functions; not involutive, with a third speed that adds nothing, and with an L that
#: is linear in one fibre velocity.
KINDS = ("curved", "flat", "crowded", "singular")

SIZE, FIBRE = 4, 3
#: The flat connection: s^a exp(sum_al c^a_al r_al^2 / 2) stays constant.
FLAT = ((0.4, -0.3), (-0.25, 0.5))


@dataclass(frozen=True)
class ImageSystem:
    """A random system in both languages; n = 4 coordinates, k speeds, a fibre of dimension 3."""

    kind: str
    system: System
    sinusoids: tuple[Wave, ...]

    def frame(self, x: Any) -> Any:
        """E (n, k)."""
        return np.array(_frame(self.kind, self.sinusoids, x))

    def sigma(self, x: Any) -> Any:
        """sigma (3, n)."""
        return np.array(_sigma(self.sinusoids, x))

    def fibre_frame(self, x: Any) -> Any:
        """F = sigma E (3, k)."""
        return self.sigma(x) @ self.frame(x)

    def rows(self, x: Any) -> Any:
        """A kernel representation: rows N (2, n) with N E = 0."""
        return np.hstack([np.array(_connection(self.kind, self.sinusoids, x)), np.eye(2)])

    def mass(self, x: Any) -> Any:
        """M = L_vv (3, 3)."""
        return np.array(_mass(self.kind, self.sinusoids, x))

    def shift(self, x: Any) -> Any:
        """m (3,)."""
        return np.array([wave(x, 0) for wave in self.sinusoids[3:6]])

    def potential(self, x: Any) -> Any:
        """V."""
        return self.sinusoids[6](x, 0)

    def lagrangian(self, x: Any, v: Any) -> Any:
        """L(x, v) on the bundle."""
        return v @ self.mass(x) @ v / 2 + self.shift(x) @ v - self.potential(x)

    def momenta(self, x: Any, v: Any) -> Any:
        """p = L_v (3,)."""
        return self.mass(x) @ v + self.shift(x)

    def energy(self, x: Any, v: Any) -> Any:
        """L_v . v - L."""
        return self.momenta(x, v) @ v - self.lagrangian(x, v)

    def fibre_velocity(self, x: Any, p: Any) -> Any:
        """v(x, p) (3,)."""
        return np.linalg.solve(self.mass(x), p - self.shift(x))

    def hamiltonian(self, x: Any, p: Any) -> Any:
        """H(x, p) in closed form."""
        rest = p - self.shift(x)
        return rest @ np.linalg.solve(self.mass(x), rest) / 2 + self.potential(x)

    # -- fields ----------------------------------------------------------------------------------------------------

    def along(self, columns: Callable[[Any], Any], x: Any, direction: Any) -> Any:
        """The derivative of a matrix function of x along a direction."""
        shape = columns(x).shape
        return derivative(lambda w: columns(x + w[0] * direction).ravel(), [0.0])[:, 0].reshape(shape)

    def bracket(self, x: Any, b: int, a: int) -> Any:
        """The printed bracket E_b . d E_a - E_a . d E_b (n,)."""
        E = self.frame(x)
        return self.along(self.frame, x, E[:, b])[:, a] - self.along(self.frame, x, E[:, a])[:, b]

    def structure(self, x: Any) -> tuple[Any, float]:
        """c_bad (k, k, k) by least squares, and what is left of the brackets outside the span of E."""
        E = self.frame(x)
        k = E.shape[1]
        table, rest = np.zeros((k, k, k)), 0.0
        for b in range(k):
            for a in range(k):
                value = self.bracket(x, b, a)
                table[b, a] = np.linalg.lstsq(E, value, rcond=None)[0]
                rest = max(rest, float(np.max(np.abs(value - E @ table[b, a]))))
        return table, rest

    # -- motions ---------------------------------------------------------------------------------------------------

    def plain_momenta(self, x: Any, rate: Any) -> Any:
        """The derivative of L(x, sigma x_dot) by x_dot (n,)."""
        sigma = self.sigma(x)
        return sigma.T @ self.momenta(x, sigma @ rate)

    def euler(self, x: Any, rate: Any, second: Any) -> Any:
        """Euler's expression of L(x, sigma x_dot) along a path with these x_dot and x_ddot (n,)."""
        inertia = derivative(lambda w: self.plain_momenta(x + w[0] * rate, rate + w[0] * second), [0.0])[:, 0]
        return inertia - derivative(lambda y: self.lagrangian(y, self.sigma(y) @ rate), x)

    def second(self, x: Any, u: Any, u_dot: Any) -> Any:
        """x_ddot for speeds and their rates (n,)."""
        return self.frame(x) @ u_dot + self.along(self.frame, x, self.frame(x) @ u) @ u

    def dalembert(self, x: Any, u: Any) -> Any:
        """x_ddot of the motion whose Euler expression does no work on the image (n,)."""
        E, rate = self.frame(x), self.frame(x) @ u
        drift = self.second(x, u, np.zeros(len(u)))
        inertia = self.sigma(x).T @ self.mass(x) @ self.sigma(x)
        u_dot = np.linalg.lstsq(E.T @ inertia @ E, -E.T @ self.euler(x, rate, drift), rcond=None)[0]
        return drift + E @ u_dot

    def optimal_speeds(self, x: Any, xi: Any) -> Any:
        """u of L_v F = xi E (k,)."""
        F = self.fibre_frame(x)
        return np.linalg.lstsq(F.T @ self.mass(x) @ F, self.frame(x).T @ xi - F.T @ self.shift(x), rcond=None)[0]

    def extremal_rates(self, x: Any, xi: Any) -> Any:
        """(x_dot, xi_dot) of the normal extremals: derivatives of the maximised xi . E u - L(x, F u) at fixed u (2n,)."""
        u = self.optimal_speeds(x, xi)

        def control_hamiltonian(y: Any) -> Any:
            return xi @ self.frame(y) @ u - self.lagrangian(y, self.fibre_frame(y) @ u)

        return np.concatenate([self.frame(x) @ u, -derivative(control_hamiltonian, x)])


def _connection(kind: str, sinusoids: tuple[Wave, ...], x: Any) -> list[list[Any]]:
    if kind == "flat":
        return [[x[2 + a] * FLAT[a][k] * x[k] for k in range(2)] for a in range(2)]
    return [[sinusoids[7 + 2 * a + k](x, 0) for k in range(2)] for a in range(2)]


def _frame(kind: str, sinusoids: tuple[Wave, ...], x: Any) -> list[list[Any]]:
    """[I; -A] times a regular matrix; in the crowded kind with a third column that the others span."""
    A, turn, stretch = _connection(kind, sinusoids, x), sinusoids[11](x, 0), sinusoids[12](x, 0)
    lift = [[1, 0], [0, 1], [-A[0][0], -A[0][1]], [-A[1][0], -A[1][1]]]
    mix = [[1, turn], [-turn, 2 + stretch]]
    if kind == "crowded":
        mix = [[1, turn, stretch], [-turn, 2 + stretch, 1]]
    return [[row[0] * mix[0][k] + row[1] * mix[1][k] for k in range(len(mix[0]))] for row in lift]


def _sigma(sinusoids: tuple[Wave, ...], x: Any) -> list[list[Any]]:
    a, b, c, d = (wave(x, 0) for wave in sinusoids[13:17])
    return [[1 + a, 0, b, 0], [0, 1 + c, 0, d], [b, 0.5, 0, 1]]


def _mass(kind: str, sinusoids: tuple[Wave, ...], x: Any) -> list[list[Any]]:
    a, b, c = (wave(x, 0) for wave in sinusoids[:3])
    if kind == "singular":
        return [[2 + a, b, 0], [b, 2 + c, 0], [0, 0, 0]]
    return [[2 + a, b, 0], [b, 2 + c, 0.3], [0, 0.3, 1.5 + a * b]]


@cache
def image_system(kind: str, seed: int = 3) -> ImageSystem:
    """A random system of one kind; see `KINDS`."""
    x, u = coordinates("r1 r2 s1 s2"), speeds("u1 u2 u3" if kind == "crowded" else "u1 u2")
    v = speeds("v1 v2 v3")
    sinusoids = _sinusoids(kind, seed)
    E, sigma = sympy.Matrix(_frame(kind, sinusoids, x)), sympy.Matrix(_sigma(sinusoids, x))
    velocities = dict(zip(x, E * sympy.Matrix(u), strict=True))
    bundle = dict(zip(v, sigma * sympy.Matrix([q.dot for q in x]), strict=True))
    system = System(
        x,
        lagrangian=_bundle_lagrangian(kind, sinusoids, x, v),
        bundle=bundle,
        constraints=[image(velocities, u, name="image")],
        name=f"random {kind} image",
    )
    return ImageSystem(kind, system, sinusoids)


def kernel_system(kind: str) -> System:
    """The same system with its constraints as rows on the velocities."""
    twin = image_system(kind)
    x = twin.system.coordinates
    A = _connection(kind, twin.sinusoids, x)
    rows = [velocity(x[2 + a].dot + A[a][0] * x[0].dot + A[a][1] * x[1].dot, name=f"f{a + 1}") for a in range(2)]
    return System(x, lagrangian=twin.system.lagrangian, constraints=rows, name=f"random {kind} kernel")


def _bundle_lagrangian(kind: str, sinusoids: tuple[Wave, ...], x: Any, v: Any) -> sympy.Expr:
    column = sympy.Matrix(v)
    quadratic = (column.T * sympy.Matrix(_mass(kind, sinusoids, x)) * column)[0] / 2
    return quadratic + sum(wave(x, 0) * w for wave, w in zip(sinusoids[3:6], v, strict=True)) - sinusoids[6](x, 0)


def _sinusoids(kind: str, seed: int) -> tuple[Wave, ...]:
    random = np.random.default_rng([seed, KINDS.index(kind)])

    def wave() -> Wave:
        amplitude, phase = (round(float(x), 3) for x in random.uniform(0.2, 0.5, 2))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1, 1, SIZE)), 0.0, phase)

    return tuple(wave() for _ in range(17))


@dataclass(frozen=True)
class Spot:
    """A random system at a random x with random speeds, and with a costate."""

    twin: ImageSystem
    x: Any
    u: Any
    xi: Any

    @property
    def rate(self) -> Any:
        """x_dot = E u (n,)."""
        return self.twin.frame(self.x) @ self.u

    @property
    def v(self) -> Any:
        """v = F u (3,)."""
        return self.twin.fibre_frame(self.x) @ self.u

    @property
    def p(self) -> Any:
        """p = L_v (3,)."""
        return self.twin.momenta(self.x, self.v)


@cache
def spots(kind: str, count: int = 3) -> tuple[Spot, ...]:
    """Random spots of one kind of system."""
    twin = image_system(kind)
    random = np.random.default_rng([13, KINDS.index(kind)])
    found = []
    for _ in range(count):
        x, xi = random.uniform(-1, 1, (2, SIZE))
        found.append(Spot(twin, x, random.uniform(-1, 1, 3 if kind == "crowded" else 2), xi))
    return tuple(found)


def over_spots(residual: Callable[[Spot], float], *kinds: str) -> float:
    """The worst residual over the spots of some kinds."""
    return worst(residual(spot) for kind in kinds for spot in spots(kind))
