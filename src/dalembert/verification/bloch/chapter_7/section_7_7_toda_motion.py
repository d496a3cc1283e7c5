"""Bloch and others, Internet Supplement, section 7.7: the motions of the full Toda flow and its
orbits (7.7.61 to 7.7.63).

Random symmetric matrices of three to five rows. The library gives rates, motions and the closed
form by factors of exponentials; independent implementations are brackets, SciPy's integrations of
(7.7.56) and ranks of coadjoint vectors.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

from ....geometry.exact_flows import ql, toda_motion
from ....typing import Array
from ...independent.matrix_flows import APART, SPAN, bracket, exponential, gap
from ...numeric import Residual, Residuals, excess
from ...row_registry import Corrected, listed
from .section_7_7_samples import gaps, still
from .section_7_7_toda import (
    Matrices,
    cubic_gradient,
    library_rate,
    matrices,
    pi_k,
    pi_kperp,
    pi_l,
    product,
    toda_path,
    unit_matrices,
)


@listed("B-7.7.61-split", over=matrices)
def split_gradient(s: Matrices) -> Residual:
    a = s.symmetric
    g = cubic_gradient(a)
    across = bracket(a, pi_k(s.b))
    sums = gaps((pi_l(g) + pi_k(g), pi_l(g).T - pi_k(g)), (g, g))
    return *sums, bracket(a, g), across - across.T


@listed("B-7.7.61-brackets", over=matrices)
def brackets(s: Matrices) -> Residual:
    a = s.symmetric
    g = cubic_gradient(a)
    inside = bracket(a, pi_k(g))
    found = (pi_kperp(bracket(a, pi_l(g).T)), bracket(pi_l(g), a), library_rate(a))
    return gaps(found, (inside, inside, bracket(pi_l(a), a)))


@cache
def _extremal(n: int, printed: bool = False) -> tuple[Array, Array]:
    """X and R at the end, by SciPy's integration of (7.7.56); R as printed where asked."""
    s = matrices(str(n))[0]

    def rates(_: float, y: Array) -> Array:
        place, costate = y.reshape(2, n, n)
        velocity = pi_l(pi_kperp(costate @ place.T))
        factor = pi_kperp(velocity.T) if printed else velocity.T
        return np.concatenate([(velocity @ place).ravel(), (-factor @ costate).ravel()])

    # A short way: the printed equation grows fast.
    start = np.concatenate([s.x.ravel(), s.a.ravel()])
    found = solve_ivp(rates, (0, SPAN / 4), start, method="DOP853", rtol=1e-11, atol=1e-12)
    x, r = found.y[:, -1].reshape(2, n, n)
    return x, r


def _start(n: int) -> Array:
    """A(0) of the same motion."""
    s = matrices(str(n))[0]
    return np.asarray(pi_kperp(s.a @ s.x.T))


@listed("B-7.7.62")
def full_flow() -> Residual:
    found = []
    for s in matrices:
        for a in (s.symmetric, pi_kperp(s.b)):
            rate = library_rate(a)
            found += gaps((rate, rate), (bracket(a, pi_k(a)), bracket(pi_l(a), a)))
    return *found, *(still(np.linalg.eigvalsh(toda_path(n)["A"])) for n in (3, 4))


@listed("B-7.7.62-equivalent")
def equivalent_flows() -> Corrected:
    def residual(n: int, printed: bool) -> float:
        x, r = _extremal(n, printed)
        return gap(pi_kperp(r @ x.T), toda_motion(_start(n), [SPAN / 4])[0])

    return Corrected([residual(n, False) for n in (3, 4)], min(residual(n, True) for n in (3, 4)))


@listed("B-7.7.62-explicit")
def explicit_solution() -> Residuals:
    for n in (3, 4):
        a, x0 = _start(n), matrices(str(n))[0].x
        k, l = ql(exponential(SPAN / 4 * a))
        x, _ = _extremal(n)
        yield gaps((toda_motion(a, [SPAN / 4])[0], x), (k.T @ a @ k, l @ x0))
        yield np.triu(l, 1)
        path = toda_path(n)
        start, end = path["A"][0], path["A"][-1]
        k, _ = ql(exponential(path.t[-1] * start))
        yield gaps((end, toda_motion(start, path.t[-1:])[0]), (k.T @ start @ k, end))


@listed("B-7.7.62-sorting", over=matrices)
def sorting(s: Matrices) -> Residual:
    a = s.symmetric
    values = np.linalg.eigvalsh(a)
    late = 25 / np.min(np.diff(values))
    h = 1e-3
    path, frames = toda_motion(a, [-2 * h, -h, 0.0, h, 2 * h], frame=True)
    rate = (frames[0] - 8 * frames[1] + 8 * frames[3] - frames[4]) / (12 * h)
    return gaps((toda_motion(a, [late])[0], rate), (np.diag(values), frames[2] @ pi_k(path[2])))


def coadjoint(w: Array, s: Array) -> Array:
    """ad*_W of <S, .> as a symmetric matrix, by its values -<S, [W, V]> on a basis of lower V."""
    n = len(s)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            v = np.zeros((n, n))
            v[i, j] = 1.0
            found[i, j] = found[j, i] = -product(s, bracket(w, v))
    return found


@listed("B-7.7.63", over=matrices)
def coadjoint_vectors(s: Matrices) -> Residual:
    a, w = s.symmetric, np.tril(s.b)
    g = cubic_gradient(a)
    found = (coadjoint(v, a) for v in (w, pi_l(a), pi_l(g)))
    return gaps(found, (pi_kperp(bracket(a, w.T)), library_rate(a), bracket(a, pi_k(g))))


@listed("B-7.7.63-tridiagonal", over=matrices)
def tridiagonal_orbits(s: Matrices) -> Residual:
    def outside(rate: Array) -> Array:
        return rate - np.triu(np.tril(rate, 1), -1)

    a, n = s.symmetric, len(s.a)
    band = np.triu(np.tril(a, 1), -1)
    basis = [e for e in unit_matrices(n) if not np.any(np.triu(e, 1))]
    vectors = ([coadjoint(w, m).ravel() for w in basis] for m in (band, a))
    small, generic = (np.linalg.matrix_rank(np.array(table), tol=1e-9) for table in vectors)
    return (
        float(small != 2 * (n - 1)),
        float((generic > small) != (n >= 4)),
        outside(library_rate(band)),
        excess(APART - np.max(np.abs(outside(library_rate(a))))),
    )
