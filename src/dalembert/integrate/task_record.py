"""The record of what a run was asked to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..formulations.equations import Equations
    from ..model.scenario import Scenario
    from ..typing import Array
    from .events.events import Event
    from .methods.fixed.step_grid import Stepping

__all__ = ["Task"]


@dataclass(frozen=True)
class Task:
    """Everything that a run was asked to do, checked."""

    equations: Equations
    parameters: Array
    start: Mapping[Any, Any]
    span: tuple[float, float]
    at: Array | None
    events: tuple[Event, ...]
    inputs: Mapping[str, Callable[..., Any]]
    method: str
    rtol: float
    atol: Array
    project: bool
    project_start: bool
    max_step: float
    first_step: float | None
    max_steps: int
    progress: Callable[[float, float], None] | None
    scenario: Scenario | None = field(default=None)
    stepping: Stepping | None = None
    method_reason: str = ""
    #: Whether the run goes on through positions where the constraints lose rank.
    through_singular: bool = False
    #: The number of the run among many, by which it draws its noise.
    run: int = 0
