"""Expressions as functions of columns of numbers.

They run as a graph of CasADi. SymPy's `lambdify` would write text in Python and execute it: text
with the names of the model in it, where a symbol called ``sin`` takes the place of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
import sympy

from .graph import GraphAlgebra

__all__ = ["tabulated"]


def tabulated(
    symbols: Sequence[sympy.Symbol], expressions: Sequence[sympy.Expr]
) -> Callable[[Sequence[Any]], Any]:
    """The values (len(expressions), k) as a function of numbers or arrays (k,) of the symbols.

    >>> sin, x = sympy.symbols("sin x", real=True)
    >>> tabulated([sin, x], [sin * sympy.sin(x), x])([2.0, np.array([0.0, 0.5])]).round(3).tolist()
    [[0.0, 0.959], [0.0, 0.5]]
    """
    algebra = GraphAlgebra()
    columns = algebra.vector(list(symbols)) if symbols else ca.SX(0, 1)
    function = ca.Function("table", [columns], [algebra.vector(list(expressions))])

    def values(numbers: Sequence[Any]) -> Any:
        wide = np.broadcast_arrays(
            *(np.asarray(number, dtype=float) for number in (0.0, *numbers))
        )[1:]
        count = max((column.size for column in wide), default=1)
        if not count or not expressions:
            return np.zeros((len(expressions), count))
        table = np.array([column.ravel() for column in wide]).reshape(len(wide), count)
        if not symbols:
            return function(np.zeros((0, 1))).full()
        return function(table).full()

    return values
