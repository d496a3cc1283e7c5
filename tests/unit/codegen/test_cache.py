"""The cache of object code: what is damaged, foreign or out of reach counts as missing, and nothing
else changes.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import threading
import tracemalloc
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen import object_cache as module
from dalembert.codegen.backends.llvm import native_library
from dalembert.codegen.object_cache import VARIABLE, ObjectCache, cache_folder
from dalembert.codegen.program import straight_line

IDENTITY = hashlib.sha256(b"something").hexdigest()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_was_put_is_found(folder: Path) -> None:
    cache = ObjectCache()
    assert cache.get(IDENTITY) is None
    cache.put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) == b"code"
    assert [path.name for path in folder.iterdir()] == [f"{IDENTITY}.o"]


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_the_folder_belongs_to_its_user_alone(folder: Path) -> None:
    ObjectCache().put(IDENTITY, b"code")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: bytes(32) + data[32:],
        lambda data: b"\x7fELF" + bytes(200),
    ],
    ids=["empty", "short", "cut", "longer", "altered", "no digest", "foreign"],
)
def test_a_damaged_file_counts_as_missing(folder: Path, damage) -> None:
    cache = ObjectCache()
    cache.put(IDENTITY, bytes(range(64)))
    path = folder / f"{IDENTITY}.o"
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(IDENTITY) is None
    cache.put(IDENTITY, bytes(range(64)))
    assert cache.get(IDENTITY) == bytes(range(64))


def test_code_under_another_name_counts_as_missing(folder: Path) -> None:
    """A file that was renamed is whole, and yet not what its name says."""
    cache = ObjectCache()
    cache.put(IDENTITY, b"code")
    other = hashlib.sha256(b"something else").hexdigest()
    (folder / f"{IDENTITY}.o").rename(folder / f"{other}.o")
    assert cache.get(other) is None


def test_the_cache_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "off")
    monkeypatch.chdir(tmp_path)
    assert cache_folder() is None
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) is None
    assert not list(tmp_path.iterdir())


def test_the_default_folder_is_the_users_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(module.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "dalembert"


def test_a_place_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file stands where the folder should be; also for the superuser, who may write into
    read-only folders.
    """
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv(VARIABLE, str(blocked / "cache"))
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) is None
    assert value_of(0.25) == pytest.approx(np.sin(0.25), rel=1e-15)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder_is_no_error(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o500)
    ObjectCache().put(IDENTITY, b"code")
    assert ObjectCache().get(IDENTITY) is None


def test_a_folder_that_vanishes_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = ObjectCache()
    cache.put(IDENTITY, b"code")
    real = os.replace

    def removed(source: str, target: str, **folders: int) -> None:
        os.unlink(source, dir_fd=folders.get("src_dir_fd"))
        real(source, target, **folders)

    monkeypatch.setattr(module.os, "replace", removed)
    cache.put(IDENTITY, b"other")
    assert cache.get(IDENTITY) == b"code"
    assert [path.name for path in folder.iterdir()] == [f"{IDENTITY}.o"]


def test_many_writers_leave_one_whole_file(folder: Path) -> None:
    payloads = [bytes([k]) * 200_000 for k in range(8)]
    seen: list[bytes | None] = []

    def work(payload: bytes) -> None:
        for _ in range(15):
            ObjectCache().put(IDENTITY, payload)
            seen.append(ObjectCache().get(IDENTITY))

    threads = [threading.Thread(target=work, args=(payload,)) for payload in payloads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found in payloads for found in seen)
    assert [path.name for path in folder.iterdir()] == [f"{IDENTITY}.o"]


def test_the_folder_stays_within_its_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was used least recently goes first."""
    monkeypatch.setattr(module, "_LIMIT_BYTES", 3500)
    monkeypatch.setattr(module, "_TRIMMED", 256)
    cache = ObjectCache()
    names = [hashlib.sha256(bytes([k])).hexdigest() for k in range(4)]
    for k, name in enumerate(names[:3]):
        cache.put(name, bytes(1000))
        os.utime(folder / f"{name}.o", (1000.0 + k, 1000.0 + k))
    assert cache.get(names[0]) is not None  # used again, and so the youngest
    cache.put(names[3], bytes(1000))
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3500
    assert cache.get(names[3]) is not None
    assert cache.get(names[0]) is not None
    assert cache.get(names[1]) is None


def test_looking_after_a_large_folder_takes_little_memory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files of a folder within its limit are counted, not listed."""
    monkeypatch.setattr(module, "_TRIMMED", 256)
    folder.mkdir(mode=0o700)
    for k in range(2000):
        (folder / f"{k:064x}.o").touch()
    tracemalloc.start()
    try:
        ObjectCache().put(IDENTITY, b"code")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000  # 50 bytes a file; a list of their paths took more than 1000


def value_of(x: float) -> float:
    """sin(x) through a freshly compiled program."""
    symbols = [ca.SX.sym("t", 1), *[ca.SX(0, 1)] * 4]
    library = native_library([straight_line("sine", symbols, [ca.sin(symbols[0])])])
    out, pointer = np.zeros(1), ctypes.POINTER(ctypes.c_double)
    call = ctypes.CFUNCTYPE(None, *[pointer] * 6)(library.addresses["sine"])
    time = np.array([x])
    call(*[time.ctypes.data_as(pointer)] * 5, out.ctypes.data_as(pointer))
    return float(out[0])


def test_compiled_code_is_the_same_from_a_cold_a_warm_and_a_damaged_cache(folder: Path) -> None:
    cold = value_of(0.7)
    (stored,) = folder.iterdir()
    warm = value_of(0.7)
    stored.write_bytes(stored.read_bytes()[:-7])
    again = value_of(0.7)
    assert cold == warm == again == pytest.approx(np.sin(0.7), rel=1e-15)
