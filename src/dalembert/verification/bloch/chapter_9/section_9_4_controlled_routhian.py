"""Bloch and others, Internet Supplement, section 9.4: controlled Routhians, 9.4.25 to 9.4.31, on
the unicycle with rider.

Theorem 9.4.8 is an identity in g~, U~ and D~: it is looked at with arbitrary ones in NumPy, along
the accelerations of the library's Lagrange equations with multipliers. That all of it can be met
for the unicycle is shown with the library's controlled Routhian, which has a force without power
beside it.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import sympy
from numpy import cos, sin

from .... import gallery
from ....analysis.symmetry.nonholonomic_routhian import nonholonomic_routhian
from ....control.feedback.routhian_matching import RouthianMatching, match_routhian
from ....integrate.simulate import simulate
from ....typing import Array
from ...independent.matched_cart_pendulum import bent
from ...independent.unicycle_with_rider import (
    TORQUE,
    UnicycleSample,
    bundle,
    printed_inertia,
    printed_metric,
    printed_potential,
    printed_routhian,
)
from ...numeric import Residual, derivative, distance, excess, worst
from ...row_registry import Corrected, listed
from .section_9_4_routhian import library_covariant, rides

ROLLING = 0.5


@cache
def found() -> RouthianMatching:
    """The library's controlled Routhian for rolling straight."""
    scenario, here = gallery.load("unicycle-rider"), bundle()
    symbols, fields = here.system.coordinates, here.frame.fields.items()
    group = {name: dict(zip(symbols, field, strict=True)) for name, field in fields}
    section = [list(here.section.col(a)) for a in range(here.section.cols)]
    return match_routhian(nonholonomic_routhian(scenario, group, section=section), {"p_2": ROLLING})


# -- any g~, U~ and D~ -----------------------------------------------------------------------------


def any_metric(r: Array) -> Array:
    """g~ (2, 2)."""
    cross = 0.3 * sin(r[0] + r[1])
    return np.array([[1.4 + 0.2 * cos(r[0]), cross], [cross, 0.9 + 0.1 * r[1] ** 2]])


def any_potential(r: Array) -> Array:
    """U~."""
    return np.asarray(cos(r[0]) * r[1] + r[1] ** 2)


def any_transport(r: Array) -> Array:
    """D~^b_a,al, [b, a, al]."""
    return np.array([[[0.2 * r[0], 0.1], [0.4, r[1]]], [[sin(r[1]), -0.3], [0.5 * r[0], 0.7]]])


def turning(r: Array, p: Array) -> Array:
    """I^ab p_a p_b / 2."""
    return p @ np.linalg.solve(printed_inertia(r), p) / 2


def pushes(transport: Array, r: Array, p: Array) -> Array:
    """(d_al I^bc / 2 + D^c_a,al I^ab) p_b p_c (2,)."""
    turn = np.linalg.solve(printed_inertia(r), p)
    return np.asarray(
        derivative(lambda x: turning(x, p), r) + np.einsum("cax,c,a->x", transport, p, turn)
    )


def own_gradient(r: Array) -> Array:
    """d U (2,)."""
    return derivative(lambda x: printed_potential(*x), r)


def new_forces(s: UnicycleSample) -> Array:
    """d U~ + g~ Gamma~ v v + (d I / 2 + D~ I) p p (2,)."""
    by, bend = derivative(any_potential, s.r), bent(any_metric, s.r, s.v[:2])
    return np.asarray(by + bend + pushes(any_transport(s.r), s.r, s.p))


def terms(s: UnicycleSample) -> Array:
    """d U - h d U~ - g T v v + (...) p p - h (...) p p of (9.4.28) and (9.4.29), (2,)."""
    h = printed_metric(s.r) @ np.linalg.inv(any_metric(s.r))
    bend = bent(printed_metric, s.r, s.v[:2])
    own = own_gradient(s.r) + bend + pushes(s.coefficients.transport, s.r, s.p)
    return np.asarray(own - h @ new_forces(s))


def wanted(s: UnicycleSample) -> Array:
    """r_ddot by (9.4.27)."""
    return np.asarray(-np.linalg.solve(any_metric(s.r), new_forces(s)), dtype=float)


def gaps(s: UnicycleSample) -> Array:
    """What the unicycle's equations lack along (9.4.27): zero on the first row, u on the second."""
    missing = printed_metric(s.r) @ (wanted(s) - s.accelerations[:2])
    return np.asarray(missing + np.array([0.0, TORQUE]))


@listed("B-9.4.25")
def steady_motion() -> Residual:
    """The closed loop simulated from p = (0, 1/2), with the speeds of the printed inertia."""
    turning, rolling = np.linalg.solve(printed_inertia(np.zeros(2)), [0.0, ROLLING])
    values = gallery.load("unicycle-rider").parameters
    start = {"psi_dot": float(turning), "phi_dot": float(rolling)}
    motion = simulate(found().system, start, (0, 2), parameters=values, rtol=1e-11)
    rest = [motion["theta"], motion["kappa"], motion["psi_dot"] - turning]
    return [np.max(np.abs(row)) for row in (*rest, motion["phi_dot"] - rolling)]


@listed("B-9.4.25-disturbed")
def disturbed_motion() -> Residual:
    """From theta = -kappa = 1e-4 with p = (0, 1/2): the shape comes to rest."""
    tilt = 1e-4
    speeds = np.linalg.solve(printed_inertia(np.array([tilt, -tilt])), [0.0, ROLLING])
    start = {"theta": tilt, "kappa": -tilt, "psi_dot": speeds[0], "phi_dot": speeds[1]}
    scenario = gallery.load("unicycle-rider")
    loop = simulate(found().system, start, (0, 8), parameters=scenario.parameters, rtol=1e-11)
    alone = simulate(scenario.system, start, (0, 8), parameters=scenario.parameters, rtol=1e-8)
    falls = float(np.max(np.abs(alone["theta"])) < 0.1)
    far = max(float(np.max(np.abs(loop[name]))) for name in ("theta", "kappa"))
    rest = [abs(loop[name][-1]) / tilt for name in ("theta_dot", "kappa_dot")]
    return rest, excess(far - 200 * tilt), falls


@listed("B-9.4.26", over=rides)
def no_correction(s: UnicycleSample) -> Residual:
    by, found = derivative(printed_routhian, s.z)[:2], library_covariant(s, printed_routhian)
    return distance(s.covariant(printed_routhian), by), distance(found, by)


@listed("B-9.4.26-auxiliary")
def auxiliary_system() -> Residual:
    by = derivative(printed_routhian, np.array([0.0, 0.0, 0.0, 0.0, 0.0, ROLLING]))[:2]
    system = found().auxiliary
    table = sympy.Matrix([sympy.diff(system.potential, q) for q in system.coordinates])
    return by, found().shaped.mechanics.numbers(table)


@listed("B-9.4.27", over=rides)
def controlled_routhian_equations(s: UnicycleSample) -> Residual:
    def routhian(z: Array) -> Array:
        r, v, p = z[:2], z[2:4], z[4:]
        return v @ any_metric(r) @ v / 2 - turning(r, p) - any_potential(r)

    by = derivative(routhian, s.z)
    covariant = by[:2] + np.einsum("bax,b,a->x", any_transport(s.r), s.p, by[4:])
    motion = np.concatenate([s.v[:2], wanted(s)])
    rates = derivative(lambda y: any_metric(y[:2]) @ y[2:], s.z[:4]) @ motion
    return distance(rates, covariant)


@listed("B-9.4.28", over=rides, given={"row": 0})
@listed("B-9.4.29", over=rides, given={"row": 1})
def routhian_conditions(s: UnicycleSample, row: int) -> Residual:
    return worst(gaps(s)[row] - terms(s)[row])


@listed("B-Theorem-9.4.8")
def routhian_theorem() -> Residual:
    def residual(s: UnicycleSample) -> Residual:
        left = terms(s)
        return distance(gaps(s), left) if abs(left[0]) > 1e-3 else np.inf

    return rides.worst(residual), found().certificate.residual, found().momentum_residual


@listed("B-9.4.28-definite")
def definite_routhian() -> Residual:
    kinetic, potential = found().shaped.definiteness()
    refused = "not solved" in found().strict or "indefinite" in found().strict
    return (excess(-kinetic[0]), excess(-potential[0])) if refused else np.inf


@listed("B-9.4.30", over=rides)
def covariant_control(s: UnicycleSample) -> Corrected:
    r, v, inverse = s.r, s.v[:2], np.linalg.inv(any_metric(s.r))
    own = own_gradient(r) + pushes(s.coefficients.transport, r, s.p)
    new = derivative(any_potential, r) + pushes(any_transport(r), r, s.p)
    metric = printed_metric(r)
    twist = metric @ inverse @ bent(any_metric, r, v) - bent(printed_metric, r, v)

    def gap(row: Array) -> float:
        return distance(own[1] - row @ inverse @ new - twist[1], gaps(s)[1])

    printed = derivative(lambda x: printed_metric(x)[1], r).sum(axis=1)
    return Corrected(gap(metric[1]), gap(printed))


@listed("B-9.4.30-spectrum")
def undamped_spectrum() -> Residual:
    values = found().undamped
    return values.real / np.abs(values) if np.min(np.abs(values)) > 0.1 else np.inf


@listed("B-9.4.31")
def damped_spectrum() -> Residual:
    judged = found().stability
    values = np.sort_complex(judged.linearisation.eigenvalues)
    proved = judged.verdict == "stable" and judged.manifold is True and judged.neutral == 2
    return np.abs(values[-2:]) if proved and np.max(values[:4].real) < -0.1 else np.inf
