r"""Parameters, starts and inputs from data, by the program of a transcribed trajectory.

    minimise  1/2 sum_ij ((h_j(x(t_i)) - d_ij) / sigma_ij)^2
              + 1/2 sum over priors + 1/2 int (w / s)^2 dt
    over      x(t), the free parameters and starts, and the unknown inputs w(t)

subject to the collocated equations of motion. States are unknowns of the program, so that a poor
first guess of the parameters does no harm. White noise of intensity s is the prior of an unknown
input.

With v(theta, w) what the equations make of all unknowns, J = dr/dtheta is projected beside dr/dw;
uncertainties are those of `fit` with these derivatives (G. A. F. Seber, C. J. Wild: Nonlinear
Regression, sections 2.1 and 5.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sympy

from ...analysis.sensitivity.data import Data, Measured, Sigma, read_data
from ...analysis.sensitivity.fitted import Fit, fit_of
from ...errors import ModelError, RunError
from ...formulations.equations import Equations
from ...integrate.input_table import InputTable
from ...integrate.motion import Motion
from ...model.flow_system import Flow
from ...model.symbols import Input, Parameter, as_expression, by_name
from ...model.system import System
from ...model.values import real_number
from ...typing import Array, BySymbol, Expression, Ranges, Symbol, Values
from .answer import MeshRound
from .guesses import Course, Guess, TimeFunction, course_of_unknowns, first_course
from .problem_statement import Asked, Bound, Statement, read_statement
from .refinement import Assessor, next_mesh
from .replay import Replay, input_tables, replay
from .sampled_program import SampledProgram, SolvedProgram
from .schemes import Scheme, find_scheme
from .smoothed_guesses import mesh_of_data, smoothed_coordinates
from .trajectory_quantities import TimeIntegral

__all__ = ["Identification", "identify"]


@dataclass(frozen=True, eq=False)
class Identification:
    """What the data say of a model.

    Attributes
    ----------
    fit : Fit
        Values, uncertainties, intervals, covariance, undetermined combinations and residuals, as
        `da.analysis.fit` gives them; unknown starts stand among the parameters.
    inputs : mapping of name to InputTable
        The known inputs, and the estimates of the unknown ones.
    t, states : arrays (N + 1,), (n, N + 1)
        The nodes of the estimated trajectory.
    state_names : tuple of str
    replay_distance : float
        Between the estimate and what `simulate` makes of its start, parameters and inputs.
    rounds : tuple of MeshRound
    notes : tuple of str

    Examples
    --------
    >>> import dalembert as da, numpy as np
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k", positive=True)
    >>> spring = da.System([x], kinetic=x.dot**2 / 2, potential=k / 2 * x**2)
    >>> times = np.linspace(0, 5, 21)
    >>> found = identify(spring, {"t": times, "x": np.cos(2 * times)}, {k: (0.1, 10)})
    >>> round(found.parameters["k"], 6), found.fit.converged
    (4.0, True)
    """

    fit: Fit
    inputs: Mapping[str, InputTable]
    t: Array
    states: Array
    state_names: tuple[str, ...]
    replay_distance: float
    rounds: tuple[MeshRound, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def parameters(self) -> Mapping[str, float]:
        """The best values of what was unknown."""
        return self.fit.parameters

    @property
    def uncertainty(self) -> Mapping[str, float]:
        """Standard errors."""
        return self.fit.uncertainty

    @property
    def motion(self) -> Motion:
        """What `simulate` makes of the estimate."""
        return self.fit.motion

    def summary(self) -> str:
        """A table of values, errors, intervals and notes as plain text."""
        return "\n".join([self.fit.summary(), *(f"  {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return self.summary()


def identify(
    model: System | Flow | Equations,
    data: Measured,
    parameters: BySymbol[Bound] | None = None,
    start: BySymbol[Bound] | None = None,
    *,
    inputs: BySymbol[Expression | TimeFunction] | None = None,
    process: Values | None = None,
    observe: BySymbol[Symbol] | None = None,
    sigma: Sigma | None = None,
    priors: Ranges | None = None,
    bounds: BySymbol[Bound] | None = None,
    guess: Guess | None = None,
    form: str | None = None,
    transcription: str = "gauss6",
    intervals: int = 50,
    tolerance: float = 1e-6,
    refinements: int = 6,
    confidence: float = 0.95,
) -> Identification:
    """Estimate parameters, starts and inputs of a model from data.

    `da.analysis.fit` follows motions from the start; here states are unknowns as well, which is
    robust against poor guesses, and inputs can be estimated.

    Parameters
    ----------
    model : System, Flow or Equations
    data : Motion, Dataset, DataFrame, or mapping of names to arrays
        As in `da.analysis.fit`: times under ``t``, NaN where nothing was measured.
    parameters : mapping of symbol to a number or (least, most)
        A pair makes a parameter an unknown; None in it is no bound.
    start : mapping of symbol to a number or (least, most)
        The state at the first time; what is left out is unknown.
    inputs : mapping of input to a number, an expression of ``da.t``, a function or an InputTable
        The known ones.
    process : mapping of input to a number
        The unknown ones, with the intensity s of white noise that they are before the data: the
        integral of such a force over a time T has the standard deviation s sqrt(T).
    observe, sigma, confidence
        As in `da.analysis.fit`.
    priors : mapping of parameter to (mean, standard deviation)
    bounds : mapping of symbol or expression to (least, most)
        Along the trajectory.
    guess : mapping of symbol, or Motion
        By default measured coordinates are smoothed, and the others are lines.
    transcription, intervals, tolerance, refinements, form
        As in `optimise`; the first mesh has the times of the data among its nodes if there are at
        most 200.

    Returns
    -------
    Identification

    Examples
    --------
    >>> import dalembert as da, numpy as np
    >>> x = da.coordinates("x")
    >>> u, c = da.inputs("u"), da.parameters("c")
    >>> cart = da.System([x], kinetic=x.dot**2 / 2, forces={x: u - c * x.dot}, inputs=[u])
    >>> times = np.linspace(0, 4, 41)
    >>> truth = da.simulate(cart, {}, (0, 4), parameters={c: 0.5}, inputs={u: 1}, at=times)
    >>> data = {"t": times, "x": np.where(times < 2, np.nan, truth["x"])}
    >>> found = identify(cart, data, {c: (0, 5)}, {x: 0, x.dot: 0}, inputs={u: 1})
    >>> round(found.parameters["c"], 6)
    0.5
    """
    measured = read_data(data, observe, sigma)
    known, unknown = by_name(inputs, "inputs"), by_name(process, "process")
    _check(model, measured, known, unknown)
    if isinstance(model, (System, Flow)):
        stated = {n: v for n, v in known.items() if _is_expression(v)}
        model, known = model.driven(stated), {n: v for n, v in known.items() if n not in stated}
    spread = {name: _pair(name, pair) for name, pair in by_name(priors, "priors").items()}
    statement = read_statement(
        Asked(
            model, _prior_cost(unknown, spread), start, None,
            (float(np.min(measured.t)), float(np.max(measured.t))), bounds=bounds,
            parameters=parameters, form=form,
        )
    )  # fmt: skip
    search = _EstimateSearch(statement, find_scheme(transcription), measured, sorted(known), spread)
    given = smoothed_coordinates(measured, statement) | _table_of(guess) | dict(known)
    if isinstance(guess, Motion):
        given = _functions(guess) | dict(known)
    course = first_course(statement, given)
    return search.run(
        course, mesh_of_data(measured.t, intervals), tolerance, refinements, confidence
    )


class _Estimate(NamedTuple):
    """What `fit_of` reads: residuals, derivatives and motion at the values of the unknowns."""

    values: Array
    residuals: Array
    derivatives: Array
    motion: Motion


class _EstimateResult(NamedTuple):
    """What `fit_of` reads of a search."""

    x: Array
    cost: float
    status: int
    active_mask: Array
    jac: Array


@dataclass
class _EstimateProblem:
    """The problem as `fit_of` sees it."""

    names: tuple[str, ...]
    data: Data
    runs: int
    trial: _Estimate

    def at(self, values: Array) -> _Estimate:
        return self.trial


class _EstimateSearch:
    """Solve, replay and refine."""

    def __init__(
        self, statement: Statement, scheme: Scheme, data: Data, known: Sequence[str],
        priors: Mapping[str, tuple[float, float]],
    ) -> None:  # fmt: skip
        self.statement, self.scheme, self.data = statement, scheme, data
        self.known, self.priors = known, priors
        self.assessor = Assessor(statement)

    def run(
        self, course: Course, edges: Array, tolerance: float, refinements: int, confidence: float
    ) -> Identification:
        """The estimate on a mesh whose replay is within the tolerance."""
        accuracy, rounds, notes = real_number(tolerance), [], []
        for count in range(int(refinements) + 1):
            program = SampledProgram(
                self.statement, self.scheme, edges, course, self.data, self.known
            )
            found = program.solve(1e-4 if count else None)
            if not found.iterate.converged:
                raise RunError(
                    f"No estimate was found: IPOPT ended with {found.iterate.status}",
                    f"{found.iterate.worst} is off by {found.iterate.violation:.2g}",
                    "give a guess of the parameters, or narrower bounds",
                )
            again = replay(self.statement, found.iterate.unknowns, max(1e-11, accuracy * 1e-2))
            own = found.iterate
            rounds.append(
                MeshRound(len(edges) - 1, own.iterations, own.cost, again.distance, np.nan)
            )
            off = program.input_errors(course)
            distance = max(again.distance, float(np.max(off)))
            if distance <= accuracy:
                break
            none = np.zeros(len(edges) - 1)
            errors = self.assessor.errors(own)
            finer = next_mesh(
                edges, off if errors is None else errors + off, none, none, distance,
                self.scheme.order, accuracy, 1.0,
            )  # fmt: skip
            if len(finer) == len(edges) or count == int(refinements):
                break
            after = course_of_unknowns(own.unknowns, self.scheme)
            edges, course = finer, replace(after, inputs=self._inputs(course, after))
        if not distance <= accuracy:
            notes.append(
                f"The replay is {again.distance:.1e} from the estimate, and known inputs are"
                f" {np.max(off):.1e} from their polynomials (tolerance {accuracy:g})."
            )
        return self._answer(program, found, again, rounds, notes, confidence)

    def _inputs(self, before: Course, after: Course) -> Callable[[Array], Array]:
        """Known inputs as they were given, the others as they were found."""
        names = [symbol.name for symbol in self.statement.dynamics.inputs]
        known = np.array([name in self.known for name in names], dtype=bool)
        return lambda s: np.where(known, before.inputs(s), after.inputs(s))

    def _answer(
        self, program: SampledProgram, found: SolvedProgram, again: Replay, rounds: list[MeshRound],
        notes: list[str], confidence: float,
    ) -> Identification:  # fmt: skip
        if again.motion is None:
            raise RunError(
                "The estimate cannot be replayed", found.iterate.status, "bound states that grow"
            )
        unknowns, names = found.iterate.unknowns, program.unknown_names
        extra = np.zeros(len(self.priors))
        rows = np.zeros((len(self.priors), len(names)))
        values = program.unknown_values(found)
        for k, (name, (mean, spread)) in enumerate(self.priors.items()):
            if name in names:
                place = names.index(name)
                rows[k, place], extra[k] = 1 / spread, (values[place] - mean) / spread
        residuals, derivatives = program.regression(found)
        trial = _Estimate(
            values, np.concatenate([residuals, extra]), np.vstack([derivatives, rows]),
            again.motion,
        )  # fmt: skip
        problem = _EstimateProblem(names, self.data, found.iterate.iterations, trial)
        at_bound = program.at_bounds(found)
        result: Any = _EstimateResult(values, found.iterate.cost, 1, at_bound, trial.derivatives)
        fit = fit_of(problem, result, confidence, False)
        first, last = unknowns.times
        return Identification(
            fit=fit,
            inputs=input_tables(self.statement, unknowns),
            t=first + unknowns.edges * (last - first),
            states=unknowns.nodes.T,
            state_names=tuple(s.name for s in self.statement.dynamics.state),
            replay_distance=again.distance,
            rounds=tuple(rounds),
            notes=tuple(notes),
        )


# -- reading ---------------------------------------------------------------------------------------


def _check(model: Any, data: Data, known: Mapping[str, Any], unknown: Mapping[str, Any]) -> None:
    system = model.system if isinstance(model, Equations) else model
    free = [symbol.name for symbol in getattr(system, "inputs", {})]
    both = [name for name in known if name in unknown]
    strange = [name for name in (*known, *unknown) if name not in free]
    if both or strange:
        raise ModelError(
            "Each input is known or unknown" if both else "The model has no such input",
            (both or strange)[0], f"inputs of the model: {', '.join(free) or 'none'}",
        )  # fmt: skip
    if unknown and not data.has_sigma:
        raise ModelError(
            "Unknown inputs need the standard deviations of the data", "no sigma",
            "pass sigma=..., which the intensity of the inputs is weighed against",
        )  # fmt: skip
    for name, value in unknown.items():
        if not real_number(value) > 0:
            raise ModelError(
                f"The intensity of `{name}` must be positive", str(value), "pass process={u: 1.0}"
            )
    if not float(np.max(data.t)) > float(np.min(data.t)):
        raise ModelError("The data must reach beyond the start", f"{np.min(data.t)}", "add times")


def _is_expression(value: Any) -> bool:
    return isinstance(value, (int, float, sympy.Expr, np.number))


def _pair(name: str, pair: Any) -> tuple[float, float]:
    try:
        mean, spread = (real_number(each) for each in pair)
    except (TypeError, ValueError):
        mean, spread = np.nan, np.nan
    if not (np.isfinite(mean) and spread > 0):
        raise ModelError(
            f"The prior of `{name}` must be (mean, standard deviation)", str(pair)[:60],
            "pass priors={k: (4.0, 0.5)}",
        )  # fmt: skip
    return mean, spread


def _prior_cost(
    process: Mapping[str, Any], priors: Mapping[str, tuple[float, float]]
) -> sympy.Expr:
    """Half the sum of squares that inputs and parameters add."""
    total: sympy.Expr = sympy.Integer(0)
    for name, value in process.items():
        total += TimeIntegral((Input(name) / as_expression(value)) ** 2) / 2
    for name, (mean, spread) in priors.items():
        total += ((Parameter(name) - mean) / spread) ** 2 / 2
    return total


def _table_of(guess: Any) -> dict[str, Any]:
    if guess is None or isinstance(guess, Motion):
        return {}
    return dict(by_name(guess, "guess"))


def _functions(motion: Motion) -> dict[str, Any]:
    """A motion as functions of time."""

    def function(values: Array) -> Callable[[float], float]:
        return lambda time: float(np.interp(time, motion.t, values))

    return {s.name: function(motion[s.name]) for s in motion.state}
