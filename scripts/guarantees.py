"""Write the figures of the last soak into docs/guarantees.md, the defects into docs/defects.md.

The pages are written by hand, but for what stands between `<!-- figures: part -->` or
`<!-- defects -->` and `<!-- end -->`: those come from soak/results/<part>.json and
soak/defects/<part>.toml. `python scripts/guarantees.py --check` compares them.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / "guarantees.md", ROOT / "docs" / "defects.md"]
RESULTS = ROOT / "soak" / "results"
DEFECTS = ROOT / "soak" / "defects"
PLACE = re.compile(r"<!-- (figures: (?P<part>[\w-]+)|defects) -->\n.*?<!-- end -->", re.DOTALL)


#: The main figures by part, as patterns of their names; all figures of a part that is not here.
MAIN: dict[str, str] = {
    "bad-input": r"^time of all|by the grammar|slowest",
    "contacts": r"^systems|ended by|worst|impacts",
    "degenerate": r"^degenerate|not proved",
    "determinism": r"compared|largest",
    "differential": r"systems compared|triaged as ours",
    "edges": r"^cases",
    "faults": r"kills while|lost or wrong|damaged files|on a full disk",
    "grammar": r"^systems|compared with the oracle|other words: (other u|rest)|digits|largest",
    "leaks": r"^(files|threads|lab worker|ever-new): .*rss",
    "load": r"runs compared|largest difference|refusals|SIGTERM|taylor into a store: runs$",
    "mechanisms": r"^mechanisms|^loops|^largest|refused|^motion|too long",
    "mutation": r"killed, equivalent|mutants run",
    "optimal-control": r"^problems|cost beside|replayed end|not compared",
    "random-systems": r"^systems$|pairs of forms|gap: (forms|native|balance)|^wide systems$",
    "speeds": r"^systems|worst",
    "structure": r"^(gallery|random) systems|^random: (energy q|coord|rank)",
}


def main() -> int:
    """Rewrite the pages, or with --check compare them."""
    stale = 0
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        written = PLACE.sub(
            lambda found: (
                found[0].split("\n")[0] + "\n\n" + table_of(found["part"]) + "<!-- end -->"
            ),
            page,
        )
        if "--check" not in sys.argv[1:]:
            path.write_text(written, encoding="utf-8")
        elif written != page:
            print(f"docs/{path.name} is out of date: run python scripts/guarantees.py")
            stale = 1
    return stale


def table_of(part: str | None) -> str:
    """The figures of a part, or all defects where none is named."""
    return defects_table() if part is None else figures_table(part)


def figures_table(part: str) -> str:
    """The figures of the last run of a part, as a paragraph."""
    path = RESULTS / f"{part}.json"
    if not path.exists():
        return "Not run yet.\n"
    kept = json.loads(path.read_text(encoding="utf-8"))
    main = re.compile(MAIN.get(part, ""))
    rows = [
        f"{row['name']}: {number(row['value'])} {row['unit']}".strip()
        for row in kept["figures"]
        if main.search(row["name"])
    ]
    faults = len(kept["faults"])
    head = f"Last run ({kept['date']}, {kept['version']}, {minutes(kept)}): "
    end = f". **{faults} faults:**" if faults else ". No faults."
    text = head + "; ".join(rows) + end
    lines = textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False)
    return "\n".join([*lines, *(f"- {fault}" for fault in kept["faults"])]) + "\n"


def minutes(kept: dict[str, Any]) -> str:
    return (
        f"{kept['wall seconds'] / 60:.0f} min, {kept['CPU seconds'] / 60:.0f} min of processor time"
    )


def number(value: Any) -> str:
    """A figure as it is read: thousands apart, small numbers short, tables as lists."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}".replace(",", " ") if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {number(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(number(item) for item in value)
    return str(value)


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def defects() -> dict[str, list[dict[str, str]]]:
    """The defects that were found and mended, by the part that found them."""
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8")).get("defect", [])
        for path in sorted(DEFECTS.glob("*.toml"))
    }


def defects_table() -> str:
    """Every defect beside the test that keeps it away."""
    lines = ["| found by | what happened, and what happens now | test |", "| --- | --- | --- |"]
    for part, rows in defects().items():
        lines += [f"| {part} | {cell(row['what'])} | `{row['test']}` |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
