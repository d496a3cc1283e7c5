"""A confined process: what it is refused, and that it still computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dalembert.lab.workers import confinement
from dalembert.lab.workers.confinement import Confinement, confine

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="confined on Linux only")

#: Each attempt of a process that was taken over, by name.
ATTEMPTS = """
import ctypes, json, os, socket, subprocess, sys, tempfile
from pathlib import Path
from dalembert.lab.workers.confinement import confine

secret, parent = sys.argv[1:]
state = confine()
attempts = {
    "read": lambda: open(secret).read(),
    "list": lambda: os.listdir(os.path.dirname(secret)),
    "overwrite": lambda: open(secret, "w"),
    "make": lambda: Path(secret + ".new").write_text("here"),
    "remove": lambda: os.remove(secret),
    "link": lambda: os.link(secret, os.path.join(tempfile.gettempdir(), "link")),
    "tcp": lambda: socket.create_connection(("127.0.0.1", 9), 1),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "run": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
    "signal": lambda: os.kill(int(parent), 0),
    "environment": lambda: open(f"/proc/{parent}/environ").read(),
    "own folder": lambda: Path(tempfile.gettempdir(), "own").write_text("mine"),
    "child": lambda: os.waitpid(child(), 0)[1] and refused(),
}

def child():
    # a process that is forked keeps the bounds
    number = os.fork()
    if number == 0:
        try:
            open(secret)
        except PermissionError:
            os._exit(1)
        finally:
            os._exit(0)
    return number

def refused():
    raise PermissionError

found = {}
for name, attempt in attempts.items():
    try:
        attempt()
        found[name] = "done"
    except OSError as error:
        found[name] = type(error).__name__
import dalembert as da
x = da.coordinates("x")
motion = da.simulate(da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2), {x: 1.0}, (0, 1))
state = {"files": state.files, "calls": state.calls}
print(json.dumps({**state, "found": found, "x": motion["x"][-1]}))
"""


def attempts(tmp_path: Path, **environment: str) -> dict[str, object]:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    own.mkdir()
    foreign.mkdir()
    secret = foreign / "secret.txt"
    secret.write_text("secret")
    script = own / "attempts.py"
    script.write_text(ATTEMPTS)
    made = subprocess.run(
        [sys.executable, str(script), str(secret), str(os.getpid())],
        env={
            **os.environ,
            "TMPDIR": str(own),
            "DALEMBERT_CACHE": str(tmp_path / "cache"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return dict(json.loads(made.stdout))


@linux
def test_a_confined_process_reaches_only_its_own(tmp_path: Path) -> None:
    answer = attempts(tmp_path)
    if not answer["files"]:
        pytest.skip("this kernel has no Landlock")
    found = answer["found"]
    assert answer["calls"]
    assert isinstance(found, dict)
    allowed = {name for name, what in found.items() if what == "done"}
    assert allowed == {"own folder"}
    assert found.pop("link") == "OSError"  # between what has different rights: EXDEV
    assert set(found.values()) == {"done", "PermissionError"}
    assert abs(float(str(answer["x"])) - 0.5403023058681398) < 1e-9  # cos 1
    assert list((tmp_path / "cache").rglob("*.o"))  # compiled code is kept


@linux
def test_the_same_attempts_succeed_without_confinement(tmp_path: Path) -> None:
    cache = os.environ.get("DALEMBERT_CACHE")
    shared = {"DALEMBERT_CACHE": cache} if cache else {}
    found = attempts(tmp_path, DALEMBERT_CONFINE="off", **shared)["found"]
    assert isinstance(found, dict)
    for name in ("read", "list", "make", "udp", "unix", "run", "signal", "own folder"):
        assert found[name] == "done", name


def test_what_cannot_be_confined_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement.sys, "platform", "darwin")
    monkeypatch.setattr(confinement.platform, "system", lambda: "Darwin")
    found = confine()
    assert (found.files, found.calls) == (False, False)
    assert str(found) == "not confined (not offered by Darwin)"


def test_an_old_kernel_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(confinement.sys, "platform", "linux")
    monkeypatch.setattr(confinement, "_call", absent)
    monkeypatch.setattr(confinement.platform, "machine", lambda: "x86_64")
    found = confine()
    assert not found.files
    assert "Landlock: Function not implemented" in found.reason


def test_in_words() -> None:
    assert str(Confinement(True, True)) == "confined: files, network and programs"
    assert str(Confinement(True, False, "seccomp: x")) == "confined: files (seccomp: x)"
