"""Newton steps with sparse matrices of numbers, for hypotheses about many constraints."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from ..typing import Array

__all__ = ["least_change"]


def least_change(
    derivative: ca.DM, kept: Sequence[int] | slice, residual: Array, damping: float
) -> Array:
    """The least dx with J dx = r, (n,), for the rows of J (m x n) that are kept.

    dx = J^T (J J^T + damping)^-1 r, by sparse factors; what is not finite belongs to a J without
    full rank.

    >>> least_change(ca.DM([[3.0, 4.0]]), slice(None), np.array([5.0]), 0.0)
    array([0.6, 0.8])
    """
    sparsity = derivative.sparsity()
    parts = (np.asarray(derivative.nonzeros()), sparsity.row(), sparsity.colind())
    matrix = csc_array(parts, shape=derivative.shape).tocsr()[kept]
    normal = csc_array(matrix @ matrix.T + damping * eye_array(matrix.shape[0]))
    factors = splu(normal, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    change: Array = matrix.T @ factors.solve(residual)
    return change
