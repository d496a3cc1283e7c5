r"""Fields of two-forms in symbols: whether they are closed, as a presymplectic structure must be.

A field omega(x) of skew matrices, beta = omega W, is a two-form with d omega = 0 where

    d_i omega_jk + d_j omega_ki + d_k omega_ij = 0  for all i < j < k
        (Moreau and van der Schaft, definition 3).

The sign of omega does not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy

from ..errors import ModelError
from ..typing import Matrix

__all__ = ["exterior_derivative", "is_closed"]


def exterior_derivative(
    omega: Matrix, symbols: Sequence[sympy.Symbol]
) -> dict[tuple[int, int, int], sympy.Expr]:
    """The components (d omega)_ijk, i < j < k, of a skew SymPy matrix (n, n) in n symbols.

    >>> x, y, z = sympy.symbols("x y z")
    >>> exterior_derivative(sympy.Matrix([[0, z, 0], [-z, 0, 0], [0, 0, 0]]), [x, y, z])
    {(0, 1, 2): 1}
    """
    matrix, n = _read(omega), len(symbols)
    if matrix.shape != (n, n):
        raise ModelError(
            "A two-form needs a square matrix with a row for each symbol",
            seen=f"{matrix.rows} x {matrix.cols} for {n} symbols",
            remedy="give n x n expressions and the n symbols of the space",
        )
    if any(not _vanishes(matrix[i, j] + matrix[j, i]) for i in range(n) for j in range(i + 1)):
        remedy = "make omega[j, i] = -omega[i, j]"
        raise ModelError("The matrix of a two-form must be skew", str(matrix)[:80], remedy)

    def term(i: int, j: int, k: int) -> sympy.Expr:
        return sympy.diff(matrix[j, k], symbols[i])

    return {
        (i, j, k): sympy.simplify(term(i, j, k) + term(j, k, i) + term(k, i, j))
        for i, j, k in combinations(range(n), 3)
    }


def is_closed(omega: Matrix, symbols: Sequence[sympy.Symbol]) -> bool:
    """Whether d omega = 0: with a regular or singular matrix, whether it is presymplectic.

    >>> theta, p = sympy.symbols("theta p")
    >>> is_closed([[0, -sympy.sin(theta)], [sympy.sin(theta), 0]], [theta, p])
    True
    """
    return all(_vanishes(component) for component in exterior_derivative(omega, symbols).values())


def _read(omega: Matrix) -> sympy.MatrixBase:
    """A matrix of expressions; text is refused, because SymPy would execute it."""
    if isinstance(omega, sympy.MatrixBase):
        return omega
    entries = [entry for row in omega for entry in row] if not isinstance(omega, str) else [omega]
    if any(isinstance(entry, str) for entry in entries):
        what, remedy = "A two-form was given as text", "give expressions of SymPy"
        raise ModelError(what, seen=str(omega)[:60], remedy=remedy)
    return sympy.Matrix([list(row) for row in omega])


def _vanishes(expression: sympy.Expr) -> bool:
    """Whether SymPy's rules and random numbers say that an expression is zero."""
    answer = expression.equals(0)
    if answer is None:
        what = "It cannot be decided whether an expression vanishes"
        raise ModelError(what, seen=str(expression)[:80], remedy="simplify it first")
    return bool(answer)
