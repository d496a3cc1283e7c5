"""The matrices of a flow: how they are read, and whether an action moves them as the rates do."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy

from ..errors import DalembertError, Faults, ModelError
from ..typing import Matrix
from .symbols import (
    Coordinate,
    as_matrix,
    t,
)
from .system_reader import Reader

if TYPE_CHECKING:
    from .flow_system import Action, Flow

__all__ = ["affine_coefficients", "check_action", "read_matrix", "symbols_of"]


def read_matrix(value: Matrix, name: str, reader: Reader) -> sympy.ImmutableMatrix:
    """A matrix whose entries are affine in the symbols."""
    try:
        matrix = as_matrix(value)
    except (DalembertError, TypeError, ValueError):
        reader.faults.add(
            f"The matrix `{name}` must be a matrix of expressions", seen=type(value).__name__
        )
        return sympy.ImmutableMatrix(sympy.zeros(1, 1))
    for entry in matrix:
        symbols = entry.free_symbols
        bent = any(symbols & sympy.diff(entry, s).free_symbols for s in symbols)
        if symbols - set(reader.coordinates) or bent:
            reader.faults.add(
                f"The entries of the matrix `{name}` must be symbols, multiples of them or numbers",
                seen=str(entry)[:80],
                remedy="make it an output",
            )
            break
    return sympy.ImmutableMatrix(matrix)


def check_action(flow: Flow, action: Action, faults: Faults) -> None:
    """Add a fault unless X_dot of the rates equals left X - X right at two points of exact numbers.

    Methods that rest on the action prove it.
    """
    matrix = flow.matrices.get(action.matrix)
    if matrix is None:
        seen = ", ".join(flow.matrices) or "no matrices"
        faults.add(f"An action names the matrix `{action.matrix}`", seen=seen)
        return
    for side, size in zip((action.left, action.right), matrix.shape, strict=True):
        if side is not None and side.shape != (size, size):
            faults.add(
                f"The action on `{action.matrix}` has the wrong shape",
                seen=str(side.shape),
                remedy=f"it must be {size} x {size}",
            )
            return
    symbols = sorted({*flow.parameters, *flow.coordinates, *flow.inputs, t}, key=lambda s: s.name)
    for seed in (2, 5):
        point = {
            s: sympy.Rational((seed * k * k + 7 * k + seed) % 23 + 3, 17)
            for k, s in enumerate(symbols, start=1)
        }
        try:
            worst = _action_gap(flow, action, matrix, point)
        except (TypeError, ValueError, ZeroDivisionError, KeyError):
            continue  # no real number there, or an unknown symbol, which is a fault of its own
        if not worst <= 1e-9:
            faults.add(
                f"The rates of `{action.matrix}` are not those of its action",
                seen=f"a difference of {worst:.2g} of their terms at a point",
                remedy="check left X - X right",
            )
            return


def _action_gap(
    flow: Flow, action: Action, matrix: sympy.ImmutableMatrix, point: Mapping[Any, Any]
) -> float:
    """The largest entry of X_dot - (left X - X right) at a point, relative to its terms."""
    rows, columns = matrix.shape
    numbers: dict[sympy.Basic, float] = {s: float(own) for s, own in point.items()}
    here, moving = _numbers(matrix, numbers), matrix.free_symbols
    terms = {
        q: [_number(term, numbers) for term in sympy.Add.make_args(e)]
        for q, e in flow.rates.items()
        if q in moving
    }
    moved = _rates_of(matrix, {q: sum(values) for q, values in terms.items()})
    sizes = _rates_of(matrix, {q: sum(map(abs, values)) for q, values in terms.items()}, abs)
    empty: list[dict[int, float]] = [{} for _ in range(max(rows, columns))]
    left = empty if action.left is None else _numbers(action.left, numbers)
    right = empty if action.right is None else _numbers(action.right, numbers)
    worst = 0.0
    for i in range(rows):
        said = dict.fromkeys(range(columns), 0.0)
        size = {j: sizes[i].get(j, 0.0) for j in range(columns)}
        products = [
            (j, entry * other) for k, entry in left[i].items() for j, other in here[k].items()
        ]
        products += [
            (j, -entry * other) for k, entry in here[i].items() for j, other in right[k].items()
        ]
        for j, product in products:
            said[j] += product
            size[j] += abs(product)
        parts = [(abs(value - moved[i].get(j, 0.0)), size[j]) for j, value in said.items()]
        worst = max(worst, *(gap / whole if whole else gap for gap, whole in parts))
    return worst


def _number(expression: sympy.Basic, known: dict[sympy.Basic, float]) -> float:
    """The value of an expression, with those of its parts added to `known`."""
    value = known.get(expression)
    if value is None:
        if expression.is_Add:
            value = sum(_number(part, known) for part in expression.args)
        elif expression.is_Mul:
            value = math.prod(_number(part, known) for part in expression.args)
        elif isinstance(expression, sympy.Pow) and expression.exp.is_Integer:
            value = _number(expression.base, known) ** int(expression.exp)
        else:
            exact = {s: sympy.Float(known[s], 17) for s in expression.free_symbols}
            value = float(expression.xreplace(exact))
        known[expression] = value
    return value


def _numbers(
    matrix: sympy.ImmutableMatrix, known: dict[sympy.Basic, float]
) -> list[dict[int, float]]:
    """The entries that are not zero at a point, row by row."""
    rows, columns = matrix.shape
    return [
        {j: _number(matrix[i, j], known) for j in range(columns) if matrix[i, j] != 0}
        for i in range(rows)
    ]


def _rates_of(
    matrix: sympy.ImmutableMatrix,
    rates: Mapping[Coordinate, float],
    weight: Callable[[Any], Any] = float,
) -> list[dict[int, float]]:
    """The rate of each entry of a matrix, affine in the symbols, by row; `abs` bounds its terms."""
    rows, columns = matrix.shape
    return [
        {
            j: sum(
                float(weight(derivative)) * rates[symbol]
                for symbol, derivative in affine_coefficients(matrix[i, j]).items()
                if symbol in rates
            )
            for j in range(columns)
            if matrix[i, j].free_symbols
        }
        for i in range(rows)
    ]


def affine_coefficients(entry: sympy.Expr) -> Mapping[sympy.Basic, sympy.Expr]:
    """The coefficients of an affine entry by symbol; those may be irrational."""
    found: Mapping[sympy.Basic, sympy.Expr] = entry.as_coefficients_dict()
    if all(key.is_Symbol or key.is_Number for key in found):
        return found
    return {symbol: sympy.diff(entry, symbol) for symbol in entry.free_symbols}


def symbols_of(name: str, matrix: sympy.ImmutableMatrix, value: Any) -> dict[str, float]:
    """Solve matrix(symbols) = value, symbol by symbol, each from an entry with known others."""
    rows, columns = matrix.shape
    numbers = [[float(number) for number in row] for row in value]
    if len(numbers) != rows or any(len(row) != columns for row in numbers):
        raise ModelError(
            f"The matrix `{name}` has other dimensions", remedy=f"give {rows} x {columns} numbers"
        )
    found: dict[str, float] = {}
    entries = [
        (entry, value)
        for row, values in zip(matrix.tolist(), numbers, strict=True)
        for entry, value in zip(row, values, strict=True)
    ]
    while True:
        count = len(found)
        for entry, value in entries:
            unknown = [s for s in entry.free_symbols if s.name not in found]
            if len(unknown) == 1:
                rest = entry.subs({s: found.get(s.name, 0) for s in entry.free_symbols})
                found[unknown[0].name] = float((value - rest) / sympy.diff(entry, unknown[0]))
        if len(found) == count:
            break
    size = max(abs(entry) for row in numbers for entry in row)
    for i in range(rows):
        for j in range(columns):
            entry = matrix[i, j]
            there = float(entry.subs({s: found.get(s.name, 0) for s in entry.free_symbols}))
            if not abs(there - numbers[i][j]) <= 1e-9 * size:
                raise ModelError(
                    f"The matrix `{name}` cannot have this value",
                    seen=f"entry ({i + 1}, {j + 1}) is {numbers[i][j]:g} where {entry} = {there:g}",
                    remedy="keep its pattern (symmetric, skew, banded)",
                )
    return found
