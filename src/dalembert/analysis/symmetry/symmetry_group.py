r"""From the generators of a symmetry to its group: brackets, a basis along the factors, and names.

Fields determine a Lie algebra. Whether a line of it is a circle depends on the coordinates: the
flow of X = A q + b comes back where exp(T (A, b)) is the identity but for whole turns of angles, T
a multiple of its slowest period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import combinations

import numpy as np
import sympy
from scipy.linalg import expm

from ...geometry.actions import field_bracket
from ...geometry.lie_algebra import LieAlgebra
from ...geometry.vanishing import vanish
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Symbols
from ..proofs.bounded import Points
from .invariance import FieldCertificate
from .symmetry_basis import echelon, fraction

__all__ = ["FoundField", "adapted", "closed", "group_name", "moving_angles"]

#: The most generators that brackets may lead to.
MOST_GENERATORS = 40
#: A bracket with a larger part outside the fields, relatively, is a new one.
OUTSIDE = 1e-7
#: Flows that come back after more turns count as lines.
MOST_TURNS = 12

_CIRCULAR = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)


@dataclass(frozen=True)
class FoundField:
    """A field (n x 1) and its certificate."""

    field: sympy.MatrixBase
    certificate: FieldCertificate


# -- brackets --------------------------------------------------------------------------------------


def closed(
    held: Sequence[FoundField],
    coordinates: Sequence[sympy.Symbol],
    values: Mapping[str, float],
    certify: Callable[[sympy.MatrixBase], FieldCertificate],
) -> tuple[list[FoundField], Array | None]:
    """The fields closed under brackets, and B with [X_a, X_b] = B[a, b, c] X_c; None if too many.

    Parameters in the fields take the given values where numbers are needed.
    """
    found = list(held)

    def bracket_of(first: sympy.MatrixBase, second: sympy.MatrixBase) -> sympy.MatrixBase:
        return field_bracket(first, second, coordinates).applyfunc(sympy.expand)

    while True:
        fields = [_with_values(entry.field, values) for entry in found]
        pairs = list(combinations(range(len(found)), 2))
        brackets = [bracket_of(fields[a], fields[b]) for a, b in pairs]
        constants, outside = _components(fields, brackets, pairs)
        if not outside:
            return found, constants
        if len(found) >= MOST_GENERATORS:
            return found, None
        before = len(found)
        for a, b in outside:
            bracket = bracket_of(found[a].field, found[b].field)
            every = [*(entry.field for entry in found), bracket]
            if _are_independent([_with_values(field, values) for field in every]):
                found.append(FoundField(bracket, certify(bracket)))
        if len(found) == before:  # no combination is established, and none of the brackets is new
            return found, None


def _components(
    fields: Sequence[sympy.MatrixBase],
    brackets: Sequence[sympy.MatrixBase],
    pairs: Sequence[tuple[int, int]],
) -> tuple[Array, list[tuple[int, int]]]:
    """Brackets of pairs as combinations of the fields, (d, d, d), and pairs that are none."""
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
        rounded = whole.has(sympy.Float) or bracket.has(sympy.Float)
        if is_inside and None not in exact and not rounded:
            # The values suggest a combination; that it is the bracket is decided for all states.
            is_inside = vanish(list(bracket - whole * sympy.Matrix(exact))).holds
        if not is_inside:
            outside.append((a, b))
            continue
        known = zip(exact, components, strict=True)
        table[a, b] = [value if near is None else float(near) for near, value in known]
        table[b, a] = -table[a, b]
    return table, outside


def _are_independent(fields: Sequence[sympy.MatrixBase]) -> bool:
    values = _values(fields)
    return bool(rank(values.T, OUTSIDE).rank == len(fields))


def _with_values(field: sympy.MatrixBase, values: Mapping[str, float]) -> sympy.MatrixBase:
    known = [symbol for symbol in field.free_symbols if symbol.name in values]
    return field.xreplace({symbol: sympy.Float(values[symbol.name]) for symbol in known})


def _values(columns: Sequence[sympy.MatrixBase]) -> Array:
    """Values of fields at random points, one column (points * n) for each."""
    entries = [entry for column in columns for entry in column]
    if not any(entry.free_symbols for entry in entries):
        return np.array([float(entry) for entry in entries]).reshape(len(columns), -1).T
    drawn = Points(len(columns) + 6, seed=29).values(entries)
    return drawn.reshape(len(drawn), len(columns), -1).transpose(0, 2, 1).reshape(-1, len(columns))


# -- factors ---------------------------------------------------------------------------------------


def adapted(
    held: Sequence[FoundField],
    algebra: LieAlgebra,
    coordinates: Sequence[sympy.Symbol],
    certify: Callable[[sympy.MatrixBase], FieldCertificate],
) -> tuple[list[FoundField], LieAlgebra, list[tuple[str, tuple[int, ...]]]]:
    """Generators along the direct summands of the Lie algebra, where coefficients are simple.

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
        ordered.append(FoundField(combined, certify(combined)))
    matrix = np.array([[float(entry or 0) for entry in row] for row in simple]).T
    single = [np.sum(column != 0) == 1 for column in matrix.T]
    largest = np.max(np.abs(matrix), axis=0)
    matrix = matrix / np.where(single, largest, 1.0)
    places, first = [], 0
    for factor in known.factors:
        width = factor.basis.shape[1]
        places.append((factor.name, tuple(range(first, first + width))))
        first += width
    return ordered, algebra.restricted(matrix, algebra.names), places


# -- names -----------------------------------------------------------------------------------------


def group_name(
    held: Sequence[FoundField],
    factors: Sequence[tuple[str, tuple[int, ...]]],
    coordinates: Sequence[sympy.Symbol],
    angles: Sequence[sympy.Symbol],
    values: Mapping[str, float],
) -> str:
    """The group, with a circle for every line whose flow comes back."""
    if not held:
        return "trivial"
    circles, lines, others = 0, 0, []
    for whole, places in factors:
        for name in whole.split(" + "):
            if name == "R" or name.startswith("R^"):
                own = [held[k].field for k in places] if name == whole else []
                turning = sum(_comes_back(field, coordinates, angles, values) for field in own)
                circles, lines = circles + turning, lines + int(name[2:] or 1) - turning
            elif name.startswith("unidentified"):
                others.append(f"({name})")
            else:
                is_matrix = name[:2] in ("so", "se", "sl")
                others.append(name[:2].upper() + name[2:] if is_matrix else name.capitalize())
    line = [] if not lines else ["R"] if lines == 1 else [f"R^{lines}"]
    return " x ".join([*line, *["SO(2)"] * circles, *others])


def _comes_back(
    field: sympy.MatrixBase,
    coordinates: Sequence[sympy.Symbol],
    angles: Sequence[sympy.Symbol],
    values: Mapping[str, float],
) -> bool:
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
    spins = np.abs(np.linalg.eigvals(matrix[:n, :n]).imag)
    rates = [rate for rate in (*around, *spins) if rate > 1e-9]
    for turns in range(1, MOST_TURNS + 1 if rates else 1):
        moved = expm(2 * np.pi * turns / min(rates) * matrix) - np.eye(n + 1)
        shift = moved[:n, n] / (2 * np.pi)
        whole = np.array([q in angles for q in coordinates]) * np.round(shift)
        if np.max(np.abs(moved[:n, :n])) < 1e-8 and np.max(np.abs(shift - whole)) < 1e-8:
            return True
    return False


def moving_angles(system: System | Scenario, given: Symbols | None) -> tuple[sympy.Symbol, ...]:
    """The coordinates that are angles: named ones, or those only inside sines and cosines."""
    stated = system.system if isinstance(system, Scenario) else system
    if given is not None:
        names = {str(angle) for angle in given}
        return tuple(q for q in stated.coordinates if q.name in names)
    reported = set(stated.outputs.values())
    expressions = [expression for expression in stated.expressions() if expression not in reported]
    if isinstance(system, Scenario):
        expressions += _drawn_expressions(system.drawing)
    return tuple(q for q in stated.coordinates if _is_angle(q, expressions))


def _is_angle(q: sympy.Symbol, expressions: Sequence[sympy.Expr]) -> bool:
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


def _drawn_expressions(part: object) -> list[sympy.Expr]:
    """Every expression inside a drawing."""
    if isinstance(part, sympy.Expr):
        return [part]
    inner: Iterable[object] = ()
    if is_dataclass(part) and not isinstance(part, type):
        inner = [getattr(part, entry.name) for entry in fields(part)]
    elif isinstance(part, Mapping):
        inner = part.values()
    elif isinstance(part, (list, tuple)):
        inner = part
    return [found for entry in inner for found in _drawn_expressions(entry)]
