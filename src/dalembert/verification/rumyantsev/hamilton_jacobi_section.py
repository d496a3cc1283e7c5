"""Rumyantsev: section 5, the generalised method of Hamilton and Jacobi (eqs. 5.1 to 5.11).

H_1(q, pi, t) of random systems is computed from its definition: velocities and multipliers next to
a known state solve pi = p + lambda f_v and f = 0, and complex steps of that solution are its
derivatives. The library's vakonomic rates are the independent implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.hamilton_jacobi.hamilton_jacobi import hamilton_jacobi
from ...integrate.simulate import simulate
from ...model.symbols import t
from ...typing import Array
from ..independent.climbing_particle import climb_motion
from ..independent.instant_samples import MotionSample, bound_probe, motions, solved_near
from ..numeric import Residual, Residuals, StateBlocks, derivative, distance, excess
from ..row_registry import listed
from .canonical_voronets_section import ConstrainedMomenta
from .examples_4 import rolled
from .lagrange_problem import VakonomicSample, extremals, quiet
from .rigid_disk import Disk
from .transitivity_equations import SOLVED


def _hamilton(s: MotionSample) -> Any:
    """The library's rates of (q, p) at an instant."""
    return bound_probe(s.model.kind, "hamilton").rates(s.time, np.concatenate([s.q, s.p]))


def _by_position(s: MotionSample) -> Array:
    """H_q by complex steps, (n,)."""
    return derivative(lambda x: s.model.hamiltonian(x, s.p, s.time), s.q)


@listed("R-5.1", over=motions)
def canonical_equations_with_multipliers(s: MotionSample) -> Residual:
    rates, multipliers = _hamilton(s), s.probe.observe(s.time, s.state)["multipliers"]
    by_momenta = derivative(lambda y: s.model.hamiltonian(s.q, y, s.time), s.p)
    expected = np.concatenate([by_momenta, multipliers @ s.rows - _by_position(s)])
    return distance(rates, expected), distance(rates[len(s.q) :], s.rate(s.model.momenta))


@listed("R-5.2", over=motions)
def legendre(s: MotionSample) -> Residual:
    p = derivative(lambda v: s.model.lagrangian(s.q, v, s.time), s.v)
    blocks = s.probe.blocks(s.time, s.state)
    hamilton = bound_probe(s.model.kind, "hamilton").blocks(s.time, np.concatenate([s.q, p]))
    energy = p @ s.v - s.model.lagrangian(s.q, s.v, s.time)
    energies = distance(blocks.energy, energy), distance(hamilton.energy, energy)
    return distance(blocks.momenta, p), energies


@dataclass(frozen=True)
class LiftedState:
    """A vakonomic state in the variables (q, pi) of section 5, with lambda = chi."""

    item: VakonomicSample

    @property
    def s(self) -> MotionSample:
        """The motion, with the library's vakonomic accelerations."""
        return self.item.motion

    @cached_property
    def blocks(self) -> StateBlocks:
        """The library's momenta, rows and energy."""
        return self.s.probe.blocks(self.s.time, self.s.state)

    @cached_property
    def pi(self) -> Array:
        """pi = p + lambda f_v, (n,), with the library's momenta and rows."""
        return self.blocks.momenta + self.item.chi @ self.blocks.A

    @property
    def known(self) -> Array:
        """Velocities and multipliers, (n + r,)."""
        return np.concatenate([self.s.v, self.item.chi])

    @property
    def library_value(self) -> float:
        """H of the library plus lambda f_v . q_dot."""
        return float(self.blocks.energy + self.item.chi @ self.blocks.A @ self.s.v)

    def _conditions(self, q: Array, x: Array, time: float) -> Array:
        """(p + lambda f_v, f) at velocities and multipliers x, (n + r,)."""
        model, v, multipliers = self.s.model, x[: len(self.s.q)], x[len(self.s.q) :]
        lifted = model.momenta(q, v, time) + multipliers @ model.constraint_rows(q, v, time)
        return np.concatenate([lifted, model.constraint(q, v, time)])

    @cached_property
    def _jacobian(self) -> Array:
        return derivative(lambda x: self._conditions(self.s.q, x, self.s.time), self.known)

    def solution(self, q: Array, pi: Array, time: float) -> Any:
        """Velocities and multipliers for pi near this state, (n + r,)."""
        target = np.concatenate([pi, np.zeros(self.s.model.r)])
        return solved_near(
            lambda x: self._conditions(q, x, time), self.known, target, self._jacobian
        )

    def newton(self, pi: Array, guess: Array) -> Array:
        """Velocities and multipliers for pi from a guess by Newton's method, (n + r,)."""
        target = np.concatenate([pi, np.zeros(self.s.model.r)])
        q, time = self.s.q, self.s.time
        for _ in range(12):
            step = derivative(lambda x: self._conditions(q, x, time), guess)
            guess = guess - np.linalg.solve(step, self._conditions(q, guess, time) - target)
        return guess

    def hamiltonian(self, q: Array, pi: Array, time: float) -> Any:
        """H_1(q, pi, t) = pi . q_dot - L."""
        v = self.solution(q, pi, time)[: len(self.s.q)]
        return pi @ v - self.s.model.lagrangian(q, v, time)

    @property
    def value(self) -> float:
        """H_1 at this state."""
        return float(self.hamiltonian(self.s.q, self.pi, self.s.time).real)

    @cached_property
    def by_position(self) -> Array:
        """dH_1/dq, (n,)."""
        return derivative(lambda x: self.hamiltonian(x, self.pi, self.s.time), self.s.q)

    @cached_property
    def by_momenta(self) -> Array:
        """dH_1/dpi, (n,)."""
        return derivative(lambda y: self.hamiltonian(self.s.q, y, self.s.time), self.pi)


lifted = extremals.map(LiftedState)


listed("R-5.3", over=lifted)(lambda c: distance(c.newton(c.pi, c.known + 0.02), c.known))
listed("R-5.4", over=lifted)(
    lambda c: distance(c.pi @ c.s.v - c.library_value, c.s.model.lagrangian(c.s.q, c.s.v, c.s.time))
)


@listed("R-5.5", over=lifted)
def lifted_hamiltonian(c: LiftedState) -> Residual:
    s, moved = c.s, c.pi + 0.01
    v, multipliers = np.split(c.newton(moved, c.known), [len(s.q)])
    p, rows = s.model.momenta(s.q, v, s.time), s.model.constraint_rows(s.q, v, s.time)
    elsewhere = moved @ v - s.model.lagrangian(s.q, v, s.time)
    closed = s.model.hamiltonian(s.q, p, s.time) + multipliers @ rows @ v
    return distance(closed, elsewhere), distance(c.library_value, c.value)


@listed("R-5.6", over=motions)
def momenta_on_constraints(s: MotionSample) -> Residual:
    p, plain = s.library["momenta"], ConstrainedMomenta(s)
    by_speed = derivative(lambda w: s.model.solved(s.q, w, s.time), s.w)
    return (
        distance(s.library["constrained_by_w"], p[: s.k] + p[s.k :] @ by_speed),
        distance(plain.by_momenta, s.w),
        distance(plain.by_position, -s.library["constrained_by_q"]),
    )


def _constrained_value(s: MotionSample) -> float:
    """H* from its definition."""
    plain = ConstrainedMomenta(s)
    return float(plain.hamiltonian(s.q, plain.momenta, s.time).real)


@listed("R-5.7", over=motions)
def both_hamiltonians(s: MotionSample) -> Residual:
    rest = s.library["frame"][s.k :] @ s.w - s.library["solved"]
    value = s.probe.blocks(s.time, s.state).energy + s.library["momenta"][s.k :] @ rest
    return distance(value, _constrained_value(s))


@listed("R-5.7-multipliers", over=lifted)
def multipliers_from_momenta(c: LiftedState) -> Residuals:
    s, library = c.s, c.s.library
    plain = c.pi[: s.k] + c.pi[s.k :] @ library["frame"][s.k :]
    yield [distance(plain, library["constrained_by_w"])]
    if s.model.kind in SOLVED:
        yield distance(c.pi[s.k :] - library["momenta"][s.k :], c.item.chi)


@listed("R-5.7-hamiltonian", over=lifted)
def hamiltonian_of_both(c: LiftedState) -> Residual:
    s, library = c.s, c.s.library
    rest = library["solved"] - library["frame"][s.k :] @ s.w
    return distance(_constrained_value(s) + c.pi[s.k :] @ rest, c.value)


# -- Appell's particle -----------------------------------------------------------------------------


def _library_hamiltonian(name: str) -> Callable[[Array, Array], float]:
    """The library's H_1 of a gallery system as a function of (q, pi)."""
    scenario = gallery.load(name)
    found = hamilton_jacobi(scenario)
    values = {symbol: scenario.parameters[symbol.name] for symbol in scenario.system.parameters}
    symbols = [*found.momenta, *found.momenta.values()]
    function = sympy.lambdify(symbols, found.hamiltonian.subs(values), "numpy")
    return lambda q, pi: float(function(*q, *pi))


@listed("R-5.8")
def hamilton_jacobi_equation() -> Residual:
    climb, library = climb_motion()[0], _library_hamiltonian("appell")

    def residual(q: Array, alpha: Array) -> Residual:
        constants = np.array([40.0 + alpha[0], alpha[1], alpha[2]])
        pi = derivative(lambda x: climb.action(x, constants, 0.3), q)
        by_time = derivative(lambda s: climb.action(q, constants, s[0]), [0.3])[0]
        value = library(q, pi)
        return by_time + value, distance(value, climb.hamiltonian(q, pi))

    states = np.random.default_rng(81).uniform(0.2, 1, (2, 4, 3))
    return [residual(q, alpha) for q, alpha in zip(*states, strict=True)]


listed("R-5.9", over=lifted)(
    lambda c: (distance(c.by_momenta, c.s.v), distance(-c.by_position, c.item.momenta_rate))
)


@listed("R-5.9-jacobi")
def jacobi_theorem() -> Residual:
    climb, motion = climb_motion()
    pi = climb.momenta(motion.y[3:6], motion.y[6])
    constants = np.array([climb.hamiltonian(motion.y[:3, 0], pi[:, 0]), *pi[:2, 0]])

    def derivatives(time: float, q: Array) -> tuple[Array, Array]:
        by_position = derivative(lambda x: climb.action(x, constants, time), q)
        return by_position, derivative(lambda c: climb.action(q, c, time), constants)

    found = [derivatives(time, y[:3]) for time, y in zip(motion.t, motion.y.T, strict=True)]
    spread = np.ptp([beta for _, beta in found], axis=0)
    return distance(np.array([momenta for momenta, _ in found]).T, pi), spread


@listed("R-5.10")
def applicability() -> Residual:
    def gap(item: VakonomicSample) -> float:
        s = item.mechanical
        return distance(item.motion.rate(s.model.momenta), _hamilton(s)[len(s.q) :])

    return quiet.worst(gap), extremals.worst(lambda item: excess(1e-3 - gap(item)))


@listed("R-5.11", over=lifted)
def momenta_on_characteristics(c: LiftedState) -> Residual:
    s, left = c.s, c.s.rate(c.s.model.momenta) + _by_position(c.s)
    right = c.item.chi @ s.turning - c.item.chi_dot @ s.rows
    return distance(left, right), distance(left, s.euler)


@listed("R-5.11-action")
def canonical_action() -> Residual:
    random = np.random.default_rng(82)

    def residual(c: LiftedState) -> float:
        s = c.s
        dq, dq_rate, dpi = random.uniform(-1, 1, (3, len(s.q)))
        along = derivative(
            lambda e: c.hamiltonian(s.q + e[0] * dq, c.pi + e[0] * dpi, s.time), [0.0]
        )
        boundary = c.item.momenta_rate @ dq + c.pi @ dq_rate
        return float(c.pi @ dq_rate + dpi @ s.v - along[0] - boundary)

    return lifted.worst(residual)


@listed("R-ex5.1-appell")
def appell_integrated() -> Residual:
    scenario, times = gallery.load("appell"), np.linspace(0, 1.1, 12)
    found = hamilton_jacobi(scenario)
    motion = simulate(scenario, span=(0.0, 1.1), rtol=1e-12, at=times)
    climb, _ = climb_motion()
    pi = climb.momenta(motion.y[3:6, 0], -1.1)
    energy = climb.hamiltonian(motion.y[:3, 0], pi)
    by_theorem = found.motion(times.tolist(), {"chi_slope": -1.1})
    assert found.integral is not None and found.integral.motion is not None
    closed = found.integral.motion
    beta = derivative(lambda c: climb.action(motion.y[:3, 0], c, 0.0), [energy, *pi[:2]])
    constants = {c.name: value for c, value in zip(found.integral.constants, pi[:2], strict=False)}
    constants |= {"E": energy, "beta_E": beta[0], "beta_q1": beta[1], "beta_q2": beta[2]}
    return (
        distance(by_theorem.coordinates, motion.y[:3]),
        distance(_evaluated(closed, constants | dict(scenario.parameters), times), motion.y[:3]),
    )


def _evaluated(
    motion: Mapping[Any, sympy.Expr], values: Mapping[str, float], times: Array
) -> Array:
    """Closed forms of q(t) at some times, (n, times)."""
    rows = []
    for expression in motion.values():
        symbols = sorted(expression.free_symbols - {t}, key=str)
        function = sympy.lambdify([t, *symbols], expression, "numpy")
        rows.append(function(times, *(values[symbol.name] for symbol in symbols)) + 0 * times)
    return np.array(rows)


def _constrained_mass(disk: Disk, theta: float) -> Array:
    """The matrix (3, 3) of 2 Theta in the speeds of theta, psi and phi."""
    q, ahead = np.array([theta, 0.4, 0.2, 0.0, 0.0]), np.array([np.cos(0.2), np.sin(0.2)])
    ways = [np.array([*unit, *(-disk.r * unit[1] * ahead)]) for unit in np.eye(3)]

    def product(u: Array, w: Array) -> Any:
        linear = disk.m * disk.velocity(q, u) @ disk.velocity(q, w)
        return linear + disk.angular_velocity(q, u) @ disk.angular_momentum(q, w)

    return np.array([[product(u, w) for w in ways] for u in ways])


@listed("R-ex5.1-disk")
def disk_integrated() -> Residual:
    scenario, (tilt, turning) = gallery.load("rolling-disk"), (0.3, 0.9)
    parameters = scenario.parameters
    disk = Disk(**{name: parameters[name] for name in "mrgAC"})
    by_tilt = derivative(lambda x: _constrained_mass(disk, x[0]), [tilt])[..., 0]
    fall = -disk.m * disk.g * disk.r * np.sin(tilt)
    # H*_theta = -w^T K_theta w / 2 + V_theta with w = (0, psi_dot, phi_dot), and K_psi_psi does not
    # depend on theta.
    rolling = (2 * fall - turning**2 * by_tilt[2, 2]) / (2 * turning * by_tilt[1, 2])
    momenta = _constrained_mass(disk, tilt) @ np.array([0.0, rolling, turning])
    family = hamilton_jacobi(scenario).on({"theta_dot": 0, "pi_x": 0, "pi_y": 0})
    values = dict(parameters) | {"theta_0": tilt, "beta_psi": 0.0, "beta_phi": 0.2}
    values |= {"alpha_psi": momenta[1], "alpha_phi": momenta[2]}
    instant = np.zeros(1)
    conditions = dict(enumerate(family.conditions))
    speeds = _evaluated(family.speeds, values, instant)[:, 0]
    values |= dict(zip((symbol.name for symbol in family.speeds), speeds, strict=True))
    values |= {"beta_x": disk.r * rolling / turning * np.sin(0.2)}
    values |= {"beta_y": -disk.r * rolling / turning * np.cos(0.2)}
    motion = rolled("lagrange", (0.0, rolling, turning))
    assert family.motion is not None and family.mechanical.is_proved
    return (
        _evaluated(conditions, values, instant),
        distance(speeds, [rolling, turning]),
        distance(_evaluated(family.motion, values, motion.t), motion.y[:5]),
    )
