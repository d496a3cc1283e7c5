"""Floating-point values with running bounds of their rounding errors (Higham 2002, section 3.3).

A value that exceeds its bound is not zero, in whatever units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import casadi as ca

from .finite_field import Instructions

__all__ = ["UNIT", "Bounded", "bounded_values"]

#: A value and a bound of its distance from the exact one.
Bounded = tuple[float, float]

UNIT = 2.0**-52
_UNKNOWN: Bounded = (math.nan, math.inf)


def bounded_values(
    instructions: Instructions, point: Sequence[float], accuracy: float = UNIT
) -> list[Bounded]:
    """The outputs at a point, for constants that are known with a relative accuracy.

    A bound is infinite where the expressions are not defined or jump nearby.
    """
    values: list[Bounded] = []
    for code, a, b, datum in instructions.steps:
        if code == ca.OP_INPUT:
            values.append((point[int(datum)], 0.0))
        elif code == ca.OP_CONST:
            values.append((datum, accuracy * abs(datum)))
        else:
            try:
                value, bound = _step(code, values[a], values[b])
            except (ValueError, ZeroDivisionError, OverflowError):
                value, bound = _UNKNOWN
            finite = math.isfinite(value) and math.isfinite(bound)
            values.append((value, bound + UNIT * abs(value)) if finite else _UNKNOWN)
    return [(0.0, 0.0) if place is None else values[place] for place in instructions.outputs]


def _step(code: int, first: Bounded, second: Bounded) -> Bounded:
    (a, da), (b, db) = first, second
    match code:
        case ca.OP_ADD:
            return a + b, da + db
        case ca.OP_SUB:
            return a - b, da + db
        case ca.OP_MUL:
            return a * b, abs(a) * db + abs(b) * da + da * db
        case ca.OP_DIV:
            return _quotient(first, second)
        case ca.OP_INV:
            return _quotient((1.0, 0.0), first)
        case ca.OP_NEG:
            return -a, da
        case ca.OP_TWICE:
            return 2 * a, 2 * da
        case ca.OP_SQ:
            return a * a, 2 * abs(a) * da + da * da
        case ca.OP_ASSIGN:
            return first
        case ca.OP_POW | ca.OP_CONSTPOW:
            return _power(first, second)
        case ca.OP_HYPOT:
            return math.hypot(a, b), da + db
        case ca.OP_ATAN2:
            distance = math.hypot(a, b) - da - db
            return math.atan2(a, b), (da + db) / distance if distance > 0 else math.inf
        case ca.OP_FMAX:
            return max(a, b), max(da, db)
        case ca.OP_FMIN:
            return min(a, b), max(da, db)
        case ca.OP_IF_ELSE_ZERO:
            return (b, db) if a else (0.0, 0.0)
        case ca.OP_NOT | ca.OP_AND | ca.OP_OR:
            found = not a if code == ca.OP_NOT else (a and b) if code == ca.OP_AND else (a or b)
            return float(bool(found)), 0.0 if math.isfinite(a) and math.isfinite(b) else math.inf
        case ca.OP_LT | ca.OP_LE | ca.OP_EQ | ca.OP_NE:
            return _comparison(code, a - b, da + db)
        case ca.OP_SIGN | ca.OP_FLOOR | ca.OP_CEIL:
            return _jump(code, a, da)
        case ca.OP_FABS:
            return abs(a), da
    found_function = _FUNCTIONS.get(code)
    if found_function is None:
        return _UNKNOWN
    function, derivative = found_function
    low, high = (abs(derivative(min(max(a + side * da, -700.0), 700.0))) for side in (-1.0, 1.0))
    value = function(a)
    return value, 2 * max(low, high) * da + 4 * UNIT * abs(value)


def _quotient(first: Bounded, second: Bounded) -> Bounded:
    (a, da), (b, db) = first, second
    if abs(b) <= 2 * db or b == 0:
        return _UNKNOWN
    return a / b, 2 * (da + abs(a / b) * db) / abs(b)


def _power(first: Bounded, second: Bounded) -> Bounded:
    (a, da), (b, db) = first, second
    if a <= 2 * da and b != round(b):
        return _UNKNOWN
    value = a**b
    if a == 0:
        return (value, math.inf if da else 0.0)
    relative = abs(b) * da / abs(a) + (db * abs(math.log(abs(a))) if db > UNIT * abs(b) else 0.0)
    return value, (2 * relative + 8 * UNIT) * abs(value) if relative < 0.1 else math.inf


def _comparison(code: int, difference: float, bound: float) -> Bounded:
    if not abs(difference) > bound:
        return _UNKNOWN
    found = {ca.OP_LT: difference < 0, ca.OP_LE: difference <= 0, ca.OP_EQ: False, ca.OP_NE: True}
    return float(found[code]), 0.0


def _jump(code: int, a: float, da: float) -> Bounded:
    step = round(a) if code != ca.OP_SIGN else 0.0
    if not abs(a - step) > da:
        return _UNKNOWN
    if code == ca.OP_SIGN:
        return math.copysign(1.0, a), 0.0
    return float(math.floor(a) if code == ca.OP_FLOOR else math.ceil(a)), 0.0


_FUNCTIONS: dict[int, tuple[Callable[[float], float], Callable[[float], float]]] = {
    ca.OP_SQRT: (math.sqrt, lambda a: 0.5 / math.sqrt(a)),
    ca.OP_SIN: (math.sin, lambda a: 1.0),
    ca.OP_COS: (math.cos, lambda a: 1.0),
    ca.OP_TAN: (math.tan, lambda a: 1.0 + math.tan(a) ** 2),
    ca.OP_ASIN: (math.asin, lambda a: 1.0 / math.sqrt(1.0 - a * a)),
    ca.OP_ACOS: (math.acos, lambda a: 1.0 / math.sqrt(1.0 - a * a)),
    ca.OP_ATAN: (math.atan, lambda a: 1.0),
    ca.OP_SINH: (math.sinh, math.cosh),
    ca.OP_COSH: (math.cosh, math.cosh),
    ca.OP_TANH: (math.tanh, lambda a: 1.0),
    ca.OP_ASINH: (math.asinh, lambda a: 1.0),
    ca.OP_ACOSH: (math.acosh, lambda a: 1.0 / math.sqrt(a * a - 1.0)),
    ca.OP_ATANH: (math.atanh, lambda a: 1.0 / (1.0 - a * a)),
    ca.OP_EXP: (math.exp, math.exp),
    ca.OP_EXPM1: (math.expm1, math.exp),
    ca.OP_LOG: (math.log, lambda a: 1.0 / a),
    ca.OP_LOG1P: (math.log1p, lambda a: 1.0 / (1.0 + a)),
}
