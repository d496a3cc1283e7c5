"""Sizes and products of written terms, for `quotient_printer`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import gcd, lcm

import sympy

from .trigonometric_ring import Polynomial

__all__ = [
    "FourierTerms",
    "circular_product",
    "common_content",
    "is_mostly_negative",
    "multiplied",
    "primitive_sum",
    "rational_number",
    "size",
    "sums_in",
    "times_fourier_term",
]


FourierTerms = dict[tuple[int, ...], tuple[Fraction, Fraction]]


def size(expression: sympy.Expr) -> int:
    """The reading length: 2 per symbol, number, power, function and sign, 1 per nested sum.

    >>> x, y = sympy.symbols("x y")
    >>> size(x * y), size(x + y), size(2 * sympy.sin(x) * sympy.cos(x)), size(sympy.sin(2 * x))
    (4, 8, 10, 6)
    """
    total, pending = 0, [(expression, 0)]
    while pending:
        node, depth = pending.pop()
        if node.is_Add:
            total += 2 * len(node.args) + depth
            pending += [(argument, depth + 1) for argument in node.args]
        elif node.is_Mul:
            pending += [(argument, depth) for argument in node.args]
        elif node.is_Pow:
            total += 2
            pending.append((node.base, depth))
            if not node.exp.is_Rational:
                pending.append((node.exp, depth))
        elif node.args:
            total += 2
            pending += [(argument, 0) for argument in node.args if isinstance(argument, sympy.Expr)]
        else:
            total += (
                0 if node is sympy.S.NegativeOne else 4 if node.is_Rational and node.q > 1 else 2
            )
    return total


def times_fourier_term(sinusoids: FourierTerms, place: int, is_sine: bool) -> FourierTerms:
    """A sum of sinusoids times the sine or cosine of one angle, by the product formulas."""
    found: FourierTerms = {}

    def add(multiples: tuple[int, ...], cosine: Fraction, sine: Fraction) -> None:
        first = next((k for k in multiples if k), 0)
        if first < 0:
            multiples, sine = tuple(-k for k in multiples), -sine
        old = found.get(multiples, (Fraction(0), Fraction(0)))
        found[multiples] = (old[0] + cosine, old[1] + (sine if first else 0))

    for multiples, (a, b) in sinusoids.items():
        up, down = (
            tuple(k + d if i == place else k for i, k in enumerate(multiples)) for d in (1, -1)
        )
        if is_sine:  # 2 cos m sin u = sin(m+u) - sin(m-u),  2 sin m sin u = cos(m-u) - cos(m+u)
            add(up, -b / 2, a / 2)
            add(down, b / 2, -a / 2)
        else:  # 2 cos m cos u = cos(m+u) + cos(m-u),  2 sin m cos u = sin(m+u) + sin(m-u)
            add(up, a / 2, b / 2)
            add(down, a / 2, b / 2)
    return found


def circular_product(
    number: sympy.Rational, angle: sympy.Expr, sine: int, cosine: int
) -> Iterator[tuple[sympy.Rational, sympy.Expr]]:
    """A number times sin^a cos^b, as it stands, with tangents, and with the double angle."""
    s, c = sympy.sin(angle), sympy.cos(angle)
    yield number, s**sine * c**cosine
    shared = min(abs(sine), abs(cosine)) * (1 if sine > 0 else -1)
    if sine * cosine < 0:
        ratio = sympy.tan(angle) if sine > 0 else sympy.cot(angle)
        yield number, ratio ** abs(shared) * s ** (sine - shared) * c ** (cosine + shared)
    elif shared:
        rest = s ** (sine - shared) * c ** (cosine - shared)
        yield number / sympy.Integer(2) ** shared, sympy.sin(2 * angle) ** shared * rest


def multiplied(*factors: sympy.Expr) -> sympy.Expr:
    """The product, with the sign of sums that are mostly negative in front."""
    parts, sign = [], 1
    for factor in factors:
        if factor.is_Add and is_mostly_negative(factor):
            factor, sign = -factor, -sign
        parts.append(factor)
    return sympy.Mul(sign, *parts)


def is_mostly_negative(total: sympy.Expr) -> bool:
    return bool(2 * sum(term.could_extract_minus_sign() for term in total.args) > len(total.args))


def common_content(polynomial: Polynomial) -> int:
    """The common factor of the coefficients, negative where most of them are."""
    values = [int(c) for c in polynomial.values()]
    return gcd(*values) * (-1 if 2 * sum(v < 0 for v in values) > len(values) else 1)


def rational_number(value: Fraction) -> sympy.Rational:
    return sympy.Rational(value.numerator, value.denominator)


def sums_in(expression: sympy.Expr, top: bool) -> Iterator[sympy.Expr]:
    """Every sum inside an expression, arguments of functions apart, without a number that all its
    terms share.
    """
    pending = [(expression, top)]
    while pending:
        node, counted = pending.pop(0)
        if node.is_Add:
            if counted:
                yield primitive_sum(node)[1]
            pending += [(argument, True) for argument in node.args]
        elif node.is_Mul or node.is_Pow:
            pending += [(argument, True) for argument in node.args]


def primitive_sum(total: sympy.Expr) -> tuple[sympy.Rational, sympy.Expr]:
    """The number that all terms of a sum share, and the sum without it."""
    numbers = [term.as_coeff_Mul(rational=True)[0] for term in total.args]
    scale = sympy.Rational(
        gcd(*(abs(int(n.p)) for n in numbers)), lcm(*(int(n.q) for n in numbers))
    )
    if total.could_extract_minus_sign():
        scale = -scale
    return scale, total if scale == 1 else sympy.Add(*(term / scale for term in total.args))
