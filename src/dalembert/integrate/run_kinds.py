"""Which kind of run a task takes: our own steps, steps of one size, or those of another package."""

from __future__ import annotations

from typing import Any

from ..model.method_names import EXTERNAL
from .methods.fixed.fixed_run import FixedRun
from .native_run import Run

__all__ = ["run_kind"]


def run_kind(task: Any) -> type[Any]:
    """The class of a task's runs."""
    if task.stepping is not None:
        return FixedRun
    if task.method not in EXTERNAL:
        return Run
    from .methods.external.external_run import ExternalRun

    return ExternalRun
