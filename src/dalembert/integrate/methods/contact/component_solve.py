r"""The mass matrix of a time step, factored component by component.

Coordinates that no entry of M and no constraint connects belong to different components, such as
the bodies of a heap that only contacts connect. A component with M = C C^T and constraints G has

    M z = f + G^T mu,  G z = b    ->    z = C^-T (Q [s, *] ),   Q R = C^-1 G^T,  R^T s = b,

with the factorisations, and the decision on rank, of `runtime.gauss.factorisations`.
"""

from __future__ import annotations

from ....codegen.native.language import Reals, rare
from ....runtime.gauss.factorisations import (
    PIVOT_TOLERANCE,
    RANK_TOLERANCE,
    cholesky,
    pivoted_qr,
    reflect,
    scaled_columns,
    solve_independent_rows,
    solve_lower,
    solve_upper,
)
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.projection import run_program
from ...contact_fields import ContactFields
from ...run_fields import FixedFields

__all__ = ["constrained_change", "factor_components", "solve_component"]


@rare
def factor_components(context: FixedFields, y: Reals) -> int:
    """Evaluate M and G at the state y and factor each component; 0 or SINGULAR."""
    c = context.contact
    run_program(context, c.matrix_program, y, c.matrices)
    for k in range(c.n_components):
        size = c.member_first[k + 1] - c.member_first[k]
        first = c.row_first[k]
        count = c.row_first[k + 1] - first
        place, rows = c.matrix_first[k], c.rows_first[k]
        factor, columns = c.factors + place, c.columns + rows
        if not cholesky(size, c.matrices + place, factor, PIVOT_TOLERANCE) > 0.0:
            return SINGULAR
        lengths = c.lengths + first
        scaled_columns(size, count, c.rows + rows, columns, lengths, factor, True)
        c.ranks[k] = pivoted_qr(
            size,
            count,
            columns,
            c.collected + first,
            c.row_order + first,
            RANK_TOLERANCE,
            lengths,
            c.row_choice,
            True,
        )
    return 0


@rare
def solve_component(c: ContactFields, k: int, x: Reals, has_right: bool) -> None:
    """x <- z of M z = x + G^T mu, G z = b for component k; b is in `right`, or zero."""
    size = c.member_first[k + 1] - c.member_first[k]
    first = c.row_first[k]
    count = c.row_first[k + 1] - first
    rank, factor, columns = c.ranks[k], c.factors + c.matrix_first[k], c.columns + c.rows_first[k]
    solve_lower(size, factor, x)
    if count > 0:
        reflect(size, rank, columns, c.collected + first, x, False)
        for i in range(rank):
            x[i] = 0.0
        if has_right:
            scaled = c.component_work
            for j in range(count):
                length = c.lengths[first + j]
                right = c.right[c.row_members[first + j]]
                scaled[j] = right / length if length > 0.0 else 0.0
            solve_independent_rows(size, rank, columns, c.row_order + first, scaled, x)
        reflect(size, rank, columns, c.collected + first, x, True)
    solve_upper(size, factor, x)


@rare
def constrained_change(context: FixedFields, scale: float, force: Reals, change: Reals) -> None:
    """change (n) <- z of M z = scale f + G^T mu, G z = right, in all components."""
    c = context.contact
    x = c.local
    for k in range(c.n_components):
        first = c.member_first[k]
        size = c.member_first[k + 1] - first
        for i in range(size):
            x[i] = scale * force[c.members[first + i]]
        solve_component(c, k, x, True)
        for i in range(size):
            change[c.members[first + i]] = x[i]
