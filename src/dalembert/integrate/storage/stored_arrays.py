"""The arrays of a file, by name: only plain ones, and only as much as the file can honestly hold.

A file may come from anyone. What is asked for is read, and nothing else; it must be stored in the
file itself (no links, no external or virtual storage), as numbers or text, packed by nothing but
deflate, and every value must have been written. A few bytes that unpack to very many are refused
before they are unpacked.
"""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileError

if TYPE_CHECKING:
    import h5py

__all__ = ["StoredArrays", "UnpackedBytes"]

#: The filters that `save` uses: deflate, shuffle, and the checksum of HDF5.
FILTERS = {1, 2, 3}
DEFLATE = 1
#: What a file may unpack to: this many bytes, or this many times its own size.
MOST_BYTES, MOST_TIMES = 2**30, 100


class UnpackedBytes:
    """How many bytes a file may still unpack to."""

    def __init__(self, file_size: int) -> None:
        self.left = max(MOST_BYTES, MOST_TIMES * file_size)

    def take(self, count: int, name: str) -> None:
        """Count bytes, before they are read."""
        self.left -= count
        if self.left < 0:
            raise FileError(
                f"The array {name!r} of the file unpacks to more than a file of this size may hold",
                seen=f"{count} bytes",
                remedy="if you trust the file, read it with xarray",
            )


class StoredArrays:
    """The arrays of a group of a file, read when they are first asked for by ``arrays[name]``.

    Parameters
    ----------
    group : h5py.Group
        Open as long as arrays are asked for.
    unpacked : UnpackedBytes
        Shared by the groups of a file.
    """

    def __init__(self, group: h5py.Group, unpacked: UnpackedBytes) -> None:
        self._group, self._unpacked = group, unpacked
        self._read: dict[str, Any] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._group

    def __getitem__(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = self._values(name)
        return self._read[name]

    def group(self, name: str) -> StoredArrays:
        """A group below this one."""
        return StoredArrays(_member(self._group, name, "Group"), self._unpacked)

    def _values(self, name: str) -> Any:
        import h5py

        array = _member(self._group, name, "Dataset")
        kind, settings = array.id.get_type(), array.id.get_create_plist()
        if (
            array.shape is None
            or settings.get_external_count()
            or settings.get_layout() == h5py.h5d.VIRTUAL
        ):
            raise _refused(name, "is not stored in it")
        filters = [settings.get_filter(place)[0] for place in range(settings.get_nfilters())]
        if len(set(filters)) < len(filters) or not FILTERS.issuperset(filters):
            raise _refused(name, "is packed in another way than dalembert packs arrays")
        is_text = kind.get_class() == h5py.h5t.STRING
        if not is_text and kind.get_class() not in (h5py.h5t.FLOAT, h5py.h5t.INTEGER):
            raise _refused(name, "holds neither numbers nor text")
        count = math.prod(array.shape)
        self._unpacked.take(count * kind.get_size(), name)
        if count == 0:
            return np.zeros(array.shape)
        if array.chunks is not None:
            self._check_chunks(name, array, filters)
        elif array.id.get_storage_size() < count * kind.get_size():
            raise _refused(name, "has values that were never written")
        return self._texts(name, array) if is_text else array[()]

    def _check_chunks(self, name: str, array: h5py.Dataset, filters: list[int]) -> None:
        """Reject chunks that are missing or unpack to too much; HDF5 itself would unpack them."""
        grid = [math.ceil(n / part) for n, part in zip(array.shape, array.chunks, strict=True)]
        size = math.prod(array.chunks) * array.id.get_type().get_size()
        if array.id.get_num_chunks() != math.prod(grid):
            raise _refused(name, "has values that were never written")
        self._unpacked.take(size * math.prod(grid), name)
        if DEFLATE not in filters:
            return
        for place in range(math.prod(grid)):
            found = array.id.get_chunk_info(place)
            if (
                found.filter_mask >> filters.index(DEFLATE) & 1
            ):  # a chunk that deflate would make longer goes without it
                continue
            _, packed = array.id.read_direct_chunk(found.chunk_offset)
            opener = zlib.decompressobj()
            if len(opener.decompress(packed, size + 64)) > size + 4 or not opener.eof:
                raise _refused(name, "has a chunk that unpacks to more than it should hold")

    def _texts(self, name: str, array: h5py.Dataset) -> Any:
        """Texts one by one: very many of them may point to one long text in the file."""
        found = np.empty(array.shape, dtype=object)
        for place in np.ndindex(array.shape):
            text = array[place]
            self._unpacked.take(len(text), name)
            found[place] = text.decode("utf-8") if isinstance(text, bytes) else str(text)
        return found


def _member(group: h5py.Group, name: str, kind: str) -> Any:
    """What a group holds under a name, itself and not by a link."""
    import h5py

    if not name or "/" in name or name.strip(".") == "":
        raise _refused(name, "has a path for a name")
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise _refused(name, "is not stored in it")
    found = group[name]
    if not isinstance(found, getattr(h5py, kind)):
        raise _refused(
            name, "is something else than an array" if kind == "Dataset" else "is no group"
        )
    return found


def _refused(name: str, why: str) -> FileError:
    return FileError(
        f"The part {str(name)[:60]!r} of the file {why}",
        remedy="name a file that Motion.save wrote",
    )
