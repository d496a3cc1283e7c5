"""Rumyantsev: section 3, Voronets in canonical form (eqs. 3.19 to 3.21)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ... import gallery
from ...typing import Array
from ..independent.instant_samples import MotionSample, bound_probe, motions, solved_near
from ..numeric import Residual, derivative, distance, gallery_probe
from ..row_registry import Corrected, listed
from .hamel_equations import canonical_residual, canonical_state, dense_accelerations, quadratic


@dataclass(frozen=True)
class ConstrainedMomenta:
    """Momenta P_s = Theta_q_dot_s of the independent velocities, and H(q, P, t)."""

    s: MotionSample

    @cached_property
    def momenta(self) -> Any:
        """P (k,)."""
        return self.s.model.constrained_momenta(self.s.q, self.s.w, self.s.time)

    def hamiltonian(self, q: Array, momenta: Array, time: float) -> Any:
        """H = P_s q_dot_s - Theta - U near this state."""
        model, near = self.s.model, self.s.w
        w = solved_near(
            lambda x: model.constrained_momenta(q, x, time), near, momenta, self._hessian
        )
        return momenta @ w - model.constrained_lagrangian(q, w, time)

    @cached_property
    def _hessian(self) -> Array:
        s = self.s
        return derivative(lambda w: s.model.constrained_momenta(s.q, w, s.time), s.w)

    @cached_property
    def by_position(self) -> Array:
        """H_q at fixed P, (n,)."""
        return derivative(lambda x: self.hamiltonian(x, self.momenta, self.s.time), self.s.q)

    @cached_property
    def by_momenta(self) -> Array:
        """H_P, (k,)."""
        return derivative(lambda y: self.hamiltonian(self.s.q, y, self.s.time), self.momenta)


@listed("R-3.19")
def plain_legendre() -> Residual:
    def residual(s: MotionSample) -> Residual:
        c = ConstrainedMomenta(s)
        return (
            distance(s.library["constrained_by_w"], c.momenta),
            distance(c.by_momenta, s.w),
            distance(c.by_position, -s.library["constrained_by_q"]),
        )

    def library(s: MotionSample) -> float:
        rates = bound_probe(s.model.kind, "canonical-voronets").rates(s.time, canonical_state(s))
        return distance(rates[: len(s.q)], s.v)

    return motions.worst(residual), quadratic.worst(library)


def _canonical_climb() -> list[float]:
    """The library's canonical form of Appell's nonlinear constraint against the closed motion."""
    scenario, found = gallery.load("appell"), []
    m, g, a = (scenario.parameters[name] for name in ("m", "g", "a"))
    probe = gallery_probe("appell", "canonical-voronets")
    for q, w in zip(*np.random.default_rng(6).uniform(0.5, 2, (2, 3, 3)), strict=True):
        speed = np.hypot(*w[:2])
        expected = [*w[:2], a * speed, *(-m * g * a * w[:2] / speed)]
        state = np.concatenate([q, m * (1 + a**2) * w[:2]])
        found.append(distance(probe.rates(0.0, state), expected))
    return found


@listed("R-3.20")
def plain_canonical_equations() -> Residual:
    def residual(s: MotionSample) -> Any:
        term = s.library["momenta"][s.k :] @ s.library["symbols"]
        rate = s.rate_on(s.model.constrained_momenta)
        return rate + ConstrainedMomenta(s).by_position @ s.frame - term

    def implicit(s: MotionSample) -> float:
        rates = bound_probe(s.model.kind, "canonical-voronets").rates(s.time, s.state)
        return distance(rates[len(s.q) :], dense_accelerations(s))

    library = [canonical_residual(s, "canonical-voronets") for s in quadratic]
    library += [implicit(s) for s in motions.of("nonlinear", "general")]
    return motions.worst(residual), _canonical_climb(), library


@listed("R-3.21", over=motions)
def plain_second_form(s: MotionSample) -> Corrected:
    c, dy = ConstrainedMomenta(s), np.array([0.5, -0.8])[: s.k]
    along = derivative(
        lambda e: c.hamiltonian(s.q + e[0] * s.dq, c.momenta + e[0] * dy, s.time), [0.0]
    )
    varied = c.momenta @ s.sigma_dot + s.w @ dy - along[0]
    boundary = s.rate_on(s.model.constrained_momenta) @ s.sigma + c.momenta @ s.sigma_dot
    rest, term = float(varied - boundary), s.library["momenta"][s.k :] @ s.library["symbols"]
    return Corrected(rest + term @ s.sigma, rest + np.sum(term))
