"""Which tests run which lines: the tests once under coverage, one context a test, with the
processor time of each.

Run as a script in a copy of the project: ``python mutation_cover.py out.json seconds tests...``. It
is a process of its own, because the modules that are measured must be imported after the measuring
began.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import coverage
import pytest

#: Packages and modules whose mutants are judged, below src/dalembert.
MEASURED = (
    "codegen/**/*.py",
    "runtime/**/*.py",
    "formulations/**/*.py",
    "algebra/*.py",
    "integrate/**/*.py",
    "model/io/*.py",
    "model/io/robots/*.py",
    "model/system_reader.py",
)


class Contexts:
    """A pytest plugin: tells coverage which test runs, and measures what each takes; stops when the
    time is up.
    """

    def __init__(self, measuring: Any, seconds: float) -> None:
        self.measuring = measuring
        self.deadline = time.monotonic() + seconds
        self.cpu: dict[str, float] = {}
        self.bad: set[str] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> Any:
        if time.monotonic() > self.deadline:
            item.session.shouldstop = "the time for measuring is up"
        self.measuring.switch_context(item.nodeid)
        began = time.process_time()
        try:
            return (yield)
        finally:
            self.cpu[item.nodeid] = time.process_time() - began
            self.measuring.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.outcome != "passed":
            self.bad.add(report.nodeid)


def main(out: Path, seconds: float, tests: list[str]) -> None:
    """Runs the tests and writes ``{"tests": [[id, CPU seconds]], "lines": {file: {line: [places in
    tests]}}}``.
    """
    source = Path("src/dalembert").resolve()
    measuring = coverage.Coverage(data_file=None, include=[str(source / part) for part in MEASURED])
    plugin = Contexts(measuring, seconds)
    measuring.start()
    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly", *tests],
        plugins=[plugin],
    )
    measuring.stop()
    names = [name for name in plugin.cpu if name not in plugin.bad]
    places = {name: place for place, name in enumerate(names)}
    data = measuring.get_data()
    lines: dict[str, dict[str, list[int]]] = {}
    for file in sorted(data.measured_files()):
        by_line = data.contexts_by_lineno(file)
        lines[str(Path(file).relative_to(source))] = {
            str(line): sorted(places[name] for name in found if name in places)
            for line, found in sorted(by_line.items())
        }
    kept = {
        "tests": [[name, round(plugin.cpu[name], 3)] for name in names],
        "bad": sorted(plugin.bad),
        "lines": lines,
    }
    out.write_text(json.dumps(kept))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
