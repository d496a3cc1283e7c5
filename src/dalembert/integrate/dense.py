"""Dense output after the fact: states between the steps of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..model.values import real_array
from ..typing import Array, ArrayLike
from .methods.method import AdaptiveStep, Between, FixedStep
from .methods.table import find_method
from .native_run import native_functions
from .state_symbols import shown_states

if TYPE_CHECKING:
    from .motion import Motion
    from .segment import Segment

__all__ = ["dense_states"]


def dense_states(motion: Motion, t: ArrayLike) -> Array:
    """States (n_state, ...) of a motion at any times inside it."""
    try:
        times = real_array(t)
    except (TypeError, ValueError):
        raise ModelError(
            "Dense output needs times", seen=repr(t)[:60], remedy="give real numbers"
        ) from None
    flat = times.ravel()
    result = np.empty((flat.size, len(motion.state)))
    ends = [segment.step_t[k] for segment in motion.segments for k in (0, -1)]
    low, high = min(ends), max(ends)
    slack = 1e-12 * abs(high - low) + 4 * float(np.spacing(max(abs(low), abs(high))))
    if flat.size and not (np.min(flat) >= low - slack and np.max(flat) <= high + slack):
        raise ModelError(
            "Dense output was asked for outside the motion",
            seen=f"{np.min(flat):g} to {np.max(flat):g}",
            remedy=f"stay between {low:g} and {high:g}",
        )
    sign = -1.0 if motion.segments[-1].step_t[-1] < motion.segments[0].step_t[0] else 1.0
    done = np.zeros(flat.size, bool)
    for segment in reversed(motion.segments):  # a jump belongs to what follows it
        here = ~done & (sign * flat >= sign * segment.step_t[0])
        if segment is motion.segments[0]:
            here = ~done
        places = np.flatnonzero(here)
        if not places.size:
            continue
        local = np.empty((flat.size, segment.step_y.shape[1]))
        if segment.interpolated:
            local[places] = interpolated_states(segment.step_t, segment.step_y, flat[places])
        else:
            _between(motion, segment, sign).fill(flat, places, local)
        result[places] = shown_states(segment.context, flat[places], local[places])
        done |= here
    return np.moveaxis(result.reshape((*times.shape, len(motion.state))), -1, 0)


def interpolated_states(nodes: Array, states: Array, times: Array) -> Array:
    """The polynomial through states (k, n) at nodes (k,), read at times (nt,)."""
    from scipy.interpolate import BarycentricInterpolator

    return np.asarray(BarycentricInterpolator(nodes, states)(times), dtype=float)


def _between(motion: Motion, segment: Segment, sign: float) -> Between:
    """What gives the states of one segment between its steps."""
    step = find_method(motion.statistics["method"]).step
    if isinstance(step, AdaptiveStep):
        return step.dense(motion, segment, sign, native_functions(step))
    if isinstance(step, FixedStep):
        from .methods.fixed.fixed_dense import ShorterSteps

        return ShorterSteps(motion, segment, sign)
    from .methods.external.external_run import ShortPropagations

    return ShortPropagations(motion, segment, sign)
