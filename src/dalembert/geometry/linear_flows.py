r"""First integrals of coupled linear equations whose coefficients have constant ratios.

For du/ds = f(s) C u + q(s), with a constant matrix C and P = int f ds,

    F = L e^(-P J) u - int L e^(-P J) q ds          (L C = J L)

is constant. Where the eigenvalues of C are real and it has as many eigenvectors, the rows of L are
the left ones and J is diagonal; other matrices of two rows have L = 1 and J = C, where with
tau = tr C / 2, delta^2 = tau^2 - det C

    e^(-P C) = e^(-P tau) (cosh(P delta) - (C - tau) sinh(P delta) / delta).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy

from ..algebra.tree import TreeAlgebra
from .integrals import antiderivative, shortened

__all__ = ["CoupledIntegrals", "coupled_integrals"]

#: The largest matrix whose eigenvectors are asked for.
MOST_UNKNOWNS = 4


@dataclass(frozen=True)
class CoupledIntegrals:
    """Integrals of coupled equations, and the unknowns as functions of their values and of s."""

    functions: list[sympy.Expr]
    solution: dict[sympy.Symbol, sympy.Expr]


def coupled_integrals(
    rates: Mapping[sympy.Symbol, sympy.Expr], s: sympy.Symbol, values: Sequence[sympy.Symbol]
) -> CoupledIntegrals | None:
    """Integrals of du/ds = rates, affine in the unknowns, with their values; None if there is none.

    >>> x, y, s, a, b = sympy.symbols("x y s a b")
    >>> coupled_integrals({x: y, y: x}, s, [a, b]).functions
    [(-x + y)*exp(s), (x + y)*exp(-s)]
    """
    unknown = sympy.Matrix(list(rates))
    given = sympy.Matrix(list(rates.values()))
    matrix = TreeAlgebra().jacobian(given, unknown).applyfunc(shortened)
    if len(unknown) > MOST_UNKNOWNS or matrix.has(*unknown) or matrix.is_zero_matrix:
        return None
    scale = next(entry for entry in matrix if entry != 0)
    constant = (matrix / scale).applyfunc(shortened)
    integral = None if constant.has(s) else antiderivative(scale, s)
    if integral is None:
        return None
    transform = _exponential(constant, integral.replace(sympy.Abs, lambda x: x))
    if transform is None:
        return None
    rest = (given - matrix * unknown).applyfunc(shortened)
    parts = [
        sympy.S.Zero if entry == 0 else antiderivative(sympy.expand(entry), s)
        for entry in transform * rest
    ]
    if any(part is None for part in parts):
        return None
    shift = sympy.Matrix(parts)
    determinant = shortened(transform.det(method="berkowitz"))
    solved = transform.adjugate() * (sympy.Matrix(list(values)) + shift) / determinant
    functions = [shortened(entry) for entry in transform * unknown - shift]
    table = dict(zip(rates, solved.applyfunc(shortened), strict=True))
    return CoupledIntegrals(functions, table)


def _exponential(constant: sympy.MatrixBase, p: sympy.Expr) -> sympy.MatrixBase | None:
    """L e^(-P J) of the module's formulas; None where eigenvalues are not known to be real."""
    rows = []
    for value, count, vectors in constant.T.eigenvects():
        if not value.is_real or len(vectors) != count:
            break
        rows += [sympy.exp(-p * value) * vector.T for vector in vectors]
    else:
        return sympy.Matrix.vstack(*rows)
    if constant.rows != 2:
        return None
    half = constant.trace() / 2
    square = sympy.expand(half**2 - constant.det())
    apart, one = constant - half * sympy.eye(2), sympy.eye(2)
    if square == 0:
        return sympy.exp(-p * half) * (one - p * apart)
    if not square.is_negative:
        return None
    turn = sympy.sqrt(-square)
    return sympy.exp(-p * half) * (sympy.cos(turn * p) * one - sympy.sin(turn * p) / turn * apart)
