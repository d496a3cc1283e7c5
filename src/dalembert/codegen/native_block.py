"""A block of the graph as native code, for one state or for many at once."""

from __future__ import annotations

import ctypes
from typing import Any

import casadi as ca
import numpy as np

from ..typing import Array
from .backends.llvm import NativeLibrary, native_code
from .pair_products import PairProducts
from .program import Program, straight_line

__all__ = ["NativeBlock"]

#: Evaluate the program for `count` states, which lie one after the other, as do the results.
_LOOP = """
define void @many(ptr %y, ptr %p, ptr %out, i64 %count, i64 %width, i64 %size) nounwind {
entry:
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %next, %loop ]
  %from = mul i64 %k, %width
  %to = mul i64 %k, %size
  %state = getelementptr double, ptr %y, i64 %from
  %result = getelementptr double, ptr %out, i64 %to
  CALL
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""
#: The same with a work array between the program and the products of its results; where there is
#: no memory for it, the results are not numbers.
_LOOP_OF_PAIRS = (
    _LOOP.replace("CALL", "CALL\n  call void @pairs(ptr %work, ptr %result)")
    .replace(
        "entry:",
        """entry:
  %work = call ptr @malloc(i64 BYTES)
  %none = icmp eq ptr %work, null
  br i1 %none, label %failed, label %given
failed:
  %numbers = mul i64 %count, %size
  %bytes = mul i64 %numbers, 8
  call void @llvm.memset.p0.i64(ptr %out, i8 -1, i64 %bytes, i1 false)
  ret void
given:""",
    )
    .replace("[ 0, %entry ]", "[ 0, %given ]")
    .replace("done:", "done:\n  call void @free(ptr %work)")
)


def _call(target: str) -> str:
    return f"call void @block(ptr %p, ptr %state, ptr %p, ptr %p, ptr %p, ptr %{target})"


def _program(state: Any, parameters: Any, column: Any) -> Program:
    nothing = ca.SX(0, 1)
    inputs = [ca.SX.sym("t"), state, parameters, nothing, nothing]
    return straight_line("block", inputs, [ca.SX(column)])


class NativeBlock:
    """A column of the graph as a function of states and parameters; `compiled` makes it.

    Parameters
    ----------
    width, size : int
        The numbers of a state and of a result.
    code : bytes
        Object code with the function ``many``.
    """

    def __init__(self, width: int, size: int, code: bytes) -> None:
        self.width, self.size, self.code = width, size, code
        self._library = NativeLibrary(code, ["many"])
        address, whole = ctypes.c_void_p, ctypes.c_int64
        prototype = ctypes.CFUNCTYPE(None, address, address, address, whole, whole, whole)
        self._many = prototype(self._library.addresses["many"])

    @classmethod
    def compiled(cls, state: Any, parameters: Any, column: Any) -> NativeBlock:
        """Compile a column of expressions of the columns of symbols `state` and `parameters`.

        Examples
        --------
        >>> x = ca.SX.sym("x", 2)
        >>> squares = NativeBlock.compiled(x, ca.SX(0, 1), x * x)
        >>> squares(np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(0)).tolist()
        [[1.0, 4.0], [9.0, 16.0]]
        """
        program = _program(state, parameters, column)
        code = native_code([program], _LOOP.replace("CALL", _call("result")))
        return cls(int(state.numel()), len(program.outputs), code)

    @classmethod
    def of_pairs(
        cls, state: Any, parameters: Any, column: Any, products: PairProducts
    ) -> NativeBlock:
        """Compile inner products of the numbers in a column of expressions.

        Examples
        --------
        >>> from .pair_products import PairRule
        >>> x = ca.SX.sym("x", 2)
        >>> rule = PairRule(blocks=(((0, 0),),), runs=((0, 0, 2), (1, 0, 2)))
        >>> outer = NativeBlock.of_pairs(x, ca.SX(0, 1), x, PairProducts(2, 1, (rule,)))
        >>> outer(np.array([[2.0, 3.0]]), np.zeros(0)).tolist()
        [[4.0, 6.0, 6.0, 9.0]]
        """
        program = _program(state, parameters, column)
        text = products.text("pairs") + _LOOP_OF_PAIRS
        text = text.replace("BYTES", str(8 * len(program.outputs)))
        text = text.replace("CALL", _call("work"))
        code = native_code([program], text)
        return cls(int(state.numel()), products.outputs, code)

    def __call__(self, states: Array, parameters: Array) -> Array:
        """Results (count, size) at states (count, width)."""
        y = np.ascontiguousarray(states, dtype=float)
        p = np.ascontiguousarray(np.append(parameters, 0.0), dtype=float)
        found = np.empty((len(y), self.size))
        self._many(y.ctypes.data, p.ctypes.data, found.ctypes.data, len(y), self.width, self.size)
        return found
