r"""Direct optimal control: `optimise`.

    minimise    any expression of integrals and of values at the ends
    subject to  G z = f + A^T mu,  A z = b,  x_dot = rates(x, z, mu),  bounds and conditions

The trajectory is transcribed on a mesh (`program`), solved by IPOPT, replayed by `simulate`
(`replay`) and refined (`refinement`) until the replayed motion is the planned one, to a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ModelError
from ...formulations.equations import Equations
from ...model.flow_system import Flow
from ...model.system import System
from ...model.values import real_number
from ...typing import BySymbol, Condition, Expression, Progress, Symbols
from .answer import Trajectory
from .guesses import Course, Guess, bent_courses, first_course
from .ipopt_solution import find_solver
from .problem_statement import Asked, Bound, FreeSpan, Statement, read_statement
from .rollouts import best_rollouts
from .schemes import Scheme, find_scheme
from .solution_search import Search

__all__ = ["optimise"]

#: Least, most and usual values; a mesh of 10^5 intervals has some 10^6 unknowns.
COUNTS = {
    "intervals": (2, 100_000, 25),
    "starts": (1, 10_000, 10),
    "refinements": (0, 100, 8),
    "seed": (0, 2**63 - 1, 0),
}


def optimise(
    model: System | Flow | Equations,
    cost: Expression,
    start: BySymbol[Bound] | None = None,
    end: BySymbol[Bound] | None = None,
    span: FreeSpan = (),
    *,
    at_rest: bool | str = False,
    periodic: Symbols = (),
    up_to: BySymbol[Expression] | None = None,
    bounds: BySymbol[Bound] | None = None,
    conditions: Sequence[Condition] = (),
    parameters: BySymbol[Bound] | None = None,
    guess: Guess | Trajectory | str | None = None,
    form: str | None = None,
    transcription: str | None = None,
    intervals: int = 25,
    tolerance: float = 1e-6,
    refinements: int = 8,
    starts: int = 1,
    seed: int = 0,
    solver: str = "ipopt",
    progress: Progress | None = None,
) -> Trajectory:
    """Find inputs, free times and parameters that make a cost least.

    Parameters
    ----------
    model : System, Flow or Equations
        With free inputs. Constraints are equations of the program, and nothing is inverted for
        them.
    cost : expression
        Of `integral`, `at_start`, `at_end` and parameters: ``integral(u**2)``, ``at_end(da.t)``.
    start, end : mapping of symbol or expression to value
        A number, or a pair (least, most) with None where there is no bound. What is left out is
        free.
    span : (t0, t1)
        Each a number, a pair (least, most), or None if it is free.
    at_rest : bool, "start" or "end"
        Whether the velocities vanish at both ends, or at one of them.
    periodic : sequence of symbols
        Whose values at the end are those at the start.
    up_to : mapping of symbol to expression
        How a group moves symbols, with da.parameters as its parameters: ``{x: x + a}``. The end is
        then the start moved by an element of the group, whose parameters are unknowns (bounded
        where `parameters` says so); velocities are moved by the derivative.
    bounds : mapping of symbol or expression to (least, most)
        Along the whole trajectory: of the state, inputs, accelerations ``x.ddot``, reactions
        ``reaction("rod", x)`` and any expression of them.
    conditions : sequence of expressions or relations
        Expressions of integrals and ends that vanish, or relations of them.
    parameters : mapping of symbol to value
        A pair (least, most) makes a parameter an unknown.
    guess : mapping of symbol to a number, an expression of time, a function or values; or a Motion
        Where the search begins; ``da.t`` is the end time. States that are left out go straight
        from start to end. A Trajectory is a warm start: for the same states, inputs and
        transcription its mesh and its multipliers are taken over. ``"sampled"`` simulates random
        inputs from the start and takes the motion that comes nearest to the end and the bounds;
        with several `starts`, the best ones.
    form : str
        The form of the equations; by default the one that `simulate` takes.
    transcription : str, optional
        "gauss2", "gauss4", ..., "radau3", "radau5", ..., "lobatto2", "lobatto4", ...,
        "trapezoid", "hermite-simpson"; "dmoc2", "dmoc4", ... are the steps of discrete mechanics
        (`schemes`), in Hamilton's form, which keep momenta and constraints on coarse meshes. By
        default "gauss10" for tolerances below 1e-5 where no input jumps between its bounds and
        there is one start, and
        "gauss6" otherwise; ``answer.reason`` says which case it was.
    intervals : int
        Of the first mesh, where a warm start does not bring its own.
    tolerance : float
        Of the replayed motion and, relatively, of the cost.
    refinements : int
        Most meshes after the first.
    starts : int
        From how many guesses the first mesh is solved: the given one, and others that are bent at
        random. More than one are followed by twice as many that begin beside the cheapest solution
        so far. The cheapest is refined; ``answer.optima`` lists what was met.
    seed : int
        Of these guesses.
    solver : "ipopt", "fatrop" or "sqpmethod"
        Of the nonlinear program, by its name in CasADi. fatrop takes schemes of Gauss, given times
        and parameters, and conditions of one instant; its work grows with the number of intervals
        alone. sqpmethod is slower, and an independent check.
    progress : callable
        Called with the part done and the number of meshes solved.

    Returns
    -------
    Trajectory

    Raises
    ------
    ModelError
        For names that are unknown, bounds that exclude each other, and what cannot be stated.
    RunError
        Where no trajectory was found; the message names what cannot be met.

    Examples
    --------
    A unit mass moved by 1 within |u| <= 1 takes 2 at least.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> found = optimise(
    ...     mass, da.control.at_end(da.t), {x: 0}, {x: 1}, (0, (0.5, 5)), at_rest=True,
    ...     bounds={u: (-1, 1)},
    ... )  # fmt: skip
    >>> round(found.cost, 5), found.replay_distance < 1e-6
    (2.0, True)
    """
    warm = guess.warm if isinstance(guess, Trajectory) else None
    if transcription is None and warm is not None:
        transcription = warm.layout.scheme.name
    scheme = None if transcription is None else find_scheme(transcription)
    asked = Asked(
        model, cost, start, end, span, at_rest, periodic, up_to, bounds, conditions, parameters,
        _form_of(scheme, form), discrete=scheme is not None and scheme.is_variational,
    )  # fmt: skip
    statement = read_statement(asked)
    counts = {"intervals": intervals, "starts": starts, "refinements": refinements, "seed": seed}
    accuracy = _checked(tolerance, **counts)
    search = Search(
        asked, statement, scheme, accuracy, int(refinements), progress,
        find_solver(solver, accuracy), starts > 1, int(seed),
    )  # fmt: skip
    courses = _courses(statement, guess, int(starts), seed)
    edges = np.linspace(0.0, 1.0, int(intervals) + 1)
    if warm is not None and not warm.serves(statement, search.scheme):
        warm = None
    return search.run(courses, edges, warm)


def _courses(
    statement: Statement, guess: Guess | Trajectory | str | None, count: int, seed: int
) -> list[Course]:
    """Where the searches begin."""
    if isinstance(guess, str):
        if guess != "sampled":
            raise ModelError("There is no such guess", repr(guess), 'pass guess="sampled"')
        return best_rollouts(statement, count, seed)
    course = first_course(statement, guess)
    return [course, *bent_courses(statement, course, count - 1, seed)]


def _form_of(scheme: Scheme | None, form: str | None) -> str | None:
    """The form that a scheme needs."""
    if scheme is None or not scheme.is_variational:
        return form
    if form not in (None, "hamilton"):
        raise ModelError(
            f"The transcription `{scheme.name}` is one of Hamilton's form", form, "leave form out"
        )
    return "hamilton"


def _checked(tolerance: float, **counts: int) -> float:
    """The tolerance; raise for numbers that cannot be honoured."""
    accuracy = real_number(tolerance)
    if not 1e-12 <= accuracy <= 0.1:
        raise ModelError("The tolerance must lie between 1e-12 and 0.1", tolerance, "pass 1e-6")
    for name, value in counts.items():
        least, most, usual = COUNTS[name]
        if not isinstance(value, (int, np.integer)) or not least <= value <= most:
            raise ModelError(
                f"`{name}` must be a whole number between {least} and {most}", value,
                f"pass {name}={usual}",
            )  # fmt: skip
    return accuracy
