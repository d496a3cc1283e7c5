"""Under load nothing is lost: the lab goes on answering, right or with a clear refusal, and large
sweeps take no more memory.

A lab in a process of its own meets a hundred clients at once: pages that do what the page does,
with their numbers compared, and clients that are slow, broken, gone or too many. Memory, processes,
open files and temporary files are counted before, meanwhile and afterwards; then the lab is stopped
in the middle of it. Sweeps of up to a million short runs into a store must have flat memory.
"""

from __future__ import annotations

import asyncio
import random
import signal
import statistics
import time
from typing import Any

from .harness import Options, Report
from .load_clients import CROWD, Crowd, probe
from .load_requests import Tally, ask, expected_cases
from .load_server import Held, LabServer, lab_server
from .load_sweeps import sweeps

__all__ = ["run"]

WORKERS = 2
LIMITS: dict[str, Any] = {"run_seconds": 8.0, "memory_bytes": 1024**3, "unwatched_seconds": 10.0}
#: The server may hold what its limits say it keeps (256 MB of results), and this.
SERVER_BYTES = (256 + 256) * 1024**2
#: A lab that is told to stop must have ended after this many seconds.
STOP_SECONDS = 10.0
#: The time after which connections that nobody uses have been cut off.
QUIET_SECONDS = 45.0


def run(options: Options, report: Report) -> None:
    """The lab under load, its end under load, and the sweeps, which take half of the time."""
    seconds = 60.0 * options.minutes
    cases = expected_cases()
    with lab_server(options.scratch, WORKERS, **LIMITS) as server:
        asyncio.run(_loaded(server, cases, 0.35 * seconds, options, report))
    stops: tuple[tuple[signal.Signals, bool], ...] = (
        (signal.SIGTERM, False),
        (signal.SIGINT, False),
    )
    stops += () if options.quick else ((signal.SIGINT, True), (signal.SIGKILL, False))
    for how, twice in stops:
        with lab_server(options.scratch, WORKERS, **LIMITS) as server:
            asyncio.run(_stopped(server, cases, how, twice, options, report))
    sweeps(options, report, 0.5 * seconds)


async def _ready(server: LabServer) -> None:
    """Until all workers are there and have answered."""
    await ask(server.port, "GET", "/api/gallery")
    end = time.monotonic() + 60.0
    while len(server.children) < WORKERS + 1 and time.monotonic() < end:
        await asyncio.sleep(0.1)


async def _loaded(
    server: LabServer, cases: list[Any], seconds: float, options: Options, report: Report
) -> None:
    idle, tally = Tally(), Tally()
    await _ready(server)
    await probe(server, 3.0 if options.quick else 15.0, idle)
    start = server.held()
    held: list[Held] = []
    crowd = Crowd(server, cases, tally, random.Random(options.seed), time.monotonic() + seconds)
    clients = [
        asyncio.create_task(client(crowd)) for client, count in CROWD.items() for _ in range(count)
    ]
    watch = [
        asyncio.create_task(probe(server, seconds, tally)),
        asyncio.create_task(_watched(crowd, held)),
    ]
    done = await asyncio.gather(*watch, *clients, return_exceptions=True)
    broken = [found for found in done if isinstance(found, BaseException)]
    if broken:
        report.fault(f"a client ended in an error: {broken[0]!r}")
    await _afterwards(server, start, options, report, cases)
    _told(idle, tally, start, held, server, report)


async def _watched(crowd: Crowd, held: list[Held]) -> None:
    while crowd.goes_on:
        held.append(crowd.server.held())
        if zombies := crowd.server.zombies:
            await asyncio.sleep(2.0)
            if left := set(zombies) & set(crowd.server.zombies):
                crowd.tally.fault(f"dead workers that nobody waits for: {left}")
        await asyncio.sleep(0.5)


async def _afterwards(
    server: LabServer, start: Held, options: Options, report: Report, cases: list[Any]
) -> None:
    """When the clients have gone: files as before, all workers there, the next run right."""
    end = time.monotonic() + QUIET_SECONDS
    while (
        server.held().files > start.files or len(server.children) < WORKERS + 1
    ) and time.monotonic() < end:
        await asyncio.sleep(0.5)
    last = server.held()
    report.figure("lab: open files before and after", [start.files, last.files])
    report.figure("lab: workers before and after", [len(start.workers), len(last.workers)])
    if last.files > start.files:
        report.fault(
            f"the lab had {start.files} files open before and {last.files} after the load (python"
            " -m soak load)"
        )
    if len(last.workers) != WORKERS + 1:
        report.fault(
            f"the lab has {len(last.workers)} workers after the load (python -m soak load)"
        )
    tally = Tally()
    crowd = Crowd(server, cases[:1], tally, random.Random(options.seed), time.monotonic() + 1.0)
    crowd.draw.random = lambda: 1.0  # type: ignore[method-assign]  # neither cancel nor download
    from .load_clients import a_run

    await a_run(crowd, cases[0])
    if tally.compared != 1 or tally.faults:
        report.fault(
            f"the first run after the load is not right: {tally.faults or dict(tally.statuses)}"
        )


def _told(
    idle: Tally, tally: Tally, start: Held, held: list[Held], server: LabServer, report: Report
) -> None:
    for name, found in (("idle", idle), ("under load", tally)):
        times = sorted(found.latencies) or [float("nan")]
        figures = [statistics.median(times), times[int(0.95 * (len(times) - 1))], times[-1]]
        told = [round(1000 * value, 1) for value in figures]
        report.figure(f"lab: the page {name}, median, 95 %, longest of {len(times)}", told, "ms")
    last = server.held()
    peak, workers = (
        max(found.server for found in held),
        max(max(found.workers, default=0) for found in held),
    )
    report.figure("lab: clients at a time", sum(CROWD.values()))
    report.figure("lab: answers by kind and status", dict(sorted(tally.statuses.items())))
    report.figure("lab: runs compared with this process", tally.compared)
    report.figure("lab: largest difference, relative", tally.largest_difference)
    report.figure("lab: clear refusals (429, 503)", tally.refused)
    report.figure("lab: jobs lost to workers that were killed, said so", tally.killed)
    report.figure(
        "lab: memory of the server, start, peak, end",
        [_mb(start.server), _mb(peak), _mb(last.server)],
        "MB",
    )
    report.figure(
        "lab: memory of the largest worker, start, peak, end",
        [_mb(max(start.workers)), _mb(workers), _mb(max(last.workers, default=0))],
        "MB",
    )
    report.figure("lab: most workers at a time", max(len(found.workers) for found in held))
    report.figure("lab: most open files", max(found.files for found in held))
    for fault in tally.faults:
        report.fault(f"lab under load: {fault} (python -m soak load)")
    if peak > start.server + SERVER_BYTES:
        report.fault(f"the server took {_mb(peak)} MB under load (python -m soak load)")
    if workers > LIMITS["memory_bytes"]:
        report.fault(f"a worker took {_mb(workers)} MB (python -m soak load)")
    if max(len(found.workers) for found in held) > WORKERS + 1:
        report.fault("there were more workers than asked for (python -m soak load)")
    if not tally.compared:
        report.fault("no run of a page was done under load (python -m soak load)")


async def _stopped(
    server: LabServer,
    cases: list[Any],
    how: signal.Signals,
    twice: bool,
    options: Options,
    report: Report,
) -> None:
    """The server told to stop while everyone asks."""
    await _ready(server)
    tally, name = Tally(), f"{how.name}{' twice' if twice else ''}"
    crowd = Crowd(server, cases, tally, random.Random(options.seed), time.monotonic() + 60.0)
    clients = [
        asyncio.create_task(client(crowd)) for client, count in CROWD.items() for _ in range(count)
    ]
    await asyncio.sleep(3.0 if options.quick else 6.0)
    taken = await asyncio.to_thread(server.stop, how, twice)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    orphans = await asyncio.to_thread(server.orphans)
    report.figure(f"lab: seconds to stop under load, {name}", round(taken, 2), "s")
    if taken > STOP_SECONDS:
        report.fault(
            f"the lab took {taken:.1f} s to stop on {name} under load (python -m soak load)"
        )
    if orphans:
        report.fault(f"{len(orphans)} workers outlived the lab after {name} (python -m soak load)")
    if how is not signal.SIGKILL and (left := server.leftovers()):
        report.fault(f"temporary files were left after {name}: {left[:5]} (python -m soak load)")
    if "Traceback" in server.complaints:
        report.fault(
            f"the lab wrote a traceback when it was stopped by {name}: {server.complaints[-600:]!r}"
        )


def _mb(size: int) -> float:
    return round(size / 1e6, 1)
