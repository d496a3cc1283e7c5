"""L U of mu - J with a sparse Jacobian J, for a real or complex number mu, as native code.

Unknowns are eliminated on the diagonal, in the order of least degree, and the entries that fill in
are known beforehand. Scaling the symbols, which changes of units do, changes neither the order nor
the relative size of the pivots. A pivot that vanishes is reported: Newton's method then wants a
shorter step, with which the diagonal dominates.

A matrix is stored by rows: `row_first`, `columns`, `diagonals` are those of `EliminationPattern`.
The factors take the place of the matrix, with the inverses of the pivots on the diagonal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....algebra.sparse_factor import elimination_order
from ....codegen.native.language import Integers, Reals, native
from ....typing import IntArray

__all__ = [
    "EliminationPattern",
    "elimination_pattern",
    "factor_complex",
    "factor_real",
    "shifted",
    "solve_complex",
    "solve_real",
]

#: With a larger share of entries an order would save nothing.
DENSE = 0.5

INFINITY = float("inf")


class EliminationPattern(NamedTuple):
    """Where the entries of the factors stand.

    Attributes
    ----------
    order : array (n,)
        The unknown that is eliminated k-th.
    row_first : array (n + 1,)
    columns : array (entries,)
        Ascending within a row.
    diagonals : array (n,)
    places : array (entries of J,)
        Where each entry of J stands among those of the factors.
    """

    order: IntArray
    row_first: IntArray
    columns: IntArray
    diagonals: IntArray
    places: IntArray


def elimination_pattern(size: int, rows: IntArray, columns: IntArray) -> EliminationPattern:
    """The pattern of the factors of mu - J, for J with entries in these rows and columns.

    The head of an arrow is eliminated late, and its 16 entries stay as many.

    >>> first, others = np.zeros(5, dtype=int), np.arange(1, 6)
    >>> rows, columns = np.append(first, others), np.append(others, first)
    >>> arrow = elimination_pattern(6, rows, columns)
    >>> arrow.order.tolist(), len(arrow.columns)
    ([1, 2, 3, 4, 0, 5], 16)
    """
    filled: NDArray[np.bool_] = np.eye(size, dtype=bool)
    filled[rows, columns] = True
    if filled.sum() > DENSE * size**2:
        order = np.arange(size)
    else:
        linked = filled | filled.T
        neighbours = [set(np.flatnonzero(row).tolist()) - {i} for i, row in enumerate(linked)]
        order = np.array(elimination_order(neighbours)[0], dtype=np.int64)
    filled = np.ascontiguousarray(filled[np.ix_(order, order)])
    for i in range(1, size):
        for k in range(i):
            if filled[i, k]:
                filled[i, k + 1 :] |= filled[k, k + 1 :]
    number = np.cumsum(filled.ravel()).reshape(size, size) - 1
    place = np.argsort(order)
    return EliminationPattern(
        order,
        np.concatenate([[0], np.cumsum(filled.sum(axis=1))]).astype(np.int64),
        np.nonzero(filled)[1].astype(np.int64),
        np.diagonal(number).astype(np.int64),
        number[place[rows], place[columns]].astype(np.int64),
    )


@native
def shifted(
    n: int, entries: int, count: int, places: Integers, diagonals: Integers, mu: float,
    jacobian: Reals, matrix: Reals,
) -> None:  # fmt: skip
    """matrix <- mu - J."""
    for p in range(entries):
        matrix[p] = 0.0
    for k in range(count):
        matrix[places[k]] -= jacobian[k]
    for i in range(n):
        matrix[diagonals[i]] += mu


@native
def factor_real(
    n: int, row_first: Integers, columns: Integers, diagonals: Integers, matrix: Reals, work: Reals
) -> bool:
    """matrix <- its factors; False where a pivot vanishes."""
    for i in range(n):
        begin, middle, end = row_first[i], diagonals[i], row_first[i + 1]
        for p in range(begin, end):
            work[columns[p]] = matrix[p]
        for p in range(begin, middle):
            k = columns[p]
            factor = work[k] * matrix[diagonals[k]]
            work[k] = factor
            for q in range(diagonals[k] + 1, row_first[k + 1]):
                work[columns[q]] -= factor * matrix[q]
        for p in range(begin, end):
            matrix[p] = work[columns[p]]
        if not (matrix[middle] != 0.0 and abs(matrix[middle]) < INFINITY):
            return False
        matrix[middle] = 1.0 / matrix[middle]
    return True


@native
def solve_real(
    n: int, row_first: Integers, columns: Integers, diagonals: Integers, matrix: Reals, x: Reals
) -> None:
    """x <- the solution, in the order of elimination."""
    for i in range(n):
        total = x[i]
        for p in range(row_first[i], diagonals[i]):
            total -= matrix[p] * x[columns[p]]
        x[i] = total
    for i in range(n - 1, -1, -1):
        total = x[i]
        for p in range(diagonals[i] + 1, row_first[i + 1]):
            total -= matrix[p] * x[columns[p]]
        x[i] = total * matrix[diagonals[i]]


@native
def factor_complex(
    n: int, row_first: Integers, columns: Integers, diagonals: Integers, real: Reals,
    imaginary: Reals, work: Reals,
) -> bool:  # fmt: skip
    """real + i imaginary <- its factors; `work` has 2 n places."""
    other = work + n
    for i in range(n):
        begin, middle, end = row_first[i], diagonals[i], row_first[i + 1]
        for p in range(begin, end):
            work[columns[p]] = real[p]
            other[columns[p]] = imaginary[p]
        for p in range(begin, middle):
            k = columns[p]
            a, b = real[diagonals[k]], imaginary[diagonals[k]]
            u = work[k] * a - other[k] * b
            v = work[k] * b + other[k] * a
            work[k] = u
            other[k] = v
            for q in range(diagonals[k] + 1, row_first[k + 1]):
                c = columns[q]
                work[c] -= u * real[q] - v * imaginary[q]
                other[c] -= u * imaginary[q] + v * real[q]
        for p in range(begin, end):
            real[p] = work[columns[p]]
            imaginary[p] = other[columns[p]]
        a, b = real[middle], imaginary[middle]
        size = a * a + b * b
        if not (size > 0.0 and size < INFINITY):
            return False
        real[middle] = a / size
        imaginary[middle] = -b / size
    return True


@native
def solve_complex(
    n: int, row_first: Integers, columns: Integers, diagonals: Integers, real: Reals,
    imaginary: Reals, x: Reals, y: Reals,
) -> None:  # fmt: skip
    """x + i y <- the solution, in the order of elimination."""
    for i in range(n):
        u, v = x[i], y[i]
        for p in range(row_first[i], diagonals[i]):
            c = columns[p]
            u -= real[p] * x[c] - imaginary[p] * y[c]
            v -= real[p] * y[c] + imaginary[p] * x[c]
        x[i] = u
        y[i] = v
    for i in range(n - 1, -1, -1):
        u, v = x[i], y[i]
        for p in range(diagonals[i] + 1, row_first[i + 1]):
            c = columns[p]
            u -= real[p] * x[c] - imaginary[p] * y[c]
            v -= real[p] * y[c] + imaginary[p] * x[c]
        a, b = real[diagonals[i]], imaginary[diagonals[i]]
        x[i] = u * a - v * b
        y[i] = u * b + v * a
