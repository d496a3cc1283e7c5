"""Bloch and others, Internet Supplement, section 5.8: the reduced equations and coefficients.

A random system on SE(2) with two momenta, one direction more in the Lie algebra, two shape
coordinates and a constraint that contains the shape velocities; with it the snakeboard and the
bicycle. Independent implementations are complex steps of the reduced Lagrangian and Lagrange's
equations with multipliers in all coordinates.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from .... import gallery
from ....analysis.symmetry.reduced_coefficients import (
    CoefficientField,
    ReducedCoefficients,
    reduced_coefficients,
)
from ....formulations.reduction.bundle_equations import bundle_of, reduce
from ....integrate.simulate import simulate
from ....typing import Array
from ...independent.planar_bundles import (
    PlanarSample,
    bracket,
    frame,
    planar,
    planar_probe,
    samples,
)
from ...independent.planar_charts import (
    covariant,
    curvature_on,
    momentum_rate,
    section_derivatives,
    shape_left_side,
)
from ...numeric import Residual, apart, distance, worst
from ...row_registry import listed


def inside(s: PlanarSample, vector: Array) -> Any:
    """Components of a body velocity in the library's moving basis."""
    return np.linalg.solve(s.library.frame, vector)


def _omega(s: PlanarSample, xi: Array) -> Any:
    """Omega = xi + A r_dot in the library's moving basis (3,)."""
    return inside(s, xi) + s.library.connection @ s.v


# -- the momentum equation -------------------------------------------------------------------------


@listed("B-5.8.1", over=samples)
def momentum_equation(s: PlanarSample) -> Residual:
    return distance(s.rates[1], momentum_rate(s)), distance(s.rates[1], s.exact[1])


@listed("B-Proposition-5.8.6", over=samples)
def locked_momenta(s: PlanarSample) -> Residual:
    c, m, e = s.library, s.planar.m, s.planar.section(s.r)
    omega, by_metric = _omega(s, s.xi), e.T @ s.planar.mass(s.r)[2:, 2:] @ e
    rest = np.append(omega[m:], 0.0)
    return distance(c.inertia @ omega[:m], s.p), rest, distance(c.inertia, by_metric)


@listed("B-5.8.2", over=samples)
def body_momenta(s: PlanarSample) -> Residual:
    return distance(s.library.body_momenta(s.v, s.p), s.library.frame.T @ s.derivatives[1])


@listed("B-5.8.3")
def orthogonality_defect() -> Residual:
    def gaps(s: PlanarSample) -> Residual:
        M, e = s.planar.mass(s.r), s.library.frame
        found = e.T @ (M[2:, :2] - M[2:, 2:] @ s.planar.connection(s.r))
        return distance(s.library.lam, found), found[: s.planar.m]

    least = min(worst(s.library.lam) for s in samples("random"))
    return [gaps(s) for s in samples], apart(least, 1e-4)


@listed("B-5.8.4", over=samples)
def kinetic_energy(s: PlanarSample) -> Residual:
    M, c, m = s.planar.mass(s.r), s.library, s.planar.m
    xi = s.xi + np.array([0.3, -0.4, 0.6])
    omega, w = _omega(s, xi), np.concatenate([s.v, xi])
    parts = np.zeros((3, 5))
    parts[0, 2:], parts[1, 2:] = c.frame[:, :m] @ omega[:m], c.frame[:, m:] @ omega[m:]
    parts[2] = np.concatenate([s.v, -c.frame @ c.connection @ s.v])
    table = parts @ M @ parts.T
    split = (table[0, 0] + table[1, 1] + table[2, 2]) / 2 + table[1, 2]
    return distance(split, w @ M @ w / 2), table[0, 1:]


@listed("B-5.8.5", over=samples)
def bracket_with_the_section(s: PlanarSample) -> Residual:
    c, m = s.library, s.planar.m
    e, turning = s.planar.section(s.r), section_derivatives(s) @ s.v
    columns = [inside(s, bracket(s.xi, e[:, b]) + turning[:, b]) for b in range(m)]
    by_omega = np.einsum("cab,a->cb", c.structure[:, :m, :m], _omega(s, s.xi)[:m])
    by_shape = np.einsum("cab,ax,x->cb", c.structure[:, :, :m], c.connection, s.v)
    return distance(by_omega - by_shape + c.gamma @ s.v, np.stack(columns, axis=1))


@listed("B-5.8.6", over=samples)
def derivatives_of_the_section(s: PlanarSample) -> Residual:
    found = np.einsum("ca,abx->cbx", s.library.frame, s.library.gamma)
    return distance(found, section_derivatives(s))


listed("B-5.8.7", over=samples)(
    lambda s: distance(s.library.frame @ s.library.connection, s.planar.connection(s.r))
)


@listed("B-Proposition-5.8.7", over=samples)
def momentum_equation_in_the_frame(s: PlanarSample) -> Residual:
    e, M, m = s.library.frame, s.planar.mass(s.r)[2:, 2:], s.planar.m
    across = np.append(e[:, :m].T @ M @ e[:, m:], 0.0)
    return distance(s.library.momentum_rate(s.v, s.p), s.exact[1]), across


@listed("B-5.8.8", over=samples)
def momentum_equation_by_degree(s: PlanarSample) -> Residual:
    c, still, zero = s.library, np.zeros(2), np.zeros(s.planar.m)
    pure, shape = momentum_rate(s, still, s.p), momentum_rate(s, s.v, zero)
    mixed = np.einsum("cbx,x,c->b", c.transport, s.v, s.p)
    return (
        distance(c.momentum_rate(still, s.p), pure),
        distance(c.momentum_rate(s.v, zero), shape),
        distance(mixed, momentum_rate(s) - pure - shape),
    )


@listed("B-5.8.9", over=samples)
def transport_coefficients(s: PlanarSample) -> Residual:
    m, still, zero = s.planar.m, np.zeros(2), np.zeros(s.planar.m)
    found = np.zeros((m, m, 2))
    for c, p in enumerate(np.eye(m)):
        for x, v in enumerate(np.eye(2)):
            mixed = momentum_rate(s, v, p) - momentum_rate(s, still, p) - momentum_rate(s, v, zero)
            found[c, :, x] = mixed
    return distance(s.library.transport, found)


@listed("B-5.8.10", over=samples.of("random"), misprint={"printed": True})
def shape_coefficients(s: PlanarSample, printed: bool = False) -> Residual:
    c, m = s.library, s.planar.m
    table = c.shape_drive
    if printed:
        on_section = np.einsum("eab,ay->eby", c.structure[m:, :m, :m], c.connection[:m])
        table = np.einsum("ex,eby->xyb", c.lam[m:], c.gamma[m:] - on_section)
    return [
        distance(np.einsum("xyb,x,y->b", table, v, v), momentum_rate(s, v, np.zeros(m)))
        for v in (*np.eye(2), np.ones(2))
    ]


@cache
def _translations() -> ReducedCoefficients:
    """The random system without its constraint, under translations: two commuting momenta."""
    system = planar("random").system.replacing(constraints=[])
    x, y = system.coordinates[:2]
    field = CoefficientField(bundle_of(system, {"along_x": {x: 1}, "along_y": {y: 1}}))
    return field.at({"theta": 0.4, "r1": 0.2, "r2": -0.3})


@listed("B-Corollary-5.8.8")
def no_quadratic_term() -> Residual:
    found: list[Residual] = [_translations().quadratic]
    for s in samples("snakeboard", "bicycle"):
        at_rest = np.concatenate([s.r, np.zeros(2), s.p])
        rates = planar_probe(s.planar.kind, "reduced").rates(0.0, at_rest)
        found += [s.library.quadratic, rates[4:]]
    return found, apart(min(worst(s.library.quadratic) for s in samples("random")), 1e-4)


@listed("B-Corollary-5.8.9")
def parallel_transport() -> Residual:
    scenario = gallery.load("constrained-particle")
    x, y, z = scenario.system.coordinates
    group = {"along_x": {x: 1}, "along_z": {z: 1}}
    found: list[Residual] = []
    for place in (-0.7, 0.3, 1.9):
        c = reduced_coefficients(scenario, group, {y: place})
        found.append(distance(c.gamma[0, 0, 0], place / (1 + place**2)))
        found += [distance(c.transport, c.gamma[:1]), c.lam, c.quadratic, c.shape_drive]
    start, run = {"y": 0.2, "y_dot": 0.9, "p_1": 1.3}, partial(simulate, rtol=1e-12)
    equations, values = reduce(scenario.system, group), scenario.parameters
    motion = run(equations, start, (0.0, 3.0), at=[0.0, 1.0, 3.0], parameters=values)
    found.append(distance(motion["p_1"], 1.3 * np.sqrt((1 + motion["y"] ** 2) / (1 + 0.2**2))))
    gaps = [distance(s.library.gamma[: s.planar.m], s.library.transport) for s in samples("random")]
    return found, apart(min(gaps), 1e-4)


# -- the reduced equations -------------------------------------------------------------------------


@listed("B-Theorem-5.8.10")
def reduced_equations() -> Residual:
    def gaps(s: PlanarSample) -> Residual:
        c, m = s.library, s.planar.m
        return (
            distance(shape_left_side(s, *s.exact), c.shape_force(s.v, s.p)),
            distance(s.rates[0], s.exact[0]),
            distance(c.momentum_rate(s.v, s.p), s.exact[1]),
            distance(np.einsum("ez,exy->xyz", c.lam[m:], c.curvature[m:]), c.shape_curvature),
        )

    def half(s: PlanarSample) -> float:
        term = np.einsum("cdx,c,d->x", s.library.inverse_derivative, s.p, s.p) / 2
        return distance(s.library.shape_force(s.v, s.p) + term, shape_left_side(s, *s.exact))

    return [gaps(s) for s in samples], apart(max(half(s) for s in samples("random")), 1e-4)


@listed("B-5.8.11")
def vector_form() -> Residual:
    def gaps(s: PlanarSample) -> Residual:
        left, c, mu = shape_left_side(s, *s.rates), s.library, s.derivatives[1]
        found = []
        for x, direction in enumerate(np.eye(2)):
            bend, turn = curvature_on(s, s.v, direction), covariant(s, direction)[1]
            found.append(distance(left[x], -mu @ (bend + turn)))
            found.append(distance(c.frame @ c.curvature[:, x] @ s.v, bend))
            found.append(distance(c.frame @ c.lift_derivative[:, :, x] @ s.p, turn))
        return found

    def plain(s: PlanarSample) -> float:
        mu = s.derivatives[1]
        return worst(mu @ np.subtract(*covariant(s, direction)) for direction in np.eye(2))

    return [gaps(s) for s in samples], apart(max(plain(s) for s in samples("random")), 1e-4)


def _group_rates(s: PlanarSample, v: Array, p: Array) -> Any:
    """Group rates of the library's reconstructed equations (3,)."""
    state = np.concatenate([s.q, v, p])
    return planar_probe(s.planar.kind, "reconstructed").rates(0.0, state)[:3]


@listed("B-Proposition-5.8.11", over=samples)
def reconstruction(s: PlanarSample) -> Residual:
    omega = s.library.lift @ s.p - s.library.connection @ s.v
    moving = distance(_group_rates(s, s.v, s.p), frame(s.g[2]) @ s.xi)
    return moving, distance(s.library.frame @ omega, s.xi)


@listed("B-Proposition-5.8.11-momentum", over=samples)
def reconstruction_by_momentum(s: PlanarSample) -> Residual:
    still, zero = np.zeros(2), np.zeros(s.planar.m)
    E, rates = frame(s.g[2]), partial(_group_rates, s)
    by_shape, by_momentum = rates(s.v, zero), rates(still, s.p)
    return (
        distance(by_shape, -E @ s.planar.connection(s.r) @ s.v),
        distance(by_momentum, E @ s.planar.lift(s.r) @ s.p),
        distance(rates(s.v, s.p), by_shape + by_momentum),
        distance(rates(3 * s.v, zero), 3 * by_shape),
    )
