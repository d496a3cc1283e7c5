"""The two factorisations of the constrained solve, and the thresholds by which they decide rank.

A metric is factored as C C^T (Cholesky), rows of a matrix by Householder reflections with column
pivoting, once they are scaled to length one. What remains of a pivot, or of a row, is compared with
a threshold here and nowhere else in native code.

They allocate nothing and work on flat, row-major arrays.
"""

from __future__ import annotations

from math import sqrt

from ...codegen.native.language import Integers, Reals, native

__all__ = [
    "DOUBTFUL_PIVOT",
    "INFINITY",
    "PIVOT_TOLERANCE",
    "RANK_TOLERANCE",
    "cholesky",
    "pivoted_qr",
    "reflect",
    "scaled_columns",
    "solve_independent_rows",
    "solve_lower",
    "solve_triangle",
    "solve_upper",
]

#: A row is dependent if its part outside the others' span is below this, in the kinetic metric.
RANK_TOLERANCE = 1e-11
#: A pivot of G below this, relative to its diagonal entry, counts as zero.
PIVOT_TOLERANCE = 1e-13
#: Below this the rows are asked to help: a singular G may pass the first test by rounding.
DOUBTFUL_PIVOT = 1e-7
#: A row below this part of another one may be about to vanish, and gives way to it where the
#: squared length of what is left of the other one is at least that of its own through this.
VANISHING, NEARLY = 1e-2, 100.0

INFINITY = float("inf")


@native
def cholesky(n: int, matrix: Reals, factor: Reals, tolerance: float) -> float:
    """U = C^T (upper, n x n) with matrix = C C^T; returns the least pivot ratio, <= 0 on failure.

    Rows are finished four at a time and subtracted together from the rows below, which keeps the
    inner loop in registers.
    """
    least = 1.0
    for i in range(n):
        for j in range(i, n):
            factor[i * n + j] = matrix[i * n + j]
    for k in range(0, n, 4):
        last = min(k + 4, n)
        for r in range(k, last):
            pivot = factor[r * n + r]
            scale = matrix[r * n + r]
            if not (pivot > tolerance * abs(scale)) or not (pivot < INFINITY):
                return -1.0
            least = min(least, pivot / scale)
            inverse = 1.0 / sqrt(pivot)
            for j in range(r, n):
                factor[r * n + j] *= inverse
            for s in range(r + 1, last):
                multiple = factor[r * n + s]
                for j in range(s, n):
                    factor[s * n + j] -= multiple * factor[r * n + j]
        if last - k == 4:
            first, second = factor + k * n, factor + (k + 1) * n
            third, fourth = factor + (k + 2) * n, factor + (k + 3) * n
            for i in range(last, n):
                row = factor + i * n
                a, b, c, d = first[i], second[i], third[i], fourth[i]
                for j in range(i, n):
                    row[j] -= a * first[j] + b * second[j] + c * third[j] + d * fourth[j]
    return least


@native
def solve_lower(n: int, factor: Reals, x: Reals) -> None:
    """x <- C^-1 x."""
    for k in range(n):
        value = x[k] / factor[k * n + k]
        x[k] = value
        for j in range(k + 1, n):
            x[j] -= factor[k * n + j] * value


@native
def solve_upper(n: int, factor: Reals, x: Reals) -> None:
    """x <- C^-T x."""
    for i in range(n - 1, -1, -1):
        total = 0.0
        for k in range(i + 1, n):
            total += factor[i * n + k] * x[k]
        x[i] = (x[i] - total) / factor[i * n + i]


@native
def scaled_columns(
    n: int, m: int, A: Reals, columns: Reals, lengths: Reals, factor: Reals, has_factor: bool
) -> None:
    """The columns of C^-1 A^T, each of length one; their lengths apart. Rows of zeros stay zero.

    Without a factor `factor` holds the units of the unknowns, and the columns are those of (A S)^T.
    """
    for j in range(m):
        column = columns + j * n
        for i in range(n):
            column[i] = A[j * n + i] if has_factor else A[j * n + i] * factor[i]
        if has_factor:
            solve_lower(n, factor, column)
        length = 0.0
        for i in range(n):
            length += column[i] ** 2
        length = sqrt(length)
        lengths[j] = length
        if length > 1e-200:
            for i in range(n):
                column[i] /= length
        else:
            lengths[j] = 0.0
            for i in range(n):
                column[i] = 0.0


@native
def pivoted_qr(
    n: int,
    m: int,
    columns: Reals,
    collected: Reals,
    order: Integers,
    tolerance: float,
    sizes: Reals,
    choice: Integers,
    are_rows: bool,
) -> int:
    """Householder factorisation with column pivoting of m columns (n), in place; returns the rank.

    `columns` holds column j contiguously at j*n. After it, column order[k] is at k*n: entries below
    place k hold the reflection, whose leading entry is in leading[k]; entries up to k hold R.

    Columns that are rows of constraints (`are_rows`) come with the lengths that they had before
    they were scaled to one, and with a choice (see `row_choice`). Those that are left out become no
    pivots, and one that is about to vanish gives way to others that are there and nearly as long:
    what it says was divided by its size, noise included.
    """
    for j in range(m):
        order[j] = j
    rank = 0
    for k in range(min(n, m)):
        best = -1.0
        place = k
        for j in range(k, m):
            length = 0.0
            for i in range(k, n):
                length += columns[j * n + i] ** 2
            is_better = length > best
            if are_rows and choice[0] > 0 and choice[1 + order[j]] != 0:
                is_better = False
            elif are_rows and best > tolerance**2 and length > tolerance**2:
                here, there = sizes[order[j]], sizes[order[place]]
                if is_better and here < VANISHING * there and length < NEARLY * best:
                    is_better = False
                elif here * VANISHING > there and length * NEARLY > best:
                    is_better = True
            if is_better:
                best, place = length, j
        norm = sqrt(best)
        if not norm > tolerance:
            break
        if place != k:
            for i in range(n):
                columns[k * n + i], columns[place * n + i] = (
                    columns[place * n + i],
                    columns[k * n + i],
                )
            order[k], order[place] = order[place], order[k]
        first = columns[k * n + k]
        alpha = -norm if first >= 0.0 else norm
        head = first - alpha
        collected[k] = head
        scale = 1.0 / (alpha * head)
        for j in range(k + 1, m):
            inner = head * columns[j * n + k]
            for i in range(k + 1, n):
                inner += columns[k * n + i] * columns[j * n + i]
            inner *= scale
            columns[j * n + k] += inner * head
            for i in range(k + 1, n):
                columns[j * n + i] += inner * columns[k * n + i]
        columns[k * n + k] = alpha
        rank += 1
    return rank


@native
def reflect(n: int, rank: int, columns: Reals, collected: Reals, x: Reals, backwards: bool) -> None:
    """x <- Q^T x, or Q x when `backwards`, for the factorisation of `pivoted_qr`."""
    for step in range(rank):
        k = rank - 1 - step if backwards else step
        inner = collected[k] * x[k]
        for i in range(k + 1, n):
            inner += columns[k * n + i] * x[i]
        inner /= columns[k * n + k] * collected[k]
        x[k] += inner * collected[k]
        for i in range(k + 1, n):
            x[i] += inner * columns[k * n + i]


@native
def solve_independent_rows(
    n: int, rank: int, columns: Reals, order: Integers, right: Reals, s: Reals
) -> float:
    """Solve R^T s = the independent right-hand sides; returns R's least diagonal, at most 1."""
    least = 1.0
    for i in range(rank):
        total = right[order[i]]
        for l in range(i):
            total -= columns[i * n + l] * s[l]
        s[i] = total / columns[i * n + i]
        least = min(least, abs(columns[i * n + i]))
    return least


@native
def solve_triangle(n: int, rank: int, columns: Reals, x: Reals) -> None:
    """x <- R^-1 x for the factorisation of `pivoted_qr`."""
    for i in range(rank - 1, -1, -1):
        total = x[i]
        for l in range(i + 1, rank):
            total -= columns[l * n + i] * x[l]
        x[i] = total / columns[i * n + i]
