"""Files that are whole or not there: written beside their place, and moved to it in one step.

A kill, a full disk or an error in the middle leaves the old file as it was. What a kill leaves
beside it, a hidden file ``.dalembert-<machine>-<process>-<number>``, is removed by whoever next
writes into that folder.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["drop_leftovers", "place_beside", "replaced_whole", "sync_to_disk", "write_whole"]

PREFIX = ".dalembert-"
_MOST_LINKS = 40
#: Seconds for which nobody looks at what a process left that is no longer there.
YOUNGEST_LEFTOVER = 60.0


@contextlib.contextmanager
def replaced_whole(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """A path beside `path` to write to, which replaces `path` at the end of the block.

    A link of the user or the superuser is followed, and the mode of an old file is kept. What is
    no plain file (a pipe, a device) is written in its place. Where others can exchange files of the
    folder, the path to write to is in a private folder, and what was written is copied through a
    descriptor. With `durable`, the file is on the disk, and not only on its way there, when the
    block ends.

    Raises
    ------
    OSError
        Where it cannot be written; the old file is as it was.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replaced_whole(f"{folder}/a.txt") as place:
    ...         _ = place.write_text("all of it")
    ...     os.listdir(folder), Path(folder, "a.txt").read_text()
    (['a.txt'], 'all of it')
    """
    target = _linked_file(Path(path))
    is_shared = _others_exchange(target.parent)
    if target.exists() and not target.is_file():
        if is_shared:
            raise PermissionError(errno.EACCES, "no plain file, in a folder of others", str(target))
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    drop_leftovers(target.parent)
    if is_shared:
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
            place = Path(folder) / place_beside(target).name
            place.touch()
            yield place
            _copied(place, target, durable)
        return
    place = place_beside(target)
    os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield place
        with contextlib.suppress(FileNotFoundError):
            os.chmod(place, target.stat().st_mode & 0o7777)
        if durable:
            sync_to_disk(place)
        os.replace(place, target)
        if durable:
            sync_to_disk(target.parent)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(place)


def _linked_file(path: Path) -> Path:
    """The file that a path leads to. Links of other users are an error: somebody could have planted
    one that leads to a file of the user's own, and the kernel only protects whoever opens it.
    """
    for _ in range(_MOST_LINKS):
        try:
            status = os.lstat(path)
        except OSError:
            return path
        if not stat.S_ISLNK(status.st_mode):
            return path
        if hasattr(os, "geteuid") and status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EACCES, "a link that another user made", str(path))
        path = path.parent / os.readlink(path)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _others_exchange(folder: Path) -> bool:
    """Whether other users can replace files of the user in a folder."""
    if not hasattr(os, "geteuid"):
        return False
    try:
        status = os.stat(folder)
    except OSError:
        return False
    if status.st_uid not in (os.geteuid(), 0):
        return True
    is_writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return bool(is_writable and not status.st_mode & stat.S_ISVTX)


def _copied(source: Path, target: Path, durable: bool) -> None:
    """Put the content of a file in the place of another; by descriptors, since `target` lies where
    others can exchange what a name stands for.
    """
    beside = place_beside(target)
    handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with os.fdopen(handle, "wb") as file, source.open("rb") as content:
            shutil.copyfileobj(content, file)
            with contextlib.suppress(FileNotFoundError):
                os.fchmod(file.fileno(), os.lstat(target).st_mode & 0o7777)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(beside)
    if durable:
        sync_to_disk(target.parent)


def write_whole(
    path: str | os.PathLike[str], content: bytes | str, *, durable: bool = True
) -> None:
    """Write a file in one step; text as UTF-8 with the ends of lines as they are."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replaced_whole(path, durable=durable) as place:
        place.write_bytes(data)


def place_beside(target: Path) -> Path:
    """A name for a file or folder that will become `target`, with its suffix."""
    suffix = target.suffix if len(target.suffix) <= 16 else ""
    return target.with_name(f"{PREFIX}{_machine()}-{os.getpid()}-{secrets.token_hex(6)}{suffix}")


def sync_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk, if the system can."""
    try:
        handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    except OSError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(handle)


def drop_leftovers(folder: Path) -> None:
    """Remove what processes of this machine left in a folder that were killed while they wrote."""
    if os.name == "nt":
        return
    pattern = re.compile(rf"{re.escape(PREFIX)}{_machine()}-(\d+)-[0-9a-f]{{12}}(\.[^/]*)?")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = pattern.fullmatch(entry.name) if entry.name.startswith(PREFIX) else None
            if found is None or _is_running(int(found[1])):
                continue
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid != os.geteuid():  # only the user's own are the user's to remove
                    continue
                if time.time() - status.st_mtime < YOUNGEST_LEFTOVER:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)


def _machine() -> str:
    """A short name of this machine: the number of a process says nothing on another one."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
