"""Bloch and others, Internet Supplement, section 5.9: the reduced equations with curvature; momenta (5.9.52-5.9.63)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..independent.planar_bundles import Spot, frame, over_spots, planar_probe, spots
from ..independent.planar_charts import (
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
from ..numeric import derivative, distance, excess, largest, null_space, worst
from ..row_registry import Corrected, claim

EVERY = "random planar system with a constraint on shape velocities, snakeboard, bicycle"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


@claim(
    "B-5.9.52",
    "d/dt dl_c/dr_dot^al - dl_c/dr^al = -dl/dxi^b (B^b_{al be} r_dot^be + F^{bi}_al p_i)",
    how=f"{EVERY}: the library's B and F against the left side along its motion and along multipliers",
)
def compact_equations() -> float:
    def residual(s: Spot) -> float:
        force = s.library.compact_shape_force(s.v, s.p)
        return largest(distance(shape_left_side(s, *s.rates), force), distance(shape_left_side(s, *s.exact), force))

    return over_spots(residual)


@claim(
    "B-5.9.53",
    "B^b_{al be} = d_be A^b_al - d_al A^b_be - C^b_ac A^a_be A^c_al",
    how=f"{EVERY}: the library's curvature in the fixed basis against complex steps of A and brackets of se(2)",
)
def curvature() -> float:
    def residual(s: Spot) -> float:
        unit = np.eye(2)
        found = np.stack([np.stack([curvature_on(s, unit[y], unit[x]) for y in range(2)], axis=1) for x in range(2)], axis=1)
        return distance(np.einsum("ab,bxy->axy", s.library.frame, s.library.curvature), found)

    return over_spots(residual)


@claim(
    "B-5.9.54",
    "F^{bi}_al = dGamma^{bi}/dr^al - C^b_ad A^a_al Gamma^{di}",
    how=f"{EVERY}: the library's F in the fixed basis, on p, against complex steps of Gamma and brackets of se(2)",
)
def derivative_of_the_lift() -> float:
    def residual(s: Spot) -> float:
        found = np.stack([covariant(s, direction)[1] for direction in np.eye(2)], axis=1)
        return distance(np.einsum("ab,bix,i->ax", s.library.frame, s.library.lift_derivative, s.p), found)

    return over_spots(residual)


@claim(
    "B-5.9.55",
    "p_dot_i = C^j_hi I^{hl} p_j p_l + D^j_{i al} r_dot^al p_j + D_{al be i} r_dot^al r_dot^be",
    how=f"{EVERY}: the library's coefficients against multipliers",
)
def momentum_equation() -> float:
    return over_spots(lambda s: distance(s.library.momentum_rate(s.v, s.p), s.exact[1]))


@claim(
    "B-5.9.56",
    "D^j_{i al} = -C^j_ai A^a_al + gamma^j_{i al} + lambda_{a' al} C^{a'}_li I^{lj}",
    how=f"{EVERY}: the library's D, and the formula with its C, A, gamma, lambda and I, against the mixed part of the motion",
)
def transport() -> float:
    def residual(s: Spot) -> float:
        c, m, still, zero = s.library, s.planar.m, np.zeros(2), np.zeros(s.planar.m)
        mixed = momentum_rate(s) - momentum_rate(s, still, s.p) - momentum_rate(s, s.v, zero)
        table = (
            -np.einsum("jai,ax->jix", c.structure[:m, :, :m], c.connection)
            + c.gamma[:m]
            + np.einsum("ex,eli,lj->jix", c.lam[m:], c.structure[m:, :m, :m], c.inverse)
        )
        return largest(distance(table, c.transport), distance(np.einsum("jix,x,j->i", table, s.v, s.p), mixed))

    return over_spots(residual)


@claim(
    "B-5.9.57",
    "D_{al be i} = lambda_{a' al} (-C^{a'}_ai A^a_be + gamma^{a'}_{i be}), with a over the whole Lie algebra as said below it",
    how=f"{EVERY}: the library's D against the part of the motion quadratic in r_dot",
)
def shape_drive() -> float:
    def residual(s: Spot) -> float:
        found = momentum_rate(s, s.v, np.zeros(s.planar.m))
        return distance(np.einsum("xyb,x,y->b", s.library.shape_drive, s.v, s.v), found)

    return over_spots(residual)


@claim(
    "B-5.9.58",
    "de_b/dr^al = gamma^c_{b al} e_c",
    how=f"{EVERY}: the library's gamma against complex steps of the section",
)
def derivatives_of_the_section() -> float:
    return over_spots(lambda s: distance(np.einsum("ac,cbx->abx", s.library.frame, s.library.gamma), section_derivatives(s)))


@claim(
    "B-5.9.59",
    "lambda_{a' al} = l_{xi^a' r_dot^al} - l_{xi^a' xi^b} A^b_al",
    how=f"{EVERY}: the library's lambda against dl/dxi of the independent implementation on horizontal velocities",
)
def orthogonality_defect() -> float:
    def residual(s: Spot) -> float:
        none = np.zeros(s.planar.m)
        found = np.stack([s.planar.body_momenta(s.r, v, none)[1] for v in np.eye(2)], axis=1)
        return distance(s.library.lam, s.library.frame.T @ found)

    return over_spots(residual)


# -- diagnostics ---------------------------------------------------------------------------------------------------------------


def _plain_frame(s: Spot) -> Any:
    """e_i, d/dr, d/dr_dot and d/dp (7 + m, 4 + 2m)."""
    m = s.planar.m
    table = np.zeros((7 + m, 4 + 2 * m))
    table[:3, :m] = frame(s.g[2]) @ s.library.frame[:, :m]
    table[3:, m:] = np.eye(4 + m)
    return table


@claim(
    "B-5.9.60",
    "Where the constraints do not contain r_dot, K is spanned by e_i, d/dr, d/dr_dot and d/dp; where they do, it is not",
    how="snakeboard and bicycle, and the random planar system: these fields with the library's section against the kernel of"
    " the constraints on D",
)
def allowed_without_the_connection() -> float:
    gap = min(gap_of_spans(_plain_frame(s), preimage(s)) for s in spots("random"))
    return largest(
        over_spots(lambda s: gap_of_spans(_plain_frame(s), preimage(s)), "snakeboard", "bicycle"), excess(APART - gap)
    )


@claim(
    "B-5.9.60-omitted",
    "In that frame the part along dg may be left out of i_X Omega when it is pushed down",
    how="snakeboard and bicycle: i_X Omega of the library's motion without its dg part on d/dr, d/dr_dot and d/dp against dE",
)
def omitted_part() -> float:
    def residual(s: Spot) -> float:
        form, energy, _ = forms_on_constraints(s)
        return distance((form.T @ s.field)[3:], energy[3:])

    gap = max(distance((f[0].T @ s.field)[3:], f[1][3:]) for s in spots("random") for f in [forms_on_constraints(s)])
    return largest(over_spots(residual, "snakeboard", "bicycle"), excess(APART - gap))


def _wandering(s: Spot) -> Any:
    """Accelerations of a curve that obeys the constraints and no equations of motion (5,)."""
    rows = s.planar.full_rows(s.q)
    return s.planar.accelerations(s.q, s.u)[0] + null_space(rows) @ np.linspace(0.5, -0.8, 5 - len(rows))


def _sections(s: Spot, q: Any) -> Any:
    """(xi^q)_Q (3, m) on (x, y, theta)."""
    return frame(q[2]) @ s.planar.section(q[3:])


def _noether(s: Spot, z: Any) -> Any:
    """d/dt (L_u . xi_Q) - L_u . (d/dt xi^q)_Q (m,) along accelerations z."""

    def paired(w: Any) -> Any:
        q = s.q + w[0] * s.u
        return _sections(s, q).T @ s.planar.momenta(q, s.u + w[0] * z)[:3]

    return derivative(paired, [0.0])[:, 0] - turned_sections(s).T @ s.planar.momenta(s.q, s.u)[:3]


@claim(
    "B-Proposition-5.9.3",
    "For an invariant L the Euler expression on a section of symmetries is the rate of its momentum less what the turning of"
    " the section adds, along every curve",
    how=f"{EVERY}: inertia and force of the library's Lagrange equations on curves that are no motions, sections as"
    " translations and turns of the plane",
)
def euler_expression_on_sections() -> float:
    def residual(s: Spot) -> float:
        blocks = planar_probe(s.planar.kind, "lagrange").blocks(0.0, np.concatenate([s.q, s.u]))
        z = _wandering(s)
        left = _sections(s, s.q).T @ (blocks.G @ z - blocks.f)[:3]
        return distance(left, _noether(s, z))

    return over_spots(residual)


@claim(
    "B-5.9.61",
    "(d/dt L_u - L_q)(xi_Q) = d/dt (L_u . xi_Q) - L_u (d/dt xi^q)_Q",
    how=f"{EVERY}: the Euler expression by complex steps on curves that are no motions, and on the library's motion, where the"
    " reaction of the constraints does no work on the section",
)
def identity_of_noether() -> float:
    def residual(s: Spot) -> float:
        z, field = _wandering(s), _sections(s, s.q)
        reaction = planar_probe(s.planar.kind, "lagrange").reaction(0.0, np.concatenate([s.q, s.u]))
        return largest(distance(field.T @ s.planar.euler(s.q, s.u, z)[:3], _noether(s, z)), worst(field.T @ reaction[:3]))

    return over_spots(residual)


@claim(
    "B-5.9.61-invariance",
    "Invariance is (dL/dq) xi_Q + (dL/dq_dot) (T xi_Q . q_dot) = 0; the print has dL/dq_dot in both",
    how=f"{EVERY}: momenta of the library's form on D and L_q by complex steps, for elements of the Lie algebra held fixed",
)
def infinitesimal_invariance() -> Corrected:
    right, printed = [], []
    for kind in ("random", "snakeboard", "bicycle"):
        for s in spots(kind):
            momenta = planar_probe(kind, "lagrange").blocks(0.0, np.concatenate([s.q, s.u])).momenta
            by_place = _derivative_by_place(s)
            for eta in np.eye(3):
                turned = np.array([-eta[2] * s.u[1], eta[2] * s.u[0], 0.0])
                right.append(abs(by_place[:3] @ generator(s.q, eta) + momenta[:3] @ turned))
                printed.append(abs(momenta[:3] @ (generator(s.q, eta) + turned)))
    return Corrected(worst(right), worst(printed))


def _derivative_by_place(s: Spot) -> Any:
    return derivative(lambda q: s.planar.full_lagrangian(q, s.u), s.q)


def _upper_lift(s: Spot) -> Any:
    """(xi_Q)' in T and K: the symmetries of D over the sections, as vectors of TTQ (10, m)."""

    def moved(w: Any, eta: Any) -> Any:
        c, si = np.cos(w[0] * eta[2]), np.sin(w[0] * eta[2])
        turn = np.array([[c, -si], [si, c]])
        place = turn @ s.q[:2] + w[0] * eta[:2]
        return np.concatenate([place, [s.q[2] + w[0] * eta[2]], s.r, turn @ s.u[:2], s.u[2:]])

    fields = _sections(s, s.q)
    elements = [spatial(s.q, field) for field in fields.T]
    return np.stack([_first_derivative(lambda w, e=eta: moved(w, e)) for eta in elements], axis=1)


def _first_derivative(path: Any) -> Any:
    return derivative(path, [0.0])[:, 0]


@claim(
    "B-5.9.62",
    "<(dE - i_X Omega_L)|_D, (xi_Q)'> = d/dt (L_u . xi_Q) - L_u (d/dt xi^q)_Q, where (xi_Q)' is the symmetry of D over xi_Q",
    how=f"{EVERY}: forms on TQ by complex steps on curves that are no motions; the same with inertia and force of the library",
)
def noether_by_forms() -> float:
    def residual(s: Spot) -> float:
        form, energy, _, K = on_tangent_bundle(s)
        z, lifted = _wandering(s), _upper_lift(s)
        blocks = planar_probe(s.planar.kind, "lagrange").blocks(0.0, np.concatenate([s.q, s.u]))
        found = (energy - form.T @ np.concatenate([s.u, z])) @ lifted
        return largest(
            distance(found, _noether(s, z)),
            distance(found, lifted[:5].T @ (blocks.G @ z - blocks.f)),
            worst((lifted - K @ (K.T @ lifted)).ravel()),
        )

    return over_spots(residual)


@claim(
    "B-5.9.63",
    "Along motions d/dt (L_u . xi_Q) - L_u (d/dt xi^q)_Q = 0: a field in W obeys the momentum equation",
    how=f"{EVERY}: complex steps along accelerations of the library's Lagrange equations",
)
def momentum_equation_along_motions() -> float:
    def residual(s: Spot) -> float:
        z = planar_probe(s.planar.kind, "lagrange").rates(0.0, np.concatenate([s.q, s.u]))[5:]
        return worst(_noether(s, z))

    gap = min(float(np.max(np.abs(_noether(s, _wandering(s))))) for s in spots("random"))
    return largest(over_spots(residual), excess(APART - gap))
