"""Where the fixed-step methods find their arrays, tables and sizes: places in the book of a run, after those of `advance`."""

from __future__ import annotations

from ..advance import BOOK_SIZE

__all__ = ["FIXED_BOOK_SIZE"]

# Addresses of working arrays of the loop and of the collocation methods,
(
    LOW, DELTA, UNKNOWNS_NOW, FRESH, LEAST, BEFORE, BEFORE_LAST, NODES, WEIGHTS, MIX, GUESS, LONG_GUESS,
    # of Newton's method,
    JACOBIAN, FACTOR, HEADS, FACTOR_ORDER, RESIDUAL,
    # of the matrices that move by a group,
    GENERATOR_TABLE, ACTION_TABLE, FILL_PLACES, FILL_FACTORS, READ_PLACES, READ_FACTORS, REST, CONSTANTS, MATRICES,
    GENERATORS, LEFT, RIGHT, ALGEBRA, MATRIX_WORK,
    # of steps by positions,
    SUBSTEP, SUBSTEP_END, FORCES, LOST, FIELD_PROGRAM, SUBSTEP_PROGRAM, VELOCITY_PROGRAM, N_CONDITIONS, N_DIRECTIONS,
    # the program of the generators; sizes and switches.
    GENERATOR_PROGRAM, N_GENERATORS, N_ACTIONS, N_ENTRIES, N_FILLS, N_REST, ALGEBRA_SIZE,
    KIND, N_STAGES, N_UNKNOWNS, N_STEPS, EVERY, NEWTON, AT_NUMBERS,
    # of steps whose equations are programs: roots now, a step and two steps before, factors of their matrices.
    ROOT_TABLE, N_ROOT_STAGES, ROOT_BEGIN, ROOT_END, ROOT_WIDTH, ROOT_STEP, ROOT_INPUT, ROOTS_NOW, ROOTS_BEFORE, ROOTS_EARLIER,
    ROOT_FACTORS, ROOT_HEADS, ROOT_SCALES, ROOT_ORDER, ROOT_KEPT, ROOT_RESIDUAL,
) = range(BOOK_SIZE, BOOK_SIZE + 70)  # fmt: skip
FIXED_BOOK_SIZE = BOOK_SIZE + 70

# Of the control of steps that is reversible: its program and its numbers.
CONTROL_PROGRAM, CONTROL = range(FIXED_BOOK_SIZE, FIXED_BOOK_SIZE + 2)
FIXED_BOOK_SIZE += 2

# Kinds of methods.
GAUSS, ISOSPECTRAL, LIE_VERLET, RKMK, RATTLE, ROOTS = range(6)

# Further counts of a run: the number of the step, sweeps of the implicit equations, steps that the guess may use, whether
# Newton's matrix is factored, the number of the next step that is stored.
NUMBER, SWEEPS, REMEMBERED, FACTORED, NEXT_STORED = range(8, 13)
COUNTS_SIZE = 13
# Further places in the clock.
T_BEGIN = 7

# Columns of the table of generators: size, place in the output of their program, place among the unknowns, place among the
# factors, whether they are skew;
SIZE, SOURCE, UNKNOWN, PLACE, SKEW = range(5)
GENERATOR_COLUMNS = 5
# and of the table of actions: rows, columns, generator on either side or -1, place among the matrices, where the letters that
# it reads begin and end, whether rates depend on them, so that stages need them.
ROWS_OF, COLUMNS_OF, LEFT_OF, RIGHT_OF, PLACE_OF, FIRST_READ, LAST_READ, NEEDED = range(8)
ACTION_COLUMNS = 8
# and of the table of equations that are programs: their residual and its matrix, how many there are, where their unknowns begin
# and how many of these are increments of the state, where their factors begin, and which letters of the state they move.
RESIDUAL_OF, MATRIX_OF, SIZE_OF, FIRST_OF, INCREMENTS_OF, FACTORS_OF, LETTERS_FROM, LETTERS_TO = range(8)
ROOT_COLUMNS = 8

#: Statuses beside those of `native` and `verdicts`: sweeps do not contract; no way of solving the equations of a step works.
NOT_CONTRACTING, UNSOLVABLE = 11, 12
