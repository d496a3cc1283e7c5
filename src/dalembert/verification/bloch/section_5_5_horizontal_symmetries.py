"""Bloch and others, Internet Supplement, section 5.5: reconstruction without constraints and with horizontal symmetries.

Random systems on S x SE(2) x R without constraints, and with one that a normal subgroup H = SE(2) obeys. Momenta and their
rates are complex steps along the library's accelerations, with the generators and Ad_g of the action explicit.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...formulations.reduction.bundle_equations import reduce
from ...integrate.simulate import simulate
from ..independent.principal_bundles import GROUP, SIZE, G, R, Spot, bundle_system, over_spots, spots
from ..numeric import distance, excess, largest, null_space
from ..row_registry import Corrected, claim

RANDOM = "random invariant systems with the group SE(2) x R"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3
#: The Lie algebra of the horizontal symmetries: SE(2).
H = slice(0, 3)


def _locked(spot: Spot, q: Any) -> Any:
    """I(q) of the horizontal symmetries, (3, 3)."""
    K = spot.twin.generators(q)[:, H]
    return K.T @ spot.twin.mass(q) @ K


# -- without constraints -----------------------------------------------------------------------------------------------


@claim(
    "B-5.5.16",
    "g_dot = g (-A_loc r_dot + Omega), Omega = I_loc^-1 p, p = Ad_g^* mu: the body velocity of an unconstrained system from its"
    " shape and its conserved momentum",
    how=f"{RANDOM}: library A_loc and I_loc at random velocities, J and Ad_g explicit; the rate of J along library"
    " accelerations",
)
def unconstrained_reconstruction() -> float:
    def residual(spot: Spot) -> float:
        twin, found, w = spot.twin, spot.twin.connection.at(spot.shape), spot.speeds
        p = twin.adjoint(spot.q[G]).T @ twin.momentum_map(spot.q, spot.v)
        inverse = np.linalg.inv(found.locked_inertia)
        return largest(
            distance(w[G], -found.connection @ w[R] + inverse @ p),
            distance(found.momentum_lift, inverse),
            distance(spot.rate(twin.momentum_map), np.zeros(GROUP)),
            distance(p, twin.body_momentum(spot.q, spot.v)),
        )

    return over_spots(residual, "free")


# -- horizontal symmetries ---------------------------------------------------------------------------------------------


@claim(
    "B-5.5.17",
    "the momentum J_H of horizontal symmetries is conserved, J_H(q) q_dot = mu; the momenta of other symmetries are not",
    how=f"{RANDOM}: the rate of explicit J along library accelerations; its drift along a motion of the library's reduced"
    " equations",
)
def conserved_momentum() -> float:
    twin = bundle_system("horizontal")
    rates = [spot.rate(twin.momentum_map) for spot in spots("horizontal")]
    motion = _horizontal_motion()
    names = [q.name for q in twin.system.coordinates]
    q, v = (np.array([motion[f"{name}{end}"] for name in names]) for end in ("", "_dot"))
    values = np.array([twin.momentum_map(q[:, k], v[:, k])[H] for k in range(q.shape[1])])
    return largest(
        *(distance(rate[H], np.zeros(3)) for rate in rates),
        distance(values, np.broadcast_to(values[0], values.shape)),
        excess(APART - min(abs(rate[3]) for rate in rates)),
    )


@cache
def _horizontal_motion() -> Any:
    """A motion of the reduced equations with their reconstruction."""
    twin, spot = bundle_system("horizontal"), spots("horizontal")[0]
    start = spot.place | {f"{name}_dot": float(x) for name, x in zip(spot.place, spot.v, strict=True)}
    equations = reduce(twin.system, twin.group, reconstruct=True)
    return simulate(equations, start, (0, 1.5), rtol=1e-12, at=[0.0, 0.5, 1.0, 1.5])


@claim(
    "B-5.5.18",
    "A^sym = (I^-1 J_H)_Q is a projection onto S = T Orb_H, and takes vectors of S to themselves",
    how=f"{RANDOM}: the library's A^sym against explicit generators, inertia and metric",
)
def symmetric_part() -> float:
    def residual(spot: Spot) -> float:
        K, M = spot.twin.generators(spot.q)[:, H], spot.twin.mass(spot.q)
        found = spot.twin.connection.split(spot.place).symmetric
        return largest(
            distance(found, K @ np.linalg.solve(_locked(spot, spot.q), K.T @ M)),
            distance(found @ found, found),
            distance(found @ K, K),
        )

    return over_spots(residual, "horizontal")


@claim(
    "B-5.5.19",
    "the conservation law is the affine constraint A^sym(q_dot) = (I(q)^-1 mu)_Q",
    how=f"{RANDOM}: the library's A^sym on velocities that obey the constraints, mu = J_H by explicit generators",
)
def conservation_as_constraint() -> float:
    def residual(spot: Spot) -> float:
        K, mu = spot.twin.generators(spot.q)[:, H], spot.twin.momentum_map(spot.q, spot.v)[H]
        return distance(
            spot.twin.connection.split(spot.place).symmetric @ spot.v, K @ np.linalg.solve(_locked(spot, spot.q), mu)
        )

    return over_spots(residual, "horizontal")


@claim(
    "B-5.5.20",
    "A^kin vanishes on D and nowhere else, is the identity on U, and Phi_g* A^kin = A^kin Phi_g* for an invariant U",
    how=f"{RANDOM}: the library's A^kin at q and at g q, for an orthogonal and for an oblique U",
)
def kinematic_part() -> float:
    def residual(spot: Spot) -> float:
        twin, gaps = spot.twin, []
        for U in (None, spot.oblique):
            here = twin.connection.split(spot.place, complement=U)
            moved = twin.connection.split(spot.there, complement=U)
            D, push = null_space(twin.rows(spot.q)), spot.pushed
            gaps += [
                distance(here.kinematic @ D, np.zeros_like(D)),
                abs(np.linalg.matrix_rank(here.kinematic, tol=1e-10) - len(twin.rows(spot.q))),
                distance(here.kinematic @ here.complement, here.complement),
                distance(push @ here.kinematic, moved.kinematic @ push),
            ]
        return largest(*gaps)

    return over_spots(residual, "horizontal", "general")


@claim(
    "B-5.5.21",
    "A = A^kin + A^sym (1 - A^kin) is a projection onto T Orb for every U, and A^kin + A^sym for U orthogonal to S; the print"
    " adds the two for any U, where A^sym(U) is not 0 and A is no projection",
    how=f"{RANDOM}: the library's parts for an oblique U, squared and on the generators",
)
def ehresmann_connection() -> Corrected:
    def gap(spot: Spot, U: Any, printed: bool) -> float:
        A, K = spot.projections(U, printed), spot.twin.generators(spot.q)
        return largest(distance(A @ A, A), distance(A @ K, K))

    kinds = ("horizontal", "general")
    right = largest(
        over_spots(lambda s: gap(s, s.oblique, False), *kinds),
        over_spots(lambda s: gap(s, None, True), *kinds),
    )
    return Corrected(right, over_spots(lambda s: gap(s, s.oblique, True), *kinds))


@claim(
    "B-Definition-5.5.9",
    "the nonholonomic connection is the kinematic one where S = 0 and the mechanical one without constraints",
    how=f"{RANDOM}: the library's projections against those along D, and orthogonal to the orbit",
)
def extreme_cases() -> float:
    def kinematic(spot: Spot) -> float:
        K, rows = spot.twin.generators(spot.q), spot.twin.rows(spot.q)
        found = spot.twin.connection.split(spot.place)
        along = K @ np.linalg.solve(rows @ K, rows)
        return largest(distance(found.connection, along), distance(found.symmetric, np.zeros((SIZE, SIZE))))

    def mechanical(spot: Spot) -> float:
        K, M = spot.twin.generators(spot.q), spot.twin.mass(spot.q)
        found = spot.twin.connection.split(spot.place)
        return largest(
            distance(found.connection, K @ np.linalg.solve(K.T @ M @ K, K.T @ M)),
            distance(found.kinematic, np.zeros((SIZE, SIZE))),
        )

    return largest(over_spots(kinematic, "kinematic"), over_spots(mechanical, "free"))


@claim(
    "B-5.5.22",
    "A(q) q_dot = (I(q)^-1 mu)_Q for motions with horizontal symmetries",
    how=f"{RANDOM}: the library's A on velocities that obey the constraints, mu = J_H by explicit generators",
)
def lifting_with_conserved_momentum() -> float:
    def residual(spot: Spot) -> float:
        K, mu = spot.twin.generators(spot.q)[:, H], spot.twin.momentum_map(spot.q, spot.v)[H]
        whole = spot.twin.connection.split(spot.place).connection @ spot.v
        return distance(whole, K @ np.linalg.solve(_locked(spot, spot.q), mu))

    return over_spots(residual, "horizontal")


@claim(
    "B-5.5.22-inertia",
    "I(g q) = Ad*_{g^-1} I(q) Ad_{g^-1}, so that I(g q)^-1 mu = Ad_g I(q)^-1 Ad_g^* mu, which is not Ad_g (I(q)^-1 mu)",
    how=f"{RANDOM}: the library's inertia of the horizontal symmetries at q and at g q, with explicit Ad_g",
)
def inertia_along_the_orbit() -> float:
    gaps, same = [], []
    for spot in spots("horizontal"):
        found, Ad = spot.twin.connection.momentum_map, spot.twin.adjoint(spot.g)[H, H]
        here, there = (found.inertia(place)[H, H] for place in (spot.place, spot.there))
        back, mu = np.linalg.inv(Ad), spot.mu[H]
        gaps += [
            distance(there, back.T @ here @ back),
            distance(here, _locked(spot, spot.q)),
            distance(np.linalg.solve(there, mu), Ad @ np.linalg.solve(here, Ad.T @ mu)),
        ]
        same.append(distance(np.linalg.solve(there, mu), Ad @ np.linalg.solve(here, mu)))
    return largest(*gaps, excess(APART - min(same)))


@claim(
    "B-5.5.23",
    "g_dot = g (-A_loc r_dot + Omega) with Omega = I_loc^-1 p, p = Ad_g^* mu: p is not constant although mu is",
    how=f"{RANDOM}: library A_loc, Gamma and section at velocities that obey the constraints, mu by explicit generators; the"
    " rates of mu and of p along library accelerations",
)
def reconstruction() -> float:
    gaps, still = [], []
    for spot in spots("horizontal"):
        twin, w = spot.twin, spot.speeds
        found, mu = twin.connection.at(spot.shape), twin.momentum_map(spot.q, spot.v)
        p = found.section.T @ twin.adjoint(spot.q[G]).T @ mu
        omega = found.section @ np.linalg.solve(found.locked_inertia, p)
        gaps += [
            distance(found.momentum_lift @ p, omega),
            distance(w[G], -found.connection @ w[R] + omega),
            distance(spot.rate(twin.momentum_map)[H], np.zeros(3)),
        ]
        still.append(np.max(np.abs(spot.rate(twin.body_momentum)[H])))
    return largest(*gaps, excess(APART - min(still)))
