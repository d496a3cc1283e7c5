"""Bloch and others, Internet Supplement, section 7.7: the rigid body on SO(n) (7.7.36 to 7.7.42).

Random attitudes, momenta and inertias for n = 3, 4 and 5. The library gives the rates and motions of the body on the left and
on the right, plain and symmetric, and what it conserves; independent implementations are brackets, vector products, series and
eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from ...errors import ModelError
from ...formulations.registry import derive
from ...geometry.rigid_rotations import (
    body_energy,
    manakov_integrals,
    momentum_of_pair,
    momentum_of_velocity,
    spatial_momentum,
    symmetric_partner,
    velocity_of_momentum,
)
from ...model.builders.rigid_bodies import rigid_body
from ...model.flow_system import Flow
from ..independent.matrix_flows import APART, SPAN, Path, algebra, bracket, flow_rates, gap, inner, path_of, rotation, skew
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import claim

RANDOM = "random attitudes and momenta for n = 3 and 4"
#: Inertias by the number of axes; the first is negative for n = 3, where only sums must be positive.
INERTIAS = {3: (-0.2, 1.0, 1.7), 4: (0.5, 1.0, 1.4, 2.2), 5: (0.4, 0.8, 1.3, 1.7, 2.3)}
STATED = (3, 4)
#: The sizes whose motions are followed as pairs of rotations.
PAIRED = (3,)


def hat(v: Any) -> Any:
    """The skew matrix of v x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def J(n: int, velocity: Any) -> Any:
    """Lambda Omega + Omega Lambda by products of matrices."""
    L = np.diag(INERTIAS[n])
    return L @ velocity + velocity @ L


def velocity_of(n: int, M: Any) -> Any:
    """J^-1 M, by a division of each entry."""
    sums = np.add.outer(INERTIAS[n], INERTIAS[n]) + np.diag(np.ones(n) * 9)
    return M / sums


@cache
def stated(n: int, side: str, symmetric: bool) -> tuple[Flow, Probe]:
    flow = rigid_body(INERTIAS[n], side, symmetric=symmetric)  # type: ignore[arg-type]
    return flow, Probe(derive(flow), {})


def bodies(n: int, count: int = 2) -> Iterator[tuple[int, Any, Any]]:
    """n, a random attitude and a random momentum with a norm below two."""
    random = np.random.default_rng(770 + n)
    for _ in range(count):
        M = skew(random, n)
        yield n, rotation(random, n), M * random.uniform(0.8, 1.8) / np.linalg.norm(M, 2)


def over_bodies(residual: Callable[[int, Any, Any], float], sizes: tuple[int, ...] = STATED, count: int = 2) -> float:
    return worst(residual(*body) for n in sizes for body in bodies(n, count))


@cache
def body_path(n: int, side: str = "left", symmetric: bool = False) -> Path:
    """A motion of the library."""
    _, Q, M = next(bodies(n, 1))
    flow = stated(n, side, symmetric)[0]
    return path_of(flow, Q=Q, P=symmetric_partner(Q, M, side)) if symmetric else path_of(flow, Q=Q, M=M)  # type: ignore[arg-type]


def still(values: Any) -> float:
    """How far a history departs from its start."""
    return gap(values, np.broadcast_to(values[0], np.shape(values)))


@claim(
    "B-7.7-trace-product",
    "<xi, eta> = -tr(xi eta)/2 is the product of vectors of R^3 under hat(u) v = u x v, and brackets are vector products",
    how="random vectors",
)
def trace_product() -> float:
    random = np.random.default_rng(1)
    found = []
    for _ in range(4):
        u, v, w = random.standard_normal((3, 3))
        found += [
            distance(-np.trace(hat(u) @ hat(v)) / 2, u @ v),
            distance(hat(u) @ w, np.cross(u, w)),
            gap(bracket(hat(u), hat(v)), hat(np.cross(u, v))),
        ]
    return worst(found)


@claim(
    "B-7.7.36",
    "Q_dot = Q Omega, M_dot = [M, Omega] with M = J(Omega)",
    how=f"{RANDOM}: the library's rates against products of matrices",
)
def body_equations() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        found, omega = flow_rates(*stated(n, "left", False), Q=Q, M=M), velocity_of(n, M)
        return largest(gap(found["Q"], Q @ omega), gap(found["M"], bracket(M, omega)), gap(J(n, omega), M))

    return over_bodies(residual)


@claim(
    "B-7.7.36-inertia",
    "J(Omega) = Lambda Omega + Omega Lambda is symmetric, and positive definite just where all Lambda_i + Lambda_j > 0; single"
    " Lambda may be negative",
    how="n = 3, 4 and 5: eigenvalues of J on so(n); the library's J and J^-1, and its refusal of sums that are not positive",
)
def inertia_operator() -> float:
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
        found.append(1.0)
    except ModelError:
        pass
    return worst(found)


@claim(
    "B-7.7.36-moments",
    "For n = 3 the moments of inertia are I_1 = Lambda_2 + Lambda_3, I_2 = Lambda_3 + Lambda_1, I_3 = Lambda_1 + Lambda_2, and"
    " the equations are Euler's, (I w)_dot = I w x w",
    how="random velocities: the library's rates against vector products",
)
def euler_equations() -> float:
    a, b, c = INERTIAS[3]
    moments = np.array([b + c, c + a, a + b])
    found = []
    for _, Q, M in bodies(3, 4):
        m = np.array([M[2, 1], M[0, 2], M[1, 0]])
        rate = flow_rates(*stated(3, "left", False), Q=Q, M=M)["M"]
        found += [gap(velocity_of(3, M), hat(m / moments)), gap(rate, hat(np.cross(m, m / moments)))]
    return worst(found)


@claim(
    "B-7.7.36-reduced",
    "M_dot = [M, Omega] are the Euler-Poincare equations of l = 1/2 <Omega, J(Omega)>",
    how=f"{RANDOM}: M = dl/dOmega by complex steps, <M_dot, eta> = <M, [Omega, eta]> for all eta with the library's M_dot",
)
def euler_poincare() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        here, omega = algebra(f"so({n})"), velocity_of(n, M)
        derivatives = derivative(lambda c: inner(here.matrix(c), J(n, here.matrix(c))) / 2, here.vector(omega))
        rate = flow_rates(*stated(n, "left", False), Q=Q, M=M)["M"]
        pairs = [(inner(rate, e), inner(M, bracket(omega, e))) for e in here.basis]
        return largest(gap(here.matrix(derivatives), M), *(distance(a, b) for a, b in pairs))

    return over_bodies(residual)


@claim(
    "B-7.7.37",
    "The motions are geodesics of the left-invariant metric <Omega_1, J(Omega_2)>: along them the first variation of the energy"
    " with fixed ends vanishes, and the energy stays; along turns with the same velocity at the start it does not",
    how="n = 3 and 4: the library's motions, Omega + s (eta_dot + [Omega, eta]) under quadrature",
)
def geodesics() -> float:
    found: list[Any] = []
    other: list[Any] = []
    for n in STATED:
        path, here = body_path(n), algebra(f"so({n})")
        omega = velocity_of_momentum(INERTIAS[n], path["M"])
        steady = np.broadcast_to(omega[0], omega.shape)
        wave, rate = np.sin(np.pi * path.t / SPAN), np.pi / SPAN * np.cos(np.pi * path.t / SPAN)
        for e in here.basis:
            for values, residuals in ((omega, found), (steady, other)):
                change = rate[:, None, None] * e + wave[:, None, None] * bracket(values, e)
                residuals.append(path.integral(inner(J(n, values), change)))
        found += [still(body_energy(INERTIAS[n], path["M"])), still(inner(omega, path["M"]))]
    return largest(worst(found), excess(APART - worst(other)))


@claim(
    "B-7.7.37-manakov",
    "tr (M + z Lambda^2)^k stay, because d/dt (M + z Lambda^2) = [M + z Lambda^2, Omega + z Lambda]; they are in involution,"
    " and as many as complete integrability needs, (dim so(n) + rank)/2",
    how="n = 3, 4 and 5: the library's integrals along its motions, brackets and ranks of their derivatives by complex steps",
)
def complete_integrability() -> float:
    found = []
    for n in INERTIAS:
        here, L = algebra(f"so({n})"), np.diag(INERTIAS[n])
        M = skew(np.random.default_rng(n), n)
        omega = velocity_of(n, M)
        found += [gap(bracket(M, omega), bracket(M + z * L @ L, omega + z * L)) for z in (0.7, -2.0)]
        names = manakov_integrals(INERTIAS[n], M)
        derivatives = [_manakov_derivative(n, M, name) for name in names]
        found += [distance(_manakov(M, L, name), value) for name, value in names.items()]
        found += [abs(inner(M, bracket(a, b))) for a, b in combinations(derivatives, 2)]
        wanted = (here.dimension + n // 2) // 2
        independent = np.linalg.matrix_rank(np.array([here.vector(s) for s in derivatives]), tol=1e-9)
        found.append(float(len(names) != wanted or independent != wanted))
    for n in STATED:
        found += [still(values) for values in manakov_integrals(INERTIAS[n], body_path(n)["M"]).values()]
    return worst(found)


def _manakov_derivative(n: int, M: Any, name: str) -> Any:
    """The direction of the derivative of an integral, of unit length."""
    here, L = algebra(f"so({n})"), np.diag(INERTIAS[n])
    found = here.matrix(derivative(lambda c: _manakov(here.matrix(c), L, name), here.vector(M)))
    return found / np.sqrt(inner(found, found))


def _manakov(M: Any, L: Any, name: str) -> Any:
    """The coefficient of z^j in tr (M + z Lambda^2)^k, from its values at whole z."""
    k, j = (int(part[1:]) for part in name.split())
    found: Any = 0.0
    nodes = np.arange(-(k // 2), k - k // 2 + 1)
    weights = np.linalg.inv(np.vander(nodes, increasing=True))[j]
    for weight, z in zip(weights, nodes, strict=True):
        power = np.eye(len(M))
        for _ in range(k):
            power = power @ (M + z * L @ L)
        found = found + weight * np.trace(power)
    return found


@claim(
    "B-7.7.37-semisimple",
    "On another semisimple algebra M_dot = [M, Omega] with [a, Omega] = [b, M], a and b in one Cartan algebra, keeps"
    " tr (M + z a)^k for all z",
    how="su(3): random M, rates of the traces with Omega by a dense solve",
)
def other_groups() -> float:
    here = algebra("su(3)")
    random = np.random.default_rng(37)
    cartan = here.kernel(here.random(random)).T
    a, b = (here.matrix(random.standard_normal(2) @ cartan) for _ in range(2))
    found = []
    for _ in range(3):
        M = here.random(random)
        omega = here.inverse(a, bracket(b, M)) + (0.4 * M - 0.4 * here.image_part(a, M))
        found.append(gap(bracket(a, omega), bracket(b, M)))
        rate = bracket(M, omega)
        for z in (0.0, 0.6, -1.5):
            sum_ = M + z * a
            found += [abs(np.trace(np.linalg.matrix_power(sum_, k) @ rate)) for k in range(1, 4)]
    return worst(found)


@claim(
    "B-7.7.38",
    "Q_dot = Q Omega, P_dot = P Omega with M = Q^T P - P^T Q stay on SO(n) x SO(n), and commute with (Q, P) -> (R Q, R P)",
    how=f"{RANDOM}: the library's rates at both pairs, orthogonality along its motions",
)
def symmetric_equations() -> float:
    random = np.random.default_rng(38)

    def residual(n: int, Q: Any, M: Any) -> float:
        P, R = rotation(random, n), rotation(random, n)
        flow = stated(n, "left", True)
        omega = velocity_of(n, Q.T @ P - P.T @ Q)
        found, turned = flow_rates(*flow, Q=Q, P=P), flow_rates(*flow, Q=R @ Q, P=R @ P)
        return largest(
            *(gap(found[key], m @ omega) for key, m in (("Q", Q), ("P", P))),
            *(gap(turned[key], R @ found[key]) for key in ("Q", "P")),
        )

    kept = []
    for n in PAIRED:
        for key in ("Q", "P"):
            matrices = body_path(n, symmetric=True)[key]
            kept.append(gap(np.swapaxes(matrices, 1, 2) @ matrices, np.broadcast_to(np.eye(n), matrices.shape)))
    return largest(over_bodies(residual), *kept)


@claim(
    "B-Proposition-7.7.17",
    "Where (Q, P) moves by (7.7.38), (Q, Q^T P - P^T Q) moves by (7.7.36)",
    how="n = 3 and 4: M_dot by the library's rates; n = 3: its motions of both from matching starts",
)
def reduction_of_pairs() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        P = symmetric_partner(Q, M)
        found = flow_rates(*stated(n, "left", True), Q=Q, P=P)
        rate = found["Q"].T @ P + Q.T @ found["P"]
        return gap(rate - rate.T, flow_rates(*stated(n, "left", False), Q=Q, M=M)["M"])

    found = []
    for n in PAIRED:
        pair, plain = body_path(n, symmetric=True), body_path(n)
        found += [gap(pair["Q"], plain["Q"]), gap(momentum_of_pair(pair["Q"], pair["P"]), plain["M"])]
    return largest(over_bodies(residual), *found)


@claim(
    "B-Proposition-7.7.18",
    "The spatial momentum is m = Q M Q^T = P Q^T - Q P^T, and stays",
    how="n = 3 and 4: the library's motions and its spatial momentum, and those of the pair for n = 3",
)
def spatial() -> float:
    found = []
    for n in PAIRED:
        pair, plain = body_path(n, symmetric=True), body_path(n)
        product = pair["P"] @ np.swapaxes(pair["Q"], 1, 2)
        found.append(gap(product - np.swapaxes(product, 1, 2), spatial_momentum(plain["Q"], plain["M"])))
    return largest(*found, *(still(spatial_momentum(body_path(n)["Q"], body_path(n)["M"])) for n in STATED))
