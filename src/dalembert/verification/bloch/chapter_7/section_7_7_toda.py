"""Bloch and others, Internet Supplement, section 7.7: optimal control and the full Toda flow
(7.7.55 to 7.7.61).

Random matrices of three to five rows. The library gives the projections, the rates and the motions
of the flow; independent implementations are complex steps of Hamiltonians and products of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....formulations.registry import derive
from ....geometry.exact_flows import toda_projections
from ....model.builders.bracket_flows import toda
from ....model.flow_system import Flow
from ....typing import Array
from ...independent.matrix_flows import APART, SampledPath, bracket, flow_rates, gap, path_of
from ...numeric import STEP, Probe, Residual, derivative, distance, excess
from ...row_registry import Corrected, listed
from ...samples import Sampler
from .section_7_7_samples import Energy, Entries, gaps, wave


def pi_l(a: Entries) -> Any:
    """The lower part of a = lower + skew."""
    return np.tril(a) + np.triu(a, 1).T


def pi_k(a: Entries) -> Any:
    """The skew part of a = lower + skew."""
    return np.triu(a, 1) - np.triu(a, 1).T


def pi_kperp(a: Entries) -> Any:
    """The symmetric part of a = symmetric + strictly upper."""
    return np.tril(a) + np.tril(a, -1).T


def pi_lperp(a: Entries) -> Any:
    """The strictly upper part of a = symmetric + strictly upper."""
    return np.triu(a, 1) - np.tril(a, -1).T


def product(a: Entries, b: Entries) -> Any:
    """<A, B>_T = tr(A^T B)."""
    return np.sum(a * b, axis=(-2, -1))


def lower(a: Array) -> Array:
    """A random element of the lower group, with a positive diagonal."""
    return np.asarray(np.tril(a, -1) + np.diag(np.exp(np.diag(a))))


class Matrices(NamedTuple):
    """Three random matrices (n, n)."""

    a: Array
    b: Array
    c: Array

    @property
    def x(self) -> Array:
        """An element of the lower group."""
        return lower(self.b)

    @property
    def symmetric(self) -> Array:
        return np.asarray(pi_kperp(self.a))


def _matrices(n: int) -> list[Matrices]:
    return [Matrices(*(0.7 * np.random.default_rng(755 + n).standard_normal((3, n, n))))]


matrices = Sampler(lambda n: _matrices(int(n)), ("3", "4", "5"))


def unit_matrices(n: int) -> Array:
    """The matrices with a single one, (n^2, n, n)."""
    return np.eye(n * n).reshape(n * n, n, n)


def canonical(energy: Energy, place: Array, costate: Array) -> tuple[Array, Array]:
    """place_dot = H_costate and costate_dot = -H_place by complex steps."""
    shape = place.shape
    by_place = derivative(lambda z: energy(z.reshape(shape), costate), place.ravel())
    by_costate = derivative(lambda z: energy(place, z.reshape(shape)), costate.ravel())
    return by_costate.reshape(shape), -by_place.reshape(shape)


@cache
def stated(n: int) -> tuple[Flow, Probe]:
    """The library's full flow, and a probe of it."""
    flow = toda(n, full=True)
    return flow, Probe(derive(flow), {})


def library_rate(a: Array) -> Array:
    """A_dot of the library's full flow."""
    return np.asarray(flow_rates(*stated(len(a)), A=a)["A"])


@cache
def toda_path(n: int) -> SampledPath:
    return path_of(stated(n)[0], A=matrices(str(n))[0].symmetric)


@listed("B-Definition-7.7.27", over=matrices)
def projections(s: Matrices) -> Corrected:
    found = toda_projections(s.a)
    l, k, kperp, lperp = (found[key] for key in ("pi_l", "pi_k", "pi_kperp", "pi_lperp"))
    references = (pi_l, pi_k, pi_kperp, pi_lperp)
    last = np.triu(s.a, 1) - np.triu(s.a, 1).T
    right = (
        gaps((l, k, kperp, lperp), (reference(s.a) for reference in references)),
        [gap(toda_projections(value)[key], value) for key, value in found.items()],
        gaps((l + k, kperp + lperp), (s.a, s.a)),
        (np.triu(l, 1), k + k.T, kperp - kperp.T, np.tril(lperp)),
    )
    return Corrected(right, (gap(pi_kperp(s.a) + last, s.a), np.tril(last)))


@listed("B-7.7.27-sum", over=matrices)
def decompositions(s: Matrices) -> Residual:
    n, basis = len(s.a), unit_matrices(len(s.a))
    kinds = {p: [p(e) for e in basis] for p in (pi_l, pi_k, pi_kperp, pi_lperp)}
    ranks = [np.linalg.matrix_rank(np.reshape(v, (-1, n * n))) for v in kinds.values()]
    half = n * (n - 1) // 2
    closed = [(p, bracket(p(s.a), p(s.b))) for p in (pi_l, pi_k)]
    return (
        float(ranks != [n * n - half, half, n * n - half, half]),
        [gap(p(inside), inside) for p, inside in closed],
        [product(pi_l(s.a), e) for e in kinds[pi_lperp]],
        [product(pi_k(s.a), e) for e in kinds[pi_kperp]],
    )


@listed("B-7.7.27-duals", over=matrices)
def duals(s: Matrices) -> Residual:
    n, basis = len(s.a), unit_matrices(len(s.a))
    pairing = np.array([[product(pi_l(e), pi_kperp(f)) for f in basis] for e in basis])
    return (
        distance(product(pi_l(s.a), s.b), product(s.a, pi_kperp(s.b))),
        distance(product(pi_k(s.a), s.b), product(s.a, pi_lperp(s.b))),
        np.linalg.matrix_rank(pairing) - n * (n + 1) // 2,
    )


@listed("B-Lemma-7.7.28", over=matrices)
def lemma(s: Matrices) -> Residual:
    def project(a: Array) -> Array:
        return toda_projections(a)["pi_kperp"]

    L = np.tril(s.b)
    apart = np.max(np.abs(project(s.b.T @ s.a) - project(s.b.T @ project(s.a))))
    return (
        gap(project(L.T @ s.a), project(L.T @ project(s.a))),
        gap(project(s.a @ L.T), project(project(s.a) @ L.T)),
        excess(APART - apart),
    )


def cubic(a: Entries) -> Any:
    """f = Tr F with F(A) = A^3/3 + A^2/2 - A."""
    return np.trace(a @ a @ a) / 3 + np.trace(a @ a) / 2 - np.trace(a)


def cubic_gradient(a: Array) -> Array:
    """F'(A)^T."""
    return (a @ a + a - np.eye(len(a))).T


@listed("B-7.7.28-gradients", over=matrices)
def gradients(s: Matrices) -> Residual:
    p, q, r = s
    g = cubic_gradient(p @ q.T)
    along_q = np.imag(cubic(p @ (q + 1j * STEP * r).T)) / STEP
    along_p = np.imag(cubic((p + 1j * STEP * r) @ q.T)) / STEP
    by_q = (product(p @ r.T, g), product(r @ p.T, g.T), product(r, g.T @ p))
    by_p = (product(r @ q.T, g), product(r, g @ q))
    return [distance(v, along_q) for v in by_q], [distance(v, along_p) for v in by_p]


@listed("B-Lemma-7.7.29", over=matrices)
def hamiltonian_flow(s: Matrices) -> Residual:
    p, q, _ = s
    g = cubic_gradient(p @ q.T)
    found = canonical(lambda place, costate: cubic(costate @ place.T), q, p)
    return gaps(found, (g @ q, -g.T @ p))


@listed("B-7.7.55", over=matrices.of("3", "4"))
def stationary_cost(s: Matrices) -> Residual:
    n = len(s.a)
    path = toda_path(n)
    (shape, rate), velocity = wave(path), np.array([pi_l(a) for a in path["A"]])
    found = []
    for e in unit_matrices(n):
        if np.any(np.triu(e, 1)):
            continue
        change = rate * e + shape * bracket(e, velocity)
        # The least U with pi_l(U) = W has W_-/2 below and above the diagonal.
        halves = [(np.diag(np.diag(w)), np.tril(w, -1) / 2) for w in change]
        turned = np.array([diagonal + half + half.T for diagonal, half in halves])
        found.append(path.integral(product(path["A"], turned)))
    k, a = pi_k(s.b), path["A"][0]
    smaller = excess(product(a, a) - product(a + k, a + k))
    return *found, gap(pi_l(a + k), pi_l(a)), smaller, product(a, k)


def _energy(x: Entries, r: Entries) -> Any:
    """1/2 |pi_kperp(R X^T)|^2, eq. 7.7.57."""
    a = pi_kperp(r @ x.T)
    return product(a, a) / 2


@listed("B-Theorem-7.7.30", over=matrices)
def optimal_control(s: Matrices) -> Residual:
    best = toda_projections(s.a @ s.x.T)["pi_kperp"]

    def hamiltonian(z: Entries) -> Any:
        u = z.reshape(s.a.shape)
        return product(s.a, pi_l(u) @ s.x) - product(u, u) / 2

    return derivative(hamiltonian, best.ravel())


@listed("B-7.7.56", over=matrices, misprint={"printed": True})
def extremal_flow(s: Matrices, printed: bool = False) -> Residual:
    velocity = pi_l(pi_kperp(s.a @ s.x.T))
    factor = pi_kperp(velocity.T) if printed else velocity.T
    return gaps(canonical(_energy, s.x, s.a), (velocity @ s.x, -factor @ s.a))


@listed("B-7.7.57", over=matrices)
def reduced_hamiltonian(s: Matrices) -> Residual:
    r, x = s.a, s.x
    u = pi_kperp(r @ x.T)
    x_dot, r_dot = pi_l(u) @ x, -pi_l(u).T @ r
    rate = np.imag(_energy(x + 1j * STEP * x_dot, r + 1j * STEP * r_dot)) / STEP
    return distance(product(r, pi_l(u) @ x) - product(u, u) / 2, _energy(x, r)), rate


@listed("B-7.7.58", over=matrices)
def symmetric_costate(s: Matrices) -> Residual:
    apart = abs(_energy(s.b, s.symmetric) - _energy(s.b, s.a))
    return distance(_energy(s.x, s.symmetric), _energy(s.x, s.a)), excess(APART - apart)


@listed("B-7.7.59", over=matrices)
def reduced_flow(s: Matrices) -> Residual:
    _, x_dot, s_dot = _rates(s, lambda a: a)
    found, r_dot = canonical(_energy, s.x, s.a)
    return gaps((found, pi_kperp(r_dot)), (x_dot, s_dot))


def _rates(s: Matrices, gradient: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
    """A of (7.7.60), X_dot and S_dot with pi_l(grad f(A))."""
    a = pi_kperp(s.symmetric @ s.x.T)
    velocity = pi_l(gradient(a))
    return a, velocity @ s.x, -pi_kperp(velocity.T @ s.symmetric)


@listed("B-7.7.60", over=matrices)
def symmetric_matrix(s: Matrices) -> Residual:
    a, x_dot, s_dot = _rates(s, lambda a: a)
    by = derivative(lambda z: np.sum(z * z) / 2, a.ravel()).reshape(a.shape)
    change = pi_kperp(s_dot @ s.x.T + s.symmetric @ x_dot.T)
    return gap(library_rate(a), change), gap(by, a)


@listed("B-7.7.61", over=matrices)
def projected_bracket(s: Matrices) -> Residual:
    found = []
    laws: tuple[Callable[[Array], Array], ...] = (lambda a: a, cubic_gradient)
    for gradient in laws:
        a, x_dot, s_dot = _rates(s, gradient)
        change = pi_kperp(s_dot @ s.x.T + s.symmetric @ x_dot.T)
        found.append(gap(change, pi_kperp(bracket(a, pi_l(gradient(a)).T))))
    return *found, gap(library_rate(a), pi_kperp(bracket(a, pi_l(a).T)))
