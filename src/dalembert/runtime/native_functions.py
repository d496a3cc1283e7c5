"""The native functions that Python calls, as one module: the solve, and loops around a kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ..codegen.native.native_module import NativeModule
from . import projection as native
from .gauss import factorisations
from .gauss.gauss_problem import gauss_solve

__all__ = ["functions"]


@cache
def functions() -> dict[str, Any]:
    """The functions by name; about a second to compile, then found in the cache."""
    entries: list[Callable[..., Any]] = [
        gauss_solve,
        factorisations.scaled_columns,
        factorisations.pivoted_qr,
        factorisations.reflect,
        native.evaluate,
        native.evaluate_on_constraints,
        native.evaluate_points,
        native.project,
        native.project_rows,
        native.observe_points,
        native.repeat_rates,
        native.map_rows,
        native.call_events,
    ]
    return NativeModule(entries).functions
