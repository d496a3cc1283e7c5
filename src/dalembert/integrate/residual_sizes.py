"""Residuals of constraints relative to the size of their terms."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from ..codegen.passes.magnitudes import magnitudes
from ..runtime.kernel import Kernel
from ..typing import Array

__all__ = ["LIMIT", "ROUNDING", "excess", "relative", "scaled_terms", "term_sizes"]

#: What rounding makes of the residual of a constraint, relative to its terms; a start with more is
#: moved, and said to be.
ROUNDING = 5e-13
#: A start that was moved or completed has no larger residuals than this, relative to their terms.
LIMIT = 1e-9


def excess(residual: Array, size: Array, limit: float = LIMIT) -> Any:
    """How far residuals (..., m) are above a part of their terms, which have sizes (..., m); 0
    where none is.

    The largest excess of each state, (...,), relative to the terms: a factor of a constraint
    changes nothing.
    """
    part = relative(residual, size)
    return np.max(np.where(part <= limit, 0.0, part), axis=-1, initial=0.0)


def term_sizes(kernel: Kernel, level: str) -> ca.SX:
    """The size of the terms of the residuals at position or velocity level, (m,).

    At least what the largest coordinate and the largest velocity or momentum can do, each by
    itself, because their units differ. Where all velocities are rounding beside the coordinates,
    the state is at rest, and they are judged beside these.
    """
    residual, dual = getattr(kernel.graph, level).residual, kernel.graph.dual_rows
    state = kernel.algebra.vector(kernel.equations.state)
    coordinates, moving = state[: kernel.n_coordinates], state[kernel.n_coordinates :]
    size = scaled_terms(kernel._inputs(), residual, coordinates, 1.0)
    if level == "position" or not moving.numel():
        return size
    rows = ca.jacobian(residual, moving)
    moved = ca.sum2(ca.fabs(rows)) * ca.mmax(ca.fabs(moving))
    resting = ca.sum2(ca.fabs(rows if dual is None else dual.T)) * ca.mmax(ca.fabs(coordinates))
    return ca.fmax(size, ca.if_else(moved <= ROUNDING * resting, resting, moved))


def scaled_terms(
    inputs: list[ca.SX], residual: ca.SX, symbols: ca.SX, share: float = 1e-3
) -> ca.SX:
    """The sizes of terms, at least a share of what the largest symbol can do to them."""
    derivatives = ca.sum2(ca.fabs(ca.jacobian(residual, symbols)))
    return ca.fmax(magnitudes(inputs, residual), share * derivatives * ca.mmax(ca.fabs(symbols)))


def relative(residual: Array, size: Array) -> Array:
    """Residuals as parts of a size; nothing is no part of nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(residual == 0, 0.0, np.abs(residual) / size)
