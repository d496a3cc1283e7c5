r"""Logarithms of rotations with all their branches, and the derivative of the logarithm.

A rotation R in SO(n) turns planes by angles theta_k; exp(L) = R for L = sum theta_k J_k with J_k the quarter turn of a plane,
and for every other choice of theta_k + 2 pi m. With L' the derivative of L along a curve,

    L' = ad_L / (1 - exp(-ad_L)) (R^T R').
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import schur

__all__ = ["Turn", "logarithm_derivative", "missed_rotation", "skew_entries", "turns"]


@dataclass(frozen=True)
class Turn:
    """One logarithm of a rotation.

    Attributes
    ----------
    logarithm : array (n, n)
    angles : tuple of float
        How far each plane is turned; between -pi and pi for the principal one.
    is_principal : bool
    """

    logarithm: Any
    angles: tuple[float, ...]
    is_principal: bool

    @property
    def length(self) -> float:
        """The square root of the sum of the squared angles."""
        return float(np.linalg.norm(self.angles))


def skew_entries(matrix: Any) -> Any:
    """The entries above the diagonal of the skew part of a matrix, row by row."""
    rows, columns = np.triu_indices(matrix.shape[0], 1)
    return (matrix - matrix.T)[rows, columns] / 2


def turns(rotation: Any, most: int = 16) -> list[Turn]:
    """The logarithms in which each plane is turned by less than a full turn, the smallest first.

    >>> [round(turn.angles[0], 6) for turn in turns(np.array([[0.0, -1.0], [1.0, 0.0]]))]
    [1.570796, -4.712389]
    """
    planes = _planes(np.asarray(rotation, dtype=float))
    n = len(rotation)
    choices: list[Sequence[float]] = [(angle, angle - np.copysign(2 * np.pi, angle)) for angle, _ in planes]
    found = []
    for angles in product(*choices):
        logarithm = np.zeros((n, n))
        for angle, (_, quarter) in zip(angles, planes, strict=True):
            logarithm += angle * quarter
        principal = all(abs(angle) <= np.pi for angle in angles)
        found.append(Turn(logarithm, tuple(float(angle) for angle in angles), principal))
    return sorted(found, key=lambda turn: turn.length)[:most]


def _planes(rotation: Any) -> list[tuple[float, Any]]:
    """Angles and quarter turns of the planes that a rotation turns, those that it leaves in peace excluded."""
    form, axes = schur(rotation, output="real")
    found, reversed_axes, k, n = [], [], 0, len(rotation)
    while k < n:
        if k + 1 < n and abs(form[k + 1, k]) > 1e-15:
            angle = float(np.arctan2((form[k + 1, k] - form[k, k + 1]) / 2, (form[k, k] + form[k + 1, k + 1]) / 2))
            found.append((angle, _quarter(axes[:, k], axes[:, k + 1])))
            k += 2
            continue
        if form[k, k] < 0:
            reversed_axes.append(axes[:, k])
        k += 1
    for first, second in zip(reversed_axes[::2], reversed_axes[1::2], strict=False):
        found.append((np.pi, _quarter(first, second)))
    return found


def _quarter(first: Any, second: Any) -> Any:
    """The quarter turn that takes the first of two orthonormal vectors to the second."""
    return np.outer(second, first) - np.outer(first, second)


def logarithm_derivative(logarithm: Any) -> Any:
    """The matrix (d, d) of ad_L / (1 - exp(-ad_L)) on the entries above the diagonal, d = n (n - 1) / 2."""
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
    factors = np.where(small, 1.0 + turned / 2, turned / np.where(small, 1.0, 1.0 - np.exp(-turned)))
    return np.real((vectors * factors) @ vectors.conj().T)


def missed_rotation(here: Any, wanted: Any) -> tuple[Any, Any]:
    """The entries (d,) of log(wanted^T here), and their derivative (d, n n) in the entries of a rotation here."""
    n = len(here)
    logarithm = turns(wanted.T @ here, 1)[0].logarithm
    rows, columns = np.triu_indices(n, 1)
    turning = np.zeros((len(rows), n, n))
    for k, (i, j) in enumerate(zip(rows, columns, strict=True)):  # (Q^T dQ - dQ^T Q)_ij / 2
        turning[k, :, j] += here[:, i] / 2
        turning[k, :, i] -= here[:, j] / 2
    return skew_entries(logarithm), logarithm_derivative(logarithm) @ turning.reshape(len(rows), n * n)
