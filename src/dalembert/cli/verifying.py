"""``dalembert verify``: the printed results of the source documents, recomputed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from .entry import FINE, UNFINISHED
from .terminal import Progress, print_json, show

if TYPE_CHECKING:
    from ..verification import Row

__all__ = ["verify_command"]

_COLORS = {
    "reproduced": "green",
    "reproduced with correction": "yellow",
    "not reproduced": "bold red",
}


def verify_command(wanted: Sequence[str], as_json: bool) -> int:
    """Recompute rows; the status is 1 where any is not reproduced."""
    from ..verification import identifiers, rows

    total = len(wanted) or len(identifiers())
    found = []
    with Progress("Recomputing") as progress:
        for row in rows(list(wanted) or None):
            found.append(row)
            progress(len(found) / total)
    if as_json:
        print_json([asdict(row) for row in found])
    else:
        _print_rows(found)
    return UNFINISHED if any(row.verdict == "not reproduced" for row in found) else FINE


def _print_rows(found: Sequence[Row]) -> None:
    from ..verification import summary

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("id", style="bold", no_wrap=True)
    table.add_column("claim")
    table.add_column("residual", justify="right", no_wrap=True)
    table.add_column("in print", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in found:
        table.add_row(
            Text(row.id),
            Text(row.claim),
            _size(row.residual),
            _size(row.printed_residual),
            Text(row.verdict, style=_COLORS.get(row.verdict, ""))
            + Text(
                f"\nfault: {row.fault}" if row.printed_residual is not None and row.fault else ""
            ),
        )
    counts = summary(found)
    lines = [f"{len(found)} result{'s' * (len(found) != 1)}: {_counted(counts.verdicts)}."]
    if any(counts.tests.values()):
        lines.append(f"What they test: {_counted(counts.tests)}.")
    if any(counts.faults.values()):
        lines.append(f"Whose fault a wrong print may be: {_counted(counts.faults)}.")
    show(table, Text("\n".join(lines)))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _size(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}" if math.isfinite(value) else "not finite"
