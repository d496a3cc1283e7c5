"""Where the book of a run keeps its Taylor expansion. Zero in the place EXPANSION: the run takes its steps otherwise."""

from __future__ import annotations

from ...compiled.native import FIRST_FREE

__all__ = ["COEFFICIENTS", "EXPANSION", "EXPANSION_ORDER", "EXPANSION_SIZE", "EXPANSION_WORK"]

#: The address of the expansion, its order, the size of its working memory; addresses of that and of the coefficients.
EXPANSION, EXPANSION_ORDER, EXPANSION_SIZE, EXPANSION_WORK, COEFFICIENTS = range(FIRST_FREE + 24, FIRST_FREE + 29)
