"""Rumyantsev: section 3, Voronets in quasi-coordinates and canonical forms (eqs. 3.9 to 3.18).

Each formula is tried twice: with quasi-velocities that have no inverse in closed form and symbols
by complex steps, and with the library's symbols W and T, its derivatives of L* and its momenta.
Accelerations are the library's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...typing import Array
from ..independent.instant_samples import MotionSample, bound_probe
from ..numeric import Residual, derivative, distance
from ..row_registry import Corrected, listed
from .hamel_equations import canonical_motion, quadratic
from .quasi_motions import ConstrainedQuasiMotion, QuasiMotion, constrained, straight


@listed("R-3.9", over=straight)
def constrained_energy(m: QuasiMotion) -> Residual:
    c, library, view = ConstrainedQuasiMotion(m), m.view.library, m.view
    kinetic = view.by_eta(lambda q, e, t: m.s.model.kinetic(q, view.velocities(q, e, t), t))
    return (
        distance(library["lagrangian_by_eta"][: c.k], c.by_eta),
        distance(library["lagrangian_by_pi"], c.by_pi),
        distance(library["lagrangian_by_eta"][c.k :], kinetic[c.k :]),
    )


@listed("R-3.10", over=constrained, misprint={"one_index": False})
def voronets_equations(c: ConstrainedQuasiMotion, one_index: bool = True) -> Any:
    term = c.y @ c.W if one_index else np.sum(c.y) * np.sum(c.W, axis=0)
    return c.item.y_rate[: c.k] - c.by_pi + term


listed("R-3.11", over=constrained)(lambda c: c.item.y_rate[: c.k] - c.by_pi - c.p @ c.T)


@listed("R-3.12", over=constrained)
def voronets_principle(c: ConstrainedQuasiMotion) -> Residual:
    varied = c.variation(c.d_eta) - c.bound_work
    return varied - c.item.boundary_rate, distance(c.item.integrands.voronets[0], varied)


@listed("R-3.13", over=constrained)
def voronets_principle_with_inverse(c: ConstrainedQuasiMotion) -> Corrected:
    first, second = c.variation(c.d_eta), c.variation(c.s.sigma_dot)
    end = c.item.boundary_rate
    printed = min(abs(change - c.work - end) for change in (first, second))
    public, right = c.item.integrands, (first + c.inverse_work, second + c.work)
    found = distance(np.array([public.suslov[0], public.reduced[0]]), np.array(right))
    return Corrected((right[0] - end, right[1] - end, found), printed)


@listed("R-3.14")
def legendre_on_constraints() -> Corrected:
    def speeds(s: MotionSample, y: Array) -> Any:
        probe = bound_probe(s.model.kind, "canonical-quasi")
        return probe.rates(s.time, np.concatenate([s.q, y]))[: s.k]

    def regular(s: MotionSample) -> Any:
        # eta_s = q_dot_s is affine in y, so that a difference is its derivative.
        y = s.model.constrained_momenta(s.q, s.w, s.time)
        steps = [speeds(s, y + step) - speeds(s, y) for step in np.eye(s.k)]
        return np.linalg.inv(np.array(steps).T)

    def hessian(s: MotionSample) -> Array:
        return derivative(lambda w: s.model.constrained_momenta(s.q, w, s.time), s.w)

    def transformed(c: ConstrainedQuasiMotion) -> Residual:
        by_y = derivative(lambda y: c.hamiltonian(c.s.q, y, c.s.time), c.y[: c.k])
        return distance(by_y, c.eta), distance(c.by_eta, c.y[: c.k])

    right = [distance(hessian(s), regular(s)) for s in quadratic]
    printed = [distance(np.eye(s.k), regular(s)) for s in quadratic]
    public = [straight.worst(canonical_motion)]
    return Corrected((constrained.worst(transformed), right, public), printed)


@listed("R-3.15", over=constrained)
def canonical_voronets(c: ConstrainedQuasiMotion) -> Corrected:
    printed = c.item.y_rate[: c.k] + c.hamiltonian_by_pi + c.bound_symbols
    return Corrected(printed + c.y[: c.k] @ c.W[: c.k], printed)


@listed("R-3.16", over=constrained)
def canonical_voronets_of_second_kind(c: ConstrainedQuasiMotion) -> Corrected:
    left = c.item.y_rate[: c.k] + c.hamiltonian_by_pi
    return Corrected(left - c.p @ c.T, left - c.y @ c.T)


listed("R-3.17", over=constrained)(
    lambda c: c.canonical_variation(c.d_eta) - c.bound_work - c.item.boundary_rate
)


@listed("R-3.18", over=constrained)
def second_voronets_form_with_inverse(c: ConstrainedQuasiMotion) -> Corrected:
    first, second = c.canonical_variation(c.d_eta), c.canonical_variation(c.s.sigma_dot)
    end = c.item.boundary_rate
    return Corrected((first + c.inverse_work - end, second + c.work - end), first + c.work - end)


@listed("R-3.18-chain", over=constrained)
def equal_variations(c: ConstrainedQuasiMotion) -> Corrected:
    d_eta = np.concatenate([c.d_eta, -c.W[c.k :] @ c.s.sigma])
    whole, change = float(c.y @ d_eta + c.item.by_pi @ c.s.sigma), c.variation(c.d_eta)
    right = distance(change - c.bound_work, whole), distance(change + c.inverse_work, whole)
    return Corrected(right, distance(change + c.work, whole))
