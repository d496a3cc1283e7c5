"""What every row of `verify` must show: its residual, and beside it that of the print where the
print is wrong.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from dalembert.verification.row_registry import SEPARATION, Claim, Row, rows


@cache
def row_of(identifier: str) -> Row:
    """The row of one claim, computed once."""
    (row,) = rows([identifier])
    return row


def assert_verdict(claim: Claim, identifier: str, errata: Collection[str]) -> None:
    """A row is reproduced; with a correction, and both residuals far apart, exactly where it is
    listed as an erratum.
    """
    row = row_of(identifier)
    assert row.residual <= claim.tolerance, row
    if identifier in errata:
        assert row.verdict == "reproduced with correction"
        assert (
            row.printed_residual is not None and row.printed_residual > SEPARATION * claim.tolerance
        )
    else:
        assert row.verdict == "reproduced" and row.printed_residual is None
