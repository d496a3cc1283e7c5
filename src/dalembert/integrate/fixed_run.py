"""The arrays of a run with fixed steps, and the native functions that work on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..compiled.book import Book
from ..compiled.native_module import NativeModule
from . import advance as loop
from . import fixed_steps, reversible_steps, row_watch
from .actions import ActionTables
from .position_steps import position_steps
from .root_steps import hold_roots
from .run import CAPACITY, COUNTED
from .step_density import ReversibleSteps, density_program, start_density
from .steppers import places
from .steppers.compositions import composition
from .steppers.gauss import tableau

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
    """A run from (t, y) with fixed steps: its book, its clock and counts, its state, and what it has stored."""

    counted = COUNTED | {"sweeps": places.SWEEPS}

    def __init__(self, kernel: Any, task: Any, t: float, y: Any, at: Any, at_states: Any, events: int) -> None:
        stepping: Stepping = task.stepping
        self.task, self.kernel = task, kernel
        self.kind, self.stages_count = FIXED_METHODS[task.method]
        self._functions = fixed_functions()
        self.book = Book(kernel, task.parameters, places.FIXED_BOOK_SIZE)
        hold, entries, ns = self.book.hold, self.book.entries, kernel.n_state
        self.clock = hold(loop.CLOCK, np.zeros(loop.CLOCK_SIZE))
        self.counts = hold(loop.COUNTS, np.zeros(places.COUNTS_SIZE, np.int64))
        self.y = hold(loop.Y, np.array(y, dtype=float))
        for place in (places.LOW, places.DELTA, loop.STAGE):
            hold(place, np.zeros(ns))
        self.stages = hold(loop.STAGES, np.zeros((2, ns + 1)))
        hold(loop.AT_STATES, at_states)
        hold(places.AT_NUMBERS, np.round((at - task.span[0]) / stepping.step).astype(np.int64))
        self.step_times = hold(loop.STEP_TIMES, np.zeros(CAPACITY))
        self.step_states = hold(loop.STEP_STATES, np.zeros((CAPACITY, ns)))
        self.events_old = np.zeros(max(1, events))
        hold(loop.EVENTS_NEW, np.zeros(max(1, events)))
        entries[loop.N_AT], entries[loop.CAPACITY], entries[loop.N_EVENTS] = len(at), CAPACITY, events
        self.clock[loop.T], self.clock[places.T_BEGIN], self.clock[loop.T_END] = t, task.span[0], task.span[1]
        self.clock[loop.H], self.clock[loop.WEAKEST] = stepping.step, 1.0
        self.counts[places.NUMBER] = round((t - task.span[0]) / stepping.step)
        entries[places.N_STEPS], entries[places.EVERY] = stepping.steps, stepping.every
        number = int(self.counts[places.NUMBER])
        self.counts[places.NEXT_STORED] = number + stepping.every - number % stepping.every
        entries[places.KIND], entries[places.N_STAGES] = self.kind, self.stages_count
        self._last_stored = t
        self._hold_method()
        if stepping.adapt is not None:
            self._hold_control(stepping.adapt, at)
        if task.project and kernel.n_velocities and self.kind not in (places.RATTLE, places.ROOTS):
            self.book.prepare_projection()
            self.book.complete()
            entries[loop.PROJECT] = 1

    def _hold_method(self) -> None:
        hold, entries, stages = self.book.hold, self.book.entries, self.stages_count
        if self.kind == places.RATTLE:
            self._hold_positions()
            return
        if self.kind == places.ROOTS:
            hold_roots(self)
            return
        width = self.kernel.n_state
        if self.kind != places.GAUSS:
            width = self._hold_actions()
        entries[places.N_UNKNOWNS] = width
        for place in (places.UNKNOWNS_NOW, places.LEAST, places.BEFORE, places.BEFORE_LAST):
            hold(place, np.zeros((stages, max(1, width))))
        hold(places.FRESH, np.zeros(max(1, width)))
        table = tableau(stages)
        for place, numbers in (
            (places.NODES, table.nodes),
            (places.WEIGHTS, table.weights),
            (places.MIX, table.mix),
            (places.GUESS, table.guess),
            (places.LONG_GUESS, table.long_guess),
        ):
            hold(place, numbers)

    def _hold_positions(self) -> None:
        """The programs and arrays of steps by positions."""
        hold, entries, n = self.book.hold, self.book.entries, self.kernel.n_state // 2
        steps = position_steps(self.kernel)
        m, count = steps.conditions, steps.entries
        entries[places.FIELD_PROGRAM], entries[places.SUBSTEP_PROGRAM] = steps.fields, steps.substep
        entries[places.VELOCITY_PROGRAM] = steps.velocity
        entries[places.N_CONDITIONS], entries[places.N_DIRECTIONS] = m, count
        for place, numbers in (
            (places.WEIGHTS, composition(int(self.task.method.removeprefix("rattle")))),
            (places.FORCES, np.zeros(2 * m + 1)),
            (places.SUBSTEP, np.zeros(3 * n + count + m + 2)),
            (places.SUBSTEP_END, np.zeros(3 * n + count + m + 2)),
            (places.LOST, np.zeros(n)),
        ):
            hold(place, numbers)

    def _hold_control(self, adapt: ReversibleSteps, at: Any) -> None:
        """The program and the numbers of a reversible control of steps, and the times asked for."""
        self.control = self.book.hold(places.CONTROL, np.zeros(reversible_steps.CONTROL_SIZE))
        self.book.hold(loop.AT, np.ascontiguousarray(at, dtype=float))
        self.book.entries[places.CONTROL_PROGRAM] = density_program(self.kernel, adapt)
        self.control[reversible_steps.EPSILON] = self.task.stepping.step
        self.control[reversible_steps.WHOLE] = start_density(self.kernel, adapt, self.t, self.y, self.task.parameters)
        self._functions = self._functions | {"advance": self._functions["reversible"]}

    def _hold_actions(self) -> int:
        """The tables of the actions, and the program of the generators; returns the number of unknowns of a stage."""
        hold, entries, kernel = self.book.hold, self.book.entries, self.kernel
        tables, address = action_tables(kernel, self.task)
        for place, numbers in (
            (places.GENERATOR_TABLE, tables.generator_table),
            (places.ACTION_TABLE, tables.action_table),
            (places.FILL_PLACES, tables.fill_places),
            (places.FILL_FACTORS, tables.fill_factors),
            (places.READ_PLACES, tables.read_places),
            (places.READ_FACTORS, tables.read_factors),
            (places.REST, tables.rest),
            (places.CONSTANTS, tables.constants),
            (places.MATRICES, np.zeros_like(tables.constants)),
            (places.GENERATORS, np.zeros(tables.factors_size)),
            (places.LEFT, np.zeros(tables.factors_size)),
            (places.RIGHT, np.zeros(tables.factors_size)),
            (places.ALGEBRA, np.zeros(tables.factors_size)),
            (places.MATRIX_WORK, np.zeros(tables.work_size)),
        ):
            hold(place, numbers)
        entries[places.GENERATOR_PROGRAM] = address
        entries[places.N_GENERATORS], entries[places.N_ACTIONS] = len(tables.generator_table), len(tables.action_table)
        entries[places.N_ENTRIES], entries[places.N_FILLS] = len(tables.constants), len(tables.fill_factors)
        entries[places.N_REST] = len(tables.rest)
        return tables.width

    def prepare_newton(self) -> bool:
        """Make room for Newton's method; whether the run can use it and did not yet."""
        if self.kind != places.GAUSS or self.book.entries[places.NEWTON]:
            return False
        ns, size = self.kernel.n_state, self.kernel.n_state * self.stages_count
        for place, shape in (
            (places.JACOBIAN, (ns, ns)),
            (places.FACTOR, (size, size)),
            (places.HEADS, (size,)),
            (places.RESIDUAL, (size,)),
        ):
            self.book.hold(place, np.zeros(shape))
        self.book.hold(places.FACTOR_ORDER, np.zeros(size, np.int64))
        self.book.entries[places.NEWTON] = 1
        return True

    @property
    def t(self) -> float:
        """The time reached."""
        return float(self.clock[loop.T])

    @property
    def density(self) -> float:
        """The density of steps at the last whole one, where steps vary."""
        return float(self.control[reversible_steps.WHOLE])

    def call(self, name: str, *arguments: Any) -> int:
        """Call a native function on this run."""
        return int(self._functions[name](self.book.entries, *arguments))

    def take_steps(self) -> tuple[Any, Any]:
        """The steps stored since the last time, which make room for more."""
        count = int(self.counts[loop.RECORDED])
        self.counts[loop.RECORDED] = 0
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
