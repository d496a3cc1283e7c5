"""Bloch and others, Internet Supplement, section 7.7: the motions of the full Toda flow and its orbits (7.7.61 to 7.7.63).

Random symmetric matrices of three to five rows. The library gives rates, motions and the closed form by factors of
exponentials; independent implementations are brackets, SciPy's integrations of (7.7.56) and ranks of coadjoint vectors.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ...geometry.exact_flows import ql, toda_motion
from ..independent.matrix_flows import APART, SPAN, bracket, exponential, gap
from ..numeric import distance, excess, largest, worst
from ..row_registry import Corrected, claim
from .section_7_7_toda import (
    RANDOM,
    SIZES,
    cubic_gradient,
    library_rate,
    lower,
    matrices,
    over_sizes,
    pi_k,
    pi_kperp,
    pi_l,
    product,
    toda_path,
)


@claim(
    "B-7.7.61-split",
    "For symmetric A, grad f = pi_l(grad f) + pi_k(grad f) = pi_l(grad f)^T - pi_k(grad f), [A, grad f] = 0, and [A, k] is"
    " symmetric for skew k",
    how=f"{RANDOM}, f a cubic",
)
def split_gradient() -> float:
    def residual(_: int, m: Any, k: Any) -> float:
        a = pi_kperp(m)
        g = cubic_gradient(a)
        across = bracket(a, pi_k(k))
        return largest(
            gap(pi_l(g) + pi_k(g), g),
            gap(pi_l(g).T - pi_k(g), g),
            worst(bracket(a, g).ravel()),
            worst((across - across.T).ravel()),
        )

    return over_sizes(residual, 2)


@claim(
    "B-7.7.61-brackets",
    "pi_kperp([A, pi_l(grad f)^T]) = [A, pi_k(grad f)] = [pi_l(grad f), A]",
    how=f"{RANDOM}, f = 1/2 Tr A^2 with the library's rates, and a cubic",
)
def brackets() -> float:
    def residual(_: int, m: Any) -> float:
        a = pi_kperp(m)
        g = cubic_gradient(a)
        return largest(
            gap(pi_kperp(bracket(a, pi_l(g).T)), bracket(a, pi_k(g))),
            gap(bracket(pi_l(g), a), bracket(a, pi_k(g))),
            gap(library_rate(a), bracket(pi_l(a), a)),
        )

    return over_sizes(residual, 1)


@cache
def _extremal(n: int, printed: bool = False) -> tuple[Any, Any, Any]:
    """X(0), and X and R at the end, by SciPy's integration of (7.7.56); R as printed where asked."""
    r, b = matrices(n, 2)
    x = lower(b)

    def rates(_: float, y: Any) -> Any:
        place, costate = y.reshape(2, n, n)
        velocity = pi_l(pi_kperp(costate @ place.T))
        factor = pi_kperp(velocity.T) if printed else velocity.T
        return np.concatenate([(velocity @ place).ravel(), (-factor @ costate).ravel()])

    # A short way: the printed equation grows fast.
    found = solve_ivp(rates, (0, SPAN / 4), np.concatenate([x.ravel(), r.ravel()]), method="DOP853", rtol=1e-11, atol=1e-12)
    end = found.y[:, -1].reshape(2, n, n)
    return x, end[0], end[1]


def _start(n: int) -> Any:
    """A(0) of the same motion."""
    r, b = matrices(n, 2)
    return pi_kperp(r @ lower(b).T)


@claim(
    "B-7.7.62",
    "X_dot = pi_l(A) X, A_dot = [A, pi_k(A)] = [pi_l(A), A], and so the library's flow; its motions keep the spectrum",
    how=f"{RANDOM}: the library's rates, eigenvalues along its motions for n = 3 and 4",
)
def full_flow() -> float:
    found = [
        largest(gap(library_rate(a), bracket(a, pi_k(a))), gap(library_rate(a), bracket(pi_l(a), a)))
        for a in (pi_kperp(m) for n in SIZES for m in matrices(n, 2))
    ]
    for n in (3, 4):
        values = np.linalg.eigvalsh(toda_path(n)["A"])
        found.append(distance(values, np.broadcast_to(values[0], values.shape)))
    return worst(found)


@claim(
    "B-7.7.62-equivalent",
    "Along (7.7.56), as corrected, A = pi_kperp(R X^T) is the full Toda flow; along the printed equation it is not",
    how="n = 3 and 4: SciPy's integration of (7.7.56) against the library's closed form of A",
    tolerance=1e-8,
)
def equivalent_flows() -> Corrected:
    right: list[float] = []
    printed: list[float] = []
    for n in (3, 4):
        expected = toda_motion(_start(n), [SPAN / 4])[0]
        for residuals, wrong in ((right, False), (printed, True)):
            _, x, r = _extremal(n, wrong)
            residuals.append(gap(pi_kperp(r @ x.T), expected))
    return Corrected(worst(right), min(printed))


@claim(
    "B-7.7.62-explicit",
    "exp(t A_0) = k l with k orthogonal and l lower with a positive diagonal gives A = k^T A_0 k and X = l X_0",
    how="n = 3 and 4: the library's factors and closed form against its motion, X by SciPy's integration of (7.7.56)",
    tolerance=1e-8,
)
def explicit_solution() -> float:
    found = []
    for n in (3, 4):
        a = _start(n)
        k, l = ql(exponential(SPAN / 4 * a))
        x0, x, _ = _extremal(n)
        found += [gap(toda_motion(a, [SPAN / 4])[0], k.T @ a @ k), gap(x, l @ x0), worst(np.triu(l, 1).ravel())]
        path = toda_path(n)
        k, _ = ql(exponential(path.t[-1] * path["A"][0]))
        found += [gap(path["A"][-1], k.T @ path["A"][0] @ k), gap(toda_motion(path["A"][0], path.t[-1:])[0], path["A"][-1])]
    return worst(found)


@claim(
    "B-7.7.62-sorting",
    "A tends to the diagonal matrix of its eigenvalues, ascending",
    how="n = 3, 4 and 5: the library's closed form at late times, and k_dot = k pi_k(A) for its frame by differences in time",
    tolerance=1e-8,
)
def sorting() -> float:
    found = []
    for n in SIZES:
        a = pi_kperp(matrices(n, 1)[0])
        values = np.linalg.eigvalsh(a)
        late = 25 / np.min(np.diff(values))
        found.append(gap(toda_motion(a, [late])[0], np.diag(values)))
        h = 1e-3
        path, frames = toda_motion(a, [-2 * h, -h, 0.0, h, 2 * h], frame=True)
        rate = (frames[0] - 8 * frames[1] + 8 * frames[3] - frames[4]) / (12 * h)
        found.append(gap(rate, frames[2] @ pi_k(path[2])))
    return worst(found)


def coadjoint(w: Any, s: Any) -> Any:
    """ad*_W of <S, .> as a symmetric matrix, by its values -<S, [W, V]> on a basis of lower V."""
    n = len(s)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            v = np.zeros((n, n))
            v[i, j] = 1.0
            found[i, j] = found[j, i] = -product(s, bracket(w, v))
    return found


@claim(
    "B-7.7.63",
    "The tangent vectors of coadjoint orbits of the lower group are ad*_W <S, .> = <pi_kperp [S, W^T], .>, and"
    " A_dot = pi_kperp([A, pi_l(grad f)^T]) is one of them, for W = pi_l(grad f)",
    how=f"{RANDOM}: -<S, [W, V]> for all lower V, the library's rates, a cubic f",
)
def coadjoint_vectors() -> float:
    def residual(_: int, m: Any, b: Any) -> float:
        s, w = pi_kperp(m), np.tril(b)
        g = cubic_gradient(s)
        return largest(
            gap(coadjoint(w, s), pi_kperp(bracket(s, w.T))),
            gap(coadjoint(pi_l(s), s), library_rate(s)),
            gap(coadjoint(pi_l(g), s), bracket(s, pi_k(g))),
        )

    return over_sizes(residual, 2)


@claim(
    "B-7.7.63-tridiagonal",
    "Tridiagonal matrices lie on orbits of dimension 2 (n - 1), less than that of generic ones for n >= 4, and keep their form",
    how="n = 3, 4 and 5: ranks of coadjoint vectors, the library's rates outside the three diagonals",
)
def tridiagonal_orbits() -> float:
    found = []
    for n in SIZES:
        s = pi_kperp(matrices(n, 1)[0])
        band = np.triu(np.tril(s, 1), -1)
        basis = [e for e in np.eye(n * n).reshape(n * n, n, n) if not np.any(np.triu(e, 1))]
        ranks = [np.linalg.matrix_rank(np.array([coadjoint(w, m).ravel() for w in basis]), tol=1e-9) for m in (band, s)]
        rate = library_rate(band)
        found += [
            float(ranks[0] != 2 * (n - 1)),
            float((ranks[1] > ranks[0]) != (n >= 4)),
            worst((rate - np.triu(np.tril(rate, 1), -1)).ravel()),
            excess(APART - np.max(np.abs(library_rate(s) - np.triu(np.tril(library_rate(s), 1), -1)))),
        ]
    return worst(found)
