"""Bloch and others, Internet Supplement, section 5.9: the snakeboard before reduction (5.9.9-5.9.19).

On M the chart is (x, y, theta, psi, phi, p_theta, p_psi, p_phi). Every display of forms is held against the library's two-form,
which is written in another chart and carried over by complex steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..independent.planar_bundles import Spot, planar_probe, spots
from ..independent.planar_charts import (
    canonical_rates,
    chart_of_library,
    free_momenta,
    gap_of_spans,
    library_differential,
    library_form,
    library_two_form,
    momentum_rates,
    velocities_of,
    wedge,
)
from ..numeric import distance, largest, worst
from ..row_registry import claim

#: Covectors of the chart.
DX, DY, DTHETA, DPSI, DPHI, DP_THETA, DP_PSI, DP_PHI = np.eye(8)
CHART = "random states of the snakeboard"


@dataclass(frozen=True, eq=False)
class Board:
    """A state of the snakeboard with the symbols of print."""

    s: Spot

    def __getattr__(self, name: str) -> float:
        values = dict(zip(("x", "y", "theta", "psi", "phi"), self.s.q, strict=True))
        values |= dict(zip(("x_dot", "y_dot", "theta_dot", "psi_dot", "phi_dot"), self.s.u, strict=True))
        values |= dict(zip(("p_x", "p_y", "p_theta", "p_psi", "p_phi"), self.momenta, strict=True))
        values |= self.s.planar.parameters | {"p": self.s.p[0]}
        if name not in values:
            raise AttributeError(name)
        return float(values[name])

    @cached_property
    def momenta(self) -> Any:
        """All five, of the independent implementation."""
        return self.s.planar.momenta(self.s.q, self.s.u)

    @property
    def inertia(self) -> float:
        """m r^2."""
        return self.m * self.r**2

    @property
    def D(self) -> float:
        """m r^2 - J0 sin(phi)^2."""
        return float(self.inertia - self.J0 * np.sin(self.phi) ** 2)

    @property
    def cot(self) -> float:
        return float(1 / np.tan(self.phi))

    @property
    def csc2(self) -> float:
        return float(1 / np.sin(self.phi) ** 2)

    # -- the chart -----------------------------------------------------------------------------------------------

    @property
    def c(self) -> Any:
        """(x, y, theta, psi, phi, p_theta, p_psi, p_phi)."""
        return np.concatenate([self.s.q, self.momenta[2:]])

    def velocities(self, c: Any) -> Any:
        """The inverse of FL on D in the chart, from one dense system."""
        return velocities_of(self.s.planar, c[:5], np.eye(5)[2:], c[5:])

    @property
    def allowed(self) -> Any:
        """The printed span of H (8, 6)."""
        first = np.array([-self.r * self.cot * np.cos(self.theta), -self.r * self.cot * np.sin(self.theta), 1, 0, 0, 0, 0, 0])
        return np.column_stack([first, np.eye(8)[:, 3:]])

    @cached_property
    def rates(self) -> Any:
        """The rates of the chart along the library's motion on M (8,)."""
        return np.concatenate([canonical_rates(self.s)[0], momentum_rates(self.s)[2:]])


def boards() -> list[Board]:
    """The states at which the snakeboard is looked at."""
    return [Board(s) for s in spots("snakeboard")]


def over_boards(residual: Any) -> float:
    """The worst residual."""
    return worst(residual(b) for b in boards())


def _rows(b: Board) -> Any:
    return planar_probe("snakeboard", "lagrange").blocks(0.0, np.concatenate([b.s.q, b.s.u])).A


@claim(
    "B-5.9.9",
    "-sin(theta + phi) x_dot + cos(theta + phi) y_dot - r cos(phi) theta_dot = 0 for the back wheels",
    how=f"{CHART}: the library's row against the printed coefficients, and its velocities",
)
def back_wheels() -> float:
    def residual(b: Board) -> float:
        row = np.array([-np.sin(b.theta + b.phi), np.cos(b.theta + b.phi), -b.r * np.cos(b.phi), 0, 0])
        return largest(distance(_rows(b)[0], row), abs(row @ canonical_rates(b.s)[0]))

    return over_boards(residual)


@claim(
    "B-5.9.10",
    "-sin(theta - phi) x_dot + cos(theta - phi) y_dot + r cos(phi) theta_dot = 0 for the front wheels",
    how=f"{CHART}: the library's row against the printed coefficients, and its velocities",
)
def front_wheels() -> float:
    def residual(b: Board) -> float:
        row = np.array([-np.sin(b.theta - b.phi), np.cos(b.theta - b.phi), b.r * np.cos(b.phi), 0, 0])
        return largest(distance(_rows(b)[1], row), abs(row @ canonical_rates(b.s)[0]))

    return over_boards(residual)


@claim(
    "B-5.9.10-solved",
    "x_dot = -r cot(phi) cos(theta) theta_dot and y_dot = -r cot(phi) sin(theta) theta_dot",
    how=f"{CHART}: velocities of the library's form on M",
)
def solved_constraints() -> float:
    def residual(b: Board) -> float:
        x_dot, y_dot, theta_dot = canonical_rates(b.s)[0][:3]
        reach = -b.r * b.cot * theta_dot
        return largest(distance(x_dot, reach * np.cos(b.theta)), distance(y_dot, reach * np.sin(b.theta)))

    return over_boards(residual)


def _library_momenta(b: Board) -> Any:
    state = np.concatenate([b.s.q, free_momenta(b.s.planar, b.s.q, b.s.u)])
    return planar_probe("snakeboard", "bates-sniatycki").blocks(0.0, state).momenta


@claim(
    "B-5.9.10-legendre",
    "FL on D: p_x = -m r cot(phi) cos(theta) theta_dot, ..., p_phi = 2 J1 phi_dot, and its inverse in (p_theta, p_psi, p_phi)",
    how=f"{CHART}: momenta and velocities of the library's form on M against the ten printed formulas",
)
def constrained_legendre() -> float:
    def residual(b: Board) -> float:
        momenta = [
            -b.m * b.r * b.cot * np.cos(b.theta) * b.theta_dot,
            -b.m * b.r * b.cot * np.sin(b.theta) * b.theta_dot,
            b.inertia * b.theta_dot + b.J0 * b.psi_dot,
            b.J0 * b.psi_dot + b.J0 * b.theta_dot,
            2 * b.J1 * b.phi_dot,
        ]
        turn = (b.p_theta - b.p_psi) / (b.inertia - b.J0)
        velocities = [
            -b.r * b.cot * np.cos(b.theta) * turn,
            -b.r * b.cot * np.sin(b.theta) * turn,
            turn,
            (b.inertia * b.p_psi - b.J0 * b.p_theta) / (b.J0 * (b.inertia - b.J0)),
            b.p_phi / (2 * b.J1),
        ]
        return largest(distance(_library_momenta(b), momenta), distance(canonical_rates(b.s)[0], velocities))

    return over_boards(residual)


@claim(
    "B-5.9.10-manifold",
    "M: p_x and p_y are -m r/(m r^2 - J0) cot(phi) (p_theta - p_psi) times cos(theta) and sin(theta)",
    how=f"{CHART}: momenta of the library's form on M",
)
def constraint_manifold() -> float:
    def residual(b: Board) -> float:
        p = _library_momenta(b)
        size = -b.m * b.r / (b.inertia - b.J0) * b.cot * (p[2] - p[3])
        return distance(p[:2], size * np.array([np.cos(b.theta), np.sin(b.theta)]))

    return over_boards(residual)


@claim(
    "B-5.9.10-distribution",
    "H is spanned by -r cot(phi) (cos(theta) d/dx + sin(theta) d/dy) + d/dtheta, d/dpsi, d/dphi and the momenta",
    how=f"{CHART}: the printed fields carried to the library's chart against its frame of H",
)
def distribution() -> float:
    def residual(b: Board) -> float:
        derivatives = chart_of_library(b.s.planar, b.velocities, b.c)
        return gap_of_spans(derivatives @ b.allowed, library_form(b.s).frame)

    return over_boards(residual)


@claim(
    "B-5.9.10-hamiltonian",
    "H = (p_x^2 + p_y^2)/(2m) + p_psi^2/(2 J0) + (p_theta - p_psi)^2/(2(m r^2 - J0)) + p_phi^2/(4 J1), and H_M in the chart",
    how=f"{CHART}: both against the energy of the library's Hamiltonian form and of its form on M",
)
def hamiltonian() -> float:
    def residual(b: Board) -> float:
        gap, wide = b.p_theta - b.p_psi, b.inertia - b.J0
        rest = b.p_psi**2 / (2 * b.J0) + gap**2 / (2 * wide) + b.p_phi**2 / (4 * b.J1)
        whole = (b.p_x**2 + b.p_y**2) / (2 * b.m) + rest
        on_M = b.inertia / (2 * wide**2) * b.cot**2 * gap**2 + rest
        energy = planar_probe("snakeboard", "hamilton").blocks(0.0, np.concatenate([b.s.q, b.momenta])).energy
        state = np.concatenate([b.s.q, free_momenta(b.s.planar, b.s.q, b.s.u)])
        own = planar_probe("snakeboard", "bates-sniatycki").blocks(0.0, state).energy
        return largest(distance(whole, energy), distance(on_M, own))

    return over_boards(residual)


def _differential(b: Board) -> Any:
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


@claim(
    "B-5.9.10-differential",
    "dH_H, five terms in dphi and the momenta",
    how=f"{CHART}: the printed form on the printed span of H against the library's dH_H",
)
def restricted_differential() -> float:
    return over_boards(
        lambda b: distance(_differential(b) @ b.allowed, library_differential(b.s, b.velocities, b.c, b.allowed))
    )


@claim(
    "B-5.9.10-form",
    "Omega_M, the pull-back of the canonical two-form, with k = m r/(m r^2 - J0)",
    how=f"{CHART}: the printed wedges against the library's Omega_M",
)
def pulled_back_form() -> float:
    def residual(b: Board) -> float:
        k, gap, ct, st = b.m * b.r / (b.inertia - b.J0), b.p_theta - b.p_psi, np.cos(b.theta), np.sin(b.theta)
        first = b.csc2 * ct * gap * DPHI + b.cot * st * gap * DTHETA - b.cot * ct * (DP_THETA - DP_PSI)
        second = b.csc2 * st * gap * DPHI - b.cot * ct * gap * DTHETA - b.cot * st * (DP_THETA - DP_PSI)
        found = k * wedge(DX, first) + k * wedge(DY, second)
        found += wedge(DTHETA, DP_THETA) + wedge(DPSI, DP_PSI) + wedge(DPHI, DP_PHI)
        return distance(found, library_two_form(b.s, b.velocities, b.c))

    return over_boards(residual)


def _restricted(b: Board) -> Any:
    """The printed Omega_H (8, 8)."""
    kr, gap = b.m * b.r / (b.inertia - b.J0) * b.r, b.p_theta - b.p_psi
    bracket = -kr * b.cot * b.csc2 * gap * DPHI + kr * b.cot**2 * (DP_THETA - DP_PSI) + DP_THETA
    return wedge(DTHETA, bracket) + wedge(DPSI, DP_PSI) + wedge(DPHI, DP_PHI)


@claim(
    "B-5.9.10-restricted",
    "Omega_H = dtheta ^ [-k r cot csc^2 (p_theta - p_psi) dphi + k r cot^2 (dp_theta - dp_psi) + dp_theta] + dpsi ^ dp_psi +"
    " dphi ^ dp_phi, nondegenerate on H",
    how=f"{CHART}: on the printed span of H against the library's two-form",
)
def restricted_form() -> float:
    def residual(b: Board) -> float:
        there = b.allowed.T @ library_two_form(b.s, b.velocities, b.c) @ b.allowed
        return largest(distance(b.allowed.T @ _restricted(b) @ b.allowed, there), float(np.linalg.cond(there) > 1e8))

    return over_boards(residual)


@claim(
    "B-5.9.10-contraction",
    "i_X Omega_H, eleven terms, equals dH_H along the motion",
    how=f"{CHART}: the printed terms with the library's rates against the library's two-form, and against dH_H on H",
)
def contraction() -> float:
    def residual(b: Board) -> float:
        kr, gap = b.m * b.r / (b.inertia - b.J0) * b.r, b.p_theta - b.p_psi
        _, _, theta, psi, phi, p_theta, p_psi, p_phi = b.rates
        found = (
            -kr * b.cot * b.csc2 * gap * theta * DPHI
            + kr * b.cot**2 * theta * (DP_THETA - DP_PSI)
            + theta * DP_THETA
            + psi * DP_PSI
            + kr * b.cot * b.csc2 * gap * phi * DTHETA
            + phi * DP_PHI
            - kr * b.cot**2 * p_theta * DTHETA
            - p_theta * DTHETA
            + kr * b.cot**2 * p_psi * DTHETA
            - p_psi * DPSI
            - p_phi * DPHI
        )
        there = b.allowed.T @ library_two_form(b.s, b.velocities, b.c).T @ b.rates
        return largest(distance(found @ b.allowed, there), distance(found @ b.allowed, _differential(b) @ b.allowed))

    return over_boards(residual)


# -- equations of motion -----------------------------------------------------------------------------------------------------


@claim(
    "B-5.9.11",
    "p_theta_dot = cot(phi) p_phi (p_theta - p_psi) / (2 J1 (1 - J0 sin(phi)^2/(m r^2)))",
    how=f"{CHART}: momenta along the motion of the library's form on M",
)
def board_momentum() -> float:
    def residual(b: Board) -> float:
        gap = b.p_theta - b.p_psi
        return distance(b.rates[5], b.cot * b.p_phi * gap / (2 * b.J1 * (1 - b.J0 / b.inertia * np.sin(b.phi) ** 2)))

    return over_boards(residual)


@claim("B-5.9.12", "p_psi_dot = 0", how=f"{CHART}: momenta along the motion of the library's form on M")
def rotor_momentum() -> float:
    return over_boards(lambda b: abs(b.rates[6]))


@claim("B-5.9.13", "p_phi_dot = 0", how=f"{CHART}: momenta along the motion of the library's form on M")
def steering_momentum() -> float:
    return over_boards(lambda b: abs(b.rates[7]))


@claim("B-5.9.14", "theta_dot = (p_theta - p_psi)/(m r^2 - J0)", how=f"{CHART}: velocities of the library's form on M")
def heading_rate() -> float:
    return over_boards(lambda b: distance(b.rates[2], (b.p_theta - b.p_psi) / (b.inertia - b.J0)))


@claim(
    "B-5.9.15",
    "psi_dot = (m r^2 p_psi - J0 p_theta)/(J0 (m r^2 - J0))",
    how=f"{CHART}: velocities of the library's form on M",
)
def rotor_rate() -> float:
    return over_boards(lambda b: distance(b.rates[3], (b.inertia * b.p_psi - b.J0 * b.p_theta) / (b.J0 * (b.inertia - b.J0))))


@claim("B-5.9.16", "phi_dot = p_phi/(2 J1)", how=f"{CHART}: velocities of the library's form on M")
def steering_rate() -> float:
    return over_boards(lambda b: distance(b.rates[4], b.p_phi / (2 * b.J1)))


def _accelerations(b: Board) -> Any:
    """The library's q_ddot (5,)."""
    rates = planar_probe("snakeboard", "lagrange").rates(0.0, np.concatenate([b.s.q, b.s.u]))
    return rates[5:]


@claim(
    "B-5.9.17",
    "theta_ddot - cot(phi) phi_dot theta_dot + J0/(m r^2) sin(phi)^2 psi_ddot = 0",
    how=f"{CHART}: accelerations of the library's Lagrange equations",
)
def heading_acceleration() -> float:
    def residual(b: Board) -> float:
        z = _accelerations(b)
        return worst([z[2] - b.cot * b.phi_dot * b.theta_dot + b.J0 / b.inertia * np.sin(b.phi) ** 2 * z[3]])

    return over_boards(residual)


@claim("B-5.9.18", "J0 psi_ddot + J0 theta_ddot = 0", how=f"{CHART}: accelerations of the library's Lagrange equations")
def rotor_acceleration() -> float:
    return over_boards(lambda b: b.J0 * (_accelerations(b)[3] + _accelerations(b)[2]))


@claim("B-5.9.19", "2 J1 phi_ddot = 0", how=f"{CHART}: accelerations of the library's Lagrange equations")
def steering_acceleration() -> float:
    return over_boards(lambda b: abs(2 * b.J1 * _accelerations(b)[4]))
