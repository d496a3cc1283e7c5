"""Switches of the equations in the state: steps are cut there, as at times at which they switch.

A step that passes a switch is taken back; the run then stops just before it and begins anew just
behind it (`stops.Stop`). So no step is judged by values from both sides, and none passes two
switches unseen. Where the equations drive the motion back from both sides, no motion leaves: it
would slide along the switch, which is not a motion of these equations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction
from ...model.switches import Switch
from ...model.symbols import t as time_symbol
from ...typing import Array
from .. import advance as loop
from ..outcome import Termination
from .events import Event
from .stop_times import Stop, model_switches

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel
    from ..driver import Driver
    from ..native_run import AdaptiveRun
    from ..task import Task

from ..methods.table import find_method

__all__ = ["SwitchWatch", "passed_switches", "state_switches"]

#: Switches at whole values are found by sin(pi g), sin(pi g/2), ..., as a step may cross several.
OCTAVES = 4
#: Distance of a stop from a switch: this part of the step, and so many spacings of the clock.
MARGIN, SPACINGS = 1e-13, 8.0
#: So many switches that follow each other within this part of the time behind them end a run.
MOST_MET, CROWDED = 512, 1e-12
#: A state is at a switch if nearer than this part of its size; its sides are sampled there.
AT_SWITCH, NEXT_TO_SWITCH = 1e-8, 1e-10
#: A variable that starts at zero has the size that its rate gives in this part of the span.
ACROSS = 1e-3
#: A state, or an energy, that changes by more than this part across a switch jumps there.
JUMP = 1e-7


def state_switches(kernel: Kernel) -> list[Switch]:
    """The switches that depend on the state, where they can be written in the kernel's state."""
    switches = model_switches(kernel)
    if not switches:
        return []
    equations = kernel.equations
    system = equations.system
    fixed = {time_symbol, *system.parameters}
    known = fixed | {
        *equations.state,
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *system.inputs,
    }
    return [
        s
        for s in switches
        if s.expression.free_symbols - fixed and s.expression.free_symbols <= known
    ]


def passed_switches(segments: Sequence[Any]) -> list[tuple[float, Switch]]:
    """The state-dependent switches between steps of a motion, each with the time before it."""
    found: list[tuple[float, Switch]] = []
    for segment in segments:
        kernel, parameters = segment.context.kernel, segment.context.parameters
        switches = [] if kernel.free_inputs else state_switches(kernel)
        if not switches:
            continue
        column = kernel.lower([switch.expression for switch in switches])
        function = DenseFunction(kernel._inputs(), [column])
        points = zip(segment.step_t, segment.step_y, strict=True)
        values = np.array([function(time, y, parameters, (), ())[0].ravel() for time, y in points])
        sides = np.where(
            [switch.at_integers for switch in switches], np.floor(values), np.sign(values)
        )
        passed = np.argwhere(sides[1:] != sides[:-1])
        found += [(float(segment.step_t[place]), switches[number]) for place, number in passed]
    return found


class SwitchWatch:
    """The switches of a run that the state decides.

    Attributes
    ----------
    columns : list of (Switch, sympy.Expr)
        The functions of time and state whose zeros are looked for.
    is_on : bool
        Whether steps are cut at them.
    """

    def __init__(self, kernel: Kernel, task: Task) -> None:
        self.columns: list[tuple[Switch, sympy.Expr]] = []
        switches = state_switches(kernel) if find_method(task.method).looks_inside else []
        if switches:
            # Next to a switch of its coefficients a velocity row may vanish and determine nothing.
            on_velocities = {f"constraint `{c.name}`" for c in kernel.equations.system.constraints}
            on_velocities -= _holonomic_places(kernel)
            for switch in (s for s in switches if s.place not in on_velocities):
                octaves = range(OCTAVES) if switch.at_integers else [0]
                self.columns += [(switch, _column(switch, k)) for k in octaves]
        self.is_on = True
        self._met: deque[float] = deque(maxlen=MOST_MET)
        self._margin, self._taken_back, self._behind, self._width = MARGIN, np.nan, np.nan, 0.0
        self._functions: dict[Any, Any] = {}

    @property
    def events(self) -> list[Event]:
        """The same as events that do not stop."""
        return [Event(column, name=f"switch of {switch.node}") for switch, column in self.columns]

    def event_columns(self, kernel: Kernel) -> list[Any]:
        """The same as functions of the state."""
        return [kernel.lower([column for _, column in self.columns])] if self.columns else []

    def take_back(self, driver: Driver, elapsed: Sequence[float]) -> None:
        """Undo the last step, which crosses switches after these times, and stop at the first."""
        run = driver.run
        began, h = run.clock.t_old, run.clock.h_old
        # Far from the origin a state may need several tiny steps to leave a switch.
        again = began == self._taken_back or abs(began - self._behind) <= 4.0 * self._width
        self._margin = 10.0 * self._margin if again else MARGIN
        self._taken_back = began
        _undo(run)
        run.clock.h = abs(h)
        width = max(
            self._margin * abs(h), SPACINGS * float(np.spacing(max(abs(began), abs(began + h))))
        )
        later = [
            abs(other - elapsed[0])
            for other in elapsed[1:]
            if abs(other - elapsed[0]) > 2.0 * width
        ]
        width, ahead = min([width, *(0.25 * way for way in later)]), 1.0 if h > 0 else -1.0
        met = began + elapsed[0]
        before, after = met - ahead * width, met + ahead * width
        self._behind, self._width = after, width
        driver.stop_at(Stop(before if ahead * (before - began) > 0 else began, after))

    def give_up(self, driver: Driver, code: int) -> None:
        """Ignore the switches if none can be crossed in a tiny step: rates are unbounded there.

        The control of the step then finds its own way, as it does beside rows of constraints that
        vanish at the switch.
        """
        if code == loop.EXCLUDED:
            _undo(driver.run)
        self.is_on = False
        driver.skip_stop()

    def passed(self, driver: Driver, number: int) -> Termination | None:
        """Handle a tiny step across the switch of a column: an end if no motion goes on."""
        run, switch = driver.run, self.columns[number][0]
        self._met.append(run.t)
        behind = abs(run.t - driver.task.span[0])
        if len(self._met) == MOST_MET and abs(run.t - self._met[0]) < MOST_MET * CROWDED * behind:
            return self.sliding(driver) or self.crowded(driver)
        if (switch.place in _holonomic_places(driver.kernel) and _state_jumps(run)) or (
            switch.place == "the energies" and self._energy_jumps(driver)
        ):
            return Termination.singular(
                run.t,
                f"{switch.node} in {switch.place} switches there with a jump, whose derivative is"
                " an impulse that these equations do not contain. Write a continuous function in"
                " its place",
            )
        return self.sliding(driver)

    def sliding(self, driver: Driver) -> Termination | None:
        """The end of a motion driven back to a switch from both sides; None if it goes on."""
        for switch, column in self.columns:
            if switch.jumps and self._drives_back(driver, column):
                return Termination.step_too_small(
                    driver.run.t,
                    f"{switch.node} in {switch.place} jumps there and drives the motion back from"
                    " both sides, so that it could only slide along the jump, which these equations"
                    " do not tell. Write a smooth law, such as tanh(x_dot/eps) for sign(x_dot), or"
                    " state what holds there as a constraint",
                )
        return None

    def crowded(self, driver: Driver) -> Termination | None:
        """The end of a motion whose steps become too small at a switch; None if at none."""
        t = driver.run.t
        for switch, column in self.columns:
            value, gradient, _ = self._values(driver, column, driver.run.y)
            if abs(value[0]) <= 1e3 * AT_SWITCH * float(np.linalg.norm(_sizes(driver) * gradient)):
                return Termination.step_too_small(
                    t,
                    f"{switch.node} in {switch.place} switches there again and again. Write a"
                    " smooth law in its place",
                )
        return None

    def _values(self, driver: Driver, column: sympy.Expr, y: Array) -> list[Any]:
        """A column, its gradient in the state and its derivative in time, at a state."""
        function = self._function(
            (driver.kernel, column), lambda: _value_and_gradient(driver.kernel, column)
        )
        t = driver.run.t
        return [
            block.ravel()
            for block in function(t, y, driver.task.parameters, driver.input_values(t, y), ())
        ]

    def _drives_back(self, driver: Driver, column: sympy.Expr) -> bool:
        """Whether a column is zero with rates that lead back to zero on both sides."""
        run, sizes = driver.run, _sizes(driver)
        value, gradient, _ = self._values(driver, column, run.y)
        size = float(np.linalg.norm(sizes * gradient))
        if not 0.0 < size < np.inf or not abs(value[0]) <= AT_SWITCH * size:
            return False
        away = (2.0 * abs(value[0]) / size + NEXT_TO_SWITCH) * sizes * (sizes * gradient) / size
        found, rates = [], np.zeros(len(run.y) + 1)
        for side in (run.y + away, run.y - away):
            if run.context.evaluate(run.t, side, rates):
                return False
            there, derivative, in_time = self._values(driver, column, side)
            found.append((float(there[0]), float(derivative @ rates[:-1] + in_time[0])))
        return all(there * rate < 0.0 for there, rate in found) and found[0][0] * found[1][0] < 0.0

    def _energy_jumps(self, driver: Driver) -> bool:
        kernel, run = driver.kernel, driver.run
        if ca.depends_on(ca.SX(kernel.graph.energy), kernel._unknown_symbols):
            return False
        function = self._function(
            kernel, lambda: DenseFunction(kernel._inputs(), [kernel.graph.energy])
        )
        u = driver.input_values(run.t, run.y)
        before, after = (
            function(time, y, driver.task.parameters, u, ())[0].item()
            for time, y in ((run.clock.t_old, run.y_old), (run.t, run.y))
        )
        return bool(abs(after - before) > JUMP * max(abs(before), abs(after)))

    def _function(self, key: Hashable, make: Callable[[], Any]) -> Any:
        if key not in self._functions:
            self._functions[key] = make()
        return self._functions[key]


def _holonomic_places(kernel: Kernel) -> set[str]:
    constraints = kernel.equations.system.constraints
    return {f"constraint `{c.name}`" for c in constraints if c.is_position_level}


def _undo(run: AdaptiveRun) -> None:
    """Take back a step that was accepted and not stored."""
    run.y[:] = run.y_old
    run.clock.t = run.clock.t_old
    run.counts.accepted -= 1
    run.counts.rejected += 1
    run.counts.has_dense = 0


def _sizes(driver: Driver) -> Array:
    """The size of each variable of the state in a run, each in its own unit, (n,)."""
    run = driver.run
    sizes: Array = np.maximum(np.abs(run.y), np.abs(driver.start_state))
    rates = np.zeros(len(run.y) + 1)
    if not run.context.evaluate(run.t, run.y, rates):
        sizes = np.maximum(
            sizes, ACROSS * np.abs(rates[:-1]) * abs(driver.task.span[1] - driver.task.span[0])
        )
    return sizes


def _state_jumps(run: AdaptiveRun) -> bool:
    scale = float(np.max(np.abs(run.y_old), initial=0.0))
    return float(np.max(np.abs(run.y - run.y_old), initial=0.0)) > JUMP * scale


def _column(switch: Switch, octave: int) -> sympy.Expr:
    if switch.at_integers:
        return sympy.sin(sympy.pi * switch.expression / 2**octave)
    return switch.expression


def _value_and_gradient(kernel: Kernel, column: sympy.Expr) -> DenseFunction:
    """A column, its gradient in the state, and its derivative in time."""
    symbols, value = kernel._inputs(), kernel.lower([column])
    return DenseFunction(
        symbols, [value, ca.jacobian(value, symbols[1]), ca.jacobian(value, symbols[0])]
    )
