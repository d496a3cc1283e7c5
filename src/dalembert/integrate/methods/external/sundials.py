"""The package scikit-sundae, kept quiet: what both of its integrators share."""

from __future__ import annotations

import contextlib
import io
import math
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import MissingExtraError
from ...tolerances import LOCAL_SHARE

if TYPE_CHECKING:
    from ....runtime.context import Context
    from ....typing import Array
    from .external_task import ExternalTask

__all__ = ["MOST_STEPS", "SundialsSteps", "sundials_module"]

#: The package counts steps between two outputs; the driver counts those of a run.
MOST_STEPS = 10**9
#: No step is held to less than this, because the rates are rounded.
FINEST = 1e-14
#: Where SUNDIALS writes its warnings; a library writes nothing that it was not asked for.
_LOGGERS = ("SUNLOGGER_ERROR_FILENAME", "SUNLOGGER_WARNING_FILENAME")


def sundials_module(name: str) -> ModuleType:
    """A part of scikit-sundae, or one sentence that says how to install it."""
    import importlib

    try:
        return importlib.import_module(f"sksundae.{name}")
    except ImportError:
        raise MissingExtraError("scikit-sundae", "sundials") from None


@contextlib.contextmanager
def _quiet_logger() -> Iterator[None]:
    """SUNDIALS reads the environment when a solver is made."""
    before = {name: os.environ.get(name) for name in _LOGGERS}
    os.environ.update({name: os.environ.get(name, os.devnull) for name in _LOGGERS})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class SundialsSteps:
    """What CVODE and IDA share: one step at a time, the times within it, and what they were told.

    A solver remembers the steps before; looking back into the last one makes its next answer the
    end of that step once more.
    """

    needs_health = False

    def __init__(self, task: ExternalTask, context: Context) -> None:
        self.task, self.context = task, context
        self.t, self.evaluations = float(task.span[0]), 0
        self.y: Any = np.zeros(context.kernel.n_state)
        self.rtol = max(LOCAL_SHARE * task.rtol, FINEST)
        self.atol = LOCAL_SHARE * np.asarray(task.atol, dtype=float)
        self._solver: Any = None
        self._before: Any = self.y

    def _options(self) -> dict[str, Any]:
        """Options of both integrators."""
        first, last = self.task.span
        size = max(abs(first), abs(last), abs(last - first))
        longest = (
            self.task.max_step
            if math.isfinite(self.task.max_step)
            else max(10.0 * abs(last - first), 1e-300)
        )
        least = 4.0 * np.finfo(float).eps * size
        return {
            "rtol": self.rtol,
            "min_step": min(least, longest),
            "max_step": longest,
            "first_step": self.task.first_step or 0.0,
            "max_num_steps": MOST_STEPS,
        }

    def step(self, end: float) -> bool:
        """One step towards the end."""
        self._before = self.y
        for _ in range(2):
            with contextlib.redirect_stdout(io.StringIO()):
                found = self._solver.step(end, method="onestep", tstop=end)
            if not found.success or not np.all(np.isfinite(found.y)):
                return False
            if found.t != self.t:
                self.t, self.y = float(found.t), self._state(found)
                return True
        return False

    def within(self, t: float) -> Array:
        """The polynomial of the last step at a time."""
        with contextlib.redirect_stdout(io.StringIO()):
            return self._state(self._solver.step(t, method="normal"))

    def _state(self, found: Any) -> Array:
        return np.array(found.y[: self.context.kernel.n_state])

    def _made(
        self,
        kind: Callable[..., Any],
        function: Callable[..., None],
        start: tuple[Any, ...],
        options: dict[str, Any],
    ) -> Any:
        """A solver that stands at a start."""
        with _quiet_logger(), contextlib.redirect_stdout(io.StringIO()):
            solver = kind(function, **options)
            solver.init_step(*start)
        return solver
