"""How a span divides into steps of a given size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import ModelError
from ....model.values import real_number
from .step_density import ReversibleSteps

if TYPE_CHECKING:
    from ....typing import Array, ArrayLike

__all__ = ["Stepping", "read_stepping"]

#: How far from a whole number of steps a span or time may be, in steps and relative.
SLACK = 1e-9
#: A step has at least so many spacings of the numbers that times are.
LEAST_SPACINGS = 8
#: With times asked for, about so many steps are kept for dense output where nothing else is said.
KEPT = 4096
#: The number of steps that is not known beforehand.
UNBOUNDED = 2**60


@dataclass(frozen=True)
class Stepping:
    """How a run with fixed steps goes: `steps` of size `step` (negative backwards), of which every
    so many are stored.

    With `adapt` the steps vary, `step` is eps, and `steps` no more than a bound.
    """

    step: float
    steps: int
    every: int = 1
    adapt: ReversibleSteps | None = None

    def time(self, number: int, span: tuple[float, float]) -> float:
        """The time after some steps."""
        return span[1] if number == self.steps else span[0] + self.step * number

    def snapped(self, at: Array, span: tuple[float, float]) -> Array:
        """The times asked for as the times of steps; an error where one lies between steps."""
        if self.adapt is not None:
            return at
        numbers = np.round((at - span[0]) / self.step)
        apart = np.abs((at - span[0]) / self.step - numbers)
        wrong = np.flatnonzero(apart > SLACK * np.maximum(1.0, np.abs(numbers)) + 1e-6)
        if wrong.size:
            time, near = float(at[wrong[0]]), self.time(int(numbers[wrong[0]]), span)
            raise ModelError(
                f"The time {time:g} in `at` lies between two steps",
                seen=f"steps of {abs(self.step):g} from {span[0]:g}",
                remedy=f"ask for {near:.9g}, or take motion.sol({time:g})",
            )
        return np.array([self.time(int(number), span) for number in numbers])


def read_stepping(
    method: str,
    step: float | None,
    every: int | None,
    span: tuple[float, float],
    at: ArrayLike | None,
    adapt: ReversibleSteps | None = None,
    **others: Any,
) -> Stepping:
    """The stepping of a run with fixed steps, which may not get `others`."""
    for name, value in others.items():
        if value is not None:
            raise ModelError(
                f"The method {method} takes fixed steps",
                seen=f"{name} = {value}",
                remedy=f"leave {name} out and choose the step, or use method dop853",
            )
    if step is None:
        raise ModelError(
            f"The method {method} needs a step", seen="no step", remedy="pass step=0.01, say"
        )
    size = real_number(step)
    if not (size > 0 and math.isfinite(size)):
        raise ModelError(
            "The step must be positive",
            seen=step,
            remedy="pass step=0.01, say; the span gives the direction",
        )
    length = span[1] - span[0]
    apart = float(np.spacing(max(abs(span[0]), abs(span[1]))))
    if size < LEAST_SPACINGS * apart and length != 0:
        raise ModelError(
            "The step is lost beside the times of the span",
            seen=(
                f"step {size:g}, and numbers near t = {max(abs(span[0]), abs(span[1])):g} lie"
                f" {apart:.2g} apart"
            ),
            remedy="count time from the start of the run, or take a longer step",
        )
    if adapt is not None:
        return Stepping(math.copysign(size, length), UNBOUNDED, _read_every(every, at, 1), adapt)
    count = round(abs(length) / size)
    if abs(count - abs(length) / size) > SLACK * max(1.0, count):
        fitting = abs(length) / max(1, count)
        raise ModelError(
            "The span is no whole number of steps",
            seen=f"{abs(length):g} in steps of {size:g}",
            remedy=(
                f"take step={fitting:.12g}, or end at"
                f" {span[0] + math.copysign(size * max(1, count), length):.9g}"
            ),
        )
    return Stepping(length / count if count else size, count, _read_every(every, at, count))


def _read_every(every: int | None, at: ArrayLike | None, count: int) -> int:
    if every is None:
        return 1 if at is None else max(1, count // KEPT)
    value = real_number(every)
    if not (value >= 1 and value == int(value)):
        raise ModelError(
            "every must be a whole number of steps, at least 1",
            seen=every,
            remedy="pass every=10, say",
        )
    return int(value)
