"""Requests that another site, a rebound name or a broken worker could send; no worker is
started.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")

from lab_client import JSON, OWN, TOKEN, asked

from dalembert.lab import create_app
from dalembert.lab.limits import Limits
from dalembert.lab.messages import read_answer, read_jobs, read_line, read_progress
from dalembert.lab.workers.process import Job, WorkerProcess

OUTSIDE = "what stands outside"


@pytest.mark.parametrize(
    "host",
    [
        *(
            "localhost.:8350",
            "127.0.0.1.:8350",
            "LOCALHOST:8350 ",
            "127.1:8350",
            "2130706433:8350",
            "0x7f.1:8350",
            "0.0.0.0:8350",
        ),
        *(
            "[::]:8350",
            "[::ffff:127.0.0.1]:8350",
            "[::1%25lo]:8350",
            "::1:8350",
            "[::1]",
            "localhost",
            "localhost:08350",
        ),
        *(
            "localhost:8350,evil.example",
            "evil.example#localhost:8350",
            "localhost:8350/",
            "127.0.0.1:8350\t",
            "l\u00f6calhost:8350",
        ),
    ],
)
def test_nearly_own_names_are_refused(tmp_path: Path, host: str) -> None:
    assert raw(tmp_path, "GET", b"/api/about", host=host.encode("latin-1"))[0] == 403


def test_its_own_name_in_capitals_is_its_own(tmp_path: Path) -> None:
    assert raw(tmp_path, "GET", b"/api/about", host=b"LocalHost:8350")[0] == 200


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://localhost.:8350", "http://127.0.0.1:8350.evil.example",
     "HTTP://evil.example:8350", "file://", "http://[::1]:80",
     "http://127.0.0.1:8350/", "http://user@127.0.0.1:8350", "chrome-extension://abc", f"{OWN} http://evil.example"],
)  # fmt: skip
def test_nearly_own_origins_are_refused(tmp_path: Path, origin: str) -> None:
    answer = asked(tmp_path, "POST", "/api/check", headers=JSON | {"origin": origin}, content=b"{}")
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "method", ["OPTIONS", "TRACE", "CONNECT", "PATCH", "PROPFIND", "get", "", "GET\x00", "X" * 9999]
)
def test_other_methods_are_refused(tmp_path: Path, method: str) -> None:
    status, body = raw(tmp_path, method, b"/api/about")
    assert status == 405 and json.loads(body)["error"]["what"]


def test_a_head_has_no_body_and_a_websocket_no_answer(tmp_path: Path) -> None:
    assert raw(tmp_path, "HEAD", b"/api/about")[0] in (200, 405)
    app, sent = create_app(tmp_path), []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    for origin in (b"http://evil.example", OWN.encode()):
        scope = {
            "type": "websocket",
            "path": "/",
            "headers": [(b"host", b"127.0.0.1:8350"), (b"origin", origin)],
        }
        asyncio.run(app(scope, receive, send))
    assert [message["type"] for message in sent] == ["websocket.close"] * 2


@pytest.mark.parametrize("address", [b"/api/files?=\x82", b"/?\xff", b"/api/gallery?a=\xc3"])
def test_addresses_are_ascii(tmp_path: Path, address: bytes) -> None:
    """A byte beyond ASCII in the query of an address that is redirected ended in status 500."""
    assert raw(tmp_path, "GET", address)[0] == 400


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../out.toml",
            "..%2fout.toml",
            "%2e%2e%2fout.toml",
            "..%5cout.toml",
            "..%252fout.toml",
            "%2fetc%2fhosts",
            "out.toml%00",
        ),
        *(
            "link.toml",
            "....//out.toml",
            "%c0%ae%c0%ae%2fout.toml",
            "C:%5cout.toml",
            "folder.toml",
            ".hidden.toml",
            "con.toml",
        ),
    ],
)
def test_only_plain_files_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "folder.toml").mkdir()
    (tmp_path / "out.toml").write_text(OUTSIDE)
    (folder / "link.toml").symlink_to(tmp_path / "out.toml")
    address = f"/api/files/{name}".encode()
    status, body = raw(folder, "GET", address)
    assert status in (400, 404) and OUTSIDE.encode() not in body
    status, _ = raw(folder, "PUT", address, body=b'{"text": "x", "draft": true}')
    assert status in (400, 404, 405, 409)
    assert (tmp_path / "out.toml").read_text() == OUTSIDE and len(list(tmp_path.iterdir())) == 2


def raw(
    folder: Path, method: str, address: bytes, host: bytes = b"127.0.0.1:8350", body: bytes = b""
) -> tuple[int, bytes]:
    """Status and body of an answer to bytes that no client would send."""
    from urllib.parse import unquote

    path, _, query = address.partition(b"?")
    scope = {
        "type": "http",
        "method": method,
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
    }
    headers = [
        (b"host", host),
        (b"content-type", b"application/json"),
        (b"authorization", f"token {TOKEN}".encode()),
    ]
    scope |= {"headers": headers, "server": ("127.0.0.1", 8350)}
    scope |= {
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
        "client": ("127.0.0.1", 9),
        "asgi": {"version": "3.0"},
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    asyncio.run(create_app(folder, token=TOKEN)(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


# -- messages --------------------------------------------------------------------------------------

NONSENSE = [
    b"",
    b"x\n",
    b"[]\n",
    b"[" * 100_000 + b"\n",
    b"{}\n",
    b'{"cancel": "7"}\n',
    b'{"job": 1}\n',
    b"\xff\n",
    b'{"cancel": true}\n',
]
JOB = {"job": 1, "kind": "run", "seconds": 1.0, "patience": 3.0, "request": {}}


def test_a_worker_reads_jobs_and_stops_at_nonsense() -> None:
    told: list[Any] = []
    assert read_jobs([json.dumps(JOB).encode()], told.append, told.append) and told == [JOB]
    for line in NONSENSE[1:]:
        assert not read_jobs(
            [line, json.dumps(JOB).encode()], lambda _: pytest.fail("read on"), lambda _: None
        ), line
    for key, wrong in (
        ("seconds", float("nan")),
        ("patience", -1),
        ("seconds", 10**400),
        ("request", []),
        ("job", 1.5),
    ):
        assert not read_jobs(
            [json.dumps(JOB | {key: wrong}).encode()],
            lambda _: pytest.fail("begun"),
            lambda _: None,
        )


@pytest.mark.parametrize(
    "message",
    [{}, {"status": "200", "bytes": 1}, {"status": 200}, {"status": 200, "bytes": -1},
     {"status": 200, "bytes": 10**9},
     {"status": {}, "bytes": []}, {"status": 7, "bytes": 1}, {"status": True, "bytes": 1}],
)  # fmt: skip
def test_the_server_reads_collected_of_answers(message: dict) -> None:
    with pytest.raises(ValueError, match=r"an answer|a number"):
        read_answer(message, 1000)
    for progress in ([1], [1, "a"], {}, None, [1, [2]], [10**400, 1]):
        with pytest.raises(ValueError, match=r"a progress|a number"):
            read_progress({"progress": progress})


#: A worker that is ready, and answers its first job with a line of nonsense.
BROKEN = """
import sys, time
print('{"ready": true}', flush=True)
sys.stdin.readline()
print(sys.argv[1], flush=True)
time.sleep(60)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        '{"job": 1, "progress": 5}',
        '{"job": 1, "status": {}, "bytes": 1}',
        '{"job": 1}',
        "[" * 100_000,
    ],
    ids=["progress", "status", "empty", "deep"],
)
def test_a_job_ends_whatever_its_worker_says(line: str) -> None:
    """Lines of another shape ended the task of the server, and nobody ever answered the page."""

    async def answered() -> Any:
        worker = WorkerProcess(Limits(), True, (sys.executable, "-c", BROKEN, line))
        await worker.start()
        return await asyncio.wait_for(worker.work(Job(1, "check", {}, 5.0)), 30.0)

    answer = asyncio.run(answered())
    assert answer.status == 400 and answer.value["error"]["what"]


def test_a_line_is_an_object() -> None:
    assert read_line(b'{"a": 1}') == {"a": 1}
    for line in (NONSENSE[1], NONSENSE[2], NONSENSE[3], NONSENSE[7]):
        with pytest.raises(ValueError):
            read_line(line)
