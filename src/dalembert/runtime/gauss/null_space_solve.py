r"""The constrained solve on a basis of ker A, for a metric that is indefinite, or in doubt.

    z = S (Q1 R^-T b + Q2 x),      Q2^T S G S Q2 x = Q2^T S (f - G S Q1 R^-T b),      A S = R^T Q1^T

S are units of the unknowns in which G is of size one, [Q1 Q2] the reflections of `pivoted_qr`
applied to (A S)^T. The small symmetric problem for x is solved by pivoted reflections as well, so
that its rank is reported too; vakonomic problems and gauges come here.
"""

from __future__ import annotations

from math import sqrt

from ...codegen.native.language import Integers, Reals, native, rare
from .factorisations import (
    INFINITY,
    RANK_TOLERANCE,
    pivoted_qr,
    reflect,
    scaled_columns,
    solve_independent_rows,
    solve_triangle,
)
from .solve_status import SINGULAR, find_contradiction, least_norm_multipliers, verdict

__all__ = ["solve_on_kernel"]

#: What is smaller than this part of the terms that it is the sum of is rounding.
ROUNDING = 1e-15


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
    choice: Integers,
) -> int:
    """Solve on ker A: z = S (Q1 R^-T b + Q2 x), Q2^T S G S Q2 x = Q2^T S (f - G S Q1 R^-T b)."""
    k = max(max(n, m), 1)
    reduced, columns, rest = work + 0, work + k * k, work + (k * k + n * m)
    lengths, collected, s, right = rest + 0, rest + k, rest + 2 * k, rest + 3 * k
    vector, reached, inner_collected, unit = rest + 4 * k, rest + 5 * k, rest + 7 * k, rest + 8 * k
    basis = rest + 9 * k
    spare = basis + n * n
    equilibrate(n, m, G, A, unit)
    scaled_columns(n, m, A, columns, lengths, unit, False)
    rank = pivoted_qr(n, m, columns, collected, order, RANK_TOLERANCE, lengths, choice, True)
    info[0] = rank
    for j in range(m):
        reached[j] = 0.0
        right[j] = b[j] / lengths[j] if lengths[j] > 0.0 else b[j]
    info[3] = solve_independent_rows(n, rank, columns, order, right, reached + m)
    for i in range(n):
        s[i] = reached[m + i] if i < rank else 0.0
    contradictory = rank < m and find_contradiction(
        n, m, rank, columns, order, lengths, b, reached, right, info, choice
    )
    reflect(n, rank, columns, collected, s, True)
    for j in range(n):
        for i in range(n):
            basis[j * n + i] = 1.0 if i == j else 0.0
        reflect(n, rank, columns, collected, basis + j * n, True)
    free = n - rank
    for i in range(n):
        total = f[i]
        for l in range(n):
            total -= G[i * n + l] * unit[l] * s[l]
        right[i] = unit[i] * total
    metric_on_basis(n, free, G, unit, basis + rank * n, reduced, vector)
    inner_rank = solve_symmetric(
        free, rank, n, reduced, basis, right, vector, inner_collected, spare, order + k, gauge, info
    )
    if inner_rank < 0:
        return SINGULAR
    for i in range(n):
        total = s[i]
        for a in range(free):
            total += basis[(rank + a) * n + i] * vector[a]
        z[i] = unit[i] * total
    shorten(free, inner_rank, n, reduced, order + k, basis + rank * n, unit, z, spare + 2 * k)
    multipliers_from_balance(
        n, m, rank, G, f, z, mu, columns, collected, order, lengths, unit, right
    )
    if rank < m:
        least_norm_multipliers(m, rank, n, columns, order, lengths, mu, rest + 8 * k)
    return verdict(n, m, rank, z, contradictory)


@rare
def metric_on_basis(
    n: int, free: int, G: Reals, unit: Reals, basis: Reals, reduced: Reals, vector: Reals
) -> None:
    """Q2^T S G S Q2 (free*free), for Q2 whose columns stand one after the other in `basis`.

    What is left of terms that cancel to rounding is zero: an indefinite G may vanish on ker A.
    """
    for a in range(free):
        peak = 0.0
        for i in range(n):
            total, size = 0.0, 0.0
            for l in range(n):
                term = G[i * n + l] * unit[l] * basis[a * n + l]
                total += term
                size += abs(term)
            vector[i] = unit[i] * total
            peak = max(peak, unit[i] * size)
        for c in range(free):
            total, size = 0.0, 0.0
            for i in range(n):
                total += basis[c * n + i] * vector[i]
                size += abs(basis[c * n + i])
            reduced[a * free + c] = total if abs(total) > ROUNDING * peak * size else 0.0


@native
def equilibrate(n: int, m: int, G: Reals, A: Reals, unit: Reals) -> None:
    """Scale the unknowns by S so that each row of S G S has a largest entry near one (Ruiz).

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


@rare
def solve_symmetric(
    free: int,
    rank: int,
    n: int,
    reduced: Reals,
    basis: Reals,
    right: Reals,
    x: Reals,
    collected: Reals,
    spare: Reals,
    order: Integers,
    gauge: bool,
    info: Reals,
) -> int:
    """Solve reduced @ x = Q2^T right by pivoted reflections; the rank, or -1 if insoluble."""
    largest = 0.0
    for i in range(free * free):
        largest = max(largest, abs(reduced[i]))
    load = spare + 0
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
        if gauge and largest == 0.0 and size == 0.0:
            return 0
        info[1] = 0.0
        return -1
    inner_rank = pivoted_qr(
        free, free, reduced, collected, order, RANK_TOLERANCE * largest, collected, order, False
    )
    info[1] = (
        abs(reduced[(inner_rank - 1) * free + inner_rank - 1]) / largest
        if inner_rank == free
        else 0.0
    )
    if inner_rank < free and not gauge:
        return -1
    reflect(free, inner_rank, reduced, collected, load, False)
    for a in range(inner_rank, free):
        if abs(load[a]) > 1e-9 * (size + 1e-300):
            return -1
    solve_triangle(free, inner_rank, reduced, load)
    for a in range(inner_rank):
        x[order[a]] = load[a]
    return inner_rank


@native
def shorten(
    free: int,
    rank: int,
    n: int,
    reduced: Reals,
    order: Integers,
    basis: Reals,
    unit: Reals,
    z: Reals,
    work: Reals,
) -> None:
    """Take out of z what the equations leave open, so that it is the smallest solution.

    That is spanned by S Q2 v with v in the null space of `reduced`, which `pivoted_qr` has
    factored.
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
    collected: Reals,
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
    reflect(n, rank, columns, collected, balance, False)
    for j in range(m):
        mu[j] = 0.0
    for i in range(rank - 1, -1, -1):
        total = balance[i]
        for l in range(i + 1, rank):
            total -= columns[l * n + i] * mu[order[l]] * lengths[order[l]]
        mu[order[i]] = total / columns[i * n + i] / lengths[order[i]]
