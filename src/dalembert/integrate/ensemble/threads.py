"""Execute all runs of a plan in threads."""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from ...errors import ModelError
from ...typing import (
    Array,
    IntArray,
    Progress,
)
from .chunks import NOT_RUN, Plan, Results, run_chunk

__all__ = ["empty_results", "put", "run_all", "thread_count"]


#: The most runs that one thread takes at a time.
LARGEST_CHUNK, LARGEST_OF_LANES = 64, 2048


def thread_count(workers: int | None) -> int:
    """How many threads to use."""
    if workers is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    if not (isinstance(workers, int) and workers >= 1):
        raise ModelError(
            "workers must be a whole number, at least 1",
            seen=workers,
            remedy="leave it out, or pass workers=4",
        )
    return workers


def run_all(
    plan: Plan, parameters: Array, values: Array, workers: int | None, progress: Progress | None
) -> Results:
    """All runs in threads, chunk by chunk. Ctrl-C ends the runs under way and leaves the others."""
    count, threads = len(parameters), thread_count(workers)
    largest = LARGEST_OF_LANES if plan.task.method == "taylor" else LARGEST_CHUNK
    size = max(1, min(largest, math.ceil(count / (8 * threads))))
    stopped = threading.Event()
    plan.prepare()
    whole = empty_results(plan, count)
    with ThreadPoolExecutor(threads, thread_name_prefix="dalembert") as pool:
        pending = {}
        for first in range(0, count, size):
            here = slice(first, min(first + size, count))
            pending[
                pool.submit(run_chunk, plan, parameters[here], values[here], stopped.is_set)
            ] = here
        done = 0
        while pending:
            try:
                finished, _ = wait(pending, timeout=0.5, return_when="FIRST_COMPLETED")
                for future in finished:
                    put(whole, pending[future], future.result())
                    del pending[future]  # after it: Ctrl-C may come between the two
                    done += future.result().made
                    if progress is not None:
                        progress(done / count, done)
            except KeyboardInterrupt:
                stopped.set()
            except BaseException:
                stopped.set()
                raise
    return whole


def empty_results(plan: Plan, count: int) -> Results:
    """Results of runs that have not been made."""
    nt, n = len(plan.times), len(plan.symbols)
    return Results(
        states=np.full((count, nt, n), np.nan),
        codes=np.full(count, NOT_RUN, np.int8),
        messages=[""] * count,
        steps=np.zeros(count, np.int64),
        drift=np.full(count, np.nan),
        starts=np.full((count, n), np.nan),
    )


def put(whole: Results, here: slice | IntArray, part: Results) -> None:
    """Enter the results of a chunk at its places, a slice or an array of int."""
    whole.states[here], whole.codes[here], whole.steps[here] = part.states, part.codes, part.steps
    whole.drift[here], whole.starts[here] = part.drift, part.starts
    places = range(here.start, here.stop) if isinstance(here, slice) else here
    for place, message in zip(places, part.messages, strict=True):
        whole.messages[place] = message
