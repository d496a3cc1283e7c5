r"""Homoclinic orbits of a plane (q, p) with a rotor (phi, I), and integrals along them.

Both invariant manifolds of the saddle are followed from a small distance to the middle of the
orbit, so that errors do not grow on the way back. See `melnikov.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, RunError
from ...geometry.vanishing import vanish
from ...model.symbols import as_expression
from ...model.values import numbers_by_name
from ...typing import Array, Expression, Values

__all__ = ["HomoclinicOrbit", "PerturbedPlane"]

#: The distance from the saddle at both ends, and the tolerance of the orbit.
DEPARTURE, TOLERANCE = 1e-10, 1e-13
#: An approach to a saddle within this counts as an arrival while the orbit is traced.
NEAR = 1e-3
#: The longest time of an orbit, in units of the growth rate, and steps of Newton's method.
LONGEST, STEPS = 400.0, 60


@dataclass(frozen=True)
class PerturbedPlane:
    """Functions of (q, p, phi) at one I: rates, their derivatives, and the integrand."""

    field_function: ca.Function
    jacobian: ca.Function
    integrand_function: ca.Function

    @classmethod
    def read(
        cls,
        unperturbed: Expression,
        perturbation: Expression,
        plane: tuple[sympy.Symbol, sympy.Symbol],
        rotor: tuple[sympy.Symbol, sympy.Symbol],
        parameters: Values | None,
        action: float,
    ) -> PerturbedPlane:
        H0, H1 = as_expression(unperturbed), as_expression(perturbation)
        (q, p), (phi, moment) = plane, rotor
        if not vanish([sympy.diff(H0, phi)]).holds:
            remedy = "put what depends on it into the perturbation"
            raise ModelError("H0 must not depend on the angle of the rotor", str(phi), remedy)
        turned = vanish([H1.xreplace({phi: phi + 2 * sympy.pi}) - H1])
        if turned.is_refuted:
            raise ModelError("H1 must have the period 2 pi in the rotor's angle", str(phi))
        rate = sympy.Symbol("Omega_s")
        plane_bracket = sympy.diff(H0, q) * sympy.diff(H1, p)
        plane_bracket -= sympy.diff(H0, p) * sympy.diff(H1, q)
        integrand = plane_bracket - (sympy.diff(H0, moment) - rate) * sympy.diff(H1, phi)
        algebra, values = GraphAlgebra(), numbers_by_name(parameters)
        symbols = (q, p, phi, rate)
        known = {*symbols, moment}
        free = {s for e in (H0, H1) for s in e.free_symbols} - known
        missing = sorted(s.name for s in free if s.name not in values)
        if missing:
            remedy = "pass parameters={name: value}"
            raise ModelError("Parameters have no value", ", ".join(missing), remedy)
        numbers = {s: sympy.Float(values[s.name], 17) for s in free}
        numbers[moment] = sympy.Float(float(action), 17)
        rates = [sympy.diff(H0, p), -sympy.diff(H0, q), sympy.diff(H0, moment)]
        inputs = algebra.vector(symbols)
        field_block = algebra.vector([e.xreplace(numbers) for e in rates])
        kernel = algebra.vector([integrand.xreplace(numbers)])
        return cls(
            ca.Function("f", [inputs], [field_block]),
            ca.Function("J", [inputs], [ca.jacobian(field_block, inputs)]),
            ca.Function("m", [inputs], [kernel]),
        )

    def rates(self, point: Array) -> Array:
        """(q_dot, p_dot, phi_dot) at (q, p)."""
        return np.asarray(self.field_function([*point[:2], 0.0, 0.0]), dtype=float).ravel()

    def linear(self, point: Array) -> Array:
        """The derivative (2, 2) of the rates in the plane."""
        return np.asarray(self.jacobian([*point[:2], 0.0, 0.0]), dtype=float)[:2, :2]

    def saddle(self, guess: Mapping[str, float]) -> Array:
        """The equilibrium of the plane near a guess, by Newton's method."""
        point = np.array(list(guess.values()), dtype=float)
        if point.shape != (2,):
            remedy = "give values of q and p, in this order"
            raise ModelError("A saddle has two coordinates", str(dict(guess)), remedy)
        for _ in range(STEPS):
            step = np.linalg.solve(self.linear(point), -self.rates(point)[:2])
            point = point + step
            if np.max(np.abs(step)) < 1e-15 * (1 + np.max(np.abs(point))):
                break
        determinant = float(np.linalg.det(self.linear(point)))
        if not (np.all(np.isfinite(point)) and determinant < 0):
            remedy = "start nearer to one"
            seen = f"({point[0]:.6g}, {point[1]:.6g}), determinant {determinant:.3g}"
            raise ModelError("Newton's method did not lead to a saddle of the plane", seen, remedy)
        return point

    def homoclinic(self, point: Array, side: int, turn: float | None) -> HomoclinicOrbit:
        """The homoclinic orbit that leaves the saddle on one side."""
        values, vectors = np.linalg.eig(self.linear(point))
        order = np.argsort(values.real)
        growth = float(values.real[order[1]])
        leaving, arriving = (vectors.real[:, k] for k in (order[1], order[0]))
        leaving = leaving * (np.sign(leaving[0]) or 1.0) * side
        out = self._branch(point + DEPARTURE * leaving, 1.0, growth, point, turn)
        if not len(out.t_events[0]):
            raise RunError(
                "The unstable manifold does not return to the saddle",
                seen=f"followed up to t = {out.t[-1]:.4g}",
                remedy="choose the other side, or give the period of an angle as turn",
            )
        sampled = np.linspace(out.t[0], out.t[-1], 2001)
        speeds = np.abs([self.rates(state)[0] for state in out.sol(sampled).T])
        fastest = int(np.clip(np.argmax(speeds), 1, len(sampled) - 2))
        middle = float(
            minimize_scalar(
                lambda s: -abs(self.rates(out.sol(s))[0]),
                bounds=(sampled[fastest - 1], sampled[fastest + 1]),
                method="bounded",
                options={"xatol": 1e-12},
            ).x
        )
        state = out.sol(middle)
        round_about = 0.0 if turn is None else turn * np.round((out.y[0, -1] - point[0]) / turn)
        target = point + np.array([round_about, 0.0])
        for way in (1.0, -1.0):
            start = target + way * DEPARTURE * arriving
            back = self._branch(start, -1.0, growth, target, turn, float(state[0]))
            for time in back.t_events[1]:
                if abs(back.sol(time)[1] - state[1]) < 1e-6 * (1 + abs(state[1])):
                    return HomoclinicOrbit(out.sol, middle, back.sol, float(time), growth)
        raise RunError(
            "The stable and unstable manifold of the saddle do not meet",
            seen=f"no homoclinic orbit through q = {state[0]:.6g}",
            remedy="choose the other side, or another saddle",
        )

    def _branch(
        self,
        start: Array,
        direction: float,
        growth: float,
        saddle: Array,
        turn: float | None,
        through: float | None = None,
    ) -> Any:
        """A branch of an invariant manifold with its phase, up to the next approach to a saddle."""

        def derivative(_: float, y: Array) -> Array:
            return self.rates(y)

        def approach(_: float, y: Array) -> float:
            gap = y[0] - saddle[0]
            gap = gap if turn is None else (gap + turn / 2) % turn - turn / 2
            return float(np.hypot(gap, y[1] - saddle[1]) - NEAR)

        def crossing(_: float, y: Array) -> float:
            return float(y[0] - through) if through is not None else 1.0

        approach.terminal, approach.direction = True, -1.0  # type: ignore[attr-defined]
        return solve_ivp(
            derivative, (0.0, direction * LONGEST / growth), [*start, 0.0], method="DOP853",
            rtol=TOLERANCE, atol=1e-16, dense_output=True, events=[approach, crossing],
        )  # fmt: skip

    def integrand(self, states: Array, phase: Array, phases: Array, frequency: float) -> Array:
        """{D, H1}, (times, phases)."""
        count = len(phases)
        columns = np.stack(
            [
                np.repeat(states[:, 0], count),
                np.repeat(states[:, 1], count),
                (phase[:, None] + phases).ravel(),
                np.full(len(states) * count, frequency),
            ]
        )
        found = self.integrand_function(columns)
        return np.asarray(found, dtype=float).reshape(len(states), count)

    def integral(
        self, orbit: HomoclinicOrbit, phases: Array, frequency: float, panels: int
    ) -> Array:
        """M by Gauss's rule in panels along the orbit, (phases,)."""
        nodes, weights = np.polynomial.legendre.leggauss(8)
        total = np.zeros(len(phases))
        for first, last in ((orbit.first, 0.0), (0.0, orbit.last)):
            edges = np.linspace(first, last, panels + 1)
            half = np.diff(edges)[:, None] / 2
            times = (edges[:-1, None] + half * (1 + nodes)).ravel()
            states, phase = orbit.at(times)
            values = self.integrand(states, phase, phases, frequency)
            total += (half * weights).ravel() @ values
        return total


@dataclass(frozen=True)
class HomoclinicOrbit:
    """A homoclinic orbit in two halves that meet in the middle, at t = 0."""

    out: Callable[[Array], Array]
    middle: float
    back: Callable[[Array], Array]
    met: float
    growth: float

    @property
    def first(self) -> float:
        return -self.middle

    @property
    def last(self) -> float:
        return -self.met

    def at(self, times: Array) -> tuple[Array, Array]:
        """States (nt, 2), and phases (nt,) from the middle on."""
        early = times < 0
        found = np.zeros((len(times), 3))
        if np.any(early):
            found[early] = self.out(times[early] + self.middle).T
            found[early, 2] -= self.out(np.array([self.middle]))[2]
        if not np.all(early):
            found[~early] = self.back(times[~early] + self.met).T
            found[~early, 2] -= self.back(np.array([self.met]))[2]
        return found[:, :2], found[:, 2]
