"""The fields of steps by Radau's formulas."""

from __future__ import annotations

from ..codegen.native.language import Integers, Reals, Record

__all__ = ["RadauFields"]


class RadauFields(Record):
    """The tables of a method, its Newton matrices, and what a step keeps for the next.

    Increments of stages are rows (n_stages, n_state). `matrices` has the factors of the real
    matrix, then real and imaginary parts of each complex one. Entries of the Jacobian are ordered
    by colour: columns of one colour have no row in common, and are found by one evaluation.
    """

    n_stages: int
    # Tables of the method.
    real_value: float
    estimate_share: float
    nodes: Reals
    derivatives: Reals
    vectors: Reals
    inverse: Reals
    pairs: Reals
    error_weights: Reals
    # The Jacobian: programs of its entries and of its product with a column, zero where there is
    # none; how many entries and colours it has.
    jacobian_program: int
    tangent_program: int
    n_values: int
    n_colours: int
    value_rows: Integers
    value_columns: Integers
    colour_first: Integers
    values: Reals
    # The factors of mu - J.
    n_entries: int
    order: Integers
    row_first: Integers
    columns: Integers
    diagonals: Integers
    places: Integers
    matrices: Reals
    # Newton's method with a Jacobian for each stage: D/h (x) 1 - diag(J_i), its factors; where the
    # entries of each J_i and those of D stand; how many steps are still to be taken by it, and how
    # many after the next failure of the simplified one.
    n_block_entries: int
    block_order: Integers
    block_row_first: Integers
    block_columns: Integers
    block_diagonals: Integers
    block_places: Integers
    block_shifts: Integers
    block_values: Reals
    block_matrix: Reals
    block_work: Reals
    block_state: Reals
    block_rate: Reals
    blocks_left: int
    blocks_next: int
    # What is counted, and what is known: whether the Jacobian is that of the state where the step
    # begins, the step that the matrices are factored for (0: none), iterations and contraction of
    # the last Newton solve.
    n_factored: int
    n_iterations: int
    is_fresh: int
    wants_jacobian: int
    was_rejected: int
    h_factored: float
    h_limit: float
    contraction: float
    remainder: float
    # The last attempt, and the last accepted step: where it began, its size, where it ended in
    # parts of that size, its error, and how its size changed.
    t_begin: float
    h_now: float
    h_before: float
    end_before: float
    error_now: float
    error_before: float
    accepted: int
    increments: Reals
    increments_before: Reals
    increments_short: Reals
    stage_rates: Reals
    residual: Reals
    transformed: Reals
    estimated: Reals
    work: Reals
