"""The record of a method of integration, and of the three ways in which methods take steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from ...typing import Array, IntArray

if TYPE_CHECKING:
    from ...formulations.equations import Equations
    from ...runtime.context import Context
    from ..motion import Motion
    from ..native_run import AdaptiveRun
    from ..segment import Segment
    from ..task import Task
    from .external.external_run import Steps
    from .fixed.fixed_run import FixedRun

__all__ = [
    "AdaptiveStep",
    "Between",
    "Bound",
    "ExternalStep",
    "FixedStep",
    "Method",
    "Natives",
    "by_step",
]

#: Pairs of native functions: what a loop calls, and what a method has for it.
Bound: TypeAlias = "tuple[tuple[Callable[..., Any], Callable[..., Any]], ...]"
#: Compiled functions by name.
Natives: TypeAlias = "Mapping[str, Callable[..., Any]]"


def no_hypotheses(equations: Equations, method: str) -> None:
    """Accept any equations."""


@dataclass(frozen=True)
class FixedStep:
    """Steps of a given size, by the loop of `fixed.fixed_steps`.

    Attributes
    ----------
    bound : pairs of native functions
        What the loop calls, `fixed_steps.method_step` above all, and what the method has for it.
    prepare : function of a run
        Binds the programs and arrays of the method to the context of a run.
    has_newton : bool
        Whether Newton's method may take over where sweeps do not contract.
    ends_on_constraints : bool
        Whether the equations of a step include all constraints; else each step is projected.
    allows_adapt : bool
        Whether a reversible control may vary the steps.
    dissipates : bool
        Whether steps may lose energy that the smooth system keeps, as contacts do.
    """

    bound: Bound
    prepare: Callable[[FixedRun], None]
    has_newton: bool = False
    ends_on_constraints: bool = False
    allows_adapt: bool = False
    dissipates: bool = False


class Between(Protocol):
    """Dense output: the states of one segment of a motion between its steps."""

    def fill(self, times: Array, places: IntArray, result: Array) -> None:
        """result[place] <- the state at times[place], for some places."""


def by_step(steps: IntArray, places: IntArray) -> Iterator[tuple[int, IntArray]]:
    """The steps that are needed, and the places whose times lie in each."""
    order = np.argsort(steps, kind="stable")
    numbers, first = np.unique(steps[order], return_index=True)
    for number, own in zip(numbers, np.split(places[order], first[1:]), strict=True):
        yield int(number), own


def nothing_to_prepare(run: AdaptiveRun, task: Task, events: int) -> None:
    """Prepare nothing."""


@dataclass(frozen=True)
class AdaptiveStep:
    """Steps that are chosen by a tolerance, by the loop of `advance`.

    Attributes
    ----------
    bound : pairs of native functions
        The functions of `step_functions`, and what the method has for them.
    entries : native functions that dense output calls from Python
    dense : makes the dense output of a segment
    prepare : function of a run, its task and the number of its events
    rows, end_row : int
        How many rows `stages` has, and the one that keeps the rate at the end of a step.
    parts : int
        Into how many parts a step is divided where the sign of an event is looked for.
    """

    bound: Bound
    entries: tuple[Callable[..., Any], ...]
    dense: Callable[[Motion, Segment, float, Natives], Between]
    prepare: Callable[[AdaptiveRun, Task, int], None] = nothing_to_prepare
    rows: int = 2
    end_row: int = 1
    parts: int = 4


@dataclass(frozen=True)
class ExternalStep:
    """Steps of another package, which is an extra.

    `start(task, context)` gives its steps; `package` is what is imported.
    """

    package: str
    start: Callable[[Any, Context], Steps]


@dataclass(frozen=True)
class Method:
    """A method of integration: all that `simulate`, the command line, the lab and docs know of it.

    Attributes
    ----------
    name, description : str
        What `simulate(method=...)` takes, and one line on what the method is.
    order : int or None
        None where it varies.
    step : FixedStep, AdaptiveStep or ExternalStep
    form : str or None
        The form of the equations that its steps are taken in; None for any.
    check : function of equations and name
        Raises an error that says which hypothesis of the method fails.
    is_symplectic : bool
        Whether steps are symplectic where the system is Hamiltonian, in canonical coordinates.
    is_stiff : bool
        Whether it is for stiff equations: a fast decay that is over does not bound its steps.
    steps_contacts : bool
        Whether contacts open and close within its steps, without events.
    moves_by_group : bool
        Whether it is for flows whose matrices move by a group.
    least_rtol, rtol : float
        The least relative tolerance, and the one that is taken if none is given.
    has_atol : bool
        Whether an absolute tolerance may be given.
    """

    name: str
    description: str
    order: int | None
    step: FixedStep | AdaptiveStep | ExternalStep
    form: str | None = None
    check: Callable[[Equations, str], None] = no_hypotheses
    is_symplectic: bool = False
    is_stiff: bool = False
    steps_contacts: bool = False
    moves_by_group: bool = False
    least_rtol: float = 1e-15
    rtol: float = 1e-10
    has_atol: bool = True

    @property
    def is_fixed(self) -> bool:
        """Whether it is told its step."""
        return isinstance(self.step, FixedStep)

    @property
    def is_external(self) -> bool:
        """Whether another package takes its steps."""
        return isinstance(self.step, ExternalStep)

    @property
    def looks_inside(self) -> bool:
        """Whether its steps are looked into for events, contacts and switches."""
        return isinstance(self.step, AdaptiveStep)
