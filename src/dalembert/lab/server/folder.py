"""The folder of model files: plain TOML, URDF and MJCF files directly in it, and nothing else, can
be listed, read and written.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..request_errors import RequestError

__all__ = ["ModelFolder"]

_NAME = re.compile(r"\w[\w .()+-]{0,94}\.(toml|urdf|mjcf|xml)")
#: Names that mean devices on some systems.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
MOST_LISTED = 1000
#: Times of files that differ by less, in seconds, went through JSON in between.
SAME_TIME = 1e-3


class ModelFolder:
    """Model files in one folder.

    Parameters
    ----------
    folder : Path
    largest : int
        Bytes of a file.
    """

    def __init__(self, folder: Path, largest: int) -> None:
        self.folder, self.largest = folder.resolve(), largest

    @property
    def name(self) -> str:
        """The last part of the path: the page does not see where it is."""
        return self.folder.name or "/"

    def listed(self) -> list[dict[str, Any]]:
        """Name and time of every model file, by name."""
        found = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if is_file_name(entry.name) and entry.is_file(follow_symlinks=False):
                    found.append(
                        {"name": entry.name, "modified": entry.stat(follow_symlinks=False).st_mtime}
                    )
        return sorted(found, key=lambda entry: str(entry["name"]).lower())[:MOST_LISTED]

    def read(self, name: str) -> dict[str, Any]:
        """Name, text and time of a file."""
        path = self._path(name)
        try:
            descriptor = os.open(
                path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
            )
        except FileNotFoundError as error:
            raise RequestError(
                404, f"There is no model file {name}", remedy="choose one of the list"
            ) from error
        except OSError as error:
            raise RequestError(
                404, f"The model file {name} cannot be read", seen=error.strerror
            ) from error
        if not stat.S_ISREG(
            os.fstat(descriptor).st_mode
        ):  # a folder, say, which would not even become a stream
            os.close(descriptor)
            raise RequestError(
                404, f"The model file {name} is not a plain file", remedy="choose another"
            )
        with os.fdopen(descriptor, "rb") as stream:
            content, modified = stream.read(self.largest + 1), os.fstat(stream.fileno()).st_mtime
        if len(content) > self.largest:
            raise RequestError(
                413,
                f"The model file {name} is larger than {self.largest} bytes",
                remedy="shorten it",
            )
        try:
            return {"name": name, "text": content.decode("utf-8-sig"), "modified": modified}
        except UnicodeDecodeError as error:
            raise RequestError(
                400, f"The model file {name} is not UTF-8 text", remedy="save it as UTF-8"
            ) from error

    def write(self, name: str, text: str, modified: float | None = None) -> dict[str, Any]:
        """Write a file in one move: whoever reads it sees the old text or the new one.

        With `modified`, only where the file has not changed since then.
        """
        path = self._path(name)
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise RequestError(409, f"{name} is not a plain file", remedy="save under another name")
        if (
            modified is not None
            and path.exists()
            and abs(path.stat().st_mtime - modified) > SAME_TIME
        ):
            remedy = "open it again, or save under another name"
            raise RequestError(
                409, f"{name} was changed by another program since it was opened", remedy=remedy
            )
        try:
            descriptor, temporary = tempfile.mkstemp(
                prefix=".lab-", suffix=".part", dir=self.folder
            )
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(text.encode("utf-8"))
                    stream.flush()
                    os.fsync(stream.fileno())
                    mode = (
                        stat.S_IMODE(path.lstat().st_mode) if path.exists() else 0o666 & ~_umask()
                    )
                    if hasattr(os, "fchmod"):  # by a path, it could be that of another file
                        os.fchmod(stream.fileno(), mode)
                os.replace(temporary, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        except OSError as error:
            reason = error.strerror or "unknown"
            raise RequestError(
                409, f"{name} cannot be written", seen=reason, remedy="check the folder"
            ) from error
        return {"name": name, "modified": path.stat().st_mtime}

    def _path(self, name: str) -> Path:
        if not is_file_name(name):
            remedy = "use A to Z, digits, spaces, points and dashes, and end it in .toml or .urdf"
            raise RequestError(
                400, "That is not the name of a model file", seen=name[:80], remedy=remedy
            )
        return self.folder / name


def is_file_name(name: str) -> bool:
    """Whether a name is that of a model file in the folder itself.

    >>> [is_file_name(name) for name in ("disk.toml", "../disk.toml", ".disk.toml", "disk.toml.py")]
    [True, False, False, False]
    """
    return bool(_NAME.fullmatch(name)) and name.isprintable() and not _DEVICES.fullmatch(name)


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found
