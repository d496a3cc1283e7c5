"""The runs of the lab: their state, who watches them, and the results of the last few."""

from __future__ import annotations

import asyncio
import secrets
import time as clock
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any

from ..limits import Limits
from ..messages import encoded
from ..request_errors import RequestError
from ..workers.pool import Pool
from ..workers.process import Job

__all__ = ["LabRun", "Runs"]

#: How often a page hears, where nothing else happens, that the connection still stands.
ALIVE = 10.0
#: Seconds that a page may wait for a short run.
SOON = 0.4
ENDED = ("done", "failed", "cancelled")


@dataclass(eq=False)
class LabRun:
    """One run."""

    id: str
    case: dict[str, Any]
    label: str
    began: float = field(default_factory=clock.monotonic)
    status: str = "queued"
    fraction: float = 0.0
    time: float | None = None
    result: bytes = b""
    error: dict[str, Any] | None = None
    was_sent: bool = False
    watchers: int = 0
    asked: float = field(default_factory=clock.monotonic)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    job: Job | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status in ENDED

    @property
    def summary(self) -> dict[str, Any]:
        """What `GET /api/runs/<id>` says."""
        found = {
            "id": self.id,
            "label": self.label,
            "status": self.status,
            "fraction": self.fraction,
        }
        return found | ({"error": self.error} if self.error is not None else {})

    def tell(self) -> None:
        """Wake all who watch; each sees the latest state, whatever it missed."""
        self.changed.set()
        self.changed = asyncio.Event()


class Runs:
    """All runs that are remembered."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self.pool, self.limits = pool, limits
        self._runs: dict[str, LabRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, case: dict[str, Any], model: str, label: str) -> LabRun:
        """Put a run into the queue."""
        run = LabRun(secrets.token_urlsafe(9), case, label)

        def progress(fraction: float, time: float) -> None:
            run.fraction, run.time = min(max(fraction, 0.0), 1.0), time
            run.tell()

        def started() -> None:
            run.status = "running"
            run.tell()

        request = case | {"id": run.id, "label": label}
        seconds = self.limits.run_seconds
        run.job = self.pool.submit(
            "run", request, seconds, model=model, on_progress=progress, on_start=started
        )
        self._runs[run.id] = run
        self._background(self._follow(run, run.job))
        self._forget()
        return run

    def get(self, id: str) -> LabRun:
        """The run of that name."""
        run = self._runs.get(id)
        if run is None:
            raise RequestError(
                404, "There is no such run any more", seen=id[:40], remedy="run it again"
            )
        run.asked = clock.monotonic()
        return run

    async def cancel(self, run: LabRun) -> None:
        """Stop a run that has not ended."""
        if not run.has_ended and run.job is not None:
            await self.pool.cancel(run.job)
            await asyncio.wait([run.job.done], timeout=1.0)
            await asyncio.sleep(0)

    async def ends_soon(self, run: LabRun) -> bool:
        """Wait a moment for a run; whether it has ended."""
        if run.job is not None:
            await asyncio.wait([run.job.done], timeout=SOON)
            await asyncio.sleep(0)
        return run.has_ended

    async def events(self, run: LabRun) -> AsyncIterator[bytes]:
        """What happens to a run, as server-sent events, until it has ended."""
        run.watchers += 1
        try:
            while not run.has_ended:
                changed, elapsed = run.changed, clock.monotonic() - run.began
                yield _event(
                    "progress", {"fraction": run.fraction, "t": run.time, "elapsed": elapsed}
                )
                while not changed.is_set():
                    try:
                        async with asyncio.timeout(ALIVE):
                            await changed.wait()
                    except TimeoutError:
                        yield b": still here\n\n"
            endings: dict[str, dict[str, Any]] = {
                "done": {"id": run.id},
                "failed": {"error": run.error},
                "cancelled": {},
            }
            yield _event(run.status, endings[run.status])
        finally:
            run.watchers -= 1
            run.asked = clock.monotonic()

    async def watch_over(self) -> None:
        """Cancel runs that nobody asks about."""
        while True:
            await asyncio.sleep(min(1.0, self.limits.unwatched_seconds / 4))
            now = clock.monotonic()
            for run in list(self._runs.values()):
                if (
                    not run.has_ended
                    and not run.watchers
                    and now - run.asked > self.limits.unwatched_seconds
                ):
                    await self.cancel(run)

    async def close(self) -> None:
        """Forget everything."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, run: LabRun, job: Job) -> None:
        answer = await asyncio.shield(job.done)
        if answer.status == 499:
            run.status = "cancelled"
        elif answer.status == 200:
            run.status, run.fraction, run.result = "done", 1.0, answer.content
        else:
            run.status, run.error = "failed", answer.value["error"]
        run.asked = clock.monotonic()
        run.tell()
        self._forget()

    def _forget(self) -> None:
        """Drop runs that have ended, until these are within bounds: first those whose result was
        sent, longest unasked.
        """
        ended = sorted(
            (run for run in self._runs.values() if run.has_ended),
            key=lambda run: (not run.was_sent, run.asked),
        )
        size = sum(len(run.result) for run in ended)
        for left, run in zip(range(len(ended), 1, -1), ended, strict=False):
            if left <= self.limits.kept_runs and size <= self.limits.kept_bytes:
                return
            size -= len(run.result)
            del self._runs[run.id]

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _event(name: str, data: dict[str, Any]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + encoded(data) + b"\n\n"
