"""Rumyantsev: section 2 (eqs. 2.1 to 2.8).

A principle that an integral vanishes is recomputed twice: as a quadrature along motions of the
library, and pointwise, where its integrand less d/dt (L_v . dq) must vanish for every virtual
displacement and every rate of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import gallery
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...typing import Array
from ..independent.instant_samples import MotionSample, bound_probe, motions, over_interval
from ..numeric import Residual, derivative, distance, excess, panel_nodes
from ..row_registry import Corrected, listed
from .transitivity_equations import on_and_off, suslov_velocities


def principle(integrand: Callable[[MotionSample], float]) -> Residual:
    """What is left of a principle whose integral vanishes on motions, both ways."""
    pointwise = [integrand(s) - s.boundary_rate for s in motions]
    return over_interval(integrand), pointwise


# -- the parts of the principles -------------------------------------------------------------------


def holder(s: MotionSample) -> float:
    """dL where d(dq)/dt = d(q_dot) for all coordinates."""
    return float(s.varied(s.model.lagrangian, s.dq, s.dq_rate))


def constrained_variation(s: MotionSample) -> float:
    """d(Theta + U), from the library's derivatives of the constrained Lagrangian."""
    by_q, by_w = s.library["constrained_by_q"], s.library["constrained_by_w"]
    return float(by_q @ s.dq + by_w @ s.dq_rate[: s.k])


def symbol_term(s: MotionSample) -> Any:
    """T_{q_dot_alpha} A_s^alpha, (k,), from the library's momenta and symbols."""
    return s.library["momenta"][s.k :] @ s.library["symbols"]


def voronets(s: MotionSample) -> float:
    """d(Theta + U) + T_{q_dot_alpha} (d(q_dot_alpha) - d(phi_l))."""
    rest = (s.dq_rate - suslov_velocities(s))[s.k :]
    return constrained_variation(s) + float(s.library["momenta"][s.k :] @ rest)


def suslov(s: MotionSample) -> float:
    """dL + T_{q_dot_alpha} A_s^alpha dq_s, with dL for variations that keep f at zero."""
    return float(
        s.varied(s.model.lagrangian, s.dq, suslov_velocities(s)) + symbol_term(s) @ s.sigma
    )


listed("R-2.1")(lambda: principle(holder))


@listed("R-2.1-curves", over=on_and_off)
def roundabout_curves(s: MotionSample) -> Residual:
    left = s.varied(s.model.constraint, s.dq, s.dq_rate)
    by_symbols = s.rows[:, s.k :] @ s.library["symbols"] @ s.sigma
    return distance(by_symbols, left), excess(1e-3 - np.max(np.abs(left)))


@listed("R-2.2")
def stationary_action() -> Residual:
    scenario = gallery.load("nonholonomic-particle-vakonomic")
    nodes, weights = panel_nodes(0.0, 2.0, 12)
    bumps = np.array([np.sin(j * np.pi * nodes / 2) for j in (1, 2, 3)])
    rates = np.array([j * np.pi / 2 * np.cos(j * np.pi * nodes / 2) for j in (1, 2, 3)])

    def variation(form: str) -> float:
        start, values = dict(scenario.start), scenario.parameters
        if form != "vakonomic":
            start = {key: value for key, value in start.items() if not key.startswith("chi")}
        equations = derive(scenario.system, form)
        motion = simulate(equations, start, (0, 2), parameters=values, rtol=1e-12, at=nodes)
        z, x_dot, y_dot, z_dot = (motion[name] for name in ("z", "x_dot", "y_dot", "z_dot"))
        # Variations of x by the first bump and of z by the others; that of y must return to zero.
        pieces = [z**2 * rates[0], 2 * z * x_dot * bumps[1], 2 * z * x_dot * bumps[2]]
        closing = [weights @ piece for piece in pieces]
        factors = np.array([1.0, 0.3, -(closing[0] + 0.3 * closing[1]) / closing[2]])
        dy_dot = sum(factor * piece for factor, piece in zip(factors, pieces, strict=True))
        dz_dot = factors[1] * rates[1] + factors[2] * rates[2]
        return float(weights @ (x_dot * rates[0] + y_dot * dy_dot + z_dot * dz_dot))

    return variation("vakonomic"), excess(1e-2 - abs(variation("lagrange")))


@listed("R-2.3", over=motions)
def lagrange_multipliers(s: MotionSample) -> Corrected:
    multipliers = s.probe.observe(s.time, s.state)["multipliers"]
    padded = np.concatenate([multipliers, np.zeros(s.k)])
    z, reference = s.model.accelerations(s.q, s.v, s.time)
    by_system = distance(multipliers, reference), distance(s.z, z)
    return Corrected(
        (distance(s.euler, multipliers @ s.rows), by_system),
        distance(s.euler, padded * s.rows.sum(axis=0)),
    )


@listed("R-2.3-constants", over=motions)
def arbitrary_constants(s: MotionSample) -> Residual:
    free = float(2 * len(s.q) - np.linalg.matrix_rank(s.constraint_by_state))
    states = len(derive(s.model.system, "voronets").state)
    return states - free, 2 * len(s.q) - s.model.r - free


@listed("R-2.4")
def kinetic_variation() -> Residual:
    random = np.random.default_rng(31)

    def residual(s: MotionSample) -> float:
        dq, dv = random.uniform(-1, 1, (2, len(s.q)))
        rest = dv[s.k :] - s.varied_on(s.model.solved, dq, dv[: s.k])
        constrained = s.varied_on(s.model.constrained_kinetic, dq, dv[: s.k])
        whole = constrained + s.library["momenta"][s.k :] @ rest
        return distance(whole, s.varied(s.model.kinetic, dq, dv))

    return motions.worst(residual)


listed("R-2.5")(lambda: principle(voronets))


def _by_position(s: MotionSample) -> Array:
    return derivative(lambda x: s.model.constrained_lagrangian(x, s.w, s.time), s.q)


@listed("R-2.6", over=motions)
def voronets_equations(s: MotionSample) -> Residual:
    rate = s.rate_on(s.model.constrained_momenta)
    rates = bound_probe(s.model.kind, "voronets").rates(s.time, np.concatenate([s.q, s.w]))
    expected = np.concatenate([s.v, s.model.accelerations(s.q, s.v, s.time)[0][: s.k]])
    left = rate - _by_position(s) @ s.frame - s.p[s.k :] @ s.symbols
    return left, distance(rates, expected)


@listed("R-2.6-chaplygin", over=motions)
def dependent_coordinates(s: MotionSample) -> Residual:
    rate = s.rate_on(s.model.constrained_momenta)
    without = rate - _by_position(s)[: s.k] - s.p[s.k :] @ s.symbols
    term = s.library["constrained_by_q"][s.k :] @ s.frame[s.k :]
    return distance(without, term), excess(1e-3 - np.max(np.abs(term)))


listed("R-2.7")(lambda: principle(suslov))


@listed("R-2.7-curves", over=on_and_off)
def suslov_curves(s: MotionSample) -> Residual:
    velocities = suslov_velocities(s)
    gap = holder(s) - s.varied(s.model.lagrangian, s.dq, velocities)
    return s.varied(s.model.constraint, s.dq, velocities), distance(symbol_term(s) @ s.sigma, gap)


listed("R-2.8")(
    lambda: principle(lambda s: constrained_variation(s) + float(symbol_term(s) @ s.sigma))
)


@listed("R-2.8-energy", over=on_and_off)
def suslov_kinetic_variation(s: MotionSample) -> Residual:
    work = s.varied_on(lambda q, w, time: s.model.force_function(q, time), s.dq, s.dq_rate[: s.k])
    varied = s.varied(s.model.kinetic, s.dq, suslov_velocities(s))
    return distance(constrained_variation(s) - work, varied)


listed("R-2.8-equivalent", over=on_and_off)(
    lambda s: (distance(voronets(s), holder(s)), distance(suslov(s), holder(s)))
)
