"""Quantities of a whole trajectory, for costs and conditions: integrals, values at the ends.

They are SymPy functions, so that a cost or a condition is any expression of them.
"""

from __future__ import annotations

from typing import ClassVar

import sympy
from sympy.printing.str import StrPrinter

from ...model.symbols import Coordinate, Multiplier, as_expression
from ...typing import Expression

__all__ = [
    "AtEnd",
    "AtStart",
    "ReactionOf",
    "TimeIntegral",
    "at_end",
    "at_start",
    "integral",
    "multiplier",
    "reaction",
]


class _Quantity(sympy.Function):  # type: ignore[misc]  # SymPy has no types
    """A real number that belongs to a whole trajectory."""

    is_real = True
    is_commutative = True
    #: The function of this module that makes it, which is how it is printed.
    written: ClassVar[str]

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"{self.written}({printer.stringify(self.args, ', ')})"


class TimeIntegral(_Quantity):
    """The integral over the trajectory."""

    written = "integral"


class AtStart(_Quantity):
    """The value at the start of the trajectory."""

    written = "at_start"


class AtEnd(_Quantity):
    """The value at the end of the trajectory."""

    written = "at_end"


class ReactionOf(_Quantity):
    """The generalised force of a constraint along a coordinate, at each instant."""

    written = "reaction"


def integral(expression: Expression) -> sympy.Expr:
    """The integral over time of an expression of state, inputs, accelerations and reactions.

    >>> import dalembert as da
    >>> u = da.inputs("u")
    >>> integral(u**2) / 2
    integral(u**2)/2
    """
    return TimeIntegral(as_expression(expression))


def at_start(expression: Expression) -> sympy.Expr:
    """The value of an expression of state, inputs, parameters and time at the start.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> at_end(x) - at_start(x)
    at_end(x) - at_start(x)
    """
    return AtStart(as_expression(expression))


def at_end(expression: Expression) -> sympy.Expr:
    """The value of an expression of state, inputs, parameters and time at the end.

    The end time itself is ``at_end(da.t)``.

    >>> import dalembert as da
    >>> at_end(da.t)
    at_end(t)
    """
    return AtEnd(as_expression(expression))


def reaction(constraint: str, coordinate: Coordinate) -> sympy.Expr:
    """The generalised force of a constraint along a coordinate, for costs and bounds.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> reaction("rolling", x)
    reaction(rolling, x)
    """
    return ReactionOf(sympy.Symbol(str(constraint)), coordinate)


def multiplier(constraint: str) -> sympy.Expr:
    """The multiplier of a constraint, for costs and bounds.

    >>> multiplier("rod")
    mu_rod
    """
    return Multiplier(f"mu_{constraint}")
