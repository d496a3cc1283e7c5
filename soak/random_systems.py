"""Fifteen thousand random systems without one unexplained difference: on each, every form of the
equations says the same, the motion obeys the balance of energy, reactions do no virtual work, and
neither units nor the listing of constraints nor the direction of time matter, nor the method of
integration and the form of the equations that is followed.

Systems have 1 to 8 coordinates and 0 to 5 constraints of all kinds, forces, dissipation, inputs and
parameters. Five thousand of them are wide: far from the origin, in units from 1e-12 to 1e12, with
terms that switch; each is asked one law of `wide_laws` beside an independent implementation, about
motions, linear stability, reduction or derivatives. They are looked at in processes of their own,
one for each core, and every one is a line of .soak/random-systems.jsonl, so that a run continues
where the last one stopped; without that file it begins anew. `python -m soak.random_worker NUMBER`
shows one of them; the wide ones begin at 10000 and are looked at first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from . import ROOT
from .harness import Options, Report
from .random_worker import LIMIT, numbers_in, rows_in
from .wide_systems import FIRST_WIDE

__all__ = ["run"]

#: Plain systems, and wide ones, which are looked at first.
SYSTEMS, WIDE = FIRST_WIDE, 5_000
#: How many systems a process looks at; then another one takes over, with memory as on the first
#: day.
BATCH = 300
#: A process is stopped where no system is done in this many seconds of wall time; one that is busy
#: takes LIMIT of its own.
PATIENCE = 20 * LIMIT
#: Seconds between two looks at what the processes have written.
POLL = 5.0
LAWS = (
    "forms",
    "start",
    "native",
    "energy",
    "balance",
    "own balance",
    "virtual work",
    "other words",
    "reversal",
    "methods",
    "methods by tolerance",
    "forms along a motion",
    "at the start",
    "wide motions",
    "wide forms",
    "wide methods",
    "linearise",
    "routh",
    "reduce",
    "sensitivities",
)
#: Laws that compare two runs by the growth of errors.
BY_GROWTH = ("other words", "reversal", "methods by tolerance", "forms along a motion")


def run(options: Options, report: Report) -> None:
    """Looks at systems until the time is over or all of them are done."""
    deadline = options.deadline
    path = (
        options.scratch / "random-systems.jsonl"
        if options.quick
        else ROOT / ".soak" / "random-systems.jsonl"
    )
    path.parent.mkdir(exist_ok=True)
    aside = path.with_suffix(".faults.jsonl")
    _set_faults_aside(path, aside)
    before = len(numbers_in(path))
    count = 1 if options.quick else os.cpu_count() or 1
    while time.monotonic() < deadline:
        known = numbers_in(path)
        todo = [number for number in order(options.quick) if number not in known][
            : 8 if options.quick else BATCH * count
        ]
        if not todo or (options.quick and len(known) >= 16):
            break
        with ThreadPoolExecutor(count) as pool:
            list(
                pool.map(
                    lambda part: _process(part, path, deadline),
                    [todo[k::count] for k in range(min(count, len(todo)))],
                )
            )
    seen = rows_in(path)
    known = {row["number"] for row in seen}
    rows = seen + [row for row in rows_in(aside) if row["number"] not in known]
    summarise([row for row in rows if row["number"] < SYSTEMS + WIDE], report)
    report.figure("systems of this run", len(seen) - before)


def order(mixed: bool = False) -> list[int]:
    """The numbers of all systems: wide ones, then plain ones; or one after the other in turn."""
    wide, plain = list(range(SYSTEMS, SYSTEMS + WIDE)), list(range(SYSTEMS))
    return (
        [number for pair in zip(wide, plain, strict=False) for number in pair]
        if mixed
        else wide + plain
    )


def _process(numbers: list[int], path: Path, deadline: float) -> None:
    """One process for some systems; it is stopped where it hangs or the time is over."""
    command = [sys.executable, "-m", "soak.random_worker", *map(str, numbers), "--into", str(path)]
    environment = os.environ | {"DALEMBERT_CACHE": "off"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    done, since = 0, time.monotonic()
    try:
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(POLL)
            if (now := len(numbers_in(path) & set(numbers))) > done:
                done, since = now, time.monotonic()
            if time.monotonic() - since > PATIENCE:
                _note(numbers, path, f"no answer in {PATIENCE:g} s of wall time")
                return
        if process.poll() not in (0, None):
            _note(numbers, path, f"the process died with code {process.returncode}")
    finally:
        process.kill()
        process.wait()


def _set_faults_aside(path: Path, aside: Path) -> None:
    """Systems with a fault are looked at again; until then the fault counts."""
    rows = rows_in(path)
    with aside.open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows if row["faults"])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows if not row["faults"]))


def _note(numbers: list[int], path: Path, trouble: str) -> None:
    """A line for the system that a process was at when it failed."""
    known = numbers_in(path)
    number = next((n for n in numbers if n not in known), None)
    if number is not None:
        row = {
            "number": number,
            "n": 0,
            "kinds": "",
            "stated": "",
            "with": [],
            "gaps": {},
            "counts": {},
            "ending": "timeout",
        }
        row |= {"faults": [f"{trouble} (system {number})"], "notes": [], "seconds": 0.0}
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def summarise(rows: list[dict[str, Any]], report: Report) -> None:
    """The figures of some rows, and their faults."""
    report.figure("systems", len(rows))
    for name, key in (
        ("states compared", "states"),
        ("pairs of forms compared", "pairs"),
        ("forms that were silent", "silent"),
    ):
        report.figure(name, sum(row["counts"].get(key, 0) for row in rows))
    report.figure("steps of motions", sum(row["counts"].get("steps", 0) for row in rows))
    report.figure(
        "balances of the library's own", sum(row["counts"].get("own balances", 0) for row in rows)
    )
    for law in LAWS:
        known = [(row["gaps"][law], row["number"]) for row in rows if law in row["gaps"]]
        if known:
            report.figure(
                f"largest gap: {law}",
                max(known)[0],
                f"relative, system {max(known)[1]}, {len(known)} systems",
            )
    ended = sum(row["counts"].get("ended in one run", 0) for row in rows)
    report.figure(
        "of two runs one ended at a state that is singular for both, or after they had parted",
        ended,
        "systems",
    )
    for law in BY_GROWTH:
        count = sum(row["counts"].get(f"unrelated: {law}", 0) for row in rows)
        report.figure(
            f"not compared, because errors grow to more than a tenth: {law}", count, "systems"
        )
        known = [(row["gaps"].get(f"{law} by growth", 0.0), row["number"]) for row in rows]
        if known:
            report.figure(
                f"largest gap: {law}, by tolerance and growth",
                round(max(known)[0], 2),
                f"system {max(known)[1]}",
            )
    kinds = ("methods", "forms", "wide methods", "wide forms")
    for kind, fate in product(kinds, ("compared", "refused", "ended")):
        report.figure(f"{kind} {fate}", _counted(rows, f"{kind} {fate}: ") or "none")
    late = sum(row["counts"].get("methods on their way", 0) for row in rows)
    report.figure(
        "methods whose error falls by the order, and is above 1e-6 with the smallest step",
        late,
        "systems",
    )
    report.figure("endings", dict(Counter(row["ending"] for row in rows).most_common()))
    report.figure(
        "topics of wide systems",
        dict(sorted(Counter(row.get("topic") or "none" for row in rows).items())),
    )
    report.figure("verdicts on equilibria", _counted(rows, "verdict: ") or "none")
    report.figure(
        "hidden terms refused",
        sum(
            count for name, count in _counted(rows, "").items() if name.endswith(" refused rightly")
        ),
    )
    report.figure("statements", dict(sorted(Counter(row["stated"] for row in rows).items())))
    report.figure("coordinates", dict(sorted(Counter(str(row["n"]) for row in rows).items())))
    report.figure(
        "constraints", dict(sorted(Counter(str(len(row["kinds"])) for row in rows).items()))
    )
    report.figure(
        "kinds of constraints",
        dict(sorted(Counter(k for row in rows for k in set(row["kinds"])).items())),
    )
    report.figure(
        "with", dict(sorted(Counter(word for row in rows for word in row["with"]).items()))
    )
    seconds = sum(row["seconds"] for row in rows)
    report.figure("CPU time of a system", round(seconds / max(1, len(rows)), 3), "s")
    for row in rows:
        for fault in row["faults"]:
            report.fault(fault)


def _counted(rows: list[dict[str, Any]], head: str) -> dict[str, int]:
    """The sums of the counts whose names begin with a head, by what follows it."""
    found: Counter[str] = Counter()
    for row in rows:
        found.update(
            {
                key.removeprefix(head): count
                for key, count in row["counts"].items()
                if key.startswith(head)
            }
        )
    return dict(sorted(found.items()))
