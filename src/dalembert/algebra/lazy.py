"""Matrices and scalars of SymPy that are computed when someone reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy

__all__ = ["Lazy", "each", "entries_of", "now"]


class Lazy:
    """A matrix or scalar that is computed when someone reads it: a derivation states more than its equations need."""

    _op_priority = 1000.0  # SymPy's matrices then leave the operation to this class

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._value = make, None

    @property
    def value(self) -> Any:
        """The SymPy matrix or expression."""
        if self._value is None:
            self._value = self._make()
        return self._value

    def __add__(self, other: Any) -> Lazy:
        return Lazy(lambda: self.value + now(other))

    def __radd__(self, other: Any) -> Lazy:
        return Lazy(lambda: now(other) + self.value)

    def __sub__(self, other: Any) -> Lazy:
        return Lazy(lambda: self.value - now(other))

    def __rsub__(self, other: Any) -> Lazy:
        return Lazy(lambda: now(other) - self.value)

    def __neg__(self) -> Lazy:
        return Lazy(lambda: -self.value)

    def __mul__(self, other: Any) -> Lazy:
        return Lazy(lambda: self.value * now(other))

    def __rmul__(self, other: Any) -> Lazy:
        return Lazy(lambda: now(other) * self.value)

    def __truediv__(self, other: Any) -> Lazy:
        return Lazy(lambda: self.value / now(other))

    def __pow__(self, power: Any) -> Lazy:
        return Lazy(lambda: self.value**power)

    def __matmul__(self, other: Any) -> Lazy:
        return Lazy(lambda: self.value @ now(other))

    def __rmatmul__(self, other: Any) -> Lazy:
        return Lazy(lambda: now(other) @ self.value)

    def __getitem__(self, place: Any) -> Lazy:
        return Lazy(lambda: self.value[place])

    @property
    def T(self) -> Lazy:
        return Lazy(lambda: self.value.T)

    @property
    def shape(self) -> tuple[int, int]:
        return self.value.shape  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)


def now(item: Any) -> Any:
    """The value of what may have been put off."""
    return item.value if isinstance(item, Lazy) else item


def each(block: Any, change: Callable[[sympy.Expr], sympy.Expr]) -> Any:
    return block.applyfunc(change) if isinstance(block, sympy.MatrixBase) else change(block)


def entries_of(block: Any) -> list[sympy.Expr]:
    value = now(block)
    return list(value) if isinstance(value, sympy.MatrixBase) else [value]
