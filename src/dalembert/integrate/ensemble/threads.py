"""Execute all runs of a plan in threads."""

from __future__ import annotations

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait

from ...errors import ModelError
from ...typing import (
    Array,
    Progress,
)
from .chunks import Results, RunPlan, run_chunk

__all__ = ["run_all", "thread_count"]


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
    plan: RunPlan, parameters: Array, values: Array, workers: int | None, progress: Progress | None
) -> Results:
    """All runs in threads, chunk by chunk. Ctrl-C ends the runs under way and leaves the others."""
    count, threads = len(parameters), thread_count(workers)
    largest = LARGEST_OF_LANES if plan.task.method == "taylor" else LARGEST_CHUNK
    size = max(1, min(largest, math.ceil(count / (8 * threads))))
    stopped = threading.Event()
    plan.prepare()
    whole = Results.empty(plan, count)
    with ThreadPoolExecutor(threads, thread_name_prefix="dalembert") as pool:
        pending = {}
        for first in range(0, count, size):
            here = slice(first, min(first + size, count))
            pending[
                pool.submit(run_chunk, plan, parameters[here], values[here], stopped.is_set, first)
            ] = here
        done = 0
        while pending:
            try:
                finished, _ = wait(pending, timeout=0.5, return_when="FIRST_COMPLETED")
                for future in finished:
                    whole.put(pending[future], future.result())
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
