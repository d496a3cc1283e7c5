"""The value of an expression by Python's own grammar: a second reading that shares nothing with
ours but the meaning.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dalembert.errors import DalembertError
from dalembert.model.io.expressions import evaluate

__all__ = ["disagreement", "reference_value"]

#: Values on the way that are larger than this, or smaller than its inverse, leave too few digits
#: for a comparison.
LARGEST = 1e6
TOLERANCE = 1e-6
_BINARY: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_COMPARE: dict[type, Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_SAME_NAME = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log", "sqrt"),
)
_CALLS: dict[str, Callable[..., float]] = {
    **{name: getattr(math, name) for name in _SAME_NAME},
    **dict.fromkeys(("abs", "Abs"), abs),
    **dict.fromkeys(("min", "Min"), lambda *values: min(values)),
    **dict.fromkeys(("max", "Max"), lambda *values: max(values)),
    "sign": lambda x: float((x > 0) - (x < 0)),
}


class _UnclearError(Exception):
    """A value on the way that cannot be compared: outside the range, or too near to a case."""


def reference_value(text: str, values: Mapping[str, float]) -> float:
    """The value in doubles, computed in the order in which it is written."""
    return _value(ast.parse(text.strip(), mode="eval").body, values)


def disagreement(text: str, found: Any, points: Sequence[Mapping[Any, float]]) -> str:
    """Where our reading and Python's differ at every point that can be compared, a sentence; else
    nothing.
    """
    differences = []
    for point in points:
        try:
            theirs = reference_value(
                " ".join(text.split()), {symbol.name: value for symbol, value in point.items()}
            )
            ours = evaluate(found, point)
        except (
            _UnclearError,
            SyntaxError,
            RecursionError,
            MemoryError,
            ArithmeticError,
            ValueError,
            DalembertError,
        ):
            continue
        if abs(theirs - ours) <= TOLERANCE * (1 + LARGEST * 1e-6):
            return ""
        differences.append(f"{ours!r} and by Python's grammar {theirs!r}")
    return differences[0] if len(differences) >= 2 else ""


def _value(node: Any, values: Mapping[str, float]) -> float:
    found = _computed(node, values)
    if not math.isfinite(found) or abs(found) > LARGEST or 0 < abs(found) < 1 / LARGEST:
        raise _UnclearError
    return found


def _computed(node: Any, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name():
            return math.pi if node.id == "pi" and "pi" not in values else values[node.id]
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, values)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand, values)
        case ast.BinOp():
            return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
        case ast.Call(func=ast.Name(id="where")):
            return _chosen(node, values)
        case ast.Call(func=ast.Name(id=name)):
            return _CALLS[name](*(_value(argument, values) for argument in node.args))
    raise _UnclearError


def _chosen(node: Any, values: Mapping[str, float]) -> float:
    test, then, otherwise = node.args
    left, right = _value(test.left, values), _value(test.comparators[0], values)
    if abs(left - right) < TOLERANCE:
        raise _UnclearError
    return _value(then if _COMPARE[type(test.ops[0])](left, right) else otherwise, values)
