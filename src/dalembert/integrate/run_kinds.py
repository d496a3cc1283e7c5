"""Which kind of run a task takes: our own steps, steps of one size, or those of another package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .methods.table import find_method
from .native_run import AdaptiveRun, RunStart

if TYPE_CHECKING:
    from .task_record import Task

__all__ = ["EXACT_TIMES", "prepared_run", "run_kind"]

#: Up to this many times asked for are reached by steps of their own, more by dense output.
EXACT_TIMES = 256


def run_kind(task: Task) -> type[Any]:
    """The class of a task's runs."""
    if task.stepping is not None:
        from .methods.fixed.fixed_run import FixedRun

        return FixedRun
    if not find_method(task.method).is_external:
        return AdaptiveRun
    from .methods.external.external_run import ExternalRun

    return ExternalRun


def prepared_run(start: RunStart, n_searched: int) -> Any:
    """The run of a task from a start, which searches for zeros of its first event functions."""
    task, kernel = start.task, start.kernel
    run = run_kind(task)(start)
    fields = run.context.fields
    if task.project and kernel.is_constrained and task.stepping is None:
        run.context.prepare_projection()
        fields.projects = 1
    fields.n_searched = n_searched
    fields.exact_at = len(start.at) <= EXACT_TIMES or find_method(task.method).is_stiff
    return run
