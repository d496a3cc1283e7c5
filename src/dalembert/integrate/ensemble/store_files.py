"""The files of a store that is gone on with: plain ones in plain folders, none larger than what it stands for.

A store may have been sent by someone. Links could lead reading and writing elsewhere, a pipe would never answer, and a codec
is a program: what a sweep does not write itself, it does not go on with.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

from ...errors import FileError
from ...model.names import shortened

__all__ = ["LONGEST_MESSAGE", "check_files", "codecs_of", "is_texts", "plain_bytes", "size_below"]

#: The largest description of a store or an array, in bytes.
LARGEST_DESCRIPTION = 2**26
#: The most bytes of text that a run has on average.
LONGEST_MESSAGE = 4096


def check_files(path: Path) -> None:
    """Refuse a store that has anything but folders and plain files in it, or a description of absurd length."""
    left = [Path(path)]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                    continue
                if not entry.is_file(follow_symlinks=False):
                    kind = "a link" if entry.is_symlink() else "no plain file"
                    raise _refused(path, f"{entry.name}, {kind}")
                if entry.name.endswith(".json") and entry.stat(follow_symlinks=False).st_size > LARGEST_DESCRIPTION:
                    raise _refused(path, f"{entry.name} with {entry.stat(follow_symlinks=False).st_size} bytes")


def _refused(path: Path, seen: str) -> FileError:
    return FileError(
        f"The store {shortened(str(path))} holds what no sweep writes", seen=shortened(seen), remedy="name another store"
    )


def codecs_of(array: Any) -> list[Any]:
    """How the chunks of an array are coded, but for checksums, which older stores lack."""
    return [codec for codec in array.metadata.to_dict()["codecs"] if codec["name"] != "crc32c"]


def size_below(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def plain_bytes(path: Path, most: int) -> bytes | None:
    """The content of a file of at most so many bytes; None where there is none, or it is larger."""
    try:
        return path.read_bytes() if path.stat().st_size <= most else None
    except OSError:
        return None


def is_texts(data: bytes, count: int) -> bool:
    """Whether bytes are so many texts, each behind its length (codec "vlen-utf8").

    >>> is_texts(b"\\x01\\x00\\x00\\x00\\x01\\x00\\x00\\x00a", 1), is_texts(b"\\xff\\xff\\xff\\xff", 1)
    (True, False)
    """
    if len(data) < 4 or struct.unpack_from("<I", data)[0] != count:
        return False
    place = 4
    for _ in range(count):
        if place + 4 > len(data):
            return False
        place += 4 + struct.unpack_from("<I", data, place)[0]
    return place == len(data)
