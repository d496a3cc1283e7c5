"""A process that looks at some random systems: `python -m soak.random_worker 17 18` prints what it
finds of these two.

With `--into FILE` every system is a line of that file as soon as it is done, and what the file has
already is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["look", "numbers_in"]

#: A system may take so many seconds of processor time.
LIMIT = 60.0


class TooLongError(Exception):
    """A system took longer than it may."""


def look(number: int) -> dict[str, Any]:
    """What is found of one system; also what went wrong in other ways than the laws foresee."""
    from .random_laws import look_at
    from .random_specimens import specimen
    from .wide_laws import look_at_wide
    from .wide_systems import FIRST_WIDE, Wide, wide

    drawn = specimen(number) if number < FIRST_WIDE else wide(number)
    try:
        with time_limit(LIMIT):
            return (look_at_wide(drawn) if isinstance(drawn, Wide) else look_at(drawn)).row()
    except TooLongError:
        trouble, ending = f"took more than {LIMIT:g} s", "timeout"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        trouble = (
            f"ended in {type(error).__name__}: {error} at"
            f" {Path(place.filename).name}:{place.lineno}"
        )
        ending = "error"
    row = {
        "number": number,
        "n": drawn.n,
        "kinds": drawn.kinds,
        "stated": drawn.stated,
        "with": [],
        "gaps": {},
        "counts": {},
    }
    return row | {
        "ending": ending,
        "faults": [f"{trouble} ({drawn.label})"],
        "notes": [],
        "seconds": LIMIT * (ending == "timeout"),
    }


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises where a block takes more processor time."""

    def stop(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def numbers_in(path: Path) -> set[int]:
    """The numbers of the systems that a file of results has."""
    return {row["number"] for row in rows_in(path)}


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of results, the last of each number; a line that was cut off is left
    out.
    """
    found: dict[int, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[row["number"]] = row
    return [found[number] for number in sorted(found)]


def main() -> int:
    """Looks at the systems that are asked for."""
    words = argparse.ArgumentParser(prog="python -m soak.random_worker", description=__doc__)
    words.add_argument("numbers", nargs="+", type=int)
    words.add_argument("--into", type=Path)
    given = words.parse_args()
    parent = os.getppid()
    for number in given.numbers:
        if os.getppid() != parent:  # who started this is gone
            break
        row = look(number)
        line = json.dumps(row)
        if given.into is None:
            print(json.dumps(row, indent=1))
        else:
            with given.into.open("a") as file:
                file.write(line + "\n")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("DALEMBERT_CACHE", "off")
    sys.exit(main())
