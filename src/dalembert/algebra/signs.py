r"""Proofs that an expression is nowhere zero.

A polynomial in squares of sines u_i = sin^2 a_i in [0, 1] has values between the least and the
largest of its Bernstein coefficients, sum over monomials c_j prod C(i, j)/C(d, j). Where all of
them are positive, or all negative, by the assumptions on the symbols in them, the polynomial has no
zero. Whether the polynomial is the expression is asked of the structure oracle.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import comb, prod

import sympy

from .graph import GraphAlgebra
from .simplify.simplifier import expand_angles

__all__ = ["nowhere_zero"]

#: The most operations, angles, and Bernstein coefficients, of an expression that is looked at.
MOST_OPERATIONS, MOST_ANGLES, MOST_COEFFICIENTS = 200, 4, 300


def nowhere_zero(expression: sympy.Expr) -> bool:
    """Whether an expression of real symbols is proved to have no zero.

    >>> r, x = sympy.Symbol("r", positive=True), sympy.Symbol("x", real=True)
    >>> nowhere_zero(r**2 * sympy.cos(x) ** 2 + sympy.sin(x) ** 2), nowhere_zero(x**2 + 1)
    (True, True)
    >>> nowhere_zero(sympy.cos(x)), nowhere_zero(x**2), nowhere_zero(r - 1)
    (False, False, False)
    """
    if expression.count_ops() > MOST_OPERATIONS:
        return False
    if _has_sign(expression):
        return True
    if expression.is_Mul or (expression.is_Pow and expression.exp.is_Integer):
        parts = expression.args if expression.is_Mul else (expression.base,)
        if all(nowhere_zero(part) for part in parts if part != expression):
            return True
    written = _in_squares(expression)
    if written is None:
        return False
    coefficients = _bernstein(*written)
    return bool(coefficients) and (
        all(c.is_positive for c in coefficients) or all(c.is_negative for c in coefficients)
    )


def _has_sign(expression: sympy.Expr) -> bool:
    return bool(expression.is_positive or expression.is_negative)


def _in_squares(
    expression: sympy.Expr,
) -> tuple[Mapping[tuple[int, ...], sympy.Expr], tuple[int, ...]] | None:
    """The coefficients by exponents of sin^2, and the degrees; None if it is no polynomial."""
    spread = expand_angles(expression)
    angles = sorted({wave.args[0] for wave in spread.atoms(sympy.sin, sympy.cos)}, key=str)
    if not 0 < len(angles) <= MOST_ANGLES:
        return None
    sines = [sympy.Dummy(f"s{k}") for k in range(len(angles))]
    cosines = [sympy.Dummy(f"c{k}") for k in range(len(angles))]
    squares = [sympy.Dummy(f"u{k}") for k in range(len(angles))]
    named = {sympy.sin(a): s for a, s in zip(angles, sines, strict=True)}
    named |= {sympy.cos(a): c for a, c in zip(angles, cosines, strict=True)}
    try:
        polynomial = sympy.Poly(spread.xreplace(named), *sines, *cosines)
    except sympy.PolynomialError:
        return None
    total = sympy.Integer(0)
    count = len(angles)
    for exponents, coefficient in polynomial.terms():
        if any(e % 2 for e in exponents):
            return None
        by_sines = prod((u ** (e // 2) for u, e in zip(squares, exponents[:count], strict=True)))
        by_cosines = prod(
            ((1 - u) ** (e // 2) for u, e in zip(squares, exponents[count:], strict=True))
        )
        total += coefficient * by_sines * by_cosines
    found = sympy.Poly(total, *squares)
    back = {u: sympy.sin(a) ** 2 for u, a in zip(squares, angles, strict=True)}
    algebra = GraphAlgebra()
    gap = algebra.vector([expression - found.as_expr().xreplace(back)])
    if not algebra.vanishing(gap).is_proved:
        return None
    return dict(found.terms()), tuple(max(d, 0) for d in found.degree_list())


def _bernstein(
    terms: Mapping[tuple[int, ...], sympy.Expr], degrees: tuple[int, ...]
) -> list[sympy.Expr]:
    """The Bernstein coefficients on the unit cube; none where there would be too many."""
    if prod(d + 1 for d in degrees) > MOST_COEFFICIENTS:
        return []
    found = []
    for place in product(*(range(d + 1) for d in degrees)):
        entries = [
            coefficient
            * prod(
                sympy.Rational(comb(i, j), comb(d, j))
                for i, j, d in zip(place, exponents, degrees, strict=True)
            )
            for exponents, coefficient in terms.items()
            if all(j <= i for i, j in zip(place, exponents, strict=True))
        ]
        found.append(sympy.factor_terms(sympy.Add(*entries)))
    return found
