"""Values of a model file that are expressions of what is swept: they follow it, as they follow
``--set``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..errors import ModelError
from ..gallery import built_in as built_in_names
from ..integrate.ensemble.run_table import SweepAxis
from ..model.io.expressions import parse
from ..model.io.files import ROBOT_SUFFIXES
from ..model.scenario import Scenario
from ..model.symbols import Parameter
from .systems import read_settings

__all__ = ["derived_axes"]


def derived_axes(
    name: str,
    settings: Sequence[str],
    scenario: Scenario,
    over: Mapping[str, Any],
    paired: bool,
    stated: Collection[str],
) -> list[SweepAxis]:
    """The parameters and starts that a model file gives by expressions of swept parameters, as
    arrays beside these.

    `stated` are the options of [simulate] that the call gives itself.
    """
    if name in built_in_names() or Path(name).suffix.lower() in ROBOT_SUFFIXES:
        return []
    table = tomllib.loads(Path(name).read_text(encoding="utf-8-sig"))
    held = {*over, *read_settings(settings)}
    symbols = {key: Parameter(key) for key in table.get("parameters", {})}
    swept = {symbols[key] for key in over if key in symbols}
    formulas = {
        symbols[key]: parse(value, symbols)
        for key, value in _texts(table, "parameters").items()
        if key not in held
    }
    _check_options(table, symbols, formulas, swept, stated)
    found = []
    for is_start, section in ((False, "parameters"), (True, "start")):
        for key, text in _texts(table, section).items():
            if key in held or (is_start and key not in scenario.start):
                continue
            expression = _resolved(parse(text, symbols), formulas)
            if expression.free_symbols & swept:
                found.append(
                    SweepAxis(
                        key, is_start, _values(expression, scenario, over, paired), is_derived=True
                    )
                )
    return found


def _texts(table: Mapping[str, Any], section: str) -> dict[str, str]:
    return {key: value for key, value in table.get(section, {}).items() if isinstance(value, str)}


def _resolved(expression: sympy.Expr, formulas: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """An expression of parameters that have numbers."""
    for _ in formulas:
        if not expression.free_symbols & set(formulas):
            break
        expression = expression.subs(formulas)
    return expression


def _check_options(
    table: Mapping[str, Any],
    symbols: Mapping[str, Any],
    formulas: Any,
    swept: set[Any],
    stated: Collection[str],
) -> None:
    """All runs of a sweep share span, times and tolerances."""
    for key, value in table.get("simulate", {}).items():
        texts = [
            text
            for text in (value if isinstance(value, list) else [value])
            if isinstance(text, str)
        ]
        if key in ("form", "method", "adapt") or key in stated:
            continue
        for text in texts:
            bound = _resolved(parse(text, symbols), formulas).free_symbols & swept
            if bound:
                raise ModelError(
                    f"simulate.{key} of the model depends on"
                    f" {min(symbol.name for symbol in bound)}, which is swept",
                    text,
                    f"give it for all runs, with --{key}",
                )


def _values(
    expression: sympy.Expr, scenario: Scenario, over: Mapping[str, Any], paired: bool
) -> Any:
    """The values of an expression, shaped like the runs along the arrays it depends on."""
    order = list(over)
    symbols = sorted(expression.free_symbols, key=lambda symbol: symbol.name)
    columns = []
    for symbol in symbols:
        if symbol.name not in over:
            columns.append(np.array(float(scenario.parameters[symbol.name])))
            continue
        values = np.asarray(over[symbol.name], dtype=float)
        shape = [-1] if paired else [-1 if key == symbol.name else 1 for key in order]
        columns.append(values.reshape(shape))
    wide = np.broadcast_arrays(*columns)
    algebra = GraphAlgebra()
    function = ca.Function("formula", [algebra.vector(symbols)], [algebra.vector([expression])])
    flat = np.stack([column.ravel() for column in wide])
    return function(flat).full().reshape(wide[0].shape)
