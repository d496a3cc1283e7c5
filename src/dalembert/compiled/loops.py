"""The native functions that Python calls, compiled as one module: the solve, and the loops around a kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from . import constrained_solve, native
from .language import NativeModule

__all__ = ["functions"]


@cache
def functions() -> dict[str, Any]:
    """The functions by name; about a second to compile, then found in the cache."""
    entries: list[Callable[..., Any]] = [
        constrained_solve.gauss_solve,
        constrained_solve.scaled_columns,
        constrained_solve.pivoted_qr,
        constrained_solve.reflect,
        native.evaluate,
        native.project,
        native.observe_points,
        native.repeat_rates,
        native.call_events,
    ]
    return NativeModule(entries).functions
