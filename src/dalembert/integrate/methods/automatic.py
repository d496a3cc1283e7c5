r"""``method="auto"``, the default: the method that suits a task, and a sentence that says why.

With a step, or with goal="long", the first method of a list whose hypotheses hold is taken, from
the one that keeps most to the one that asks for least. Without one, a run takes Runge-Kutta steps;
the driver notices where stability holds them short (`MethodWatch`), and makes the run again by an
implicit method. For many runs, one of them is made first, as far as some thousand steps go: they
tell what all of them cost, and whether expansions in vector lanes save more than they take to
compile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ...errors import DalembertError, FormError, ModelError
from ...model.flow_system import Flow
from ...runtime.kernel import kernel_of
from ...runtime.kernel_derivatives import regular_rates
from ..events.stop_times import has_stops
from ..events.watches import is_controlled
from ..input_table import InputTable
from ..outcome import Outcome
from .adaptive.taylor_programs import check_expansion
from .groups.group_tables import action_tables
from .run_costs import compile_seconds, has_short_program, runge_kutta_seconds
from .table import AUTO, find_method

if TYPE_CHECKING:
    from ...typing import Samples, Span, Start
    from ..options import Model, RunOptions
    from ..task import Task

__all__ = ["chosen_task", "suited_to_deviations", "suited_to_many"]

#: Steps in the fastest period of a long run.
STEPS_PER_PERIOD = 40.0
#: What lanes of expansions leave of the time of Runge-Kutta steps: 0.07 to 0.18 were measured.
LANES_SHARE = 0.2
#: The largest state whose eigenvalues are looked at.
MOST_SYMBOLS = 200
#: Steps of the run that is made first of many: enough to notice stiffness, and soon done.
SAMPLE = 8192


class Candidate(NamedTuple):
    """A method with fixed steps, and what it keeps."""

    method: str
    reason: str


_FLOWS = (
    Candidate(
        "isospectral4",
        "the matrices of the flow move by a group, and this method stays on its orbits",
    ),
    Candidate(
        "rkmk4", "the matrices of the flow move by a group, and this method stays on the group"
    ),
    Candidate(
        "gauss4", "nothing is known of the flow but its rates, and this symmetric method takes any"
    ),
)
_HOLONOMIC = (
    Candidate(
        "rattle4",
        "the mass is constant and forces depend on positions, and this method is then symplectic",
    ),
    Candidate(
        "lobatto4",
        "the mass varies or forces depend on velocities, and this method is symplectic where"
        " nothing damps",
    ),
    Candidate(
        "gauss4", "the system excludes the symplectic methods, and this symmetric one takes any"
    ),
)
_NONHOLONOMIC = (
    Candidate(
        "nonholonomic-leapfrog4",
        "there are constraints of velocities, and this method is reversible and ends on them",
    ),
    Candidate(
        "dla4",
        "constraints bind positions and velocities, and this method keeps the discrete principle of"
        " d'Alembert",
    ),
    Candidate(
        "gauss4",
        "there are constraints of velocities, and this symmetric method ends its steps on them",
    ),
)


def chosen_task(
    model: Model,
    start: Start | Samples | None,
    span: Span | None,
    options: RunOptions,
    stated: Mapping[str, Any],
) -> Task:
    """The task of a call with the method that suits it; `stated` are the options of a scenario."""
    from ..task import read_task

    _check_goal(options)
    is_stated = stated.get("step") is not None and options.rtol is None
    if options.step is not None or is_stated:
        unbound = replace(options, goal=None)
        return _stepped_task(model, start, span, unbound, "a step was given")
    if options.goal == "long":
        free = replace(options, method="dop853", every=None, adapt=None, goal=None)
        step = _long_step(read_task(model, start, span, free))
        options = replace(options, step=step, rtol=None, atol=None, goal=None)
        return _stepped_task(model, start, span, options, "the goal is a long run")
    task = read_task(model, start, span, replace(options, method="dop853"))
    return replace(task, method_reason=_reason(task))


def _check_goal(options: RunOptions) -> None:
    """Refuse a goal that is unknown, or that a method which was named may not serve."""
    if options.goal not in (None, "long"):
        raise ModelError(
            f"There is no goal `{options.goal}`", seen="long", remedy='pass goal="long", or none'
        )
    if options.goal is not None and options.method not in (None, AUTO):
        raise ModelError(
            "A goal chooses the method", seen=f"method={options.method!r}", remedy="leave one out"
        )


# -- with a step -----------------------------------------------------------------------------------


def _long_step(task: Task) -> float:
    """A step for a long run: a part of the fastest period at the start, which divides the span."""
    fastest, length = _fastest_rate(task), abs(task.span[1] - task.span[0])
    if not fastest * length > 0.0:
        raise ModelError(
            "No step can be proposed for the long run",
            seen="no eigenvalue of the equations at the start sets a time scale",
            remedy="pass step=, about a fortieth of the fastest period",
        )
    return length / math.ceil(length * fastest * STEPS_PER_PERIOD / (2.0 * math.pi))


def _stepped_task(
    model: Model, start: Start | Samples | None, span: Span | None, options: RunOptions, cause: str
) -> Task:
    from ..task import read_task

    refused: FormError | None = None
    for method, reason in _candidates(model):
        try:
            task = read_task(model, start, span, replace(options, method=method))
            if isinstance(task.equations.system, Flow):
                _check_actions(task)
        except FormError as error:
            refused = refused or error
            continue
        return replace(task, method_reason=f"{method}, because {cause}: {reason}.")
    raise ModelError(
        "No method with fixed steps suits this system",
        seen=refused.what if refused is not None else "no candidate",
        remedy="leave the step out",
    )


def _candidates(model: Model) -> tuple[Candidate, ...]:
    system = getattr(model, "system", model)
    if isinstance(system, Flow):
        return _FLOWS if system.actions else _FLOWS[2:]
    if all(constraint.is_position_level for constraint in getattr(system, "bilateral", ())):
        return _HOLONOMIC
    return _NONHOLONOMIC


def _check_actions(task: Task) -> None:
    """Check that a flow has the symmetry that a method on orbits needs."""
    if find_method(task.method).moves_by_group:
        kernel = kernel_of(task.equations, task.equations.system.parameters)
        action_tables(kernel, task.parameters, task.method, task.method.startswith("isospectral"))


# -- without one -----------------------------------------------------------------------------------


def _reason(task: Task) -> str:
    """Why a run that chooses its steps begins by those of dop853."""
    if task.equations.system.unilateral:
        return "dop853, because contacts open and close."
    if task.inputs:
        name, law = next(iter(task.inputs.items()))
        kind = "a table" if isinstance(law, InputTable) else "a function of Python"
        return f"dop853, because the input {name} is {kind}."
    return "dop853, because it takes any system and no other method was found to pay."


def suited_to_many(task: Task, count: int) -> Task:
    """The task of `count` runs with the method that suits them, by the steps of one of them."""
    from ..task import followed

    if not task.method_reason or task.stepping is not None or task.inputs or count < 2:
        return task
    equations = task.equations
    kernel = kernel_of(equations, equations.system.parameters)
    try:
        most = min(task.max_steps, SAMPLE)
        sample = followed(replace(task, progress=None, max_steps=most))
    except DalembertError:
        return task  # the runs themselves will say what is wrong
    if sample.outcome is Outcome.INTERRUPTED:
        raise KeyboardInterrupt
    method, reason = (sample.statistics[key] for key in ("method", "method_reason"))
    if method != task.method:
        return replace(task, method=method, method_reason=reason)
    reached = float(sample.segments[-1].step_t[-1]) if sample.segments else task.span[0]
    part = abs(reached - task.span[0]) / abs(task.span[1] - task.span[0])
    if part == 0.0:
        return task
    steps = round(sample.statistics["steps"] / part)
    whole = runge_kutta_seconds(kernel, count * steps)
    if (1.0 - LANES_SHARE) * whole <= 2.0 * compile_seconds(kernel):
        return task  # one expansion for lanes, and one for runs that are made alone
    expanded = _in_lanes(task)
    if expanded is None:
        return task
    return replace(
        expanded,
        method_reason="taylor, because the equations are analytic and expansions go in lanes: one"
        f" of the {count} runs takes {steps} steps of dop853.",
    )


def suited_to_deviations(task: Task, count: int, is_light: bool) -> Task:
    """The task with the method that suits runs beside which deviations go.

    `is_light` says that the runs need no decisions on their way.
    """
    if task.span[1] <= task.span[0]:
        what = "Chaos indicators look forward in time"
        raise ModelError(what, seen=f"{task.span[0]:g} to {task.span[1]:g}")
    if not task.method_reason and task.method == "dop853":
        return task
    if not task.method_reason and task.method != "taylor":
        what = "Deviations follow motions by taylor or dop853"
        raise ModelError(what, seen=task.method, remedy="leave the method out")
    expanded = _in_lanes(task) if is_light else None
    if expanded is not None:
        reason = "the equations are analytic: they are expanded in lanes with those of"
        told = f"taylor, because {reason} {count} deviation{'s' * (count > 1)}."
        return replace(expanded, method_reason=task.method_reason and told)
    if not task.method_reason:
        what = "These equations are not expanded together with deviations"
        remedy = "leave the method out"
        raise ModelError(what, "switches, contacts, functions or a large solve", remedy)
    told = "dop853, because the equations are not expanded in lanes."
    return replace(task, method="dop853", method_reason=told)


def _in_lanes(task: Task) -> Task | None:
    """The task by expansions, where they go in lanes; else None."""
    equations = task.equations
    kernel = kernel_of(equations, equations.system.parameters)
    if task.events or equations.system.unilateral or not has_short_program(kernel):
        return None
    expanded = replace(task, method="taylor")
    if has_stops(kernel) or is_controlled(kernel, expanded):
        return None
    try:
        check_expansion(equations)
    except FormError:
        return None
    return expanded


def _fastest_rate(task: Task) -> float:
    """The largest absolute eigenvalue of the rates at the start of a task; 0 if unknown."""
    from ..driver import Driver

    kernel = kernel_of(task.equations, task.equations.system.parameters)
    if kernel.n_state > MOST_SYMBOLS:
        return 0.0
    driver = Driver(task)
    driver.mode, driver.kernel = (), kernel
    try:
        y = driver._start().state
        rates = regular_rates(driver.kernel).rates
    except DalembertError:
        return 0.0  # the run itself will say what is wrong
    symbols = driver.kernel.algebra.vector(driver.kernel.equations.state)
    derivative = ca.Function("derivative", kernel._inputs(), [ca.jacobian(rates, symbols)])
    values = np.asarray(
        derivative(task.span[0], y, task.parameters, np.zeros(0), np.zeros(0)), dtype=float
    )
    if not np.all(np.isfinite(values)):
        return 0.0
    return float(np.max(np.abs(np.linalg.eigvals(values)), initial=0.0))
