"""The same model, version and machine give the same bits, whatever process, cache, threads, blocks
and order.

Motions, texts, LaTeX and C are made in new processes with other hash seeds, with the cache cold,
warm and off, after other derivations, in another order and with parameters in another order; many
runs with 1 to 8 threads and blocks of 1 to all; and saved motions are rerun from their files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da

from . import ROOT
from .determinism_child import MODELS, digest, motion_digest
from .harness import Options, Report


def run(options: Options, report: Report) -> None:
    """Threads and blocks, reruns, then processes for the time that is left."""
    deadline = options.deadline
    tried = {"ensembles": 0, "reruns": 0, "processes": 0, "digests": 0}
    many_runs(report, tried, options.quick)
    reruns(report, tried, options)
    processes(report, tried, options, deadline)
    for name, count in tried.items():
        report.figure(f"{name} compared", count)


# -- many runs -------------------------------------------------------------------------------------


def many_runs(report: Report, tried: dict[str, int], quick: bool) -> None:
    """Threads, blocks, and the order of the runs; and each run by itself, which lanes change in the
    last digits.
    """
    theta, omega = da.coordinates("theta omega")
    k = da.parameters("k", positive=True)
    pendulum = da.System(
        [theta, omega],
        kinetic=(theta.dot**2 + omega.dot**2) / 2,
        potential=k * theta**2 * (1 + omega**2) + omega**2,
    )
    strengths = np.linspace(0.5, 3.0, 23)
    for method in ("dop853", "taylor"):
        first = da.sweep(
            pendulum,
            {k: strengths},
            start={theta: 1.0},
            span=(0, 5),
            at=[1.0, 5.0],
            method=method,
            workers=1,
        )
        grid = [(2, 7), (8, 1)] if quick else [(w, c) for w in (1, 2, 3, 8) for c in (1, 3, 7, 23)]
        for workers, chunk in grid:
            again = da.sweep(
                pendulum,
                {k: strengths},
                start={theta: 1.0},
                span=(0, 5),
                at=[1.0, 5.0],
                method=method,
                workers=workers,
                chunk=chunk,
            )
            tried["ensembles"] += 1
            if digest(again.states) != digest(first.states):
                report.fault(
                    f"{method}: {workers} threads and blocks of {chunk} give other bits than one"
                    " thread"
                )
        mixed = np.random.default_rng(3).permutation(len(strengths))
        again = da.sweep(
            pendulum,
            {k: strengths[mixed]},
            start={theta: 1.0},
            span=(0, 5),
            at=[1.0, 5.0],
            method=method,
        )
        tried["ensembles"] += 1
        if digest(again.states) != digest(first.states[mixed]):
            report.fault(f"{method}: runs in another order give other bits")
        alone = [
            da.simulate(
                pendulum, {theta: 1.0}, (0, 5), parameters={k: value}, at=[1.0, 5.0], method=method
            ).y.T
            for value in strengths
        ]
        worst = float(np.max(np.abs(np.array(alone) - first.states)))
        report.figure(
            f"{method}: a run alone against the same in an ensemble, largest difference", worst
        )
        if worst > (0.0 if method == "dop853" else 1e-9):
            report.fault(
                f"{method}: a run alone differs by {worst:.1e} from the same run among others"
            )


# -- files -----------------------------------------------------------------------------------------


def reruns(report: Report, tried: dict[str, int], options: Options) -> None:
    """Motions of the gallery, saved and rerun."""
    for name in MODELS[:3] if options.quick else MODELS:
        scenario = da.gallery.load(name)
        first, last = scenario.simulate.get("span", (0.0, 1.0))
        motion = da.simulate(scenario, span=(first, first + 0.1 * (last - first)))
        path = options.scratch / f"{name}.nc"
        motion.save(path)
        found = da.rerun(path)
        tried["reruns"] += 1
        if not found.same_bits:
            report.fault(f"{name}: {found.text()}")
        if motion_digest(
            da.simulate(scenario, span=(first, first + 0.1 * (last - first)))
        ) != motion_digest(motion):
            report.fault(f"{name}: a second run in one process has other bits")


# -- processes -------------------------------------------------------------------------------------


def variations(scratch: Path) -> Iterator[tuple[str, dict[str, str], tuple[str, str, str]]]:
    """Names of processes, their environment and their arguments, without end."""
    warm = str(scratch / "cache")
    yield "cold cache", {"DALEMBERT_CACHE": warm, "PYTHONHASHSEED": "1"}, ("plain", "plain", "0")
    yield "warm cache", {"DALEMBERT_CACHE": warm, "PYTHONHASHSEED": "2"}, ("plain", "plain", "0")
    yield "no cache", {"DALEMBERT_CACHE": "off", "PYTHONHASHSEED": "3"}, ("plain", "reversed", "0")
    yield "others before", {"DALEMBERT_CACHE": warm, "PYTHONHASHSEED": "4"}, ("7", "reversed", "12")
    yield (
        "one thread",
        {"DALEMBERT_CACHE": warm, "PYTHONHASHSEED": "5", "OMP_NUM_THREADS": "1"},
        ("8", "plain", "3"),
    )
    seed = 10
    while True:
        seed += 1
        words = (
            "plain" if seed % 3 == 0 else str(seed),
            "reversed" if seed % 2 else "plain",
            str(seed % 5),
        )
        yield (
            f"hash seed {seed}",
            {"DALEMBERT_CACHE": "off" if seed % 7 == 0 else warm, "PYTHONHASHSEED": str(seed)},
            words,
        )


def processes(report: Report, tried: dict[str, int], options: Options, deadline: float) -> None:
    """New processes, each compared with the first; at least two, also in a smoke run."""
    first: dict[str, Any] = {}
    longest = 0.0
    for name, changes, arguments in variations(options.scratch):
        began = time.monotonic()
        if tried["processes"] >= 2 and (options.quick or began + longest > deadline):
            break
        ended = subprocess.run(
            [sys.executable, "-m", "soak.determinism_child", *arguments],
            env=os.environ | changes, cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        longest = max(longest, time.monotonic() - began)
        if ended.returncode != 0:
            report.fault(
                f"the process with {name} ended with {ended.returncode}: {ended.stderr[-300:]}"
            )
            return
        found = json.loads(ended.stdout)
        tried["processes"] += 1
        tried["digests"] += sum(len(parts) for parts in found.values())
        first = first or found
        for model, parts in found.items():
            for what, value in parts.items():
                if value != first[model][what]:
                    report.fault(
                        f"{what} of {model} has other bits in the process with {name} ({changes},"
                        f" {arguments})"
                    )
