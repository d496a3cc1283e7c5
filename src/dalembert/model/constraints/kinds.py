"""The kinds of constraints: adding one is a file in this package and a line here."""

from __future__ import annotations

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
    "images",
)
KINDS: tuple[type[Constraint], ...] = tuple(
    import_module(f".{module}", __package__).KIND for module in _MODULES
)
#: The kinds that a model file lists under `constraints`, by name.
LISTED = {kind.kind: kind for kind in KINDS if kind.is_listed}


def inferred_kind(relation: str, expression: sympy.Expr) -> type[Constraint]:
    """The kind of a constraint whose relation, "equality" or "at most", is stated without one."""
    symbols = {type(symbol) for symbol in expression.atoms(Velocity, Momentum)}
    return next(kind for kind in KINDS if kind.is_stated_by(relation, symbols))
