"""Matrices that move by a group, X' = A X - X B: what the methods that stay on its orbits have in
common.

A method finds factors g = 1 + L and h = 1 + R of each generator, g' = A g and h' = -h A, and a
matrix becomes g X h with the factors of its left and of its right side. Everything is written as
what a step adds, so that a short step loses no digits:

    g X h - X = L X + (X + L X) R

Where a generator is skew, R is the transpose of L. Tables of a run (`actions.ActionTables`) say
which symbols stand where.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native
from ....runtime.projection import fill_inputs, run_program
from ...run_fields import FixedFields
from .matrices import add_product, orthogonal_less_one, transpose

__all__ = [
    "call_generators",
    "fill_matrices",
    "moved_symbols",
    "refine_skew_factors",
    "transpose_skew_factors",
]


@native
def fill_matrices(context: FixedFields, y: Reals) -> None:
    """matrices <- those of the flow at the state y."""
    matrices, constants, factors = context.matrices, context.constants, context.fill_factors
    places = context.fill_places
    for e in range(context.n_entries):
        matrices[e] = constants[e]
    for k in range(context.n_fills):
        matrices[places[2 * k]] += factors[k] * y[places[2 * k + 1]]


@native
def call_generators(context: FixedFields, time: float, y: Reals) -> None:
    """generators <- those at a state."""
    clock = context.time
    clock[0] = time
    if context.inputs != 0:
        fill_inputs(context, y)
    run_program(context, context.generator_program, y, context.generators)


@native
def refine_skew_factors(context: FixedFields) -> None:
    """The factors of a whole step: orthogonal to the last digit where generators are skew."""
    for k in range(context.n_generators):
        if context.generator_skew[k] != 0:
            orthogonal_less_one(
                context.generator_size[k],
                context.left + context.generator_place[k],
                context.matrix_work,
            )
    transpose_skew_factors(context)


@native
def transpose_skew_factors(context: FixedFields) -> None:
    """RIGHT <- the transposes of LEFT where generators are skew."""
    for k in range(context.n_generators):
        if context.generator_skew[k] != 0:
            transpose(
                context.generator_size[k],
                context.left + context.generator_place[k],
                context.right + context.generator_place[k],
            )


@native
def moved_symbols(context: FixedFields, is_stage: bool, delta: Reals) -> None:
    """delta <- what the factors LEFT and RIGHT add to the symbols of MATRICES; other symbols are
    not touched.

    At a stage, matrices that no rate depends on stay as they are.
    """
    places, factors = context.read_places, context.read_factors
    for a in range(context.n_actions):
        rows, columns = context.action_rows[a], context.action_columns[a]
        first_read, last_read = context.action_first_read[a], context.action_last_read[a]
        for k in range(first_read, last_read):
            delta[places[2 * k]] = 0.0
        if is_stage and context.action_needed[a] == 0:
            continue
        left, right = context.action_left[a], context.action_right[a]
        here, change = context.matrices + context.action_place[a], context.matrix_work
        both = change + rows * columns
        for e in range(rows * columns):
            change[e] = 0.0
        if left >= 0:
            factor = context.left + context.generator_place[left]
            add_product(rows, rows, columns, 1.0, factor, here, change)
        if right >= 0:
            for e in range(rows * columns):
                both[e] = here[e] + change[e]
            factor = context.right + context.generator_place[right]
            add_product(rows, columns, columns, 1.0, both, factor, change)
        for k in range(first_read, last_read):
            delta[places[2 * k]] += factors[k] * change[places[2 * k + 1]]
