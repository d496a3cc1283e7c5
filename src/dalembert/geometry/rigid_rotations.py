r"""Rotations of a rigid body in n dimensions in numbers: inertia, momenta, integrals.

A body turns by Q in SO(n) with the velocity Omega in so(n) and the momentum M in so(n); Lambda (n,)
are its inertias:

    left  Q_dot = Q Omega,  M_dot = [M, Omega],  m = Q M Q^T stays
        (the axes of Omega and M are those of the body)
    right   Q_dot = Omega Q,   M_dot = [Omega, M],    m = Q^T M Q stays
    M = Lambda Omega + Omega Lambda,  M_ij = (Lambda_i + Lambda_j) Omega_ij,     <a, b> = -tr(a b)/2

(Bloch 7.7.36, 7.7.37). Only Lambda_i + Lambda_j > 0 is asked for. In three dimensions I_1 =
Lambda_2 + Lambda_3 and so on.

The symmetric form has a second rotation P in the place of the momentum (Bloch 7.7.38 to 7.7.42),

    Q_dot = Q Omega,  P_dot = P Omega,  M = Q^T P - P^T Q,
        P = Q exp(asinh(M/2)) = Q (sqrt(1 + M^2/4) + M/2),

and on the right M = P Q^T - Q P^T, P = exp(asinh(M/2)) Q. It exists where the greatest singular
value of M is at most 2. Where it is 2, the pair lies on the boundary set C of 7.7.19: some plane is
turned by a quarter between Q and P, and M no longer tells on which side of the quarter P lies. In
three dimensions these are the pairs with Q^T P = c c^T + hat(c), |c| = 1.

Matrices may be stacked along leading axes, as the history of a motion is.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..errors import ModelError
from ..typing import Array, ArrayLike

__all__ = [
    "LARGEST_NORM",
    "Side",
    "body_energy",
    "checked_inertias",
    "checked_momentum",
    "manakov_integrals",
    "momentum_of_pair",
    "momentum_of_velocity",
    "on_boundary",
    "operator_norm",
    "spatial_momentum",
    "symmetric_partner",
    "time_scale",
    "velocity_of_momentum",
]

Side = Literal["left", "right"]

#: The greatest norm of a momentum that a pair of rotations can have.
LARGEST_NORM = 2.0
#: A norm nearer to its limit than this is at the limit.
AT_LIMIT = 1e-14
#: The largest relative size of M + M^T of a skew matrix.
SKEW = 1e-9


def checked_inertias(Lambda: ArrayLike, *, positive: bool = False) -> Array:
    """Lambda (n,) as numbers, n >= 2, with positive pair sums; each positive where asked for.

    >>> checked_inertias([-0.5, 1, 2]).tolist()
    [-0.5, 1.0, 2.0]
    """
    values = np.array(Lambda, dtype=float)
    is_square = values.ndim == 2 and values.shape[0] == values.shape[1]
    if is_square and np.array_equal(values, np.diag(np.diag(values))):
        values = np.diag(values).copy()
    if values.ndim != 1 or values.size < 2 or not np.all(np.isfinite(values)):
        what = "The inertias must be two numbers or more"
        raise ModelError(what, f"an array of shape {values.shape}", "pass Lambda as [1, 2, 3]")
    first, second = np.argsort(values)[:2]
    if positive and values[first] <= 0:
        what = "The discrete rigid body needs inertias that are positive"
        remedy = "simulate the continuous rigid_body(...), which needs Lambda_i + Lambda_j > 0"
        raise ModelError(what, f"Lambda_{first + 1} = {values[first]:g}", remedy)
    if values[first] + values[second] <= 0:
        i, j = sorted((first + 1, second + 1))
        what = f"The inertia of the plane ({i}, {j}) is not positive"
        seen = f"Lambda_{i} + Lambda_{j} = {values[first] + values[second]:g}"
        raise ModelError(what, seen, "every sum of two different Lambda must be positive")
    return values


def checked_momentum(M: ArrayLike, size: int | None = None) -> Any:
    """M (..., n, n) as numbers, made exactly skew where it is skew to rounding."""
    values = np.array(M, dtype=float)
    is_square = values.ndim >= 2 and values.shape[-1] == values.shape[-2]
    if not is_square or (size is not None and values.shape[-1] != size):
        raise ModelError(
            "A momentum must be a square matrix with one row for each Lambda",
            seen=f"shape {values.shape}",
            remedy=f"pass {size} x {size} numbers" if size else "pass n x n numbers",
        )
    turned = np.swapaxes(values, -1, -2)
    departure = float(np.max(np.abs(values + turned))) if values.size else 0.0
    if not departure <= SKEW * (1e-300 + float(np.max(np.abs(values)))):
        seen, remedy = f"M + M^T of size {departure:.2g}", "pass (M - M.T)/2, or mend M"
        raise ModelError("A momentum must be a skew matrix", seen, remedy)
    return (values - turned) / 2


def momentum_of_velocity(Lambda: ArrayLike, Omega: ArrayLike) -> Any:
    """M = Lambda Omega + Omega Lambda (..., n, n).

    >>> momentum_of_velocity([1, 2], [[0, -0.5], [0.5, 0]]).tolist()
    [[0.0, -1.5], [1.5, 0.0]]
    """
    inertias = checked_inertias(Lambda)
    return checked_momentum(Omega, inertias.size) * (inertias[:, None] + inertias)


def velocity_of_momentum(Lambda: ArrayLike, M: ArrayLike) -> Any:
    """Omega (..., n, n) with Lambda Omega + Omega Lambda = M.

    >>> velocity_of_momentum([1, 2], [[0, -1.5], [1.5, 0]]).tolist()
    [[0.0, -0.5], [0.5, 0.0]]
    """
    inertias = checked_inertias(Lambda)
    sums = inertias[:, None] + inertias
    np.fill_diagonal(sums, 1.0)
    return checked_momentum(M, inertias.size) / sums


def body_energy(Lambda: ArrayLike, M: ArrayLike) -> Any:
    """<M, Omega>/2 = sum of M_ij^2 / (2 (Lambda_i + Lambda_j)) over i < j."""
    return np.sum(np.asarray(M) * velocity_of_momentum(Lambda, M), axis=(-1, -2)) / 4


def spatial_momentum(Q: ArrayLike, M: ArrayLike, side: Side = "left") -> Any:
    """The momentum that the motion keeps: Q M Q^T, or Q^T M Q for the body on the right."""
    attitude, momentum = np.asarray(Q, dtype=float), np.asarray(M, dtype=float)
    turned = np.swapaxes(attitude, -1, -2)
    return attitude @ momentum @ turned if side == "left" else turned @ momentum @ attitude


def operator_norm(M: ArrayLike) -> Any:
    """The greatest singular value of a skew matrix; every motion of a body keeps it."""
    return np.max(np.abs(np.linalg.eigvalsh(1j * checked_momentum(M))), axis=-1)


def manakov_integrals(Lambda: ArrayLike, M: ArrayLike) -> dict[str, Array]:
    r"""The coefficients of z^j in tr (M + z Lambda^2)^k, k = 2 ... n, named like ``"k3 z1"``.

    Those with k - j odd vanish, those with j = k do not depend on M, and neither are listed. Each
    is conserved: d/dt (M + z Lambda^2) = [M + z Lambda^2, Omega + z Lambda] (Manakov 1976).

    >>> list(manakov_integrals([1, 2, 3], np.zeros((3, 3))))
    ['k2 z0', 'k3 z1']
    """
    inertias = checked_inertias(Lambda)
    momentum, squares = checked_momentum(M, inertias.size), inertias**2
    powers = [momentum, np.broadcast_to(np.diag(squares), momentum.shape)]
    found: dict[str, Array] = {}
    for k in range(2, inertias.size + 1):
        raised = [np.zeros_like(momentum) for _ in range(k + 1)]
        for j, coefficient in enumerate(powers):
            raised[j] = raised[j] + coefficient @ momentum
            raised[j + 1] = raised[j + 1] + coefficient * squares
        powers = raised
        for j in range(k % 2, k, 2):
            found[f"k{k} z{j}"] = np.trace(powers[j], axis1=-2, axis2=-1)
    return found


# -- the symmetric form ----------------------------------------------------------------------------


def momentum_of_pair(Q: ArrayLike, P: ArrayLike, side: Side = "left") -> Any:
    """M = Q^T P - P^T Q, or P Q^T - Q P^T for the body on the right (Bloch 7.7.38)."""
    first, second = np.asarray(Q, dtype=float), np.asarray(P, dtype=float)
    turned = np.swapaxes(first, -1, -2)
    product = turned @ second if side == "left" else second @ turned
    return product - np.swapaxes(product, -1, -2)


def time_scale(M: ArrayLike, norm: float = 1.0) -> float:
    """The factor c by which time is stretched so that the momentum c M has the norm asked for.

    (Q(c s), c M(c s)) is a motion of the same body in the time s = t/c. A momentum without a
    symmetric form gets one for any norm below 2.

    >>> time_scale([[0, -4], [4, 0]])
    0.25
    """
    largest = float(np.max(operator_norm(M)))
    return norm / largest if largest > 0 else 1.0


def on_boundary(M: ArrayLike) -> Any:
    """Whether M belongs to the boundary set C: its largest singular value is 2 (Bloch 7.7.19)."""
    return np.abs(operator_norm(M) - LARGEST_NORM) <= AT_LIMIT * LARGEST_NORM


def symmetric_partner(Q: ArrayLike, M: ArrayLike, side: Side = "left") -> Array:
    r"""P (..., n, n) with M = Q^T P - P^T Q that continues P = Q at M = 0 (Bloch 7.7.41, 7.7.42).

    With the eigenvectors v of i M, i M v = w v: exp(asinh(M/2)) v = (sqrt(1 - w^2/4) - i w/2) v. On
    the boundary set C this is still a pair of rotations; beyond it there is none.

    Raises
    ------
    ModelError
        Where the greatest singular value of M exceeds 2.

    Examples
    --------
    >>> symmetric_partner(np.eye(2), [[0, -2.0], [2.0, 0]]).round(12).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    momentum = checked_momentum(M)
    values, vectors = np.linalg.eigh(1j * momentum)
    largest = float(np.max(np.abs(values)))
    if not largest <= LARGEST_NORM * (1 + AT_LIMIT):
        limit = LARGEST_NORM / largest
        what = "This momentum belongs to no pair of rotations: its largest singular value exceeds 2"
        remedy = f"scale time: c M has a symmetric form for c < {limit:.6g}; see time_scale(M)"
        raise ModelError(what, f"{largest:.16g}", remedy)
    half = np.clip(values / 2, -1.0, 1.0)
    turned = np.sqrt((1 - half) * (1 + half)) - 1j * half
    rotation = np.real((vectors * turned[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)))
    attitude = np.asarray(Q, dtype=float)
    partner: Array = attitude @ rotation if side == "left" else rotation @ attitude
    return partner
