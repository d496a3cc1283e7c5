"""Bloch and others, Internet Supplement, section 7.7: the discrete rigid body of Moser and Veselov (7.7.49 to 7.7.54).

Random attitudes, momenta and positive inertias for n = 3, 4 and 5. The library solves for the rotation of a step and runs the
map; independent implementations are products of matrices, complex steps of the sum that is made stationary, and the continuous
body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import ModelError
from ...geometry.discrete_rotations import discrete_momentum, discrete_rotation, largest_factor
from ...geometry.rigid_rotations import symmetric_partner
from ...integrate.methods.groups.discrete_body import discrete_rigid_body
from ...integrate.simulate import simulate
from ...model.builders.rigid_bodies import rigid_body
from ..independent.matrix_flows import APART, algebra, gap, rotation, skew
from ..numeric import derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random inertias, attitudes and momenta for n = 3, 4 and 5"
SIZES = (3, 4, 5)
#: Steps of a chain whose sum is varied.
LINKS = 3


def starts(n: int, count: int = 2) -> Iterator[tuple[Any, Any, Any]]:
    """Lambda, Q and M with M at a part of the largest that a step takes, and of a norm below two."""
    random = np.random.default_rng(749 + n)
    for _ in range(count):
        inertias = random.uniform(0.5, 2.0, n)
        M = skew(random, n)
        size = min(largest_factor(inertias, M), 2 / np.linalg.norm(M, 2))
        yield inertias, rotation(random, n), M * size * random.uniform(0.4, 0.8)


def over_starts(residual: Callable[[Any, Any, Any], float], sizes: tuple[int, ...] = SIZES) -> float:
    return worst(residual(*start) for n in sizes for start in starts(n))


@cache
def chain(n: int, links: int = LINKS) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Lambda, the attitudes Q_0 ... and the rotations U_0 ... of a chain, by the library's rotations."""
    inertias, Q, M = next(starts(n, 1))
    attitudes, turns = [Q], []
    for _ in range(links):
        turns.append(discrete_rotation(inertias, M))
        M = turns[-1].T @ M @ turns[-1]
        attitudes.append(attitudes[-1] @ turns[-1])
    return inertias, tuple(attitudes), tuple(turns)


@claim(
    "B-7.7.49",
    "Q_k+1 = Q_k U_k and P_k+1 = P_k U_k give M_k+1 = U_k^T M_k U_k = Lambda U_k - U_k^T Lambda",
    how=f"{RANDOM}: the library's map of several steps against products of matrices with its U",
)
def discrete_pairs() -> float:
    def residual(inertias: Any, Q: Any, M: Any) -> float:
        motion = discrete_rigid_body(inertias, M, Q, steps=3)
        P, L = symmetric_partner(Q, M), np.diag(inertias)
        found = []
        for k in range(3):
            U = discrete_rotation(inertias, Q.T @ P - P.T @ Q)
            Q, P = Q @ U, P @ U
            found += [gap(motion.Q[k + 1], Q), gap(motion.M[k + 1], Q.T @ P - P.T @ Q)]
            found.append(gap(Q.T @ P - P.T @ Q, L @ U - U.T @ L))
        return worst(found)

    return over_starts(residual)


@claim(
    "B-7.7.49-invariants",
    "Q M Q^T and det(Lambda^2 + z M - z^2) stay along the map",
    how=f"{RANDOM}: 400 steps of the library's map, determinants at several z",
)
def invariants() -> float:
    def residual(inertias: Any, Q: Any, M: Any) -> float:
        motion = discrete_rigid_body(inertias, M, Q, steps=400, every=40)
        spatial = motion.Q @ motion.M @ np.swapaxes(motion.Q, 1, 2)
        one = np.eye(len(inertias))
        found = [gap(spatial, np.broadcast_to(spatial[0], spatial.shape))]
        for z in (0.4, 1.1, -2.0):
            values = [np.linalg.det(np.diag(inertias**2) + z * m - z * z * one) for m in motion.M]
            found.append(distance(values, values[0]))
        return worst(found)

    return over_starts(residual)


@claim(
    "B-7.7.49-continuous",
    "With M = h times the momentum the map follows the continuous body to second order in h: halved steps quarter the error",
    how="n = 3 and 4: the library's map against its motion of the body, observed orders within 0.1 of two",
)
def order_of_the_map() -> float:
    found = []
    for n in (3, 4):
        inertias, Q, M = next(starts(n, 1))
        body = rigid_body(inertias.tolist())
        end = simulate(body, body.start(Q=Q, M=M), (0, 1), at=[0.0, 1.0], rtol=1e-12, atol=1e-13)["Q"][-1]
        errors = [np.max(np.abs(discrete_rigid_body(inertias, M, Q, steps=k, step=1 / k).Q[-1] - end)) for k in (40, 80, 160)]
        orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
        found += [excess(np.max(np.abs(orders - 2)) - 0.1), excess(errors[-1] - 1e-3)]
    return worst(found)


@claim(
    "B-7.7.50",
    "U Lambda - Lambda U^T = M has a solution U in SO(n) that continues the identity: J^D(U) = M",
    how=f"{RANDOM}: the library's U in the equation, its determinant, and U from M = 0 on in small parts",
)
def rotation_of_a_step() -> float:
    def residual(inertias: Any, _: Any, M: Any) -> float:
        U, L = discrete_rotation(inertias, M), np.diag(inertias)
        parts = [discrete_rotation(inertias, s * M) for s in np.linspace(0, 1, 7)]
        steps = worst(np.max(np.abs(b - a)) for a, b in pairwise(parts))
        return largest(
            gap(U @ L - L @ U.T, M),
            gap(discrete_momentum(inertias, U), M),
            gap(U.T @ U, np.eye(len(L))),
            distance(np.linalg.det(U), 1.0),
            gap(parts[0], np.eye(len(L))),
            excess(steps - 0.5),
        )

    return over_starts(residual)


@claim(
    "B-7.7.50-branch",
    "Several U solve it; the one that continues the identity has the spectrum of U Lambda in the right half plane, while its"
    " symmetric part need not be definite",
    how=f"{RANDOM}: eigenvalues; turns about one axis by asin(m/(Lambda_1 + Lambda_2)) and by pi less that",
)
def branches() -> float:
    def residual(inertias: Any, _: Any, M: Any) -> float:
        return excess(-np.min(np.linalg.eigvals(discrete_rotation(inertias, M) * inertias).real))

    inertias = np.array([0.6, 1.9, 1.2])
    angle = 1.45
    turn, other = (_axial(a) for a in (angle, np.pi - angle))
    M = discrete_momentum(inertias, turn)
    scaled = turn * inertias
    definite = np.linalg.eigvalsh(scaled + scaled.T)[0]
    return largest(
        over_starts(residual),
        gap(discrete_rotation(inertias, M), turn),
        gap(discrete_momentum(inertias, other), M),
        excess(APART - np.max(np.abs(turn - other))),
        excess(APART + definite),
        excess(APART + np.min(np.linalg.eigvals(other * inertias).real)),
    )


def _axial(angle: float) -> Any:
    """A turn about the third axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@claim(
    "B-7.7.50-limit",
    "About the third axis of n = 3 a step exists for |m| < Lambda_1 + Lambda_2, by the angle asin(m/(Lambda_1 + Lambda_2))",
    how="momenta up to 0.999 of the limit, and 1.001 of it, which the library refuses; its largest factor",
)
def limit_of_a_step() -> float:
    inertias, found = np.array([0.8, 1.7, 1.1]), []
    limit = inertias[0] + inertias[1]
    unit = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for part in (0.3, 0.9, 0.999):
        U = discrete_rotation(inertias, part * limit * unit)
        found += [gap(U, _axial(np.arcsin(part))), distance(largest_factor(inertias, part * limit * unit), 1 / part)]
    try:
        discrete_rotation(inertias, 1.001 * limit * unit)
        found.append(1.0)
    except ModelError:
        pass
    return worst(found)


def _sum(inertias: Any, turns: Any, etas: Any) -> Any:
    """sum tr(Lambda U_k) after Q_k -> Q_k exp(eta_k) inside, with fixed ends; etas (links - 1, n, n)."""
    n = len(inertias)
    ends = [np.eye(n), *(_exponential(eta) for eta in etas), np.eye(n)]
    backs = [np.eye(n), *(_exponential(-eta) for eta in etas), np.eye(n)]
    return sum(np.trace(np.diag(inertias) @ backs[k] @ U @ ends[k + 1]) for k, U in enumerate(turns))


def _exponential(eta: Any) -> Any:
    """exp of a small matrix by its series."""
    found = np.eye(len(eta))
    for k in range(10, 0, -1):
        found = np.eye(len(eta)) + eta @ found / k
    return found


def _derivative_of_sum(n: int, at: Any) -> Any:
    """The derivative of the sum in the components of the etas."""
    inertias, _, turns = chain(n)
    here = algebra(f"so({n})")
    return derivative(lambda c: _sum(inertias, turns, here.matrix(c.reshape(LINKS - 1, -1))), at)


@claim(
    "B-7.7.51",
    "The sum of tr(Lambda U_k) is stationary with fixed ends, and greatest near the identity, not least as the print has it",
    how="chains of three steps for n = 3 and 4 by the library's rotations: derivatives by complex steps, signs of second "
    "variations",
)
def stationary_sum() -> Corrected:
    right, printed = [], []
    for n in (3, 4):
        count = (LINKS - 1) * algebra(f"so({n})").dimension
        right.append(worst(_derivative_of_sum(n, np.zeros(count))))
        h = 1e-4
        columns = [(_derivative_of_sum(n, h * e) - _derivative_of_sum(n, -h * e)) / (2 * h) for e in np.eye(count)]
        sizes = np.linalg.eigvalsh((np.array(columns) + np.array(columns).T) / 2)
        right.append(excess(sizes[-1] + APART))
        printed.append(excess(-sizes[0]))
    return Corrected(worst(right), min(printed))


@claim(
    "B-7.7.52",
    "Q_k+1 = Q_k U_k joins the ends in SO(n); momenta that do not match, Lambda U_k-1 - U_k-1^T Lambda other than"
    " U_k Lambda - Lambda U_k^T, make the sum vary",
    how="chains for n = 3 and 4: products of the library's rotations; a chain with one attitude moved",
)
def joined_ends() -> float:
    found = []
    for n in (3, 4):
        inertias, attitudes, turns = chain(n)
        L = np.diag(inertias)
        product = attitudes[0]
        for U in turns:
            product = product @ U
        found += [gap(product, attitudes[-1]), gap(product.T @ product, np.eye(n))]
        found += [gap(L @ a - a.T @ L, b @ L - L @ b.T) for a, b in pairwise(turns)]
        count = (LINKS - 1) * algebra(f"so({n})").dimension
        found.append(excess(APART - worst(_derivative_of_sum(n, np.full(count, 0.05)))))
    return worst(found)


@claim(
    "B-7.7.53",
    "The costate of H = tr(P_k+1^T Q_k U_k) + ... moves by P_k = dH/dQ_k, that is P_k+1 = P_k U_k",
    how=f"{RANDOM}: complex steps of H, P of the library's pair",
)
def costates() -> float:
    def residual(inertias: Any, Q: Any, M: Any) -> float:
        n, P, U = len(inertias), symmetric_partner(Q, M), discrete_rotation(inertias, M)
        following = P @ U
        by_q = derivative(lambda z: np.sum(following * (z.reshape(n, n) @ U)), Q.ravel()).reshape(n, n)
        return gap(by_q, P)

    return over_starts(residual)


@claim(
    "B-7.7.54",
    "U_k Lambda - Lambda U_k^T = Q_k^T P_k - P_k^T Q_k at every step of the chain of pairs",
    how=f"{RANDOM}: the library's U from each pair, and P_k Q_k^T - Q_k P_k^T, which stays",
)
def momenta_of_pairs() -> float:
    def residual(inertias: Any, Q: Any, M: Any) -> float:
        P, L = symmetric_partner(Q, M), np.diag(inertias)
        spatial, found = P @ Q.T - Q @ P.T, []
        for _ in range(4):
            U = discrete_rotation(inertias, Q.T @ P - P.T @ Q)
            found += [gap(U @ L - L @ U.T, Q.T @ P - P.T @ Q), gap(P @ Q.T - Q @ P.T, spatial)]
            Q, P = Q @ U, P @ U
        return worst(found)

    return over_starts(residual)


@claim(
    "B-Theorem-7.7.26",
    "(7.7.54) is where H = tr(P_k+1^T Q_k U) + tr(Lambda U) is stationary over rotations U, which makes the sum greatest; with"
    " -tr(Lambda U), for the least sum of the print, its right side has the other sign",
    how=f"{RANDOM}: complex steps of H along exp(xi) U at the library's U",
)
def discrete_maximum_principle() -> Corrected:
    def residual(inertias: Any, Q: Any, M: Any, sign: float) -> float:
        here, P, U = algebra(f"so({len(inertias)})"), symmetric_partner(Q, M), discrete_rotation(inertias, M)
        costate = (P @ U).T @ Q

        def hamiltonian(c: Any) -> Any:
            turned = (np.eye(len(inertias)) + here.matrix(c)) @ U
            return np.trace(costate @ turned) + sign * np.trace(np.diag(inertias) @ turned)

        return worst(derivative(hamiltonian, np.zeros(here.dimension)))

    def over(sign: float) -> float:
        return over_starts(lambda inertias, Q, M: residual(inertias, Q, M, sign))

    return Corrected(over(1.0), over(-1.0))
