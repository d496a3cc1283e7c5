"""Inputs given as Python functions, as an address that native code can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..errors import ModelError
from ..typing import Array
from .input_table import InputTable, packed

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel

__all__ = ["InputCallback"]

#: Doubles that native code passes by their address.
Doubles: TypeAlias = "ctypes._Pointer[ctypes.c_double]"
_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 6)


class InputCallback:
    """Calls Python functions ``f(t, state) -> float`` from native code.

    `state` maps the names of the state symbols to values. An exception inside a function cannot
    cross native code: it is kept in `error`, and the input becomes NaN, which stops the run. The
    last value that was not finite is kept in words. Where all functions are tables, native code
    reads these and calls nobody.
    """

    def __init__(self, kernel: Kernel, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.error: BaseException | None = None
        self.not_finite: str | None = None
        self._names = [symbol.name for symbol in kernel.equations.state]
        self._inputs = [symbol.name for symbol in kernel.free_inputs]
        self._ordered = [functions[symbol.name] for symbol in kernel.free_inputs]
        if not self._ordered:
            raise ModelError("There is no free input to impose")

        def fill(t: Doubles, y: Doubles, p: Doubles, u: Doubles, w: Doubles, out: Doubles) -> None:
            try:
                values = self.values(t[0], y)
            except BaseException as error:
                self.error = self.error or error
                values = [np.nan] * len(self._ordered)
            for k, value in enumerate(values):
                out[k] = value

        self._function = _SIGNATURE(fill)
        self.address = int(ctypes.cast(self._function, ctypes.c_void_p).value or 0)
        tables = [function for function in self._ordered if isinstance(function, InputTable)]
        self.tables = packed(tables) if len(tables) == len(self._ordered) else None

    def values(self, t: float, y: Doubles | Array) -> list[float]:
        """The inputs at a state, in the order of the kernel's free inputs."""
        state = dict(zip(self._names, y[: len(self._names)], strict=True))
        found = [float(function(t, state)) for function in self._ordered]
        for name, value in zip(self._inputs, found, strict=True):
            if not np.isfinite(value):
                self.not_finite = (
                    f"the function of the input `{name}` returned {value} at t = {t:.9g}"
                )
        return found
