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
from .systems import check_inputs, configured, read_number, read_settings, read_span, read_times
from .terminal import Progress, print_json, show

if TYPE_CHECKING:
    from ..integrate.ensemble.ensemble import Ensemble

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


def sweep_command(request: SweepRequest) -> int:
    """Sweep and report; the status is 0, or 1 where some runs did not reach their end."""
    from ..integrate.ensemble.sweep import sweep
    from .sweep_formulas import derived_axes

    scenario = configured(request.system, request.settings)
    check_inputs(scenario)
    over, paired = read_over(request)
    both = [name for name in read_settings(request.settings) if name in over]
    if both:
        raise ModelError(f"{shortened(both[0])} is swept and set", seen=f"--set {both[0]}", remedy="leave one of them out")
    times = None if request.at is None else read_times(request.at)
    span = read_span(request.span, times, scenario.simulate.get("span"))
    kept = {key: value for key, value in scenario.simulate.items() if key != "at" or request.span is None}
    scenario = scenario.replacing(simulate=kept)
    stated = {key for key, value in (("t", request.span), ("at", request.at), *request.options.items()) if value is not None}
    derived = derived_axes(request.system, request.settings, scenario, over, paired, stated)
    with Progress("Sweeping") as progress:
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
            progress=None if request.as_json else progress,
            derived=derived,
            **{key: value for key, value in request.options.items() if value is not None},
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
        there = f"{len(ensemble) - missing} of {len(ensemble)} runs are in {shortened(str(request.output))}"
        raise KeptInterruptError(f"Interrupted: {there}; go on with --resume.")
    if ensemble.success:
        return FINE
    failed = int(ensemble.failed.sum())
    print(f"{failed} of {len(ensemble)} runs did not reach their end; what they reached is kept.", file=sys.stderr)
    return UNFINISHED


# -- reading -----------------------------------------------------------------------------------------------------------


def read_over(request: SweepRequest) -> tuple[dict[str, Any], bool]:
    """The values that are swept by name, and whether the k-th ones of all belong together."""
    from ..integrate.ensemble.sweep import latin_hypercube

    if request.samples is not None:
        if request.over or request.sample is not None:
            raise ModelError("--samples names every run", seen="--over or --sample", remedy="leave these out")
        return read_samples(request.samples), True
    if not request.over:
        raise ModelError("There is nothing to sweep over", remedy="pass --over m=0.1:2:50, or --samples runs.csv")
    over: dict[str, Any] = {}
    for text in request.over:
        name, sign, values = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise ModelError("--over takes NAME=VALUES", seen=shortened(text), remedy="write --over m=0.1:2:50")
        if name in over:
            raise ModelError(f"--over names {shortened(name)} twice", remedy="give all its values at once")
        over[name] = _read_bounds(name, values) if request.sample is not None else _read_values(name, values)
    if request.sample is not None:
        if not 1 <= request.sample <= MOST_RUNS:
            raise ModelError("--sample is a number of runs, at least 1", seen=request.sample)
        if request.seed < 0:
            raise ModelError("--seed is a number from 0 on", seen=request.seed, remedy="write --seed 1")
        return latin_hypercube(over, request.sample, request.seed), True
    count = 1
    for values_of in over.values():
        count *= len(values_of)
    if count > MOST_RUNS:
        raise ModelError(f"A sweep has at most {MOST_RUNS} runs", seen=count, remedy="take fewer values, or --sample")
    return over, False


def _read_values(name: str, text: str) -> list[float]:
    """A list with commas, in which FIRST:LAST:COUNT are equally spaced values."""
    try:
        return read_times(text)
    except ModelError as error:
        raise ModelError(
            f"--over {shortened(name)} takes values",
            seen=shortened(text),
            remedy="write FIRST:LAST:COUNT, or values with commas",
        ) from error


def _read_bounds(name: str, text: str) -> tuple[float, float]:
    low, sign, high = text.partition(":")
    if not sign or ":" in high:
        raise ModelError(
            f"With --sample, --over {shortened(name)} takes two bounds", seen=shortened(text), remedy="write LOW:HIGH"
        )
    return read_number(low, f"--over {shortened(name)}"), read_number(high, f"--over {shortened(name)}")


def read_samples(path: Path) -> dict[str, list[float]]:
    """The columns of a CSV file by name: one line a run."""
    shown = shortened(str(path))
    try:
        if stat.S_ISCHR(path.stat().st_mode):
            raise FileError(f"The samples {shown} are a device", remedy="name a CSV file")
        with path.open(newline="", encoding="utf-8-sig") as stream:
            text = stream.read(LARGEST_SAMPLES + 1)
        if len(text) > LARGEST_SAMPLES:
            raise FileError(f"The samples {shown} have more than {LARGEST_SAMPLES} characters", remedy="split them")
        lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not CSV text"
        raise FileError(f"The samples {shown} cannot be read", seen=reason, remedy="check the path") from error
    if len(lines) < 2:
        raise FileError(f"The samples {shown} have no runs", remedy="write a line of names, then one line for each run")
    names = [name.strip() for name in lines[0]]
    if len(set(names)) < len(names) or not all(names):
        raise FileError(f"The samples {shown} must name each column once", seen=", ".join(names))
    table: dict[str, list[float]] = {name: [] for name in names}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(names):
            raise FileError(f"Line {number} of {shown} has {len(line)} values", seen=f"{len(names)} names", remedy="correct it")
        for name, text in zip(names, line, strict=True):
            try:
                table[name].append(float(text))
            except ValueError:
                raise FileError(f"Line {number} of {shown} has a value that is no number", seen=shortened(text)) from None
    return table


# -- what is said ------------------------------------------------------------------------------------------------------


def _failures(ensemble: Ensemble) -> list[dict[str, Any]]:
    """The first runs that failed, with their values."""
    return _listed(ensemble, ensemble.failed)


def _listed(ensemble: Ensemble, which: Any) -> list[dict[str, Any]]:
    """The first of some runs, with their values and messages."""
    import numpy as np

    found = []
    for index in np.argwhere(which)[:MOST_LISTED]:
        place = tuple(int(k) for k in index)
        values = {name: float(ensemble[name][place]) for name in ensemble.table.coordinates}
        message = str(ensemble.messages[place])
        found.append({"run": list(place), "values": values, "outcome": str(ensemble.outcomes[place]), "message": message})
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
        "remarked": int(ensemble.remarked.sum()),
        "remarks": _listed(ensemble, ensemble.remarked),
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
    shape = " x ".join(f"{count} {name}" for name, count in zip(ensemble.table.dims, ensemble.shape, strict=True))
    lines = [
        ("runs", f"{len(ensemble)} ({shape})"),
        ("simulated", f"t = {first:.6g} to {last:.6g}, form {told['form']}, method {told['method']}, {control}"),
        ("outcome", ", ".join(f"{count} {name}" for name, count in ensemble.counts.items())),
    ]
    lines += [("failed", _told(failure)) for failure in _failures(ensemble)]
    if ensemble.diagnostic:
        lines.append(("remarks", ensemble.diagnostic))
    made = len(ensemble) - told["runs_before"] - ensemble.counts.get("not run", 0)
    speed = f", {made / told['wall_seconds']:.0f} runs a second" if made > 0 and told["wall_seconds"] > 0 else ""
    before = f"; {told['runs_before']} runs were there" if told["runs_before"] else ""
    lines.append(("effort", f"{told['wall_seconds']:.2f} s in {told['blocks']} blocks of {told['block']}{speed}{before}"))
    lines.append(("written", str(output)))
    return [Text(str(told["system"]), style="bold"), _labelled(lines)]


def _told(failure: Mapping[str, Any]) -> str:
    values = ", ".join(f"{name} = {value:.6g}" for name, value in failure["values"].items())
    return f"{values}: {failure['message'] or failure['outcome']}"
