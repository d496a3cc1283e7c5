r"""Coulomb's friction of contacts that slip, as a force that depends on their reactions.

A contact that slips with the velocity w(q, q_dot, t) pushes with N = -mu >= 0 along its gap and
rubs with -c N w / |w|, so that its reaction is D^T mu with

    D = A + c (w / |w|)^T W,     W = w_v,

in the place of A^T mu. The equations are then M z = f + D^T mu, A z = b, which is no problem of
least constraint; with mu eliminated,

    A M^-1 D^T mu = b - A M^-1 f,

the friction (D - A)^T mu is a function of the state, and what is left is Gauss's problem with the
force f + (D - A)^T mu. The matrix A M^-1 D^T need not be regular: where it becomes singular,
Coulomb's law has no solution or several (Painleve; Genot and Brogliato, Eur. J. Mech. A 18 (1999)).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy

from ..model.constraints.held_contacts import SlidingContact
from ..model.system import System
from .blocks import Hessian

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block

__all__ = ["sliding_friction"]


def sliding_friction(
    system: System,
    algebra: Algebra,
    metric: Block | Hessian,
    force: Block,
    rows: Block,
    right: Block,
) -> tuple[Block, Block | None]:
    """The rows D of the reactions (m x n), and the friction (n x 1); A and None where none slips.

    Two-sided constraints that are no contacts are added to M, which may be singular without them.
    """
    bilateral = system.bilateral
    sliding = {k: c for k, c in enumerate(bilateral) if isinstance(c, SlidingContact)}
    if not sliding:
        return rows, None
    along: list[Any] = [
        algebra.part(rows, [k], range(rows.shape[1])) for k in range(len(bilateral))
    ]
    own = list(along)
    for k, contact in sliding.items():
        along[k] = own[k] + _rubbing(system, algebra, contact)
    reaction_rows = algebra.stack(along)
    matrix = metric.matrix if isinstance(metric, Hessian) else metric
    load = force
    for k, c in enumerate(bilateral):
        if c.is_position_level and not isinstance(c, SlidingContact):
            weight = _weight(algebra, matrix, own[k])
            matrix = matrix + own[k].T @ own[k] * weight
            load = load + own[k].T * (weight * algebra.part(right, [k], [0])[0])
    solved = algebra.solve(matrix, algebra.columns([load, reaction_rows.T]))
    columns = range(rows.shape[1])
    free = algebra.part(solved, columns, [0])
    response = algebra.part(solved, columns, range(1, len(bilateral) + 1))
    mu = algebra.solve_square(rows @ response, right - rows @ free)
    return reaction_rows, (reaction_rows - rows).T @ mu


def _rubbing(system: System, algebra: Algebra, contact: SlidingContact) -> Any:
    """c (w / |w|)^T W, (1 x n)."""
    slip = algebra.vector(contact.tangent)
    place, sign = abs(contact.leading) - 1, 1 if contact.leading > 0 else -1
    jacobian = algebra.jacobian(slip, algebra.vector(system.velocities))
    size = algebra.scalar(contact.friction) * sign
    if len(contact.tangent) == 1:
        return jacobian * size
    if contact.angle is not None:
        way = [sympy.Float(math.cos(contact.angle)), sympy.Float(math.sin(contact.angle))]
        return algebra.vector(way).T @ jacobian * size
    ratios = slip / slip[place]
    return ratios.T @ jacobian * (size / algebra.root(algebra.inner(ratios, ratios)))


def _weight(algebra: Algebra, matrix: Any, row: Any) -> Any:
    """What makes a row as large as the matrix: its mean diagonal entry over |row|^2."""
    n = matrix.shape[0]
    trace = matrix[0, 0]
    for k in range(1, n):
        trace = trace + matrix[k, k]
    return trace / n / algebra.inner(row.T, row.T)
