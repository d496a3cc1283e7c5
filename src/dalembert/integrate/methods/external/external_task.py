"""What the steps of another package read of a task."""

from __future__ import annotations

from typing import Protocol

from ....typing import Array

__all__ = ["ExternalTask"]


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
