r"""Helmholtz's conditions: when R(q, v, a, t) = 0 are Euler's equations of some L(q, v, t).

The linearised equations must be their own adjoint. With d/dt the derivative along (v, a, jerk), for
all i, j and identically:

    1   dR_i/da_j = dR_j/da_i
    2   dR_i/dv_j + dR_j/dv_i = d/dt (dR_i/da_j + dR_j/da_i)
    3   dR_i/dq_j - dR_j/dq_i = 1/2 d/dt (dR_i/dv_j - dR_j/dv_i)

(Bloch, supplement 4.7.) The second family also says that R is affine in a: its right side holds the
jerks. The equations determine the accelerations where det(dR/da) != 0, with first derivatives; the
source prints second ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import simplify
from ...model.symbols import Coordinate, Parameter, t
from ..proofs.bounded import established_zero

if TYPE_CHECKING:
    from ...algebra.protocol import Block
    from ...algebra.structure import Verdict

__all__ = ["FAMILIES", "HelmholtzCondition", "SecondOrder", "condition_places", "condition_sides"]
__all__ += ["accelerations_matrix", "conditions", "euler_lagrange", "regularity"]

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
        symbols = (*self.coordinates, *self.velocities, *self.accelerations)
        rates = (*self.velocities, *self.accelerations, *self.jerks)
        pairs = zip(symbols, rates, strict=True)
        terms = (sympy.diff(expression, symbol) * rate for symbol, rate in pairs)
        return sympy.Add(sympy.diff(expression, t), *terms)

    def times(self, matrix: sympy.MatrixBase) -> SecondOrder:
        """The equations combined by a matrix (n x n)."""
        return SecondOrder(tuple(matrix @ sympy.Matrix(self.residuals)), self.coordinates)


@dataclass(frozen=True)
class HelmholtzCondition:
    """One of Helmholtz's conditions.

    Attributes
    ----------
    family : int
        1, 2 or 3.
    pair : (str, str)
        The coordinates i and j.
    verdict : Verdict
        Whether it holds identically.
    residual : sympy.Expr or None
        Left minus right where it fails and is small.
    """

    family: int
    pair: tuple[str, str]
    verdict: Verdict
    residual: sympy.Expr | None

    @property
    def holds(self) -> bool:
        """Whether it is proved, or holds to the rounding of constants."""
        return self.verdict.holds

    @property
    def by(self) -> str:
        """ "symbolically", or what else the answer rests on."""
        return self.verdict.by

    @property
    def is_refuted(self) -> bool:
        """Whether it fails at some point."""
        return self.verdict.is_refuted


def euler_lagrange(lagrangian: sympy.Expr, coordinates: Sequence[Coordinate]) -> SecondOrder:
    """d/dt dL/dv - dL/dq, for every coordinate.

    >>> x = Coordinate("x")
    >>> euler_lagrange(x.dot**2 / 2 - x**4, [x]).residuals
    (4*x**3 + x_ddot,)
    """
    frame = SecondOrder((), tuple(coordinates))
    rates = (frame.rate(sympy.diff(lagrangian, q.dot)) for q in coordinates)
    pairs = zip(rates, coordinates, strict=True)
    entries = (rate - sympy.diff(lagrangian, q) for rate, q in pairs)
    return SecondOrder(tuple(entries), tuple(coordinates))


def conditions(equations: SecondOrder) -> tuple[HelmholtzCondition, ...]:
    """All conditions of the three families: proved, refuted or not established."""
    algebra = GraphAlgebra()
    block = _differences(equations, algebra)
    is_proved = algebra.vanishing(block).is_proved
    found = []
    for place, (family, i, j) in enumerate(condition_places(len(equations.coordinates))):
        pair = equations.coordinates[i].name, equations.coordinates[j].name
        written = []
        if equations.is_small and not is_proved:
            left, right = condition_sides(equations, family, i, j)
            written = [left - right]
        own = algebra.zeros(0) if is_proved else block[place]
        verdict = established_zero(algebra, written, own)
        residual = simplify(written[0]) if written and verdict.is_refuted else None
        found.append(HelmholtzCondition(family, pair, verdict, residual))
    return tuple(found)


def condition_places(n: int) -> list[tuple[int, int, int]]:
    """Family, i and j of every condition that says something."""
    strict = [(i, j) for i in range(n) for j in range(i + 1, n)]
    return [
        *((1, i, j) for i, j in strict),
        *((2, i, j) for i in range(n) for j in range(i, n)),
        *((3, i, j) for i, j in strict),
    ]


def condition_sides(
    equations: SecondOrder, family: int, i: int, j: int
) -> tuple[sympy.Expr, sympy.Expr]:
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


def _differences(equations: SecondOrder, algebra: GraphAlgebra) -> Block:
    """Left minus right of every condition, a column."""
    n = len(equations.coordinates)
    moving = (equations.coordinates, equations.velocities, equations.accelerations)
    q, v, a, jerk = (algebra.vector(symbols) for symbols in (*moving, equations.jerks))
    residual = algebra.vector(equations.residuals)
    by_q, by_v, by_a = (algebra.jacobian(residual, symbols) for symbols in (q, v, a))
    rates = [_rate(algebra, ca.vec(block), (q, v, a), (v, a, jerk)) for block in (by_v, by_a)]
    found = []
    for family, i, j in condition_places(n):
        # The places of (i, j) and (j, i) in a block written column by column.
        first, second = i + n * j, j + n * i
        if family == 1:
            found.append(by_a[i, j] - by_a[j, i])
        elif family == 2:
            found.append(by_v[i, j] + by_v[j, i] - rates[1][first] - rates[1][second])
        else:
            found.append(by_q[i, j] - by_q[j, i] - (rates[0][first] - rates[0][second]) / 2)
    return ca.densify(ca.vertcat(*found))


def _rate(
    algebra: GraphAlgebra, block: Block, symbols: Sequence[Block], rates: Sequence[Block]
) -> Block:
    """d/dt of a column: along q, v, a and t."""
    parts = [algebra.along(block, x, rate) for x, rate in zip(symbols, rates, strict=True)]
    return sum(parts, algebra.jacobian(block, algebra.vector([t])))


def regularity(equations: SecondOrder) -> tuple[bool, str]:
    """Whether det(dR/da) does not vanish identically, and the determinant where it is short."""
    algebra, n = GraphAlgebra(), len(equations.coordinates)
    residual = algebra.vector(equations.residuals)
    found = algebra.rank(algebra.jacobian(residual, algebra.vector(equations.accelerations)))
    regular = found.value == n
    if n <= 3 and equations.is_small:
        matrix = accelerations_matrix(equations)
        if sum(entry.count_ops() for entry in matrix) <= DETERMINANT_OPERATIONS:
            return regular, f"det(dR/da) = {simplify(matrix.det(method='berkowitz'))}"
    known = "full" if regular else "not full" if found.at_most < n else "not established to be full"
    return regular, f"rank of dR/da is {known}"


def accelerations_matrix(equations: SecondOrder) -> sympy.Matrix:
    """dR/da, (n x n), simplified."""
    n, R, a = len(equations.coordinates), equations.residuals, equations.accelerations
    return sympy.Matrix(n, n, lambda i, j: simplify(sympy.diff(R[i], a[j])))
