"""Values of parameters in the order in which compiled code wants them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from ..errors import ModelError, nearest
from ..typing import Array, Parameters, Values
from .labels import labelled
from .names import shortened
from .symbols import by_name
from .values import check_sign, real_array, real_number, used_parameters

__all__ = ["named_parameters", "numbers_for", "parameter_values"]


def parameter_values(symbols: Sequence[sympy.Symbol], given: Parameters | None) -> Array:
    """Values in the order of the symbols, from a mapping, labelled values, or a sequence."""
    if isinstance(given, tuple) and not given and not symbols:
        return np.zeros(0)
    names = [symbol.name for symbol in symbols]
    given = labelled(given)
    if not isinstance(given, Mapping):
        listed = list(np.ravel(np.asarray(given, dtype=object)))
        if len(listed) != len(symbols):
            raise ModelError(
                f"The system has {len(symbols)} parameters",
                seen=f"{len(listed)} values",
                remedy=f"give {', '.join(names) or 'none'} in this order, or by name",
            )
        return _checked(symbols, listed)
    table = by_name(given, "mapping of parameters")
    missing = [name for name in names if name not in table]
    if missing:
        near = nearest(missing[0], [name for name in table if name not in names])
        raise ModelError(
            (
                f"The parameters {', '.join(missing)} have no value"
                if len(missing) > 1
                else f"The parameter {missing[0]} has no value"
            ),
            seen=", ".join(table) or "no parameters",
            remedy=(
                f"did you mean it by `{near}`"
                if near
                else f"pass parameters={{{missing[0]!r}: ...}}"
            ),
        )
    table = used_parameters(table, names)
    return _checked(symbols, [table[name] for name in names])


def named_parameters(symbols: Sequence[sympy.Symbol], given: Values | None) -> dict[str, float]:
    """The values of all symbols by name, none missing and none unknown.

    >>> named_parameters([sympy.Symbol("m")], {"m": 2})
    {'m': 2.0}
    """
    values = parameter_values(symbols, {} if given is None else given)
    return {symbol.name: float(value) for symbol, value in zip(symbols, values, strict=True)}


def numbers_for(symbols: Sequence[sympy.Symbol], given: Parameters, what: str) -> Array:
    """One number for each symbol, (n,), from a sequence in their order or from values by name.

    >>> numbers_for(sympy.symbols("x v"), {"v": 1, "x": 2}, "state")
    array([2., 1.])
    """
    if type(given) is np.ndarray and given.dtype == np.float64 and given.shape == (len(symbols),):
        return np.ascontiguousarray(given)
    if isinstance(given, tuple) and not given and not symbols:
        return np.zeros(0)
    names, table = [symbol.name for symbol in symbols], labelled(given)
    if isinstance(table, Mapping):
        values = by_name(table, what)
        if set(values) != set(names):
            seen = ", ".join(values) or "nothing"
            raise ModelError(
                f"The {what} must name {', '.join(names) or 'nothing'}",
                seen=seen,
                remedy="name each of them",
            )
        table = [values[name] for name in names]
    try:
        array = np.ascontiguousarray(real_array(table)).ravel()
    except (TypeError, ValueError):
        raise ModelError(
            f"The {what} must be made of numbers", seen=shortened(given), remedy="give real numbers"
        ) from None
    if array.shape != (len(names),):
        raise ModelError(
            f"The {what} must have {len(names)} numbers",
            seen=f"{array.size} of them",
            remedy=f"give {', '.join(names) or 'none'} in this order, or by name",
        )
    return array


def _checked(symbols: Sequence[sympy.Symbol], given: Sequence[Any]) -> Array:
    values = np.zeros(len(symbols))
    for k, (symbol, value) in enumerate(zip(symbols, given, strict=True)):
        name = symbol.name
        values[k] = real_number(value)
        if not np.isfinite(values[k]):
            raise ModelError(
                f"The parameter {name} must be a finite number",
                seen=shortened(value),
                remedy="give it a number",
            )
        if 0.0 < abs(values[k]) < sys.float_info.min:
            raise ModelError(
                f"The parameter {name} is so small that numbers lose their digits",
                seen=f"{values[k]:g} (limit {sys.float_info.min:.2g})",
                remedy="take units in which it is larger, or 0",
            )
        check_sign(symbol, values[k])
    return values
