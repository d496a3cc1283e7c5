"""Which rows of dependent constraints count between two points on the constraints.

Rows that depend on each other on the constraints need not do so beside them: where g = 0 and f g = 0 are stated, the second row
is f grad g + g grad f. A stage of a step lies beside the constraints by its error, and a rank decided there is that of another
system, with a freedom less. So rank is decided where a state lies on the constraints, and rows that depend on the others there
are left out until the next such state. The same rounding makes a row that passes through zero look independent; once it was
left out, it has to show more than that to count again.

A choice is an array of integers: how many rows are left out, then for each row whether it is.
"""

from __future__ import annotations

from .language import Integers, Reals, native

__all__ = ["WEAK", "choose_rows"]

#: A row that was left out counts again when at least this part of it, of length one, does not depend on the others.
WEAK = 1e-6


@native
def choose_rows(m: int, order: Integers, info: Reals, before: int, choice: Integers) -> bool:
    """Enter the choice that follows from a solve on the constraints; whether the solve took a row that is to be left out.

    Parameters
    ----------
    m, order, info : the rows, those that the solve took first, and what else it found (see `gauss_problem.gauss_solve`)
    before : how many rows were left out so far
    """
    kept = 0
    while kept < m and kept < info[0]:
        kept += 1
    is_repeated = kept > m - before and info[3] < WEAK
    if is_repeated:
        kept = m - before
    choice[0] = m - kept
    if kept < m:
        for j in range(m):
            choice[1 + order[j]] = 0 if j < kept else 1
    return is_repeated
