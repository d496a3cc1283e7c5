"""Read-only arrays of results: a change would silently make what was computed from them wrong."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np

__all__ = ["ReadOnlyArrays", "read_only"]


Values = TypeVar("Values")


def read_only(values: Values) -> Values:
    """A view of an array that cannot be written to; what is no array as it is.

    >>> array = np.zeros(2)
    >>> read_only(array).flags.writeable, array.flags.writeable
    (False, True)
    """
    if not isinstance(values, np.ndarray):
        return values
    view = values.view()
    view.flags.writeable = False
    return view


class ReadOnlyArrays:
    """Base of frozen dataclasses whose arrays, also those in lists and tables, are read-only."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            items = value if type(value) is list else value.values() if type(value) is dict else ()
            if isinstance(value, np.ndarray):
                object.__setattr__(self, each.name, read_only(value))
            elif any(isinstance(item, np.ndarray) for item in items):
                frozen = map(read_only, items)
                kept = dict(zip(value, frozen, strict=True)) if type(value) is dict else [*frozen]
                object.__setattr__(self, each.name, kept)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        ReadOnlyArrays.__post_init__(self)
