"""The choice of independent velocities along a run: watched by its quality, and made anew where it
degenerates.

A form without multipliers solves the constraints for some of the velocities. Its choice has a
quality, which is zero where the constraints cannot be solved so; a run looks for the zero crossing
of the quality through a threshold, as through an event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..codegen.dense_function import DenseFunction
from ..errors import FormError
from ..formulations.velocity_branches import branch_at
from .events.events import Event
from .outcome import Termination
from .state_symbols import reported_symbols, state_with_velocities

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel
    from ..typing import Array
    from .driver import Driver

__all__ = ["VelocityPartition"]

#: Qualities of a choice at which it is looked at again.
THRESHOLDS = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)
#: The quality at which a choice that does not depend on the state is kept for good.
STEADY = 1e-3
#: The event that asks for another choice; the kernel knows the quality it stands for.
DEGENERATES = Event(sympy.Integer(0), -1, True, "independent velocities")


class VelocityPartition:
    """The choice of independent velocities of a run.

    Attributes
    ----------
    threshold : float or None
        The quality below which the choice is looked at again; None where the form makes no choice.
    switches : list of (time, sentence)
        Where another choice was made.
    """

    def __init__(self) -> None:
        self.threshold: float | None = None
        self.switches: list[tuple[float, str]] = []

    @property
    def events(self) -> list[Event]:
        """The event that asks for another choice, where there is one to make."""
        return [] if self.threshold is None else [DEGENERATES]

    def event_columns(self, kernel: Kernel) -> list[Any]:
        """The same as functions of the state."""
        return [] if self.threshold is None else [kernel.graph.chart_quality - self.threshold]

    def choose(self, driver: Driver, t: float, full: Array) -> bool:
        """Choose the independent velocities at a state (q, q_dot); whether the choice changed."""
        current = driver.equations_for(driver.mode)
        assert current.rechoose is not None
        if (
            current.chart_is_steady
            and self._quality(driver, t, self.state(driver, t, full)) > STEADY
        ):
            self.threshold = None
            return False
        try:
            better = current.rechoose(self._values(driver, t, full))
        except FormError:
            better = current
        changed = better is not current
        if changed:
            driver.modes[driver.mode] = better
        driver.kernel = driver.kernel_for(driver.mode)
        self.threshold = self._next_threshold(driver, t, self.state(driver, t, full), changed)
        return changed

    def _values(self, driver: Driver, t: float, full: Array) -> dict[str, float]:
        """A state (q, q_dot) and the parameters by name."""
        system = driver.task.equations.system
        symbols = (*system.coordinates, *system.velocities, *system.parameters)
        numbers = (*full, *driver.task.parameters)
        return {s.name: float(value) for s, value in zip(symbols, numbers, strict=True)} | {"t": t}

    def _next_threshold(self, driver: Driver, t: float, y: Array, changed: bool) -> float | None:
        """The quality below which the choice is checked again, well below the present one."""
        quality = self._quality(driver, t, y)
        ceiling = (
            quality / 2 if changed or self.threshold is None else min(quality, self.threshold) / 2
        )
        return next((value for value in THRESHOLDS if value < ceiling), None)

    def _quality(self, driver: Driver, t: float, y: Array) -> float:
        kernel = driver.kernel
        function: DenseFunction = kernel.cache.get(
            "quality", lambda: DenseFunction(kernel._inputs(), [kernel.graph.chart_quality])
        )
        return float(
            function(t, y, driver.task.parameters, np.zeros(len(kernel.free_inputs)), ())[0].item()
        )

    def state(self, driver: Driver, t: float, full: Array) -> Any:
        """The state of the current mode at (q, q_dot)."""
        table = dict(zip(reported_symbols(driver.task.equations), full, strict=True))
        equations = driver.equations_for(driver.mode)
        if all(symbol in table for symbol in equations.state):
            return np.array([table[symbol] for symbol in equations.state])
        n = len(equations.system.coordinates)
        return state_with_velocities(driver.kernel, t, full[:n], full[n:], driver.task.parameters)

    def switch(self, driver: Driver, t: float, y: Array) -> Termination | None:
        """Go on with better independent velocities; the end where the form has none."""
        full, step = driver.shown(t, y), driver.run.clock.h
        changed = self.choose(driver, t, full)
        if self.threshold is None:
            self.threshold = THRESHOLDS[-1]
            form = driver.task.equations.form
            return Termination.singular(
                t,
                f'the form "{form}" has no independent velocities there. Use the form "lagrange"',
            )
        if changed:
            equations = driver.kernel.equations
            named = f"independent velocities {', '.join(equations.chart)}"
            branch = branch_at(equations, self._values(driver, t, full))
            self.switches.append((t, f"{named}; {branch}" if branch else named))
        driver.switch(driver.mode, t, self.state(driver, t, full), abs(step))
        return None
