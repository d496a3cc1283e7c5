"""Inputs given as Python functions, as an address that native code can call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ModelError

__all__ = ["InputCallback"]

_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 6)


class InputCallback:
    """Calls Python functions ``f(t, state) -> float`` from native code.

    `state` maps the names of the state letters to values. An exception inside a function cannot cross native code: it is
    kept in `error`, and the input becomes NaN, which stops the run.
    """

    def __init__(self, kernel: Any, functions: Mapping[str, Callable[..., Any]]) -> None:
        self.error: BaseException | None = None
        names = [symbol.name for symbol in kernel.equations.state]
        ordered = [functions[symbol.name] for symbol in kernel.free_inputs]
        if not ordered:
            raise ModelError("There is no free input to impose")

        def fill(t: Any, y: Any, p: Any, u: Any, w: Any, out: Any) -> None:
            try:
                state = dict(zip(names, y[: len(names)], strict=True))
                values = [float(function(t[0], state)) for function in ordered]
            except BaseException as error:
                self.error = self.error or error
                values = [np.nan] * len(ordered)
            for k, value in enumerate(values):
                out[k] = value

        self._function = _SIGNATURE(fill)
        self.address = int(ctypes.cast(self._function, ctypes.c_void_p).value or 0)
