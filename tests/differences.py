"""Central differences of two sizes, extrapolated: what exact derivatives are held against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def differences(function: Callable[[Any], Any], values: Any, size: float = 1e-4) -> Any:
    """The derivative of a function of k numbers, (k, ...), with an error of the fourth order in the
    size.
    """
    point = np.asarray(values, dtype=float)
    found = []
    for c in range(len(point)):
        push = np.zeros(len(point))
        push[c] = size * max(1.0, abs(point[c]))

        def derivative(times: float, push: Any = push, c: int = c) -> Any:
            ahead, behind = (
                np.asarray(function(point + times * push)),
                np.asarray(function(point - times * push)),
            )
            return (ahead - behind) / (2 * times * push[c])

        found.append((4 * derivative(0.5) - derivative(1.0)) / 3)
    return np.array(found)
