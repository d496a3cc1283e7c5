"""Bloch and others, Internet Supplement, section 5.9: the bicycle's two-form and reduced equations
(5.9.88-5.9.96).
"""

from __future__ import annotations

import numpy as np
from numpy import cos, sin

from .... import gallery
from ....formulations.reduction.bundle_equations import reduce
from ....integrate.simulate import simulate
from ....typing import Array
from ...independent.planar_bundles import planar
from ...independent.planar_charts import reduced_form, wedge
from ...numeric import Residual, derivative, distance
from ...row_registry import Corrected, listed
from .section_5_9_states import (
    DP,
    DP_PHI,
    DP_PSI,
    DPHI,
    DPSI,
    DTHETA,
    Bicycle,
    bicycles,
    library_blocks,
    library_rates,
)


def lever(b: Bicycle) -> float:
    """The factor of p dphi in the printed forms."""
    s = sin(b.psi)
    return float((b.a * s * b.n + b.c**2 * b.phi * s**2) / b.F)


def kernel(b: Bicycle) -> Array:
    """The printed covector whose kernel in H is U (8,)."""
    by_psi = b.c * cos(b.psi) * b.n / b.F * b.p_psi / b.a
    return np.asarray(DP + (by_psi - lever(b) * b.p) * DPHI)


@listed("B-5.9.88-form", over=bicycles)
def pulled_back_form(b: Bicycle) -> Residual:
    one, two, _ = b.mu(b.chart)
    first, second, third = b.mu_derivatives
    found = (
        wedge(b.along, first)
        + one * wedge(b.across, DTHETA)
        + wedge(b.across, second)
        - two * wedge(b.along, DTHETA)
        + wedge(DTHETA, third)
        + wedge(DPSI, DP_PSI)
        + wedge(DPHI, DP_PHI)
    )
    return distance(found, b.form)


@listed("B-5.9.88-contraction", over=bicycles)
def contraction_with_the_section(b: Bicycle) -> Residual:
    one, two, _ = b.mu(b.chart)
    first, _, third = b.mu_derivatives
    long = first - one * b.phi * b.across - two * DTHETA + two * b.phi * b.along + b.phi * third
    there = b.symmetry @ b.form @ b.allowed
    return [distance(f @ b.allowed, there) for f in (long, first + b.phi * third, kernel(b))]


@listed("B-5.9.89", over=bicycles)
def complement(b: Bicycle) -> Residual:
    row = reduced_form(b.s).matrix[0]  # on e, lifts of d/dpsi and d/dphi, d/d(r_dot), d/dp
    return distance(row, [0.0, 0.0, kernel(b)[4], 0.0, 0.0, 1.0]), kernel(b) @ b.rates


@listed("B-5.9.90", over=bicycles)
def reconstruction(b: Bicycle) -> Residual:
    xi = b.c * b.a * b.phi * cos(b.psi) / b.K * b.psi_dot + b.p / (b.m * b.K)
    found = library_rates(b.s, "reconstructed")[:3]
    return distance(found, [xi * cos(b.theta), xi * sin(b.theta), b.phi * xi])


@listed("B-5.9.91", over=bicycles)
def momentum_equation(b: Bicycle) -> Residual:
    first = -b.c * cos(b.psi) * b.n / b.F * b.p_psi / b.a * b.phi_dot
    second, rate = lever(b) * b.p * b.phi_dot, b.s.rates[1][0]
    return distance(rate, first + second), distance(rate, b.mu(b.chart)[2] * b.phi_dot)


@listed("B-5.9.92", over=bicycles)
def equation_on_the_complement(b: Bicycle) -> Residual:
    return b.gap_on_complement(kernel(b))


@listed("B-5.9.92-contraction", over=bicycles)
def contraction(b: Bicycle) -> Corrected:
    ahead, side, turn = b.along @ b.rates, b.across @ b.rates, b.rates[2]
    one, two, _ = b.mu(b.chart)
    first, second, third = b.mu_derivatives
    psi, phi, p_psi, p_phi, _ = b.rates[3:]
    printed = (
        ahead * first + one * side * DTHETA - one * turn * b.across
        + side * second - two * ahead * DTHETA + two * turn * b.along
        + turn * third + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
        - (first @ b.rates) * b.along - (second @ b.rates) * b.across
    )  # fmt: skip
    found = b.form.T @ b.rates
    right = printed - (third @ b.rates) * DTHETA
    return Corrected(distance(right, found), distance(printed, found))


@listed("B-5.9.92-hamiltonian", over=bicycles)
def reduced_hamiltonian(b: Bicycle) -> Residual:
    one, two, _ = b.mu(b.chart)
    squares = (one**2 + two**2 + b.last(b.chart) ** 2) / (2 * b.m)
    found = b.m * b.g * b.a * cos(b.psi) + b.p_phi**2 / (2 * b.J) + squares
    return distance(found, library_blocks(b.s, "reduced").energy)


@listed("B-5.9.92-differential", over=bicycles)
def reduced_differential(b: Bicycle) -> Residual:
    one, two, _ = b.mu(b.chart)
    first, second, _ = b.mu_derivatives
    found = (
        -b.m * b.g * b.a * sin(b.psi) * DPSI
        + b.p_phi / b.J * DP_PHI
        - b.p_phi**2 / (2 * b.J**2) * (b.J_psi * DPSI + b.J_phi * DPHI)
        + (one * first + two * second + b.last(b.chart) * derivative(b.last, b.chart)) / b.m
    )
    return distance(found @ b.allowed, b.differential(b.allowed))


@listed("B-5.9.92-pushed", over=bicycles)
def pushed_down(b: Bicycle) -> Residual:
    first, _, third = b.mu_derivatives
    psi, phi, p_psi, p_phi, _ = b.rates[3:]
    found = (
        (b.along @ b.rates) * first + b.rates[2] * third
        + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
    )  # fmt: skip
    return distance(found[3:], b.differential(b.allowed[:, 1:]))


# -- the reduced Hamilton equations ----------------------------------------------------------------


@listed("B-5.9.93", over=bicycles)
def roll_rate(b: Bicycle) -> Residual:
    found = (b.K / b.F * b.p_psi / b.a + b.c * b.phi * cos(b.psi) / b.F * b.p) / (b.m * b.a)
    return distance(b.rates[3], found)


@listed("B-5.9.94", over=bicycles)
def steering_rate(b: Bicycle) -> Residual:
    return distance(b.rates[4], b.p_phi / b.J)


@listed("B-5.9.95", over=bicycles)
def roll_momentum(b: Bicycle) -> Residual:
    s, co, xi = sin(b.psi), cos(b.psi), b.s.xi[0]
    found = b.m * b.g * b.a * s + b.p_phi**2 * b.J_psi / (2 * b.J**2)
    found += b.m * b.n * b.a * b.phi * co * xi**2 + b.m * b.c * b.a * b.phi * s * xi * b.psi_dot
    return distance(b.rates[5], found)


@listed("B-5.9.96", over=bicycles)
def steering_momentum(b: Bicycle) -> Residual:
    return distance(b.rates[6], b.J_phi * b.p_phi**2 / (2 * b.J**2))


@listed("B-5.9.96-speed", over=bicycles)
def forward_speed(b: Bicycle) -> Corrected:
    c = b.s.library
    xi = float((c.frame @ (c.lift @ b.s.p - c.connection @ b.s.v))[0])
    lever, rest = b.c * b.phi * cos(b.psi) / b.K * b.psi_dot, b.p / (b.m * b.K)
    second = b.c * b.phi * cos(b.psi) / (b.m * b.F) * b.p_psi / b.a + b.p / (b.m * b.F)
    right = distance(xi, b.a * lever + rest), distance(xi, second)
    return Corrected(right, distance(xi, lever + rest))


#: (p, p_psi, p_phi) of the gallery's motion at these times, in 80-bit arithmetic.
FALL = {
    0.25: (3.0420882865849235, 0.2693903814108733, 0.05),
    0.5: (3.048758540739718, 1.0311631300568878, 0.05),
    1.0: (3.1161583075287496, 5.053691485507003, 0.05),
}


@listed("B-5.9.96-motion")
def fall() -> Residual:
    scenario, bicycle = gallery.load("bicycle"), planar("bicycle")
    values, times, expected = scenario.parameters, list(FALL), np.array(list(FALL.values()))
    on_M = simulate(scenario, span=(0.0, 1.0), form="bates-sniatycki", at=times, rtol=1e-13)
    equations = reduce(bicycle.system, bicycle.group, section=bicycle.written_section)
    start = {"psi": 0.05, "phi": 0.1, "psi_dot": 0.0, "phi_dot": 0.1, "p_1": 3.0375624390832368}
    motion = simulate(equations, start, (0.0, 1.0), at=times, rtol=1e-13, parameters=values)
    m, a = values["m"], values["a"]
    side = motion["aside"] + values["c"] * motion["turn"]
    roll = m * a * (a * motion["psi_dot"] - cos(motion["psi"]) * side)
    reached = np.stack([motion["p_1"], roll, values["j0"] * motion["phi_dot"]], axis=1)
    momenta = np.stack([on_M["p_psi"], on_M["p_phi"]], axis=1)
    return (
        distance(reached, expected),
        distance(momenta, expected[:, 1:]),
        distance(motion.energy, 14.356583713099475),
    )
