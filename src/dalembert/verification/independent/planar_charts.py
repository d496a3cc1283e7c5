"""Forms on the constraint manifolds of planar systems, by the library and by complex steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...analysis.symmetry.reduced_two_form import ReducedTwoForm
from ...analysis.symmetry.restricted_two_form import RestrictedTwoForm, TwoFormField
from ...formulations.independent_velocities import choose_split
from ...typing import Array
from ..numeric import derivative, largest, null_space, worst
from .planar_bundles import Planar, PlanarSample, bracket, frame, planar, planar_probe


@cache
def _field(kind: str) -> TwoFormField:
    system = planar(kind).system
    return TwoFormField(system, choose_split(system))


@cache
def library_form(spot: PlanarSample) -> RestrictedTwoForm:
    """The library's two-form on M at a point."""
    names = [q.name for q in spot.planar.system.coordinates]
    names += [f"{name}_dot" for name in names]
    values = dict(zip(names, (*spot.q, *spot.u), strict=True))
    return _field(spot.planar.kind).at(values | spot.planar.parameters)


def directions(found: Planar, q: Array) -> Any:
    """F (5, k): the velocities that the constraints allow, by the library's independent ones."""
    split = _field(found.kind).split
    rows = found.full_rows(q)
    chosen, bound = list(split.independent), list(split.dependent)
    table = np.zeros((5, len(chosen)), dtype=rows.dtype)
    table[chosen] = np.eye(len(chosen))
    table[bound] = -np.linalg.solve(rows[:, bound], rows[:, chosen])
    return table


def free_momenta(found: Planar, q: Array, u: Array) -> Any:
    """y = F^T p, the momenta of the Lagrangian on the constraints (k,)."""
    return directions(found, q).T @ found.momenta(q, u)


def canonical_rates(spot: PlanarSample) -> tuple[Any, Any]:
    """The library's q_dot (5,) and y_dot (k,) by the restricted two-form."""
    state = np.concatenate([spot.q, free_momenta(spot.planar, spot.q, spot.u)])
    found = planar_probe(spot.planar.kind, "bates-sniatycki").rates(0.0, state)
    return found[:5], found[5:]


def momentum_rates(spot: PlanarSample) -> Any:
    """p_dot of all coordinates (5,): complex steps along the library's motion on M."""
    state = np.concatenate([spot.q, free_momenta(spot.planar, spot.q, spot.u)])
    z = planar_probe(spot.planar.kind, "bates-sniatycki").observe(0.0, state)["accelerations"]
    momenta, q, u = spot.planar.momenta, spot.q, spot.u
    return derivative(lambda s: momenta(q + s[0] * u, u + s[0] * z), [0.0])[:, 0]


def coordinate_metric(found: Planar, q: Array) -> Any:
    """L_uu in closed form (5, 5)."""
    inverse = np.linalg.inv(frame(q[2]))
    table = np.zeros((5, 5), dtype=np.result_type(inverse, found.mass(q[3:])))
    table[:2, 3:], table[2:, :3] = np.eye(2), inverse
    return table.T @ found.mass(q[3:]) @ table


def velocities_of(found: Planar, q: Array, picks: Array, values: Array) -> Any:
    """u on the constraints whose momenta p have picks @ p = values (5,), the inverse of FL on D."""
    rows = found.full_rows(q)
    matrix = np.vstack([rows, picks @ coordinate_metric(found, q)])
    return np.linalg.solve(matrix, np.concatenate([np.zeros(len(rows)), values]))


def chart_of_library(found: Planar, velocities: Callable[[Any], Any], c: Array) -> Any:
    """Derivatives of the library's chart (q, y) by another chart of M that starts with q."""
    return derivative(
        lambda x: np.concatenate([x[:5], free_momenta(found, x[:5], velocities(x))]), c
    )


def library_two_form(spot: PlanarSample, velocities: Callable[[Any], Any], c: Array) -> Any:
    """The library's Omega_M in another chart of M (len c, len c)."""
    derivatives = chart_of_library(spot.planar, velocities, c)
    return derivatives.T @ library_form(spot).whole @ derivatives


def library_differential(
    spot: PlanarSample, velocities: Callable[[Any], Any], c: Array, fields: Array
) -> Any:
    """The library's dH_H on fields of H given in another chart of M, as columns."""
    form = library_form(spot)
    vectors = chart_of_library(spot.planar, velocities, c) @ fields
    inside, *_ = np.linalg.lstsq(form.frame, vectors, rcond=None)
    return form.differential @ inside


def wedge(first: Array, second: Array) -> Any:
    """The matrix of first ^ second, for two covectors (n,)."""
    return np.outer(first, second) - np.outer(second, first)


def gap_of_spans(first: Array, second: Array) -> float:
    """How far two matrices are from spanning the same space; 1 where their ranks differ."""
    bases = []
    for table in (first, second):
        left, sizes, _ = np.linalg.svd(table, full_matrices=False)
        bases.append(left[:, sizes > 1e-10 * sizes[0]])
    if bases[0].shape != bases[1].shape:
        return 1.0
    return float(np.max(np.abs(bases[0] - bases[1] @ (bases[1].T @ bases[0])), initial=0.0))


def on_tangent_bundle(spot: PlanarSample) -> tuple[Any, Any, Any, Any]:
    """On TQ by complex steps: Omega_L, dE, bases of C = (T tau)^-1 D and of K = C n TD."""
    found, q, u = spot.planar, spot.q, spot.u
    y = np.concatenate([q, u])
    table = np.zeros((10, 10))
    table[:5] = derivative(lambda x: found.momenta(x[:5], x[5:]), y)
    energy = derivative(
        lambda x: found.momenta(x[:5], x[5:]) @ x[5:] - found.full_lagrangian(x[:5], x[5:]), y
    )
    rows = found.full_rows(q)
    lifted = np.hstack([rows, np.zeros_like(rows)])
    tangent = derivative(lambda x: found.full_rows(x[:5]) @ x[5:], y)
    return table - table.T, energy, null_space(lifted), null_space(np.vstack([lifted, tangent]))


# -- in the chart (x, y, theta, r, r_dot, p) of D --------------------------------------------------


@cache
def reduced_form(spot: PlanarSample) -> ReducedTwoForm:
    """The library's two-form on D/G at a point."""
    return spot.planar.two_form.at(spot.numbers)


@cache
def forms_on_constraints(spot: PlanarSample) -> tuple[Any, Any, Any]:
    """Omega and dE on D by complex steps, and the frame e_b, lifts of d/dr, d/dr_dot, d/dp of K."""
    found = spot.planar
    return found.lagrangian_form(spot.z), found.energy_form(spot.z), found.allowed(spot.z)


def preimage(spot: PlanarSample) -> Any:
    """The vectors of TD over D, from the constraints' rows (7 + m, 4 + 2m)."""
    rows = spot.planar.full_rows(spot.q)
    return null_space(np.hstack([rows, np.zeros((len(rows), 2 + spot.planar.m))]))


def field_in_constraints(spot: PlanarSample, a: Array, p_dot: Array) -> Any:
    """A second-order field on D in K, with any shape accelerations and momentum rates (7 + m,)."""
    return np.concatenate([frame(spot.g[2]) @ spot.xi, spot.v, a, p_dot])


# -- the reduced functions as numbers --------------------------------------------------------------


def section_derivatives(s: PlanarSample) -> Any:
    """de_b/dr^al by complex steps, (3, m, 2)."""
    return derivative(lambda r: s.planar.section(r).ravel(), s.r).reshape(3, s.planar.m, 2)


def momentum_rate(s: PlanarSample, v: Array | None = None, p: Array | None = None) -> Any:
    """<l_xi, [xi, e_b] + de_b/dr r_dot> (m,), at given velocities and momenta or the sample's."""
    v, p = s.v if v is None else v, s.p if p is None else p
    xi, (_, mu) = s.planar.body_velocity(s.r, v, p), s.planar.body_momenta(s.r, v, p)
    e, turning = s.planar.section(s.r), section_derivatives(s) @ v
    return np.array([mu @ (bracket(xi, e[:, b]) + turning[:, b]) for b in range(s.planar.m)])


def shape_left_side(s: PlanarSample, a: Array, p_dot: Array) -> Any:
    """d/dt dl_c/dr_dot - dl_c/dr along given accelerations and momentum rates (2,)."""

    def momenta(r: Array, v: Array, p: Array) -> Any:
        w, mu = s.planar.body_momenta(r, v, p)
        return w - s.planar.connection(r).T @ mu

    by_shape = derivative(lambda r: s.planar.on_constraints(r, s.v, s.p), s.r)
    return s.along(momenta, a, p_dot) - by_shape


def covariant(s: PlanarSample, direction: Array) -> tuple[Any, Any]:
    """d(Gamma p)(dr), and the same less [A dr, Gamma p], by complex steps (3,) each."""
    plain = derivative(lambda w: s.planar.lift(s.r + w[0] * direction) @ s.p, [0.0])[:, 0]
    return plain, plain - bracket(s.planar.connection(s.r) @ direction, s.planar.lift(s.r) @ s.p)


def curvature_on(s: PlanarSample, first: Array, second: Array) -> Any:
    """dA(first, second) - [A first, A second] by complex steps (3,)."""
    A = s.planar.connection(s.r)

    def along(way: Array, vector: Array) -> Any:
        return derivative(lambda w: s.planar.connection(s.r + w[0] * way) @ vector, [0.0])[:, 0]

    return along(first, second) - along(second, first) - bracket(A @ first, A @ second)


# -- sections of symmetries ------------------------------------------------------------------------


def spatial(q: Array, field: Array) -> Any:
    """eta with eta_Q = field (3,) at q: translations and the turn about the origin."""
    return np.array([field[0] + q[1] * field[2], field[1] - q[0] * field[2], field[2]])


def generator(q: Array, eta: Array) -> Any:
    """eta_Q at q on (x, y, theta) (3,)."""
    return np.array([eta[0] - q[1] * eta[2], eta[1] + q[0] * eta[2], eta[2]])


def turned_sections(s: PlanarSample) -> Any:
    """[d/dt xi^q]_Q (3, m): sections in the Lie algebra, differentiated along the path."""

    def algebra(w: Array) -> Any:
        q = s.q + w[0] * s.u
        fields = frame(q[2]) @ s.planar.section(q[3:])
        return np.concatenate([spatial(q, field) for field in fields.T])

    rates = derivative(algebra, [0.0]).reshape(s.planar.m, 3)
    return np.stack([generator(s.q, eta) for eta in rates], axis=1)


# -- the library's frame of H ----------------------------------------------------------------------


def embedded_frame(s: PlanarSample) -> Any:
    """The library's frame of H in T T*Q, (10, 2k), with p-components by complex steps on M."""
    form = library_form(s)

    def momenta(c: Array) -> Any:
        F = directions(s.planar, c[:5])
        metric = F.T @ coordinate_metric(s.planar, c[:5]) @ F
        return s.planar.momenta(c[:5], F @ np.linalg.solve(metric, c[5:]))

    c = np.concatenate([s.q, free_momenta(s.planar, s.q, s.u)])
    return np.vstack([form.frame[:5], derivative(momenta, c) @ form.frame])


def gap_of_preimage(s: PlanarSample) -> float:
    """The library's frame of H lies in (T pi)^-1 D and has its dimension there."""
    form, rows = library_form(s), s.planar.full_rows(s.q)
    k = 5 - len(rows)
    full = gap_of_spans(form.frame[:5], null_space(rows))
    return largest(worst((rows @ form.frame[:5]).ravel()), full, abs(form.frame.shape[1] - 2 * k))
