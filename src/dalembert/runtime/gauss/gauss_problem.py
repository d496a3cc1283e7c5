r"""Gauss's problem in native code, which every form of mechanics comes down to at an instant.

    find z minimising (z - a)^T G (z - a) / 2  subject to  A z = b,   G a = f
    <=>  G z = f + A^T mu,  A z = b        with the least-norm mu where rows of A depend on each
    other

With the Cholesky factor G = C C^T and x = C^T z this is the point of {B^T x = b} nearest to y =
C^-1 f, B = C^-1 A^T. The columns of B are scaled to length one and factored by Householder
reflections with column pivoting; a column whose remainder is shorter than `RANK_TOLERANCE` depends
on those before it. A G^-1 A^T is never formed. Where G is singular but positive definite on ker A,
G + w A^T A takes its place, which changes neither z nor mu. Where it is indefinite (vakonomic
problems), or still in doubt, the solve runs on a basis of ker A (`null_space_solve`).

It allocates nothing and works on flat, row-major arrays.
"""

from __future__ import annotations

from ...codegen.native.language import Integers, Reals, native, rare
from .factorisations import (
    DOUBTFUL_PIVOT,
    PIVOT_TOLERANCE,
    RANK_TOLERANCE,
    cholesky,
    pivoted_qr,
    reflect,
    scaled_columns,
    solve_independent_rows,
    solve_lower,
    solve_triangle,
    solve_upper,
)
from .null_space_solve import solve_on_kernel
from .solve_status import REGULAR, find_contradiction, least_norm_multipliers, verdict

__all__ = ["gauss_solve", "order_size", "work_size"]


def work_size(n: int, m: int) -> int:
    """The length of the scratch array that `gauss_solve` needs."""
    k = max(n, m, 1)
    return 4 * k * k + 2 * n * m + 12 * k


def order_size(n: int, m: int) -> int:
    """The length of the integer scratch array that `gauss_solve` needs."""
    return 2 * max(n, m, 1)


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
    choice: Integers,
) -> int:
    """Solve the Gauss problem. Returns REGULAR, DEPENDENT, CONTRADICTORY or SINGULAR.

    Parameters
    ----------
    n, m, G (n*n), f (n), A (m*n), b (m) : the numbers of unknowns and rows, the blocks, row-major
    z (n), mu (m) : the solution
    definite, gauge : whether G is positive semidefinite; whether to accept a non-unique solution
    work (work_size(n, m)), order (order_size(n, m)) : scratch
    info (4) : rank of A, least pivot ratio of G, contradictory row or -1, least diagonal of R
    choice (1 + m, or 1 if it is 0) : the number of rows left out, and which (see `active_rows`)
    """
    k = max(max(n, m), 1)
    factor, columns, rest = work + 0, work + k * k, work + (k * k + n * m)
    lengths, collected, y, residual = rest + 0, rest + k, rest + 2 * k, rest + 3 * k
    reached, spare = rest + 4 * k, rest + 6 * k
    info[0], info[1], info[2], info[3] = 0.0, 1.0, -1.0, 1.0
    for i in range(n):
        y[i] = f[i]
    pivot = cholesky(n, G, factor, PIVOT_TOLERANCE) if definite else -1.0
    if not pivot > DOUBTFUL_PIVOT and m > 0 and definite:
        pivot = augmented_cholesky(n, m, G, A, b, y, factor, spare, choice)
    if not pivot > DOUBTFUL_PIVOT:
        return solve_on_kernel(n, m, G, f, A, b, z, mu, gauge, work, order, info, choice)
    info[1] = pivot
    solve_lower(n, factor, y)
    if m == 0:
        for i in range(n):
            z[i] = y[i]
        solve_upper(n, factor, z)
        return REGULAR
    scaled_columns(n, m, A, columns, lengths, factor, True)
    compare_rows(n, m, columns, lengths, b, y, reached, residual)
    rank = pivoted_qr(n, m, columns, collected, order, RANK_TOLERANCE, lengths, choice, True)
    info[0] = rank
    # R^T s = residual on the independent rows, then R nu = s.
    s = reached + m
    info[3] = solve_independent_rows(n, rank, columns, order, residual, s)
    contradictory = rank < m and find_contradiction(
        n, m, rank, columns, order, lengths, b, reached, residual, info, choice
    )
    for i in range(n):
        spare[i] = s[i] if i < rank else 0.0
    solve_triangle(n, rank, columns, s)
    for j in range(m):
        mu[j] = 0.0
    for i in range(rank):
        mu[order[i]] = s[i] / lengths[order[i]]
    reflect(n, rank, columns, collected, spare, True)
    for i in range(n):
        z[i] = y[i] + spare[i]
    solve_upper(n, factor, z)
    if rank < m:
        least_norm_multipliers(m, rank, n, columns, order, lengths, mu, spare + n)
    return verdict(n, m, rank, z, contradictory)


@native
def compare_rows(
    n: int,
    m: int,
    columns: Reals,
    lengths: Reals,
    b: Reals,
    y: Reals,
    reached: Reals,
    residual: Reals,
) -> None:
    """What the unit rows reach without a reaction, and what they miss of their right-hand sides."""
    for j in range(m):
        total = 0.0
        for i in range(n):
            total += columns[j * n + i] * y[i]
        reached[j] = total
        residual[j] = (b[j] / lengths[j] if lengths[j] > 0.0 else b[j]) - total


@rare
def augmented_cholesky(
    n: int,
    m: int,
    G: Reals,
    A: Reals,
    b: Reals,
    y: Reals,
    factor: Reals,
    spare: Reals,
    choice: Integers,
) -> float:
    """Factor G + w A^T D A with unit rows, add w A^T D b to f: same z and mu, regular on ker A."""
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
        if length > 0.0 and (choice[0] == 0 or choice[1 + j] == 0):
            for i in range(n):
                share = weight / length * A[j * n + i]
                y[i] += share * b[j]
                for l in range(n):
                    sum_matrix[i * n + l] += share * A[j * n + l]
    return cholesky(n, sum_matrix, factor, PIVOT_TOLERANCE)
