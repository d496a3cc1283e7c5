"""Kinds of fixed-step methods, columns of their tables, and statuses."""

from __future__ import annotations

# Kinds of methods.
GAUSS, ISOSPECTRAL, LIE_VERLET, RKMK, RATTLE, ROOTS = range(6)

# Columns of the table of generators: size, place in the output of their program, place among the unknowns, place among the
# factors, whether they are skew;
SIZE, SOURCE, UNKNOWN, PLACE, SKEW = range(5)
GENERATOR_COLUMNS = 5
# and of the table of actions: rows, columns, generator on either side or -1, place among the matrices, where the symbols that
# it reads begin and end, whether rates depend on them, so that stages need them.
ROWS_OF, COLUMNS_OF, LEFT_OF, RIGHT_OF, PLACE_OF, FIRST_READ, LAST_READ, NEEDED = range(8)
ACTION_COLUMNS = 8
# and of the table of equations that are programs: their residual and its matrix, how many there are, where their unknowns begin
# and how many of these are increments of the state, where their factors begin, and which symbols of the state they move.
RESIDUAL_OF, MATRIX_OF, SIZE_OF, FIRST_OF, INCREMENTS_OF, FACTORS_OF, SYMBOLS_FROM, SYMBOLS_TO = range(8)
ROOT_COLUMNS = 8

#: Statuses beside those of `native` and `verdicts`: sweeps do not contract; no way of solving the equations of a step works.
NOT_CONTRACTING, UNSOLVABLE = 11, 12
