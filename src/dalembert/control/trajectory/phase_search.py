"""The loop of a trajectory of several phases: solve, replay with impacts, refine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from ...errors import DalembertError, RunError
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.system import System
from ...typing import Array, Progress
from .answer import MeshRound
from .boundary_conditions import consistent_ends
from .guesses import Course, course_of_unknowns, on_mesh
from .nonlinear_program import Unknowns
from .phase_answer import PhasedTrajectory, PlannedImpact, joined
from .phase_program import JoinedIterate, JoinedProgram, PhasedProblem
from .pieces import PieceEnds, StartEnd
from .refinement import Assessor, next_mesh
from .replay import Replay, input_tables, replay
from .schemes import Scheme
from .solution_search import check_bounded, size_of_unknowns, trajectory_of, unmet_error

__all__ = ["PhaseSearch"]

#: How far beyond the end of the last phase a run with impacts goes, as a part of that phase.
BEYOND = 0.01
#: Nodes nearer to an impact than this part of a phase are not compared: the run may meet it sooner.
NEAR = 1e-6


@dataclass(eq=False)
class JoinedRound:
    """A solved mesh of all phases with its judgement."""

    program: JoinedProgram
    iterate: JoinedIterate
    replays: list[Replay]
    errors: list[Array | None]
    losses: list[Array | None]
    cost: float
    motion: Motion | None
    distance: float

    @property
    def loss(self) -> float:
        known = [each for each in self.losses if each is not None]
        return float(sum(np.sum(each) for each in known)) if known else np.nan


class PhaseSearch:
    """The loop of solving, replaying and refining.

    `contacts` is the system whose contact modes the phases are, or None.
    """

    def __init__(
        self, problem: PhasedProblem, scheme: Scheme, tolerance: float, refinements: int,
        progress: Progress | None, contacts: System | None, held_starts: Sequence[bool],
    ) -> None:  # fmt: skip
        self.problem, self.scheme, self.tolerance = problem, scheme, tolerance
        self.refinements, self.progress = refinements, progress
        self.contacts, self.held_starts = contacts, held_starts
        self.assessors = [Assessor(statement) for statement in problem.statements]
        self.rounds: list[MeshRound] = []
        self.notes: list[str] = []

    def run(self, courses: Sequence[Course], meshes: Sequence[Array]) -> PhasedTrajectory:
        """The trajectory from a course of each phase."""
        best = self._judged(*self._solved(courses, meshes, {}, None))
        if best.iterate.raw.is_stopped:
            self.notes.append(
                f"The search was interrupted after {best.iterate.raw.iterations} iterations; its"
                f" best iterate is returned, in which {best.iterate.worst} is off by"
                f" {best.iterate.raw.violation:.2g}."
            )
            return self._answer(best)
        before: JoinedRound | None = None
        try:
            for count in range(1, self.refinements + 1):
                if self.progress is not None:
                    self.progress(count / (self.refinements + 1), count)
                finer = None if self._is_enough(best, before) else self._refined(best)
                if finer is None:
                    break
                before, best = best, finer
            if self.progress is not None:
                self.progress(1.0, len(self.rounds))
        except KeyboardInterrupt:
            self.notes.append("The search was interrupted; the last mesh solved is returned.")
        return self._answer(best)

    def _refined(self, best: JoinedRound) -> JoinedRound | None:
        """The solution on a finer mesh; None if nothing is left to refine, or it fails."""
        meshes, programs = self._finer(best), best.program.programs
        if all(len(a) == len(b.edges) for a, b in zip(meshes, programs, strict=True)):
            return None
        solution = best.iterate.phases
        courses = [course_of_unknowns(each.unknowns, self.scheme) for each in solution]
        try:
            found = self._solved(courses, meshes, {"mu_init": 1e-4}, best.iterate.links)
        except RunError as error:
            self.notes.append(f"A finer mesh was not solved ({error}); the one before is kept.")
            return None
        if found[1].raw.is_stopped:
            raise KeyboardInterrupt
        return self._judged(*found)

    def _solved(
        self, courses: Sequence[Course], meshes: Sequence[Array], options: dict[str, Any],
        links: Sequence[Array] | None,
    ) -> tuple[JoinedProgram, JoinedIterate]:  # fmt: skip
        statements = self.problem.statements
        guess = [
            on_mesh(statement, self.scheme, edges, course)
            for statement, edges, course in zip(statements, meshes, courses, strict=True)
        ]
        ends = [
            _ends_of(statement, own, held)
            for statement, own, held in zip(statements, guess, self.held_starts, strict=True)
        ]
        scales = [size_of_unknowns(own.instant) for own in guess]
        if links is None:
            links = [
                link.first(guess[link.after].nodes[0], statements[link.after].dynamics)
                for link in self.problem.links
            ]
        parts = (self.problem, self.scheme, meshes, ends, scales)
        program = JoinedProgram(*parts, {"ipopt": options})
        program.check_finite(guess, links)
        found = program.solve(guess, links)
        if not found.raw.converged and not found.raw.is_stopped:
            found = self._relaxed(program, JoinedProgram(*parts, elastic=True), found)
        return program, found

    def _relaxed(
        self, program: JoinedProgram, elastic: JoinedProgram, failed: JoinedIterate
    ) -> JoinedIterate:
        """Find out what cannot be met; solve again from a trajectory that meets everything."""
        check_bounded(failed.raw)
        nearest = elastic.solve([each.unknowns for each in failed.phases], failed.links)
        unmet = elastic.unmet(nearest)
        if nearest.raw.converged and unmet:
            active = [
                name
                for program, own in zip(elastic.programs, nearest.phases, strict=True)
                for name in program.active_bounds(own)
            ]
            raise unmet_error(unmet, active)
        again = failed
        if nearest.raw.converged:
            again = program.solve([each.unknowns for each in nearest.phases], nearest.links)
        if not again.raw.converged:
            raise RunError(
                f"No trajectory was found: IPOPT ended with {again.raw.status}",
                f"{again.worst} is off by {again.raw.violation:.2g}",
                "relax bounds or ends, or give another guess",
            )
        return again

    def _judged(self, program: JoinedProgram, iterate: JoinedIterate) -> JoinedRound:
        """A solution replayed, phase by phase and as a whole."""
        rtol = max(1e-11, min(1e-6, self.tolerance * 1e-2))
        found = [each.unknowns for each in iterate.phases]
        statements = self.problem.statements
        replays = [replay(s, own, rtol) for s, own in zip(statements, found, strict=True)]
        motion, distance = self._whole(found, rtol)
        result = JoinedRound(
            program, iterate, replays,
            [judge.errors(own) for judge, own in zip(self.assessors, iterate.phases, strict=True)],
            [
                judge.losses(own, part)
                for judge, own, part in zip(
                    self.assessors, iterate.phases, program.programs, strict=True
                )
            ],
            self._cost(iterate, replays), motion,
            max(distance, *(each.distance for each in replays)),
        )  # fmt: skip
        count = sum(part.count for part in program.programs)
        raw = iterate.raw
        self.rounds.append(MeshRound(count, raw.iterations, raw.cost, result.distance, result.loss))
        return result

    def _cost(self, iterate: JoinedIterate, replays: Sequence[Replay]) -> float:
        """The cost of the replayed motions."""
        if any(each.motion is None or each.integrals is None for each in replays):
            return np.nan
        problem, statements = self.problem, self.problem.statements
        numbers: dict[str, float] = {}
        for statement, own in zip(reversed(statements), reversed(iterate.phases), strict=True):
            names = [s.name for s in statement.dynamics.parameters]
            numbers |= dict(zip(names, own.unknowns.parameters.tolist(), strict=True))
        for k, node, symbol in problem.integral_parameters:
            integrals = replays[k].integrals
            assert integrals is not None
            place = statements[k].quantities.integrals.index(node)
            numbers[symbol.name] = float(integrals[place])
        q, ends = problem.quantities, []
        for k, column, place in ((0, q.starts, 0), (-1, q.ends, -1)):
            plan, d = iterate.phases[k].unknowns, statements[k].dynamics
            motion = replays[k].motion
            assert motion is not None
            rows = [[s.name for s in motion.state].index(s.name) for s in d.state]
            zero = np.zeros(d.unknowns.numel())
            at = ca.Function("end", d.arguments, [column])
            given = (plan.times[place], motion.y[rows, place], zero, plan.inputs[place, place])
            ends.append(at(*given, plan.parameters))
        values = [numbers[s.name] for s in problem.parameters]
        rest = float(np.asarray(q.value(np.zeros(0), *ends, values)).ravel()[0])
        return rest + sum(each.cost for each in replays)

    def _whole(self, found: Sequence[Unknowns], rtol: float) -> tuple[Motion | None, float]:
        """The run of `simulate` with its own impacts, and its distance from the plan."""
        system, statements = self.contacts, self.problem.statements
        if system is None:
            return None, 0.0
        d = statements[0].dynamics
        last = found[-1].times[1]
        end = last + BEYOND * (last - found[-1].times[0])
        tables = [input_tables(s, own) for s, own in zip(statements, found, strict=True)]
        names, used = [s.name for s in d.state], {s.name for s in d.kernel.parameters}
        numbers = dict(zip((s.name for s in d.parameters), found[0].parameters, strict=True))
        try:
            motion = simulate(
                system, dict(zip(names, found[0].nodes[0].tolist(), strict=True)),
                (found[0].times[0], end), rtol=rtol, form="lagrange",
                inputs={n: joined([each[n] for each in tables]) for n in tables[0]} or None,
                parameters={name: float(v) for name, v in numbers.items() if name in used},
            )  # fmt: skip
        except DalembertError as error:
            self.notes.append(f"simulate could not follow the plan with its impacts: {error}")
            return None, np.inf
        return motion, self._distance(motion, found)

    def _distance(self, motion: Motion, found: Sequence[Unknowns]) -> float:
        """How far a run is from the plan, at nodes apart from impacts, and in their times."""
        names = [s.name for s in self.problem.statements[0].dynamics.state]
        worst = 0.0
        for own in found:
            first, last = own.times
            margin = NEAR * (last - first)
            times = first + own.edges * (last - first)
            inside = (times > first + margin) & (times < last - margin) & (times <= motion.t[-1])
            if not inside.any() or times[inside][-1] != times[times < last - margin][-1]:
                return np.inf
            rows = [[s.name for s in motion.state].index(name) for name in names]
            states = motion.sol(times[inside])[rows].T
            scale = np.maximum(1.0, np.max(np.abs(own.nodes), axis=0))
            worst = max(worst, float(np.max(np.abs(states - own.nodes[inside]) / scale)))
        met = [time for time, _ in motion.impacts]
        for link in self.problem.links:
            if link.impact is not None:
                planned = found[link.before].times[1]
                worst = max(worst, min((abs(time - planned) for time in met), default=np.inf))
        return worst

    def _size(self, found: JoinedRound) -> float:
        return max(1e-3, abs(found.iterate.raw.cost))

    def _is_enough(self, found: JoinedRound, before: JoinedRound | None) -> bool:
        violation = max(each.violation for each in found.replays)
        if not (found.distance <= self.tolerance and violation <= self.tolerance):
            return False
        allowed = self.tolerance * self._size(found)
        if all(each is not None for each in found.losses):
            return found.loss <= allowed
        if before is None:
            return False
        return abs(found.iterate.raw.cost - before.iterate.raw.cost) <= allowed

    def _finer(self, found: JoinedRound) -> list[Array]:
        return [
            next_mesh(
                part.edges, errors, losses, own.beyond, found.distance, self.scheme.order,
                self.tolerance / len(found.replays), self._size(found),
            )
            for part, errors, losses, own in zip(
                found.program.programs, found.errors, found.losses, found.replays, strict=True
            )
        ]  # fmt: skip

    def _answer(self, best: JoinedRound) -> PhasedTrajectory:
        if any(each.motion is None for each in best.replays):
            raise RunError(
                "The inputs that were found cannot be replayed", best.iterate.raw.status,
                "refine the mesh, or tighten the bounds of states that grow",
            )  # fmt: skip
        phases = tuple(
            replace(
                trajectory_of(
                    statement, self.scheme, own, again,
                    float(np.sum(losses)) if losses is not None else np.nan,
                ),
                tolerance=self.tolerance,
            )
            for statement, own, again, losses in zip(
                self.problem.statements, best.iterate.phases, best.replays, best.losses, strict=True
            )
        )  # fmt: skip
        impacts = []
        for link, own in zip(self.problem.links, best.iterate.links, strict=True):
            if link.impact is None:
                continue
            impulses = own[link.size - len(link.impact.rows) :]
            contacts = {contact.name for contact in link.impact.contacts}
            table = {
                name: float(-value if name in contacts else value)
                for name, value in zip(link.impact.rows, impulses, strict=True)
            }
            impacts.append(PlannedImpact(best.iterate.phases[link.before].unknowns.times[1], table))
        answer = PhasedTrajectory(
            phases=phases, cost=best.cost, transcribed_cost=best.iterate.raw.cost,
            motion=best.motion, impacts=tuple(impacts), replay_distance=best.distance,
            tolerance=self.tolerance, rounds=tuple(self.rounds), status=best.iterate.raw.status,
        )  # fmt: skip
        if not answer.is_within_tolerance:
            self.notes.append(
                f"The tolerance {self.tolerance:g} was not reached: replay distance"
                f" {answer.replay_distance:.1e}, bounds exceeded by {answer.bound_violation:.1e},"
                f" loss {answer.loss:.1e}. Allow more refinements, or start with more intervals."
            )
        return replace(answer, notes=tuple(self.notes))


def _ends_of(statement: Any, guess: Unknowns, held: bool) -> PieceEnds:
    """The ends of a phase; the constraints at its start are asked for where it is not `held`."""
    found = consistent_ends(statement, guess)
    return replace(found, start=StartEnd(statement.start)) if held else found
