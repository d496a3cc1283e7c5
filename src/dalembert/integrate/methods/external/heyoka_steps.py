"""Steps by heyoka: Taylor expansions of the order that its tolerance asks for."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....codegen.backends.heyoka_source import heyoka_module, heyoka_system
from ...tolerances import LOCAL_SHARE

if TYPE_CHECKING:
    from ....runtime.context import Context
    from ....runtime.kernel import Kernel
    from ....typing import Array
    from .external_task import ExternalTask

__all__ = ["HeyokaSteps", "heyoka_tolerance"]

#: Machine precision: no tolerance is smaller.
FINEST = float(np.finfo(float).eps)
#: Programs with more operations are compiled as loops over like operations.
INLINED = 200


def heyoka_tolerance(rtol: float) -> float:
    """The tolerance of a step."""
    return max(LOCAL_SHARE * rtol, FINEST)


def _integrator(kernel: Kernel, tolerance: float) -> Any:
    """heyoka's integrator of a kernel, compiled once for a tolerance; every run takes a copy."""

    def make() -> Any:
        return heyoka_module().taylor_adaptive(
            kernel.cache.get("heyoka", lambda: heyoka_system(kernel)),
            [0.0] * kernel.n_state,
            pars=[0.0] * len(kernel.parameters),
            tol=tolerance,
            compact_mode=kernel.program("fast").operation_count > INLINED,
        )

    return copy.deepcopy(kernel.cache.get(("heyoka", tolerance), make))


class HeyokaSteps:
    """See `run.Steps`. The state may be changed between steps, which have no memory."""

    needs_health = True

    def __init__(self, task: ExternalTask, context: Context) -> None:
        hy = heyoka_module()
        self._reasons = hy.taylor_outcome
        self._integrator = _integrator(context.kernel, heyoka_tolerance(task.rtol))
        if len(task.parameters):
            self._integrator.pars[:] = task.parameters
        self._longest, self._next = task.max_step, task.first_step or math.inf
        self.t, self.y, self.evaluations = 0.0, np.zeros(context.kernel.n_state), 0

    def begin(self, t: float, y: Array) -> None:
        """Stand at a state."""
        self.t, self.y = t, y
        self._integrator.time = t
        self._integrator.state[:] = y

    def step(self, end: float) -> bool:
        """One step towards the end."""
        left = end - self.t
        bound = min(abs(left), self._longest, self._next)
        self._next = math.inf
        outcome, taken = self._integrator.step(
            max_delta_t=math.copysign(bound, left), write_tc=True
        )
        self.evaluations += 1
        if outcome not in (self._reasons.success, self._reasons.time_limit):
            return False
        if abs(taken) < 10.0 * abs(np.spacing(self.t)) and abs(taken) < abs(left):
            return False
        self.t = end if abs(taken) >= abs(left) else self._integrator.time
        self.y = np.array(self._integrator.state)
        return True

    def within(self, t: float) -> Array:
        """The last expansion at a time."""
        return np.array(self._integrator.update_d_output(t))

    def evaluate_on_constraints(self, y: Array) -> None:
        """Go on from the projected state."""
        self._integrator.state[:] = y
