"""The symbols that a form has in place of the velocities, and those of their rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sympy

from ..model.symbols import Parameter
from ..model.system import System
from .velocity_frames import VelocityFrame
from .velocity_splits import Split

__all__ = ["FormSymbols", "speed_symbols"]


@dataclass(frozen=True)
class FormSymbols:
    """Symbols in the state of a form besides the coordinates, and their rates, (k,) each."""

    state: tuple[sympy.Symbol, ...]
    rates: tuple[sympy.Symbol, ...]

    @classmethod
    def named(cls, names: Iterable[str]) -> FormSymbols:
        """Symbols of a form's own."""
        kept = tuple(names)
        return cls(
            tuple(Parameter(name) for name in kept),
            tuple(Parameter(f"{name}_dot") for name in kept),
        )


def speed_symbols(system: System, choice: Split | VelocityFrame) -> FormSymbols:
    """The independent velocities themselves, or the speeds of a frame."""
    if isinstance(choice, VelocityFrame):
        return FormSymbols(choice.speeds, choice.rates)
    chosen = [system.coordinates[k] for k in choice.independent]
    return FormSymbols(tuple(q.dot for q in chosen), tuple(q.ddot for q in chosen))
