"""Systems on the plane with symmetry SE(2), stated twice: as a `System`, and as NumPy functions of shape and body velocity.

    l = w^T M(r) w / 2 - V(r),     w = (r_dot, xi),     rows(r) w = 0,     xi = E(theta)^-1 (x_dot, y_dot, theta_dot)

Three of them: a random one with two momenta and a constraint that contains the shape velocities, the snakeboard, the bicycle.
The numeric side differentiates by complex steps and solves Lagrange's equations with multipliers in all coordinates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from ...model.symbols import coordinates
from ...model.system import System
from ..numeric import Probe, derivative, worst
from .random_systems import Wave

__all__ = ["KINDS", "Planar", "Spot", "over_spots", "planar", "planar_probe", "spots"]

KINDS = ("random", "snakeboard", "bicycle")

#: [e_a, e_b] = CONSTANTS[a, b, :] e for ahead, aside and turn.
CONSTANTS = np.zeros((3, 3, 3))
CONSTANTS[2, 0, 1], CONSTANTS[0, 2, 1], CONSTANTS[2, 1, 0], CONSTANTS[1, 2, 0] = 1, -1, -1, 1


def frame(theta: Any) -> Any:
    """E(theta), (3, 3): columns are the fields ahead, aside and turn."""
    c, s, zero, one = np.cos(theta), np.sin(theta), 0 * theta, 1 + 0 * theta
    return np.array([[c, -s, zero], [s, c, zero], [zero, zero, one]])


def bracket(first: Any, second: Any) -> Any:
    """[first, second] of body velocities (3,)."""
    return np.einsum("abc,a,b->c", CONSTANTS, first, second)


@dataclass(frozen=True, eq=False)
class Planar:
    """A system in both languages; 2 shape coordinates, 3 of the group, m momenta."""

    kind: str
    system: System
    parameters: dict[str, float]
    mass: Callable[[Any], Any]
    potential: Callable[[Any], Any]
    rows: Callable[[Any], Any]
    section: Callable[[Any], Any]
    written_section: Any

    # -- the library ---------------------------------------------------------------------------------------------

    @cached_property
    def group(self) -> dict[str, dict[Any, Any]]:
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

    # -- numbers -------------------------------------------------------------------------------------------------

    @cached_property
    def m(self) -> int:
        """The number of momenta."""
        return int(self.section(np.array([0.3, 0.4])).shape[1])

    def body_velocity(self, r: Any, v: Any, p: Any) -> Any:
        """xi(r, r_dot, p) from the constraints and p = <l_xi, e> (3,)."""
        rows, M, e = self.rows(r), self.mass(r), self.section(r)
        matrix = np.vstack([rows[:, 2:], e.T @ M[2:, 2:]])
        return np.linalg.solve(matrix, np.concatenate([-rows[:, :2] @ v, p - e.T @ M[2:, :2] @ v]))

    def connection(self, r: Any) -> Any:
        """A(r) (3, 2)."""
        return -np.stack([self.body_velocity(r, unit, np.zeros(self.m)) for unit in np.eye(2)], axis=1)

    def lift(self, r: Any) -> Any:
        """Gamma(r) (3, m)."""
        return np.stack([self.body_velocity(r, np.zeros(2), unit) for unit in np.eye(self.m)], axis=1)

    def lagrangian(self, r: Any, v: Any, xi: Any) -> Any:
        """l(r, r_dot, xi)."""
        w = np.concatenate([v, xi])
        return w @ self.mass(r) @ w / 2 - self.potential(r)

    def on_constraints(self, r: Any, v: Any, p: Any) -> Any:
        """l_c(r, r_dot, p)."""
        return self.lagrangian(r, v, self.body_velocity(r, v, p))

    def body_momenta(self, r: Any, v: Any, p: Any) -> tuple[Any, Any]:
        """dl/dr_dot (2,) and dl/dxi (3,) on the constraints."""
        found = self.mass(r) @ np.concatenate([v, self.body_velocity(r, v, p)])
        return found[:2], found[2:]

    def energy(self, r: Any, v: Any, p: Any) -> Any:
        """l_w . w - l on the constraints."""
        w = np.concatenate([v, self.body_velocity(r, v, p)])
        return w @ self.mass(r) @ w / 2 + self.potential(r)

    # -- the chart (x, y, theta, r, r_dot, p) of D ------------------------------------------------------------------

    def impulse(self, z: Any) -> Any:
        """The canonical one-form p dq on D (7 + m,): no part along r_dot and p."""
        on_shape, mu = self.body_momenta(z[3:5], z[5:7], z[7:])
        return np.concatenate([np.linalg.solve(frame(z[2]).T, mu), on_shape, np.zeros(2 + self.m)])

    def lagrangian_form(self, z: Any) -> Any:
        """Omega = dq ^ dp on D by complex steps, (7 + m, 7 + m)."""
        table = derivative(self.impulse, z)
        return table - table.T

    def energy_form(self, z: Any) -> Any:
        """dE on D (7 + m,)."""
        return derivative(lambda x: self.energy(x[3:5], x[5:7], x[7:]), z)

    def allowed(self, z: Any) -> Any:
        """K: the fields e_b, lifts of d/dr, d/dr_dot and d/dp as columns (7 + m, 4 + 2m)."""
        E, r, m = frame(z[2]), z[3:5], self.m
        found = np.zeros((7 + m, 4 + 2 * m))
        found[:3, :m] = E @ self.section(r)
        found[:3, m : m + 2] = -E @ self.connection(r)
        found[3:, m:] = np.eye(4 + m)
        return found

    # -- all coordinates q = (x, y, theta, r), with velocities u -----------------------------------------------------

    def body(self, q: Any, u: Any) -> Any:
        """w = (r_dot, xi) (5,)."""
        return np.concatenate([u[3:], np.linalg.solve(frame(q[2]), u[:3])])

    def velocities(self, q: Any, w: Any) -> Any:
        """u (5,) of w."""
        return np.concatenate([frame(q[2]) @ w[2:], w[:2]])

    def momenta(self, q: Any, u: Any) -> Any:
        """dL/dq_dot (5,) in closed form."""
        found = self.mass(q[3:]) @ self.body(q, u)
        return np.concatenate([np.linalg.solve(frame(q[2]).T, found[2:]), found[:2]])

    def full_lagrangian(self, q: Any, u: Any) -> Any:
        """L(q, q_dot)."""
        w = self.body(q, u)
        return self.lagrangian(q[3:], w[:2], w[2:])

    def full_rows(self, q: Any) -> Any:
        """The constraints by coordinate, (c, 5)."""
        table = self.rows(q[3:])
        return np.hstack([np.linalg.solve(frame(q[2]).T, table[:, 2:].T).T, table[:, :2]])

    def euler(self, q: Any, u: Any, z: Any) -> Any:
        """d/dt L_u - L_q along the path with velocity u and acceleration z (5,)."""
        inertia = derivative(lambda s: self.momenta(q + s[0] * u, u + s[0] * z), [0.0])[:, 0]
        return inertia - derivative(lambda x: self.full_lagrangian(x, u), q)

    def accelerations(self, q: Any, u: Any) -> tuple[Any, Any]:
        """q_ddot (5,) and the reaction (5,): d'Alembert's principle with explicit multipliers, one dense system."""
        rows = self.full_rows(q)
        count = len(rows)
        metric = derivative(lambda y: self.momenta(q, y), u)
        right = -derivative(lambda s: self.full_rows(q + s[0] * u) @ u, [0.0])[:, 0]
        matrix = np.block([[metric, -rows.T], [rows, np.zeros((count, count))]])
        solution = np.linalg.solve(matrix, np.concatenate([-self.euler(q, u, np.zeros(5)), right]))
        return solution[:5], rows.T @ solution[5:]


@dataclass(frozen=True, eq=False)
class Spot:
    """A system at a point of D, with shape accelerations that it need not have."""

    planar: Planar
    g: Any
    r: Any
    v: Any
    p: Any
    a: Any

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
        found = dict(zip(shape, self.r, strict=True)) | {f"{n}_dot": x for n, x in zip(shape, self.v, strict=True)}
        return found | dict(zip((q.name for q in bundle.momenta), self.p, strict=True)) | self.planar.parameters

    @cached_property
    def library(self) -> ReducedCoefficients:
        """The library's coefficients at this shape."""
        shape = {self.planar.bundle.system.coordinates[j]: x for j, x in zip(self.planar.bundle.shape, self.r, strict=True)}
        return self.planar.coefficients.at(shape, self.planar.parameters)

    @cached_property
    def rates(self) -> tuple[Any, Any]:
        """The library's r_ddot and p_dot by `reduce`."""
        found = planar_probe(self.planar.kind, "reduced").rates(0.0, np.concatenate([self.r, self.v, self.p]))
        return found[2:4], found[4:]

    @cached_property
    def exact(self) -> tuple[Any, Any]:
        """r_ddot and p_dot by multipliers in all coordinates: p along the path, by complex steps."""
        planar, q, u = self.planar, self.q, self.u
        z, _ = planar.accelerations(q, u)

        def momentum(s: Any) -> Any:
            x, y = q + s[0] * u, u + s[0] * z
            return planar.section(x[3:]).T @ (frame(x[2]).T @ planar.momenta(x, y)[:3])

        return z[3:], derivative(momentum, [0.0])[:, 0]

    @cached_property
    def field(self) -> Any:
        """X on D by the library's rates (7 + m,)."""
        return np.concatenate([frame(self.g[2]) @ self.xi, self.v, *self.rates])

    def along(self, function: Callable[[Any, Any, Any], Any], a: Any = None, p_dot: Any = None) -> Any:
        """The time derivative of a function of (r, r_dot, p), with given rates or the library's."""
        a, p_dot = self.rates[0] if a is None else a, self.rates[1] if p_dot is None else p_dot
        return derivative(lambda s: function(self.r + s[0] * self.v, self.v + s[0] * a, self.p + s[0] * p_dot), [0.0])[..., 0]


# -- the three systems -------------------------------------------------------------------------------------------------


@cache
def planar(kind: str) -> Planar:
    """One of `KINDS`."""
    return {"random": _random, "snakeboard": _snakeboard, "bicycle": _bicycle}[kind]()


def _random() -> Planar:
    """Waves in the metric, the potential and one row; its section is two columns that the row annihilates."""
    random = np.random.default_rng(58)

    def wave() -> Wave:
        amplitude, phase = (round(float(x), 3) for x in random.uniform(0.3, 0.6, 2))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1.2, 1.2, 2)), 0.0, phase)

    sinusoids = tuple(wave() for _ in range(21))
    x, y, theta, r1, r2 = coordinates("x y theta r1 r2")

    def mass(r: Any) -> list[list[Any]]:
        places = iter(range(15))
        table: list[list[Any]] = [[0] * 5 for _ in range(5)]
        for i in range(5):
            for j in range(i, 5):
                table[i][j] = table[j][i] = sinusoids[next(places)](r, 0) + (4 if i == j else 0)
        return table

    def row(r: Any) -> list[Any]:
        first, second, third, fourth = (wave(r, 0) for wave in sinusoids[15:19])
        return [first, second, third, fourth, 2 + sinusoids[19](r, 0)]

    def section(r: Any) -> list[list[Any]]:
        a, b, c = row(r)[2:]
        return [[c, 0, -a], [a * b, c + b**2, -b * (a**2 + b**2 + c) / c]]

    c, s = sympy.cos(theta), sympy.sin(theta)
    w = sympy.Matrix([r1.dot, r2.dot, c * x.dot + s * y.dot, -s * x.dot + c * y.dot, theta.dot])
    shape = (r1, r2)
    kinetic = (w.T * sympy.Matrix(mass(shape)) * w)[0] / 2
    condition = sum(a * b for a, b in zip(row(shape), w, strict=True))
    system = System([x, y, theta, r1, r2], kinetic=kinetic, potential=sinusoids[20](shape, 0),
                    constraints=[velocity(condition, name="row")], name="Random planar system")  # fmt: skip
    return Planar(
        "random", system, {},
        mass=lambda r: np.array(mass(r)), potential=lambda r: sinusoids[20](r, 0), rows=lambda r: np.array([row(r)]),
        section=lambda r: np.array([[x + 0 * r[0] for x in column] for column in section(r)]).T, written_section=section(shape),
    )  # fmt: skip


def _snakeboard() -> Planar:
    system = gallery.load("snakeboard").system
    m, R, J0, J1 = 1.3, 0.8, 0.25, 0.1
    symbols = {q.name: q for q in (*system.coordinates, *system.parameters)}
    phi, reach = symbols["phi"], symbols["r"]

    def mass(r: Any) -> Any:
        table = np.diag([J0, 2 * J1, m, m, m * R**2]) + 0 * r[0]
        table[0, 4] = table[4, 0] = J0
        return table

    def rows(r: Any) -> Any:
        s, c, zero = np.sin(r[1]), np.cos(r[1]), 0 * r[0]
        return np.array([[zero, zero, -s, c, -R * c], [zero, zero, s, c, R * c]])

    return Planar(
        "snakeboard", system, {"m": m, "r": R, "J0": J0, "J1": J1},
        mass=mass, potential=lambda r: 0 * r[0], rows=rows,
        section=lambda r: np.array([[-2 * R * np.cos(r[1]) ** 2], [0 * r[0]], [np.sin(2 * r[1])]]),
        written_section=[[-2 * reach * sympy.cos(phi) ** 2, 0, sympy.sin(2 * phi)]],
    )  # fmt: skip


def _bicycle() -> Planar:
    system = gallery.load("bicycle").system
    parameters = {"m": 1.4, "a": 0.9, "c": 0.6, "g": 9.81, "j0": 0.5, "j1": 0.2, "j2": 0.3}
    m, a, c, g, j0, j1, j2 = parameters.values()
    phi = system.coordinates[4]

    def mass(r: Any) -> Any:
        s, co, zero, one = np.sin(r[0]), np.cos(r[0]), 0 * r[0], 1 + 0 * r[0]
        speeds = np.array(
            [[zero, zero, one, zero, a * s], [-a * co, zero, zero, one, c * one], [a * s, zero, zero, zero, zero]]
        )
        steering = np.diag([0, 1, 0, 0, 0]) * (j0 + j1 * co**2 + j2 * r[1] ** 2)
        return m * speeds.T @ speeds + steering

    def rows(r: Any) -> Any:
        zero, one = 0 * r[0], 1 + 0 * r[0]
        return np.array([[zero, zero, -r[1], zero, one], [zero, zero, zero, one, zero]])

    return Planar(
        "bicycle", system, parameters,
        mass=mass, potential=lambda r: m * g * a * np.cos(r[0]), rows=rows,
        section=lambda r: np.array([[1 + 0 * r[0]], [0 * r[0]], [r[1]]]), written_section=[[1, 0, phi]],
    )  # fmt: skip


# -- where they are looked at --------------------------------------------------------------------------------------------


@cache
def planar_probe(kind: str, form: str) -> Probe:
    """The library's equations of a system: "reduced", "reconstructed", or a form of all coordinates."""
    found = planar(kind)
    if form in ("reduced", "reconstructed"):
        equations = reduce(found.system, found.group, section=found.written_section, reconstruct=form == "reconstructed")
        return Probe(equations, found.parameters)
    return Probe(derive(found.system, form), found.parameters)


@cache
def spots(kind: str, count: int = 3) -> tuple[Spot, ...]:
    """Random points of D."""
    random = np.random.default_rng([59, KINDS.index(kind)])
    found = planar(kind)

    def spot() -> Spot:
        g, (r, v, a) = random.uniform(-1, 1, 3), random.uniform(-1, 1, (3, 2))
        r = 0.6 * r + np.array([0.0, 0.7])
        return Spot(found, g, r, v, random.uniform(-1, 1, found.m), a)

    return tuple(spot() for _ in range(count))


def all_spots(kinds: tuple[str, ...]) -> Iterator[Spot]:
    """The points of several systems."""
    for kind in kinds:
        yield from spots(kind)


def over_spots(residual: Callable[[Spot], float], *kinds: str) -> float:
    """The worst residual over the points of some systems; of all of them where none is named."""
    return worst(residual(spot) for spot in all_spots(kinds or KINDS))
