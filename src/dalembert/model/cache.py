"""A cache with a name and a size, for what is computed once and kept with its owner."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

__all__ = ["Cache"]

Value = TypeVar("Value")


class Cache:
    """Values by key, each computed when it is first asked for; beyond `size` the oldest goes.

    >>> squares = Cache("squares", size=2)
    >>> [squares.get(k, lambda k=k: k**2) for k in (2, 3, 2, 4)]
    [4, 9, 4, 16]
    >>> squares
    Cache('squares', 2 of 2)
    """

    def __init__(self, name: str, size: int = 256) -> None:
        self.name, self.size = name, size
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of a key; compute and keep it where it is not there yet."""
        try:
            return self._values[key]  # type: ignore[no-any-return]
        except KeyError:
            value = make()
        self._values[key] = value
        while len(self._values) > self.size:
            self._values.pop(next(iter(self._values)), None)
        return value

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[type[Cache], tuple[str, int]]:
        return Cache, (self.name, self.size)  # copies and pickles start empty

    def __repr__(self) -> str:
        return f"Cache({self.name!r}, {len(self)} of {self.size})"
