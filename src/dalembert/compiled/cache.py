"""Object code on disk: addressed by what it was made from, verified by what it contains, written in one move."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

__all__ = ["ObjectCache", "cache_folder"]

#: Names the folder of the cache; "off" switches it off.
VARIABLE = "DALEMBERT_CACHE"
_LIMIT_BYTES = 512 * 1024 * 1024
#: In how many of 256 cases the folder is looked at after a file was added: with thousands of files that takes a while.
_TRIMMED = 8


def cache_folder() -> Path | None:
    """The folder of the cache, or None where it is switched off."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
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
        if self.folder is None:
            return None
        path = self.folder / f"{identity}.o"
        try:
            data = path.read_bytes()
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
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(digest + code)
                os.replace(name, self.folder / f"{identity}.o")
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            if digest[0] < _TRIMMED:
                self._trim()

    def _trim(self) -> None:
        """Drop the files that were unused for longest, once the folder holds more than its limit."""
        assert self.folder is not None
        with os.scandir(self.folder) as entries:
            found = [(entry.stat(), Path(entry.path)) for entry in entries if entry.name.endswith(".o")]
        files = [(status.st_mtime, status.st_size, path) for status, path in found]
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= _LIMIT_BYTES:
                return
            path.unlink(missing_ok=True)
            total -= size
