"""Native functions compiled together, and called from Python.

The whole of a module is translated to LLVM text at once, which takes less than a second and is then
found in the cache on disk.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.work_clock import work
from ...typing import Array
from ..backends.llvm import NativeLibrary, optimised_object_code
from ..sources import PACKAGE, sources_digest
from .language import address_of, signature_of
from .llvm_language import module_text
from .plain import plain_call, runs_plainly

if TYPE_CHECKING:
    from .language import Argument

__all__ = ["NativeModule", "address_of", "aligned_zeros", "specialised"]

_CTYPES: dict[str, Any] = {
    "i64": ctypes.c_int64,
    "double": ctypes.c_double,
    "void": None,
    "i1": ctypes.c_bool,
}


def aligned_zeros(count: int) -> Array:
    """Zeros (count,) that begin with a cache line, for vectors that native code loads."""
    room = np.zeros(count + 8)
    skipped = -address_of(room) // 8 % 8
    return room[skipped : skipped + count]


def specialised(
    functions: Sequence[Callable[..., Any]], bound: Mapping[Callable[..., Any], Callable[..., Any]]
) -> list[Callable[..., Any]]:
    """Copy native functions so that all they call is the same but for the functions in `bound`.

    A loop that serves several methods calls a function that stands for the step of any of them;
    `bound` maps that function to the step of one.
    """
    copies: dict[Callable[..., Any], Callable[..., Any]] = {}

    def copied(function: Any) -> Callable[..., Any]:
        function = bound.get(function, function)
        if function not in copies:
            names = dict(function.__globals__)
            made = FunctionType(function.__code__, names, function.__name__)
            copies[function] = update_wrapper(made, function)
            for name in function.__code__.co_names:
                if getattr(names.get(name), "__native__", False):
                    names[name] = copied(names[name])
        return copies[function]

    return [copied(function) for function in functions]


class NativeModule:
    """Native functions and their callees, compiled together; `bound` is that of `specialised`."""

    @work("compile")
    def __init__(
        self,
        entries: Sequence[Callable[..., Any]],
        bound: Mapping[Callable[..., Any], Callable[..., Any]] | None = None,
    ) -> None:
        key = _key(entries, bound or {})
        entries = specialised(entries, bound) if bound else entries
        if runs_plainly():
            self.functions = {entry.__name__: plain_call(entry) for entry in entries}
            return
        names = [entry.__name__ for entry in entries]
        code = optimised_object_code(lambda: module_text(entries), key)
        self._library = NativeLibrary(code, names)
        self.functions = {entry.__name__: self._callable(entry) for entry in entries}

    def _callable(self, entry: Callable[..., Any]) -> Callable[..., Any]:
        signature = signature_of(entry)
        kinds = [kind for _, kind in signature.parameters]
        plain = ctypes.CFUNCTYPE(
            _CTYPES[signature.result], *[_CTYPES.get(kind, ctypes.c_void_p) for kind in kinds]
        )
        function = plain(self._library.addresses[entry.__name__])

        def call(*arguments: Argument) -> Any:
            return function(
                *[address_of(each) if isinstance(each, np.ndarray) else each for each in arguments]
            )

        call.__doc__, call.__name__ = entry.__doc__, entry.__name__
        # The code lives as long as someone can call it.
        call.library = self._library  # type: ignore[attr-defined]
        #: The same with addresses instead of arrays and records.
        call.by_address = function  # type: ignore[attr-defined]
        return call


def _key(
    entries: Sequence[Callable[..., Any]], bound: Mapping[Callable[..., Any], Callable[..., Any]]
) -> str | None:
    """A cache key of the library's own functions that does not need their assembly."""
    functions = [*entries, *bound.values()]
    if not all(Path(f.__code__.co_filename).is_relative_to(PACKAGE) for f in functions):
        return None
    names = [entry.__name__ for entry in entries]
    names += [f"{f.__name__}={other.__module__}.{other.__name__}" for f, other in bound.items()]
    return " ".join([sources_digest("codegen", "runtime", "integrate"), *names])
