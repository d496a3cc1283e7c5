"""Many at once: threads and processes that derive and compile the same model, and clusters whose
workers die.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from pathlib import Path
from typing import Any

import dalembert as da
from dalembert.model.io.files import loads

from .fault_children import Board, forked
from .fault_kills import with_cache
from .fault_state import State
from .fault_work import PENDULUM, emptied, files_of, swept

#: How many threads compile at once.
CROWD = 20
MODELS = ("chaplygin-sleigh", "rolling-disk", "knife-edge")


def digest_of(name: str) -> bytes:
    """The bits of a run whose model is read, derived and compiled anew."""
    model = loads(PENDULUM) if name == "pendulum" else da.gallery.load(name)
    return hashlib.sha256(da.simulate(model, span=(0, 0.5)).y.tobytes()).digest()


def _crowd(name: str, threads: int) -> list[Any]:
    found: list[Any] = []
    gate = threading.Barrier(threads)

    def one() -> None:
        gate.wait()
        try:
            found.append(digest_of(name))
        except BaseException as error:
            found.append(repr(error))

    crowd = [threading.Thread(target=one, daemon=True) for _ in range(threads)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join(100)
    return found


def a_crowd_that_compiles(state: State) -> None:
    """Two processes with threads each begin with one cold cache; all have the bits of a run
    alone.
    """
    name = state.draw.choice([*MODELS, "pendulum", "pendulum"])
    folder = emptied(state.folder / "crowd")
    if f"crowd {name}" not in state.calls:
        alone = forked(lambda board: board.put(_number(digest_of(name))))
        state.calls[f"crowd {name}"] = alone.reported

    def crowd(board: Board) -> None:
        board.put(_agreed(_crowd(name, CROWD // 2)))

    def both(board: Board) -> None:
        second = os.fork()
        if second == 0:
            try:
                os._exit(
                    0 if _agreed(_crowd(name, CROWD // 2)) == state.calls[f"crowd {name}"] else 9
                )
            except BaseException:
                os._exit(8)
        crowd(board)
        _, status = os.waitpid(second, 0)
        assert status == 0, f"the other process ended with {os.waitstatus_to_exitcode(status)}"

    ended = forked(with_cache(folder, both))
    good = ended.status == 0 and ended.reported == state.calls[f"crowd {name}"]
    state.judge(
        "crowds that compile",
        None if good else f"{name}: it ended with {ended.status}: {ended.said[-400:]}",
    )


def _number(digest: bytes) -> int:
    return int.from_bytes(digest[:7], "little")


def _agreed(found: list[Any]) -> int:
    assert len(found) == CROWD // 2, f"{len(found)} of {CROWD // 2} threads came back"
    assert len(set(found)) == 1 and isinstance(found[0], bytes), (
        f"they differ: {set(map(str, found))}"
    )
    return _number(found[0])


def a_worker_that_dies(state: State, scheduler_too: bool = False) -> None:
    """A sweep on a cluster of this machine whose workers are killed; it goes on, or ends with a
    sentence and can be resumed.
    """
    path = emptied(state.folder / "cluster") / "runs.zarr"
    count = state.draw.randint(1, 2)
    moment = state.draw.uniform(0.0, 0.7)

    def work(board: Board) -> None:
        _on_a_cluster(path, count, moment, scheduler_too)
        board.put(1)

    ended = forked(work)
    kind = "schedulers killed" if scheduler_too else "workers killed"
    state.counts[f"processes of clusters: {kind}"] += 1 if scheduler_too else count
    trouble = None
    if ended.status not in ((0, 2) if scheduler_too else (0,)):
        trouble = f"it ended with {ended.status}: {ended.said[-500:]}"
    again = forked(lambda board: _large(path, resume=path.exists()) and None)
    if trouble is None and again.status != 0:
        trouble = f"going on ended with {again.status}: {again.said[-300:]}"
    reference = state.folder / "cluster-reference.zarr"
    if not reference.exists():
        forked(lambda board: _large(reference) and None)
    if trouble is None and files_of(path) != files_of(reference):
        trouble = "the store is not that of a sweep in threads"
    state.judge(kind, trouble)


def _large(path: Path, **options: Any) -> Any:
    """A sweep of 160 runs in blocks of four."""
    over = {"m": [0.5 + 0.1 * k for k in range(16)], "theta": [0.1 + 0.1 * k for k in range(10)]}
    return da.sweep(loads(PENDULUM), over, span=(0, 20), store=path, chunk=4, **options)


def _on_a_cluster(path: Path, count: int, moment: float, scheduler_too: bool) -> None:
    """Start a cluster, sweep on it, and kill some of it on the way."""
    import logging
    import multiprocessing

    import dask
    from distributed import Client, LocalCluster

    logging.disable(logging.CRITICAL)
    dask.config.set(
        {"distributed.comm.timeouts.connect": "5s", "distributed.scheduler.allowed-failures": 3}
    )
    multiprocessing.set_start_method("spawn", force=True)
    if scheduler_too:
        _without_a_scheduler(path, moment)
        return
    local = LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    )
    with local as cluster, Client(cluster) as client:
        victims = [worker.process.pid for worker in cluster.workers.values()][:count]

        def strike(fraction: float, made: float) -> None:
            while victims and fraction > moment:
                os.kill(victims.pop(), signal.SIGKILL)

        _large(path, client=client, progress=strike)


def _without_a_scheduler(path: Path, moment: float) -> None:
    """A scheduler and a worker as processes of their own; the scheduler is killed on the way."""
    import subprocess
    import sys
    import time

    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
    ]
    where = path.parent / "scheduler.json"
    scheduler = subprocess.Popen(
        [*command, "--scheduler-file", str(where)], stderr=subprocess.DEVNULL
    )
    begin = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(where),
        "--no-dashboard",
    ]
    while not where.exists():
        time.sleep(0.1)
    worker = subprocess.Popen(
        [*begin, "--nthreads", "1", "--death-timeout", "30"], stderr=subprocess.DEVNULL
    )
    try:
        import json

        address = json.loads(where.read_text())["address"]

        def strike(fraction: float, made: float) -> None:
            if fraction > moment:
                scheduler.kill()

        _large(path, scheduler=address, progress=strike)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


def a_scheduler_that_dies(state: State) -> None:
    """The sweep ends with a sentence, and can be resumed."""
    a_worker_that_dies(state, scheduler_too=True)


def forks_after_compiling(state: State) -> None:
    """A process that forks after it compiled: the child computes the same bits."""
    name = state.draw.choice(MODELS)
    before = _number(digest_of(name))
    ended = forked(lambda board: board.put(_number(digest_of(name))))
    store = emptied(state.folder / "forked") / "runs.zarr"
    again = forked(lambda board: swept(store) and None)
    good = ended.status == 0 and ended.reported == before and again.status == 0
    state.judge(
        "forks after compiling",
        None if good else f"{name}: {ended.status}, {again.status}: {again.said[-300:]}",
    )
