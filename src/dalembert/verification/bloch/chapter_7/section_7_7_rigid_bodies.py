"""Bloch and others, Internet Supplement, section 7.7: the rigid body on SO(n) (7.7.36 to 7.7.42).

Random attitudes, momenta and inertias for n = 3, 4 and 5. The library gives the rates and motions
of the body on the left and on the right, plain and symmetric, and what it conserves; independent
implementations are brackets, vector products, series and eigenvalues.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ....errors import ModelError
from ....formulations.registry import derive
from ....geometry.rigid_rotations import (
    Side,
    body_energy,
    manakov_integrals,
    momentum_of_pair,
    momentum_of_velocity,
    spatial_momentum,
    symmetric_partner,
    velocity_of_momentum,
)
from ....model.builders.rigid_bodies import rigid_body
from ....model.flow_system import Flow
from ....typing import Array
from ...independent.matrix_flows import (
    APART,
    SampledPath,
    algebra,
    bracket,
    flow_rates,
    gap,
    inner,
    path_of,
    rotation,
    skew,
)
from ...numeric import Probe, Residual, Residuals, derivative, distance, excess
from ...row_registry import listed
from ...samples import Sampler
from .section_7_7_samples import Entries, gaps, still, wave

#: Inertias by the number of axes; one is negative for n = 3, where only sums must be positive.
INERTIAS = {3: (-0.2, 1.0, 1.7), 4: (0.5, 1.0, 1.4, 2.2), 5: (0.4, 0.8, 1.3, 1.7, 2.3)}
STATED = (3, 4)
#: The size whose motions are followed as pairs of rotations.
PAIRED = 3


def hat(v: Array) -> Array:
    """The skew matrix of v x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def axis(M: Array) -> Array:
    """The vector of a skew matrix."""
    return np.array([M[2, 1], M[0, 2], M[1, 0]])


def J(n: int, velocity: Entries) -> Entries:
    """Lambda Omega + Omega Lambda by products of matrices."""
    L = np.diag(INERTIAS[n])
    return L @ velocity + velocity @ L


def velocity_of(n: int, M: Array) -> Array:
    """J^-1 M, by a division of each entry."""
    sums = np.add.outer(INERTIAS[n], INERTIAS[n]) + np.diag(np.ones(n) * 9)
    return np.asarray(M / sums)


@cache
def stated(n: int, side: Side, symmetric: bool) -> tuple[Flow, Probe]:
    """The library's flow of a body, and a probe of it."""
    flow = rigid_body(INERTIAS[n], side, symmetric=symmetric)
    return flow, Probe(derive(flow), {})


class SampledBody(NamedTuple):
    """An attitude and a momentum with a norm below two, of n axes."""

    n: int
    Q: Array
    M: Array

    @property
    def rates(self) -> dict[str, Array]:
        """Q_dot and M_dot of the library."""
        return flow_rates(*stated(self.n, "left", False), Q=self.Q, M=self.M)

    def pair_rates(self, P: Array, side: Side = "left") -> dict[str, Array]:
        """Q_dot and P_dot of the library's symmetric body."""
        return flow_rates(*stated(self.n, side, True), Q=self.Q, P=P)


def _bodies(n: int) -> list[SampledBody]:
    random = np.random.default_rng(770 + n)
    found = []
    for _ in range(4):
        M, Q = skew(random, n), rotation(random, n)
        found.append(SampledBody(n, Q, M * random.uniform(0.8, 1.8) / np.linalg.norm(M, 2)))
    return found


four_bodies = Sampler(lambda n: _bodies(int(n)), map(str, STATED))
bodies = four_bodies.first(2)


@cache
def body_path(n: int, side: Side = "left", symmetric: bool = False) -> SampledPath:
    """A motion of the library."""
    _, Q, M = bodies(str(n))[0]
    flow = stated(n, side, symmetric)[0]
    return (
        path_of(flow, Q=Q, P=symmetric_partner(Q, M, side))
        if symmetric
        else path_of(flow, Q=Q, M=M)
    )


@listed("B-7.7-trace-product")
def trace_product() -> Residuals:
    random = np.random.default_rng(1)
    for _ in range(4):
        u, v, w = random.standard_normal((3, 3))
        yield [
            distance(-np.trace(hat(u) @ hat(v)) / 2, u @ v),
            distance(hat(u) @ w, np.cross(u, w)),
            gap(bracket(hat(u), hat(v)), hat(np.cross(u, v))),
        ]


@listed("B-7.7.36", over=bodies)
def body_equations(s: SampledBody) -> Residual:
    n, Q, M = s
    omega = velocity_of(n, M)
    return gap(J(n, omega), M), *gaps(s.rates.values(), (Q @ omega, bracket(M, omega)))


@listed("B-7.7.36-inertia")
def inertia_operator() -> Residual:
    found = []
    for n, numbers in INERTIAS.items():
        basis = algebra(f"so({n})").basis
        matrix = np.array([[inner(a, J(n, b)) for b in basis] for a in basis])
        sums = sorted(a + b for a, b in combinations(numbers, 2))
        omega = skew(np.random.default_rng(n), n)
        M = momentum_of_velocity(numbers, omega)
        found += [
            gap(matrix, matrix.T),
            distance(np.linalg.eigvalsh(matrix), sums),
            excess(APART - sums[0]),
            gap(M, J(n, omega)),
            gap(velocity_of_momentum(numbers, M), omega),
        ]
    try:
        momentum_of_velocity([-1.2, 1.0, 3.0], skew(np.random.default_rng(0), 3))
        return 1.0
    except ModelError:
        return found


@listed("B-7.7.36-moments", over=four_bodies.of("3"))
def euler_equations(s: SampledBody) -> Residual:
    a, b, c = INERTIAS[3]
    moments, m = np.array([b + c, c + a, a + b]), axis(s.M)
    expected = hat(m / moments), hat(np.cross(m, m / moments))
    return gaps((velocity_of(3, s.M), s.rates["M"]), expected)


@listed("B-7.7.36-reduced", over=bodies)
def euler_poincare(s: SampledBody) -> Residual:
    n, _, M = s
    here, omega = algebra(f"so({n})"), velocity_of(n, M)

    def energy(c: Array) -> Array:
        return np.asarray(inner(here.matrix(c), J(n, here.matrix(c))) / 2)

    by, rate = derivative(energy, here.vector(omega)), s.rates["M"]
    pairs = [(inner(rate, e), inner(M, bracket(omega, e))) for e in here.basis]
    return gap(here.matrix(by), M), *(distance(a, b) for a, b in pairs)


@listed("B-7.7.37")
def geodesics() -> Residual:
    found: list[float] = []
    other: list[float] = []
    for n in STATED:
        path, here = body_path(n), algebra(f"so({n})")
        omega = velocity_of_momentum(INERTIAS[n], path["M"])
        steady = np.broadcast_to(omega[0], omega.shape)
        shape, rate = wave(path)
        for e in here.basis:
            for values, residuals in ((omega, found), (steady, other)):
                change = rate * e + shape * bracket(values, e)
                residuals.append(path.integral(inner(J(n, values), change)))
        found += [still(body_energy(INERTIAS[n], path["M"])), still(inner(omega, path["M"]))]
    return found, excess(APART - np.max(np.abs(other)))


@listed("B-7.7.37-manakov")
def complete_integrability() -> Residuals:
    for n, numbers in INERTIAS.items():
        here, L = algebra(f"so({n})"), np.diag(numbers)
        M = skew(np.random.default_rng(n), n)
        omega = velocity_of(n, M)
        yield [gap(bracket(M, omega), bracket(M + z * L @ L, omega + z * L)) for z in (0.7, -2.0)]
        names = manakov_integrals(numbers, M)
        derivatives = [_manakov_derivative(n, M, name) for name in names]
        yield [distance(_manakov(M, L, name), value) for name, value in names.items()]
        yield [abs(inner(M, bracket(a, b))) for a, b in combinations(derivatives, 2)]
        wanted = (here.dimension + n // 2) // 2
        vectors = np.array([here.vector(s) for s in derivatives])
        independent = np.linalg.matrix_rank(vectors, tol=1e-9)
        yield float(len(names) != wanted or independent != wanted)
    for n in STATED:
        yield map(still, manakov_integrals(INERTIAS[n], body_path(n)["M"]).values())


def _manakov_derivative(n: int, M: Array, name: str) -> Array:
    """The direction of the derivative of an integral, of unit length."""
    here, L = algebra(f"so({n})"), np.diag(INERTIAS[n])
    found = here.matrix(derivative(lambda c: _manakov(here.matrix(c), L, name), here.vector(M)))
    return np.asarray(found / np.sqrt(inner(found, found)))


def _manakov(M: Entries, L: Array, name: str) -> Entries:
    """The coefficient of z^j in tr (M + z Lambda^2)^k, from its values at whole z."""
    k, j = (int(part[1:]) for part in name.split())
    nodes = np.arange(-(k // 2), k - k // 2 + 1)
    weights = np.linalg.inv(np.vander(nodes, increasing=True))[j]
    found = np.zeros(())
    for weight, z in zip(weights, nodes, strict=True):
        power = np.eye(len(M))
        for _ in range(k):
            power = power @ (M + z * L @ L)
        found = found + weight * np.trace(power)
    return found


@listed("B-7.7.37-semisimple")
def other_groups() -> Residuals:
    here = algebra("su(3)")
    random = np.random.default_rng(37)
    cartan = here.kernel(here.random(random)).T
    a, b = (here.matrix(random.standard_normal(2) @ cartan) for _ in range(2))
    for _ in range(3):
        M = here.random(random)
        omega = here.inverse(a, bracket(b, M)) + (0.4 * M - 0.4 * here.image_part(a, M))
        yield gap(bracket(a, omega), bracket(b, M))
        rate = bracket(M, omega)
        for z in (0.0, 0.6, -1.5):
            powers = (np.linalg.matrix_power(M + z * a, k) for k in range(1, 4))
            yield [np.trace(power @ rate) for power in powers]


@listed("B-7.7.38")
def symmetric_equations() -> Residual:
    random = np.random.default_rng(38)

    def residual(s: SampledBody) -> Residual:
        n, Q, _ = s
        P, R = rotation(random, n), rotation(random, n)
        omega = velocity_of(n, Q.T @ P - P.T @ Q)
        found = s.pair_rates(P)
        turned = SampledBody(n, R @ Q, s.M).pair_rates(R @ P)
        expected = {"Q": (Q @ omega, R @ found["Q"]), "P": (P @ omega, R @ found["P"])}
        return [gaps((found[key], turned[key]), pair) for key, pair in expected.items()]

    path = body_path(PAIRED, symmetric=True)
    squares = (np.swapaxes(path[key], 1, 2) @ path[key] for key in ("Q", "P"))
    return bodies.worst(residual), *(gap(m, np.broadcast_to(np.eye(3), m.shape)) for m in squares)


@listed("B-Proposition-7.7.17")
def reduction_of_pairs() -> Residual:
    def residual(s: SampledBody) -> Residual:
        P = symmetric_partner(s.Q, s.M)
        found = s.pair_rates(P)
        rate = found["Q"].T @ P + s.Q.T @ found["P"]
        return gap(rate - rate.T, s.rates["M"])

    pair, plain = body_path(PAIRED, symmetric=True), body_path(PAIRED)
    momenta = momentum_of_pair(pair["Q"], pair["P"])
    return bodies.worst(residual), *gaps((pair["Q"], momenta), (plain["Q"], plain["M"]))


@listed("B-Proposition-7.7.18")
def spatial() -> Residual:
    pair, plain = body_path(PAIRED, symmetric=True), [body_path(n) for n in STATED]
    product = pair["P"] @ np.swapaxes(pair["Q"], 1, 2)
    momenta = [spatial_momentum(path["Q"], path["M"]) for path in plain]
    return gap(product - np.swapaxes(product, 1, 2), momenta[0]), *map(still, momenta)
