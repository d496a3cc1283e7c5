"""Bloch and others, Internet Supplement, section 5.9: reduction of the two-form on both sides (5.9.20-5.9.35).

The chart of D = M is (x, y, theta, r, r_dot, p). There the independent implementation has Omega = dq ^ dp and dE by complex
steps, the library its two-form on the frame e_b, lifts of d/dr, d/dr_dot, d/dp, which contains no group coordinate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..independent.planar_bundles import Spot, frame, over_spots, planar_probe, spots
from ..independent.planar_charts import (
    canonical_rates,
    directions,
    embedded_frame,
    field_in_constraints,
    forms_on_constraints,
    free_momenta,
    gap_of_preimage,
    gap_of_spans,
    library_form,
    preimage,
    reduced_form,
    turned_sections,
)
from ..numeric import derivative, distance, excess, largest, null_space, worst
from ..row_registry import claim

EVERY = "random planar system with a constraint on shape velocities, snakeboard, bicycle"
SINGLE = ("snakeboard", "bicycle")
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


# -- with symmetry, on both sides --------------------------------------------------------------------------------------------


def _image_of_constraints(s: Spot) -> float:
    """The library's momenta at (q, y) are FL of the velocity that obeys the constraints, and y are coordinates there."""
    k = 5 - len(s.planar.full_rows(s.q))
    state = np.concatenate([s.q, free_momenta(s.planar, s.q, s.u)])
    blocks = planar_probe(s.planar.kind, "bates-sniatycki").blocks(0.0, state)
    frames = directions(s.planar, s.q)
    spread = frames.T @ derivative(lambda w: s.planar.momenta(s.q, frames @ w), np.zeros(k))
    return largest(
        distance(blocks.momenta, s.planar.momenta(s.q, s.u)),
        distance(blocks.velocities, s.u),
        worst(s.planar.full_rows(s.q) @ blocks.velocities),
        float(np.linalg.cond(spread) > 1e8),
    )


@claim(
    "B-5.9.20",
    "d/dt J^nh(xi^q) = (dL/dq_dot) [d/dt xi^q]_Q",
    how=f"{EVERY}: momentum rates of the library's reduced equations against momenta times sections, differentiated as"
    " translations and turns of the plane",
)
def nonholonomic_noether() -> float:
    return over_spots(lambda s: distance(s.rates[1], turned_sections(s).T @ s.planar.momenta(s.q, s.u)[:3]))


@claim(
    "B-5.9.21",
    "M = FL(D), a manifold with coordinates (q, y) wherever FL is invertible on D",
    how=f"{EVERY}: momenta and velocities of the library's form on M against the independent implementation's",
)
def image_of_constraints() -> float:
    return over_spots(_image_of_constraints)


@claim(
    "B-5.9.22",
    "H = F and TM",
    how=f"{EVERY}: the library's frame in T T*Q against the intersection of F with the tangent space of M",
)
def allowed_on_momenta() -> float:
    def residual(s: Spot) -> float:
        def place(z: Any) -> Any:
            w = np.concatenate([z[5:7], s.planar.body_velocity(z[3:5], z[5:7], z[7:])])
            return np.concatenate([z[:5], s.planar.momenta(z[:5], s.planar.velocities(z[:5], w))])

        tangent, rows = derivative(place, s.z), s.planar.full_rows(s.q)
        kept = tangent @ null_space(rows @ tangent[:5])
        return gap_of_spans(kept, embedded_frame(s))

    return over_spots(residual)


@claim(
    "B-5.9.23",
    "F = (T pi)^-1(D): the library's H projects onto D and holds every vertical vector of TM",
    how=f"{EVERY}: spans of the library's frame",
)
def preimage_of_constraints() -> float:
    def residual(s: Spot) -> float:
        vertical = library_form(s).frame[:, library_form(s).frame.shape[1] // 2 :]
        return largest(gap_of_preimage(s), worst(vertical[:5].ravel()), distance(vertical[5:], np.eye(vertical.shape[1])))

    return over_spots(residual)


def _moved(s: Spot) -> Spot:
    """The same point of D/G over another group element."""
    return Spot(s.planar, s.g + np.array([0.7, -0.4, 1.1]), s.r, s.v, s.p, s.a)


@claim(
    "B-5.9.24",
    "i_X Omega_H = dH_H is invariant: moved by the group, the two-form on invariant fields and the motion are the same",
    how=f"{EVERY}: the library's restricted form on the frame e_b, lifts, d/dr_dot, d/dp at two group elements, and the"
    " accelerations of its form on M",
)
def invariance() -> float:
    def on_fields(s: Spot) -> Any:
        form = library_form(s)

        def chart(z: Any) -> Any:
            w = np.concatenate([z[5:7], s.planar.body_velocity(z[3:5], z[5:7], z[7:])])
            return np.concatenate([z[:5], free_momenta(s.planar, z[:5], s.planar.velocities(z[:5], w))])

        fields = derivative(chart, s.z) @ s.planar.allowed(s.z)
        return fields.T @ form.whole @ fields

    def residual(s: Spot) -> float:
        other = _moved(s)
        here, there = (np.linalg.solve(frame(x.g[2]), canonical_rates(x)[0][:3]) for x in (s, other))
        return largest(distance(on_fields(other), on_fields(s)), distance(there, here))

    return over_spots(residual)


def _on_frame(s: Spot) -> Any:
    """Omega_K in the frame of K (4 + 2m, 4 + 2m)."""
    form, _, K = forms_on_constraints(s)
    return K.T @ form @ K


def _kept(s: Spot) -> Any:
    """W = U: the vectors of K that Omega pairs to zero with the fields e_b, in the frame (4 + 2m, 4 + m)."""
    return null_space(_on_frame(s)[: s.planar.m])


# -- the Hamiltonian side --------------------------------------------------------------------------------------------------


@claim(
    "B-5.9.25",
    "U = {u in H : Omega_H(u, v) = 0 for v in V and H}: the rows of Omega_H for the fields e_b",
    how=f"{EVERY}: the library's two-form on D/G against dq ^ dp by complex steps on the invariant frame; dim U = dim H - m",
)
def complement_of_symmetries() -> float:
    return over_spots(
        lambda s: largest(distance(reduced_form(s).matrix, _on_frame(s)), abs(_kept(s).shape[1] - 4 - s.planar.m))
    )


@claim(
    "B-5.9.26",
    "H_bar = rho_* U, of dimension dim U less that of V and U: what is left of the symmetries",
    how=f"{EVERY}: the library's basis of H_bar in the chart (r, r_dot, p) against the independent implementation's",
)
def reduced_distribution() -> float:
    def residual(s: Spot) -> float:
        m, found = s.planar.m, _kept(s)[s.planar.m :]
        inside = np.linalg.matrix_rank(_on_frame(s)[:m, :m]) if m > 1 else 0
        return largest(gap_of_spans(reduced_form(s).directions, found), abs(reduced_form(s).form.shape[0] - 4 - inside))

    return over_spots(residual)


@claim(
    "B-5.9.26-1",
    "The motion lies in U: that is the momentum equation",
    how=f"{EVERY}: the library's motion on D in the rows of Omega for e_b; with other momentum rates it leaves U",
)
def motion_in_the_complement() -> float:
    def residual(s: Spot) -> float:
        form, _, K = forms_on_constraints(s)
        rows = K[:, : s.planar.m].T @ form
        other = rows @ field_in_constraints(s, s.rates[0], s.rates[1] + 0.3)
        return largest(worst(rows @ s.field), distance(other, np.full(s.planar.m, 0.3)))

    return over_spots(residual)


@claim(
    "B-5.9.26-2",
    "On H_bar the two-form is nondegenerate and does not depend on which vectors of U stand for its own",
    how=f"{EVERY}: the library's form on H_bar, its condition, and the independent implementation's Omega on lifts moved "
    "along V and U",
)
def form_on_the_quotient() -> float:
    def residual(s: Spot) -> float:
        form, m, kept = _on_frame(s), s.planar.m, _kept(s)
        along = kept @ null_space(kept[m:])  # V and U
        lifted = kept @ np.linalg.pinv(kept[m:]) @ reduced_form(s).directions
        shift = along @ np.ones((along.shape[1], lifted.shape[1]))
        values = [(lifted + w * shift).T @ form @ (lifted + w * shift) for w in (0.0, 0.7)]
        return largest(*(distance(v, reduced_form(s).form) for v in values), float(np.linalg.cond(reduced_form(s).form) > 1e8))

    return over_spots(residual)


@claim(
    "B-5.9.26-closed",
    "The reduced two-form is not closed, and its brackets break Jacobi's identity",
    how="snakeboard and bicycle: the library's d omega on triples of H_bar against fourth-order differences of the "
    "independent implementation's"
    " Omega, and its brackets",
    tolerance=1e-7,
)
def reduced_form_is_not_closed() -> float:
    def residual(s: Spot) -> float:
        m = s.planar.m

        def graph(c: Any) -> tuple[Any, Any]:
            moved = Spot(s.planar, s.g, c[:2], c[2:4], c[4:], s.a)
            table = _on_frame(moved)
            found = np.vstack([np.zeros((m, 4)), np.eye(4), -table[:m, m : m + 4]])
            return found, found.T @ table @ found

        c = s.z[3:]
        fields = graph(c)[0][m:]
        h = 1e-3
        steps = [[graph(c + k * h * u)[1] for k in (-2, -1, 1, 2)] for u in fields.T]
        derivatives = np.stack([(8 * (w[2] - w[1]) - (w[3] - w[0])) / (12 * h) for w in steps])  # along, first, second
        cyclic = derivatives + np.transpose(derivatives, (1, 2, 0)) + np.transpose(derivatives, (2, 0, 1))
        return distance(reduced_form(s).derivative, cyclic)

    gaps = [
        worst(table.ravel()) for k in SINGLE for s in spots(k) for table in (reduced_form(s).derivative, reduced_form(s).jacobi)
    ]
    return largest(over_spots(residual, *SINGLE), excess(APART - min(gaps)))


def _reduced_motion(s: Spot) -> float:
    """i_X Omega = dh on H_bar, with the motion of `reduce`, in the library's basis and by the independent implementation."""
    found = reduced_form(s)
    coordinates = np.linalg.lstsq(found.directions, np.concatenate([s.v, *s.rates]), rcond=None)[0]
    energy = forms_on_constraints(s)[1][3:] @ found.directions
    return largest(
        distance(found.form.T @ coordinates, found.differential),
        distance(found.differential, energy),
        distance(found.field, np.concatenate([s.v, *s.exact])),
    )


@claim(
    "B-5.9.27",
    "i_Xbar Omega_Hbar = dh_Hbar",
    how=f"{EVERY}: the library's reduced motion in its reduced form, dh by complex steps, the field against multipliers",
)
def reduced_equation() -> float:
    return over_spots(_reduced_motion)


def _whole_motion(s: Spot) -> float:
    """i_X Omega_K = dE_K solved densely on D, against the library's motion."""
    form, energy, K = forms_on_constraints(s)
    return distance(K @ np.linalg.solve((K.T @ form @ K).T, K.T @ energy), s.field)


@claim(
    "B-5.9.28",
    "Before reduction: i_X Omega_H = dH_H",
    how=f"{EVERY}: dense solution in the chart (g, r, r_dot, p) against the library's reconstructed and reduced motion",
)
def whole_equation() -> float:
    def residual(s: Spot) -> float:
        rebuilt = planar_probe(s.planar.kind, "reconstructed").rates(0.0, s.z)
        return largest(_whole_motion(s), distance(rebuilt, s.field))

    return over_spots(residual)


@claim(
    "B-5.9.29",
    "After reduction the equation is of the same type, on a distribution of D/G with a fibre-restricted form",
    how=f"{EVERY}: the library's reduced form determines its reduced motion within H_bar",
)
def same_type() -> float:
    def residual(s: Spot) -> float:
        found = reduced_form(s)
        inside = np.linalg.solve(found.form.T, found.differential)
        return distance(found.directions @ inside, np.concatenate([s.v, *s.rates]))

    return over_spots(residual)


# -- the Lagrangian side ---------------------------------------------------------------------------------------------------


@claim(
    "B-5.9.30",
    "K = C and TD, in coordinates of D: what projects to D",
    how=f"{EVERY}: the frame on which the library's form is written against the kernel of the constraints on D",
)
def allowed_in_the_chart() -> float:
    return over_spots(lambda s: gap_of_spans(forms_on_constraints(s)[2], preimage(s)))


@claim(
    "B-5.9.31",
    "C = (T tau)^-1(D): the motion of the library projects to a velocity of D, and vertical vectors are in it",
    how=f"{EVERY}: the library's motion and d/dr_dot, d/dp against that kernel",
)
def preimage_in_the_chart() -> float:
    def residual(s: Spot) -> float:
        basis = preimage(s)
        table = np.column_stack([s.field, np.eye(7 + s.planar.m)[:, 5:]])
        return worst((table - basis @ (basis.T @ table)).ravel())

    return over_spots(residual)


@claim(
    "B-5.9.32",
    "i_X Omega_K = dE_K",
    how=f"{EVERY}: dense solution on D against the library's motion",
)
def equation_in_the_chart() -> float:
    return over_spots(_whole_motion)


@claim(
    "B-5.9.33",
    "W = {w in K : Omega_K(w, v) = 0 for v in T and K}, which is K and (T and K)^perp; the print writes T and D once",
    how=f"{EVERY}: rows of the library's form for e_b vanish on W and on its motion",
)
def complement_on_velocities() -> float:
    def residual(s: Spot) -> float:
        rows = reduced_form(s).matrix[: s.planar.m]
        inside = np.concatenate([s.library.inverse @ s.p, s.v, *s.rates])
        return largest(worst((rows @ _kept(s)).ravel()), worst(rows @ inside))

    return over_spots(residual)


@claim(
    "B-5.9.34",
    "K_bar = lambda_* W",
    how=f"{EVERY}: the library's basis of H_bar spans the image of W in (r, r_dot, p)",
)
def reduced_on_velocities() -> float:
    return over_spots(lambda s: gap_of_spans(reduced_form(s).directions, _kept(s)[s.planar.m :]))


@claim(
    "B-5.9.35",
    "i_Xbar Omega_Kbar = dE_bar: the reduced equations of motion",
    how=f"{EVERY}: the library's reduced motion in its reduced form, dE by complex steps, the field against multipliers",
)
def reduced_equation_on_velocities() -> float:
    return over_spots(_reduced_motion)


@claim(
    "B-Theorem-5.9.2",
    "Reduction of the two-form and reduction of d'Alembert's principle give the same equations on D/G; FL may be singular",
    how=f"{EVERY}: the library's two-form on D/G, its reduced equations, and multipliers in all coordinates",
)
def both_reductions() -> float:
    return over_spots(
        lambda s: largest(
            distance(reduced_form(s).field, np.concatenate([s.v, *s.rates])),
            distance(np.concatenate(s.rates), np.concatenate(s.exact)),
        )
    )
