"""Places in the book of a differentiated motion, beside those of a kernel."""

from __future__ import annotations

from ...compiled.native import FIRST_FREE

__all__ = ["BOOK_SIZE"]

(
    TANGENT, ADJOINT, SETTLE_POSITION, SETTLE_VELOCITY, UNSETTLE_POSITION, UNSETTLE_VELOCITY,
    DIRECTIONS, COLUMNS, WIDTH, PROJECTED,
    STAGES, STAGE_STATES, STAGE_SLOPES, MOVED, PUSHED, PULLED, STAGE_PULLS, SCRATCH, PROBE, RATIOS, SEED,
) = range(FIRST_FREE, FIRST_FREE + 21)  # fmt: skip
BOOK_SIZE = FIRST_FREE + 21
