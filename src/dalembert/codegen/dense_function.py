"""Graph functions called with plain arrays, without CasADi's costly conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..typing import Array, ArrayLike

__all__ = ["DenseFunction", "function_of_one"]


class DenseFunction:
    """Expressions of the graph as functions of arrays; several threads may call it.

    >>> x = ca.SX.sym("x", 2)
    >>> DenseFunction([x], [ca.diag(x)])(np.array([1.0, 2.0]))[0]
    array([[1., 0.],
           [0., 2.]])
    """

    def __init__(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        function = ca.Function(
            "numbers", list(inputs), [ca.densify(ca.SX(block)) for block in outputs]
        )
        self._inputs: list[Any] = [np.zeros(function.numel_in(k)) for k in range(function.n_in())]
        self._shapes = [function.size_out(k)[::-1] for k in range(function.n_out())]
        self._buffer, self._evaluate = function.buffer()
        self._lock = Lock()
        for k, array in enumerate(self._inputs):
            if array.size:
                self._buffer.set_arg(k, memoryview(array))  # type: ignore[call-arg]

    def __call__(self, *values: ArrayLike) -> list[Array]:
        """The blocks as arrays (rows, columns)."""
        blocks: list[Any] = [
            np.empty(shape) for shape in self._shapes
        ]  # by columns, as the graph has them
        with self._lock:
            for array, value in zip(self._inputs, values, strict=True):
                array[...] = value
            for k, block in enumerate(blocks):
                if block.size:
                    self._buffer.set_res(k, memoryview(block.reshape(-1)))  # type: ignore[call-arg]
            self._evaluate()
        return [block.T for block in blocks]


def function_of_one(symbol: sympy.Symbol, expression: sympy.Expr) -> Callable[[Array], Array]:
    """A function of one symbol on an array (k,), evaluated as in the equations.

    >>> x = sympy.Symbol("x")
    >>> function_of_one(x, sympy.floor(x / 2))(np.array([1.0, 5.0])).tolist()
    [0.0, 2.0]
    """
    algebra = GraphAlgebra()
    column, variable = algebra.vector([expression]), algebra.vector([symbol])
    function = ca.Function("value", [variable], [ca.densify(column)])
    return lambda values: np.asarray(function(np.asarray(values, dtype=float)[None, :])).ravel()
