"""Nothing that was reported as saved is lost, and the next run works: after kills, full disks,
damaged files and interrupts.

Rounds are drawn at random. Each makes one fault in a child process: a kill without warning at a
moment of the clock or at a call of the system, a disk that takes nothing more, a folder that cannot
be used, a cache or a result that was altered, Ctrl-C and requests to end, crowds that compile at
once, workers of a cluster that die. Then it looks at what is there: files are the old or the new
ones, what was reported is in its place, a store goes on to the bits of an undisturbed sweep, and
runs have the bits of a run without a cache.
"""

from __future__ import annotations

import io
import random
import shutil
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

from .fault_crowds import (
    a_crowd_that_compiles,
    a_scheduler_that_dies,
    a_worker_that_dies,
    forks_after_compiling,
)
from .fault_damage import a_damaged_cache, a_damaged_description, a_damaged_motion, a_damaged_store
from .fault_disks import (
    a_cache_on_a_full_disk,
    a_disk_that_is_too_small,
    a_file_beyond_the_limit,
    a_file_on_a_full_disk,
    a_place_that_cannot_be_used,
    a_store_on_a_full_disk,
)
from .fault_interrupts import (
    interrupt_a_run,
    interrupt_a_sweep,
    interrupt_a_thread,
    interrupt_the_command,
    interrupt_the_sweep,
    nobody_is_left,
)
from .fault_kills import (
    kill_the_command,
    kill_while_a_file_is_written,
    kill_while_a_store_is_written,
    kill_while_the_cache_is_written,
)
from .fault_state import State
from .fault_work import swept, writers
from .harness import Options, Report

#: The rounds, and how often each is drawn.
ROUNDS: dict[Callable[[State], None], int] = {
    kill_while_a_file_is_written: 30,
    kill_while_a_store_is_written: 20,
    kill_while_the_cache_is_written: 12,
    kill_the_command: 8,
    a_file_on_a_full_disk: 8,
    a_file_beyond_the_limit: 8,
    a_store_on_a_full_disk: 6,
    a_cache_on_a_full_disk: 4,
    a_disk_that_is_too_small: 3,
    a_place_that_cannot_be_used: 6,
    a_damaged_cache: 10,
    a_damaged_motion: 3,
    a_damaged_store: 8,
    a_damaged_description: 4,
    interrupt_the_command: 10,
    interrupt_the_sweep: 5,
    interrupt_a_run: 8,
    interrupt_a_sweep: 8,
    interrupt_a_thread: 2,
    nobody_is_left: 1,
    a_crowd_that_compiles: 4,
    forks_after_compiling: 2,
    a_worker_that_dies: 1,
    a_scheduler_that_dies: 1,
}
#: Rounds of a smoke run: one of each kind that takes a moment.
QUICK = (
    kill_while_a_file_is_written,
    kill_while_the_cache_is_written,
    kill_while_a_store_is_written,
    a_file_beyond_the_limit,
    a_damaged_cache,
    a_damaged_store,
    interrupt_a_run,
)


def _warm(folder: Path) -> None:
    """Do everything once undisturbed, so that children find it in memory and are disturbed in their
    work, not in imports.
    """
    from dalembert.cli import main

    for writer in writers()[:3]:
        writer.write(folder / f"warm{writer.suffix}")
    swept(folder / "warm.zarr")
    with redirect_stdout(io.StringIO()):
        main(["run", "chaplygin-sleigh", "--t", "0,1", "-o", str(folder / "warm.nc")])
        main(
            [
                "sweep",
                "chaplygin-sleigh",
                "--over",
                "m=1,2",
                "--t",
                "0,1",
                "-o",
                str(folder / "warm-too.zarr"),
            ]
        )


def run(options: Options, report: Report) -> None:
    """Draw rounds until the time is over."""
    deadline = options.deadline
    folder = options.scratch / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    _warm(folder)
    state = State(random.Random(options.seed), folder, report, seed=options.seed)
    for one in QUICK if options.quick else ():
        if time.monotonic() < deadline:
            one(state)
    while time.monotonic() < deadline and not options.quick:
        (one,) = state.draw.choices(list(ROUNDS), list(ROUNDS.values()))
        before = time.monotonic()
        one(state)
        report.say(f"{one.__name__}: {time.monotonic() - before:.1f} s")
        state.write_figures()
    state.write_figures()
    shutil.rmtree(folder, ignore_errors=True)
