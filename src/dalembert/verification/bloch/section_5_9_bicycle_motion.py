"""Bloch and others, Internet Supplement, section 5.9: the bicycle's two-form and reduced equations (5.9.88-5.9.96)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import gallery
from ...formulations.reduction.bundle_equations import reduce
from ...integrate.simulate import simulate
from ..independent.planar_bundles import planar, planar_probe
from ..independent.planar_charts import library_differential, library_two_form, reduced_form, wedge
from ..numeric import derivative, distance, largest, null_space
from ..row_registry import Corrected, claim
from .section_5_9_bicycle import (
    DP,
    DP_PHI,
    DP_PSI,
    DPHI,
    DPSI,
    DTHETA,
    STATES,
    Bicycle,
    corrected,
    over_bicycles,
)


def kernel(b: Bicycle) -> Any:
    """The printed covector whose kernel in H is U (8,)."""
    s = np.sin(b.psi)
    by_psi = b.c * np.cos(b.psi) * b.n / b.F * b.p_psi / b.a
    return DP + (by_psi - (b.a * s * b.n + b.c**2 * b.phi * s**2) / b.F * b.p) * DPHI


@claim(
    "B-5.9.88-form",
    "Omega_M with mu_1, mu_2, mu_3 and their differentials",
    how=f"{STATES}: the printed wedges against the library's Omega_M",
)
def pulled_back_form() -> float:
    def residual(b: Bicycle) -> float:
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
        return distance(found, library_two_form(b.spot, b.velocities, b.chart))

    return over_bicycles(residual)


@claim(
    "B-5.9.88-contraction",
    "The field of the section in Omega_M, on H, is d mu_1 + phi d mu_3 = dp + (...) dphi",
    how=f"{STATES}: the printed lines on the printed span of H against the library's two-form",
)
def contraction_with_the_section() -> float:
    def residual(b: Bicycle) -> float:
        one, two, _ = b.mu(b.chart)
        first, _, third = b.mu_derivatives
        long = first - one * b.phi * b.across - two * DTHETA + two * b.phi * b.along + b.phi * third
        there = b.symmetry @ library_two_form(b.spot, b.velocities, b.chart) @ b.allowed
        short = first + b.phi * third
        return largest(*(distance(form @ b.allowed, there) for form in (long, short, kernel(b))))

    return over_bicycles(residual)


@claim(
    "B-5.9.89",
    "U is the kernel of that form",
    how=f"{STATES}: against the row of the library's two-form on D/G; the library's motion is in it",
)
def complement() -> float:
    def residual(b: Bicycle) -> float:
        row = reduced_form(b.spot).matrix[0]  # on e, lifts of d/dpsi and d/dphi, d/d(r_dot), d/dp
        expected = np.concatenate([[0.0, 0.0, kernel(b)[4]], np.zeros(2), [1.0]])
        return largest(distance(row, expected), abs(kernel(b) @ b.rates))

    return over_bicycles(residual)


@claim(
    "B-5.9.90",
    "The motion in U reconstructs x_dot, y_dot and theta_dot as xi_1 cos(theta), xi_1 sin(theta) and phi xi_1, with xi_1 ="
    " c a phi cos(psi) psi_dot/K + p/(m K)",
    how=f"{STATES}: rates of the library's reconstructed equations",
)
def reconstruction() -> float:
    def residual(b: Bicycle) -> float:
        xi = b.c * b.a * b.phi * np.cos(b.psi) / b.K * b.psi_dot + b.p / (b.m * b.K)
        found = planar_probe("bicycle", "reconstructed").rates(0.0, b.spot.z)[:3]
        return distance(found, [xi * np.cos(b.theta), xi * np.sin(b.theta), b.phi * xi])

    return over_bicycles(residual)


@claim(
    "B-5.9.91",
    "p_dot = -c cos(psi) (1 + a phi sin(psi)) p_psi phi_dot/(a F) + (a sin(psi) (1 + a phi sin(psi)) + c^2 phi sin(psi)^2) p"
    " phi_dot/F, which is mu_3 phi_dot",
    how=f"{STATES}: momentum rates of the library's reduced equations",
)
def momentum_equation() -> float:
    def residual(b: Bicycle) -> float:
        s = np.sin(b.psi)
        first = -b.c * np.cos(b.psi) * b.n / b.F * b.p_psi / b.a * b.phi_dot
        second = (b.a * s * b.n + b.c**2 * b.phi * s**2) / b.F * b.p * b.phi_dot
        rate = b.spot.rates[1][0]
        return largest(distance(rate, first + second), distance(rate, b.mu(b.chart)[2] * b.phi_dot))

    return over_bicycles(residual)


@claim(
    "B-5.9.92",
    "i_X Omega_M = dH_M on U",
    how=f"{STATES}: the library's motion in its two-form on the fields of H that lie in U, against its dH",
)
def equation_on_the_complement() -> float:
    def residual(b: Bicycle) -> float:
        fields = b.allowed @ null_space((kernel(b) @ b.allowed)[None, :])
        form = library_two_form(b.spot, b.velocities, b.chart)
        return distance(fields.T @ form.T @ b.rates, library_differential(b.spot, b.velocities, b.chart, fields))

    return over_bicycles(residual)


@claim(
    "B-5.9.92-contraction",
    "i_X Omega_M by mu_1, mu_2, mu_3 and their rates; the print lacks the term -(i_X d mu_3) dtheta, which does not matter on"
    " what is pushed down",
    how=f"{STATES}: the printed terms with the library's rates, with and without the missing one, against its Omega_M",
)
def contraction() -> Corrected:
    def pair(b: Bicycle) -> tuple[float, float]:
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
        found = library_two_form(b.spot, b.velocities, b.chart).T @ b.rates
        return distance(printed - (third @ b.rates) * DTHETA, found), distance(printed, found)

    return corrected(pair)


def hamiltonian(b: Bicycle, c: Any) -> Any:
    """The printed H_M in the chart."""
    psi, phi, p_psi, p_phi, p = c[3:]
    s, co = np.sin(psi), np.cos(psi)
    n = 1 + b.a * phi * s
    K, F = n**2 + b.c**2 * phi**2, n**2 + b.c**2 * phi**2 * s**2
    J = b.j0 + b.j1 * co**2 + b.j2 * phi**2
    up = K * s / F * p_psi / b.a + b.c * phi * s * co / F * p
    one, two, _ = b.mu(c)
    return b.m * b.g * b.a * co + p_phi**2 / (2 * J) + (one**2 + two**2 + up**2) / (2 * b.m)


@claim(
    "B-5.9.92-hamiltonian",
    "H_M = m g a cos(psi) + p_phi^2/(2J) + (mu_1^2 + mu_2^2 + (K sin(psi) p_psi/(a F) + c phi sin(psi) cos(psi) p/F)^2)/(2m)",
    how=f"{STATES}: against the energy of the library's reduced equations",
)
def reduced_hamiltonian() -> float:
    def residual(b: Bicycle) -> float:
        state = np.concatenate([b.spot.r, b.spot.v, b.spot.p])
        return distance(hamiltonian(b, b.chart), planar_probe("bicycle", "reduced").blocks(0.0, state).energy)

    return over_bicycles(residual)


@claim(
    "B-5.9.92-differential",
    "dh, by the differentials of J, mu_1, mu_2 and of the last square",
    how=f"{STATES}: the printed form on H against the library's dH_H",
)
def reduced_differential() -> float:
    def residual(b: Bicycle) -> float:
        def up(c: Any) -> Any:
            psi, phi, p_psi, _, p = c[3:]
            s, n = np.sin(psi), 1 + b.a * phi * np.sin(psi)
            K, F = n**2 + b.c**2 * phi**2, n**2 + b.c**2 * phi**2 * s**2
            return K * s / F * p_psi / b.a + b.c * phi * s * np.cos(psi) / F * p

        one, two, _ = b.mu(b.chart)
        first, second, _ = b.mu_derivatives
        found = (
            -b.m * b.g * b.a * np.sin(b.psi) * DPSI
            + b.p_phi / b.J * DP_PHI
            - b.p_phi**2 / (2 * b.J**2) * (b.J_psi * DPSI + b.J_phi * DPHI)
            + (one * first + two * second + up(b.chart) * derivative(up, b.chart)) / b.m
        )
        return distance(found @ b.allowed, library_differential(b.spot, b.velocities, b.chart, b.allowed))

    return over_bicycles(residual)


@claim(
    "B-5.9.92-pushed",
    "Pushed down, i_X Omega_M is xi_1 d mu_1 + xi_3 d mu_3 + psi_dot dp_psi + phi_dot dp_phi - p_psi_dot dpsi - p_phi_dot dphi;"
    " it equals dh",
    how=f"{STATES}: the printed terms with the library's rates against its dh on d/dpsi, d/dphi, d/dp_psi, d/dp_phi and d/dp",
)
def pushed_down() -> float:
    def residual(b: Bicycle) -> float:
        first, _, third = b.mu_derivatives
        psi, phi, p_psi, p_phi, _ = b.rates[3:]
        found = (b.along @ b.rates) * first + b.rates[2] * third + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
        return distance(found[3:], library_differential(b.spot, b.velocities, b.chart, b.allowed[:, 1:]))

    return over_bicycles(residual)


# -- the reduced Hamilton equations ------------------------------------------------------------------------------------------


@claim(
    "B-5.9.93",
    "psi_dot = (K p_psi/(a F) + c phi cos(psi) p/F)/(m a)",
    how=f"{STATES}: velocities of the library's form on M",
)
def roll_rate() -> float:
    def residual(b: Bicycle) -> float:
        found = (b.K / b.F * b.p_psi / b.a + b.c * b.phi * np.cos(b.psi) / b.F * b.p) / (b.m * b.a)
        return distance(b.rates[3], found)

    return over_bicycles(residual)


@claim("B-5.9.94", "phi_dot = p_phi/J", how=f"{STATES}: velocities of the library's form on M")
def steering_rate() -> float:
    return over_bicycles(lambda b: distance(b.rates[4], b.p_phi / b.J))


@claim(
    "B-5.9.95",
    "p_psi_dot = m g a sin(psi) + p_phi^2 J_psi/(2 J^2) + m (1 + a phi sin(psi)) a phi cos(psi) xi_1^2 + m c a phi sin(psi)"
    " xi_1 psi_dot",
    how=f"{STATES}: momenta along the motion of the library's form on M",
)
def roll_momentum() -> float:
    def residual(b: Bicycle) -> float:
        s, co, xi = np.sin(b.psi), np.cos(b.psi), b.spot.xi[0]
        found = b.m * b.g * b.a * s + b.p_phi**2 * b.J_psi / (2 * b.J**2)
        found += b.m * b.n * b.a * b.phi * co * xi**2 + b.m * b.c * b.a * b.phi * s * xi * b.psi_dot
        return distance(b.rates[5], found)

    return over_bicycles(residual)


@claim(
    "B-5.9.96",
    "p_phi_dot = J_phi p_phi^2/(2 J^2)",
    how=f"{STATES}: momenta along the motion of the library's form on M",
)
def steering_momentum() -> float:
    return over_bicycles(lambda b: distance(b.rates[6], b.J_phi * b.p_phi**2 / (2 * b.J**2)))


@claim(
    "B-5.9.96-speed",
    "xi_1 = c a phi cos(psi) psi_dot/K + p/(m K) = c phi cos(psi) p_psi/(m a F) + p/(m F); the print lacks a in the first",
    how=f"{STATES}: the library's body velocity from its A and Gamma",
)
def forward_speed() -> Corrected:
    def pair(b: Bicycle) -> tuple[float, float]:
        c = b.spot.library
        xi = float((c.frame @ (c.lift @ b.spot.p - c.connection @ b.spot.v))[0])
        lever, rest = b.c * b.phi * np.cos(b.psi) / b.K * b.psi_dot, b.p / (b.m * b.K)
        second = b.c * b.phi * np.cos(b.psi) / (b.m * b.F) * b.p_psi / b.a + b.p / (b.m * b.F)
        return largest(distance(xi, b.a * lever + rest), distance(xi, second)), distance(xi, lever + rest)

    return corrected(pair)


#: (p, p_psi, p_phi) of the gallery's motion at these times, in 80-bit arithmetic.
FALL = {
    0.25: (3.0420882865849235, 0.2693903814108733, 0.05),
    0.5: (3.048758540739718, 1.0311631300568878, 0.05),
    1.0: (3.1161583075287496, 5.053691485507003, 0.05),
}


@claim(
    "B-5.9.96-motion",
    "The bicycle without a rider: p, p_psi and p_phi along its fall, with its energy",
    how="library runs of the reduced equations and of the form on M from the gallery's start, against numbers in extended"
    " precision",
)
def fall() -> float:
    scenario, bicycle = gallery.load("bicycle"), planar("bicycle")
    values, times, expected = scenario.parameters, list(FALL), np.array(list(FALL.values()))
    on_M = simulate(scenario, span=(0.0, 1.0), form="bates-sniatycki", at=times, rtol=1e-13)
    equations = reduce(bicycle.system, bicycle.group, section=bicycle.written_section)
    start = {"psi": 0.05, "phi": 0.1, "psi_dot": 0.0, "phi_dot": 0.1, "p_1": 3.0375624390832368}
    motion = simulate(equations, start, (0.0, 1.0), at=times, rtol=1e-13, parameters=values)
    side = motion["aside"] + values["c"] * motion["turn"]
    roll = values["m"] * values["a"] * (values["a"] * motion["psi_dot"] - np.cos(motion["psi"]) * side)
    reached = np.stack([motion["p_1"], roll, values["j0"] * motion["phi_dot"]], axis=1)
    momenta = np.stack([on_M["p_psi"], on_M["p_phi"]], axis=1)
    return largest(distance(reached, expected), distance(momenta, expected[:, 1:]), distance(motion.energy, 14.356583713099475))
