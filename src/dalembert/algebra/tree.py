"""The algebra of SymPy's trees: for formulas that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy

from ..errors import ModelError

__all__ = ["TreeAlgebra"]

#: A matrix with more operations is not inverted in symbols: the derivatives of the result would fill the memory.
INVERTED_OPERATIONS = 100


class TreeAlgebra:
    """Expressions as SymPy matrices."""

    def scalar(self, expression: sympy.Expr) -> Any:
        return expression

    def vector(self, expressions: Iterable[sympy.Expr]) -> Any:
        entries = list(expressions)
        return sympy.Matrix(len(entries), 1, entries)

    def zeros(self, rows: int, columns: int = 1) -> Any:
        return sympy.zeros(rows, columns)

    def gradient(self, scalar: Any, symbols: Any) -> Any:
        return sympy.Matrix(len(symbols), 1, [sympy.diff(_entry(scalar), symbol) for symbol in symbols])

    def hessian(self, scalar: Any, symbols: Any) -> tuple[Any, Any]:
        first = self.gradient(scalar, symbols)
        return self.jacobian(first, symbols), first

    def jacobian(self, vector: Any, symbols: Any) -> Any:
        return sympy.Matrix(len(vector), len(symbols), lambda i, j: sympy.diff(vector[i], symbols[j]))

    def along(self, vector: Any, symbols: Any, direction: Any) -> Any:
        pairs = list(zip(symbols, direction, strict=True))
        entries = [sum((sympy.diff(entry, symbol) * rate for symbol, rate in pairs), sympy.S.Zero) for entry in vector]
        return sympy.Matrix(len(entries), 1, entries)

    def stack(self, blocks: Sequence[Any]) -> Any:
        return sympy.Matrix.vstack(*blocks)

    def columns(self, blocks: Sequence[Any]) -> Any:
        return sympy.Matrix.hstack(*blocks)

    def inner(self, left: Any, right: Any) -> Any:
        return sum((a * b for a, b in zip(left, right, strict=True)), sympy.S.Zero)

    def root(self, scalar: Any) -> Any:
        return sympy.sqrt(_entry(scalar))

    def solve(self, matrix: Any, right: Any) -> Any:
        size = sum(entry.count_ops() for entry in matrix)
        if not matrix.is_diagonal() and size > INVERTED_OPERATIONS:
            raise ModelError(
                "These equations are too large to be written out",
                seen=f"a matrix of {matrix.rows} x {matrix.cols} with {size} operations to invert",
                remedy='ask for a form that inverts nothing, such as "lagrange", or for the format c',
            )
        return matrix.LUsolve(right)

    def solve_square(self, matrix: Any, right: Any) -> Any:
        return matrix.LUsolve(right)

    def determinant(self, matrix: Any) -> Any:
        return matrix.det(method="berkowitz")

    def split_columns(self, matrix: Any) -> Sequence[Any]:
        return [matrix.col(k) for k in range(matrix.cols)]

    def part(self, matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
        return matrix.extract(list(rows), list(columns))

    def substitute(self, block: Any, symbols: Any, values: Any) -> Any:
        return block.xreplace(dict(zip(symbols, values, strict=True)))

    def without(self, block: Any, symbols: Any) -> Any | None:
        if not self.depends(block, symbols):
            return block
        plain = block.applyfunc(sympy.expand) if isinstance(block, sympy.MatrixBase) else sympy.expand(block)
        if self.depends(plain, symbols):
            plain = plain.applyfunc(sympy.cancel) if isinstance(plain, sympy.MatrixBase) else sympy.cancel(plain)
        return None if self.depends(plain, symbols) else plain

    def depends(self, block: Any, symbols: Any) -> bool:
        return bool(len(symbols)) and bool(block.has(*symbols))


def _entry(scalar: Any) -> Any:
    return scalar[0] if isinstance(scalar, sympy.MatrixBase) else scalar
