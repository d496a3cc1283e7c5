r"""Gauss's collocation methods of order 2s, in a form that keeps quadratic invariants to rounding.

    L_i = h b_i f(t + c_i h,  y + sum_j mu_ij L_j),     y_new = y + sum_j L_j,     mu_ij = a_ij /
    b_j

The method is symplectic because mu_ij + mu_ji = 1, which holds in the last digit of the table, so
that rounding of the coefficients cannot make a quadratic invariant drift (Antonana, Makazaga,
Murua, Numerical Algorithms 76 (2017); E. Hairer, C. Lubich, G. Wanner: Geometric Numerical
Integration, IV.2 and VIII.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ....runtime.projection import MISSING, evaluate
from ...run_fields import FixedFields

if TYPE_CHECKING:
    from ....typing import Array

__all__ = ["Tableau", "gauss_stage", "tableau"]


@native
def gauss_stage(
    context: FixedFields, i: int, t: float, h: float, unknowns: Reals, fresh: Reals
) -> int:
    """fresh (n_state) <- h b_i f at stage i of the increments `unknowns` (stages x n_state)."""
    ns, stages = context.n_state, context.n_stages
    y, stage, rate = context.y, context.stage, context.stages
    mix, nodes, weights = context.mix + i * stages, context.nodes, context.weights
    for c in range(ns):
        stage[c] = 0.0
    for j in range(stages):
        row, weight = unknowns + j * ns, mix[j]
        for c in range(ns):
            stage[c] += weight * row[c]
    for c in range(ns):
        stage[c] += y[c]
    status = evaluate(context, t + nodes[i] * h, stage, rate)
    if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
        return status
    scale = h * weights[i]
    for c in range(ns):
        fresh[c] = scale * rate[c]
    return 0


class Tableau:
    """The coefficients of Gauss's method with `stages` stages, and of the guesses from one and from
    two steps before.

    Attributes
    ----------
    nodes, weights : arrays (s,)
    mix : array (s, s)
        mu_ij = a_ij / b_j, with mu_ij + mu_ji = 1 exactly.
    guess : array (s, s)
        L_i of a step from those of the step before, by the polynomial through its rates.
    long_guess : array (s, 2s)
        The same from the two steps before, the earlier one first.
    """

    def __init__(self, stages: int) -> None:
        self.nodes = _NODES[stages]
        self.weights = _WEIGHTS[stages]
        self.mix = np.full((stages, stages), 0.5)
        for i in range(stages):
            for j in range(i):
                self.mix[i, j] = _row(self.nodes, j, self.nodes[i]) / self.weights[j]
                self.mix[j, i] = 1.0 - self.mix[i, j]
        self.guess = self._extrapolation(self.nodes - 1.0, np.tile(self.weights, 1))
        self.long_guess = self._extrapolation(
            np.concatenate([self.nodes - 2.0, self.nodes - 1.0]), np.tile(self.weights, 2)
        )

    def _extrapolation(self, known: Array, weights: Array) -> Array:
        table = np.zeros((len(self.nodes), len(known)))
        for j in range(len(known)):
            others = np.delete(known, j)
            table[:, j] = (
                np.prod((self.nodes[:, None] - others) / (known[j] - others), axis=1) / weights[j]
            )
        return np.ascontiguousarray(table * self.weights[:, None])


_THIRD, _FIFTH = np.sqrt(3.0) / 6.0, np.sqrt(15.0) / 10.0
_NODES = {
    1: np.array([0.5]),
    2: np.array([0.5 - _THIRD, 0.5 + _THIRD]),
    3: np.array([0.5 - _FIFTH, 0.5, 0.5 + _FIFTH]),
}
_WEIGHTS = {1: np.array([1.0]), 2: np.array([0.5, 0.5]), 3: np.array([5.0, 8.0, 5.0]) / 18.0}


def _row(nodes: Array, j: int, upper: float) -> float:
    """The integral from 0 to `upper` of the j-th Lagrange polynomial of the nodes."""
    others = np.delete(nodes, j)
    polynomial = np.poly1d(others, r=True) / np.prod(nodes[j] - others)
    return float(polynomial.integ()(upper))


def tableau(stages: int) -> Tableau:
    """Gauss's method with 1, 2 or 3 stages.

    >>> tableau(2).mix.round(4).tolist()
    [[0.5, -0.0774], [1.0774, 0.5]]
    """
    return Tableau(stages)
