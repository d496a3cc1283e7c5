"""The end of a slip in space, approached from before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...typing import Array
from ..events.zero_crossings import state_after

if TYPE_CHECKING:
    from ..native_run import AdaptiveRun

__all__ = ["slip_end"]

#: The approach begins this part of the step before the end that an event found, and goes this part
#: of the way each time, until what it finds changes no more.
BEFORE, ON_THE_WAY = 1e-2, 0.95
#: The state is extrapolated over this part of the step. Noise of the friction is an impulse along
#: the slip, which the contact takes up where it sticks.
LAST = 1e-5
MOST = 40


def slip_end(
    run: AdaptiveRun, slip: Callable[[float, Array], Sequence[Array]], elapsed: float
) -> tuple[float, Any] | None:
    """The time after the beginning of the last step at which a slip ends, and the state there.

    Near its end a slip w is straight, and its remaining time |w|^2 / -(w . w_dot) can be read off
    any instant before; what is beyond the last one that is looked at is of its square.

    Parameters
    ----------
    slip : the slip (k,) and its Jacobians in state and time, at (t, y)
    elapsed : where an event found it

    Returns
    -------
    None where the slip does not end there.
    """
    began, end, change = run.clock.t_old, float("nan"), float("inf")
    at = elapsed * (1.0 - BEFORE)
    rates = np.zeros(len(run.y) + 1)
    for _ in range(MOST):
        y = state_after(run, at)
        if run.context.evaluate(began + at, y, rates):
            break
        value, jacobian, in_time = slip(began + at, y)
        speed = value.ravel()
        growth = jacobian @ rates[:-1] + in_time.ravel()
        size, closing = float(speed @ speed), -float(speed @ growth)
        left = size / closing if closing > 0.0 else float("inf")
        moved = abs(at + left - end)
        if not 0.0 < left <= abs(elapsed) or moved > change:  # what is left of the slip is noise
            break
        end, change = at + left, moved if moved == moved else float("inf")
        if change <= 4.0 * np.spacing(abs(began) + abs(elapsed)):
            break
        at += ON_THE_WAY * left
    if end != end:
        return None
    left = LAST * elapsed
    y = state_after(run, end - left)
    run.context.evaluate(began + end - left, y, rates)
    return end, y + left * rates[:-1]
