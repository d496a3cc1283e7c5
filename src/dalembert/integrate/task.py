"""A call of `simulate`, read and checked, and the run that it asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..errors import FormError, ModelError, StartError, nearest
from ..formulations.equations import Equations
from ..formulations.registry import default_form, derive, fastest_form, forms, takes_contacts
from ..model.flow_system import Flow
from ..model.labels import labelled
from ..model.parameter_values import parameter_values
from ..model.scenario import Scenario
from ..model.symbols import by_name, name_of
from ..model.system import System
from ..model.values import real_array, real_number, used_parameters
from ..model.work_clock import ClockReading, clock_reading, work
from ..typing import Array, ArrayLike, Samples, Span, Start
from .driver import Driver
from .events.events import Event, read_events
from .method_watch import MethodWatch, OtherMethodError
from .methods.method import Method
from .methods.table import AUTO, find_method
from .motion import Motion
from .options import Inputs, Model, RunOptions
from .run_seconds import with_seconds
from .task_record import Task

if TYPE_CHECKING:
    from .methods.fixed.step_grid import Stepping

__all__ = ["Task", "followed", "read_task", "run_task", "stated_parameters"]


def run_task(task: Task, since: ClockReading | None = None) -> Motion:
    """The motion of a task; its statistics say where the seconds since a reading went."""
    return with_seconds(lambda: followed(task), since or clock_reading())


def followed(task: Task) -> Motion:
    """The motion of a task; once more by another method where the choice was left open."""
    driver = Driver(task)
    if task.method_reason and not task.inputs and task.stepping is None:
        driver.watch = MethodWatch(task)
    try:
        return driver.execute()
    except OtherMethodError as found:
        reason = f"{found.method}, because {found.reason}."
        return followed(replace(task, method=found.method, method_reason=reason))


def read_task(
    model: Model, start: Start | Samples | None, span: Span | None, options: RunOptions
) -> Task:
    """Read and check a call of `simulate`."""
    scenario = model if isinstance(model, Scenario) else None
    stated = dict(scenario.simulate) if scenario else {}
    if (options.method or stated.get("method", AUTO)) == AUTO or options.goal is not None:
        from .methods.automatic import chosen_task

        return chosen_task(model, start, span, options, stated)
    method = find_method(options.method or stated["method"])
    atol = stated.get("atol") if options.atol is None else options.atol
    equations = _read_equations(model, options, stated, method, atol)
    interval = _read_span(span if span is not None else stated.get("span"))
    beginning, parameters = _read_values(scenario, model, equations, start, options)
    at = options.at if options.at is not None else stated.get("at")
    stepping = _read_stepping(method, equations.system, options, stated, interval, at)
    rtol = options.rtol if options.rtol is not None else stated.get("rtol", method.rtol)
    times = _read_at(at, interval)
    events = read_events(options.events, equations)
    _check_method(method, equations, events, options, stepping)
    first_step = options.first_step
    through = options.through_singular
    through = stated.get("through_singular", False) if through is None else through
    return Task(
        equations=equations,
        parameters=parameters,
        start=beginning,
        span=interval,
        at=times if times is None or stepping is None else stepping.snapped(times, interval),
        events=events,
        inputs=_callables(equations.system, options.inputs),
        method=method.name,
        rtol=_read_tolerance(rtol, method.least_rtol),
        atol=_read_atol(atol, rtol, len(equations.state)),
        project=_read_choice(options.project, "project"),
        project_start=_read_choice(options.project_start, "project_start"),
        max_step=_read_step(options.max_step, "max_step"),
        first_step=None if first_step is None else _read_step(first_step, "first_step"),
        max_steps=_read_count(options.max_steps, "max_steps"),
        progress=options.progress,
        scenario=scenario,
        stepping=stepping,
        through_singular=_read_choice(through, "through_singular"),
    )


@work("derive")
def _read_equations(
    model: Model,
    options: RunOptions,
    stated: Mapping[str, Any],
    method: Method,
    atol: ArrayLike | None,
) -> Equations:
    """The equations that a run follows, in the form that was asked for or that suits."""
    inputs, system = options.inputs, model.system if isinstance(model, Scenario) else model
    if inputs is not None:
        if not isinstance(inputs, Mapping):
            raise ModelError(
                "The inputs must be given by name",
                seen=type(inputs).__name__,
                remedy="pass inputs={u: sin(da.t)}",
            )
        by_name(inputs, "mapping of inputs")
    own = method.form if isinstance(system, System) else None
    # A vector of tolerances speaks of the symbols of the form that the system was stated in.
    free_choice = atol is None or np.ndim(atol) == 0
    equations = _equations(system, options.form or stated.get("form") or own, inputs, free_choice)
    _check_contacts(equations)
    return equations


def _read_values(
    scenario: Scenario | None,
    model: Model,
    equations: Equations,
    start: Start | Samples | None,
    options: RunOptions,
) -> tuple[dict[str, Any], Array]:
    """The start by name and the parameters in order: those of the scenario, and those given."""
    start, given = labelled(start), labelled(options.parameters)
    if start is not None and not isinstance(start, Mapping):
        raise StartError(
            "The start must name its values",
            seen=type(start).__name__,
            remedy="pass start={x: 1.0, ...}",
        )
    beginning = (dict(scenario.start) if scenario else {}) | by_name(start, "start")
    symbols = equations.system.parameters
    if given is not None and not isinstance(given, Mapping):
        return beginning, parameter_values(symbols, given)
    known = {symbol.name for symbol in symbols}
    values = (
        {key: value for key, value in scenario.parameters.items() if key in known}
        if scenario
        else {}
    )
    # A law that was imposed instead of the system's own leaves the parameters of that without a
    # place.
    stated = stated_parameters(model) if options.inputs else ()
    idle = {symbol.name for symbol in stated} - known
    table = {
        name: value
        for name, value in by_name(given, "mapping of parameters").items()
        if name not in idle
    }
    missing = [name for name in known if name not in values]
    table = table if missing else used_parameters(table, sorted(known))
    return beginning, parameter_values(symbols, values | table)


def _equations(
    model: object, form: str | None, inputs: Inputs | None, free_choice: bool
) -> Equations:
    if not isinstance(model, (System, Flow, Equations)):
        raise ModelError(
            "simulate needs a System, a Flow, an Equations record or a Scenario",
            seen=type(model).__name__,
            remedy="pass da.System(...), or da.gallery.load(name)",
        )
    system = model.system if isinstance(model, Equations) else model
    symbolic = {key: value for key, value in (inputs or {}).items() if not callable(value)}
    named = {name_of(key) for key, value in (inputs or {}).items() if callable(value)}
    symbolic |= {
        symbol: None
        for symbol, value in system.inputs.items()
        if value is not None and symbol.name in named
    }
    if isinstance(model, Equations) and not symbolic and form in (None, model.form):
        return model
    if symbolic:
        system = system.driven(symbolic)
    if isinstance(system, Flow):
        return derive(system, form)
    if isinstance(model, Equations):
        return derive(
            system, form or model.form, **(model.options if form in (None, model.form) else {})
        )
    if form is None and free_choice:
        return system.cache.get("fastest", lambda: derive(system, fastest_form(system)))
    return derive(system, form or default_form(system))


def stated_parameters(model: Model) -> tuple[sympy.Symbol, ...]:
    """The parameters of a model as it was stated."""
    stated = model.system if isinstance(model, (Equations, Scenario)) else model
    return tuple((stated.system if isinstance(stated, Equations) else stated).parameters)


def _check_contacts(equations: Equations) -> None:
    """Refuse contacts in a form whose state depends on which of them are closed."""
    if equations.system.unilateral and not takes_contacts(equations.form):
        raise FormError(
            f'The form "{equations.form}" cannot follow the one-sided constraint'
            f" `{equations.system.unilateral[0].name}`",
            seen=", ".join(filter(takes_contacts, forms())),
            remedy="use one of these forms",
        )
    rough = [c.name for c in equations.system.unilateral if c.has_friction]
    if rough and equations.form != "lagrange":
        raise FormError(
            f'The form "{equations.form}" has no friction, which `{rough[0]}` states',
            seen=", ".join(rough),
            remedy='use form="lagrange"',
        )


def _callables(system: System, inputs: Inputs | None) -> dict[str, Callable[..., Any]]:
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


def _read_span(span: Span | None) -> tuple[float, float]:
    try:
        first, last = (
            (math.nan, math.nan)
            if isinstance(span, (str, bytes))
            else (real_number(value) for value in span or ())
        )
    except (TypeError, ValueError):
        raise ModelError(
            "The span must be two times", seen=span, remedy="pass span=(0, 10)"
        ) from None
    if math.isnan(first) or math.isnan(last):
        raise ModelError(
            "The span must be two numbers", seen=repr(span)[:60], remedy="pass span=(0, 10)"
        )
    if not (math.isfinite(first) and math.isfinite(last)):
        raise ModelError("The span must be finite", seen=(first, last), remedy="pass span=(0, 10)")
    return first, last


def _read_at(at: ArrayLike | None, span: tuple[float, float]) -> Array | None:
    if at is None:
        return None
    try:
        times = np.atleast_1d(real_array(at)).ravel()
    except (TypeError, ValueError):
        raise ModelError(
            "The times `at` must be numbers", seen=str(at)[:60], remedy="give real numbers"
        ) from None
    low, high = min(span), max(span)
    outside = times[~((times >= low) & (times <= high))]
    if outside.size:
        raise ModelError(
            f"The time {float(outside[0])!r} in `at` lies outside the span",
            seen=f"span {span[0]!r} to {span[1]!r}",
            remedy="widen the span or drop the time",
        )
    return times


@work("check")
def _check_method(
    method: Method,
    equations: Equations,
    events: tuple[Event, ...],
    options: RunOptions,
    stepping: Stepping | None,
) -> None:
    """Raise an error that says what a method cannot follow."""
    if not method.looks_inside:
        from .methods.hypotheses import refuse_decisions, refuse_functions

        refuse_decisions(equations, method.name, events, method.steps_contacts)
        if method.is_external:
            refuse_functions(method.name, options.inputs)
    if options.atol is not None and not method.has_atol:
        raise ModelError(
            f"The method {method.name} has one tolerance",
            seen=f"atol = {options.atol}",
            remedy="leave atol out and choose rtol",
        )
    shapes = equations.system.shape_contacts if isinstance(equations.system, System) else ()
    if shapes and not method.steps_contacts:
        raise FormError(
            f"The method {method.name} cannot follow the contacts `{shapes[0].name}`, whose"
            " distances are found in numbers",
            seen=", ".join(sorted({solid.kind for solid in shapes[0].solids})),
            remedy="use method moreau; planes with balls, capsules, boxes and hulls, and balls"
            " without friction, have a formula in contact(...)",
        )
    method.check(equations, method.name)
    if stepping is not None and stepping.adapt is not None:
        from .methods.fixed.step_density import check_reversible

        check_reversible(equations, method, stepping.adapt)
    if stepping is not None and method.form and not options.project:
        raise ModelError(
            f"The method {method.name} ends every step on the constraints",
            seen="project=False",
            remedy="leave project out",
        )


def _read_stepping(
    method: Method,
    system: System | Flow,
    options: RunOptions,
    stated: Mapping[str, Any],
    span: tuple[float, float],
    at: ArrayLike | None,
) -> Stepping | None:
    """The stepping of a method; what a scenario states for another kind does not speak of it."""
    given = {name: getattr(options, name) for name in ("step", "every", "adapt")}
    if not method.is_fixed:
        for name, value in given.items():
            if value is not None:
                raise ModelError(
                    f"The method {method.name} chooses its steps",
                    seen=f"{name} = {value}",
                    remedy="leave it out, use max_step, or choose a method with fixed steps such as"
                    " gauss4",
                )
        return None
    from .methods.fixed.step_density import read_adapt
    from .methods.fixed.step_grid import read_stepping

    given = {k: stated.get(k) if value is None else value for k, value in given.items()}
    unwanted = {name: getattr(options, name) for name in ("rtol", "atol", "max_step", "first_step")}
    if options.max_step == math.inf:
        unwanted["max_step"] = None
    steps = read_adapt(given["adapt"], system)
    step, every = given["step"], given["every"]
    return read_stepping(method.name, step, every, span, at, steps, **unwanted)


def _read_tolerance(rtol: float, least: float = 1e-15) -> float:
    value = real_number(rtol)
    if not least <= value <= 0.1:
        raise ModelError(
            f"rtol must lie between {least:g} and 0.1", seen=rtol, remedy="1e-10 suits most systems"
        )
    return value


def _read_atol(atol: ArrayLike | None, rtol: float, size: int) -> Array:
    try:
        values = np.full(size, float(rtol) * 1e-2 if atol is None else real_array(atol))
    except (TypeError, ValueError):
        raise ModelError(
            "atol must be one number, or one for each symbol of the state", seen=str(atol)[:60]
        ) from None
    if not ((values > 0) & (values < np.inf)).all():
        raise ModelError("atol must be positive", seen=atol, remedy="1e-12 suits most systems")
    return values


def _read_step(step: float, name: str) -> float:
    value = real_number(step)
    if not value > 0:
        raise ModelError(f"{name} must be positive", seen=step)
    return value


def _read_choice(choice: object, name: str) -> bool:
    if not (isinstance(choice, (bool, np.bool_, int)) and choice in (0, 1)):
        raise ModelError(
            f"{name} must be True or False", seen=repr(choice)[:60], remedy="pass one of these"
        )
    return bool(choice)


def _read_count(count: float, name: str) -> int:
    value = real_number(count)
    if not (value >= 1 and (math.isinf(value) or value.is_integer())):
        raise ModelError(
            f"{name} must be a whole number, at least 1",
            seen=count,
            remedy="leave it out, or pass 100_000",
        )
    return int(min(value, 2**62))
