"""Bloch and others, Internet Supplement, section 5.9: the bicycle, singular in all and regular on D (5.9.82-5.9.89).

On M the chart is (x, y, theta, psi, phi, p_psi, p_phi, p). Forms are held against the library's two-form, carried over
from its own chart by complex steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import FormError
from ...formulations.registry import derive
from ...runtime.gauss.constrained_solve import rank
from ..independent.planar_bundles import Spot, frame, planar, planar_probe, spots
from ..independent.planar_charts import (
    canonical_rates,
    chart_of_library,
    free_momenta,
    gap_of_spans,
    library_form,
    momentum_rates,
    velocities_of,
)
from ..numeric import derivative, distance, largest, null_space, worst
from ..row_registry import Corrected, claim

#: Covectors of the chart.
DX, DY, DTHETA, DPSI, DPHI, DP_PSI, DP_PHI, DP = np.eye(8)
STATES = "random states of the bicycle"


@dataclass(frozen=True, eq=False)
class Bicycle:
    """A state of the bicycle with the symbols of print."""

    spot: Spot

    def __getattr__(self, name: str) -> float:
        values = dict(zip(("x", "y", "theta", "psi", "phi"), self.spot.q, strict=True))
        values |= dict(zip(("x_dot", "y_dot", "theta_dot", "psi_dot", "phi_dot"), self.spot.u, strict=True))
        values |= dict(zip(("p_x", "p_y", "p_theta", "p_psi", "p_phi"), self.momenta, strict=True))
        values |= self.spot.planar.parameters | {"p": self.spot.p[0]}
        if name not in values:
            raise AttributeError(name)
        return float(values[name])

    @cached_property
    def momenta(self) -> Any:
        """All five, of the independent implementation."""
        return self.spot.planar.momenta(self.spot.q, self.spot.u)

    @property
    def n(self) -> float:
        """1 + a phi sin(psi)."""
        return float(1 + self.a * self.phi * np.sin(self.psi))

    @property
    def K(self) -> float:
        return self.n**2 + self.c**2 * self.phi**2

    @property
    def F(self) -> float:
        return float(self.n**2 + self.c**2 * self.phi**2 * np.sin(self.psi) ** 2)

    @property
    def J(self) -> float:
        """The inertia of the steering."""
        return float(self.j0 + self.j1 * np.cos(self.psi) ** 2 + self.j2 * self.phi**2)

    @property
    def J_psi(self) -> float:
        return float(-self.j1 * np.sin(2 * self.psi))

    @property
    def J_phi(self) -> float:
        return 2 * self.j2 * self.phi

    # -- the chart -----------------------------------------------------------------------------------------------

    @property
    def chart(self) -> Any:
        """(x, y, theta, psi, phi, p_psi, p_phi, p)."""
        return np.concatenate([self.spot.q, self.momenta[3:], self.spot.p])

    def velocities(self, c: Any) -> Any:
        """The inverse of FL on D in the chart, from one dense system."""
        field = frame(c[2]) @ self.spot.planar.section(c[3:5])[:, 0]
        picks = np.zeros((3, 5), dtype=np.result_type(field, c))
        picks[0, 3], picks[1, 4], picks[2, :3] = 1, 1, field
        return velocities_of(self.spot.planar, c[:5], picks, c[5:])

    @property
    def symmetry(self) -> Any:
        """The printed field of V and H (8,)."""
        return np.cos(self.theta) * DX + np.sin(self.theta) * DY + self.phi * DTHETA

    @property
    def allowed(self) -> Any:
        """The printed span of H (8, 6)."""
        return np.column_stack([self.symmetry, np.eye(8)[:, 3:]])

    @cached_property
    def rates(self) -> Any:
        """The rates of the chart along the library's motion (8,)."""
        return np.concatenate([canonical_rates(self.spot)[0], momentum_rates(self.spot)[3:], self.spot.rates[1]])

    @property
    def along(self) -> Any:
        """cos(theta) dx + sin(theta) dy."""
        return np.cos(self.theta) * DX + np.sin(self.theta) * DY

    @property
    def across(self) -> Any:
        """-sin(theta) dx + cos(theta) dy."""
        return -np.sin(self.theta) * DX + np.cos(self.theta) * DY

    def mu(self, c: Any) -> Any:
        """The printed mu_1, mu_2, mu_3 of (5.9.84) as functions of the chart (3,)."""
        psi, phi, p_psi, _, p = c[3:]
        s, co, lever = np.sin(psi), np.cos(psi), p_psi / self.a
        n = 1 + self.a * phi * s
        F = n**2 + self.c**2 * phi**2 * s**2
        by_psi = np.array([-self.c * phi * co * n, n**2 * co, self.c * co * n])
        by_p = np.array([n, self.c * phi * s**2, n * self.a * s + self.c**2 * phi * s**2])
        return (by_p * p - by_psi * lever) / F

    @cached_property
    def mu_derivatives(self) -> Any:
        """d mu_1, d mu_2, d mu_3 as covectors of the chart (3, 8)."""
        return derivative(self.mu, self.chart)


def bicycles() -> list[Bicycle]:
    """The states at which the bicycle is looked at."""
    return [Bicycle(s) for s in spots("bicycle")]


def over_bicycles(residual: Any) -> float:
    """The worst residual."""
    return worst(residual(b) for b in bicycles())


def corrected(pair: Any) -> Corrected:
    """Residuals of the right and of the printed form at all states."""
    found = [pair(b) for b in bicycles()]
    return Corrected(worst(right for right, _ in found), worst(printed for _, printed in found))


def _on_manifold(b: Bicycle) -> Any:
    """Blocks of the library's form on M."""
    state = np.concatenate([b.spot.q, free_momenta(b.spot.planar, b.spot.q, b.spot.u)])
    return planar_probe("bicycle", "bates-sniatycki").blocks(0.0, state)


@claim(
    "B-5.9.82-lagrangian",
    "L = -m g a cos(psi) + J phi_dot^2/2 + m/2 ((xi_1 + a sin(psi) theta_dot)^2 + (xi_2 - a cos(psi) psi_dot + c theta_dot)^2 +"
    " (a sin(psi) psi_dot)^2)",
    how=f"{STATES}, off the constraints: p . v less the energy of the library's Lagrange equations",
)
def lagrangian() -> float:
    def residual(b: Bicycle) -> float:
        u = b.spot.u + np.array([0.3, -0.2, 0.5, 0.1, -0.4])
        blocks = planar_probe("bicycle", "lagrange").blocks(0.0, np.concatenate([b.spot.q, u]))
        x, y, theta, psi, phi = u
        one, two = np.cos(b.theta) * x + np.sin(b.theta) * y, -np.sin(b.theta) * x + np.cos(b.theta) * y
        s, co = np.sin(b.psi), np.cos(b.psi)
        squares = (one + b.a * s * theta) ** 2 + (two - b.a * co * psi + b.c * theta) ** 2 + (-b.a * s * psi) ** 2
        found = -b.m * b.g * b.a * co + b.J / 2 * phi**2 + b.m / 2 * squares
        return distance(blocks.momenta @ u - blocks.energy, found)

    return over_bicycles(residual)


@claim(
    "B-5.9.82-constraints",
    "theta_dot = phi (cos(theta) x_dot + sin(theta) y_dot), and no slip across; both are invariant",
    how=f"{STATES}: the library's rows against the printed forms, on velocities of its form on M, at two group elements",
)
def constraints() -> float:
    def residual(b: Bicycle) -> float:
        co, s = np.cos(b.theta), np.sin(b.theta)
        rows = np.array([[-b.phi * co, -b.phi * s, 1, 0, 0], [-s, co, 0, 0, 0]])
        found = planar_probe("bicycle", "lagrange").blocks(0.0, np.concatenate([b.spot.q, b.spot.u])).A
        return largest(distance(found, rows), worst(rows @ canonical_rates(b.spot)[0]))

    return over_bicycles(residual)


@claim(
    "B-5.9.82-singular",
    "FL is singular, of rank 4, and FL on D is invertible",
    how=f"{STATES}: the library refuses its Hamiltonian form and gives its form on M; ranks by singular values and by"
    " the library's own rank",
)
def singular_legendre() -> float:
    try:
        derive(planar("bicycle").system, "hamilton")
        refused = 1.0
    except FormError:
        refused = 0.0

    def residual(b: Bicycle) -> float:
        metric = planar_probe("bicycle", "lagrange").blocks(0.0, np.concatenate([b.spot.q, b.spot.u])).G
        own = _on_manifold(b).G
        return largest(
            abs(np.linalg.matrix_rank(metric, tol=1e-10) - 4), abs(rank(metric, 1e-10).rank - 4), abs(rank(own, 1e-10).rank - 3)
        )

    return largest(over_bicycles(residual), refused)


@claim(
    "B-5.9.82-section",
    "D and the orbits share cos(theta) d/dx + sin(theta) d/dy + phi d/dtheta",
    how=f"{STATES}: the library's rows on the field",
)
def section() -> float:
    def residual(b: Bicycle) -> float:
        rows = planar_probe("bicycle", "lagrange").blocks(0.0, np.concatenate([b.spot.q, b.spot.u])).A
        return worst(rows @ b.symmetry[:5])

    return over_bicycles(residual)


@claim(
    "B-5.9.82-momentum",
    "p on the section, four products of velocities of the mass with their levers",
    how=f"{STATES}: the printed sum against the section times momenta of the library's form on M",
)
def momentum() -> float:
    def residual(b: Bicycle) -> float:
        s, co, st, ct = np.sin(b.psi), np.cos(b.psi), np.sin(b.theta), np.cos(b.theta)
        roll, yaw = b.a * co * b.psi_dot, b.theta_dot
        ahead = ct * b.x_dot + st * b.y_dot + b.a * s * yaw
        side = -st * b.x_dot + ct * b.y_dot - roll + b.c * yaw
        found = (
            b.m * (b.x_dot + b.a * s * ct * yaw + roll * st - b.c * st * yaw) * ct
            + b.m * (b.y_dot + b.a * s * st * yaw - roll * ct + b.c * ct * yaw) * st
            + b.m * ahead * b.a * b.phi * s
            + b.m * side * b.c * b.phi
        )
        return distance(found, b.symmetry[:5] @ _on_manifold(b).momenta)

    return over_bicycles(residual)


@claim(
    "B-5.9.82-sum",
    "p = m (xi_1 + a sin(psi) xi_3) + m a phi sin(psi) (xi_1 + a sin(psi) xi_3) + m phi (c xi_2 - c a cos(psi) psi_dot +"
    " c^2 xi_3); the print lacks the last +",
    how=f"{STATES}: the sum against the library's p = I Omega; as printed, its last two terms are a product",
)
def momentum_by_body_velocity() -> Corrected:
    def pair(b: Bicycle) -> tuple[float, float]:
        one, two, three = b.spot.xi
        ahead = one + b.a * np.sin(b.psi) * three
        levers = b.m * b.a * b.phi * np.sin(b.psi) * ahead
        last = b.m * b.phi * (b.c * two - b.c * b.a * np.cos(b.psi) * b.psi_dot + b.c**2 * three)
        inside = np.linalg.solve(b.spot.library.frame, b.spot.xi) + b.spot.library.connection @ b.spot.v
        p = float(b.spot.library.inertia[0, 0] * inside[0])
        return distance(p, b.m * ahead + levers + last), distance(p, b.m * ahead + levers * last)

    return corrected(pair)


#: A_psi, Gamma, K and I at m = a = 1, c = 1/2, psi = 1/20, phi = 1/10, in 80-bit arithmetic.
AT_START = {
    "A_psi": [-0.04931998668789826, 0, -0.004931998668789826],
    "Gamma": [0.9876340191069217, 0, 0.09876340191069218],
    "I": 1.0125208130277452,
}


@claim(
    "B-5.9.82",
    "A_psi = -(c a phi cos(psi)/K) (1, 0, phi), A_phi = 0, Gamma = (1, 0, phi)/(m K)",
    how=f"{STATES}: the library's A and Gamma; at the start of the gallery's motion also against numbers in extended precision",
)
def connection() -> float:
    def residual(b: Bicycle) -> float:
        c, e = b.spot.library, np.array([1, 0, b.phi])
        found = c.frame @ c.connection
        return largest(
            distance(found[:, 0], -b.c * b.a * b.phi * np.cos(b.psi) / b.K * e),
            worst(found[:, 1]),
            distance(c.frame @ c.lift[:, 0], e / (b.m * b.K)),
        )

    values = {"m": 1.0, "a": 1.0, "c": 0.5, "g": 9.81, "j0": 0.5, "j1": 0.0, "j2": 0.0}
    c = planar("bicycle").coefficients.at({"psi": 0.05, "phi": 0.1}, values)
    numbers = {"A_psi": c.frame @ c.connection[:, 0], "Gamma": c.frame @ c.lift[:, 0], "I": c.inertia[0, 0]}
    return largest(over_bicycles(residual), *(distance(value, AT_START[name]) for name, value in numbers.items()))


@claim(
    "B-5.9.83",
    "K = (1 + a phi sin(psi))^2 + c^2 phi^2 is the locked inertia of the section over m",
    how=f"{STATES}: the library's inertia",
)
def locked_inertia() -> float:
    return over_bicycles(lambda b: distance(b.spot.library.inertia[0, 0] / b.m, b.K))


@claim(
    "B-5.9.84-legendre",
    "FL on D: p_x, p_y and p_theta by xi_1 and psi_dot, p_psi = m a^2 psi_dot - m a c cos(psi) phi xi_1, p_phi = J phi_dot",
    how=f"{STATES}: momenta of the library's form on M",
)
def constrained_legendre() -> float:
    def residual(b: Bicycle) -> float:
        s, co, xi = np.sin(b.psi), np.cos(b.psi), b.spot.xi[0]
        ahead, side = b.m * b.n * xi, b.m * (b.c * b.phi * xi - b.a * co * b.psi_dot)
        found = [
            ahead * np.cos(b.theta) - side * np.sin(b.theta),
            ahead * np.sin(b.theta) + side * np.cos(b.theta),
            b.m * b.a * s * b.n * xi + b.m * (b.c**2 * b.phi * xi - b.c * b.a * co * b.psi_dot),
            b.m * b.a**2 * b.psi_dot - b.m * b.a * b.c * co * b.phi * xi,
            b.J * b.phi_dot,
        ]
        return distance(_on_manifold(b).momenta, found)

    return over_bicycles(residual)


@claim(
    "B-5.9.84",
    "mu_1, mu_2, mu_3 on M as functions of p_psi and p, with the denominator F",
    how=f"{STATES}: momenta of the library's form on M, along, across and about",
)
def body_momenta() -> float:
    return over_bicycles(lambda b: distance(frame(b.theta).T @ _on_manifold(b).momenta[:3], b.mu(b.chart)))


@claim(
    "B-5.9.85",
    "F = (1 + a phi sin(psi))^2 + c^2 phi^2 sin(psi)^2: where it vanishes FL on D is singular",
    how=f"{STATES}: m a^2 m F J is the determinant of the library's metric of D in (xi_1, psi_dot, phi_dot)",
)
def denominator() -> float:
    def residual(b: Bicycle) -> float:
        E = np.zeros((5, 3))
        E[:, 0], E[3, 1], E[4, 2] = b.symmetry[:5], 1, 1
        metric = planar_probe("bicycle", "lagrange").blocks(0.0, np.concatenate([b.spot.q, b.spot.u])).G
        return distance(np.linalg.det(E.T @ metric @ E), b.m * b.a**2 * b.m * b.F * b.J)

    return over_bicycles(residual)


@claim(
    "B-5.9.86",
    "p = p_x cos(theta) + p_y sin(theta) + p_theta phi",
    how=f"{STATES}: momenta of the library's form on M",
)
def momentum_by_momenta() -> float:
    return over_bicycles(lambda b: distance(_on_manifold(b).momenta @ b.symmetry[:5], b.p))


@claim(
    "B-5.9.86-manifold",
    "M: p_x = mu_1 cos(theta) - mu_2 sin(theta), p_y = mu_1 sin(theta) + mu_2 cos(theta), p_theta = mu_3",
    how=f"{STATES}: momenta of the library's form on M against the printed mu",
)
def constraint_manifold() -> float:
    return over_bicycles(lambda b: distance(_on_manifold(b).momenta[:3], frame(b.theta) @ b.mu(b.chart)))


@claim(
    "B-5.9.87",
    "H is spanned by the field of the section, d/dpsi, d/dphi, d/dp_psi, d/dp_phi and d/dp",
    how=f"{STATES}: the printed fields carried to the library's chart against its frame of H",
)
def distribution() -> float:
    return over_bicycles(
        lambda b: gap_of_spans(chart_of_library(b.spot.planar, b.velocities, b.chart) @ b.allowed, library_form(b.spot).frame)
    )


@claim(
    "B-5.9.88",
    "V and H is spanned by the field of the section",
    how=f"{STATES}: what of the library's H moves the group alone, with p_psi, p_phi, p and the shape held",
)
def symmetries() -> float:
    def residual(b: Bicycle) -> float:
        derivatives = chart_of_library(b.spot.planar, b.velocities, b.chart)
        inside, *_ = np.linalg.lstsq(derivatives, library_form(b.spot).frame, rcond=None)
        return gap_of_spans(inside @ null_space(inside[3:]), b.symmetry[:, None])

    return over_bicycles(residual)
