"""Arrays of results: what was computed from them would silently follow a change, so they cannot be changed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

__all__ = ["freeze_arrays", "read_only", "restore"]


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


def freeze_arrays(record: Any) -> None:
    """Make the arrays of a frozen dataclass read-only, also those in lists and tables: its ``__post_init__``."""
    for each in fields(record):
        value = getattr(record, each.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(record, each.name, read_only(value))
        elif type(value) is list and any(isinstance(item, np.ndarray) for item in value):
            object.__setattr__(record, each.name, [read_only(item) for item in value])
        elif type(value) is dict and any(isinstance(item, np.ndarray) for item in value.values()):
            object.__setattr__(record, each.name, {key: read_only(item) for key, item in value.items()})


def restore(record: Any, state: dict[str, Any]) -> None:
    """Give a record the state that was pickled, arrays read-only as before: its ``__setstate__``."""
    record.__dict__.update(state)
    freeze_arrays(record)
