"""Bloch and others, Internet Supplement, section 9.4: controlled Routhians, 9.4.25 to 9.4.31, on the unicycle with rider.

Theorem 9.4.8 is an identity in g~, U~ and D~: it is looked at with arbitrary ones in NumPy, along the accelerations of the
library's Lagrange equations with multipliers. That all of it can be met for the unicycle is shown with the library's controlled
Routhian, which has a force without power beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy import cos, sin

from ... import gallery
from ...analysis.symmetry.nonholonomic_routhian import nonholonomic_routhian
from ...control.feedback.routhian_matching import RouthianMatching, match_routhian
from ..independent.matched_cart_pendulum import bent
from ..independent.unicycle_with_rider import (
    TORQUE,
    Ride,
    bundle,
    over_rides,
    printed_inertia,
    printed_metric,
    printed_potential,
    printed_routhian,
)
from ..numeric import derivative, distance, excess, largest
from ..row_registry import Corrected, claim

ROLLING = 0.5


@cache
def found() -> RouthianMatching:
    """The library's controlled Routhian for rolling straight."""
    scenario, here = gallery.load("unicycle-rider"), bundle()
    group = {name: dict(zip(here.system.coordinates, field, strict=True)) for name, field in here.frame.fields.items()}
    section = [list(here.section.col(a)) for a in range(here.section.cols)]
    return match_routhian(nonholonomic_routhian(scenario, group, section=section), {"p_2": ROLLING})


# -- any g~, U~ and D~ -------------------------------------------------------------------------------------------------------


def any_metric(r: Any) -> Any:
    """g~ (2, 2)."""
    cross = 0.3 * sin(r[0] + r[1])
    return np.array([[1.4 + 0.2 * cos(r[0]), cross], [cross, 0.9 + 0.1 * r[1] ** 2]])


def any_potential(r: Any) -> Any:
    """U~."""
    return cos(r[0]) * r[1] + r[1] ** 2


def any_transport(r: Any) -> Any:
    """D~^b_a,al, [b, a, al]."""
    return np.array([[[0.2 * r[0], 0.1], [0.4, r[1]]], [[sin(r[1]), -0.3], [0.5 * r[0], 0.7]]])


def turning(r: Any, p: Any) -> Any:
    """I^ab p_a p_b / 2."""
    return p @ np.linalg.solve(printed_inertia(r), p) / 2


def pushes(transport: Any, r: Any, p: Any) -> Any:
    """(d_al I^bc / 2 + D^c_a,al I^ab) p_b p_c (2,)."""
    turn = np.linalg.solve(printed_inertia(r), p)
    return derivative(lambda x: turning(x, p), r) + np.einsum("cax,c,a->x", transport, p, turn)


def terms(ride: Ride) -> Any:
    """What (9.4.28) and (9.4.29) have on both rows: d U - h d U~ - g T v v + (...) p p - h (...) p p, (2,)."""
    r, v, p = ride.r, ride.v[:2], ride.p
    h = printed_metric(r) @ np.linalg.inv(any_metric(r))
    own = (
        derivative(lambda x: printed_potential(*x), r) + bent(printed_metric, r, v) + pushes(ride.coefficients.transport, r, p)
    )
    new = derivative(any_potential, r) + bent(any_metric, r, v) + pushes(any_transport(r), r, p)
    return own - h @ new


def wanted(ride: Ride) -> Any:
    """r_ddot by (9.4.27)."""
    r, v, p = ride.r, ride.v[:2], ride.p
    right = derivative(any_potential, r) + bent(any_metric, r, v) + pushes(any_transport(r), r, p)
    return -np.linalg.solve(any_metric(r), right)


def gaps(ride: Ride) -> Any:
    """What the equations of the unicycle lack along r_ddot of (9.4.27), by rows: zero on the first, u on the second."""
    return printed_metric(ride.r) @ (wanted(ride) - ride.accelerations[:2]) + np.array([0.0, TORQUE])


@claim(
    "B-9.4.25",
    "r = r_0, p = p^0 stays a steady motion of the closed loop",
    how="the library's closed loop of the unicycle at theta = kappa = 0, p = (0, 1/2): rates on D/G",
)
def steady_motion() -> float:
    return found().stability.linearisation.residual


@claim(
    "B-9.4.26",
    "nabla_al R = d R / d r^al at p = p^0",
    how="random states of the unicycle with the library's coefficients, where it holds for every p",
)
def no_correction() -> float:
    def residual(ride: Ride) -> float:
        by = derivative(printed_routhian, ride.z)
        return distance(ride.covariant(printed_routhian), by[:2])

    return over_rides(residual)


@claim(
    "B-9.4.26-auxiliary",
    "The steady motion is an equilibrium of the auxiliary holonomic system with L = R at p = p^0",
    how="derivatives of the printed R at theta = kappa = 0 against those of the library's auxiliary system",
)
def auxiliary_system() -> float:
    z = np.array([0.0, 0.0, 0.0, 0.0, 0.0, ROLLING])
    by = derivative(printed_routhian, z)[:2]
    here = found().shaped.mechanics
    system = found().auxiliary
    table = sympy.Matrix([sympy.diff(system.potential, q) for q in system.coordinates])
    return largest(*by, *here.numbers(table).ravel())


@claim(
    "B-9.4.27",
    "d/dt dR~/dr_dot = nabla~ R~ with R~ = g~ r_dot r_dot / 2 - I^ab p_a p_b / 2 - U~ says that g~ r_ddot + ... + d U~"
    " + (d I / 2 + D~ I) p p = 0",
    how="arbitrary g~, U~, D~: complex steps of R~ and of its momenta along (9.4.27)",
)
def controlled_routhian_equations() -> float:
    def routhian(z: Any) -> Any:
        r, v, p = z[:2], z[2:4], z[4:]
        return v @ any_metric(r) @ v / 2 - turning(r, p) - any_potential(r)

    def residual(ride: Ride) -> float:
        r, v = ride.r, ride.v[:2]
        by = derivative(routhian, ride.z)
        covariant = by[:2] + np.einsum("bax,b,a->x", any_transport(r), ride.p, by[4:])
        motion = np.concatenate([v, wanted(ride)])
        rates = derivative(lambda y: any_metric(y[:2]) @ y[2:], np.concatenate([r, v])) @ motion
        return distance(rates, covariant)

    return over_rides(residual)


@claim(
    "B-9.4.28",
    "The matching conditions of a Routhian, with U and U~ for V and V~: what is left of the unactuated equation along (9.4.27)"
    " is their residual",
    how="random states of the unicycle, arbitrary g~, U~ and D~, the library's coefficients D and its accelerations",
)
def routhian_conditions() -> float:
    return over_rides(lambda ride: abs(gaps(ride)[0] - terms(ride)[0]))


@claim(
    "B-Theorem-9.4.8",
    "Theorem 9.4.8: equations (9.4.27) with (9.4.14) are equivalent to (9.4.13) with (9.4.14) just where (9.4.28) holds",
    how="arbitrary g~, U~, D~: both rows of the unicycle's equations along (9.4.27) vanish with the conditions' residual and u,"
    " and not otherwise; the library's controlled Routhian meets the conditions, with a force without power",
)
def routhian_theorem() -> float:
    def residual(ride: Ride) -> float:
        left = terms(ride)
        return distance(gaps(ride), left) if abs(left[0]) > 1e-3 else np.inf

    here = found()
    return largest(over_rides(residual), here.certificate.residual, here.momentum_residual)


@claim(
    "B-9.4.28-definite",
    "The controlled energy can be made positive definite at the steady motion; for the unicycle with its metric that needs a"
    " force without power beside R~",
    how="eigenvalues of the library's g~ and of the second variation of its U~; without such a force (9.4.28) asks that lambda"
    " preserves g_1, and the only field of the ansatz, along theta, has U~ of the other sign",
)
def definite_routhian() -> float:
    kinetic, potential = found().shaped.definiteness()
    refused = "not solved" in found().strict or "indefinite" in found().strict
    return largest(excess(-kinetic[0]), excess(-potential[0])) if refused else np.inf


@claim(
    "B-9.4.29",
    "u = d_2 U - h_2 d U~ - g_2c T^c_ab r_dot^a r_dot^b + (d_2 I / 2 + D_2 I - h_2 (d I / 2 + D~ I)) p p",
    how="arbitrary g~, U~ and D~ along the library's accelerations of the unicycle; the sign of the last bracket is as printed",
)
def routhian_control() -> float:
    return over_rides(lambda ride: abs(gaps(ride)[1] - terms(ride)[1]))


@claim(
    "B-9.4.30",
    "u = nabla_2 U - g_2b g~^ab nabla~_a U~ - g_2c T^c_ab r_dot^a r_dot^b with amended potentials (printed: g_2bc with three"
    " indices)",
    how="against (9.4.29) at random states; the printed symbol read as the derivative of g_2b by r^c, summed over c",
)
def covariant_control() -> Corrected:
    def amended(new: bool, ride: Ride) -> Any:
        transport = any_transport(ride.r) if new else ride.coefficients.transport
        own = derivative(any_potential if new else lambda x: printed_potential(*x), ride.r)
        return own + pushes(transport, ride.r, ride.p)

    def control(ride: Ride, row: Any) -> float:
        r, v = ride.r, ride.v[:2]
        twist = printed_metric(r) @ np.linalg.inv(any_metric(r)) @ bent(any_metric, r, v) - bent(printed_metric, r, v)
        return float(amended(False, ride)[1] - row @ np.linalg.inv(any_metric(r)) @ amended(True, ride) - twist[1])

    def printed_row(r: Any) -> Any:
        return derivative(lambda x: printed_metric(x)[1], r).sum(axis=1)

    right = over_rides(lambda ride: distance(control(ride, printed_metric(ride.r)[1]), gaps(ride)[1]))
    return Corrected(right, over_rides(lambda ride: distance(control(ride, printed_row(ride.r)), gaps(ride)[1])))


@claim(
    "B-9.4.30-spectrum",
    "Before dissipation the linearised equations have four imaginary and m zero eigenvalues",
    how="the library's controlled Routhian of the unicycle with d = 0: real parts of the four beside their size",
    tolerance=1e-9,
)
def undamped_spectrum() -> float:
    values = found().undamped
    return largest(*(values.real / np.abs(values))) if np.min(np.abs(values)) > 0.1 else np.inf


@claim(
    "B-9.4.31",
    "With the dissipation -d h~_al^2 r_dot^al all eigenvalues but the m zeros are in the left half plane, and by Lyapunov and"
    " Malkin the steady motion is stable, with those nearby",
    how="the library's linearised closed loop on D/G with the whole control imposed on its equations with constraints",
    tolerance=1e-6,
)
def damped_spectrum() -> float:
    judged = found().stability
    values = np.sort_complex(judged.linearisation.eigenvalues)
    proved = judged.verdict == "stable" and judged.manifold is True and judged.neutral == 2
    return largest(*np.abs(values[-2:])) if proved and np.max(values[:4].real) < -0.1 else np.inf
