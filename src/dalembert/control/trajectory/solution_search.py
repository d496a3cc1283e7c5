"""The loop of an optimised trajectory: solve, replay, judge, refine; several starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import numpy as np

from ...errors import ModelError, RunError
from ...typing import Array, Progress
from .answer import LocalOptimum, MeshRound, Trajectory
from .boundary_conditions import consistent_ends
from .guesses import Course, bent_courses, course_of_unknowns, on_mesh
from .ipopt_solution import RawIterate, Solver
from .judge import pontryagin_extremal
from .nonlinear_program import Iterate, NonlinearProgram, Unknowns
from .problem_statement import Asked, Statement
from .refinement import Assessor, next_mesh
from .replay import Replay, input_tables, replay
from .schemes import Scheme, usual_scheme
from .warm_starts import WARM, WarmStart, multipliers_on_mesh

__all__ = ["Search", "check_bounded", "size_of_unknowns", "trajectory_of", "unmet_error"]

#: Local optima whose costs differ by less than this, relatively, are one.
SAME = 1e-5
#: A solution as near to the guess as this is the guess.
STILL = 1e-6
#: How much a solution is bent to begin a search beside it, as a part of what a guess is.
NEARBY = 0.2
#: Searches beside the cheapest solution for each of several starts; most of them are short.
BESIDE = 2
#: One of several starts is given up after so many iterations: those that converge take fewer.
MOST_ITERATIONS = 300
#: Meshes of more intervals begin with a solution on one with as many times fewer.
MOST_AT_ONCE, COARSER = 60, 4
#: A cost below minus this falls without limit.
UNBOUNDED = 1e10


@dataclass(eq=False)
class Round:
    """A solved mesh with its judgement."""

    program: NonlinearProgram
    iterate: Iterate
    replay: Replay
    errors: Array | None
    losses: Array | None

    @property
    def loss(self) -> float:
        return float(np.sum(self.losses)) if self.losses is not None else np.nan


class Search:
    """The loop of solving, replaying and refining."""

    def __init__(
        self, asked: Asked, statement: Statement, scheme: Scheme | None, tolerance: float,
        refinements: int, progress: Progress | None, solver: Solver | None = None,
        several: bool = False, seed: int = 0,
    ) -> None:  # fmt: skip
        self.asked, self.statement = asked, statement
        self.tolerance, self.several, self.seed = tolerance, several, seed
        self.refinements, self.progress, self.solver = refinements, progress, solver
        self.assessor = Assessor(statement)
        self.scheme, self.reason = (
            (scheme, "")
            if scheme
            else usual_scheme(tolerance, self.assessor.inputs_switch, several)
        )
        self.rounds: list[MeshRound] = []
        self.optima: list[LocalOptimum] = []
        self.before: Round | None = None
        self.notes: list[str] = []
        self.is_stopped = False

    def run(self, courses: list[Course], edges: Array, warm: WarmStart | None = None) -> Trajectory:
        """The best trajectory from some courses; all but the best stay on the first mesh.

        A solution of another problem with the same unknowns takes the place of the first course.
        """
        best = self._first(courses, edges, warm)
        try:
            for count in range(1, self.refinements + 1):
                if self.progress is not None:
                    self.progress(count / (self.refinements + 1), count)
                is_done = self.is_stopped or self._is_enough(best) or self._is_stalled(best)
                finer = None if is_done else self._refined(best)
                if finer is None:
                    break
                self.before, best = best, finer
            if self.progress is not None:
                self.progress(1.0, len(self.rounds))
        except KeyboardInterrupt:
            self.notes.append("The search was interrupted; the last mesh solved is returned.")
        return self._answer(best)

    def _refined(self, best: Round) -> Round | None:
        """The solution on a finer mesh; None if nothing is left to refine, or it fails."""
        edges = self._finer(best)
        if len(edges) == len(best.program.edges):
            return None
        iterate, program = self._warm(WarmStart.of(best.program, best.iterate), edges)
        if iterate.converged:
            return self._judged(program, iterate)
        if iterate.is_stopped:
            raise KeyboardInterrupt
        self.notes.append(
            f"The mesh of {len(edges) - 1} intervals did not converge ({iterate.status}); the one"
            " before is returned."
        )
        return None

    def _first(self, courses: list[Course], edges: Array, warm: WarmStart | None) -> Round:
        """The best solution on the first mesh; later courses give way to neighbours of the best."""
        found: list[tuple[Iterate, NonlinearProgram]] = []
        fault: Exception | None = None
        for course in chain(courses, self._neighbours(found, BESIDE * len(courses))):
            try:
                iterate, program = self._begun(course, edges, warm, is_short=self.several)
                warm = None
            except (ModelError, RunError) as error:
                fault = fault or error
                continue
            except KeyboardInterrupt:
                if not found:
                    raise
                self.notes.append("The search was interrupted after some of the starts.")
                break
            if iterate.converged or iterate.is_stopped or not self.several:
                found.append((iterate, program))
            if iterate.is_stopped:
                self.is_stopped = True
                break
        if not found and fault is not None:
            raise fault
        if not found:
            found.append(self._begun(courses[0], edges, None))
        found.sort(key=lambda pair: (not pair[0].converged, pair[0].cost))
        best = found[0][0]
        if best.is_stopped:
            self.notes.append(
                f"The search was interrupted after {best.iterations} iterations; its best iterate"
                f" is returned, in which {best.worst} is off by {best.violation:.2g}."
            )
        elif self.is_stopped:
            self.notes.append("The search was interrupted after some of the starts.")
        for iterate, _ in found:
            last = self.optima[-1].cost if self.optima else np.nan
            if not abs(iterate.cost - last) <= SAME * max(1e-3, abs(last)):
                self.optima.append(LocalOptimum(iterate.cost, iterate.status))
        iterate, program = found[0]
        return self._judged(program, iterate)

    def _neighbours(
        self, found: list[tuple[Iterate, NonlinearProgram]], count: int
    ) -> Iterator[Course]:
        """The cheapest solution so far, bent a little: cheaper optima are often beside it."""
        for k in range(count if self.several else 0):
            solved = [iterate for iterate, _ in found if iterate.converged]
            if solved:
                best = min(solved, key=lambda iterate: iterate.cost)
                course = course_of_unknowns(best.unknowns, self.scheme)
                yield bent_courses(self.statement, course, 1, (self.seed, k), NEARBY)[0]

    def _begun(
        self, course: Course, edges: Array, warm: WarmStart | None, is_short: bool = False
    ) -> tuple[Iterate, NonlinearProgram]:
        """A solution on the first mesh, or from the solution of another problem on its mesh.

        A short one is given up where it does not converge soon.
        """
        if warm is not None:
            iterate, program = self._warm(warm, warm.layout.edges)
            if iterate.converged or iterate.is_stopped:
                return iterate, program
        if len(edges) - 1 > MOST_AT_ONCE:
            # Fine meshes take many more iterations from a guess than from a coarse solution.
            return self._warmed(course, edges, is_short)
        iterate, program = self._solved(course, edges, is_short=is_short)
        if iterate.converged and self._is_still(iterate, course, edges):
            iterate, program = self._left(iterate, program, course, edges)
        if not iterate.converged and not iterate.is_stopped and not is_short:
            iterate, program = self._relaxed(iterate, program)
        return iterate, program

    def _warmed(
        self, course: Course, edges: Array, is_short: bool
    ) -> tuple[Iterate, NonlinearProgram]:
        """The solution on a fine mesh from that on a coarser one."""
        every = np.linspace(0, len(edges) - 1, (len(edges) - 1) // COARSER + 1).round().astype(int)
        iterate, program = self._begun(course, edges[every], None, is_short)
        if not iterate.converged:
            return iterate, program
        iterate, program = self._warm(WarmStart.of(program, iterate), edges)
        if not iterate.converged and not iterate.is_stopped:
            iterate, program = self._relaxed(iterate, program)
        return iterate, program

    def _solved(
        self, course: Course, edges: Array, warm: WarmStart | None = None, is_short: bool = False
    ) -> tuple[Iterate, NonlinearProgram]:
        unknowns = on_mesh(self.statement, self.scheme, edges, course)
        ends = consistent_ends(self.statement, unknowns)
        scale = size_of_unknowns(unknowns.instant)
        program = NonlinearProgram(
            self.statement, self.scheme, edges, ends, scale=scale, solver=self.solver
        )
        lam = None if warm is None else multipliers_on_mesh(warm, program)
        short = {"max_iter": MOST_ITERATIONS} if is_short else {}
        program.options |= {"ipopt": short | (WARM if lam is not None else {})}
        program.check_finite(unknowns)
        if program.excess > 0:
            raise self._overdetermined(program, unknowns)
        if self.progress is not None:
            program.solution.watch.tell = self._tell
        return program.solve(unknowns, lam), program

    def _warm(self, warm: WarmStart, edges: Array) -> tuple[Iterate, NonlinearProgram]:
        """The solution on a mesh from one on another mesh, and from its multipliers."""
        course = course_of_unknowns(warm.iterate.unknowns, self.scheme)
        return self._solved(course, edges, warm)

    def _is_still(self, iterate: Iterate, course: Course, edges: Array) -> bool:
        """Whether a solution is the guess itself."""
        guess, found = on_mesh(self.statement, self.scheme, edges, course), iterate.unknowns
        pairs = ((guess.nodes, found.nodes), (guess.inputs, found.inputs))
        return all(np.allclose(a, b, rtol=STILL, atol=STILL) for a, b in pairs)

    def _left(
        self, still: Iterate, program: NonlinearProgram, course: Course, edges: Array
    ) -> tuple[Iterate, NonlinearProgram]:
        """Leave a guess at which the cost is stationary: it may be a saddle or a maximum."""
        (bent,) = bent_courses(self.statement, course, 1, 0)
        other, finer = self._solved(bent, edges)
        if other.converged and other.cost >= still.cost - SAME * max(1e-3, abs(still.cost)):
            return still, program
        self.notes.append(
            "The cost is stationary at the guess, which is no minimum; the search began beside it."
        )
        return other, finer

    def _tell(self, iterations: int) -> None:
        """Tell the progress inside a mesh, whose number of iterations is not known before."""
        assert self.progress is not None
        done = (len(self.rounds) + iterations / (iterations + 50.0)) / (self.refinements + 1)
        self.progress(min(done, 1.0), len(self.rounds))

    def _overdetermined(self, program: NonlinearProgram, guess: Unknowns) -> RunError:
        """What ends that leave fewer unknowns than equations cannot meet."""
        elastic = self._elastic(program)
        nearest = elastic.solve(guess)
        unmet = elastic.unmet(nearest)
        if unmet:
            return unmet_error(unmet, elastic.active_bounds(nearest))
        return RunError(
            "More is given than the motion leaves free",
            f"{program.excess} more equations than unknowns",
            "leave out ends that follow from the others",
        )

    def _elastic(self, program: NonlinearProgram) -> NonlinearProgram:
        """The same program, which may violate ends, conditions and bounds on expressions."""
        return NonlinearProgram(
            self.statement, self.scheme, program.edges, program.ends, scale=program.scale,
            elastic=True,
        )  # fmt: skip

    def _relaxed(
        self, failed: Iterate, program: NonlinearProgram
    ) -> tuple[Iterate, NonlinearProgram]:
        """Find out what cannot be met; solve again from a trajectory that meets everything."""
        check_bounded(failed)
        elastic = self._elastic(program)
        nearest = elastic.solve(failed.unknowns)
        unmet = elastic.unmet(nearest)
        if nearest.converged and unmet:
            raise unmet_error(unmet, elastic.active_bounds(nearest))
        again = program.solve(nearest.unknowns) if nearest.converged else failed
        if not again.converged:
            raise RunError(
                f"No trajectory was found: the solver ended with {again.status}",
                f"{again.worst} is off by {again.violation:.2g}",
                "relax bounds or ends, or give another guess",
            )
        return again, program

    def _judged(self, program: NonlinearProgram, iterate: Iterate) -> Round:
        """A solution replayed and judged."""
        rtol = max(1e-11, min(1e-6, self.tolerance * 1e-2))
        again = replay(self.statement, iterate.unknowns, rtol)
        errors, losses = self.assessor.errors(iterate), self.assessor.losses(iterate, program)
        found = Round(program, iterate, again, errors, losses)
        self.rounds.append(
            MeshRound(program.count, iterate.iterations, iterate.cost, again.distance, found.loss)
        )
        return found

    def _size(self, found: Round) -> float:
        return max(1e-3, abs(found.iterate.cost))

    def _is_enough(self, found: Round) -> bool:
        if not (found.replay.distance <= self.tolerance):
            return False
        if found.replay.violation > self.tolerance:
            return False
        if found.losses is not None:
            return found.loss <= self.tolerance * self._size(found)
        before = self.before
        if before is None:
            return not self.statement.dynamics.inputs
        return abs(found.iterate.cost - before.iterate.cost) <= self.tolerance * self._size(found)

    def _is_stalled(self, found: Round) -> bool:
        """Whether two meshes in a row have not lessened the loss, and nothing else is amiss.

        What is left is the barrier of the solver, which grows with the number of bounds.
        """
        if max(found.replay.distance, found.replay.violation) > self.tolerance:
            return False
        lost = [each.loss for each in self.rounds[-3:]]
        return len(lost) == 3 and min(lost[1:]) > 0.5 * lost[0]

    def _finer(self, found: Round) -> Array:
        return next_mesh(
            found.program.edges, found.errors, found.losses, found.replay.beyond,
            found.replay.distance, self.scheme.order, self.tolerance, self._size(found),
        )  # fmt: skip

    def _answer(self, best: Round) -> Trajectory:
        statement, again = self.statement, best.replay
        if again.motion is None:
            raise RunError(
                "The inputs that were found cannot be replayed", best.iterate.status,
                "refine the mesh, or tighten the bounds of states that grow",
            )  # fmt: skip
        loss = best.loss
        if again.singular is not None:
            loss = np.inf
            self.notes.append(
                f"An integrand is not finite at t = {again.singular:.6g}: its integral may"
                " diverge, and the cost cannot be trusted."
            )
        answer = trajectory_of(statement, self.scheme, best.iterate, again, loss)
        answer = replace(
            answer, tolerance=self.tolerance, reason=self.reason, rounds=tuple(self.rounds),
            optima=tuple(self.optima),
            judge=partial(pontryagin_extremal, self.asked, statement, best.iterate),
            warm=WarmStart.of(best.program, best.iterate),
        )  # fmt: skip
        arcs = tuple(self.assessor.arcs(best.iterate, best.program))
        for arc in arcs:
            if arc.kind == "singular":
                self.notes.append(
                    f"The input {arc.input} follows a singular arc from t = {arc.start:.6g} to"
                    f" {arc.end:.6g}: the Hamiltonian does not depend on it there."
                )
        answer = replace(answer, arcs=arcs)
        if not answer.is_within_tolerance:
            self.notes.append(
                f"The tolerance {self.tolerance:g} was not reached: replay distance"
                f" {again.distance:.1e}, bounds exceeded by {again.violation:.1e}, loss"
                f" {loss:.1e}. Allow more refinements, or start with more intervals."
            )
        return replace(answer, notes=tuple(self.notes))


def trajectory_of(
    statement: Statement, scheme: Scheme, iterate: Iterate, again: Replay, loss: float
) -> Trajectory:
    """What was found on one mesh, replayed."""
    found, dynamics, motion = iterate.unknowns, statement.dynamics, again.motion
    assert motion is not None
    return Trajectory(
        motion=motion,
        inputs=input_tables(statement, found),
        cost=again.cost,
        transcribed_cost=iterate.cost,
        replay_distance=again.distance,
        bound_violation=again.violation,
        loss=loss,
        tolerance=np.nan,
        parameters={
            s.name: float(v) for s, v in zip(dynamics.parameters, found.parameters, strict=True)
        },
        t=found.times[0] + found.edges * (found.times[1] - found.times[0]),
        states=found.nodes.T,
        costates=iterate.costates[0].T,
        state_names=tuple(s.name for s in dynamics.state),
        transcription=scheme.name,
        rounds=(),
        status=iterate.status,
    )


def check_bounded(failed: Iterate | RawIterate) -> None:
    """Raise where the solver failed because the cost falls without limit."""
    if failed.status == "Diverging_Iterates" or failed.cost < -UNBOUNDED:
        raise RunError(
            "The cost falls without limit", f"{failed.cost:.3g} when IPOPT gave up",
            "bound the inputs and the state, or add what they cost",
        )  # fmt: skip


def unmet_error(unmet: list[str], active: list[str]) -> RunError:
    """What cannot be met, and the bounds that were active when it was met as far as possible."""
    against = f"the active bounds ({', '.join(dict.fromkeys(active))})" if active else "the times"
    return RunError(
        "No trajectory near the guess meets everything that is asked for",
        "; ".join(unmet[:4]),
        f"relax these or {against}, or give another guess",
    )


def size_of_unknowns(instant: Array) -> Array:
    """Sizes of z and mu at the guess, so that the program sees numbers of order one."""
    if not instant.size:
        return np.ones(instant.shape[-1])
    sizes: Array = np.maximum(1.0, np.max(np.abs(instant), axis=(0, 1)))
    return sizes
