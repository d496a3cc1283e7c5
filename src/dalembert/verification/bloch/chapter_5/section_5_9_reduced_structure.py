"""Bloch and others, Internet Supplement, section 5.9: the reduced equations with curvature; momenta
(5.9.52-5.9.63).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ....typing import Array
from ...independent.planar_bundles import PlanarSample, frame, planar_probe
from ...independent.planar_charts import (
    covariant,
    curvature_on,
    forms_on_constraints,
    gap_of_spans,
    generator,
    momentum_rate,
    on_tangent_bundle,
    preimage,
    section_derivatives,
    shape_left_side,
    spatial,
    turned_sections,
)
from ...numeric import Residual, derivative, distance, excess
from ...row_registry import Corrected, listed
from .section_5_9_states import (
    APART,
    library_blocks,
    library_frame,
    library_rates,
    library_state,
    points,
    rate,
    wandering,
)

UNIT = np.eye(2)
#: Systems whose constraints do not contain r_dot.
plain = points.of("snakeboard", "bicycle")


@listed("B-5.9.52", over=points)
def compact_equations(s: PlanarSample) -> Residual:
    force = s.library.compact_shape_force(s.v, s.p)
    return [distance(shape_left_side(s, *rates), force) for rates in (s.rates, s.exact)]


@listed("B-5.9.53", over=points)
def curvature(s: PlanarSample) -> Residual:
    table = np.array([[curvature_on(s, second, first) for second in UNIT] for first in UNIT])
    found = np.einsum("ab,bxy->xya", s.library.frame, s.library.curvature)
    return distance(found, table)


@listed("B-5.9.54", over=points)
def derivative_of_the_lift(s: PlanarSample) -> Residual:
    found = np.stack([covariant(s, direction)[1] for direction in UNIT], axis=1)
    own = np.einsum("ab,bix,i->ax", s.library.frame, s.library.lift_derivative, s.p)
    return distance(own, found)


@listed("B-5.9.55", over=points)
def momentum_equation(s: PlanarSample) -> Residual:
    return distance(s.library.momentum_rate(s.v, s.p), s.exact[1])


@listed("B-5.9.56", over=points)
def transport(s: PlanarSample) -> Residual:
    c, m, still, zero = s.library, s.planar.m, np.zeros(2), np.zeros(s.planar.m)
    mixed = momentum_rate(s) - momentum_rate(s, still, s.p) - momentum_rate(s, s.v, zero)
    table = (
        -np.einsum("jai,ax->jix", c.structure[:m, :, :m], c.connection)
        + c.gamma[:m]
        + np.einsum("ex,eli,lj->jix", c.lam[m:], c.structure[m:, :m, :m], c.inverse)
    )
    found = np.einsum("jix,x,j->i", table, s.v, s.p)
    return distance(table, c.transport), distance(found, mixed)


@listed("B-5.9.57", over=points)
def shape_drive(s: PlanarSample) -> Residual:
    found = momentum_rate(s, s.v, np.zeros(s.planar.m))
    return distance(np.einsum("xyb,x,y->b", s.library.shape_drive, s.v, s.v), found)


@listed("B-5.9.58", over=points)
def derivatives_of_the_section(s: PlanarSample) -> Residual:
    found = np.einsum("ac,cbx->abx", s.library.frame, s.library.gamma)
    return distance(found, section_derivatives(s))


@listed("B-5.9.59", over=points)
def orthogonality_defect(s: PlanarSample) -> Residual:
    none = np.zeros(s.planar.m)
    found = np.stack([s.planar.body_momenta(s.r, v, none)[1] for v in UNIT], axis=1)
    return distance(s.library.lam, s.library.frame.T @ found)


# -- diagnostics -----------------------------------------------------------------------------------


@listed("B-5.9.60")
def allowed_without_the_connection() -> Residual:
    def gap(s: PlanarSample) -> float:
        """Of the span of e_i, d/dr, d/dr_dot and d/dp from K."""
        return gap_of_spans(library_frame(s, lifted=False), preimage(s))

    return plain.worst(gap), excess(APART - min(map(gap, points("random"))))


@listed("B-5.9.60-omitted")
def omitted_part() -> Residual:
    def residual(s: PlanarSample) -> Residual:
        form, energy, _ = forms_on_constraints(s)
        return distance((form.T @ s.field)[3:], energy[3:])

    return plain.worst(residual), excess(APART - points.of("random").worst(residual))


def _wandering(s: PlanarSample) -> Array:
    """Accelerations of a curve that obeys the constraints and no equations of motion (5,)."""
    return wandering(s, 0.5, -0.8)


def _sections(s: PlanarSample, q: Array) -> Array:
    """(xi^q)_Q (3, m) on (x, y, theta)."""
    return np.asarray(frame(q[2]) @ s.planar.section(q[3:]))


def _noether(s: PlanarSample, z: Array) -> Array:
    """d/dt (L_u . xi_Q) - L_u . (d/dt xi^q)_Q (m,) along accelerations z."""

    def paired(w: complex) -> Array:
        q = s.q + w * s.u
        return np.asarray(_sections(s, q).T @ s.planar.momenta(q, s.u + w * z)[:3])

    return np.asarray(rate(paired) - turned_sections(s).T @ s.planar.momenta(s.q, s.u)[:3])


@listed("B-Proposition-5.9.3", over=points)
def euler_expression_on_sections(s: PlanarSample) -> Residual:
    blocks = library_blocks(s, "lagrange")
    z = _wandering(s)
    left = _sections(s, s.q).T @ (blocks.G @ z - blocks.f)[:3]
    return distance(left, _noether(s, z))


@listed("B-5.9.61", over=points)
def identity_of_noether(s: PlanarSample) -> Residual:
    z, field = _wandering(s), _sections(s, s.q)
    probe = planar_probe(s.planar.kind, "lagrange")
    reaction = probe.reaction(0.0, library_state(s, "lagrange"))
    euler = s.planar.euler(s.q, s.u, z)[:3]
    return distance(field.T @ euler, _noether(s, z)), field.T @ reaction[:3]


@listed("B-5.9.61-invariance", over=points)
def infinitesimal_invariance(s: PlanarSample) -> Corrected:
    momenta = library_blocks(s, "lagrange").momenta[:3]
    by_place = derivative(lambda q: s.planar.full_lagrangian(q, s.u), s.q)[:3]
    right, printed = [], []
    for eta in np.eye(3):
        turned = np.array([-eta[2] * s.u[1], eta[2] * s.u[0], 0.0])
        right.append(by_place @ generator(s.q, eta) + momenta @ turned)
        printed.append(momenta @ (generator(s.q, eta) + turned))
    return Corrected(right, printed)


def _upper_lift(s: PlanarSample) -> Array:
    """(xi_Q)' in T and K: the symmetries of D over the sections, as vectors of TTQ (10, m)."""

    def moved(eta: Array, w: complex) -> Array:
        c, si = np.cos(w * eta[2]), np.sin(w * eta[2])
        turn = np.array([[c, -si], [si, c]])
        place = turn @ s.q[:2] + w * eta[:2]
        return np.concatenate([place, [s.q[2] + w * eta[2]], s.r, turn @ s.u[:2], s.u[2:]])

    elements = [spatial(s.q, field) for field in _sections(s, s.q).T]
    return np.stack([rate(partial(moved, eta)) for eta in elements], axis=1)


@listed("B-5.9.62", over=points)
def noether_by_forms(s: PlanarSample) -> Residual:
    form, energy, _, K = on_tangent_bundle(s)
    z, lifted = _wandering(s), _upper_lift(s)
    blocks = library_blocks(s, "lagrange")
    found = (energy - form.T @ np.concatenate([s.u, z])) @ lifted
    return (
        distance(found, _noether(s, z)),
        distance(found, lifted[:5].T @ (blocks.G @ z - blocks.f)),
        lifted - K @ (K.T @ lifted),
    )


@listed("B-5.9.63")
def momentum_equation_along_motions() -> Residual:
    gap = min(np.max(np.abs(_noether(s, _wandering(s)))) for s in points("random"))
    found = (_noether(s, library_rates(s, "lagrange")[5:]) for s in points)
    return *found, excess(APART - gap)
