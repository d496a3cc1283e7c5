"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 2 (eqs. 2.1 to 2.8).

A principle that an integral vanishes is recomputed twice: as a quadrature along motions of the library, and pointwise, where
its integrand less d/dt (L_v . dq) must vanish for every virtual displacement and every rate of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import gallery
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ..independent.instant_samples import Instant, bound_probe, instants, over_instants, over_interval
from ..numeric import derivative, distance, excess, largest, panel_nodes, worst
from ..row_registry import Corrected, claim

BOUND = "random linear, affine and nonlinear constraints"
BOTH_WAYS = f"{BOUND}: quadrature along library motions; the integrand less d/dt (L_v dq) at random states"


def principle(integrand: Callable[[Instant], float]) -> float:
    """What is left of a principle whose integral vanishes on motions, both ways."""
    return largest(over_interval(integrand), over_instants(lambda s: integrand(s) - s.boundary_rate))


def on_and_off(residual: Callable[[Instant], float]) -> float:
    """The worst residual over random states with accelerations of the motion, and with others."""
    return worst(residual(item) for s in instants() for item in (s, s.elsewhere))


# -- the parts of the principles -----------------------------------------------------------------------------------------


def holder(s: Instant) -> float:
    """dL where d(dq)/dt = d(q_dot) for all coordinates."""
    return float(s.varied(s.twin.lagrangian, s.dq, s.dq_rate))


def suslov_velocities(s: Instant) -> Any:
    """Variations of the velocities with df = 0: rates of dq_s, and d(phi) for the dependent ones."""
    return np.concatenate([s.dq_rate[: s.k], s.varied_on(s.twin.solved, s.dq, s.dq_rate[: s.k])])


def constrained_variation(s: Instant) -> float:
    """d(Theta + U), from the library's derivatives of the constrained Lagrangian."""
    return float(s.library["constrained_by_q"] @ s.dq + s.library["constrained_by_w"] @ s.dq_rate[: s.k])


def symbol_term(s: Instant) -> Any:
    """T_{q_dot_alpha} A_s^alpha, (k,), from the library's momenta and symbols."""
    return s.library["momenta"][s.k :] @ s.library["symbols"]


@claim(
    "R-2.1",
    "Hoelder's form: the integral of dL vanishes on motions where d(dq)/dt = d(q_dot) for all coordinates",
    how=BOTH_WAYS,
    tolerance=1e-9,
)
def holder_form() -> float:
    return principle(holder)


@claim(
    "R-2.1-curves",
    "The curves q + dq of Hoelder's form leave the constraints at first order, by f_{q_dot_alpha} A_s^alpha dq_s",
    how=f"{BOUND}: complex steps of f along varied curves against the library's symbols; they must not vanish",
)
def roundabout_curves() -> float:
    def residual(s: Instant) -> float:
        left = s.varied(s.twin.constraint, s.dq, s.dq_rate)
        return largest(distance(s.rows[:, s.k :] @ s.library["symbols"] @ s.sigma, left), excess(1e-3 - np.max(np.abs(left))))

    return on_and_off(residual)


@claim(
    "R-2.2",
    "The action is not stationary on a nonholonomic motion among curves that obey the constraints; on a vakonomic one it is",
    how="library motions of a particle with y_dot = z^2 x_dot in both forms: dS by quadrature for admissible variations that"
    " vanish at both ends; it must not vanish on the mechanical one",
    tolerance=1e-8,
)
def stationary_action() -> float:
    scenario = gallery.load("nonholonomic-particle-vakonomic")
    nodes, weights = panel_nodes(0.0, 2.0, 12)
    bumps = np.array([np.sin(j * np.pi * nodes / 2) for j in (1, 2, 3)])
    rates = np.array([j * np.pi / 2 * np.cos(j * np.pi * nodes / 2) for j in (1, 2, 3)])

    def variation(form: str) -> float:
        start = {key: value for key, value in scenario.start.items() if form == "vakonomic" or not key.startswith("chi")}
        motion = simulate(derive(scenario.system, form), start, (0, 2), parameters=scenario.parameters, rtol=1e-12, at=nodes)
        z, x_dot, y_dot, z_dot = (motion[name] for name in ("z", "x_dot", "y_dot", "z_dot"))
        # Variations of x by the first bump and of z by the others; that of y must return to zero.
        pieces = [z**2 * rates[0], 2 * z * x_dot * bumps[1], 2 * z * x_dot * bumps[2]]
        closing = [weights @ piece for piece in pieces]
        factors = np.array([1.0, 0.3, -(closing[0] + 0.3 * closing[1]) / closing[2]])
        dy_dot = sum(factor * piece for factor, piece in zip(factors, pieces, strict=True))
        dz_dot = factors[1] * rates[1] + factors[2] * rates[2]
        return float(weights @ (x_dot * rates[0] + y_dot * dy_dot + z_dot * dz_dot))

    return largest(variation("vakonomic"), excess(1e-2 - abs(variation("lagrange"))))


@claim(
    "R-2.3",
    "d/dt L_v - L_q = mu_l f_l,v with one factor for each constraint; the print has mu_i, with the index of the coordinate",
    how=f"{BOUND}: Euler's operator at library accelerations against library multipliers, which are those of one dense system;"
    " as printed, factor i times the sum of f_l,v_i",
)
def lagrange_multipliers() -> Corrected:
    right, printed = [], []
    for s in instants():
        multipliers = s.probe.observe(s.time, s.state)["multipliers"]
        padded = np.concatenate([multipliers, np.zeros(s.k)])
        z, reference = s.twin.accelerations(s.q, s.v, s.time)
        right += [distance(s.euler, multipliers @ s.rows), distance(multipliers, reference), distance(s.z, z)]
        printed.append(distance(s.euler, padded * s.rows.sum(axis=0)))
    return Corrected(worst(right), worst(printed))


@claim(
    "R-2.3-constants",
    "The general solution has 2 n - r arbitrary constants, and so has that of Voronets' equations",
    how=f"{BOUND}: 2 n less the rank of f's derivative by the state, against the states of the library's Voronets form",
)
def arbitrary_constants() -> float:
    def residual(s: Instant) -> float:
        free = 2 * len(s.q) - np.linalg.matrix_rank(s.constraint_by_state)
        return worst([len(derive(s.twin.system, "voronets").state) - free, 2 * len(s.q) - s.twin.r - free])

    return over_instants(residual)


@claim(
    "R-2.4",
    "dT = d(Theta) + T_{q_dot_alpha} (d(q_dot_alpha) - d(phi_l)) for any variations of coordinates and velocities",
    how=f"{BOUND}: complex steps of T, Theta and phi along random variations, with the library's momenta",
)
def kinetic_variation() -> float:
    random = np.random.default_rng(31)

    def residual(s: Instant) -> float:
        dq, dv = random.uniform(-1, 1, (2, len(s.q)))
        rest = dv[s.k :] - s.varied_on(s.twin.solved, dq, dv[: s.k])
        whole = s.varied_on(s.twin.constrained_kinetic, dq, dv[: s.k]) + s.library["momenta"][s.k :] @ rest
        return distance(whole, s.varied(s.twin.kinetic, dq, dv))

    return over_instants(residual)


@claim(
    "R-2.5",
    "Voronets' form: the integral of d(Theta + U) + T_{q_dot_alpha} (d(q_dot_alpha) - d(phi_l)) vanishes on motions",
    how=f"{BOTH_WAYS}; derivatives of Theta + U and momenta are the library's",
    tolerance=1e-9,
)
def voronets_form() -> float:
    def integrand(s: Instant) -> float:
        rest = (s.dq_rate - suslov_velocities(s))[s.k :]
        return constrained_variation(s) + float(s.library["momenta"][s.k :] @ rest)

    return principle(integrand)


@claim(
    "R-2.6",
    "Voronets' equations: d/dt Theta_{q_dot_s} - (Theta + U)_{q_s} - (Theta + U)_{q_alpha} phi_{l, q_dot_s} - T_{q_dot_alpha}"
    " A_s^alpha = 0",
    how=f"{BOUND}: the left side by complex steps at accelerations of the library's form with multipliers; accelerations of its"
    " Voronets form against one dense system",
)
def voronets_equations() -> float:
    def residual(s: Instant) -> float:
        twin = s.twin
        by_position = derivative(lambda x: twin.constrained_lagrangian(x, s.w, s.time), s.q)
        left = s.rate_on(twin.constrained_momenta) - by_position @ s.frame - s.p[s.k :] @ s.symbols
        rates = bound_probe(twin.kind, "voronets").rates(s.time, np.concatenate([s.q, s.w]))
        return largest(worst(left), distance(rates, np.concatenate([s.v, twin.accelerations(s.q, s.v, s.time)[0][: s.k]])))

    return over_instants(residual)


@claim(
    "R-2.6-chaplygin",
    "The term with q_alpha is zero only where Theta + U does not depend on the dependent coordinates; left out elsewhere, it is"
    " missed",
    how=f"{BOUND}: the left side without that term at library accelerations against the term itself, which must not vanish",
)
def dependent_coordinates() -> float:
    def residual(s: Instant) -> float:
        twin = s.twin
        by_position = derivative(lambda x: twin.constrained_lagrangian(x, s.w, s.time), s.q)
        without = s.rate_on(twin.constrained_momenta) - by_position[: s.k] - s.p[s.k :] @ s.symbols
        term = s.library["constrained_by_q"][s.k :] @ s.frame[s.k :]
        return largest(distance(without, term), excess(1e-3 - np.max(np.abs(term))))

    return over_instants(residual)


@claim(
    "R-2.7",
    "Suslov's form: the integral of dL + T_{q_dot_alpha} A_s^alpha dq_s vanishes on motions, with dL for variations that keep f"
    " at zero",
    how=f"{BOTH_WAYS}; momenta and symbols are the library's",
    tolerance=1e-9,
)
def suslov_form() -> float:
    def integrand(s: Instant) -> float:
        return float(s.varied(s.twin.lagrangian, s.dq, suslov_velocities(s)) + symbol_term(s) @ s.sigma)

    return principle(integrand)


@claim(
    "R-2.7-curves",
    "Its curves obey the constraints at first order, and the two variations of L differ by T_{q_dot_alpha} A_s^alpha dq_s",
    how=f"{BOUND}: complex steps of f and of L along both variations; the library's momenta and symbols",
)
def suslov_curves() -> float:
    def residual(s: Instant) -> float:
        velocities = suslov_velocities(s)
        kept = worst(s.varied(s.twin.constraint, s.dq, velocities))
        gap = holder(s) - s.varied(s.twin.lagrangian, s.dq, velocities)
        return largest(kept, distance(symbol_term(s) @ s.sigma, gap))

    return on_and_off(residual)


@claim(
    "R-2.8",
    "The same with d(Theta + U): the integral of d(Theta + U) + T_{q_dot_alpha} A_s^alpha dq_s vanishes on motions",
    how=f"{BOTH_WAYS}; derivatives of Theta + U, momenta and symbols are the library's",
    tolerance=1e-9,
)
def suslov_form_on_constraints() -> float:
    return principle(lambda s: constrained_variation(s) + float(symbol_term(s) @ s.sigma))


@claim(
    "R-2.8-energy",
    "For Suslov's variations dT = d(Theta)",
    how=f"{BOUND}: complex steps of T along variations that keep f at zero, against the library's constrained Lagrangian less"
    " U",
)
def suslov_kinetic_variation() -> float:
    def residual(s: Instant) -> float:
        work = s.varied_on(lambda q, w, time: s.twin.force_function(q, time), s.dq, s.dq_rate[: s.k])
        return distance(constrained_variation(s) - work, s.varied(s.twin.kinetic, s.dq, suslov_velocities(s)))

    return on_and_off(residual)


@claim(
    "R-2.8-equivalent",
    "The three forms have one integrand: they turn into each other, on any curve that obeys the constraints",
    how=f"{BOUND}: the three integrands at random states, with accelerations of the motion and with others",
)
def one_integrand() -> float:
    def residual(s: Instant) -> float:
        rest = (s.dq_rate - suslov_velocities(s))[s.k :]
        voronets = constrained_variation(s) + s.library["momenta"][s.k :] @ rest
        suslov = s.varied(s.twin.lagrangian, s.dq, suslov_velocities(s)) + symbol_term(s) @ s.sigma
        return largest(distance(voronets, holder(s)), distance(suslov, holder(s)))

    return on_and_off(residual)
