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

A friction limit that slips has no row of its own: its friction is in the row of the constraint that
presses, D = A + side c (w / |w|)^T W, or is the force -c N (w / |w|)^T W of a load N that is given.

Where the load is the norm of several multipliers, mu = mu_0 + sum_j N_j u_j is affine in the loads
of the limits that slip, and N_i = |(mu_0 + sum_j N_j u_j)_i|. One such limit is a quadratic
equation, which has one positive root where |u| < 1. Several are solved by Newton's iteration, whose
residual is in the result: what does not converge is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sympy

from ..model.constraints.held_contacts import SlidingContact, SlidingFriction
from ..model.system import System
from .blocks import Hessian

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block

__all__ = ["SlidingForces", "sliding_friction"]

#: The steps of Newton's iteration for several loads that are norms, and what part of a load may be
#: left of its equation; beyond it the load is not a number, and a run ends there.
NEWTON, UNSOLVED = 8, 1e-9
ONE = sympy.Integer(1)


@dataclass(frozen=True)
class SlidingForces:
    """The friction of what slips.

    Attributes
    ----------
    rows : block (m x n)
        D, the rows of the reactions: A where nothing slips, with the friction of contacts.
    friction : block (n x 1) or None
        All friction as a function of the state.
    limits : mapping of name to (constraints, block (n x 1))
        The friction of limits that slip: a column times the multiplier of a constraint, times the
        norm of those of several, or by itself.
    """

    rows: Any
    friction: Any = None
    limits: Mapping[str, tuple[tuple[int, ...], Any]] = field(default_factory=dict)


def sliding_friction(
    system: System,
    algebra: Algebra,
    metric: Block | Hessian,
    force: Block,
    rows: Block,
    right: Block,
) -> SlidingForces:
    """The rows D of the reactions, and the friction of contacts and limits that slip.

    Two-sided constraints that are no contacts are added to M, which may be singular without them.
    """
    bilateral = system.bilateral
    sliding = {k: c for k, c in enumerate(bilateral) if isinstance(c, SlidingContact)}
    limits = _limits(system, algebra)
    if not sliding and not limits:
        return SlidingForces(rows)
    given = [column for places, column in limits.values() if not places]
    normed = [(places, column) for places, column in limits.values() if len(places) > 1]
    base = given[0] if given else None
    for column in given[1:]:
        base = base + column
    if not sliding and len(given) == len(limits):
        return SlidingForces(rows, base, limits)
    along: list[Any] = [
        algebra.part(rows, [k], range(rows.shape[1])) for k in range(len(bilateral))
    ]
    own = list(along)
    for k, contact in sliding.items():
        along[k] = own[k] + _rubbing(system, algebra, contact)
    reaction_rows = algebra.stack(along)
    for places, column in limits.values():
        if len(places) == 1:
            along[places[0]] = along[places[0]] + column.T
    every = algebra.stack(along)
    matrix = metric.matrix if isinstance(metric, Hessian) else metric
    load = force if base is None else force + base
    for k, c in enumerate(bilateral):
        if c.is_position_level and not isinstance(c, SlidingContact):
            weight = _weight(algebra, matrix, own[k])
            matrix = matrix + own[k].T @ own[k] * weight
            load = load + own[k].T * (weight * algebra.part(right, [k], [0])[0])
    solved = algebra.solve(matrix, algebra.columns([load, every.T, *(c for _, c in normed)]))
    columns, m = range(rows.shape[1]), len(bilateral)
    free = algebra.part(solved, columns, [0])
    response = algebra.part(solved, columns, range(1, m + 1))
    pushed = [right - rows @ free]
    for k in range(len(normed)):
        pushed.append(-(rows @ algebra.part(solved, columns, [m + 1 + k])))
    multipliers = algebra.split_columns(
        algebra.solve_square(rows @ response, algebra.columns(pushed))
    )
    mu, friction = multipliers[0], base
    loads = _loads(algebra, multipliers, [places for places, _ in normed])
    for value, (_, column), by in zip(loads, normed, multipliers[1:], strict=True):
        mu = mu + by * value
        friction = column * value if friction is None else friction + column * value
    rubbing = (every - rows).T @ mu
    friction = rubbing if friction is None else friction + rubbing
    return SlidingForces(reaction_rows, friction, limits)


def _loads(
    algebra: Algebra, multipliers: Sequence[Any], places: Sequence[tuple[int, ...]]
) -> list[Any]:
    """The loads N_i = |(mu_0 + sum_j N_j u_j)_i|, from mu_0 and all u_j."""
    parts = [[algebra.part(each, rows, [0]) for each in multipliers] for rows in places]
    own = []
    for k, (first, *by) in enumerate(parts):
        cross, rest = algebra.inner(first, by[k]), 1 - algebra.inner(by[k], by[k])
        root = algebra.root(cross * cross + rest * algebra.inner(first, first))
        own.append((cross + root) / rest)
    if len(own) < 2:
        return own
    loads = algebra.stack([algebra.vector([ONE]) * value for value in own])
    for _ in range(NEWTON):
        residual, jacobian, _ = _load_residual(algebra, parts, loads)
        loads = loads - algebra.solve_square(jacobian, residual)
    off, _, sizes = _load_residual(algebra, parts, loads)
    found = []
    for k in range(len(own)):
        part = off[k] / (UNSOLVED * sizes[k])
        for _ in range(4):
            part = part * part
        found.append(loads[k] * algebra.root(1 - part))
    return found


def _load_residual(
    algebra: Algebra, parts: Sequence[Sequence[Any]], loads: Any
) -> tuple[Any, Any, list[Any]]:
    """N_i - |(...)_i| of all loads, its Jacobian, and the norms."""
    residuals, rows, sizes, one = [], [], [], algebra.vector([ONE])
    for k, (first, *by) in enumerate(parts):
        vector = first
        for j, each in enumerate(by):
            vector = vector + each * loads[j]
        size = algebra.root(algebra.inner(vector, vector))
        sizes.append(size)
        residuals.append(one * (loads[k] - size))
        derivatives = [algebra.inner(vector, each) / size for each in by]
        rows.append(
            algebra.columns([one * ((j == k) - each) for j, each in enumerate(derivatives)])
        )
    return algebra.stack(residuals), algebra.stack(rows), sizes


def _limits(system: System, algebra: Algebra) -> dict[str, tuple[tuple[int, ...], Any]]:
    """The friction -c N W^T w / |w| of each limit that slips, with N = -side mu, |mu| or a load."""
    names = [c.name for c in system.bilateral]
    found: dict[str, tuple[tuple[int, ...], Any]] = {}
    for c in system.constraints:
        if not isinstance(c, SlidingFriction):
            continue
        column = _rubbing(system, algebra, c).T
        places = tuple(names.index(name) for name in c.normal)
        size = c.side if len(places) == 1 else -1 if places else -algebra.scalar(c.load)
        found[c.name] = (places, column * size)
    return found


def _rubbing(system: System, algebra: Algebra, contact: SlidingContact | SlidingFriction) -> Any:
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
