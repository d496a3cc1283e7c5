"""What the parts of a run ask of each other, as protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from ..typing import Array
from .run_fields import Clock, Counts

if TYPE_CHECKING:
    from ..runtime.context import Context
    from ..runtime.kernel import Kernel
    from .task import Task

__all__ = ["ExternalTask", "Follower", "NativeRun"]


class NativeRun(Protocol):
    """A run in one mode, whoever takes its steps: native code, or another package."""

    context: Context
    clock: Clock
    counts: Counts
    y: Array
    stages: Array
    #: What is counted, and the field of `counts` that has it.
    counted: Mapping[str, str]

    @property
    def t(self) -> float:
        """The time reached."""

    def call(self, name: str, *arguments: object) -> int:
        """Call a native function on the run."""

    def take_steps(self) -> tuple[Array, Array]:
        """Times and states of the steps stored since the last time."""

    def last_step(self) -> tuple[Array, Array]:
        """What is left to store at the end."""


class Follower(Protocol):
    """Who follows a run and says how it ended: the driver, or a light run of an ensemble."""

    task: Task
    kernel: Kernel
    run: NativeRun
    start_state: Array

    @property
    def bad_input(self) -> str | None:
        """What is wrong with a value of an input that is a function, in words."""

    def check_inputs(self) -> None:
        """Raise what a function of an input has raised."""


class ExternalTask(Protocol):
    """What the steps of another package read of a task."""

    @property
    def parameters(self) -> Array: ...
    @property
    def method(self) -> str: ...
    @property
    def rtol(self) -> float: ...
    @property
    def atol(self) -> Array: ...
    @property
    def max_step(self) -> float: ...
    @property
    def first_step(self) -> float | None: ...
    @property
    def span(self) -> tuple[float, float]: ...
