"""Differences between a motion and an independent one, recorded with the test that bounds them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

#: pytest's record_property.
Record = Callable[[str, object], None]


def apart(record: Record, name: str, found: ArrayLike, expected: ArrayLike) -> float:
    """The largest absolute difference, recorded under a name; scripts/bloch_table.py reads it.

    >>> apart(lambda name, value: print(name, value), "a pair", [1.0, 2.0], [1.0, 2.5])
    a pair 0.5
    0.5
    """
    worst = float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))
    record(name, worst)
    return worst
