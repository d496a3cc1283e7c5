"""Compiled quantities of a mechanism on disk, found again without stating its system."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import sympy

from ...codegen.backends.llvm import store, stored
from ...codegen.native_block import NativeBlock
from ...codegen.sources import sources_digest
from ...model.quantities import Quantity

if TYPE_CHECKING:
    from collections.abc import Hashable

    from ...model.bodies.mechanism import Coordinates, Mechanism

__all__ = ["ModelStore"]

#: Folders of the package that decide what a compiled quantity is.
_SOURCES = ("algebra", "analysis/bodies", "codegen", "formulations", "model")
#: Packages whose classes have one meaning for each version.
_KNOWN = ("builtins", "dalembert", "sympy")
#: Rows and columns of a block, numbers of a state and of a result.
_HEADER = struct.Struct("<4q")


class _UnknownError(Exception):
    """A value whose meaning its content does not decide."""


class _Statement:
    """A digest of what values state: numbers, names, expressions, and records of this library.

    A class or function of another package has a meaning that may change under its name.
    """

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._known: dict[sympy.Basic, int] = {}

    def hexdigest(self) -> str:
        return self._digest.hexdigest()

    def add(self, value: object) -> None:
        """Add a value; equal digests mean equal values."""
        if value is None or isinstance(value, str | bool | int | float):
            self._write(type(value), repr(value))
        elif isinstance(value, tuple | list):
            self._write(tuple, str(len(value)))
            for each in value:
                self.add(each)
        elif isinstance(value, Mapping):
            self.add(tuple(value.items()))
        elif isinstance(value, sympy.Basic):
            self._expression(value)
        elif is_dataclass(value) and not isinstance(value, type):
            self._write(type(value), "")
            for field in fields(value):
                if field.compare:
                    self.add(getattr(value, field.name))
        else:
            raise _UnknownError(type(value).__name__)

    def _expression(self, value: sympy.Basic) -> None:
        if value in self._known:
            self._write(_Statement, str(self._known[value]))
            return
        self._known[value] = len(self._known)
        if isinstance(value, sympy.Symbol):
            own: tuple[object, ...] = (value.name, str(sorted(value.assumptions0.items())))
        elif isinstance(value, Quantity):
            own = (value.name, value.definition)
        elif isinstance(value, sympy.Float):
            own = (str(value._mpf_), value._prec)
        elif isinstance(value, sympy.Rational):
            own = (str(value),)
        elif isinstance(value, sympy.MatrixBase):
            own = (value.shape, tuple(value))
        else:
            own = value.args
        self._write(type(value), "")
        self.add(own)

    def _write(self, kind: type, text: str) -> None:
        if kind.__module__.split(".")[0] not in _KNOWN:
            raise _UnknownError(kind.__module__)
        self._digest.update(f"{kind.__module__} {kind.__qualname__} {text}\0".encode())


class ModelStore:
    """Names and native blocks of one mechanism in the cache on disk.

    Entries are addressed by all that the mechanism states, by this library's sources and the
    versions of the packages that it derives with. A mechanism with a user's own classes is not
    stored.
    """

    def __init__(self, mechanism: Mechanism, coordinates: Coordinates) -> None:
        said = (mechanism.joints, mechanism.elements, mechanism.gravity, coordinates)
        self._key = _digest(said)

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """The names of the coordinates and of the parameters, or None."""
        data = stored(f"{self._key} names") if self._key else None
        if data is None:
            return None
        coordinates, parameters = json.loads(data)
        return tuple(coordinates), tuple(parameters)

    def keep_names(self, coordinates: tuple[str, ...], parameters: tuple[str, ...]) -> None:
        """Store the names of the coordinates and of the parameters."""
        if self._key:
            store(f"{self._key} names", json.dumps([coordinates, parameters]).encode())

    def block(self, key: Hashable) -> tuple[NativeBlock, tuple[int, int]] | None:
        """A native block and its shape, or None."""
        data = stored(address) if (address := self._address(key)) else None
        if data is None:
            return None
        rows, columns, width, size = _HEADER.unpack_from(data)
        return NativeBlock(width, size, data[_HEADER.size :]), (rows, columns)

    def keep_block(self, key: Hashable, block: NativeBlock, shape: tuple[int, int]) -> None:
        """Store a native block and its shape."""
        if address := self._address(key):
            store(address, _HEADER.pack(*shape, block.width, block.size) + block.code)

    def _address(self, key: Hashable) -> str | None:
        own = _digest(key) if self._key else None
        return f"{self._key} {own}" if own else None


def _digest(said: object) -> str | None:
    statement = _Statement()
    packages = [version(name) for name in ("casadi", "llvmlite", "sympy")]
    try:
        statement.add((sources_digest(*_SOURCES), packages, said))
    except (_UnknownError, RecursionError):
        return None
    return statement.hexdigest()
