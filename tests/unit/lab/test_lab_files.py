"""The page and the model files: what is listed is served, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert.lab.request_errors import RequestError
from dalembert.lab.server.folder import ModelFolder, is_file_name
from dalembert.lab.server.page_files import PageFiles


def folder(path: Path, largest: int = 1000) -> ModelFolder:
    return ModelFolder(path, largest)


def test_what_is_written_is_read_and_listed(tmp_path: Path) -> None:
    files = folder(tmp_path)
    written = files.write("disk 1.toml", "name = 'θ'")
    assert files.read("disk 1.toml") == written | {"text": "name = 'θ'"}
    assert files.listed() == [written]
    assert [path.name for path in tmp_path.iterdir()] == [
        "disk 1.toml"
    ]  # nothing is left of the writing


@pytest.mark.parametrize(
    "name",
    ["", ".toml", "../a.toml", "a/b.toml", "a\\b.toml", ".a.toml", "a.toml\n", "a.py", "a.toml.exe",
     "/etc/a.toml", "con.toml",
     "a\x00.toml", "a" * 200 + ".toml", "a\u202e.toml"],
)  # fmt: skip
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    assert not is_file_name(name)
    for act in (lambda: folder(tmp_path).read(name), lambda: folder(tmp_path).write(name, "")):
        with pytest.raises(RequestError):
            act()
    assert not list(tmp_path.rglob("*.toml"))


def test_only_plain_toml_files_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("")
    (tmp_path / "b.txt").write_text("")
    (tmp_path / ".c.toml").write_text("")
    (tmp_path / "d.toml").mkdir()
    assert [entry["name"] for entry in folder(tmp_path).listed()] == ["a.toml"]


@pytest.mark.skipif(
    not hasattr(os, "O_NOFOLLOW"), reason="symbolic links need no rights on POSIX only"
)
def test_links_lead_nowhere(tmp_path: Path) -> None:
    inside, secret = tmp_path / "inside", tmp_path / "secret.toml"
    inside.mkdir()
    secret.write_text("secret")
    (inside / "link.toml").symlink_to(secret)
    files = folder(inside)
    assert files.listed() == []
    with pytest.raises(RequestError):
        files.read("link.toml")
    with pytest.raises(RequestError):
        files.write("link.toml", "changed")
    assert secret.read_text() == "secret"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_does_not_hold_the_server(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(RequestError, match="plain file"):
        folder(tmp_path).read("pipe.toml")


def test_large_and_foreign_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_text("x" * 1001)
    (tmp_path / "foreign.toml").write_bytes(b"\xff\xfe")
    for name, status in (("large.toml", 413), ("foreign.toml", 400), ("missing.toml", 404)):
        with pytest.raises(RequestError) as refused:
            folder(tmp_path).read(name)
        assert refused.value.status == status


def test_a_file_that_another_program_changed_is_not_overwritten(tmp_path: Path) -> None:
    files = folder(tmp_path)
    first = files.write("a.toml", "1")
    assert files.write("a.toml", "2", first["modified"])["name"] == "a.toml"
    os.utime(tmp_path / "a.toml", (0, 12345))
    with pytest.raises(RequestError) as refused:
        files.write("a.toml", "3", first["modified"])
    assert refused.value.status == 409 and files.read("a.toml")["text"] == "2"


def test_page_files_are_those_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("one")
    (tmp_path / "lab.js").write_text("two")
    (tmp_path / "notes.txt").write_text("three")
    page = PageFiles(tmp_path)
    first, script = page.get("index.html"), page.get("lab.js")
    assert (
        first is not None and first.content == b"one" and first.media_type.startswith("text/html")
    )
    assert (
        script is not None
        and script.media_type.startswith("text/javascript")
        and script.etag != first.etag
    )
    for name in ("notes.txt", "../page_files.py", "/etc/passwd", "..", ""):
        assert page.get(name) is None
    (tmp_path / "index.html").write_text("changed")
    changed = page.get("index.html")
    assert changed is not None and changed.content == b"changed" and changed.etag != first.etag


def test_a_page_that_is_known_is_not_sent_again(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from lab_client import asked

    first = asked(tmp_path, "GET", "/")
    assert first.status_code == 200 and first.headers["cache-control"] == "no-cache"
    again = asked(tmp_path, "GET", "/", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content
    assert asked(tmp_path, "GET", "/page/..%2Fapp.py").status_code == 404


@pytest.mark.long
def test_the_page_needs_no_algebra(tmp_path: Path) -> None:
    """The server itself never imports what computes."""
    pytest.importorskip("fastapi")
    code = (
        "import asyncio, sys, httpx\nfrom dalembert.lab import create_app\nasync def ask():\n   "
        " transport = httpx.ASGITransport(app=create_app(sys.argv[1], token='x' * 16))\n    headers"
        " = {'authorization': 'token ' + 'x' * 16}\n    async with"
        " httpx.AsyncClient(transport=transport, base_url='http://127.0.0.1:1', headers=headers) as"
        " client:\n        return [(await client.get(path)).status_code for path in ('/',"
        " '/api/about', '/api/files')]\nprint(asyncio.run(ask()), [m for m in ('sympy', 'numpy',"
        " 'casadi', 'llvmlite', 'matplotlib') if m in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == "[200, 200, 200] []"
