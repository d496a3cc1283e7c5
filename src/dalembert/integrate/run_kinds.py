"""Which kind of run a task takes: our own steps, steps of one size, or those of another package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .methods.table import find_method
from .native_run import AdaptiveRun

if TYPE_CHECKING:
    from .task import Task

__all__ = ["run_kind"]


def run_kind(task: Task) -> type[Any]:
    """The class of a task's runs."""
    if task.stepping is not None:
        from .methods.fixed.fixed_run import FixedRun

        return FixedRun
    if not find_method(task.method).is_external:
        return AdaptiveRun
    from .methods.external.external_run import ExternalRun

    return ExternalRun
