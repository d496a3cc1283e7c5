r"""Isospectral symplectic Runge-Kutta methods for matrices that move by a group, X' = A X - X B.

Each generator A has factors g' = A g and h' = -h A with h g = 1. Gauss's method is applied to both,

    L_i = h b_i A_i G_i,    G_i = 1 + sum_j mu_ij L_j,        R_i = -h b_i H_i A_i,    H_i = 1 + sum_j mu_ij R_j,

with A_i at the stage G_i X H_i, and X_new = g X h with g = 1 + sum L_j, h = 1 + sum R_j. It keeps h g = 1, which is quadratic:
a step is a similarity, and keeps the spectrum; one stage is Cayley's transform. Letters that no action moves take Gauss's
method itself. K. Modin, M. Viviani: Lie-Poisson methods for isospectral flows, Found. Comput. Math. 20 (2020) 889-921, where
X stands for a reduced point of the cotangent bundle of GL(n).
"""

from __future__ import annotations

from ...compiled.language import Integers, Reals, integers_at, native, reals_at
from ...compiled.native import MISSING, STATE, evaluate
from ...compiled.verdicts import CONTRADICTORY, SINGULAR
from ..advance import STAGE, STAGES, Y
from .matrices import add_product
from .orbits import call_generators, moved_letters, settle_skew_factors, transpose_skew_factors
from .places import (
    GENERATOR_COLUMNS,
    GENERATOR_TABLE,
    GENERATORS,
    LEFT,
    MATRIX_WORK,
    MIX,
    N_GENERATORS,
    N_REST,
    N_STAGES,
    N_UNKNOWNS,
    NODES,
    PLACE,
    REST,
    RIGHT,
    SIZE,
    SKEW,
    SOURCE,
    UNKNOWN,
    WEIGHTS,
)

__all__ = ["isospectral_end", "isospectral_stage", "rest_increments", "rest_sum", "transported"]


@native
def combined_factors(book: Integers, weights: Reals, unknowns: Reals) -> None:
    """LEFT and RIGHT <- the sums over the stages of weights times the unknowns."""
    width = book[N_UNKNOWNS]
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        size = table[SIZE] * table[SIZE]
        left, right = reals_at(book[LEFT]) + table[PLACE], reals_at(book[RIGHT]) + table[PLACE]
        for e in range(size):
            left[e] = 0.0
            right[e] = 0.0
        for j in range(book[N_STAGES]):
            row = unknowns + (j * width + table[UNKNOWN])
            for e in range(size):
                left[e] += weights[j] * row[e]
            if table[SKEW] == 0:
                row = row + size
                for e in range(size):
                    right[e] += weights[j] * row[e]
    transpose_skew_factors(book)


@native
def rest_sum(book: Integers, weights: Reals, unknowns: Reals, delta: Reals) -> None:
    """delta of the letters that no action moves <- the sums over the stages of weights times the unknowns."""
    width, rest = book[N_UNKNOWNS], integers_at(book[REST])
    for r in range(book[N_REST]):
        total = 0.0
        for j in range(book[N_STAGES]):
            total += weights[j] * unknowns[(j + 1) * width - book[N_REST] + r]
        delta[rest[r]] = total


@native
def rest_increments(book: Integers, time: float, scale: float, y: Reals, fresh: Reals) -> int:
    """The last places of fresh <- scale times the rates of the letters that no action moves."""
    if book[N_REST] == 0:
        return 0
    rest, rate = integers_at(book[REST]), reals_at(book[STAGES])
    status = evaluate(book, time, y, rate)
    if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
        return status
    first = book[N_UNKNOWNS] - book[N_REST]
    for r in range(book[N_REST]):
        fresh[first + r] = scale * rate[rest[r]]
    return 0


@native
def isospectral_stage(book: Integers, i: int, t: float, h: float, unknowns: Reals, fresh: Reals) -> int:
    """fresh <- the increments of the factors at stage i of the increments `unknowns` (stages x n_unknowns)."""
    ns, stages = book[STATE], book[N_STAGES]
    y, stage = reals_at(book[Y]), reals_at(book[STAGE])
    mix, nodes, weights = reals_at(book[MIX]) + i * stages, reals_at(book[NODES]), reals_at(book[WEIGHTS])
    combined_factors(book, mix, unknowns)
    moved_letters(book, True, stage)
    rest_sum(book, mix, unknowns, stage)
    for c in range(ns):
        stage[c] += y[c]
    time, scale = t + nodes[i] * h, h * weights[i]
    call_generators(book, time, stage)
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        n, size = table[SIZE], table[SIZE] * table[SIZE]
        generator, out = reals_at(book[GENERATORS]) + table[SOURCE], fresh + table[UNKNOWN]
        for e in range(size):
            out[e] = scale * generator[e]
        add_product(n, n, n, scale, generator, reals_at(book[LEFT]) + table[PLACE], out)
        if table[SKEW] == 0:
            out = out + size
            for e in range(size):
                out[e] = -scale * generator[e]
            add_product(n, n, n, -scale, reals_at(book[RIGHT]) + table[PLACE], generator, out)
    return rest_increments(book, time, scale, stage, fresh)


@native
def isospectral_end(book: Integers, ones: Reals, unknowns: Reals, delta: Reals) -> None:
    """delta <- what the step adds to the state."""
    combined_factors(book, ones, unknowns)
    settle_skew_factors(book)
    moved_letters(book, False, delta)
    rest_sum(book, ones, unknowns, delta)


@native
def transported(book: Integers, unknowns: Reals) -> None:
    """The increments of a step before as seen from its end: L_i <- L_i h, R_i <- g R_i, with g and h of the last step."""
    width, work = book[N_UNKNOWNS], reals_at(book[MATRIX_WORK])
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        n, size = table[SIZE], table[SIZE] * table[SIZE]
        for j in range(book[N_STAGES]):
            row = unknowns + (j * width + table[UNKNOWN])
            for e in range(size):
                work[e] = row[e]
            add_product(n, n, n, 1.0, work, reals_at(book[RIGHT]) + table[PLACE], row)
            if table[SKEW] == 0:
                row = row + size
                for e in range(size):
                    work[e] = row[e]
                add_product(n, n, n, 1.0, reals_at(book[LEFT]) + table[PLACE], work, row)
