"""``dalembert sweep``: many runs into one store, and what became of them."""

from __future__ import annotations

import csv
import io
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileError, ModelError
from ..model.names import shortened
from .entry import FINE, UNFINISHED
from .signals import KeptInterruptError
from .systems import (
    check_inputs,
    configured,
    read_number,
    read_settings,
    read_span,
    read_times,
    without_times,
)
from .terminal import Progress, ProgressLines, print_json, show

if TYPE_CHECKING:
    from ..integrate.ensemble.ensemble import Ensemble
    from ..typing import BoolArray

__all__ = ["SweepRequest", "sweep_command"]

#: Characters of a file of samples.
LARGEST_SAMPLES = 2**28
#: How many failed runs are listed.
MOST_LISTED = 10
#: The most runs that one call may ask for.
MOST_RUNS = 100_000_000


@dataclass(frozen=True)
class SweepRequest:
    """A call of ``dalembert sweep``, as it was given."""

    system: str
    over: tuple[str, ...]
    samples: Path | None
    sample: int | None
    seed: int
    output: Path
    resume: bool
    settings: tuple[str, ...]
    at: str | None
    span: str | None
    options: dict[str, Any]
    workers: int | None
    scheduler: str | None
    chunk: int | None
    as_json: bool
    json_lines: bool = False


def sweep_command(request: SweepRequest) -> int:
    """Sweep and report; the status is 0, or 1 where some runs did not reach their end."""
    from ..integrate.ensemble.sweep import sweep
    from .sweep_formulas import derived_axes

    scenario = configured(request.system, request.settings)
    check_inputs(scenario)
    over, paired = read_over(request)
    both = [name for name in read_settings(request.settings) if name in over]
    if both:
        what = f"{shortened(both[0])} is swept and set"
        raise ModelError(what, f"--set {both[0]}", "leave one of them out")
    times = None if request.at is None else read_times(request.at)
    span = read_span(request.span, times, scenario.simulate.get("span"))
    scenario = without_times(scenario, request.span)
    options = {key: value for key, value in request.options.items() if value is not None}
    asked = {"t": request.span, "at": request.at}
    stated = {*(key for key, value in asked.items() if value is not None), *options}
    derived = derived_axes(request.system, request.settings, scenario, over, paired, stated)
    shown = ProgressLines if request.json_lines else Progress
    with shown("Sweeping") as progress:
        ensemble = sweep(
            scenario,
            over,
            span=span,
            at=times,
            paired=paired,
            store=request.output,
            resume=request.resume,
            workers=request.workers,
            scheduler=request.scheduler,
            chunk=request.chunk,
            progress=None if request.as_json and not request.json_lines else progress,
            derived=derived,
            **options,
        )
    return _reported(request, ensemble)


def _reported(request: SweepRequest, ensemble: Ensemble) -> int:
    if request.as_json:
        print_json(sweep_json(ensemble, request.output))
    else:
        show(*_summary(ensemble, request.output))
    counts = ensemble.counts
    missing = counts.get("not run", 0)
    if ensemble.statistics["interrupted"] or missing:
        there = f"{len(ensemble) - missing} of {len(ensemble)} runs are in"
        there = f"{there} {shortened(str(request.output))}"
        raise KeptInterruptError(f"Interrupted: {there}; go on with --resume.")
    if ensemble.success:
        return FINE
    failed = int(ensemble.failed.sum())
    told = f"{failed} of {len(ensemble)} runs did not reach their end; what they reached is kept."
    print(told, file=sys.stderr)
    return UNFINISHED


# -- reading ---------------------------------------------------------------------------------------


def read_over(request: SweepRequest) -> tuple[dict[str, Any], bool]:
    """The values that are swept by name, and whether the k-th ones of all belong together."""
    from ..integrate.ensemble.sweep import latin_hypercube

    if request.samples is not None:
        if request.over or request.sample is not None:
            raise ModelError("--samples names every run", "--over or --sample", "leave these out")
        return read_samples(request.samples), True
    if not request.over:
        remedy = "pass --over m=0.1:2:50, or --samples runs.csv"
        raise ModelError("There is nothing to sweep over", remedy=remedy)
    over: dict[str, Any] = {}
    for text in request.over:
        name, sign, values = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise ModelError("--over takes NAME=VALUES", shortened(text), "write --over m=0.1:2:50")
        if name in over:
            what = f"--over names {shortened(name)} twice"
            raise ModelError(what, remedy="give all its values at once")
        read = _read_values if request.sample is None else _read_bounds
        over[name] = read(name, values)
    if request.sample is not None:
        if not 1 <= request.sample <= MOST_RUNS:
            raise ModelError("--sample is a number of runs, at least 1", seen=request.sample)
        if request.seed < 0:
            raise ModelError("--seed is a number from 0 on", request.seed, "write --seed 1")
        return latin_hypercube(over, request.sample, request.seed), True
    count = 1
    for values_of in over.values():
        count *= len(values_of)
    if count > MOST_RUNS:
        what = f"A sweep has at most {MOST_RUNS} runs"
        raise ModelError(what, count, "take fewer values, or --sample")
    return over, False


def _read_values(name: str, text: str) -> list[float]:
    """A list with commas, in which FIRST:LAST:COUNT are equally spaced values."""
    try:
        return read_times(text)
    except ModelError as error:
        remedy = "write FIRST:LAST:COUNT, or values with commas"
        what = f"--over {shortened(name)} takes values"
        raise ModelError(what, shortened(text), remedy) from error


def _read_bounds(name: str, text: str) -> tuple[float, float]:
    low, sign, high = text.partition(":")
    if not sign or ":" in high:
        what = f"With --sample, --over {shortened(name)} takes two bounds"
        raise ModelError(what, shortened(text), "write LOW:HIGH")
    where = f"--over {shortened(name)}"
    return read_number(low, where), read_number(high, where)


def read_samples(path: Path) -> dict[str, list[float]]:
    """The columns of a CSV file by name: one line a run."""
    shown = shortened(str(path))
    try:
        if stat.S_ISCHR(path.stat().st_mode):
            raise FileError(f"The samples {shown} are a device", remedy="name a CSV file")
        with path.open(newline="", encoding="utf-8-sig") as stream:
            text = stream.read(LARGEST_SAMPLES + 1)
        if len(text) > LARGEST_SAMPLES:
            what = f"The samples {shown} have more than {LARGEST_SAMPLES} characters"
            raise FileError(what, remedy="split them")
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not CSV text"
        raise FileError(f"The samples {shown} cannot be read", reason, "check the path") from error
    if len(lines) < 2:
        remedy = "write a line of names, then one line for each run"
        raise FileError(f"The samples {shown} have no runs", remedy=remedy)
    names = [name.strip() for name in lines[0]]
    if len(set(names)) < len(names) or not all(names):
        raise FileError(f"The samples {shown} must name each column once", seen=", ".join(names))
    table: dict[str, list[float]] = {name: [] for name in names}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(names):
            what = f"Line {number} of {shown} has {len(line)} values"
            raise FileError(what, f"{len(names)} names", "correct it")
        for name, text in zip(names, line, strict=True):
            try:
                table[name].append(float(text))
            except ValueError:
                what = f"Line {number} of {shown} has a value that is no number"
                raise FileError(what, seen=shortened(text)) from None
    return table


# -- what is said ----------------------------------------------------------------------------------


def _failures(ensemble: Ensemble) -> list[dict[str, Any]]:
    """The first runs that failed, with their values."""
    return _listed(ensemble, ensemble.failed)


def _listed(ensemble: Ensemble, which: BoolArray) -> list[dict[str, Any]]:
    """The first of some runs, with their values and messages."""
    import numpy as np

    found = []
    for index in np.argwhere(which)[:MOST_LISTED]:
        place = tuple(int(k) for k in index)
        values = {name: float(ensemble[name][place]) for name in ensemble.table.coordinates}
        outcome, message = str(ensemble.outcomes[place]), str(ensemble.messages[place])
        one = {"run": list(place), "values": values, "outcome": outcome, "message": message}
        found.append(one)
    return found


def sweep_json(ensemble: Ensemble, output: Path) -> dict[str, Any]:
    """A sweep as ``sweep --json`` prints it."""
    seconds = ensemble.statistics["wall_seconds"]
    return {
        "store": str(output),
        "runs": len(ensemble),
        "shape": dict(zip(ensemble.table.dims, ensemble.shape, strict=True)),
        "outcomes": ensemble.counts,
        "failures": _failures(ensemble),
        "remarked": int(ensemble.has_diagnostics.sum()),
        "remarks": _listed(ensemble, ensemble.has_diagnostics),
        "seconds": seconds,
        "statistics": ensemble.statistics,
    }


def _summary(ensemble: Ensemble, output: Path) -> list[Any]:
    """What was swept, how the runs ended, and how long it took."""
    from rich.text import Text

    from .summary import _labelled

    told: Mapping[str, Any] = ensemble.statistics
    first, last = told["span"]
    control = f"step {told['step']:g}" if "step" in told else f"rtol {told['rtol']:g}"
    axes = zip(ensemble.table.dims, ensemble.shape, strict=True)
    shape = " x ".join(f"{count} {name}" for name, count in axes)
    how = f"form {told['form']}, method {told['method']}, {control}"
    lines = [
        ("runs", f"{len(ensemble)} ({shape})"),
        ("simulated", f"t = {first:.6g} to {last:.6g}, {how}"),
        ("outcome", ", ".join(f"{count} {name}" for name, count in ensemble.counts.items())),
    ]
    lines += [("failed", _told(failure)) for failure in _failures(ensemble)]
    if ensemble.diagnostic:
        lines.append(("diagnostics", ensemble.diagnostic))
    made = len(ensemble) - told["runs_before"] - ensemble.counts.get("not run", 0)
    speed = ""
    if made > 0 and told["wall_seconds"] > 0:
        speed = f", {made / told['wall_seconds']:.0f} runs a second"
    before = f"; {told['runs_before']} runs were there" if told["runs_before"] else ""
    effort = f"{told['wall_seconds']:.2f} s in {told['blocks']} blocks of {told['block']}"
    lines.append(("effort", f"{effort}{speed}{before}"))
    lines.append(("written", str(output)))
    return [Text(str(told["system"]), style="bold"), _labelled(lines)]


def _told(failure: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} = {value:.6g}" for name, value in failure["values"].items())
    return f"{values}: {failure['message'] or failure['outcome']}"
