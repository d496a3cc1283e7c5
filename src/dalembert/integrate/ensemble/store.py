"""The Zarr store of a sweep: written block by block, readable at any time, whole after any kill.

The runs form a grid, which is cut into blocks; a block is one chunk of every array. The outcomes of
a block are written last, and "not run" stands where they are missing, so that a block counts as
done exactly when all of it is there. Each file appears in one move. What a kill can cost are the
blocks under way.

Every chunk ends with its checksum (Zarr's codec "crc32c"), which any reader of Zarr verifies. Going
on with a store looks at all of them, and makes the blocks again that are damaged. One process at a
time writes to a store.

Stores of earlier versions have no checksums, no array of diagnostics, or no diagnostics on runs
that finished; the description of their messages tells the latter. They are gone on with as they
are.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError
from ...model.io.atomic_file import drop_leftovers, place_beside
from ...model.names import shortened
from ...typing import IntArray
from ..outcome import Outcome
from .chunks import CODE, NOT_RUN, Results
from .run_table import MESSAGE, MESSAGE_BEFORE, Table
from .store_files import (
    LONGEST_MESSAGE,
    check_files,
    checksum,
    codecs_of,
    is_texts,
    locked,
    packed_texts,
    plain_bytes,
    size_below,
)

if TYPE_CHECKING:
    import zarr

#: An index of an array: all of it, or one for each axis.
Index: TypeAlias = "int | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]"

__all__ = ["RunBlocks", "SweepStore", "check_path"]

#: The attribute that holds what a store was made from.
MARK = "dalembert_sweep"
#: The results of a store of at most so many bytes are kept in memory as well.
SMALL_STORE = 1 << 26
#: What a store was made from, by the word that an error uses for it.
WORDS = {
    "model": "another model",
    "options": "other options",
    "grid": "other values",
    "version": "another version of dalembert",
}


@dataclass(frozen=True)
class RunBlocks:
    """A grid of runs cut into blocks of equal shape, smaller at its edges.

    >>> blocks = RunBlocks.of((4, 6), 8)
    >>> blocks.size, len(blocks)
    ((1, 6), 4)
    >>> RunBlocks.of((10,), 4).places(2).tolist()
    [8, 9]
    """

    shape: tuple[int, ...]
    size: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], count: int) -> RunBlocks:
        """Blocks of about `count` runs: the last axes whole, one axis cut, the first singly."""
        size, left = [], max(1, count)
        for length in reversed(shape):
            part = max(1, min(length, left))
            size.append(part)
            left = left // part if part == length else 1
        return cls(shape, tuple(reversed(size)))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many blocks there are along each axis."""
        return tuple(math.ceil(n / s) for n, s in zip(self.shape, self.size, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def region(self, number: int) -> tuple[slice, ...]:
        """The part of the grid that a block covers."""
        where = np.unravel_index(number, self.counts) if self.counts else ()
        return tuple(
            slice(int(k) * s, min(n, (int(k) + 1) * s))
            for k, s, n in zip(where, self.size, self.shape, strict=True)
        )

    def shape_of(self, number: int) -> tuple[int, ...]:
        """How many runs a block has along each axis."""
        return tuple(part.stop - part.start for part in self.region(number))

    def places(self, number: int) -> IntArray:
        """The runs of a block as places in the flattened grid."""
        along = np.ix_(*(np.arange(part.start, part.stop) for part in self.region(number)))
        return (
            np.ravel_multi_index(along, self.shape).ravel() if self.shape else np.zeros(1, np.int64)
        )

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


def check_path(path: Path, resume: bool) -> None:
    """Refuse a path that cannot take a store, before anything is computed."""
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise FileError(
            f"The runs cannot be stored in {shortened(str(path))}",
            seen=folder,
            remedy="name a folder that exists",
        )
    if path.exists() and not resume:
        raise FileError(
            f"There is already a store {shortened(str(path))}",
            remedy="go on with it by resume (--resume), or name another one",
        )


class SweepStore:
    """The arrays of a sweep on disk, for the one process that writes to them until `close`."""

    def __init__(self, path: Path, group: zarr.Group, table: Table) -> None:
        if table.own_names["diagnostics"] not in group:  # a store of an earlier version
            table = replace(table, with_diagnostics=False)
        self.path, self.group, self.table = path, group, table
        self.arrays = {name: group[name] for name in table.variables}
        outcome = self.arrays[table.own_names["outcome"]]
        self.blocks = RunBlocks(table.shape, tuple(outcome.chunks))
        if len(outcome.chunks) != len(table.shape) or any(
            s > max(1, n) for s, n in zip(outcome.chunks, table.shape, strict=True)
        ):
            raise ValueError(f"blocks of {outcome.chunks} runs in a grid of {table.shape}")
        self.has_checksums = any(
            codec["name"] == "crc32c" for codec in outcome.metadata.to_dict()["codecs"]
        )
        self.has_diagnostics = (
            self.arrays[table.own_names["message"]].attrs.get("long_name") != MESSAGE_BEFORE
        )
        self._lock = locked(path)

    def close(self) -> None:
        """Let others write to the store."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @classmethod
    def create(
        cls, path: Path, table: Table, blocks: RunBlocks, identity: Mapping[str, str]
    ) -> SweepStore:
        """A new store; it appears at its path in one move, complete but for the runs."""
        import zarr

        drop_leftovers(path.absolute().parent)
        scratch = place_beside(path.absolute())
        try:
            scratch.mkdir()
            group = zarr.open_group(
                scratch / "store", mode="w-", attributes={**table.attributes, MARK: dict(identity)}
            )
            _make_arrays(group, table, blocks)
            with (
                warnings.catch_warnings()
            ):  # that other programs may not read this copy of the metadata; they need not
                warnings.simplefilter("ignore")
                zarr.consolidate_metadata(scratch / "store")
            os.rename(scratch / "store", path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FileError(
                f"The runs cannot be stored in {shortened(str(path))}",
                seen=reason,
                remedy="check the path",
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return cls(path, zarr.open_group(path, mode="r+"), table)

    @classmethod
    def open(cls, path: Path, table: Table, identity: Mapping[str, str]) -> SweepStore:
        """The store at a path, which must have been made for the same sweep."""
        import zarr

        try:
            check_files(path)
            group = zarr.open_group(path, mode="r+", zarr_format=3)
            made_from = dict(group.attrs[MARK])
        except FileError:
            raise
        except Exception as error:  # what others wrote can fail anywhere in zarr
            raise FileError(
                f"{shortened(str(path))} is not the store of a sweep", remedy="name another one"
            ) from error
        for part, word in WORDS.items():
            if made_from.get(part) != identity[part]:
                raise FileError(
                    f"The store {shortened(str(path))} was made from {word}",
                    remedy="go on with the call that made it, or name a new store",
                )
        try:
            store = cls(path, group, table)
        except (KeyError, ValueError, TypeError, AttributeError, NotImplementedError) as error:
            raise _damaged(path, error) from error
        try:
            store._check_layout()
        except BaseException:
            store.close()
            raise
        return store

    def _check_layout(self) -> None:
        """Reject arrays that do not match the table; rewrite damaged values along the axes."""
        import zarr

        wanted = zarr.open_group(zarr.storage.MemoryStore(), mode="w")
        try:
            _make_arrays(wanted, self.table, self.blocks)
            for name, array in wanted.arrays():
                found = self.group[name]
                layout = _layout(found).replace(repr(MESSAGE_BEFORE), repr(MESSAGE))
                if layout != _layout(array) or codecs_of(found) != codecs_of(array):
                    raise _damaged(self.path, f"the description of {name}")
                if name in self.arrays:
                    continue
                is_too_long = size_below(self.path / name / "c") > array.nbytes + 4
                if is_too_long or not _is_equal(found, array[...]):
                    found[...] = array[...]
        except (OSError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise _damaged(self.path, error) from error

    def done(self) -> set[int]:
        """The blocks that are there, whole and undamaged."""
        return {number for number in self.blocks if self._is_done(number)}

    def _is_done(self, number: int) -> bool:
        """Whether a block has its outcomes, and every file of theirs as it was written."""
        outcome = self.table.own_names["outcome"]
        codes = self._chunk(outcome, number)
        if codes is None:
            return False
        within = tuple(slice(0, n) for n in self.blocks.shape_of(number))
        made = np.frombuffer(codes, np.int8).reshape(self.arrays[outcome].chunks)[within]
        if np.any(made == NOT_RUN):
            return False
        for name, variable in self.table.variables.items():
            is_needed = (
                variable.kind is not str
                or self.has_diagnostics
                or bool(np.any(made != CODE[Outcome.FINISHED]))
            )
            if (is_needed or self._target(name, number).exists()) and self._chunk(
                name, number
            ) is None:
                return False
        return True

    def _chunk(self, name: str, number: int) -> bytes | None:
        """What the chunk of a block holds, or None where it is not there or damaged."""
        variable, array = self.table.variables[name], self.arrays[name]
        count = math.prod(array.chunks)
        each = LONGEST_MESSAGE if variable.kind is str else np.dtype(variable.kind).itemsize
        data = plain_bytes(self._target(name, number), count * each + 8)
        if data is None:
            return None
        if self.has_checksums:
            data, given = data[:-4], data[-4:]
            if checksum(data) != given:
                return None
        whole = is_texts(data, count) if variable.kind is str else len(data) == count * each
        return data if whole else None

    def write(self, number: int, results: Results) -> bool:
        """Write a block, its outcomes last; return False, unwritten, if it has missing runs."""
        if results.made < len(results.codes):
            return False
        try:
            for name, values in self.table.columns(results, self.blocks.shape_of(number)).items():
                if (
                    self.table.variables[name].kind is not str
                    or self.has_diagnostics
                    or any(results.messages)
                ):
                    self._write_chunk(name, number, values)
                else:
                    self._target(name, number).unlink(missing_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FileError(
                f"The store {shortened(str(self.path))} cannot be written",
                seen=reason,
                remedy="make room, then go on with resume",
            ) from error
        return True

    def _write_chunk(self, name: str, number: int, values: NDArray[Any]) -> None:
        """Write one chunk, in one move.

        Chunks that are not compressed are plain little-endian numbers (Zarr specification, version
        3, codecs "bytes" and "crc32c"), at a path that counts the chunks along the axes; texts
        stand behind their lengths (codec "vlen-utf8"). Writing them here costs a tenth of what the
        way through zarr costs.
        """
        variable, array = self.table.variables[name], self.arrays[name]
        kind = object if variable.kind is str else np.dtype(variable.kind).newbyteorder("<")
        whole = np.full(array.chunks, variable.empty, kind)
        whole[tuple(slice(0, n) for n in values.shape)] = values
        data = packed_texts(whole) if variable.kind is str else whole.tobytes()
        target = self._target(name, number)
        part = target.with_name(f"{target.name}.part")
        part.unlink(missing_ok=True)
        with part.open("xb") as file:
            file.write(data + checksum(data) if self.has_checksums else data)
        os.replace(part, target)

    def _target(self, name: str, number: int) -> Path:
        """The file of a block in an array."""
        where = np.unravel_index(number, self.blocks.counts) if self.blocks.counts else ()
        key = [*map(int, where), *([0] * (len(self.arrays[name].chunks) - len(where)))]
        return self.path / name / ".".join(["c", *map(str, key)])

    def columns(self) -> dict[str, StoredArray]:
        """Every array: read at once if all are small, else on demand, as stores may be large."""
        found = {name: StoredArray(self.path, array) for name, array in self.arrays.items()}
        if sum(array.nbytes for array in self.arrays.values()) <= SMALL_STORE:
            for column in found.values():
                column[...]
        return found


class StoredArray:
    """An array of a store by `array[part]`; all of it, `array[...]`, is kept once it was read."""

    def __init__(self, path: Path, array: zarr.Array) -> None:
        self._path, self._array = path, array
        self._whole: Any = None

    def __getitem__(self, part: Index) -> NDArray[Any]:
        if self._whole is not None:
            return np.asarray(self._whole[part])
        if not self._path.exists():  # Zarr would take what is missing for what was never run
            raise FileError(
                f"The store {shortened(str(self._path))} is gone, and results that were not read"
                " yet with it",
                remedy="keep the store as long as its ensemble is used",
            )
        try:
            found = np.asarray(self._array[part])
        except (OSError, ValueError) as error:
            raise _damaged(
                self._path, error, "go on with resume, which makes the damaged runs again"
            ) from error
        if part is Ellipsis:
            self._whole = found
        return found


def _damaged(path: Path, seen: object, remedy: str = "name a new store") -> FileError:
    return FileError(
        f"The store {shortened(str(path))} is damaged",
        seen=shortened(str(seen), 120),
        remedy=remedy,
    )


def _layout(array: zarr.Array) -> str:
    """The description of an array, but for how its chunks are coded."""
    found = {key: value for key, value in array.metadata.to_dict().items() if key != "codecs"}
    return repr(sorted(found.items()))


def _is_equal(array: zarr.Array, values: NDArray[Any]) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return np.asarray(array[...]).tobytes() == np.asarray(values).tobytes()
    return False


def _make_arrays(group: zarr.Group, table: Table, blocks: RunBlocks) -> None:
    """The coordinates with their values, and the variables with nothing in them."""
    from zarr.codecs import Crc32cCodec

    own, nt = table.own_names, len(table.times)
    coordinates = {own["time"]: ((own["time"],), table.times), **table.coordinates}
    for name, (dims, values) in coordinates.items():
        array = group.create_array(
            name,
            shape=np.shape(values),
            chunks=tuple(max(1, n) for n in np.shape(values)),
            dtype="float64",
            dimension_names=dims,
            compressors=[Crc32cCodec()],
        )
        array[...] = values
    extra = [name for name, (dims, _) in table.coordinates.items() if (name,) != dims]
    for name, variable in table.variables.items():
        along = variable.dims[len(table.dims) :]
        attributes = variable.attributes | ({"coordinates": " ".join(extra)} if extra else {})
        group.create_array(
            name,
            shape=table.shape + (nt,) * len(along),
            chunks=blocks.size + (nt,) * len(along),
            dtype=variable.kind,
            fill_value=variable.empty,
            dimension_names=variable.dims,
            attributes=attributes,
            compressors=[Crc32cCodec()],
            chunk_key_encoding={"name": "default", "separator": "."},
        )
