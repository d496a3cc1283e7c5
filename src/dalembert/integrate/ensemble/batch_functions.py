"""Functions of columns evaluated for every row of tables, in a native loop."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import casadi as ca
import numpy as np

from ...codegen.backends.llvm import NativeLibrary, module_text, object_code
from ...codegen.program import INPUTS, straight_line
from ...runtime.kernel import Kernel
from ...runtime.native_functions import functions
from ...typing import Array

__all__ = ["Rowwise", "kept_rowwise"]


def kept_rowwise(
    kernel: Kernel, key: Hashable, write: Callable[[], ca.Function], fused: bool = True
) -> Rowwise:
    """A function of a kernel by its key, written and compiled once."""
    return kernel.cache.get(("rowwise", key), lambda: Rowwise(write(), fused))


class Rowwise:
    """A CasADi function of up to five columns, compiled, for the rows of tables.

    Each row is computed by itself, by the same instructions in the same order. With `fused` a
    product and a sum may be rounded at once; without, the bits are those of CasADi's interpreter,
    which rounds twice.

    >>> x = ca.SX.sym("x", 2)
    >>> function = Rowwise(
    ...     ca.Function("f", [x], [ca.densify(ca.vertcat(x[0] + x[1], 1)), ca.densify(x @ x.T)])
    ... )
    >>> total, square = function(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> total[:, :, 0].tolist(), square[1].tolist()
    ([[3.0, 1.0], [7.0, 1.0]], [[9.0, 12.0], [12.0, 16.0]])
    """

    def __init__(self, function: ca.Function, fused: bool = True) -> None:
        symbols = list(function.sx_in())
        outputs = function.call(symbols)
        self.shapes = [block.shape for block in outputs]
        symbols += [ca.SX(0, 1)] * (len(INPUTS) - len(symbols))
        program = straight_line("rowwise", symbols, [ca.densify(block) for block in outputs])
        text = module_text([program])
        self._library = NativeLibrary(
            object_code(text if fused else text.replace(" contract ", " "), 2), ["rowwise"]
        )
        self._sizes = [block.numel() for block in symbols]

    def __call__(self, *tables: Array) -> list[Array]:
        """The outputs for tables (k, size of an input), as arrays (k, rows, columns)."""
        count, width = len(tables[0]), sum(rows * columns for rows, columns in self.shapes)
        found = np.empty((count, width))
        blocks = [np.ascontiguousarray(table, dtype=float) for table in tables]
        blocks += [np.zeros(1)] * (len(INPUTS) - len(blocks))
        functions()["map_rows"](
            self._library.addresses["rowwise"], count, width, np.array(self._sizes), *blocks, found
        )
        results, place = [], 0
        for rows, columns in self.shapes:  # CasADi lays matrices down column by column
            part = found[:, place : place + rows * columns].reshape(count, columns, rows)
            results.append(part.transpose(0, 2, 1))
            place += rows * columns
        return results
