r"""Direct optimal control: `optimise`.

    minimise    any expression of integrals and of values at the ends
    subject to  G z = f + A^T mu,  A z = b,  x_dot = rates(x, z, mu),  bounds and conditions

The trajectory is transcribed on a mesh (`program`), solved by IPOPT, replayed by `simulate`
(`replay`) and refined (`refinement`) until the replayed motion is the planned one, to a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import ModelError, RunError
from ...formulations.equations import Equations
from ...model.flow_system import Flow
from ...model.system import System
from ...model.values import real_number
from ...typing import Array, BySymbol, Condition, Expression, Progress, Symbols
from .answer import MeshRound, Trajectory
from .ends import consistent_ends
from .guesses import Course, Guess, course_of_unknowns, first_course, on_mesh
from .program import Iterate, Program
from .refinement import Assessor, refined
from .replay import Replay, input_tables, replay
from .schemes import Scheme, find_scheme
from .statement import Asked, Bound, FreeSpan, Statement, read_statement

__all__ = ["optimise"]


def optimise(
    model: System | Flow | Equations,
    cost: Expression,
    start: BySymbol[Bound] | None = None,
    end: BySymbol[Bound] | None = None,
    span: FreeSpan = (),
    *,
    at_rest: bool | str = False,
    periodic: Symbols = (),
    bounds: BySymbol[Bound] | None = None,
    conditions: Sequence[Condition] = (),
    parameters: BySymbol[Bound] | None = None,
    guess: Guess | None = None,
    form: str | None = None,
    transcription: str = "gauss6",
    intervals: int = 25,
    tolerance: float = 1e-6,
    refinements: int = 8,
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
    bounds : mapping of symbol or expression to (least, most)
        Along the whole trajectory: of the state, inputs, accelerations ``x.ddot``, reactions
        ``reaction("rod", x)`` and any expression of them.
    conditions : sequence of expressions or relations
        Expressions of integrals and ends that vanish, or relations of them.
    parameters : mapping of symbol to value
        A pair (least, most) makes a parameter an unknown.
    guess : mapping of symbol to a number, an expression of time, a function or values; or a Motion
        Where the search begins; ``da.t`` is the end time. States that are left out go straight
        from start to end.
    form : str
        The form of the equations; by default the one that `simulate` takes.
    transcription : str
        "gauss2", "gauss4", ..., "radau3", "radau5", ..., "lobatto2", "lobatto4", ...,
        "trapezoid", "hermite-simpson".
    intervals : int
        Of the first mesh.
    tolerance : float
        Of the replayed motion and, relatively, of the cost.
    refinements : int
        Most meshes after the first.
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
    asked = Asked(
        model, cost, start, end, span, at_rest, periodic, bounds, conditions, parameters, form
    )
    statement = read_statement(asked)
    scheme = find_scheme(transcription)
    accuracy = real_number(tolerance)
    if not 1e-12 <= accuracy <= 0.1:
        raise ModelError("The tolerance must lie between 1e-12 and 0.1", tolerance, "pass 1e-6")
    if int(intervals) < 2:
        raise ModelError("A mesh has at least two intervals", intervals, "pass intervals=25")
    search = _Search(statement, scheme, accuracy, int(refinements), progress)
    return search.run(first_course(statement, guess), np.linspace(0.0, 1.0, int(intervals) + 1))


@dataclass(eq=False)
class _Round:
    """A solved mesh with its judgement."""

    program: Program
    iterate: Iterate
    replay: Replay
    errors: Array | None
    losses: Array | None

    @property
    def loss(self) -> float:
        return float(np.sum(self.losses)) if self.losses is not None else np.nan


class _Search:
    """The loop of solving, replaying and refining."""

    def __init__(
        self, statement: Statement, scheme: Scheme, tolerance: float, refinements: int,
        progress: Progress | None,
    ) -> None:  # fmt: skip
        self.statement, self.scheme, self.tolerance = statement, scheme, tolerance
        self.refinements, self.progress = refinements, progress
        self.assessor = Assessor(statement)
        self.rounds: list[MeshRound] = []
        self.notes: list[str] = []

    def run(self, course: Course, edges: Array) -> Trajectory:
        best: _Round | None = None
        for count in range(self.refinements + 1):
            found = self._solve(course, edges, is_first=best is None)
            if found is None:
                break
            before, best = best, found
            if self.progress is not None:
                self.progress((count + 1) / (self.refinements + 1), count + 1)
            if self._is_enough(best, before) or count == self.refinements:
                break
            finer = self._finer(best)
            if len(finer) == len(edges):
                break
            edges, course = finer, course_of_unknowns(best.iterate.unknowns, self.scheme)
        assert best is not None
        return self._answer(best)

    def _solve(self, course: Course, edges: Array, is_first: bool) -> _Round | None:
        unknowns = on_mesh(self.statement, self.scheme, edges, course)
        ends = consistent_ends(self.statement, unknowns)
        scale = _scale(unknowns.instant)
        options: dict[str, Any] = {}
        if not is_first:
            options["ipopt"] = {"mu_init": 1e-4}
        program = Program(self.statement, self.scheme, edges, ends, options, scale)
        iterate = program.solve(unknowns)
        if not iterate.converged:
            if is_first:
                raise RunError(
                    f"No trajectory was found: IPOPT ended with {iterate.status}",
                    f"{iterate.worst} is off by {iterate.violation:.2g}",
                    "relax bounds or ends, or give another guess",
                )
            self.notes.append(
                f"The mesh of {len(edges) - 1} intervals did not converge ({iterate.status});"
                " the one before is returned."
            )
            return None
        again = replay(
            self.statement, iterate.unknowns, max(1e-11, min(1e-6, self.tolerance * 1e-2))
        )
        errors, losses = self.assessor.errors(iterate), self.assessor.losses(iterate, program)
        found = _Round(program, iterate, again, errors, losses)
        self.rounds.append(
            MeshRound(len(edges) - 1, iterate.iterations, iterate.cost, again.distance, found.loss)
        )
        return found

    def _size(self, found: _Round) -> float:
        return max(1e-3, abs(found.iterate.cost))

    def _is_enough(self, found: _Round, before: _Round | None) -> bool:
        if not (found.replay.distance <= self.tolerance):
            return False
        if found.replay.violation > self.tolerance:
            return False
        if found.losses is not None:
            return found.loss <= self.tolerance * self._size(found)
        if before is None:
            return not self.statement.dynamics.inputs
        return abs(found.iterate.cost - before.iterate.cost) <= self.tolerance * self._size(found)

    def _finer(self, found: _Round) -> Array:
        N = len(found.program.edges) - 1
        errors, distance = found.errors, found.replay.distance
        target = np.inf
        if errors is not None and distance > 0.5 * self.tolerance:
            growth = min(distance, 1e3) / max(float(np.sum(errors)), 1e-300)
            target = self.tolerance / max(growth, 1.0) / N / 4.0
        elif errors is None and distance > 0.5 * self.tolerance:
            errors, target = np.ones(N), 0.5
        loss_target = self.tolerance * self._size(found) / N / 2.0
        losses = found.losses
        if losses is None and distance <= 0.5 * self.tolerance:
            errors, target = np.ones(N), 0.5
        return refined(
            found.program.edges, errors, losses, found.replay.beyond, self.scheme.order,
            target, loss_target, 0.5 * self.tolerance,
        )  # fmt: skip

    def _answer(self, best: _Round) -> Trajectory:
        statement, found, again = self.statement, best.iterate.unknowns, best.replay
        if again.motion is None:
            raise RunError(
                "The inputs that were found cannot be replayed", best.iterate.status,
                "refine the mesh, or tighten the bounds of states that grow",
            )  # fmt: skip
        dynamics = statement.dynamics
        answer = Trajectory(
            motion=again.motion,
            inputs=input_tables(statement, found),
            cost=again.cost,
            transcribed_cost=best.iterate.cost,
            replay_distance=again.distance,
            bound_violation=again.violation,
            loss=best.loss,
            tolerance=self.tolerance,
            parameters={
                s.name: float(v) for s, v in zip(dynamics.parameters, found.parameters, strict=True)
            },
            t=found.times[0] + found.edges * (found.times[1] - found.times[0]),
            states=found.nodes.T,
            costates=best.iterate.costates[0].T,
            state_names=tuple(s.name for s in dynamics.state),
            transcription=self.scheme.name,
            rounds=tuple(self.rounds),
            status=best.iterate.status,
        )
        if not answer.is_within_tolerance:
            self.notes.append(
                f"The tolerance {self.tolerance:g} was not reached: replay distance"
                f" {again.distance:.1e}, bounds exceeded by {again.violation:.1e}, loss"
                f" {best.loss:.1e}. Allow more refinements, or start with more intervals."
            )
        return replace(answer, notes=tuple(self.notes))


def _scale(instant: Array) -> Array:
    """Sizes of z and mu at the guess, so that the program sees numbers of order one."""
    if not instant.size:
        return np.ones(instant.shape[-1])
    sizes: Array = np.maximum(1.0, np.max(np.abs(instant), axis=(0, 1)))
    return sizes
