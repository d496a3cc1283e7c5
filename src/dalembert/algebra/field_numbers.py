"""Numbers modulo a prime: inverses, roots, points on the circle, constants and ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from random import Random

__all__ = [
    "PRIME",
    "TURN",
    "NoPointError",
    "as_rational",
    "circle_point",
    "circle_power",
    "circle_product",
    "field_constant",
    "field_inverse",
    "field_residue",
    "is_represented",
    "rank_modulo",
    "root_of_unity",
    "root_order",
    "square_root",
]


#: p = -1 modulo 240: the circle has a point of order 240, and 2, 3, 5 are squares.
PRIME = 2305843009213690799


_HALF, _ROOT = (PRIME - 1) // 2, (PRIME + 1) // 4


TURN = 240


#: The largest denominator of a constant that is read as the rational number next to it.
_SIMPLE = 1000


class NoPointError(Exception):
    """The expressions are undefined at this field point: a zero denominator, or no square root."""


def rank_modulo(rows: Sequence[Sequence[int]]) -> int:
    """The rank of a matrix of residues, by elimination of short rows first."""
    sparse = [{k: value for k, value in enumerate(row) if value} for row in rows]
    sparse = [row for row in sparse if row]
    rank = 0
    while sparse:
        sparse.sort(key=len, reverse=True)
        pivot = sparse.pop()
        rank += 1
        counts = {k: sum(k in row for row in sparse) for k in pivot}
        column = min(counts, key=counts.__getitem__)
        factor = field_inverse(pivot[column])
        for row in (row for row in sparse if column in row):
            scale = row[column] * factor % PRIME
            for k, value in pivot.items():
                row[k] = (row.get(k, 0) - scale * value) % PRIME
                if not row[k]:
                    del row[k]
        sparse = [row for row in sparse if row]
    return rank


def field_inverse(value: int) -> int:
    if value % PRIME == 0:
        raise NoPointError
    return pow(value, -1, PRIME)


def square_root(value: int) -> int:
    value %= PRIME
    if value and pow(value, _HALF, PRIME) != 1:
        raise NoPointError
    return pow(value, _ROOT, PRIME)


def circle_point(parameter: int) -> tuple[int, int]:
    square = parameter * parameter % PRIME
    below = field_inverse(1 + square)
    return ((1 - square) * below % PRIME, 2 * parameter * below % PRIME)


def circle_product(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    (a, b), (c, d) = one, other
    return ((a * c - b * d) % PRIME, (a * d + b * c) % PRIME)


def circle_power(point: tuple[int, int], power: int) -> tuple[int, int]:
    if power < 0:
        return circle_power((point[0], -point[1] % PRIME), -power)
    found = (1, 0)
    while power:
        if power & 1:
            found = circle_product(found, point)
        point, power = circle_product(point, point), power >> 1
    return found


@cache
def root_of_unity() -> tuple[int, int]:
    """Return the point of order 240 whose cosines and sines are the field's roots of 2, 3 and 5."""
    for parameter in range(2, 10_000):
        point = circle_power(circle_point(parameter), (PRIME + 1) // TURN)
        if any(circle_power(point, TURN // k) == (1, 0) for k in (2, 3, 5)):
            continue
        for k in range(1, TURN):
            chosen = circle_power(point, k)
            if math.gcd(k, TURN) == 1 and (
                2 * circle_power(chosen, 30)[0] % PRIME == square_root(2)
                and 2 * circle_power(chosen, 20)[0] % PRIME == square_root(3)
                and (4 * circle_power(chosen, 24)[0] - 1) % PRIME == square_root(5)
                and circle_power(chosen, 60)[1] == 1
            ):
                return chosen
    raise AssertionError("the circle over this field has no such point")


@lru_cache(4096)
def as_rational(value: float) -> tuple[Fraction, bool]:
    """Return the rational number behind a constant, and whether it is simple or a short decimal."""
    if not math.isfinite(value):
        return Fraction(0), False
    near = Fraction(value).limit_denominator(_SIMPLE)
    if abs(float(near) - value) <= 4 * math.ulp(value):
        return near, True
    decimal = Fraction(repr(value))
    return decimal, len(repr(value).split("e")[0].replace(".", "").strip("-0")) <= 12


@lru_cache(4096)
def field_constant(value: float) -> int:
    """Return the residue of a constant: a rational, or a rational multiple of pi or of a root."""
    if not math.isfinite(value):
        return _NAN
    rational, plain = as_rational(value)
    if not plain:
        turns, is_plain = as_rational(value / math.pi)
        if is_plain and turns.denominator <= TURN:
            return field_residue(turns) * _PI % PRIME
        square = Fraction(value * value).limit_denominator(_SIMPLE)
        if abs(float(square) - value * value) <= 8 * math.ulp(value * value):
            try:
                return square_root(field_residue(square)) * (1 if value > 0 else -1) % PRIME
            except NoPointError:  # not a square in the field: the value stands for itself
                pass
    return field_residue(rational)


def is_represented(number: Fraction) -> bool:
    """Whether the float next to a number stands for this very number.

    >>> is_represented(Fraction(1, 3)), is_represented(2 - Fraction(1, 10**20))
    (True, False)
    """
    try:
        return field_constant(float(number)) == field_residue(number)
    except (OverflowError, ValueError):
        return False


def field_residue(number: Fraction) -> int:
    return number.numerator * pow(number.denominator, -1, PRIME) % PRIME


def root_order(power: Fraction) -> int | None:
    """Return the root order in a power with a rational exponent, or None if it is not unique."""
    order = power.denominator
    if abs(power.numerator) > _SIMPLE or (order > 2 and math.gcd(order, PRIME - 1) != 1):
        return None
    return order


_NAN, _PI = (Random(name).randrange(PRIME) for name in ("nan", "pi"))
