r"""Optimal control between two ends: `optimal`.

    minimise    int L(x, u, t) dt
    subject to  x_dot = X(x, u, t),   x(t0) and x(t1) given, in part or in full

The extremals are those of `maximum`; the two-point problem is seeded by `transcription`, solved by
`shooting`, and its solution is searched for conjugate points. Where a symbol's end is free its
costate vanishes there (transversality). Symbols that obey relations, such as the entries of a
rotation, may be used as they are: costates are then chosen in the space of directions that the
relations leave, so that no chart is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypedDict

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import RunError
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.parameter_values import parameter_values
from ...model.symbols import t
from ...model.system import System
from ...typing import Array, ArrayLike, BySymbol, Expression, Symbols, Values
from .arc_sensitivities import Arcs
from .conjugate_points import ConjugateSearch, symbols_and_costates
from .ends import Relations, boundary_of, ends_of
from .extremal import Branch, ControlExtremal
from .maximum import RUNNING_COST, check_legendre, extremal_flow, input_metric
from .problem import control_problem
from .search import FoundExtremal, Guess, TwoPointTask, search
from .spans import read_span

__all__ = ["optimal"]


#: Values of symbols by symbol or name, and of matrices by name.
Ends: TypeAlias = BySymbol["Expression | ArrayLike"]


class OptimalOptions(TypedDict, total=False):
    """How an extremal is searched for; see `optimal`."""

    guess: Guess | None
    free: Symbols
    nodes: int
    segments: int
    ways: int
    seed: int


def optimal(
    model: System | Flow,
    cost: Expression,
    start: Ends,
    end: Ends,
    span: Sequence[float],
    *,
    parameters: Values | None = None,
    guess: Guess | None = None,
    free: Symbols = (),
    nodes: int = 60,
    segments: int = 4,
    ways: int = 1,
    seed: int = 0,
) -> ControlExtremal:
    """The extremal of an optimal control problem between two ends.

    Parameters
    ----------
    model : Flow or System
        With free inputs, which enter the rates affinely. Those of a system are coordinates and
        velocities. The speeds of an image q_dot = E u are inputs where there are no others: with
        the Lagrangian as cost, that is the problem of Moreau and van der Schaft, section II.
    cost : expression
        The integrand: quadratic in the inputs, with a positive matrix of second derivatives.
    start, end : mapping of symbol, name or matrix to values
        A symbol that the end leaves out is free there.
    span : (t0, t1)
        Both times are given. For a free duration make it a symbol T with rate 0, multiply every
        rate and the cost by T, and let T be free at both ends.
    parameters : mapping of symbol or name to value
    guess : mapping
        Symbols and inputs as expressions of time or functions of it, where the transcription
        begins; or all costates ``lambda_...`` at the start as numbers, and then there is no
        transcription.
    free : sequence of symbols
        Symbols that are free at the start; their values there are guesses.
    nodes : int
        Steps of the transcription.
    segments : int
        Arcs of the multiple shooting.
    ways : int
        How many ways are searched, from paths that are bent more and more; the cheapest extremal is
        returned.
    seed : int
        Of the random inputs that the transcription begins with.

    Raises
    ------
    FormError
        Where the maximum cannot be solved for the inputs, or is none (Legendre).
    StartError
        For ends that break relations, and names that are unknown.
    RunError
        Where the boundary conditions could not be met.

    Examples
    --------
    The least effort that moves a unit mass by 1 in unit time, at rest before and after, is 6.

    >>> import dalembert as da
    >>> x, v = da.coordinates("x v")
    >>> u = da.inputs("u")
    >>> found = optimal(
    ...     da.Flow({x: v, v: u}, inputs=[u]), u**2 / 2, {x: 0, v: 0}, {x: 1, v: 0}, (0, 1)
    ... )
    >>> round(found.cost, 9), found.motion["u"][[0, -1]].round(6).tolist()
    (6.0, [6.0, -6.0])
    """
    problem = control_problem(model, cost)
    flow, times = extremal_flow(problem), read_span(span)
    numbers = parameter_values(flow.parameters, parameters or {})
    table = dict(zip((symbol.name for symbol in flow.parameters), numbers.tolist(), strict=True))
    relations = Relations(problem, flow.parameters, numbers, times)
    ends = ends_of(problem, start, end, free, relations)
    boundary = boundary_of(problem, ends, relations)
    arcs = Arcs(flow, flow.own_outputs[RUNNING_COST], table)
    task = TwoPointTask(
        problem, flow.parameters, numbers, arcs, boundary, ends, relations, times, guess, nodes,
        segments, seed,
    )  # fmt: skip
    _check_convexity(task, ends.start[None])
    return _extremal(task, _ways(task, ways))


def _extremal(task: TwoPointTask, tried: Sequence[tuple[Branch, FoundExtremal]]) -> ControlExtremal:
    """The record of the first of the ways tried, with its conjugate points."""
    branch, found = tried[0]
    shot, arcs, times, directions = found.shot, task.arcs, task.span, task.boundary.directions
    flow, n = arcs.flow, len(task.problem.symbols)
    names, node = [q.name for q in flow.coordinates], shot.nodes[0].tolist()
    motion = simulate(
        flow, dict(zip(names, node, strict=True)), times, parameters=arcs.parameters, rtol=1e-11,
        project=False, project_start=False,
    )  # fmt: skip
    _check_convexity(task, motion.y.T[:: max(1, len(motion.t) // 20), :n])
    at = np.linspace(times[0], times[1], len(shot.nodes) + 1)[:-1]
    canonical = symbols_and_costates(n, directions.shape[1], task.relations.frame)
    follow = ConjugateSearch(arcs, shot.nodes, at, directions, canonical)
    conjugate_points, rank_deficit = follow.points_and_deficit(times[1])
    return ControlExtremal(
        flow=flow,
        motion=motion,
        span=times,
        cost=shot.cost,
        costates=dict(zip(names[n:], node[n:], strict=True)),
        residual=shot.residual,
        conjugate_points=conjugate_points,
        steps=shot.steps,
        branch=branch.name if len(tried) > 1 else "",
        branches=tuple(way for way, _ in tried),
        notes=found.notes,
        has_free_end=not bool(np.all(task.ends.end_fixed)),
        rank_deficit=rank_deficit,
        search=follow,
    )


def _ways(task: TwoPointTask, count: int) -> list[tuple[Branch, FoundExtremal]]:
    """The ways that converged, the cheapest first."""
    tried: list[tuple[Branch, FoundExtremal]] = []
    fault: RunError | None = None
    for way in range(max(1, count)):
        try:
            found = search(task, way)
        except RunError as error:
            fault = error
            continue
        tried.append((Branch(f"way {way + 1}", found.shot.cost, found.shot.residual), found))
    if not tried and fault is not None:
        raise fault
    return sorted(tried, key=lambda pair: pair[0].cost)


def _check_convexity(task: TwoPointTask, places: Array) -> None:
    """Legendre's condition at some places, where L_uu depends on the place."""
    metric = input_metric(task.problem)
    if not metric.free_symbols:
        return
    algebra, m = GraphAlgebra(), metric.rows
    inputs = [algebra.vector(block) for block in (task.problem.symbols, task.symbols, [t])]
    function = ca.Function("metric", inputs, [algebra.vector(list(metric))])
    for place in places:
        for time in task.span:
            value = np.asarray(function(place, task.numbers, time), dtype=float).reshape(m, m)
            check_legendre(value, " at a place of the problem")
