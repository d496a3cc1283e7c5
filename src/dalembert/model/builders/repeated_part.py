"""One part of a repeated system, as it was stated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import sympy

from ...errors import Faults, ModelError, raise_collected
from ...typing import Values
from ..constraints import Constraint
from ..symbols import Coordinate, Input, Momentum, Parameter, Velocity, as_expression, t
from ..system_checks import check_solved_for

__all__ = ["RepeatedPart", "read_ends"]


def read_ends(values: Values | None, side: int) -> dict[tuple[str, int], sympy.Expr]:
    found = {}
    for key, value in (values or {}).items():
        base, offset = key.neighbour if isinstance(key, Coordinate) else (str(key), 0)
        if offset * side <= 0:
            which, example = ("first", "x.before") if side < 0 else ("last", "x.after")
            raise ModelError(
                f"`{which}` names `{key}`, which does not stand there",
                remedy=f"write {which}={{{example}: ...}}",
            )
        found[base, offset] = as_expression(value)
    return found


@dataclass(frozen=True)
class RepeatedPart:
    """One part as it was stated; `ends` are values by coordinate name and place beyond the end."""

    coordinates: tuple[Coordinate, ...]
    kinetic: sympy.Expr
    potential: sympy.Expr
    couplings: tuple[sympy.Expr, ...]
    constraints: tuple[Constraint, ...]
    forces: Mapping[Coordinate, sympy.Expr]
    dissipation: sympy.Expr
    individual: tuple[sympy.Symbol, ...]
    ends: Mapping[tuple[str, int], sympy.Expr]
    inputs: tuple[Input, ...]
    outputs: Mapping[str, sympy.Expr]

    def expressions(self) -> Iterable[sympy.Expr]:
        yield from (
            self.kinetic,
            self.potential,
            self.dissipation,
            *self.couplings,
            *self.forces.values(),
        )
        yield from self.outputs.values()
        for constraint in self.constraints:
            yield from (constraint.expression, *constraint.work.values())

    @cached_property
    def symbols(self) -> dict[sympy.Symbol, tuple[type, str, int]]:
        """Symbols that differ by part: kind, name in the part, and offset in parts."""
        own = {q.name for q in self.coordinates}
        symbols = {
            symbol for expression in self.expressions() for symbol in expression.free_symbols
        }
        for q in self.coordinates:
            symbols |= {q, q.dot, q.momentum}
        found: dict[sympy.Symbol, tuple[type, str, int]] = {}
        for symbol in sorted(symbols, key=str):
            if isinstance(symbol, (Velocity, Momentum)):
                base, offset = symbol.coordinate.neighbour
            elif isinstance(symbol, Coordinate):
                base, offset = symbol.neighbour
            elif symbol in self.individual:
                base, offset = symbol.name, 0
            else:
                continue
            if base in own or symbol in self.individual:
                found[symbol] = (type(symbol), base, offset)
        return found

    @property
    def reach(self) -> tuple[int, int]:
        """How far the neighbours are, before and after."""
        offsets = [offset for _, _, offset in self.symbols.values()]
        return min(offsets), max(offsets)

    def check(self, count: int, ring: bool) -> None:
        faults = Faults()
        if not isinstance(count, int) or count < 1:
            faults.add("The number of parts must be a positive integer", seen=count)
        for symbol in self.individual:
            if not isinstance(symbol, (Parameter, Input)):
                faults.add("Only parameters and inputs can be individual", seen=symbol)
        for q in self.coordinates:
            if not isinstance(q, Coordinate) or q.neighbour[1]:
                faults.add(
                    "A part needs coordinates of its own",
                    seen=q,
                    remedy='make them with coordinates("...")',
                )
        for constraint in self.constraints:
            if not isinstance(constraint, Constraint) or not constraint.is_listed:
                faults.add(
                    "A part cannot have this constraint",
                    seen=constraint,
                    remedy="use holonomic or velocity",
                )
        if ring and self.ends:
            faults.add("A ring has no ends", remedy="leave out first and last, or ring=True")
        for (base, _), value in self.ends.items():
            strange = [s for s in value.free_symbols if s != t and not isinstance(s, Parameter)]
            if strange:
                faults.add(
                    f"The end of `{base}` contains {strange[0]}",
                    remedy="use time and parameters only",
                )
        seen = {symbol: value for value in self.expressions() for symbol in value.free_symbols}
        check_solved_for(self.coordinates, self.constraints, seen, faults)
        raise_collected(faults)
