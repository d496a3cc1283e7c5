"""The one entry from a system to its motion; what a call needs is loaded when it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack, overload

from ..errors import ModelError
from ..model.labels import labelled
from ..model.work_clock import clock_reading

if TYPE_CHECKING:
    import sympy

    from ..formulations.equations import Equations
    from ..model.flow_system import Flow
    from ..model.scenario import Scenario
    from ..model.system import System
    from ..typing import ArrayLike, Parameters, Progress, Samples, Span, Start
    from .ensemble.ensemble import Ensemble
    from .methods.fixed.step_density import ReversibleSteps
    from .motion import Motion
    from .options import Events, Inputs, RunKeywords

__all__ = ["simulate"]


@overload
def simulate(  # type: ignore[overload-overlap]  # arrays may hold numbers too
    model: System | Flow | Equations | Scenario,
    start: Start | None = ...,
    span: Span | None = ...,
    *,
    parameters: Parameters | None = ...,
    at: ArrayLike | None = ...,
    progress: Progress | None = ...,
    **options: Unpack[RunKeywords],
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
    **options: Unpack[RunKeywords],
) -> Ensemble: ...
def simulate(
    model: System | Flow | Equations | Scenario,
    start: Start | Samples | None = None,
    span: Span | None = None,
    *,
    parameters: Parameters | Samples | None = None,
    form: str | None = None,
    method: str | None = None,
    goal: str | None = None,
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
    through_singular: bool | None = None,
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
        Coordinates, velocities, momenta, or outputs that depend on velocities. What is missing is
        completed from the constraints, or is zero.
    span : (t0, t1)
        t1 may lie before t0.
    parameters : mapping of symbol or name to value
        Where a start or a parameter is an array, many runs are made, in threads. Arrays of one
        length are paired; shapes such as (50, 1) and (20,) broadcast to 50 x 20 runs.
    form : str
        The form of the equations; by default the fastest that applies, see
        `dalembert.formulations.registry.fastest_form`.
    method : str
        "dop853" and "taylor" choose their steps; the second takes Taylor coefficients of the order
        that suits the tolerance. For stiff equations "radau5", "radau9" and "radau13" choose
        theirs. With fixed steps: "gauss2", "gauss4", "gauss6"; for constant
        masses and holonomic constraints "rattle2", "rattle4", "rattle6", "rattle8"; for any mass
        and holonomic constraints, in momenta, "lobatto2", "lobatto4", "lobatto6", and from a
        discrete Lagrangian "variational-midpoint", "galerkin4", "galerkin6", "galerkin-lobatto4",
        "galerkin-lobatto6"; for constraints of velocities "dla", "dla4", "dla6",
        "nonholonomic-leapfrog", "nonholonomic-leapfrog4", "nonholonomic-leapfrog6", "energy2",
        "energy4", "energy6"; for flows whose matrices move by a group "isospectral2",
        "isospectral4", "isospectral6", "rkmk4", "lie-verlet". docs/methods.md compares them. By
        other packages, which are extras: "heyoka", "cvode-bdf", "cvode-adams", "ida-ggl". "auto",
        the default, chooses, and says why in ``motion.statistics["method_reason"]``: it takes
        "dop853", and makes a run again by a Radau method where it is stiff; many runs go by
        "taylor" in vector lanes where that pays.
    goal : "long" or None
        "long" chooses a method with fixed steps that keeps the structure of the system, as "auto"
        does with a step, and where none is given a step of a fortieth of the fastest period at the
        start.
    step : float
        The step of a method with fixed steps, which must divide the span.
    every : int
        How many of its steps lie between stored ones, 1 by default.
    adapt : expression, "arclength" or `ReversibleSteps`
        Steps of about `step` times this, by a control that keeps a symmetric method reversible; see
        `ReversibleSteps`.
    rtol, atol : float
        For "dop853": tolerances of the motion, 1e-10 and rtol/100 by default; `atol` may have one
        entry for each state symbol. Every step is held to a fiftieth of them. On the reference
        motions the states are then right to about rtol.
    at : sequence of times
        Where the motion is stored; at every step by default, of many runs at the last time. Between
        fixed steps there is `Motion.sol`.
    events : sequence of `event(...)` or expressions
    inputs : mapping of input to a number, an expression, a table, or ``f(t, state) -> float``
        For numbers and tables (`dalembert.control.input_table`) nothing is built anew. A law that
        is sampled, delayed, limited and held is made by `dalembert.control.sampled`.
    project : bool
        Whether every step ends on the constraints.
    project_start : bool
        Whether a start that breaks the constraints is moved to them (and reported) or refused.
    through_singular : bool
        Whether a motion goes on through positions where the constraints lose rank, along the branch
        with continuous velocity, and says so; by default it ends there.
    max_step, first_step : float
    max_steps : int
    workers : int
        Threads for many runs, by default one for each processor. The numbers do not depend on it.
    progress : callable
        Called now and then with the fraction done and the time reached, or the number of runs that
        are done.

    Returns
    -------
    Motion
        Also where the run could not finish; see `Motion.outcome`.
    Ensemble
        Where a start or a parameter is an array: every run, also those that could not be made;
        after Ctrl-C what was done.

    Examples
    --------
    >>> import dalembert as da
    >>> import numpy as np
    >>> x = da.coordinates("x")
    >>> m, k = da.parameters("m k", positive=True)
    >>> oscillator = da.System(coordinates=[x], kinetic=m/2*x.dot**2, potential=k/2*x**2)
    >>> motion = simulate(oscillator, {x: 1.0}, (0, 3.141592653589793), parameters={m: 1, k: 4})
    >>> bool(abs(motion["x"][-1] - 1.0) < 1e-9)
    True

    Many runs, for two stiffnesses and three starts each:

    >>> runs = simulate(
    ...     oscillator,
    ...     {x: [1.0, 2.0, 3.0]},
    ...     (0, np.pi),
    ...     parameters={m: 1, k: np.array([[1.0], [4.0]])},
    ... )
    >>> runs.final["x"].round(9).tolist()
    [[-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]]
    """
    from .input_table import with_constants
    from .options import RunOptions
    from .task import read_task, run_task

    since = clock_reading()
    parameters, start = labelled(parameters), labelled(start)
    is_one = not is_many(parameters, start)
    options = RunOptions(
        parameters, form, method, rtol, atol, step, every, adapt, at, events,
        with_constants(inputs, model, method) if is_one else inputs,
        project, project_start, max_step, first_step, max_steps, progress, goal,
        through_singular,
    )  # fmt: skip
    if not is_one:
        from .ensemble.ensemble import ensemble_of

        return ensemble_of(model, start, span, options, workers)
    if workers is not None:
        raise ModelError(
            "One run takes one thread",
            seen=f"workers={workers}",
            remedy="leave workers out, or give an array of starts or parameters",
        )
    return run_task(read_task(model, start, span, options), since)


def is_many(*mappings: object) -> bool:
    """Whether any value of some mappings is an array, so that many runs are meant."""
    values = [value for given in mappings if isinstance(given, Mapping) for value in given.values()]
    return any(isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) for value in values)
