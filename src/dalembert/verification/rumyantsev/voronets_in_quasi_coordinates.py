"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 3, Voronets' equations in quasi-coordinates and
their canonical forms (eqs. 3.9 to 3.18).

Each formula is tried twice: with quasi-velocities that have no inverse in closed form and symbols by complex steps, and with
the library's symbols W and T, its derivatives of L* and its momenta. Accelerations are the library's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..independent.instant_samples import Instant, bound_probe, instants, solved_near
from ..numeric import derivative, distance, largest, worst
from ..row_registry import Corrected, claim
from .hamel_equations import QUADRATIC, Seen, seen

BOTH = "random constraints and quasi-velocities at library accelerations, with symbols of the library and by complex steps"


@dataclass(frozen=True)
class Kept:
    """A motion in quasi-velocities with eta_alpha = 0 put in: Theta*, and the Hamiltonian of its k momenta."""

    item: Seen

    @property
    def k(self) -> int:
        """The number of free quasi-velocities."""
        return self.item.k

    @property
    def s(self) -> Instant:
        """The motion."""
        return self.item.s

    # -- the library's where it has them -----------------------------------------------------------------------------

    @cached_property
    def y(self) -> Any:
        """T*_eta_r at eta_alpha = 0, (n,)."""
        return self.item.y if self.item.view.quasi.bent else self.item.view.library["lagrangian_by_eta"]

    @cached_property
    def W(self) -> Any:
        """W_s^r, (n, k)."""
        return self.item.W if self.item.view.quasi.bent else self.item.view.library["W"]

    @cached_property
    def T(self) -> Any:
        """T_s^i, (n, k)."""
        return self.item.T if self.item.view.quasi.bent else self.item.view.library["T"]

    @property
    def p(self) -> Any:
        """T_q_dot_i at eta_alpha = 0, (n,)."""
        return self.s.p if self.item.view.quasi.bent else self.s.library["momenta"]

    # -- on the constraints ------------------------------------------------------------------------------------------

    def velocities(self, q: Any, eta: Any, time: Any) -> Any:
        """F(q, (eta_s, 0), t), (n,)."""
        return self.item.view.velocities(q, np.concatenate([eta, np.zeros(self.s.twin.r)]), time)

    def kinetic(self, q: Any, eta: Any, time: Any) -> Any:
        """Theta*(q, eta_s, t)."""
        return self.s.twin.kinetic(q, self.velocities(q, eta, time), time)

    def lagrangian(self, q: Any, eta: Any, time: Any) -> Any:
        """Theta* + U."""
        return self.s.twin.lagrangian(q, self.velocities(q, eta, time), time)

    def momenta(self, q: Any, eta: Any, time: Any) -> Any:
        """Theta*_eta_s, (k,)."""
        return self.item.momenta_at(q, self.velocities(q, eta, time), time)[: self.k]

    @property
    def eta(self) -> Any:
        """The free quasi-velocities, (k,)."""
        return self.item.view.eta[: self.k]

    @cached_property
    def by_eta(self) -> Any:
        """Theta*_eta_s, (k,), by complex steps."""
        return derivative(lambda e: self.kinetic(self.s.q, e, self.s.time), self.eta)

    @cached_property
    def by_pi(self) -> Any:
        """d(Theta* + U)/dpi_s, (k,)."""
        by_position = derivative(lambda x: self.lagrangian(x, self.eta, self.s.time), self.s.q)
        return by_position @ self.item.view.frame[:, : self.k]

    @cached_property
    def hessian(self) -> Any:
        """Theta*_eta_eta, (k, k)."""
        return derivative(lambda e: self.momenta(self.s.q, e, self.s.time), self.eta)

    def hamiltonian(self, q: Any, y: Any, time: Any) -> Any:
        """H*(q, y_s, t) = y_s eta_s - Theta* - U near this state (Rumyantsev 3.14)."""
        eta = solved_near(lambda e: self.momenta(q, e, time), self.eta, y, self.hessian)
        return y @ eta - self.lagrangian(q, eta, time)

    @cached_property
    def hamiltonian_by_pi(self) -> Any:
        """dH*/dpi_s, (k,)."""
        by_position = derivative(lambda x: self.hamiltonian(x, self.y[: self.k], self.s.time), self.s.q)
        return by_position @ self.item.view.frame[:, : self.k]

    # -- variations ----------------------------------------------------------------------------------------------------

    def variation(self, d_eta: Any) -> float:
        """d(Theta* + U) for d_eta of the free quasi-velocities."""
        return float(self.by_eta @ d_eta + self.by_pi @ self.s.sigma)

    @property
    def d_eta(self) -> Any:
        """The variations of the free quasi-velocities by the transitivity equations (1.19), (k,)."""
        return self.s.sigma_dot - self.W[: self.k] @ self.s.sigma

    def canonical_variation(self, d_eta: Any) -> float:
        """d(y_s eta_s - H*) for d_eta, dpi and a dy of its own."""
        s, view, y = self.s, self.item.view, self.y[: self.k]
        dq, dy = view.frame[:, : self.k] @ s.sigma, np.array([0.6, -0.9])[: self.k]
        change = derivative(lambda e: self.hamiltonian(s.q + e[0] * dq, y + e[0] * dy, s.time), [0.0])[0]
        return float(y @ d_eta + self.eta @ dy - change)

    @property
    def bound_symbols(self) -> Any:
        """T*_eta_alpha W_s^alpha, (k,)."""
        return self.y[self.k :] @ self.W[self.k :]

    @property
    def bound_symbols_of_inverse(self) -> Any:
        """T*_eta_alpha f_alpha,i T_s^i, (k,)."""
        return self.y[self.k :] @ self.item.view.rows[self.k :] @ self.T


@cache
def kept() -> tuple[Kept, ...]:
    """Random instants in quasi-velocities of both sorts."""
    return tuple(Kept(item) for bent in (True, False) for item in seen(bent))


def over_kept(residual: Callable[[Kept], Any]) -> float:
    """The worst residual over them."""
    return worst(residual(c) for c in kept())


def corrected(right: Callable[[Kept], float], printed: Callable[[Kept], float]) -> Corrected:
    """Both residuals over them."""
    return Corrected(over_kept(right), over_kept(printed))


@claim(
    "R-3.9",
    "On eta_alpha = 0: L*_eta_s = Theta*_eta_s, dL*/dpi_s = d(Theta* + U)/dpi_s, L*_eta_alpha = T*_eta_alpha",
    how="random constraints and quasi-velocities: the library's derivatives of L* against complex steps of Theta* and T*",
)
def constrained_energy() -> float:
    def residual(item: Seen) -> float:
        c, library = Kept(item), item.view.library
        kinetic = item.view.by_eta(lambda q, e, time: item.s.twin.kinetic(q, item.view.velocities(q, e, time), time))
        return largest(
            distance(library["lagrangian_by_eta"][: c.k], c.by_eta),
            distance(library["lagrangian_by_pi"], c.by_pi),
            distance(library["lagrangian_by_eta"][c.k :], kinetic[c.k :]),
        )

    return worst(residual(item) for item in seen(False))


@claim(
    "R-3.10",
    "Voronets' equations: d/dt Theta*_eta_s - d(Theta* + U)/dpi_s + T*_eta_r W_s^r = 0, summed over one r = 1..n; the print has"
    " index i on the first factor",
    how=f"{BOTH}; as printed, the sum of the T*_eta_i times the sum of the W_s^r",
)
def voronets_in_quasi_coordinates() -> Corrected:
    def left(c: Kept, term: Any) -> float:
        return worst(c.item.y_rate[: c.k] - c.by_pi + term)

    return corrected(lambda c: left(c, c.y @ c.W), lambda c: left(c, np.sum(c.y) * np.sum(c.W, axis=0)))


@claim(
    "R-3.11",
    "The second kind: d/dt Theta*_eta_s - d(Theta* + U)/dpi_s - T_q_dot_i T_s^i = 0",
    how=BOTH,
)
def voronets_of_second_kind() -> float:
    return over_kept(lambda c: worst(c.item.y_rate[: c.k] - c.by_pi - c.p @ c.T))


@claim(
    "R-3.12",
    "Voronets' form in quasi-coordinates: the integral of d(Theta* + U) - T*_eta_alpha W_s^alpha dpi_s vanishes",
    how=f"{BOTH}: the integrand with d(eta_s) from (1.19), less d/dt (y_s dpi_s)",
)
def voronets_principle() -> float:
    return over_kept(lambda c: c.variation(c.d_eta) - c.bound_symbols @ c.s.sigma - c.item.boundary_rate)


@claim(
    "R-3.13",
    "With T: d(Theta* + U) + T*_eta_alpha f_alpha,i T_s^i dpi_s where d(eta_s) obeys (1.19), or d(Theta* + U) + T_q_dot_i T_s^i"
    " dpi_s where d(eta_s) = d(dpi_s)/dt; the print has a minus before the full sum",
    how=f"{BOTH}: both integrands less d/dt (y_s dpi_s); as printed, the better of both readings of d(eta_s)",
)
def voronets_principle_with_inverse() -> Corrected:
    def right(c: Kept) -> float:
        first = c.variation(c.d_eta) + c.bound_symbols_of_inverse @ c.s.sigma - c.item.boundary_rate
        second = c.variation(c.s.sigma_dot) + c.p @ c.T @ c.s.sigma - c.item.boundary_rate
        return largest(first, second)

    def printed(c: Kept) -> float:
        readings = (c.d_eta, c.s.sigma_dot)
        return min(abs(float(c.variation(d) - c.p @ c.T @ c.s.sigma - c.item.boundary_rate)) for d in readings)

    return corrected(right, printed)


@claim(
    "R-3.14",
    "y_s = Theta*_eta_s and H* = y_s eta_s - Theta* - U need a regular Theta*_eta_s eta_r; the print has y_s for eta_r, whose"
    " matrix is the unit matrix whatever Theta* is",
    how="random linear and affine constraints: Theta*_eta_eta by complex steps against the inverse of d eta/dy in the library's"
    " canonical form; as printed, the unit matrix against it. H*_y = eta by complex steps",
)
def legendre_on_constraints() -> Corrected:
    def speeds(s: Instant, y: Any) -> Any:
        return bound_probe(s.twin.kind, "canonical-quasi").rates(s.time, np.concatenate([s.q, y]))[: s.k]

    def pair(s: Instant) -> tuple[float, float]:
        # eta_s = q_dot_s is affine in y, so that a difference is its derivative.
        y = s.twin.constrained_momenta(s.q, s.w, s.time)
        regular = np.linalg.inv(np.array([speeds(s, y + step) - speeds(s, y) for step in np.eye(s.k)]).T)
        hessian = derivative(lambda w: s.twin.constrained_momenta(s.q, w, s.time), s.w)
        return distance(hessian, regular), distance(np.eye(s.k), regular)

    def transformed(c: Kept) -> float:
        by_y = derivative(lambda y: c.hamiltonian(c.s.q, y, c.s.time), c.y[: c.k])
        return largest(distance(by_y, c.eta), distance(c.by_eta, c.y[: c.k]))

    found = [pair(s) for s in instants(QUADRATIC)]
    right = largest(over_kept(transformed), *(first for first, _ in found))
    return Corrected(right, worst(second for _, second in found))


@claim(
    "R-3.15",
    "y_dot_s + dH*/dpi_s + T*_eta_alpha W_s^alpha + y_r W_s^r = 0 with r = 1..k; the print lacks the last term",
    how=f"{BOTH}; derivatives of H* by complex steps",
)
def canonical_voronets() -> Corrected:
    def printed(c: Kept) -> Any:
        return c.item.y_rate[: c.k] + c.hamiltonian_by_pi + c.bound_symbols

    return corrected(lambda c: worst(printed(c) + c.y[: c.k] @ c.W[: c.k]), lambda c: worst(printed(c)))


@claim(
    "R-3.16",
    "The second kind: y_dot_s + dH*/dpi_s - T_q_dot_i T_s^i = 0 with T_q_dot_i at eta_alpha = 0; the print differentiates T*,"
    " a function of the quasi-velocities, by the i-th velocity",
    how=f"{BOTH}; derivatives of H* by complex steps; as printed, T*_eta_i in place of T_q_dot_i",
)
def canonical_voronets_of_second_kind() -> Corrected:
    def left(c: Kept, momenta: Any) -> float:
        return worst(c.item.y_rate[: c.k] + c.hamiltonian_by_pi - momenta @ c.T)

    return corrected(lambda c: left(c, c.p), lambda c: left(c, c.y))


@claim(
    "R-3.17",
    "Voronets' second form: the integral of d(y_s eta_s - H*) - T*_eta_alpha W_s^alpha dpi_s vanishes",
    how=f"{BOTH}: the integrand for random dpi and dy, with d(eta_s) from (1.19), less d/dt (y_s dpi_s)",
)
def second_voronets_form() -> float:
    return over_kept(lambda c: c.canonical_variation(c.d_eta) - c.bound_symbols @ c.s.sigma - c.item.boundary_rate)


@claim(
    "R-3.18",
    "With T: d(y_s eta_s - H*) + T*_eta_alpha f_alpha,i T_s^i dpi_s where d(eta_s) obeys (1.19); the full sum T_q_dot_i T_s^i"
    " of the print belongs to d(eta_s) = d(dpi_s)/dt",
    how=f"{BOTH}: integrands for random dpi and dy less d/dt (y_s dpi_s); as printed, the full sum with (1.19)",
)
def second_voronets_form_with_inverse() -> Corrected:
    def full(c: Kept, d_eta: Any) -> float:
        return c.canonical_variation(d_eta) + float(c.p @ c.T @ c.s.sigma) - c.item.boundary_rate

    def right(c: Kept) -> float:
        own = c.canonical_variation(c.d_eta) + c.bound_symbols_of_inverse @ c.s.sigma - c.item.boundary_rate
        return largest(own, full(c, c.s.sigma_dot))

    return corrected(right, lambda c: full(c, c.d_eta))


@claim(
    "R-3.18-chain",
    "dL* = d(Theta* + U) - T*_eta_alpha W_s^alpha dpi_s = d(Theta* + U) + T*_eta_alpha f_alpha,i T_s^i dpi_s; the print has the"
    " full sum T_q_dot_i T_s^i in the last",
    how=f"{BOTH}: dL* with all d(eta_r) from (1.19) against both",
)
def equal_variations() -> Corrected:
    def whole(c: Kept) -> float:
        d_eta = np.concatenate([c.d_eta, -c.W[c.k :] @ c.s.sigma])
        return float(c.y @ d_eta + c.item.by_pi @ c.s.sigma)

    def right(c: Kept) -> float:
        first = c.variation(c.d_eta) - c.bound_symbols @ c.s.sigma
        second = c.variation(c.d_eta) + c.bound_symbols_of_inverse @ c.s.sigma
        return largest(distance(first, whole(c)), distance(second, whole(c)))

    return corrected(right, lambda c: distance(c.variation(c.d_eta) + c.p @ c.T @ c.s.sigma, whole(c)))
