"""Memory stays flat: what is dropped is freed, compiled code among it, however long a process
lives.

Each cycle (`soak.leak_cycles`) runs in a process of its own, thousands of times, with samples of
its resident memory, of the C heap, of its maps, files and threads, of Python's objects and of the
libraries of native code. After the first half, in which bounded caches fill, a line through the
samples must not rise above a stated bound, its doubt (twice the standard error) taken off. The
cycle `kept` keeps what it makes; there the same watch must see the leak.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any

from . import ROOT
from .harness import Options, Report
from .leak_figures import BYTES_BOUND, MORE_MAPS, Sample, converged, growth, sample, verdict

__all__ = ["run"]

#: The share of the time that each cycle gets, and after how many cycles a sample is taken.
SHARES: dict[str, tuple[float, int]] = {
    "kept": (0.4, 10),
    "one-kernel": (0.5, 50),
    "ensembles": (0.7, 10),
    "files": (0.7, 10),
    "stores": (3.0, 10),
    "pictures": (2.0, 5),
    "threads": (1.0, 20),
    "slopes": (1.0, 10),
    "forms": (2.0, 20),
    "lab worker": (4.5, 10),
    "ever-new-cached": (2.0, 25),
    "ever-new": (3.5, 25),
}
#: With fewer cycles than these the caches may still fill in the second half, and no slope is
#: judged: new systems go through caches of SymPy, of which the processes have 100 places each in
#: the stead of 1000, and stores through pools of zarr.
ENOUGH = {
    "ever-new": 400, "ever-new-cached": 400, "forms": 400, "threads": 400, "slopes": 200,
    "lab worker": 240,
    "stores": 800, "pictures": 150,
}  # fmt: skip
SYMPY_CACHE = "100"
#: The cycles of a smoke run.
QUICK = ("one-kernel", "kept")

MODEL = """
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "{stiffness}*x**2/2 + y**{power}/4"
[parameters]
m = {mass}
[start]
x = 0.5
y = 0.3
[simulate]
t = [0, 1]
"""


def run(options: Options, report: Report) -> None:
    """All cycles one after the other, each with its share of the time."""
    shares = {name: SHARES[name] for name in QUICK} if options.quick else SHARES
    total = sum(share for share, _ in shares.values())
    for name, (share, every) in shares.items():
        seconds = 60.0 * options.minutes * share / total
        samples = (
            _lab_worker(seconds, every)
            if name == "lab worker"
            else _in_process(name, seconds, every, options, report)
        )
        if samples:
            _report(name, samples, report)


def _in_process(
    name: str, seconds: float, every: int, options: Options, report: Report
) -> list[Sample]:
    """The samples of a cycle that runs in a process of its own, for so many seconds of wall
    time.
    """
    folder = options.scratch / f"leaks-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    cache = str(folder / "cache") if name == "ever-new-cached" else "off"
    command = [
        sys.executable,
        "-m",
        "soak.leak_cycles",
        name,
        f"{seconds:g}",
        str(every),
        str(folder),
        str(options.seed),
    ]
    environment = os.environ | {
        "DALEMBERT_CACHE": cache,
        "MPLBACKEND": "agg",
        "SYMPY_CACHE_SIZE": SYMPY_CACHE,
    }
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=10 * seconds + 300,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
        report.fault(
            f"the cycle {name} ended with code {done.returncode}: {last[:300]}"
            f" ({' '.join(command[2:])})"
        )
        return []
    return [Sample(**row) for row in json.loads(done.stdout.splitlines()[-1])]


def _report(name: str, samples: list[Sample], report: Report) -> None:
    late = converged(samples)
    cycles = [found.cycle for found in late]
    bound, maps = (WORKER_BOUND, WORKER_MAPS) if name == "lab worker" else (BYTES_BOUND, MORE_MAPS)
    report.say(f"  {name}: {samples[-1].cycle} cycles")
    report.figure(f"{name}: cycles", samples[-1].cycle)
    report.figure(
        f"{name}: resident memory early, at half, at the end",
        _megabytes([samples[1], late[0], late[-1]]),
        "MB",
    )
    for what in ("rss", "heap"):
        values = [getattr(found, what) for found in late]
        if min(values) >= 0:
            found = growth(cycles, values)
            told = f"{found.slope:.1f} +- {found.uncertainty:.1f}"
            report.say(f"  {name}: {what} grows by {told} bytes a cycle")
            report.figure(
                f"{name}: growth of {what} in the second half (bound {bound:g})",
                told,
                "bytes a cycle",
            )
    ends = {
        key: [getattr(late[0], key), getattr(late[-1], key)]
        for key in ("maps", "files", "threads", "objects", "libraries")
    }
    report.figure(
        f"{name}: at half and at the end",
        {key: pair for key, pair in ends.items() if min(pair) >= 0},
    )
    enough = samples[-1].cycle >= ENOUGH.get(name, 0)
    if not enough:
        report.figure(
            f"{name}: verdict on slopes", f"none, for that it takes {ENOUGH[name]} cycles"
        )
    faults = verdict(samples, bound, slopes=enough, more_maps=maps)
    if name == "kept":
        if not any("libraries" in fault for fault in faults) or not any(
            "heap" in fault for fault in faults
        ):
            report.fault(f"a leak on purpose was not seen: {faults} (python -m soak leaks)")
        return
    for fault in faults:
        report.fault(f"{name}: {fault} (python -m soak leaks)")


def _megabytes(samples: list[Sample]) -> list[float]:
    return [round(found.rss / 1e6, 1) for found in samples]


# -- a worker of the lab ---------------------------------------------------------------------------

#: A worker keeps the last models, motions and answers; its memory moves with what these are.
WORKER_BOUND, WORKER_MAPS = 4096.0, 100


def _lab_worker(seconds: float, every: int) -> list[Sample]:
    """One worker process of the lab, asked question after question about ever new models."""
    from dalembert.lab.limits import Limits
    from dalembert.lab.workers import process as processes
    from dalembert.lab.workers.process import Job, WorkerProcess

    os.environ["SYMPY_CACHE_SIZE"] = SYMPY_CACHE  # which workers do not get otherwise
    processes.ENVIRONMENT = (*processes.ENVIRONMENT, "SYMPY_CACHE_SIZE")

    async def ask() -> list[Sample]:
        worker = WorkerProcess(Limits(), quick=False)
        await worker.start()
        process: Any = worker._process
        end, count, samples = time.monotonic() + seconds, 0, [sample(0, process.pid)]
        try:
            while time.monotonic() < end or len(samples) < 8:
                for _ in range(every):
                    for kind, request in _questions(count):
                        answer = await worker.work(Job(count + 1, kind, request, 20.0))
                        assert answer.status == 200, (kind, answer)
                    count += 1
                samples.append(sample(count, process.pid))
        finally:
            await worker.kill()
        return samples

    return asyncio.run(ask())


def _questions(k: int) -> list[tuple[str, dict[str, Any]]]:
    """What the page asks about one model."""
    text = MODEL.format(stiffness=1.0 + k / 977, power=2 + 2 * (k % 2), mass=1.0 + k / 499)
    case: dict[str, Any] = {"text": text}
    run: dict[str, Any] = case | {"id": f"run{k}", "frames": 100, "steps": 100_000}
    portrait = case | {"x": "x", "y": "x_dot", "points": [[0.1, 0.2], [0.3, 0.0]]}
    return [
        ("check", case),
        ("start", case),
        ("equations", case | {"form": "lagrange"}),
        ("run", run),
        ("download", run | {"format": ("csv", "nc", "svg")[k % 3]}),
        ("portrait", portrait),
    ]
