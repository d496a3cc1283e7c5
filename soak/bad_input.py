"""Whatever is read, a text, a file or a request, ends in a good result or in one clear sentence,
soon, and none of it is run.

The ways in are searched: expressions, model files, robots (URDF, MJCF), motions (netCDF), stores of
sweeps (Zarr), requests to the lab, and messages between the lab and its workers.
First the kept inputs are replayed; then texts made by a grammar and texts that are meant to take
long are tried; the rest is a search guided by the branches that inputs reach, for which the package
atheris is needed: pip install "dalembert[fuzz]".
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import ROOT
from .fuzz import CORPUS, REGRESSIONS
from .fuzz.bombs import expression_bombs, model_bombs
from .fuzz.seeds import dictionary, seeds
from .fuzz.targets import TARGETS, BrokenError, checked
from .harness import RESULTS, Options, Report

#: Shares of the search in time.
SHARES = {
    "expression": 0.15,
    "model": 0.2,
    "request": 0.15,
    "message": 0.05,
    "urdf": 0.15,
    "mjcf": 0.15,
    "motion": 0.1,
    "store": 0.05,
}
#: Longest inputs; the image of a motion is longer than texts.
MOST_BYTES = {"motion": 60_000}
#: Where the search goes on from one run to the next.
WORKING = ROOT / ".soak" / "fuzz"
#: Bytes of resident memory that the tried texts may take together.
MOST_MEMORY = 1_500_000_000
SLICE = 150.0
ALL = "all searches that the corpus comes from"


def run(options: Options, report: Report) -> None:
    """Replay, grammar, bombs, search."""
    deadline = options.deadline
    _replay(report)
    _bombs(report)
    _grammar(
        time.monotonic() + (8.0 if options.quick else 6.0 * options.minutes), options.seed, report
    )
    if find_spec("atheris") is None:
        report.figure("guided search", 'left out: pip install "dalembert[fuzz]" for it')
        return
    _search(deadline, options, report)


def _tried(report: Report, target: str, data: bytes, label: str) -> bool:
    try:
        checked(target, data)
        return True
    except BrokenError as broken:
        report.fault(f"{label}: {broken}"[:600])
        return False


def _replay(report: Report) -> None:
    """Every input that is kept."""
    paths = sorted(path for folder in (CORPUS, REGRESSIONS) for path in folder.glob("*/*"))
    kept = sum(
        _tried(report, path.parent.name, path.read_bytes(), str(path.relative_to(ROOT)))
        for path in paths
    )
    report.figure("kept inputs replayed", kept)


def _bombs(report: Report) -> None:
    """Texts that are meant to take long."""
    slowest, count = 0.0, 0
    for target, bombs in (("expression", expression_bombs()), ("model", model_bombs())):
        for label, text in bombs:
            began = time.process_time()
            _tried(report, target, text.encode(), f"the bomb {label!r}")
            slowest, count = max(slowest, time.process_time() - began), count + 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    report.figure("texts that are meant to take long", count)
    report.figure("processor time of the slowest of them", round(slowest, 2), "s")
    report.figure("memory of the process after them", round(memory / 1e6), "MB")
    if memory > MOST_MEMORY:
        report.fault(f"texts that are meant to be large took {memory / 1e6:.0f} MB")


def _grammar(until: float, seed: int, report: Report) -> None:
    """Texts and model files by hypothesis, until the time is up."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import seed as seeded
    from hypothesis import strategies as st

    import strategies
    from dalembert.errors import DalembertError
    from dalembert.model.io.files import loads

    counts = dict.fromkeys(("expressions", "model files", "model files with a fault"), 0)

    def named(broken: tuple[dict[str, Any], str]) -> None:
        counts["model files with a fault"] += 1
        try:
            loads(strategies.toml_text(broken[0]))
        except DalembertError as error:
            assert broken[1] in str(error), f"{error} does not name {broken[1]}"
        else:
            raise AssertionError(f"a file without a good {broken[1]} was taken")

    def expression(text: str) -> None:
        counts["expressions"] += 1
        checked("expression", text.encode())

    def model(table: dict[str, Any]) -> None:
        counts["model files"] += 1
        checked("model", strategies.toml_text(table).encode())

    tried: list[tuple[Any, Callable[[Any], None]]] = [
        (strategies.expression_texts(depth=6), expression),
        (strategies.model_tables(), model),
        (strategies.broken_models(), named),
    ]
    rounds = 0
    while time.monotonic() < until or not rounds:
        for strategy, check in tried:
            quiet = settings(
                max_examples=50,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            drawn: st.SearchStrategy[Any] = strategy
            try:
                seeded(seed * 1000 + rounds)(quiet(given(drawn)(check)))()
            except (AssertionError, Exception) as broken:
                report.fault(
                    f"{check.__name__} by the grammar, seed {seed * 1000 + rounds}: {broken}"[:600]
                )
        rounds += 1
    for what, count in counts.items():
        report.figure(f"{what} by the grammar", count)


# -- the search ------------------------------------------------------------------------------------


def _search(deadline: float, options: Options, report: Report) -> None:
    """Each target in processes of its own, slice after slice, until the time is up; what was found
    stays in a folder.
    """
    totals = {
        target: {"executions": 0, "seconds": 0.0, "crashes": 0, "features": 0} for target in TARGETS
    }
    for target in TARGETS:
        _prepare(target)
    number = options.seed
    while (left := deadline - time.monotonic()) > 5.0:
        for target in sorted(
            TARGETS, key=lambda target: totals[target]["seconds"] / SHARES[target]
        ):
            seconds = min(SLICE, left) * SHARES[target]
            if deadline - time.monotonic() < 2.0:
                break
            _slice(target, max(2.0, seconds), number, totals[target], report)
        number += 1
    earlier = _earlier()
    for target, total in totals.items():
        report.figure(f"{target}: executions of the search", total["executions"])
        everything = f"{target}: executions of {ALL}"
        report.figure(everything, total["executions"] + earlier.get(everything, 0))
        if total["features"]:
            report.figure(f"{target}: features reached", total["features"])
        report.figure(
            f"{target}: inputs in the working corpus", len(list((WORKING / target).iterdir()))
        )
        report.figure(f"{target}: inputs that broke a guarantee", total["crashes"])
    minutes = sum(total["seconds"] for total in totals.values()) / 60
    report.figure("time of the search", round(minutes, 1), "min")
    report.figure(f"time of {ALL}", round(minutes + earlier.get(f"time of {ALL}", 0.0), 1), "min")


def _earlier() -> dict[str, float]:
    """The kept figures of the searches before this one, by name."""
    path = RESULTS / "bad-input.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["figures"] if path.exists() else []
    return {row["name"]: row["value"] for row in kept}


def _prepare(target: str) -> None:
    folder = WORKING / target
    folder.mkdir(parents=True, exist_ok=True)
    for data in seeds(target):
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)
    words = (
        '"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in dictionary(target)
    )
    (WORKING / f"{target}.dict").write_text("".join(words))


def _slice(target: str, seconds: float, seed: int, total: dict[str, Any], report: Report) -> None:
    """One process; a broken guarantee ends it, and its input is kept beside the working corpus."""
    crashes = WORKING / f"{target}-broken"
    crashes.mkdir(exist_ok=True)
    before = set(crashes.iterdir())
    command = [
        sys.executable,
        "-m",
        "soak.fuzz",
        target,
        str(WORKING / target),
        f"-dict={WORKING / target}.dict",
    ]
    command += [
        f"-max_total_time={seconds:.0f}",
        f"-seed={seed}",
        "-timeout=120",
        "-rss_limit_mb=2000",
        f"-max_len={MOST_BYTES.get(target, 3000)}",
    ]
    command += [f"-artifact_prefix={crashes}{os.sep}", "-print_final_stats=1"]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + 240,
        )
        said = done.stderr
    except subprocess.TimeoutExpired as late:
        said = (
            (late.stderr or b"").decode(errors="replace")
            if isinstance(late.stderr, bytes)
            else str(late.stderr or "")
        )
    total["seconds"] += time.monotonic() - began
    counted = re.findall(r"number_of_executed_units: (\d+)", said) or re.findall(
        r"^#(\d+)\s", said, re.MULTILINE
    )
    total["executions"] += int(counted[-1]) if counted else 0
    features = [int(found) for found in re.findall(r" ft: (\d+)", said)]
    total["features"] = max([total["features"], *features])
    for path in sorted(set(crashes.iterdir()) - before):
        total["crashes"] += 1
        reason = next(
            iter(re.findall(r"BrokenError: (.*)", said)), "it took too long or too much memory"
        )
        report.fault(f"{target}: {reason[:300]}; the input is {_shown(path)}")


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))
