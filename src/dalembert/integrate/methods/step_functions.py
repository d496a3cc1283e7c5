"""What the native loop of steps that adapt calls of a method; each method binds its own functions.

`AdaptiveStep.bound` pairs these functions with those of a method. A step leads from (clock.t, y) to
y_new; once it is accepted, from (clock.t_old, y_old) to (clock.t, y).
"""

from __future__ import annotations

from ...codegen.native.language import Reals, native
from ...runtime.gauss.solve_status import SINGULAR
from ..run_fields import RunFields

__all__ = [
    "begin_step",
    "end_stage",
    "make_dense",
    "residual_point",
    "residual_points",
    "shorter_step",
    "state_within",
    "step_growth",
    "trial_dense",
    "trial_error",
    "trial_state",
    "trial_step",
    "try_step",
]


@native
def begin_step(context: RunFields) -> int:
    """Prepare steps from (t, y), and set clock.h if the method knows the size beforehand."""
    return 0


@native
def try_step(context: RunFields, h: float, t_new: float) -> int:
    """Attempt a step: y_new, projected. Returns 0 or a status, and bounds the next attempt."""
    return SINGULAR


@native
def trial_step(context: RunFields, h: float) -> int:
    """y_new <- the end of a step h from (t, y), for methods with an estimate of their error."""
    return SINGULAR


@native
def trial_error(context: RunFields, h: float) -> float:
    """Estimate the error of the last `trial_step` relative to the tolerance; 1 is accepted."""
    return 0.0


@native
def step_growth(context: RunFields, error: float) -> float:
    """The factor by which the next step may be longer, for the error of this one."""
    return 1.0


@native
def end_stage(context: RunFields) -> int:
    """The row of `stages` that keeps the rate at the end of a step."""
    return 1


@native
def shorter_step(context: RunFields, elapsed: float, result: Reals) -> int:
    """result <- the state a time after the beginning of the last step, by a step of its own."""
    return SINGULAR


@native
def make_dense(context: RunFields) -> int:
    """Prepare dense output of the last step, once."""
    return 0


@native
def state_within(context: RunFields, x: float, result: Reals) -> None:
    """result <- the state at the fraction x of the last step, by its dense output."""


@native
def trial_dense(context: RunFields, h: float) -> int:
    """Prepare the dense output of an attempt that is not accepted yet."""
    return 0


@native
def trial_state(context: RunFields, x: float, h: float, state: Reals, rate: Reals) -> None:
    """state, rate <- those at the fraction x of an attempt, by its dense output."""


@native
def residual_points(context: RunFields) -> int:
    """The number of points at which the residual of an attempt is looked at."""
    return 0


@native
def residual_point(context: RunFields, k: int) -> float:
    """The fraction of an attempt at which point k lies."""
    return 0.0
