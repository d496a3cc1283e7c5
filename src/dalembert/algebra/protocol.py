"""What a derivation may ask of an algebra.

Vectors are columns, matrices have rows and columns, and ``@``, ``+``, ``-``, ``*`` and ``.T`` work on them in both
algebras. Everything else goes through these functions, so that one derivation serves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import sympy

__all__ = ["Algebra"]


class Algebra(Protocol):
    """Vectors, matrices and derivatives over expressions of a model."""

    def scalar(self, expression: sympy.Expr) -> Any:
        """An expression of the model in this algebra."""

    def vector(self, expressions: Iterable[sympy.Expr]) -> Any:
        """A column (n x 1) of expressions of the model; n may be 0."""

    def zeros(self, rows: int, columns: int = 1) -> Any:
        """A matrix of zeros."""

    def gradient(self, scalar: Any, symbols: Any) -> Any:
        """d scalar / d symbols, (n x 1)."""

    def hessian(self, scalar: Any, symbols: Any) -> tuple[Any, Any]:
        """The symmetric matrix of second derivatives (n x n), and the gradient (n x 1)."""

    def jacobian(self, vector: Any, symbols: Any) -> Any:
        """d vector / d symbols, (m x n)."""

    def along(self, vector: Any, symbols: Any, direction: Any) -> Any:
        """The derivative of a vector along `direction`, (m x 1): J(vector, symbols) @ direction."""

    def stack(self, blocks: Sequence[Any]) -> Any:
        """Blocks with the same number of columns, one above the other."""

    def columns(self, blocks: Sequence[Any]) -> Any:
        """Blocks with the same number of rows, side by side."""

    def inner(self, left: Any, right: Any) -> Any:
        """The scalar left . right of two columns."""

    def root(self, scalar: Any) -> Any:
        """The square root of a scalar."""

    def solve(self, matrix: Any, right: Any) -> Any:
        """X with matrix @ X = right, for a small symmetric regular matrix."""

    def solve_square(self, matrix: Any, right: Any) -> Any:
        """X with matrix @ X = right, for a small regular matrix that need not be symmetric."""

    def determinant(self, matrix: Any) -> Any:
        """The determinant of a small matrix."""

    def split_columns(self, matrix: Any) -> Sequence[Any]:
        """The columns of a matrix, each (n x 1)."""

    def part(self, matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
        """The matrix of some rows and columns."""

    def substitute(self, block: Any, symbols: Any, values: Any) -> Any:
        """The block with a vector of symbols replaced by a vector of values."""

    def without(self, block: Any, symbols: Any) -> Any | None:
        """The block written without the symbols where its value does not depend on them, else None."""

    def depends(self, block: Any, symbols: Any) -> bool:
        """Whether a block contains any of the symbols."""
