"""What a derivation may ask of an algebra.

Vectors are columns, matrices have rows and columns, and ``@``, ``+``, ``-``, ``*`` and ``.T`` work
on them in both algebras. Everything else goes through these functions, so that one derivation
serves both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeAlias

import casadi as ca
import sympy

__all__ = ["Algebra", "Block", "Scalar"]

#: A scalar expression in one of the two algebras.
Scalar: TypeAlias = "sympy.Expr | ca.SX"
#: A column or a matrix of expressions in one of the two algebras; docstrings give its shape.
Block: TypeAlias = "sympy.MatrixBase | ca.SX"


class Algebra(Protocol):
    """Vectors, matrices and derivatives over expressions of a model."""

    def scalar(self, expression: sympy.Expr) -> Scalar:
        """An expression of the model in this algebra."""

    def vector(self, expressions: Iterable[sympy.Expr]) -> Block:
        """A column (n x 1) of expressions of the model; n may be 0."""

    def zeros(self, rows: int, columns: int = 1) -> Block:
        """A matrix of zeros."""

    def gradient(self, scalar: Scalar, symbols: Block) -> Block:
        """d scalar / d symbols, (n x 1)."""

    def hessian(self, scalar: Scalar, symbols: Block) -> tuple[Block, Block]:
        """The symmetric matrix of second derivatives (n x n), and the gradient (n x 1)."""

    def jacobian(self, vector: Block, symbols: Block) -> Block:
        """d vector / d symbols, (m x n)."""

    def along(self, vector: Block, symbols: Block, direction: Block) -> Block:
        """The derivative of a vector along `direction`, (m x 1): J(vector, symbols) @ direction."""

    def stack(self, blocks: Sequence[Block]) -> Block:
        """Blocks with the same number of columns, one above the other."""

    def columns(self, blocks: Sequence[Block]) -> Block:
        """Blocks with the same number of rows, side by side."""

    def inner(self, left: Block, right: Block) -> Scalar:
        """The scalar left . right of two columns."""

    def root(self, scalar: Scalar) -> Scalar:
        """The square root of a scalar."""

    def solve(self, matrix: Block, right: Block) -> Block:
        """X with matrix @ X = right, for a small symmetric regular matrix."""

    def solve_square(self, matrix: Block, right: Block) -> Block:
        """X with matrix @ X = right, for a small regular matrix that need not be symmetric."""

    def determinant(self, matrix: Block) -> Scalar:
        """The determinant of a small matrix."""

    def split_columns(self, matrix: Block) -> Sequence[Block]:
        """The columns of a matrix, each (n x 1)."""

    def part(self, matrix: Block, rows: Sequence[int], columns: Sequence[int]) -> Block:
        """The matrix of some rows and columns."""

    def substitute(self, block: Block, symbols: Block, values: Block) -> Block:
        """The block with a vector of symbols replaced by a vector of values."""

    def without(self, block: Block, symbols: Block) -> Block | None:
        """The block without the symbols if its value does not depend on them, else None."""

    def layer(self, block: Block) -> Block:
        """A block that formulas for reading may call by names; it is not differentiated."""

    def depends(self, block: Block, symbols: Block) -> bool:
        """Whether a block contains any of the symbols."""
