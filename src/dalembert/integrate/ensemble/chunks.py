"""Many runs of one system: one function executes a chunk of them, whatever the engine and process.

    parameters (k, n_par), start values (k, n_given)  --starts-->  states (k, n)  --engine-->
    states at the times (k, nt, n)

A run is computed by itself: its numbers depend neither on the chunk it lies in, nor on its
neighbours, nor on the number of threads or processes. A run that cannot be computed is told apart
by its code and a sentence, and stops nobody else.
"""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import ContradictionError, DalembertError, RunError
from ...formulations.registry import derive
from ...formulations.velocity_splits import STEADY_QUALITY, choose_split
from ...model.cache import Cache
from ...model.flow_system import Flow
from ...runtime.kernel import Kernel, kernel_of
from ...typing import Array, BoolArray, IntArray, Numbers
from ..events.stop_times import has_stops
from ..methods.table import find_method
from ..outcome import Outcome, Termination
from ..start_symbols import start_form
from ..state_symbols import reported_symbols
from ..task import Task
from ..termination import leaves_rows_out
from .batch_functions import kept_rowwise
from .indicators import Indicators

if TYPE_CHECKING:
    from ...runtime.context import Context
    from ..motion import Motion
    from .batch_functions import Rowwise

__all__ = ["NOT_RUN", "OUTCOMES", "Reached", "Results", "RunPlan", "register_engine", "run_chunk"]

#: The sentence of a code, in order: how a run ended, or that its start was refused.
OUTCOMES = (*(outcome.value for outcome in Outcome), "start refused")
REFUSED = len(OUTCOMES) - 1
#: The code of a run that has not been looked at, and of one that an engine leaves to the driver.
NOT_RUN, LEFT = -1, -2

CODE = {outcome: code for code, outcome in enumerate(Outcome)}
SUCCESS = tuple(CODE[outcome] for outcome in Outcome if outcome.is_success)


@dataclass(frozen=True)
class RunPlan:
    """What all runs share: the task of one of them, and which start values differ from run to run.

    Attributes
    ----------
    task : Task
        Its parameters and start are those of any run; `at` are the times that are kept, at least
        one.
    given : tuple of str
        The symbols whose start is given, in the order of the columns of start values.
    indicators : Indicators or None
        What is found from deviations along every run.
    """

    task: Task
    given: tuple[str, ...]
    indicators: Indicators | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _programs: dict[Any, int] = field(default_factory=dict, repr=False, compare=False)
    cache: Cache = field(default_factory=lambda: Cache("plan"), repr=False, compare=False)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel of the form."""
        return kernel_of(self.task.equations, self.task.equations.system.parameters)

    @cached_property
    def start_kernel(self) -> Kernel:
        """The kernel in whose symbols a start is made consistent."""
        equations = self.task.equations
        form = start_form(equations, self.given)
        if form is None:
            return self.kernel
        return kernel_of(derive(equations.system, form), equations.system.parameters)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the kept states: all velocities, also if the form has only some."""
        return tuple(symbol.name for symbol in reported_symbols(self.task.equations))

    @cached_property
    def is_light(self) -> bool:
        """Whether runs need no decisions: contacts, events, stops, Python calls, other choices."""
        equations, task = self.task.equations, self.task
        if (
            equations.system.unilateral
            or task.events
            or task.inputs
            or find_method(task.method).is_external
        ):
            return False
        if has_stops(self.kernel):
            return False
        if getattr(task.stepping, "adapt", None) is not None or leaves_rows_out(equations):
            return False
        return equations.rechoose is None or self.is_steady

    @cached_property
    def is_steady(self) -> bool:
        """Whether the general choice of independent velocities has state-independent columns."""
        equations = self.task.equations
        if equations.rechoose is None or isinstance(equations.system, Flow):
            return False
        split = choose_split(equations.system)
        names = tuple(equations.system.velocities[k].name for k in split.independent)
        return split.is_steady and names == tuple(equations.chart) and equations.form == "maggi"

    @property
    def times(self) -> Array:
        """The times that are kept, (nt,)."""
        times: Array | None = self.task.at
        assert times is not None
        return times

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what is kept beside the states, at the same times."""
        return () if self.indicators is None else self.indicators.names

    @property
    def elapsed(self) -> Array:
        """The times that have passed since the start, (nt,)."""
        return self.times - self.task.span[0]

    @cached_property
    def order(self) -> IntArray:
        """The times in the direction of the run, as places in `task.at`."""
        order = np.argsort(self.times, kind="stable")
        return order if self.task.span[1] >= self.task.span[0] else order[::-1]

    def task_of(self, parameters: Array, start: Array, number: int = 0) -> Task:
        """The task of one run, the `number` of them all."""
        return replace(
            self.task,
            parameters=parameters,
            start=dict(zip(self.given, start, strict=True)),
            progress=None,
            run=number,
        )

    def prepare(self) -> None:
        """Compile what every run needs, before threads share it."""
        _ = self.kernel, self.start_kernel, self.symbols, self.is_light, self.order, self.functions

    def complete(self, context: Context) -> None:
        """Compile the programs that a context lacks, for one thread at a time."""
        with self._lock:
            context.complete()

    def event_address(self, threshold: float) -> int:
        """Native code of the event: the independent velocities' quality crosses a threshold."""
        from ...codegen.program import straight_line

        with self._lock:
            if threshold not in self._programs:
                column = self.kernel.graph.chart_quality - threshold
                program = straight_line("events", self.kernel._inputs(), [column])
                self._programs[threshold] = self.kernel.load_program(program)
            return self._programs[threshold]

    @cached_property
    def functions(self) -> dict[str, Rowwise]:
        """Functions of (t, y, p, u) that are evaluated for all runs of a chunk."""
        graph, inputs = self.kernel.graph, self.kernel._inputs()[:4]
        columns = {"velocities": graph.velocities}
        system = self.task.equations.system
        if not isinstance(system, Flow) or "energy" in system.integrals:
            columns["energy"] = graph.energy
        if self.is_steady:
            columns["quality"] = graph.chart_quality

        def written(name: str) -> ca.Function:
            return ca.Function(name, inputs, [ca.densify(columns[name])])

        return {name: kept_rowwise(self.kernel, name, partial(written, name)) for name in columns}

    def values(self, name: str, times: Array, states: Array, parameters: Array) -> Array:
        """One of `functions` at times (c,), states (c, n) and parameters (c, n_par): (c, size)."""
        u = np.zeros((len(times), len(self.kernel.free_inputs)))
        with self._lock:
            table: Array = self.functions[name](times[:, None], states, parameters, u)[0]
        return table[:, :, 0]

    def is_good_choice(self, quality: Numbers) -> BoolArray:
        """Whether the general independent velocities are acceptable at states of this quality."""
        return np.asarray(np.greater(quality, 2 * STEADY_QUALITY))


@dataclass(frozen=True)
class Reached:
    """What an engine found for k runs from consistent states.

    Attributes
    ----------
    states : array (k, nt, n_state)
        In the symbols of the form, at the times of the task in their order; NaN where a run did not
        come.
    codes : array (k,) of int
        A place in `OUTCOMES`, or LEFT for a run that the engine leaves to the driver.
    endings : list of Termination or None
        How a run ended that was made.
    statistics : mapping of name to array (k,)
        At least "steps".
    outputs : array (k, nt, n_outputs) or None
    """

    states: Any
    codes: Any
    endings: list[Termination | None]
    statistics: dict[str, Any]
    outputs: Any = None


@dataclass(frozen=True)
class Results:
    """The runs of a chunk as they are kept.

    Attributes
    ----------
    states : array (k, nt, n_symbols)
    codes : array (k,) of int8
    messages : list of str
        How a run ended that did not finish; diagnostics on one that did, empty where there is none.
    diagnostics : list of str
    steps : array (k,) of int64
    drift : array (k,)
        The largest distance of the energy at the times kept from that of the start; NaN where there
        is none.
    starts : array (k, n_symbols)
        The consistent starts that were used.
    outputs : array (k, nt, n_outputs)
        What the plan asks for beside the states.
    cpu_seconds : float
        What the runs took of a processor.
    """

    states: Any
    codes: Any
    messages: list[str]
    diagnostics: list[str]
    steps: Any
    drift: Any
    starts: Any
    outputs: Any
    cpu_seconds: float = 0.0

    @property
    def made(self) -> int:
        """How many runs were made, and not left out or broken off by Ctrl-C."""
        return len(self.codes) - int(
            np.isin(self.codes, (NOT_RUN, CODE[Outcome.INTERRUPTED])).sum()
        )

    @classmethod
    def empty(cls, plan: RunPlan, count: int, code: int = NOT_RUN) -> Results:
        """Results of runs that have not been made."""
        nt, n = len(plan.times), len(plan.symbols)
        return cls(
            states=np.full((count, nt, n), np.nan),
            codes=np.full(count, code, np.int8),
            messages=[""] * count,
            diagnostics=[""] * count,
            steps=np.zeros(count, np.int64),
            drift=np.full(count, np.nan),
            starts=np.full((count, n), np.nan),
            outputs=np.full((count, nt, len(plan.outputs)), np.nan),
        )

    def put(self, here: slice | IntArray, part: Results) -> None:
        """Enter the results of a chunk at its places, a slice or an array of int."""
        self.states[here], self.codes[here], self.steps[here] = part.states, part.codes, part.steps
        self.drift[here], self.starts[here] = part.drift, part.starts
        self.outputs[here] = part.outputs
        places = range(here.start, here.stop) if isinstance(here, slice) else here
        for place, message, told in zip(places, part.messages, part.diagnostics, strict=True):
            self.messages[place], self.diagnostics[place] = message, told

    def tell(self, place: int, ending: Termination) -> None:
        """Enter how a run ended, in words."""
        self.diagnostics[place] = told = " ".join(ending.diagnostics)
        self.messages[place] = told if ending.outcome is Outcome.FINISHED else ending.message


Engine = Callable[[RunPlan, Any, Any, Callable[[], bool]], Reached]
_ENGINES: dict[str, Engine] = {}


def register_engine(method: str, engine: Engine) -> None:
    """Register ``engine(plan, parameters (k, n_par), starts (k, n_state), stop)`` for a method.

    `stop` says whether the user wants to end. Without an engine of its own a method goes one run
    after another.
    """
    _ENGINES[method] = engine


def engine_of(method: str) -> Engine:
    """The engine of a method."""
    from .engine import one_by_one
    from .lanes import by_lanes

    return _ENGINES.get(method, by_lanes if method == "taylor" else one_by_one)


def never() -> bool:
    """Do not stop."""
    return False


def run_chunk(
    plan: RunPlan,
    parameters: Array,
    values: Array,
    stop: Callable[[], bool] = never,
    first: int = 0,
) -> Results:
    """Execute k runs.

    Parameters
    ----------
    parameters : array (k, n_par)
        In the order of the system's parameters.
    values : array (k, len(plan.given))
        Start values.
    stop : callable
        Asked between runs; after it says yes the rest counts as not run.
    first : int
        The number of the first run among all.
    """
    from .starts import consistent_states

    began, results = clock.thread_time(), Results.empty(plan, len(parameters), LEFT)
    if plan.is_light and (plan.indicators is None or plan.task.method == "taylor"):
        starts, fine = consistent_states(plan, parameters, values)
        places = np.flatnonzero(fine)
        if places.size:
            reached = engine_of(plan.task.method)(plan, parameters[places], starts[places], stop)
            _keep(plan, results, places, parameters[places], starts[places], reached)
    for place in np.flatnonzero(results.codes == LEFT):
        if stop():
            results.codes[place] = NOT_RUN
        else:
            task = plan.task_of(parameters[place], values[place], first + int(place))
            if plan.indicators is not None:  # deviations go along the steps of this method
                task = replace(task, method="dop853")
            _keep_driven(plan, results, int(place), values[place], task, stop)
    return replace(results, cpu_seconds=clock.thread_time() - began)


def _keep(
    plan: RunPlan,
    results: Results,
    places: IntArray,
    parameters: Array,
    starts: Array,
    reached: Reached,
) -> None:
    """Take over what an engine found, with all velocities and the drift of the energy."""
    results.codes[places] = reached.codes
    if reached.outputs is not None:
        results.outputs[places] = reached.outputs
    results.steps[places] = reached.statistics["steps"]
    for place, ending in zip(places.tolist(), reached.endings, strict=True):
        if ending is not None:
            results.tell(place, ending)
    began = np.full(len(places), plan.task.span[0])
    results.starts[places] = _shown(plan, began, starts, parameters)
    count, nt, n = reached.states.shape
    flat = reached.states.reshape(-1, n)
    times, p = np.tile(plan.times, count), np.repeat(parameters, nt, axis=0)
    there = np.flatnonzero(np.isfinite(flat).all(axis=1))
    full = np.full((len(flat), len(plan.symbols)), np.nan)
    if there.size:
        full[there] = _shown(plan, times[there], flat[there], p[there])
    results.states[places] = full.reshape(count, nt, -1)
    if "energy" in plan.functions and there.size:
        energies = np.full(len(flat), np.nan)
        energies[there] = plan.values("energy", times[there], flat[there], p[there])[:, 0]
        first = plan.values("energy", began, starts, parameters)
        apart = np.abs(energies.reshape(count, nt) - first)
        some = np.isfinite(apart).any(axis=1)
        results.drift[places[some]] = np.nanmax(apart[some], axis=1)


def _shown(plan: RunPlan, times: Array, states: Array, parameters: Array) -> Array:
    """States of the form with all velocities."""
    if plan.task.equations.rechoose is None:
        return states
    n = len(plan.task.equations.system.coordinates)
    return np.hstack([states[:, :n], plan.values("velocities", times, states, parameters)])


def _keep_driven(
    plan: RunPlan,
    results: Results,
    place: int,
    values: Array,
    task: Task,
    stop: Callable[[], bool],
) -> None:
    """Make one run by the driver, with contacts, events and changes of independent velocities."""
    from ..sensitivity.deviations import indicators_along
    from .engine import driven

    results.states[place] = np.nan
    results.outputs[place] = np.nan
    if not (np.isfinite(task.parameters).all() and np.isfinite(values).all()):
        results.codes[place] = REFUSED
        results.messages[place] = _not_finite(plan, task.parameters, values)
        return
    try:
        motion = driven(task, stop)
        if plan.indicators is not None and motion.success:
            results.outputs[place] = indicators_along(motion, plan.indicators, plan.times)
    except DalembertError as error:
        code = CODE[
            Outcome.CONTRADICTORY if isinstance(error, ContradictionError) else Outcome.SINGULAR
        ]
        results.codes[place] = code if isinstance(error, RunError) else REFUSED
        results.messages[place] = str(error)
        return
    results.codes[place] = CODE[motion.outcome]
    results.tell(place, motion.termination)
    results.steps[place] = motion.statistics["steps"]
    results.starts[place] = [motion.start[name] for name in plan.symbols]
    for k, t in enumerate(plan.times):
        (found,) = np.nonzero(motion.t == t)
        if found.size:
            results.states[place, k] = motion.y[:, found[0]]
    if "energy" in motion.names and len(motion.t):
        results.drift[place] = _drift_of(motion)


def _drift_of(motion: Motion) -> float:
    """The largest distance of the energy at the times kept from that of the start."""
    first = motion.segments[0]
    u = np.zeros((1, len(first.context.kernel.free_inputs)))
    observed, _ = first.context.observe(first.step_t[:1], np.ascontiguousarray(first.step_y[:1]), u)
    began = observed[0, first.context.kernel.observed["energy"]]
    apart = np.abs(motion.energy - began)
    return float(np.nanmax(apart)) if np.isfinite(apart).any() else float("nan")


def _not_finite(plan: RunPlan, parameters: Array, values: Array) -> str:
    for symbol, value in zip(plan.task.equations.system.parameters, parameters, strict=True):
        if not np.isfinite(value):
            return f"The parameter {symbol.name} must be a finite number (seen: {value})."
    for name, value in zip(plan.given, values, strict=True):
        if not np.isfinite(value):
            return f"The start of `{name}` must be a finite number (seen: {value})."
    return ""
