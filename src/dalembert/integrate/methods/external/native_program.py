"""A program as a function of Python that fills an array, for integrators that call back."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from ....codegen.program import Program

if TYPE_CHECKING:
    from ....runtime.kernel import Kernel
    from ....typing import Array

__all__ = ["NativeProgram"]

_SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)


class NativeProgram:
    """Native code of a program at fixed parameters: ``call(t, y, w) -> out``, into an array that is
    used again.

    Parameters
    ----------
    kernel : Kernel
        Whose symbols the program is written in; it keeps the code alive.
    program : Program
    parameters : array
    address : int
        Where its code is; it is compiled where this is not given.
    """

    def __init__(
        self, kernel: Kernel, program: Program, parameters: Array, address: int = 0
    ) -> None:
        self._function = _SIGNATURE(address or kernel.load_program(program))
        self._kernel = kernel
        sizes = (
            1,
            program.sizes[1],
            len(parameters),
            max(1, program.sizes[3]),
            max(1, program.sizes[4]),
        )
        self.time, self.state, self.parameters, self._inputs, self.further = (
            np.zeros(size) for size in sizes
        )
        self.parameters[:] = parameters
        self.out = np.zeros(len(program.outputs))
        blocks = (self.time, self.state, self.parameters, self._inputs, self.further, self.out)
        self._addresses = [block.ctypes.data for block in blocks]

    def __call__(self, time: float, state: Array, *further: Any) -> Array:
        """The outputs at a state; `further` are the parts of w, one after another."""
        self.time[0] = time
        self.state[:] = state
        place = 0
        for part in further:
            size = np.size(part)
            self.further[place : place + size] = part
            place += size
        self._function(*self._addresses)
        return self.out
