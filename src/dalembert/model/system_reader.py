"""Read what a user may write in a System into our own symbols, collecting every fault."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy
from sympy.core.function import AppliedUndef

from ..errors import Faults, ModelError
from .atoms import leaves
from .constraints import Constraint, HolonomicConstraint
from .constraints.kinds import KINDS
from .drawing import Drawing, ReactionArrow, as_drawing
from .symbols import (
    Acceleration,
    Coordinate,
    Input,
    Momentum,
    Multiplier,
    Parameter,
    Speed,
    Velocity,
    as_expression,
    t,
)

if TYPE_CHECKING:
    from ..model.drawing import Drawn
    from ..typing import Expression, Symbol

__all__ = ["Reader"]

ZERO = sympy.Integer(0)
_CHANGING = (Coordinate, Velocity, Acceleration, Momentum, Multiplier)
_KINDS = (*_CHANGING, Parameter, Input, Speed)


def _is_double(number: sympy.Number) -> bool:
    """Whether a number is a double: not too large, and not too small unless it is zero."""
    value = float(number)
    return math.isfinite(value) and (value != 0 or bool(number.is_zero))


class Reader:
    """Turns what a user may write into expressions of our own symbols, collecting faults.

    SymPy's dynamic symbols q(t) and their derivatives become coordinates and velocities, other
    plain symbols become parameters.
    """

    def __init__(self, coordinates: Sequence[Any], faults: Faults) -> None:
        self.faults = faults
        self.translation: dict[Any, Any] = {}
        found: list[Coordinate] = []
        for item in coordinates:
            if isinstance(item, Coordinate):
                found.append(item)
            elif isinstance(item, AppliedUndef) and len(item.args) == 1:
                q, clock = Coordinate(item.func.__name__), item.args[0]
                self.translation |= {
                    sympy.Derivative(item, (clock, 2)): q.ddot,
                    sympy.Derivative(item, clock): q.dot,
                    item: q,
                    clock: t,
                }
                found.append(q)
            else:
                faults.add(
                    "A coordinate must be made with coordinates(...) or dynamicsymbols(...)",
                    seen=repr(item),
                )
        repeated = sorted(q.name for q, count in Counter(found).items() if count > 1)
        if repeated:
            faults.add(
                f"The coordinates {', '.join(repeated)} are listed twice", remedy="list each once"
            )
        if not found and not faults:
            faults.add("A system needs at least one coordinate", remedy="pass coordinates=[...]")
        self.coordinates = tuple(dict.fromkeys(found))
        self._known: dict[Any, Coordinate] = {q: q for q in self.coordinates} | {
            q.name: q for q in self.coordinates
        }

    def coordinate(self, key: Symbol, where: str) -> Coordinate | None:
        key = self.translation.get(key, key)
        if key in self._known:
            return self._known[key]
        self.faults.add(
            f"The {where} name `{key}`, which is not a coordinate",
            seen=", ".join(q.name for q in self.coordinates),
            remedy="use one of the system's coordinates",
        )
        return None

    def expression(self, value: Expression, where: str) -> sympy.Expr:
        if isinstance(value, (int, float)):
            value = as_expression(value)
        if not isinstance(value, sympy.Expr):
            remedy = (
                "write it with SymPy's functions and without quotes"
                if isinstance(value, str)
                else None
            )
            if remedy and where.startswith("input"):
                remedy += ", such as u0*sin(w*da.t)"
            elif where.startswith("input"):
                remedy = (
                    "pass values over time as da.control.input_table(times, values), and one number"
                    " for each run as a parameter of the system"
                )
            fault = ModelError(
                f"The {where} must be an expression, not {type(value).__name__}",
                seen=value,
                remedy=remedy,
            )
            self.faults.append(fault)
            return ZERO
        if self.translation:
            value = value.doit().xreplace(self.translation)
        ends = leaves(value)
        if not ends.isdisjoint((sympy.nan, sympy.zoo, sympy.oo, -sympy.oo)):
            self.faults.add(f"The {where} is not finite", seen=value)
            return ZERO
        beyond = [end for end in ends if end.is_Number and not _is_double(end)]
        if beyond:
            seen = f"about {sympy.Float(beyond[0], 3)}"
            self.faults.add(
                f"The {where} has a number outside the range of doubles", seen, "choose other units"
            )
            return ZERO
        strangers: dict[Any, Any] = {}
        for symbol in (end for end in ends if isinstance(end, sympy.Symbol)):
            if isinstance(symbol, _KINDS) or symbol == t:
                continue
            strangers[symbol] = (
                t if symbol.name == "t" else Parameter(symbol.name, **symbol._assumptions_orig)
            )
        unknown = sorted(str(f) for f in ends if isinstance(f, AppliedUndef))
        if unknown:
            self.faults.add(
                f"The {where} contains {', '.join(unknown)}", remedy="list it among the coordinates"
            )
        return value.xreplace(strangers) if strangers else value

    def drawing(self, value: Drawn | None) -> Drawing | None:
        """How the system looks, in our own symbols; its coordinates are those of the system."""
        try:
            stated = as_drawing(value)
        except ModelError as fault:
            self.faults.append(fault)
            return None
        if stated is None:
            return None
        found: list[sympy.Expr] = []

        def read(entry: Any) -> Any:
            found.append(self.expression(entry, "drawing"))
            return found[-1]

        drawn = stated.mapped(read)
        symbols = {
            symbol for entry in found for symbol in leaves(entry) if isinstance(symbol, _CHANGING)
        }
        known = {symbol for q in self.coordinates for symbol in (q, q.dot, q.momentum)}
        along = {
            name
            for shape in drawn.shapes
            if isinstance(shape, ReactionArrow)
            for name in shape.along or ()
            if name
        }
        strange = sorted(
            {symbol.name for symbol in symbols - known}
            | (along - {q.name for q in self.coordinates})
        )
        if strange:
            self.faults.add(
                f"The drawing contains {', '.join(strange)}",
                seen=", ".join(q.name for q in self.coordinates),
                remedy="use coordinates of the system",
            )
        return drawn

    def constraint(self, constraint: Constraint, number: int) -> Constraint:
        if not isinstance(constraint, Constraint):
            kinds = [f"{kind.kind}(...)" for kind in KINDS]
            self.faults.add(
                f"Constraint {number} is not a constraint",
                seen=repr(constraint),
                remedy=f"wrap it in {', '.join(kinds[:-1])} or {kinds[-1]}",
            )
            return HolonomicConstraint(ZERO, f"c{number}")
        return constraint.read(self, constraint.name or f"c{number}")
