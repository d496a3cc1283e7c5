"""The cache of object code where somebody else can write, or has put something, and where a kill or
an interrupt came.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from dalembert.codegen import object_cache as module
from dalembert.codegen.object_cache import VARIABLE, ObjectCache, cache_folder

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes, pipes and homes are POSIX")
IDENTITY = hashlib.sha256(b"something").hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def planted(folder: Path, code: bytes) -> None:
    """An entry that is right but for who wrote it."""
    digest = hashlib.sha256(IDENTITY.encode() + code).digest()
    (folder / f"{IDENTITY}.o").write_bytes(digest + code)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_code_that_others_could_have_written_is_not_executed(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    planted(folder, b"hostile")
    assert ObjectCache().get(IDENTITY) is None
    ObjectCache().put(IDENTITY, b"own")
    assert ObjectCache().get(IDENTITY) == b"own"
    own = folder / f"user-{os.geteuid()}"
    assert own.stat().st_mode & 0o777 == 0o700 and [path.name for path in own.iterdir()] == [
        f"{IDENTITY}.o"
    ]


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only the superuser gives folders away"
)
def test_the_folder_of_somebody_else_is_not_used(folder: Path) -> None:
    """A superuser with the home of a user would execute what the user wrote."""
    folder.mkdir(mode=0o755)
    planted(folder, b"hostile")
    os.chown(folder, 65534, 65534)
    assert ObjectCache().get(IDENTITY) is None


def test_a_pipe_is_not_waited_for(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / f"{IDENTITY}.o")
    assert ObjectCache().get(IDENTITY) is None


def test_a_huge_file_is_not_read(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    with (folder / f"{IDENTITY}.o").open("wb") as file:
        file.truncate(2**40)
    assert ObjectCache().get(IDENTITY) is None


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home is looked up where no variable names it; that failed with an error of Python."""

    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in (VARIABLE, "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", none)
    assert cache_folder() is None
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) is None


def test_what_kills_left_is_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_TRIMMED", 256)
    folder.mkdir(mode=0o700)
    for name, age in (("old.part", 1.0), ("young.part", None)):
        (folder / name).write_bytes(b"half")
        if age is not None:
            os.utime(folder / name, (age, age))
    ObjectCache().put(IDENTITY, b"code")
    assert sorted(path.name for path in folder.iterdir()) == sorted([f"{IDENTITY}.o", "young.part"])


def test_an_interrupt_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ObjectCache().put(IDENTITY, b"code")
    assert list(folder.iterdir()) == []
