"""Native functions run as plain Python, to debug them: every access to an array is checked.

With the environment variable ``DALEMBERT_NATIVE=python`` the loops of the library (the solve, the
projection, the integrators) run in Python, where a debugger can step through them. They are more
than a thousand times slower; the programs of a model stay native. An index outside of its array
raises IndexError and names the array.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...typing import Array, IntArray
from .language import Record

if TYPE_CHECKING:
    from .language import Argument

__all__ = ["Pointer", "as_plain", "plain_call", "runs_plainly"]


def runs_plainly() -> bool:
    """Whether native functions are to run as plain Python."""
    return os.environ.get("DALEMBERT_NATIVE", "") == "python"


class Pointer:
    """`Reals` and `Integers` in Python: an array from an offset on, with bounds checks."""

    def __init__(self, values: Array | IntArray, offset: int = 0, name: str = "array") -> None:
        self.values, self.offset, self.name = values, offset, name

    def _index(self, place: int) -> int:
        if not 0 <= self.offset + place < len(self.values):
            size = len(self.values)
            raise IndexError(
                f"`{self.name}` has {size} entries, and {self.offset + place} was asked for"
            )
        return self.offset + place

    def __getitem__(self, place: int) -> float:
        value: float = self.values[self._index(place)].item()
        return value

    def __setitem__(self, place: int, value: float) -> None:
        self.values[self._index(place)] = value

    def __add__(self, places: int) -> Pointer:
        return Pointer(self.values, self.offset + places, self.name)

    @property
    def address(self) -> int:
        """Where native code finds the first entry."""
        return int(self.values.ctypes.data + self.offset * self.values.itemsize)


class _PlainRecord:
    """A record whose arrays are pointers; numbers are read from it and written to it."""

    def __init__(self, record: Record) -> None:
        object.__setattr__(self, "_record", record)
        object.__setattr__(self, "_bound", {})

    def __getattr__(self, name: str) -> Any:
        record, bound = self._record, self._bound
        if record.fields[name][1] in ("int", "float"):
            return getattr(record, name)
        if name not in bound:  # what is not bound can be pointed to, and has nothing to read
            bound[name] = as_plain(record.arrays.get(name, np.zeros(0)), name)
        return bound[name]

    def __setattr__(self, name: str, value: float | Pointer) -> None:
        if not isinstance(value, Pointer):
            setattr(self._record, name, value)
        else:  # arrays may change places
            self._bound[name] = value
            self._record.arrays[name] = value.values
            self._record.words[self._record.fields[name][0]] = value.address


def as_plain(argument: Argument, name: str = "array") -> Any:
    """An argument of a native function for plain Python."""
    if isinstance(argument, Record):
        return _PlainRecord(argument)
    return Pointer(argument.reshape(-1), 0, name) if isinstance(argument, np.ndarray) else argument


def plain_call(entry: Callable[..., Any]) -> Callable[..., Any]:
    """A native function as Python calls it, run as plain Python."""

    def call(*arguments: Argument) -> Any:
        return entry(*(as_plain(argument) for argument in arguments))

    call.__doc__, call.__name__ = entry.__doc__, entry.__name__
    return call
