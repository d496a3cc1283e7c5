"""Sweeps on a Dask cluster: blocks go out as plain data, and only this process writes results.

A worker keeps nothing that matters, so that one that dies costs the blocks it was working on: Dask
hands them to others, and what it gives up after too many deaths is handed out again from here.
"""

from __future__ import annotations

import time as clock
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...errors import DalembertError, MissingExtraError, RunError
from ...model.names import shortened
from .chunks import Results
from .sweep_plan import execute

if TYPE_CHECKING:
    import distributed

    from .sweep import InMemory
    from .sweep import _Work as SweepWork

__all__ = ["run_on_cluster"]

#: Blocks that are handed out for each thread of the cluster: one at work, one waiting.
IN_FLIGHT = 2
#: How often Dask retries a failed block, and how often we resubmit one that Dask gave up.
RETRIES, MOST_ATTEMPTS = 2, 10
#: Seconds to wait for the scheduler, and for workers where there are none.
CONNECTING, PATIENCE = 20.0, 60.0


def run_on_cluster(
    work: SweepWork,
    kept: InMemory,
    done: set[int],
    client: distributed.Client | None,
    scheduler: str | None,
) -> bool:
    """Make the blocks that are missing on a cluster; False where Ctrl-C came before the end."""
    try:
        import distributed
    except ImportError:
        raise MissingExtraError("distributed", "cluster") from None
    if client is not None:
        return _Rounds(distributed, client, work, kept, done).run()
    try:
        own = distributed.Client(scheduler, timeout=CONNECTING, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:  # a time-out is an OSError
        raise RunError(
            f"There is no Dask scheduler at {shortened(str(scheduler))}",
            seen=f"{type(error).__name__}: {str(error)[:120]}",
            remedy="start one with dask scheduler, and workers with dask worker ADDRESS",
        ) from error
    with own:
        return _Rounds(distributed, own, work, kept, done).run()


class _Rounds:
    """Blocks out and results in, until all are there."""

    def __init__(
        self,
        distributed: ModuleType,
        client: distributed.Client,
        work: SweepWork,
        kept: InMemory,
        done: set[int],
    ) -> None:
        self.distributed, self.client, self.work, self.kept = distributed, client, work, kept
        self.name = (
            uuid.uuid4().hex
        )  # others may use the same scheduler, and Dask gives equal keys equal results
        self.todo = [number for number in reversed(range(len(kept.blocks))) if number not in done]
        self.attempts: dict[int, int] = {}
        self.pending: dict[Any, int] = {}
        self.last_seen = clock.monotonic()

    def run(self) -> bool:
        """Every block; the futures that are left are cancelled whatever happens."""
        try:
            with self.client.as_current():
                while self.todo or self.pending:
                    self._hand_out()
                    self._collect()
            return True
        except KeyboardInterrupt:
            return False
        finally:
            if self.pending:
                with suppress(
                    OSError, RuntimeError
                ):  # where the scheduler has gone, nothing is left to be cancelled
                    self.client.cancel(list(self.pending), force=True)

    @contextmanager
    def _talking(self) -> Iterator[None]:
        """Turn failures to reach the scheduler into an error with a remedy."""
        try:
            yield
        except (
            OSError,
            RuntimeError,
            self.distributed.CancelledError,
        ) as error:  # a time-out is an OSError
            if isinstance(error, DalembertError):
                raise
            raise RunError(
                "The scheduler of the cluster has gone",
                seen=(
                    f"{type(error).__name__}; {self.kept.runs_done} of {self.work.count} runs are"
                    " there"
                ),
                remedy="start it and its workers again, then go on with resume",
            ) from error

    def _hand_out(self) -> None:
        """Keep every thread of the cluster busy, and little more in flight."""
        with self._talking():
            threads = sum(self.client.nthreads().values())
        if threads:
            self.last_seen = clock.monotonic()
        elif clock.monotonic() - self.last_seen > PATIENCE:
            raise RunError(
                "The cluster has no workers",
                seen=(
                    f"none for {PATIENCE:g} s; {self.kept.runs_done} of {self.work.count} runs are"
                    " there"
                ),
                remedy="start workers, then go on with resume",
            )
        while self.todo and len(self.pending) < IN_FLIGHT * max(1, threads):
            number = self.todo.pop()
            attempt = self.attempts[number] = self.attempts.get(number, 0) + 1
            parameters, values = self.work.part(self.kept.blocks.places(number))
            with self._talking():
                future = self.client.submit(
                    execute,
                    self.work.order,
                    parameters,
                    values,
                    key=f"dalembert-{self.name}-{number}-{attempt}",
                    pure=False,
                    retries=RETRIES,
                )
            self.pending[future] = number

    def _collect(self) -> None:
        """Keep what has come back; hand out again what was lost."""
        try:
            with self._talking():
                self.distributed.wait(
                    list(self.pending), timeout=1.0, return_when="FIRST_COMPLETED"
                )
        except RunError as error:
            if isinstance(error.__cause__, (TimeoutError, self.distributed.TimeoutError)):
                return
            if not isinstance(error.__cause__, self.distributed.CancelledError):
                raise
        for future in [future for future in self.pending if future.done()]:
            number = self.pending.pop(future)
            if future.status == "finished":
                with self._talking():
                    results: Results = future.result()
                    future.release()
                self.kept.keep(number, results)
                if self.work.progress is not None:
                    self.work.progress(self.kept.runs_done / self.work.count, self.kept.runs_done)
            else:
                self._again(number, future)

    def _again(self, number: int, future: distributed.Future) -> None:
        """Hand out a block again whose workers died; raise where the work itself cannot be done."""
        error = future.exception() if future.status == "error" else None
        lost = error is None or isinstance(error, self.distributed.KilledWorker)
        if lost and self.attempts[number] < MOST_ATTEMPTS:
            self.todo.append(number)
            return
        if isinstance(error, DalembertError):
            raise error
        seen = f"{type(error).__name__}: {str(error)[:160]}" if error is not None else future.status
        raise RunError(
            "A block of runs cannot be made on the cluster",
            seen=seen,
            remedy="look at the log of the workers, then go on with resume",
        )
