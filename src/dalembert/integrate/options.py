"""The options of a run that other functions pass on to `simulate`, typed by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypedDict

import sympy

from ..typing import Array, ArrayLike, BySymbol, Expression, Parameters, Progress, Span
from .events.events import Event
from .methods.fixed.step_density import ReversibleSteps

__all__ = ["Events", "Inputs", "MethodOptions", "ModelOptions", "RunOptions", "SimulateOptions", "SpanOptions"]

#: An event or several of them, as records or as expressions that pass through zero.
Events: TypeAlias = "Event | sympy.Expr | Sequence[Event | sympy.Expr]"
#: Inputs as expressions, or as functions of the time and the state.
Inputs: TypeAlias = BySymbol["Expression | Callable[[float, Array], float]"]


class MethodOptions(TypedDict, total=False):
    """The form of the equations, and how steps are taken; see `simulate`."""

    form: str | None
    method: str | None
    rtol: float | None
    atol: ArrayLike | None
    step: float | None
    project: bool
    project_start: bool
    max_step: float
    first_step: float | None
    max_steps: int


class RunOptions(MethodOptions, total=False):
    """What a run does on its way besides."""

    every: int | None
    adapt: sympy.Expr | str | ReversibleSteps | None
    events: Events
    inputs: Inputs | None


class SpanOptions(RunOptions, total=False):
    """Those of a run whose start and parameters are given beside them."""

    span: Span | None
    progress: Progress | None


class ModelOptions(RunOptions, total=False):
    """Those of a run whose start and span are given beside them."""

    parameters: Parameters | None
    progress: Progress | None


class SimulateOptions(ModelOptions, total=False):
    """The same with the times that are stored."""

    at: ArrayLike | None
