"""Bloch and others, Internet Supplement, section 7.7: optimal control and the full Toda flow (7.7.55 to 7.7.61).

Random matrices of three to five rows. The library gives the projections, the rates and the motions of the flow; independent
implementations are complex steps of Hamiltonians and products of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...geometry.exact_flows import toda_projections
from ...model.builders.bracket_flows import toda
from ...model.flow_system import Flow
from ..independent.matrix_flows import APART, SPAN, Path, bracket, flow_rates, gap, path_of
from ..numeric import STEP, Probe, derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random matrices of three to five rows"
SIZES = (3, 4, 5)


def pi_l(a: Any) -> Any:
    """The lower part of a = lower + skew."""
    return np.tril(a) + np.triu(a, 1).T


def pi_k(a: Any) -> Any:
    """The skew part of a = lower + skew."""
    return np.triu(a, 1) - np.triu(a, 1).T


def pi_kperp(a: Any) -> Any:
    """The symmetric part of a = symmetric + strictly upper."""
    return np.tril(a) + np.tril(a, -1).T


def pi_lperp(a: Any) -> Any:
    """The strictly upper part of a = symmetric + strictly upper."""
    return np.triu(a, 1) - np.tril(a, -1).T


def product(a: Any, b: Any) -> Any:
    """<A, B>_T = tr(A^T B)."""
    return np.sum(a * b, axis=(-2, -1))


def matrices(n: int, count: int) -> tuple[Any, ...]:
    """Random matrices (n, n)."""
    return tuple(0.7 * np.random.default_rng(755 + n).standard_normal((count, n, n)))


def lower(a: Any) -> Any:
    """A random element of the lower group, with a positive diagonal."""
    return np.tril(a, -1) + np.diag(np.exp(np.diag(a)))


def over_sizes(residual: Callable[..., float], count: int) -> float:
    """The worst residual over sizes, each with some random matrices."""
    return worst(residual(n, *matrices(n, count)) for n in SIZES)


def canonical(energy: Callable[[Any, Any], Any], place: Any, costate: Any) -> tuple[Any, Any]:
    """place_dot = H_costate and costate_dot = -H_place by complex steps."""
    shape = place.shape
    by_place = derivative(lambda z: energy(z.reshape(shape), costate), place.ravel()).reshape(shape)
    by_costate = derivative(lambda z: energy(place, z.reshape(shape)), costate.ravel()).reshape(shape)
    return by_costate, -by_place


@cache
def stated(n: int) -> tuple[Flow, Probe]:
    flow = toda(n, full=True)
    return flow, Probe(derive(flow), {})


def library_rate(a: Any) -> Any:
    """A_dot of the library's full flow."""
    return flow_rates(*stated(len(a)), A=a)["A"]


@cache
def toda_path(n: int) -> Path:
    return path_of(stated(n)[0], A=pi_kperp(matrices(n, 1)[0]))


@claim(
    "B-Definition-7.7.27",
    "pi_l = A_- + A_+^T + A_0 (lower), pi_k = A_+ - A_+^T (skew), pi_kperp = A_- + A_0 + A_-^T (symmetric), pi_lperp ="
    " A_+ - A_-^T (strictly upper); the print has A_+ - A_+^T for the last",
    how=f"{RANDOM}: the library's projections; images, squares, and sums to A in pairs",
)
def projections() -> Corrected:
    def residual(_: int, a: Any) -> float:
        found = toda_projections(a)
        kinds = (("pi_l", pi_l), ("pi_k", pi_k), ("pi_kperp", pi_kperp), ("pi_lperp", pi_lperp))
        return largest(
            *(gap(found[key], reference(a)) for key, reference in kinds),
            *(gap(toda_projections(found[key])[key], found[key]) for key, _ in kinds),
            gap(found["pi_l"] + found["pi_k"], a),
            gap(found["pi_kperp"] + found["pi_lperp"], a),
            worst(np.triu(found["pi_l"], 1).ravel()),
            worst((found["pi_k"] + found["pi_k"].T).ravel()),
            worst((found["pi_kperp"] - found["pi_kperp"].T).ravel()),
            worst(np.tril(found["pi_lperp"]).ravel()),
        )

    def printed(_: int, a: Any) -> float:
        last = np.triu(a, 1) - np.triu(a, 1).T
        return largest(gap(pi_kperp(a) + last, a), worst(np.tril(last).ravel()))

    return Corrected(over_sizes(residual, 1), over_sizes(printed, 1))


@claim(
    "B-7.7.27-sum",
    "gl(n) is the sum of the subalgebras of lower and of skew matrices; perpendicular to them are the strictly upper and the"
    " symmetric matrices, whose sum it is as well",
    how=f"{RANDOM}: dimensions, brackets and products of bases",
)
def decompositions() -> float:
    def residual(n: int, a: Any, b: Any) -> float:
        basis = np.eye(n * n).reshape(n * n, n, n)
        kinds = {p: [p(e) for e in basis] for p in (pi_l, pi_k, pi_kperp, pi_lperp)}
        ranks = {p: int(np.linalg.matrix_rank(np.array(v).reshape(-1, n * n))) for p, v in kinds.items()}
        half = n * (n - 1) // 2
        return largest(
            float(list(ranks.values()) != [n * n - half, half, n * n - half, half]),
            gap(pi_l(bracket(pi_l(a), pi_l(b))), bracket(pi_l(a), pi_l(b))),
            gap(pi_k(bracket(pi_k(a), pi_k(b))), bracket(pi_k(a), pi_k(b))),
            *(abs(product(pi_l(a), e)) for e in kinds[pi_lperp]),
            *(abs(product(pi_k(a), e)) for e in kinds[pi_kperp]),
        )

    return over_sizes(residual, 2)


@claim(
    "B-7.7.27-duals",
    "<pi_l A, B> = <A, pi_kperp B> and <pi_k A, B> = <A, pi_lperp B>: symmetric matrices are the dual of the lower ones,"
    " strictly upper ones that of the skew ones",
    how=f"{RANDOM}: products, and pairings of bases that are not degenerate",
)
def duals() -> float:
    def residual(n: int, a: Any, b: Any) -> float:
        basis = np.eye(n * n).reshape(n * n, n, n)
        pairing = np.array([[product(pi_l(e), pi_kperp(f)) for f in basis] for e in basis])
        return largest(
            distance(product(pi_l(a), b), product(a, pi_kperp(b))),
            distance(product(pi_k(a), b), product(a, pi_lperp(b))),
            float(np.linalg.matrix_rank(pairing) != n * (n + 1) // 2),
        )

    return over_sizes(residual, 2)


@claim(
    "B-Lemma-7.7.28",
    "pi_kperp(L^T S) = pi_kperp(L^T pi_kperp S) and pi_kperp(S L^T) = pi_kperp(pi_kperp(S) L^T) for lower L; for other L not",
    how=f"{RANDOM}: the library's projections",
)
def lemma() -> float:
    def project(a: Any) -> Any:
        return toda_projections(a)["pi_kperp"]

    def residual(_: int, s: Any, a: Any) -> float:
        L = np.tril(a)
        apart = np.max(np.abs(project(a.T @ s) - project(a.T @ project(s))))
        return largest(
            gap(project(L.T @ s), project(L.T @ project(s))),
            gap(project(s @ L.T), project(project(s) @ L.T)),
            excess(APART - apart),
        )

    return over_sizes(residual, 2)


def cubic(a: Any) -> Any:
    """f = Tr F with F(A) = A^3/3 + A^2/2 - A."""
    return np.trace(a @ a @ a) / 3 + np.trace(a @ a) / 2 - np.trace(a)


def cubic_gradient(a: Any) -> Any:
    """F'(A)^T."""
    return (a @ a + a - np.eye(len(a))).T


@claim(
    "B-7.7.28-gradients",
    "The derivatives of f(P Q^T) = Tr F(P Q^T) are <P R^T, grad f> = <R, (grad f)^T P> along Q and <R Q^T, grad f> ="
    " <R, (grad f) Q> along P",
    how=f"{RANDOM}, F a cubic: complex steps",
)
def gradients() -> float:
    def residual(_: int, p: Any, q: Any, r: Any) -> float:
        g = cubic_gradient(p @ q.T)
        along_q = np.imag(cubic(p @ (q + 1j * STEP * r).T)) / STEP
        along_p = np.imag(cubic((p + 1j * STEP * r) @ q.T)) / STEP
        return largest(
            *(distance(v, along_q) for v in (product(p @ r.T, g), product(r @ p.T, g.T), product(r, g.T @ p))),
            *(distance(v, along_p) for v in (product(r @ q.T, g), product(r, g @ q))),
        )

    return over_sizes(residual, 3)


@claim(
    "B-Lemma-7.7.29",
    "The Hamiltonian flow of f(P Q^T) is Q_dot = (grad f) Q, P_dot = -(grad f)^T P",
    how=f"{RANDOM}, F a cubic: complex steps",
)
def hamiltonian_flow() -> float:
    def residual(_: int, p: Any, q: Any) -> float:
        found = canonical(lambda place, costate: cubic(costate @ place.T), q, p)
        g = cubic_gradient(p @ q.T)
        return largest(gap(found[0], g @ q), gap(found[1], -g.T @ p))

    return over_sizes(residual, 2)


@claim(
    "B-7.7.55",
    "The flow makes the cost, the integral of 1/2 <U, U>_T with X_dot = pi_l(U) X, stationary for fixed ends of X; U = A is the"
    " least matrix with its pi_l(U)",
    how="n = 3 and 4: the library's motion of A, variations exp(s eta) X with lower eta under quadrature; other U",
)
def stationary_cost() -> float:
    found = []
    for n in (3, 4):
        path = toda_path(n)
        wave, rate = np.sin(np.pi * path.t / SPAN), np.pi / SPAN * np.cos(np.pi * path.t / SPAN)
        velocity = np.array([pi_l(a) for a in path["A"]])
        for e in np.eye(n * n).reshape(n * n, n, n):
            if np.any(np.triu(e, 1)):
                continue
            change = rate[:, None, None] * e + wave[:, None, None] * bracket(e, velocity)
            # The least U with pi_l(U) = W has W_-/2 below and above the diagonal.
            turned = [np.diag(np.diag(w)) + np.tril(w, -1) / 2 + np.tril(w, -1).T / 2 for w in change]
            found.append(path.integral(product(path["A"], np.array(turned))))
        k = pi_k(matrices(n, 2)[1])
        a = path["A"][0]
        found += [gap(pi_l(a + k), pi_l(a)), excess(product(a, a) - product(a + k, a + k)), abs(product(a, k))]
    return worst(found)


def _energy(x: Any, r: Any) -> Any:
    """1/2 |pi_kperp(R X^T)|^2, eq. 7.7.57."""
    a = pi_kperp(r @ x.T)
    return product(a, a) / 2


@claim(
    "B-Theorem-7.7.30",
    "The optimal control is U = pi_kperp(R X^T)",
    how=f"{RANDOM}: <R, pi_l(U) X> - 1/2 <U, U> by complex steps over all entries of U, which is concave in U",
)
def optimal_control() -> float:
    def residual(n: int, r: Any, a: Any) -> float:
        x = lower(a)
        best = toda_projections(r @ x.T)["pi_kperp"]

        def hamiltonian(z: Any) -> Any:
            u = z.reshape(n, n)
            return product(r, pi_l(u) @ x) - product(u, u) / 2

        return worst(derivative(hamiltonian, best.ravel()))

    return over_sizes(residual, 2)


@claim(
    "B-7.7.56",
    "X_dot = pi_l(pi_kperp(R X^T)) X, R_dot = -pi_l(pi_kperp(R X^T))^T R; the print has a pi_kperp around the factor of R",
    how=f"{RANDOM}: complex steps of (7.7.57)",
)
def extremal_flow() -> Corrected:
    def residual(_: int, r: Any, a: Any, printed: bool) -> float:
        x = lower(a)
        velocity = pi_l(pi_kperp(r @ x.T))
        factor = pi_kperp(velocity.T) if printed else velocity.T
        x_dot, r_dot = canonical(_energy, x, r)
        return largest(gap(x_dot, velocity @ x), gap(r_dot, -factor @ r))

    def over(printed: bool) -> float:
        return over_sizes(lambda n, r, a: residual(n, r, a, printed), 2)

    return Corrected(over(False), over(True))


@claim(
    "B-7.7.57",
    "H = 1/2 |pi_kperp(R X^T)|^2 is the Hamiltonian of the best control, and stays along (7.7.56)",
    how=f"{RANDOM}: <R, pi_l(U) X> - 1/2 <U, U> at U; rates of H",
)
def reduced_hamiltonian() -> float:
    def residual(_: int, r: Any, a: Any) -> float:
        x = lower(a)
        u = pi_kperp(r @ x.T)
        x_dot, r_dot = pi_l(u) @ x, -pi_l(u).T @ r
        rate = np.imag(_energy(x + 1j * STEP * x_dot, r + 1j * STEP * r_dot)) / STEP
        return largest(distance(product(r, pi_l(u) @ x) - product(u, u) / 2, _energy(x, r)), abs(rate))

    return over_sizes(residual, 2)


@claim(
    "B-7.7.58",
    "H is the same with S = pi_kperp(R) in the place of R",
    how=f"{RANDOM}: both values, for lower X; for other X they differ",
)
def symmetric_costate() -> float:
    def residual(_: int, r: Any, a: Any) -> float:
        x = lower(a)
        apart = abs(_energy(a, pi_kperp(r)) - _energy(a, r))
        return largest(distance(_energy(x, pi_kperp(r)), _energy(x, r)), excess(APART - apart))

    return over_sizes(residual, 2)


@claim(
    "B-7.7.59",
    "X_dot = pi_l(pi_kperp(S X^T)) X, S_dot = -pi_kperp(pi_l(pi_kperp(S X^T))^T S)",
    how=f"{RANDOM}: pi_kperp of R_dot by complex steps of (7.7.57)",
)
def reduced_flow() -> float:
    def residual(_: int, r: Any, a: Any) -> float:
        x, s = lower(a), pi_kperp(r)
        velocity = pi_l(pi_kperp(s @ x.T))
        x_dot, r_dot = canonical(_energy, x, r)
        return largest(gap(x_dot, velocity @ x), gap(pi_kperp(r_dot), -pi_kperp(velocity.T @ s)))

    return over_sizes(residual, 2)


def _rates(x: Any, s: Any, gradient: Callable[[Any], Any]) -> tuple[Any, Any, Any]:
    """A of (7.7.60), X_dot and S_dot with pi_l(grad f(A))."""
    a = pi_kperp(s @ x.T)
    velocity = pi_l(gradient(a))
    return a, velocity @ x, -pi_kperp(velocity.T @ s)


@claim(
    "B-7.7.60",
    "With A = pi_kperp(S X^T) the equations have pi_l(grad f(A)), f = 1/2 Tr A^2; A_dot is that of the library's flow",
    how=f"{RANDOM}: the library's rates against pi_kperp(S_dot X^T + S X_dot^T)",
)
def symmetric_matrix() -> float:
    def residual(_: int, r: Any, b: Any) -> float:
        x, s = lower(b), pi_kperp(r)
        a, x_dot, s_dot = _rates(x, s, lambda m: m)
        derivatives = derivative(lambda z: np.sum(z * z) / 2, a.ravel()).reshape(a.shape)
        return largest(gap(library_rate(a), pi_kperp(s_dot @ x.T + s @ x_dot.T)), gap(derivatives, a))

    return over_sizes(residual, 2)


@claim(
    "B-7.7.61",
    "A_dot = pi_kperp([A, pi_l(grad f)^T]) for every f = Tr F",
    how=f"{RANDOM}: f = 1/2 Tr A^2 against the library, a cubic against pi_kperp(S_dot X^T + S X_dot^T)",
)
def projected_bracket() -> float:
    def residual(_: int, r: Any, b: Any) -> float:
        x, s = lower(b), pi_kperp(r)
        found = []
        laws: tuple[Callable[[Any], Any], ...] = (lambda m: m, cubic_gradient)
        for gradient in laws:
            a, x_dot, s_dot = _rates(x, s, gradient)
            found.append(gap(pi_kperp(s_dot @ x.T + s @ x_dot.T), pi_kperp(bracket(a, pi_l(gradient(a)).T))))
        found.append(gap(library_rate(a), pi_kperp(bracket(a, pi_l(a).T))))
        return worst(found)

    return over_sizes(residual, 2)
