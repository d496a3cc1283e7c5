r"""The smallest of several ways to write a quotient of polynomials in symbols, sines and cosines.

A polynomial is split into factors, grouped by the symbols that the reader looks for (velocities,
momenta), by its sums of sines and cosines, by the symbol that most terms share, and by complete
squares; sines and cosines are written with one of them eliminated by Pythagoras' theorem, in sums
and differences of the angles, or as sums over multiple angles,

    s c = sin(2 u) / 2,      c_1 c_2 + s_1 s_2 = cos(u_1 - u_2),      s / c = tan(u)

and the one with the fewest symbols wins. The search is bounded by the number of terms that it looks
at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import gcd, isqrt, lcm

import sympy

from .quotients import Generators, PolynomialQuotient
from .trigonometric_ring import Polynomial, TooMuchWorkError, Work
from .written_terms import (
    FourierTerms,
    circular_product,
    common_content,
    is_mostly_negative,
    multiplied,
    rational_number,
    size,
    times_fourier_term,
)

__all__ = ["LOOKS", "QuotientPrinter"]

#: The number of terms that are looked at in the search.
LOOKS = 3_000
#: How many candidates are followed at each level, and the sums short enough for more.
BRANCHES, MORE_BRANCHES, MORE_BRANCHES_TERMS = 2, 3, 8
#: Allowed growth of a sum grouped by velocities, and the terms above which it always is grouped.
PATIENCE, UNGROUPED_TERMS = 1.4, 24
#: Sums with more terms are not searched for squares, or for shared sums.
SQUARED_TERMS, SHARED_TERMS = 16, 24


class QuotientPrinter:
    """Writes quotients of one set of generators.

    >>> u, a, b = sympy.symbols("u a b")
    >>> expression = a**2 * sympy.sin(u) ** 2 + a**2 * sympy.cos(u) ** 2 + 2 * a * b + b**2
    >>> generators = Generators([expression])
    >>> QuotientPrinter(generators).quotient(generators.read(expression))
    (a + b)**2

    Parameters
    ----------
    generators : Generators
    collected : iterable of symbols
        Symbols by which sums are grouped where that is not much longer: velocities, momenta.
    work : Work
        The number of terms looked at after which sums are written as they stand.
    """

    def __init__(
        self,
        generators: Generators,
        collected: Iterable[sympy.Symbol] = (),
        work: Work | None = None,
    ) -> None:
        self.generators, self.ring, self._work = generators, generators.ring, work or Work(LOOKS)
        self._collected = {
            generators.places[head] for head in collected if head in generators.places
        }
        self._turning = {place for pair in self.ring.pairs for place in (pair.sine, pair.cosine)}
        self._memory: dict[tuple[Polynomial, int], sympy.Expr] = {}
        self._turned: dict[tuple[int, int, int], QuotientPrinter] = {}

    # -- quotients ---------------------------------------------------------------------------------

    def quotient(self, quotient: PolynomialQuotient) -> sympy.Expr:
        """Write a quotient as one fraction, or as a grouped sum where that is not much longer."""
        if not quotient.above:
            return sympy.S.Zero
        try:
            return self._smallest_quotient(quotient)
        except TooMuchWorkError:
            below = sympy.Mul(*(self._nested(factor) ** -power for factor, power in quotient.below))
            return multiplied(
                self._nested(quotient.above), below, sympy.Rational(1, quotient.divisor)
            )

    def _smallest_quotient(self, quotient: PolynomialQuotient) -> sympy.Expr:
        groups = self._by_places(quotient.above, self._collected)
        if len(groups) < 2:
            return self._fraction(quotient)
        parts = []
        for monomial, coefficient in groups:
            own = self.generators.shortened(coefficient, quotient.divisor, dict(quotient.below))
            parts.append(multiplied(self._fraction(own), self.generators.monomial(monomial)))
        (rest, _), *common = self._monomial_apart(quotient.above)
        inner = [
            multiplied(self.polynomial(c), self.generators.monomial(m))
            for m, c in self._by_places(rest, self._collected)
        ]
        below = [(factor, -power) for factor, power in quotient.below]
        outer = self._product(Fraction(1, quotient.divisor), [*common, *below])
        grouped = min(sympy.Add(*parts), multiplied(sympy.Add(*inner), outer), key=size)
        if len(quotient.above) > UNGROUPED_TERMS:
            return grouped
        whole = self._fraction(quotient)
        return whole if PATIENCE * size(whole) < size(grouped) else grouped

    def _fraction(self, quotient: PolynomialQuotient) -> sympy.Expr:
        below = [(factor, -power) for factor, power in quotient.below]
        found = [
            self._product(
                Fraction(1, quotient.divisor), [*self._monomial_apart(quotient.above), *below]
            )
        ]
        if len(quotient.above) > 1:
            content, factors = self.ring.factors(quotient.above)
            found.append(self._product(Fraction(content, quotient.divisor), [*factors, *below]))
        return min(found, key=size)

    def _monomial_apart(self, polynomial: Polynomial) -> list[tuple[Polynomial, int]]:
        """The rest, the generators that all terms share, and their common number."""
        lowest = tuple(min(exponents) for exponents in zip(*polynomial, strict=True))
        content = common_content(polynomial)
        rest = {
            tuple(a - b for a, b in zip(m, lowest, strict=True)): c // content
            for m, c in polynomial.items()
        }
        shared = [(self.ring.generators[k], power) for k, power in enumerate(lowest) if power]
        return [
            (self.ring.from_terms(rest), 1),
            *shared,
            *([(self.ring.one * content, 1)] if content != 1 else []),
        ]

    def _product(
        self, coefficient: Fraction, factors: Sequence[tuple[Polynomial, int]]
    ) -> sympy.Expr:
        """Multiply powers of polynomials, combining sines and cosines of the same angle."""
        powers: dict[int, int] = {}
        sums: dict[Polynomial, int] = {}
        for factor, power in factors:
            if factor in self.ring.generators:
                place = self.ring.generators.index(factor)
                powers[place] = powers.get(place, 0) + power
            else:
                sums[factor] = sums.get(factor, 0) + power
        coefficient = self._with_roots_below(coefficient, powers, sums)
        parts: list[sympy.Expr] = []
        for factor, power in sums.items():
            written = self.polynomial(factor)
            if (
                coefficient < 0 > power
                and power % 2
                and written.is_Add
                and not is_mostly_negative(-written)
            ):
                written, coefficient = -written, -coefficient
            parts.append(written**power)
        parts += [
            self.generators.generators[k] ** power
            for k, power in powers.items()
            if k not in self._turning
        ]
        number = rational_number(coefficient)
        for angle, pair in zip(self.generators.angles, self.ring.pairs, strict=True):
            s, c = powers.get(pair.sine, 0), powers.get(pair.cosine, 0)
            if s or c:
                ways = circular_product(number, angle, s, c)
                number, turned = min(
                    ways, key=lambda way: size(way[0] * sympy.Dummy()) + size(way[1])
                )
                parts.append(turned)
        return multiplied(number, *parts)

    def _with_roots_below(
        self, coefficient: Fraction, powers: dict[int, int], sums: dict[Polynomial, int]
    ) -> Fraction:
        """g / g^2 as 1 / g, for roots g."""
        for place, square in self.ring.roots.items():
            if powers.get(place) == 1:
                content, factors = self.ring.factors(square)
                factor, power = factors[0] if len(factors) == 1 else (square, 0)
                if power == 1 and sums.get(factor, 0) < 0:
                    coefficient, powers[place] = coefficient * content, -1
                    sums[factor] = sums[factor] + 1
        return coefficient

    # -- polynomials -------------------------------------------------------------------------------

    def polynomial(self, polynomial: Polynomial, depth: int = 0) -> sympy.Expr:
        """A polynomial in the smallest way found."""
        key = (polynomial, min(depth, BRANCHES))
        if key not in self._memory:
            # A way that leads back to the same polynomial finds it as it is, and is not the
            # smallest.
            self._memory[key] = self.generators.written(polynomial)
            self._memory[key] = self._smallest(polynomial, depth)
        return self._memory[key]

    def _smallest(self, polynomial: Polynomial, depth: int) -> sympy.Expr:
        if len(polynomial) == 1:
            return self._single(polynomial)
        try:
            self._work.spend(len(polynomial))
            found = [
                way for writer, same in self._ways(polynomial) for way in writer._sums(same, depth)
            ]
        except TooMuchWorkError:
            return self._nested(polynomial)
        return min(found, key=size)

    def _nested(self, polynomial: Polynomial) -> sympy.Expr:
        """Nest as g A + B by the generator that most terms share, repeatedly and without search."""
        counts = [sum(1 for m in polynomial if m[k]) for k in range(len(self.ring.generators))]
        most = max(counts)
        if most < 2 or len(polynomial) < 3:
            return self.generators.written(polynomial)
        place = counts.index(most)
        (rest, _), *shared = self._monomial_apart(
            self.ring.from_terms({m: c for m, c in polynomial.items() if m[place]})
        )
        others = self.ring.from_terms({m: c for m, c in polynomial.items() if not m[place]})
        outer = sympy.Mul(*(self.generators.written(factor) ** power for factor, power in shared))
        if others:
            return multiplied(self._nested(rest), outer) + self._nested(others)
        return multiplied(self._nested(rest), outer)

    def _single(self, polynomial: Polynomial) -> sympy.Expr:
        ((monomial, coefficient),) = polynomial.items()
        factors = [(self.ring.generators[k], power) for k, power in enumerate(monomial) if power]
        return self._product(Fraction(int(coefficient)), factors)

    def _ways(self, polynomial: Polynomial) -> list[tuple[QuotientPrinter, Polynomial]]:
        """List the ways to write a polynomial in sines, cosines, sums or differences of angles."""
        ring, reduced = self.ring, self.ring.reduced(polynomial)
        found: list[tuple[QuotientPrinter, Polynomial]] = [
            (self, way) for way in ring.variants(reduced)
        ]
        fewest = min(len(way) for _, way in found)
        used = ring.pairs_in(polynomial)[:3]
        for first, second, sign in product(used, used, (1, -1)):
            if first != second:
                ways = ring.variants(ring.turned(reduced, first, second, sign))
                if min(map(len, ways)) < fewest:
                    found += [(self._turned_writer(first, second, sign), way) for way in ways]
        return sorted(found, key=lambda pair: ring.key(pair[1]))[:BRANCHES]

    def _turned_writer(self, first: int, second: int, sign: int) -> QuotientPrinter:
        turn = (first, second, sign)
        if turn not in self._turned:
            self._turned[turn] = QuotientPrinter(
                self.generators.with_difference(*turn), work=self._work
            )
        return self._turned[turn]

    def _sums(self, polynomial: Polynomial, depth: int) -> Iterator[sympy.Expr]:
        """Ways to write a polynomial, most of them as a sum."""
        if len(polynomial) == 1:
            yield self._single(polynomial)
            return
        content, factors = self.ring.split(polynomial)
        is_product = len(factors) > 1 or factors[0][1] > 1 or abs(content) > 1
        if is_product:
            yield self._product(Fraction(content), factors)
            (rest, _), *shared = self._monomial_apart(polynomial)
            if shared:
                yield self._product(Fraction(1), [(rest, 1), *shared])
        used = {k for monomial in polynomial for k, power in enumerate(monomial) if power}
        if used <= self._turning:
            yield self.generators.written(polynomial)
            yield from self._wave_sums(polynomial)
        elif not is_product:
            if used & self._turning:
                yield self._by_sums_of_sines(polynomial, depth)
            yield from self._by_common_symbol(polynomial, depth)
            yield from self._by_shared_sum(polynomial, depth)
            yield from self._with_a_square(polynomial, depth)
        yield self.generators.written(polynomial)

    def _by_places(
        self, polynomial: Polynomial, places: set[int]
    ) -> list[tuple[tuple[int, ...], Polynomial]]:
        """The polynomial as monomials in some generators, each with its coefficient."""
        groups: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
        for monomial, coefficient in polynomial.items():
            head = tuple(power if k in places else 0 for k, power in enumerate(monomial))
            rest = tuple(0 if k in places else power for k, power in enumerate(monomial))
            groups.setdefault(head, {})[rest] = coefficient
        return [
            (head, self.ring.from_terms(rest))
            for head, rest in sorted(groups.items(), reverse=True)
        ]

    def _by_sums_of_sines(self, polynomial: Polynomial, depth: int) -> sympy.Expr:
        """Sum of T P, T a sum of sines and cosines and P a polynomial in the symbols."""
        symbols = {k for k in range(len(self.ring.generators)) if k not in self._turning}
        groups: dict[Polynomial, dict[tuple[int, ...], int]] = {}
        for monomial, turning in self._by_places(polynomial, symbols):
            content = abs(common_content(turning)) * (1 if turning[max(turning)] > 0 else -1)
            primitive = self.ring.from_terms({m: c // content for m, c in turning.items()})
            groups.setdefault(primitive, {})[monomial] = content
        parts = []
        for turning, terms in groups.items():
            factor = self.polynomial(self.ring.from_terms(terms), depth + 1)
            parts.append(
                factor if turning == self.ring.one else multiplied(factor, self.polynomial(turning))
            )
        return sympy.Add(*parts)

    def _by_common_symbol(self, polynomial: Polynomial, depth: int) -> Iterator[sympy.Expr]:
        """g A + B with a generator g that several terms share."""
        counts = [sum(1 for m in polynomial if m[k]) for k in range(len(self.ring.generators))]
        ranked = sorted(
            (k for k, count in enumerate(counts) if count > 1), key=lambda k: (-counts[k], k)
        )
        branches = (
            MORE_BRANCHES if len(polynomial) <= MORE_BRANCHES_TERMS else max(1, BRANCHES - depth)
        )
        for k in ranked[:branches]:
            shared = self.ring.from_terms({m: c for m, c in polynomial.items() if m[k]})
            rest = self.ring.from_terms({m: c for m, c in polynomial.items() if not m[k]})
            if rest:
                yield self._product(Fraction(1), self._monomial_apart(shared)) + self.polynomial(
                    rest, depth + 1
                )

    def _by_shared_sum(self, polynomial: Polynomial, depth: int) -> Iterator[sympy.Expr]:
        """f Q + R with a sum f that the coefficients of several generators share."""
        if not 4 <= len(polynomial) <= SHARED_TERMS:
            return
        owners: dict[Polynomial, list[int]] = {}
        for k in range(len(self.ring.generators)):
            shared = self.ring.from_terms({m: c for m, c in polynomial.items() if m[k]})
            if len(shared) > 1:
                for factor, _ in self.ring.split(shared)[1]:
                    if len(factor) > 1:
                        owners.setdefault(factor, []).append(k)
        for factor, places in sorted(owners.items(), key=lambda pair: -len(pair[1]))[:BRANCHES]:
            quotient, rest = self.ring.zero, polynomial
            for k in places:
                part = self.ring.from_terms({m: c for m, c in rest.items() if m[k]})
                share = self.ring.divided_as_it_stands(part, factor) if part else None
                if share is not None:
                    quotient, rest = quotient + share, rest - part
            if len(quotient) > 1:
                written = self._product(Fraction(1), [(factor, 1), *self._monomial_apart(quotient)])
                yield written + self.polynomial(rest, depth + 1) if rest else written

    def _with_a_square(self, polynomial: Polynomial, depth: int) -> Iterator[sympy.Expr]:
        """(a + b)^2 + rest, the first that is found."""
        if len(polynomial) > SQUARED_TERMS:
            return
        squares = [
            (m, int(c))
            for m, c in sorted(polynomial.items(), reverse=True)
            if all(p % 2 == 0 for p in m)
        ]
        for i, (first, a) in enumerate(squares):
            for second, b in squares[i + 1 :]:
                cross = tuple((p + q) // 2 for p, q in zip(first, second, strict=True))
                c = int(polynomial.get(cross, 0))
                common = gcd(a, b) * (1 if a > 0 else -1)
                if not c or c * c != 4 * a * b or isqrt(a // common) ** 2 != a // common:
                    continue
                halves = (tuple(p // 2 for p in m) for m in (first, second))
                values = (isqrt(a // common), isqrt(b // common) * (1 if c * common > 0 else -1))
                root = self.ring.from_terms(dict(zip(halves, values, strict=True)))
                rest = self.ring.from_terms(
                    {m: k for m, k in polynomial.items() if m not in (first, second, cross)}
                )
                square = self._product(Fraction(common), [(root, 2)])
                yield square + self.polynomial(rest, depth + 1) if rest else square
                return

    # -- sums of sines and cosines -----------------------------------------------------------------

    def _wave_sums(self, polynomial: Polynomial) -> Iterator[sympy.Expr]:
        """A polynomial in sines and cosines alone as a sum over multiple angles."""
        sinusoids = self._sinusoids(polynomial)
        terms = []
        for multiples, (cosine, sine) in sinusoids.items():
            argument = sympy.Add(
                *(k * angle for k, angle in zip(multiples, self.generators.angles, strict=True))
            )
            terms.append(
                rational_number(cosine) * sympy.cos(argument)
                + rational_number(sine) * sympy.sin(argument)
            )
        yield sympy.Add(*terms)
        scale = lcm(*(value.denominator for pair in sinusoids.values() for value in pair))
        if scale > 1 and len(terms) > 1:
            yield sympy.Mul(
                sympy.Rational(1, scale),
                sympy.Add(*(scale * term for term in terms)),
                evaluate=False,
            )

    def _sinusoids(self, polynomial: Polynomial) -> FourierTerms:
        """a cos + b sin of integer combinations of the angles."""
        total: FourierTerms = {}
        none = (0,) * len(self.generators.angles)
        for monomial, coefficient in sorted(polynomial.items()):
            sinusoids: FourierTerms = {none: (Fraction(int(coefficient)), Fraction(0))}
            for place, pair in enumerate(self.ring.pairs):
                for is_sine, times in ((False, monomial[pair.cosine]), (True, monomial[pair.sine])):
                    for _ in range(times):
                        sinusoids = times_fourier_term(sinusoids, place, is_sine)
                        self._work.spend(len(sinusoids))
            for multiples, (a, b) in sinusoids.items():
                old = total.get(multiples, (Fraction(0), Fraction(0)))
                total[multiples] = (old[0] + a, old[1] + b)
        return {
            multiples: pair for multiples, pair in sorted(total.items(), reverse=True) if any(pair)
        }
