"""Bloch and others, Internet Supplement, section 7.7: pairs of rotations, the body as optimal control (7.7.39-48).

Random attitudes and momenta for n = 3 and 4. The library gives P by eigenvalues, momenta, norms and motions; independent
implementations are power series, Rodrigues' formula, dense solves for the best control, and block matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from ...geometry.rigid_rotations import momentum_of_pair, on_boundary, operator_norm, spatial_momentum, symmetric_partner
from ..independent.matrix_flows import (
    APART,
    SPAN,
    algebra,
    bracket,
    exponential,
    flow_rates,
    gap,
    inner,
    path_of,
    rotation,
    skew,
)
from ..numeric import derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim
from .section_7_7_rigid_bodies import PAIRED, RANDOM, STATED, J, bodies, body_path, hat, over_bodies, stated, still, velocity_of
from .section_7_7_symmetric_spaces import lifted, paired


def sinh(xi: Any) -> Any:
    return (exponential(xi) - exponential(-xi)) / 2


def asinh_series(u: Any, terms: int = 60) -> Any:
    """The power series of the inverse of sinh, which integrates that of 1/sqrt(1 + u^2)."""
    found, power, weight = np.zeros_like(u), np.array(u), 1.0
    for k in range(terms):
        found = found + weight / (2 * k + 1) * power
        power = power @ u @ u
        weight *= -(2 * k + 1) / (2 * k + 2)
    return found


@claim(
    "B-7.7.39",
    "|Q^T P - P^T Q|_op <= 2 for all pairs of rotations, so that no P exists for a larger M; the library refuses it",
    how="random rotations of three to five axes; the library's norm against singular values, M just above the limit",
)
def necessary_condition() -> float:
    random = np.random.default_rng(39)
    found = []
    for n in (3, 4, 5):
        for _ in range(5):
            Q, P = rotation(random, n), rotation(random, n)
            M = momentum_of_pair(Q, P)
            norm = np.linalg.svd(M, compute_uv=False)[0]
            found += [gap(M, Q.T @ P - P.T @ Q), distance(operator_norm(M), norm), excess(norm - 2 - 1e-12)]
            try:
                symmetric_partner(Q, M * 2.001 / norm)
                found.append(1.0)
            except ModelError:
                pass
    return worst(found)


@claim(
    "B-7.7.39-sinh",
    "sinh xi = (e^xi - e^-xi)/2 = xi + xi^3/3! + xi^5/5! + ... is in so(n)",
    how="random xi of three and four axes: exponentials against the series",
)
def sinh_of_skew() -> float:
    found = []
    for n in STATED:
        xi = skew(np.random.default_rng(n), n)
        series, power = np.zeros((n, n)), xi
        for k in range(1, 40, 2):
            series = series + power
            power = power @ xi @ xi / ((k + 1) * (k + 2))
        found += [gap(sinh(xi), series), worst((series + series.T).ravel())]
    return worst(found)


@claim(
    "B-7.7.39-asinh",
    "On |u|_op < 1 sinh has an inverse with values in so(n), by the series that integrates 1/sqrt(1 + u^2)",
    how="random u of norm 0.6: the series in sinh; exp of it against the library's P at Q = 1",
)
def asinh_of_skew() -> float:
    found = []
    for n in STATED:
        u = skew(np.random.default_rng(n), n)
        u *= 0.6 / np.linalg.norm(u, 2)
        w = asinh_series(u)
        found += [gap(sinh(w), u), worst((w + w.T).ravel()), gap(exponential(w), symmetric_partner(np.eye(n), 2 * u))]
    return worst(found)


@claim(
    "B-Definition-7.7.19",
    "C, the pairs with |M|_op = 2, contains those with Q^T P skew and orthogonal (n even); every M with |M|_op <= 2 comes"
    " from a pair",
    how="n = 4: random complex structures; n = 3 and 4: the library's P at the limit itself",
)
def boundary_set() -> float:
    random = np.random.default_rng(19)
    found = []
    for _ in range(3):
        Q, R = rotation(random, 4), rotation(random, 4)
        turn = R @ np.kron(np.eye(2), [[0.0, -1.0], [1.0, 0.0]]) @ R.T
        M = momentum_of_pair(Q, Q @ turn)
        found += [worst((turn + turn.T).ravel()), gap(turn.T @ turn, np.eye(4)), gap(operator_norm(M), 2.0)]
    for n in STATED:
        for _, Q, M in bodies(n):
            limit = 2 * M / operator_norm(M)
            P = symmetric_partner(Q, limit)
            found += [gap(momentum_of_pair(Q, P), limit), gap(P.T @ P, np.eye(n)), float(not on_boundary(limit))]
    return worst(found)


def unit_vectors(count: int = 4) -> Any:
    c = np.random.default_rng(40).standard_normal((count, 3))
    return c / np.linalg.norm(c, axis=1)[:, None]


@claim(
    "B-7.7.40",
    "e^(mu hat c) = 1 + sin(mu) hat c + (1 - c c^T)(cos(mu) - 1) for |c| = 1",
    how="random axes and angles: exponentials by series",
)
def rodrigues() -> float:
    return worst(
        gap(exponential(mu * hat(c)), np.eye(3) + np.sin(mu) * hat(c) + (np.eye(3) - np.outer(c, c)) * (np.cos(mu) - 1))
        for c in unit_vectors()
        for mu in (0.3, 1.9, 4.0)
    )


@claim(
    "B-7.7.40-sinh",
    "On so(3) |hat c|_op = |c|, sinh(mu hat c) = sin(mu) hat c, not one to one, and sinh^-1(mu hat c) = asin(mu) hat c",
    how="random axes: exponentials, the series of asinh, mu and pi - mu",
)
def sinh_of_rotations() -> float:
    found = []
    for c in unit_vectors():
        found += [distance(operator_norm(1.7 * hat(c)), 1.7), gap(asinh_series(0.6 * hat(c)), np.arcsin(0.6) * hat(c))]
        found += [gap(sinh(mu * hat(c)), np.sin(mu) * hat(c)) for mu in (0.5, np.pi - 0.5, 2.2)]
        found.append(gap(sinh(0.5 * hat(c)), sinh((np.pi - 0.5) * hat(c))))
    return worst(found)


@claim(
    "B-7.7.41",
    "For |M|_op < 2, P = Q exp(sinh^-1(M/2)) solves M = Q^T P - P^T Q (Proposition 7.7.20), because M = e^w - e^-w with"
    " w = sinh^-1(M/2)",
    how=f"{RANDOM}: the library's P against the series where it converges fast, and in the equation elsewhere",
)
def partner() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        P = symmetric_partner(Q, M)
        small = M * 1.1 / np.linalg.norm(M, 2)
        w = asinh_series(small / 2)
        return largest(
            gap(Q.T @ P - P.T @ Q, M),
            gap(P.T @ P, np.eye(n)),
            gap(symmetric_partner(Q, small), Q @ exponential(w)),
            gap(exponential(w) - exponential(-w), small),
        )

    return over_bodies(residual)


@claim(
    "B-7.7.42",
    "On the right P = exp(sinh^-1(M/2)) Q solves M = P Q^T - Q P^T, with Q_dot = Omega Q, P_dot = Omega P, M_dot = [Omega, M];"
    " Q^T M Q stays",
    how=f"{RANDOM}: the library's P on the right, its rates and its motion",
)
def right_partner() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        P, omega = symmetric_partner(Q, M, "right"), velocity_of(n, M)
        rates = flow_rates(*stated(n, "right", True), Q=Q, P=P)
        M_dot = rates["P"] @ Q.T + P @ rates["Q"].T
        return largest(
            gap(P @ Q.T - Q @ P.T, M),
            gap(rates["Q"], omega @ Q),
            gap(rates["P"], omega @ P),
            gap(M_dot - M_dot.T, bracket(omega, M)),
        )

    path = body_path(3, "right", True)
    kept = still(spatial_momentum(path["Q"], momentum_of_pair(path["Q"], path["P"], "right"), "right"))
    return largest(over_bodies(residual), kept)


@claim(
    "B-7.7.42-quarter-turn",
    "On SO(3) e^(pi/2 hat c) = c c^T + hat c, which is not skew and belongs to C; the print has 1 + hat c, not a rotation",
    how="random axes: exponentials by series, the norm of Q^T P - P^T Q",
)
def quarter_turn() -> Corrected:
    right, printed = [], []
    for c in unit_vectors():
        turn = exponential(np.pi / 2 * hat(c))
        across = np.cross(c, [0.3, 1.0, -0.2])
        right += [
            gap(turn, np.outer(c, c) + hat(c)),
            distance(np.linalg.norm((turn - turn.T) @ across), 2 * np.linalg.norm(across)),
            distance(np.linalg.norm(turn - turn.T, 2), 2.0),
            excess(APART - np.max(np.abs(turn + turn.T))),
        ]
        printed.append(gap(turn, np.eye(3) + hat(c)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-7.7.42-boundary",
    "On SO(3) the set C consists of the pairs with Q^T P = c c^T + hat c, |c| = 1; the print has 1 + hat c",
    how="random M of norm two: the library's P, which is at the square root of rounding there; its axis from M",
    tolerance=1e-6,
)
def boundary_in_space() -> Corrected:
    right, printed = [], []
    for _, Q, M in bodies(3, 4):
        limit = 2 * M / operator_norm(M)
        turn = Q.T @ symmetric_partner(Q, limit)
        c = np.array([limit[2, 1], limit[0, 2], limit[1, 0]]) / 2
        right += [gap(turn, np.outer(c, c) + hat(c)), distance(np.linalg.norm(c), 1.0)]
        printed.append(gap(turn, np.eye(3) + hat(c)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-Proposition-7.7.21",
    "|M|_op stays along motions, so that C and S are invariant",
    how="n = 3 and 4: the library's motions, and one of a pair on C",
)
def invariant_sets() -> float:
    found = []
    for n in STATED:
        found.append(still(operator_norm(body_path(n)["M"])))
    for n in PAIRED:
        _, Q, M = next(bodies(n, 1))
        limit = 2 * M / operator_norm(M)
        path = path_of(stated(n, "left", True)[0], panels=3, Q=Q, P=symmetric_partner(Q, limit))
        found.append(distance(operator_norm(momentum_of_pair(path["Q"], path["P"])), 2.0))
    return worst(found)


@claim(
    "B-7.7.21-direct",
    "The largest eigenvalue of M^T M has the rate zero, by its eigenvector; so have all others",
    how=f"{RANDOM}: the library's M_dot, eigenvectors of M^T M",
)
def rate_of_the_norm() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        rate = flow_rates(*stated(n, "left", False), Q=Q, M=M)["M"]
        _, vectors = np.linalg.eigh(M.T @ M)
        change = rate.T @ M + M.T @ rate
        return worst(v @ change @ v for v in vectors.T)

    return over_bodies(residual)


@claim(
    "B-7.7.21-norms",
    "On so(3) the trace norm <M, M>^1/2 and |M|_op are the length of the vector; on so(4) they differ",
    how="random matrices: the library's norm",
)
def norms() -> float:
    found = []
    for _, _, M in bodies(3, 4):
        length = np.linalg.norm([M[2, 1], M[0, 2], M[1, 0]])
        found += [distance(operator_norm(M), length), distance(np.sqrt(inner(M, M)), length)]
    M = next(bodies(4, 1))[2]
    return largest(*found, excess(APART - abs(np.sqrt(inner(M, M)) - operator_norm(M))))


# -- optimal control -----------------------------------------------------------------------------------------------------


def best_control(n: int, Q: Any, P: Any, pairing: Any) -> Any:
    """The U that makes pairing(P, Q U) - 1/2 <U, J U> stationary, by a dense solve."""
    here = algebra(f"so({n})")
    linear = [pairing(P, Q @ e) for e in here.basis]
    quadratic = [[inner(a, J(n, b)) for b in here.basis] for a in here.basis]
    return here.matrix(np.linalg.solve(quadratic, linear))


@claim(
    "B-7.7.43",
    "Along (7.7.38) the cost, the integral of 1/2 <U, J(U)>, is stationary for fixed ends, and H is half of <U, J(U)>",
    how="n = 3: the library's symmetric motion, U + s (eta_dot + [U, eta]) under quadrature",
)
def stationary_cost() -> float:
    found = []
    for n in PAIRED:
        path = body_path(n, symmetric=True)
        U = np.array([velocity_of(n, M) for M in momentum_of_pair(path["Q"], path["P"])])
        wave, rate = np.sin(np.pi * path.t / SPAN), np.pi / SPAN * np.cos(np.pi * path.t / SPAN)
        for e in algebra(f"so({n})").basis:
            found.append(path.integral(inner(J(n, U), rate[:, None, None] * e + wave[:, None, None] * bracket(U, e))))
        held = np.trace(np.swapaxes(path["P"], 1, 2) @ path["Q"] @ U, axis1=1, axis2=2) - inner(U, J(n, U)) / 2
        found += [gap(held, inner(U, J(n, U)) / 2), still(held)]
    return worst(found)


@claim(
    "B-7.7.44",
    "Q_dot = Q U keeps Q in SO(n), and reaches every direction: Q U spans the tangent space",
    how=f"{RANDOM}: ranks and rates of Q^T Q",
)
def controlled_attitude() -> float:
    def residual(n: int, Q: Any, U: Any) -> float:
        rate = Q @ U
        vectors = np.array([(Q @ e).ravel() for e in algebra(f"so({n})").basis])
        return largest(worst((rate.T @ Q + Q.T @ rate).ravel()), float(np.linalg.matrix_rank(vectors) != n * (n - 1) // 2))

    return over_bodies(residual)


@claim(
    "B-7.7.45",
    "The optimal control is U = J^-1 (Q^T P - P^T Q)",
    how=f"{RANDOM}: a dense solve for U, and the library's Q_dot = Q U",
)
def optimal_control() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        P = symmetric_partner(Q, M)
        U = best_control(n, Q, P, lambda a, b: np.sum(a * b))
        return largest(gap(U, velocity_of(n, M)), gap(flow_rates(*stated(n, "left", True), Q=Q, P=P)["Q"], Q @ U))

    return over_bodies(residual)


@claim(
    "B-7.7.46",
    "H = tr(P^T Q U) - 1/2 <U, J(U)> leads to (7.7.45); with <P, Q U> = -tr(P Q U)/2, the product of the print, it does not",
    how=f"{RANDOM}: dense solves for U with either pairing",
)
def control_pairing() -> Corrected:
    def residual(n: int, Q: Any, M: Any, printed: bool) -> float:
        pairing = (lambda a, b: -np.trace(a @ b) / 2) if printed else (lambda a, b: np.sum(a * b))
        return gap(best_control(n, Q, symmetric_partner(Q, M), pairing), velocity_of(n, M))

    def over(printed: bool) -> float:
        return over_bodies(lambda n, Q, M: residual(n, Q, M, printed))

    return Corrected(over(False), over(True))


@claim(
    "B-Proposition-7.7.23",
    "Pontryagin's equations of H = tr(P^T Q U) - 1/2 <U, J(U)> are (7.7.38)",
    how=f"{RANDOM}: complex steps of H with U held, against the library's symmetric rates",
)
def pontryagin() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        P, U = symmetric_partner(Q, M), velocity_of(n, M)
        rates = flow_rates(*stated(n, "left", True), Q=Q, P=P)
        by_p = derivative(lambda z: np.sum(z.reshape(n, n) * (Q @ U)), P.ravel()).reshape(n, n)
        by_q = derivative(lambda z: np.sum(P * (z.reshape(n, n) @ U)), Q.ravel()).reshape(n, n)
        return largest(gap(rates["Q"], by_p), gap(rates["P"], -by_q))

    return over_bodies(residual)


@claim(
    "B-7.7.47",
    "H = <Q P, Q U> - 1/2 <U, J(U)> with P in so(n) (Exercise 7.7-2) leads to the rigid body in its standard form: P = J(U),"
    " P_dot = [P, U]",
    how=f"{RANDOM}: a dense solve for U, complex steps of H in Q with the costate Q P held, against the library's M_dot",
)
def standard_form() -> float:
    def residual(n: int, Q: Any, M: Any) -> float:
        U = best_control(n, Q, Q @ M, lambda a, b: np.sum(a * b) / 2)
        costate = Q @ M
        by_q = 2 * derivative(lambda z: np.sum(costate * (z.reshape(n, n) @ U)) / 2, Q.ravel()).reshape(n, n)
        rates = flow_rates(*stated(n, "left", False), Q=Q, M=M)
        # (Q P)_dot = -H_Q, and Q_dot = Q U.
        P_dot = Q.T @ (-by_q - rates["Q"] @ M)
        return largest(gap(J(n, U), M), gap(rates["Q"], Q @ U), gap(P_dot, rates["M"]), gap(P_dot, bracket(M, U)))

    return over_bodies(residual)


@claim(
    "B-7.7.48",
    "Q^ of a rotation is in so(2n), and its square is -1",
    how=f"{RANDOM}: block matrices",
)
def lifted_rotations() -> float:
    def residual(n: int, Q: Any, _: Any) -> float:
        whole = lifted(Q)
        return largest(worst((whole + whole.T).ravel()), gap(whole @ whole, -np.eye(2 * n)))

    return over_bodies(residual)


@claim(
    "B-Corollary-7.7.24",
    "The left-invariant body is (7.7.31) on rotations with J_V = J and J_U^-1 = 0; the print has J_U = J and J_V^-1 = 0, which"
    " is the right-invariant one",
    how=f"{RANDOM}: the library's symmetric rates, left and right, against brackets of block matrices",
)
def singular_brackets() -> Corrected:
    def residual(n: int, Q: Any, M: Any, printed: bool, side: str) -> float:
        P = symmetric_partner(Q, M, side)  # type: ignore[arg-type]
        inside = bracket(lifted(P), lifted(Q))
        none = np.zeros((n, n))
        first, second = velocity_of(n, inside[:n, :n]), velocity_of(n, inside[n:, n:])
        divided = paired(first, none) if printed else paired(none, second)
        rates = flow_rates(*stated(n, side, True), Q=Q, P=P)
        return largest(*(gap(bracket(lifted(m), divided), lifted(rates[key])) for key, m in (("Q", Q), ("P", P))))

    def over(printed: bool, side: str) -> float:
        return over_bodies(lambda n, Q, M: residual(n, Q, M, printed, side))

    return Corrected(largest(over(False, "left"), over(True, "right")), over(True, "left"))
