"""One-sided constraints: contacts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

import sympy

from ...errors import ModelError
from ...typing import Condition, Expression
from ..names import shortened
from ..symbols import Coordinate, as_expression
from .constraint import Constraint, EntryReader, Place, vanishing
from .on_positions import HolonomicConstraint

__all__ = ["KIND", "UnilateralConstraint", "unilateral"]

ZERO = sympy.Integer(0)
RANGE = "must lie between 0 and 1"
IMPACTS = "0 is a plastic and 1 an elastic impact"


@dataclass(frozen=True)
class UnilateralConstraint(Constraint):
    """g(q, t) <= 0, with Newton's restitution when it is reached."""

    restitution: sympy.Expr = ZERO

    kind, restricts, wording = "unilateral", Coordinate, "one-sided"
    remedy = HolonomicConstraint.remedy
    relation, gives_row = "<=", False
    foreign_keys: ClassVar = {"work": ("is one-sided and has work", "remove work")}

    def held(self) -> HolonomicConstraint:
        """The two-sided constraint that a closed contact is."""
        return HolonomicConstraint(self.expression, self.name)

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from super().expressions()
        yield self.restitution

    def places(self) -> Iterator[Place]:
        yield from super().places()
        yield Place(self.restitution, (), "use numbers and parameters only")

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        return relation == "at most"

    @classmethod
    def from_entry(cls, expression: sympy.Expr, name: str, entry: EntryReader) -> Constraint:
        cls._check_keys(entry)
        restitution = entry.expression("restitution")
        value = entry.value(restitution)
        if value is not None and not 0 <= value <= 1:
            what = f"The restitution of `{{where}}` {RANGE}"
            entry.fault(ModelError, what, seen=shortened(value), remedy=IMPACTS)
        return cls(expression, name, {}, restitution)

    def entry(self) -> dict[str, sympy.Expr]:
        return {"restitution": self.restitution} if self.restitution != 0 else {}


KIND = UnilateralConstraint


def unilateral(
    condition: Condition, restitution: Expression = 0, name: str = ""
) -> UnilateralConstraint:
    """The one-sided constraint g(q, t) <= 0, or a SymPy relation that says which side is allowed.

    `restitution` is the ratio of the normal speeds after and before an impact, from 0 to 1.

    >>> from dalembert.model.symbols import coordinates
    >>> height = coordinates("h")
    >>> unilateral(height >= 0, restitution=0.5, name="floor").expression
    -h
    """
    if isinstance(condition, (sympy.Le, sympy.Lt)):
        expression = condition.lhs - condition.rhs
    elif isinstance(condition, (sympy.Ge, sympy.Gt)):
        expression = condition.rhs - condition.lhs
    else:
        expression = vanishing(condition)
    value = as_expression(restitution)
    if value.is_number and not 0 <= float(value) <= 1:
        raise ModelError(
            f"The restitution of the one-sided constraint `{name or expression}` {RANGE}",
            seen=restitution,
            remedy=IMPACTS,
        )
    return UnilateralConstraint(expression, name, {}, value)
