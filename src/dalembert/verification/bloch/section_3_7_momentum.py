"""Bloch and others, Internet Supplement, 3.7.8 and 3.8: singular points of momentum maps, and the mechanical connection.

Rotations of a particle in space and in the plane, and random invariant systems with the group SE(2) x R. Independent
implementations are complex steps of J, ranks by singular values, and explicit generators and adjoint matrices.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...analysis.symmetry.momentum_maps import MomentumMap, momentum_map
from ...errors import ModelError
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..independent.principal_bundles import GROUP, SIZE, G, Spot, over_spots, spots
from ..numeric import derivative, distance, excess, largest, null_space
from ..row_registry import Corrected, claim

RANDOM = "random invariant systems with the group SE(2) x R"
MASS = 1.7
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


# -- a particle and its rotations --------------------------------------------------------------------------------------


@cache
def _turning(dimension: int) -> MomentumMap:
    """Rotations of a particle in the plane or in space."""
    q = coordinates("x y z")[:dimension]
    m = parameters("m", positive=True)
    particle = System(q, kinetic=m / 2 * sum(x.dot**2 for x in q), name=f"particle in {dimension} dimensions")
    if dimension == 2:
        return momentum_map(particle, {"e": {q[0]: -q[1], q[1]: q[0]}})
    x, y, z = q
    return momentum_map(particle, {"e1": {y: -z, z: y}, "e2": {z: -x, x: z}, "e3": {x: -y, y: x}})


def _point(q: Any, p: Any) -> dict[str, float]:
    names = "xyz"[: len(q)]
    return dict(zip(names, map(float, q), strict=True)) | {f"p_{n}": float(v) for n, v in zip(names, p, strict=True)}


def _momentum(z: Any) -> Any:
    """q x p of a point (q, p), (3,)."""
    return np.cross(z[:3], z[3:])


def _infinitesimal(z: Any) -> Any:
    """The rotations on phase space in columns: (e x q, e x p), (6, 3)."""
    return np.stack([np.concatenate([np.cross(e, z[:3]), np.cross(e, z[3:])]) for e in np.eye(3)], axis=1)


def _svd_rank(matrix: Any) -> int:
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(sizes > 1e-10 * max(1.0, sizes[0])))


def _space_points() -> list[tuple[Any, int]]:
    """Points of T*R^3 with the rank of J there: generic, q parallel to p, one of them zero, the origin."""
    random = np.random.default_rng(12)
    q, p = random.uniform(-1, 1, (2, 3))
    none = np.zeros(3)
    cases = [(q, p, 3), (q, 0.7 * q, 2), (q, none, 2), (none, p, 2), (none, none, 0)]
    return [(np.concatenate([a, b]), rank) for a, b, rank in cases]


@claim(
    "B-Proposition-3.7.8",
    "rank DJ(z) = dim g - dim g_z: the point z is regular just where g_z = 0. The print says regular value; in the plane a z"
    " with q parallel to p has g_z = 0 while its value J = 0 is taken at the origin too, where DJ = 0",
    how="library rank, isotropy and derivative of J for SO(3) on T*R^3 (3 in general, 2 for q parallel to p, 0 at the origin)"
    " against complex steps and singular values; SO(2) on T*R^2 for the counterexample",
)
def regular_points() -> Corrected:
    J = _turning(3)
    gaps = []
    for z, rank in _space_points():
        point, derivatives = _point(z[:3], z[3:]), derivative(_momentum, z)
        isotropy = J.isotropy(point)
        gaps += [
            distance(J.derivative(point), derivatives),
            distance(J.lifted(point), _infinitesimal(z)),
            abs(J.rank(point) - rank) + abs(_svd_rank(derivatives) - rank),
            abs(3 - isotropy.shape[1] - rank),
            distance(_infinitesimal(z) @ isotropy, np.zeros((6, isotropy.shape[1]))),
            float(J.is_regular(point) is not (isotropy.shape[1] == 0)),
        ]
    plane = _turning(2)
    along, origin = _point([0.6, 0.8], [0.3, 0.4]), _point([0, 0], [0, 0])
    same_value = distance(plane.at(along), plane.at(origin))
    gaps += [same_value, float(plane.isotropy(along).shape[1]), float(not plane.is_regular(along))]
    missing_at_the_value = 1.0 - plane.rank(origin)
    return Corrected(largest(*gaps), missing_at_the_value)


@claim(
    "B-3.7.8-range",
    "zeta annihilates the range of DJ(z) if and only if zeta_P(z) = 0, because d<J, zeta>(z) v = Omega(zeta_P(z), v)",
    how="SO(3) on T*R^3: library derivative and lifted generators against the symplectic matrix; annihilators by singular "
    "values",
)
def range_of_the_derivative() -> float:
    J, gaps = _turning(3), []
    canonical = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    for z, _ in _space_points():
        point = _point(z[:3], z[3:])
        DJ, X = J.derivative(point), J.lifted(point)
        gaps.append(distance(DJ, (canonical.T @ X).T))
        annihilates, rests = (null_space(m) if np.any(m) else np.eye(3) for m in (DJ.T, X))
        gaps.append(distance(annihilates @ annihilates.T, rests @ rests.T))
    return largest(*gaps)


@claim(
    "B-3.7.8-shifts",
    "J need not be equivariant: shifts of the phase plane have J = (p, -q), no isotropy, and DJ of full rank, although"
    " {J_1, J_2} is 1 and not 0",
    how="complex steps of J; the bracket by the symplectic matrix",
)
def momentum_that_is_not_equivariant() -> float:
    DJ = derivative(lambda z: np.array([z[1], -z[0]]), [0.4, -0.3])
    canonical = np.array([[0.0, 1.0], [-1.0, 0.0]])
    bracket = DJ[0] @ canonical @ DJ[1]
    generators = canonical @ DJ.T
    return largest(abs(_svd_rank(DJ) - 2), abs(_svd_rank(generators) - 2), excess(APART - abs(bracket)))


# -- the mechanical connection -----------------------------------------------------------------------------------------


def _map(spot: Spot) -> MomentumMap:
    """The library's momentum map, with the generators that it finds from the body frame."""
    return spot.twin.connection.momentum_map


@claim(
    "B-Proposition-3.8.4",
    "the horizontal space of the mechanical connection, the orthogonal complement of the orbit, is {v : J(v) = 0}",
    how=f"{RANDOM}: the library's horizontal vectors in explicit J and metric, and its J on the independent "
    "implementation's kernel",
)
def horizontal_is_without_momentum() -> float:
    def residual(spot: Spot) -> float:
        twin = spot.twin
        K, M = twin.generators(spot.q), twin.mass(spot.q)
        horizontal = twin.connection.split(spot.place).horizontal
        vector = null_space(K.T @ M) @ [0.4, -0.7]
        speeds = {f"{name}_dot": float(x) for name, x in zip(spot.place, vector, strict=True)}
        return largest(
            distance(K.T @ M @ horizontal, np.zeros((GROUP, SIZE - GROUP))),
            distance(_map(spot).at(spot.place | speeds), np.zeros(GROUP)),
        )

    return over_spots(residual, "free")


@claim(
    "B-3.8.6",
    "<I(q) eta, zeta> is the metric of the generators eta_Q and zeta_Q, an inner product where the action is free",
    how=f"{RANDOM}: the library's I(q) against the metric of explicit generators; its least eigenvalue",
)
def locked_inertia() -> float:
    def residual(spot: Spot) -> float:
        K, inertia = spot.twin.generators(spot.q), _map(spot).inertia(spot.place)
        eta, zeta = spot.g, spot.mu
        value = (K @ eta) @ spot.twin.mass(spot.q) @ (K @ zeta)
        return largest(distance(eta @ inertia @ zeta, value), excess(APART - np.linalg.eigvalsh(inertia)[0]))

    return over_spots(residual)


@claim(
    "B-3.8.7",
    "I_ab = g_ij K_a^i K_b^j with the action functions K_a^i",
    how=f"{RANDOM}: the library's generators and I(q), entry by entry, against explicit ones; the formula in symbols too",
)
def inertia_in_coordinates() -> float:
    def residual(spot: Spot) -> float:
        found, K, M = _map(spot), spot.twin.generators(spot.q), spot.twin.mass(spot.q)
        return largest(
            distance(found.fields(spot.place), K), distance(found.inertia(spot.place), np.einsum("ij,ia,jb->ab", M, K, K))
        )

    particle = _turning(3)
    q = np.array([0.3, -0.5, 0.8])
    written = particle.locked_inertia.subs(dict(zip(particle.system.coordinates, q, strict=True)))
    expected = MASS * (q @ q * np.eye(3) - np.outer(q, q))
    symbols = np.array(written.subs({particle.system.parameters[0]: MASS}).tolist(), dtype=float)
    return largest(over_spots(residual), distance(symbols, expected))


@claim(
    "B-3.8.8",
    "A(q)(v) = I(q)^-1 J(FL(v)) is the velocity of the locked system; where the action is not free I is singular and A is"
    " refused",
    how=f"{RANDOM}: the library's A(q) v against the orthogonal projection of v to the orbit; a particle on the axis of a"
    " rotation",
)
def velocity_of_the_locked_system() -> float:
    def residual(spot: Spot) -> float:
        K, M = spot.twin.generators(spot.q), spot.twin.mass(spot.q)
        xi = _map(spot).mechanical_connection(spot.place) @ spot.v
        return largest(distance(K.T @ M @ (spot.v - K @ xi), np.zeros(GROUP)), distance(xi, spot.twin.form(spot.q) @ spot.v))

    try:
        _turning(3).mechanical_connection({"x": 0, "y": 0, "z": 1}, {"m": MASS})
        refused = 1.0
    except ModelError as error:
        refused = 0.0 if "e3 leaves it at rest" in str(error) else 1.0
    return largest(over_spots(residual, "free"), refused)


@claim(
    "B-3.8.9",
    "A^a = I^ab g_ij K_b^i v^j, since J_a(q, p) = p_i K_a^i",
    how=f"{RANDOM}: the library's A(q) and J(q, p) against sums of explicit factors",
)
def connection_in_coordinates() -> float:
    def residual(spot: Spot) -> float:
        K, M = spot.twin.generators(spot.q), spot.twin.mass(spot.q)
        inverse = np.linalg.inv(np.einsum("ij,ia,jb->ab", M, K, K))
        p = spot.twin.momenta(spot.q, spot.v)
        momenta = {f"p_{name}": float(x) for name, x in zip(spot.place, p, strict=True)}
        return largest(
            distance(_map(spot).mechanical_connection(spot.place), np.einsum("ab,ij,ib->aj", inverse, M, K)),
            distance(_map(spot).at(spot.place | momenta), np.einsum("i,ia->a", p, K)),
        )

    return over_spots(residual, "free")


@claim(
    "B-Proposition-3.8.5",
    "I^-1 J is a connection: A(xi_Q) = xi and A(g q)(g v) = Ad_g A(q) v, by I(g q) Ad_g xi = Ad*_{g^-1} I(q) xi; the print has"
    " Ad*_g",
    how=f"{RANDOM}: the library's I and A at q and at g q, with explicit Ad_g and tangent of the action",
)
def equivariance_of_the_inertia() -> Corrected:
    def there(spot: Spot) -> dict[str, float]:
        return dict(zip(spot.place, map(float, spot.twin.moved(spot.g, spot.q)), strict=True))

    def gap(spot: Spot, printed: bool) -> float:
        Ad, found = spot.twin.adjoint(spot.g), _map(spot)
        dual = Ad.T if printed else np.linalg.inv(Ad).T
        return distance(found.inertia(there(spot)) @ Ad, dual @ found.inertia(spot.place))

    def connection(spot: Spot) -> float:
        Ad, found = spot.twin.adjoint(spot.g), _map(spot)
        A = found.mechanical_connection(spot.place)
        moved = found.mechanical_connection(there(spot)) @ spot.twin.pushed(spot.g, spot.q)
        return largest(distance(moved, Ad @ A), distance(A @ spot.twin.generators(spot.q), np.eye(GROUP)))

    right = largest(over_spots(lambda s: gap(s, False), "free"), over_spots(connection, "free"))
    return Corrected(right, over_spots(lambda s: gap(s, True), "free"))


@claim(
    "B-3.8.10",
    "the horizontal space of A = I^-1 J is {v : J(FL(v)) = 0}",
    how=f"{RANDOM}: the kernel of the library's A(q) against the kernel of explicit J, as projections",
)
def kernel_of_the_connection() -> float:
    def residual(spot: Spot) -> float:
        kernels = (
            null_space(_map(spot).mechanical_connection(spot.place)),
            null_space(spot.twin.generators(spot.q).T @ spot.twin.mass(spot.q)),
        )
        return distance(*(basis @ basis.T for basis in kernels))

    return over_spots(residual, "free")


def _energy(spot: Spot, p: Any) -> float:
    """K(p) = p M^-1 p / 2."""
    return float(p @ np.linalg.solve(spot.twin.mass(spot.q), p)) / 2


@claim(
    "B-3.8.11",
    "K(alpha_mu(q)) is the least kinetic energy of covectors beta at q with J(beta) = mu",
    how=f"{RANDOM}: the library's alpha_mu against the solution of the constrained minimum by one dense system, and against"
    " random beta with the same momentum",
)
def least_energy() -> float:
    def residual(spot: Spot) -> float:
        K, M = spot.twin.generators(spot.q), spot.twin.mass(spot.q)
        alpha = _map(spot).least_covector(spot.mu, spot.place)
        matrix = np.block([[np.linalg.inv(M), K], [K.T, np.zeros((GROUP, GROUP))]])
        least = np.linalg.solve(matrix, np.concatenate([np.zeros(SIZE), spot.mu]))[:SIZE]
        others = [alpha + null_space(K.T) @ step for step in np.random.default_rng(2).uniform(-1, 1, (5, SIZE - GROUP))]
        losses = [excess(_energy(spot, alpha) - _energy(spot, beta) + 1e-9) for beta in others]
        return largest(distance(alpha, least), *losses)

    return over_spots(residual, "free")


@claim(
    "B-Proposition-3.8.6",
    "alpha_mu = A^* mu lies in J^-1(mu), is orthogonal to that fibre, and is the only critical point of the kinetic energy on"
    " it; it is invariant under G_mu",
    how=f"{RANDOM}: the library's alpha_mu; the energy's derivative and Hessian along the fibre by explicit matrices; mu "
    "along the"
    " turn and the rise, which G fixes",
)
def smales_characterisation() -> float:
    def residual(spot: Spot) -> float:
        K, M, found = spot.twin.generators(spot.q), spot.twin.mass(spot.q), _map(spot)
        alpha, along = found.least_covector(spot.mu, spot.place), null_space(K.T)
        hessian = along.T @ np.linalg.solve(M, along)
        dual = found.mechanical_connection(spot.place).T @ spot.mu
        fixed = np.array([0.0, 0.0, *spot.mu[2:]])
        there = dict(zip(spot.place, map(float, spot.twin.moved(spot.g, spot.q)), strict=True))
        moved = spot.twin.pushed(spot.g, spot.q).T @ found.least_covector(fixed, there)
        return largest(
            distance(K.T @ alpha, spot.mu),
            distance(along.T @ np.linalg.solve(M, alpha), np.zeros(SIZE - GROUP)),
            excess(APART - np.linalg.eigvalsh(hessian)[0]),
            distance(alpha, dual),
            distance(moved, found.least_covector(fixed, spot.place)),
        )

    moving = []
    for spot in spots("free"):
        there = dict(zip(spot.place, map(float, spot.twin.moved(spot.g, spot.q)), strict=True))
        moved = spot.twin.pushed(spot.g, spot.q).T @ _map(spot).least_covector(spot.mu, there)
        moving.append(distance(moved, _map(spot).least_covector(spot.mu, spot.place)))
    return largest(over_spots(residual, "free"), excess(APART - min(moving)))


@claim(
    "B-3.8-local",
    "in a local trivialisation A = Ad_g (g^-1 g_dot + A_loc r_dot), with A_loc the mechanical connection at the identity",
    how=f"{RANDOM}: the library's A_loc, turned by explicit Ad_g, against its I^-1 J at the same configuration",
)
def local_form() -> float:
    def residual(spot: Spot) -> float:
        local = spot.twin.connection.at(spot.shape).connection
        body = np.hstack([local, np.eye(GROUP)]) @ spot.twin.speeds(spot.q)
        return distance(spot.twin.adjoint(spot.q[G]) @ body, _map(spot).mechanical_connection(spot.place))

    return over_spots(residual, "free")
