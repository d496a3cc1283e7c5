"""Every printed result of the source documents, recomputed and judged.

``rows()`` gives one `Row` for each: its id, what it claims, how it was recomputed, what it tests,
the residual and a verdict. Where the print is wrong, the row states the corrected form and shows
both residuals. No row is a constant. ``summary(rows())`` counts them; ``registered()`` gives what
is said of each without computing it.

>>> [row.verdict for row in rows(["U-23"])]
['reproduced']
"""

from __future__ import annotations

from .row_registry import Claim, Row, Summary, identifiers, registered, rows, summary

__all__ = ["Claim", "Row", "Summary", "identifiers", "registered", "rows", "summary"]
