r"""The search for an extremal between two ends: a transcription, then shooting, several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import sympy

from ...errors import ModelError, RunError
from ...model.symbols import Parameter, t
from ...typing import Array, BySymbol, Expression
from .arc_sensitivities import Arcs
from .ends import Ends, Relations
from .maximum import costate_of
from .problem import ControlProblem
from .shooting import LIMIT, Boundary, Shot, shoot
from .transcription import Draft, transcribe

__all__ = ["FoundExtremal", "TwoPointTask", "search"]

#: How often one way is begun: from other random inputs, finer grids and paths bent more.
TRIES = 3

TimeFunction: TypeAlias = Callable[[float], float]
#: Symbols and inputs as expressions or functions of time, or costates as numbers.
Guess: TypeAlias = BySymbol["Expression | TimeFunction"]


@dataclass(frozen=True)
class TwoPointTask:
    """A two-point problem with its numbers, and how it is to be searched.

    Attributes
    ----------
    symbols, numbers : the parameters of the problem and their values
    guess : mapping or None
        As `optimal` takes it.
    nodes, segments, seed : int
    """

    problem: ControlProblem
    symbols: Sequence[Parameter]
    numbers: Array
    arcs: Arcs
    boundary: Boundary
    ends: Ends
    relations: Relations
    span: tuple[float, float]
    guess: Guess | None
    nodes: int
    segments: int
    seed: int


@dataclass(frozen=True)
class FoundExtremal:
    """An extremal, and what happened on the way to it."""

    shot: Shot
    notes: tuple[str, ...]


def search(task: TwoPointTask, way: int = 0) -> FoundExtremal:
    """One way from end to end: the straight one first, others from bent paths.

    Raises
    ------
    RunError
        Where the boundary conditions could not be met.
    """
    if task.nodes < 2 or task.segments < 1:
        seen = f"nodes={task.nodes}, segments={task.segments}"
        raise ModelError("The search needs 2 nodes and 1 segment at least", seen, "leave them out")
    known = _costate_guess(task.problem, task.guess)
    functions = {} if known is not None else _guess_functions(task.problem, task.guess)
    best: Shot | None = None
    notes: list[str] = []
    for attempt in range(1 if known is not None else TRIES):
        try:
            if known is not None:
                shot = _shoot_with(task, known)
            else:
                nodes, seed = task.nodes * (attempt + 1), task.seed + attempt + TRIES * way
                draft = transcribe(task, nodes, seed, functions, (attempt + way) / 2)
                steps = len(draft.midpoints)
                notes.append(
                    f"transcription on {steps} steps: {draft.message}, cost {draft.cost:.6g}"
                )
                shot = _shoot_from(task, draft)
        except RunError as error:
            notes.append(f"shooting failed: {error.what}")
            continue
        if best is None or shot.residual < best.residual:
            best = shot
        if shot.converged:
            return FoundExtremal(shot, tuple(notes))
    reached = [] if best is None else [f"residual {best.residual:.2g} (limit {LIMIT:g})"]
    raise RunError(
        "The boundary conditions could not be met by a normal extremal",
        "; ".join([*reached, *notes[-1:]]),
        "try another guess, seed or more nodes; the end may be out of reach, or reached by abnormal"
        " extremals alone",
    )


def _shoot_with(task: TwoPointTask, costates: Array) -> Shot:
    """From costates that are given, in one arc."""
    start, boundary = np.concatenate([task.ends.start, costates]), task.boundary
    unknowns = boundary.directions.T @ (start - boundary.base)
    return shoot(task.arcs, boundary, task.span, unknowns)


def _shoot_from(task: TwoPointTask, draft: Draft) -> Shot:
    """From a transcription, in several arcs."""
    times = np.linspace(task.span[0], task.span[1], task.segments + 1)
    states = np.array([draft.at(time) for time in times[:-1]])
    base, directions = task.boundary.base, task.boundary.directions
    unknowns = directions.T @ (states[0] - base)
    if task.relations.count:
        # Costates across the relations move nothing: they are those that each arc brings along.
        states[0] = base + directions @ unknowns
        for k in range(1, task.segments):
            arrived = task.arcs.run(times[k - 1], times[k], states[k - 1], np.eye(len(base)))
            states[k] = task.relations.converged(states[k], arrived.state)
    return shoot(task.arcs, task.boundary, times, unknowns, states[1:])


def _costate_guess(problem: ControlProblem, guess: Guess | None) -> Array | None:
    """The costates (n,) where they are given, in the order of the symbols."""
    table = {getattr(key, "name", str(key)): value for key, value in (guess or {}).items()}
    names = [costate_of(symbol).name for symbol in problem.symbols]
    if not any(name in table for name in names):
        return None
    missing = [name for name in names if name not in table]
    if missing:
        remedy = "give all costates at the start, or none"
        raise ModelError(f"The guess lacks the costate {missing[0]}", ", ".join(table), remedy)
    return np.array([table[name] for name in names], dtype=float)


def _guess_functions(problem: ControlProblem, guess: Guess | None) -> dict[str, TimeFunction]:
    known = [symbol.name for symbol in (*problem.symbols, *problem.inputs)]
    found: dict[str, TimeFunction] = {}
    for key, value in (guess or {}).items():
        name = getattr(key, "name", str(key))
        name = problem.other_names.get(name, name)
        if name not in known:
            remedy = "guess symbols and inputs, or costates"
            raise ModelError(f"The guess names `{name}`", ", ".join(known), remedy)
        if callable(value) and not isinstance(value, sympy.Basic):
            found[name] = value
        else:
            expression = sympy.Float(value) if isinstance(value, (int, float)) else value
            if not isinstance(expression, sympy.Expr) or expression.free_symbols - {t}:
                what = f"The guess of `{name}` must be a function of time"
                raise ModelError(what, str(value)[:60], "use da.t alone")
            found[name] = partial(_value, expression)
    return found


def _value(expression: sympy.Expr, time: float) -> float:
    return float(expression.xreplace({t: sympy.Float(time)}))
