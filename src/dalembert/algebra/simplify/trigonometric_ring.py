r"""Polynomials in symbols, sines and cosines, where the squares of sine and cosine add up to one.

    Z[x_1, ..., x_k, s_1, c_1, s_2, c_2, ...] / (s_1^2 + c_1^2 - 1, s_2^2 + c_2^2 - 1, ...)

and likewise for symbols that are roots of polynomials, g^2 = P. A polynomial is reduced when it
holds at most the first power of each s_j and of each root; equal elements of this ring have equal
reduced polynomials. The ring has no unique factors (s^2 = (1 - c)(1 + c)), so common factors are
found by division. Work is counted, in products of terms, and ends at a limit: no result depends on
the speed of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import comb, gcd
from typing import Any

import sympy
from sympy.polys.domains import ZZ
from sympy.polys.rings import PolyRing

__all__ = ["CircleRing", "Factors", "SineCosine", "TooMuchWorkError", "Work"]

#: Polynomials with more terms, or of a higher degree, are not searched for factors.
SEARCHED_TERMS, SEARCHED_DEGREE = 24, 9

#: A polynomial of SymPy's sparse kind, and an integer with factors and their powers.
Polynomial = Any
Factors = tuple[int, tuple[tuple[Polynomial, int], ...]]


class TooMuchWorkError(Exception):
    """The limit of work is reached; whoever asked keeps what there was."""


class Work:
    """An allowance of work, in products of terms; `whole` is the larger allowance it belongs to."""

    def __init__(self, limit: int, whole: Work | None = None) -> None:
        self.left, self.whole = limit, whole

    def spend(self, amount: int) -> None:
        """Count some work, and stop where there is none left."""
        self.left -= amount
        if self.whole is not None:
            self.whole.spend(amount)
        if self.left < 0:
            raise TooMuchWorkError


@dataclass(frozen=True)
class SineCosine:
    """The places of the sine and the cosine of one angle among the generators."""

    sine: int
    cosine: int


class CircleRing:
    """Polynomials with `size` generators, some of which are pairs of sine and cosine.

    >>> ring = CircleRing(3, [SineCosine(1, 2)], Work(1000))
    >>> x, s, c = ring.generators
    >>> ring.reduced(x * s**3), ring.divided(ring.reduced(x * s**2), s)
    (-g0*g1*g2**2 + g0*g1, g0*g1)
    """

    def __init__(self, size: int, pairs: Sequence[SineCosine], work: Work) -> None:
        self.pairs, self.work = tuple(pairs), work
        self._ring: Any = PolyRing([sympy.Symbol(f"g{k}") for k in range(max(1, size))], ZZ, "lex")
        self.generators: tuple[Polynomial, ...] = tuple(self._ring.gens)
        self.one, self.zero = self._ring.one, self._ring.zero
        self.roots: dict[int, Polynomial] = {}
        self._factors: dict[Polynomial, Factors] = {}
        self._found: dict[Polynomial, list[tuple[Polynomial, int]]] = {}

    def add_root(self, place: int, square: Polynomial) -> None:
        """Let a generator be a root: its square is a reduced polynomial in the other generators."""
        self.roots[place] = square

    def from_terms(self, terms: dict[tuple[int, ...], Any]) -> Polynomial:
        """The polynomial with these coefficients by exponents."""
        return self._ring.from_dict(terms)

    def product(self, left: Polynomial, right: Polynomial) -> Polynomial:
        """The reduced product."""
        self.work.spend(len(left) * len(right))
        return self.reduced(left * right)

    def power(self, base: Polynomial, exponent: int) -> Polynomial:
        """The reduced power, with an exponent of at least 0."""
        found = self.one
        for _ in range(exponent):
            found = self.product(found, base)
        return found

    def key(self, polynomial: Polynomial) -> tuple[int, list[Any]]:
        """An order of polynomials that does not depend on hashes: short ones first."""
        return len(polynomial), sorted(polynomial.items())

    def pairs_in(self, polynomial: Polynomial) -> list[int]:
        """Which pairs of sine and cosine occur."""
        return [
            k
            for k, pair in enumerate(self.pairs)
            if any(m[pair.sine] or m[pair.cosine] for m in polynomial)
        ]

    def derivative(self, polynomial: Polynomial, place: int) -> Polynomial:
        """The derivative by one generator."""
        found = {}
        for monomial, coefficient in polynomial.items():
            if monomial[place]:
                lower = tuple(p - 1 if k == place else p for k, p in enumerate(monomial))
                found[lower] = coefficient * monomial[place]
        self.work.spend(len(found))
        return self.from_terms(found)

    # -- Pythagoras --------------------------------------------------------------------------------

    def reduced(self, polynomial: Polynomial) -> Polynomial:
        """With at most the first power of each sine and of each root."""
        for place, square in self.roots.items():
            if any(monomial[place] > 1 for monomial in polynomial):
                polynomial = self._without_squares(polynomial, place, square)
        for pair in self.pairs:
            polynomial = self._exchanged(polynomial, pair.sine, pair.cosine)
        return polynomial

    def _without_squares(
        self, polynomial: Polynomial, place: int, square: Polynomial
    ) -> Polynomial:
        parts: dict[int, dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in polynomial.items():
            half, rest = divmod(monomial[place], 2)
            lower = tuple(rest if k == place else p for k, p in enumerate(monomial))
            parts.setdefault(half, {})[lower] = coefficient
        found = self.zero
        for half, terms in parts.items():
            found += (
                self.product(self.from_terms(terms), self.power(square, half))
                if half
                else self.from_terms(terms)
            )
        return found

    def _exchanged(self, polynomial: Polynomial, out: int, into: int) -> Polynomial:
        """Keep at most the first power of the generator `out`, whose square is 1 - `into`^2."""
        if all(monomial[out] < 2 for monomial in polynomial):
            return polynomial
        found: dict[tuple[int, ...], int] = {}
        for monomial, coefficient in polynomial.items():
            half, rest = divmod(monomial[out], 2)
            self.work.spend(half + 1)
            for k in range(half + 1):
                changed = list(monomial)
                changed[out], changed[into] = rest, monomial[into] + 2 * k
                place = tuple(changed)
                found[place] = found.get(place, 0) + coefficient * comb(half, k) * (-1) ** k
        return self.from_terms({m: c for m, c in found.items() if c})

    def variants(self, polynomial: Polynomial) -> list[Polynomial]:
        """Rewrite a polynomial in first powers of sine or cosine, for up to three angles."""
        found: list[Polynomial] = []
        used = [self.pairs[k] for k in self.pairs_in(polynomial)[:3]]
        for choice in product((False, True), repeat=len(used)):
            changed = polynomial
            for pair, swapped in zip(used, choice, strict=True):
                if swapped:
                    changed = self._exchanged(changed, pair.cosine, pair.sine)
            if changed not in found:
                found.append(changed)
        return found

    def turned(self, polynomial: Polynomial, first: int, second: int, sign: int) -> Polynomial:
        """Substitute u_first = d + sign u_second: sine and cosine of d replace those of u_first."""
        one, other = self.pairs[first], self.pairs[second]
        d_sine, d_cosine, sine, cosine = (
            self.generators[k] for k in (one.sine, one.cosine, other.sine, other.cosine)
        )
        new_sine = d_sine * cosine + sign * d_cosine * sine
        new_cosine = d_cosine * cosine - sign * d_sine * sine
        parts: dict[tuple[int, int], dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in polynomial.items():
            rest = tuple(0 if k in (one.sine, one.cosine) else p for k, p in enumerate(monomial))
            parts.setdefault((monomial[one.sine], monomial[one.cosine]), {})[rest] = coefficient
        found = self.zero
        for (a, b), terms in sorted(parts.items()):
            turned = self.product(self.power(new_sine, a), self.power(new_cosine, b))
            found += self.product(self.from_terms(terms), turned)
        return found

    # -- division and factors ----------------------------------------------------------------------

    def divided(self, polynomial: Polynomial, factor: Polynomial) -> Polynomial | None:
        """A reduced polynomial divided by a reduced factor, or None where there is a remainder.

        N / f = N f' / (f f') with f' the product of the conjugates of f, s_j -> -s_j: f f' has no
        sines or roots, and division in the other generators decides.
        """
        conjugate = self.one
        for place in (*self.roots, *(pair.sine for pair in self.pairs)):
            if any(monomial[place] for monomial in factor):
                other = self.from_terms({m: -c if m[place] else c for m, c in factor.items()})
                conjugate, factor = self.product(conjugate, other), self.product(factor, other)
        return self.divided_as_it_stands(self.product(polynomial, conjugate), factor)

    def divided_as_it_stands(self, above: Polynomial, below: Polynomial) -> Polynomial | None:
        """Division of polynomials without Pythagoras."""
        lead = max(below)
        if len(below) == 1:
            if any(
                c % below[lead] or any(a < b for a, b in zip(m, lead, strict=True))
                for m, c in above.items()
            ):
                return None
            self.work.spend(len(above))
            return self.from_terms({_minus(m, lead): c // below[lead] for m, c in above.items()})
        rest, found = dict(above), {}
        while rest:
            top = max(rest)
            place = _minus(top, lead)
            if min(place) < 0 or rest[top] % below[lead]:
                return None
            self.work.spend(len(below) + len(rest) // 8)
            found[place] = ratio = rest[top] // below[lead]
            for monomial, coefficient in below.items():
                spot = tuple(a + b for a, b in zip(place, monomial, strict=True))
                value = rest.get(spot, 0) - ratio * coefficient
                if value:
                    rest[spot] = value
                else:
                    del rest[spot]
        return self.from_terms(found)

    def factors(self, polynomial: Polynomial) -> Factors:
        """Factor the smallest variant of a polynomial: an integer, and factors with powers."""
        known = self._factors.get(polynomial)
        if known is None:
            known = self._factors[polynomial] = self.split(
                min(self.variants(polynomial), key=self.key)
            )
        return known

    def split(self, polynomial: Polynomial) -> Factors:
        """The same for the polynomial as it stands."""
        if not polynomial:
            return 0, ()
        content = gcd(*(int(c) for c in polynomial.values())) * (
            -1 if polynomial[max(polynomial)] < 0 else 1
        )
        lowest = tuple(min(exponents) for exponents in zip(*polynomial, strict=True))
        found = [(self.generators[k], power) for k, power in enumerate(lowest) if power]
        rest = self.from_terms({_minus(m, lowest): c // content for m, c in polynomial.items()})
        if len(rest) > 1:
            found += self._irreducible(rest)
        return content, tuple((self.reduced(factor), power) for factor, power in found)

    def _irreducible(self, polynomial: Polynomial) -> list[tuple[Polynomial, int]]:
        """The irreducible factors of a primitive polynomial that no generator divides.

        In a generator g of the first degree it is a g + b: what divides it divides a and b, or is
        the rest.
        """
        degrees = [max(exponents) for exponents in zip(*polynomial, strict=True)]
        self.work.spend(len(polynomial))
        if 1 not in degrees:
            return self._searched(polynomial, degrees)
        _, place = min(
            (sum(m[k] for m in polynomial), k) for k, degree in enumerate(degrees) if degree == 1
        )
        derivative = {
            tuple(0 if k == place else p for k, p in enumerate(m)): c
            for m, c in polynomial.items()
            if m[place]
        }
        if len(derivative) == 1:
            return [(polynomial, 1)]
        without = {m: c for m, c in polynomial.items() if not m[place]}
        found: list[tuple[Polynomial, int]] = []
        for factor, _ in self.split(
            min(self.from_terms(derivative), self.from_terms(without), key=self.key)
        )[1]:
            power = 0
            while (
                len(factor) > 1
                and (rest := self.divided_as_it_stands(polynomial, factor)) is not None
            ):
                polynomial, power = rest, power + 1
            found += [(factor, power)] if power else []
        return [(polynomial, 1), *found]

    def _searched(self, polynomial: Polynomial, degrees: list[int]) -> list[tuple[Polynomial, int]]:
        """SymPy's factors of a small polynomial, in the generators that it holds."""
        if len(polynomial) > SEARCHED_TERMS or max(map(sum, polynomial)) > SEARCHED_DEGREE:
            return [(polynomial, 1)]
        if polynomial in self._found:
            return self._found[polynomial]
        self.work.spend(20 * len(polynomial) ** 2)
        used = [k for k, degree in enumerate(degrees) if degree]
        small = PolyRing([sympy.Symbol(f"g{k}") for k in used], ZZ, "lex")
        _, factors = small.from_dict(
            {tuple(m[k] for k in used): c for m, c in polynomial.items()}
        ).factor_list()
        self._found[polynomial] = [
            (self._widened(factor, used), power) for factor, power in factors
        ]
        return self._found[polynomial]

    def _widened(self, polynomial: Polynomial, used: list[int]) -> Polynomial:
        def wide(monomial: tuple[int, ...]) -> Iterator[int]:
            exponents = dict(zip(used, monomial, strict=True))
            return (exponents.get(k, 0) for k in range(len(self.generators)))

        return self.from_terms({tuple(wide(m)): c for m, c in polynomial.items()})


def _minus(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(left, right, strict=True))
