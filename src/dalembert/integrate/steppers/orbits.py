"""Matrices that move by a group, X' = A X - X B: what the methods that stay on its orbits have in common.

A method finds factors g = 1 + L and h = 1 + R of each generator, g' = A g and h' = -h A, and a matrix becomes g X h with the
factors of its left and of its right side. Everything is written as what a step adds, so that a short step loses no digits:

    g X h - X = L X + (X + L X) R

Where a generator is skew, R is the transpose of L. Tables of a run (`actions.ActionTables`) say which letters stand where.
"""

from __future__ import annotations

from ...compiled.language import Integers, Reals, integers_at, native, reals_at
from ...compiled.native import INPUT_VALUES, INPUTS, TIME, run_program
from .matrices import add_product, orthogonal_less_one, transpose
from .places import (
    ACTION_COLUMNS,
    ACTION_TABLE,
    COLUMNS_OF,
    CONSTANTS,
    FILL_FACTORS,
    FILL_PLACES,
    FIRST_READ,
    GENERATOR_COLUMNS,
    GENERATOR_PROGRAM,
    GENERATOR_TABLE,
    GENERATORS,
    LAST_READ,
    LEFT,
    LEFT_OF,
    MATRICES,
    MATRIX_WORK,
    N_ACTIONS,
    N_ENTRIES,
    N_FILLS,
    N_GENERATORS,
    NEEDED,
    PLACE,
    PLACE_OF,
    READ_FACTORS,
    READ_PLACES,
    RIGHT,
    RIGHT_OF,
    ROWS_OF,
    SIZE,
    SKEW,
)

__all__ = ["call_generators", "fill_matrices", "moved_letters", "settle_skew_factors", "transpose_skew_factors"]


@native
def fill_matrices(book: Integers, y: Reals) -> None:
    """The matrices of the flow at the state y, into MATRICES."""
    matrices, constants, factors = reals_at(book[MATRICES]), reals_at(book[CONSTANTS]), reals_at(book[FILL_FACTORS])
    places = integers_at(book[FILL_PLACES])
    for e in range(book[N_ENTRIES]):
        matrices[e] = constants[e]
    for k in range(book[N_FILLS]):
        matrices[places[2 * k]] += factors[k] * y[places[2 * k + 1]]


@native
def call_generators(book: Integers, time: float, y: Reals) -> None:
    """The generators at a state, into GENERATORS."""
    clock = reals_at(book[TIME])
    clock[0] = time
    if book[INPUTS] != 0:
        run_program(book, book[INPUTS], y, reals_at(book[INPUT_VALUES]))
    run_program(book, book[GENERATOR_PROGRAM], y, reals_at(book[GENERATORS]))


@native
def settle_skew_factors(book: Integers) -> None:
    """The factors of a whole step: orthogonal to the last digit where generators are skew."""
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        if table[SKEW] != 0:
            orthogonal_less_one(table[SIZE], reals_at(book[LEFT]) + table[PLACE], reals_at(book[MATRIX_WORK]))
    transpose_skew_factors(book)


@native
def transpose_skew_factors(book: Integers) -> None:
    """RIGHT <- the transposes of LEFT where generators are skew."""
    for k in range(book[N_GENERATORS]):
        table = integers_at(book[GENERATOR_TABLE]) + k * GENERATOR_COLUMNS
        if table[SKEW] != 0:
            transpose(table[SIZE], reals_at(book[LEFT]) + table[PLACE], reals_at(book[RIGHT]) + table[PLACE])


@native
def moved_letters(book: Integers, is_stage: bool, delta: Reals) -> None:
    """delta <- what the factors LEFT and RIGHT add to the letters of MATRICES; other letters are not touched.

    At a stage, matrices that no rate depends on stay as they are.
    """
    places, factors = integers_at(book[READ_PLACES]), reals_at(book[READ_FACTORS])
    for a in range(book[N_ACTIONS]):
        table = integers_at(book[ACTION_TABLE]) + a * ACTION_COLUMNS
        rows, columns = table[ROWS_OF], table[COLUMNS_OF]
        for k in range(table[FIRST_READ], table[LAST_READ]):
            delta[places[2 * k]] = 0.0
        if is_stage and table[NEEDED] == 0:
            continue
        here, change = reals_at(book[MATRICES]) + table[PLACE_OF], reals_at(book[MATRIX_WORK])
        both = change + rows * columns
        for e in range(rows * columns):
            change[e] = 0.0
        if table[LEFT_OF] >= 0:
            generator = integers_at(book[GENERATOR_TABLE]) + table[LEFT_OF] * GENERATOR_COLUMNS
            add_product(rows, rows, columns, 1.0, reals_at(book[LEFT]) + generator[PLACE], here, change)
        if table[RIGHT_OF] >= 0:
            generator = integers_at(book[GENERATOR_TABLE]) + table[RIGHT_OF] * GENERATOR_COLUMNS
            for e in range(rows * columns):
                both[e] = here[e] + change[e]
            add_product(rows, columns, columns, 1.0, both, reals_at(book[RIGHT]) + generator[PLACE], change)
        for k in range(table[FIRST_READ], table[LAST_READ]):
            delta[places[2 * k]] += factors[k] * change[places[2 * k + 1]]
