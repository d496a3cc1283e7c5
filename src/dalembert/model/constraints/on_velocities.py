"""Constraints on velocities."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sympy

from ...typing import Condition, Values
from ..frozen_table import FrozenTable
from ..symbols import Velocity
from .constraint import Constraint, vanishing

__all__ = ["KIND", "VelocityConstraint", "velocity"]


@dataclass(frozen=True)
class VelocityConstraint(Constraint):
    """f(q, q_dot, t) = 0: linear, affine or nonlinear in the velocities."""

    kind, restricts, wording = "velocity", Velocity, "on velocities"
    remedy = "write it in coordinates, velocities (q.dot), parameters and t"

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        return relation == "equality" and Velocity in symbols


KIND = VelocityConstraint


def velocity(
    condition: Condition, name: str = "", *, work: Values | None = None
) -> VelocityConstraint:
    """The constraint f(q, q_dot, t) = 0 on velocities, by Chetaev's rule if nonlinear in them.

    >>> from dalembert.model.symbols import coordinates
    >>> x, y, theta = coordinates("x y theta")
    >>> velocity(x.dot*sympy.sin(theta) - y.dot*sympy.cos(theta), name="blade").expression
    x_dot*sin(theta) - y_dot*cos(theta)
    >>> velocity(sympy.Eq(x.dot, 3*y.dot)).expression
    x_dot - 3*y_dot
    """
    return VelocityConstraint(vanishing(condition), name, FrozenTable(work or {}))
