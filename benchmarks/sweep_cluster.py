"""20 000 rolling disks on a Dask cluster of four processes, two of which are killed: is everything
there, and what did it cost?

    python benchmarks/sweep_cluster.py [RUNS] [SECONDS]

The same sweep is made in one thread without a store, in threads into a store, on the cluster, and
on the cluster with two of its workers killed by SIGKILL on the way. All must give the same bits.
Times of the processor are told apart: those of the runs themselves, of the process that hands out
and writes, and of the workers beside the runs. Overhead is that of the process that called, beside
its runs, relative to all runs. Speed-up is wall time against the single thread, bounded by the
processors.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import dask
import numpy as np
import psutil
from distributed import Client, LocalCluster

import dalembert as da

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
SPAN = (0.0, float(sys.argv[2]) if len(sys.argv) > 2 else 10.0)
WORKERS, VICTIMS = 4, 2


class Row(NamedTuple):
    """One way to make the sweep."""

    name: str
    wall: float
    caller: float
    workers: float | None
    runs: da.Ensemble


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """CPU seconds of processes that live."""
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def main() -> None:
    """Measure and print one table."""
    disk = da.gallery.load("rolling-disk")
    first = max(1, RUNS // 100)
    over = {"m": np.linspace(0.5, 2.0, first), "theta": np.linspace(0.05, 0.8, RUNS // first)}
    rows: list[Row] = []
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # compiled once, and packages imported, whoever comes first
        da.sweep(disk, {"m": [1.0]}, span=SPAN, store=Path(folder) / "first.zarr")
    here = psutil.Process()

    def measured(name: str, others: list[psutil.Process] | None, **options: object) -> None:
        before, began = (cpu_seconds([here]), cpu_seconds(others or [])), time.perf_counter()
        runs = da.sweep(disk, over, span=SPAN, **options)
        wall, caller = time.perf_counter() - began, cpu_seconds([here]) - before[0]
        rows.append(
            Row(
                name,
                wall,
                caller,
                None if others is None else cpu_seconds(others) - before[1],
                runs,
            )
        )

    measured("one thread", [], workers=1)
    # The workers' own profiler, which looks a hundred times a second, is not what is measured here.
    dask.config.set(
        {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "500ms"}
    )
    with tempfile.TemporaryDirectory() as folder:
        measured("threads, store", [], store=Path(folder) / "threads.zarr")
        with (
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            nannies = list(cluster.workers.values())
            da.sweep(
                disk, {"m": np.linspace(1, 2, 64)}, span=SPAN, client=client, chunk=1
            )  # every worker has its kernel
            workers = [psutil.Process(worker.pid) for worker in nannies]
            measured("cluster, store", workers, store=Path(folder) / "cluster.zarr", client=client)
            killed: list[int] = []

            def kill(fraction: float, count: float) -> None:
                if fraction > 0.25 and not killed:
                    for worker in nannies[:VICTIMS]:
                        os.kill(worker.pid, signal.SIGKILL)
                        killed.append(int(count))

            measured(
                "cluster, 2 of 4 killed",
                None,
                store=Path(folder) / "killed.zarr",
                client=client,
                progress=kill,
            )
    print(
        f"{RUNS} rolling disks over {SPAN[1]:g} s, {os.cpu_count()} processors, {WORKERS} worker"
        " processes"
    )
    print(f"{VICTIMS} workers killed after {killed[0]} runs; Dask started them again\n")
    show(rows)


def show(rows: list[Row]) -> None:
    """One line for each way to make the sweep."""
    collected = (
        "wall s",
        "runs' CPU",
        "caller",
        "workers",
        "overhead",
        "speed-up",
        "blocks",
        "runs there",
    )
    print(f"{'':24}" + "".join(f"{head:>11}" for head in collected) + "  same bits")
    alone = rows[0].runs
    for name, wall, caller, workers, runs in rows:
        work, there = runs.statistics["cpu_seconds"], int((runs.codes >= 0).sum())
        own = caller if "cluster" in name else caller - work
        beside = f"{workers - work:.2f}" if workers else ""
        same = np.array_equal(runs.states, alone.states, equal_nan=True) and np.array_equal(
            runs.codes, alone.codes
        )
        numbers = (
            f"{wall:.2f}",
            f"{work:.2f}",
            f"{own:.2f}",
            beside,
            f"{100 * own / work:.1f} %",
            f"{rows[0].wall / wall:.2f}",
        )
        print(
            f"{name:24}"
            + "".join(f"{n:>11}" for n in (*numbers, runs.statistics["blocks"], there))
            + f"  {same}"
        )


if __name__ == "__main__":
    main()
