"""The command: `python -m soak [parts] [--quick] [--minutes M] [--resume] [--seed S]`; without
parts, all of them one after the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .harness import PARTS, Options, run_part


def main() -> int:
    """Runs the parts that were asked for; 1 if a guarantee was broken."""
    words = argparse.ArgumentParser(
        prog="python -m soak", description="Long checks of what dalembert guarantees."
    )
    words.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help=f"of {', '.join(PARTS)}; all of them if none is given",
    )
    words.add_argument(
        "--quick", action="store_true", help="a smoke run, under a minute a part; nothing is kept"
    )
    words.add_argument(
        "--minutes", type=float, help="the time of each part, in the place of its own"
    )
    words.add_argument(
        "--resume", action="store_true", help="add to the kept figures (the part `speeds`)"
    )
    words.add_argument("--seed", type=int, default=1, help="where random draws begin (1)")
    given = words.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        words.error(f"there is no part {unknown[0]!r}: take one of {', '.join(PARTS)}")
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dalembert-soak-") as scratch:
        for part in given.parts or PARTS:
            minutes = given.minutes or (0.7 if given.quick else PARTS[part][1])
            print(f"{part}: {minutes:g} min")
            report = run_part(
                part, Options(minutes, given.quick, given.seed, Path(scratch), given.resume)
            )
            for row in report.figures:
                print(f"  {row['name']}: {row['value']} {row['unit']}".rstrip())
            broken += [f"{part}: {fault}" for fault in report.faults]
    print(f"{len(broken)} faults" if broken else "no faults")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
