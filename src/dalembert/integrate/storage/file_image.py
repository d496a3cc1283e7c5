"""NetCDF files as bytes, with a seal at their end that reveals damage before reading.

The seal is 48 bytes behind what HDF5 wrote, which readers of netCDF pass over: a mark, and the
SHA-256 of all before it.
"""

from __future__ import annotations

import hashlib
import io
import pathlib
from collections.abc import Mapping
from typing import Any

from ...errors import FileError
from ...model.io.plain_file import read_plain
from ...typing import Path

__all__ = ["file_image", "opened", "sealed"]

#: The largest file that is read, in bytes: all of it is held in memory.
LARGEST_FILE = 2**33
#: What a seal begins with, and the length of the digest after it.
MARK, DIGEST = b"dalembert seal 1", 32


def file_image(groups: Mapping[str | None, Any]) -> bytes:
    """A netCDF file of datasets by group, compressed, with HDF5 checksums of the arrays."""
    import h5netcdf
    import h5py
    from xarray.backends import H5NetCDFStore

    packed = {"zlib": True, "complevel": 1, "shuffle": True, "fletcher32": True}
    with h5py.File("image", "w", driver="core", backing_store=False, track_order=True) as raw:
        with h5netcdf.File(raw, "r+") as file:
            for group, dataset in groups.items():
                encoding = {
                    name: packed
                    for name, v in dataset.variables.items()
                    if v.dtype.kind in "fi" and v.size > 1
                }
                dataset.dump_to_store(H5NetCDFStore(file, group=group), encoding=encoding)
            file.flush()
        raw.flush()
        return bytes(raw.id.get_file_image())


def sealed(image: bytes) -> bytes:
    """A file with its seal.

    >>> len(sealed(b"content"))
    55
    """
    return image + MARK + hashlib.sha256(image).digest()


def opened(path: Path) -> tuple[io.BytesIO, bool]:
    """A file to be read, and whether it has a seal.

    Raises
    ------
    FileError
        Where the seal does not fit the content, or the file is too large to be held in memory.
    """
    data = read_plain(path, LARGEST_FILE)
    if len(data) > LARGEST_FILE:
        raise FileError(
            f"The file {pathlib.Path(path).name} is too large to be read as a whole",
            seen=f"more than {LARGEST_FILE} bytes",
            remedy="read it with xarray",
        )
    end = len(data) - len(MARK) - DIGEST
    if end < 0 or data[end : end + len(MARK)] != MARK:
        return io.BytesIO(data), False
    if hashlib.sha256(memoryview(data)[:end]).digest() != data[end + len(MARK) :]:
        raise FileError(
            f"The file {pathlib.Path(path).name} is damaged: it is not as it was saved",
            seen=f"another content than its seal, {len(data)} bytes",
            remedy="take a copy of it, or run the motion again",
        )
    return io.BytesIO(data), True
