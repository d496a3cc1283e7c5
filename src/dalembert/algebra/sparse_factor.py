"""L D L^T of a symmetric matrix of graph expressions, entry by entry, without its zeros.

The unknowns are eliminated in the order of least degree, so that little fills in: a chain of N
bodies takes of the order of N operations. There is no search for pivots by size; the caller looks
at the pivots.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, Self

import casadi as ca

__all__ = [
    "Budget",
    "Column",
    "FactorEntry",
    "SparseFactor",
    "TooManyOperationsError",
    "columns_of",
    "dense",
    "elimination_order",
]

Column = dict[int, Any]


class FactorEntry(Protocol):
    """A scalar of a factorisation: a node of the graph, or a value of a program being written."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, other: Self, /) -> Self: ...
    def __truediv__(self, other: Self, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def is_zero(self) -> bool: ...


class TooManyOperationsError(Exception):
    """A factorisation would take more operations than it may."""


class Budget:
    """How many operations may still be written."""

    def __init__(self, operations: float = math.inf) -> None:
        self.left = operations

    def spend(self, operations: int) -> None:
        """Take operations from what is left, or raise."""
        self.left -= operations
        if self.left < 0:
            raise TooManyOperationsError


def elimination_order(neighbours: Sequence[set[int]]) -> tuple[list[int], int]:
    """Unknowns in the order of least degree, ties by their number, and how many entries L has then.

    >>> elimination_order([{1}, {0, 2}, {1, 3}, {2}])
    ([0, 1, 2, 3], 3)
    """
    linked = [set(others) for others in neighbours]
    waiting = [(len(others), place) for place, others in enumerate(linked)]
    heapq.heapify(waiting)
    done = [False] * len(linked)
    order: list[int] = []
    filled = 0
    while len(order) < len(linked):
        degree, place = heapq.heappop(waiting)
        others = linked[place]
        if done[place] or degree != len(others):
            continue  # said before its degree changed
        done[place] = True
        order.append(place)
        filled += degree
        for other in others:
            known = linked[other]
            known |= others
            known -= {place, other}
            heapq.heappush(waiting, (len(known), other))
    return order, filled


class SparseFactor:
    """matrix = P^T L D L^T P with a permutation P, as scalars of the graph.

    The matrix is an SX, or the rows of a symmetric matrix over other scalars; these rows are used
    up, and `zero` is their zero.

    Attributes
    ----------
    order : list of int
        The unknowns as they are eliminated.
    pivots, diagonal : lists (n,)
        D, and the diagonal of the matrix, in the order of elimination.
    columns : list of mappings
        The entries of L below its diagonal, column by column, by unknown.
    """

    def __init__(
        self,
        matrix: ca.SX | list[Column],
        budget: Budget | None = None,
        zero: FactorEntry | None = None,
    ) -> None:
        rows: list[Column] = matrix if isinstance(matrix, list) else _rows(matrix)
        self.n, self.budget = len(rows), budget or Budget()
        zero = ca.SX(0) if zero is None else zero
        self.order, _ = elimination_order(
            [{j for j in row if j != i} for i, row in enumerate(rows)]
        )
        self._numbers = {place: number for number, place in enumerate(self.order)}
        self.diagonal = [rows[i].get(i, zero) for i in self.order]
        self.pivots: list[Any] = []
        self.columns: list[Column] = []
        for place in self.order:
            row = rows[place]
            pivot = row.pop(place, zero)
            self.pivots.append(pivot)
            column = {other: entry / pivot for other, entry in row.items()}
            self.columns.append(column)
            others = sorted(row)
            self.budget.spend(len(others) * (len(others) + 3) // 2)
            for number, i in enumerate(others):
                target = rows[i]
                del target[place]
                factor = column[i]
                for j in others[number:]:
                    update = factor * row[j]
                    value = target[j] - update if j in target else -update
                    target[j] = value
                    if i != j:
                        rows[j][i] = value

    def forward(self, right: Column) -> Column:
        """Apply L^-1 to a column, by unknown; missing entries are zero and cost nothing."""
        found = dict(right)
        waiting = [self._numbers[place] for place in found]
        heapq.heapify(waiting)
        while waiting:
            number = heapq.heappop(waiting)
            column, value = self.columns[number], found[self.order[number]]
            self.budget.spend(len(column))
            for other, entry in column.items():
                if other not in found:
                    heapq.heappush(waiting, self._numbers[other])
                found[other] = found[other] - entry * value if other in found else -(entry * value)
        return found

    def divided(self, column: Column) -> Column:
        """D^-1 of a column."""
        return {place: value / self.pivots[self._numbers[place]] for place, value in column.items()}

    def backward(self, right: Column) -> Column:
        """L^-T of a column."""
        found = dict(right)
        for place, column in zip(reversed(self.order), reversed(self.columns), strict=True):
            for other, entry in column.items():
                if other in found:
                    found[place] = (
                        found[place] - entry * found[other]
                        if place in found
                        else -(entry * found[other])
                    )
        return found

    def solve(self, right: Column) -> Column:
        """The solution of matrix x = right."""
        return self.backward(self.divided(self.forward(right)))

    @property
    def entries(self) -> list[Any]:
        """All entries of L below its diagonal."""
        return [entry for column in self.columns for entry in column.values()]


def _rows(matrix: ca.SX) -> list[Column]:
    """The entries of a symmetric matrix that are not zero, row by row; the upper half counts."""
    rows: list[Column] = [{} for _ in range(matrix.shape[0])]
    for i, j, entry in _entries(matrix):
        if i <= j and not entry.is_zero():
            rows[i][j] = rows[j][i] = entry
    return rows


def _entries(matrix: ca.SX) -> Iterator[tuple[int, int, ca.SX]]:
    """The structural entries of a matrix with their row and column."""
    entries: list[Any] = matrix.nonzeros()
    return zip(*matrix.sparsity().get_triplet(), entries, strict=True)


def columns_of(matrix: ca.SX) -> list[Column]:
    """The columns of a matrix (n x m) as mappings of row to entry, without what is zero."""
    found: list[Column] = [{} for _ in range(matrix.shape[1])]
    for i, j, entry in _entries(matrix):
        if not entry.is_zero():
            found[j][i] = entry
    return found


def dense(column: Mapping[int, Any], size: int) -> ca.SX:
    """A column as a dense (size x 1) expression."""
    return ca.vertcat(*[column.get(k, ca.SX(0)) for k in range(size)]) if size else ca.SX(0, 1)
