"""The algebra of SymPy's trees: for formulas that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sympy
from sympy import Expr, MatrixBase

from ..errors import ModelError
from .tree_derivatives import partial_derivative

__all__ = ["TreeAlgebra"]

#: Matrices with more operations are not inverted in symbols: derivatives would fill the memory.
INVERTED_OPERATIONS = 100


class TreeAlgebra:
    """Expressions as SymPy matrices."""

    def scalar(self, expression: Expr) -> Expr:
        return expression

    def vector(self, expressions: Iterable[Expr]) -> MatrixBase:
        entries = list(expressions)
        return sympy.Matrix(len(entries), 1, entries)

    def zeros(self, rows: int, columns: int = 1) -> MatrixBase:
        return sympy.zeros(rows, columns)

    def gradient(self, scalar: Expr, symbols: MatrixBase) -> MatrixBase:
        return sympy.Matrix(
            len(symbols), 1, [partial_derivative(_entry(scalar), symbol) for symbol in symbols]
        )

    def hessian(self, scalar: Expr, symbols: MatrixBase) -> tuple[MatrixBase, MatrixBase]:
        first = self.gradient(scalar, symbols)
        return self.jacobian(first, symbols), first

    def jacobian(self, vector: MatrixBase, symbols: MatrixBase) -> MatrixBase:
        return sympy.Matrix(
            len(vector), len(symbols), lambda i, j: partial_derivative(vector[i], symbols[j])
        )

    def along(self, vector: MatrixBase, symbols: MatrixBase, direction: MatrixBase) -> MatrixBase:
        pairs = list(zip(symbols, direction, strict=True))
        entries = [
            sum((partial_derivative(entry, symbol) * rate for symbol, rate in pairs), sympy.S.Zero)
            for entry in vector
        ]
        return sympy.Matrix(len(entries), 1, entries)

    def stack(self, blocks: Sequence[MatrixBase]) -> MatrixBase:
        return sympy.Matrix.vstack(*blocks)

    def columns(self, blocks: Sequence[MatrixBase]) -> MatrixBase:
        return sympy.Matrix.hstack(*blocks)

    def inner(self, left: MatrixBase, right: MatrixBase) -> Expr:
        return sum((a * b for a, b in zip(left, right, strict=True)), sympy.S.Zero)

    def root(self, scalar: Expr) -> Expr:
        return sympy.sqrt(_entry(scalar))

    def solve(self, matrix: MatrixBase, right: MatrixBase) -> MatrixBase:
        size = sum(entry.count_ops() for entry in matrix)
        if not matrix.is_diagonal() and size > INVERTED_OPERATIONS:
            raise ModelError(
                "These equations are too large to be written out",
                seen=f"a matrix of {matrix.rows} x {matrix.cols} with {size} operations to invert",
                remedy=(
                    'ask for a form that inverts nothing, such as "lagrange", or for the format c'
                ),
            )
        return matrix.LUsolve(right)

    def solve_square(self, matrix: MatrixBase, right: MatrixBase) -> MatrixBase:
        return matrix.LUsolve(right)

    def determinant(self, matrix: MatrixBase) -> Expr:
        return matrix.det(method="berkowitz")

    def split_columns(self, matrix: MatrixBase) -> Sequence[MatrixBase]:
        return [matrix.col(k) for k in range(matrix.cols)]

    def part(self, matrix: MatrixBase, rows: Sequence[int], columns: Sequence[int]) -> MatrixBase:
        return matrix.extract(list(rows), list(columns))

    def substitute(self, block: MatrixBase, symbols: MatrixBase, values: MatrixBase) -> MatrixBase:
        return block.xreplace(dict(zip(symbols, values, strict=True)))

    def without(self, block: MatrixBase, symbols: MatrixBase) -> MatrixBase | None:
        if not self.depends(block, symbols):
            return block
        plain = (
            block.applyfunc(sympy.expand) if isinstance(block, MatrixBase) else sympy.expand(block)
        )
        if self.depends(plain, symbols):
            plain = (
                plain.applyfunc(sympy.cancel)
                if isinstance(plain, MatrixBase)
                else sympy.cancel(plain)
            )
        return None if self.depends(plain, symbols) else plain

    def layer(self, block: MatrixBase) -> MatrixBase:
        return block

    def depends(self, block: MatrixBase, symbols: MatrixBase) -> bool:
        return bool(len(symbols)) and bool(block.has(*symbols))


def _entry(scalar: Expr) -> Expr:
    return scalar[0] if isinstance(scalar, MatrixBase) else scalar
