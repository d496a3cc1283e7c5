"""Labs to talk to: an application without workers, and a server with them in a process of its
own.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from dalembert.lab import Limits, create_app

OWN = "http://127.0.0.1:8350"
JSON = {"content-type": "application/json"}
TOKEN = "token-of-the-tests-1234"
AUTHORISED = {"authorization": f"token {TOKEN}"}

PENDULUM = """
name = "Pendulum"
coordinates = ["theta"]
kinetic = "m*l**2*theta_dot**2/2"
potential = "-m*g*l*cos(theta)"

[parameters]
m = 1.0
l = 2.0
g = 9.81

[start]
theta = 0.5

[simulate]
t = [0, 4]
"""


def asked(
    folder: Path,
    method: str,
    path: str,
    *,
    base: str = OWN,
    limits: Limits | None = None,
    token: bool = True,
    **options: Any,
) -> Any:
    """The answer of a lab without workers, to a client with its token or without."""

    async def ask() -> Any:
        transport = httpx.ASGITransport(app=create_app(folder, limits=limits, token=TOKEN))
        async with httpx.AsyncClient(
            transport=transport, base_url=base, headers=AUTHORISED if token else {}
        ) as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())


@contextmanager
def serving(
    folder: Path, workers: int = 1, **limits: Any
) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    """A server on a free port, with a client for it."""
    code = (
        "import json, sys\nfrom dalembert.lab import Limits, serve\nserve(sys.argv[1], 0,"
        " workers=int(sys.argv[2]), limits=Limits(**json.loads(sys.argv[3])),\n     "
        " token=sys.argv[4], ready=lambda address: print(address, flush=True))\n"
    )
    import json

    arguments = [sys.executable, "-c", code, str(folder), str(workers), json.dumps(limits), TOKEN]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address, _, query = process.stdout.readline().strip().partition("?")
        assert query == f"token={TOKEN}"
        with httpx.Client(base_url=address, timeout=90.0, headers=AUTHORISED) as client:
            yield client, process
    finally:
        process.terminate()
        process.communicate(timeout=30)


def finished(client: httpx.Client, id: str) -> tuple[str, list[float]]:
    """How a run ended, by its events, and the fractions that were reported on the way."""
    import json

    name, fractions = "", []
    with client.stream("GET", f"/api/runs/{id}/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        for text in events.iter_lines():
            if text.startswith("event: "):
                name = text.removeprefix("event: ")
            elif text.startswith("data: ") and name == "progress":
                fractions.append(json.loads(text.removeprefix("data: "))["fraction"])
    return name, fractions


def wait_until(holds: Any, seconds: float = 30.0) -> bool:
    """Whether something comes true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False
