"""Who may ask the lab, and what is sent along with every answer; no worker is started."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")

from lab_client import JSON, OWN, asked

from dalembert.lab import Limits


@pytest.mark.parametrize("base", [OWN, "http://localhost:8350", "http://[::1]:8350"])
def test_its_own_names_are_answered(tmp_path: Path, base: str) -> None:
    assert asked(tmp_path, "GET", "/api/about", base=base).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8350",
        "127.0.0.1.evil.example:8350",
        "127.0.0.1:8351",
        "127.0.0.1",
        "",
        "localhost:8350@evil.example",
    ],
)
def test_other_names_are_refused(tmp_path: Path, host: str) -> None:
    """A name that someone else makes point here is not ours."""
    answer = asked(tmp_path, "GET", "/api/about", headers={"host": host})
    assert answer.status_code == 403
    assert answer.json()["error"]["what"] and "folder" not in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (JSON, 404),  # passes the guard: there is no such run
        (JSON | {"origin": OWN}, 404),
        (JSON | {"origin": "http://localhost:8350"}, 404),
        (JSON | {"origin": "https://127.0.0.1:8350"}, 403),
        (JSON | {"origin": "http://127.0.0.1:9999"}, 403),
        (JSON | {"origin": "http://evil.example"}, 403),
        (JSON | {"origin": "null"}, 403),
        (JSON | {"sec-fetch-site": "cross-site"}, 403),
        (JSON | {"sec-fetch-site": "same-site"}, 403),
        (JSON | {"sec-fetch-site": "same-origin"}, 404),
        ({"content-type": "text/plain"}, 400),
        ({"content-type": "application/x-www-form-urlencoded"}, 400),
        ({}, 400),
    ],
)
def test_what_changes_something_comes_from_the_page(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    answer = asked(tmp_path, "PUT", "/api/nothing", headers=headers, content=b"{}")
    assert answer.status_code == status
    assert set(answer.json()["error"]) >= {"what", "seen", "remedy", "line"}


def test_other_pages_read_nothing_but_links_lead_to_the_page(tmp_path: Path) -> None:
    across = {"sec-fetch-site": "cross-site"}
    assert asked(tmp_path, "GET", "/api/files", headers=across).status_code == 403
    assert asked(tmp_path, "GET", "/", headers=across).status_code == 403  # as a frame or a script
    assert (
        asked(tmp_path, "GET", "/", headers=across | {"sec-fetch-mode": "navigate"}).status_code
        == 200
    )


def test_a_header_that_decides_comes_once(tmp_path: Path) -> None:
    twice = [
        ("content-type", "application/json"),
        ("origin", OWN),
        ("origin", "http://evil.example"),
    ]
    assert (
        asked(tmp_path, "PUT", "/api/files/a.toml", headers=twice, content=b"{}").status_code == 400
    )


@pytest.mark.parametrize(
    "path", ["/", "/api/about", "/nothing", "/page/nothing.js", "/api/files/.hidden"]
)
def test_every_answer_has_the_headers(tmp_path: Path, path: str) -> None:
    headers = asked(tmp_path, "GET", path).headers
    policy = headers["content-security-policy"]
    assert (
        "default-src 'self'" in policy
        and "frame-ancestors 'none'" in policy
        and "unsafe" not in policy
    )
    assert (
        headers["x-content-type-options"] == "nosniff"
        and headers["referrer-policy"] == "no-referrer"
    )


def test_bodies_are_bounded(tmp_path: Path) -> None:
    small = Limits(body_bytes=1000)
    for size, status in ((900, 400), (2000, 413)):
        answer = asked(
            tmp_path, "POST", "/api/check", limits=small, headers=JSON, content=b"x" * size
        )
        assert answer.status_code == status

    async def pieces() -> Any:  # without a Content-Length
        for _ in range(100):
            yield b"x" * 100

    assert (
        asked(
            tmp_path, "POST", "/api/check", limits=small, headers=JSON, content=pieces()
        ).status_code
        == 413
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[1]",
        b"nonsense",
        b'{"text": "x", "span": [0, NaN]}',
        b"\xff\xfe{}",
        b"[" * 50_000,
        b'{"parameters": {}}',
        b'{"text": 3}',
        b'{"text": 3, "system": "rolling-disk"}',
        b'{"system": "rolling-disk", "parameters": {"m": 1, "m": 2}}',
        b'{"system": "../../etc/passwd"}',
        b'{"text": "x", "span": [0]}',
        b'{"text": "x", "span": [1, 1]}',
        b'{"text": "x", "parameters": {"m": "1"}}',
        b'{"text": "x", "parameters": {"m": true}}',
        b'{"text": "x", "parameters": {"m": 1e999}}',
        b'{"text": "x", "start": [1]}',
        b'{"text": "x", "rtol": -1}',
        b'{"text": "x", "form": "a b"}',
        b'{"text": "\\ud800"}',
    ],
)
def test_requests_that_say_nothing_sensible_are_refused(tmp_path: Path, body: bytes) -> None:
    answer = asked(tmp_path, "POST", "/api/check", headers=JSON, content=body)
    assert answer.status_code == 400
    assert len(answer.json()["error"]["what"]) > 10


def test_a_portrait_has_two_axes_and_a_result_a_number_of_frames(tmp_path: Path) -> None:
    """A portrait of a symbol against itself was a fault of ours, with status 500; 2.5 frames were
    two.
    """
    body = {"system": "rolling-disk", "points": [[1, 2]], "x": "theta", "y": "theta"}
    for path, said in (
        ("/api/portrait", body),
        ("/api/runs", {"system": "rolling-disk", "frames": 2.5}),
    ):
        assert (
            asked(tmp_path, "POST", path, headers=JSON, content=json.dumps(said)).status_code == 400
        )


def test_there_are_no_pages_of_the_framework(tmp_path: Path) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert asked(tmp_path, "GET", path).status_code == 404
    assert asked(tmp_path, "DELETE", "/api/about", headers=JSON).status_code == 405
    assert asked(tmp_path, "OPTIONS", "/api/about").status_code == 405


def test_about_names_the_folder_but_not_where_it_is(tmp_path: Path) -> None:
    found = asked(tmp_path, "GET", "/api/about", limits=Limits(kept_runs=7)).json()
    assert found["folder"] == tmp_path.name and str(tmp_path.parent) not in str(found)
    assert found["limits"]["kept_runs"] == 7


def test_a_missing_extra_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dalembert.cli import main

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["lab", str(tmp_path), "--no-browser"]) == 2
    assert (
        capsys.readouterr().err
        == 'The package `uvicorn` is not installed: run pip install "dalembert[lab]".\n'
    )
    monkeypatch.delitem(sys.modules, "uvicorn")
    for arguments in ([str(tmp_path / "nowhere")], [str(tmp_path), "--port", "70000"]):
        assert main(["lab", *arguments, "--no-browser"]) == 2
        assert capsys.readouterr().err.count("\n") == 1
