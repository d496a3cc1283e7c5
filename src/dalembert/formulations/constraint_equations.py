"""Constraints as rows: residuals at position and velocity level, and the names of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..model.symbols import t
from ..model.system import System

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block

__all__ = ["VelocityLevel", "row_names", "velocity_level"]


def row_names(system: System) -> tuple[str, ...]:
    """The name of the constraint behind each row."""
    return tuple(constraint.name for constraint in system.bilateral)


@dataclass(frozen=True)
class VelocityLevel:
    """All two-sided constraints as functions of q, q_dot and t.

    Attributes
    ----------
    holonomic : column (k x 1)
        g(q, t) of the holonomic ones.
    holonomic_rows : tuple of int
        Their places among the rows.
    residual : column (m x 1)
        f(q, q_dot, t) of all of them; g_q q_dot + g_t for the holonomic ones.
    """

    holonomic: Any
    holonomic_rows: tuple[int, ...]
    residual: Any


def velocity_level(system: System, algebra: Algebra, momenta: Block | None = None) -> VelocityLevel:
    """Every two-sided constraint at velocity level, with p replaced by `momenta`(q, q_dot, t)."""
    q, v, time = (
        algebra.vector(system.coordinates),
        algebra.vector(system.velocities),
        algebra.vector([t]),
    )
    places = tuple(k for k, c in enumerate(system.bilateral) if c.is_position_level)
    holonomic = algebra.vector([system.bilateral[k].expression for k in places])
    rates = (
        algebra.along(holonomic, q, v) + algebra.jacobian(holonomic, time)
        if places
        else algebra.zeros(0)
    )
    if len(places) == len(system.bilateral):
        return VelocityLevel(holonomic, places, rates)
    residuals = [
        algebra.part(rates, [places.index(place)], [0])
        if place in places
        else constraint.velocity_residual(system, algebra, momenta)
        for place, constraint in enumerate(system.bilateral)
    ]
    return VelocityLevel(holonomic, places, algebra.stack(residuals))
