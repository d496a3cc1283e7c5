"""Object code on disk: addressed by what it was made from, verified by what it contains, written in one move.

The digest of a file tells damage, not malice: who may write into the folder may have any code executed. So nobody else may.
A folder that others can write to is not used; one of the user's own inside it is, which only the user can enter.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["ObjectCache", "cache_folder"]

#: Names the folder of the cache; "off" switches it off.
VARIABLE = "DALEMBERT_CACHE"
_LIMIT_BYTES = 512 * 1024 * 1024
#: In how many of 256 cases the folder is looked at after a file was added: with thousands of files that takes a while.
_TRIMMED = 8
#: Seconds after which a file that was begun is taken for what a kill left.
_OLDEST_PART = 3600.0


def cache_folder() -> Path | None:
    """The folder of the cache, or None where it is switched off or there is no place for it."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = str(Path.home() / "Library" / "Caches")
        else:
            base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        return None
    return Path(base) / "dalembert"


class ObjectCache:
    """A folder of files ``<identity>.o``: 32 bytes of SHA-256, then the object code.

    A file that is cut off, altered or unreadable counts as missing. A folder that cannot be written is no error: the
    code is then compiled again next time.
    """

    def __init__(self) -> None:
        self.folder = cache_folder()

    def get(self, identity: str) -> bytes | None:
        """The code stored under an identity, or None."""
        try:
            folder = self._private()
            if folder is None:
                return None
            path = folder / f"{identity}.o"
            data = _content(path)
        except OSError:
            return None
        digest, code = data[:32], data[32:]
        if hashlib.sha256(identity.encode() + code).digest() != digest:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # used just now: see `_trim`
        return code

    def put(self, identity: str, code: bytes) -> None:
        """Store code under an identity, atomically."""
        if self.folder is None:
            return
        digest = hashlib.sha256(identity.encode() + code).digest()
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder = self._private(make=True)
            if folder is None:
                return
            handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(digest + code)
                os.replace(name, folder / f"{identity}.o")
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            if digest[0] < _TRIMMED:
                _trim(folder)

    def _private(self, make: bool = False) -> Path | None:
        """The folder where nobody else can write to it, else one inside that belongs to the user alone; None without one.

        Raises
        ------
        OSError
            Where there is no such folder.
        """
        if self.folder is None or os.name == "nt":
            return self.folder
        if _is_private(self.folder):
            return self.folder
        own = self.folder / f"user-{os.geteuid()}"
        if make:
            own.mkdir(mode=0o700, exist_ok=True)
        return own if _is_private(own) else None


def _is_private(folder: Path) -> bool:
    """Whether a folder belongs to the user or to the superuser, and nobody else can write to it."""
    status = folder.stat()
    is_trusted = status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return is_trusted and stat.S_ISDIR(status.st_mode)


def _content(path: Path) -> bytes:
    """The bytes of a plain file of a size that can be; a pipe would be waited for, and a huge file fill the memory."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LIMIT_BYTES:
            raise OSError("no file of ours")
        return file.read()


def _trim(folder: Path) -> None:
    """Drop the files that were unused for longest, once the folder holds more than its limit, and what kills have left."""
    total = 0
    for name, status in _entries(folder):
        if name.endswith(".o"):
            total += status.st_size
        elif name.endswith(".part") and time.time() - status.st_mtime > _OLDEST_PART:
            with contextlib.suppress(OSError):
                os.unlink(folder / name)
    if total <= _LIMIT_BYTES:
        return  # without a list of the files, of which there may be a hundred thousand
    files = ((status.st_mtime, status.st_size, name) for name, status in _entries(folder) if name.endswith(".o"))
    for _, size, name in sorted(files):
        if total <= _LIMIT_BYTES:
            return
        with contextlib.suppress(OSError):
            os.unlink(folder / name)
        total -= size


def _entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The names in a folder and what they are, one at a time."""
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                yield entry.name, entry.stat(follow_symlinks=False)
