r"""Optimal control over several phases: contact modes with impacts between them, or any models.

    phase 1: x_dot = f_1(x, u)  --impact-->  phase 2: x_dot = f_2(x, u)  --impact--> ...

Where the phases are contact modes of one system, its equations, its impacts and Coulomb's bounds
follow from its one-sided constraints, and the whole is replayed by `simulate`, which finds impacts
and modes by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import BySymbol, Condition, Expression, Progress, Symbols
from .guesses import Guess
from .phase_answer import PhasedTrajectory
from .phase_guesses import guessed_times, phase_course
from .phase_search import PhaseSearch
from .phase_statement import Phase, PhaseReader
from .problem_statement import Bound, FreeSpan
from .schemes import find_scheme

__all__ = ["optimise_phases"]


def optimise_phases(
    phases: Sequence[Phase],
    cost: Expression,
    start: BySymbol[Bound] | None = None,
    end: BySymbol[Bound] | None = None,
    span: FreeSpan = (0, None),
    *,
    periodic: Symbols = (),
    relabel: BySymbol[Expression | str] | None = None,
    bounds: BySymbol[Bound] | None = None,
    conditions: Sequence[Condition] = (),
    parameters: BySymbol[Bound] | None = None,
    guess: Guess | None = None,
    transcription: str = "gauss6",
    tolerance: float = 1e-6,
    refinements: int = 8,
    progress: Progress | None = None,
) -> PhasedTrajectory:
    """Find inputs, times and parameters of a trajectory of several phases that make a cost least.

    Parameters
    ----------
    phases : sequence of Phase
    cost : expression
        Of ``integral(...)`` over all phases, ``at_start(...)`` of the first, ``at_end(...)`` of the
        last, and parameters.
    start, end : mapping of symbol or expression to value
        Of the first phase, and of the last before its impact.
    span : (t0, t1)
        Of the whole; times between phases are free, within their durations.
    periodic : sequence of symbols
        Whose values at the start of the first phase are those after the end of the last, with its
        impact.
    relabel : mapping of symbol or contact to what it is called before
        For `periodic`: ``{left: right, right: left, "left": "right", "right": "left"}`` lets a step
        repeat with legs exchanged. Velocities follow their coordinates.
    bounds, parameters, guess, transcription, tolerance, refinements, progress
        As in `optimise`, for all phases.
    conditions : sequence of expressions or relations
        Of the whole trajectory.

    Returns
    -------
    PhasedTrajectory

    Examples
    --------
    A ball is thrown up, bounces once with restitution 0.8, and is caught at the height 1.

    >>> import dalembert as da
    >>> from dalembert.control import Phase, at_start
    >>> h = da.coordinates("h")
    >>> floor = da.unilateral(h >= 0, restitution=0.8, name="floor")
    >>> ball = da.System([h], kinetic=h.dot**2 / 2, potential=9.81 * h, constraints=[floor])
    >>> flights = [Phase(ball, hits=["floor"]), Phase(ball)]
    >>> found = optimise_phases(flights, at_start(h.dot) ** 2, {h: 1}, {h: 1, h.dot: 0})
    >>> round(found.cost, 6), round(9.81 * 2 * (1 / 0.64 - 1), 6)
    (11.03625, 11.03625)
    >>> found.replay_distance < 1e-6
    True
    """
    scheme = find_scheme(transcription)
    reader = PhaseReader(phases, periodic, relabel or {})
    problem, held = reader.problem(cost, start, end, span, bounds, conditions, parameters)
    times = guessed_times(problem.statements, span, guess)
    courses = [
        phase_course(own, phase, guess, times, k, start, end)
        for k, (own, phase) in enumerate(zip(problem.statements, reader.phases, strict=True))
    ]
    meshes = [np.linspace(0.0, 1.0, int(phase.intervals) + 1) for phase in reader.phases]
    search = PhaseSearch(
        problem, scheme, float(tolerance), int(refinements), progress, reader.contacts, held
    )
    return search.run(courses, meshes)
