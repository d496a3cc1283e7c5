"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 3, Voronets in canonical form (3.19-3.21)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ... import gallery
from ..independent.instant_samples import Instant, bound_probe, instants, over_instants, solved_near
from ..numeric import derivative, distance, gallery_probe, largest, worst
from ..row_registry import Corrected, claim
from .hamel_equations import QUADRATIC


@dataclass(frozen=True)
class Plain:
    """Momenta P_s = Theta_q_dot_s of the independent velocities, and their Hamiltonian H(q, P, t)."""

    s: Instant

    @cached_property
    def momenta(self) -> Any:
        """P (k,)."""
        return self.s.twin.constrained_momenta(self.s.q, self.s.w, self.s.time)

    def hamiltonian(self, q: Any, momenta: Any, time: Any) -> Any:
        """H = P_s q_dot_s - Theta - U near this state."""
        twin = self.s.twin
        w = solved_near(lambda x: twin.constrained_momenta(q, x, time), self.s.w, momenta, self._hessian)
        return momenta @ w - twin.constrained_lagrangian(q, w, time)

    @cached_property
    def _hessian(self) -> Any:
        return derivative(lambda w: self.s.twin.constrained_momenta(self.s.q, w, self.s.time), self.s.w)

    @cached_property
    def by_position(self) -> Any:
        """H_q at fixed P, (n,)."""
        return derivative(lambda x: self.hamiltonian(x, self.momenta, self.s.time), self.s.q)

    @cached_property
    def by_momenta(self) -> Any:
        """H_P, (k,)."""
        return derivative(lambda y: self.hamiltonian(self.s.q, y, self.s.time), self.momenta)


@claim(
    "R-3.19",
    "P_s = Theta_q_dot_s and H(q, P, t) = P_s q_dot_s - Theta - U have q_dot_s = H_P_s and H_q = -(Theta + U)_q",
    how="random constraints: complex steps of the inverted momenta against the library's derivatives of Theta + U; velocities"
    " of its canonical Voronets form from its momenta",
)
def plain_legendre() -> float:
    def residual(s: Instant) -> float:
        c = Plain(s)
        return largest(
            distance(s.library["constrained_by_w"], c.momenta),
            distance(c.by_momenta, s.w),
            distance(c.by_position, -s.library["constrained_by_q"]),
        )

    found = [over_instants(residual)]
    for s in instants(QUADRATIC):
        state = np.concatenate([s.q, Plain(s).momenta])
        found.append(distance(bound_probe(s.twin.kind, "canonical-voronets").rates(s.time, state)[: len(s.q)], s.v))
    return worst(found)


def _canonical_climb() -> float:
    """The library's canonical form of Appell's nonlinear constraint against the closed motion."""
    scenario, found = gallery.load("appell"), []
    m, g, a = (scenario.parameters[name] for name in ("m", "g", "a"))
    for q, w in zip(*np.random.default_rng(6).uniform(0.5, 2, (2, 3, 3)), strict=True):
        speed = np.hypot(*w[:2])
        expected = [*w[:2], a * speed, *(-m * g * a * w[:2] / speed)]
        state = np.concatenate([q, m * (1 + a**2) * w[:2]])
        found.append(distance(gallery_probe("appell", "canonical-voronets").rates(0.0, state), expected))
    return worst(found)


@claim(
    "R-3.20",
    "P_dot_s + H_q_s + H_q_alpha phi_alpha,q_dot_s - T_q_dot_alpha A_s^alpha = 0 and q_dot_s = H_P_s, to which q_dot_alpha ="
    " phi belongs",
    how="random constraints at library accelerations: complex steps of H, library momenta and symbols; the library's canonical"
    " Voronets form against one dense system and against Appell's particle in closed form",
)
def plain_canonical_equations() -> float:
    def residual(s: Instant) -> float:
        term = s.library["momenta"][s.k :] @ s.library["symbols"]
        return worst(s.rate_on(s.twin.constrained_momenta) + Plain(s).by_position @ s.frame - term)

    found = [over_instants(residual), _canonical_climb()]
    for s in instants(QUADRATIC):
        moving = s.moved(s.twin.accelerations(s.q, s.v, s.time)[0][: s.k])
        expected = np.concatenate([s.v, moving.rate_on(s.twin.constrained_momenta)])
        state = np.concatenate([s.q, Plain(s).momenta])
        found.append(distance(bound_probe(s.twin.kind, "canonical-voronets").rates(s.time, state), expected))
    return worst(found)


@claim(
    "R-3.21",
    "The integral of d(P_s q_dot_s - H) + T_q_dot_alpha A_s^alpha dq_s vanishes; the print lacks dq_s",
    how="random constraints at library accelerations, random dq_s and dP_s, library momenta and symbols: the integrand less"
    " d/dt (P_s dq_s); as printed, the term summed over s without dq_s",
)
def plain_second_form() -> Corrected:
    def parts(s: Instant) -> tuple[float, Any]:
        c, dy = Plain(s), np.array([0.5, -0.8])[: s.k]
        change = derivative(lambda e: c.hamiltonian(s.q + e[0] * s.dq, c.momenta + e[0] * dy, s.time), [0.0])[0]
        rest = c.momenta @ s.sigma_dot + s.w @ dy - change
        boundary = s.rate_on(s.twin.constrained_momenta) @ s.sigma + c.momenta @ s.sigma_dot
        return float(rest - boundary), s.library["momenta"][s.k :] @ s.library["symbols"]

    found = [(*parts(s), s.sigma) for s in instants()]
    right = worst(rest + term @ sigma for rest, term, sigma in found)
    return Corrected(right, worst(rest + np.sum(term) for rest, term, _ in found))
