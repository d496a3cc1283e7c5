"""Constraints on canonical momenta."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import sympy

from ...typing import Condition, Values
from ..frozen_table import FrozenTable
from ..symbols import Momentum, Velocity
from .constraint import Constraint, vanishing

__all__ = ["KIND", "MomentumConstraint", "momentum"]


@dataclass(frozen=True)
class MomentumConstraint(Constraint):
    """phi(p, q, t) = 0 (Udwadia's form)."""

    kind, restricts, wording = "momentum", Momentum, "on momenta"
    remedy = "write it in coordinates, momenta (q.momentum), parameters and t"

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        return relation == "equality" and Momentum in symbols and Velocity not in symbols


KIND = MomentumConstraint


def momentum(
    condition: Condition, name: str = "", *, work: Values | None = None
) -> MomentumConstraint:
    """The constraint phi(p, q, t) = 0 on canonical momenta (Udwadia, eq. 2).

    >>> from dalembert.model.symbols import coordinates
    >>> x, y, z = coordinates("x y z")
    >>> momentum(z**2*x.momentum - y.momentum, name="blade").expression
    p_x*z**2 - p_y
    """
    return MomentumConstraint(vanishing(condition), name, FrozenTable(work or {}))
