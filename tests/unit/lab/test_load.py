"""The lab among clients that are slow, gone or too many: each is bounded in time and memory, and
the others are answered.
"""

from __future__ import annotations

import asyncio
import json
import math
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn")

from uvicorn.server import ServerState  # noqa: E402

from dalembert.lab.limits import Limits  # noqa: E402
from dalembert.lab.request_errors import RequestError  # noqa: E402
from dalembert.lab.server import guard  # noqa: E402
from dalembert.lab.server.access import Access  # noqa: E402
from dalembert.lab.server.chunked import PIECE, InPieces  # noqa: E402
from dalembert.lab.server.handlers import refused  # noqa: E402
from dalembert.lab.server.http_connections import Patience, TimedConnection  # noqa: E402
from dalembert.lab.server.runs import Runs  # noqa: E402
from dalembert.lab.workers.pool import Pool  # noqa: E402
from dalembert.lab.workers.process import CANCELLED, Answer, Job, WorkerProcess  # noqa: E402
from dalembert.lab.workers.worker import CancelledError, JobContext  # noqa: E402

STUB = (sys.executable, str(Path(__file__).with_name("worker_stub.py")))
IMPATIENT = Patience(request=0.3, reading=0.3, answer=0.9, look=0.05, connections=3)
PLAIN = b"GET / HTTP/1.1\r\nHost: lab\r\n\r\n"
LONG = b"GET /long HTTP/1.1\r\nHost: lab\r\n\r\n"
BUSY = b"GET /busy HTTP/1.1\r\nHost: lab\r\n\r\n"
#: Far more than the buffers of a connection on this machine take.
LARGE = 16 * 1024 * 1024


class Lab:
    """A small application behind the lab's connections."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.connections: set[Any] = set()
        self.clients: list[asyncio.StreamWriter] = []
        self.port = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b"x" * LARGE if scope["path"] == "/long" else b"here"
        if scope["path"] == "/busy":
            while (await receive())["type"] != "http.disconnect":
                pass
            self.ended.append("/busy")
            return
        while (await receive()).get("more_body"):
            pass
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [(b"content-length", str(len(body)).encode())],
            }
        )
        await send({"type": "http.response.body", "body": body})
        self.ended.append(scope["path"])

    @property
    def unsent(self) -> int:
        """Bytes of answers that the server holds."""
        return sum(connection.transport.get_write_buffer_size() for connection in self.connections)

    async def client(
        self, request: bytes = b""
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection that has sent something; what it may buffer of an answer is little."""
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=plain, limit=65536)
        self.clients.append(writer)
        writer.write(request)
        return reader, writer


def with_lab(
    test: Callable[[Lab], Awaitable[None]], patience: Patience = IMPATIENT, keep_alive: int = 20
) -> None:
    """Run something against a server of such connections."""

    class Impatient(TimedConnection):
        pass

    Impatient.patience = patience

    @asynccontextmanager
    async def served() -> AsyncIterator[Lab]:
        lab, state = Lab(), ServerState()
        config = uvicorn.Config(
            InPieces(lab),
            lifespan="off",
            ws="none",
            timeout_keep_alive=keep_alive,
            log_level="critical",
        )
        config.load()
        lab.connections = state.connections
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Impatient(config, state, {}), "127.0.0.1", 0)
        lab.port = server.sockets[0].getsockname()[1]
        try:
            yield lab
        finally:
            server.close()
            for either in (*state.connections, *lab.clients):
                either.transport.abort()
            await asyncio.gather(
                *(client.wait_closed() for client in lab.clients), return_exceptions=True
            )
            for task in list(state.tasks):
                task.cancel()
            await asyncio.gather(*state.tasks, return_exceptions=True)

    async def run() -> None:
        async with asyncio.timeout(20.0), served() as lab:
            await test(lab)

    asyncio.run(run())


async def holds(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


BODY = b"POST / HTTP/1.1\r\nHost: lab\r\nContent-Length: 900\r\n\r\n{"


@pytest.mark.long
@pytest.mark.parametrize(
    "begin", [b"", PLAIN[:8], PLAIN[:-4], BODY], ids=["nothing", "a word", "a head", "a body"]
)
def test_a_request_that_does_not_come_to_its_end_is_cut_off(begin: bytes) -> None:
    async def test(lab: Lab) -> None:
        slow, drip = await lab.client(begin)

        async def dripping() -> None:
            while begin:
                drip.write(b"x")
                await asyncio.sleep(0.05)

        task = asyncio.create_task(dripping())
        with pytest.raises(
            (ConnectionError, asyncio.IncompleteReadError)
        ):  # reset, or ended without an answer
            await slow.readexactly(1)
        task.cancel()
        await holds(lambda: not lab.connections)
        reader, _ = await lab.client(PLAIN)
        assert b"200 OK" in await reader.readuntil(b"here")

    with_lab(test)


@pytest.mark.long
def test_a_connection_that_rests_between_requests_is_left_alone() -> None:
    async def test(lab: Lab) -> None:
        reader, writer = await lab.client(PLAIN)
        await reader.readuntil(b"here")
        await asyncio.sleep(3 * IMPATIENT.request)
        writer.write(PLAIN)
        assert b"200 OK" in await reader.readuntil(b"here")

    with_lab(test)


@pytest.mark.long
def test_an_answer_that_nobody_reads_takes_a_piece_of_memory_and_is_cut_off() -> None:
    async def test(lab: Lab) -> None:
        _, writer = await lab.client(LONG)
        writer.transport.pause_reading()
        await holds(lambda: lab.unsent > 0)
        assert lab.unsent <= 2 * PIECE < LARGE / 4
        await holds(lambda: not lab.connections)
        assert lab.unsent == 0

    with_lab(test)


@pytest.mark.long
def test_an_answer_that_is_read_by_drops_is_cut_off_too() -> None:
    async def test(lab: Lab) -> None:
        reader, _ = await lab.client(LONG)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            while True:
                await reader.readexactly(200_000)
                await asyncio.sleep(0.03)

    with_lab(test)


def test_an_answer_that_is_read_arrives_whole() -> None:
    async def test(lab: Lab) -> None:
        reader, _ = await lab.client(LONG)
        await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(LARGE) == b"x" * LARGE

    with_lab(test, Patience())


def test_where_there_are_too_many_connections_one_that_asks_nothing_makes_room() -> None:
    async def test(lab: Lab) -> None:
        silent = [(await lab.client())[0] for _ in range(3)]
        await holds(lambda: len(lab.connections) == 3)
        reader, _ = await lab.client(PLAIN)
        assert b"200 OK" in await reader.readuntil(b"here")
        assert len(lab.connections) <= 3
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await silent[0].readexactly(1)

    with_lab(test, Patience(connections=3))


def test_where_all_connections_are_busy_another_one_is_refused_in_a_sentence() -> None:
    async def test(lab: Lab) -> None:
        busy = [await lab.client(BUSY) for _ in range(3)]
        await holds(lambda: sum(connection.is_answering for connection in lab.connections) == 3)
        reader, _ = await lab.client(PLAIN)
        answer = await reader.read()
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503") and b"retry-after: " in head
        assert json.loads(body)["error"]["remedy"] == "wait a moment and try again"
        busy[0][1].close()
        await holds(lambda: len(lab.connections) == 2 and lab.ended == ["/busy"])
        reader, _ = await lab.client(PLAIN)
        assert b"200 OK" in await reader.readuntil(b"here")

    with_lab(test, Patience(connections=3))


@pytest.mark.long
def test_what_is_still_being_answered_ends_soon_when_the_server_stops() -> None:
    async def test(lab: Lab) -> None:
        await lab.client(BUSY)
        await holds(lambda: any(connection.is_answering for connection in lab.connections))
        for connection in list(lab.connections):
            connection.shutdown()
        await holds(lambda: not lab.connections)
        await holds(lambda: lab.ended == ["/busy"])

    with_lab(test, Patience())


# -- bodies, refusals ------------------------------------------------------------------------------


def test_a_body_has_a_time_for_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the request never came to its end")

    async def drop() -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"{", "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    access = Access()
    headers = [(b"host", b"127.0.0.1:8350"), (b"content-type", b"application/json")]
    headers.append((b"authorization", f"Bearer {access.token}".encode()))
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/check",
        "headers": headers,
        "server": ("127.0.0.1", 8350),
    }

    async def run() -> None:
        async with asyncio.timeout(5.0):
            await guard.Guard(app, 10_000, access)(scope, drop, send)

    asyncio.run(run())
    assert sent[0]["status"] == 408


def test_who_meets_a_full_lab_is_told_when_to_come_back() -> None:
    pool = Pool(1, Limits(queued=0), STUB)
    with pytest.raises(RequestError) as full:
        pool.submit("run", {}, 1.0)
    answer = asyncio.run(refused(None, full.value))  # type: ignore[arg-type]
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) >= 1
    assert "retry-after" not in asyncio.run(refused(None, RequestError(404, "no"))).headers  # type: ignore[arg-type]


# -- runs and jobs ---------------------------------------------------------------------------------


class StillPool:
    """A pool in which nothing moves by itself."""

    def submit(self, kind: str, request: dict[str, Any], seconds: float, **options: Any) -> Job:
        return Job(1, kind, request, seconds)


def test_a_result_is_kept_however_many_runs_wait() -> None:
    async def test() -> None:
        runs = Runs(StillPool(), Limits(kept_runs=4))  # type: ignore[arg-type]
        made = [runs.begin({}, "", str(k)) for k in range(20)]
        for run in made[:4]:
            assert run.job is not None
            run.job.finish(Answer(200, b"{}"))
            await asyncio.sleep(0.01)
        assert [runs.get(run.id).status for run in made[:5]] == ["done"] * 4 + ["queued"]
        made[2].was_sent = True
        for run in made[4:6]:
            assert run.job is not None
            run.job.finish(Answer(200, b"{}"))
            await asyncio.sleep(0.01)
        left = [run.id in runs._runs for run in made[:6]]
        assert left == [
            False,
            True,
            False,
            True,
            True,
            True,
        ]  # what was sent goes first, then what nobody asked about longest
        await runs.close()

    asyncio.run(test())


def test_a_job_that_is_cancelled_before_its_worker_begins_is_not_begun() -> None:
    async def test() -> None:
        begun: list[bool] = []
        job = Job(1, "run", {}, 1.0, on_start=lambda: begun.append(True))
        job.cancelled = True
        assert await WorkerProcess(Limits(), False, STUB).work(job) is CANCELLED and not begun

    asyncio.run(test())


def test_a_worker_is_told_that_nobody_waits_any_more() -> None:
    async def test() -> None:
        pool = Pool(1, Limits(), STUB)
        pool.open()
        try:
            async with asyncio.timeout(30.0):
                asked = [asyncio.create_task(pool.ask("patient", {}, 20.0)) for _ in range(1)]
                await holds(lambda: any(worker.job is not None for worker in pool.workers))
                before = [worker._process for worker in pool.workers]
                asked[0].cancel()
                await holds(lambda: all(worker.job is None for worker in pool.workers))
                assert [
                    worker._process for worker in pool.workers
                ] == before  # and none had to be killed
        finally:
            await pool.close()

    asyncio.run(test())


@pytest.mark.long
def test_workers_that_do_not_start_for_a_while_are_started_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        monkeypatch.setenv("DALEMBERT_DEBUG", "refuse")  # at which the stub ends at once
        pool = Pool(1, Limits(), STUB)
        pool.open()
        try:
            async with asyncio.timeout(60.0):
                await holds(lambda: pool._trouble is not None)
                with pytest.raises(RequestError) as full:
                    pool.submit("echo", {}, 1.0)
                assert full.value.status == 503
                monkeypatch.delenv("DALEMBERT_DEBUG")
                await holds(lambda: pool._trouble is None)
                assert (await pool.ask("echo", {}, 5.0)).status == 200
        finally:
            await pool.close()

    asyncio.run(test())


@pytest.fixture
def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job context bounds the processor time of its process, which is that of the tests here."""
    monkeypatch.setattr("dalembert.lab.workers.worker._limit_time", lambda seconds: None)


@pytest.mark.usefixtures("unbounded")
def test_progress_over_a_span_longer_than_any_number_is_not_told() -> None:
    sent: list[bytes] = []
    job_context = JobContext(sent.append)
    job_context.begin(1, 5.0, 5.0)
    job_context._spoken = -math.inf
    job_context.progress(math.nan, 1.0)
    assert not sent
    job_context.progress(0.5, 1.0)
    assert json.loads(sent[0])["progress"] == [0.5, 1.0]


@pytest.mark.usefixtures("unbounded")
def test_a_job_context_forgets_what_was_cancelled_long_ago() -> None:
    job_context = JobContext(lambda _: None)
    for number in range(1, 101):
        job_context.begin(number, 5.0, 5.0)
        job_context.cancel(number)
    assert job_context._cancelled <= {99, 100}
    with pytest.raises(CancelledError):
        job_context.check()


@pytest.mark.long
def test_the_lab_ends_without_a_traceback_however_often_it_is_told(tmp_path: Path) -> None:
    """The second Ctrl-C ends the server before the application has ended; what is cancelled thereby
    is not told.
    """
    code = "import sys; from dalembert.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "lab", str(tmp_path), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(f"GET /api/gallery HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        time.sleep(1.0)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors and "Error" not in errors


def test_a_worker_that_is_being_started_when_the_lab_ends_is_known_and_killed() -> None:
    async def test(after: int) -> None:
        worker = WorkerProcess(Limits(), False, STUB)
        starting = asyncio.create_task(worker.start())
        for _ in range(after):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.wait([starting])
        assert starting.cancelled() and (worker._process is not None or after == 0)
        await worker.kill()
        assert not worker.is_alive

    for after in (0, 1, 2, 3, 5):
        asyncio.run(test(after))
