"""Between the stored steps of a run with fixed steps: the same steps again, and a shorter one of
the same method.

A state between two steps is what a step of the method itself reaches from the step before. It has
the order of the method, and it keeps what the method keeps: a spectrum, an orthogonal matrix.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import RunError
from ... import advance as loop
from ...native_run import RunStart
from .fixed_run import FixedRun
from .step_grid import Stepping

if TYPE_CHECKING:
    from ....typing import Array, IntArray
    from ...motion import Motion
    from ...segment import Segment

__all__ = ["ShorterSteps", "run_from"]

#: A time this part of a step away from a step is that step.
SAME = 1e-9


def run_from(motion: Motion, segment: Segment, node: int, step: float) -> FixedRun:
    """A run that stands at a stored step of a segment, without an end."""
    context, t = segment.context, float(segment.step_t[node])
    task: Any = SimpleNamespace(
        equations=motion.equations,
        parameters=context.parameters,
        method=str(motion.statistics["method"]),
        project=True,
        span=(t, t + step * 2**40),
        stepping=Stepping(step, 2**40, 2**40),
    )
    state, none = segment.step_y[node], np.zeros(0)
    run = FixedRun(RunStart(context.kernel, task, t, state, none, np.zeros((0, 0)), 0))
    if context.callback is not None:
        run.context.call_for_inputs(context.callback)
    return run


class ShorterSteps:
    """The states of one segment between its steps."""

    def __init__(self, motion: Motion, segment: Segment, sign: float) -> None:
        self.motion, self.segment, self.sign = motion, segment, sign
        self.step = sign * float(motion.statistics["step"])
        self.method = str(motion.statistics["method"])
        self.varies = "adapt" in motion.statistics
        if self.varies and motion.statistics["every"] > 1:
            raise RunError(
                "Between stored steps of varying size the motion is not known",
                seen=f"every = {motion.statistics['every']}",
                remedy="store every step, or pass the times as `at`",
            )
        self.place = -1

    def fill(self, times: Array, places: IntArray, result: Array) -> None:
        """result[place] <- the state at times[place], for some places."""
        nodes, states = self.sign * self.segment.step_t, self.segment.step_y
        order = places[np.argsort(self.sign * times[places], kind="stable")]
        for place in order:
            node = int(
                np.clip(
                    np.searchsorted(nodes, self.sign * times[place], side="right") - 1,
                    0,
                    len(nodes) - 1,
                )
            )
            if abs(times[place] - self.segment.step_t[node]) <= SAME * abs(self.step):
                result[place] = states[node]
                continue
            if node != self.place:
                self._begin(node)
            self._reach(float(times[place]), result[place])

    def _begin(self, node: int) -> None:
        """Stand at a stored step."""
        self.run = run_from(self.motion, self.segment, node, self.step)
        self.place = node

    def _reach(self, t: float, result: Array) -> None:
        """Whole steps to the one before t, and a shorter one to it."""
        run = self.run
        whole = 0 if self.varies else int(np.floor((t - run.t) / self.step + SAME))
        while whole > 0:
            before = run.counts.accepted
            self._resolve(run.call("advance", whole))
            whole -= run.counts.accepted - before
        state, result[:] = run.y.copy(), run.y
        rest = t - run.t
        while abs(rest) > SAME * abs(self.step):
            if self._resolve(run.call("step_from", run.t, rest, state, result)):
                break
        run.y[:] = state

    def _resolve(self, code: int) -> bool:
        """Whether a native call is done; else make what it lacked, or raise an error."""
        if code == loop.BUDGET:
            return True
        if code == loop.NOT_COMPILED:
            self.run.context.complete()
        elif not (code == loop.UNSOLVED and self.run.prepare_newton()):
            raise RunError(
                "The state between two steps cannot be computed",
                seen=f"t = {self.run.t:.9g}, method {self.method}",
                remedy="ask for times of steps",
            )
        return False
