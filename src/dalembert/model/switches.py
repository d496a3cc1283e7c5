"""Where the expressions of a model pass from one smooth function to another.

    |g|, sign g, Heaviside g          at g = 0
    Max(a, b), Min(a, b)              at a - b = 0
    Piecewise with a condition a < b  at a - b = 0
    floor g, ceiling g                where g is an integer

Functions that are smooth and narrow, such as exp(-((t - 5)/0.01)^2), have centres in the same
sense: a step must not pass one unseen. All of this is read off the expressions, never off their
values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy
from sympy.core.relational import Relational

from .flow_system import Flow
from .hazards import stated_expressions
from .quantities import distinct_nodes
from .symbols import t
from .system import System

__all__ = [
    "NARROW",
    "SWITCHING",
    "Switch",
    "distinct_nodes",
    "narrow_functions",
    "switches",
    "switches_of",
]

#: Functions that switch. A condition is part of a Piecewise, and switches with it.
SWITCHING = (
    sympy.Abs,
    sympy.sign,
    sympy.Heaviside,
    sympy.floor,
    sympy.ceiling,
    sympy.Max,
    sympy.Min,
    Relational,
)
#: Smooth functions that change within a small part of the range of their argument.
NARROW = (sympy.exp, sympy.tanh, sympy.atan, sympy.sech, sympy.csch, sympy.cosh, sympy.coth)


@dataclass(frozen=True)
class Switch:
    """An expression at whose zeros, or whole values, the model switches between smooth functions.

    Attributes
    ----------
    expression : sympy.Expr
    node : sympy.Basic
        What switches, as it stands in the model.
    place : str
        Where it stands, for example "the force on `x`".
    at_integers : bool
        Whether it switches wherever the expression is an integer, and not only at zero.
    jumps : bool
        Whether the value may jump there; otherwise only a derivative does.
    """

    expression: sympy.Expr
    node: sympy.Basic
    place: str
    at_integers: bool = False
    jumps: bool = True

    @property
    def crossing(self) -> sympy.Expr:
        """A function that passes through zero exactly where the switch is met."""
        return sympy.sin(sympy.pi * self.expression) if self.at_integers else self.expression


def switches_of(expression: sympy.Basic, place: str = "") -> list[Switch]:
    """The switches of an expression, those inside others included.

    >>> x = sympy.Symbol("x", real=True)
    >>> [
    ...     str(switch.expression)
    ...     for switch in switches_of(sympy.Piecewise((1, x < 2), (sympy.Abs(x), True)))
    ... ]
    ['x', 'x - 2']
    """
    found: list[Switch] = []
    for node in distinct_nodes(expression):
        if isinstance(node, (sympy.Max, sympy.Min)):
            pairs = {(a, b) for k, left in enumerate(node.args) for right in node.args[k + 1 :]
                     for a in _choices(left) for b in _choices(right)}  # fmt: skip
            found += [Switch(a - b, node, place, jumps=False) for a, b in pairs]
        elif isinstance(node, Relational):
            found.append(Switch(_without_denominator(node.lhs - node.rhs), node, place))
        elif isinstance(node, (sympy.floor, sympy.ceiling)):
            found.append(Switch(node.args[0], node, place, at_integers=True))
        elif isinstance(node, (sympy.Abs, sympy.sign, sympy.Heaviside)):
            argument = _without_denominator(node.args[0])
            found.append(Switch(argument, node, place, jumps=not isinstance(node, sympy.Abs)))
    moving = (switch for switch in found if switch.expression.free_symbols)
    return sorted(
        {(s.expression, s.at_integers): s for s in moving}.values(), key=lambda s: str(s.expression)
    )


def switches(system: System | Flow) -> list[Switch]:
    """The switches of a model, each once: jumps before kinks."""
    found: dict[Any, Switch] = {}
    for place, expression in stated_expressions(system):
        # What is differentiated on its way to the accelerations has a jump there where it has a
        # kink here.
        is_differentiated = not place.startswith(("the force", "the rate"))
        for switch in switches_of(expression, place):
            known = found.get((switch.expression, switch.at_integers))
            jumps = switch.jumps or is_differentiated or (known is not None and known.jumps)
            found[switch.expression, switch.at_integers] = Switch(
                switch.expression, switch.node, place, switch.at_integers, jumps
            )
    fixed = set(system.parameters)
    return [switch for switch in found.values() if switch.expression.free_symbols - fixed]


def narrow_functions(system: System | Flow) -> list[sympy.Expr]:
    """The arguments of smooth functions that may be narrow beside a step.

    Powers u^-n count with log u where u has time in it.
    """
    found: dict[sympy.Expr, None] = {}
    fixed = set(system.parameters)
    for _, expression in stated_expressions(system):
        for node in distinct_nodes(expression):
            if isinstance(node, NARROW) and _may_be_narrow(node, node.free_symbols - fixed):
                found[node.args[0]] = None
            elif (
                isinstance(node, sympy.Pow)
                and node.exp.is_negative
                and any(part == t for part in distinct_nodes(node.base))
            ):
                found[sympy.log(node.base)] = None
    return list(found)


def _may_be_narrow(node: sympy.Expr, moving: set[sympy.Symbol]) -> bool:
    """Whether an exponential switches the model: one of a linear argument without time does not."""
    if not isinstance(node, sympy.exp) or t in moving:
        return bool(moving)
    polynomial = node.args[0].as_poly(*sorted(moving, key=str)) if moving else None
    return bool(moving) and (polynomial is None or polynomial.total_degree() > 1)


def _choices(argument: sympy.Expr) -> list[sympy.Expr]:
    """The alternatives of an argument: itself, or the arguments of a nested maximum or minimum."""
    if not isinstance(argument, (sympy.Max, sympy.Min)):
        return [argument]
    return [choice for inner in argument.args for choice in _choices(inner)]


def _without_denominator(expression: sympy.Expr) -> sympy.Expr:
    """A product with the zeros of numerator and denominator, where a quotient changes its sign."""
    numerator, denominator = sympy.fraction(expression)
    return numerator * denominator if denominator.free_symbols else expression
