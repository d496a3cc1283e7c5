"""Constraints on positions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sympy

from ...typing import Condition, Values
from ..frozen_table import FrozenTable
from ..symbols import Coordinate
from .constraint import Constraint, vanishing

__all__ = ["KIND", "HolonomicConstraint", "holonomic"]


@dataclass(frozen=True)
class HolonomicConstraint(Constraint):
    """g(q, t) = 0."""

    kind, restricts, wording = "holonomic", Coordinate, "on positions"
    remedy = "use velocity(...) for a constraint on velocities and momentum(...) for one on momenta"

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        return relation == "equality" and not symbols


KIND = HolonomicConstraint


def holonomic(
    condition: Condition, name: str = "", *, work: Values | None = None
) -> HolonomicConstraint:
    """The constraint g(q, t) = 0 on positions.

    >>> from dalembert.model.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> holonomic(x**2 + y**2 - 1, name="circle").name
    'circle'
    """
    return HolonomicConstraint(vanishing(condition), name, FrozenTable(work or {}))
