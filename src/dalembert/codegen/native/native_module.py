"""Native functions compiled together, and called from Python.

The whole of a module is translated to LLVM text at once, which takes less than a second and is then found in the cache on
disk.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.llvm import NativeLibrary, optimised_object_code
from .language import Record, address_of, signature_of
from .llvm_language import module_text
from .plain import plain_call, runs_plainly

__all__ = ["NativeModule", "address_of", "aligned_zeros"]

_PACKAGE = Path(__file__).resolve().parents[2]
_CTYPES: dict[str, Any] = {"i64": ctypes.c_int64, "double": ctypes.c_double, "void": None, "i1": ctypes.c_bool}


def aligned_zeros(count: int) -> Any:
    """Zeros (count,) that begin with a cache line, for vectors that native code loads."""
    room = np.zeros(count + 8)
    skipped = -address_of(room) // 8 % 8
    return room[skipped : skipped + count]


class NativeModule:
    """Native functions and everything they call, compiled together. Python calls them with numbers and NumPy arrays."""

    def __init__(self, entries: Sequence[Callable[..., Any]]) -> None:
        if runs_plainly():
            self.functions = {entry.__name__: plain_call(entry) for entry in entries}
            return
        names = [entry.__name__ for entry in entries]
        code = optimised_object_code(lambda: module_text(entries), _key(entries, names))
        self._library = NativeLibrary(code, names)
        self.functions = {entry.__name__: self._callable(entry) for entry in entries}

    def _callable(self, entry: Callable[..., Any]) -> Callable[..., Any]:
        signature = signature_of(entry)
        kinds = [kind for _, kind in signature.parameters]
        plain = ctypes.CFUNCTYPE(_CTYPES[signature.result], *[_CTYPES.get(kind, ctypes.c_void_p) for kind in kinds])
        function = plain(self._library.addresses[entry.__name__])

        def call(*arguments: Any) -> Any:
            return function(*map(_passed, arguments))

        call.__doc__, call.__name__ = entry.__doc__, entry.__name__
        call.library = self._library  # type: ignore[attr-defined]  # the code lives as long as someone can call it
        return call


def _passed(argument: Any) -> Any:
    """Arrays and records go by their addresses, numbers as they are."""
    if isinstance(argument, Record):
        return argument.address
    return address_of(argument) if isinstance(argument, np.ndarray) else argument


@cache
def _own_sources() -> str:
    """What the native functions of this library are written in, as one digest."""
    digest = hashlib.sha256()
    for part in ("codegen", "runtime", "integrate"):
        for path in sorted((_PACKAGE / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _key(entries: Sequence[Callable[..., Any]], names: Sequence[str]) -> str | None:
    """A stand-in for the assembly of the library's own functions, which is then not written to be found in the cache."""
    if all(Path(entry.__code__.co_filename).is_relative_to(_PACKAGE) for entry in entries):
        return " ".join([_own_sources(), *names])
    return None
