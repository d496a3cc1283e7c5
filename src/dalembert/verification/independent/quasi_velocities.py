"""Random nonholonomic systems and random quasi-velocities, stated twice: as a `System`, and as plain NumPy functions.

    L = v^T M(q,t) v / 2 + m(q,t)^T v + U(q,t),       f_l(q, v, t) = 0,   l = 1..r

with every entry a wave in q and t. The last r velocities are solved for, v_{k+l} = phi_l(q, w, t) with w = (v_1..v_k).
Constraints, quasi-velocities and momenta have their velocity derivatives written out by hand; every other derivative is taken
by complex steps, so that nothing here shares the library's algebra.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...model.constraints import velocity
from ...model.symbols import coordinates, t
from ...model.system import System
from ..numeric import dense_solution, derivative
from .random_systems import Wave

__all__ = ["KINDS", "BoundTwin", "QuasiTwin", "bound_twin", "quasi_twin"]

#: Freedom k and number of constraints r of each kind. "linear" and "affine" are linear in the velocities, without and with time
#: and constant terms; "nonlinear" is solved for the dependent velocities; "general" is nonlinear and not solved for them.
KINDS: dict[str, tuple[int, int]] = {"linear": (2, 1), "affine": (1, 2), "nonlinear": (2, 2), "general": (1, 2)}


@dataclass(frozen=True)
class BoundTwin:
    """A random constrained system in both languages: n = k + r coordinates, r constraints."""

    system: System
    kind: str
    sinusoids: Mapping[str, Any]

    @property
    def k(self) -> int:
        """The number of independent velocities."""
        return KINDS[self.kind][0]

    @property
    def r(self) -> int:
        """The number of constraints."""
        return KINDS[self.kind][1]

    # -- energies --------------------------------------------------------------------------------------------------

    def mass(self, q: Any, time: Any) -> Any:
        """M (n, n)."""
        return np.array(_mass(self.sinusoids, q, time))

    def shift(self, q: Any, time: Any) -> Any:
        """m (n,), the part of T that is linear in the velocities."""
        return np.array([wave(q, time) for wave in self.sinusoids["shift"]])

    def kinetic(self, q: Any, v: Any, time: Any) -> Any:
        """T."""
        return v @ self.mass(q, time) @ v / 2 + self.shift(q, time) @ v

    def force_function(self, q: Any, time: Any) -> Any:
        """U, minus the potential energy."""
        return -self.sinusoids["potential"](q, time)

    def lagrangian(self, q: Any, v: Any, time: Any) -> Any:
        """L = T + U."""
        return self.kinetic(q, v, time) + self.force_function(q, time)

    def momenta(self, q: Any, v: Any, time: Any) -> Any:
        """dL/dv = dT/dv = M v + m, (n,)."""
        return self.mass(q, time) @ v + self.shift(q, time)

    def velocities(self, q: Any, p: Any, time: Any) -> Any:
        """v = M^-1 (p - m), (n,)."""
        return np.linalg.solve(self.mass(q, time), p - self.shift(q, time))

    def hamiltonian(self, q: Any, p: Any, time: Any) -> Any:
        """H = p . v - L, (Rumyantsev 5.2)."""
        v = self.velocities(q, p, time)
        return p @ v - self.lagrangian(q, v, time)

    # -- constraints -----------------------------------------------------------------------------------------------

    def constraint(self, q: Any, v: Any, time: Any) -> Any:
        """f (r,)."""
        return np.array(_constraints(self.sinusoids, q, v, time, self.k))

    def constraint_rows(self, q: Any, v: Any, time: Any) -> Any:
        """f_v (r, n), written out."""
        mixing = np.array(_mixing(self.sinusoids, q, time))
        return np.concatenate([-self._right_side_rows(q, v[: self.k], time), mixing + np.zeros((self.r, self.r))], axis=1)

    def _right_side_rows(self, q: Any, w: Any, time: Any) -> Any:
        """The derivative of `_right_sides` by w, (r, k)."""
        root = np.sqrt(1 + w @ w)
        rows = []
        for l in range(self.r):
            row = np.array([wave(q, time) for wave in self.sinusoids["slope"][l]]) + 0 * w
            if "product" in self.sinusoids:
                product = np.zeros(self.k, dtype=np.asarray(w).dtype)
                product[0] += w[-1]
                product[-1] += w[0]
                row = row + self.sinusoids["product"][l](q, time) * product + self.sinusoids["root"][l](q, time) * w / root
            rows.append(row)
        return np.array(rows)

    def solved(self, q: Any, w: Any, time: Any) -> Any:
        """phi (r,), the dependent velocities."""
        right = np.array(_right_sides(self.sinusoids, q, w, time))
        return np.linalg.solve(np.array(_mixing(self.sinusoids, q, time)), right)

    def solved_rows(self, q: Any, w: Any, time: Any) -> Any:
        """phi_w (r, k), written out."""
        return np.linalg.solve(np.array(_mixing(self.sinusoids, q, time)), self._right_side_rows(q, w, time))

    def on_constraints(self, q: Any, w: Any, time: Any) -> Any:
        """v = (w, phi), (n,)."""
        return np.concatenate([w, self.solved(q, w, time)])

    def frame(self, q: Any, w: Any, time: Any) -> Any:
        """dv/dw on the constraints, (n, k): virtual displacements are frame @ anything (Rumyantsev 1.5)."""
        return np.concatenate([np.eye(self.k), self.solved_rows(q, w, time)])

    def constrained_kinetic(self, q: Any, w: Any, time: Any) -> Any:
        """Theta(q, w, t), T on the constraints."""
        return self.kinetic(q, self.on_constraints(q, w, time), time)

    def constrained_lagrangian(self, q: Any, w: Any, time: Any) -> Any:
        """Theta + U."""
        return self.lagrangian(q, self.on_constraints(q, w, time), time)

    def constrained_momenta(self, q: Any, w: Any, time: Any) -> Any:
        """dTheta/dw = p_s + p_{k+l} dphi_l/dw_s, (k,) (Rumyantsev 5.6)."""
        return self.frame(q, w, time).T @ self.momenta(q, self.on_constraints(q, w, time), time)

    # -- the motion ------------------------------------------------------------------------------------------------

    def accelerations(self, q: Any, v: Any, time: float) -> tuple[Any, Any]:
        """q_ddot (n,) and mu (r,) with M q_ddot = ... + f_v^T mu, from one dense system of all unknowns."""
        rows = self.constraint_rows(q, v, time)
        right = -derivative(lambda x: self.constraint(x, v, time), q) @ v
        right = right - derivative(lambda s: self.constraint(q, v, s[0]), [time])[:, 0]
        z, multipliers = dense_solution(self.mass(q, time), self.free_force(q, v, time), rows, right)
        return z, -multipliers

    def free_force(self, q: Any, v: Any, time: float) -> Any:
        """The right side of M q_ddot = ... without constraints."""
        drift = (
            derivative(lambda x: self.momenta(x, v, time), q) @ v + derivative(lambda s: self.momenta(q, v, s[0]), [time])[:, 0]
        )
        return derivative(lambda x: self.lagrangian(x, v, time), q) - drift


@dataclass(frozen=True)
class QuasiTwin:
    """Quasi-velocities eta = f(q, v, t) of a bound twin: k free ones, then the constraints (Rumyantsev 1.14).

        eta_s = g_si(q,t) w_i + h_s(q,t) + e_s(q,t) f_1 (1 + f_1) [ + b_s(q,t) w_s (w . w) ]

    where f_1 is the first constraint. The last term is there where `bent`: these have no inverse in closed form. Straight ones
    of constraints that are not solved for the dependent velocities do without f_1.
    """

    model: BoundTwin
    bent: bool

    def expressions(self) -> dict[str, sympy.Expr]:
        """The free quasi-velocities of the straight ones as the library's `hamel` form takes them."""
        q = self.model.system.coordinates
        v = [x.dot for x in q]
        first = _constraints(self.model.sinusoids, q, v, t, self.model.k)[0]
        values = _free_quasi_velocities(self.model.sinusoids, q, v[: self.model.k], first, t, bent=False)
        return {f"quasi{s + 1}": value for s, value in enumerate(values)}

    def definition(self, q: Any, v: Any, time: Any) -> Any:
        """f(q, v, t), (n,)."""
        bound = self.model.constraint(q, v, time)
        free = _free_quasi_velocities(self.model.sinusoids, q, v[: self.model.k], bound[0], time, self.bent)
        return np.concatenate([np.array(free), bound])

    def rows(self, q: Any, v: Any, time: Any) -> Any:
        """f_v (n, n), written out."""
        model, w = self.model, v[: self.model.k]
        bound, bound_rows = model.constraint(q, v, time), model.constraint_rows(q, v, time)
        gain = np.array(_gain(model.sinusoids, q, time)) + np.zeros((model.k, model.k))
        if self.bent:
            bend = np.array([wave(q, time) for wave in model.sinusoids["bend"]])
            gain = gain + bend[:, None] * ((w @ w) * np.eye(model.k) + 2 * np.outer(w, w))
        leak = np.array([wave(q, time) * _leaks(model.sinusoids, self.bent) for wave in model.sinusoids["leak"]])
        free = np.concatenate([gain, np.zeros((model.k, model.r))], axis=1)
        return np.concatenate([free + np.outer(leak, (1 + 2 * bound[0]) * bound_rows[0]), bound_rows])

    def inverse(self, q: Any, eta: Any, time: Any, guess: Any) -> Any:
        """v = F(q, eta, t) near a guess, by Newton's method in complex numbers, (n,)."""
        v = np.array(guess, dtype=complex)
        for _ in range(8):
            v = v - np.linalg.solve(self.rows(q, v, time), self.definition(q, v, time) - eta)
        return v


# -- statements for symbols and for numbers ----------------------------------------------------------------------------


def _root(value: Any) -> Any:
    return sympy.sqrt(value) if isinstance(value, sympy.Expr) else np.sqrt(value)


def _mass(sinusoids: Mapping[str, Any], q: Any, time: Any) -> list[list[Any]]:
    n, places = len(q), iter(sinusoids["mass"])
    table: list[list[Any]] = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            table[i][j] = table[j][i] = next(places)(q, time) + (3 if i == j else 0)
    return table


def _mixing(sinusoids: Mapping[str, Any], q: Any, time: Any) -> list[list[Any]]:
    """The matrix of the dependent velocities in the constraints, (r, r)."""
    r = len(sinusoids["slope"])
    if "mixing" not in sinusoids:
        return [[int(l == m) for m in range(r)] for l in range(r)]
    return [[sinusoids["mixing"][l](q, time) + 2 if l == m else 0 for m in range(r)] for l in range(r)]


def _right_sides(sinusoids: Mapping[str, Any], q: Any, w: Any, time: Any) -> list[Any]:
    """What the constraints make of the independent velocities: mixing @ v_D = right sides, (r,)."""
    found = []
    for l, derivatives in enumerate(sinusoids["slope"]):
        value = sum(wave(q, time) * speed for wave, speed in zip(derivatives, w, strict=True))
        if "offset" in sinusoids:
            value = value + sinusoids["offset"][l](q, time)
        if "product" in sinusoids:
            length = _root(1 + sum(speed**2 for speed in w))
            value = value + sinusoids["product"][l](q, time) * w[0] * w[-1] + sinusoids["root"][l](q, time) * length
        found.append(value)
    return found


def _constraints(sinusoids: Mapping[str, Any], q: Any, v: Any, time: Any, k: int) -> list[Any]:
    right = _right_sides(sinusoids, q, v[:k], time)
    return [
        sum(entry * speed for entry, speed in zip(row, v[k:], strict=True)) - value
        for row, value in zip(_mixing(sinusoids, q, time), right, strict=True)
    ]


def _gain(sinusoids: Mapping[str, Any], q: Any, time: Any) -> list[list[Any]]:
    """The matrix of the independent velocities in the quasi-velocities, (k, k)."""
    return [[wave(q, time) + (2 if i == s else 0) for i, wave in enumerate(row)] for s, row in enumerate(sinusoids["gain"])]


def _leaks(sinusoids: Mapping[str, Any], bent: bool) -> bool:
    """Whether the free quasi-velocities contain a constraint."""
    return bent or "mixing" not in sinusoids


def _free_quasi_velocities(sinusoids: Mapping[str, Any], q: Any, w: Any, first: Any, time: Any, bent: bool) -> list[Any]:
    found = []
    for s, row in enumerate(_gain(sinusoids, q, time)):
        value = sum(entry * speed for entry, speed in zip(row, w, strict=True)) + sinusoids["rest"][s](q, time)
        if _leaks(sinusoids, bent):
            value = value + sinusoids["leak"][s](q, time) * first * (1 + first)
        if bent:
            value = value + sinusoids["bend"][s](q, time) * w[s] * sum(speed**2 for speed in w)
        found.append(value)
    return found


# -- random ones ---------------------------------------------------------------------------------------------------------


def _random_sinusoids(kind: str, seed: int) -> dict[str, Any]:
    (k, r), random = KINDS[kind], np.random.default_rng([seed, list(KINDS).index(kind)])
    n = k + r

    def wave() -> Wave:
        amplitude, drift, phase = (round(float(x), 3) for x in random.uniform(0.3, 0.8, 3))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1, 1, n)), drift, phase)

    def some(count: int) -> list[Wave]:
        return [wave() for _ in range(count)]

    sinusoids: dict[str, Any] = {"mass": some(n * (n + 1) // 2), "shift": some(n), "potential": wave()}
    sinusoids["slope"] = [some(k) for _ in range(r)]
    if kind == "linear":
        sinusoids["slope"] = [[replace(wave, drift=0.0) for wave in row] for row in sinusoids["slope"]]
    else:
        sinusoids["offset"] = some(r)
    if kind in ("nonlinear", "general"):
        sinusoids |= {"product": some(r), "root": some(r)}
    if kind == "general":
        sinusoids["mixing"] = some(r)
    sinusoids |= {"gain": [some(k) for _ in range(k)], "rest": some(k), "leak": some(k)}
    sinusoids["bend"] = [replace(wave, amplitude=wave.amplitude / 5) for wave in some(k)]
    return sinusoids


@cache
def bound_twin(kind: str, seed: int = 1) -> BoundTwin:
    """A random system under constraints of one kind; see `KINDS`."""
    (k, r), sinusoids = KINDS[kind], _random_sinusoids(kind, seed)
    q = coordinates(f"q1:{k + r + 1}")
    v = sympy.Matrix([x.dot for x in q])
    kinetic = (v.T * sympy.Matrix(_mass(sinusoids, q, t)) * v)[0] / 2
    kinetic += sum(wave(q, t) * speed for wave, speed in zip(sinusoids["shift"], v, strict=True))
    conditions = _constraints(sinusoids, q, list(v), t, k)
    system = System(
        q,
        kinetic=kinetic,
        potential=sinusoids["potential"](q, t),
        constraints=[velocity(condition, name=f"f{l + 1}") for l, condition in enumerate(conditions)],
        name=f"random {kind} constraints",
    )
    return BoundTwin(system, kind, sinusoids)


@cache
def quasi_twin(kind: str, bent: bool = False, seed: int = 1) -> QuasiTwin:
    """Random quasi-velocities of a random system."""
    return QuasiTwin(bound_twin(kind, seed), bent)
