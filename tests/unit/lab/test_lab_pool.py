"""The pool with workers that misbehave: every job is answered, every process replaced, and what
waits is bounded.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dalembert.lab.limits import Limits
from dalembert.lab.request_errors import RequestError
from dalembert.lab.server.runs import Runs
from dalembert.lab.workers import process
from dalembert.lab.workers.pool import Pool
from dalembert.lab.workers.process import START_SECONDS, Answer

STUB = (sys.executable, str(Path(__file__).with_name("worker_stub.py")))
pytestmark = pytest.mark.skipif(
    not hasattr(signal, "SIGXCPU"), reason="limits of processor time are of POSIX"
)


def with_pool(test: Callable[[Pool], Awaitable[Any]], workers: int = 1, **limits: Any) -> Any:
    """Run something against a pool of stubs."""

    async def run() -> Any:
        pool = Pool(workers, Limits(**limits), STUB)
        pool.open()
        try:
            async with asyncio.timeout(START_SECONDS):
                return await test(pool)
        finally:
            await pool.close()
            assert not any(worker.is_alive for worker in pool.workers)

    return asyncio.run(run())


def test_jobs_are_answered_and_told_apart() -> None:
    async def test(pool: Pool) -> None:
        answers = await asyncio.gather(
            *(pool.ask("echo", {"k": k}, 5.0, quick=k % 2 == 0) for k in range(20))
        )
        assert [answer.value["request"]["k"] for answer in answers] == list(range(20))
        assert {answer.value["pid"] for answer in answers} <= {
            w._process.pid for w in pool.workers if w._process
        }

    with_pool(test, workers=2)


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", ["die", "out of time", "last", "nonsense", "endless line", "too much", "deaf"]
)
def test_whatever_a_worker_does_there_is_an_answer_and_another_worker(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CLOCK_SLACK", 0.8)

    async def test(pool: Pool) -> Answer:
        first = (await pool.ask("echo", {}, 5.0)).value["pid"]
        answer = await pool.ask(kind, {}, 0.2)
        after = (await pool.ask("echo", {}, 5.0)).value["pid"]
        assert after != first
        return answer

    answer = with_pool(test)
    assert answer.status == 400 and answer.value["error"]["what"]
    told = {"out of time": "processor time", "last": "no memory", "deaf": "more than 1.4 s"}
    assert told.get(kind, "ended unexpectedly") in answer.value["error"]["what"]


def test_a_run_never_takes_the_worker_of_quick_questions() -> None:
    async def test(pool: Pool) -> None:
        runs = [pool.submit("patient", {}, 60.0) for _ in range(4)]
        kinds = {(await pool.ask("echo", {}, 5.0, quick=True)).value["quick"] for _ in range(5)}
        assert kinds == {"quick"} and not any(run.done.done() for run in runs)
        for run in runs:
            await pool.cancel(run)
            assert (await run.done).status == 499

    with_pool(test)


@pytest.mark.long
def test_a_model_goes_where_it_is_known() -> None:
    async def test(pool: Pool) -> None:
        homes: dict[str, set[int]] = {"a": set(), "b": set()}
        first = await asyncio.gather(
            *(pool.ask("sleep", {"seconds": 0.3}, 5.0, model=m) for m in "ab")
        )
        for _ in range(4):
            for model, known in zip("ba", reversed(first), strict=True):
                homes[model].add(
                    (await pool.ask("echo", {}, 5.0, model=model)).value["pid"] - known.value["pid"]
                )
        assert homes == {"a": {0}, "b": {0}}

    async def warm(pool: Pool) -> None:
        while len(pool._idle) < 3:  # all workers are up
            await asyncio.sleep(0.01)
        await test(pool)

    with_pool(warm, workers=2)


@pytest.mark.long
def test_jobs_are_cancelled_politely_or_not() -> None:
    async def test(pool: Pool) -> None:
        pid = (await pool.ask("echo", {}, 5.0)).value["pid"]
        seen: list[float] = []
        polite = pool.submit(
            "patient", {}, 30.0, on_progress=lambda fraction, _: seen.append(fraction)
        )
        while not seen:
            await asyncio.sleep(0.01)
        await pool.cancel(polite)
        assert (await polite.done).status == 499
        assert (await pool.ask("echo", {}, 5.0)).value["pid"] == pid  # the same process goes on
        deaf = pool.submit("deaf", {}, 30.0)
        waiting = pool.submit("echo", {}, 5.0)
        await asyncio.sleep(0.2)
        await pool.cancel(waiting)
        assert (await waiting.done).status == 499
        await pool.cancel(deaf)
        assert (await deaf.done).status == 499
        assert (await pool.ask("echo", {}, 5.0)).value["pid"] != pid

    with_pool(test)


@pytest.mark.long
def test_what_waits_is_bounded_for_each_kind() -> None:
    async def test(pool: Pool) -> None:
        await pool.ask("echo", {}, 5.0)
        running = pool.submit("deaf", {}, 30.0)
        await asyncio.sleep(0.05)
        held = [pool.submit("echo", {}, 5.0) for _ in range(3)]
        with pytest.raises(RequestError) as refused:
            pool.submit("echo", {}, 5.0)
        assert refused.value.status == 429
        assert (await pool.ask("echo", {}, 5.0, quick=True)).status == 200  # these wait elsewhere
        await pool.cancel(running)
        assert [(await job.done).status for job in held] == [200, 200, 200]

    with_pool(test, queued=3)


@pytest.mark.long
def test_who_stops_waiting_leaves_the_queue() -> None:
    async def test(pool: Pool) -> None:
        await pool.ask("echo", {}, 5.0)
        running = pool.submit("deaf", {}, 30.0)
        await asyncio.sleep(0.05)
        asked = asyncio.create_task(pool.ask("echo", {}, 5.0))
        await asyncio.sleep(0.05)
        assert len(pool.waiting) == 1
        asked.cancel()
        await asyncio.sleep(0.05)
        assert not pool.waiting
        await pool.cancel(running)

    with_pool(test)


def test_who_stops_waiting_frees_a_worker_that_does_not_listen() -> None:
    """A client that vanishes during a long derivation would hold the worker to the end of it."""

    async def test(pool: Pool) -> None:
        await pool.ask("echo", {}, 5.0)
        asked = asyncio.create_task(pool.ask("deaf", {}, 600.0))
        await asyncio.sleep(0.05)
        asked.cancel()
        async with asyncio.timeout(60.0):  # a tenth of what the job may take
            assert (await pool.ask("echo", {}, 5.0)).status == 200

    with_pool(test)


def test_a_worker_that_dies_in_its_sleep_is_replaced() -> None:
    async def test(pool: Pool) -> None:
        pid = (await pool.ask("echo", {}, 5.0)).value["pid"]
        os.kill(pid, signal.SIGKILL)
        while any(worker.is_alive and worker._process.pid == pid for worker in pool.workers):  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        answer = await pool.ask("echo", {}, 5.0)
        assert answer.status == 200 and answer.value["pid"] != pid

    with_pool(test)


@pytest.mark.long
def test_workers_that_never_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DALEMBERT_DEBUG", "refuse")

    async def test(pool: Pool) -> None:
        answer = await pool.ask("echo", {}, 5.0)
        assert answer.status == 503
        with pytest.raises(RequestError) as refused:
            pool.submit("echo", {}, 5.0)
        assert refused.value.status == 503

    with_pool(test)


# -- runs ------------------------------------------------------------------------------------------


class StubRuns(Runs):
    """Runs whose job is another one of the stub."""

    kind = "patient"

    def begin(self, case: dict[str, Any], model: str = "", label: str = "") -> Any:
        submit = self.pool.submit
        self.pool.submit = lambda kind, *rest, **more: submit(self.kind, *rest, **more)  # type: ignore[assignment, method-assign]
        try:
            return super().begin(case, model, label)
        finally:
            self.pool.submit = submit  # type: ignore[method-assign]


@pytest.mark.long
def test_a_run_that_nobody_watches_is_cancelled() -> None:
    async def test(pool: Pool) -> None:
        runs = StubRuns(pool, pool.limits)
        over = asyncio.create_task(runs.watch_over())
        watched, forgotten = runs.begin({}), runs.begin({})
        events = [event async for event in _first(runs.events(watched), 3)]
        assert events[0].startswith(b"event: progress")
        stream = runs.events(watched)
        await anext(stream)
        while not forgotten.has_ended:
            await asyncio.sleep(0.02)
        assert forgotten.status == "cancelled" and watched.status == "running"
        await stream.aclose()
        while not watched.has_ended:
            await asyncio.sleep(0.02)
        assert watched.status == "cancelled"
        over.cancel()
        await runs.close()

    with_pool(test, workers=2, unwatched_seconds=0.3)


async def _first(stream: Any, count: int) -> Any:
    async for event in stream:
        yield event
        count -= 1
        if not count:
            await stream.aclose()
            return


def test_only_the_last_results_are_kept() -> None:
    async def test(pool: Pool) -> None:
        runs = StubRuns(pool, pool.limits)
        runs.kind = "echo"
        made = []
        for k in range(5):
            run = runs.begin({"padding": "x" * 100 * (k == 4)})
            made.append(run)
            events = [event async for event in runs.events(run)]
            assert events[-1].startswith(b"event: done") and run.result
        for run in made[:2]:
            with pytest.raises(RequestError) as refused:
                runs.get(run.id)
            assert refused.value.status == 404
        assert runs.get(made[-1].id).summary["status"] == "done"
        assert len({run.id for run in made}) == 5 and all(len(run.id) >= 12 for run in made)
        await runs.close()

    with_pool(test, kept_runs=3)


def test_results_are_bounded_by_their_size_too() -> None:
    async def test(pool: Pool) -> None:
        runs = StubRuns(pool, pool.limits)
        runs.kind = "echo"
        for _ in range(4):
            run = runs.begin({"padding": "x" * 600})
            assert [event async for event in runs.events(run)]
        assert sum(len(kept.result) for kept in runs._runs.values()) <= 1500
        await runs.close()

    with_pool(test, kept_bytes=1500)
