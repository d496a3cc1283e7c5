"""Bloch and others, Internet Supplement, section 5.9: the steps of the proof of theorem 5.9.2 (5.9.36-5.9.51).

In the chart (x, y, theta, r, r_dot, p) of D: the fields e_i, the two-form written with dl/dxi, its contractions, the energy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..independent.planar_bundles import CONSTANTS, Spot, bracket, frame, over_spots, planar_probe, spots
from ..independent.planar_charts import (
    field_in_constraints,
    forms_on_constraints,
    gap_of_spans,
    momentum_rate,
    preimage,
    reduced_form,
    section_derivatives,
    shape_left_side,
)
from ..numeric import derivative, distance, largest, null_space, worst
from ..row_registry import Corrected, claim

EVERY = "random planar system with a constraint on shape velocities, snakeboard, bicycle"


@claim(
    "B-5.9.36",
    "g^-1 g_dot = -A(r) r_dot + Gamma(r) p",
    how=f"{EVERY}: the library's A and Gamma against the body velocity from constraints and momenta; it obeys the rows",
)
def connection_and_lift() -> float:
    def residual(s: Spot) -> float:
        xi = s.library.frame @ (s.library.lift @ s.p - s.library.connection @ s.v)
        return largest(distance(xi, s.xi), worst(s.planar.rows(s.r) @ np.concatenate([s.v, xi])))

    return over_spots(residual)


@claim(
    "B-5.9.37",
    "D = {g_dot = g (-A r_dot + Gamma p)}; the print closes the bracket before p",
    how="snakeboard and bicycle: the library's A and Gamma in both, against its reconstructed rates",
)
def constraint_submanifold() -> Corrected:
    right, printed = [], []
    for s in (*spots("snakeboard"), *spots("bicycle")):
        g_dot = planar_probe(s.planar.kind, "reconstructed").rates(0.0, s.z)[:3]
        E, c = frame(s.g[2]) @ s.library.frame, s.library
        right.append(distance(E @ (c.lift @ s.p - c.connection @ s.v), g_dot))
        printed.append(distance(E @ (c.lift[:, 0] - c.connection @ s.v) * s.p[0], g_dot))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-5.9.38",
    "W = K and (T and K)^perp has codimension m in K and contains the motion",
    how=f"{EVERY}: the library's rows on the motion, dimensions",
)
def complement_again() -> float:
    def residual(s: Spot) -> float:
        form, _, K = forms_on_constraints(s)
        rows = np.linalg.matrix_rank(reduced_form(s).matrix[: s.planar.m])
        return largest(worst((K[:, : s.planar.m].T @ form) @ s.field), abs(rows - s.planar.m))

    return over_spots(residual)


@claim(
    "B-5.9.39",
    "K is spanned by e_i, lifts of d/dr^al, d/dr_dot and d/dp",
    how=f"{EVERY}: these fields with the library's section and connection against the kernel of the constraints",
)
def span_of_allowed() -> float:
    def residual(s: Spot) -> float:
        m, E, c = s.planar.m, frame(s.g[2]), s.library
        table = np.zeros((7 + m, 4 + 2 * m))
        table[:3, :m], table[:3, m : m + 2] = E @ c.frame[:, :m], -E @ c.frame @ c.connection
        table[3:, m:] = np.eye(4 + m)
        return gap_of_spans(table, preimage(s))

    return over_spots(residual)


@claim(
    "B-5.9.40",
    "T and K is spanned by the fields e_i",
    how=f"{EVERY}: the library's section against the intersection of K with all symmetries of D",
)
def symmetries_inside() -> float:
    def residual(s: Spot) -> float:
        m = s.planar.m
        orbit = np.eye(7 + m)[:, :3]
        inside = orbit @ null_space(s.planar.full_rows(s.q)[:, :3])
        table = np.vstack([frame(s.g[2]) @ s.library.frame[:, :m], np.zeros((4 + m, m))])
        return gap_of_spans(table, inside)

    return over_spots(residual)


def _wedges(s: Spot) -> Any:
    """Omega_D as (dg^-1/dg) mu dg ^ dg + g^-1 dg ^ d mu + dr ^ d(dl/dr_dot) (7 + m, 7 + m)."""
    m, size = s.planar.m, 7 + s.planar.m
    inverse = np.linalg.inv(frame(s.g[2]))
    turning = np.zeros((3, 3))
    turning[:, 2] = derivative(lambda t: np.linalg.inv(frame(t[0])).T @ s.derivatives[1], s.g[2:])[:, 0]  # component a, along c
    derivatives = derivative(lambda c: np.concatenate(s.planar.body_momenta(c[:2], c[2:4], c[4:])), s.z[3:])
    table = np.zeros((size, size))
    table[:3, :3] = turning
    table[:3, 3:] = inverse.T @ derivatives[2:]
    table[3:5, 3:] = derivatives[:2]
    assert derivatives.shape == (5, 4 + m)
    return table - table.T


@claim(
    "B-5.9.40-form",
    "Omega_D = (d(g^-1)/dg) dl/dxi dg ^ dg + g^-1 dg ^ d(dl/dxi) + dr ^ d(dl/dr_dot)",
    how=f"{EVERY}: the formula on the frame of K against the library's two-form, and on TD against dq ^ dp by complex steps",
)
def form_by_parts() -> float:
    def residual(s: Spot) -> float:
        form, _, K = forms_on_constraints(s)
        return largest(distance(_wedges(s), form), distance(reduced_form(s).matrix, K.T @ _wedges(s) @ K))

    return over_spots(residual)


def _symmetry_rows(s: Spot) -> Any:
    """dp_i - dl/dxi de_i - C^b_af dl/dxi^b e_i^f (g^-1)^a dg, as covectors on TD (m, 7 + m)."""
    m, mu, e = s.planar.m, s.derivatives[1], s.planar.section(s.r)
    inverse = np.linalg.inv(frame(s.g[2]))
    table = np.zeros((m, 7 + m))
    table[:, :3] = -np.einsum("afb,b,fi,ae->ie", CONSTANTS, mu, e, inverse)
    table[:, 3:5] = -np.einsum("f,fix->ix", mu, section_derivatives(s))
    table[:, 7:] = np.eye(m)
    return table


@claim(
    "B-5.9.40-contraction",
    "i_{e_i} Omega_D = dp_i - dl/dxi^f de_i^f - C^b_af dl/dxi^b e_i^f (g^-1)^a dg",
    how=f"{EVERY}: the formula on K against the rows of the library's form for e_i, and on TD against complex steps",
)
def contraction_with_symmetries() -> float:
    def residual(s: Spot) -> float:
        form, _, K = forms_on_constraints(s)
        rows, m = _symmetry_rows(s), s.planar.m
        return largest(distance(rows, K[:, :m].T @ form), distance(reduced_form(s).matrix[:m], rows @ K))

    return over_spots(residual)


@claim(
    "B-5.9.41",
    "W is the kernel of these forms in K",
    how=f"{EVERY}: kernel of the formula against that of the library's rows",
)
def kernel_of_theforms_on_constraints() -> float:
    def residual(s: Spot) -> float:
        K = forms_on_constraints(s)[2]
        return gap_of_spans(null_space(_symmetry_rows(s) @ K), null_space(reduced_form(s).matrix[: s.planar.m]))

    return over_spots(residual)


@claim(
    "B-5.9.42",
    "A field in W obeys p_dot_j = <dl/dxi, [xi, e_j] + e_dot_j>",
    how=f"{EVERY}: the formula for W on fields of K with the library's and with other momentum rates",
)
def momentum_equation_from_the_kernel() -> float:
    def residual(s: Spot) -> float:
        rows = _symmetry_rows(s)
        other = s.rates[1] + np.linspace(0.2, 0.5, s.planar.m)
        return largest(
            worst(rows @ field_in_constraints(s, s.a, s.rates[1])),
            distance(rows @ field_in_constraints(s, s.a, other), other - momentum_rate(s)),
        )

    return over_spots(residual)


@claim(
    "B-5.9.43",
    "X_W = g xi d/dg + r_dot d/dr + r_ddot d/dr_dot + p_dot d/dp",
    how=f"{EVERY}: rates of the library's reconstructed equations, component by component",
)
def field_by_components() -> float:
    def residual(s: Spot) -> float:
        found = planar_probe(s.planar.kind, "reconstructed").rates(0.0, s.z)
        return distance(found, field_in_constraints(s, *s.exact))

    return over_spots(residual)


@claim(
    "B-5.9.44",
    "xi = -A r_dot + Gamma p and p_dot_j = <dl/dxi, [xi, e_j] + e_dot_j>",
    how=f"{EVERY}: the library's A, Gamma and momentum rates together",
)
def reconstruction_and_momentum() -> float:
    def residual(s: Spot) -> float:
        xi = s.library.frame @ (s.library.lift @ s.p - s.library.connection @ s.v)
        e, turning = s.planar.section(s.r), section_derivatives(s) @ s.v
        rate = [s.derivatives[1] @ (bracket(xi, e[:, b]) + turning[:, b]) for b in range(s.planar.m)]
        return distance(s.rates[1], np.array(rate))

    return over_spots(residual)


@claim(
    "B-5.9.45",
    "i_X Omega_K = dE_K, whose ingredients follow",
    how=f"{EVERY}: the library's motion in Omega and dE by complex steps, on the frame of K",
)
def equation_to_be_reduced() -> float:
    def residual(s: Spot) -> float:
        form, energy, K = forms_on_constraints(s)
        return distance(K.T @ (form.T @ s.field), K.T @ energy)

    return over_spots(residual)


# -- the energy and the two-form on a field ----------------------------------------------------------------------------------


def shape_momenta(s: Spot, r: Any, v: Any, p: Any) -> Any:
    """dl_c/dr_dot (2,)."""
    w, mu = s.planar.body_momenta(r, v, p)
    return w - s.planar.connection(r).T @ mu


@claim(
    "B-5.9.45-energy",
    "On D the energy is dl/dxi^a Gamma^{ai} p_i + (dl_c/dr_dot) r_dot - l_c",
    how=f"{EVERY}: the formula against the energy of the library's reduced equations",
)
def energy_on_constraints() -> float:
    def residual(s: Spot) -> float:
        state = np.concatenate([s.r, s.v, s.p])
        found = planar_probe(s.planar.kind, "reduced").blocks(0.0, state).energy
        lifted = s.derivatives[1] @ s.planar.lift(s.r) @ s.p
        return distance(lifted + shape_momenta(s, s.r, s.v, s.p) @ s.v - s.planar.on_constraints(s.r, s.v, s.p), found)

    return over_spots(residual)


def _split(c: Any) -> tuple[Any, Any, Any]:
    return c[:2], c[2:4], c[4:]


@claim(
    "B-5.9.45-differential",
    "dE_D = dl/dxi^a (dGamma^{ai}/dr p_i dr + Gamma^{ai} dp_i) + Gamma^{ai} p_i d(dl/dxi^a) + r_dot d(dl_c/dr_dot) - dl_c/dr dr"
    " - dl_c/dp dp",
    how=f"{EVERY}: the formula by complex steps of its parts, on the library's H_bar against its dh",
)
def differential_of_energy() -> float:
    def residual(s: Spot) -> float:
        c, mu, lift = s.z[3:], s.derivatives[1], s.planar.lift(s.r)
        body = derivative(lambda x: s.planar.body_momenta(*_split(x))[1], c)
        shape = derivative(lambda x: shape_momenta(s, *_split(x)), c)
        held = derivative(lambda x: s.planar.on_constraints(*_split(x)), c)
        held[2:4] = 0
        first = np.concatenate([mu @ derivative(lambda r: s.planar.lift(r) @ s.p, s.r), np.zeros(2), mu @ lift])
        whole = first + (lift @ s.p) @ body + s.v @ shape - held
        form = reduced_form(s)
        return largest(distance(whole, forms_on_constraints(s)[1][3:]), distance(whole @ form.directions, form.differential))

    return over_spots(residual)


def _contracted(s: Spot, a: Any, p_dot: Any) -> Any:
    """The printed i_X Omega_D as a covector on TD (7 + m,)."""
    c, inverse = s.z[3:], np.linalg.inv(frame(s.g[2]))
    derivatives = derivative(lambda x: np.concatenate(s.planar.body_momenta(*_split(x))), c)
    rates = derivatives @ np.concatenate([s.v, a, p_dot])
    table = np.zeros(7 + s.planar.m)
    table[:3] = (np.einsum("fab,b,f->a", CONSTANTS, s.derivatives[1], s.xi) - rates[2:]) @ inverse
    table[3:] = s.xi @ derivatives[2:] + s.v @ derivatives[:2]
    table[3:5] -= rates[:2]
    return table


@claim(
    "B-5.9.46",
    "i_X Omega_D = xi^f d(dl/dxi^f) + (C^b_fa dl/dxi^b xi^f - d/dt dl/dxi^a) (g^-1)^a dg + i (dr ^ d(dl/dr_dot))",
    how=f"{EVERY}: the formula on fields of K with any rates against dq ^ dp, and on the frame of K with the library's matrix",
)
def contraction_with_the_field() -> float:
    def residual(s: Spot) -> float:
        form, _, K = forms_on_constraints(s)
        p_dot = s.rates[1] + 0.2
        inside = np.concatenate([s.library.inverse @ s.p, s.v, s.a, p_dot])
        found = _contracted(s, s.a, p_dot)
        return largest(
            distance(found, form.T @ field_in_constraints(s, s.a, p_dot)),
            distance(K.T @ found, reduced_form(s).matrix.T @ inside),
        )

    return over_spots(residual)


@claim(
    "B-5.9.47",
    "Both sides of i_X Omega_K = dE_K are invariant, and for X in W vanish on T and K",
    how=f"{EVERY}: library motion, both sides on the fields e_i and at two group elements",
)
def both_sides() -> float:
    def residual(s: Spot) -> float:
        other = Spot(s.planar, s.g + np.array([0.7, -0.4, 1.1]), s.r, s.v, s.p, s.a)
        sides = []
        for x in (s, other):
            form, energy, K = forms_on_constraints(x)
            sides.append((K.T @ (form.T @ x.field), K.T @ energy))
        m = s.planar.m
        return largest(
            distance(sides[1][0], sides[0][0]), distance(sides[1][1], sides[0][1]), *(worst(side[:m]) for side in sides[0])
        )

    return over_spots(residual)


def _group_part(s: Spot) -> Any:
    """(C^b_fa dl/dxi^b xi^f - d/dt dl/dxi^a) (3,), along the library's motion."""
    rate = s.along(lambda r, v, p: s.planar.body_momenta(r, v, p)[1])
    return np.einsum("fab,b,f->a", CONSTANTS, s.derivatives[1], s.xi) - rate


@claim(
    "B-5.9.48",
    "The one-form (C^b_fa dl/dxi^b xi^f - d/dt dl/dxi^a) (g^-1)^a dg vanishes on the fields e_i along motions in W",
    how=f"{EVERY}: complex steps along the library's motion, paired with its section",
)
def group_part_on_symmetries() -> float:
    return over_spots(lambda s: worst(_group_part(s) @ s.library.frame[:, : s.planar.m]))


@claim(
    "B-5.9.49",
    "The reduced field is r_dot d/dr + r_ddot d/dr_dot + p_dot d/dp",
    how=f"{EVERY}: the library's field on D/G from the two-form against multipliers",
)
def reduced_field() -> float:
    return over_spots(lambda s: distance(reduced_form(s).field, np.concatenate([s.v, *s.exact])))


@claim(
    "B-5.9.50",
    "with p_dot_i = <dl/dxi, [xi, e_i] + e_dot_i>",
    how=f"{EVERY}: the momentum rates of the library's two-form on D/G against complex steps",
)
def reduced_momentum_equation() -> float:
    return over_spots(lambda s: distance(reduced_form(s).field[4:], momentum_rate(s)))


@claim(
    "B-5.9.51",
    "On the lifts of d/dr^al that one-form is -(C^b_fa dl/dxi^b xi^f - d/dt dl/dxi^a) A^a_al dr^al",
    how=f"{EVERY}: what i_X Omega_D leaves on the library's lifts beside its other terms",
)
def group_part_on_lifts() -> float:
    def residual(s: Spot) -> float:
        lifts = forms_on_constraints(s)[2][:, s.planar.m : s.planar.m + 2]
        whole = _contracted(s, *s.rates)
        other = np.concatenate([np.zeros(3), whole[3:]])
        A = s.library.frame @ s.library.connection
        return distance((whole - other) @ lifts, -_group_part(s) @ A)

    return over_spots(residual)


@claim(
    "B-5.9.51-computed",
    "d/dt dl_c/dr_dot - dl_c/dr = -C^b_da dl/dxi^b xi^d A^a_al - dl/dxi^a (A_dot_al - dA_be/dr^al r_dot^be + d(Gamma p)/dr^al)",
    how=f"{EVERY}: library accelerations and momentum rates on the left, complex steps of A and Gamma on the right",
)
def before_simplification() -> float:
    def residual(s: Spot) -> float:
        mu, A = s.derivatives[1], s.planar.connection(s.r)
        turned = derivative(lambda w: s.planar.connection(s.r + w[0] * s.v).ravel(), [0.0])[:, 0].reshape(3, 2)
        inside = derivative(lambda r: s.planar.lift(r) @ s.p - s.planar.connection(r) @ s.v, s.r)
        right = -np.array([mu @ bracket(s.xi, A[:, x]) for x in range(2)]) - mu @ (turned + inside)
        return distance(shape_left_side(s, *s.rates), right)

    return over_spots(residual)
