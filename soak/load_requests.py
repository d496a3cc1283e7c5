"""Requests to a lab over plain sockets, and what the right answers are."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dalembert as da
from dalembert.model.io.files import loads

__all__ = ["TOKEN", "Answer", "Expected", "Tally", "ask", "expected_cases", "head_of"]

#: A client that means well waits this long for an answer.
PATIENCE = 150.0
#: What requests show to the lab.
TOKEN = "token-of-the-load-soak"

OSCILLATOR = """
name = "Oscillator {number}"
coordinates = ["x", "y"]
kinetic = "m*(x_dot**2 + y_dot**2)/2"
potential = "k*x**2/2 + y**4/4 + {coupling}*x*y"
[parameters]
m = {mass}
k = 2.0
[start]
x = 0.5
y = 0.3
[simulate]
t = [0, 4]
"""


@dataclass(frozen=True)
class Answer:
    """An answer of the lab; status 0 where the connection ended without one."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    @property
    def value(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass
class Tally:
    """What the clients saw."""

    statuses: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    compared: int = 0
    refused: int = 0
    killed: int = 0
    largest_difference: float = 0.0
    latencies: list[float] = field(default_factory=list)
    killing: bool = False

    def fault(self, sentence: str) -> None:
        """A guarantee that was broken; only the first few are told."""
        if len(self.faults) < 12:
            self.faults.append(sentence)
        self.statuses["fault"] += 1

    def takes(self, name: str, answer: Answer, good: tuple[int, ...] = (200,)) -> bool:
        """Whether an answer is one that can be gone on with; what is neither right nor a clear
        refusal is a fault.
        """
        self.statuses[f"{name} {answer.status}"] += 1
        if answer.status in good:
            return True
        if answer.status in (429, 503):
            self.refused += 1
            if "retry-after" not in answer.headers or not answer.value["error"]["what"]:
                self.fault(
                    f"{name}: {answer.status} without Retry-After or a sentence:"
                    f" {answer.body[:200]!r}"
                )
        elif self.killing and b"ended unexpectedly" in answer.body:
            self.killed += 1
        else:
            self.fault(f"{name}: unexpected status {answer.status}: {answer.body[:300]!r}")
        return False


def head_of(method: str, path: str, port: int, length: int | None = None, *further: str) -> bytes:
    """The head of a request."""
    own = [f"Host: 127.0.0.1:{port}", f"Authorization: token {TOKEN}", "Connection: close"]
    lines = [f"{method} {path} HTTP/1.1", *own, *further]
    if length is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {length}"]
    return "\r\n".join([*lines, "", ""]).encode()


async def ask(
    port: int, method: str, path: str, body: Any = None, patience: float = PATIENCE
) -> Answer:
    """One request on a connection of its own."""
    content = b"" if body is None else json.dumps(body).encode()
    writer = None
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
            writer.write(
                head_of(method, path, port, None if method == "GET" else len(content)) + content
            )
            head = await reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            headers = {
                key.strip().lower(): value.strip()
                for key, _, value in (line.partition(":") for line in lines if line)
            }
            length = headers.get("content-length")
            if headers.get("transfer-encoding") == "chunked":
                answered = await _chunks(reader)
            else:
                answered = (
                    await reader.read() if length is None else await reader.readexactly(int(length))
                )
            return Answer(int(first.split()[1]), headers, answered)
    except (OSError, EOFError, TimeoutError) as error:
        return Answer(0, {}, repr(error).encode())
    finally:
        if writer is not None:
            writer.close()
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await writer.wait_closed()


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """A body that comes in chunks, each behind its length."""
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    return body


@dataclass(frozen=True)
class Expected:
    """A case, and what its run and its equations are when they are made in this process."""

    case: dict[str, Any]
    motion: da.Motion
    equations: str

    def difference(self, result: dict[str, Any]) -> float:
        """The largest difference of the states that the lab sent from those of the motion at the
        same times, relative.
        """
        states = self.motion.sol(np.array(result["t"]))
        sent = np.array([result["state"][name] for name in result["letters"]])
        return (
            float(np.max(np.abs(sent - states)) / (1 + np.max(np.abs(states))))
            if sent.shape == states.shape
            else np.inf
        )


def expected_cases() -> list[Expected]:
    """Model texts and systems of the gallery, each with its motion."""
    found = []
    for number in range(6):
        text = OSCILLATOR.format(number=number, coupling=0.1 + 0.05 * number, mass=1.0 + number / 4)
        scenario = loads(text)
        equations = da.derive(scenario.system, "lagrange").text()
        found.append(
            Expected(
                {"text": text, "form": "lagrange"},
                da.simulate(scenario, form="lagrange"),
                equations,
            )
        )
    for name in ("rolling-disk", "snakeboard"):
        scenario = da.gallery.load(name)
        case = {"system": name, "span": [0.0, 2.0], "form": "lagrange"}
        kept = scenario.replacing(
            simulate={key: value for key, value in scenario.simulate.items() if key != "at"}
        )
        motion = da.simulate(kept, span=(0.0, 2.0), form="lagrange")
        found.append(Expected(case, motion, da.derive(scenario.system, "lagrange").text()))
    return found
