r"""The Runge-Kutta-Munthe-Kaas method of order 4: the classical Runge-Kutta method in the Lie algebra.

    X = exp(u) X_n exp(-u),        u' = dexp_u^-1 A(X) = A - [u, A]/2 + [u, [u, A]]/12 + ...,        u = 0 at X_n

Letters that no action moves take the classical method. (H. Munthe-Kaas, Appl. Numer. Math. 29 (1999) 115-127; E. Hairer,
C. Lubich, G. Wanner: Geometric Numerical Integration, IV.8.2.)
"""

from __future__ import annotations

from ...compiled.language import Integers, Reals, integers_at, native, reals_at
from ...compiled.native import STATE
from ..advance import STAGE, Y
from .isospectral import rest_increments
from .lie_verlet import exponential_factors, scaled_generators
from .matrices import bracket
from .orbits import call_generators, moved_letters, settle_skew_factors
from .places import (
    DELTA,
    FRESH,
    GENERATOR_COLUMNS,
    GENERATOR_TABLE,
    MATRIX_WORK,
    N_GENERATORS,
    N_REST,
    N_UNKNOWNS,
    REST,
    SIZE,
    UNKNOWN,
    UNKNOWNS_NOW,
)

__all__ = ["munthe_kaas_step"]


@native
def from_the_group(book: Integers, u: Reals, rate: Reals) -> None:
    """rate <- dexp_u^-1 rate, to the second bracket, for each algebra."""
    work = reals_at(book[MATRIX_WORK])
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        n, here, change = table[SIZE], u + table[UNKNOWN], rate + table[UNKNOWN]
        once, twice = work, work + n * n
        bracket(n, here, change, once)
        bracket(n, here, once, twice)
        for e in range(n * n):
            change[e] += twice[e] / 12.0 - 0.5 * once[e]


@native
def displaced(book: Integers, is_stage: bool, u: Reals, delta: Reals) -> None:
    """delta <- what the element u of the algebra and of the other letters adds to the state."""
    rest, first = integers_at(book[REST]), book[N_UNKNOWNS] - book[N_REST]
    exponential_factors(book, 1.0, u)
    if not is_stage:
        settle_skew_factors(book)
    moved_letters(book, is_stage, delta)
    for r in range(book[N_REST]):
        delta[rest[r]] = u[first + r]


@native
def munthe_kaas_step(book: Integers, t: float, h: float) -> int:
    """DELTA <- what a step adds to the state. The unknowns are two rows: the sum of the stages, and the argument."""
    width, y, stage = book[N_UNKNOWNS], reals_at(book[Y]), reals_at(book[STAGE])
    total, fresh = reals_at(book[UNKNOWNS_NOW]), reals_at(book[FRESH])
    u = total + width
    for e in range(width):
        total[e] = 0.0
        u[e] = 0.0
    for s in range(4):
        reach = 0.0 if s == 0 else (1.0 if s == 3 else 0.5)
        weight = 1.0 / 6.0 if s == 0 or s == 3 else 1.0 / 3.0
        for c in range(book[STATE]):
            stage[c] = y[c]
        if s > 0:
            for e in range(width):
                u[e] = reach * fresh[e]
            displaced(book, True, u, stage)
            for c in range(book[STATE]):
                stage[c] += y[c]
        call_generators(book, t + reach * h, stage)
        scaled_generators(book, h, fresh)
        status = rest_increments(book, t + reach * h, h, stage, fresh)
        if status != 0:
            return status
        from_the_group(book, u, fresh)
        for e in range(width):
            total[e] += weight * fresh[e]
    displaced(book, False, total, reals_at(book[DELTA]))
    return 0
