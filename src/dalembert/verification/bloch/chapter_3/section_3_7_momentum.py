"""Bloch and others, Internet Supplement, 3.7.8 and 3.8: momentum maps and mechanical connections.

Rotations of a particle in space and in the plane, and random invariant systems with the group SE(2)
x R. Independent implementations are complex steps of J, ranks by singular values, and explicit
generators and adjoint matrices.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ....analysis.symmetry.momentum_maps import MomentumMap, momentum_map
from ....errors import ModelError
from ....model.symbols import coordinates, parameters
from ....model.system import System
from ....typing import Array
from ...independent.principal_bundles import GROUP, SIZE, BundleSample, G, samples
from ...numeric import Residual, apart, derivative, distance, excess, null_space
from ...row_registry import Corrected, listed
from ...samples import Sampler

MASS = 1.7

# -- a particle and its rotations ------------------------------------------------------------------


@cache
def _rotations(dimension: int) -> MomentumMap:
    """Rotations of a particle in the plane or in space."""
    q = coordinates("x y z")[:dimension]
    m = parameters("m", positive=True)
    kinetic = m / 2 * sum(x.dot**2 for x in q)
    particle = System(q, kinetic=kinetic, name=f"particle in {dimension} dimensions")
    if dimension == 2:
        return momentum_map(particle, {"e": {q[0]: -q[1], q[1]: q[0]}})
    x, y, z = q
    return momentum_map(particle, {"e1": {y: -z, z: y}, "e2": {z: -x, x: z}, "e3": {x: -y, y: x}})


def _point(q: Array | list[float], p: Array | list[float]) -> dict[str, float]:
    names = "xyz"[: len(q)]
    keys = [*names, *(f"p_{name}" for name in names)]
    return dict(zip(keys, map(float, (*q, *p)), strict=True))


def _infinitesimal(z: Array) -> Any:
    """The rotations on phase space in columns: (e x q, e x p), (6, 3)."""
    columns = [np.concatenate([np.cross(e, z[:3]), np.cross(e, z[3:])]) for e in np.eye(3)]
    return np.stack(columns, axis=1)


def _svd_rank(matrix: Array) -> int:
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int(np.sum(sizes > 1e-10 * max(1.0, sizes[0])))


def _draw_points(_: str) -> list[tuple[Array, int]]:
    """(q, p) with the rank of J: generic, q parallel to p, one of them zero, the origin."""
    q, p = np.random.default_rng(12).uniform(-1, 1, (2, 3))
    none = np.zeros(3)
    cases = [(q, p, 3), (q, 0.7 * q, 2), (q, none, 2), (none, p, 2), (none, none, 0)]
    return [(np.concatenate([a, b]), rank) for a, b, rank in cases]


space_points = Sampler(_draw_points)


@listed("B-Proposition-3.7.8")
def regular_points() -> Corrected:
    J = _rotations(3)
    gaps: list[Residual] = []
    for z, rank in space_points:
        point = _point(z[:3], z[3:])
        derivatives = derivative(lambda y: np.cross(y[:3], y[3:]), z)
        isotropy = J.isotropy(point)
        gaps += [
            distance(J.derivative(point), derivatives),
            distance(J.lifted(point), _infinitesimal(z)),
            abs(J.rank(point) - rank) + abs(_svd_rank(derivatives) - rank),
            abs(3 - isotropy.shape[1] - rank),
            distance(_infinitesimal(z) @ isotropy, np.zeros((6, isotropy.shape[1]))),
            float(J.is_regular(point) is not (isotropy.shape[1] == 0)),
        ]
    plane = _rotations(2)
    along, origin = _point([0.6, 0.8], [0.3, 0.4]), _point([0, 0], [0, 0])
    same_value = distance(plane.at(along), plane.at(origin))
    gaps += [same_value, float(plane.isotropy(along).shape[1]), float(not plane.is_regular(along))]
    return Corrected(gaps, 1.0 - plane.rank(origin))


@listed("B-3.7.8-range", over=space_points)
def range_of_the_derivative(sample: tuple[Array, int]) -> Residual:
    canonical = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
    J, point = _rotations(3), _point(sample[0][:3], sample[0][3:])
    DJ, X = J.derivative(point), J.lifted(point)
    bases = [null_space(m) if np.any(m) else np.eye(3) for m in (DJ.T, X)]
    projections = (basis @ basis.T for basis in bases)
    return distance(DJ, (canonical.T @ X).T), distance(*projections)


@listed("B-3.7.8-shifts")
def momentum_that_is_not_equivariant() -> Residual:
    DJ = derivative(lambda z: np.array([z[1], -z[0]]), [0.4, -0.3])
    canonical = np.array([[0.0, 1.0], [-1.0, 0.0]])
    bracket, generators = DJ[0] @ canonical @ DJ[1], canonical @ DJ.T
    return _svd_rank(DJ) - 2, _svd_rank(generators) - 2, apart(abs(bracket))


# -- the mechanical connection ---------------------------------------------------------------------


def _map(s: BundleSample) -> MomentumMap:
    """The library's momentum map, with the generators that it finds from the body frame."""
    return s.model.connection.momentum_map


@listed("B-Proposition-3.8.4", over=samples.of("free"))
def horizontal_is_without_momentum(s: BundleSample) -> Residual:
    KM = s.generators.T @ s.mass
    speeds = s.by_name(null_space(KM) @ [0.4, -0.7], suffix="_dot")
    return KM @ s.model.connection.split(s.place).horizontal, _map(s).at(s.place | speeds)


@listed("B-3.8.6", over=samples)
def locked_inertia(s: BundleSample) -> Residual:
    K, inertia = s.generators, _map(s).inertia(s.place)
    value = (K @ s.g) @ s.mass @ (K @ s.mu)
    least = np.linalg.eigvalsh(inertia)[0]
    return distance(s.g @ inertia @ s.mu, value), apart(least)


@listed("B-3.8.7")
def inertia_in_coordinates() -> Residual:
    def gaps(s: BundleSample) -> Residual:
        expected = np.einsum("ij,ia,jb->ab", s.mass, s.generators, s.generators)
        found = _map(s)
        fields = distance(found.fields(s.place), s.generators)
        return fields, distance(found.inertia(s.place), expected)

    particle, q = _rotations(3), np.array([0.3, -0.5, 0.8])
    written = particle.locked_inertia.subs(dict(zip(particle.system.coordinates, q, strict=True)))
    expected = MASS * (q @ q * np.eye(3) - np.outer(q, q))
    symbols = np.array(written.subs({particle.system.parameters[0]: MASS}).tolist(), dtype=float)
    return [gaps(s) for s in samples], distance(symbols, expected)


@listed("B-3.8.8")
def velocity_of_the_locked_system() -> Residual:
    def gaps(s: BundleSample) -> Residual:
        xi = _map(s).mechanical_connection(s.place) @ s.v
        rest = s.generators.T @ s.mass @ (s.v - s.generators @ xi)
        return rest, distance(xi, s.model.form(s.q) @ s.v)

    try:
        _rotations(3).mechanical_connection({"x": 0, "y": 0, "z": 1}, {"m": MASS})
        refused = 1.0
    except ModelError as error:
        refused = 0.0 if "e3 leaves it at rest" in str(error) else 1.0
    return [gaps(s) for s in samples("free")], refused


@listed("B-3.8.9", over=samples.of("free"))
def connection_in_coordinates(s: BundleSample) -> Residual:
    K, M, found = s.generators, s.mass, _map(s)
    inverse = np.linalg.inv(np.einsum("ij,ia,jb->ab", M, K, K))
    form = np.einsum("ab,ij,ib->aj", inverse, M, K)
    p = s.model.momenta(s.q, s.v)
    momentum = found.at(s.place | s.by_name(p, prefix="p_"))
    return (
        distance(found.mechanical_connection(s.place), form),
        distance(momentum, np.einsum("i,ia->a", p, K)),
    )


@listed("B-Proposition-3.8.5")
def equivariance_of_the_inertia() -> Corrected:
    def gap(s: BundleSample, printed: bool) -> float:
        Ad, found = s.model.adjoint(s.g), _map(s)
        dual = Ad.T if printed else np.linalg.inv(Ad).T
        return distance(found.inertia(s.there) @ Ad, dual @ found.inertia(s.place))

    def connection(s: BundleSample) -> Residual:
        A = _map(s).mechanical_connection(s.place)
        moved = _map(s).mechanical_connection(s.there) @ s.pushed
        unit = distance(A @ s.generators, np.eye(GROUP))
        return distance(moved, s.model.adjoint(s.g) @ A), unit

    right = [(gap(s, False), connection(s)) for s in samples("free")]
    return Corrected(right, [gap(s, True) for s in samples("free")])


@listed("B-3.8.10", over=samples.of("free"))
def kernel_of_the_connection(s: BundleSample) -> Residual:
    forms = _map(s).mechanical_connection(s.place), s.generators.T @ s.mass
    return distance(*(basis @ basis.T for basis in map(null_space, forms)))


@listed("B-3.8.11", over=samples.of("free"))
def least_energy(s: BundleSample) -> Residual:
    def energy(p: Array) -> float:
        return float(p @ np.linalg.solve(s.mass, p)) / 2

    K, alpha = s.generators, _map(s).least_covector(s.mu, s.place)
    matrix = np.block([[np.linalg.inv(s.mass), K], [K.T, np.zeros((GROUP, GROUP))]])
    least = np.linalg.solve(matrix, np.concatenate([np.zeros(SIZE), s.mu]))[:SIZE]
    steps = np.random.default_rng(2).uniform(-1, 1, (5, SIZE - GROUP))
    others = [alpha + null_space(K.T) @ step for step in steps]
    losses = [excess(energy(alpha) - energy(beta) + 1e-9) for beta in others]
    return distance(alpha, least), losses


@listed("B-Proposition-3.8.6")
def smales_characterisation() -> Residual:
    def change(s: BundleSample, mu: Array) -> float:
        """How much alpha_mu changes under g."""
        moved = s.pushed.T @ _map(s).least_covector(mu, s.there)
        return distance(moved, _map(s).least_covector(mu, s.place))

    def gaps(s: BundleSample) -> Residual:
        K, M, found = s.generators, s.mass, _map(s)
        alpha, along = found.least_covector(s.mu, s.place), null_space(K.T)
        hessian = along.T @ np.linalg.solve(M, along)
        return (
            distance(K.T @ alpha, s.mu),
            along.T @ np.linalg.solve(M, alpha),
            apart(np.linalg.eigvalsh(hessian)[0]),
            distance(alpha, found.mechanical_connection(s.place).T @ s.mu),
            change(s, np.array([0.0, 0.0, *s.mu[2:]])),
        )

    changed = min(change(s, s.mu) for s in samples("free"))
    return [gaps(s) for s in samples("free")], apart(changed)


@listed("B-3.8-local", over=samples.of("free"))
def local_form(s: BundleSample) -> Residual:
    local = s.model.connection.at(s.shape).connection
    body = np.hstack([local, np.eye(GROUP)]) @ s.model.speeds(s.q)
    return distance(s.model.adjoint(s.q[G]) @ body, _map(s).mechanical_connection(s.place))
