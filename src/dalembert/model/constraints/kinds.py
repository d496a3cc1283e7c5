"""The kinds of constraints: adding one is a file in this package and a line here."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

import sympy

from ..symbols import Momentum, Velocity
from .constraint import Constraint

__all__ = ["KINDS", "LISTED", "inferred_kind"]

#: The modules of this package that have a kind, each as its `KIND`.
_MODULES = (
    "on_positions",
    "on_velocities",
    "on_momenta",
    "one_sided",
    "friction_limits",
    "images",
)
KINDS: tuple[type[Constraint], ...] = tuple(
    import_module(f".{module}", __package__).KIND for module in _MODULES
)
#: The kinds that a model file lists under `constraints`, by name.
LISTED = {kind.kind: kind for kind in KINDS if kind.is_listed}


def inferred_kind(
    relation: str, expression: sympy.Expr, keys: Collection[str] = ()
) -> type[Constraint]:
    """The kind of a constraint whose relation, "equality" or "at most", is stated without one.

    `keys` are those of its table: friction or a load on velocities is a friction limit.
    """
    symbols = {type(symbol) for symbol in expression.atoms(Velocity, Momentum)}
    if relation == "equality" and Velocity in symbols and {"friction", "load"} & set(keys):
        return LISTED["friction"]
    return next(kind for kind in KINDS if kind.is_stated_by(relation, symbols))
