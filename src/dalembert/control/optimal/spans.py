"""The span of a control problem."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from ...model.values import real_number
from ...typing import Span

__all__ = ["read_span"]


def read_span(span: Span) -> tuple[float, float]:
    """Two finite times, the second after the first.

    >>> read_span([0, 2])
    (0.0, 2.0)
    """
    try:
        first, last = (real_number(value) for value in span)
    except (TypeError, ValueError):
        remedy = "pass span=(0, 1); a free duration is a symbol"
        raise ModelError("The span must be two times", span, remedy) from None
    if not (np.isfinite(first) and np.isfinite(last) and last > first):
        what = "The span must go forward between two finite times"
        raise ModelError(what, (first, last), "pass span=(0, 1)")
    return first, last
