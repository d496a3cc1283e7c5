r"""Distributions of vector fields: kernels, Lie brackets, involutive closure, Frobenius.

A set of one-forms omega_i = A_i(x) dx on a space with symbols x has the kernel D = {X : A X = 0}.
By Frobenius the forms can be integrated to functions, omega_i = sum_j c_ij dI_j, where D contains
the brackets of its own fields

    [X, Y] = DY X - DX Y.

Where it does not, the brackets are added until nothing new comes: D = D_1, D_{k+1} = D_k + [D_1,
D_k]. The ranks on the way are the growth vector; the end is the smallest involutive distribution
that contains D (Chow: the reachable directions). One form alone is *integrable* where it
annihilates that end, perhaps because of the others. One form in two coordinates always is (Gavin's
constraint 62); x_dot sin(theta) - y_dot cos(theta) is not.

Expressions come from an algebra; the caller gives their values at generic points and the decision
on rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..typing import Array, IntArray

if TYPE_CHECKING:
    from ..algebra.graph import GraphAlgebra
    from ..algebra.protocol import Block, Scalar

__all__ = [
    "Closure",
    "SampledChart",
    "bracket",
    "frobenius_residual",
    "identity_frame",
    "independent_columns",
    "integrability_residuals",
    "is_involutive",
    "kernel_fields",
    "lie_closure",
]

#: A component of a unit vector below this counts as rounding.
TOLERANCE = 1e-8
#: A constant pivot is preferred to a larger one that varies, down to this part of the largest.
PREFERENCE = 0.1
#: The most brackets that a closure may take.
MOST_BRACKETS = 3000


class RankRecord(Protocol):
    """The rank of a matrix of numbers, independent rows, and a basis of its null space."""

    @property
    def rank(self) -> int: ...
    @property
    def independent(self) -> IntArray: ...
    @property
    def null_space(self) -> Array: ...


@dataclass(frozen=True)
class SampledChart:
    """A space with symbols, an algebra of expressions on it, and generic points.

    Attributes
    ----------
    algebra : GraphAlgebra
    symbols : column (n x 1)
        The coordinates x of the space.
    values : callable
        An expression block (r x c) in, its values (points, r, c) at generic points out; may be nan.
    rank : callable
        A matrix in, a record with `rank`, `independent` rows and `null_space` out.
    affordable : callable
        Whether a block is small enough to be worth its evaluation.
    """

    algebra: GraphAlgebra
    symbols: Block
    values: Callable[[Block], Array]
    rank: Callable[[Array, float], RankRecord]
    affordable: Callable[[Block], bool] = lambda block: True

    @property
    def dimension(self) -> int:
        """The number of symbols."""
        return int(self.symbols.shape[0])


@dataclass(frozen=True)
class Closure:
    """The smallest involutive distribution that contains some fields, at generic points.

    Attributes
    ----------
    fields : matrix (n x d)
        Fields that span it; the first ones span the distribution itself.
    growth : tuple of int
        Ranks of D_1, D_2, ..., as long as they grow.
    complete : bool
        Whether nothing was left out; a closure that grew too large to be computed is not.
    proved : bool
        Whether it is proved that brackets stay in it; the points show it where they span the space.
    """

    fields: Block
    growth: tuple[int, ...]
    complete: bool
    proved: bool = False

    @property
    def dimension(self) -> int:
        """The rank of the closure."""
        return self.growth[-1]


def identity_frame(chart: SampledChart) -> Block:
    """The coordinate fields (n x n)."""
    return chart.algebra.jacobian(chart.symbols, chart.symbols)


def bracket(chart: SampledChart, first: Block, second: Block) -> Block:
    """[X, Y] = DY X - DX Y of two fields (n x 1)."""
    along = chart.algebra.along
    return along(second, chart.symbols, first) - along(first, chart.symbols, second)


def kernel_fields(chart: SampledChart, rows: Block, frame: Block | None = None) -> Block:
    """Fields (n x k) that span the kernel of one-forms `rows` (m x n) within `frame` (n x f).

    Gauss and Jordan's elimination brings the rows to reduced echelon form, with pivots chosen by
    their values; the fields are rational in the entries. The columns of the frame must be
    independent.
    """
    base = identity_frame(chart) if frame is None else frame
    if rows.shape[0] == 0:
        return base
    on_frame = rows @ base
    values = chart.values(on_frame)
    found = _ranks(chart, values)
    rank = _common([entry.rank for _, entry in found])
    place, chosen = next((point, entry) for point, entry in found if entry.rank == rank)
    independent = [int(k) for k in chosen.independent]
    table = [[on_frame[i, j] for j in range(on_frame.shape[1])] for i in independent]
    pivots = _eliminate(chart, table, np.array(values[place][independent]))
    width = on_frame.shape[1]
    free = [j for j in range(width) if j not in pivots]
    basis = chart.algebra.zeros(width, len(free))
    for column, j in enumerate(free):
        basis[j, column] = 1
        for i, pivot in enumerate(pivots):
            basis[pivot, column] = -table[i][j]
    return base @ basis


def independent_columns(chart: SampledChart, fields: Block) -> Block:
    """Columns of `fields` (n x k) that span the others at most generic points."""
    found = _ranks(chart, np.swapaxes(chart.values(fields), 1, 2))
    rank = _common([entry.rank for _, entry in found])
    chosen = next(entry for _, entry in found if entry.rank == rank)
    if not rank:
        return fields[:, :0]
    return chart.algebra.columns([fields[:, int(k)] for k in chosen.independent])


def lie_closure(chart: SampledChart, fields: Block) -> Closure:
    """The smallest involutive distribution with the independent columns of `fields` (n x k)."""
    generators = [fields[:, k] for k in range(fields.shape[1])]
    found, newest = list(generators), list(generators)
    growth, taken, proved = [len(generators)], 0, True
    while newest and growth[-1] < chart.dimension:
        pairs = [(x, y) for x in generators for y in newest]
        if len(growth) == 1:
            pairs = [(x, y) for i, x in enumerate(generators) for y in generators[i + 1 :]]
        taken += len(pairs)
        if not pairs:
            break
        if taken > MOST_BRACKETS:
            return Closure(chart.algebra.columns(found), tuple(growth), False)
        candidates = chart.algebra.columns([bracket(chart, x, y) for x, y in pairs])
        if not chart.affordable(candidates):
            return Closure(chart.algebra.columns(found), tuple(growth), False)
        newest = [candidates[:, k] for k in _new_directions(chart, found, candidates, pairs)]
        if newest:
            found += newest
            growth.append(len(found))
        else:
            spanned = chart.algebra.columns([*found, candidates])
            proved = chart.algebra.rank(spanned).at_most == len(found)
    return Closure(chart.algebra.columns(found) if found else fields, tuple(growth), True, proved)


def is_involutive(chart: SampledChart, fields: Block) -> bool:
    """Whether the span of the independent columns of `fields` contains their brackets."""
    closure = lie_closure(chart, fields)
    return len(closure.growth) == 1 and closure.proved


def integrability_residuals(chart: SampledChart, rows: Block, closure: Closure) -> Array:
    """The largest |omega(F)| for each unit one-form omega and unit F of the closure, (m,).

    A form is integrable where this is rounding; `frobenius_residual` looks at first brackets only.
    """
    forms, fields = chart.values(rows), chart.values(closure.fields)
    worst = np.zeros(forms.shape[1])
    for omega, columns in zip(forms, fields, strict=True):
        if np.all(np.isfinite(omega)) and np.all(np.isfinite(columns)):
            largest = np.max(np.abs(_unit(omega) @ _unit(columns.T).T), axis=1, initial=0.0)
            worst = np.maximum(worst, largest)
    return worst


def frobenius_residual(chart: SampledChart, rows: Block) -> float:
    """The largest |d omega_i(X, Y)| over unit X, Y of an orthonormal basis of the kernel.

    It vanishes where the forms together are integrable.
    """
    forms, by_row = chart.values(rows), [rows[i, :].T for i in range(rows.shape[0])]
    derivatives = [chart.values(chart.algebra.jacobian(row, chart.symbols)) for row in by_row]
    worst = 0.0
    for point, omega in enumerate(forms):
        if not np.all(np.isfinite(omega)):
            continue
        kernel = chart.rank(omega, TOLERANCE).null_space
        for i, derivative in enumerate(derivatives):
            turn = kernel.T @ (derivative[point] - derivative[point].T) @ kernel
            length = float(np.linalg.norm(omega[i]))
            if length > 0 and turn.size:
                worst = max(worst, float(np.max(np.abs(turn))) / length)
    return worst


def _ranks(chart: SampledChart, values: Array) -> list[tuple[int, RankRecord]]:
    """The place and the rank record of every point where the matrix is finite."""
    finite = [k for k, matrix in enumerate(values) if np.all(np.isfinite(matrix))]
    if not finite:
        raise ValueError("the forms have no value at any generic point")
    return [(k, chart.rank(values[k], TOLERANCE)) for k in finite]


def _common(ranks: Sequence[int]) -> int:
    """The rank at most points; the larger one of two that are as frequent."""
    return max(Counter(ranks).items(), key=lambda item: (item[1], item[0]))[0]


def _eliminate(chart: SampledChart, table: list[list[Scalar]], numbers: Array) -> list[int]:
    """Bring a table (r x w) with its values to reduced echelon form; return the pivot columns."""
    count, width = numbers.shape
    pivots: dict[int, int] = {}
    for _ in range(count):
        rows = [i for i in range(count) if i not in pivots]
        columns = [j for j in range(width) if j not in pivots.values()]
        free = [(i, j) for i in rows for j in columns]
        largest = max(abs(numbers[place]) for place in free)
        large = [place for place in free if abs(numbers[place]) >= PREFERENCE * largest]
        depends = chart.algebra.depends
        steady = [(i, j) for i, j in large if not depends(table[i][j], chart.symbols)]
        i, j = max(steady or large, key=lambda place: abs(numbers[place]))
        pivots[i] = j
        pivot, number = table[i][j], numbers[i, j]
        table[i] = [entry / pivot for entry in table[i]]
        numbers[i] /= number
        for other in range(count):
            factor = table[other][j]
            if other == i or _is_zero(factor):
                continue
            pairs = zip(table[other], table[i], strict=True)
            table[other] = [a if _is_zero(b) else a - factor * b for a, b in pairs]
            numbers[other] -= numbers[other, j] * numbers[i]
    return [pivots[i] for i in range(count)]


def _is_zero(entry: Scalar) -> bool:
    """Whether an entry is zero as it is written."""
    answer = entry.is_zero
    return bool(answer() if callable(answer) else answer)


def _new_directions(
    chart: SampledChart,
    found: Sequence[Block],
    candidates: Block,
    pairs: Sequence[tuple[Block, Block]],
) -> list[int]:
    """Which candidates add to the span of the fields found so far, at most points.

    A bracket is measured against its terms and the lengths of its two fields, so that cancellation
    gives zero and not a direction made of rounding.
    """
    algebra, symbols = chart.algebra, chart.symbols
    known, brackets = chart.values(algebra.columns(list(found))), chart.values(candidates)
    terms = chart.values(algebra.columns([algebra.along(y, symbols, x) for x, y in pairs]))
    firsts = chart.values(algebra.columns([x for x, _ in pairs]))
    seconds = chart.values(algebra.columns([y for _, y in pairs]))
    choices: list[tuple[int, ...]] = []
    for point, columns in enumerate(brackets):
        parts = (columns, known[point], terms[point], firsts[point], seconds[point])
        if not all(np.all(np.isfinite(part)) for part in parts):
            continue
        lengths = [np.linalg.norm(part, axis=0) for part in parts[2:]]
        scale = lengths[0] + lengths[1] * lengths[2] + np.linalg.norm(columns, axis=0) + 1e-300
        beyond = (columns / scale).T @ chart.rank(known[point].T, TOLERANCE).null_space
        beyond[np.linalg.norm(beyond, axis=1) < TOLERANCE] = 0.0
        choices.append(tuple(int(k) for k in chart.rank(beyond, TOLERANCE).independent))
    if not choices:
        return []
    count = _common([len(choice) for choice in choices])
    return list(next(choice for choice in choices if len(choice) == count))


def _unit(rows: Array) -> Array:
    """Rows of length one; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)
