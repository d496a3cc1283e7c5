"""Bloch and others, Internet Supplement, section 5.9: the snakeboard before reduction
(5.9.9-5.9.19).

On M the chart is (x, y, theta, psi, phi, p_theta, p_psi, p_phi). Every display of forms is held
against the library's two-form, which is written in another chart and carried over by complex steps.
"""

from __future__ import annotations

import numpy as np
from numpy import cos, sin

from ....typing import Array
from ...independent.planar_charts import canonical_rates, wedge
from ...numeric import Residual, distance, worst
from ...row_registry import listed
from .section_5_9_states import UnreducedSnakeboard as Board
from .section_5_9_states import library_blocks, library_rates
from .section_5_9_states import unreduced_boards as boards

#: Covectors of the chart.
DX, DY, DTHETA, DPSI, DPHI, DP_THETA, DP_PSI, DP_PHI = np.eye(8)


@listed("B-5.9.9", over=boards, given={"wheels": 0, "sign": 1})
@listed("B-5.9.10", over=boards, given={"wheels": 1, "sign": -1})
def wheels_roll(b: Board, wheels: int, sign: int) -> Residual:
    angle = b.theta + sign * b.phi
    row = np.array([-sin(angle), cos(angle), -sign * b.r * cos(b.phi), 0, 0])
    found = library_blocks(b.s, "lagrange").A[wheels]
    return distance(found, row), row @ canonical_rates(b.s)[0]


@listed("B-5.9.10-solved", over=boards)
def solved_constraints(b: Board) -> Residual:
    x_dot, y_dot, theta_dot = canonical_rates(b.s)[0][:3]
    reach = -b.r * b.cot * theta_dot
    return distance(x_dot, reach * cos(b.theta)), distance(y_dot, reach * sin(b.theta))


@listed("B-5.9.10-legendre", over=boards)
def constrained_legendre(b: Board) -> Residual:
    momenta = [
        -b.m * b.r * b.cot * cos(b.theta) * b.theta_dot,
        -b.m * b.r * b.cot * sin(b.theta) * b.theta_dot,
        b.inertia * b.theta_dot + b.J0 * b.psi_dot,
        b.J0 * b.psi_dot + b.J0 * b.theta_dot,
        2 * b.J1 * b.phi_dot,
    ]
    turn = (b.p_theta - b.p_psi) / (b.inertia - b.J0)
    velocities = [
        -b.r * b.cot * cos(b.theta) * turn,
        -b.r * b.cot * sin(b.theta) * turn,
        turn,
        (b.inertia * b.p_psi - b.J0 * b.p_theta) / (b.J0 * (b.inertia - b.J0)),
        b.p_phi / (2 * b.J1),
    ]
    return distance(b.library_momenta, momenta), distance(canonical_rates(b.s)[0], velocities)


@listed("B-5.9.10-manifold", over=boards)
def constraint_manifold(b: Board) -> Residual:
    p = b.library_momenta
    size = -b.m * b.r / (b.inertia - b.J0) * b.cot * (p[2] - p[3])
    return distance(p[:2], size * np.array([cos(b.theta), sin(b.theta)]))


@listed("B-5.9.10-distribution", over=boards)
def distribution(b: Board) -> Residual:
    return b.gap_of_allowed()


@listed("B-5.9.10-hamiltonian", over=boards)
def hamiltonian(b: Board) -> Residual:
    gap, wide = b.p_theta - b.p_psi, b.inertia - b.J0
    rest = b.p_psi**2 / (2 * b.J0) + gap**2 / (2 * wide) + b.p_phi**2 / (4 * b.J1)
    whole = (b.p_x**2 + b.p_y**2) / (2 * b.m) + rest
    on_M = b.inertia / (2 * wide**2) * b.cot**2 * gap**2 + rest
    energy, own = (library_blocks(b.s, form).energy for form in ("hamilton", "bates-sniatycki"))
    return distance(whole, energy), distance(on_M, own)


def _differential(b: Board) -> Array:
    """The printed dH_H (8,)."""
    gap, wide = b.p_theta - b.p_psi, b.inertia - b.J0
    factor = b.inertia / wide**2
    return (
        -factor * b.cot * b.csc2 * gap**2 * DPHI
        + factor * b.cot**2 * gap * (DP_THETA - DP_PSI)
        + b.p_psi / b.J0 * DP_PSI
        + gap / wide * (DP_THETA - DP_PSI)
        + b.p_phi / (2 * b.J1) * DP_PHI
    )


@listed("B-5.9.10-differential", over=boards)
def restricted_differential(b: Board) -> Residual:
    return distance(_differential(b) @ b.allowed, b.differential(b.allowed))


@listed("B-5.9.10-form", over=boards)
def pulled_back_form(b: Board) -> Residual:
    k, gap = b.m * b.r / (b.inertia - b.J0), b.p_theta - b.p_psi
    ct, st, change = cos(b.theta), sin(b.theta), DP_THETA - DP_PSI
    first = b.csc2 * ct * gap * DPHI + b.cot * st * gap * DTHETA - b.cot * ct * change
    second = b.csc2 * st * gap * DPHI - b.cot * ct * gap * DTHETA - b.cot * st * change
    found = k * wedge(DX, first) + k * wedge(DY, second)
    found += wedge(DTHETA, DP_THETA) + wedge(DPSI, DP_PSI) + wedge(DPHI, DP_PHI)
    return distance(found, b.form)


@listed("B-5.9.10-restricted", over=boards)
def restricted_form(b: Board) -> Residual:
    kr, gap = b.m * b.r / (b.inertia - b.J0) * b.r, b.p_theta - b.p_psi
    bracket = -kr * b.cot * b.csc2 * gap * DPHI + kr * b.cot**2 * (DP_THETA - DP_PSI) + DP_THETA
    found = wedge(DTHETA, bracket) + wedge(DPSI, DP_PSI) + wedge(DPHI, DP_PHI)
    there = b.allowed.T @ b.form @ b.allowed
    return distance(b.allowed.T @ found @ b.allowed, there), float(np.linalg.cond(there) > 1e8)


@listed("B-5.9.10-contraction", over=boards)
def contraction(b: Board) -> Residual:
    kr, gap = b.m * b.r / (b.inertia - b.J0) * b.r, b.p_theta - b.p_psi
    _, _, theta, psi, phi, p_theta, p_psi, p_phi = b.rates
    found = (
        -kr * b.cot * b.csc2 * gap * theta * DPHI
        + kr * b.cot**2 * theta * (DP_THETA - DP_PSI)
        + theta * DP_THETA + psi * DP_PSI
        + kr * b.cot * b.csc2 * gap * phi * DTHETA + phi * DP_PHI
        - kr * b.cot**2 * p_theta * DTHETA - p_theta * DTHETA
        + kr * b.cot**2 * p_psi * DTHETA - p_psi * DPSI - p_phi * DPHI
    )  # fmt: skip
    there = b.allowed.T @ b.form.T @ b.rates, _differential(b) @ b.allowed
    return [distance(found @ b.allowed, expected) for expected in there]


# -- equations of motion ---------------------------------------------------------------------------


@listed("B-5.9.11", over=boards)
def board_momentum(b: Board) -> Residual:
    size = 2 * b.J1 * (1 - b.J0 / b.inertia * sin(b.phi) ** 2)
    return distance(b.rates[5], b.cot * b.p_phi * (b.p_theta - b.p_psi) / size)


@listed("B-5.9.12", over=boards, given={"place": 6})
@listed("B-5.9.13", over=boards, given={"place": 7})
def kept_momentum(b: Board, place: int) -> Residual:
    return worst(b.rates[place])


@listed("B-5.9.14", over=boards)
def heading_rate(b: Board) -> Residual:
    return distance(b.rates[2], (b.p_theta - b.p_psi) / (b.inertia - b.J0))


@listed("B-5.9.15", over=boards)
def rotor_rate(b: Board) -> Residual:
    found = (b.inertia * b.p_psi - b.J0 * b.p_theta) / (b.J0 * (b.inertia - b.J0))
    return distance(b.rates[3], found)


@listed("B-5.9.16", over=boards)
def steering_rate(b: Board) -> Residual:
    return distance(b.rates[4], b.p_phi / (2 * b.J1))


@listed("B-5.9.17", over=boards)
def heading_acceleration(b: Board) -> Residual:
    z = library_rates(b.s, "lagrange")[5:]
    return worst(z[2] - b.cot * b.phi_dot * b.theta_dot + b.J0 / b.inertia * sin(b.phi) ** 2 * z[3])


@listed("B-5.9.18", over=boards)
def rotor_acceleration(b: Board) -> Residual:
    z = library_rates(b.s, "lagrange")[5:]
    return worst(b.J0 * (z[3] + z[2]))


@listed("B-5.9.19", over=boards)
def steering_acceleration(b: Board) -> Residual:
    return worst(2 * b.J1 * library_rates(b.s, "lagrange")[9])
