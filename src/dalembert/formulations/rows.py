"""Constraints as rows: their residuals at position and velocity level, and which row belongs to which constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.constraints import HolonomicConstraint, MomentumConstraint
from ..model.symbols import t
from ..model.system import System

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


def velocity_level(system: System, algebra: Any, momenta: Any | None = None) -> VelocityLevel:
    """Every two-sided constraint at velocity level; momentum constraints with p replaced by `momenta`(q, q_dot, t)."""
    q, v, time = (
        algebra.vector(system.coordinates),
        algebra.vector(system.velocities),
        algebra.vector([t]),
    )
    positions, places, residuals = [], [], []
    for place, constraint in enumerate(system.bilateral):
        expression = algebra.vector([constraint.expression])
        if isinstance(constraint, HolonomicConstraint):
            positions.append(expression)
            places.append(place)
            residuals.append(algebra.along(expression, q, v) + algebra.jacobian(expression, time))
        elif isinstance(constraint, MomentumConstraint) and momenta is not None:
            residuals.append(algebra.substitute(expression, algebra.vector(system.momenta), momenta))
        else:
            residuals.append(expression)
    return VelocityLevel(
        algebra.stack(positions) if positions else algebra.zeros(0),
        tuple(places),
        algebra.stack(residuals) if residuals else algebra.zeros(0),
    )
