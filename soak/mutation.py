"""Small faults put into the compiled code, the formulations and the readers of text are noticed by
the tests.

A mutant is the library with one operator, number, condition or loop changed (by cosmic-ray). A
random sample is drawn, each file and operator with its share; each mutant meets the tests that run
its line, in a copy of the project. A mutant is killed if a test fails or does not end. What cannot
matter (annotations, texts of errors, assertions) is left out before the draw. Survivors that were
looked at are in mutation_survivors.toml.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from typing import Any

from . import ROOT
from .harness import Options, Report

HERE = ROOT / "soak"
WORKSHOP = ROOT / ".soak" / "mutation"
SURVIVORS = HERE / "mutation_survivors.toml"
NEEDED = ("cosmic_ray", "coverage")
COPIED = (
    "src",
    "tests",
    "soak",
    "examples",
    "docs",
    "scripts",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "mkdocs.yml",
    "LICENSE",
)
#: The tests that are measured, the most important first: the measuring stops after a quarter of the
#: time.
MEASURED_TESTS = (
    "tests/unit/model/test_text_is_refused.py", "tests/unit/model/test_expressions.py",
    "tests/unit/model/test_files.py", "tests/unit/algebra/test_structure.py",
    "tests/unit/model/test_robot_files.py", "tests/unit/runtime",
    "tests/unit/integrate/test_events.py", "tests/unit/integrate/test_contact.py",
    "tests/unit/formulations", "tests/unit/codegen", "tests/unit/integrate", "tests/unit/model",
    "tests/unit/algebra",
    "tests/laws",
)  # fmt: skip
QUICK_TESTS = tuple(
    f"tests/unit/model/test_expressions.py::{name}" for name in ("test_reads", "test_refuses")
)
#: Processor seconds of tests that a mutant has to survive, and those of each test beyond five times
#: what it took.
BUDGET, SPARE, SPARE_NATIVE = 2.5, 20.0, 30.0
#: A mutant that survives them meets the tests of so many times the budget.
SECOND_BUDGET = 6.0
DRAWN = 900
#: Less than this share (the upper end of its interval, equivalent mutants apart) is a fault.
PROMISED = 0.75
KILLED = ("killed", "time")


def run(options: Options, report: Report) -> None:
    """Draws mutants by the seed and runs them until the time is up; a pass that was broken off goes
    on where it stopped.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        report.fault(
            f"{', '.join(missing)} not found: python -m pip install -e '.[mutation]', then run this"
            " part again"
        )
        return
    from . import mutation_draw as drawing
    from .mutation_choice import Cover

    deadline = options.deadline
    folder = options.scratch / "mutation" if options.quick else WORKSHOP
    project = copy_of_project(folder)
    source = project / "src" / "dalembert"
    state = digest(project)
    tests = QUICK_TESTS if options.quick else MEASURED_TESTS
    cover = Cover.read(measured(folder, project, state, tests, 60.0 * options.minutes / 4.0))
    found = (
        drawing.mutants(source, ["reader"], "scanner") if options.quick else drawing.mutants(source)
    )
    sample = drawing.draw(found, 3 if options.quick else DRAWN, options.seed)
    kept = folder / f"results-{state[:12]}-{options.seed}.jsonl"
    known = {row["key"]: row for row in rows_of(kept)}
    with server(project) as ask:
        if (broken := warmed_up(cover, folder, ask)) is not None:
            report.fault(f"without any mutant the tests fail: {broken}")
            return
        for mutant in sample:
            if mutant.key in known:
                continue
            if time.monotonic() > deadline and not options.quick:
                break
            row = judge(mutant, source, cover, folder, ask)
            known[mutant.key] = row
            with kept.open("a") as file:
                file.write(json.dumps(row) + "\n")
    report.figure("mutants that may matter", len(found))
    report.figure("drawn", len(sample))
    summarise([known[mutant.key] for mutant in sample if mutant.key in known], report)


def copy_of_project(folder: Path) -> Path:
    """A copy of the sources and tests as they are now, where mutants do no harm."""
    project = folder / "project"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir(parents=True)
    unwanted = shutil.ignore_patterns("__pycache__", "site", "generated")
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, project / name, ignore=unwanted)
        elif (ROOT / name).exists():
            shutil.copy2(ROOT / name, project / name)
    return project


def digest(project: Path) -> str:
    """The state of sources and tests."""
    total = hashlib.sha256()
    for part in ("src", "tests"):
        for path in sorted((project / part).rglob("*.py")):
            total.update(str(path.relative_to(project)).encode() + b"\0" + path.read_bytes())
    return total.hexdigest()


def environment(project: Path, cache: Path) -> dict[str, str]:
    """That of processes which import the copy, with an object cache of their own."""
    path = os.pathsep.join(str(project / part) for part in ("src", "tests"))
    return {
        **os.environ,
        "PYTHONPATH": path,
        "DALEMBERT_CACHE": str(cache),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def measured(
    folder: Path, project: Path, state: str, tests: tuple[str, ...], seconds: float
) -> Path:
    """The file of which tests run which lines; made once for a state of sources and tests."""
    out = folder / f"cover-{state[:12]}.json"
    if not out.exists():
        command = [sys.executable, str(HERE / "mutation_cover.py"), str(out), str(seconds), *tests]
        with (folder / "cover.log").open("w") as log:
            subprocess.run(
                command,
                cwd=project,
                env=environment(project, folder / "cache"),
                stdout=log,
                stderr=log,
                check=True,
            )
    return out


@contextmanager
def server(project: Path) -> Iterator[Any]:
    """A function that sends a job to the warm process and gives its answer."""
    child = subprocess.Popen(
        [sys.executable, str(HERE / "mutation_server.py")],
        cwd=project,
        env=environment(project, project.parent / "cache"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdout.readline()

    def ask(job: dict[str, Any]) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(json.dumps(job) + "\n")
        child.stdin.flush()
        answer: dict[str, Any] = json.loads(child.stdout.readline())
        return answer

    try:
        yield ask
    finally:
        child.stdin.close()
        child.wait(60)


def warmed_up(cover: Any, folder: Path, ask: Any) -> str | None:
    """Runs the quickest test of each file without a mutant, which leaves compiled modules behind; a
    test that fails.
    """
    quickest: dict[str, tuple[str, float]] = {}
    for name, cpu in sorted(cover.tests, key=lambda test: float(test[1])):
        quickest.setdefault(name.partition("::")[0], (name, cpu))
    job = {
        "tests": list(quickest.values()),
        "cache": str(folder / "cache"),
        "spare": 60.0,
        "wall": 900.0,
        "sources": None,
    }
    answer = ask({**job, "keeps": True})
    return None if answer["outcome"] == "survived" else str(answer["test"])


def judge(
    mutant: Any, source: Path, cover: Any, folder: Path, ask: Any, budget: float = BUDGET
) -> dict[str, Any]:
    """Puts the change into the copy, runs the tests of its line, and puts the file back."""
    from .mutation_choice import choose, is_native
    from .mutation_draw import mutated

    path = source / mutant.file
    text = path.read_text(encoding="utf-8")
    changed = mutated(text, mutant)
    before, after = difference(text, changed or text, mutant.line)
    row = {
        "key": mutant.key,
        "package": mutant.package,
        "file": mutant.file,
        "line": mutant.line,
        "operator": mutant.operator,
    }
    row |= {"before": before, "after": after}
    choice = choose(cover, mutant, source, budget)
    if changed is None:
        return row | {"outcome": "same program", "test": None, "cpu": 0.0}
    if not choice.tests:
        return row | {"outcome": "no tests", "test": None, "cpu": 0.0}
    more = [
        test
        for test in choose(cover, mutant, source, SECOND_BUDGET * budget).tests
        if test not in choice.tests
    ]
    cache = folder / "cache"
    if (
        mutant.package == "compiled"
    ):  # wrong code must not be found by the next mutant; files are replaced, never written to
        cache = folder / "cache-of-mutant"
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(folder / "cache", cache, copy_function=os.link)
    native = is_native(mutant.file, source)
    job = {
        "tests": choice.tests,
        "cache": str(cache),
        "spare": SPARE_NATIVE if native else SPARE,
        "wall": 60.0 * (4.0 if native else 3.0),
        "sources": None if native or mutant.package != "compiled" else native_digest(source),
    }
    compiled = Path(importlib.util.cache_from_source(str(path)))
    compiled.unlink(missing_ok=True)
    try:
        path.write_text(changed, encoding="utf-8")
        answer: dict[str, Any] = ask(job)
        if answer["outcome"] == "survived" and more:
            again = ask({**job, "tests": more})
            ran, cpu = (answer[key] + again.get(key, 0) for key in ("ran", "cpu"))
            answer = {**again, "ran": ran, "cpu": round(cpu, 2)}
        return row | answer
    finally:
        path.write_text(text, encoding="utf-8")


def native_digest(source: Path) -> str:
    """What `compiled.native_module` names its sources by, of the files as they are."""
    total = hashlib.sha256()
    for part in ("codegen", "runtime", "integrate"):
        for path in sorted((source / part).rglob("*.py")):
            total.update(path.read_bytes())
    return total.hexdigest()


def difference(text: str, changed: str, place: int) -> tuple[str, str]:
    """The first line that differs, before and after; where lines were taken away, the one at the
    place, and nothing after.
    """
    old, new = text.splitlines(), changed.splitlines()
    if len(old) != len(new):
        return old[place - 1].strip(), ""
    return next(
        ((one.strip(), other.strip()) for one, other in zip(old, new, strict=True) if one != other),
        ("", ""),
    )


def rows_of(path: Path) -> list[dict[str, Any]]:
    """What an earlier pass has kept; a last line that was cut off is left out."""
    rows = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def wilson(hits: int, total: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927, score interval)."""
    if total == 0:
        return 0.0, 1.0
    z = 1.959964
    share = hits / total
    middle = share + z * z / (2 * total)
    width = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    return max(0.0, (middle - width) / (1 + z * z / total)), min(
        1.0, (middle + width) / (1 + z * z / total)
    )


def verdicts() -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """The survivors that were looked at, by file, operator and change."""
    if not SURVIVORS.exists():
        return {}
    rows = tomllib.loads(SURVIVORS.read_text(encoding="utf-8"))["survivor"]
    return {(row["file"], row["operator"], row["before"], row["after"]): row for row in rows}


#: Verdicts of survivors that no test can or should kill.
EQUIVALENT = ("equivalent", "message text", "performance only")


def summarise(rows: list[dict[str, Any]], report: Report) -> None:
    """The shares by package, survivors that were judged equivalent apart, and what is still to be
    looked at.
    """
    judged = verdicts()
    rows = [row for row in rows if row["outcome"] != "same program"]
    report.figure("mutants run", len(rows))
    report.figure("of them ended by the time limit", sum(row["outcome"] == "time" for row in rows))
    report.figure(
        "of them on lines that no test was seen to run",
        sum(row["outcome"] == "no tests" for row in rows),
    )
    report.figure(
        "processor time of the tests that met them",
        round(sum(row["cpu"] for row in rows) / 60, 1),
        "min",
    )
    found: Counter[tuple[str, str]] = Counter()
    for row in rows:
        place = row["file"], row["operator"], row["before"], row["after"]
        known = judged.get(place, {"verdict": "not looked at"})
        verdict = "killed" if row["outcome"] in KILLED else known["verdict"]
        found.update({(row["package"], verdict): 1, ("all", verdict): 1})
    for package in (*sorted({row["package"] for row in rows}), "all"):
        own = {verdict: count for (where, verdict), count in found.items() if where == package}
        total, killed = sum(own.values()), own.get("killed", 0)
        mended, elsewhere = own.get("weak test", 0), own.get("outside the budget", 0)
        matters = total - sum(own.get(verdict, 0) for verdict in EQUIVALENT)
        report.figure(f"{package}: killed", share(killed, total))
        report.figure(f"{package}: killed, equivalent ones apart", share(killed, matters))
        report.figure(f"{package}: survivors that matter", matters - killed)
        report.figure(
            f"{package}: of them killed by tests that were there and beyond the budget", elsewhere
        )
        report.figure(f"{package}: of them killed by tests that were written since", mended)
        high = wilson(killed + elsewhere, matters)[1]
        if high < PROMISED and matters >= 20:
            report.fault(
                f"{package}: at most {high:.0%} of the mutants are killed (95 %), less than"
                f" {PROMISED:.0%}"
            )
    for (where, verdict), count in sorted(found.items()):
        if where == "all" and verdict != "killed":
            report.figure(f"survivors: {verdict}", count)


def share(hits: int, total: int) -> str:
    """A share with its interval."""
    low, high = wilson(hits, total)
    return f"{hits} of {total}, {hits / max(1, total):.0%} ({low:.0%} to {high:.0%})"
