"""Bloch and others, Internet Supplement, section 5.9: the steps of the proof of theorem 5.9.2
(5.9.36-5.9.51).

In the chart (x, y, theta, r, r_dot, p) of D: the fields e_i, the two-form written with dl/dxi, its
contractions, the energy.
"""

from __future__ import annotations

import numpy as np

from ....typing import Array
from ...independent.planar_bundles import CONSTANTS, PlanarSample, bracket, frame
from ...independent.planar_charts import (
    field_in_constraints,
    forms_on_constraints,
    gap_of_spans,
    momentum_rate,
    preimage,
    reduced_form,
    section_derivatives,
    shape_left_side,
)
from ...numeric import Residual, derivative, distance, null_space, worst
from ...row_registry import Corrected, listed
from .section_5_9_states import (
    ELSEWHERE,
    library_blocks,
    library_frame,
    library_rates,
    moved,
    points,
    rate,
)


def _body_velocity(s: PlanarSample) -> Array:
    """-A r_dot + Gamma p of the library (3,)."""
    return np.asarray(s.library.frame @ (s.library.lift @ s.p - s.library.connection @ s.v))


@listed("B-5.9.36", over=points)
def connection_and_lift(s: PlanarSample) -> Residual:
    xi = _body_velocity(s)
    return distance(xi, s.xi), s.planar.rows(s.r) @ np.concatenate([s.v, xi])


@listed("B-5.9.37", over=points.of("snakeboard", "bicycle"))
def constraint_submanifold(s: PlanarSample) -> Corrected:
    g_dot = library_rates(s, "reconstructed")[:3]
    E, c = frame(s.g[2]) @ s.library.frame, s.library
    right = E @ (c.lift @ s.p - c.connection @ s.v)
    printed = E @ (c.lift[:, 0] - c.connection @ s.v) * s.p[0]
    return Corrected(distance(right, g_dot), distance(printed, g_dot))


def _split(c: Array) -> tuple[Array, Array, Array]:
    return c[:2], c[2:4], c[4:]


@listed("B-5.9.38", over=points)
def complement_again(s: PlanarSample) -> Residual:
    form, _, K = forms_on_constraints(s)
    rows = np.linalg.matrix_rank(reduced_form(s).matrix[: s.planar.m])
    return ((K[:, : s.planar.m].T @ form) @ s.field, rows - s.planar.m)


@listed("B-5.9.39", over=points)
def span_of_allowed(s: PlanarSample) -> Residual:
    return gap_of_spans(library_frame(s), preimage(s))


@listed("B-5.9.40", over=points)
def symmetries_inside(s: PlanarSample) -> Residual:
    m = s.planar.m
    orbit = np.eye(7 + m)[:, :3]
    inside = orbit @ null_space(s.planar.full_rows(s.q)[:, :3])
    table = np.vstack([frame(s.g[2]) @ s.library.frame[:, :m], np.zeros((4 + m, m))])
    return gap_of_spans(table, inside)


def _momentum_derivatives(s: PlanarSample) -> Array:
    """dl/dr_dot and dl/dxi by (r, r_dot, p) (5, 4 + m)."""
    return derivative(lambda c: np.concatenate(s.planar.body_momenta(*_split(c))), s.z[3:])


def _wedges(s: PlanarSample) -> Array:
    """Omega_D as (dg^-1/dg) mu dg ^ dg + g^-1 dg ^ d mu + dr ^ d(dl/dr_dot) (7 + m, 7 + m)."""
    size = 7 + s.planar.m
    inverse = np.linalg.inv(frame(s.g[2]))
    turning = derivative(lambda t: np.linalg.inv(frame(t[0])).T @ s.derivatives[1], s.g[2:])
    derivatives = _momentum_derivatives(s)
    table = np.zeros((size, size))
    table[:3, 2:3] = turning  # component a, along c
    table[:3, 3:] = inverse.T @ derivatives[2:]
    table[3:5, 3:] = derivatives[:2]
    return table - table.T


@listed("B-5.9.40-form", over=points)
def form_by_parts(s: PlanarSample) -> Residual:
    form, _, K = forms_on_constraints(s)
    return (distance(_wedges(s), form), distance(reduced_form(s).matrix, K.T @ _wedges(s) @ K))


def _symmetry_rows(s: PlanarSample) -> Array:
    """dp_i - dl/dxi de_i - C^b_af dl/dxi^b e_i^f (g^-1)^a dg, as covectors on TD (m, 7 + m)."""
    m, mu, e = s.planar.m, s.derivatives[1], s.planar.section(s.r)
    inverse = np.linalg.inv(frame(s.g[2]))
    table = np.zeros((m, 7 + m))
    table[:, :3] = -np.einsum("afb,b,fi,ae->ie", CONSTANTS, mu, e, inverse)
    table[:, 3:5] = -np.einsum("f,fix->ix", mu, section_derivatives(s))
    table[:, 7:] = np.eye(m)
    return table


@listed("B-5.9.40-contraction", over=points)
def contraction_with_symmetries(s: PlanarSample) -> Residual:
    form, _, K = forms_on_constraints(s)
    rows, m = _symmetry_rows(s), s.planar.m
    return (distance(rows, K[:, :m].T @ form), distance(reduced_form(s).matrix[:m], rows @ K))


@listed("B-5.9.41", over=points)
def kernel_of_the_forms(s: PlanarSample) -> Residual:
    rows, own = _symmetry_rows(s) @ forms_on_constraints(s)[2], reduced_form(s).matrix
    return gap_of_spans(null_space(rows), null_space(own[: s.planar.m]))


@listed("B-5.9.42", over=points)
def momentum_equation_from_the_kernel(s: PlanarSample) -> Residual:
    rows = _symmetry_rows(s)
    other = s.rates[1] + np.linspace(0.2, 0.5, s.planar.m)
    return (
        rows @ field_in_constraints(s, s.a, s.rates[1]),
        distance(rows @ field_in_constraints(s, s.a, other), other - momentum_rate(s)),
    )


@listed("B-5.9.43", over=points)
def field_by_components(s: PlanarSample) -> Residual:
    return distance(library_rates(s, "reconstructed"), field_in_constraints(s, *s.exact))


@listed("B-5.9.44", over=points)
def reconstruction_and_momentum(s: PlanarSample) -> Residual:
    xi, turning = _body_velocity(s), (section_derivatives(s) @ s.v).T
    columns = zip(s.planar.section(s.r).T, turning, strict=True)
    return distance(s.rates[1], [s.derivatives[1] @ (bracket(xi, e) + t) for e, t in columns])


@listed("B-5.9.45", over=points)
def equation_to_be_reduced(s: PlanarSample) -> Residual:
    form, energy, K = forms_on_constraints(s)
    return distance(K.T @ (form.T @ s.field), K.T @ energy)


# -- the energy and the two-form on a field --------------------------------------------------------


def shape_momenta(s: PlanarSample, r: Array, v: Array, p: Array) -> Array:
    """dl_c/dr_dot (2,)."""
    w, mu = s.planar.body_momenta(r, v, p)
    return np.asarray(w - s.planar.connection(r).T @ mu)


@listed("B-5.9.45-energy", over=points)
def energy_on_constraints(s: PlanarSample) -> Residual:
    lifted = s.derivatives[1] @ s.planar.lift(s.r) @ s.p
    whole = lifted + shape_momenta(s, s.r, s.v, s.p) @ s.v
    found = whole - s.planar.on_constraints(s.r, s.v, s.p)
    return distance(found, library_blocks(s, "reduced").energy)


@listed("B-5.9.45-differential", over=points)
def differential_of_energy(s: PlanarSample) -> Residual:
    c, mu, lift = s.z[3:], s.derivatives[1], s.planar.lift(s.r)
    body = _momentum_derivatives(s)[2:]
    shape = derivative(lambda x: shape_momenta(s, *_split(x)), c)
    held = derivative(lambda x: s.planar.on_constraints(*_split(x)), c)
    held[2:4] = 0
    by_shape = derivative(lambda r: s.planar.lift(r) @ s.p, s.r)
    first = np.concatenate([mu @ by_shape, np.zeros(2), mu @ lift])
    whole = first + (lift @ s.p) @ body + s.v @ shape - held
    form = reduced_form(s)
    return (
        distance(whole, forms_on_constraints(s)[1][3:]),
        distance(whole @ form.directions, form.differential),
    )


def _contracted(s: PlanarSample, a: Array, p_dot: Array) -> Array:
    """The printed i_X Omega_D as a covector on TD (7 + m,)."""
    inverse, derivatives = np.linalg.inv(frame(s.g[2])), _momentum_derivatives(s)
    rates = derivatives @ np.concatenate([s.v, a, p_dot])
    table = np.zeros(7 + s.planar.m)
    table[:3] = (np.einsum("fab,b,f->a", CONSTANTS, s.derivatives[1], s.xi) - rates[2:]) @ inverse
    table[3:] = s.xi @ derivatives[2:] + s.v @ derivatives[:2]
    table[3:5] -= rates[:2]
    return table


@listed("B-5.9.46", over=points)
def contraction_with_the_field(s: PlanarSample) -> Residual:
    form, _, K = forms_on_constraints(s)
    p_dot = s.rates[1] + 0.2
    inside = np.concatenate([s.library.inverse @ s.p, s.v, s.a, p_dot])
    found = _contracted(s, s.a, p_dot)
    return (
        distance(found, form.T @ field_in_constraints(s, s.a, p_dot)),
        distance(K.T @ found, reduced_form(s).matrix.T @ inside),
    )


@listed("B-5.9.47", over=points)
def both_sides(s: PlanarSample) -> Residual:
    sides = []
    for x in (s, moved(s, ELSEWHERE)):
        form, energy, K = forms_on_constraints(x)
        sides.append((K.T @ (form.T @ x.field), K.T @ energy))
    here, there = sides
    return *map(distance, there, here), *(side[: s.planar.m] for side in here)


def _group_part(s: PlanarSample) -> Array:
    """(C^b_fa dl/dxi^b xi^f - d/dt dl/dxi^a) (3,), along the library's motion."""
    change = s.along(lambda r, v, p: s.planar.body_momenta(r, v, p)[1])
    return np.asarray(np.einsum("fab,b,f->a", CONSTANTS, s.derivatives[1], s.xi) - change)


@listed("B-5.9.48", over=points)
def group_part_on_symmetries(s: PlanarSample) -> Residual:
    return worst(_group_part(s) @ s.library.frame[:, : s.planar.m])


@listed("B-5.9.49", over=points)
def reduced_field(s: PlanarSample) -> Residual:
    return distance(reduced_form(s).field, np.concatenate([s.v, *s.exact]))


@listed("B-5.9.50", over=points)
def reduced_momentum_equation(s: PlanarSample) -> Residual:
    return distance(reduced_form(s).field[4:], momentum_rate(s))


@listed("B-5.9.51", over=points)
def group_part_on_lifts(s: PlanarSample) -> Residual:
    lifts = forms_on_constraints(s)[2][:, s.planar.m : s.planar.m + 2]
    whole = _contracted(s, *s.rates)
    other = np.concatenate([np.zeros(3), whole[3:]])
    A = s.library.frame @ s.library.connection
    return distance((whole - other) @ lifts, -_group_part(s) @ A)


@listed("B-5.9.51-computed", over=points)
def before_simplification(s: PlanarSample) -> Residual:
    mu, A = s.derivatives[1], s.planar.connection(s.r)
    turned = rate(lambda w: s.planar.connection(s.r + w * s.v))
    inside = derivative(lambda r: s.planar.lift(r) @ s.p - s.planar.connection(r) @ s.v, s.r)
    right = -np.array([mu @ bracket(s.xi, A[:, x]) for x in range(2)]) - mu @ (turned + inside)
    return distance(shape_left_side(s, *s.rates), right)
