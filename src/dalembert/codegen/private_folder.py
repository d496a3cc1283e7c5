"""A folder that only its user can write to, opened once and then used through its descriptor.

A path is looked up anew by every call, and whoever can write to a folder above may exchange what it
leads to in between. So the folder is opened step by step, what was opened is examined, and files
are then named relative to it. Where the system has no such calls (Windows), paths are used, and
access control lists of the user's own folder have to do.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PrivateFolder", "opened_folder"]

_RELATIVE = (
    {os.open, os.mkdir, os.stat, os.unlink, os.rename, os.readlink} <= os.supports_dir_fd
    and {os.scandir, os.utime} <= os.supports_fd
    and hasattr(os, "geteuid")
)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
#: How folders on the way are opened: they need not be readable, only the last one is listed.
_WAY = getattr(os, "O_PATH", os.O_RDONLY)
_MOST_LINKS = 40
#: The rights of others to write.
_WRITTEN = stat.S_IWGRP | stat.S_IWOTH


class PrivateFolder:
    """An open folder of the user; `handle` is its descriptor, None where only paths exist."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path, self.handle = path, handle

    def read(self, name: str, most: int, secret: bool = False) -> bytes:
        """The bytes of a plain file of the user's own, and mark it as used just now.

        A pipe would be waited for, and a huge file fill the memory. A `secret` file is one that
        nobody else can read either.

        Raises
        ------
        OSError
            Where there is no such file, or it is longer than `most` bytes.
        """
        with os.fdopen(self._open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            others = stat.S_IRWXG | stat.S_IRWXO if secret else _WRITTEN
            is_own = self.handle is None or _is_private(status, others)
            if not (is_own and stat.S_ISREG(status.st_mode) and status.st_size <= most):
                raise OSError(f"{name} is not a file of this user")
            data = file.read()
            with contextlib.suppress(OSError):
                os.utime(file.fileno() if self.handle is not None else self.path / name)
            return data

    def write(self, name: str, data: bytes) -> None:
        """Write a file in one move: whoever reads it sees the old content or the new one."""
        part = f"{secrets.token_hex(8)}.part"
        handle = self._open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            if self.handle is None:
                os.replace(self.path / part, self.path / name)
            else:
                os.replace(part, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                self.remove(part)
            raise

    def remove(self, name: str) -> None:
        """Remove a file."""
        if self.handle is None:
            os.unlink(self.path / name)
        else:
            os.unlink(name, dir_fd=self.handle)

    def entries(self) -> Iterator[tuple[str, os.stat_result]]:
        """The names in the folder and what they are, one at a time."""
        with os.scandir(self.path if self.handle is None else self.handle) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def _open(self, name: str, flags: int) -> int:
        flags |= _NOFOLLOW | getattr(os, "O_BINARY", 0)
        if self.handle is None:
            return os.open(self.path / name, flags, 0o600)
        return os.open(name, flags, 0o600, dir_fd=self.handle)


@contextlib.contextmanager
def opened_folder(path: Path, make: bool = False) -> Iterator[PrivateFolder]:
    """Open a folder where nobody else can write to it, else one inside that is the user's alone.

    Parameters
    ----------
    path : Path
        Links in it are followed that the user or the superuser made, and no others.
    make : bool
        Whether to make the folders that are missing, for this user alone.

    Raises
    ------
    OSError
        Where there is no such folder.
    """
    if not _RELATIVE:
        if make:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield PrivateFolder(path, None)
        return
    handle = _descend(path, make)
    try:
        if not _is_private(os.fstat(handle)):
            own = path / f"user-{os.geteuid()}"
            outer, handle = handle, _descend(own, make)
            os.close(outer)
            if not _is_private(os.fstat(handle)):
                raise PermissionError(f"{own} can be written to by somebody else")
        yield PrivateFolder(path, handle)
    finally:
        os.close(handle)


def _is_private(status: os.stat_result, others: int = _WRITTEN) -> bool:
    """Whether something belongs to the user, and nobody else has the rights `others`."""
    return status.st_uid == os.geteuid() and not status.st_mode & others


def _descend(path: Path, make: bool) -> int:
    """The descriptor of a folder, reached from the root one name at a time."""
    names = [*reversed((Path.cwd() / path).parts)]
    handle, links = os.open(names.pop(), _WAY | _FOLDER), 0
    try:
        while names:
            name = names.pop()
            try:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=handle)
                names.append(name)
                continue
            if stat.S_ISLNK(status.st_mode):
                links += 1
                if status.st_uid not in (os.geteuid(), 0) or links > _MOST_LINKS:
                    raise PermissionError(f"{name} is a link that somebody else made, or a loop")
                names.extend(reversed(Path(os.readlink(name, dir_fd=handle)).parts))
                continue
            way = _WAY if names else os.O_RDONLY
            outer, handle = handle, os.open(name, way | _FOLDER, dir_fd=handle)
            os.close(outer)
        return handle
    except BaseException:
        os.close(handle)
        raise
