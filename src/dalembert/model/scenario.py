"""A system with everything a run of it needs: what a model file states and what the gallery holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .drawing import Drawing
from .system import System

__all__ = ["Scenario"]


@dataclass(frozen=True)
class Scenario:
    """A system, values of its parameters, a start, and how to simulate it.

    Attributes
    ----------
    system : System
        Or a `Flow`, which answers the same questions.
    parameters : mapping of name to float
    start : mapping of name to float
        Names of coordinates, velocities (``x_dot``), momenta (``p_x``), speeds, or ``chi_<constraint>``.
    simulate : mapping
        Options of `simulate` by name: ``span``, ``at``, ``rtol``, ``atol``, ``form``, ``method``.
    source : str
        Where the system comes from.
    summary : str
        One sentence on what it shows.
    drawing : Drawing or None
        How to draw it.
    """

    system: System
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    simulate: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    summary: str = ""
    drawing: Drawing | None = None

    def replacing(self, **changes: Any) -> Scenario:
        """The same scenario with some attributes replaced."""
        return replace(self, **changes)
