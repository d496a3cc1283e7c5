"""The Zarr store of a sweep: written block by block, readable at any time, and whole after any kill.

The runs form a grid, which is cut into blocks; a block is one chunk of every array. The outcomes of a block are written last,
and "not run" stands where they are missing, so that a block counts as done exactly when all of it is there. Each file
appears in one move. What a kill can cost are the blocks under way.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError
from ...model.names import shortened
from ..outcome import Outcome
from .chunks import CODE, NOT_RUN, Results
from .table import Table

__all__ = ["Blocks", "SweepStore", "check_path"]

#: The attribute that holds what a store was made from.
MARK = "dalembert_sweep"
#: What a store was made from, by the word that an error uses for it.
WORDS = {
    "model": "another model",
    "options": "other options",
    "grid": "other values",
    "version": "another version of dalembert",
}


@dataclass(frozen=True)
class Blocks:
    """A grid of runs cut into blocks of equal shape, smaller at its edges.

    >>> blocks = Blocks.of((4, 6), 8)
    >>> blocks.size, len(blocks)
    ((1, 6), 4)
    >>> Blocks.of((10,), 4).places(2).tolist()
    [8, 9]
    """

    shape: tuple[int, ...]
    size: tuple[int, ...]

    @classmethod
    def of(cls, shape: tuple[int, ...], count: int) -> Blocks:
        """Blocks of about `count` runs: the last axes whole, one axis cut, the first ones singly."""
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
        return tuple(slice(int(k) * s, min(n, (int(k) + 1) * s)) for k, s, n in zip(where, self.size, self.shape, strict=True))

    def shape_of(self, number: int) -> tuple[int, ...]:
        """How many runs a block has along each axis."""
        return tuple(part.stop - part.start for part in self.region(number))

    def places(self, number: int) -> Any:
        """The runs of a block as places in the flattened grid."""
        along = np.ix_(*(np.arange(part.start, part.stop) for part in self.region(number)))
        return np.ravel_multi_index(along, self.shape).ravel() if self.shape else np.zeros(1, np.int64)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


def check_path(path: Path, resume: bool) -> None:
    """Refuse a path that cannot take a store, before anything is computed."""
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise FileError(f"The runs cannot be stored in {shortened(str(path))}", seen=folder, remedy="name a folder that exists")
    if path.exists() and not resume:
        raise FileError(
            f"There is already a store {shortened(str(path))}",
            remedy="go on with it by resume (--resume), or name another one",
        )


class SweepStore:
    """The arrays of a sweep on disk."""

    def __init__(self, path: Path, group: Any, table: Table) -> None:
        self.path, self.group, self.table = path, group, table
        self.arrays = {name: group[name] for name in table.variables}
        outcome = self.arrays[table.own_names["outcome"]]
        self.blocks = Blocks(table.shape, tuple(outcome.chunks))

    @classmethod
    def create(cls, path: Path, table: Table, blocks: Blocks, identity: Mapping[str, str]) -> SweepStore:
        """A new store; it appears at its path in one move, complete but for the runs."""
        import zarr

        scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
        try:
            group = zarr.open_group(scratch / "store", mode="w-", attributes={**table.attributes, MARK: dict(identity)})
            _make_arrays(group, table, blocks)
            with warnings.catch_warnings():  # that other programs may not read this copy of the metadata; they need not
                warnings.simplefilter("ignore")
                zarr.consolidate_metadata(scratch / "store")
            os.rename(scratch / "store", path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FileError(
                f"The runs cannot be stored in {shortened(str(path))}", seen=reason, remedy="check the path"
            ) from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        return cls(path, zarr.open_group(path, mode="r+"), table)

    @classmethod
    def open(cls, path: Path, table: Table, identity: Mapping[str, str]) -> SweepStore:
        """The store at a path, which must have been made for the same sweep."""
        import zarr

        try:
            group = zarr.open_group(path, mode="r+")
            made_from = dict(group.attrs[MARK])
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise FileError(f"{shortened(str(path))} is not the store of a sweep", remedy="name another one") from error
        for part, word in WORDS.items():
            if made_from.get(part) != identity[part]:
                raise FileError(
                    f"The store {shortened(str(path))} was made from {word}",
                    remedy="go on with the call that made it, or name a new store",
                )
        try:
            return cls(path, group, table)
        except KeyError as error:
            raise FileError(f"The store {shortened(str(path))} is damaged", seen=error, remedy="name a new store") from error

    def done(self) -> set[int]:
        """The blocks that are there."""
        codes = self.arrays[self.table.own_names["outcome"]][...]
        return {number for number in self.blocks if np.all(codes[self.blocks.region(number)] != NOT_RUN)}

    def write(self, number: int, results: Results) -> None:
        """Write a block, its outcomes last; a block with runs that were not made is not written."""
        if np.isin(results.codes, (NOT_RUN, CODE[Outcome.INTERRUPTED])).any():
            return
        region, shape = self.blocks.region(number), self.blocks.shape_of(number)
        where = np.unravel_index(number, self.blocks.counts) if self.blocks.counts else ()
        try:
            for name, values in self.table.columns(results, shape).items():
                if self.table.variables[name].kind is not str:
                    self._write_numbers(name, [int(k) for k in where], values)
                elif any(results.messages):
                    self.arrays[name][region if region else ...] = values
        except OSError as error:
            reason = error.strerror or str(error)
            raise FileError(
                f"The store {shortened(str(self.path))} cannot be written",
                seen=reason,
                remedy="make room, then go on with resume",
            ) from error

    def _write_numbers(self, name: str, where: list[int], values: Any) -> None:
        """Write one chunk of numbers, in one move.

        Chunks that are not compressed are plain little-endian numbers (Zarr specification, version 3, "bytes" codec), at a path
        that counts the chunks along the axes. Writing them here costs a tenth of what the way through zarr costs.
        """
        variable, array = self.table.variables[name], self.arrays[name]
        whole = np.full(array.chunks, variable.empty, np.dtype(variable.kind).newbyteorder("<"))
        whole[tuple(slice(0, n) for n in values.shape)] = values
        key = [*where, *([0] * (len(array.chunks) - len(where)))]
        target = self.path / name / ".".join(["c", *map(str, key)])
        part = target.with_name(f"{target.name}.part")
        part.write_bytes(whole.tobytes())
        os.replace(part, target)

    def read(self) -> dict[str, Any]:
        """Every array, whole."""
        return {name: np.asarray(array[...]) for name, array in self.arrays.items()}


def _make_arrays(group: Any, table: Table, blocks: Blocks) -> None:
    """The coordinates with their values, and the variables with nothing in them."""
    own, nt = table.own_names, len(table.times)
    coordinates = {own["time"]: ((own["time"],), table.times), **table.coordinates}
    for name, (dims, values) in coordinates.items():
        array = group.create_array(
            name,
            shape=np.shape(values),
            chunks=tuple(max(1, n) for n in np.shape(values)),
            dtype="float64",
            dimension_names=dims,
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
            compressors=None,
            chunk_key_encoding={"name": "default", "separator": "."},
        )
