"""The span of a control problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from ...model.values import real_number

__all__ = ["read_span"]


def read_span(span: Any) -> tuple[float, float]:
    """Two finite times, the second after the first.

    >>> read_span([0, 2])
    (0.0, 2.0)
    """
    try:
        first, last = (real_number(value) for value in span)
    except (TypeError, ValueError):
        raise ModelError(
            "The span must be two times", seen=span, remedy="pass span=(0, 1); a free duration is a symbol"
        ) from None
    if not (np.isfinite(first) and np.isfinite(last) and last > first):
        raise ModelError("The span must go forward between two finite times", seen=(first, last), remedy="pass span=(0, 1)")
    return first, last
