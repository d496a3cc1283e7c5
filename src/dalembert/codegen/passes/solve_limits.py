"""Limits of the solves that native code and those who write it share."""

from __future__ import annotations

__all__ = ["HEALTHY", "MOST_DENSE"]

#: The least relative pivot at which straight-line code is trusted.
HEALTHY = 1e-7
#: The largest work array of the dense solve, in doubles.
MOST_DENSE = 100_000_000
