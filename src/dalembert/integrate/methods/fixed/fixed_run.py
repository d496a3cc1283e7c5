"""The arrays of a run with fixed steps, and the native functions that work on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....codegen.native.native_module import NativeModule
from ...events.watches import row_reversed
from ...native_run import COUNTED, BufferedRun, RunStart
from ...run_fields import FixedFields
from ..method import Bound, FixedStep
from ..table import find_method
from . import fixed_steps, reversible_steps
from .step_density import ReversibleSteps, density_program, start_density

if TYPE_CHECKING:
    from ....typing import Array
    from ..contact.coal_pairs import CoalPairs

__all__ = ["FixedRun", "fixed_functions"]


@lru_cache(maxsize=64)
def fixed_functions(bound: Bound) -> dict[str, Callable[..., Any]]:
    """The native loop with the step of a method, compiled once."""
    entries: list[Callable[..., Any]] = [
        fixed_steps.advance_fixed,
        fixed_steps.step_from,
        reversible_steps.advance_reversible,
        row_reversed,
    ]
    found = NativeModule(entries, dict(bound)).functions
    return found | {"advance": found["advance_fixed"], "reversible": found["advance_reversible"]}


class FixedRun(BufferedRun):
    """A run with steps of a given size."""

    counted = COUNTED | {"sweeps": "sweeps"}

    def __init__(self, start: RunStart) -> None:
        kernel, task, t, at = start.kernel, start.task, start.t, start.at
        assert task.stepping is not None
        stepping = self.stepping = task.stepping
        self.task, self.kernel = task, kernel
        step = find_method(task.method).step
        assert isinstance(step, FixedStep)
        self.step = step
        super().__init__(start, FixedFields, fixed_functions(step.bound))
        bind, fields, ns = self.context.fields.bind, self.context.fields, kernel.n_state
        for name in ("rounding", "delta", "stage"):
            bind(name, np.zeros(ns))
        self.stages = bind("stages", np.zeros((2, ns + 1)))
        bind("at_numbers", np.round((at - task.span[0]) / stepping.step).astype(np.int64))
        self.clock.t_begin, self.clock.h = task.span[0], stepping.step
        self.counts.number = round((t - task.span[0]) / stepping.step)
        fields.n_steps, fields.store_every = stepping.steps, stepping.every
        number = self.counts.number
        self.counts.next_stored = number + stepping.every - number % stepping.every
        self._last_stored = t
        self.pairs: CoalPairs | None = None
        step.prepare(self)
        if stepping.adapt is not None:
            self._bind_control(stepping.adapt, at)
        if task.project and kernel.n_velocities and not step.ends_on_constraints:
            self.context.prepare_projection()
            self.context.complete()
            fields.projects = 1

    def call(self, name: str, *arguments: Any) -> int:
        """Call a native function on this run; what failed in Python beneath it is raised."""
        status = super().call(name, *arguments)
        if self.pairs is not None:
            self.pairs.check()
        return status

    def _bind_control(self, adapt: ReversibleSteps, at: Array) -> None:
        """The program and the numbers of a reversible control of steps, and the times asked for."""
        self.control = self.context.fields.control
        self.context.fields.bind("density_values", np.zeros(2))
        self.context.fields.bind("at", np.ascontiguousarray(at, dtype=float))
        self.context.fields.control_program = density_program(self.kernel, adapt)
        self.control.epsilon = self.stepping.step
        self.control.whole = start_density(self.kernel, adapt, self.t, self.y, self.task.parameters)
        self._functions = {**self._functions, "advance": self._functions["reversible"]}

    def prepare_newton(self) -> bool:
        """Make room for Newton's method; whether the run can use it and did not yet."""
        if not self.step.has_newton or self.context.fields.uses_newton:
            return False
        ns, size = self.kernel.n_state, self.kernel.n_state * self.context.fields.n_stages
        for name, shape in (
            ("jacobian", (ns, ns)),
            ("factor", (size, size)),
            ("factor_diagonals", (size,)),
            ("residual", (size,)),
        ):
            self.context.fields.bind(name, np.zeros(shape))
        self.context.fields.bind("factor_order", np.zeros(size, np.int64))
        self.context.fields.uses_newton = 1
        return True

    @property
    def density(self) -> float:
        """The density of steps at the last whole one, where steps vary."""
        return float(self.control.whole)

    def take_steps(self) -> tuple[Array, Array]:
        """The steps stored since the last time, which make room for more."""
        times, states = super().take_steps()
        if len(times):
            self._last_stored = float(times[-1])
        return times, states

    def last_step(self) -> tuple[Array, Array]:
        """The state reached, if it is not among the stored steps: nothing computed is lost."""
        if self.t == self._last_stored:
            return super().last_step()
        self._last_stored = self.t
        return np.array([self.t]), self.y[None].copy()
