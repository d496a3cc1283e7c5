r"""Implicit first-order systems M(x, t) y = r(x, t), whose unknowns y contain the rates of x.

Rows that depend on others are relations phi(x, t) = 0, which must stay: phi_x x_dot + phi_t = 0 is
appended, and the elimination repeated until no relation is new. The rates are then functions of x,
and the relations are invariants of the flow. Ranks are decided on the surface of the relations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.verdicts import Verdict
from ...errors import ModelError
from ...geometry.surfaces import Elimination, Surface, eliminate
from ...model.symbols import Coordinate, Input, t

__all__ = ["ExplicitSystem", "explicit_system"]

#: How often the equations are differentiated at most.
MOST_STAGES = 10
ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class ExplicitSystem:
    """The rates of an implicit system, and what holds along its motions.

    Attributes
    ----------
    rates : mapping of symbol to expression
    others : mapping of name to expression
        The other unknowns that are determined.
    relations : tuple of expressions
        What vanishes along every motion.
    index : int
        How often the equations were differentiated for the rates.
    verdict : Verdict
        On the rank decisions.
    surface : Surface
    """

    rates: Mapping[Coordinate, sympy.Expr]
    others: Mapping[str, sympy.Expr]
    relations: tuple[sympy.Expr, ...]
    index: int
    verdict: Verdict
    surface: Surface


def explicit_system(
    state: Sequence[Coordinate],
    others: Sequence[str],
    rows: Sequence[Mapping[str, sympy.Expr]],
    right: Sequence[sympy.Expr],
    given: Mapping[Input, sympy.Expr | None],
) -> ExplicitSystem:
    """Solve an implicit system for its rates.

    Parameters
    ----------
    state : sequence of Coordinate
        x; the unknowns ``<name>_dot`` are their rates.
    others : sequence of str
        Further unknowns by name.
    rows : sequence of mappings of unknown to coefficient
    right : sequence of expressions
    given : mapping of Input to expression or None
        Inputs; those without an expression cannot be differentiated.

    Raises
    ------
    ModelError
        Where the rows contradict each other, or leave a rate undetermined.
    """
    names = [*others, *(q.dot.name for q in state)]
    table = [[row.get(name, ZERO) for name in names] for row in rows]
    values = list(right)
    surface = Surface(tuple(reversed(state)))
    relations: list[sympy.Expr] = []
    for index in range(MOST_STAGES):
        solved = eliminate(surface, table, [[value] for value in values])
        new = _relations(solved, surface, given)
        if not new:
            return _finished(state, names, solved, relations, index, surface)
        for relation in new:
            relations.append(relation)
            surface = surface.with_relation(relation)
            rates = {q.dot.name: sympy.diff(relation, q) for q in state}
            table.append([rates.get(name, ZERO) for name in names])
            values.append(-_explicit_rate(relation, given))
    raise ModelError(
        "The equations do not determine the motion after repeated differentiation",
        seen=f"{len(relations)} relations",
        remedy="check the structure and its sources",
    )


def _relations(
    solved: Elimination, surface: Surface, given: Mapping[Input, sympy.Expr | None]
) -> list[sympy.Expr]:
    """Conditions of dependent rows that do not hold already."""
    found: list[sympy.Expr] = []
    for (condition,) in solved.conditions.values():
        if surface.vanish(condition).holds:
            continue
        numerator, _ = sympy.fraction(sympy.together(surface.reduced(condition)))
        if not numerator.free_symbols & set(surface.symbols):
            raise ModelError(
                "The equations contradict each other: there is no motion",
                seen=f"{numerator} = 0",
                remedy="check sources that are joined without an element between them",
            )
        found.append(simplify(numerator))
        surface = surface.with_relation(numerator)
    return found


def _explicit_rate(relation: sympy.Expr, given: Mapping[Input, sympy.Expr | None]) -> sympy.Expr:
    """The rate of a relation at fixed x."""
    rate = sympy.diff(relation, t)
    for symbol, value in given.items():
        if not relation.has(symbol):
            continue
        if value is None:
            raise ModelError(
                f"The motion depends on the derivative of the input `{symbol}`",
                seen=f"{relation} = 0",
                remedy="give it as an expression of time",
            )
        rate += sympy.diff(relation, symbol) * sympy.diff(value, t)
    return rate


def _finished(
    state: Sequence[Coordinate],
    names: Sequence[str],
    solved: Elimination,
    relations: Sequence[sympy.Expr],
    index: int,
    surface: Surface,
) -> ExplicitSystem:
    found: dict[str, sympy.Expr] = {}
    for j, ((value,), free) in solved.values.items():
        if not free:
            found[names[j]] = value
    missing = [q.name for q in state if q.dot.name not in found]
    if missing:
        raise ModelError(
            "The equations leave rates undetermined",
            seen=", ".join(missing),
            remedy="add an element or a condition that determines them",
        )
    rates = {q: found[q.dot.name] for q in state}
    moving = {q.dot.name for q in state}
    others = {name: value for name, value in found.items() if name not in moving}
    return ExplicitSystem(rates, others, tuple(relations), index, solved.verdict, surface)
