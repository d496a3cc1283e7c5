r"""Expressions read as quotients of polynomials in symbols, sines and cosines, in lowest terms.

    N / (k D_1^e_1 D_2^e_2 ...),        N, D_i polynomials of a `CircleRing`

Arguments of sines and cosines are integer combinations of a few angles. Denominators are products
of small factors: common factors are found by division, without greatest common divisors. Functions
of other kinds and roots are symbols of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import sympy

from .trigonometric_ring import CircleRing, Polynomial, SineCosine, TooMuchWorkError, Work

__all__ = ["AngleSubstitution", "Generators", "PolynomialQuotient"]

#: The work after which an expression stays as it is.
EFFORT = 150_000
#: What it costs to look at a node of a tree, and to write a term, in products of terms.
NODE, TERM = 10, 50

_CIRCULAR = (sympy.sin, sympy.cos, sympy.tan, sympy.cot, sympy.sec, sympy.csc)


@dataclass(frozen=True)
class AngleSubstitution:
    """The angle d = first - sign second, in which sines and cosines of `first` are written."""

    first: sympy.Expr
    second: sympy.Expr
    sign: int

    @property
    def difference(self) -> sympy.Expr:
        return self.first - self.sign * self.second


@dataclass(frozen=True)
class PolynomialQuotient:
    """numerator / (divisor * denominator product); the factors are primitive, with their powers."""

    above: Polynomial
    divisor: int = 1
    below: tuple[tuple[Polynomial, int], ...] = ()


class Generators:
    """The generators of some expressions, and arithmetic with quotients in them.

    >>> a, phi = sympy.symbols("a phi")
    >>> expression = a * sympy.tan(phi) * sympy.sin(2 * phi) + 2 * a * sympy.cos(phi) ** 2
    >>> generators = Generators([expression])
    >>> generators.expression(generators.read(expression))
    2*a

    Parameters
    ----------
    expressions : iterable
        Everything that will be read, or expressions with the same symbols.
    work : Work
        What may be done before `TooMuchWorkError` is raised.
    turns : sequence of AngleSubstitution
        Differences of angles that stand for one of them.
    inside : callable
        What is done with the arguments of functions that are not circular.

    Attributes
    ----------
    generators : tuple of expressions
        Symbols first, then a sine and a cosine for each angle.
    angles : tuple of expressions
        The arguments, in the order of ``ring.pairs``.
    """

    def __init__(
        self,
        expressions: Iterable[sympy.Expr],
        work: Work | None = None,
        turns: Sequence[AngleSubstitution] = (),
        inside: Callable[[sympy.Expr], sympy.Expr] = lambda expression: expression,
    ) -> None:
        self._inside, self._turns, self._work = inside, tuple(turns), work or Work(EFFORT)
        self._opaque: dict[sympy.Expr, tuple[sympy.Expr, int]] = {}
        self._arguments: dict[sympy.Expr, dict[sympy.Expr, Fraction]] = {}
        self._memory: dict[sympy.Expr, PolynomialQuotient] = {}
        symbols: set[sympy.Expr] = set()
        for expression in expressions:
            self._scan(expression, symbols)
        self._units = _units(self._arguments.values())
        ordered, bases = sorted(symbols, key=_order), sorted(self._units, key=_order)
        units = [(base, self._units[base]) for base in bases]
        self.angles = tuple(b * sympy.Rational(u.numerator, u.denominator) for b, u in units)
        turning = [function(angle) for angle in self.angles for function in (sympy.sin, sympy.cos)]
        self.generators: tuple[sympy.Expr, ...] = (*ordered, *turning)
        self.places = {symbol: k for k, symbol in enumerate(ordered)}
        self._pair_of = {base: k for k, base in enumerate(bases)}
        pairs = [
            SineCosine(len(ordered) + 2 * k, len(ordered) + 2 * k + 1) for k in range(len(bases))
        ]
        self.ring = CircleRing(len(self.generators), pairs, self._work)
        for symbol in ordered:
            self._add_root(symbol)

    def _add_root(self, symbol: sympy.Expr) -> None:
        """Register a square root or absolute value whose square is a polynomial."""
        if isinstance(symbol, sympy.Abs):  # SymPy would take the square of a Piecewise case by case
            value = self.power(self.read(symbol.args[0]), 2)
        elif symbol.is_Pow and symbol.exp == sympy.Rational(1, 2):
            value = self.read(symbol.base)
        else:
            return
        if value.divisor == 1 and not value.below:
            self.ring.add_root(self.places[symbol], value.above)

    def allow(self, work: Work) -> None:
        """What may be done from now on."""
        self._work = self.ring.work = work

    def with_difference(self, first: int, second: int, sign: int) -> Generators:
        """The same generators with `first` for u_first - sign u_second; for writing only."""
        other, generators, angles = copy(self), list(self.generators), list(self.angles)
        angles[first] = angle = angles[first] - sign * angles[second]
        pair = self.ring.pairs[first]
        generators[pair.sine], generators[pair.cosine] = sympy.sin(angle), sympy.cos(angle)
        other.generators, other.angles = tuple(generators), tuple(angles)
        return other

    # -- what an expression is made of -------------------------------------------------------------

    def _scan(self, expression: sympy.Expr, symbols: set[sympy.Expr]) -> None:
        pending, seen = [expression], set()
        while pending:
            node = pending.pop()
            if node in seen or node.is_Rational:
                continue
            seen.add(node)
            self._work.spend(NODE)
            if node.is_Add or node.is_Mul or (node.is_Pow and node.exp.is_Integer):
                pending += node.args[:1] if node.is_Pow else node.args
            elif isinstance(node, _CIRCULAR):
                self._arguments[node.args[0]] = _combination(node.args[0], self._turns)
                pending += [
                    base
                    for base in self._arguments[node.args[0]]
                    if not base.is_Symbol and not base.is_Add
                ]
            elif isinstance(node, sympy.sign):
                pending += [sympy.Abs(node.args[0]), node.args[0]]
            else:
                symbol = self._symbol(node)[0]
                symbols.add(symbol)
                if isinstance(symbol, sympy.Abs) or (
                    symbol.is_Pow and symbol.exp == sympy.Rational(1, 2)
                ):
                    pending.append(symbol.args[0])

    def _symbol(self, node: sympy.Expr) -> tuple[sympy.Expr, int]:
        """Return an expression's symbol and its power: sqrt(x)**3 is sqrt(x) to the 3."""
        if node not in self._opaque:
            symbol, power = node, 1
            if node.is_Float and node < 0:
                symbol = -node
            elif node.is_Pow and node.exp.is_Rational:
                symbol = self._inside(node.base) ** sympy.Rational(1, node.exp.q)
                power = int(node.exp.p)
            elif node.args:
                symbol = node.func(
                    *(self._inside(a) if isinstance(a, sympy.Expr) else a for a in node.args)
                )
            self._opaque[node] = (symbol, power)
        return self._opaque[node]

    # -- reading -----------------------------------------------------------------------------------

    def read(self, expression: sympy.Expr) -> PolynomialQuotient:
        """The quotient that an expression is, in lowest terms as far as its factors show."""
        known = self._memory.get(expression)
        if known is None:
            known = self._memory[expression] = self._read(expression)
        return known

    def _read(self, node: sympy.Expr) -> PolynomialQuotient:
        ring = self.ring
        if node.is_Rational:
            return PolynomialQuotient(ring.one * int(node.p), int(node.q))
        if node.is_Add:
            return self.total([self.read(term) for term in node.args])
        if node.is_Mul:
            return self.times([self.read(factor) for factor in node.args])
        if node.is_Pow and node.exp.is_Integer:
            return self.power(self.read(node.base), int(node.exp))
        if isinstance(node, sympy.sign):
            return self.times(
                [self.read(sympy.Abs(node.args[0])), self.power(self.read(node.args[0]), -1)]
            )
        if isinstance(node, _CIRCULAR):
            return self._circular(type(node), self._arguments[node.args[0]])
        symbol, power = self._symbol(node)
        sign = -1 if node.is_Float and node < 0 else 1
        return self.power(PolynomialQuotient(sign * ring.generators[self.places[symbol]]), power)

    def _circular(
        self, kind: type[sympy.Expr], combination: dict[sympy.Expr, Fraction]
    ) -> PolynomialQuotient:
        ring = self.ring
        sine, cosine = ring.zero, ring.one
        for base, coefficient in combination.items():
            pair, multiple = ring.pairs[self._pair_of[base]], int(coefficient / self._units[base])
            s, c = ring.generators[pair.sine], ring.generators[pair.cosine]
            turn = s if multiple > 0 else -s
            for _ in range(abs(multiple)):
                sine, cosine = (
                    ring.product(sine, c) + ring.product(cosine, turn),
                    ring.product(cosine, c) - ring.product(sine, turn),
                )
        above, below = {
            sympy.sin: (sine, ring.one),
            sympy.cos: (cosine, ring.one),
            sympy.tan: (sine, cosine),
            sympy.cot: (cosine, sine),
            sympy.sec: (ring.one, cosine),
            sympy.csc: (ring.one, sine),
        }[kind]
        return self.times([PolynomialQuotient(above), self.power(PolynomialQuotient(below), -1)])

    def expression(self, quotient: PolynomialQuotient) -> sympy.Expr:
        """A quotient as an expression: the numerator term by term, the denominator in factors."""
        self._work.spend(TERM * len(quotient.above))
        below = sympy.Mul(*(self.written(factor) ** -power for factor, power in quotient.below))
        return self.written(quotient.above) * below / quotient.divisor

    def written(self, polynomial: Polynomial) -> sympy.Expr:
        """A polynomial as an expression, term by term."""
        return sympy.Add(*(int(c) * self.monomial(m) for m, c in sorted(polynomial.items())))

    def monomial(self, exponents: Sequence[int]) -> sympy.Expr:
        """A product of powers of generators."""
        return sympy.Mul(
            *(g**power for g, power in zip(self.generators, exponents, strict=False) if power)
        )

    # -- arithmetic --------------------------------------------------------------------------------

    def total(self, terms: Sequence[PolynomialQuotient]) -> PolynomialQuotient:
        """The sum over a common denominator, shortened."""
        ring, by_denominator = self.ring, dict[Any, Polynomial]()
        for term in terms:
            key = (term.divisor, term.below)
            by_denominator[key] = by_denominator.get(key, ring.zero) + term.above
        terms = [PolynomialQuotient(above, *key) for key, above in by_denominator.items() if above]
        if not terms:
            return PolynomialQuotient(ring.zero)
        divisor, powers = lcm(*(term.divisor for term in terms)), dict[Polynomial, int]()
        for term in terms:
            for factor, power in term.below:
                powers[factor] = max(power, powers.get(factor, 0))
        above = ring.zero
        for term in terms:
            own, extended = dict(term.below), term.above * (divisor // term.divisor)
            for factor, power in powers.items():
                for _ in range(power - own.get(factor, 0)):
                    extended = ring.product(extended, factor)
            above += extended
        return self.shortened(above, divisor, powers)

    def times(self, factors: Sequence[PolynomialQuotient]) -> PolynomialQuotient:
        """The product, shortened."""
        above, divisor, powers = self.ring.one, 1, dict[Polynomial, int]()
        for factor in sorted(factors, key=lambda item: len(item.above)):
            above, divisor = self.ring.product(above, factor.above), divisor * factor.divisor
            for base, power in factor.below:
                powers[base] = powers.get(base, 0) + power
        return self.shortened(above, divisor, powers)

    def power(self, base: PolynomialQuotient, exponent: int) -> PolynomialQuotient:
        """An integer power; a negative one splits the numerator into factors."""
        if exponent < 0:
            base, exponent = self._inverse(base), -exponent
        below = (
            tuple((factor, power * exponent) for factor, power in base.below) if exponent else ()
        )
        return PolynomialQuotient(
            self.ring.power(base.above, exponent), base.divisor**exponent, below
        )

    def _inverse(self, quotient: PolynomialQuotient) -> PolynomialQuotient:
        content, factors = self.ring.factors(quotient.above)
        if not content:
            raise TooMuchWorkError  # a division by zero is left as it stands
        above = self.ring.one * quotient.divisor * (1 if content > 0 else -1)
        for factor, power in quotient.below:
            above = self.ring.product(above, self.ring.power(factor, power))
        return self.shortened(above, abs(content), dict(factors))

    def derivative(self, quotient: PolynomialQuotient, symbol: sympy.Symbol) -> PolynomialQuotient:
        """Differentiate by a symbol on which only sines and cosines depend."""
        terms = self._derivatives(quotient.above, symbol)
        parts = [
            self.times([PolynomialQuotient(self.ring.one, quotient.divisor, quotient.below), term])
            for term in terms
        ]
        for k, (factor, power) in enumerate(quotient.below):
            steeper = tuple((f, p + 1 if i == k else p) for i, (f, p) in enumerate(quotient.below))
            rest = PolynomialQuotient(-power * quotient.above, quotient.divisor, steeper)
            parts += [self.times([rest, term]) for term in self._derivatives(factor, symbol)]
        return self.total(parts)

    def _derivatives(
        self, polynomial: Polynomial, symbol: sympy.Symbol
    ) -> list[PolynomialQuotient]:
        ring = self.ring
        found = (
            [PolynomialQuotient(ring.derivative(polynomial, self.places[symbol]))]
            if symbol in self.places
            else []
        )
        for k in ring.pairs_in(polynomial):
            rate = sympy.diff(self.angles[k], symbol)
            if rate != 0:
                pair = ring.pairs[k]
                s, c = ring.generators[pair.sine], ring.generators[pair.cosine]
                turn = ring.product(ring.derivative(polynomial, pair.sine), c) - ring.product(
                    ring.derivative(polynomial, pair.cosine), s
                )
                found.append(self.times([PolynomialQuotient(turn), self.read(rate)]))
        return found

    def is_smooth_in(self, symbol: sympy.Symbol) -> bool:
        """Whether `derivative` applies: no function of another kind depends on the symbol."""
        return all(node == symbol or symbol not in node.free_symbols for node in self.places)

    def shortened(
        self, above: Polynomial, divisor: int, powers: dict[Polynomial, int]
    ) -> PolynomialQuotient:
        """The quotient without the factors that numerator and denominator share."""
        ring, left = self.ring, dict[Polynomial, int]()
        if not above:
            return PolynomialQuotient(ring.zero)
        for factor in sorted(powers, key=ring.key):
            power = powers[factor]
            while power and (found := ring.divided(above, factor)) is not None:
                above, power = found, power - 1
            if power:
                left[factor] = power
        common = gcd(divisor, *(int(c) for c in above.values()))
        if common > 1:
            above = ring.from_terms({m: c // common for m, c in above.items()})
            divisor = divisor // common
        return PolynomialQuotient(above, divisor, tuple(left.items()))


def _order(expression: sympy.Expr) -> tuple[str, Any]:
    return str(expression), expression.sort_key()


def _combination(
    argument: sympy.Expr, turns: Sequence[AngleSubstitution]
) -> dict[sympy.Expr, Fraction]:
    """An argument as a sum of angles with rational coefficients."""
    found: dict[sympy.Expr, Fraction] = {}
    for term in sympy.Add.make_args(sympy.expand(argument)):
        coefficient, base = term.as_coeff_Mul(rational=True)
        if base.is_Float and base < 0:
            coefficient, base = -coefficient, -base
        found[base] = found.get(base, Fraction(0)) + Fraction(
            int(coefficient.p), int(coefficient.q)
        )
    for turn in turns:
        multiple = found.pop(turn.first, Fraction(0))
        if multiple:
            found[turn.difference] = multiple
            found[turn.second] = found.get(turn.second, Fraction(0)) + turn.sign * multiple
    return {base: coefficient for base, coefficient in found.items() if coefficient}


def _units(combinations: Iterable[dict[sympy.Expr, Fraction]]) -> dict[sympy.Expr, Fraction]:
    """For each angle the largest part of which all its coefficients are multiples."""
    units: dict[sympy.Expr, Fraction] = {}
    for combination in combinations:
        for base, coefficient in combination.items():
            known = units.get(base, Fraction(0))
            scale = lcm(known.denominator, coefficient.denominator)
            units[base] = Fraction(gcd(int(known * scale), int(coefficient * scale)), scale)
    return units
