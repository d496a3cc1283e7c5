"""Read-only arrays of results: a change would silently make what was computed from them wrong."""

from __future__ import annotations

from typing import Any, TypeVar

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

    def __post_init__(self) -> None:
        for name, value in [*vars(self).items()]:
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, read_only(value))
            elif type(value) is list and any(isinstance(item, np.ndarray) for item in value):
                object.__setattr__(self, name, [read_only(item) for item in value])
            elif type(value) is dict and any(isinstance(v, np.ndarray) for v in value.values()):
                frozen = {key: read_only(item) for key, item in value.items()}
                object.__setattr__(self, name, frozen)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        ReadOnlyArrays.__post_init__(self)
