"""What every workload shares: entries, clocks, and the lines by which a measurement reports to the
driver.

A measurement runs in a process of its own, ``python w1_chain.py ENTRY SIZE``, and prints one line
``ROW {json}`` for each number. Whatever else a peer prints is ignored. Times are CPU seconds of the
process and its children, which other work on the machine disturbs little; wall times are reported
beside them under names that end in ``_wall_s``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Clock", "Entry", "Workload", "median_cpu", "per_call", "report", "serve"]

PREFIX = "ROW "


@dataclass(frozen=True)
class Entry:
    """One contestant of a workload.

    Attributes
    ----------
    name : str
        What tables call it.
    start : str
        The place it starts from; ratios compare entries that share it.
    build : callable
        Takes the size (or the tolerance) of the workload, returns what the workload measures.
    imports : sequence of str
        Modules that are imported before the clock starts. One that is missing makes the entry "not
        installed".
    compiler : bool
        Whether it needs a C compiler.
    sizes : tuple of str
        Sizes of its own, where those of the workload do not suit it.
    first_run : bool
        Whether the cache is empty, so that even the native loops, which all models share, are
        compiled.
    """

    name: str
    start: str
    build: Callable[[Any], Any]
    imports: Sequence[str]
    compiler: bool = False
    sizes: tuple[str, ...] = ()
    first_run: bool = False

    def missing(self) -> str | None:
        """Why this entry cannot run here, or None."""
        for package in dict.fromkeys(module.split(".")[0] for module in self.imports):
            if importlib.util.find_spec(package) is None:
                return f"{package} is not installed"
        if self.compiler and shutil.which("gcc") is None:
            return "needs gcc, which is not installed"
        return None


@dataclass(frozen=True)
class Workload:
    """A task with its contestants.

    Attributes
    ----------
    key, title : str
    script : str
        File name of the script that measures one entry at one size.
    entries : tuple of Entry
    sizes, quick_sizes : tuple of str
        Arguments of the script, from the easiest on: after a failure the harder ones are not tried.
    label : str
        What a size is called in the name of a row: ``N`` gives ``W1-N40``.
    by_size, by_metric : tuple of str
        Metrics that get a table of their own with a column for each size, or a column in the table
        of `shown_size`.
    equal_error : tuple of float
        Final errors at which `integrate_s` and the total are compared, read between the sizes.
    """

    key: str
    title: str
    script: str
    entries: tuple[Entry, ...]
    sizes: tuple[str, ...]
    quick_sizes: tuple[str, ...]
    label: str
    by_size: tuple[str, ...] = ()
    by_metric: tuple[str, ...] = ()
    shown_size: str = ""
    equal_error: tuple[float, ...] = ()

    def row_name(self, size: str) -> str:
        """The workload's name in the rows of one size."""
        return f"{self.key}-{self.label}{size}"


def cpu_seconds() -> float:
    """CPU seconds of this process, its threads and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Clock:
    """Seconds since it was made, in CPU and in wall time."""

    def __init__(self) -> None:
        self._cpu, self._wall = cpu_seconds(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        return cpu_seconds() - self._cpu, time.perf_counter() - self._wall


def median_cpu(task: Callable[[], Any], repeats: int = 5) -> tuple[float, float]:
    """Median CPU and wall seconds of `task`, after one call to warm up."""
    task()
    readings = []
    for _ in range(repeats):
        clock = Clock()
        task()
        readings.append(clock.read())
    cpu, wall = zip(*readings, strict=True)
    return statistics.median(cpu), statistics.median(wall)


def per_call(task: Callable[[], Any], repeats: int = 7, least: float = 0.05) -> float:
    """Median CPU seconds of one call of a short `task`, timed in bunches of at least `least`
    seconds.
    """
    task()
    task()
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            task()
        spent = time.perf_counter() - begin
        if spent > least:
            break
        count = max(2 * count, int(1.3 * count * least / max(spent, 1e-9)))
    readings = []
    for _ in range(repeats):
        begin = time.process_time()
        for _ in range(count):
            task()
        readings.append((time.process_time() - begin) / count)
    return statistics.median(readings)


def report(
    workload: str, who: str, metric: str, value: float | str, error: float | None = None
) -> None:
    """Print one row; `error` is the accuracy of the result that `value` belongs to."""
    known = None if error is None or not math.isfinite(error) else error
    row = {"workload": workload, "who": who, "metric": metric, "value": value, "error": known}
    print(PREFIX + json.dumps(row), flush=True)


def parse_rows(text: str) -> list[dict[str, Any]]:
    """The rows among the lines that a measurement printed."""
    return [
        json.loads(line[len(PREFIX) :]) for line in text.splitlines() if line.startswith(PREFIX)
    ]


def serve(workload: Workload, measure: Callable[[Entry, str], None]) -> None:
    """The main program of a workload's script: measure one entry at one size in this process."""
    name, size = sys.argv[1:3]
    chosen = {entry.name: entry for entry in workload.entries}.get(name)
    if chosen is None:
        raise SystemExit(
            f"{workload.key} has no entry {name}: choose among"
            f" {', '.join(e.name for e in workload.entries)}"
        )
    why = chosen.missing()
    if why:
        raise SystemExit(why)
    limit = int(os.environ.get("BENCH_LIMIT", "0"))
    if limit:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10))
    core = os.environ.get("BENCH_CORE")
    if core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(core)})
    for module in chosen.imports:
        importlib.import_module(module)
    measure(chosen, size)
