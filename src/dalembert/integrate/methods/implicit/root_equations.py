"""The symbols that the equations of a step are written in, and the record of such equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from ....model.symbols import t
from ....runtime.kernel import Kernel

__all__ = ["StageEquations", "StepEquations", "StepSymbols"]


@dataclass(frozen=True)
class StageEquations:
    """One set of equations of a step: as many as unknowns.

    Attributes
    ----------
    residual, unknowns : columns (size x 1)
        What must vanish, and the symbols that it is solved for; it may contain the unknowns of the
        sets before.
    increments : int
        How many unknowns, the first ones, are increments of the state: convergence is judged by
        them.
    symbols : (first, last) or None
        Which symbols of the state they are increments of, so that rounding is measured by the size
        of these; all by default.
    """

    residual: Any
    unknowns: Any
    increments: int
    symbols: tuple[int, int] | None = None


@dataclass(frozen=True)
class StepEquations:
    """The equations of one step of a method.

    Attributes
    ----------
    stages : tuple of StageEquations
    guess : column
        All unknowns, where there is no step before to continue.
    end : column (n_state x 1)
        What has been added to the state after the step.
    """

    stages: tuple[StageEquations, ...]
    guess: Any
    end: Any


class StepSymbols:
    """The symbols of a step of size `h` from y + low + added: what rounding lost, and what a
    composition has added so far.

    Attributes
    ----------
    start : column (n_state x 1)
        The state that the step begins with, y + (low + added).
    """

    def __init__(self, kernel: Kernel) -> None:
        ns = kernel.n_state
        self.time, self.h = kernel.algebra.vector([t]), ca.SX.sym("step")
        self.low, self.added = ca.SX.sym("low", ns), ca.SX.sym("added", ns)
        self.state = kernel.algebra.vector(kernel.equations.state)
        self.start = self.state + (self.low + self.added)

    def after(self, increment: ca.SX) -> ca.SX:
        """The state after an increment of it, summed so that nothing is lost before the end."""
        return self.state + (self.low + (self.added + increment))

    def at(self, expression: ca.SX, state: ca.SX, time: ca.SX) -> ca.SX:
        """An expression of the state and of time at another state and time."""
        return ca.substitute(expression, ca.vertcat(self.state, self.time), ca.vertcat(state, time))
