"""Every printed result of the source documents, recomputed and judged.

``rows()`` gives one `Row` for each: its id, what it claims, how it was recomputed, the residual and a verdict. Where the
print is wrong, the row states the corrected form and shows both residuals. No row is a constant.

>>> [row.verdict for row in rows(["U-23"])]
['reproduced']
"""

from __future__ import annotations

from .row_registry import Row, identifiers, rows

__all__ = ["Row", "identifiers", "rows"]
