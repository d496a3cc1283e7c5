"""The token of the lab: nothing is answered without it, however a request is made."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest

pytest.importorskip("httpx")
pytest.importorskip("fastapi")

from lab_client import AUTHORISED, JSON, TOKEN, asked

from dalembert.cli import lab_command as command
from dalembert.errors import ModelError
from dalembert.lab import create_app
from dalembert.lab.limits import Limits
from dalembert.lab.server.handlers import Lab

ACROSS = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
COOKIE = "dalembert-lab-8350"


def routes(folder: Path) -> list[tuple[str, str]]:
    """Method and address of everything that the lab answers."""
    found = Lab(folder, 1, Limits()).routes
    return [
        (method, path.replace("{name}", "a.toml").replace("{id}", "x")) for method, path, _ in found
    ]


def test_another_user_cannot_write_into_the_folder(tmp_path: Path) -> None:
    """Whoever could open a connection to 127.0.0.1 could write through the lab, with its user's
    rights.
    """
    body = b'{"text": "planted", "draft": true}'
    refused = asked(tmp_path, "PUT", "/api/files/a.toml", headers=JSON, content=body, token=False)
    assert refused.status_code == 401 and not list(tmp_path.iterdir())
    assert (
        asked(tmp_path, "PUT", "/api/files/a.toml", headers=JSON, content=body).status_code == 200
    )


@pytest.mark.long
def test_no_address_is_answered_without_the_token(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("what stands in the folder")
    for method, path in (
        *routes(tmp_path),
        ("HEAD", "/"),
        ("GET", "/nothing"),
        ("GET", "/page/index.html"),
    ):
        answer = asked(tmp_path, method, path, headers=JSON, content=b"{}", token=False)
        assert answer.status_code == 401, (method, path)
        assert "folder" not in answer.text and "<script" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"token {TOKEN}x"},
        {"authorization": f"token {TOKEN[:-1]}"},
        {"authorization": TOKEN},
        {"authorization": f"basic {TOKEN}"},
        {"authorization": "token "},
        {"authorization": b"token \xff\xfe"},
        {"cookie": f"{COOKIE}={TOKEN}"},
        {"cookie": f"{COOKIE}="},
        {"cookie": "; =; x"},
    ],
)
def test_what_is_nearly_the_token_is_refused(tmp_path: Path, headers: dict[str, Any]) -> None:
    assert asked(tmp_path, "GET", "/api/files", headers=headers, token=False).status_code == 401


@pytest.mark.parametrize("scheme", ["token", "Token", "Bearer"])
def test_a_program_sends_the_token_in_a_header(tmp_path: Path, scheme: str) -> None:
    headers = {"authorization": f"{scheme} {TOKEN}"}
    assert asked(tmp_path, "GET", "/api/files", headers=headers, token=False).status_code == 200


def test_credentials_come_once(tmp_path: Path) -> None:
    twice = [("authorization", f"token {TOKEN}"), ("authorization", "token another")]
    assert asked(tmp_path, "GET", "/api/files", headers=twice, token=False).status_code == 400


def visited(folder: Path, *steps: tuple[str, dict[str, str]], port: int = 8350) -> list[Any]:
    """The answers to one browser that asks for addresses in turn."""
    import httpx

    async def visit() -> list[Any]:
        transport = httpx.ASGITransport(app=create_app(folder, token=TOKEN))
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return [await client.get(path, headers=headers) for path, headers in steps]

    return asyncio.run(visit())


def test_the_address_with_the_token_gives_a_cookie_and_leads_on(tmp_path: Path) -> None:
    first, page, files = visited(tmp_path, (f"/?token={TOKEN}", {}), ("/", {}), ("/api/files", {}))
    assert first.status_code == 303 and first.headers["location"] == "/"
    name, *attributes = [part.strip() for part in first.headers["set-cookie"].split(";")]
    assert name.startswith(f"{COOKIE}=") and TOKEN not in name
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert first.headers["cache-control"] == "no-store"
    assert page.status_code == files.status_code == 200


def test_a_wrong_token_gives_no_cookie(tmp_path: Path) -> None:
    for query in ("token=wrong", "token=", f"token={TOKEN}x", f"Token={TOKEN}", "token=%ff"):
        (answer,) = visited(tmp_path, (f"/?{query}", {"accept": "text/html"}))
        assert answer.status_code == 401 and "set-cookie" not in answer.headers
        assert "asks for its token" in answer.text


def test_the_token_in_an_address_opens_the_page_only(tmp_path: Path) -> None:
    """An address is kept in histories and logs; what computes or writes takes the header or the
    cookie.
    """
    for path in ("/api/files", "/page/main.js"):
        assert visited(tmp_path, (f"{path}?token={TOKEN}", {}))[0].status_code == 401


def test_a_visit_from_elsewhere_is_led_to_the_page_by_the_lab_itself(tmp_path: Path) -> None:
    """A browser sends a strict cookie only where the lab's own page asks; a file that opens the lab
    is elsewhere too.
    """
    bounced, page = visited(
        tmp_path, (f"/?token={TOKEN}", ACROSS), ("/?", {"sec-fetch-site": "same-origin"})
    )
    assert (
        bounced.status_code == 200 and "set-cookie" in bounced.headers and TOKEN not in bounced.text
    )
    policy = bounced.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "sha256-" in policy and "unsafe" not in policy
    assert page.status_code == 200 and "script" in page.text
    without = visited(tmp_path, ("/", ACROSS))[0]
    assert "set-cookie" not in without.headers and without.content == bounced.content


def test_labs_on_two_ports_have_cookies_of_their_own(tmp_path: Path) -> None:
    names = {
        visited(tmp_path, (f"/?token={TOKEN}", {}), port=port)[0].headers["set-cookie"][:20]
        for port in (8350, 8351)
    }
    assert len(names) == 2


def test_each_lab_has_a_token_of_its_own(tmp_path: Path) -> None:
    tokens = {create_app(tmp_path).state.token for _ in range(3)}
    assert len(tokens) == 3 and min(map(len, tokens)) >= 40


@pytest.mark.parametrize("token", ["", "short", "sixteen symbols and a space", "x" * 201, "ä" * 20])
def test_a_token_that_is_chosen_is_long_and_plain(tmp_path: Path, token: str) -> None:
    with pytest.raises(ModelError, match="A token has 16 to 200") as refused:
        create_app(tmp_path, token=token)
    assert not token or token not in str(refused.value)


def test_the_command_takes_a_token_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dalembert.cli import main

    told: list[Any] = []
    monkeypatch.setattr(command, "serve", lambda *given, token, **_: told.append(token))
    monkeypatch.setenv("DALEMBERT_LAB_TOKEN", TOKEN)
    assert (
        main(["lab", str(tmp_path)]) == 0 and main(["lab", str(tmp_path), "--token", "y" * 20]) == 0
    )
    assert told == [TOKEN, "y" * 20]


def test_the_browser_is_not_given_the_token_as_an_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user of a machine can list the arguments of commands; a file leads the browser on."""
    opened: list[tuple[str, str, int, int]] = []

    def look(address: str) -> None:
        page = Path(url2pathname(urlsplit(address).path))
        opened.append((address, page.read_text(), page.stat().st_mode, page.parent.stat().st_mode))

    monkeypatch.setattr(command, "_open", look)
    monkeypatch.setattr(
        command, "serve", lambda *_, ready, **__: ready(f"http://127.0.0.1:8350/?token={TOKEN}")
    )
    assert command.lab_command(tmp_path, None, browser=True) == 0
    ((address, text, _, folder_mode),) = opened
    assert address.startswith("file:") and TOKEN not in address and TOKEN in text
    assert os.name == "nt" or stat.S_IMODE(folder_mode) == 0o700
    assert not Path(url2pathname(urlsplit(address).path)).exists()


# -- workers ---------------------------------------------------------------------------------------

#: A worker that tells where it is and what it was given.
TELLING = """
import json, os, sys
print(json.dumps({"ready": True}), flush=True)
said = {"cwd": os.getcwd(), "mode": os.stat(".").st_mode & 0o777, "path": sys.path}
said["environment"] = dict(os.environ)
content = json.dumps(said).encode()
sys.stdin.readline()
head = json.dumps({"job": 1, "status": 200, "bytes": len(content)}).encode()
sys.stdout.buffer.write(head + b"\\n" + content)
sys.stdout.flush()
sys.stdin.readline()
"""


def told_by_a_worker() -> tuple[dict[str, Any], bool]:
    """What a worker says of itself, and whether its folder is there after its end."""
    from dalembert.lab.workers.process import Job, WorkerProcess

    async def work() -> tuple[dict[str, Any], bool]:
        worker = WorkerProcess(Limits(), True, (sys.executable, "-P", "-c", TELLING))
        await worker.start()
        answer = (await worker.work(Job(1, "check", {}, 5.0))).value
        await worker.kill()
        return answer, Path(answer["cwd"]).exists()

    return asyncio.run(work())


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_worker_has_a_private_folder_and_a_closed_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DALEMBERT_LAB_TOKEN", TOKEN)
    monkeypatch.setenv("PYTHONSTARTUP", "/tmp/startup.py")
    monkeypatch.setenv("LD_PRELOAD_OF_MINE", "x")
    monkeypatch.setenv("DALEMBERT_CACHE", "relative")
    monkeypatch.setenv("PYTHONPATH", f":{tmp_path}::")
    said, is_left = told_by_a_worker()
    assert said["mode"] == 0o700 and not is_left
    assert said["cwd"] != tempfile.gettempdir() and said["environment"]["TMPDIR"] == said["cwd"]
    assert not {"DALEMBERT_LAB_TOKEN", "PYTHONSTARTUP", "LD_PRELOAD_OF_MINE"} & set(
        said["environment"]
    )
    assert said["environment"]["DALEMBERT_CACHE"] == str(Path.cwd() / "relative")
    assert (
        str(tmp_path) in said["path"] and said["cwd"] not in said["path"] and "" not in said["path"]
    )


def test_a_module_in_the_temporary_folder_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an empty entry in PYTHONPATH, `sitecustomize` was found in the folder that everybody can
    write to.
    """
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'it-ran')!r}, 'w').close()\n")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep)
    told_by_a_worker()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sitecustomize.py"]


def test_a_browser_that_has_no_cookie_is_told_what_to_open(tmp_path: Path) -> None:
    answer = asked(tmp_path, "GET", "/", headers={"accept": "text/html,*/*"}, token=False)
    assert answer.status_code == 401 and answer.headers["content-type"].startswith("text/html")
    refused = asked(tmp_path, "GET", "/api/about", token=False).json()["error"]
    assert "token" in refused["what"] and "address" in refused["remedy"]
    assert asked(tmp_path, "GET", "/api/about", headers=AUTHORISED, token=False).status_code == 200
