r"""The implicit equations of one step, solved to rounding: U_i = F_i(U_1, ..., U_s), rows of increments.

The guess continues the polynomial through the rates of the steps before. Sweeps take each stage at once, and go on until they
come no closer to what was there a sweep before: a tolerance would leave a part that is the same in every step and adds up
(E. Hairer, R. McLachlan, A. Razakarivony, BIT 48 (2008) 231-243). Where sweeps do not contract, `newton` takes over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiled.language import Integers, Reals, integers_at, native, reals_at
from ...compiled.native import STATE
from ...compiled.verdicts import SINGULAR
from ..advance import COUNTS, EVALUATIONS, Y
from .gauss import gauss_stage
from .isospectral import isospectral_end, isospectral_stage, transported
from .lie_verlet import verlet_end, verlet_stage
from .newton import newton_solve
from .orbits import fill_matrices
from .places import (
    BEFORE,
    BEFORE_LAST,
    DELTA,
    FRESH,
    GAUSS,
    GUESS,
    ISOSPECTRAL,
    KIND,
    LEAST,
    LONG_GUESS,
    N_STAGES,
    N_UNKNOWNS,
    NEWTON,
    NOT_CONTRACTING,
    REMEMBERED,
    SWEEPS,
    UNKNOWNS_NOW,
)

__all__ = ["implicit_step"]

#: The most sweeps of a step; a contraction that needs more costs more than Newton's method.
MOST_SWEEPS = 30
#: Sweeps that come to rest with a change above this part of the increments have not converged.
CONVERGED = 1e-11
#: Near an equilibrium there are no increments; changes below this part of the letters themselves are rounding.
REST = 2e-15
#: Sweeps are at rest where all changes together fall by less than this, or no single one falls.
STAGNANT = 0.8

INFINITY = float("inf")
ONES: Any = np.ones(3)


@native
def stage_increments(book: Integers, i: int, t: float, h: float, unknowns: Reals, fresh: Reals) -> int:
    """fresh <- the increments of stage i, by the method of the run."""
    if book[KIND] == GAUSS:
        return gauss_stage(book, i, t, h, unknowns, fresh)
    if book[KIND] == ISOSPECTRAL:
        return isospectral_stage(book, i, t, h, unknowns, fresh)
    return verlet_stage(book, t, h, unknowns, fresh)


@native
def first_guess(book: Integers, t: float, h: float, unknowns: Reals) -> int:
    """The unknowns from the steps before, or from one sweep from zero."""
    counts = integers_at(book[COUNTS])
    stages, width = book[N_STAGES], book[N_UNKNOWNS]
    if counts[REMEMBERED] == 0:
        for c in range(stages * width):
            unknowns[c] = 0.0
        for i in range(stages):
            status = stage_increments(book, i, t, h, unknowns, unknowns + i * width)
            if status != 0:
                return status
        counts[EVALUATIONS] += stages
        return 0
    before, earlier = reals_at(book[BEFORE]), reals_at(book[BEFORE_LAST])
    is_long = counts[REMEMBERED] > 1
    for i in range(stages):
        row = unknowns + i * width
        for c in range(width):
            row[c] = 0.0
        for j in range(stages):
            source = before + j * width
            if is_long:
                weight = reals_at(book[LONG_GUESS])[i * 2 * stages + stages + j]
                past = reals_at(book[LONG_GUESS])[i * 2 * stages + j]
                other = earlier + j * width
                for c in range(width):
                    row[c] += weight * source[c] + past * other[c]
            else:
                weight = reals_at(book[GUESS])[i * stages + j]
                for c in range(width):
                    row[c] += weight * source[c]
    return 0


@native
def size_of(book: Integers) -> float:
    """The sum of the sizes of the letters."""
    y, total = reals_at(book[Y]), 0.0
    for c in range(book[STATE]):
        total += abs(y[c])
    return total


@native
def sweep(book: Integers, t: float, h: float) -> int:
    """UNKNOWNS_NOW <- the solution by sweeps; NOT_CONTRACTING where they do not converge."""
    counts = integers_at(book[COUNTS])
    stages, width = book[N_STAGES], book[N_UNKNOWNS]
    unknowns, fresh, least = reals_at(book[UNKNOWNS_NOW]), reals_at(book[FRESH]), reals_at(book[LEAST])
    for c in range(stages * width):
        least[c] = INFINITY
    size = size_of(book)
    before = INFINITY
    for _ in range(MOST_SWEEPS):
        is_closer = False
        change, total = 0.0, 0.0
        for i in range(stages):
            row, nearest = unknowns + i * width, least + i * width
            status = stage_increments(book, i, t, h, unknowns, fresh)
            if status != 0:  # a stage that ran away has no rates
                return NOT_CONTRACTING if status == SINGULAR else status
            for c in range(width):
                difference = abs(fresh[c] - row[c])
                row[c] = fresh[c]
                total += abs(fresh[c])
                change += difference
                if difference < nearest[c]:
                    nearest[c] = difference
                    if difference > 0.0:
                        is_closer = True
        counts[SWEEPS] += 1
        counts[EVALUATIONS] += stages
        is_small = change <= CONVERGED * total + REST * size and total < INFINITY
        if not is_closer or (is_small and change > STAGNANT * before):
            return 0 if is_small else NOT_CONTRACTING
        before = change
    return NOT_CONTRACTING


@native
def implicit_step(book: Integers, t: float, h: float) -> int:
    """DELTA <- what a step from (t, y) adds to the state. Returns 0, or a status of `native`, `verdicts` or `places`."""
    counts, unknowns = integers_at(book[COUNTS]), reals_at(book[UNKNOWNS_NOW])
    if book[KIND] != GAUSS:
        fill_matrices(book, reals_at(book[Y]))
    status = NOT_CONTRACTING
    if book[NEWTON] == 0:
        status = first_guess(book, t, h, unknowns)
        if status == 0:
            status = sweep(book, t, h)
        if counts[REMEMBERED] > 0 and (status == NOT_CONTRACTING or status == SINGULAR):
            counts[REMEMBERED] = 0
            status = first_guess(book, t, h, unknowns)
            if status == 0:
                status = sweep(book, t, h)
    else:
        for c in range(book[N_STAGES] * book[N_UNKNOWNS]):  # where sweeps do not contract, no polynomial foretells the rates
            unknowns[c] = 0.0
        status = newton_solve(book, t, h)
    if status == 0:
        end_of_step(book)
    return status


@native
def end_of_step(book: Integers) -> None:
    """DELTA from the unknowns of a step, which are remembered for the guesses of the next."""
    counts, delta, unknowns = integers_at(book[COUNTS]), reals_at(book[DELTA]), reals_at(book[UNKNOWNS_NOW])
    if book[KIND] == GAUSS:
        width = book[N_UNKNOWNS]
        for c in range(width):
            total = 0.0
            for i in range(book[N_STAGES]):
                total += unknowns[i * width + c]
            delta[c] = total
    elif book[KIND] == ISOSPECTRAL:
        isospectral_end(book, ONES, unknowns, delta)
        transported(book, unknowns)
        if counts[REMEMBERED] > 0:
            transported(book, reals_at(book[BEFORE]))
    else:
        verlet_end(book, unknowns, delta)
    book[BEFORE_LAST], book[BEFORE], book[UNKNOWNS_NOW] = book[BEFORE], book[UNKNOWNS_NOW], book[BEFORE_LAST]
    counts[REMEMBERED] = min(counts[REMEMBERED] + 1, 2)
