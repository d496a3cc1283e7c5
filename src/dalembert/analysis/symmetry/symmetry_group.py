r"""From the generators of a symmetry to its group: brackets, a basis along the factors, and names.

Fields determine a Lie algebra. Whether a line of it is a circle depends on the coordinates: the flow of X = A q + b comes back
where exp(T (A, b)) is the identity but for whole turns of angles, T a multiple of its slowest period.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from scipy.linalg import expm

from ...geometry.actions import field_bracket
from ...geometry.lie_algebra import LieAlgebra
from ...geometry.vanishing import vanish
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ..proofs.bounded import Points
from .invariance import Certificate
from .symmetry_basis import echelon, fraction

__all__ = ["Found", "adapted", "closed", "group_name", "moving_angles"]

#: The most generators that brackets may lead to.
MOST_GENERATORS = 40
#: A bracket with a larger part outside the fields, relatively, is a new one.
OUTSIDE = 1e-7
#: Flows that come back after more turns count as lines.
MOST_TURNS = 12

_CIRCULAR = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)


@dataclass(frozen=True)
class Found:
    """A field (n x 1) and its certificate."""

    field: Any
    certificate: Certificate


# -- brackets ----------------------------------------------------------------------------------------------------


def closed(
    held: Sequence[Found],
    coordinates: Sequence[Any],
    values: Mapping[str, float],
    certify: Callable[[Any], Certificate],
) -> tuple[list[Found], Any | None]:
    """The fields with brackets added until there is nothing new, and B with [X_a, X_b] = B[a, b, c] X_c; None where it grew.

    Parameters in the fields take the given values where numbers are needed.
    """
    found = list(held)
    while True:
        fields = [_with_values(entry.field, values) for entry in found]
        pairs = list(combinations(range(len(found)), 2))
        brackets = [field_bracket(fields[a], fields[b], coordinates).applyfunc(sympy.expand) for a, b in pairs]
        constants, outside = _components(fields, brackets, pairs)
        if not outside:
            return found, constants
        if len(found) >= MOST_GENERATORS:
            return found, None
        before = len(found)
        for a, b in outside:
            bracket = field_bracket(found[a].field, found[b].field, coordinates).applyfunc(sympy.expand)
            if _are_independent([*(_with_values(entry.field, values) for entry in found), _with_values(bracket, values)]):
                found.append(Found(bracket, certify(bracket)))
        if len(found) == before:  # no combination is established, and none of the brackets is new
            return found, None


def _components(
    fields: Sequence[Any], brackets: Sequence[Any], pairs: Sequence[tuple[int, int]]
) -> tuple[Any, list[tuple[int, int]]]:
    """The brackets of pairs of fields as combinations of the fields, (d, d, d), and the pairs whose bracket is none."""
    d = len(fields)
    table, outside = np.zeros((d, d, d)), list[tuple[int, int]]()
    if not pairs:
        return table, outside
    columns = _values([*fields, *brackets])
    lengths = np.linalg.norm(columns[:, :d], axis=0)
    axes, triangle = np.linalg.qr(columns[:, :d] / lengths)
    whole = sympy.Matrix.hstack(*fields)
    for (a, b), bracket, column in zip(pairs, brackets, columns[:, d:].T, strict=True):
        along = axes.T @ column
        size = max(float(np.max(np.abs(column))), float(lengths[a] * lengths[b]) / len(column))
        components = np.linalg.solve(triangle, along) / lengths
        exact = [fraction(value) for value in components]
        is_inside = np.max(np.abs(column - axes @ along)) <= OUTSIDE * size
        if is_inside and None not in exact and not (whole.has(sympy.Float) or bracket.has(sympy.Float)):
            # The values suggest a combination; that it is the bracket is decided for all states.
            is_inside = vanish(list(bracket - whole * sympy.Matrix(exact))).holds
        if not is_inside:
            outside.append((a, b))
            continue
        table[a, b] = [value if near is None else float(near) for near, value in zip(exact, components, strict=True)]
        table[b, a] = -table[a, b]
    return table, outside


def _are_independent(fields: Sequence[Any]) -> bool:
    values = _values(fields)
    return bool(rank(values.T, OUTSIDE).rank == len(fields))


def _with_values(field: Any, values: Mapping[str, float]) -> Any:
    return field.xreplace({s: sympy.Float(values[s.name]) for s in field.free_symbols if s.name in values})


def _values(columns: Sequence[Any]) -> Any:
    """Values of fields at random points, one column (points * n) for each."""
    entries = [entry for column in columns for entry in column]
    if not any(entry.free_symbols for entry in entries):
        return np.array([float(entry) for entry in entries]).reshape(len(columns), -1).T
    drawn = Points(len(columns) + 6, seed=29).values(entries)
    return drawn.reshape(len(drawn), len(columns), -1).transpose(0, 2, 1).reshape(-1, len(columns))


# -- factors -----------------------------------------------------------------------------------------------------


def adapted(
    held: Sequence[Found],
    algebra: LieAlgebra,
    coordinates: Sequence[Any],
    certify: Callable[[Any], Certificate],
) -> tuple[list[Found], LieAlgebra, list[tuple[str, tuple[int, ...]]]]:
    """The generators along the direct summands of the Lie algebra, where these have simple coefficients in the old ones.

    Without such coefficients all generators stay as they are, under the name of the whole.
    """
    known = algebra.identify()
    constant = [not entry.field.jacobian(coordinates).is_zero_matrix for entry in held]
    order = sorted(range(len(held)), key=lambda k: constant[k])  # translations first
    rows = []
    for factor in known.factors:
        table = np.zeros((factor.basis.shape[1], len(held)))
        table[:, order] = echelon(factor.basis[order].T)[0]
        rows += list(table)
    simple = [[fraction(float(entry)) for entry in row] for row in rows]
    if not rows or any(entry is None for row in simple for entry in row):
        return list(held), algebra, [(known.name, tuple(range(len(held))))] if rows else []
    ordered = []
    for row in simple:
        if sum(entry != 0 for entry in row) == 1:
            ordered.append(held[next(k for k, entry in enumerate(row) if entry != 0)])
            continue
        combined = sympy.Matrix.hstack(*(entry.field for entry in held)) * sympy.Matrix(row)
        combined = combined.applyfunc(sympy.expand)
        ordered.append(Found(combined, certify(combined)))
    matrix = np.array([[float(entry or 0) for entry in row] for row in simple]).T
    matrix = matrix / np.array([np.max(np.abs(column)) if np.sum(column != 0) == 1 else 1.0 for column in matrix.T])
    places, first = [], 0
    for factor in known.factors:
        width = factor.basis.shape[1]
        places.append((factor.name, tuple(range(first, first + width))))
        first += width
    return ordered, algebra.restricted(matrix, algebra.names), places


# -- names -------------------------------------------------------------------------------------------------------


def group_name(
    held: Sequence[Found],
    factors: Sequence[tuple[str, tuple[int, ...]]],
    coordinates: Sequence[Any],
    angles: Sequence[Any],
    values: Mapping[str, float],
) -> str:
    """The group, with a circle for every line whose flow comes back."""
    if not held:
        return "trivial"
    circles, lines, others = 0, 0, []
    for whole, places in factors:
        for name in whole.split(" + "):
            if name == "R" or name.startswith("R^"):
                count = int(name[2:] or 1)
                alone = name == whole
                turning = sum(_comes_back(held[k].field, coordinates, angles, values) for k in places) if alone else 0
                circles, lines = circles + turning, lines + count - turning
            elif name.startswith("unidentified"):
                others.append(f"({name})")
            else:
                others.append(name[:2].upper() + name[2:] if name[:2] in ("so", "se", "sl") else name.capitalize())
    line = [] if not lines else ["R"] if lines == 1 else [f"R^{lines}"]
    return " x ".join([*line, *["SO(2)"] * circles, *others])


def _comes_back(field: Any, coordinates: Sequence[Any], angles: Sequence[Any], values: Mapping[str, float]) -> bool:
    """Whether the flow of an affine field returns to the identity, up to whole turns of angles."""
    n = len(coordinates)
    derivative = field.jacobian(coordinates)
    if derivative.has(*coordinates):
        return False
    rest = field.xreplace(dict.fromkeys(coordinates, sympy.S.Zero))
    matrix = np.zeros((n + 1, n + 1))
    matrix[:n, :n] = np.array(_with_values(derivative, values).tolist(), dtype=float)
    matrix[:n, n] = np.array(_with_values(rest, values), dtype=float).ravel()
    around = [abs(matrix[k, n]) for k, q in enumerate(coordinates) if q in angles]
    rates = [rate for rate in (*around, *np.abs(np.linalg.eigvals(matrix[:n, :n]).imag)) if rate > 1e-9]
    for turns in range(1, MOST_TURNS + 1 if rates else 1):
        moved = expm(2 * np.pi * turns / min(rates) * matrix) - np.eye(n + 1)
        shift = moved[:n, n] / (2 * np.pi)
        whole = np.array([q in angles for q in coordinates]) * np.round(shift)
        if np.max(np.abs(moved[:n, :n])) < 1e-8 and np.max(np.abs(shift - whole)) < 1e-8:
            return True
    return False


def moving_angles(system: System | Scenario, given: Sequence[Any] | None) -> tuple[Any, ...]:
    """The coordinates that are angles: those that are named, or those that occur only inside sines and cosines."""
    stated = system.system if isinstance(system, Scenario) else system
    if given is not None:
        names = {str(angle) for angle in given}
        return tuple(q for q in stated.coordinates if q.name in names)
    reported = set(stated.outputs.values())
    expressions = [expression for expression in stated.expressions() if expression not in reported]
    if isinstance(system, Scenario):
        expressions += _drawn_expressions(system.drawing)
    return tuple(q for q in stated.coordinates if _is_angle(q, expressions))


def _is_angle(q: Any, expressions: Sequence[sympy.Expr]) -> bool:
    """Whether a symbol occurs, and always as a whole multiple inside a circular function."""
    occurs, mark = False, sympy.Dummy()
    for expression in expressions:
        if not expression.has(q):
            continue
        occurs = True
        inside = [node for node in expression.atoms(*_CIRCULAR) if node.args[0].has(q)]
        if any(not sympy.diff(node.args[0], q).is_Integer for node in inside):
            return False
        if expression.xreplace(dict.fromkeys(inside, mark)).has(q):
            return False
    return occurs


def _drawn_expressions(part: Any) -> list[sympy.Expr]:
    """Every expression inside a drawing."""
    if isinstance(part, sympy.Expr):
        return [part]
    if is_dataclass(part) and not isinstance(part, type):
        return [found for entry in fields(part) for found in _drawn_expressions(getattr(part, entry.name))]
    if isinstance(part, Mapping):
        return [found for entry in part.values() for found in _drawn_expressions(entry)]
    if isinstance(part, (list, tuple)):
        return [found for entry in part for found in _drawn_expressions(entry)]
    return []
