"""Planar systems with symmetry SE(2), as a `System` and as functions of shape and body velocity.

    l = w^T M(r) w / 2 - V(r),  w = (r_dot, xi),  rows(r) w = 0,
    xi = E(theta)^-1 (x_dot, y_dot, theta_dot)

Three of them: a random one with two momenta and a constraint that contains the shape velocities,
the snakeboard, the bicycle. The numeric side differentiates by complex steps and solves Lagrange's
equations with multipliers in all coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.symmetry.reduced_coefficients import CoefficientField, ReducedCoefficients
from ...analysis.symmetry.reduced_two_form import ReducedTwoFormField
from ...formulations.reduction.bundle_equations import Bundle, bundle_of, reduce
from ...formulations.registry import derive
from ...model.constraints import velocity
from ...model.symbols import Coordinate, coordinates
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, derivative
from ..samples import Generator, sampler
from .random_systems import Point, draw_sinusoids, symmetric

KINDS = ("random", "snakeboard", "bicycle")

#: [e_a, e_b] = CONSTANTS[a, b, :] e for ahead, aside and turn.
CONSTANTS = np.zeros((3, 3, 3))
CONSTANTS[2, 0, 1], CONSTANTS[0, 2, 1], CONSTANTS[2, 1, 0], CONSTANTS[1, 2, 0] = 1, -1, -1, 1


def frame(theta: float) -> Any:
    """E(theta), (3, 3): columns are the fields ahead, aside and turn."""
    c, s, zero, one = np.cos(theta), np.sin(theta), 0 * theta, 1 + 0 * theta
    return np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]])


def bracket(first: Array, second: Array) -> Any:
    """[first, second] of body velocities (3,)."""
    return np.einsum("abc,a,b->c", CONSTANTS, first, second)


@dataclass(frozen=True, eq=False)
class Planar:
    """A system in both languages; 2 shape coordinates, 3 of the group, m momenta."""

    kind: str
    system: System
    parameters: dict[str, float]
    mass: Callable[[Array], Any]
    potential: Callable[[Array], Any]
    rows: Callable[[Array], Any]
    section: Callable[[Array], Any]
    written_section: list[list[sympy.Expr]]

    # -- the library -------------------------------------------------------------------------------

    @cached_property
    def group(self) -> dict[str, dict[Coordinate, sympy.Expr]]:
        """The fields ahead, aside and turn."""
        symbols = {q.name: q for q in self.system.coordinates}
        x, y, theta = symbols["x"], symbols["y"], symbols["theta"]
        c, s = sympy.cos(theta), sympy.sin(theta)
        return {"ahead": {x: c, y: s}, "aside": {x: -s, y: c}, "turn": {theta: 1}}

    @cached_property
    def bundle(self) -> Bundle:
        """The library's bundle, with the section as stated."""
        return bundle_of(self.system, self.group, section=self.written_section)

    @cached_property
    def coefficients(self) -> CoefficientField:
        """The library's coefficients."""
        return CoefficientField(self.bundle)

    @cached_property
    def two_form(self) -> ReducedTwoFormField:
        """The library's reduced two-form."""
        return ReducedTwoFormField(self.bundle)

    # -- numbers -----------------------------------------------------------------------------------

    @cached_property
    def m(self) -> int:
        """The number of momenta."""
        return int(self.section(np.array([0.3, 0.4])).shape[1])

    def body_velocity(self, r: Array, v: Array, p: Array) -> Any:
        """xi(r, r_dot, p) from the constraints and p = <l_xi, e> (3,)."""
        rows, M, e = self.rows(r), self.mass(r), self.section(r)
        matrix = np.vstack([rows[:, 2:], e.T @ M[2:, 2:]])
        return np.linalg.solve(matrix, np.concatenate([-rows[:, :2] @ v, p - e.T @ M[2:, :2] @ v]))

    def connection(self, r: Array) -> Any:
        """A(r) (3, 2)."""
        rest = np.zeros(self.m)
        return -np.stack([self.body_velocity(r, unit, rest) for unit in np.eye(2)], axis=1)

    def lift(self, r: Array) -> Any:
        """Gamma(r) (3, m)."""
        units, rest = np.eye(self.m), np.zeros(2)
        return np.stack([self.body_velocity(r, rest, unit) for unit in units], axis=1)

    def lagrangian(self, r: Array, v: Array, xi: Array) -> Any:
        """l(r, r_dot, xi)."""
        w = np.concatenate([v, xi])
        return w @ self.mass(r) @ w / 2 - self.potential(r)

    def on_constraints(self, r: Array, v: Array, p: Array) -> Any:
        """l_c(r, r_dot, p)."""
        return self.lagrangian(r, v, self.body_velocity(r, v, p))

    def body_momenta(self, r: Array, v: Array, p: Array) -> tuple[Any, Any]:
        """dl/dr_dot (2,) and dl/dxi (3,) on the constraints."""
        found = self.mass(r) @ np.concatenate([v, self.body_velocity(r, v, p)])
        return found[:2], found[2:]

    def energy(self, r: Array, v: Array, p: Array) -> Any:
        """l_w . w - l on the constraints."""
        w = np.concatenate([v, self.body_velocity(r, v, p)])
        return w @ self.mass(r) @ w / 2 + self.potential(r)

    # -- the chart (x, y, theta, r, r_dot, p) of D -------------------------------------------------

    def impulse(self, z: Array) -> Any:
        """The canonical one-form p dq on D (7 + m,): no part along r_dot and p."""
        on_shape, mu = self.body_momenta(z[3:5], z[5:7], z[7:])
        return np.concatenate([np.linalg.solve(frame(z[2]).T, mu), on_shape, np.zeros(2 + self.m)])

    def lagrangian_form(self, z: Array) -> Any:
        """Omega = dq ^ dp on D by complex steps, (7 + m, 7 + m)."""
        table = derivative(self.impulse, z)
        return table - table.T

    def energy_form(self, z: Array) -> Any:
        """dE on D (7 + m,)."""
        return derivative(lambda x: self.energy(x[3:5], x[5:7], x[7:]), z)

    def allowed(self, z: Array) -> Any:
        """K: the fields e_b, lifts of d/dr, d/dr_dot and d/dp as columns (7 + m, 4 + 2m)."""
        E, r, m = frame(z[2]), z[3:5], self.m
        found = np.zeros((7 + m, 4 + 2 * m))
        found[:3, :m] = E @ self.section(r)
        found[:3, m : m + 2] = -E @ self.connection(r)
        found[3:, m:] = np.eye(4 + m)
        return found

    # -- all coordinates q = (x, y, theta, r), with velocities u -----------------------------------

    def body(self, q: Array, u: Array) -> Any:
        """w = (r_dot, xi) (5,)."""
        return np.concatenate([u[3:], np.linalg.solve(frame(q[2]), u[:3])])

    def velocities(self, q: Array, w: Array) -> Any:
        """u (5,) of w."""
        return np.concatenate([frame(q[2]) @ w[2:], w[:2]])

    def momenta(self, q: Array, u: Array) -> Any:
        """dL/dq_dot (5,) in closed form."""
        found = self.mass(q[3:]) @ self.body(q, u)
        return np.concatenate([np.linalg.solve(frame(q[2]).T, found[2:]), found[:2]])

    def full_lagrangian(self, q: Array, u: Array) -> Any:
        """L(q, q_dot)."""
        w = self.body(q, u)
        return self.lagrangian(q[3:], w[:2], w[2:])

    def full_rows(self, q: Array) -> Any:
        """The constraints by coordinate, (c, 5)."""
        table = self.rows(q[3:])
        return np.hstack([np.linalg.solve(frame(q[2]).T, table[:, 2:].T).T, table[:, :2]])

    def euler(self, q: Array, u: Array, z: Array) -> Any:
        """d/dt L_u - L_q along the path with velocity u and acceleration z (5,)."""
        inertia = derivative(lambda s: self.momenta(q + s[0] * u, u + s[0] * z), [0.0])[:, 0]
        return inertia - derivative(lambda x: self.full_lagrangian(x, u), q)

    def accelerations(self, q: Array, u: Array) -> tuple[Any, Any]:
        """q_ddot (5,) and the reaction (5,), from one dense system with multipliers."""
        rows = self.full_rows(q)
        count = len(rows)
        metric = derivative(lambda y: self.momenta(q, y), u)
        right = -derivative(lambda s: self.full_rows(q + s[0] * u) @ u, [0.0])[:, 0]
        matrix = np.block([[metric, -rows.T], [rows, np.zeros((count, count))]])
        solution = np.linalg.solve(matrix, np.concatenate([-self.euler(q, u, np.zeros(5)), right]))
        return solution[:5], rows.T @ solution[5:]


@dataclass(frozen=True, eq=False)
class PlanarSample:
    """A system at a point of D, with shape accelerations that it need not have."""

    planar: Planar
    g: Array
    r: Array
    v: Array
    p: Array
    a: Array

    @property
    def z(self) -> Any:
        """(x, y, theta, r, r_dot, p)."""
        return np.concatenate([self.g, self.r, self.v, self.p])

    @property
    def q(self) -> Any:
        """(x, y, theta, r)."""
        return np.concatenate([self.g, self.r])

    @cached_property
    def u(self) -> Any:
        """q_dot (5,)."""
        return self.planar.velocities(self.q, np.concatenate([self.v, self.xi]))

    @cached_property
    def xi(self) -> Any:
        """The body velocity (3,)."""
        return self.planar.body_velocity(self.r, self.v, self.p)

    @cached_property
    def derivatives(self) -> tuple[Any, Any]:
        """dl/dr_dot (2,) and dl/dxi (3,)."""
        return self.planar.body_momenta(self.r, self.v, self.p)

    @cached_property
    def numbers(self) -> dict[str, float]:
        """Everything by name, for the library."""
        bundle = self.planar.bundle
        shape = [bundle.system.coordinates[j].name for j in bundle.shape]
        names = [*shape, *(f"{name}_dot" for name in shape), *(q.name for q in bundle.momenta)]
        values = np.concatenate([self.r, self.v, self.p])
        return dict(zip(names, values, strict=True)) | self.planar.parameters

    @cached_property
    def library(self) -> ReducedCoefficients:
        """The library's coefficients at this shape."""
        bundle, q = self.planar.bundle, self.planar.bundle.system.coordinates
        shape = {q[j]: x for j, x in zip(bundle.shape, self.r, strict=True)}
        return self.planar.coefficients.at(shape, self.planar.parameters)

    @cached_property
    def rates(self) -> tuple[Any, Any]:
        """The library's r_ddot and p_dot by `reduce`."""
        state = np.concatenate([self.r, self.v, self.p])
        found = planar_probe(self.planar.kind, "reduced").rates(0.0, state)
        return found[2:4], found[4:]

    @cached_property
    def exact(self) -> tuple[Any, Any]:
        """r_ddot and p_dot by multipliers in all coordinates, with complex steps of p."""
        planar, q, u = self.planar, self.q, self.u
        z, _ = planar.accelerations(q, u)

        def momentum(s: Array) -> Any:
            x, y = q + s[0] * u, u + s[0] * z
            return planar.section(x[3:]).T @ (frame(x[2]).T @ planar.momenta(x, y)[:3])

        return z[3:], derivative(momentum, [0.0])[:, 0]

    @cached_property
    def field(self) -> Any:
        """X on D by the library's rates (7 + m,)."""
        return np.concatenate([frame(self.g[2]) @ self.xi, self.v, *self.rates])

    def along(self, function: Callable[[Any, Any, Any], Any], *given: Array) -> Any:
        """The time derivative of a function of (r, r_dot, p), at given rates or the library's."""
        rates = np.concatenate([self.v, *(given or self.rates)])
        z = np.concatenate([self.r, self.v, self.p])
        return derivative(lambda s: function(*np.split(z + s[0] * rates, [2, 4])), [0.0])[..., 0]


# -- the three systems -----------------------------------------------------------------------------


@cache
def planar(kind: str) -> Planar:
    """One of `KINDS`."""
    return {"random": _random, "snakeboard": _snakeboard, "bicycle": _bicycle}[kind]()


def _random() -> Planar:
    """Sinusoids in metric, potential and one row; its section has two columns."""
    sinusoids = draw_sinusoids(np.random.default_rng(58), 21, 2, 0.3, 0.6, 1.2)

    def mass(r: Point) -> list[list[Any]]:
        return symmetric(sinusoids, r, size=5, diagonal=4)

    def row(r: Point) -> list[Any]:
        return [*(f(r) for f in sinusoids[15:19]), 2 + sinusoids[19](r)]

    def section(r: Point) -> list[list[Any]]:
        a, b, c = row(r)[2:]
        return [[c, 0, -a], [a * b, c + b**2, -b * (a**2 + b**2 + c) / c]]

    q = x, y, theta, r1, r2 = coordinates("x y theta r1 r2")
    c, s, shape = sympy.cos(theta), sympy.sin(theta), (r1, r2)
    w = sympy.Matrix([r1.dot, r2.dot, c * x.dot + s * y.dot, -s * x.dot + c * y.dot, theta.dot])
    system = System(
        q,
        kinetic=(w.T * sympy.Matrix(mass(shape)) * w)[0] / 2,
        potential=sinusoids[20](shape),
        constraints=[velocity(sum(a * b for a, b in zip(row(shape), w, strict=True)), name="row")],
        name="Random planar system",
    )
    return Planar(
        "random",
        system,
        {},
        mass=lambda r: np.array(mass(r)),
        potential=sinusoids[20],
        rows=lambda r: np.array([row(r)]),
        section=lambda r: np.array([[x + 0 * r[0] for x in column] for column in section(r)]).T,
        written_section=section(shape),
    )


def _snakeboard() -> Planar:
    system = gallery.load("snakeboard").system
    m, R, J0, J1 = 1.3, 0.8, 0.25, 0.1
    symbols = {q.name: q for q in (*system.coordinates, *system.parameters)}
    phi, reach = symbols["phi"], symbols["r"]

    def mass(r: Array) -> Any:
        table = np.diag([J0, 2 * J1, m, m, m * R**2]) + 0 * r[0]
        table[0, 4] = table[4, 0] = J0
        return table

    def rows(r: Array) -> Any:
        s, c, zero = np.sin(r[1]), np.cos(r[1]), 0 * r[0]
        return np.array([[zero, zero, -s, c, -R * c], [zero, zero, s, c, R * c]])

    def section(r: Array) -> Any:
        return np.array([[-2 * R * np.cos(r[1]) ** 2], [0 * r[0]], [np.sin(2 * r[1])]])

    values = {"m": m, "r": R, "J0": J0, "J1": J1}
    written = [[-2 * reach * sympy.cos(phi) ** 2, 0, sympy.sin(2 * phi)]]
    return Planar("snakeboard", system, values, mass, lambda r: 0 * r[0], rows, section, written)


def _bicycle() -> Planar:
    system = gallery.load("bicycle").system
    parameters = {"m": 1.4, "a": 0.9, "c": 0.6, "g": 9.81, "j0": 0.5, "j1": 0.2, "j2": 0.3}
    m, a, c, g, j0, j1, j2 = parameters.values()
    phi = system.coordinates[4]

    def mass(r: Array) -> Any:
        s, co, zero, one = np.sin(r[0]), np.cos(r[0]), 0 * r[0], 1 + 0 * r[0]
        ahead, aside = [zero, zero, one, zero, a * s], [-a * co, zero, zero, one, c * one]
        speeds = np.array([ahead, aside, [a * s, zero, zero, zero, zero]])
        steering = np.diag([0, 1, 0, 0, 0]) * (j0 + j1 * co**2 + j2 * r[1] ** 2)
        return m * speeds.T @ speeds + steering

    def rows(r: Array) -> Any:
        zero, one = 0 * r[0], 1 + 0 * r[0]
        return np.array([[zero, zero, -r[1], zero, one], [zero, zero, zero, one, zero]])

    def potential(r: Array) -> Any:
        return m * g * a * np.cos(r[0])

    def section(r: Array) -> Any:
        return np.array([[1 + 0 * r[0]], [0 * r[0]], [r[1]]])

    return Planar("bicycle", system, parameters, mass, potential, rows, section, [[1, 0, phi]])


# -- samples ---------------------------------------------------------------------------------------


@cache
def planar_probe(kind: str, form: str) -> Probe:
    """The library's equations: "reduced", "reconstructed", or a form of all coordinates."""
    found = planar(kind)
    if form not in ("reduced", "reconstructed"):
        return Probe(derive(found.system, form), found.parameters)
    section, whole = found.written_section, form == "reconstructed"
    equations = reduce(found.system, found.group, section=section, reconstruct=whole)
    return Probe(equations, found.parameters)


@sampler(*KINDS, seed=59)
def samples(kind: str, random: Generator) -> PlanarSample:
    """Random points of D."""
    found = planar(kind)
    g, (r, v, a) = random.uniform(-1, 1, 3), random.uniform(-1, 1, (3, 2))
    r = 0.6 * r + np.array([0.0, 0.7])
    return PlanarSample(found, g, r, v, random.uniform(-1, 1, found.m), a)
