"""The clients of a lab under load: what a page does, and what a page would never do."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

from .load_requests import Answer, Expected, Tally, ask, head_of
from .load_server import LabServer

__all__ = ["CROWD", "Crowd", "probe"]

#: What a run of a page may differ by from the same run in this process.
TOLERANCE = 1e-12
LONG_RUN = {"system": "snakeboard", "span": [0.0, 1e6], "rtol": 1e-12}


@dataclass
class Crowd:
    """What the clients share."""

    server: LabServer
    cases: list[Expected]
    tally: Tally
    draw: random.Random
    end: float

    @property
    def port(self) -> int:
        """Where the lab is."""
        return self.server.port

    @property
    def goes_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self.end

    async def rest(self, seconds: float) -> None:
        """Pause, for about so long."""
        await asyncio.sleep(
            min(seconds * self.draw.uniform(0.5, 1.5), max(0.0, self.end - time.monotonic()))
        )


Client = Callable[[Crowd], Coroutine[Any, Any, None]]

# -- what a page does ------------------------------------------------------------------------------


async def page(crowd: Crowd) -> None:
    """Open the page, look at the gallery, check, read the equations, run, watch, and now and then
    draw, download or cancel.
    """
    port, tally = crowd.port, crowd.tally
    while crowd.goes_on:
        chosen = crowd.draw.choice(crowd.cases)
        for path in ("/", "/page/main.js", "/api/about", "/api/gallery", "/api/files"):
            tally.takes(path, await ask(port, "GET", path))
        for kind in ("check", "start"):
            answer = await ask(port, "POST", f"/api/{kind}", chosen.case)
            if tally.takes(kind, answer) and answer.value.get("ok") is not True:
                tally.fault(f"{kind} of a good model: {answer.body[:200]!r}")
        answer = await ask(port, "POST", "/api/equations", chosen.case)
        if tally.takes("equations", answer) and answer.value["text"] != chosen.equations:
            tally.fault(f"other equations than in this process: {answer.value['text'][:200]!r}")
        await a_run(crowd, chosen)
        if crowd.draw.random() < 0.3:
            body = chosen.case | {"x": "x", "y": "y", "points": [[0.1, 0.2], [0.3, 0.1]]}
            answer = await ask(port, "POST", "/api/portrait", body)
            if tally.takes("portrait", answer) and [
                len(answer.value["orbits"]),
                answer.value["orbits"][1]["x"][0],
            ] != [2, 0.3]:
                tally.fault(f"a portrait of other orbits: {answer.body[:200]!r}")
        await crowd.rest(1.0)


async def a_run(crowd: Crowd, chosen: Expected) -> None:
    """A run from its beginning to its numbers, which are those of this process; sometimes it is
    cancelled.
    """
    port, tally = crowd.port, crowd.tally
    begun = await ask(port, "POST", "/api/runs", chosen.case | {"frames": 200})
    if not tally.takes("run", begun, (202,)):
        return
    id = begun.value["id"]
    if crowd.draw.random() < 0.15:
        tally.takes("cancel", await ask(port, "DELETE", f"/api/runs/{id}"))
        return
    events = await ask(port, "GET", f"/api/runs/{id}/events")
    if not tally.takes("events", events):
        return
    ending = events.body.decode().strip().split("\n\n")[-1]
    if "event: done" not in ending:
        if tally.killing and "ended unexpectedly" in ending:
            tally.killed += 1
        else:
            tally.fault(f"a run that should be done ended with {ending[-300:]!r}")
        return
    result = await ask(port, "GET", f"/api/runs/{id}/result")
    if not tally.takes("result", result):
        return
    difference = chosen.difference(result.value)
    tally.compared += 1
    tally.largest_difference = max(tally.largest_difference, difference)
    if not difference <= TOLERANCE:
        tally.fault(
            f"a run of {chosen.motion.system.name} differs by {difference:.2e} from the one in this"
            " process"
        )
    if crowd.draw.random() < 0.2:
        download(tally, await ask(port, "GET", f"/api/runs/{id}/download?format=csv"), chosen)


def download(tally: Tally, answer: Answer, chosen: Expected) -> None:
    """A table has a row for every step; a run that others have pushed out meanwhile says so."""
    if answer.status == 404 and b"There is no such run any more" in answer.body:
        tally.statuses["download after the run was dropped"] += 1
    elif tally.takes("download", answer) and len(answer.body.splitlines()) != 1 + len(
        chosen.motion.t
    ):
        tally.fault(
            f"a table of {len(answer.body.splitlines())} lines for {len(chosen.motion.t)} steps"
        )


# -- what a page would never do --------------------------------------------------------------------


@asynccontextmanager
async def connected(
    crowd: Crowd,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection for misuse; that the lab cuts it off is no fault."""
    writer = None
    with suppress(OSError, EOFError, TimeoutError):
        reader, writer = await asyncio.open_connection("127.0.0.1", crowd.port)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
    if writer is None:
        await crowd.rest(0.5)


async def byte_by_byte(crowd: Crowd, data: bytes, name: str) -> None:
    while crowd.goes_on:
        async with connected(crowd) as (reader, writer):
            for byte in data:
                writer.write(bytes([byte]))
                await writer.drain()
                await crowd.rest(1.0)
                if reader.at_eof() or not crowd.goes_on:
                    break
        crowd.tally.statuses[f"{name} cut off or done"] += 1


async def slow_head(crowd: Crowd) -> None:
    """A head that comes a byte at a time."""
    await byte_by_byte(
        crowd,
        head_of("GET", "/", crowd.port, None, *(f"X-{k}: {'x' * 40}" for k in range(99))),
        "slow head",
    )


async def slow_body(crowd: Crowd) -> None:
    """A body that comes a byte at a time."""
    while crowd.goes_on:
        async with connected(crowd) as (reader, writer):
            writer.write(head_of("POST", "/api/check", crowd.port, 5000))
            while crowd.goes_on and not reader.at_eof():
                writer.write(b"{")
                await writer.drain()
                await crowd.rest(0.5)
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.01):
                        await reader.read(1000)
        crowd.tally.statuses["slow body cut off"] += 1


async def not_reading(crowd: Crowd) -> None:
    """Questions whose answers nobody reads."""
    while crowd.goes_on:
        async with connected(crowd) as (_, writer):
            cast(asyncio.Transport, writer.transport).pause_reading()
            for path in ("/page/style.css", "/api/gallery", "/page/plot.js") * 20:
                writer.write(
                    head_of("GET", path, crowd.port).replace(b"Connection: close\r\n", b"")
                )
            with suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await writer.drain()
            await crowd.rest(25.0)
        crowd.tally.statuses["not reading"] += 1


async def cutting(crowd: Crowd) -> None:
    """Connections that end in the middle: of a head, of a body, of an answer, of a stream of
    events.
    """
    body = json.dumps(crowd.cases[0].case).encode()
    head = head_of("POST", "/api/equations", crowd.port, len(body))
    while crowd.goes_on:
        request = head + body
        async with connected(crowd) as (reader, writer):
            writer.write(request[: crowd.draw.randrange(len(request) + 1)])
            await writer.drain()
            with suppress(TimeoutError):
                async with asyncio.timeout(crowd.draw.uniform(0.0, 0.3)):
                    await reader.read(10)
        crowd.tally.statuses["cut"] += 1
        await crowd.rest(0.2)


async def garbage(crowd: Crowd) -> None:
    """Bytes that are no request, and requests that lie about themselves."""
    while crowd.goes_on:
        wrong = crowd.draw.choice(
            [
                crowd.draw.randbytes(crowd.draw.randrange(1, 3000)),
                b"GET / HTTP/9.9\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + crowd.draw.randbytes(200),
                head_of("POST", "/api/check", crowd.port, 10) + b"{}",
                head_of("POST", "/api/check", crowd.port, 2) + b"{}" * 5000,
                head_of("POST", "/api/check", crowd.port, -5) + b"{}",
                head_of("POST", "/api/check", crowd.port, 2, "Content-Length: 7") + b"{}",
                head_of("POST", "/api/check", crowd.port, None, "Transfer-Encoding: chunked")
                + b"zz\r\n{}",
                head_of("GET", "/" + "a" * 70_000, crowd.port),
                head_of("BREW", "/api/check", crowd.port),
            ]
        )
        async with connected(crowd) as (reader, writer):
            writer.write(wrong)
            writer.write_eof()
            async with asyncio.timeout(2.0):
                first = await reader.read(100)
            if first.startswith(b"HTTP/1.1 5"):
                crowd.tally.fault(f"garbage was answered by {first[:40]!r}: {wrong[:80]!r}")
        crowd.tally.statuses["garbage"] += 1
        await crowd.rest(0.3)


async def half_open(crowd: Crowd) -> None:
    """Connections whose client has said all that it will say, and stays; also without a word."""
    while crowd.goes_on:
        async with connected(crowd) as (_, writer):
            if crowd.draw.random() < 0.5:
                writer.write(head_of("GET", "/api/about", crowd.port)[:-2])
            writer.write_eof()
            await crowd.rest(30.0)
        crowd.tally.statuses["half open"] += 1


async def going_away(crowd: Crowd) -> None:
    """Runs that nobody watches, and questions whose client has gone."""
    while crowd.goes_on:
        await ask(crowd.port, "POST", "/api/runs", LONG_RUN)
        answer = await ask(
            crowd.port, "POST", "/api/equations", crowd.draw.choice(crowd.cases).case, patience=0.3
        )
        crowd.tally.statuses[f"gone {answer.status}"] += 1
        await crowd.rest(4.0)


async def flooding(crowd: Crowd) -> None:
    """Everything at once, again and again: runs, questions and pages; most must be refused, in a
    sentence.
    """
    while crowd.goes_on:
        chosen = crowd.draw.choice(crowd.cases)
        paths = ["/api/runs", "/api/check", "/api/equations"]
        jobs = [
            ask(crowd.port, "POST", crowd.draw.choice(paths), chosen.case, patience=20.0)
            for _ in range(40)
        ]
        for answer in await asyncio.gather(*jobs):
            if answer.status:
                crowd.tally.takes("flood", answer, (200, 202))
        await crowd.rest(2.0)


async def killing(crowd: Crowd) -> None:
    """A worker dies now and then, whatever it does."""
    while crowd.goes_on:
        await crowd.rest(15.0)
        workers = crowd.server.children
        if workers and crowd.goes_on:
            crowd.tally.killing = True
            with suppress(ProcessLookupError):
                os.kill(crowd.draw.choice(workers), signal.SIGKILL)
            crowd.tally.statuses["workers killed"] += 1


async def exhausting(crowd: Crowd) -> None:
    """Runs that take more time or more memory than they may."""
    wide = {
        "text": (
            "coordinates = ['x']\nkinetic = 'x_dot**2/2'\npotential = '"
            + "+".join(f"cos({k}*x)" for k in range(3000))
            + "'"
        )
    }
    while crowd.goes_on:
        for case in (LONG_RUN, wide | {"form": "hamilton"}):
            answer: Any = await ask(crowd.port, "POST", "/api/runs", case)
            if answer.status == 202:
                events = await ask(crowd.port, "GET", f"/api/runs/{answer.value['id']}/events")
                ending = events.body.decode().strip().split("event: ")[-1].split("\n")[0]
                crowd.tally.statuses[f"exhausting {ending}"] += 1
            await crowd.rest(10.0)


#: A hundred clients: how many of each.
CROWD: dict[Client, int] = {
    page: 66,
    slow_head: 6,
    slow_body: 5,
    not_reading: 5,
    cutting: 5,
    garbage: 4,
    half_open: 3,
    going_away: 3,
    flooding: 1,
    killing: 1,
    exhausting: 1,
}


async def probe(server: LabServer, seconds: float, tally: Tally) -> None:
    """How long the page takes to come, on a connection of its own, four times a second."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        answer = await ask(server.port, "GET", "/", patience=60.0)
        taken = time.monotonic() - began
        if answer.status == 200 and b"<title>" in answer.body:
            tally.latencies.append(taken)
        elif answer.status != 503:
            tally.fault(
                f"the page was answered by {answer.status} after {taken:.1f} s:"
                f" {answer.body[:100]!r}"
            )
        await asyncio.sleep(0.25)
