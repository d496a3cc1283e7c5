"""Sweeps of up to a million short runs: memory over the run, files of the store, and a part of it
read back.

``python -m soak.load_sweeps KIND METHOD COUNT FOLDER`` is one of them, in a process of its own; its
samples go out as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.model.io.files import loads

from . import ROOT
from .harness import Options, Report
from .leak_figures import PAGE, growth

__all__ = ["sweeps"]

#: Times that each run keeps: enough for the results of a million runs to be larger than the memory
#: that is allowed.
TIMES = 20
#: What the memory of a sweep into a store may grow by from its first quarter to its end, in bytes a
#: run.
BYTES_A_RUN = 16.0
#: The most files of a store; blocks are made larger where runs are shorter.
MOST_FILES = 20_000
#: The most runs, and those whose speed is measured first.
MOST_RUNS, MEASURED = 1_000_000, 10_000

MODEL = """
name = "Oscillator"
coordinates = ["x"]
kinetic = "x_dot**2/2"
potential = "k*x**2/2"
[parameters]
k = 1.0
[start]
x = 1.0
[simulate]
t = [0, 0.2]
"""


def sweeps(options: Options, report: Report, seconds: float) -> None:
    """A million runs by Taylor steps, which are fast; by the usual method as many as fit; and the
    command line.
    """
    most = 50_000 if options.quick else MOST_RUNS
    _stored("taylor", most, options, report)
    _in_memory("taylor", most // 2, options, report)
    first = _process("store", "dop853", 2_000 if options.quick else MEASURED, options, report)
    if first is None:
        return
    speed = first["runs"] / max(first["seconds"], 1e-3)
    count = 4_000 if options.quick else int(min(MOST_RUNS, max(50_000, 0.5 * seconds * speed)))
    _stored("dop853", count, options, report)
    _by_command(count // 5, options, report)


def _stored(method: str, count: int, options: Options, report: Report) -> None:
    found = _process("store", method, count, options, report)
    if found is None:
        return
    done, resident = np.array(found["done"]), np.array(found["rss"])
    quarters = [
        int(resident[np.searchsorted(done, share * count)])
        for share in (0.0, 0.25, 0.5, 1.0 - 1e-12)
    ]
    derivative = growth(done[done >= count / 4].tolist(), resident[done >= count / 4].tolist())
    report.figure(f"sweep by {method} into a store: runs", count)
    report.figure(f"sweep by {method} into a store: runs a second", round(count / found["seconds"]))
    report.figure(
        f"sweep by {method} into a store: memory at the start, a quarter, half, the end",
        [_mb(x) for x in quarters],
        "MB",
    )
    report.figure(
        f"sweep by {method} into a store: memory when the ensemble is there",
        _mb(found["after"]),
        "MB",
    )
    report.figure(
        f"sweep by {method} into a store: growth after a quarter",
        f"{derivative.derivative:.2f} +- {derivative.uncertainty:.2f}",
        "bytes a run",
    )
    report.figure(f"sweep by {method} into a store: size of the store", _mb(found["bytes"]), "MB")
    report.figure(f"sweep by {method} into a store: files of the store", found["files"])
    report.figure(
        f"sweep by {method} into a store: memory for 100 runs read back", _mb(found["slice"]), "MB"
    )
    if derivative.least > BYTES_A_RUN or found["after"] > quarters[1] + max(
        BYTES_A_RUN * count, 8e6
    ):
        report.fault(
            f"the memory of a sweep of {count} runs by {method} grows: {quarters}, {found['after']}"
            " (python -m soak load)"
        )
    if found["files"] > MOST_FILES:
        report.fault(f"a store of {count} runs has {found['files']} files (python -m soak load)")
    if found["error"] > 1e-9:
        report.fault(f"runs of a sweep are wrong by {found['error']:.1e} (python -m soak load)")
    if found["slice"] > max(0.25 * found["bytes"], 8e6):
        report.fault(
            f"reading 100 runs back took {_mb(found['slice'])} MB of a store of"
            f" {_mb(found['bytes'])} MB"
        )


def _in_memory(method: str, count: int, options: Options, report: Report) -> None:
    """Without a store the results are all that is kept: so many numbers a run and no more."""
    found = _process("memory", method, count, options, report)
    if found is None:
        return
    taken, results = found["after"] - found["rss"][0], count * 8.0 * (2 * TIMES + 6)
    report.figure("sweep in memory: runs", count)
    report.figure(
        "sweep in memory: memory taken, and the size of its results",
        [_mb(taken), _mb(results)],
        "MB",
    )
    if taken > 3 * results + 3e7:
        report.fault(
            f"a sweep of {count} runs in memory took {_mb(taken)} MB for {_mb(results)} MB of"
            " results"
        )


def _by_command(count: int, options: Options, report: Report) -> None:
    """The command line, whose process ends with its peak."""
    folder = options.scratch / "sweep-command"
    folder.mkdir(exist_ok=True)
    (folder / "model.toml").write_text(MODEL)
    peak = "open('/proc/self/status').read().split('VmHWM:')[1].split()[0]"
    start = (
        f"import sys; from dalembert.cli import main; code = main(); print({peak}); sys.exit(code)"
    )
    command, peaks = [sys.executable, "-c", start, "sweep", "model.toml", "--over"], []
    for number, runs in enumerate(
        (20, count // 10, count)
    ):  # the first compiles what the others find in the cache
        words = [*command, f"k=1:4:{runs}", "-o", f"runs-{number}.zarr"]
        with (folder / f"{number}.txt").open("w") as stream:
            process = subprocess.run(words, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)
        if process.returncode:
            report.fault(
                f"{' '.join(words[1:])} ended with code {process.returncode}:"
                f" {(folder / f'{number}.txt').read_text()[-200:]}"
            )
            return
        peaks.append(1024 * int((folder / f"{number}.txt").read_text().split()[-1]))
    report.figure("dalembert sweep: runs of two stores", [count // 10, count])
    report.figure(
        "dalembert sweep: largest memory of the two processes",
        [_mb(peak) for peak in peaks[1:]],
        "MB",
    )
    if peaks[2] > peaks[1] + 200.0 * count + 2e7:
        report.fault(
            f"`dalembert sweep` of {count} runs took {_mb(peaks[2])} MB, of a tenth"
            f" {_mb(peaks[1])} MB"
        )


def _process(
    kind: str, method: str, count: int, options: Options, report: Report
) -> dict[str, Any] | None:
    folder = options.scratch / f"sweep-{kind}-{method}-{count}"
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "soak.load_sweeps", kind, method, str(count), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        report.fault(
            f"a sweep of {count} runs ended with code {done.returncode}: {done.stderr[-300:]}"
            f" ({' '.join(command[1:])})"
        )
        return None
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _mb(size: float) -> float:
    return round(size / 1e6, 1)


# -- in the process --------------------------------------------------------------------------------


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def _run(kind: str, method: str, count: int, folder: Path) -> dict[str, Any]:
    """One sweep: x(t) = cos(sqrt(k) t), for as many k."""
    scenario = loads(MODEL)
    stiffness, times = np.linspace(1.0, 4.0, count), np.linspace(0.01, 0.2, TIMES)
    path = folder / "runs.zarr" if kind == "store" else None
    da.sweep(scenario, {"k": stiffness[:50]}, at=times, workers=2, method=method)
    done, rss = [0], [_resident()]

    def progress(_: float, runs: float) -> None:
        done.append(int(runs))
        rss.append(_resident())

    began = time.monotonic()
    runs = da.sweep(
        scenario,
        {"k": stiffness},
        at=times,
        store=path,
        workers=2,
        progress=progress,
        method=method,
    )
    seconds = time.monotonic() - began
    assert runs.success
    after = _resident()
    found: dict[str, Any] = {
        "runs": count,
        "seconds": seconds,
        "done": done,
        "rss": rss,
        "after": after,
    }
    some = np.linspace(0, count - 1, 100).astype(int)
    exact = np.cos(np.sqrt(stiffness[some])[:, None] * times)
    if path is None:
        return found | {"error": float(np.max(np.abs(runs["x"][some] - exact)))}
    import xarray as xr

    xr.open_zarr(path)["x"].isel(k=slice(0, 1)).load()  # what reading needs the first time
    before, middle = _resident(), count // 2
    part = xr.open_zarr(path)["x"].isel(k=slice(middle, middle + 100)).values
    exact = np.cos(np.sqrt(stiffness[middle : middle + 100])[:, None] * times)
    sizes = [entry.stat().st_size for entry in path.rglob("*") if entry.is_file()]
    found |= {"slice": _resident() - before, "error": float(np.max(np.abs(part - exact)))}
    return found | {"bytes": sum(sizes), "files": len(sizes)}


if __name__ == "__main__":
    print(json.dumps(_run(sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))))
