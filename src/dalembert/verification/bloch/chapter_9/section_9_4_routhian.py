"""Bloch and others, Internet Supplement, section 9.4: the unicycle with rider, its nonholonomic
Routhian and steady states.

The print's functions are written in NumPy and differentiated by complex steps; motions are those of
the library's Lagrange equations with multipliers, with a torque u on the limb. Shape coordinates
are (theta, kappa), momenta (p_1, p_2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import cos, sin

from .... import gallery
from ....formulations.reduction.bundle_equations import equations_on
from ....integrate.simulate import simulate
from ....typing import Array
from ...independent import unicycle_with_rider as unicycle
from ...independent.unicycle_with_rider import (
    TORQUE,
    UnicycleSample,
    bodies,
    bundle,
    constrained_lagrangian,
    library_lagrangian,
    printed_inertia,
    printed_lagrangian,
    printed_metric,
    printed_routhian,
    reduced_probe,
    swing_factors,
    whole,
)
from ...numeric import Residual, StateBlocks, derivative, distance, worst
from ...row_registry import listed
from ...samples import Sampler

rides: Sampler[UnicycleSample] = Sampler(lambda kind: unicycle.rides(), keep=False)


def library_blocks(q: Array, v: Array) -> StateBlocks:
    """StateBlocks of the library's Lagrange equations with multipliers."""
    return whole().blocks(0.0, np.concatenate([q, v]))


def velocities(s: UnicycleSample) -> Array:
    """(theta, kappa, theta_dot, kappa_dot, phi_dot, psi_dot)."""
    return np.concatenate([s.r, s.v[:2], s.turning])


def shape_rates(s: UnicycleSample) -> Array:
    """d/dt of the printed g r_dot along the library's motion (2,)."""
    motion = np.concatenate([s.v[:2], s.accelerations[:2]])
    place = np.concatenate([s.r, s.v[:2]])
    return np.asarray(derivative(lambda y: printed_metric(y[:2]) @ y[2:], place) @ motion)


def library_covariant(s: UnicycleSample, function: Callable[[Array], Any]) -> Array:
    """nabla of a function of z with the library's coefficients D^b_{a al} (2,)."""
    by = derivative(function, s.z)
    return np.asarray(by[:2] + np.einsum("bax,b,a->x", s.coefficients.transport, s.p, by[4:]))


# -- the model -------------------------------------------------------------------------------------


@listed("B-9.4-symmetry", over=rides)
def symmetry(s: UnicycleSample) -> Residual:
    alpha, beta, a, b = np.random.default_rng(5).uniform(-2, 2, 4)
    turn = np.array([[cos(beta), -sin(beta)], [sin(beta), cos(beta)]])
    angles, place = s.q[2:4] + np.array([alpha, beta]), turn @ s.q[4:] + np.array([a, b])
    q = np.concatenate([s.q[:2], angles, place])
    v = np.concatenate([s.v[:4], turn @ s.v[4:]])
    change = library_lagrangian(q, v) - library_lagrangian(s.q, s.v)
    return change, library_blocks(q, v).constraint


@listed("B-9.4-lagrangian", over=rides)
def lagrangian(s: UnicycleSample) -> Residual:
    v = s.v + np.array([0.0, 0.0, 0.0, 0.0, 0.7, -0.4])
    return distance(printed_lagrangian(s.q, v), library_lagrangian(s.q, v))


@listed("B-9.4-constraints", over=rides)
def constraints(s: UnicycleSample) -> Residual:
    slip = np.array([0.3, -0.2])
    moved = s.v + np.concatenate([np.zeros(4), slip])
    return library_blocks(s.q, s.v).constraint, library_blocks(s.q, moved).constraint - slip


@listed("B-9.4-equations", over=rides)
def constrained_equations(s: UnicycleSample) -> Residual:
    swing = float(swing_factors(s.r) @ s.v[:2])
    by = derivative(constrained_lagrangian, velocities(s))
    momenta = np.concatenate([printed_metric(s.r) @ s.v[:2], s.p])
    right = np.array([by[0], by[1] + TORQUE, swing * s.turning[1], -swing * s.turning[0]])
    rates = np.concatenate([shape_rates(s), s.p_rates])
    return distance(momenta, by[2:]), distance(rates, right)


# -- the Routhian ----------------------------------------------------------------------------------


@listed("B-9.4-momenta", over=rides)
def momenta(s: UnicycleSample) -> Residual:
    by = derivative(constrained_lagrangian, velocities(s))
    p = library_blocks(s.q, s.v).momenta
    R, phi = bodies()["R"], s.q[3]
    library = np.array([p[3], p[2] - R * (p[4] * cos(phi) + p[5] * sin(phi))])
    inertia = distance(printed_inertia(s.r), s.coefficients.inertia)
    return distance(s.p, by[4:]), distance(s.p, library), inertia


@listed("B-9.4-routhian", over=rides)
def routhian(s: UnicycleSample) -> Residual:
    found = constrained_lagrangian(velocities(s)) - s.p @ s.turning
    return distance(printed_routhian(s.z), found)


@listed("B-9.4.9", over=rides, given={"place": 0, "force": 0.0})
@listed("B-9.4.10", over=rides, given={"place": 1, "force": TORQUE})
def shape_equation(s: UnicycleSample, place: int, force: float) -> Residual:
    by_velocity = derivative(printed_routhian, s.z)[2:4]
    right = s.covariant(printed_routhian)[place] + force
    momenta = printed_metric(s.r) @ s.v[:2]
    return distance(momenta, by_velocity), distance(shape_rates(s)[place], right)


@listed("B-9.4.11", over=rides, given={"place": 0})
@listed("B-9.4.12", over=rides, given={"place": 1})
def momentum_equation(s: UnicycleSample, place: int) -> Residual:
    turn = np.linalg.solve(printed_inertia(s.r), s.p)
    swing = float(swing_factors(s.r) @ s.v[:2])
    printed = (turn[1] * swing, -turn[0] * swing)[place]
    reduced = reduced_probe().rates(0.0, s.z)[4 + place]
    return distance(printed, s.p_rates[place]), distance(printed, reduced)


@listed("B-9.4.12-derivatives", over=rides)
def covariant_derivatives(s: UnicycleSample) -> Residual:
    def tried(z: Array) -> Array:
        return np.asarray(sin(z[0] - 0.3 * z[1]) * z[4] ** 2 + z[5] * z[4] * cos(z[1]) + z[5] ** 3)

    return distance(s.covariant(tried), library_covariant(s, tried))


# -- the class of systems it belongs to ------------------------------------------------------------


@listed("B-9.4.13", over=rides)
def shape_equations(s: UnicycleSample) -> Residual:
    right = library_covariant(s, printed_routhian) + np.array([0.0, TORQUE])
    return distance(shape_rates(s), right)


@listed("B-9.4.14", over=rides)
def momentum_equations(s: UnicycleSample) -> Residual:
    found = s.coefficients
    rates = np.einsum("bax,b,x->a", found.transport, s.p, s.v[:2])
    return distance(rates, s.p_rates), found.quadratic, found.shape_drive


@listed("B-9.4.15", over=rides)
def covariant_derivative_of_the_routhian(s: UnicycleSample) -> Residual:
    by = derivative(printed_routhian, s.z)
    return worst(np.einsum("bax,b,a->x", s.coefficients.transport, s.p, by[4:]))


@listed("B-9.4.15-curvature", over=rides)
def curvature(s: UnicycleSample) -> Residual:
    return worst(s.coefficients.curvature)


# -- steady states ---------------------------------------------------------------------------------


def steady(p: Array) -> Array:
    """A shape with nabla R = 0 for given momenta and no torque, near upright, by Newton's
    method.
    """

    def push(r: Array) -> Array:
        return derivative(printed_routhian, np.concatenate([r, np.zeros(2), p]))[:2]

    r, step = np.array([0.05, 0.05]), 1e-6
    for _ in range(60):
        columns = [(push(r + step * e) - push(r - step * e)) / (2 * step) for e in np.eye(2)]
        change = np.linalg.solve(np.array(columns).T, push(r))
        r = r - change
        if np.max(np.abs(change)) < 1e-15:
            break
    return r


@listed("B-9.4.16")
def steady_states() -> Residual:
    momenta = np.random.default_rng(16).uniform(-0.6, 0.6, (4, 2))
    states = [np.concatenate([steady(p), np.zeros(2), p]) for p in momenta]
    return [reduced_probe().rates(0.0, z) for z in states]


@listed("B-9.4.16-upright")
def upright_states() -> Residual:
    def upright(*p: float) -> Array:
        return np.array([0.0, 0.0, 0.0, 0.0, *p])

    rates = reduced_probe().rates
    derivatives = derivative(printed_routhian, upright(0.7, 0.9))[:2]
    moving = printed_metric(np.zeros(2)) @ rates(0.0, upright(0.7, 0.9))[2:4]
    if not np.max(np.abs(derivatives)) > 0.1:
        return np.inf
    still = rates(0.0, upright(0.0, 0.9)), rates(0.0, upright(0.7, 0.0))
    return *still, distance(moving, derivatives)


@listed("B-9.4.12-reconstruction")
def reconstruction() -> Residual:
    scenario = gallery.load("unicycle-rider")
    values, times = scenario.parameters, [0.0, 0.3, 0.6]
    options: dict[str, Any] = {"parameters": values, "rtol": 1e-12, "at": times}
    full = simulate(scenario.system, scenario.start, (0, 0.6), form="lagrange", **options)
    equations = equations_on(bundle(), reconstruct=True)
    rebuilt = simulate(equations, scenario.start, (0, 0.6), **options)
    names = [(q.name, q.name) for q in scenario.system.coordinates]
    return [distance(rebuilt[a], full[b]) for a, b in (*names, ("p_1", "p1"), ("p_2", "p2"))]
