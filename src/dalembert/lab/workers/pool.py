"""The workers together: who gets which job, and who waits.

One worker is kept free for quick questions, so that what is asked at every keystroke never waits
for a run. The others take runs, and quick questions while they have nothing else to do. What waits
is bounded: beyond it a request is refused at once.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from ..limits import Limits
from ..request_errors import RequestError
from .process import (
    CANCEL_SECONDS,
    CANCELLED,
    COMMAND,
    LEFT_SECONDS,
    Answer,
    Job,
    WorkerProcess,
    WorkerStartError,
    refused,
)

__all__ = ["Pool"]

#: After so many starts in a row that failed, nothing is taken on until one succeeds.
MOST_FAILURES = 3
#: Seconds between two starts: twice as many after each that failed, up to the second number.
PAUSE, LONGEST_PAUSE = 0.1, 10.0


LATER = "try again in a while, or start the lab again"


class Pool:
    """Worker processes and what waits for them.

    Parameters
    ----------
    workers : int
        For runs; there is one more for quick questions.
    command : sequence of str
        What a worker runs.
    folder : Path, optional
        Where workers may read files that a robot file names.
    """

    def __init__(
        self,
        workers: int,
        limits: Limits,
        command: Sequence[str] = COMMAND,
        folder: Path | None = None,
    ) -> None:
        self.limits = limits
        self.workers = [
            WorkerProcess(limits, quick, command, folder) for quick in (True, *[False] * workers)
        ]
        self.waiting: deque[Job] = deque()
        self._idle: list[WorkerProcess] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)
        self._failures = 0
        self._trouble: str | None = None
        self._closing = False

    def open(self) -> None:
        """Start all workers, in the background: one of each kind first, which share the
        processors.
        """
        self._background(self._open())

    async def _open(self) -> None:
        await asyncio.gather(*(self._start(worker) for worker in self.workers[:2]))
        await asyncio.gather(*(self._start(worker) for worker in self.workers[2:]))

    async def close(self) -> None:
        """End all workers."""
        self._closing = True
        while self.waiting:
            self.waiting.popleft().finish(CANCELLED)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(worker.kill() for worker in self.workers), return_exceptions=True)

    # -- jobs --------------------------------------------------------------------------------------

    def submit(
        self,
        kind: str,
        request: dict[str, Any],
        seconds: float,
        *,
        model: str = "",
        quick: bool = False,
        on_progress: Callable[[float, float], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> Job:
        """Put a job into the queue; see `Job` for the arguments.

        Raises
        ------
        RequestError
            Where too many wait already, or no worker can be started.
        """
        if self._trouble is not None or self._closing:
            raise RequestError(
                503, "No worker process can be started", seen=self._trouble, remedy=LATER
            )
        if sum(job.quick == quick for job in self.waiting) >= self.limits.queued:
            raise RequestError(
                429, "Too much is waiting to be computed", remedy="wait a moment and try again"
            )
        job = Job(next(self._numbers), kind, request, seconds, model, quick, on_progress, on_start)
        self.waiting.append(job)
        self._dispatch()
        return job

    async def ask(
        self, kind: str, request: dict[str, Any], seconds: float, **options: Any
    ) -> Answer:
        """Submit a job and wait for its answer; whoever stops waiting takes it out of the queue, or
        stops its worker.
        """
        job = self.submit(kind, request, seconds, **options)
        try:
            return await asyncio.shield(job.done)
        except asyncio.CancelledError:
            if not self._withdraw(job) and not self._closing:
                # A worker that does not listen is killed.
                self._background(self.cancel(job, LEFT_SECONDS))
            raise

    async def cancel(self, job: Job, seconds: float = CANCEL_SECONDS) -> None:
        """Stop a job, wherever it is."""
        job.cancelled = True
        if self._withdraw(job):
            return
        for worker in self.workers:
            if worker.job is job:
                await worker.cancel(job, seconds)

    def _withdraw(self, job: Job) -> bool:
        """Take a job out of the queue; whether it was there."""
        if job not in self.waiting:
            return False
        self.waiting.remove(job)
        job.finish(CANCELLED)
        return True

    # -- workers -----------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Give waiting jobs to idle workers, as far as they go; those that died meanwhile are
        started again.
        """
        for dead in [worker for worker in self._idle if not worker.is_alive]:
            self._idle.remove(dead)
            self._background(self._start(dead))
        for job in list(self.waiting):
            worker = self._worker_for(job)
            if worker is not None:
                self.waiting.remove(job)
                self._idle.remove(worker)
                self._background(self._work(worker, job))

    def _worker_for(self, job: Job) -> WorkerProcess | None:
        """An idle worker for a job: one that knows the model, one of its kind, or any that may take
        it.
        """
        able = [worker for worker in self._idle if job.quick or not worker.quick]
        able.sort(key=lambda worker: (job.model not in worker.seen, worker.quick != job.quick))
        return able[0] if able else None

    async def _work(self, worker: WorkerProcess, job: Job) -> None:
        job.finish(await worker.work(job))
        if worker.is_alive:
            self._now_idle(worker)
        else:
            await self._start(worker)

    async def _start(self, worker: WorkerProcess) -> None:
        while not self._closing:
            try:
                await worker.start()
            except WorkerStartError as error:
                self._failures += 1
                if self._failures >= MOST_FAILURES:
                    self._refuse_all(str(error))
                await asyncio.sleep(min(PAUSE * 2.0 ** min(self._failures, 20), LONGEST_PAUSE))
                continue
            self._failures, self._trouble = 0, None
            self._now_idle(worker)
            return

    def _now_idle(self, worker: WorkerProcess) -> None:
        self._idle.append(worker)
        self._dispatch()

    def _refuse_all(self, trouble: str) -> None:
        self._trouble = trouble
        while self.waiting:
            self.waiting.popleft().finish(
                refused(503, "No worker process can be started", trouble, LATER)
            )

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
