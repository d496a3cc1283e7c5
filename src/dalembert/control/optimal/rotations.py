r"""Logarithms of rotations with all their branches, and the derivative of the logarithm.

A rotation R in SO(n) rotates planes by angles theta_k; exp(L) = R for L = sum theta_k J_k with J_k
the quarter turn of a plane, and for every other choice of theta_k + 2 pi m. With L' the derivative
of L along a curve,

    L' = ad_L / (1 - exp(-ad_L)) (R^T R').
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import schur

from ...typing import Array, ArrayLike

__all__ = [
    "RotationLogarithm",
    "logarithm_derivative",
    "logarithms",
    "missed_rotation",
    "skew_entries",
]


@dataclass(frozen=True)
class RotationLogarithm:
    """One logarithm of a rotation.

    Attributes
    ----------
    logarithm : array (n, n)
    angles : tuple of float
        How far each plane is turned; between -pi and pi for the principal one.
    is_principal : bool
    """

    logarithm: Array
    angles: tuple[float, ...]
    is_principal: bool

    @property
    def length(self) -> float:
        """The square root of the sum of the squared angles."""
        return float(np.linalg.norm(self.angles))


def skew_entries(matrix: Array) -> Array:
    """The entries above the diagonal of the skew part of a matrix, row by row."""
    rows, columns = np.triu_indices(matrix.shape[0], 1)
    found: Array = (matrix - matrix.T)[rows, columns] / 2
    return found


def logarithms(rotation: ArrayLike, most: int = 16) -> list[RotationLogarithm]:
    """The logarithms that rotate each plane by less than a full turn, the smallest first.

    >>> [round(one.angles[0], 6) for one in logarithms([[0.0, -1.0], [1.0, 0.0]])]
    [1.570796, -4.712389]
    """
    matrix = np.asarray(rotation, dtype=float)
    planes, n = _planes(matrix), len(matrix)
    choices = [(angle, angle - np.copysign(2 * np.pi, angle)) for angle, _ in planes]
    found = []
    for angles in product(*choices):
        logarithm = np.zeros((n, n))
        for angle, (_, quarter) in zip(angles, planes, strict=True):
            logarithm += angle * quarter
        principal = all(abs(angle) <= np.pi for angle in angles)
        found.append(RotationLogarithm(logarithm, tuple(map(float, angles)), principal))
    return sorted(found, key=lambda one: one.length)[:most]


def _planes(rotation: Array) -> list[tuple[float, Array]]:
    """Angles and quarter turns of the planes that a rotation moves."""
    form, axes = schur(rotation, output="real")
    found, reversed_axes, k, n = [], [], 0, len(rotation)
    while k < n:
        if k + 1 < n and abs(form[k + 1, k]) > 1e-15:
            sine = (form[k + 1, k] - form[k, k + 1]) / 2
            cosine = (form[k, k] + form[k + 1, k + 1]) / 2
            angle = float(np.arctan2(sine, cosine))
            found.append((angle, _quarter(axes[:, k], axes[:, k + 1])))
            k += 2
            continue
        if form[k, k] < 0:
            reversed_axes.append(axes[:, k])
        k += 1
    for first, second in zip(reversed_axes[::2], reversed_axes[1::2], strict=False):
        found.append((np.pi, _quarter(first, second)))
    return found


def _quarter(first: Array, second: Array) -> Array:
    """The quarter turn that takes the first of two orthonormal vectors to the second."""
    return np.outer(second, first) - np.outer(first, second)


def logarithm_derivative(logarithm: Array) -> Array:
    """The matrix (d, d) of ad_L / (1 - exp(-ad_L)) on the entries above the diagonal."""
    n = len(logarithm)
    columns = []
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        unit = np.zeros((n, n))
        unit[i, j], unit[j, i] = 1.0, -1.0
        columns.append(skew_entries(logarithm @ unit - unit @ logarithm))
    across = np.array(columns).T
    values, vectors = np.linalg.eigh(1j * across)
    turned = -1j * values
    small = np.abs(values) < 1e-8
    divisors = np.where(small, 1.0, 1.0 - np.exp(-turned))
    factors = np.where(small, 1.0 + turned / 2, turned / divisors)
    found: Array = np.real((vectors * factors) @ vectors.conj().T)
    return found


def missed_rotation(here: Array, wanted: Array) -> tuple[Array, Array]:
    """log(wanted^T here) as entries (d,), and their derivative (d, n n) in the entries of here."""
    n = len(here)
    logarithm = logarithms(wanted.T @ here, 1)[0].logarithm
    rows, columns = np.triu_indices(n, 1)
    turning = np.zeros((len(rows), n, n))
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):  # (Q^T dQ - dQ^T Q)_ij / 2
        turning[k, :, j] += here[:, i] / 2
        turning[k, :, i] -= here[:, j] / 2
    derivative = logarithm_derivative(logarithm) @ turning.reshape(len(rows), n * n)
    return skew_entries(logarithm), derivative
