"""From rows to ratios and printed tables.

A ratio compares an entry with the best peer that starts from the same place; our own entries are
never that peer. Rows of wrong answers carry a status instead of times and are never ranked.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from harness import Workload

OURS = "dalembert"
Row = dict[str, Any]
Values = dict[tuple[str, str, str], Row]


def median_rows(rows: Iterable[Row]) -> list[Row]:
    """One row for each workload, entry and metric: the median of the repeats."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["workload"], row["who"], row["metric"]), []).append(row)
    return [median_row(group) for group in groups.values()]


def median_row(group: Sequence[Row]) -> Row:
    if any(isinstance(row["value"], str) for row in group):
        return group[-1]
    errors = [row["error"] for row in group if row["error"] is not None]
    error = statistics.median(errors) if errors else None
    return group[0] | {"value": statistics.median(row["value"] for row in group), "error": error}


def is_ours(who: str) -> bool:
    return who == OURS or who.startswith(f"{OURS}-")


def equal_error_rows(workload: Workload, rows: Sequence[Row]) -> list[Row]:
    """Times at given final errors, as rows of the workload itself: ``integrate_s at 1e-08``,
    ``total_s at 1e-08``.
    """
    found = []
    for entry in workload.entries:
        own = [row for row in rows if row["who"] == entry.name]
        points = [(row["error"], row["value"]) for row in own if row["metric"] == "integrate_s"]
        fixed = [row["value"] for row in own if row["metric"] == "derive_compile_s"]
        for target in workload.equal_error:
            value, error = time_at_error(points, target)
            if value is None:
                continue
            times = {"integrate_s": value, "total_s": value + statistics.median(fixed)}
            found += [
                {
                    "workload": workload.key,
                    "who": entry.name,
                    "metric": f"{m} at {target:.0e}",
                    "value": v,
                    "error": error,
                }
                for m, v in times.items()
            ]
    return found


def time_at_error(
    points: Iterable[tuple[float, float]], target: float
) -> tuple[float | None, float | None]:
    """The time that buys the error `target`, between two points by a power law, with the error it
    belongs to.

    Only points that no other point beats in both count. Where every run is better than the target,
    the fastest of them stands; where none is, there is no answer.

    >>> time_at_error([(1e-6, 1.0), (1e-10, 4.0)], 1e-8)
    (2.0, 1e-08)
    >>> time_at_error([(1e-9, 3.0), (1e-10, 4.0)], 1e-8)
    (3.0, 1e-09)
    >>> time_at_error([(1e-6, 1.0)], 1e-8)
    (None, None)
    """
    front: list[tuple[float, float]] = []
    for error, value in sorted(points, key=lambda point: (point[1], point[0])):
        if error > 0 and (not front or error < front[-1][0]):
            front.append((error, value))
    good = [point for point in front if point[0] <= target]
    if not good:
        return None, None
    error, value = good[0]
    poorer = [point for point in front if point[0] > target]
    if not poorer:
        return value, error
    before_error, before = poorer[-1]
    share = math.log(before_error / target) / math.log(before_error / error)
    return round(before * (value / before) ** share, 12), target


def growth_rows(rows: Sequence[Row]) -> list[Row]:
    """Exponents of costs over sizes, such as ``compile_s exponent`` of ``W9-rods``: value ~ N^e.

    Fitted by least squares of the logarithms over sizes from 10 on (5 for nets, N of N x N), at
    least two of them, for rows whose name ends in a number.

    >>> rows = [{"workload": f"W9-rods-{n}", "who": "a", "metric": "step_us", "value": n * n / 7.0}
    ...         for n in (1, 10, 100)]
    >>> [(row["workload"], row["metric"], row["value"]) for row in growth_rows(rows)]
    [('W9-rods', 'step_us exponent', 2.0)]
    """
    found: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for row in rows:
        name, _, number = row["workload"].rpartition("-")
        size = float(number) if number.isdigit() else 0.0
        grows = row["metric"] == "memory_mb" or is_cost(row)
        if grows and size >= (5 if name.endswith("net") else 10) and row["value"] > 0:
            key = (name, row["who"], row["metric"])
            found.setdefault(key, []).append((math.log(size), math.log(row["value"])))
    return [
        {
            "workload": name,
            "who": who,
            "metric": f"{metric} exponent",
            "value": round(statistics.linear_regression(*zip(*points, strict=True)).slope, 3),
            "error": None,
        }
        for (name, who, metric), points in found.items()
        if len({size for size, _ in points}) > 1
    ]


def ratios(workload: Workload, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For each number that is a cost: its ratio to the best peer of the same start, and to our
    own.
    """
    starts = {entry.name: entry.start for entry in workload.entries}
    costs = [row for row in rows if row["who"] in starts and is_cost(row)]
    found = []
    for row in costs:
        same = [
            other
            for other in costs
            if (other["workload"], other["metric"]) == (row["workload"], row["metric"])
        ]
        peers = [
            o for o in same if starts[o["who"]] == starts[row["who"]] and not is_ours(o["who"])
        ]
        best = min(peers, key=lambda other: other["value"], default=None)
        ours = next((other["value"] for other in same if other["who"] == OURS), None)
        found.append(
            {
                "workload": row["workload"],
                "metric": row["metric"],
                "who": row["who"],
                "start": starts[row["who"]],
                "best_peer": best["who"] if best else None,
                "to_best_peer": ratio(row["value"], best["value"] if best else None),
                "to_dalembert": ratio(row["value"], ours),
            }
        )
    return found


def is_cost(row: Row) -> bool:
    unit = row["metric"].split(" at ")[0].rsplit("_", 1)[-1]
    return unit in ("s", "us") and not isinstance(row["value"], str)


def ratio(value: float, other: float | None) -> float | None:
    return value / other if other else None


def show(workload: Workload, rows: Sequence[Row], sizes: Sequence[str]) -> str:
    """Every table of one workload, as text."""
    by_key = {(row["workload"], row["who"], row["metric"]): row for row in rows}
    compared = {(r["workload"], r["who"], r["metric"]): r for r in ratios(workload, rows)}
    parts = [f"{workload.key}: {workload.title}"]
    for metric in workload.by_size:
        columns = [(workload.row_name(size), metric, f"{workload.label}={size}") for size in sizes]
        parts.append(
            table(
                workload,
                by_key,
                compared,
                f"{workload.key} {metric}",
                columns,
                ranked=len(columns) - 1,
            )
        )
    shown = workload.shown_size if workload.shown_size in sizes else sizes[-1]
    if workload.by_metric:
        columns = [(workload.row_name(shown), metric, metric) for metric in workload.by_metric]
        place = next((k for k, metric in enumerate(workload.by_metric) if metric == "total_s"), 0)
        title = f"{workload.key} at {workload.label} {shown}"
        parts.append(table(workload, by_key, compared, title, columns, ranked=place))
    for metric in ("integrate_s", "total_s") if workload.equal_error else ():
        columns = [
            (workload.key, f"{metric} at {e:.0e}", f"error {e:.0e}") for e in workload.equal_error
        ]
        title = f"{workload.key} {metric} at equal final error"
        parts.append(table(workload, by_key, compared, title, columns, ranked=len(columns) // 2))
    trouble = {
        (r["who"], r["value"]): r["workload"] for r in reversed(rows) if r["metric"] == "status"
    }
    if trouble:
        lines = [f"  {name} {who}: {reason}" for (who, reason), name in reversed(trouble.items())]
        parts.append("\n".join(["not measured", *lines]))
    return "\n\n".join(part for part in parts if part)


def table(
    workload: Workload,
    rows: Values,
    compared: Values,
    title: str,
    columns: Sequence[tuple[str, str, str]],
    ranked: int,
) -> str:
    """One table; the ratios are those of column number `ranked`."""
    head = ["entry", "starts from", *(label for _, _, label in columns), "/best peer", f"/{OURS}"]
    lines = []
    for entry in workload.entries:
        cells = [rows.get((name, entry.name, metric)) for name, metric, _ in columns]
        if all(cell is None for cell in cells):
            continue
        ratios_here = compared.get((columns[ranked][0], entry.name, columns[ranked][1]), {})
        values = [number(cell["value"] if cell else None) for cell in cells]
        ends = [number(ratios_here.get(key)) for key in ("to_best_peer", "to_dalembert")]
        lines.append([entry.name, entry.start, *values, *ends])
    if not lines:
        return ""
    lines.insert(0, head)
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    drawn = []
    for line in lines:
        texts = [
            cell.ljust(widths[k]) if k < 2 else cell.rjust(widths[k]) for k, cell in enumerate(line)
        ]
        drawn.append("| " + " | ".join(texts) + " |")
    drawn.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    note = f"{title} (ratios: {columns[ranked][2]})"
    return "\n".join([note, *drawn])


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
