"""Sizes of the terms of an expression: the scale of a residual in any units.

    |a + b| <= |a| + |b|,   |a b| = |a| |b|,   and so on from the symbols to the sum.

A residual of 1e-24 is nothing in x^2 + y^2 - 1, and everything where x, y and the length are of
size 1e-12.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from ..program import OPERATORS, Instruction, straight_line

__all__ = ["magnitudes", "switch_arguments"]


def magnitudes(inputs: Sequence[ca.SX], column: ca.SX) -> ca.SX:
    """The size of each entry of a column (SX) if no terms cancelled, as a column.

    >>> x = ca.SX.sym("x")
    >>> empty = ca.SX(0, 1)
    >>> size = magnitudes([empty, x, empty, empty, empty], x**2 - 4*x)
    >>> float(ca.Function("size", [x], [size])(4.0))
    32.0
    """
    program = straight_line("magnitudes", inputs, [column])
    values: list[Any] = []
    sizes: list[Any] = []
    for step in program.instructions:
        value = _value(step, inputs, values)
        values.append(value)
        sizes.append(_size(step, value, values, sizes))
    return ca.vertcat(
        *(ca.SX(0.0) if source is None else sizes[source] for source in program.outputs)
    )


def switch_arguments(inputs: Sequence[ca.SX], column: ca.SX) -> ca.SX:
    """Values that vanish where an operation switches, as x of |x|, a - b of Max(a, b): (k x 1).

    >>> x = ca.SX.sym("x")
    >>> empty = ca.SX(0, 1)
    >>> switch_arguments([empty, x, empty, empty, empty], ca.fabs(x - 2) + ca.fmax(x, 3) ** 2)
    SX([(x-2), (x-3)])
    """
    values: list[Any] = []
    found: list[Any] = []
    for step in straight_line("switches", inputs, [column]).instructions:
        arguments = [values[a] for a in step.arguments]
        values.append(_value(step, inputs, values))
        if step.operation in ("fabs", "sign"):
            found.append(arguments[0])
        elif step.operation in ("fmax", "fmin", "lt", "le", "eq", "ne"):
            found.append(arguments[0] - arguments[1])
        elif step.operation in ("floor", "ceil"):
            found.append(ca.sin(ca.pi * arguments[0]))
        elif step.operation == "fmod":
            found.append(ca.sin(ca.pi * arguments[0] / arguments[1]))
    return ca.vertcat(*found) if found else ca.SX(0, 1)


_FUNCTIONS = OPERATORS | {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "not": ca.logic_not,
    "and": ca.logic_and,
    "or": ca.logic_or,
    "if_else_zero": lambda c, a: ca.if_else(c, a, 0.0),
}


def _value(step: Instruction, inputs: Sequence[ca.SX], values: Sequence[ca.SX]) -> ca.SX:
    if step.operation == "input":
        which, place = step.data
        entry: ca.SX = inputs[which][place]
        return entry
    if step.operation == "constant":
        return ca.SX(step.data)
    function: Any = _FUNCTIONS.get(step.operation) or getattr(ca, step.operation)
    value: ca.SX = function(*(values[a] for a in step.arguments))
    return value


def _size(
    step: Instruction, value: ca.SX, values: Sequence[ca.SX], sizes: Sequence[ca.SX]
) -> ca.SX:
    parts = [sizes[a] for a in step.arguments]
    match step.operation:
        case "add" | "sub":
            return parts[0] + parts[1]
        case "mul":
            return parts[0] * parts[1]
        case "neg" | "assign" | "fabs":
            return parts[0]
        case "sq":
            return parts[0] * parts[0]
        case "twice":
            return 2 * parts[0]
        case "div":
            return parts[0] / ca.fabs(values[step.arguments[1]])
        case "if_else_zero":
            return ca.if_else(values[step.arguments[0]], parts[1], 0.0)
    return ca.fabs(value)
