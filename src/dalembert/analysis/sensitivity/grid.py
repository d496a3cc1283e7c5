"""Inputs as values on a grid of times, so that derivatives and searches have them as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sympy

from ...errors import ModelError
from ...model.symbols import Parameter, t
from ...model.values import real_array
from ...typing import ArrayLike

__all__ = ["GriddedInput", "gridded_input"]


@dataclass(frozen=True)
class GriddedInput:
    """An input given by its values at some times.

    Attributes
    ----------
    expression : SymPy expression
        The input in time and its values: pass it as ``inputs={u: grid.expression}``.
    parameters : tuple of Parameter (n,)
        The values: pass them as `wrt`, or as `unknown`.
    times : tuple of float (n,)
    """

    expression: sympy.Expr
    parameters: tuple[Parameter, ...]
    times: tuple[float, ...]

    def values(self, numbers: Sequence[float]) -> dict[str, float]:
        """Numbers for the values, by name, for ``parameters=``."""
        listed = np.ravel(real_array(numbers)).tolist()
        if len(listed) != len(self.parameters):
            what = f"The grid has {len(self.parameters)} values"
            raise ModelError(what, seen=f"{len(listed)} numbers")
        return {symbol.name: number for symbol, number in zip(self.parameters, listed, strict=True)}


def gridded_input(name: str, times: ArrayLike, kind: str = "linear") -> GriddedInput:
    """An input linear between its values at some times, or constant from each to the next.

    Before the first time and after the last it keeps the value there.

    Parameters
    ----------
    name : str
        Values are the parameters ``name_0``, ``name_1``, ...
    times : sequence of increasing numbers (n,)
        Every value is part of every evaluation: use some dozens at most.
    kind : "linear" or "constant"

    Examples
    --------
    >>> grid = gridded_input("u", [0.0, 1.0, 3.0])
    >>> from dalembert.model.symbols import t
    >>> float(grid.expression.subs({t: 2.0} | dict(zip(grid.parameters, [0.0, 4.0, 6.0]))))
    5.0
    """
    places = np.atleast_1d(np.asarray(times, dtype=float))
    if places.ndim != 1 or not np.all(np.isfinite(places)) or not np.all(np.diff(places) > 0):
        raise ModelError("The times of a grid must increase", seen=str(times)[:60])
    if kind not in ("linear", "constant"):
        raise ModelError(f"There is no kind `{kind}`", seen="linear, constant")
    symbols = tuple(Parameter(f"{name}_{k}") for k in range(len(places)))
    numbers = [sympy.Float(float(place), 17) for place in places]
    if len(symbols) == 1:
        expression: sympy.Expr = symbols[0]
    elif kind == "constant":
        pairs = [(symbol, t < end) for symbol, end in zip(symbols[:-1], numbers[1:], strict=True)]
        expression = sympy.Piecewise(*pairs, (symbols[-1], True))
    else:
        expression = sympy.Add(*[symbol * _hat(numbers, k) for k, symbol in enumerate(symbols)])
    return GriddedInput(expression, symbols, tuple(float(place) for place in places))


def _hat(places: Sequence[sympy.Expr], k: int) -> sympy.Expr:
    """One at a place, zero at the others, linear between."""
    sides: list[sympy.Expr] = [sympy.Integer(1)]
    if k > 0:
        sides.append((t - places[k - 1]) / (places[k] - places[k - 1]))
    if k < len(places) - 1:
        sides.append((places[k + 1] - t) / (places[k + 1] - places[k]))
    return sympy.Max(0, sympy.Min(*sides))
