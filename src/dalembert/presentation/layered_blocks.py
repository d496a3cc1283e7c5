"""The blocks of equations that are too large for one derivation in symbols: from the graph.

The derivation runs on CasADi's graph, where every part is computed once, and `GraphLayers` writes
it as definitions in layers. Forces of the second degree in the velocities are collected: their
coefficients are functions of the configuration, as those of the accelerations are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.graph_layers import GraphLayers
from ..formulations.blocks import GaussBlocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..algebra.simplify.quotients import AngleSubstitution
    from ..formulations.equations import Equations

__all__ = ["layered_blocks"]

#: Forces are collected by velocities where that takes no more than this many times the operations,
#: or no more than the second and their coefficients are short.
PATIENCE, TRIED = 2.0, 6.0


def layered_blocks(
    equations: Equations, turns: Sequence[AngleSubstitution] = ()
) -> tuple[GraphLayers, GaussBlocks]:
    """The blocks as matrices of SymPy, and the layers that define the names in them."""
    algebra = GraphAlgebra()
    blocks = equations.blocks(algebra)
    coordinates = set(equations.system.coordinates)
    motion = [symbol for symbol in equations.state if symbol not in coordinates]
    names = ["metric", "force", "rows", "right", "rates", "unknowns", "multipliers"]
    if blocks.free is not None and not blocks.multipliers.numel():
        names = [*names[2:], "free"]
    elif blocks.free is not None and blocks.dual_rows is not None:
        names = [*names[2:], "free", "dual_rows"]
    given = {name: getattr(blocks, name) for name in names}
    operations = _operations(algebra, list(given.values()))
    layers = GraphLayers(algebra.symbols, turns, motion, operations)
    found: dict[str, sympy.MatrixBase] = {}
    columns: dict[str, list[ca.SX]] = {}
    for name in ("force", "right", "free"):
        parts = _by_velocities(algebra, given[name], motion) if name in given else None
        if parts is None:
            continue
        growth = _operations(algebra, parts) / _operations(algebra, [given[name]])
        closed = layers.closed(parts) if growth <= TRIED else None
        if closed is not None:
            found[name] = _assembled(closed, motion)
        elif growth <= PATIENCE:
            columns[name] = parts
    rest = [name for name in given if name not in found]
    wanted = [part for name in rest for part in columns.get(name, [given[name]])]
    pending = iter(layers.matrices(wanted))
    for name in rest:
        parts = [next(pending) for _ in columns.get(name, [None])]
        found[name] = _assembled(parts, motion) if name in columns else parts[0]
    found = dict(zip(found, layers.finished(list(found.values())), strict=True))
    if "metric" in found:
        found["stated_metric"] = _named_metric(layers, found.pop("metric"))
    others = {"force": None, "free": None, "dual_rows": None} | found
    return layers, replace(blocks, **others)


def _by_velocities(
    algebra: GraphAlgebra, column: ca.SX, motion: Sequence[sympy.Symbol]
) -> list[ca.SX] | None:
    """Coefficients c_0, c_i, c_ij of a column that is quadratic in velocities; None where it is
    not.
    """
    n = column.numel()
    if not n or not motion or not algebra.depends(column, v := algebra.vector(motion)):
        return None
    if not algebra.degree(column, v, 2).is_proved:
        return None
    none = ca.DM.zeros(v.numel())
    first = ca.jacobian(column, v)
    parts = [column, first]
    for k in range(len(motion)):
        parts.append(ca.jacobian(first[:, k], v[k:]))
    return [ca.substitute(part, v, none) for part in parts]


def _operations(algebra: GraphAlgebra, parts: Sequence[ca.SX]) -> int:
    inputs = list(algebra.symbols.values())
    return int(ca.Function("parts", inputs, [ca.veccat(*parts)]).n_instructions())


def _named_metric(layers: GraphLayers, metric: sympy.MatrixBase) -> sympy.MatrixBase:
    """The metric with names for its long entries."""
    n = metric.rows
    between = "" if n < 10 else "_"
    found = sympy.zeros(n, n)
    for i in range(n):
        for j in range(i, n):
            place = f"_{i + 1}{between}{j + 1}" if n > 1 else ""
            found[i, j] = found[j, i] = layers.name_entry(metric[i, j], "matrix", place)
    return found


def _assembled(
    parts: Sequence[sympy.MatrixBase], motion: Sequence[sympy.Symbol]
) -> sympy.MatrixBase:
    """The column with these coefficients of velocities and their products."""
    constant, linear, *quadratic = parts
    found = list(constant)
    for row in range(len(found)):
        for k, v in enumerate(motion):
            found[row] += linear[row, k] * v
            for j, w in enumerate(motion[k:]):
                half = sympy.Rational(1, 2) if j == 0 else 1
                found[row] += half * quadratic[k][row, j] * v * w
    return sympy.Matrix(len(found), 1, found)
