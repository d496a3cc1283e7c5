r"""Helmholtz's conditions: which equations R(q, v, a, t) = 0 are Euler's equations of some L(q, v, t), as they stand.

The linearised equations must be their own adjoint. With d/dt the derivative along (v, a, jerk), for all i, j and identically:

    1   dR_i/da_j = dR_j/da_i
    2   dR_i/dv_j + dR_j/dv_i = d/dt (dR_i/da_j + dR_j/da_i)
    3   dR_i/dq_j - dR_j/dq_i = 1/2 d/dt (dR_i/dv_j - dR_j/dv_i)

(Bloch, supplement 4.7.) The second family also says that R is affine in a: its right side holds the jerks. The equations
determine the accelerations where det(dR/da) != 0, with first derivatives; the source prints second ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.tidy import tidy
from ..compiled.constrained_solve import rank
from ..model.symbols import Coordinate, Parameter, t
from .bounded import FLOOR, PROVED, ROUNDING, Points, differs_nowhere

__all__ = [
    "FAMILIES",
    "Condition",
    "SecondOrder",
    "condition_places",
    "condition_sides",
    "conditions",
    "euler_lagrange",
    "regularity",
]

#: What each family asks for.
FAMILIES = {
    1: "dR_i/da_j = dR_j/da_i",
    2: "dR_i/dv_j + dR_j/dv_i = d/dt (dR_i/da_j + dR_j/da_i)",
    3: "dR_i/dq_j - dR_j/dq_i = 1/2 d/dt (dR_i/dv_j - dR_j/dv_i)",
}
#: The most operations of equations whose conditions are written out.
WRITTEN_OPERATIONS = 1200
#: The most operations of dR/da whose determinant is written out.
DETERMINANT_OPERATIONS = 60


@dataclass(frozen=True)
class SecondOrder:
    """Equations R(q, v, a, t) = 0, one for each coordinate.

    Attributes
    ----------
    residuals : tuple of expressions (n,)
    coordinates : tuple of Coordinate (n,)
    """

    residuals: tuple[sympy.Expr, ...]
    coordinates: tuple[Coordinate, ...]

    @property
    def velocities(self) -> tuple[sympy.Symbol, ...]:
        """v."""
        return tuple(q.dot for q in self.coordinates)

    @property
    def accelerations(self) -> tuple[sympy.Symbol, ...]:
        """a."""
        return tuple(q.ddot for q in self.coordinates)

    @property
    def jerks(self) -> tuple[sympy.Symbol, ...]:
        """The rates of a."""
        return tuple(Parameter(f"{q.name}_dddot") for q in self.coordinates)

    @property
    def is_small(self) -> bool:
        """Whether the conditions can be written out."""
        return bool(sum(residual.count_ops() for residual in self.residuals) <= WRITTEN_OPERATIONS)

    def rate(self, expression: sympy.Expr) -> sympy.Expr:
        """d/dt of an expression of (q, v, a, t)."""
        flows = (
            (self.coordinates, self.velocities),
            (self.velocities, self.accelerations),
            (self.accelerations, self.jerks),
        )
        terms = [sympy.diff(expression, x) * rate for letters, rates in flows for x, rate in zip(letters, rates, strict=True)]
        return sympy.Add(sympy.diff(expression, t), *terms)

    def times(self, matrix: Any) -> SecondOrder:
        """The equations combined by a matrix (n x n)."""
        return SecondOrder(tuple(matrix @ sympy.Matrix(self.residuals)), self.coordinates)


@dataclass(frozen=True)
class Condition:
    """One of Helmholtz's conditions.

    Attributes
    ----------
    family : int
        1, 2 or 3.
    pair : (str, str)
        The coordinates i and j.
    holds : bool
    by : str
        "symbolically", or at how many random points.
    worst : float
        The largest relative difference of the two sides at the points.
    residual : sympy.Expr or None
        Left minus right where it fails and is small.
    """

    family: int
    pair: tuple[str, str]
    holds: bool
    by: str
    worst: float
    residual: sympy.Expr | None


def euler_lagrange(lagrangian: sympy.Expr, coordinates: Sequence[Coordinate]) -> SecondOrder:
    """d/dt dL/dv - dL/dq, for every coordinate.

    >>> x = Coordinate("x")
    >>> euler_lagrange(x.dot**2 / 2 - x**4, [x]).residuals
    (4*x**3 + x_ddot,)
    """
    frame = SecondOrder((), tuple(coordinates))
    entries = [frame.rate(sympy.diff(lagrangian, q.dot)) - sympy.diff(lagrangian, q) for q in coordinates]
    return SecondOrder(tuple(entries), tuple(coordinates))


def conditions(equations: SecondOrder) -> tuple[Condition, ...]:
    """All conditions of the three families, decided at random points and proved where that is little work."""
    values, sizes, points = _numbers(equations)
    found = []
    for place, (family, i, j) in enumerate(condition_places(len(equations.coordinates))):
        pair = equations.coordinates[i].name, equations.coordinates[j].name
        worst = float(np.max(np.abs(values[:, place]) / sizes[:, place], initial=0.0))
        holds, by, residual = worst <= ROUNDING, f"at {points} random points", None
        if equations.is_small:
            left, right = condition_sides(equations, family, i, j)
            if not points or holds:
                verdict = differs_nowhere([(left, right)])
                holds, by = verdict.holds, verdict.by
            else:
                residual = tidy(left - right)
        found.append(Condition(family, pair, holds and bool(points or by == PROVED), by, worst, None if holds else residual))
    return tuple(found)


def condition_places(n: int) -> list[tuple[int, int, int]]:
    """Family, i and j of every condition that says something."""
    strict = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return [
        *((1, i, j) for i, j in strict),
        *((2, i, j) for i in range(n) for j in range(i, n)),
        *((3, i, j) for i, j in strict),
    ]


def condition_sides(equations: SecondOrder, family: int, i: int, j: int) -> tuple[sympy.Expr, sympy.Expr]:
    """Both sides of one condition."""
    q, v, a = equations.coordinates, equations.velocities, equations.accelerations
    first, second = equations.residuals[i], equations.residuals[j]
    if family == 1:
        return sympy.diff(first, a[j]), sympy.diff(second, a[i])
    if family == 2:
        inner = sympy.diff(first, a[j]) + sympy.diff(second, a[i])
        return sympy.diff(first, v[j]) + sympy.diff(second, v[i]), equations.rate(inner)
    inner = sympy.diff(first, v[j]) - sympy.diff(second, v[i])
    return sympy.diff(first, q[j]) - sympy.diff(second, q[i]), equations.rate(inner) / 2


def _numbers(equations: SecondOrder) -> tuple[Any, Any, int]:
    """Left minus right of every condition (points, k), the size of its terms (points, k), and the number of points."""
    algebra, n = GraphAlgebra(), len(equations.coordinates)
    q, v, a, jerk = (
        algebra.vector(letters)
        for letters in (equations.coordinates, equations.velocities, equations.accelerations, equations.jerks)
    )
    residual = algebra.vector(equations.residuals)
    by_q, by_v, by_a = (algebra.jacobian(residual, letters) for letters in (q, v, a))
    rates = [_rate_terms(algebra, ca.vec(block), (q, v, a), (v, a, jerk)) for block in (by_v, by_a)]
    left, sizes = [], []
    for family, i, j in condition_places(n):
        first, second = i + n * j, j + n * i  # the places of (i, j) and (j, i) in a block written column by column
        if family == 1:
            terms = [by_a[i, j], -by_a[j, i]]
        elif family == 2:
            terms = [by_v[i, j], by_v[j, i], *(-part[k] for part in rates[1] for k in (first, second))]
        else:
            turned = [(part[second] - part[first]) / 2 for part in rates[0]]
            terms = [by_q[i, j], -by_q[j, i], *turned]
        left.append(sum(terms))
        sizes.append(sum(ca.fabs(term) for term in terms))
    values = Points().evaluated(algebra, algebra.columns([ca.vertcat(*left), ca.vertcat(*sizes)]))
    size = values[:, :, 1] + FLOOR * values[:, :, 1].max(axis=1, initial=0.0, keepdims=True) + 1e-290
    return values[:, :, 0], size, len(values)


def _rate_terms(algebra: GraphAlgebra, block: Any, letters: Sequence[Any], rates: Sequence[Any]) -> list[Any]:
    """The four parts of d/dt of a column: along q, v, a and t."""
    parts = [algebra.along(block, x, rate) for x, rate in zip(letters, rates, strict=True)]
    return [*parts, algebra.jacobian(block, algebra.vector([t]))]


def regularity(equations: SecondOrder) -> tuple[bool, str]:
    """Whether det(dR/da) does not vanish identically, and the determinant where it is short."""
    algebra, n = GraphAlgebra(), len(equations.coordinates)
    residual = algebra.vector(equations.residuals)
    values = Points().evaluated(algebra, algebra.jacobian(residual, algebra.vector(equations.accelerations)))
    regular = any(rank(value, 1e-10).rank == n for value in values)
    if n <= 3 and equations.is_small:
        matrix = sympy.Matrix(n, n, lambda i, j: tidy(sympy.diff(equations.residuals[i], equations.accelerations[j])))
        if sum(entry.count_ops() for entry in matrix) <= DETERMINANT_OPERATIONS:
            return regular, f"det(dR/da) = {tidy(matrix.det(method='berkowitz'))}"
    return regular, f"rank of dR/da is {'full' if regular else 'not full'} at {len(values)} random points"
