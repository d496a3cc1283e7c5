"""A mapping that does not change: it can be hashed, compared by content, copied and pickled."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

__all__ = ["FrozenTable"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class FrozenTable(dict[Key, Value]):
    """A dict without the methods that change it.

    Examples
    --------
    >>> table = FrozenTable({"x": 1})
    >>> table == {"x": 1}, hash(table) == hash(FrozenTable(x=1)), table | {"y": 2}
    (True, True, {'x': 1, 'y': 2})
    >>> table["x"] = 2
    Traceback (most recent call last):
    ...
    TypeError: this table cannot be changed
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenTable, (dict(self),)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this table cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]
