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
    places = tuple(k for k, c in enumerate(system.bilateral) if isinstance(c, HolonomicConstraint))
    holonomic = algebra.vector([system.bilateral[k].expression for k in places])
    rates = algebra.along(holonomic, q, v) + algebra.jacobian(holonomic, time) if places else algebra.zeros(0)
    if len(places) == len(system.bilateral):
        return VelocityLevel(holonomic, places, rates)
    residuals = []
    for place, constraint in enumerate(system.bilateral):
        if isinstance(constraint, HolonomicConstraint):
            residuals.append(algebra.part(rates, [places.index(place)], [0]))
            continue
        residual = algebra.vector([constraint.expression])
        if isinstance(constraint, MomentumConstraint) and momenta is not None:
            residual = algebra.substitute(residual, algebra.vector(system.momenta), momenta)
        residuals.append(residual)
    return VelocityLevel(holonomic, places, algebra.stack(residuals))
