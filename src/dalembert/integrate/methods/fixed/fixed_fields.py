"""Statuses of steps of a given size."""

from __future__ import annotations

#: Beside those of `projection` and `solve_status`: no contraction; equations not solvable.
NOT_CONTRACTING, UNSOLVABLE = 11, 12
