"""Random nonholonomic systems and quasi-velocities, as a `System` and as NumPy functions.

    L = v^T M(q,t) v / 2 + m(q,t)^T v + U(q,t),       f_l(q, v, t) = 0,   l = 1..r

with every entry a sinusoid in q and t. The last r velocities are solved for, v_{k+l} = phi_l(q, w,
t) with w = (v_1..v_k). Constraints, quasi-velocities and momenta have their velocity derivatives
written out by hand; every other derivative is taken by complex steps, so that nothing here shares
the library's algebra.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import sympy

from ...model.constraints import velocity
from ...model.symbols import coordinates, t
from ...model.system import System
from ...typing import Array
from ..numeric import dense_solution, derivative
from .random_systems import Point, QuadraticSystem, Sinusoid, Time, draw_sinusoids, symmetric

#: Freedom k and number of constraints r of each kind. "linear" and "affine" are linear in the
#: velocities, without and with time and constant terms; "nonlinear" is solved for the dependent
#: velocities; "general" is nonlinear and not solved for them.
KINDS: dict[str, tuple[int, int]] = {
    "linear": (2, 1),
    "affine": (1, 2),
    "nonlinear": (2, 2),
    "general": (1, 2),
}

#: The sinusoids of a system by the role of what they are entries of.
Sinusoids: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class ConstrainedSystem(QuadraticSystem):
    """A random constrained system in both languages: n = k + r coordinates, r constraints."""

    system: System
    kind: str
    sinusoids: Sinusoids

    @property
    def k(self) -> int:
        """The number of independent velocities."""
        return KINDS[self.kind][0]

    @property
    def r(self) -> int:
        """The number of constraints."""
        return KINDS[self.kind][1]

    # -- energies ----------------------------------------------------------------------------------

    def mass(self, q: Array, time: float) -> Any:
        return np.array(symmetric(self.sinusoids["mass"], q, time, size=len(q), diagonal=3))

    def shift(self, q: Array, time: float) -> Any:
        return np.array([f(q, time) for f in self.sinusoids["shift"]])

    def kinetic(self, q: Array, v: Array, time: float) -> Any:
        """T."""
        return v @ self.mass(q, time) @ v / 2 + self.shift(q, time) @ v

    def force_function(self, q: Array, time: float) -> Any:
        """U, minus the potential energy."""
        return -self.sinusoids["potential"](q, time)

    def lagrangian(self, q: Array, v: Array, time: float) -> Any:
        return self.kinetic(q, v, time) + self.force_function(q, time)

    def hamiltonian(self, q: Array, p: Array, time: float) -> Any:
        """H = p . v - L, (Rumyantsev 5.2)."""
        v = self.velocities(q, p, time)
        return p @ v - self.lagrangian(q, v, time)

    # -- constraints -------------------------------------------------------------------------------

    def constraint(self, q: Array, v: Array, time: float) -> Any:
        """f (r,)."""
        return np.array(_constraints(self.sinusoids, q, v, time, self.k))

    def constraint_rows(self, q: Array, v: Array, time: float) -> Any:
        """f_v (r, n), written out."""
        mixing = np.array(_mixing(self.sinusoids, q, time)) + np.zeros((self.r, self.r))
        return np.concatenate([-self._right_side_rows(q, v[: self.k], time), mixing], axis=1)

    def _right_side_rows(self, q: Array, w: Array, time: float) -> Any:
        """The derivative of `_right_sides` by w, (r, k)."""
        root, rows = np.sqrt(1 + w @ w), []
        for l in range(self.r):
            row = np.array([f(q, time) for f in self.sinusoids["derivatives"][l]]) + 0 * w
            if "product" in self.sinusoids:
                product = np.zeros(self.k, dtype=np.asarray(w).dtype)
                product[0] += w[-1]
                product[-1] += w[0]
                row = row + self.sinusoids["product"][l](q, time) * product
                row = row + self.sinusoids["root"][l](q, time) * w / root
            rows.append(row)
        return np.array(rows)

    def solved(self, q: Array, w: Array, time: float) -> Any:
        """phi (r,), the dependent velocities."""
        right = np.array(_right_sides(self.sinusoids, q, w, time))
        return np.linalg.solve(np.array(_mixing(self.sinusoids, q, time)), right)

    def solved_rows(self, q: Array, w: Array, time: float) -> Any:
        """phi_w (r, k), written out."""
        mixing = np.array(_mixing(self.sinusoids, q, time))
        return np.linalg.solve(mixing, self._right_side_rows(q, w, time))

    def on_constraints(self, q: Array, w: Array, time: float) -> Any:
        """v = (w, phi), (n,)."""
        return np.concatenate([w, self.solved(q, w, time)])

    def frame(self, q: Array, w: Array, time: float) -> Any:
        """dv/dw on the constraints, (n, k), which spans virtual displacements (Rumyantsev 1.5)."""
        return np.concatenate([np.eye(self.k), self.solved_rows(q, w, time)])

    def constrained_kinetic(self, q: Array, w: Array, time: float) -> Any:
        """Theta(q, w, t), T on the constraints."""
        return self.kinetic(q, self.on_constraints(q, w, time), time)

    def constrained_lagrangian(self, q: Array, w: Array, time: float) -> Any:
        """Theta + U."""
        return self.lagrangian(q, self.on_constraints(q, w, time), time)

    def constrained_momenta(self, q: Array, w: Array, time: float) -> Any:
        """dTheta/dw = p_s + p_{k+l} dphi_l/dw_s, (k,) (Rumyantsev 5.6)."""
        return self.frame(q, w, time).T @ self.momenta(q, self.on_constraints(q, w, time), time)

    def accelerations(self, q: Array, v: Array, time: float) -> tuple[Any, Any]:
        """q_ddot (n,) and mu (r,) with M q_ddot = ... + f_v^T mu, from one dense system."""
        rows = self.constraint_rows(q, v, time)
        right = -derivative(lambda x: self.constraint(x, v, time), q) @ v
        right = right - derivative(lambda s: self.constraint(q, v, s[0]), [time])[:, 0]
        force = self.generalised_force(q, v, time)
        z, multipliers = dense_solution(self.mass(q, time), force, rows, right)
        return z, -multipliers


@dataclass(frozen=True)
class QuasiSystem:
    """Quasi-velocities eta = f(q, v, t): k free ones, then the constraints (Rumyantsev 1.14).

        eta_s = g_si(q,t) w_i + h_s(q,t) + e_s(q,t) f_1 (1 + f_1) [ + b_s(q,t) w_s (w . w) ]

    where f_1 is the first constraint. The last term is there where `bent`: these have no inverse in
    closed form. Straight ones of constraints that are not solved for the dependent velocities do
    without f_1.
    """

    model: ConstrainedSystem
    bent: bool

    def expressions(self) -> dict[str, sympy.Expr]:
        """The free quasi-velocities, as the library's forms take them."""
        q, k, sinusoids = self.model.system.coordinates, self.model.k, self.model.sinusoids
        v = [x.dot for x in q]
        first = _constraints(sinusoids, q, v, t, k)[0]
        values = _free_quasi_velocities(sinusoids, q, v[:k], first, t, self.bent)
        return {f"quasi{s + 1}": value for s, value in enumerate(values)}

    def definition(self, q: Array, v: Array, time: float) -> Any:
        """f(q, v, t), (n,)."""
        model, w = self.model, v[: self.model.k]
        bound = model.constraint(q, v, time)
        free = _free_quasi_velocities(model.sinusoids, q, w, bound[0], time, self.bent)
        return np.concatenate([np.array(free), bound])

    def rows(self, q: Array, v: Array, time: float) -> Any:
        """f_v (n, n), written out."""
        model, w, sinusoids = self.model, v[: self.model.k], self.model.sinusoids
        bound, bound_rows = model.constraint(q, v, time), model.constraint_rows(q, v, time)
        gain = np.array(_gain(sinusoids, q, time)) + np.zeros((model.k, model.k))
        if self.bent:
            bend = np.array([f(q, time) for f in sinusoids["bend"]])
            gain = gain + bend[:, None] * ((w @ w) * np.eye(model.k) + 2 * np.outer(w, w))
        leaks = _leaks(sinusoids, self.bent)
        leak = np.array([f(q, time) * leaks for f in sinusoids["leak"]])
        free = np.concatenate([gain, np.zeros((model.k, model.r))], axis=1)
        free = free + np.outer(leak, (1 + 2 * bound[0]) * bound_rows[0])
        return np.concatenate([free, bound_rows])

    def inverse(self, q: Array, eta: Array, time: float, guess: Array) -> Any:
        """v = F(q, eta, t) near a guess, by Newton's method in complex numbers, (n,)."""
        v = np.array(guess, dtype=complex)
        for _ in range(8):
            v = v - np.linalg.solve(self.rows(q, v, time), self.definition(q, v, time) - eta)
        return v


# -- statements for symbols and for numbers --------------------------------------------------------


def _mixing(sinusoids: Sinusoids, q: Point, time: Time) -> list[list[Any]]:
    """The matrix of the dependent velocities in the constraints, (r, r)."""
    r = range(len(sinusoids["derivatives"]))
    if "mixing" not in sinusoids:
        return [[int(l == m) for m in r] for l in r]
    return [[sinusoids["mixing"][l](q, time) + 2 if l == m else 0 for m in r] for l in r]


def _right_sides(sinusoids: Sinusoids, q: Point, w: Point, time: Time) -> list[Any]:
    """What the constraints make of the independent velocities: mixing @ v_D = right sides, (r,)."""
    found = []
    for l, derivatives in enumerate(sinusoids["derivatives"]):
        value = sum(f(q, time) * speed for f, speed in zip(derivatives, w, strict=True))
        if "offset" in sinusoids:
            value = value + sinusoids["offset"][l](q, time)
        if "product" in sinusoids:
            square = 1 + sum(speed**2 for speed in w)
            length = sympy.sqrt(square) if isinstance(square, sympy.Expr) else np.sqrt(square)
            value = value + sinusoids["product"][l](q, time) * w[0] * w[-1]
            value = value + sinusoids["root"][l](q, time) * length
        found.append(value)
    return found


def _constraints(sinusoids: Sinusoids, q: Point, v: Point, time: Time, k: int) -> list[Any]:
    right = _right_sides(sinusoids, q, v[:k], time)
    return [
        sum(entry * speed for entry, speed in zip(row, v[k:], strict=True)) - value
        for row, value in zip(_mixing(sinusoids, q, time), right, strict=True)
    ]


def _gain(sinusoids: Sinusoids, q: Point, time: Time) -> list[list[Any]]:
    """The matrix of the independent velocities in the quasi-velocities, (k, k)."""
    return [
        [f(q, time) + (2 if i == s else 0) for i, f in enumerate(row)]
        for s, row in enumerate(sinusoids["gain"])
    ]


def _leaks(sinusoids: Sinusoids, bent: bool) -> bool:
    """Whether the free quasi-velocities contain a constraint."""
    return bent or "mixing" not in sinusoids


def _free_quasi_velocities(
    sinusoids: Sinusoids, q: Point, w: Point, first: sympy.Expr | float, time: Time, bent: bool
) -> list[Any]:
    found = []
    for s, row in enumerate(_gain(sinusoids, q, time)):
        value = sum(entry * speed for entry, speed in zip(row, w, strict=True))
        value = value + sinusoids["rest"][s](q, time)
        if _leaks(sinusoids, bent):
            value = value + sinusoids["leak"][s](q, time) * first * (1 + first)
        if bent:
            value = value + sinusoids["bend"][s](q, time) * w[s] * sum(speed**2 for speed in w)
        found.append(value)
    return found


# -- random ones -----------------------------------------------------------------------------------


def _random_sinusoids(kind: str, seed: int) -> dict[str, Any]:
    (k, r), random = KINDS[kind], np.random.default_rng([seed, list(KINDS).index(kind)])
    n = k + r

    def some(count: int) -> list[Sinusoid]:
        return list(draw_sinusoids(random, count, n, 0.3, 0.8, drifting=True))

    sinusoids: dict[str, Any] = {"mass": some(n * (n + 1) // 2), "shift": some(n)}
    sinusoids |= {"potential": some(1)[0], "derivatives": [some(k) for _ in range(r)]}
    if kind == "linear":
        rows = sinusoids["derivatives"]
        sinusoids["derivatives"] = [[replace(f, drift=0.0) for f in row] for row in rows]
    else:
        sinusoids["offset"] = some(r)
    if kind in ("nonlinear", "general"):
        sinusoids |= {"product": some(r), "root": some(r)}
    if kind == "general":
        sinusoids["mixing"] = some(r)
    sinusoids |= {"gain": [some(k) for _ in range(k)], "rest": some(k), "leak": some(k)}
    sinusoids["bend"] = [replace(f, amplitude=f.amplitude / 5) for f in some(k)]
    return sinusoids


@cache
def constrained_system(kind: str, seed: int = 1) -> ConstrainedSystem:
    """A random system under constraints of one kind; see `KINDS`."""
    (k, r), sinusoids = KINDS[kind], _random_sinusoids(kind, seed)
    q = coordinates(f"q1:{k + r + 1}")
    v = sympy.Matrix([x.dot for x in q])
    mass = sympy.Matrix(symmetric(sinusoids["mass"], q, t, size=k + r, diagonal=3))
    kinetic = (v.T * mass * v)[0] / 2
    kinetic += sum(f(q, t) * speed for f, speed in zip(sinusoids["shift"], v, strict=True))
    conditions = _constraints(sinusoids, q, list(v), t, k)
    constraints = [velocity(condition, name=f"f{l + 1}") for l, condition in enumerate(conditions)]
    potential, name = sinusoids["potential"](q, t), f"random {kind} constraints"
    system = System(q, kinetic=kinetic, potential=potential, constraints=constraints, name=name)
    return ConstrainedSystem(system, kind, sinusoids)


@cache
def quasi_system(kind: str, bent: bool = False, seed: int = 1) -> QuasiSystem:
    """Random quasi-velocities of a random system."""
    return QuasiSystem(constrained_system(kind, seed), bent)
