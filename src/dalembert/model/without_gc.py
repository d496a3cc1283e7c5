"""Work that makes very many small objects, none of which becomes garbage meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["without_gc"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def without_gc(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function, run without the garbage collector, which would visit its objects repeatedly.

    >>> without_gc(gc.isenabled)()
    False
    """

    @wraps(function)
    def wrapped(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return function(*arguments, **options)
        finally:
            if was_enabled:
                gc.enable()

    return wrapped
