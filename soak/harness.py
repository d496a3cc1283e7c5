"""What the parts of the soak share: options, the report that a part fills, and the file that is
kept of it.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import dalembert as da

from . import ROOT

#: The parts by name, in the order in which `make soak` runs them: the module, and the minutes that
#: it takes unless told.
PARTS: dict[str, tuple[str, float]] = {
    "random-systems": ("soak.random_systems", 90.0),
    "grammar": ("soak.grammar", 60.0),
    "structure": ("soak.structure", 20.0),
    "speeds": ("soak.speeds", 30.0),
    "degenerate": ("soak.degenerate", 5.0),
    "contacts": ("soak.contacts", 60.0),
    "mechanisms": ("soak.mechanisms", 60.0),
    "optimal-control": ("soak.optimal_control", 30.0),
    "differential": ("soak.differential", 20.0),
    "bad-input": ("soak.bad_input", 30.0),
    "edges": ("soak.edges", 10.0),
    "determinism": ("soak.determinism", 10.0),
    "faults": ("soak.faults", 20.0),
    "load": ("soak.load", 30.0),
    "leaks": ("soak.leaks", 30.0),
    "mutation": ("soak.mutation", 90.0),
}
RESULTS = ROOT / "soak" / "results"


@dataclass(frozen=True)
class Options:
    """How long a part may run (wall time), whether it is a smoke run, its seed, a folder for what
    it makes, and whether a part that can do so adds to the figures that are kept.
    """

    minutes: float
    quick: bool
    seed: int
    scratch: Path
    resume: bool = False

    @property
    def deadline(self) -> float:
        """The moment on `time.monotonic` when a part that starts now should stop."""
        return time.monotonic() + 60.0 * self.minutes


@dataclass
class Report:
    """The figures of a part, in the order in which they were reported, and its faults; a part
    without faults has passed.
    """

    figures: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    say: Callable[[str], None] = print

    def figure(self, name: str, value: Any, unit: str = "") -> None:
        """One figure; a later value of the same name replaces the earlier one."""
        row = {"name": name, "value": value, "unit": unit}
        for place, known in enumerate(self.figures):
            if known["name"] == name:
                self.figures[place] = row
                return
        self.figures.append(row)

    def fault(self, sentence: str) -> None:
        """A guarantee that was broken: what, where, and how to see it again."""
        self.faults.append(sentence)
        self.say(f"FAULT {sentence}")


def kept_figures(name: str) -> dict[str, Any]:
    """The figures that are kept of a part, by name; an error where a fault is kept with them."""
    kept = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    if kept["faults"]:
        raise ValueError(
            f"{name} ended with faults (seen: {kept['faults'][0]}): run it again whole"
        )
    return {row["name"]: row["value"] for row in kept["figures"]}


def run_part(name: str, options: Options, say: Callable[[str], None] = print) -> Report:
    """Runs one part; its report is kept in soak/results/<part>.json, that of a smoke run only in
    the scratch folder.
    """
    report = Report(say=say)
    wall, used = time.monotonic(), cpu_seconds()
    try:
        import_module(PARTS[name][0]).run(options, report)
    except KeyboardInterrupt:
        report.fault(f"{name} was interrupted; the figures are those up to then")
    except Exception as error:
        say(traceback.format_exc())
        report.fault(f"{name} ended in an error: {error!r}")
    folder = options.scratch if options.quick else RESULTS
    write_result(
        folder / f"{name}.json",
        name,
        report,
        time.monotonic() - wall,
        cpu_seconds() - used,
        options,
    )
    return report


def write_result(
    path: Path, name: str, report: Report, wall: float, used: float, options: Options
) -> None:
    """What a part found, for docs/guarantees.md; a run that was resumed adds its seconds."""
    if options.resume:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        wall, used = wall + earlier["wall seconds"], used + earlier["CPU seconds"]
    kept = {
        "part": name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "version": da.__version__,
        "machine": (
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
        ),
        "seed": options.seed,
        "wall seconds": round(wall, 1),
        "CPU seconds": round(used, 1),
        "figures": report.figures,
        "faults": report.faults,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def cpu_seconds() -> float:
    """Processor time of this process and of those that it has waited for."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)
