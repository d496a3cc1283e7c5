r"""The constrained solve: the one place that decides rank.

    find z minimising (z - a)^T G (z - a) / 2  subject to  A z = b,   G a = f
    <=>  G z = f + A^T mu,  A z = b        with the least-norm mu where rows of A depend on each other

With the Cholesky factor G = C C^T and x = C^T z this is the point of {B^T x = b} nearest to y = C^-1 f, B = C^-1 A^T. The
columns of B are scaled to length one and factored by Householder reflections with column pivoting; a column whose
remainder is shorter than `RANK_TOLERANCE` depends on those before it. A G^-1 A^T is never formed. Where G is singular but
positive definite on ker A, G + w A^T A takes its place, which changes neither z nor mu. Where it is indefinite
(vakonomic problems), or still in doubt, the solve runs on a basis of ker A in units that bring G to size one.

The same function serves Python and the native integrators; it allocates nothing and works on flat, row-major arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ..errors import ContradictionError, SingularError
from .language import Integers, Reals, native, rare

__all__ = [
    "CONTRADICTORY",
    "DEPENDENT",
    "RANK_TOLERANCE",
    "REGULAR",
    "SINGULAR",
    "Rank",
    "Solution",
    "gauss_solve",
    "rank",
    "solve",
]

#: A row whose part outside the span of the others, relative to its length in the kinetic metric, is below this depends on them.
RANK_TOLERANCE = 1e-11
#: A pivot of G below this, relative to its diagonal entry, counts as zero.
PIVOT_TOLERANCE = 1e-13
#: Below this the rows are asked to help: a singular G may pass the first test by rounding.
DOUBTFUL_PIVOT = 1e-7
#: A dependent row whose right side misses the value that the others imply by more than this, relatively, contradicts them.
CONTRADICTION_TOLERANCE = 1e-6

REGULAR, DEPENDENT, CONTRADICTORY, SINGULAR = 0, 1, 2, 3


INFINITY = float("inf")


def work_size(n: int, m: int) -> int:
    """The length of the scratch array that `gauss_solve` needs."""
    k = max(n, m, 1)
    return 4 * k * k + 2 * n * m + 12 * k


def order_size(n: int, m: int) -> int:
    """The length of the integer scratch array that `gauss_solve` needs."""
    return 2 * max(n, m, 1)


@native
def cholesky(n: int, matrix: Reals, factor: Reals, tolerance: float) -> float:
    """U = C^T (upper, n x n, row-major) with matrix = C C^T; returns the least pivot ratio, not positive where it fails.

    Rows are finished four at a time and subtracted together from the rows below, which keeps the inner loop in registers.
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
def pivoted_qr(n: int, m: int, columns: Reals, heads: Reals, order: Integers, tolerance: float) -> int:
    """Householder factorisation with column pivoting of m columns of length n, in place; returns the rank.

    `columns` holds column j contiguously at j*n. After it, column order[k] is at k*n: entries below place k hold the
    reflection, whose leading entry is in heads[k]; entries up to k hold R.
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
            if length > best:
                best, place = length, j
        norm = sqrt(best)
        if not norm > tolerance:
            break
        if place != k:
            for i in range(n):
                columns[k * n + i], columns[place * n + i] = columns[place * n + i], columns[k * n + i]
            order[k], order[place] = order[place], order[k]
        first = columns[k * n + k]
        alpha = -norm if first >= 0.0 else norm
        head = first - alpha
        heads[k] = head
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
def reflect(n: int, rank: int, columns: Reals, heads: Reals, x: Reals, backwards: bool) -> None:
    """x <- Q^T x, or Q x when `backwards`, for the factorisation of `pivoted_qr`."""
    for step in range(rank):
        k = rank - 1 - step if backwards else step
        inner = heads[k] * x[k]
        for i in range(k + 1, n):
            inner += columns[k * n + i] * x[i]
        inner /= columns[k * n + k] * heads[k]
        x[k] += inner * heads[k]
        for i in range(k + 1, n):
            x[i] += inner * columns[k * n + i]


@rare
def least_norm_multipliers(
    m: int, rank: int, n: int, columns: Reals, order: Integers, lengths: Reals, mu: Reals, work: Reals
) -> None:
    """Take out of mu its part in the null space of A^T, so that it is the shortest of all that give the same reaction.

    The null space is spanned by e_j - (combination of the independent columns), one vector for each dependent row.
    """
    free = m - rank
    for d in range(free):
        vector = d * m
        for i in range(m):
            work[vector + i] = 0.0
        j = rank + d
        for i in range(rank - 1, -1, -1):
            total = columns[j * n + i] if i < n else 0.0
            for k in range(i + 1, rank):
                total -= columns[k * n + i] * work[vector + order[k]]
            work[vector + order[i]] = total / columns[i * n + i]
        for i in range(rank):
            work[vector + order[i]] /= -lengths[order[i]]
        length = lengths[order[j]]
        work[vector + order[j]] = 1.0 / length if length > 0.0 else 1.0
        if length == 0.0:
            for i in range(rank):
                work[vector + order[i]] = 0.0
        for e in range(d):
            inner = 0.0
            for i in range(m):
                inner += work[vector + i] * work[e * m + i]
            for i in range(m):
                work[vector + i] -= inner * work[e * m + i]
        norm = 0.0
        for i in range(m):
            norm += work[vector + i] ** 2
        norm = sqrt(norm)
        inner = 0.0
        for i in range(m):
            work[vector + i] /= norm
            inner += work[vector + i] * mu[i]
        for i in range(m):
            mu[i] -= inner * work[vector + i]


@native
def scaled_columns(n: int, m: int, A: Reals, columns: Reals, lengths: Reals, factor: Reals, has_factor: bool) -> None:
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


@rare
def find_contradiction(
    n: int,
    m: int,
    rank: int,
    columns: Reals,
    order: Integers,
    lengths: Reals,
    b: Reals,
    reached: Reals,
    residual: Reals,
    info: Reals,
) -> bool:
    """The worst dependent row whose right side the others do not imply; residual and scales in the scaled rows."""
    worst = 0.0
    place = -1
    for j in range(rank, m):
        row = order[j]
        length = lengths[row] if lengths[row] > 0.0 else 1.0
        gap = residual[row]
        size = abs(b[row]) / length + abs(reached[row])
        for k in range(rank):
            gap -= columns[j * n + k] * reached[m + k]
            size += abs(columns[j * n + k] * reached[m + k])
        if abs(gap) > CONTRADICTION_TOLERANCE * size and abs(gap) > 1e-12 and abs(gap) > worst:
            worst, place = abs(gap), row
    info[2] = place
    return place >= 0


@native
def gauss_solve(
    n: int,
    m: int,
    G: Reals,
    f: Reals,
    A: Reals,
    b: Reals,
    z: Reals,
    mu: Reals,
    definite: bool,
    gauge: bool,
    work: Reals,
    order: Integers,
    info: Reals,
) -> int:
    """Solve the Gauss problem. Returns REGULAR, DEPENDENT, CONTRADICTORY or SINGULAR.

    Parameters
    ----------
    n, m : number of unknowns and of rows
    G (n*n), f (n), A (m*n), b (m) : the blocks, row-major
    z (n), mu (m) : the solution
    definite : whether G is positive semidefinite
    gauge : whether a solution that is not unique is welcome (the least-norm one is taken)
    work (work_size(n, m)), order (order_size(n, m)) : scratch
    info (4) : rank of A, least pivot ratio of G, the contradictory row or -1, least diagonal entry of R
    """
    k = max(max(n, m), 1)
    factor, columns, rest = work + 0, work + k * k, work + (k * k + n * m)
    lengths, heads, y, residual, reached, spare = (
        rest + 0,
        rest + k,
        rest + 2 * k,
        rest + 3 * k,
        rest + 4 * k,
        rest + 6 * k,
    )
    info[0], info[1], info[2], info[3] = 0.0, 1.0, -1.0, 1.0
    for i in range(n):
        y[i] = f[i]
    pivot = cholesky(n, G, factor, PIVOT_TOLERANCE) if definite else -1.0
    if not pivot > DOUBTFUL_PIVOT and m > 0 and definite:
        pivot = augmented_cholesky(n, m, G, A, b, y, factor, spare)
    if not pivot > DOUBTFUL_PIVOT:
        return solve_on_kernel(n, m, G, f, A, b, z, mu, gauge, work, order, info)
    info[1] = pivot
    solve_lower(n, factor, y)
    if m == 0:
        for i in range(n):
            z[i] = y[i]
        solve_upper(n, factor, z)
        return REGULAR
    scaled_columns(n, m, A, columns, lengths, factor, True)
    for j in range(m):
        total = 0.0
        for i in range(n):
            total += columns[j * n + i] * y[i]
        reached[j] = total
        residual[j] = (b[j] / lengths[j] if lengths[j] > 0.0 else b[j]) - total
    rank = pivoted_qr(n, m, columns, heads, order, RANK_TOLERANCE)
    info[0] = rank
    # R^T s = residual on the independent rows, then R nu = s.
    for i in range(rank):
        total = residual[order[i]]
        for l in range(i):
            total -= columns[i * n + l] * reached[m + l]
        reached[m + i] = total / columns[i * n + i]
        info[3] = min(info[3], abs(columns[i * n + i]))
    contradictory = rank < m and find_contradiction(n, m, rank, columns, order, lengths, b, reached, residual, info)
    for i in range(n):
        spare[i] = reached[m + i] if i < rank else 0.0
    for i in range(rank - 1, -1, -1):
        total = reached[m + i]
        for l in range(i + 1, rank):
            total -= columns[l * n + i] * reached[m + l]
        reached[m + i] = total / columns[i * n + i]
    for j in range(m):
        mu[j] = 0.0
    for i in range(rank):
        mu[order[i]] = reached[m + i] / lengths[order[i]]
    reflect(n, rank, columns, heads, spare, True)
    for i in range(n):
        z[i] = y[i] + spare[i]
    solve_upper(n, factor, z)
    if rank < m:
        least_norm_multipliers(m, rank, n, columns, order, lengths, mu, spare + n)
    for i in range(n):
        if not abs(z[i]) < INFINITY:
            return SINGULAR
    if contradictory:
        return CONTRADICTORY
    return DEPENDENT if rank < m else REGULAR


@rare
def augmented_cholesky(n: int, m: int, G: Reals, A: Reals, b: Reals, y: Reals, factor: Reals, spare: Reals) -> float:
    """Factor G + w A^T D A with rows scaled to one, and add w A^T D b to the force: same z and mu, regular on ker A."""
    weight = 0.0
    for i in range(n):
        weight += abs(G[i * n + i])
    weight = weight / n if weight > 0.0 else 1.0
    sum_matrix = spare + 0
    for i in range(n * n):
        sum_matrix[i] = G[i]
    for j in range(m):
        length = 0.0
        for i in range(n):
            length += A[j * n + i] ** 2
        if length > 0.0:
            for i in range(n):
                share = weight / length * A[j * n + i]
                y[i] += share * b[j]
                for l in range(n):
                    sum_matrix[i * n + l] += share * A[j * n + l]
    return cholesky(n, sum_matrix, factor, PIVOT_TOLERANCE)


@rare
def solve_on_kernel(
    n: int,
    m: int,
    G: Reals,
    f: Reals,
    A: Reals,
    b: Reals,
    z: Reals,
    mu: Reals,
    gauge: bool,
    work: Reals,
    order: Integers,
    info: Reals,
) -> int:
    """The same problem on a basis of ker A: z = S (Q1 R^-T b + Q2 x), Q2^T S G S Q2 x = Q2^T S (f - G S Q1 R^-T b)."""
    k = max(max(n, m), 1)
    reduced, columns, rest = work + 0, work + k * k, work + (k * k + n * m)
    lengths, heads, s, right = rest + 0, rest + k, rest + 2 * k, rest + 3 * k
    vector, reached, inner_heads, unit, basis = rest + 4 * k, rest + 5 * k, rest + 7 * k, rest + 8 * k, rest + 9 * k
    spare = basis + n * n
    equilibrate(n, m, G, A, unit)
    scaled_columns(n, m, A, columns, lengths, unit, False)
    rank = pivoted_qr(n, m, columns, heads, order, RANK_TOLERANCE)
    info[0] = rank
    for i in range(n):
        s[i] = 0.0
    for i in range(rank):
        row = order[i]
        total = b[row] / lengths[row]
        for l in range(i):
            total -= columns[i * n + l] * s[l]
        s[i] = total / columns[i * n + i]
        reached[m + i] = s[i]
        info[3] = min(info[3], abs(columns[i * n + i]))
    for j in range(m):
        reached[j] = 0.0
        right[j] = b[j] / lengths[j] if lengths[j] > 0.0 else b[j]
    contradictory = rank < m and find_contradiction(n, m, rank, columns, order, lengths, b, reached, right, info)
    reflect(n, rank, columns, heads, s, True)
    for j in range(n):
        for i in range(n):
            basis[j * n + i] = 1.0 if i == j else 0.0
        reflect(n, rank, columns, heads, basis + j * n, True)
    free = n - rank
    for i in range(n):
        total = f[i]
        for l in range(n):
            total -= G[i * n + l] * unit[l] * s[l]
        right[i] = unit[i] * total
    for a in range(free):
        first = (rank + a) * n
        for i in range(n):
            total = 0.0
            for l in range(n):
                total += G[i * n + l] * unit[l] * basis[first + l]
            vector[i] = unit[i] * total
        for c in range(free):
            second = (rank + c) * n
            total = 0.0
            for i in range(n):
                total += basis[second + i] * vector[i]
            reduced[a * free + c] = total
    inner_rank = solve_symmetric(free, rank, n, reduced, basis, right, vector, inner_heads, spare, order + k, gauge, info)
    if inner_rank < 0:
        return SINGULAR
    for i in range(n):
        total = s[i]
        for a in range(free):
            total += basis[(rank + a) * n + i] * vector[a]
        z[i] = unit[i] * total
    shorten(free, inner_rank, n, reduced, order + k, basis + rank * n, unit, z, spare + 2 * k)
    multipliers_from_balance(n, m, rank, G, f, z, mu, columns, heads, order, lengths, unit, right)
    if rank < m:
        least_norm_multipliers(m, rank, n, columns, order, lengths, mu, rest + 8 * k)
    for i in range(n):
        if not abs(z[i]) < INFINITY:
            return SINGULAR
    if contradictory:
        return CONTRADICTORY
    return DEPENDENT if rank < m else REGULAR


@rare
def solve_symmetric(
    free: int,
    rank: int,
    n: int,
    reduced: Reals,
    basis: Reals,
    right: Reals,
    x: Reals,
    heads: Reals,
    spare: Reals,
    order: Integers,
    gauge: bool,
    info: Reals,
) -> int:
    """x (free) with reduced @ x = Q2^T right by pivoted Householder reflections; returns the rank, or -1 without solution."""
    largest = 0.0
    for i in range(free * free):
        largest = max(largest, abs(reduced[i]))
    load, places = spare + 0, spare + free
    size = 0.0
    for a in range(free):
        total = 0.0
        for i in range(n):
            total += basis[(rank + a) * n + i] * right[i]
        load[a] = total
        size = max(size, abs(total))
        x[a] = 0.0
        order[a] = a
    if free == 0:
        return 0
    if not (largest > 0.0 and largest < INFINITY):
        return 0 if gauge and largest == 0.0 and size == 0.0 else -1
    inner_rank = pivoted_qr(free, free, reduced, heads, order, RANK_TOLERANCE * largest)
    info[1] = abs(reduced[(inner_rank - 1) * free + inner_rank - 1]) / largest if inner_rank == free else 0.0
    if inner_rank < free and not gauge:
        return -1
    reflect(free, inner_rank, reduced, heads, load, False)
    for a in range(inner_rank, free):
        if abs(load[a]) > 1e-9 * (size + 1e-300):
            return -1
    for a in range(inner_rank - 1, -1, -1):
        total = load[a]
        for c in range(a + 1, inner_rank):
            total -= reduced[c * free + a] * places[c]
        places[a] = total / reduced[a * free + a]
    for a in range(inner_rank):
        x[order[a]] = places[a]
    return inner_rank


@native
def equilibrate(n: int, m: int, G: Reals, A: Reals, unit: Reals) -> None:
    """Units S of the unknowns in which the largest entry of each row of S G S is about one (Ruiz's iteration).

    An unknown without inertia takes the size of its largest entry in A.
    """
    for i in range(n):
        unit[i] = 1.0
    for _ in range(8):
        for i in range(n):
            largest = 0.0
            for l in range(n):
                largest = max(largest, abs(unit[i] * G[i * n + l] * unit[l]))
            if largest > 0.0 and largest < INFINITY:
                unit[i] /= sqrt(largest)
    for i in range(n):
        inertia, largest = 0.0, 0.0
        for l in range(n):
            inertia = max(inertia, abs(G[i * n + l]))
        for j in range(m):
            largest = max(largest, abs(A[j * n + i]))
        if inertia == 0.0 and largest > 0.0:
            unit[i] = 1.0 / largest


@native
def shorten(
    free: int, rank: int, n: int, reduced: Reals, order: Integers, basis: Reals, unit: Reals, z: Reals, work: Reals
) -> None:
    """Take out of z what the equations leave open, so that it is the shortest solution.

    That is spanned by S Q2 v with v in the null space of `reduced`, which `pivoted_qr` has factored.
    """
    v = work + free * n
    for d in range(free - rank):
        for a in range(free):
            v[a] = 0.0
        for i in range(rank - 1, -1, -1):
            total = -reduced[(rank + d) * free + i]
            for c in range(i + 1, rank):
                total -= reduced[c * free + i] * v[order[c]]
            v[order[i]] = total / reduced[i * free + i]
        v[order[rank + d]] = 1.0
        vector = work + d * n
        for i in range(n):
            total = 0.0
            for a in range(free):
                total += basis[a * n + i] * v[a]
            vector[i] = unit[i] * total
        for e in range(d):
            remove_part(n, work + e * n, vector)
        norm = 0.0
        for i in range(n):
            norm += vector[i] ** 2
        norm = sqrt(norm)
        for i in range(n):
            vector[i] /= norm
        remove_part(n, vector, z)


@native
def remove_part(n: int, direction: Reals, x: Reals) -> None:
    """x <- x without its part along a direction of length one."""
    inner = 0.0
    for i in range(n):
        inner += direction[i] * x[i]
    for i in range(n):
        x[i] -= inner * direction[i]


@rare
def multipliers_from_balance(
    n: int,
    m: int,
    rank: int,
    G: Reals,
    f: Reals,
    z: Reals,
    mu: Reals,
    columns: Reals,
    heads: Reals,
    order: Integers,
    lengths: Reals,
    unit: Reals,
    balance: Reals,
) -> None:
    """mu with A^T mu = G z - f, from the factorisation of (A S)^T."""
    for i in range(n):
        total = -f[i]
        for l in range(n):
            total += G[i * n + l] * z[l]
        balance[i] = unit[i] * total
    reflect(n, rank, columns, heads, balance, False)
    for j in range(m):
        mu[j] = 0.0
    for i in range(rank - 1, -1, -1):
        total = balance[i]
        for l in range(i + 1, rank):
            total -= columns[l * n + i] * mu[order[l]] * lengths[order[l]]
        mu[order[i]] = total / columns[i * n + i] / lengths[order[i]]


def _functions() -> dict[str, Any]:
    """The native functions of this module, compiled together with the loops around a kernel."""
    from .loops import functions

    return functions()


@dataclass(frozen=True)
class Solution:
    """What the constrained solve found.

    Attributes
    ----------
    z : array (n,)
    multipliers : array (m,)
        The least-norm mu; not unique where rank < m.
    reaction : array (n,)
        A^T mu, always unique.
    rank : int
        The number of independent rows.
    condition : float
        The inverse of the least pivot met, relative to its scale: large where the problem is nearly singular.
    """

    z: Any
    multipliers: Any
    reaction: Any
    rank: int
    condition: float


def solve(G: Any, f: Any, A: Any = None, b: Any = None, *, definite: bool = True, gauge: bool = False) -> Solution:
    """Solve one Gauss problem with NumPy arrays.

    Raises
    ------
    SingularError
        Where z is not determined.
    ContradictionError
        Where the rows exclude each other.

    Examples
    --------
    >>> solve([[2.0, 0.0], [0.0, 1.0]], [0.0, -1.0], [[1.0, 1.0]], [0.0]).z
    array([ 0.33333333, -0.33333333])
    """
    metric = np.ascontiguousarray(G, dtype=float)
    n = metric.shape[0]
    rows = np.zeros((0, n)) if A is None else np.ascontiguousarray(A, dtype=float).reshape(-1, n)
    m = rows.shape[0]
    right = np.zeros(m) if b is None else np.ascontiguousarray(b, dtype=float).reshape(m)
    z, mu, info = np.zeros(n), np.zeros(m), np.zeros(4)
    status = _functions()["gauss_solve"](
        n, m, metric.ravel(), np.ascontiguousarray(f, dtype=float).reshape(n), rows.ravel(), right, z, mu,
        definite, gauge, np.zeros(work_size(n, m)), np.zeros(order_size(n, m), np.int64), info,
    )  # fmt: skip
    if status == SINGULAR:
        raise SingularError(
            "The unknowns are not determined: G is singular on the directions that the constraints allow",
            seen=f"least pivot {info[1]:.1e}",
            remedy="add the missing inertia or a constraint",
        )
    if status == CONTRADICTORY:
        error = ContradictionError(
            f"Row {int(info[2])} contradicts the rows it depends on",
            seen=f"b = {right.tolist()}",
            remedy="remove one of the contradictory constraints",
        )
        error.row = int(info[2])
        raise error
    least = min(float(info[1]), float(info[3]))
    return Solution(z, mu, rows.T @ mu, int(info[0]), 1.0 / least if least > 0 else INFINITY)


class Rank(NamedTuple):
    """What a matrix (m x n) of rank r spans and what it annihilates.

    Attributes
    ----------
    rank : int
    independent : array of int (r,)
        Rows that span the others, in ascending order.
    null_space : array (n, n - r)
        An orthonormal basis of the vectors that every row annihilates.
    """

    rank: int
    independent: Any
    null_space: Any


def rank(rows: Any, tolerance: float = RANK_TOLERANCE) -> Rank:
    """The rank of a matrix by the factorisation of the Gauss solve: rows of length one, reflections, pivoting.

    Rows of zeros stay zero. A row whose part outside the span of the others is below `tolerance` depends on them.

    Examples
    --------
    >>> found = rank([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 2.0, 1.0]])
    >>> found.rank, found.null_space.shape
    (2, (3, 1))
    """
    table = np.atleast_2d(np.ascontiguousarray(rows, dtype=float))
    m, n = table.shape
    columns, lengths, heads = np.zeros(m * n + 1), np.zeros(m + 1), np.zeros(max(m, n, 1))
    order = np.zeros(max(m, 1), np.int64)
    functions = _functions()
    functions["scaled_columns"](n, m, table.ravel() if table.size else np.zeros(1), columns, lengths, np.ones(n + 1), False)
    found = int(functions["pivoted_qr"](n, m, columns, heads, order, tolerance))
    basis = np.eye(n)[found:]
    for vector in basis:
        functions["reflect"](n, found, columns, heads, vector, True)
    return Rank(found, np.sort(order[:found]), basis.T)
