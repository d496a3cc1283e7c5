r"""The times at which an expression of time takes given values, from its structure.

    f(u(t)) = c     =>     u(t) = f^-1(c),  branch by branch,  down to   a t + b = c

Sines and their like have one branch for each period inside the span. Polynomials have their
roots. What cannot be inverted is enclosed: bounds of the expression and of its derivative over
intervals tell where it has no zero, and where it has exactly one. Inside an expression that
switches (a floor, a Max, a Piecewise) each smooth piece is looked at for itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import sympy
from sympy.core.relational import Relational

from .quantities import inlined
from .switches import SWITCHING, Switch, switches_of
from .symbols import t

if TYPE_CHECKING:
    from ..typing import Array, ArrayLike

__all__ = ["UnknownTimesError", "switch_times", "times_of_value"]

#: More times than this are not listed, nor more smooth pieces looked at one by one.
MOST_TIMES, MOST_PIECES = 200_000, 20_000
#: Enclosures are made for so many intervals at most, and no finer than this part of the span.
MOST_ENCLOSURES, FINEST = 20_000, 1e-12

Times = Any  # array (k,) of float
_Inverse = Callable[[Any], list[Any]]


class UnknownTimesError(Exception):
    """The times cannot be listed: there are too many, or bounds of the expression do not tell."""


def switch_times(expression: sympy.Basic, low: float, high: float) -> Times:
    """The times in [low, high] at which an expression of time may switch, in order.

    >>> switch_times(sympy.sign(sympy.sin(sympy.pi * t)), 0.5, 3.5).tolist()
    [1.0, 2.0, 3.0]
    """
    found = switches_of(inlined(expression))
    return _sorted([_met(switch, low, high) for switch in found], low, high)


def times_of_value(expression: sympy.Expr, values: ArrayLike, low: float, high: float) -> Times:
    """The times in [low, high] at which an expression of time takes one of some values, in order.

    Poles, where a sign changes as well, are among them.

    >>> times_of_value(t - sympy.floor(t), [0.25], 0, 3).tolist()
    [0.25, 1.25, 2.25]
    """
    targets = np.atleast_1d(np.asarray(values, dtype=float))
    expression = inlined(expression)
    if not expression.has(*SWITCHING):
        return _sorted([_preimages(expression, targets, low, high)], low, high)
    breaks = switch_times(expression, low, high)
    if len(breaks) > MOST_PIECES:
        raise UnknownTimesError
    ends = [low, *breaks[(breaks > low) & (breaks < high)].tolist(), high]
    found = []
    for begin, end in pairwise(ends):
        smooth = _on_piece(expression, 0.5 * (begin + end))
        found.append(_sorted([_preimages(smooth, targets, begin, end)], begin, end))
    return _sorted(found, low, high)


def _met(switch: Switch, low: float, high: float) -> Times:
    if not switch.at_integers:
        return times_of_value(switch.expression, [0.0], low, high)
    least, most = _bounds(switch.expression, low, high)
    return times_of_value(switch.expression, _whole_numbers(least, most), low, high)


def _whole_numbers(least: float, most: float) -> Any:
    if not most - least < MOST_TIMES:
        raise UnknownTimesError
    return np.arange(math.ceil(least), math.floor(most) + 1, dtype=float)


def _sorted(blocks: list[Times], low: float, high: float) -> Times:
    times = np.concatenate([np.zeros(0), *blocks])
    found = np.unique(times[np.isfinite(times) & (times >= low) & (times <= high)])
    if len(found) > MOST_TIMES:
        raise UnknownTimesError
    return found


def _on_piece(expression: sympy.Basic, time: float) -> sympy.Expr:
    """The smooth expression that equals one that switches around a time between switches."""
    point = {t: sympy.Float(time, 17)}

    def resolved(node: sympy.Basic) -> sympy.Basic:
        if not node.args or t not in node.free_symbols:
            return node
        if isinstance(node, sympy.Piecewise):
            holds = (pair.args[0] for pair in node.args if bool(pair.args[1].xreplace(point)))
            return resolved(next(holds, sympy.nan))
        if isinstance(node, (sympy.Max, sympy.Min)):
            choose = max if isinstance(node, sympy.Max) else min
            return resolved(
                choose(node.args, key=lambda argument: float(argument.xreplace(point).evalf()))
            )
        if isinstance(node, (sympy.floor, sympy.ceiling, sympy.sign, sympy.Heaviside, Relational)):
            return node.xreplace(point)
        arguments = [resolved(argument) for argument in node.args]
        if isinstance(node, sympy.Abs):
            return arguments[0] * sympy.sign(node.args[0].xreplace(point))
        return node.func(*arguments)

    found: Any = resolved(expression)
    return found


def _preimages(expression: sympy.Expr, targets: Array, low: float, high: float) -> Times:
    """Times at which a smooth expression may take one of the targets (k,), poles included."""
    if expression == t:
        return targets
    if t not in expression.free_symbols or not targets.size:
        return np.zeros(0)
    constant, moving = expression.as_independent(t, as_Add=expression.is_Add)
    if expression.is_Add and constant != 0:
        return _preimages(moving, targets - float(constant), low, high)
    if expression.is_Mul and constant != 1:
        return _preimages(moving, targets / float(constant), low, high)
    if expression.is_Mul and not np.any(targets):
        return np.concatenate(
            [_preimages(factor, np.zeros(1), low, high) for factor in expression.args]
        )
    if isinstance(expression, sympy.Pow) and t not in expression.exp.free_symbols:
        return _powers(expression, targets, low, high)
    if len(expression.args) == 1 and expression.func in _PERIODIC:
        return _periodic(expression, targets, low, high)
    if len(expression.args) == 1 and expression.func in _INVERSES:
        with np.errstate(all="ignore"):
            branches = np.concatenate(_INVERSES[expression.func](targets))
        return _preimages(expression.args[0], branches[np.isfinite(branches)], low, high)
    polynomial = expression.as_poly(t)
    if polynomial is not None and polynomial.gens == (t,):
        return np.concatenate(
            [_polynomial_roots(polynomial - sympy.Float(target, 17)) for target in targets]
        )
    return np.concatenate(
        [_enclosed(expression - sympy.Float(target, 17), low, high) for target in targets]
    )


def _powers(power: sympy.Pow, targets: Array, low: float, high: float) -> Times:
    """u^n = c, and the zeros of u where n is negative."""
    exponent = float(power.exp)
    with np.errstate(all="ignore"):
        roots = np.abs(targets) ** (1 / exponent)
    if exponent == round(exponent) and round(exponent) % 2:
        branches = np.copysign(roots, targets)
    else:
        positive = roots[targets >= 0]
        branches = (
            np.concatenate([positive, -positive]) if exponent == round(exponent) else positive
        )
    branches = np.concatenate([branches, np.zeros(1)]) if exponent < 0 else branches
    return _preimages(power.base, np.unique(branches[np.isfinite(branches)]), low, high)


#: Function -> (its branches within a period, for targets; the period).
_PERIODIC: dict[Any, tuple[_Inverse, float]] = {
    sympy.sin: (lambda c: [np.arcsin(c), np.pi - np.arcsin(c)], 2 * np.pi),
    sympy.cos: (lambda c: [np.arccos(c), -np.arccos(c)], 2 * np.pi),
    sympy.tan: (lambda c: [np.arctan(c), np.full(1, np.pi / 2)], np.pi),
}
_INVERSES: dict[Any, _Inverse] = {
    sympy.exp: lambda c: [np.log(c[c > 0])],
    sympy.log: lambda c: [np.exp(c), np.zeros(1)],
    sympy.sinh: lambda c: [np.arcsinh(c)],
    sympy.cosh: lambda c: [np.arccosh(c[c >= 1]), -np.arccosh(c[c >= 1])],
    sympy.tanh: lambda c: [np.arctanh(c[np.abs(c) < 1])],
    sympy.asinh: lambda c: [np.sinh(c)],
    sympy.atan: lambda c: [np.tan(c[np.abs(c) < np.pi / 2])],
    sympy.asin: lambda c: [np.sin(c[np.abs(c) <= np.pi / 2])],
    sympy.acos: lambda c: [np.cos(c[(c >= 0) & (c <= np.pi)])],
}


def _periodic(expression: sympy.Expr, targets: Array, low: float, high: float) -> Times:
    inverse, period = _PERIODIC[expression.func]
    with np.errstate(invalid="ignore"):
        branches = np.concatenate(inverse(targets))
    branches = np.unique(branches[np.isfinite(branches)])
    if not branches.size:
        return np.zeros(0)
    least, most = _bounds(expression.args[0], low, high)
    counts = _whole_numbers(least / period - 1, most / period + 1)
    return _preimages(
        expression.args[0], (branches[:, None] + period * counts[None, :]).ravel(), low, high
    )


def _polynomial_roots(polynomial: sympy.Poly) -> Times:
    roots = np.roots([float(c) for c in polynomial.all_coeffs()])
    real = roots[
        np.abs(roots.imag) <= 1e-6 * (1e-300 + np.abs(roots))
    ].real  # a double root may leave the real line
    coefficients = np.array([float(c) for c in polynomial.all_coeffs()])
    return np.array([_polished(coefficients, float(root)) for root in real])


def _polished(coefficients: Array, root: float) -> float:
    derivative = np.polyder(coefficients)
    for _ in range(3):
        error, rate = float(np.polyval(coefficients, root)), float(np.polyval(derivative, root))
        if rate == 0 or abs(error / rate) > 1e-6 * abs(root):
            break
        root -= error / rate
    return root


# -- enclosures ------------------------------------------------------------------------------------


_ENCLOSED: dict[Any, Callable[[Any], Any]] = {
    sympy.sin: mpmath.iv.sin,
    sympy.cos: mpmath.iv.cos,
    sympy.exp: mpmath.iv.exp,
    sympy.log: mpmath.iv.log,
    sympy.Abs: abs,
    sympy.tan: lambda x: mpmath.iv.sin(x) / mpmath.iv.cos(x),
    sympy.sinh: lambda x: (mpmath.iv.exp(x) - mpmath.iv.exp(-x)) / 2,
    sympy.cosh: lambda x: (mpmath.iv.exp(x) + mpmath.iv.exp(-x)) / 2,
    sympy.tanh: lambda x: 1 - 2 / (mpmath.iv.exp(2 * x) + 1),
}


def _enclosure(node: sympy.Basic, interval: Any) -> Any:
    """Bounds of an expression over an interval of time; UnknownTimesError if there are none."""
    if node == t:
        return interval
    if not node.args:
        number = float(node)
        return mpmath.iv.mpf([math.nextafter(number, -math.inf), math.nextafter(number, math.inf)])
    arguments = [_enclosure(argument, interval) for argument in node.args]
    if node.is_Add:
        return sum(arguments)
    if node.is_Mul:
        return math.prod(arguments)
    if isinstance(node, sympy.Pow):
        if node.exp.is_Integer:
            return arguments[0] ** int(node.exp)
        return mpmath.iv.exp(arguments[1] * mpmath.iv.log(arguments[0]))
    if type(node) not in _ENCLOSED:
        raise UnknownTimesError
    return _ENCLOSED[type(node)](arguments[0])


def _bounds(expression: sympy.Expr, low: float, high: float) -> tuple[float, float]:
    """Bounds of an expression of time over an interval."""
    try:
        found = _enclosure(expression, mpmath.iv.mpf([low, high]))
        least, most = float(mpmath.mpf(found.a)), float(mpmath.mpf(found.b))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise UnknownTimesError from error
    if not (math.isfinite(least) and math.isfinite(most)):
        raise UnknownTimesError
    return least, most


def _enclosed(expression: sympy.Expr, low: float, high: float) -> Times:
    """The zeros of an expression of time, by bisection until bounds exclude or isolate a zero."""
    derivative = expression.diff(t)
    pending, found, looked_at = [(low, high)], [], 0
    while pending:
        begin, end = pending.pop()
        looked_at += 1
        if looked_at > MOST_ENCLOSURES:
            raise UnknownTimesError
        interval = mpmath.iv.mpf([begin, end])
        try:
            if 0 not in _enclosure(expression, interval):
                continue
            is_monotone = 0 not in _enclosure(derivative, interval)
        except (ArithmeticError, TypeError, ValueError):
            is_monotone = False
        middle = 0.5 * (begin + end)
        if end - begin <= FINEST * max(abs(low), abs(high), high - low):
            found.append(middle)
        elif is_monotone:
            found += _bisected(
                expression, begin, end, float(np.spacing(max(abs(low), abs(high)))) / 8
            )
        else:
            pending += [(begin, middle), (middle, end)]
    return np.array(found)


def _bisected(expression: sympy.Expr, begin: float, end: float, width: float) -> list[float]:
    def value(time: float) -> float:
        return float(expression.xreplace({t: sympy.Float(time, 17)}).evalf())

    first = value(begin)
    if first * value(end) > 0:
        return []
    while True:
        middle = 0.5 * (begin + end)
        if middle in (begin, end) or end - begin <= width:
            return [end]
        begin, end = (middle, end) if first * value(middle) > 0 else (begin, middle)
