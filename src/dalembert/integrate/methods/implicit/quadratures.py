r"""Nodes, weights and tables of Lobatto's and Gauss's quadratures, and of polynomials through
Lobatto's nodes.

Lobatto IIIA collocates at c_1 = 0, ..., c_s = 1; IIIB is its partner in a symplectic partitioned
method,

    a_ij = int_0^(c_i) l_j = b_j mu_ij,       ahat_ij = b_j nu_ij,      b_i ahat_ij + b_j a_ji = b_i
    b_j  <=>  nu_ij + mu_ji = 1

(E. Hairer, C. Lubich, G. Wanner: Geometric Numerical Integration, II.1.4 and VI.4.1). mu and nu are
what a step uses, and the last relation holds in the last digit, so that rounding of the
coefficients leaves the pair symplectic.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .gauss_collocation import tableau

if TYPE_CHECKING:
    from ....typing import Array

__all__ = ["LobattoPair", "PolynomialTable", "lobatto_pair", "polynomial_table", "quadrature"]

_FIFTH, _SEVENTH = np.sqrt(5.0) / 10.0, np.sqrt(21.0) / 14.0
_NODES = {
    2: np.array([0.0, 1.0]),
    3: np.array([0.0, 0.5, 1.0]),
    4: np.array([0.0, 0.5 - _FIFTH, 0.5 + _FIFTH, 1.0]),
    5: np.array([0.0, 0.5 - _SEVENTH, 0.5, 0.5 + _SEVENTH, 1.0]),
}
_WEIGHTS = {
    2: np.array([0.5, 0.5]),
    3: np.array([1.0, 4.0, 1.0]) / 6.0,
    4: np.array([1.0, 5.0, 5.0, 1.0]) / 12.0,
    5: np.array([9.0, 49.0, 64.0, 49.0, 9.0]) / 180.0,
}


class LobattoPair(NamedTuple):
    """Nodes (s), weights (s), mu of IIIA (s, s) and nu of IIIB (s, s)."""

    nodes: Any
    weights: Any
    positions: Any
    momenta: Any


class PolynomialTable(NamedTuple):
    """Polynomials l_0, ..., l_s of degree s through Lobatto's nodes, at the points of a quadrature.

    Attributes
    ----------
    control : array (s + 1,)
        Where the polynomials are one or zero.
    points, weights : arrays (r,)
        The quadrature on [0, 1].
    values, derivatives : arrays (r, s + 1)
        l_j and its derivative at the points.
    """

    control: Any
    points: Any
    weights: Any
    values: Any
    derivatives: Any


def quadrature(kind: str, points: int) -> tuple[Any, Any]:
    """Points and weights of Gauss's (1 to 3 points) or Lobatto's (2 to 5) quadrature on [0, 1].

    >>> points, weights = quadrature("lobatto", 4)
    >>> bool(abs(weights @ points**5 - 1 / 6) < 1e-15)
    True
    """
    if kind == "gauss":
        table = tableau(points)
        return table.nodes, table.weights
    return _NODES[points], _WEIGHTS[points]


@lru_cache(maxsize=8)
def lobatto_pair(stages: int) -> LobattoPair:
    """The pair IIIA-IIIB with 2, 3 or 4 stages, of order 2s - 2.

    >>> pair = lobatto_pair(3)
    >>> (pair.weights * pair.momenta).round(4).tolist()
    [[0.1667, -0.1667, 0.0], [0.1667, 0.3333, 0.0], [0.1667, 0.8333, 0.0]]
    """
    nodes, weights = quadrature("lobatto", stages)
    positions = np.zeros((stages, stages))
    for j in range(stages):
        integral = _basis(nodes, j).integ()
        positions[1:, j] = (integral(nodes[1:]) - integral(0.0)) / weights[j]
    positions[-1] = 1.0
    positions = np.round(positions * 2.0**52) / 2.0**52  # so that 1 - mu is exact
    return LobattoPair(nodes, weights, positions, np.ascontiguousarray(1.0 - positions.T))


@lru_cache(maxsize=16)
def polynomial_table(degree: int, kind: str, points: int) -> PolynomialTable:
    """Polynomials of a degree from 1 to 4, at the points of a quadrature.

    >>> polynomial_table(1, "gauss", 1).derivatives.tolist()
    [[-1.0, 1.0]]
    """
    control = _NODES[degree + 1]
    where, weights = quadrature(kind, points)
    basis = [_basis(control, j) for j in range(degree + 1)]
    values = np.array([polynomial(where) for polynomial in basis]).T
    derivatives = np.array([polynomial.deriv()(where) for polynomial in basis]).T
    values[np.abs(values) < 1e-15], derivatives[np.abs(derivatives) < 1e-14] = 0.0, 0.0
    return PolynomialTable(control, where, weights, values, derivatives)


def _basis(nodes: Array, j: int) -> Any:
    others = np.delete(nodes, j)
    return np.poly1d(others, r=True) / np.prod(nodes[j] - others)
