"""Matrices and scalars of SymPy that are computed when someone reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import sympy

from ..typing import Expression

__all__ = ["Lazy", "LazyBlock", "each", "entries_of", "now"]

#: A matrix or scalar of SymPy, computed or not.
LazyBlock: TypeAlias = "Lazy | sympy.MatrixBase | sympy.Expr"


class Lazy:
    """A matrix or scalar that is computed when it is read."""

    _op_priority = 1000.0  # SymPy's matrices then leave the operation to this class

    def __init__(self, make: Callable[[], sympy.MatrixBase]) -> None:
        self._make, self._value = make, None

    @property
    def value(self) -> sympy.MatrixBase:
        """The SymPy matrix or expression."""
        if self._value is None:
            self._value = self._make()
        return self._value

    def __add__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: self.value + now(other))

    def __radd__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: now(other) + self.value)

    def __sub__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: self.value - now(other))

    def __rsub__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: now(other) - self.value)

    def __neg__(self) -> Lazy:
        return Lazy(lambda: -self.value)

    def __mul__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: self.value * now(other))

    def __rmul__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: now(other) * self.value)

    def __truediv__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: self.value / now(other))

    def __pow__(self, power: Expression) -> Lazy:
        return Lazy(lambda: self.value**power)

    def __matmul__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: self.value @ now(other))

    def __rmatmul__(self, other: LazyBlock) -> Lazy:
        return Lazy(lambda: now(other) @ self.value)

    def __getitem__(self, place: int | slice | tuple[int | slice, int | slice]) -> Lazy:
        return Lazy(lambda: self.value[place])

    @property
    def T(self) -> Lazy:
        return Lazy(lambda: self.value.T)

    @property
    def shape(self) -> tuple[int, int]:
        return self.value.shape  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[sympy.Expr]:
        return iter(self.value)


def now(item: LazyBlock) -> sympy.MatrixBase:
    """The value of what may have been put off."""
    return item.value if isinstance(item, Lazy) else item


def each(block: sympy.MatrixBase, change: Callable[[sympy.Expr], sympy.Expr]) -> sympy.MatrixBase:
    return block.applyfunc(change) if isinstance(block, sympy.MatrixBase) else change(block)


def entries_of(block: LazyBlock) -> list[sympy.Expr]:
    value = now(block)
    return list(value) if isinstance(value, sympy.MatrixBase) else [value]
