"""Plain files of bounded size, opened once: what was opened is examined, not what a path leads to.

A path is looked up anew by every call; in a folder that others can write to, the file that was
examined may be another one, a pipe that is never written to or a link, when it is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["program_path", "read_plain"]

_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_PLAIN = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_WAY = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW


def read_plain(path: str | os.PathLike[str], most: int, *, links: bool = True) -> bytes:
    """Read a plain file, up to its first `most` + 1 bytes.

    Parameters
    ----------
    links : bool
        Whether to follow links; without, `path` is absolute and has none anywhere.

    Raises
    ------
    OSError
        Where there is no such file, or it is a folder (IsADirectoryError), a pipe or a device.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("content")
    ...     read_plain(f"{folder}/a.txt", 3)
    b'cont'
    """
    handle = os.open(path, _PLAIN) if links else _opened_without_links(Path(path))
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "no plain file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(min(most, status.st_size) + 1)  # it makes room for as many
    finally:
        os.close(handle)


def _opened_without_links(path: Path) -> int:
    """The descriptor of a file that is reached one folder at a time, none of them a link."""
    if os.open not in os.supports_dir_fd:
        return os.open(path, _PLAIN | _NOFOLLOW)
    handle = os.open(path.anchor, _WAY)
    try:
        for name in path.parts[1:-1]:
            outer, handle = handle, os.open(name, _WAY, dir_fd=handle)
            os.close(outer)
        return os.open(path.name, _PLAIN | _NOFOLLOW, dir_fd=handle)
    finally:
        os.close(handle)


def program_path(name: str) -> str | None:
    """A program in the absolute folders of PATH.

    The folder that a command is called in may be somebody's download; neither an entry like "."
    nor Windows, which looks there first, makes a program of what lies in it.
    """
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for suffix in ("", ".exe") if os.name == "nt" else ("",):
            found = os.path.join(folder, name + suffix)
            if os.path.isabs(folder) and os.path.isfile(found) and os.access(found, os.X_OK):
                return found
    return None
