"""Bloch and others, Internet Supplement, section 5.8: the reduced Lagrange-d'Alembert equations and their coefficients.

A random system on SE(2) with two momenta, one direction more in the Lie algebra, two shape coordinates and a constraint that
contains the shape velocities; with it the snakeboard and the bicycle. Independent implementations are complex steps of the
reduced Lagrangian and Lagrange's equations with multipliers in all coordinates.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...analysis.symmetry.reduced_coefficients import CoefficientField, reduced_coefficients
from ...formulations.reduction.bundle_equations import bundle_of
from ...integrate.simulate import simulate
from ..independent.planar_bundles import Spot, bracket, frame, over_spots, planar, planar_probe, spots
from ..independent.planar_charts import covariant, curvature_on, momentum_rate, section_derivatives, shape_left_side
from ..numeric import distance, excess, largest, worst
from ..row_registry import Corrected, claim

EVERY = "random planar system with a constraint on shape velocities, snakeboard, bicycle"
#: Two numbers that are said to differ must differ by this.
APART = 1e-4


def _apart(gap: float) -> float:
    """0 where a gap is there, else what is missing of it."""
    return excess(APART - gap)


def inside(s: Spot, vector: Any) -> Any:
    """Components of a body velocity in the library's moving basis."""
    return np.linalg.solve(s.library.frame, vector)


# -- the momentum equation -----------------------------------------------------------------------------------------------


@claim(
    "B-5.8.1",
    "d/dt p_b = <dl/dxi, [xi, e_b] + (de_b/dr) r_dot>, without the group",
    how=f"{EVERY}: momentum rates of the library's reduced equations against complex steps and against multipliers",
)
def momentum_equation() -> float:
    return over_spots(lambda s: largest(distance(s.rates[1], momentum_rate(s)), distance(s.rates[1], s.exact[1])))


@claim(
    "B-Proposition-5.8.6",
    "On the constraints p_b = I_ab Omega^a, with I the inertia of the section and Omega = xi + A r_dot inside it",
    how=f"{EVERY}: the library's inertia, connection and frame against the body velocity and momenta of the independent "
    "implementation",
)
def locked_momenta() -> float:
    def residual(s: Spot) -> float:
        c, m = s.library, s.planar.m
        omega = inside(s, s.xi) + c.connection @ s.v
        by_metric = s.planar.section(s.r).T @ s.planar.mass(s.r)[2:, 2:] @ s.planar.section(s.r)
        return largest(distance(c.inertia @ omega[:m], s.p), worst([*omega[m:], 0.0]), distance(c.inertia, by_metric))

    return over_spots(residual)


@claim(
    "B-5.8.2",
    "<dl/dxi, eta> = p_c eta^c + lambda_{a' al} eta^{a'} r_dot^al for every eta of the Lie algebra",
    how=f"{EVERY}: the library's lambda and frame against dl/dxi of the independent implementation on the constraints",
)
def body_momenta() -> float:
    return over_spots(lambda s: distance(s.library.body_momenta(s.v, s.p), s.library.frame.T @ s.derivatives[1]))


@claim(
    "B-5.8.3",
    "lambda_{a' al} = l_{a' al} - l_{a' b'} A^{b'}_al, summed over all b'; along the section it vanishes",
    how=f"{EVERY}: the library's lambda against second derivatives of l along its basis and the independent "
    "implementation's connection",
)
def orthogonality_defect() -> float:
    def residual(s: Spot) -> float:
        M, e = s.planar.mass(s.r), s.library.frame
        found = e.T @ (M[2:, :2] - M[2:, 2:] @ s.planar.connection(s.r))
        return largest(distance(s.library.lam, found), worst(found[: s.planar.m].ravel()))

    gap = min(float(np.max(np.abs(s.library.lam))) for s in spots("random"))
    return largest(over_spots(residual), _apart(gap))


@claim(
    "B-5.8.4",
    "The kinetic energy of any velocity is that of Omega^nh, plus <<Omega^perp, r^h>>, plus those of Omega^perp and of r^h",
    how=f"{EVERY}, velocities off the constraints: the library's frame and connection split the velocity, the independent "
    "implementation's metric"
    " measures the parts",
)
def kinetic_energy() -> float:
    def residual(s: Spot) -> float:
        M, c, m = s.planar.mass(s.r), s.library, s.planar.m
        xi = s.xi + np.array([0.3, -0.4, 0.6])
        omega = inside(s, xi) + c.connection @ s.v
        parts = np.zeros((3, 5))
        parts[0, 2:], parts[1, 2:] = c.frame[:, :m] @ omega[:m], c.frame[:, m:] @ omega[m:]
        parts[2] = np.concatenate([s.v, -c.frame @ c.connection @ s.v])
        table = parts @ M @ parts.T
        w = np.concatenate([s.v, xi])
        split = (table[0, 0] + table[1, 1] + table[2, 2]) / 2 + table[1, 2]
        return largest(distance(split, w @ M @ w / 2), abs(table[0, 1]), abs(table[0, 2]))

    return over_spots(residual)


@claim(
    "B-5.8.5",
    "[xi, e_b] + (de_b/dr) r_dot = (C^{c'}_ab Omega^a - C^{c'}_{a'b} A^{a'}_al r_dot^al + gamma^{c'}_{b al} r_dot^al) e_{c'}",
    how=f"{EVERY}: the library's structure functions, connection and gamma against the bracket of se(2) and complex steps",
)
def bracket_with_the_section() -> float:
    def residual(s: Spot) -> float:
        c, m = s.library, s.planar.m
        omega = (inside(s, s.xi) + c.connection @ s.v)[:m]
        e, turning = s.planar.section(s.r), section_derivatives(s) @ s.v
        found = np.stack([inside(s, bracket(s.xi, e[:, b]) + turning[:, b]) for b in range(m)], axis=1)
        return distance(
            np.einsum("cab,a->cb", c.structure[:, :m, :m], omega)
            - np.einsum("cab,ax,x->cb", c.structure[:, :, :m], c.connection, s.v)
            + c.gamma @ s.v,
            found,
        )

    return over_spots(residual)


@claim(
    "B-5.8.6",
    "de_b/dr^al = gamma^{c'}_{b al} e_{c'}",
    how=f"{EVERY}: the library's gamma in its frame against complex steps of the section",
)
def derivatives_of_the_section() -> float:
    return over_spots(lambda s: distance(np.einsum("ca,abx->cbx", s.library.frame, s.library.gamma), section_derivatives(s)))


@claim(
    "B-5.8.7",
    "A_loc r_dot = A^{a'}_al r_dot^al e_{a'}",
    how=f"{EVERY}: the library's connection in its frame against the independent implementation's",
)
def connection_in_the_frame() -> float:
    return over_spots(lambda s: distance(s.library.frame @ s.library.connection, s.planar.connection(s.r)))


@claim(
    "B-Proposition-5.8.7",
    "The momentum equation in an orthogonal body frame: C, I, D^c_{b al} and D_{al be b} give the momentum rates of the motion",
    how=f"{EVERY}: the library's coefficients against momentum rates by multipliers; the basis is orthogonal",
)
def momentum_equation_in_the_frame() -> float:
    def residual(s: Spot) -> float:
        e, M, m = s.library.frame, s.planar.mass(s.r)[2:, 2:], s.planar.m
        return largest(
            distance(s.library.momentum_rate(s.v, s.p), s.exact[1]), worst([*(e[:, :m].T @ M @ e[:, m:]).ravel(), 0])
        )

    return over_spots(residual)


@claim(
    "B-5.8.8",
    "d/dt p_b = C^c_ab I^{ad} p_c p_d + D^c_{b al} r_dot^al p_c + D_{al be b} r_dot^al r_dot^be, degree by degree",
    how=f"{EVERY}: the library's three terms against the parts of (5.8.1) quadratic in p, mixed, and quadratic in r_dot",
)
def momentum_equation_by_degree() -> float:
    def residual(s: Spot) -> float:
        c, still, zero = s.library, np.zeros(2), np.zeros(s.planar.m)
        pure, shape = momentum_rate(s, still, s.p), momentum_rate(s, s.v, zero)
        return largest(
            distance(c.momentum_rate(still, s.p), pure),
            distance(c.momentum_rate(s.v, zero), shape),
            distance(np.einsum("cbx,x,c->b", c.transport, s.v, s.p), momentum_rate(s) - pure - shape),
        )

    return over_spots(residual)


@claim(
    "B-5.8.9",
    "D^c_{b al} = -C^c_{a'b} A^{a'}_al + gamma^c_{b al} + lambda_{a' al} C^{a'}_ab I^{ac}",
    how=f"{EVERY}: every entry of the library's D against the mixed part of (5.8.1) at unit velocities and momenta",
)
def transport_coefficients() -> float:
    def residual(s: Spot) -> float:
        m, still, zero = s.planar.m, np.zeros(2), np.zeros(s.planar.m)
        found = np.zeros((m, m, 2))
        for c, p in enumerate(np.eye(m)):
            for x, v in enumerate(np.eye(2)):
                found[c, :, x] = momentum_rate(s, v, p) - momentum_rate(s, still, p) - momentum_rate(s, v, zero)
        return distance(s.library.transport, found)

    return over_spots(residual)


@claim(
    "B-5.8.10",
    "D_{al be b} = lambda_{a' al} (-C^{a'}_{b'b} A^{b'}_be + gamma^{a'}_{b be}) with b' over the whole Lie algebra; the print"
    " sums it over the section alone",
    how="random planar system: the library's D, and the sum in print, against the part of (5.8.1) quadratic in r_dot",
)
def shape_coefficients() -> Corrected:
    right: list[float] = []
    printed: list[float] = []
    for s in spots("random"):
        c, m = s.library, s.planar.m
        short = np.einsum(
            "ex,eby->xyb", c.lam[m:], c.gamma[m:] - np.einsum("eab,ay->eby", c.structure[m:, :m, :m], c.connection[:m])
        )
        for table, found in ((c.shape_drive, right), (short, printed)):
            for v in (*np.eye(2), np.ones(2)):
                found.append(distance(np.einsum("xyb,x,y->b", table, v, v), momentum_rate(s, v, np.zeros(m))))
    return Corrected(worst(right), worst(printed))


@cache
def _translations() -> Any:
    """The random system without its constraint, under translations alone: an abelian group with two momenta."""
    system = planar("random").system.replacing(constraints=[])
    x, y = system.coordinates[:2]
    field = CoefficientField(bundle_of(system, {"along_x": {x: 1}, "along_y": {y: 1}}))
    return field.at({"theta": 0.4, "r1": 0.2, "r2": -0.3})


@claim(
    "B-Corollary-5.8.8",
    "Where g^q has one dimension or is abelian, the momentum equation has no term quadratic in p; elsewhere it has one",
    how="the library's quadratic coefficients and momentum rates at rest of the shape: snakeboard and bicycle, a system under"
    " translations, and the random planar system with two momenta that do not commute",
)
def no_quadratic_term() -> float:
    alone = [s.library.quadratic for kind in ("snakeboard", "bicycle") for s in spots(kind)]
    abelian = _translations().quadratic
    at_rest = [
        planar_probe(s.planar.kind, "reduced").rates(0.0, np.concatenate([s.r, np.zeros(2), s.p]))[4:]
        for kind in ("snakeboard", "bicycle")
        for s in spots(kind)
    ]
    gap = min(float(np.max(np.abs(s.library.quadratic))) for s in spots("random"))
    return largest(worst(np.abs(table).max() for table in (*alone, abelian)), worst(np.concatenate(at_rest)), _apart(gap))


@claim(
    "B-Corollary-5.8.9",
    "For an abelian group whose horizontal space is orthogonal to the orbits, p_dot_b = gamma^c_{b al} r_dot^al p_c",
    how="the particle z' = y x' under translations in x and z: the library's coefficients against y/(1 + y^2), lambda = 0, and"
    " its reduced motion against p = p_0 sqrt((1 + y^2)/(1 + y_0^2)); where lambda is not zero gamma alone does not do",
)
def parallel_transport() -> float:
    from ...formulations.reduction.bundle_equations import reduce

    scenario = gallery.load("constrained-particle")
    x, y, z = scenario.system.coordinates
    group = {"along_x": {x: 1}, "along_z": {z: 1}}
    found = []
    for place in (-0.7, 0.3, 1.9):
        c = reduced_coefficients(scenario, group, {y: place})
        found += [distance(c.gamma[0, 0, 0], place / (1 + place**2)), distance(c.transport, c.gamma[:1])]
        found += [worst(c.lam.ravel()), worst(c.quadratic.ravel()), worst(c.shape_drive.ravel())]
    motion = simulate(reduce(scenario.system, group), {"y": 0.2, "y_dot": 0.9, "p_1": 1.3}, (0.0, 3.0), rtol=1e-12,
                      at=[0.0, 1.0, 3.0], parameters=scenario.parameters)  # fmt: skip
    found.append(distance(motion["p_1"], 1.3 * np.sqrt((1 + motion["y"] ** 2) / (1 + 0.2**2))))
    gap = min(distance(s.library.gamma[: s.planar.m], s.library.transport) for s in spots("random"))
    return largest(worst(found), _apart(gap))


# -- the reduced equations -----------------------------------------------------------------------------------------------


@claim(
    "B-Theorem-5.8.10",
    "The shape equations of l_c(r, r_dot, p) with dI^{cd}/dr, D, B and K, and the momentum equation; the sum of K may start"
    " behind the section, and dI^{cd}/dr stands with the factor 1 that l_c as a function of p needs",
    how=f"{EVERY}: the library's coefficients in the equations at accelerations and momentum rates by multipliers, and these"
    " against the library's own reduced equations; with half the term the equations fail",
)
def reduced_equations() -> float:
    def residual(s: Spot) -> float:
        c, m = s.library, s.planar.m
        force = c.shape_force(s.v, s.p)
        short = np.einsum("ez,exy->xyz", c.lam[m:], c.curvature[m:])
        return largest(
            distance(shape_left_side(s, *s.exact), force),
            distance(s.rates[0], s.exact[0]),
            distance(c.momentum_rate(s.v, s.p), s.exact[1]),
            distance(short, c.shape_curvature),
        )

    def gap(s: Spot) -> float:
        half = s.library.shape_force(s.v, s.p) + np.einsum("cdx,c,d->x", s.library.inverse_derivative, s.p, s.p) / 2
        return distance(half, shape_left_side(s, *s.exact))

    return largest(over_spots(residual), _apart(max(gap(s) for s in spots("random"))))


@claim(
    "B-5.8.11",
    "-delta l_c = -<dl/dxi, dA(r_dot, dr) - [A r_dot, A dr]> - <dl/dxi, (D I^-1 p)(dr)>, where D is the covariant derivative"
    " d - [A, .]; the plain one gives other equations",
    how=f"{EVERY}: library accelerations and momentum rates in the variation of l_c, curvature and D by complex steps; the"
    " library's B and F on the same vectors",
)
def vector_form() -> float:
    def residual(s: Spot) -> float:
        left, c, mu = shape_left_side(s, *s.rates), s.library, s.derivatives[1]
        found = []
        for x, direction in enumerate(np.eye(2)):
            bend, turn = curvature_on(s, s.v, direction), covariant(s, direction)[1]
            found += [distance(left[x], -mu @ (bend + turn)), distance(c.frame @ c.curvature[:, x] @ s.v, bend)]
            found.append(distance(c.frame @ c.lift_derivative[:, :, x] @ s.p, turn))
        return worst(found)

    def gap(s: Spot) -> float:
        return worst(s.derivatives[1] @ np.subtract(*covariant(s, direction)) for direction in np.eye(2))

    return largest(over_spots(residual), _apart(max(gap(s) for s in spots("random"))))


@claim(
    "B-Proposition-5.8.11",
    "The group variables follow from g_dot = g xi with xi = Omega - A r_dot",
    how=f"{EVERY}: group rates of the library's reconstructed equations against the body velocity of the independent "
    "implementation",
)
def reconstruction() -> float:
    def residual(s: Spot) -> float:
        found = planar_probe(s.planar.kind, "reconstructed").rates(0.0, s.z)
        omega = s.library.lift @ s.p - s.library.connection @ s.v
        return largest(distance(found[:3], frame(s.g[2]) @ s.xi), distance(s.library.frame @ omega, s.xi))

    return over_spots(residual)


@claim(
    "B-Proposition-5.8.11-momentum",
    "In terms of the momentum g_dot = g (-A r_dot + I^-1 p), linear in r_dot and in p; at p = 0 the path in the group does not"
    " depend on how fast the shape is run through",
    how=f"{EVERY}: group rates of the library at r_dot and p, each alone, and at three times the speed",
)
def reconstruction_by_momentum() -> float:
    def residual(s: Spot) -> float:
        def rates(v: Any, p: Any) -> Any:
            state = np.concatenate([s.q, v, p])
            return planar_probe(s.planar.kind, "reconstructed").rates(0.0, state)[:3]

        still, zero, E = np.zeros(2), np.zeros(s.planar.m), frame(s.g[2])
        return largest(
            distance(rates(s.v, zero), -E @ s.planar.connection(s.r) @ s.v),
            distance(rates(still, s.p), E @ s.planar.lift(s.r) @ s.p),
            distance(rates(s.v, s.p), rates(s.v, zero) + rates(still, s.p)),
            distance(rates(3 * s.v, zero), 3 * rates(s.v, zero)),
        )

    return over_spots(residual)
