r"""``method="auto"``: the method that suits a task, and a sentence that says why.

With a step, or with goal="long", the first method of a list whose hypotheses hold is taken, from
the one that keeps most to the one that asks for least. Without one, the choice is between
expansions, Runge-Kutta steps and implicit formulas. The last are for stiff equations: an explicit
step h must keep h L below a bound, where -L is the real part of the fastest decay, although nothing
happens any more on that time scale (E. Hairer, G. Wanner: Solving Ordinary Differential Equations
II, section IV.2). The estimate compares

    L |t1 - t0| / 6                                  steps that stability asks of an explicit
    method of order 8, with 0.3 (10 + |lambda| |t1 - t0|) / tol^(1/6)    steps that accuracy asks
    of Radau's method of order 9

at the start, with lambda the fastest of the other eigenvalues of the derivative of the rates, and
the time that steps of both kinds take. Equations that become stiff later are noticed by the driver
(`StiffnessWatch`), and the run is made again by an implicit method.
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
from ..tolerances import LEAST_RTOL, LOCAL_SHARE
from .adaptive.taylor_programs import check_expansion
from .groups.group_tables import action_tables
from .table import AUTO, find_method

if TYPE_CHECKING:
    from ...typing import Array, Samples, Span, Start
    from ..options import Model, RunOptions
    from ..task import Task

__all__ = ["Stiffness", "chosen_task", "stiff_method", "stiffness"]

#: Up to this tolerance expansions are faster than Runge-Kutta steps, where they exist.
FINE = 1e-9
#: Expansions of longer programs take longer to compile than most runs last.
LONGEST_EXPANSION = 4000
#: h L of an explicit method of order 8 at its limit of stability.
STABLE = 6.0
#: Steps of Radau's method of order 9 for each radian of the motion, at tolerance one.
STEPS_PER_RADIAN = 0.3
#: Seconds of a step beside its evaluations, evaluations of a step, and seconds of an operation in
#: them; evaluations of the Jacobian count by their length.
IMPLICIT_STEP, EXPLICIT_STEP, OPERATION = (4e-6, 25.0), (0.4e-6, 14.0), 1e-9
#: From this tolerance on, the method of order 5 takes less work than that of order 9.
COARSE = 1e-5
#: Steps in the fastest period of a long run.
STEPS_PER_PERIOD = 40.0
#: The part of the fastest decay that counts as fast as well.
ALSO_FAST = 0.1
#: The largest state whose eigenvalues are looked at.
MOST_SYMBOLS = 200


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
    method, reason = _without_step(task)
    return replace(task, method=method, method_reason=reason)


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


def stiff_method(task: Task, reason: str) -> Task:
    """The same task by the implicit method that suits its tolerance."""
    method = "radau5" if task.rtol >= COARSE else "radau9"
    return replace(task, method=method, method_reason=f"{method}, because {reason}.")


# -- with a step -----------------------------------------------------------------------------------


def _long_step(task: Task) -> float:
    """A step for a long run: a part of the fastest period at the start, which divides the span."""
    found, length = stiffness(task), abs(task.span[1] - task.span[0])
    fastest = 0.0 if found is None else max(found.decay, found.slow)
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


def _without_step(task: Task) -> tuple[str, str]:
    """The method that chooses its steps, and the reason."""
    equations = task.equations
    system = equations.system
    if system.unilateral:
        return "dop853", "dop853, because contacts open and close."
    if task.inputs:
        return (
            "dop853",
            f"dop853, because the input {next(iter(task.inputs))} is a function of Python.",
        )
    found = stiffness(task)
    if found is not None and found.is_stiff:
        implicit = stiff_method(
            task,
            f"the equations are stiff: the fastest decay takes {1 / found.decay:.1e} of a time"
            " unit and the rest of the motion is slower",
        )
        return implicit.method, implicit.method_reason
    if task.rtol > FINE:
        return "dop853", f"dop853, because rtol = {task.rtol:g} is not so fine that expansions pay."
    kernel = kernel_of(equations, system.parameters)
    if kernel.solved is None or kernel.program("fast").operation_count > LONGEST_EXPANSION:
        return "dop853", "dop853, because the equations are too long for Taylor expansions."
    try:
        check_expansion(equations)
    except FormError as error:
        return "dop853", f"dop853, because there is no Taylor expansion: {error.what}."
    return (
        "taylor",
        (
            f"taylor, because the equations are analytic and rtol = {task.rtol:g} is fine:"
            " expansions take fewer steps."
        ),
    )


class Stiffness(NamedTuple):
    """What the eigenvalues at the start say.

    Attributes
    ----------
    decay : float
        -Re of the fastest decay.
    slow : float
        The largest absolute value among the other eigenvalues.
    explicit, implicit : float
        Steps that stability asks of an explicit method, and that accuracy asks of an implicit one.
    dearer : float
        How much longer an implicit step takes.
    """

    decay: float
    slow: float
    explicit: float
    implicit: float
    dearer: float

    @property
    def is_stiff(self) -> bool:
        """Whether implicit steps, although dearer, are less work."""
        return self.explicit > self.dearer * self.implicit


def stiffness(task: Task) -> Stiffness | None:
    """The eigenvalues of the rates at the start of a task; None where they cannot be had."""
    from ..driver import Driver

    kernel = kernel_of(task.equations, task.equations.system.parameters)
    if kernel.n_state > MOST_SYMBOLS:
        return None
    driver = Driver(task)
    driver.mode, driver.kernel = (), kernel
    try:
        y = driver._start().state
        rates = regular_rates(driver.kernel).rates
    except DalembertError:
        return None  # the run itself will say what is wrong
    symbols = driver.kernel.algebra.vector(driver.kernel.equations.state)
    derivative = kernel.cache.get(
        "eigenvalue jacobian",
        lambda: ca.Function("derivative", kernel._inputs(), [ca.jacobian(rates, symbols)]),
    )
    values = np.asarray(
        derivative(task.span[0], y, task.parameters, np.zeros(0), np.zeros(0)), dtype=float
    )
    if not np.all(np.isfinite(values)):
        return None
    operations = (
        driver.kernel.program("fast").operation_count
        if driver.kernel.solved is not None
        else kernel.n**3
    )
    return judged(values, task.span, task.rtol, operations)


def judged(
    derivative: Array, span: tuple[float, float], rtol: float, operations: int = 100
) -> Stiffness:
    """Whether a matrix of derivatives is that of stiff equations, for a span that may go backwards.

    `operations` are those of one evaluation of the rates: the more there are, the less the overhead
    of implicit steps counts.

    >>> judged(np.diag([-1e7, -1.0]), (0.0, 10.0), 1e-6).is_stiff, judged(
    ...     np.diag([-10.0, -1.0]), (0.0, 10.0), 1e-6
    ... ).is_stiff
    (True, False)
    """
    length = abs(span[1] - span[0])
    eigenvalues = np.linalg.eigvals(derivative) * (1.0 if span[1] >= span[0] else -1.0)
    decay = max(0.0, float(np.max(-eigenvalues.real, initial=0.0)))
    others = eigenvalues[-eigenvalues.real < ALSO_FAST * decay] if decay > 0 else eigenvalues
    slow = float(np.max(np.abs(others), initial=0.0))
    tolerance = max(LOCAL_SHARE * rtol, LEAST_RTOL)
    implicit = STEPS_PER_RADIAN * (10.0 + slow * length) * tolerance ** (-1.0 / 6.0)
    seconds = [
        begin + evaluations * operations * OPERATION
        for begin, evaluations in (IMPLICIT_STEP, EXPLICIT_STEP)
    ]
    return Stiffness(decay, slow, decay * length / STABLE, implicit, seconds[0] / seconds[1])
