"""The second-order test of a trajectory whose bounds are inactive, by the judge of `optimal`."""

from __future__ import annotations

import numpy as np
import sympy

from ...errors import ModelError
from ...formulations.equations import Equations
from ...model.symbols import as_expression
from ..optimal.extremal import ControlExtremal
from ..optimal.maximum import costate_of
from ..optimal.optimal import optimal
from ..optimal.problem import control_problem
from .nonlinear_program import Iterate
from .problem_statement import Asked, Statement
from .trajectory_quantities import AtEnd, AtStart, TimeIntegral

__all__ = ["pontryagin_extremal"]

#: A bound is active where a value comes nearer to it than this part of its range.
NEAR = 1e-6


def pontryagin_extremal(asked: Asked, statement: Statement, iterate: Iterate) -> ControlExtremal:
    """The extremal of Pontryagin from the ends and costates of a transcribed trajectory."""
    reason = _excluded(asked, statement, iterate)
    if reason:
        raise ModelError(
            "The second-order test takes problems of one integral between given states", reason,
            "state it without, or judge it by answer.loss and several starts",
        )  # fmt: skip
    integrand = _integrand(as_expression(asked.cost))
    model = asked.model.system if isinstance(asked.model, Equations) else asked.model
    problem = control_problem(model, integrand)
    names = {symbol.name: k for k, symbol in enumerate(statement.dynamics.state)}
    other = {new: old for old, new in problem.other_names.items()}
    places = [names[other.get(symbol.name, symbol.name)] for symbol in problem.symbols]
    found, costates = iterate.unknowns, iterate.costates[0][0]
    ends = [
        {s.name: float(row[k]) for s, k in zip(problem.symbols, places, strict=True)}
        for row in (found.nodes[0], found.nodes[-1])
    ]
    pairs = list(zip(problem.symbols, places, strict=True))
    last = {s.name: ends[1][s.name] for s, k in pairs if statement.end[k].is_fixed}
    numbers = dict(
        zip((s.name for s in statement.dynamics.parameters), found.parameters, strict=True)
    )
    guess = {costate_of(s).name: float(costates[k]) for s, k in pairs}
    return optimal(model, integrand, ends[0], last, found.times, parameters=numbers, guess=guess)


def _integrand(cost: sympy.Expr) -> sympy.Expr | None:
    """What a cost integrates, with its factor, or None where it is more than one integral."""
    nodes = cost.atoms(TimeIntegral)
    if len(nodes) != 1:
        return None
    (node,), total = nodes, sympy.Dummy()
    written = cost.xreplace({node: total})
    factor = written.diff(total)
    if written - factor * total != 0 or factor.atoms(AtStart, AtEnd) or factor.has(total):
        return None
    return factor * node.args[0]


def _excluded(asked: Asked, statement: Statement, iterate: Iterate) -> str:
    """Why a problem has no such test, or nothing."""
    found = iterate.unknowns
    if statement.has_free_time:
        return "a free time"
    if statement.conditions or statement.path:
        return "conditions, or bounds on expressions"
    if not all(own.is_fixed for own in statement.start):
        return "symbols that are free at the start"
    if not all(own.is_fixed for own in statement.parameters):
        return "free parameters"
    if _integrand(as_expression(asked.cost)) is None:
        return "a cost that is not one integral"
    rows = [(own, found.nodes[1:-1, k]) for k, own in enumerate(statement.states)]
    rows += [(own, found.inputs[:, :, k]) for k, own in enumerate(statement.inputs)]
    for own, values in rows:
        width = NEAR * (own.high - own.low) if own.is_finite else NEAR
        if values.size and (np.min(values) - own.low < width or own.high - np.max(values) < width):
            return "an active bound"
    return ""
