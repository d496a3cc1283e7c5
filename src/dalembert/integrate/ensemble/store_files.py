"""Files of a store to be continued: plain ones in plain folders, of bounded size.

A store may have been sent by someone. Links could lead reading and writing elsewhere, a pipe would
never answer, and a codec is a program: what a sweep does not write itself, it does not go on with.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError
from ...model.io.plain_file import read_plain
from ...model.names import shortened

if TYPE_CHECKING:
    import zarr

__all__ = ["LONGEST_MESSAGE", "check_files", "checksum", "codecs_of", "is_texts", "locked"]
__all__ += ["packed_texts", "plain_bytes", "size_below"]

#: The largest description of a store or an array, in bytes.
LARGEST_DESCRIPTION = 2**26
#: The most bytes of text that a run has on average.
LONGEST_MESSAGE = 4096


def check_files(path: Path) -> None:
    """Reject a store with anything but folders and plain files, or an overlong description."""
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
                if (
                    entry.name.endswith(".json")
                    and entry.stat(follow_symlinks=False).st_size > LARGEST_DESCRIPTION
                ):
                    raise _refused(
                        path, f"{entry.name} with {entry.stat(follow_symlinks=False).st_size} bytes"
                    )


def _refused(path: Path, seen: str) -> FileError:
    return FileError(
        f"The store {shortened(str(path))} holds what no sweep writes",
        seen=shortened(seen),
        remedy="name another store",
    )


def codecs_of(array: zarr.Array) -> list[Any]:
    """How the chunks of an array are coded, but for checksums, which older stores lack."""
    return [codec for codec in array.metadata.to_dict()["codecs"] if codec["name"] != "crc32c"]


def size_below(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def plain_bytes(path: Path, most: int) -> bytes | None:
    """The content of a file of at most so many bytes; None where there is none, or it is larger."""
    try:
        data = read_plain(path, most)
    except OSError:
        return None
    return data if len(data) <= most else None


def is_texts(data: bytes, count: int) -> bool:
    """Whether bytes are so many texts, each behind its length (codec "vlen-utf8").

    >>> is_texts(b"\\x01\\x00\\x00\\x00\\x01\\x00\\x00\\x00a", 1), is_texts(
    ...     b"\\xff\\xff\\xff\\xff", 1
    ... )
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


def locked(path: Path) -> int | None:
    """Lock a store for writing, at most until the process ends; None without file locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise FileError(
            f"The store {shortened(str(path))} is being written by another process",
            remedy="wait until it has ended, or name another store",
        ) from None
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle


def checksum(data: bytes) -> bytes:
    import google_crc32c  # what zarr itself computes it with

    return int(google_crc32c.value(data)).to_bytes(4, "little")


def packed_texts(texts: NDArray[np.object_]) -> bytes:
    """Pack texts in array order: their number, then each after its length (codec "vlen-utf8").

    >>> packed_texts(np.array(["a", ""], dtype=object))
    b'\\x02\\x00\\x00\\x00\\x01\\x00\\x00\\x00a\\x00\\x00\\x00\\x00'
    """
    if not texts.any():
        return struct.pack("<I", texts.size) + bytes(4 * texts.size)
    encoded = [text.encode("utf-8") for text in texts.ravel()]
    return struct.pack("<I", len(encoded)) + b"".join(
        struct.pack("<I", len(text)) + text for text in encoded
    )
