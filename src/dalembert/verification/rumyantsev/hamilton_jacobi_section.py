"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 5, the generalised method of Hamilton and Jacobi
(eqs. 5.1 to 5.11), and example 5.1.

H_1(q, pi, t) of random systems is computed from its definition: velocities and multipliers next to a known state solve pi =
p + lambda f_v and f = 0, and complex steps of that solution are its derivatives. The library's vakonomic rates are the
independent implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.variational.variational_hamiltonian import variational_hamiltonian
from ...integrate.simulate import simulate
from ..independent.climbing_particle import climb_motion
from ..independent.instant_samples import Instant, bound_probe, over_instants, solved_near
from ..numeric import derivative, distance, excess, gallery_probe, largest, worst
from ..row_registry import claim
from .canonical_voronets_section import Plain
from .examples_4 import Disk, rolled
from .lagrange_problem import Extremal, extremals, quiet_extremals
from .transitivity_equations import BOUND, SOLVED


def _hamilton(s: Instant) -> Any:
    """The library's rates of (q, p) at an instant."""
    return bound_probe(s.twin.kind, "hamilton").rates(s.time, np.concatenate([s.q, s.p]))


@claim(
    "R-5.1",
    "q_dot = H_p and p_dot = -H_q + mu_l f_l,v are the equations (2.3)",
    how=f"{BOUND}: rates of the library's Hamiltonian form against complex steps of H with mu of its form with multipliers, and"
    " against the rate of p along accelerations of that form",
)
def canonical_equations_with_multipliers() -> float:
    def residual(s: Instant) -> float:
        rates, multipliers = _hamilton(s), s.probe.observe(s.time, s.state)["multipliers"]
        by_position = derivative(lambda x: s.twin.hamiltonian(x, s.p, s.time), s.q)
        by_momenta = derivative(lambda y: s.twin.hamiltonian(s.q, y, s.time), s.p)
        expected = np.concatenate([by_momenta, multipliers @ s.rows - by_position])
        return largest(distance(rates, expected), distance(rates[len(s.q) :], s.rate(s.twin.momenta)))

    return over_instants(residual)


@claim(
    "R-5.2",
    "p = L_v and H(q, p, t) = p . q_dot - L",
    how=f"{BOUND}: the library's momenta and energy against complex steps of L",
)
def legendre() -> float:
    def residual(s: Instant) -> float:
        by_steps = derivative(lambda v: s.twin.lagrangian(s.q, v, s.time), s.v)
        blocks = s.probe.blocks(s.time, s.state)
        energy = by_steps @ s.v - s.twin.lagrangian(s.q, s.v, s.time)
        hamilton = bound_probe(s.twin.kind, "hamilton").blocks(s.time, np.concatenate([s.q, by_steps])).energy
        return largest(distance(blocks.momenta, by_steps), distance(blocks.energy, energy), distance(hamilton, energy))

    return over_instants(residual)


@dataclass(frozen=True)
class Canonical:
    """A vakonomic state in the variables (q, pi) of section 5, with lambda = chi."""

    item: Extremal

    @property
    def s(self) -> Instant:
        """The motion, with the library's vakonomic accelerations."""
        return self.item.motion

    @cached_property
    def pi(self) -> Any:
        """pi = p + lambda f_v, (n,), with the library's momenta and rows."""
        blocks = self.s.probe.blocks(self.s.time, self.s.state)
        return blocks.momenta + self.item.chi @ blocks.A

    def _conditions(self, q: Any, x: Any, time: Any) -> Any:
        """(p + lambda f_v, f) at velocities and multipliers x, (n + r,)."""
        twin, v, multipliers = self.s.twin, x[: len(self.s.q)], x[len(self.s.q) :]
        lifted = twin.momenta(q, v, time) + multipliers @ twin.constraint_rows(q, v, time)
        return np.concatenate([lifted, twin.constraint(q, v, time)])

    @cached_property
    def _jacobian(self) -> Any:
        return derivative(lambda x: self._conditions(self.s.q, x, self.s.time), np.concatenate([self.s.v, self.item.chi]))

    def solution(self, q: Any, pi: Any, time: Any, guess: Any = None) -> Any:
        """Velocities and multipliers for pi, (n + r,), near this state or from a guess by Newton's method."""
        target = np.concatenate([pi, np.zeros(self.s.twin.r)])
        if guess is None:
            base = np.concatenate([self.s.v, self.item.chi])
            return solved_near(lambda x: self._conditions(q, x, time), base, target, self._jacobian)
        for _ in range(12):
            step = derivative(lambda x: self._conditions(q, x, time), guess)
            guess = guess - np.linalg.solve(step, self._conditions(q, guess, time) - target)
        return guess

    def hamiltonian(self, q: Any, pi: Any, time: Any) -> Any:
        """H_1(q, pi, t) = pi . q_dot - L."""
        v = self.solution(q, pi, time)[: len(self.s.q)]
        return pi @ v - self.s.twin.lagrangian(q, v, time)

    @cached_property
    def by_position(self) -> Any:
        """dH_1/dq, (n,)."""
        return derivative(lambda x: self.hamiltonian(x, self.pi, self.s.time), self.s.q)

    @cached_property
    def by_momenta(self) -> Any:
        """dH_1/dpi, (n,)."""
        return derivative(lambda y: self.hamiltonian(self.s.q, y, self.s.time), self.pi)


@cache
def canonical() -> tuple[Canonical, ...]:
    """Random states of all kinds with random lambda."""
    return tuple(Canonical(item) for item in extremals())


def over_canonical(residual: Callable[[Canonical], Any]) -> float:
    """The worst residual over them."""
    return worst(residual(c) for c in canonical())


@claim(
    "R-5.3",
    "pi = p + lambda_l f_l,v together with f = 0 determines velocities and lambda",
    how=f"{BOUND}: pi from the library's momenta and rows; Newton's method from another velocity and lambda",
)
def lifted_momenta() -> float:
    def residual(c: Canonical) -> float:
        known = np.concatenate([c.s.v, c.item.chi])
        return distance(c.solution(c.s.q, c.pi, c.s.time, known + 0.02), known)

    return over_canonical(residual)


@claim(
    "R-5.4",
    "L = pi . q_dot - H_1 on the constraints",
    how=f"{BOUND}: H_1 as H of the library plus lambda f_v . q_dot, library momenta and rows, against L",
)
def lagrangian_from_lifted_momenta() -> float:
    def residual(c: Canonical) -> float:
        s, blocks = c.s, c.s.probe.blocks(c.s.time, c.s.state)
        value = blocks.energy + c.item.chi @ blocks.A @ s.v
        return distance(c.pi @ s.v - value, s.twin.lagrangian(s.q, s.v, s.time))

    return over_canonical(residual)


@claim(
    "R-5.5",
    "H_1 = H + lambda_l f_l,v . q_dot, as a function of (q, pi, t)",
    how=f"{BOUND}: H_1 from its definition at the solution for pi, against H in closed form there; the library's energy",
)
def lifted_hamiltonian() -> float:
    def residual(c: Canonical) -> float:
        s = c.s
        moved = c.pi + 0.01
        x = c.solution(s.q, moved, s.time, np.concatenate([s.v, c.item.chi]))
        v, multipliers = x[: len(s.q)], x[len(s.q) :]
        p, rows = s.twin.momenta(s.q, v, s.time), s.twin.constraint_rows(s.q, v, s.time)
        elsewhere = moved @ v - s.twin.lagrangian(s.q, v, s.time)
        blocks = s.probe.blocks(s.time, s.state)
        return largest(
            distance(s.twin.hamiltonian(s.q, p, s.time) + multipliers @ rows @ v, elsewhere),
            distance(blocks.energy + c.item.chi @ blocks.A @ s.v, c.hamiltonian(s.q, c.pi, s.time).real),
        )

    return over_canonical(residual)


@claim(
    "R-5.6",
    "P_s = L*_q_dot_s = p_s + p_{k+l} phi_l,q_dot_s and H* = P_s q_dot_s - L*, where L* = Theta + U",
    how=f"{BOUND}: the library's derivatives of L* against its momenta and complex steps of phi; H*_P = q_dot_s and H*_q ="
    " -L*_q",
)
def momenta_on_constraints() -> float:
    def residual(s: Instant) -> float:
        p, plain = s.library["momenta"], Plain(s)
        by_speed = derivative(lambda w: s.twin.solved(s.q, w, s.time), s.w)
        return largest(
            distance(s.library["constrained_by_w"], p[: s.k] + p[s.k :] @ by_speed),
            distance(plain.by_momenta, s.w),
            distance(plain.by_position, -s.library["constrained_by_q"]),
        )

    return over_instants(residual)


@claim(
    "R-5.7",
    "H*(q, P, t) = H(q, p, t) + p_{k+l} (phi_l,q_dot_s q_dot_s - phi_l)",
    how=f"{BOUND}: H* from its definition against the library's energy, momenta and solved velocities",
)
def both_hamiltonians() -> float:
    def residual(s: Instant) -> float:
        plain, library = Plain(s), s.library
        rest = library["frame"][s.k :] @ s.w - library["solved"]
        value = s.probe.blocks(s.time, s.state).energy + library["momenta"][s.k :] @ rest
        return distance(value, plain.hamiltonian(s.q, plain.momenta, s.time).real)

    return over_instants(residual)


@claim(
    "R-5.7-multipliers",
    "For solved constraints lambda_l = pi_{k+l} - p_{k+l} and P_s = pi_s + pi_{k+l} phi_l,q_dot_s",
    how=f"{BOUND}: pi with the library's chi, its momenta, and its derivative of L* for P",
)
def multipliers_from_momenta() -> float:
    found = []
    for c in canonical():
        s, library = c.s, c.s.library
        lifted = c.pi[: s.k] + c.pi[s.k :] @ library["frame"][s.k :]
        found.append(distance(lifted, library["constrained_by_w"]))
        if s.twin.kind in SOLVED:
            found.append(distance(c.pi[s.k :] - library["momenta"][s.k :], c.item.chi))
    return worst(found)


@claim(
    "R-5.7-hamiltonian",
    "H_1 = H* + pi_{k+l} (phi_l - phi_l,q_dot_s q_dot_s)",
    how=f"{BOUND}: H_1 from its definition against H* and the library's solved velocities",
)
def hamiltonian_of_both() -> float:
    def residual(c: Canonical) -> float:
        s, plain = c.s, Plain(c.s)
        rest = s.library["solved"] - s.library["frame"][s.k :] @ s.w
        value = plain.hamiltonian(s.q, plain.momenta, s.time).real + c.pi[s.k :] @ rest
        return distance(value, c.hamiltonian(s.q, c.pi, s.time).real)

    return over_canonical(residual)


# -- Appell's particle -------------------------------------------------------------------------------------------------------


def _library_hamiltonian(name: str) -> Callable[[Any, Any], float]:
    """The library's H_1 of a gallery system as a function of (q, pi)."""
    scenario = gallery.load(name)
    found = variational_hamiltonian(scenario.system)
    values = {symbol: scenario.parameters[symbol.name] for symbol in scenario.system.parameters}
    function = sympy.lambdify([*scenario.system.coordinates, *found.momenta], found.hamiltonian.subs(values), "numpy")
    return lambda q, pi: float(function(*q, *pi))


@claim(
    "R-5.8",
    "The generalised equation S_t + H_1(q, S_q, t) = 0: for Appell's particle S = -E t + alpha_1 q_1 + alpha_2 q_2 + W(q_3)"
    " with W' = (-rho + sqrt(2 m (1 + a^2) (E - m g q_3))) / a, rho = |alpha|",
    how="complex steps of S at random constants in the library's H_1, which is compared with its closed form",
)
def hamilton_jacobi_equation() -> float:
    climb, library = climb_motion()[0], _library_hamiltonian("appell")

    def residual(q: Any, alpha: Any) -> float:
        constants = np.array([40.0 + alpha[0], alpha[1], alpha[2]])
        pi = derivative(lambda x: climb.action(x, constants, 0.3), q)
        by_time = derivative(lambda s: climb.action(q, constants, s[0]), [0.3])[0]
        return largest(by_time + library(q, pi), distance(library(q, pi), climb.hamiltonian(q, pi)))

    return worst(residual(q, alpha) for q, alpha in zip(*np.random.default_rng(81).uniform(0.2, 1, (2, 4, 3)), strict=True))


@claim(
    "R-5.9",
    "Its characteristics q_dot = dH_1/dpi, pi_dot = -dH_1/dq are the motions of the Lagrange problem",
    how=f"{BOUND}: complex steps of H_1 against the library's vakonomic velocities, accelerations and chi_dot",
)
def characteristics() -> float:
    def residual(c: Canonical) -> float:
        return largest(distance(c.by_momenta, c.s.v), distance(-c.by_position, c.item.momenta_rate))

    return over_canonical(residual)


@claim(
    "R-5.9-jacobi",
    "Jacobi's theorem: S_q = pi and S_alpha = beta are 2 n integrals of the characteristics",
    how="complex steps of S for Appell's particle along a library vakonomic motion: pi with its chi, spread of the beta",
    tolerance=1e-8,
)
def jacobi_theorem() -> float:
    climb, motion = climb_motion()
    pi = climb.momenta(motion.y[3:6], motion.y[6])
    constants = np.array([climb.hamiltonian(motion.y[:3, 0], pi[:, 0]), *pi[:2, 0]])

    def derivatives(time: float, q: Any) -> tuple[Any, Any]:
        by_position = derivative(lambda x: climb.action(x, constants, time), q)
        return by_position, derivative(lambda c: climb.action(q, c, time), constants)

    found = [derivatives(time, y[:3]) for time, y in zip(motion.t, motion.y.T, strict=True)]
    spread = np.ptp([beta for _, beta in found], axis=0)
    return largest(distance(np.array([momenta for momenta, _ in found]).T, pi), *spread)


@claim(
    "R-5.10",
    "They are motions of (5.1) if and only if lambda_l (f_l,q - d/dt f_l,v) . dq = 0 for virtual dq",
    how=f"{BOUND}: rates of p on the library's vakonomic motion against those of its Hamiltonian form, equal for a lambda that"
    " satisfies the condition, different for others",
)
def applicability() -> float:
    def gap(item: Extremal) -> float:
        s = item.mechanical
        return distance(item.motion.rate(s.twin.momenta), _hamilton(s)[len(s.q) :])

    same = worst(gap(item) for item in quiet_extremals())
    return largest(same, *(excess(1e-3 - gap(item)) for item in extremals()))


@claim(
    "R-5.11",
    "On them p_dot + H_q = lambda_l (f_l,q - d/dt f_l,v) - lambda_dot_l f_l,v, which with lambda = chi is (4.2)",
    how=f"{BOUND}: complex steps of H and of f at the library's vakonomic accelerations and chi_dot; against d/dt L_v - L_q",
)
def momenta_on_characteristics() -> float:
    def residual(c: Canonical) -> float:
        s = c.s
        left = s.rate(s.twin.momenta) + derivative(lambda x: s.twin.hamiltonian(x, s.p, s.time), s.q)
        return largest(distance(left, c.item.chi @ s.turning - c.item.chi_dot @ s.rows), distance(left, s.euler))

    return over_canonical(residual)


@claim(
    "R-5.11-action",
    "They make the integral of pi . q_dot - H_1 stationary, for any dq that vanish at both ends and any dpi",
    how=f"{BOUND}: the varied integrand for random dq, its rate and dpi, less d/dt (pi . dq) with the library's vakonomic"
    " rates",
)
def canonical_action() -> float:
    random = np.random.default_rng(82)

    def residual(c: Canonical) -> float:
        s = c.s
        dq, dq_rate, dpi = random.uniform(-1, 1, (3, len(s.q)))
        change = derivative(lambda e: c.hamiltonian(s.q + e[0] * dq, c.pi + e[0] * dpi, s.time), [0.0])[0]
        boundary = c.item.momenta_rate @ dq + c.pi @ dq_rate
        return float(c.pi @ dq_rate + dpi @ s.v - change - boundary)

    return over_canonical(residual)


@claim(
    "R-ex5.1-appell",
    "The method integrates Appell's particle: S_E = beta gives q_3(t), S_alpha = beta the straight path q_s = beta_s +"
    " (alpha_s / rho) q_3 / a",
    how="the library's mechanical motion over 1.1 s against these, with constants of another start of chi",
    tolerance=1e-8,
)
def appell_integrated() -> float:
    climb, _ = climb_motion()
    m, g, a = climb.m, climb.g, climb.a
    scenario = gallery.load("appell")
    motion = simulate(scenario, span=(0.0, 1.1), rtol=1e-12, at=np.linspace(0, 1.1, 12))
    pi = climb.momenta(motion.y[3:6, 0], -1.1)
    energy = climb.hamiltonian(motion.y[:3, 0], pi)
    constants = np.array([energy, pi[0], pi[1]])
    beta = derivative(lambda c: climb.action(motion.y[:3, 0], c, motion.t[0]), constants)
    inside = (a * m * g * (motion.t + beta[0])) ** 2
    height = (energy - inside / (2 * m * (1 + a**2))) / (m * g)
    return distance(motion.y[:3], [*(beta[s] + pi[s - 1] / np.hypot(*pi[:2]) * height / a for s in (1, 2)), height])


def _constrained_mass(disk: Disk, theta: Any) -> Any:
    """The matrix (3, 3) of 2 Theta in the speeds of theta, psi and phi."""
    q = np.array([theta, 0.4, 0.2, 0.0, 0.0])
    ways = [np.array([*unit, -disk.r * unit[1] * np.cos(0.2), -disk.r * unit[1] * np.sin(0.2)]) for unit in np.eye(3)]
    return np.array(
        [
            [
                disk.m * disk.velocity(q, u) @ disk.velocity(q, w) + disk.angular_velocity(q, u) @ disk.angular_momentum(q, w)
                for w in ways
            ]
            for u in ways
        ]
    )


@claim(
    "R-ex5.1-disk",
    "The method integrates the disk with constant tilt: with pi_x = pi_y = 0 H_1 is H*(theta, P), and at its equilibrium psi"
    " and phi grow as dH*/dP_psi t and dH*/dP_phi t",
    how="equilibrium of H* of a rigid disk by complex steps: rates of the library's canonical Voronets form there, and its"
    " mechanical motion from there",
    tolerance=1e-8,
)
def disk_integrated() -> float:
    values = gallery.load("rolling-disk").parameters
    disk, tilt, turning = Disk(**{name: values[name] for name in ("m", "r", "g", "A", "C")}), 0.3, 0.9
    by_tilt = derivative(lambda x: _constrained_mass(disk, x[0]), [tilt])[..., 0]
    fall = -disk.m * disk.g * disk.r * np.sin(tilt)
    # H*_theta = -w^T K_theta w / 2 + V_theta with w = (0, psi_dot, phi_dot), and K_psi_psi does not depend on theta.
    rolling = (2 * fall - turning**2 * by_tilt[2, 2]) / (2 * turning * by_tilt[1, 2])
    momenta = _constrained_mass(disk, tilt) @ np.array([0.0, rolling, turning])

    def hamiltonian(theta: Any, y: Any) -> Any:
        return y @ np.linalg.solve(_constrained_mass(disk, theta), y) / 2 + disk.m * disk.g * disk.r * np.cos(theta)

    speeds = derivative(lambda y: hamiltonian(tilt, y), momenta)
    flat = worst(derivative(lambda x: hamiltonian(x[0], momenta), [tilt]))
    still = gallery_probe("rolling-disk", "canonical-voronets").rates(0.0, [tilt, 0.0, 0.2, 0.0, 0.0, *momenta])
    rates = [*speeds, -disk.r * rolling * np.cos(0.2), -disk.r * rolling * np.sin(0.2), 0, 0, 0]
    motion = rolled("lagrange", (0.0, rolling, turning))
    expected = [tilt + 0 * motion.t, speeds[1] * motion.t, 0.2 + speeds[2] * motion.t]
    return largest(flat, distance(still, rates), distance(motion.y[:3], expected))
