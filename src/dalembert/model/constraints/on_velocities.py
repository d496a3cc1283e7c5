"""Constraints on velocities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sympy

from ..symbols import Velocity
from .constraint import Constraint

__all__ = ["KIND", "TangentConstraint", "VelocityConstraint"]


@dataclass(frozen=True)
class VelocityConstraint(Constraint):
    """f(q, q_dot, t) = 0: linear, affine or nonlinear in the velocities."""

    kind, restricts, wording = "velocity", Velocity, "on velocities"
    remedy = "write it in coordinates, velocities (q.dot), parameters and t"

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        return relation == "equality" and Velocity in symbols


@dataclass(frozen=True)
class TangentConstraint(VelocityConstraint):
    """A direction in which a contact or a friction limit sticks; its reaction belongs to that."""

    contact: str = ""


KIND = VelocityConstraint
