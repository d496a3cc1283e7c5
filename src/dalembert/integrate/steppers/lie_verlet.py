r"""Verlet's method on a Lie group: two half steps by the same generator, taken where they meet.

    u = h A(exp(u/2) X exp(-u/2)),        X_new = exp(u) X exp(-u)

The first half is implicit and the second explicit, each the adjoint of the other, so that the method is symmetric and of
order 2; both halves stay on the orbit of X. Letters that no action moves take the midpoint rule with it. (E. Hairer, C. Lubich,
G. Wanner: Geometric Numerical Integration, IV.8.)
"""

from __future__ import annotations

from ...compiled.language import Integers, Reals, integers_at, native, reals_at
from ...compiled.native import STATE
from ..advance import STAGE, Y
from .isospectral import rest_increments, rest_sum
from .matrices import exponential_less_one
from .orbits import call_generators, moved_letters, settle_skew_factors, transpose_skew_factors
from .places import (
    ALGEBRA,
    GENERATOR_COLUMNS,
    GENERATOR_TABLE,
    GENERATORS,
    LEFT,
    MATRIX_WORK,
    MIX,
    N_GENERATORS,
    PLACE,
    RIGHT,
    SIZE,
    SKEW,
    SOURCE,
    UNKNOWN,
    WEIGHTS,
)

__all__ = ["exponential_factors", "verlet_end", "verlet_stage"]


@native
def exponential_factors(book: Integers, scale: float, unknowns: Reals) -> None:
    """LEFT <- exp(scale u) - 1 and RIGHT <- exp(-scale u) - 1 for the element u of each algebra."""
    algebra, work = reals_at(book[ALGEBRA]), reals_at(book[MATRIX_WORK])
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        n, source, place = table[SIZE], unknowns + table[UNKNOWN], table[PLACE]
        for e in range(n * n):
            algebra[e] = scale * source[e]
        exponential_less_one(n, table[SKEW] != 0, algebra, reals_at(book[LEFT]) + place, work)
        if table[SKEW] == 0:
            for e in range(n * n):
                algebra[e] = -algebra[e]
            exponential_less_one(n, False, algebra, reals_at(book[RIGHT]) + place, work)
    transpose_skew_factors(book)


@native
def scaled_generators(book: Integers, scale: float, out: Reals) -> None:
    """out <- scale times the generators, as unknowns."""
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        generator, target = reals_at(book[GENERATORS]) + table[SOURCE], out + table[UNKNOWN]
        for e in range(table[SIZE] * table[SIZE]):
            target[e] = scale * generator[e]


@native
def verlet_stage(book: Integers, t: float, h: float, unknowns: Reals, fresh: Reals) -> int:
    """fresh <- h A where the two halves meet, for the elements `unknowns` of the algebras."""
    y, stage = reals_at(book[Y]), reals_at(book[STAGE])
    exponential_factors(book, 0.5, unknowns)
    moved_letters(book, True, stage)
    rest_sum(book, reals_at(book[MIX]), unknowns, stage)
    for c in range(book[STATE]):
        stage[c] += y[c]
    call_generators(book, t + 0.5 * h, stage)
    scaled_generators(book, h, fresh)
    return rest_increments(book, t + 0.5 * h, h, stage, fresh)


@native
def verlet_end(book: Integers, unknowns: Reals, delta: Reals) -> None:
    """delta <- what the step adds to the state."""
    exponential_factors(book, 1.0, unknowns)
    settle_skew_factors(book)
    moved_letters(book, False, delta)
    rest_sum(book, reals_at(book[WEIGHTS]), unknowns, delta)
