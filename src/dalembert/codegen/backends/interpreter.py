"""Run a program with NumPy: slow for one state, good for many at once, without compilation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...typing import Array, ArrayLike
from ..program import Program

__all__ = ["interpret"]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "sq": np.square,
    "twice": lambda a: a + a,
    "inv": np.reciprocal,
    "pow": np.power,
    "constpow": np.power,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "lt": lambda a, b: (a < b) * 1.0,
    "le": lambda a, b: (a <= b) * 1.0,
    "eq": lambda a, b: (a == b) * 1.0,
    "ne": lambda a, b: (a != b) * 1.0,
    "not": lambda a: (a == 0) * 1.0,
    "and": lambda a, b: ((a != 0) & (b != 0)) * 1.0,
    "or": lambda a, b: ((a != 0) | (b != 0)) * 1.0,
    "if_else_zero": lambda c, a: np.where(c != 0, a, 0.0),
    "assign": lambda a: a,
}


def interpret(program: Program, inputs: Sequence[ArrayLike]) -> Array:
    """Run a program on arrays.

    Parameters
    ----------
    inputs : sequence of arrays (size, ...)
        One for each of `program.INPUTS`; trailing axes are broadcast, so that a batch runs at once.
        Arrays in single precision are computed with in single precision.

    Returns
    -------
    array (n_out, ...)
    """
    values: list[Any] = []
    blocks = [
        block if getattr(block, "dtype", None) == np.float32 else np.asarray(block, dtype=float)
        for block in inputs
    ]
    with np.errstate(all="ignore"):
        for step in program.instructions:
            if step.operation == "input":
                which, place = step.data
                values.append(blocks[which][place])
            elif step.operation == "constant":
                values.append(step.data)
            else:
                function = FUNCTIONS.get(step.operation) or getattr(np, step.operation)
                values.append(function(*(values[a] for a in step.arguments)))
    shape = np.broadcast_shapes(
        *(np.shape(block)[1:] for block in inputs if np.ndim(block) > 1), ()
    )
    rows = [
        np.broadcast_to(0.0 if source is None else values[source], shape)
        for source in program.outputs
    ]
    return np.array(rows, dtype=float).reshape((len(rows), *shape))
