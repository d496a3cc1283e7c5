"""Which rows of dependent constraints count between two points on the constraints.

Rows that depend on each other on the constraints need not do so beside them: where g = 0 and f g =
0 are stated, the second row is f grad g + g grad f. A stage of a step lies beside the constraints
by its error, and a rank decided there is that of another system, with a freedom less. So rank is
decided where a state lies on the constraints, and rows that depend on the others there are left out
until the next such state.

What depends on others at the first state of a motion is redundant, and stays so: rounding makes a
row that passes through zero look independent, and it has to show more than that to count again.
What comes to depend on others later is not redundant: such a state is singular, and no row is left
out of the stages around it.

A choice is an array of integers: how many rows are left out (0 before the first state, then -1 for
none), then for each row whether it is.
"""

from __future__ import annotations

from ...codegen.native.language import Integers, Reals, native

__all__ = ["WEAK", "choose_rows"]

#: A row that was left out is active again once this part of it is independent of the others.
WEAK = 1e-8


@native
def choose_rows(m: int, order: Integers, info: Reals, before: int, choice: Integers) -> bool:
    """Set the active rows after a solve on the constraints; whether it used a row to leave out.

    Parameters
    ----------
    m, order, info : the rows, those that the solve took first, and what else it found (see
    `gauss_problem.gauss_solve`) before : what stood at the head of the choice
    """
    kept = 0
    while kept < m and kept < info[0]:
        kept += 1
    redundant = max(before, 0)
    if before != 0 and kept < m - redundant:  # a singular state
        choice[0] = before
        return False
    is_repeated = kept > m - redundant and info[3] < WEAK and before > 0
    if is_repeated:
        kept = m - redundant
    choice[0] = m - kept if kept < m else -1
    if kept < m:
        for j in range(m):
            choice[1 + order[j]] = 0 if j < kept else 1
    return is_repeated
