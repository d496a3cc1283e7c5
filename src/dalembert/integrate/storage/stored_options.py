"""Options of a form as plain data, with expressions as model file text, for saved motions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy

from ...errors import ModelError
from ...model.io.expressions import format, parse
from ...model.symbols import Speed, t
from ...model.system import System

__all__ = ["options_from", "options_record"]

#: What stands before the text of an expression in the record.
EXPRESSION = "expression"


def options_record(options: Mapping[str, Any], system: System) -> Any:
    """Options as mappings, lists ("expression", text, speeds), texts, numbers and booleans.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> system = da.System([x], kinetic=x.dot**2/2)
    >>> options_record({"quasi_velocities": {"w": 2*x.dot}, "kind": "first"}, system)
    {'quasi_velocities': {'w': ['expression', '2*x_dot']}, 'kind': 'first'}
    """
    return _written(options, list(_symbols(system))) if options else {}


def _written(value: Any, taken: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            str(getattr(key, "name", key)): _written(item, taken) for key, item in value.items()
        }
    if isinstance(value, sympy.Expr):
        speeds = sorted(symbol.name for symbol in value.atoms(Speed))
        return [EXPRESSION, format(value, taken=[*taken, *speeds]), *speeds]
    if isinstance(value, (str, bool, int, float)):
        return value
    raise ModelError(
        "An option of the form cannot be saved",
        seen=str(value)[:60],
        remedy="write it as an expression",
    )


def options_from(record: Any, system: System) -> dict[str, Any]:
    """The options that a record holds, in the symbols of a system."""
    symbols = _symbols(system) if record else {}

    def read(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): read(item) for key, item in value.items()}
        if isinstance(value, list) and len(value) >= 2 and value[0] == EXPRESSION:
            return parse(
                str(value[1]), symbols | {str(name): Speed(str(name)) for name in value[2:]}
            )
        return value

    return {str(key): read(value) for key, value in record.items()}


def _symbols(system: System) -> dict[str, sympy.Symbol]:
    symbols = (*system.coordinates, *system.velocities, *system.parameters, t)
    return {symbol.name: symbol for symbol in symbols}
