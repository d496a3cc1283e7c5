"""What a constrained solve may find, and what follows from rows that depend on each other.

Where rank A < m the multipliers are not unique, and the smallest are taken; a right side that the
independent rows do not imply excludes every solution. The rank itself is found in `factorisations`.
"""

from __future__ import annotations

from math import sqrt

from ...codegen.native.language import Integers, Reals, native, rare
from .factorisations import INFINITY

__all__ = [
    "CONTRADICTION_TOLERANCE",
    "CONTRADICTORY",
    "DEPENDENT",
    "REGULAR",
    "SINGULAR",
    "find_contradiction",
    "least_norm_multipliers",
    "verdict",
]

#: A dependent row contradicts the others if its right-hand side misses theirs by more, relatively.
CONTRADICTION_TOLERANCE = 1e-6

#: Solve status: unique; multipliers not unique; contradictory rows; no unique solution.
REGULAR, DEPENDENT, CONTRADICTORY, SINGULAR = 0, 1, 2, 3


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
    choice: Integers,
) -> bool:
    """The worst dependent active row whose right-hand side the others do not imply."""
    worst = 0.0
    place = -1
    for j in range(rank, m):
        row = order[j]
        if choice[0] > 0 and choice[1 + row] != 0:
            continue
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


@rare
def least_norm_multipliers(
    m: int,
    rank: int,
    n: int,
    columns: Reals,
    order: Integers,
    lengths: Reals,
    mu: Reals,
    work: Reals,
) -> None:
    """Remove from mu its part in the null space of A^T: the least mu with the same reaction.

    The null space is spanned by e_j - (combination of the independent columns), one vector for each
    dependent row.
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
def verdict(n: int, m: int, rank: int, z: Reals, contradictory: bool) -> int:
    """What a solve that came to its end has found."""
    for i in range(n):
        if not abs(z[i]) < INFINITY:
            return SINGULAR
    if contradictory:
        return CONTRADICTORY
    return DEPENDENT if rank < m else REGULAR
