"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 3, Hamel's equations and their canonical form
(eqs. 3.1 to 3.8).

Formulas are tried on quasi-velocities without an inverse in closed form, at accelerations of the library; the library's own
form is tried on quasi-velocities that it can invert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ..independent.instant_samples import Instant, QuasiInstant, bound_probe, instants, quasi_instants, solved_near
from ..independent.quasi_velocities import bound_twin, quasi_twin
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import claim

BENT = "random constraints and nonlinear quasi-velocities"
MOTION = f"{BENT}, at library accelerations"
#: Kinds whose kinetic energy on the constraints is quadratic, which the library's canonical forms need.
QUADRATIC = ("linear", "affine")


@dataclass(frozen=True)
class Seen:
    """A motion at one instant seen in quasi-velocities, with a displacement dpi = (sigma, 0); all by complex steps."""

    s: Instant
    view: QuasiInstant

    @property
    def k(self) -> int:
        """The number of free quasi-velocities."""
        return self.s.k

    def momenta_at(self, q: Any, v: Any, time: Any) -> Any:
        """dL*/d eta = F_eta^T p as a function of (q, v, t), (n,)."""
        return np.linalg.solve(self.view.quasi.rows(q, v, time).T, self.s.twin.momenta(q, v, time))

    @cached_property
    def y(self) -> Any:
        """dL*/d eta_r, all n of them."""
        return self.momenta_at(self.s.q, self.s.v, self.s.time)

    @cached_property
    def y_rate(self) -> Any:
        """Their time derivatives."""
        return self.view.rate(self.momenta_at)

    @property
    def W(self) -> Any:
        """W_s^r, (n, k)."""
        return self.view.W[:, : self.k]

    @property
    def T(self) -> Any:
        """T_s^i, (n, k)."""
        return self.view.T[:, : self.k]

    def lagrangian(self, q: Any, eta: Any, time: Any) -> Any:
        """L*(q, eta, t)."""
        return self.s.twin.lagrangian(q, self.view.velocities(q, eta, time), time)

    @cached_property
    def by_pi(self) -> Any:
        """dL*/dpi_s, (k,)."""
        return self.view.by_pi(self.lagrangian)[: self.k]

    @cached_property
    def d_eta(self) -> Any:
        """The variations of all quasi-velocities by the transitivity equations (1.19), (n,)."""
        return np.concatenate([self.s.sigma_dot, np.zeros(self.s.twin.r)]) - self.W @ self.s.sigma

    @property
    def boundary_rate(self) -> float:
        """d/dt (y_s dpi_s)."""
        return float(self.y_rate[: self.k] @ self.s.sigma + self.y[: self.k] @ self.s.sigma_dot)

    def hamiltonian(self, q: Any, y: Any, time: Any) -> Any:
        """H*(q, y, t) = y_r eta_r - L* of all n momenta, near this state (Rumyantsev 3.5)."""
        v = solved_near(lambda x: self.momenta_at(q, x, time), self.s.v, y, self._momenta_derivative)
        return y @ self.view.quasi.definition(q, v, time) - self.s.twin.lagrangian(q, v, time)

    @cached_property
    def _momenta_derivative(self) -> Any:
        return derivative(lambda v: self.momenta_at(self.s.q, v, self.s.time), self.s.v)

    @cached_property
    def hamiltonian_by_pi(self) -> Any:
        """dH*/dpi_s = F_is dH*/dq_i at fixed y, (k,)."""
        return derivative(lambda x: self.hamiltonian(x, self.y, self.s.time), self.s.q) @ self.view.frame[:, : self.k]

    @cached_property
    def hamiltonian_by_y(self) -> Any:
        """dH*/dy_r, (n,)."""
        return derivative(lambda y: self.hamiltonian(self.s.q, y, self.s.time), self.y)


@cache
def seen(bent: bool = True) -> tuple[Seen, ...]:
    """Random instants in random quasi-velocities of all kinds."""
    return tuple(Seen(s, view) for s, view in quasi_instants(bent))


def over_seen(residual: Callable[[Seen], Any], bent: bool = True) -> float:
    """The worst residual over them."""
    return worst(residual(item) for item in seen(bent))


@cache
def hamel_probe(kind: str, equations_kind: str) -> Probe:
    """The library's Hamel equations of a random system in random quasi-velocities that it can invert."""
    stated = quasi_twin(kind).expressions()
    return Probe(derive(bound_twin(kind).system, "hamel", quasi_velocities=stated, kind=equations_kind), {})


def _library_hamel(equations_kind: str) -> float:
    """The library's rates of q and eta against velocities, and eta_dot by complex steps along dense accelerations."""

    def residual(item: Seen) -> float:
        view, s = item.view, item.s
        z, _ = s.twin.accelerations(s.q, s.v, s.time)
        expected = np.concatenate([s.v, QuasiInstant(view.quasi, s.time, s.q, s.v, z).eta_rate[: s.k]])
        found = hamel_probe(s.twin.kind, equations_kind).rates(s.time, np.concatenate([s.q, view.eta[: s.k]]))
        return distance(found, expected)

    return over_seen(residual, bent=False)


@claim(
    "R-3.1",
    "Maggi's equations: (d/dt L_v_i - L_q_i) F_is = 0",
    how=f"{MOTION}: Euler's operator on F_eta; accelerations of the library's Maggi form against one dense system",
)
def maggi_equations() -> float:
    found = [over_seen(lambda item: worst(item.s.euler @ item.view.frame[:, : item.k]))]
    for s in instants():
        rates = bound_probe(s.twin.kind, "maggi").rates(s.time, np.concatenate([s.q, s.w]))
        found.append(distance(rates[len(s.q) :], s.twin.accelerations(s.q, s.v, s.time)[0][: s.k]))
    return worst(found)


@claim(
    "R-3.2-chain",
    "L_q = L*_q + L*_eta f_q, L_v = L*_eta f_v, and d/dt L_v = (d/dt L*_eta) f_v + L*_eta d/dt f_v",
    how=f"{BENT}: complex steps of L, L* and f; the library's L*_eta on the constraints",
)
def lagrangian_in_quasi_velocities() -> float:
    def residual(item: Seen) -> float:
        s, view = item.s, item.view
        at_eta = derivative(lambda x: item.lagrangian(x, view.eta, s.time), s.q)
        by_position = at_eta + item.y @ derivative(lambda x: view.quasi.definition(x, s.v, s.time), s.q)
        rate = item.y_rate @ view.rows + item.y @ view.rate(view.quasi.rows)
        return largest(
            distance(by_position, derivative(lambda x: s.twin.lagrangian(x, s.v, s.time), s.q)),
            distance(view.by_eta(item.lagrangian) @ view.rows, s.p),
            distance(rate, s.rate(s.twin.momenta)),
        )

    library = over_seen(lambda item: distance(item.view.library["lagrangian_by_eta"] @ item.view.rows, item.s.p), bent=False)
    return largest(over_seen(residual), library)


@claim(
    "R-3.2",
    "Hamel's equations: d/dt L*_eta_s + L*_eta_r W_s^r - dL*/dpi_s = 0 with eta_alpha = 0",
    how=f"{MOTION}; the library's Hamel form in random quasi-velocities against one dense system",
)
def hamel_equations() -> float:
    formula = over_seen(lambda item: worst(item.y_rate[: item.k] + item.y @ item.W - item.by_pi))
    return largest(formula, _library_hamel("first"))


@claim(
    "R-3.3",
    "The second kind: d/dt L*_eta_s - L*_eta_i f_ir T_s^r - dL*/dpi_s = 0 with eta_alpha = 0",
    how=f"{MOTION}; the library's form of the second kind in random quasi-velocities against one dense system",
)
def hamel_equations_of_second_kind() -> float:
    formula = over_seen(lambda item: worst(item.y_rate[: item.k] - item.y @ item.view.rows @ item.T - item.by_pi))
    return largest(formula, _library_hamel("second"))


@claim(
    "R-3.3-momenta",
    "The factor L*_eta_r f_ri in them is L_v_i",
    how=f"{MOTION}: the equations of the second kind with the library's momenta in its place",
)
def hamel_equations_with_momenta() -> float:
    return over_seen(
        lambda item: worst(item.y_rate[: item.k] - item.s.library["momenta"] @ item.T - item.by_pi),
    )


@claim(
    "R-3.3-order",
    "eta_alpha = 0 may be put in only after all L*_eta_r are formed: without the L*_eta_alpha the equations miss L*_eta_alpha"
    " W_s^alpha",
    how=f"{MOTION}: the equations with r = 1..k only, against the missing term, which must not vanish",
)
def order_of_substitution() -> float:
    def residual(item: Seen) -> float:
        k = item.k
        early = item.y_rate[:k] + item.y[:k] @ item.W[:k] - item.by_pi
        missing = item.y[k:] @ item.W[k:]
        return largest(distance(early, -missing), excess(1e-3 - np.max(np.abs(missing))))

    return over_seen(residual)


@claim(
    "R-3.4",
    "Hoelder's form in quasi-coordinates: the integral of dL* vanishes, and it is the integral of dL",
    how=f"{MOTION}: dL* with d(eta) from the transitivity equations, less d/dt (y_s dpi_s); and against dL along the varied"
    " curve",
)
def holder_in_quasi_coordinates() -> float:
    def residual(item: Seen) -> float:
        s, view = item.s, item.view
        varied = item.y @ item.d_eta + item.by_pi @ s.sigma
        turning = view.rate(lambda q, v, time: np.linalg.inv(view.quasi.rows(q, v, time)))[:, : item.k]
        dq, dv = view.frame[:, : item.k] @ s.sigma, turning @ s.sigma + view.frame[:, : item.k] @ s.sigma_dot
        return largest(varied - item.boundary_rate, distance(varied, s.varied(s.twin.lagrangian, dq, dv)))

    return over_seen(residual)


def _plain_momenta(s: Instant) -> Any:
    """y_s for eta_s = q_dot_s on the constraints, (k,): the library's canonical symbols."""
    return s.twin.constrained_momenta(s.q, s.w, s.time)


def _library_canonical(form: str, **options: Any) -> float:
    """The library's rates of q and y_s against velocities, and rates of y_s along dense accelerations."""
    found = []
    for s in instants(QUADRATIC):
        z, _ = s.twin.accelerations(s.q, s.v, s.time)
        expected = np.concatenate([s.v, s.moved(z[: s.k]).rate_on(s.twin.constrained_momenta)])
        state = np.concatenate([s.q, _plain_momenta(s)])
        found.append(distance(bound_probe(s.twin.kind, form, **options).rates(s.time, state), expected))
    return worst(found)


@claim(
    "R-3.5",
    "y_r = L*_eta_r for all r = 1..n and H*(q, y, t) = y_r eta_r - L* have eta_r = H*_y_r and dH*/dpi_s = -dL*/dpi_s",
    how=f"{BENT}: derivatives of H* by complex steps of the inverted momenta; velocities of the library's canonical form from"
    " its y_s",
)
def legendre_in_quasi_velocities() -> float:
    def residual(item: Seen) -> float:
        return largest(
            distance(item.view.by_eta(item.lagrangian), item.y),
            distance(item.hamiltonian_by_y, item.view.eta),
            distance(item.hamiltonian_by_pi, -item.by_pi),
        )

    found = [over_seen(residual)]
    for s in instants(QUADRATIC):
        rates = bound_probe(s.twin.kind, "canonical-quasi").rates(s.time, np.concatenate([s.q, _plain_momenta(s)]))
        found.append(distance(rates[: len(s.q)], s.v))
    return worst(found)


@claim(
    "R-3.6",
    "y_dot_s + y_r W_s^r + dH*/dpi_s = 0, eta_s = H*_y_s and H*_y_alpha = 0, with r = 1..n",
    how=f"{MOTION}: derivatives of H* by complex steps; the library's canonical form against one dense system",
)
def canonical_equations() -> float:
    def residual(item: Seen) -> float:
        left = item.y_rate[: item.k] + item.y @ item.W + item.hamiltonian_by_pi
        bound = np.concatenate([item.view.eta[: item.k], np.zeros(item.s.twin.r)])
        return largest(worst(left), distance(item.hamiltonian_by_y, bound))

    return largest(over_seen(residual), _library_canonical("canonical-quasi"))


@claim(
    "R-3.7",
    "The second kind: y_dot_s - y_r f_ri T_s^i + dH*/dpi_s = 0 with the same eta",
    how=f"{MOTION}: derivatives of H* by complex steps; the library's canonical form of the second kind against one dense"
    " system",
)
def canonical_equations_of_second_kind() -> float:
    def residual(item: Seen) -> float:
        return worst(item.y_rate[: item.k] - item.y @ item.view.rows @ item.T + item.hamiltonian_by_pi)

    return largest(over_seen(residual), _library_canonical("canonical-quasi", kind="second"))


@claim(
    "R-3.8",
    "Hoelder's second form: the integral of d(eta_r y_r - H*) vanishes, for dy that are arbitrary and independent of dpi",
    how=f"{MOTION}: the integrand for random dpi, its rate and random dy, less d/dt (y_s dpi_s)",
)
def second_holder_form() -> float:
    random = np.random.default_rng(41)

    def residual(item: Seen) -> float:
        s, view = item.s, item.view
        dq, dy = view.frame[:, : item.k] @ s.sigma, random.uniform(-1, 1, len(s.q))
        change = derivative(lambda e: item.hamiltonian(s.q + e[0] * dq, item.y + e[0] * dy, s.time), [0.0])[0]
        return float(item.y @ item.d_eta + view.eta @ dy - change) - item.boundary_rate

    return over_seen(residual)
