"""A system with everything a run of it needs, as model files and the gallery state it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .drawing import Drawing, as_drawing
from .frozen_table import FrozenTable
from .symbols import by_name
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
        Names of coordinates, velocities (``x_dot``), momenta (``p_x``), speeds, or
        ``chi_<constraint>``.
    simulate : mapping
        Options of `simulate` by name: ``span``, ``at``, ``rtol``, ``atol``, ``form``, ``method``.
    source : str
        Where the system comes from.
    summary : str
        One sentence on what it shows.
    drawing : Drawing or None
        How to draw it; unless given, as its system says.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k", positive=True)
    >>> oscillator = da.System([x], kinetic=x.dot**2/2, potential=k/2*x**2)
    >>> scenario = da.Scenario(
    ...     oscillator, {"k": 4.0}, {"x": 1.0}, {"span": (0, 1)}, summary="It swings."
    ... )
    >>> da.simulate(scenario, parameters={"k": 1.0}).parameters["k"], scenario.parameters["k"]
    (1.0, 4.0)
    """

    system: System
    parameters: Mapping[str, float] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)
    simulate: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    summary: str = ""
    drawing: Drawing | None = None

    def __post_init__(self) -> None:
        for name in ("parameters", "start"):
            object.__setattr__(self, name, by_name(getattr(self, name), name))
        stated = self.drawing if self.drawing is not None else getattr(self.system, "drawing", None)
        object.__setattr__(self, "drawing", as_drawing(stated))

    def __repr__(self) -> str:
        from .statement_text import scenario_text

        return scenario_text(self)

    def __hash__(self) -> int:
        return hash(
            (self.system, FrozenTable(self.parameters), FrozenTable(self.start), self.source)
        )

    def replacing(self, **changes: Any) -> Scenario:
        """The same scenario with some attributes replaced."""
        return replace(self, **changes)
