r"""The ends of a trajectory of a constrained system, without conditions that constraints repeat.

The equations of motion keep the constraints r(x) = 0, once they hold at the start. So they are
conditions at the start, unless it is given in full; and of the symbols that are given at the end
only combinations outside the row space of r_x are conditions. The others hold by themselves up to
sign and branch: they are asked for within a band, which tells the top of a circle from its bottom.
"""

from __future__ import annotations

from functools import partial

import casadi as ca
import numpy as np

from ...errors import StartError
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from .nonlinear_program import Unknowns
from .pieces import LastEnd, PieceEnds, StartEnd
from .problem_statement import FREE, Range, Statement

__all__ = ["consistent_ends"]

#: A start that is given in full and breaks a constraint by more than this is refused.
BROKEN = 1e-6
#: The width of the band around values at the end that constraints determine.
BAND = 0.05


def consistent_ends(statement: Statement, guess: Unknowns) -> PieceEnds:
    """The ends of a statement whose guess obeys the constraints."""
    dynamics = statement.dynamics
    g, (time, x, _, _, p) = dynamics.kernel.graph, dynamics.arguments
    residual = ca.vertcat(g.position.residual, g.velocity.residual)
    if not residual.numel():
        return PieceEnds.of(statement)
    function = ca.Function("residual", [time, x, p], [ca.densify(residual)])
    table = ca.Function("rows", [time, x, p], [ca.densify(ca.jacobian(residual, x))])

    def rows(k: int) -> Array:
        found = table(guess.times[k], guess.nodes[-k], guess.parameters)
        return np.asarray(found, dtype=float).reshape(residual.numel(), len(statement.states))

    start = _start(statement, guess, rows(0), function)
    return PieceEnds(start, _end(statement, rows(1)))


def _start(statement: Statement, guess: Unknowns, rows: Array, function: ca.Function) -> StartEnd:
    """The constraints that are conditions at the start, because symbols are free there."""
    free = [k for k, own in enumerate(statement.start) if not own.is_fixed]
    given = np.array(
        [own.low if own.is_fixed else guess.nodes[0, k] for k, own in enumerate(statement.start)]
    )
    missed = np.asarray(function(guess.times[0], given, guess.parameters), dtype=float).ravel()
    chosen = rank(rows[:, free]).independent.tolist() if free else []
    others = [k for k in range(len(missed)) if k not in chosen]
    worst = float(np.max(np.abs(missed[others]), initial=0.0))
    if not chosen and worst > BROKEN:
        raise StartError(
            "The start breaks a constraint", f"a residual of {worst:.3g} (limit {BROKEN:g})",
            "give values that obey the constraints, or leave some of them out",
        )  # fmt: skip
    if not chosen:
        return StartEnd(statement.start)
    return StartEnd(statement.start, partial(_residuals, function, chosen), len(chosen))


def _residuals(
    function: ca.Function, chosen: list[int], time: ca.SX, x: ca.SX, numbers: ca.SX
) -> ca.SX:
    return function(time, x, numbers)[chosen]


def _end(statement: Statement, rows: Array) -> LastEnd:
    """Combinations of given symbols that the constraints leave, and bands for the others."""
    n = len(statement.end)
    fixed = [k for k, own in enumerate(statement.end) if own.is_fixed]
    if not fixed:
        return LastEnd(statement.end, np.zeros((0, n)))
    values = np.array([statement.end[k].low for k in fixed])
    tangent = rank(rows).null_space
    repeated = rank(tangent[fixed].T).null_space if tangent.shape[1] else np.eye(len(fixed))
    if not repeated.shape[1]:
        return LastEnd(statement.end, np.zeros((0, n)))
    kept = rank(repeated.T).null_space
    found, ranges = np.zeros((kept.shape[1] + repeated.shape[1], n)), []
    for k, row in enumerate([*kept.T, *repeated.T]):
        found[k, fixed] = row
        target, width = float(row @ values), BAND * max(1.0, float(np.max(np.abs(values))))
        band = width if k >= kept.shape[1] else 0.0
        ranges.append(Range(target - band, target + band))
    loose = tuple(FREE if k in fixed else own for k, own in enumerate(statement.end))
    return LastEnd(loose, found, tuple(ranges))
