"""The arrays of a run with fixed steps, and the native functions that work on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ....codegen.native.native_module import NativeModule
from ....runtime.context import Context
from ...events import rank_watch as row_watch
from ...native_run import CAPACITY, COUNTED
from ...run_fields import FixedFields
from ..compositions import composition
from ..groups.group_tables import ActionTables
from ..implicit.gauss_collocation import tableau
from ..implicit.rattle_programs import position_steps
from ..implicit.root_steps import hold_roots
from . import fixed_fields as places
from . import fixed_steps, reversible_steps
from .step_density import ReversibleSteps, density_program, start_density

__all__ = ["FIXED_METHODS", "FixedRun", "Stepping", "fixed_functions"]

#: Kind and number of stages of each method.
FIXED_METHODS = {
    "gauss2": (places.GAUSS, 1),
    "gauss4": (places.GAUSS, 2),
    "gauss6": (places.GAUSS, 3),
    "isospectral2": (places.ISOSPECTRAL, 1),
    "isospectral4": (places.ISOSPECTRAL, 2),
    "isospectral6": (places.ISOSPECTRAL, 3),
    "lie-verlet": (places.LIE_VERLET, 1),
    "rkmk4": (places.RKMK, 2),
    "rattle2": (places.RATTLE, 1),
    "rattle4": (places.RATTLE, 5),
    "rattle6": (places.RATTLE, 9),
    "rattle8": (places.RATTLE, 17),
    "lobatto2": (places.ROOTS, 1),
    "lobatto4": (places.ROOTS, 1),
    "lobatto6": (places.ROOTS, 1),
    "variational-midpoint": (places.ROOTS, 1),
    "galerkin4": (places.ROOTS, 1),
    "galerkin6": (places.ROOTS, 1),
    "galerkin-lobatto4": (places.ROOTS, 1),
    "galerkin-lobatto6": (places.ROOTS, 1),
    "dla": (places.ROOTS, 1),
    "dla4": (places.ROOTS, 5),
    "dla6": (places.ROOTS, 9),
    "nonholonomic-leapfrog": (places.ROOTS, 1),
    "nonholonomic-leapfrog4": (places.ROOTS, 5),
    "nonholonomic-leapfrog6": (places.ROOTS, 9),
    "energy2": (places.ROOTS, 1),
    "energy4": (places.ROOTS, 5),
    "energy6": (places.ROOTS, 9),
}


@dataclass(frozen=True)
class Stepping:
    """How a run with fixed steps goes: `steps` of size `step` (negative backwards), of which every so many are stored.

    With `adapt` the steps vary, `step` is eps, and `steps` no more than a bound.
    """

    step: float
    steps: int
    every: int = 1
    adapt: ReversibleSteps | None = None

    def time(self, number: int, span: tuple[float, float]) -> float:
        """The time after some steps."""
        return span[1] if number == self.steps else span[0] + self.step * number


@lru_cache(maxsize=1)
def fixed_functions() -> dict[str, Any]:
    """The native functions of the fixed-step methods, compiled once."""
    entries: list[Callable[..., Any]] = [
        fixed_steps.advance_fixed,
        fixed_steps.step_from,
        reversible_steps.advance_reversible,
        row_watch.row_reversed,
    ]
    found = NativeModule(entries).functions
    return found | {"advance": found["advance_fixed"], "reversible": found["advance_reversible"]}


class FixedRun:
    """A run from (t, y) with fixed steps: its context, its clock and counts, its state, and what it has stored."""

    counted = COUNTED | {"sweeps": "sweeps"}

    def __init__(self, kernel: Any, task: Any, t: float, y: Any, at: Any, at_states: Any, events: int) -> None:
        stepping: Stepping = task.stepping
        self.task, self.kernel = task, kernel
        self.kind, self.stages_count = FIXED_METHODS[task.method]
        self._functions = fixed_functions()
        self.context = Context(kernel, task.parameters, FixedFields)
        bind, fields, ns = self.context.fields.bind, self.context.fields, kernel.n_state
        self.clock, self.counts = fields.clock, fields.counts
        self.y = bind("y", np.array(y, dtype=float))
        for name in ("rounding", "delta", "stage"):
            bind(name, np.zeros(ns))
        self.stages = bind("stages", np.zeros((2, ns + 1)))
        bind("at_states", at_states)
        bind("at_numbers", np.round((at - task.span[0]) / stepping.step).astype(np.int64))
        self.step_times = bind("step_times", np.zeros(CAPACITY))
        self.step_states = bind("step_states", np.zeros((CAPACITY, ns)))
        self.events_old = np.zeros(max(1, events))
        bind("events_new", np.zeros(max(1, events)))
        fields.n_at, fields.capacity, fields.n_events = len(at), CAPACITY, events
        self.clock.t, self.clock.t_begin, self.clock.t_end = t, task.span[0], task.span[1]
        self.clock.h, self.clock.weakest = stepping.step, 1.0
        self.counts.number = round((t - task.span[0]) / stepping.step)
        fields.n_steps, fields.store_every = stepping.steps, stepping.every
        number = self.counts.number
        self.counts.next_stored = number + stepping.every - number % stepping.every
        fields.method_kind, fields.n_stages = self.kind, self.stages_count
        self._last_stored = t
        self._hold_method()
        if stepping.adapt is not None:
            self._hold_control(stepping.adapt, at)
        if task.project and kernel.n_velocities and self.kind not in (places.RATTLE, places.ROOTS):
            self.context.prepare_projection()
            self.context.complete()
            fields.projects = 1

    def _hold_method(self) -> None:
        bind, fields, stages = self.context.fields.bind, self.context.fields, self.stages_count
        if self.kind == places.RATTLE:
            self._hold_positions()
            return
        if self.kind == places.ROOTS:
            hold_roots(self)
            return
        width = self.kernel.n_state
        if self.kind != places.GAUSS:
            width = self._hold_actions()
        fields.n_stage_unknowns = width
        for name in ("unknowns_now", "least", "before", "before_last"):
            bind(name, np.zeros((stages, max(1, width))))
        bind("fresh", np.zeros(max(1, width)))
        table = tableau(stages)
        for name, numbers in (
            ("nodes", table.nodes),
            ("weights", table.weights),
            ("mix", table.mix),
            ("guess", table.guess),
            ("long_guess", table.long_guess),
        ):
            bind(name, numbers)

    def _hold_positions(self) -> None:
        """The programs and arrays of steps by positions."""
        bind, fields, n = self.context.fields.bind, self.context.fields, self.kernel.n_state // 2
        steps = position_steps(self.kernel)
        m, count = steps.conditions, steps.entries
        fields.field_program, fields.substep_program = steps.fields, steps.substep
        fields.velocity_program = steps.velocity
        fields.n_conditions, fields.n_directions = m, count
        for name, numbers in (
            ("weights", composition(int(self.task.method.removeprefix("rattle")))),
            ("forces", np.zeros(2 * m + 1)),
            ("substep", np.zeros(3 * n + count + m + 2)),
            ("substep_end", np.zeros(3 * n + count + m + 2)),
            ("lost", np.zeros(n)),
        ):
            bind(name, numbers)

    def _hold_control(self, adapt: ReversibleSteps, at: Any) -> None:
        """The program and the numbers of a reversible control of steps, and the times asked for."""
        self.control = self.context.fields.control
        self.context.fields.bind("density_values", np.zeros(2))
        self.context.fields.bind("at", np.ascontiguousarray(at, dtype=float))
        self.context.fields.control_program = density_program(self.kernel, adapt)
        self.control.epsilon = self.task.stepping.step
        self.control.whole = start_density(self.kernel, adapt, self.t, self.y, self.task.parameters)
        self._functions = self._functions | {"advance": self._functions["reversible"]}

    def _hold_actions(self) -> int:
        """The tables of the actions, and the program of the generators; returns the number of unknowns of a stage."""
        bind, fields, kernel = self.context.fields.bind, self.context.fields, self.kernel
        tables, address = action_tables(kernel, self.task)
        for name, numbers in (
            ("generator_table", tables.generator_table),
            ("action_table", tables.action_table),
            ("fill_places", tables.fill_places),
            ("fill_factors", tables.fill_factors),
            ("read_places", tables.read_places),
            ("read_factors", tables.read_factors),
            ("rest", tables.rest),
            ("constants", tables.constants),
            ("matrices", np.zeros_like(tables.constants)),
            ("generators", np.zeros(tables.factors_size)),
            ("left", np.zeros(tables.factors_size)),
            ("right", np.zeros(tables.factors_size)),
            ("algebra", np.zeros(tables.factors_size)),
            ("matrix_work", np.zeros(tables.work_size)),
        ):
            bind(name, numbers)
        fields.generator_program = address
        fields.n_generators, fields.n_actions = len(tables.generator_table), len(tables.action_table)
        fields.n_entries, fields.n_fills = len(tables.constants), len(tables.fill_factors)
        fields.n_rest = len(tables.rest)
        return tables.width

    def prepare_newton(self) -> bool:
        """Make room for Newton's method; whether the run can use it and did not yet."""
        if self.kind != places.GAUSS or self.context.fields.uses_newton:
            return False
        ns, size = self.kernel.n_state, self.kernel.n_state * self.stages_count
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
    def t(self) -> float:
        """The time reached."""
        return float(self.clock.t)

    @property
    def density(self) -> float:
        """The density of steps at the last whole one, where steps vary."""
        return float(self.control.whole)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a native function on this run."""
        return int(self._functions[name](self.context.fields, *arguments))

    def take_steps(self) -> tuple[Any, Any]:
        """The steps stored since the last time, which make room for more."""
        count = self.counts.recorded
        self.counts.recorded = 0
        if count:
            self._last_stored = float(self.step_times[count - 1])
        return self.step_times[:count].copy(), self.step_states[:count].copy()

    def last_step(self) -> tuple[Any, Any]:
        """The state reached, where it is no step that was to be stored: nothing that was computed is lost."""
        if self.t == self._last_stored:
            return self.step_times[:0].copy(), self.step_states[:0].copy()
        self._last_stored = self.t
        return np.array([self.t]), self.y[None].copy()


def action_tables(kernel: Any, task: Any) -> tuple[ActionTables, int]:
    """The tables of a kernel's flow for a method, and the address of its generators; made once and kept with the kernel."""
    kind = FIXED_METHODS[task.method][0]
    kept: dict[int, tuple[ActionTables, int]] = kernel.__dict__.setdefault("_actions", {})
    if kind not in kept:
        tables = ActionTables(kernel.equations.system, kind, task.method)
        tables.check_patterns(kernel, task.parameters, kind)
        tables.check_identities(kernel, kind)
        kept[kind] = tables, kernel.load_program(tables.program(kernel))
    return kept[kind]
