"""The options of a run that other functions pass on to `simulate`, typed by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import sympy

from ..typing import Array, ArrayLike, BySymbol, Expression, Parameters, Progress, Samples, Span
from .events.events import Event
from .methods.fixed.step_density import ReversibleSteps

if TYPE_CHECKING:
    from ..formulations.equations import Equations
    from ..model.flow_system import Flow
    from ..model.scenario import Scenario
    from ..model.system import System

__all__ = [
    "Events",
    "Inputs",
    "MethodOptions",
    "Model",
    "ModelOptions",
    "RunKeywords",
    "RunOptions",
    "SimulateOptions",
    "SpanOptions",
]

#: What `simulate` follows; a scenario brings its own start, parameters and options.
Model: TypeAlias = "System | Flow | Equations | Scenario"
#: An event or several of them, as records or as expressions that pass through zero.
Events: TypeAlias = "Event | sympy.Expr | Sequence[Event | sympy.Expr]"
#: Inputs as expressions, or as functions of the time and the state.
Inputs: TypeAlias = BySymbol["Expression | Callable[[float, Array], float]"]


@dataclass(frozen=True)
class RunOptions:
    """The keywords of a call of `simulate`, as they were given.

    None leaves an option to the scenario, or to the default of the method.
    """

    parameters: Parameters | Samples | None = None
    form: str | None = None
    method: str | None = None
    rtol: float | None = None
    atol: ArrayLike | None = None
    step: float | None = None
    every: int | None = None
    adapt: sympy.Expr | str | ReversibleSteps | None = None
    at: ArrayLike | None = None
    events: Events = ()
    inputs: Inputs | None = None
    project: bool = True
    project_start: bool = True
    max_step: float = math.inf
    first_step: float | None = None
    max_steps: int = 10_000_000
    progress: Progress | None = None
    goal: str | None = None
    through_singular: bool | None = None


class MethodOptions(TypedDict, total=False):
    """The form of the equations, and how steps are taken; see `simulate`."""

    form: str | None
    method: str | None
    goal: str | None
    rtol: float | None
    atol: ArrayLike | None
    step: float | None
    project: bool
    project_start: bool
    through_singular: bool | None
    max_step: float
    first_step: float | None
    max_steps: int


class RunKeywords(MethodOptions, total=False):
    """What a run does on its way besides."""

    every: int | None
    adapt: sympy.Expr | str | ReversibleSteps | None
    events: Events
    inputs: Inputs | None


class SpanOptions(RunKeywords, total=False):
    """Those of a run whose start and parameters are given beside them."""

    span: Span | None
    progress: Progress | None


class ModelOptions(RunKeywords, total=False):
    """Those of a run whose start and span are given beside them."""

    parameters: Parameters | None
    progress: Progress | None


class SimulateOptions(ModelOptions, total=False):
    """The same with the times that are stored."""

    at: ArrayLike | None
