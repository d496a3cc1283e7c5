"""Matrices that move by a group, X' = A X - X B: what the methods that stay on its orbits have in common.

A method finds factors g = 1 + L and h = 1 + R of each generator, g' = A g and h' = -h A, and a matrix becomes g X h with the
factors of its left and of its right side. Everything is written as what a step adds, so that a short step loses no digits:

    g X h - X = L X + (X + L X) R

Where a generator is skew, R is the transpose of L. Tables of a run (`actions.ActionTables`) say which symbols stand where.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native
from ....runtime.projection import run_program
from ...run_fields import FixedFields
from ..fixed.fixed_fields import (
    ACTION_COLUMNS,
    COLUMNS_OF,
    FIRST_READ,
    GENERATOR_COLUMNS,
    LAST_READ,
    LEFT_OF,
    NEEDED,
    PLACE,
    PLACE_OF,
    RIGHT_OF,
    ROWS_OF,
    SIZE,
    SKEW,
)
from .matrices import add_product, orthogonal_less_one, transpose

__all__ = ["call_generators", "fill_matrices", "moved_symbols", "refine_skew_factors", "transpose_skew_factors"]


@native
def fill_matrices(context: FixedFields, y: Reals) -> None:
    """The matrices of the flow at the state y, into MATRICES."""
    matrices, constants, factors = context.matrices, context.constants, context.fill_factors
    places = context.fill_places
    for e in range(context.n_entries):
        matrices[e] = constants[e]
    for k in range(context.n_fills):
        matrices[places[2 * k]] += factors[k] * y[places[2 * k + 1]]


@native
def call_generators(context: FixedFields, time: float, y: Reals) -> None:
    """The generators at a state, into GENERATORS."""
    clock = context.time
    clock[0] = time
    if context.inputs != 0:
        run_program(context, context.inputs, y, context.input_values)
    run_program(context, context.generator_program, y, context.generators)


@native
def refine_skew_factors(context: FixedFields) -> None:
    """The factors of a whole step: orthogonal to the last digit where generators are skew."""
    for k in range(context.n_generators):
        table = context.generator_table + k * GENERATOR_COLUMNS
        if table[SKEW] != 0:
            orthogonal_less_one(table[SIZE], context.left + table[PLACE], context.matrix_work)
    transpose_skew_factors(context)


@native
def transpose_skew_factors(context: FixedFields) -> None:
    """RIGHT <- the transposes of LEFT where generators are skew."""
    for k in range(context.n_generators):
        table = context.generator_table + k * GENERATOR_COLUMNS
        if table[SKEW] != 0:
            transpose(table[SIZE], context.left + table[PLACE], context.right + table[PLACE])


@native
def moved_symbols(context: FixedFields, is_stage: bool, delta: Reals) -> None:
    """delta <- what the factors LEFT and RIGHT add to the symbols of MATRICES; other symbols are not touched.

    At a stage, matrices that no rate depends on stay as they are.
    """
    places, factors = context.read_places, context.read_factors
    for a in range(context.n_actions):
        table = context.action_table + a * ACTION_COLUMNS
        rows, columns = table[ROWS_OF], table[COLUMNS_OF]
        for k in range(table[FIRST_READ], table[LAST_READ]):
            delta[places[2 * k]] = 0.0
        if is_stage and table[NEEDED] == 0:
            continue
        here, change = context.matrices + table[PLACE_OF], context.matrix_work
        both = change + rows * columns
        for e in range(rows * columns):
            change[e] = 0.0
        if table[LEFT_OF] >= 0:
            generator = context.generator_table + table[LEFT_OF] * GENERATOR_COLUMNS
            add_product(rows, rows, columns, 1.0, context.left + generator[PLACE], here, change)
        if table[RIGHT_OF] >= 0:
            generator = context.generator_table + table[RIGHT_OF] * GENERATOR_COLUMNS
            for e in range(rows * columns):
                both[e] = here[e] + change[e]
            add_product(rows, columns, columns, 1.0, both, context.right + generator[PLACE], change)
        for k in range(table[FIRST_READ], table[LAST_READ]):
            delta[places[2 * k]] += factors[k] * change[places[2 * k + 1]]
