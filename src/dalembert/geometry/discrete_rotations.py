r"""The rotation of one step of the discrete rigid body: U in SO(n) with

    U Lambda - Lambda U^T = M                                      (Moser and Veselov; Bloch 7.7.50)

for positive Lambda (n,) and a skew M. With X = U Lambda = S + M/2, S symmetric, this is X^T X =
Lambda^2, an algebraic Riccati equation for S,

    A^T S + S A - S S + C = 0,     A = -M/2,   C = Lambda^2 + M^2/4,     H = ((A, -1), (-C, -A^T)).

Because (X^T + z)(X - z) = Lambda^2 + z M - z^2, the spectrum of X is one half of the roots of

    det(Lambda^2 + z M - z^2) = 0,                                    (the spectrum of H; even in z)

and each choice of a half is another U. The one that continues U = 1 at M = 0 has its spectrum in
the open right half plane. It exists exactly where Lambda^2 + w^2 + i w M is positive definite for
all real w, which is a convex set of M: the way from 0 to M lies in it, and `largest_factor` says
how far it goes. S itself need not be definite there, nor C. A step keeps the roots, and with them
the limit.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import expm, schur, solve_continuous_lyapunov

from ..errors import ModelError
from ..typing import Array, ArrayLike
from .rigid_rotations import checked_inertias, checked_momentum

__all__ = [
    "discrete_momentum",
    "discrete_rotation",
    "hamiltonian_matrix",
    "largest_factor",
    "not_solvable",
]

#: An eigenvalue whose real part is this small beside its size is on the imaginary axis.
ON_AXIS = 1e-8
#: The relative accuracy of the largest factor, and the most levels tried for it.
LEVEL, MOST_LEVELS = 1e-14, 60
#: The most steps of Newton's iteration that polishes a rotation.
MOST_STEPS = 12


def discrete_momentum(Lambda: ArrayLike, U: ArrayLike) -> Array:
    """M = U Lambda - Lambda U^T (..., n, n)."""
    scaled = np.asarray(U, dtype=float) * checked_inertias(Lambda)
    return scaled - np.swapaxes(scaled, -1, -2)


def hamiltonian_matrix(Lambda: ArrayLike, M: ArrayLike) -> Array:
    """H (..., 2n, 2n), whose eigenvalues are the roots of det(Lambda^2 + z M - z^2)."""
    inertias, momentum = np.asarray(Lambda, dtype=float), np.asarray(M, dtype=float)
    one = np.broadcast_to(np.eye(inertias.size), momentum.shape)
    lower = -(np.diag(inertias**2) + momentum @ momentum / 4)
    return np.block([[-momentum / 2, -one], [lower, -momentum / 2]])


def largest_factor(Lambda: ArrayLike, M: ArrayLike) -> float:
    r"""The s for which s M is at the limit of what a step can take; a step from M exists for s > 1.

    1/s is the greatest eigenvalue of i w (Lambda^2 + w^2)^-1/2 M (Lambda^2 + w^2)^-1/2 over all w.
    A level is raised until it is met nowhere: where it is met, H has imaginary eigenvalues, and the
    greatest lies between two of them (N. A. Bruinsma, M. Steinbuch 1990).

    Examples
    --------
    In a plane the limit is |m| = Lambda_1 + Lambda_2:

    >>> round(largest_factor([1, 2], [[0, -1.5], [1.5, 0]]), 12)
    2.0
    """
    inertias = checked_inertias(Lambda, positive=True)
    momentum = checked_momentum(M, inertias.size)
    if not np.any(momentum):
        return float("inf")

    def height(w: float) -> float:
        scale = 1 / np.sqrt(inertias**2 + w * w)
        return float(np.linalg.eigvalsh(1j * w * scale[:, None] * momentum * scale)[-1])

    products = np.outer(inertias, inertias)[np.triu_indices(inertias.size, 1)]
    level = max(height(w) for w in np.sqrt(products))
    for _ in range(MOST_LEVELS):
        raised = level * (1 + LEVEL)
        roots = np.linalg.eigvals(hamiltonian_matrix(inertias, momentum / raised))
        on_axis = np.abs(roots.real) <= ON_AXIS * np.abs(roots)
        met = np.sort(roots.imag[on_axis & (roots.imag > 0)])
        between = [height(float(np.sqrt(a * b))) for a, b in pairwise(met)]
        if not between or max(between) <= raised:
            break
        level = max(between)
    return 1 / level


def not_solvable(Lambda: ArrayLike, M: ArrayLike) -> ModelError:
    """The error that a momentum is too large for a step."""
    factor = largest_factor(Lambda, M)
    roots = np.linalg.eigvals(hamiltonian_matrix(Lambda, M))
    nearest = float(np.min(np.abs(roots.real)))
    return ModelError(
        "No rotation U that continues the identity has U Lambda - Lambda U^T = M: M is too large",
        seen=f"{1 / factor:.10g} times the largest M in this direction, eigenvalues {nearest:.1e}"
        " from the imaginary axis",
        remedy=f"multiply M by less than {factor:.6g}, which is a shorter step",
    )


def discrete_rotation(Lambda: ArrayLike, M: ArrayLike) -> Any:
    r"""U (n, n) in SO(n) with U Lambda - Lambda U^T = M, the one that continues the identity.

    An ordered Schur form of H (A. J. Laub 1979) gives S; Newton's iteration on the group, U <-
    exp(eta) U with X^T eta + eta X = M - (X - X^T), improves the result.

    Raises
    ------
    ModelError
        Where M is at the limit or beyond.

    >>> U = discrete_rotation([1.0, 2.0, 3.0], [[0, -1.5, 0], [1.5, 0, 0], [0, 0, 0]])
    >>> round(float(U[1, 0]), 12)  # by asin(1.5/(1 + 2))
    0.5
    """
    inertias = checked_inertias(Lambda, positive=True)
    momentum = checked_momentum(M, inertias.size)
    n = inertias.size
    if not largest_factor(inertias, momentum) > 1 + LEVEL:
        raise not_solvable(inertias, momentum)
    _, axes, stable = schur(hamiltonian_matrix(inertias, momentum), output="real", sort="lhp")
    if stable != n:
        raise not_solvable(inertias, momentum)
    symmetric = np.linalg.solve(axes[:n, :n].T, axes[n:, :n].T)
    rotation = ((symmetric + symmetric.T) / 2 + momentum / 2) / inertias
    last = np.inf
    for _ in range(MOST_STEPS):
        for _ in range(2):
            rotation = rotation @ (3 * np.eye(n) - rotation.T @ rotation) / 2
        scaled = rotation * inertias
        turn = solve_continuous_lyapunov(scaled.T, momentum - (scaled - scaled.T))
        turn = (turn - turn.T) / 2
        size = float(np.max(np.abs(turn)))
        if not size < last / 2:
            break
        rotation, last = expm(turn) @ rotation, size
    return rotation
