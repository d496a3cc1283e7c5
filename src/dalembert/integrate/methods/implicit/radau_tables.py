r"""The Radau IIA methods as tables: nodes, the inverse of their matrix, and its eigenvectors.

With the polynomial u of degree s through (0, 0) and the increments z_i of the stages at the nodes
c_i, collocation u'(c_i) = h f_i reads

    D z = h f,      D = A^-1 = (l_j'(c_i)),       c the zeros of P_s - P_(s-1) on [0, 1]

and D = T Lambda T^-1 with one real eigenvalue and (s - 1)/2 complex pairs, so that Newton's method
solves one real and (s - 1)/2 complex systems of the size of the state. The error is estimated by
the embedded formula of order s with the weight 1/gamma at the beginning of the step (E. Hairer, G.
Wanner: Solving Ordinary Differential Equations II, 2nd ed., section IV.8).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ....typing import Array

__all__ = ["RadauTable", "radau_table"]


class RadauTable(NamedTuple):
    """A Radau IIA method of s stages.

    Attributes
    ----------
    nodes : array (s,)
    derivatives : array (s, s)
        D, the inverse of the matrix of the method.
    vectors, inverse : arrays (s, s)
        T and T^-1; the columns of T belong to `real`, then in pairs to `pairs`.
    real : float
        gamma, the real eigenvalue of D.
    pairs : array ((s - 1)/2, 2)
        Real and imaginary parts of the others.
    error : array (s,)
        The weights e of the error estimate, (gamma/h - J)^-1 (f_0 + e z/h).
    """

    nodes: Array
    derivatives: Array
    vectors: Array
    inverse: Array
    real: float
    pairs: Array
    error: Array


@lru_cache(maxsize=4)
def radau_table(stages: int) -> RadauTable:
    """The table of the method of order 2 s - 1.

    >>> table = radau_table(3)
    >>> table.nodes.round(6).tolist(), round(table.real, 6)
    ([0.155051, 0.644949, 1.0], 3.637834)
    """
    nodes = _nodes(stages)
    derivatives = _derivatives(nodes)
    values, vectors = np.linalg.eig(derivatives)
    real = int(np.argmin(np.abs(values.imag)))
    upper = [k for k in np.argsort(values.imag) if values[k].imag > 1e-6]
    columns = [vectors[:, real].real]
    for k in upper:  # D [x, -y] = [x, -y] [[alpha, -beta], [beta, alpha]]
        columns += [vectors[:, k].real, -vectors[:, k].imag]
    basis = np.array(columns).T
    powers = np.vander(nodes, increasing=True).T
    gamma = float(values[real].real)
    change = np.linalg.solve(powers, -np.eye(stages)[0])  # of the weights, times gamma
    return RadauTable(
        nodes,
        derivatives,
        basis,
        np.linalg.inv(basis),
        gamma,
        np.array([[values[k].real, values[k].imag] for k in upper]),
        change @ derivatives,
    )


def _nodes(stages: int) -> Array:
    """The zeros of P_s(x) - P_(s-1)(x) on [0, 1], the last of which is 1."""
    series = np.polynomial.legendre.Legendre([0.0] * (stages - 1) + [-1.0, 1.0])
    derivative = series.deriv()
    zeros = np.sort(series.roots().real)
    for _ in range(3):
        zeros = zeros - series(zeros) / derivative(zeros)
    zeros[-1] = 1.0
    return np.asarray(0.5 * (1.0 + zeros))


def _derivatives(nodes: Array) -> Array:
    """l_j'(c_i) of the polynomials through 0 and the nodes, without that of 0."""
    points = np.concatenate([[0.0], nodes])
    apart = points[:, None] - points[None, :] + np.eye(len(points))
    weights = 1.0 / np.prod(apart, axis=1)
    table = weights[None, :] / weights[:, None] / apart
    np.fill_diagonal(table, 0.0)
    np.fill_diagonal(table, -table.sum(axis=1))
    return np.ascontiguousarray(table[1:, 1:])
