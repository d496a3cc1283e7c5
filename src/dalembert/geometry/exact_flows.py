r"""Matrix flows in closed form: Toda by factorisation, orbits and two-sided motions.

    exp(t A_0) = k l,  k orthogonal, l lower triangular with a positive diagonal:  A(t) = k^T A_0 k
        (full Toda)
    u = [p_0, x_0]:  x(t) = exp(-t u) x_0 exp(t u),  p(t) = exp(-t u) p_0 exp(t u)
        (adjoint orbits, V = 0)
    Q(t) = exp(t U) Q_0 exp(-t V),   P(t) = exp(t U) P_0 exp(-t V)                (two sides, J = 1)

(Bloch and others, Supplement, section 7.7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import expm, qr

from ..errors import ModelError
from ..typing import Array, ArrayLike

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["orbit_motion", "ql", "toda_motion", "toda_projections", "two_sided_motion"]

#: exp(h A) is factored with steps h that keep its condition below exp of this.
LARGEST_EXPONENT = 6.0


def ql(matrix: ArrayLike) -> tuple[Array, Array]:
    """Factors k (orthogonal) and l (lower triangular, positive diagonal) with k l = matrix.

    >>> k, l = ql([[2.0, 1.0], [0.0, 1.0]])
    >>> bool(abs(k @ l - [[2, 1], [0, 1]]).max() < 1e-14), l[0, 1] == 0, min(l.diagonal()) > 0
    (True, np.True_, np.True_)
    """
    a = np.asarray(matrix, dtype=float)
    # With the order of columns reversed, QR gives an upper factor; reversed back it is a lower one.
    q, r = qr(a[:, ::-1])
    k, lower = q[:, ::-1], r[::-1, ::-1]
    signs = np.where(np.diag(lower) < 0, -1.0, 1.0)
    return k * signs, np.tril(signs[:, None] * lower)


def toda_motion(
    matrix: ArrayLike, times: ArrayLike, frame: bool = False, digits: int | None = None
) -> Any:
    """The full symmetric Toda flow A_dot = [A, pi_k(A)] at some times, (nt, n, n).

    Each step factors exp(h A) and turns A by the orthogonal factor, so that the spectrum stays to
    rounding and nothing overflows.

    Entries below rounding, relative to the matrix, are lost, and the flow may let them grow again:
    where eigenvalues stay in the wrong order for long, the time of their exchange is then wrong.
    `digits` helps.

    Parameters
    ----------
    matrix : array (n, n)
        Symmetric.
    times : sequence of nt times, from 0 on or back
    frame : bool
    digits : int, optional
        Work with so many digits, factoring exp(t A_0) at once; slow for large matrices.

    Examples
    --------
    >>> toda_motion([[1.0, 0.5], [0.5, 0.0]], [20.0])[0].diagonal().round(6).tolist()
    [-0.207107, 1.207107]
    """
    start, wanted = np.array(matrix, dtype=float), np.asarray(times, dtype=float).ravel()
    is_square = start.ndim == 2 and start.shape[0] == start.shape[1]
    if not is_square or not np.allclose(start, start.T, atol=1e-12 * (1 + np.abs(start).max())):
        seen, remedy = f"shape {start.shape}", "give A with A = A^T"
        raise ModelError("Toda's flow needs a symmetric matrix", seen, remedy)
    if digits is not None:
        found, frames = _toda_in_digits(start, wanted, digits)
        return (found, frames) if frame else found
    spread = max(float(np.ptp(np.linalg.eigvalsh(start))), 1e-300)
    found, frames = np.zeros((len(wanted), *start.shape)), np.zeros((len(wanted), *start.shape))
    for sign in (1, -1):
        a, k, now = start.copy(), np.eye(len(start)), 0.0
        forwards = np.flatnonzero(wanted * sign >= 0)
        for place in sorted(forwards, key=lambda index: abs(wanted[index])):
            rest = wanted[place] - now
            count = int(np.ceil(abs(rest) * spread / LARGEST_EXPONENT))
            for _ in range(count):
                values, vectors = np.linalg.eigh(a)
                growth = np.exp(rest / count * (values - values.mean()))
                factor, _ = ql((vectors * growth) @ vectors.T)
                a, k = factor.T @ a @ factor, k @ factor
                a = (a + a.T) / 2
            now = wanted[place]
            found[place], frames[place] = a, k
    return (found, frames) if frame else found


def _toda_in_digits(start: Array, times: Array, digits: int) -> tuple[Array, Array]:
    """exp(t A_0) = k l with many digits."""
    import mpmath

    n = len(start)
    found, frames = np.zeros((len(times), n, n)), np.zeros((len(times), n, n))
    with mpmath.workdps(int(digits)):
        first = mpmath.matrix(start.tolist())
        values, vectors = mpmath.eigsy(first)
        for place, time in enumerate(times):
            grown = mpmath.diag([mpmath.exp(mpmath.mpf(float(time)) * value) for value in values])
            whole = vectors * grown * vectors.T
            backwards = mpmath.matrix(n, n)
            for i, j in np.ndindex(n, n):
                backwards[i, j] = whole[i, n - 1 - j]
            q, r = mpmath.qr(backwards)
            k = mpmath.matrix(n, n)
            for i, j in np.ndindex(n, n):
                sign = 1 if r[n - 1 - j, n - 1 - j] > 0 else -1
                k[i, j] = sign * q[i, n - 1 - j]
            turned = k.T * first * k
            for i, j in np.ndindex(n, n):
                found[place, i, j], frames[place, i, j] = float(turned[i, j]), float(k[i, j])
    return found, frames


def toda_projections(matrix: ArrayLike) -> dict[str, Array]:
    """The four projections of A = A_- + A_0 + A_+ that belong to gl = l + k and its dual.

        pi_l = A_- + A_0 + A_+^T,  pi_k = A_+ - A_+^T,  pi_kperp = A_- + A_0 + A_-^T,
            pi_lperp = A_+ - A_-^T

    The first two and the last two add up to A.
    """
    a = np.asarray(matrix, dtype=float)
    below, middle, above = np.tril(a, -1), np.diag(np.diag(a)), np.triu(a, 1)
    return {
        "pi_l": below + middle + above.T,
        "pi_k": above - above.T,
        "pi_kperp": below + middle + below.T,
        "pi_lperp": above - below.T,
    }


def orbit_motion(x: ArrayLike, p: ArrayLike, times: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """x, p of x_dot = [x, [p, x]], p_dot = [p, [p, x]] at some times, (nt, n, n); also complex."""
    x, p = np.asarray(x), np.asarray(p)
    u = p @ x - x @ p
    turns = [(expm(-float(t) * u), expm(float(t) * u)) for t in np.ravel(times)]
    return np.array([a @ x @ b for a, b in turns]), np.array([a @ p @ b for a, b in turns])


def two_sided_motion(
    q: ArrayLike, p: ArrayLike, times: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Q, P of geodesics Q_dot = U Q - Q V, P_dot = U P - P V with J = 1; also complex."""
    q, p = np.asarray(q), np.asarray(p)
    u = p @ q.conj().T - q @ p.conj().T
    v = p.conj().T @ q - q.conj().T @ p
    turns = [(expm(float(t) * u), expm(-float(t) * v)) for t in np.ravel(times)]
    return np.array([a @ q @ b for a, b in turns]), np.array([a @ p @ b for a, b in turns])
