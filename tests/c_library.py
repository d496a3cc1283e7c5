"""Exported C as a library in this process: compiled strictly, called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dalembert.runtime.context import Context

COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="there is no C compiler on this machine"
)
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


def run_compiler(*arguments: Any) -> None:
    """Call the compiler; warnings are errors."""
    run = subprocess.run(
        [str(COMPILER), *STRICT, *map(str, arguments)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def shared_library(text: str, folder: Path, name: str, optimise: str = "-O1") -> ctypes.CDLL:
    """A shared library from C text."""
    source, target = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    run_compiler(optimise, "-shared", "-fPIC", "-o", target, source, "-lm")
    return ctypes.CDLL(str(target))


class CLibrary:
    """An exported model, with a workspace of its own."""

    def __init__(
        self, source: Any, folder: Path, optimise: str = "-O1", change: Any = None
    ) -> None:
        name = self.name = source.name
        tail = (
            "\nlong size_of_work(void);\nlong size_of_work(void)\n{\n    return"
            f" (long)sizeof({name}_work);\n}}\n"
        )
        tail += (
            "long size_of_seen(void);\nlong size_of_seen(void)\n{\n    return"
            f" (long)sizeof({name}_seen);\n}}\n"
        )
        text = str(source) if change is None else change(str(source))
        self.library = shared_library(text + tail, folder, f"{name}{folder.name}", optimise)
        self.library.size_of_work.restype = self.library.size_of_seen.restype = ctypes.c_long
        self.work = ctypes.create_string_buffer(self.library.size_of_work())
        self.open()

    def __getattr__(self, word: str) -> Any:
        return getattr(self.library, f"{self.name}_{word}")

    def open(self, parameters: Any = None) -> None:
        """Begin anew, with parameters in their order or the default ones."""
        values = None if parameters is None else np.array([*parameters, 0.0])
        getattr(self.library, f"{self.name}_open")(
            self.work, None if values is None else _at(values)
        )

    def rates(self, t: float, y: Any) -> tuple[int, Any]:
        """A status, and the rates."""
        out = np.full(len(y), np.nan)
        status = getattr(self.library, f"{self.name}_rates")(
            self.work, ctypes.c_double(t), _at(np.array(y, dtype=float)), _at(out)
        )
        return status, out

    def observe(self, t: float, y: Any) -> tuple[int, Any]:
        """A status, and all that is observed as one array."""
        seen = np.full(self.library.size_of_seen() // 8, np.nan)
        function = getattr(self.library, f"{self.name}_observe")
        return (
            function(self.work, ctypes.c_double(t), _at(np.array(y, dtype=float)), _at(seen)),
            seen,
        )

    def project(self, t: float, y: Any) -> tuple[int, Any]:
        """A status, and the state on the constraints."""
        state = np.array(y, dtype=float)
        return (
            getattr(self.library, f"{self.name}_project")(
                self.work, ctypes.c_double(t), _at(state)
            ),
            state,
        )

    def run(self, t0: float, y: Any, t1: float) -> tuple[int, Any, float]:
        """A status, the state that was reached, and its time."""
        state, reached = np.array(y, dtype=float), ctypes.c_double()
        function = getattr(self.library, f"{self.name}_run")
        status = function(
            self.work, ctypes.c_double(t0), _at(state), ctypes.c_double(t1), ctypes.byref(reached)
        )
        return status, state, reached.value


def _at(array: Any) -> ctypes.c_void_p:
    pointer = ctypes.c_void_p(array.ctypes.data)
    pointer.array = array  # type: ignore[attr-defined]  # lives as long as its address
    return pointer


def observed(kernel: Any, parameters: Any, t: float, y: Any) -> Any:
    """What our own native code observes at a state."""
    inputs = np.zeros((1, max(1, len(kernel.free_inputs))))
    results, statuses = Context(kernel, parameters).observe(
        np.array([t]), np.array([y], dtype=float), inputs
    )
    assert statuses[0] in (0, 1)
    return results[0]
