"""Bloch and others, Internet Supplement, section 7.7: pairs of rotations, the body as optimal
control (7.7.39-48).

Random attitudes and momenta for n = 3 and 4. The library gives P by eigenvalues, momenta, norms and
motions; independent implementations are power series, Rodrigues' formula, dense solves for the best
control, and block matrices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....errors import ModelError
from ....geometry.rigid_rotations import (
    Side,
    momentum_of_pair,
    on_boundary,
    operator_norm,
    spatial_momentum,
    symmetric_partner,
)
from ....typing import Array
from ...independent.matrix_flows import (
    APART,
    algebra,
    bracket,
    exponential,
    gap,
    inner,
    path_of,
    rotation,
    skew,
)
from ...numeric import Residual, Residuals, derivative, distance, excess
from ...row_registry import Corrected, listed
from ...samples import Sampler
from .section_7_7_rigid_bodies import (
    PAIRED,
    STATED,
    J,
    SampledBody,
    axis,
    bodies,
    body_path,
    four_bodies,
    hat,
    stated,
    velocity_of,
)
from .section_7_7_samples import gaps, still, wave
from .section_7_7_symmetric_spaces import lifted, paired


def sinh(xi: Array) -> Array:
    return np.asarray((exponential(xi) - exponential(-xi)) / 2)


def asinh_series(u: Array, terms: int = 60) -> Array:
    """The power series of the inverse of sinh, which integrates that of 1/sqrt(1 + u^2)."""
    found, power, weight = np.zeros_like(u), np.array(u), 1.0
    for k in range(terms):
        found = found + weight / (2 * k + 1) * power
        power = power @ u @ u
        weight *= -(2 * k + 1) / (2 * k + 2)
    return found


def off_rotations(P: Array) -> float:
    """How far a matrix is from a rotation."""
    return gap(P.T @ P, np.eye(len(P)))


@listed("B-7.7.39")
def necessary_condition() -> Residual:
    random = np.random.default_rng(39)
    found = []
    for n in (3, 4, 5):
        for _ in range(5):
            Q, P = rotation(random, n), rotation(random, n)
            M = momentum_of_pair(Q, P)
            norm = np.linalg.svd(M, compute_uv=False)[0]
            found += [gap(M, Q.T @ P - P.T @ Q), distance(operator_norm(M), norm)]
            found.append(excess(norm - 2 - 1e-12))
            try:
                symmetric_partner(Q, M * 2.001 / norm)
                return 1.0
            except ModelError:
                pass
    return found


@listed("B-7.7.39-sinh")
def sinh_of_skew() -> Residuals:
    for n in STATED:
        xi = skew(np.random.default_rng(n), n)
        series, power = np.zeros((n, n)), xi
        for k in range(1, 40, 2):
            series = series + power
            power = power @ xi @ xi / ((k + 1) * (k + 2))
        yield gap(sinh(xi), series), series + series.T


@listed("B-7.7.39-asinh")
def asinh_of_skew() -> Residuals:
    for n in STATED:
        u = skew(np.random.default_rng(n), n)
        u *= 0.6 / np.linalg.norm(u, 2)
        w = asinh_series(u)
        partner = symmetric_partner(np.eye(n), 2 * u)
        yield gap(sinh(w), u), w + w.T, gap(exponential(w), partner)


@listed("B-Definition-7.7.19")
def boundary_set() -> Residuals:
    random = np.random.default_rng(19)
    for _ in range(3):
        Q, R = rotation(random, 4), rotation(random, 4)
        turn = R @ np.kron(np.eye(2), [[0.0, -1.0], [1.0, 0.0]]) @ R.T
        M = momentum_of_pair(Q, Q @ turn)
        yield turn + turn.T, off_rotations(turn), gap(operator_norm(M), 2.0)
    for _, Q, M in bodies:
        limit = 2 * M / operator_norm(M)
        P = symmetric_partner(Q, limit)
        yield gap(momentum_of_pair(Q, P), limit), off_rotations(P)
        yield float(not on_boundary(limit))


@Sampler
def unit_vectors(kind: str) -> Array:
    c = np.random.default_rng(40).standard_normal((4, 3))
    return np.asarray(c / np.linalg.norm(c, axis=1)[:, None])


@listed("B-7.7.40", over=unit_vectors)
def rodrigues(c: Array) -> Residual:
    one, across = np.eye(3), np.eye(3) - np.outer(c, c)
    angles = (0.3, 1.9, 4.0)
    printed = [one + np.sin(mu) * hat(c) + across * (np.cos(mu) - 1) for mu in angles]
    return gaps((exponential(mu * hat(c)) for mu in angles), printed)


@listed("B-7.7.40-sinh", over=unit_vectors)
def sinh_of_rotations(c: Array) -> Residual:
    return (
        distance(operator_norm(1.7 * hat(c)), 1.7),
        gap(asinh_series(0.6 * hat(c)), np.arcsin(0.6) * hat(c)),
        *(gap(sinh(mu * hat(c)), np.sin(mu) * hat(c)) for mu in (0.5, np.pi - 0.5, 2.2)),
        gap(sinh(0.5 * hat(c)), sinh((np.pi - 0.5) * hat(c))),
    )


@listed("B-7.7.41", over=bodies)
def partner(s: SampledBody) -> Residual:
    _, Q, M = s
    P = symmetric_partner(Q, M)
    small = M * 1.1 / np.linalg.norm(M, 2)
    w = asinh_series(small / 2)
    return (
        gap(Q.T @ P - P.T @ Q, M),
        off_rotations(P),
        gap(symmetric_partner(Q, small), Q @ exponential(w)),
        gap(exponential(w) - exponential(-w), small),
    )


@listed("B-7.7.42")
def right_partner() -> Residual:
    def residual(s: SampledBody) -> Residual:
        n, Q, M = s
        P, omega = symmetric_partner(Q, M, "right"), velocity_of(n, M)
        rates = s.pair_rates(P, "right")
        M_dot = rates["P"] @ Q.T + P @ rates["Q"].T
        found = (P @ Q.T - Q @ P.T, rates["Q"], rates["P"], M_dot - M_dot.T)
        return gaps(found, (M, omega @ Q, omega @ P, bracket(omega, M)))

    path = body_path(3, "right", True)
    momenta = momentum_of_pair(path["Q"], path["P"], "right")
    return bodies.worst(residual), still(spatial_momentum(path["Q"], momenta, "right"))


@listed("B-7.7.42-quarter-turn")
def quarter_turn() -> Corrected:
    right, printed = [], []
    for c in unit_vectors:
        turn = exponential(np.pi / 2 * hat(c))
        across, twice = np.cross(c, [0.3, 1.0, -0.2]), turn - turn.T
        right += [
            gap(turn, np.outer(c, c) + hat(c)),
            distance(np.linalg.norm(twice @ across), 2 * np.linalg.norm(across)),
            distance(np.linalg.norm(twice, 2), 2.0),
            excess(APART - np.max(np.abs(turn + turn.T))),
        ]
        printed.append(gap(turn, np.eye(3) + hat(c)))
    return Corrected(right, min(printed))


@listed("B-7.7.42-boundary")
def boundary_in_space() -> Corrected:
    right, printed = [], []
    for _, Q, M in four_bodies("3"):
        limit = 2 * M / operator_norm(M)
        turn = Q.T @ symmetric_partner(Q, limit)
        c = axis(limit) / 2
        right += [gap(turn, np.outer(c, c) + hat(c)), distance(np.linalg.norm(c), 1.0)]
        printed.append(gap(turn, np.eye(3) + hat(c)))
    return Corrected(right, min(printed))


@listed("B-Proposition-7.7.21")
def invariant_sets() -> Residual:
    _, Q, M = bodies(str(PAIRED))[0]
    P = symmetric_partner(Q, 2 * M / operator_norm(M))
    path = path_of(stated(PAIRED, "left", True)[0], panels=3, Q=Q, P=P)
    norms = (operator_norm(body_path(n)["M"]) for n in STATED)
    return distance(operator_norm(momentum_of_pair(path["Q"], path["P"])), 2.0), *map(still, norms)


@listed("B-7.7.21-direct", over=bodies)
def rate_of_the_norm(s: SampledBody) -> Residual:
    rate = s.rates["M"]
    _, vectors = np.linalg.eigh(s.M.T @ s.M)
    change = rate.T @ s.M + s.M.T @ rate
    return [v @ change @ v for v in vectors.T]


@listed("B-7.7.21-norms")
def norms() -> Residual:
    found = []
    for _, _, M in four_bodies("3"):
        length = np.linalg.norm(axis(M))
        found += [distance(operator_norm(M), length), distance(np.sqrt(inner(M, M)), length)]
    M = bodies("4")[0].M
    return found, excess(APART - abs(np.sqrt(inner(M, M)) - operator_norm(M)))


# -- optimal control -------------------------------------------------------------------------------

#: <P, Q U> of the costate and a velocity.
Pairing = Callable[[Array, Array], float]


def plain(a: Array, b: Array) -> float:
    """tr(a^T b)."""
    return float(np.sum(a * b))


def best_control(s: SampledBody, P: Array, pairing: Pairing = plain) -> Array:
    """The U that makes pairing(P, Q U) - 1/2 <U, J U> stationary, by a dense solve."""
    here = algebra(f"so({s.n})")
    linear = [pairing(P, s.Q @ e) for e in here.basis]
    quadratic = [[inner(a, J(s.n, b)) for b in here.basis] for a in here.basis]
    return np.asarray(here.matrix(np.linalg.solve(quadratic, linear)))


@listed("B-7.7.43")
def stationary_cost() -> Residual:
    n, path = PAIRED, body_path(PAIRED, symmetric=True)
    U = np.array([velocity_of(n, M) for M in momentum_of_pair(path["Q"], path["P"])])
    shape, rate = wave(path)
    changes = (rate * e + shape * bracket(U, e) for e in algebra(f"so({n})").basis)
    found = [path.integral(inner(J(n, U), change)) for change in changes]
    cost = inner(U, J(n, U)) / 2
    held = np.trace(np.swapaxes(path["P"], 1, 2) @ path["Q"] @ U, axis1=1, axis2=2) - cost
    return *found, gap(held, cost), still(held)


@listed("B-7.7.44", over=bodies)
def controlled_attitude(s: SampledBody) -> Residual:
    n, Q, U = s
    rate = Q @ U
    vectors = np.array([(Q @ e).ravel() for e in algebra(f"so({n})").basis])
    return rate.T @ Q + Q.T @ rate, np.linalg.matrix_rank(vectors) - n * (n - 1) // 2


@listed("B-7.7.45", over=bodies)
def optimal_control(s: SampledBody) -> Residual:
    P = symmetric_partner(s.Q, s.M)
    U = best_control(s, P)
    return gaps((U, s.pair_rates(P)["Q"]), (velocity_of(s.n, s.M), s.Q @ U))


@listed("B-7.7.46", over=bodies, misprint={"pairing": lambda a, b: -np.trace(a @ b) / 2})
def control_pairing(s: SampledBody, pairing: Pairing = plain) -> Residual:
    U = best_control(s, symmetric_partner(s.Q, s.M), pairing)
    return gap(U, velocity_of(s.n, s.M))


@listed("B-Proposition-7.7.23", over=bodies)
def pontryagin(s: SampledBody) -> Residual:
    n, Q, M = s
    P, U = symmetric_partner(Q, M), velocity_of(n, M)
    rates = s.pair_rates(P)
    by_p = derivative(lambda z: np.sum(z.reshape(n, n) * (Q @ U)), P.ravel())
    by_q = derivative(lambda z: np.sum(P * (z.reshape(n, n) @ U)), Q.ravel())
    return gap(rates["Q"].ravel(), by_p), gap(rates["P"].ravel(), -by_q)


@listed("B-7.7.47", over=bodies)
def standard_form(s: SampledBody) -> Residual:
    n, Q, M = s
    costate, rates = Q @ M, s.rates
    U = best_control(s, costate, lambda a, b: plain(a, b) / 2)
    by_q = derivative(lambda z: np.sum(costate * (z.reshape(n, n) @ U)) / 2, Q.ravel())
    # (Q P)_dot = -H_Q, and Q_dot = Q U.
    P_dot = Q.T @ (-2 * by_q.reshape(n, n) - rates["Q"] @ M)
    return gaps((J(n, U), rates["Q"], P_dot, P_dot), (M, Q @ U, rates["M"], bracket(M, U)))


@listed("B-7.7.48", over=bodies)
def lifted_rotations(s: SampledBody) -> Residual:
    whole = lifted(s.Q)
    return whole + whole.T, gap(whole @ whole, -np.eye(2 * s.n))


@listed("B-Corollary-7.7.24", over=bodies)
def singular_brackets(s: SampledBody) -> Corrected:
    n, Q, M = s

    def residual(printed: bool, side: Side) -> list[float]:
        P = symmetric_partner(Q, M, side)
        inside, none = bracket(lifted(P), lifted(Q)), np.zeros((n, n))
        first, second = velocity_of(n, inside[:n, :n]), velocity_of(n, inside[n:, n:])
        divided = paired(first, none) if printed else paired(none, second)
        rates = s.pair_rates(P, side)
        expected = (lifted(rates["Q"]), lifted(rates["P"]))
        return gaps((bracket(lifted(m), divided) for m in (Q, P)), expected)

    return Corrected(residual(False, "left") + residual(True, "right"), residual(True, "left"))
