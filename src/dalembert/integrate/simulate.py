"""The one entry from a system to its motion."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import sympy

from ..errors import FormError, ModelError, StartError, nearest
from ..formulations.equations import Equations
from ..formulations.registry import default_form, derive, fastest_form
from ..model.flow_system import Flow
from ..model.labels import labelled
from ..model.method_names import AUTO, EXTERNAL, FIXED_STEP
from ..model.scenario import Scenario
from ..model.symbols import by_name, name_of
from ..model.system import System
from ..model.values import real_array, real_number, used_parameters
from ..runtime.kernel import parameter_values
from ..typing import ArrayLike, Parameters, Progress, Samples, Span, Start
from .driver import Driver
from .events.events import Event, read_events
from .methods.adaptive.taylor_programs import check_expansion
from .methods.external.external_checks import FINEST, check_external
from .methods.fixed.fixed_run import Stepping
from .methods.fixed.step_density import ReversibleSteps, read_adapt
from .methods.fixed.step_grid import check_equations, natural_form, read_method, read_stepping, snapped
from .motion import Motion
from .options import Events, Inputs, RunOptions

if TYPE_CHECKING:
    from .ensemble.ensemble import Ensemble

__all__ = ["simulate"]

#: Forms that can be simulated with one-sided constraints.
CONTACT_FORMS = ("lagrange", "hamilton", "implicit-lagrangian")


@dataclass(frozen=True)
class Task:
    """Everything that a run was asked to do, checked."""

    equations: Equations
    parameters: Any
    start: Mapping[Any, Any]
    span: tuple[float, float]
    at: Any | None
    events: tuple[Event, ...]
    inputs: Mapping[str, Callable[..., Any]]
    method: str
    rtol: float
    atol: Any
    project: bool
    project_start: bool
    max_step: float
    first_step: float | None
    max_steps: int
    progress: Callable[[float, float], None] | None
    scenario: Scenario | None = field(default=None)
    stepping: Stepping | None = None
    method_reason: str = ""


@overload
def simulate(  # type: ignore[overload-overlap]  # numbers give a motion, and arrays may hold numbers too
    model: System | Flow | Equations | Scenario,
    start: Start | None = ...,
    span: Span | None = ...,
    *,
    parameters: Parameters | None = ...,
    at: ArrayLike | None = ...,
    progress: Progress | None = ...,
    **options: Unpack[RunOptions],
) -> Motion: ...
@overload
def simulate(
    model: System | Flow | Equations | Scenario,
    start: Start | Samples | None = ...,
    span: Span | None = ...,
    *,
    parameters: Parameters | Samples | None = ...,
    at: ArrayLike | None = ...,
    workers: int | None = ...,
    progress: Progress | None = ...,
    **options: Unpack[RunOptions],
) -> Ensemble: ...
def simulate(
    model: System | Flow | Equations | Scenario,
    start: Start | Samples | None = None,
    span: Span | None = None,
    *,
    parameters: Parameters | Samples | None = None,
    form: str | None = None,
    method: str | None = None,
    rtol: float | None = None,
    atol: ArrayLike | None = None,
    step: float | None = None,
    every: int | None = None,
    adapt: sympy.Expr | str | ReversibleSteps | None = None,
    at: ArrayLike | None = None,
    events: Events = (),
    inputs: Inputs | None = None,
    project: bool = True,
    project_start: bool = True,
    max_step: float = math.inf,
    first_step: float | None = None,
    max_steps: int = 10_000_000,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Motion | Ensemble:
    """Simulate a system.

    Parameters
    ----------
    model : System, Flow, Equations or Scenario
        A scenario brings its own parameters, start and options, which the arguments override.
    start : mapping of symbol or name to value
        Coordinates, velocities, momenta, or outputs that depend on velocities. What is missing is completed from the
        constraints, or is zero.
    span : (t0, t1)
        t1 may lie before t0.
    parameters : mapping of symbol or name to value
        Where a start or a parameter is an array, many runs are made, in threads. Arrays of one length are paired; shapes such
        as (50, 1) and (20,) broadcast to 50 x 20 runs.
    form : str
        The form of the equations; by default the fastest that applies, see `dalembert.formulations.registry.fastest_form`.
    method : str
        "dop853" and "taylor" choose their steps; the second takes Taylor coefficients of the order that suits the tolerance.
        With fixed steps: "gauss2", "gauss4", "gauss6"; for constant masses and holonomic constraints "rattle2", "rattle4",
        "rattle6", "rattle8"; for any mass and holonomic constraints, in momenta, "lobatto2", "lobatto4", "lobatto6", and from a
        discrete Lagrangian "variational-midpoint", "galerkin4", "galerkin6", "galerkin-lobatto4", "galerkin-lobatto6"; for
        constraints of velocities "dla", "dla4", "dla6", "nonholonomic-leapfrog", "nonholonomic-leapfrog4",
        "nonholonomic-leapfrog6", "energy2", "energy4", "energy6"; for flows whose matrices move by a group "isospectral2",
        "isospectral4", "isospectral6", "rkmk4", "lie-verlet". docs/methods.md compares them.
        By other packages, which are extras: "heyoka", "cvode-bdf", "cvode-adams", "ida-ggl".
        "auto" chooses, and says why in ``motion.statistics["method_reason"]``.
    step : float
        The step of a method with fixed steps, which must divide the span.
    every : int
        How many of its steps lie between stored ones, 1 by default.
    adapt : expression, "arclength" or `ReversibleSteps`
        Steps of about `step` times this, by a control that keeps a symmetric method reversible; see `ReversibleSteps`.
    rtol, atol : float
        For "dop853": tolerances of the motion, 1e-10 and rtol/100 by default; `atol` may have one entry for each state
        symbol. Every step is held to a fiftieth of them. On the reference motions the states are then right to about rtol.
    at : sequence of times
        Where the motion is stored; at every step by default, of many runs at the last time. Between fixed steps there is
        `Motion.sol`.
    events : sequence of `event(...)` or expressions
    inputs : mapping of input to an expression, or to a function ``f(t, state) -> float``
    project : bool
        Whether every step ends on the constraints.
    project_start : bool
        Whether a start that breaks the constraints is moved to them (and reported) or refused.
    max_step, first_step : float
    max_steps : int
    workers : int
        Threads for many runs, by default one for each processor. The numbers do not depend on it.
    progress : callable
        Called now and then with the fraction done and the time reached, or the number of runs that are done.

    Returns
    -------
    Motion
        Also where the run could not finish; see `Motion.outcome`.
    Ensemble
        Where a start or a parameter is an array: every run, also those that could not be made; after Ctrl-C what was done.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> oscillator = da.System(coordinates=[x], kinetic=m/2*x.dot**2, potential=k/2*x**2)
    >>> motion = simulate(oscillator, {x: 1.0}, (0, 3.141592653589793), parameters={m: 1, k: 4})
    >>> bool(abs(motion["x"][-1] - 1.0) < 1e-9)
    True

    Many runs, for two stiffnesses and three starts each:

    >>> runs = simulate(oscillator, {x: [1.0, 2.0, 3.0]}, (0, np.pi), parameters={m: 1, k: np.array([[1.0], [4.0]])})
    >>> runs.final["x"].round(9).tolist()
    [[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]]
    """
    given: dict[str, Any] = {"parameters": parameters, "form": form, "method": method, "rtol": rtol, "atol": atol, "step": step}
    given |= {"at": at, "events": events, "inputs": inputs, "project": project, "project_start": project_start}
    given |= {"max_step": max_step, "first_step": first_step, "max_steps": max_steps, "progress": progress}
    given["parameters"] = parameters = labelled(parameters)
    start = labelled(start)
    if is_many(parameters, start):
        from .ensemble.ensemble import ensemble_of

        if adapt is not None:
            raise ModelError(
                "Many runs at once take equal steps", seen="adapt", remedy="leave adapt out, or run them one by one"
            )
        return ensemble_of(model, start, span, every=every, workers=workers, **given)
    if workers is not None:
        raise ModelError(
            "One run takes one thread",
            seen=f"workers={workers}",
            remedy="leave workers out, or give an array of starts or parameters",
        )
    return run_task(read_task(model, start, span, every=every, adapt=adapt, **given))


def is_many(*mappings: Any) -> bool:
    """Whether any value of some mappings is an array, so that many runs are meant."""
    values = [value for given in mappings if isinstance(given, Mapping) for value in given.values()]
    return any(isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) for value in values)


def run_task(task: Task) -> Motion:
    """The motion of a task."""
    began = clock.perf_counter()
    motion = Driver(task).execute()
    motion.statistics["wall_seconds"] = clock.perf_counter() - began
    return motion


def read_task(
    model: Any,
    start: Any,
    span: Any,
    *,
    parameters: Any = None,
    form: str | None = None,
    method: str | None = None,
    rtol: float | None = None,
    atol: Any = None,
    step: float | None = None,
    every: int | None = None,
    adapt: Any = None,
    at: Any = None,
    events: Any = (),
    inputs: Mapping[Any, Any] | None = None,
    project: bool = True,
    project_start: bool = True,
    max_step: float = math.inf,
    first_step: float | None = None,
    max_steps: int = 10_000_000,
    progress: Callable[[float, float], None] | None = None,
) -> Task:
    """A call of `simulate`, read and checked."""
    scenario = model if isinstance(model, Scenario) else None
    stated = dict(scenario.simulate) if scenario else {}
    system = scenario.system if scenario else model
    # A vector of tolerances speaks of the symbols of the form that the system was stated in.
    tolerance = stated.get("atol") if atol is None else atol
    free_choice = tolerance is None or np.ndim(tolerance) == 0
    if (method or stated.get("method")) == AUTO:
        from .methods.automatic import chosen_task

        given: dict[str, Any] = {"parameters": parameters, "form": form, "rtol": rtol, "atol": atol, "step": step}
        given |= {"every": every, "adapt": adapt, "at": at, "events": events, "inputs": inputs, "project": project}
        given |= {"project_start": project_start, "max_step": max_step, "first_step": first_step, "max_steps": max_steps}
        given["progress"] = progress
        return chosen_task(model, start, span, given, stated)
    if inputs is not None:
        if not isinstance(inputs, Mapping):
            raise ModelError(
                "The inputs must be given by name", seen=type(inputs).__name__, remedy="pass inputs={u: sin(da.t)}"
            )
        by_name(inputs, "mapping of inputs")
    own_form = natural_form(method or stated.get("method"))
    wanted = form or stated.get("form") or (own_form if isinstance(system, System) else None)
    equations = _equations(system, wanted, inputs, free_choice)
    _check_contacts(equations)
    chosen_span = _read_span(span if span is not None else stated.get("span"))
    start, parameters = labelled(start), labelled(parameters)
    if start is not None and not isinstance(start, Mapping):
        raise StartError("The start must name its values", seen=type(start).__name__, remedy="pass start={x: 1.0, ...}")
    beginning = dict(scenario.start) if scenario else {}
    beginning |= by_name(start, "start")
    name, stepping = _read_stepping(
        (method, step, every, adapt, equations.system),
        stated,
        chosen_span,
        at,
        (rtol, atol, None if max_step == math.inf else max_step, first_step),
    )
    tolerance = rtol if rtol is not None else stated.get("rtol", FINEST if name == "heyoka" else 1e-10)
    times = _read_at(at if at is not None else stated.get("at"), chosen_span)
    found_events = read_events(events, equations)
    if name == "taylor":
        check_expansion(equations)
    if name in EXTERNAL:
        check_external(equations, name, found_events, inputs, atol)
    if stepping is not None:
        check_equations(equations, name, found_events, stepping)
        if own_form and not project:
            raise ModelError(
                f"The method {name} ends every step on the constraints", seen="project=False", remedy="leave project out"
            )
        times = times if times is None else snapped(times, stepping, chosen_span)
    return Task(
        equations=equations,
        parameters=_read_parameters(scenario, model, equations, parameters, bool(inputs)),
        start=beginning,
        span=chosen_span,
        at=times,
        events=found_events,
        inputs=_callables(equations.system, inputs),
        method=name,
        rtol=_read_tolerance(tolerance, FINEST if name == "heyoka" else 1e-15),
        atol=_read_atol(atol if atol is not None else stated.get("atol"), tolerance, len(equations.state)),
        project=_read_choice(project, "project"),
        project_start=_read_choice(project_start, "project_start"),
        max_step=_read_step(max_step, "max_step"),
        first_step=None if first_step is None else _read_step(first_step, "first_step"),
        max_steps=_read_count(max_steps, "max_steps"),
        progress=progress,
        scenario=scenario,
        stepping=stepping,
    )


def _read_parameters(scenario: Scenario | None, model: Any, equations: Equations, given: Any, has_laws: bool) -> Any:
    """The values of the parameters in their order: those of the scenario, and those given instead."""
    symbols = equations.system.parameters
    if given is not None and not isinstance(given, Mapping):
        return parameter_values(symbols, given)
    known = {symbol.name for symbol in symbols}
    values = {key: value for key, value in scenario.parameters.items() if key in known} if scenario else {}
    # A law that was imposed instead of the system's own leaves the parameters of that without a place.
    stated = stated_parameters(scenario.system if scenario else model) if has_laws else ()
    idle = {symbol.name for symbol in stated} - known
    table = {name: value for name, value in by_name(given, "mapping of parameters").items() if name not in idle}
    missing = [name for name in known if name not in values]
    return parameter_values(symbols, values | (table if missing else used_parameters(table, sorted(known))))


def _equations(model: Any, form: str | None, inputs: Mapping[Any, Any] | None, free_choice: bool) -> Equations:
    if not isinstance(model, (System, Flow, Equations)):
        raise ModelError(
            "simulate needs a System, a Flow, an Equations record or a Scenario",
            seen=type(model).__name__,
            remedy="pass da.System(...), or da.gallery.load(name)",
        )
    system = model.system if isinstance(model, Equations) else model
    symbolic = {key: value for key, value in (inputs or {}).items() if not callable(value)}
    named = {name_of(key) for key, value in (inputs or {}).items() if callable(value)}
    symbolic |= {symbol: None for symbol, value in system.inputs.items() if value is not None and symbol.name in named}
    if isinstance(model, Equations) and not symbolic and form in (None, model.form):
        return model
    if symbolic:
        system = system.driven(symbolic)
    if isinstance(system, Flow):
        return derive(system, form)
    if isinstance(model, Equations):
        return derive(system, form or model.form, **(model.options if form in (None, model.form) else {}))
    return derive(system, form or (fastest_form(system) if free_choice else default_form(system)))


def stated_parameters(model: Any) -> tuple[Any, ...]:
    """The parameters of a system, flow or record as it was stated."""
    return tuple((model.system if isinstance(model, Equations) else model).parameters)


def _check_contacts(equations: Equations) -> None:
    """Contacts open and close: that needs a form whose state does not depend on which of them are closed."""
    if equations.system.unilateral and equations.form not in CONTACT_FORMS:
        raise FormError(
            f'The form "{equations.form}" cannot follow the one-sided constraint `{equations.system.unilateral[0].name}`',
            seen=", ".join(CONTACT_FORMS),
            remedy="use one of these forms",
        )


def _callables(system: System, inputs: Mapping[Any, Any] | None) -> dict[str, Callable[..., Any]]:
    """Inputs given as Python functions; every input of the system must be imposed by now."""
    functions = {name_of(k): v for k, v in (inputs or {}).items() if callable(v)}
    free = [symbol.name for symbol, value in system.inputs.items() if value is None]
    unknown = [name for name in functions if name not in {symbol.name for symbol in system.inputs}]
    if unknown:
        near = nearest(unknown[0], [symbol.name for symbol in system.inputs])
        raise ModelError(
            f"The system has no input `{unknown[0]}`",
            seen=", ".join(s.name for s in system.inputs) or "no inputs",
            remedy=f"did you mean {near}" if near else "remove it",
        )
    missing = [name for name in free if name not in functions]
    if missing:
        raise ModelError(
            f"The input `{missing[0]}` is not imposed",
            remedy=f"pass inputs={{{missing[0]!r}: expression or function of (t, state)}}",
        )
    return functions


def _read_span(span: Any) -> tuple[float, float]:
    try:
        first, last = (math.nan, math.nan) if isinstance(span, (str, bytes)) else (real_number(value) for value in span)
    except (TypeError, ValueError):
        raise ModelError("The span must be two times", seen=span, remedy="pass span=(0, 10)") from None
    if math.isnan(first) or math.isnan(last):
        raise ModelError("The span must be two numbers", seen=repr(span)[:60], remedy="pass span=(0, 10)")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise ModelError("The span must be finite", seen=(first, last), remedy="pass span=(0, 10)")
    return first, last


def _read_at(at: Any, span: tuple[float, float]) -> Any | None:
    if at is None:
        return None
    try:
        times = np.atleast_1d(real_array(at)).ravel()
    except (TypeError, ValueError):
        raise ModelError("The times `at` must be numbers", seen=str(at)[:60], remedy="give real numbers") from None
    low, high = min(span), max(span)
    outside = times[~((times >= low) & (times <= high))]
    if outside.size:
        raise ModelError(
            f"The time {float(outside[0])!r} in `at` lies outside the span",
            seen=f"span {span[0]!r} to {span[1]!r}",
            remedy="widen the span or drop the time",
        )
    return times


def _read_stepping(
    given: tuple[Any, ...], stated: Mapping[str, Any], span: tuple[float, float], at: Any, others: tuple[Any, ...]
) -> tuple[str, Stepping | None]:
    """The method and its stepping; what a scenario states for another kind of method does not speak of this one."""
    method, step, every, adapt, system = given
    name = read_method(method or stated.get("method", "dop853"))
    if name in FIXED_STEP:
        step = stated.get("step") if step is None else step
        every = stated.get("every") if every is None else every
        adapt = stated.get("adapt") if adapt is None else adapt
    asked = at if at is not None else stated.get("at")
    unwanted = dict(zip(("rtol", "atol", "max_step", "first_step"), others, strict=True))
    return name, read_stepping(name, step, every, span, asked, read_adapt(adapt, system), **unwanted)


def _read_tolerance(rtol: Any, least: float = 1e-15) -> float:
    value = real_number(rtol)
    if not least <= value <= 0.1:
        raise ModelError(f"rtol must lie between {least:g} and 0.1", seen=rtol, remedy="1e-10 suits most systems")
    return value


def _read_atol(atol: Any, rtol: float, size: int) -> Any:
    try:
        values = np.broadcast_to(real_array(float(rtol) * 1e-2 if atol is None else atol), (size,)).copy()
    except (TypeError, ValueError):
        raise ModelError("atol must be one number, or one for each symbol of the state", seen=str(atol)[:60]) from None
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ModelError("atol must be positive", seen=atol, remedy="1e-12 suits most systems")
    return values


def _read_step(step: Any, name: str) -> float:
    value = real_number(step)
    if not value > 0:
        raise ModelError(f"{name} must be positive", seen=step)
    return value


def _read_choice(choice: Any, name: str) -> bool:
    if not (isinstance(choice, (bool, np.bool_, int)) and choice in (0, 1)):
        raise ModelError(f"{name} must be True or False", seen=repr(choice)[:60], remedy="pass one of these")
    return bool(choice)


def _read_count(count: Any, name: str) -> int:
    value = real_number(count)
    if not (value >= 1 and (math.isinf(value) or value.is_integer())):
        raise ModelError(f"{name} must be a whole number, at least 1", seen=count, remedy="leave it out, or pass 100_000")
    return int(min(value, 2**62))
