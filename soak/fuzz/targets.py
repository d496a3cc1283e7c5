"""What must hold for any bytes at all, one function for each way in.

Each takes bytes and returns whether they were accepted. It raises `BrokenError` if a guarantee is
broken: an error of another kind, an answer that is not one, something that does not come back as it
was written, or too much time.
"""

from __future__ import annotations

import asyncio
import io
import json
import math
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import sympy

from dalembert.errors import DalembertError
from dalembert.model.io.expressions import evaluate, parse
from dalembert.model.io.expressions import format as written
from dalembert.model.io.files import dumps, loads
from dalembert.model.symbols import Coordinate, Parameter, t

from . import file_targets
from .reference import disagreement

__all__ = ["TARGETS", "BrokenError", "checked"]

#: Processor seconds that one input may take; the slowest take a hundredth of it.
MOST_SECONDS = 20.0
#: What stands in a file that nobody may read.
SECRET = "only-outside-of-the-folder"
#: What requests show to the lab, unless they bring a header of their own.
TOKEN = "token-of-the-fuzzing"
#: Symbols of the expressions.
_Q = Coordinate("x")
SYMBOLS: dict[str, sympy.Symbol] = {
    symbol.name: symbol
    for symbol in (_Q, Coordinate("y"), _Q.dot, _Q.momentum, Parameter("m"), Parameter("θ"), t)
}
POINTS = tuple(
    {
        symbol: value + shift
        for value, symbol in zip(
            (0.7, 1.3, -0.4, 2.1, 0.9, -1.7, 0.2), SYMBOLS.values(), strict=True
        )
    }
    for shift in (0.0, 0.31, -2.2)
)


class BrokenError(AssertionError):
    """A guarantee that an input broke."""


def checked(target: str, data: bytes) -> bool:
    """Whether `target` accepts `data`; within its time, and without any error of a strange kind."""
    began = time.process_time()
    try:
        accepted = TARGETS[target](data)
    except BrokenError:
        raise
    except (Exception, RecursionError, MemoryError) as error:
        raise BrokenError(f"{target}: {type(error).__name__}: {error}") from error
    took = time.process_time() - began
    if took > MOST_SECONDS:
        raise BrokenError(f"{target}: took {took:.1f} s")
    return accepted


def _in_three_parts(error: DalembertError) -> None:
    """A message says what is wrong, and the value seen or what to do; it is short enough to be
    read.
    """
    text = str(error)
    if not error.what or (error.seen is None and not error.remedy and not error.faults):
        raise BrokenError(f"an error of one part: {text[:200]!r}")
    if any(len(line) > 1500 for line in text.splitlines()):
        raise BrokenError(f"an error of {len(text)} characters: {text[:200]!r}")
    if any(not (c.isprintable() or c == "\n") for c in text):
        raise BrokenError(f"an error with characters that cannot be shown: {text[:200]!a}")


# -- expressions -----------------------------------------------------------------------------------


def expression(data: bytes) -> bool:
    """Text to expression, to text, to the same expression; and the value that Python's grammar
    gives the text.
    """
    text = data.decode("utf-8", "surrogateescape")  # which leaves halves of pairs in it
    try:
        found = parse(text, SYMBOLS)
    except DalembertError as error:
        _in_three_parts(error)
        return False
    _comes_back(found)
    wrong = disagreement(text, found, POINTS)
    if wrong:
        raise BrokenError(f"{text[:200]!r} has another value: {wrong}")
    return True


def _comes_back(found: sympy.Expr) -> None:
    text = written(found)
    try:
        again = parse(text, SYMBOLS)
    except DalembertError as error:
        raise BrokenError(f"what was written is not read: {text[:200]!r}: {error}") from error
    if again == found:
        return
    for point in POINTS:
        before, after = _value(found, point), _value(again, point)
        if (before is None) != (after is None) or (
            before is not None
            and after is not None
            and not math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12)
        ):
            raise BrokenError(f"{text[:200]!r} is read with another value: {before} and {after}")


def _value(found: sympy.Expr, point: dict[Any, float]) -> float | None:
    try:
        return evaluate(found, point)
    except DalembertError:
        return None


# -- model files -----------------------------------------------------------------------------------


def model(data: bytes) -> bool:
    """The text of a model file to a scenario, to text, to an equal scenario."""
    text = data.decode("utf-8", "replace")
    try:
        found = loads(text)
    except DalembertError as error:
        _in_three_parts(error)
        return False
    first = dumps(found)
    try:
        again = loads(first)
    except DalembertError as error:
        raise BrokenError(f"what was written is not read: {error}") from error
    for what in ("parameters", "start", "simulate", "source", "summary"):
        if dict_or_text(getattr(found, what)) != dict_or_text(getattr(again, what)):
            raise BrokenError(f"{what}: {getattr(found, what)} became {getattr(again, what)}")
    if dumps(again) != first and dumps(loads(dumps(again))) != dumps(again):
        raise BrokenError(f"written twice, it differs: {first[:300]!r}")
    return True


def dict_or_text(value: Any) -> Any:
    """A mapping as a dictionary, anything else as it is."""
    return value if isinstance(value, str) else dict(value)


# -- the lab ---------------------------------------------------------------------------------------


class _Pool:
    """A pool without workers: it checks that what it is given is plain, and answers at once."""

    def submit(self, kind: str, request: dict[str, Any], seconds: float, **_: Any) -> Any:
        from dalembert.lab.workers.process import Answer, Job

        job = Job(1, kind, json.loads(json.dumps(request, allow_nan=False)), seconds)
        answer: dict[str, Any] = (
            {"systems": []} if kind == "gallery" else {"ok": True, "content": "", "name": "run"}
        )
        job.finish(Answer(200, json.dumps(answer).encode()))
        return job

    async def ask(self, kind: str, request: dict[str, Any], seconds: float, **options: Any) -> Any:
        return await self.submit(kind, request, seconds, **options).done

    async def cancel(self, job: Any) -> None:
        return None


@cache
def _lab() -> tuple[Any, Any, Path]:
    """The application, the handlers behind it, and its folder; made once."""
    from dalembert.lab.server.handlers import Lab
    from dalembert.lab.server.web_app import create_app

    folder = Path(tempfile.mkdtemp(prefix="dalembert-fuzz-")) / "models"
    folder.mkdir()
    (folder / "a.toml").write_text('coordinates = ["x"]\nkinetic = "x_dot**2/2"\n')
    (folder.parent / "secret.toml").write_text(SECRET)
    (folder / "link.toml").symlink_to(folder.parent / "secret.toml")
    app = create_app(folder, token=TOKEN)
    owners = (
        getattr(route.endpoint, "__self__", None)
        for route in app.routes
        if hasattr(route, "endpoint")
    )
    return app, next(owner for owner in owners if isinstance(owner, Lab)), folder


def parse_request(data: bytes) -> tuple[str, bytes, list[tuple[bytes, bytes]], bytes]:
    """Method, address, headers and body: a first line, a line for each header, an empty line, the
    body.
    """
    head, _, body = data.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    method, _, target = first.partition(b" ")
    headers = [
        (key.strip().lower(), value.strip())
        for key, _, value in (line.partition(b":") for line in lines)
    ]
    return method.decode("latin-1") or "GET", target or b"/", headers, body


def request(data: bytes) -> bool:
    """A request of any kind is answered, with JSON where it is refused, and only its own page gets
    an answer.
    """
    from urllib.parse import unquote_to_bytes

    method, target, headers, body = parse_request(data)
    path, _, query = target.partition(b"?")
    own = [(b"host", b"127.0.0.1:8350"), (b"content-type", b"application/json")]
    own.append((b"authorization", f"token {TOKEN}".encode()))
    given = {key for key, _ in headers}
    headers += [pair for pair in own if pair[0] not in given]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 9),
        "server": ("127.0.0.1", 8350),
        "state": {},
    }
    app, lab, folder = _lab()
    before = {
        entry.name: entry.lstat().st_mtime_ns
        for entry in folder.parent.iterdir()
        if entry.name != folder.name
    }
    status, answer = asyncio.run(_answered(app, lab, scope, body))
    if {
        entry.name: entry.lstat().st_mtime_ns
        for entry in folder.parent.iterdir()
        if entry.name != folder.name
    } != before:
        raise BrokenError("a request wrote outside the folder")
    for entry in folder.iterdir():
        if entry.name not in ("a.toml", "link.toml"):
            entry.unlink()
    if status >= 500 or (SECRET.encode() in answer and SECRET.encode() not in data):
        raise BrokenError(f"status {status}: {answer[:300]!r}")
    has_token = any(TOKEN.encode() in text for text in (query, *(value for _, value in headers)))
    if (
        status < 400
        and not has_token
        and (scope["path"] != "/" or b"location.replace" not in answer)
    ):
        raise BrokenError(f"answered without the token: {answer[:300]!r}")
    if (
        status >= 400
        and method != "HEAD"
        and status != 499
        and not answer.startswith(b"<!doctype html>")
    ):
        parts = json.loads(answer)["error"]
        if not parts["what"] or set(parts) - {"faults"} != {"what", "seen", "remedy", "line"}:
            raise BrokenError(f"a refusal of {parts}")
    hosts = [value.decode("latin-1").lower() for key, value in headers if key == b"host"]
    if status < 400 and hosts not in (
        [f"{name}:8350"] for name in ("127.0.0.1", "localhost", "[::1]")
    ):
        raise BrokenError(f"answered to the host {hosts}")
    return status < 400


async def _answered(app: Any, lab: Any, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
    from dalembert.lab.server.runs import Runs

    lab.pool = _Pool()
    lab.runs, lab._gallery = Runs(lab.pool, lab.limits), None
    lab.runs.begin({"text": "x"}, "m", "l")
    pieces, sent, gone = [body[: len(body) // 2], body[len(body) // 2 :]], [], asyncio.Event()

    async def receive() -> dict[str, Any]:
        if pieces:
            return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}
        await asyncio.wait([asyncio.create_task(gone.wait())], timeout=2.0)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    gone.set()
    await lab.runs.close()
    starts = [message["status"] for message in sent if message["type"] == "http.response.start"]
    if len(starts) != 1:
        raise BrokenError(f"{len(starts)} answers to one request")
    return starts[0], b"".join(
        message.get("body", b"") for message in sent if message["type"] == "http.response.body"
    )


def message(data: bytes) -> bool:
    """What a worker and the server read from each other: jobs, cancellations, answers and nonsense,
    line by line.
    """
    from dalembert.lab.messages import read_answer, read_jobs, read_line, read_progress

    jobs: list[dict[str, Any]] = []
    cancelled: list[int] = []
    fine = read_jobs(io.BytesIO(data), jobs.append, cancelled.append)
    for job in jobs:
        if (
            not isinstance(job["request"], dict)
            or not 0 <= min(job["seconds"], job["patience"]) < math.inf
        ):
            raise BrokenError(f"a job of {job}")
    for line in data.splitlines():
        with suppress(ValueError):
            told = read_line(line)
            read_progress(told) if "progress" in told else read_answer(told, 1000)
    return fine and bool(jobs or cancelled)


def _file(read: Callable[[bytes], DalembertError | None]) -> Callable[[bytes], bool]:
    """A file that is read, or refused by an error in three parts."""

    def accepted(data: bytes) -> bool:
        error = read(data)
        if error is not None:
            _in_three_parts(error)
        return error is None

    return accepted


TARGETS: dict[str, Callable[[bytes], bool]] = {
    "expression": expression,
    "model": model,
    "request": request,
    "message": message,
    "urdf": _file(file_targets.robot),
    "mjcf": _file(file_targets.robot),
    "motion": _file(file_targets.motion),
    "store": _file(file_targets.store),
}
