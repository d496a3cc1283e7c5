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
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["drop_leftovers", "place_beside", "replaced_whole", "sync_to_disk", "write_whole"]

PREFIX = ".dalembert-"
#: Seconds for which nobody looks at what a process left that is no longer there.
YOUNGEST_LEFTOVER = 60.0


@contextlib.contextmanager
def replaced_whole(path: str | os.PathLike[str], *, durable: bool = True) -> Iterator[Path]:
    """A path beside `path` to write to, which replaces `path` at the end of the block.

    A link is followed, and the mode of an old file is kept. What is no plain file (a pipe, a
    device) is written in its place. With `durable`, the file is on the disk, and not only on its
    way there, when the block ends.

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
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    drop_leftovers(target.parent)
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
                if time.time() - entry.stat(follow_symlinks=False).st_mtime < YOUNGEST_LEFTOVER:
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
