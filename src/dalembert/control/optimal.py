r"""Optimal control between two ends: `optimal`.

    minimise  int L(x, u, t) dt     subject to  x_dot = X(x, u, t),   x(t0) and x(t1) given, in part or in full

The extremals are those of `maximum`; the two-point problem is seeded by `transcription`, solved by `shooting`, and its solution
is searched for conjugate points. Where a letter's end is free its costate vanishes there (transversality). Letters that obey
relations, such as the entries of a rotation, may be used as they are: costates are then chosen in the space of directions that
the relations leave, so that no chart is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..compiled.kernel import parameter_values
from ..errors import ModelError, RunError
from ..integrate.simulate import simulate
from ..model.symbols import t
from .conjugate import along_arc
from .ends import Ends, Relations, boundary_of, ends_of
from .extremal import Extremal
from .maximum import RUNNING_COST, check_legendre, costate_of, extremal_flow, input_metric
from .problem import ControlProblem, control_problem
from .sensitivities import Arcs
from .shooting import LIMIT, Boundary, Shot, shoot
from .spans import read_span
from .transcription import Draft, transcribe

__all__ = ["optimal"]

#: How often the search is begun: from other random inputs, on a finer grid and a way that is bent more each time.
TRIES = 3


def optimal(
    model: Any,
    cost: Any,
    start: Mapping[Any, Any],
    end: Mapping[Any, Any],
    span: Sequence[float],
    *,
    parameters: Mapping[Any, Any] | None = None,
    guess: Mapping[Any, Any] | None = None,
    free: Sequence[Any] = (),
    nodes: int = 60,
    segments: int = 4,
    seed: int = 0,
) -> Extremal:
    """The extremal of an optimal control problem between two ends.

    Parameters
    ----------
    model : Flow or System
        With free inputs, which enter the rates affinely. Those of a system are coordinates and velocities.
    cost : expression
        The integrand: quadratic in the inputs, with a positive matrix of second derivatives.
    start, end : mapping of letter, name or matrix to values
        A letter that the end leaves out is free there.
    span : (t0, t1)
        Both times are given. For a free duration make it a letter T with rate 0, multiply every rate and the cost by T, and let
        T be free at both ends.
    parameters : mapping of symbol or name to value
    guess : mapping
        Letters and inputs as expressions of time or functions of it, where the transcription begins; or all costates
        ``lambda_...`` at the start as numbers, and then there is no transcription.
    free : sequence of letters
        Letters that are free at the start; their values there are guesses.
    nodes : int
        Steps of the transcription.
    segments : int
        Arcs of the multiple shooting.
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
    >>> found = optimal(da.Flow({x: v, v: u}, inputs=[u]), u**2/2, {x: 0, v: 0}, {x: 1, v: 0}, (0, 1))
    >>> round(found.cost, 9), found.motion["u"][[0, -1]].round(6).tolist()
    (6.0, [6.0, -6.0])
    """
    problem = control_problem(model, cost)
    flow = extremal_flow(problem)
    times = read_span(span)
    numbers = parameter_values(flow.parameters, parameters or {})
    table = dict(zip((symbol.name for symbol in flow.parameters), numbers.tolist(), strict=True))
    relations = Relations(problem, flow.parameters, numbers, times)
    ends = ends_of(problem, start, end, free, relations)
    boundary = boundary_of(problem, ends, relations)
    _check_convexity(problem, flow.parameters, numbers, times, ends.start[None])
    arcs = Arcs(flow, flow.own_outputs[RUNNING_COST], table)
    shot, notes = _search(
        problem, flow.parameters, numbers, arcs, boundary, (ends, relations), times, guess, (nodes, segments, seed)
    )
    motion = simulate(
        flow, dict(zip((q.name for q in flow.coordinates), shot.nodes[0].tolist(), strict=True)), times,
        parameters=table, rtol=1e-11, project=False, project_start=False,
    )  # fmt: skip
    _check_convexity(
        problem, flow.parameters, numbers, times, motion.y.T[:: max(1, len(motion.t) // 20), : len(problem.letters)]
    )
    search = along_arc(arcs, shot.nodes[0], boundary.directions, relations.frame, times[0], range(len(problem.letters)))
    n = len(problem.letters)
    return Extremal(
        flow=flow,
        motion=motion,
        span=times,
        cost=shot.cost,
        costates=dict(zip((q.name for q in flow.coordinates[n:]), shot.nodes[0][n:].tolist(), strict=True)),
        residual=shot.residual,
        conjugate_points=search(times[1]),
        steps=shot.steps,
        notes=tuple(notes),
        has_free_end=not bool(np.all(ends.end_fixed)),
        search=search,
    )


# -- the search --------------------------------------------------------------------------------------------------------


def _search(
    problem: ControlProblem,
    symbols: Any,
    numbers: Any,
    arcs: Arcs,
    boundary: Boundary,
    given: tuple[Ends, Relations],
    span: tuple[float, float],
    guess: Mapping[Any, Any] | None,
    sizes: tuple[int, int, int],
) -> tuple[Shot, list[str]]:
    """Transcription and shooting, again from other inputs where that fails."""
    (ends, relations), (nodes, segments, seed) = given, sizes
    if nodes < 2 or segments < 1:
        raise ModelError("The search needs 2 nodes and 1 segment at least", seen=f"nodes={nodes}, segments={segments}")
    known = _costate_guess(problem, guess)
    functions = {} if known is not None else _guess_functions(problem, guess)
    best: Shot | None = None
    notes: list[str] = []
    for attempt in range(1 if known is not None else TRIES):
        try:
            if known is not None:
                shot = shoot(
                    arcs, boundary, span, boundary.directions.T @ (np.concatenate([ends.start, known]) - boundary.base)
                )
            else:
                draft = transcribe(
                    problem, symbols, numbers, ends, span, nodes * (attempt + 1), seed + attempt, functions, attempt / 2
                )
                notes.append(f"transcription on {len(draft.midpoints)} steps: {draft.message}, cost {draft.cost:.6g}")
                shot = _shoot_from(draft, arcs, boundary, relations, span, segments)
        except RunError as error:
            notes.append(f"shooting failed: {error.what}")
            continue
        if best is None or shot.residual < best.residual:
            best = shot
        if shot.converged:
            return shot, notes
    seen = [] if best is None else [f"residual {best.residual:.2g} (limit {LIMIT:g})"]
    raise RunError(
        "The boundary conditions could not be met by a normal extremal",
        seen="; ".join([*seen, *notes[-1:]]),
        remedy="try another guess, seed or more nodes; the end may be out of reach, or reached by abnormal extremals alone",
    )


def _shoot_from(
    draft: Draft, arcs: Arcs, boundary: Boundary, relations: Relations, span: tuple[float, float], segments: int
) -> Shot:
    times = np.linspace(span[0], span[1], segments + 1)
    states = np.array([draft.at(time) for time in times[:-1]])
    if relations.count:
        # Costates across the relations move nothing: they are those that each arc brings along.
        states[0] = boundary.base + boundary.directions @ (boundary.directions.T @ (states[0] - boundary.base))
        for k in range(1, segments):
            arrived = arcs.run(times[k - 1], times[k], states[k - 1], np.eye(len(states[0])))
            states[k] = relations.settled(states[k], arrived.state)
    unknowns = boundary.directions.T @ (states[0] - boundary.base)
    return shoot(arcs, boundary, times, unknowns, states[1:])


def _costate_guess(problem: ControlProblem, guess: Mapping[Any, Any] | None) -> Any:
    """The costates (n,) where they are given, in the order of the letters."""
    table = {getattr(key, "name", str(key)): value for key, value in (guess or {}).items()}
    names = [costate_of(letter).name for letter in problem.letters]
    if not any(name in table for name in names):
        return None
    missing = [name for name in names if name not in table]
    if missing:
        raise ModelError(
            f"The guess lacks the costate {missing[0]}", seen=", ".join(table), remedy="give all costates at the start, or none"
        )
    return np.array([float(table[name]) for name in names])


def _guess_functions(problem: ControlProblem, guess: Mapping[Any, Any] | None) -> dict[str, Callable[[float], float]]:
    known = [symbol.name for symbol in (*problem.letters, *problem.inputs)]
    found: dict[str, Callable[[float], float]] = {}
    for key, value in (guess or {}).items():
        name = getattr(key, "name", str(key))
        name = problem.other_names.get(name, name)
        if name not in known:
            raise ModelError(f"The guess names `{name}`", seen=", ".join(known), remedy="guess letters and inputs, or costates")
        if callable(value) and not isinstance(value, sympy.Basic):
            found[name] = value
        else:
            expression = sympy.Float(value) if isinstance(value, (int, float)) else value
            if not isinstance(expression, sympy.Expr) or expression.free_symbols - {t}:
                raise ModelError(
                    f"The guess of `{name}` must be a function of time", seen=str(value)[:60], remedy="use da.t alone"
                )
            found[name] = sympy.lambdify(t, expression, "math")
    return found


# -- what must hold ----------------------------------------------------------------------------------------------------


def _check_convexity(problem: ControlProblem, symbols: Any, numbers: Any, span: tuple[float, float], places: Any) -> None:
    """Legendre's condition at some places, where L_uu depends on the place."""
    metric = input_metric(problem)
    if not metric.free_symbols:
        return
    algebra = GraphAlgebra()
    m = metric.rows
    inputs = [algebra.vector(problem.letters), algebra.vector(symbols), algebra.vector([t])]
    function = ca.Function("metric", inputs, [algebra.vector(list(metric))])
    for place in places:
        for time in span:
            value = np.asarray(function(place, numbers, time), dtype=float).reshape(m, m)
            check_legendre(value, " at a place of the problem")
