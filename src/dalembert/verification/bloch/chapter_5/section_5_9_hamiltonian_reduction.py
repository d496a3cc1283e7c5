"""Bloch and others, Internet Supplement, section 5.9: reduction of the two-form on both sides
(5.9.20-5.9.35).

The chart of D = M is (x, y, theta, r, r_dot, p). There the independent implementation has Omega =
dq ^ dp and dE by complex steps, the library its two-form on the frame e_b, lifts of d/dr, d/dr_dot,
d/dp, which contains no group coordinate.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ....typing import Array
from ...independent.planar_bundles import PlanarSample, frame
from ...independent.planar_charts import (
    canonical_rates,
    chart_of_library,
    directions,
    embedded_frame,
    field_in_constraints,
    forms_on_constraints,
    gap_of_preimage,
    gap_of_spans,
    library_form,
    preimage,
    reduced_form,
    turned_sections,
)
from ...numeric import Residual, derivative, distance, excess, null_space, worst
from ...row_registry import listed
from .section_5_9_states import (
    APART,
    ELSEWHERE,
    library_blocks,
    library_frame,
    library_rates,
    moved,
    points,
    velocities_at,
)

#: Systems with one momentum.
single = points.of("snakeboard", "bicycle")


# -- with symmetry, on both sides ------------------------------------------------------------------


@listed("B-5.9.20", over=points)
def nonholonomic_noether(s: PlanarSample) -> Residual:
    return distance(s.rates[1], turned_sections(s).T @ s.planar.momenta(s.q, s.u)[:3])


@listed("B-5.9.21", over=points)
def image_of_constraints(s: PlanarSample) -> Residual:
    k = 5 - len(s.planar.full_rows(s.q))
    blocks = library_blocks(s, "bates-sniatycki")
    frames = directions(s.planar, s.q)
    spread = frames.T @ derivative(lambda w: s.planar.momenta(s.q, frames @ w), np.zeros(k))
    return (
        distance(blocks.momenta, s.planar.momenta(s.q, s.u)),
        distance(blocks.velocities, s.u),
        s.planar.full_rows(s.q) @ blocks.velocities,
        float(np.linalg.cond(spread) > 1e8),
    )


@listed("B-5.9.22", over=points)
def allowed_on_momenta(s: PlanarSample) -> Residual:
    def place(z: Array) -> Array:
        return np.concatenate([z[:5], s.planar.momenta(z[:5], velocities_at(s, z))])

    tangent, rows = derivative(place, s.z), s.planar.full_rows(s.q)
    kept = tangent @ null_space(rows @ tangent[:5])
    return gap_of_spans(kept, embedded_frame(s))


@listed("B-5.9.23", over=points)
def preimage_of_constraints(s: PlanarSample) -> Residual:
    vertical = library_form(s).frame[:, library_form(s).frame.shape[1] // 2 :]
    return gap_of_preimage(s), vertical[:5], distance(vertical[5:], np.eye(vertical.shape[1]))


@listed("B-5.9.24", over=points)
def invariance(s: PlanarSample) -> Residual:
    def on_fields(s: PlanarSample) -> Array:
        fields = chart_of_library(s.planar, partial(velocities_at, s), s.z) @ s.planar.allowed(s.z)
        return np.asarray(fields.T @ library_form(s).whole @ fields)

    other = moved(s, ELSEWHERE)
    here, there = (np.linalg.solve(frame(x.g[2]), canonical_rates(x)[0][:3]) for x in (s, other))
    return distance(on_fields(other), on_fields(s)), distance(there, here)


def _on_frame(s: PlanarSample) -> Array:
    """Omega_K in the frame of K (4 + 2m, 4 + 2m)."""
    form, _, K = forms_on_constraints(s)
    return np.asarray(K.T @ form @ K)


def _kept(s: PlanarSample) -> Array:
    """W = U (4 + 2m, 4 + m): what Omega pairs to zero with the fields e_b, in the frame of K."""
    return null_space(_on_frame(s)[: s.planar.m])


# -- the Hamiltonian side --------------------------------------------------------------------------


@listed("B-5.9.25", over=points)
def complement_of_symmetries(s: PlanarSample) -> Residual:
    return (distance(reduced_form(s).matrix, _on_frame(s)), _kept(s).shape[1] - 4 - s.planar.m)


@listed("B-5.9.26", over=points)
def reduced_distribution(s: PlanarSample) -> Residual:
    m, found = s.planar.m, _kept(s)[s.planar.m :]
    inside = np.linalg.matrix_rank(_on_frame(s)[:m, :m]) if m > 1 else 0
    form = reduced_form(s)
    return gap_of_spans(form.directions, found), form.form.shape[0] - 4 - inside


@listed("B-5.9.26-1", over=points)
def motion_in_the_complement(s: PlanarSample) -> Residual:
    form, _, K = forms_on_constraints(s)
    rows = K[:, : s.planar.m].T @ form
    other = rows @ field_in_constraints(s, s.rates[0], s.rates[1] + 0.3)
    return (rows @ s.field, distance(other, np.full(s.planar.m, 0.3)))


@listed("B-5.9.26-2", over=points)
def form_on_the_quotient(s: PlanarSample) -> Residual:
    form, m, kept = _on_frame(s), s.planar.m, _kept(s)
    along = kept @ null_space(kept[m:])  # V and U
    lifted = kept @ np.linalg.pinv(kept[m:]) @ reduced_form(s).directions
    shift = along @ np.ones((along.shape[1], lifted.shape[1]))
    values = [(lifted + w * shift).T @ form @ (lifted + w * shift) for w in (0.0, 0.7)]
    found = reduced_form(s).form
    return *(distance(v, found) for v in values), float(np.linalg.cond(found) > 1e8)


@listed("B-5.9.26-closed")
def reduced_form_is_not_closed() -> Residual:
    def residual(s: PlanarSample) -> Residual:
        m = s.planar.m

        def graph(c: Array) -> tuple[Array, Array]:
            table = _on_frame(PlanarSample(s.planar, s.g, c[:2], c[2:4], c[4:], s.a))
            found = np.vstack([np.zeros((m, 4)), np.eye(4), -table[:m, m : m + 4]])
            return found, found.T @ table @ found

        c = s.z[3:]
        fields = graph(c)[0][m:]
        h = 1e-3
        steps = [[graph(c + k * h * u)[1] for k in (-2, -1, 1, 2)] for u in fields.T]
        # along, first, second
        by = np.stack([(8 * (w[2] - w[1]) - (w[3] - w[0])) / (12 * h) for w in steps])
        cyclic = by + np.transpose(by, (1, 2, 0)) + np.transpose(by, (2, 0, 1))
        return distance(reduced_form(s).derivative, cyclic)

    forms = [reduced_form(s) for s in single]
    gap = min(np.max(np.abs(table)) for f in forms for table in (f.derivative, f.jacobi))
    return single.worst(residual), excess(APART - gap)


@listed("B-5.9.27", over=points)
@listed("B-5.9.35", over=points)
def reduced_equation(s: PlanarSample) -> Residual:
    found = reduced_form(s)
    coordinates = np.linalg.lstsq(found.directions, np.concatenate([s.v, *s.rates]), rcond=None)[0]
    energy = forms_on_constraints(s)[1][3:] @ found.directions
    return (
        distance(found.form.T @ coordinates, found.differential),
        distance(found.differential, energy),
        distance(found.field, np.concatenate([s.v, *s.exact])),
    )


@listed("B-5.9.32", over=points)
def equation_in_the_chart(s: PlanarSample) -> Residual:
    form, energy, K = forms_on_constraints(s)
    return distance(K @ np.linalg.solve((K.T @ form @ K).T, K.T @ energy), s.field)


@listed("B-5.9.28", over=points)
def whole_equation(s: PlanarSample) -> Residual:
    return equation_in_the_chart(s), distance(library_rates(s, "reconstructed"), s.field)


@listed("B-5.9.29", over=points)
def same_type(s: PlanarSample) -> Residual:
    found = reduced_form(s)
    inside = np.linalg.solve(found.form.T, found.differential)
    return distance(found.directions @ inside, np.concatenate([s.v, *s.rates]))


# -- the Lagrangian side ---------------------------------------------------------------------------


@listed("B-5.9.30", over=points)
def allowed_in_the_chart(s: PlanarSample) -> Residual:
    return gap_of_spans(library_frame(s), preimage(s))


@listed("B-5.9.31", over=points)
def preimage_in_the_chart(s: PlanarSample) -> Residual:
    basis = preimage(s)
    table = np.column_stack([s.field, np.eye(7 + s.planar.m)[:, 5:]])
    return worst(table - basis @ (basis.T @ table))


@listed("B-5.9.33", over=points)
def complement_on_velocities(s: PlanarSample) -> Residual:
    rows = reduced_form(s).matrix[: s.planar.m]
    inside = np.concatenate([s.library.inverse @ s.p, s.v, *s.rates])
    return (rows @ _kept(s), rows @ inside)


@listed("B-5.9.34", over=points)
def reduced_on_velocities(s: PlanarSample) -> Residual:
    return gap_of_spans(reduced_form(s).directions, _kept(s)[s.planar.m :])


@listed("B-Theorem-5.9.2", over=points)
def both_reductions(s: PlanarSample) -> Residual:
    return (
        distance(reduced_form(s).field, np.concatenate([s.v, *s.rates])),
        distance(np.concatenate(s.rates), np.concatenate(s.exact)),
    )
