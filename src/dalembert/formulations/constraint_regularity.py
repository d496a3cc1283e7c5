r"""Constraints whose gradient vanishes wherever they hold: they have no multiplier, and no form.

The reaction A^T mu of a constraint f = 0 lies along its gradient. For f = g^k with k > 1, and for
an f that nowhere changes its sign (a sum of squares, also where a quadratic form hides it), the
gradient is zero on f = 0: the multiplier rule does not apply, and dividing by the gradient would
derive equations of another constraint.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from itertools import zip_longest
from random import Random
from typing import cast

import sympy

from ..algebra.field_numbers import PRIME
from ..errors import FormError
from ..model.constraints import Constraint
from ..model.system import System

__all__ = ["check_regular"]

#: Expressions are factored up to this number of operations, and up to this many of them that are
#: not the same but for the names of their symbols.
MOST_OPERATIONS, MOST_FACTORED = 150, 30
#: The largest degree of a polynomial on a line, and of one that may be a sum of squares.
LARGEST_DEGREE, LARGEST_SQUARED = 40, 4

_Terms = dict[tuple[sympy.Symbol, ...], Fraction]


def check_regular(system: System) -> None:
    """Raise where the gradient of a two-sided constraint is proved to vanish on it.

    Raises
    ------
    FormError
        With the power or the sum of squares, and the constraint to state instead.
    """
    fault = system.cache.get("irregular constraint", lambda: (_fault(system),))[0]
    if fault is not None:
        raise fault


def _fault(system: System) -> FormError | None:
    shapes: set[object] = set()
    for constraint in system.bilateral:
        shape = (constraint.restricts, _shape(constraint.expression, {}))
        if shape in shapes:
            continue
        shapes.add(shape)
        few = len(shapes) <= MOST_FACTORED
        symbols = constraint.expression.atoms(constraint.restricts)
        if not symbols or _is_affine(constraint.expression, symbols):
            continue
        may_be = not few or _may_be_power(constraint.expression, symbols)
        base = _base(constraint.expression, symbols, few) if may_be else None
        if base is not None:
            return _error(constraint, f"state it as {base} = 0")
        if _has_one_sign(constraint.expression):
            return _error(constraint, "state each term that must vanish as a constraint of its own")
        squares = _squares(constraint.expression, symbols)
        if squares:
            words = " and ".join(f"{square} = 0" for square in squares)
            return _error(constraint, f"state {words}, each as a constraint of its own")
    return None


def _shape(expression: sympy.Basic, places: dict[sympy.Basic, int]) -> Hashable:
    """What an expression is but for the names of its symbols: equal for those that a renaming of
    symbols with equal assumptions takes to each other.

    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> [_shape(f, {}) == _shape(x - y**2, {}) for f in (x - z**2, x - x**2, x - y**3)]
    [True, False, False]
    """
    if expression.is_Symbol:
        place = places.setdefault(expression, len(places))
        return place, type(expression), frozenset(expression._assumptions_orig.items())
    if not expression.args:
        return cast(Hashable, expression)
    return type(expression), *[_shape(argument, places) for argument in expression.args]


def _squares(expression: sympy.Expr, symbols: set[sympy.Symbol]) -> tuple[sympy.Expr, ...]:
    r"""The affine functions l_i with f = \pm \sum_i d_i l_i^2, d_i > 0, if there are any.

    f is a polynomial of degree two in (s, 1) with rational coefficients, times a factor without s.
    Its matrix is factored as L D L^T exactly: it is semidefinite where no pivot is negative and a
    zero pivot has a zero row. Nothing is established with other coefficients, or if f is never 0.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> _squares(x**2 + x*y + y**2, {x, y}), _squares(x**2 + 3*x*y + y**2, {x, y})
    ((x + y/2, y), ())
    """
    if any(
        node.is_Function and not node.free_symbols.isdisjoint(symbols)
        for node in sympy.preorder_traversal(expression)
    ):
        return ()
    moving = expression.as_independent(*symbols, as_Add=False)[1]
    if not moving.free_symbols <= symbols or sympy.count_ops(moving) > MOST_OPERATIONS:
        return ()
    terms = _terms(moving, symbols)
    if terms is None or max((len(powers) for powers in terms), default=0) != 2:
        return ()
    diagonal = [
        number
        for powers, number in terms.items()
        if not powers or (len(powers) == 2 and powers[0] == powers[1])
    ]
    if min(diagonal, default=0) < 0 < max(diagonal, default=0):
        return ()  # values of both signs
    ordered = sorted(symbols, key=str)
    places, size = {symbol: k for k, symbol in enumerate(ordered)}, len(ordered) + 1
    matrix = [[Fraction(0)] * size for _ in range(size)]
    for powers, number in terms.items():
        i, j = [*(places[symbol] for symbol in powers), size - 1, size - 1][:2]
        matrix[i][j] += number / 2
        matrix[j][i] += number / 2
    columns = _factored(matrix) or _factored([[-entry for entry in row] for row in matrix])
    return tuple(
        sympy.Add(*(sympy.Rational(c) * s for c, s in zip(column, [*ordered, 1], strict=True)))
        for column in columns
    )


def _terms(expression: sympy.Expr, symbols: set[sympy.Symbol]) -> _Terms | None:
    """The coefficients of a polynomial by its products of symbols; None where it is none with
    rational coefficients, or of a degree over `LARGEST_SQUARED` as it is written.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> _terms((x - 2*y)**2, {x, y})[(x, y)]
    Fraction(-4, 1)
    """
    if expression.is_Float or expression.is_Rational:
        number = sympy.Rational(expression)
        return {(): Fraction(int(number.p), int(number.q))} if number else {}
    if expression in symbols:
        return {(expression,): Fraction(1)}
    if expression.is_Add:
        found: _Terms = {}
        for argument in expression.args:
            added = _terms(argument, symbols)
            if added is None:
                return None
            for powers, number in added.items():
                found[powers] = found.get(powers, Fraction(0)) + number
        return {powers: number for powers, number in found.items() if number}
    if expression.is_Pow and expression.exp.is_Integer and 0 < expression.exp <= LARGEST_SQUARED:
        factors = [expression.base] * int(expression.exp)
    elif expression.is_Mul:
        factors = list(expression.args)
    else:
        return None
    product: _Terms = {(): Fraction(1)}
    for factor in factors:
        further = _terms(factor, symbols)
        if further is None:
            return None
        product = _multiplied(product, further)
        if any(len(powers) > LARGEST_SQUARED for powers in product):
            return None
    return product


def _multiplied(first: _Terms, second: _Terms) -> _Terms:
    found: _Terms = {}
    for left, a in first.items():
        for right, b in second.items():
            powers = tuple(sorted((*left, *right), key=str))
            found[powers] = found.get(powers, Fraction(0)) + a * b
    return {powers: number for powers, number in found.items() if number}


def _factored(matrix: list[list[Fraction]]) -> list[list[Fraction]]:
    """The columns of L in L D L^T, D > 0; none if a pivot is negative or the last is positive."""
    left, columns = [list(row) for row in matrix], []
    size = len(left)
    for k in range(size):
        pivot = left[k][k]
        if pivot < 0 or (pivot == 0 and any(left[k])) or (pivot > 0 and k == size - 1):
            return []
        if pivot > 0:
            column = [row[k] / pivot for row in left]
            columns.append(column)
            for i in range(size):
                for j in range(size):
                    left[i][j] -= pivot * column[i] * column[j]
    return columns


def _has_one_sign(expression: sympy.Expr) -> bool:
    """Whether an expression is a sum of squares, or minus one, by how it is written.

    With a number among its terms it never holds, which a start says.
    """
    terms = [term.as_coeff_Mul() for term in sympy.Add.make_args(expression)]
    if any(rest is sympy.S.One for _, rest in terms):
        return False
    return len({bool(number > 0) for number, _ in terms}) == 1 and all(
        _is_square(rest) for _, rest in terms
    )


def _is_square(expression: sympy.Expr) -> bool:
    """Whether an expression is nowhere negative, by how it is written."""
    if expression.is_Add or expression.is_Mul:
        return all(map(_is_square, expression.args))
    if expression.is_Pow and expression.exp.is_Rational:
        return bool(expression.exp.is_even) or _is_square(expression.base)
    if expression.is_Number or expression.is_Symbol:
        return bool(expression.is_nonnegative)
    return isinstance(expression, sympy.Abs)


def _is_affine(expression: sympy.Expr, symbols: set[sympy.Symbol]) -> bool:
    """Whether an expression is affine in symbols, term by term; no answer costs nothing."""
    for term in sympy.Add.make_args(expression):
        moving = [f for f in sympy.Mul.make_args(term) if not f.free_symbols.isdisjoint(symbols)]
        if len(moving) > 1 or any(factor not in symbols for factor in moving):
            return False
    return True


def _may_be_power(expression: sympy.Expr, symbols: set[sympy.Symbol]) -> bool:
    """Whether an expression may be a product of powers, as a polynomial in its symbols and in
    whatever is no sum, product or power of them; what is none is told for certain.

    On a random line, a product of powers g^k with k > 1 is a polynomial that shares at least half
    of its degree with its derivative, also modulo a prime.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> _may_be_power(x**2 - 2*x*y + y**2, {x, y}), _may_be_power(x**2 + y**2 - 1, {x, y})
    (True, False)
    """
    try:
        line = _on_line(expression, symbols, {})
    except _NoLineError:
        return True
    degree = len(line) - 1
    if degree < 1:
        return True
    derivative = _trimmed([k * c % PRIME for k, c in enumerate(line)][1:])
    return 2 * (len(_gcd(line, derivative)) - 1) >= degree


class _NoLineError(Exception):
    """The polynomial of an expression is too long, or its numbers vanish modulo the prime."""


_Polynomial = list[int]


def _on_line(
    expression: sympy.Expr, symbols: set[sympy.Symbol], known: dict[sympy.Expr, _Polynomial]
) -> _Polynomial:
    """The coefficients of an expression on a line, lowest first."""
    if expression in known:
        return known[expression]
    if expression.is_Float:
        expression = sympy.Rational(expression)
    if expression.is_Rational:
        bottom = int(expression.q) % PRIME
        if bottom == 0:
            raise _NoLineError
        return _trimmed([int(expression.p) * pow(bottom, -1, PRIME) % PRIME])
    if expression.is_Add:
        found = [0]
        for term in expression.args:
            added = _on_line(term, symbols, known)
            found = [a + b for a, b in zip_longest(found, added, fillvalue=0)]
        return _trimmed([c % PRIME for c in found])
    if expression.is_Mul:
        found = [1]
        for factor in expression.args:
            found = _product(found, _on_line(factor, symbols, known))
        return found
    if expression.is_Pow and expression.exp.is_Integer and abs(expression.exp) <= LARGEST_DEGREE:
        base = expression.base if expression.exp > 0 else 1 / expression.base
        line = _on_line(base, symbols, known) if expression.exp != -1 else None
        if line is not None:
            found = [1]
            for _ in range(abs(int(expression.exp))):
                found = _product(found, line)
            return found
    random = Random(f"{len(known)}")
    moves = not expression.free_symbols.isdisjoint(symbols)
    known[expression] = [random.randrange(1, PRIME) for _ in range(2 if moves else 1)]
    return known[expression]


def _product(first: _Polynomial, second: _Polynomial) -> _Polynomial:
    if len(first) + len(second) > LARGEST_DEGREE:
        raise _NoLineError
    found = [0] * (len(first) + len(second) - 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            found[i + j] = (found[i + j] + a * b) % PRIME
    return _trimmed(found)


def _gcd(first: _Polynomial, second: _Polynomial) -> _Polynomial:
    """A greatest common divisor of two polynomials modulo the prime."""
    while any(second):
        inverse = pow(second[-1], -1, PRIME)
        rest = list(first)
        while len(rest) >= len(second) and any(rest):
            scale, shift = rest[-1] * inverse % PRIME, len(rest) - len(second)
            for k, c in enumerate(second):
                rest[shift + k] = (rest[shift + k] - scale * c) % PRIME
            rest = _trimmed(rest)
        first, second = second, rest
    return first


def _trimmed(line: _Polynomial) -> _Polynomial:
    """Without leading zeros; at least one coefficient."""
    while len(line) > 1 and line[-1] == 0:
        line.pop()
    return line or [0]


def _base(expression: sympy.Expr, symbols: set[sympy.Symbol], factored: bool) -> sympy.Expr | None:
    """The factors that a power is made of, or None where one of them stands alone."""
    factors = [f.as_base_exp() for f in sympy.Mul.make_args(expression)]
    if factored and len(factors) == 1 and factors[0][1] == 1:
        if sympy.count_ops(expression) > MOST_OPERATIONS:
            return None
        numerator, _ = sympy.fraction(sympy.together(expression))
        try:
            factors = [*sympy.factor_list(numerator)[1]]
        except sympy.PolynomialError:
            return None
    elif len(factors) == 1 and factors[0][1] == 1:
        return None
    moving = [
        (base, power)
        for base, power in factors
        if not base.free_symbols.isdisjoint(symbols) and not base.is_nonzero
    ]
    if not moving or any(not (power.is_integer and power > 1) for _, power in map(_read, moving)):
        return None
    return sympy.Mul(*(base for base, _ in moving))


def _read(factor: tuple[sympy.Expr, sympy.Expr | int]) -> tuple[sympy.Expr, sympy.Expr]:
    return factor[0], sympy.Integer(factor[1]) if isinstance(factor[1], int) else factor[1]


def _error(constraint: Constraint, remedy: str) -> FormError:
    return FormError(
        f"The gradient of the constraint `{constraint.name}` vanishes wherever it holds: it"
        " determines no reaction",
        seen=f"{constraint.expression} = 0",
        remedy=remedy,
    )
