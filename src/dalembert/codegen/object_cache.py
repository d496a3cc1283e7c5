"""Object code on disk: addressed by what it was made from, verified by what it contains.

Who may write an entry may have any code executed. So the folder must be the user's alone
(`private_folder`), and each entry carries a code that only this user can compute: an HMAC with a
secret from a private file in the user's state folder. An entry that came from elsewhere, in an
archive say, or by way of a link, counts as missing.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import sys
import time
from pathlib import Path

from .private_folder import PrivateFolder, opened_folder

__all__ = ["ObjectCache", "cache_folder", "state_folder"]

#: Names the folder of the cache; "off" switches it off.
VARIABLE = "DALEMBERT_CACHE"
_LIMIT_BYTES = 512 * 1024 * 1024
#: In how many of 256 cases adding a file checks the folder, which takes a while.
_TRIMMED = 8
#: Seconds after which a file that was begun is taken for what a kill left.
_OLDEST_PART = 3600.0
#: The file of the user's secret, and its length, which is also that of the code of an entry.
_SECRET, _LENGTH = "cache.key", 32


def cache_folder() -> Path | None:
    """The folder of the cache, or None where it is switched off or there is no place for it."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    return _users_folder("XDG_CACHE_HOME", ".cache", "Caches")


def state_folder() -> Path | None:
    """The folder of the user's secret, or None for a user without a home."""
    return _users_folder("XDG_STATE_HOME", ".local/state", "Application Support")


def _users_folder(variable: str, default: str, on_mac: str) -> Path | None:
    """A folder of ours among those that the system gives each user."""
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = str(Path.home() / "Library" / on_mac)
        else:
            base = os.environ.get(variable) or str(Path.home() / default)
    except RuntimeError:  # a user without a home
        return None
    return Path(base) / "dalembert"


class ObjectCache:
    """A folder of files ``<identity>.o``: 32 bytes of HMAC-SHA-256, then the object code.

    A file that is cut off, altered, foreign or unreadable counts as missing. A folder that cannot
    be written is no error: the code is then compiled again next time.
    """

    def __init__(self) -> None:
        self.folder = cache_folder()

    def get(self, identity: str) -> bytes | None:
        """The code stored under an identity, or None."""
        if self.folder is None:
            return None
        try:
            with opened_folder(self.folder) as folder:
                data = folder.read(f"{identity}.o", _LIMIT_BYTES)  # marked as used: see `_trim`
            digest, code = data[:_LENGTH], data[_LENGTH:]
            return code if hmac.compare_digest(_digest(identity, code), digest) else None
        except OSError:
            return None

    def put(self, identity: str, code: bytes) -> None:
        """Store code under an identity, atomically."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            digest = _digest(identity, code, make=True)
            with opened_folder(self.folder, make=True) as folder:
                folder.write(f"{identity}.o", digest + code)
                if digest[0] < _TRIMMED:
                    _trim(folder)


def _digest(identity: str, code: bytes, make: bool = False) -> bytes:
    """What only this user can compute of an entry."""
    return hmac.digest(_secret(make), identity.encode() + b"\0" + code, "sha256")


def _secret(make: bool) -> bytes:
    """The user's secret. What is not a private file of the right length is replaced.

    Two processes that make it at once agree on the later one: entries of the other count as
    missing.

    Raises
    ------
    OSError
        Where there is none, or no place for it.
    """
    place = state_folder()
    if place is None:
        raise FileNotFoundError("a user without a home")
    with opened_folder(place, make) as folder:
        try:
            return _whole_secret(folder)
        except OSError:
            if not make:
                raise
        folder.write(_SECRET, secrets.token_bytes(_LENGTH))
        return _whole_secret(folder)


def _whole_secret(folder: PrivateFolder) -> bytes:
    secret = folder.read(_SECRET, _LENGTH, secret=True)
    if len(secret) != _LENGTH:
        raise OSError("the secret was cut off")
    return secret


def _trim(folder: PrivateFolder) -> None:
    """Drop leftovers of killed processes, and the oldest files once the folder is too large."""
    total = 0
    for name, status in folder.entries():
        if name.endswith(".o"):
            total += status.st_size
        elif name.endswith(".part") and time.time() - status.st_mtime > _OLDEST_PART:
            with contextlib.suppress(OSError):
                folder.remove(name)
    if total <= _LIMIT_BYTES:
        return  # without a list of the files, of which there may be a hundred thousand
    files = (
        (status.st_mtime, status.st_size, name)
        for name, status in folder.entries()
        if name.endswith(".o")
    )
    for _, size, name in sorted(files):
        if total <= _LIMIT_BYTES:
            return
        with contextlib.suppress(OSError):
            folder.remove(name)
        total -= size
