r"""Shorter graphs for native code: polynomials reduced by sin^2 + cos^2 = 1.

Derivatives by the rules give a right-hand side that knows no identities: a disk that rolls has

    G_11 = m r^2 cos^2(psi) + m r^2 sin^2(psi) + ...

at every step. Here a graph is read as polynomials with floating coefficients in its inputs, its
functions of them and its divisors. Pairs of terms become one where that needs no cancellation,

    k s^2 X + k c^2 X = k X,      k X - k s^2 X = k c^2 X,

zeros show, and what is left is written by Horner's rule. Nothing is expanded beyond a bound that is
counted, so that the result does not depend on the machine; a product that would be too long keeps
its factors as symbols. For expressions that are read by people see `simplify`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from ...typing import Array, BoolArray
from ..backends.interpreter import interpret
from ..program import INPUTS, straight_line

__all__ = ["shortened"]

#: A product of more pairs of terms is not expanded; a graph with more operations is left as it is.
PAIRS, OPERATIONS = 600, 400
#: The graph is left as it is where more terms than this would have to be looked at.
EFFORT = 2_500
#: Coefficients that differ by less, relative to their size, are equal.
SAME = 1e-14

#: Powers of generators, sorted, none of them zero; and a polynomial as coefficients by monomials.
Monomial = tuple[tuple[int, int], ...]
Polynomial = dict[Monomial, float]


def shortened(inputs: Sequence[ca.SX], outputs: Sequence[ca.SX]) -> list[ca.SX]:
    """The same matrices (SX) of the inputs (SX columns), with fewer operations where possible.

    Entries that turn out to be zero are structural zeros of the result.

    >>> angle = ca.SX.sym("angle")
    >>> shortened([angle], [3 * ca.sin(angle)**2 + 3 * ca.cos(angle)**2])
    [SX(3)]
    """
    columns: list[list[Any]] = [block.nonzeros() for block in outputs if block.nnz()]
    flat: ca.SX = ca.vertcat(*[ca.vertcat(*column) for column in columns])
    if flat.numel() == 0:
        return list(outputs)
    function = ca.Function("graph", list(inputs), [flat], {"cse": True})
    if function.n_instructions() > OPERATIONS:
        return list(outputs)
    reader = _PolynomialReader(inputs)
    try:
        written = ca.vertcat(
            *[reader.written(polynomial) for polynomial in reader.read(function, flat.numel())]
        )
    except _TooMuchWorkError:
        return list(outputs)
    kept = _as_accurate(inputs, flat, written)
    entries = [written[k] if kept[k] else flat[k] for k in range(flat.numel())]
    found, place = [], 0
    for block in outputs:
        own = entries[place : place + block.nnz()]
        place += block.nnz()
        found.append(ca.sparsify(ca.SX(block.sparsity(), ca.vertcat(*own))) if own else block)
    after = ca.Function("graph", list(inputs), found, {"cse": True})
    return found if after.n_instructions() < function.n_instructions() else list(outputs)


def _as_accurate(inputs: Sequence[ca.SX], before: ca.SX, after: ca.SX) -> BoolArray:
    """Which entries lose no digits: (a - b)^2 must not become a^2 - 2 a b + b^2.

    Both graphs are evaluated in single precision, at states where differences, sines or cosines are
    small, and compared with the first in double precision.
    """
    points = _critical_points([block.numel() for block in inputs])
    single = [block.astype(np.float32) for block in points]
    double = [block.astype(np.float64) for block in single]
    programs = [straight_line("entries", _standard(inputs), [column]) for column in (before, after)]
    with np.errstate(all="ignore"):
        exact = interpret(programs[0], double)
        errors = [
            np.abs(interpret(program, single) - exact) / np.abs(exact) for program in programs
        ]
        worst = [np.max(np.nan_to_num(error, nan=0.0, posinf=1e9), axis=1) for error in errors]
    kept: BoolArray = worst[1] <= 8.0 * worst[0] + 64.0 * np.finfo(np.float32).eps
    return kept


def _critical_points(sizes: Sequence[int]) -> list[Array]:
    """Test values (size, points): general, nearly equal, opposite, nearly zero, nearly pi/2."""
    random, count = np.random.default_rng(8), 24
    blocks = []
    for number, size in enumerate(sizes):
        general = random.uniform(0.3, 1.1, (size, count)) * random.choice(
            [-1.0, 1.0], (size, count)
        )
        general = np.abs(general) if number == 2 else general
        near = 1e-3 * random.standard_normal((size, count))
        signs = random.choice([-1.0, 1.0], (size, count))
        equal, opposite = 0.7 + near, 0.7 * (1.0 if number == 2 else signs) + near
        others = [general, general] if number == 2 else [near, np.pi / 2 + near]
        blocks.append(np.concatenate([general, equal, opposite, *others], axis=1))
    return blocks


def _standard(inputs: Sequence[ca.SX]) -> list[ca.SX]:
    """The inputs in the places that a program has for them."""
    return [*inputs, *([ca.SX(0, 1)] * (len(INPUTS) - len(inputs)))]


class _TooMuchWorkError(Exception):
    """The bound of work is reached."""


class _PolynomialReader:
    """The generators of a graph, and arithmetic with polynomials in them."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self.inputs = [ca.SX(block) for block in inputs]
        self.generators: list[Any] = []
        self.effort = EFFORT
        self._known: dict[Any, int] = {}
        self._partner: dict[int, int] = {}

    # -- reading -----------------------------------------------------------------------------------

    def read(self, function: ca.Function, size: int) -> list[Polynomial]:
        """The outputs of a function as polynomials."""
        slots: dict[int, Polynomial] = {}
        found: list[Polynomial] = [{}] * size
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            if code == ca.OP_OUTPUT:
                found[function.instruction_output(k)[1]] = slots[function.instruction_input(k)[0]]
                continue
            (slot,) = function.instruction_output(k)
            if code == ca.OP_INPUT:
                which, place = function.instruction_input(k)
                slots[slot] = self._symbol(
                    ("input", which, place), partial(self._input, which, place)
                )
            elif code == ca.OP_CONST:
                value = float(function.instruction_constant(k))
                slots[slot] = {(): value} if value else {}
            else:
                slots[slot] = self._operation(
                    code, [slots[a] for a in function.instruction_input(k)]
                )
        return found

    def _operation(self, code: int, values: list[Polynomial]) -> Polynomial:
        first = values[0]
        if code in (ca.OP_ADD, ca.OP_SUB):
            return self._sum(first, values[1], 1.0 if code == ca.OP_ADD else -1.0)
        if code in (ca.OP_NEG, ca.OP_TWICE, ca.OP_ASSIGN):
            return _scaled(first, {ca.OP_NEG: -1.0, ca.OP_TWICE: 2.0, ca.OP_ASSIGN: 1.0}[code])
        if code in (ca.OP_MUL, ca.OP_SQ):
            return self._product(first, values[-1])
        if code == ca.OP_DIV and values[1]:
            return self._product(first, self._inverse(values[1]))
        if code == ca.OP_INV and first:
            return self._inverse(first)
        if code in (ca.OP_SIN, ca.OP_COS):
            return self._circular(code, first)

        def apply() -> ca.SX:
            arguments = [self.written(value) for value in values]
            if len(values) == 1:
                return ca.SX.unary(code, *arguments)
            return ca.SX.binary(code, *arguments)

        return self._symbol((code, *map(_key, values)), apply)

    def _input(self, which: int, place: int) -> ca.SX:
        return self.inputs[which][place]

    def _symbol(self, key: Hashable, write: Callable[[], ca.SX]) -> Polynomial:
        """A polynomial that is one generator, written where it is new."""
        number = self._known.get(key)
        if number is None:
            expression = write()
            number = self._known[key] = len(self.generators)
            self.generators.append(expression)
        return {((number, 1),): 1.0}

    def _circular(self, code: int, angle: Polynomial) -> Polynomial:
        key = _key(angle)
        sine = self._symbol((ca.OP_SIN, key), lambda: ca.sin(self.written(angle)))
        cosine = self._symbol((ca.OP_COS, key), lambda: ca.cos(self.written(angle)))
        (((s, _),),), (((c, _),),) = sine, cosine
        self._partner[s], self._partner[c] = c, s
        return sine if code == ca.OP_SIN else cosine

    # -- arithmetic --------------------------------------------------------------------------------

    def _sum(self, left: Polynomial, right: Polynomial, sign: float) -> Polynomial:
        self._spend(len(left) + len(right))
        found = dict(left)
        for monomial, coefficient in right.items():
            _add(found, monomial, sign * coefficient, abs(coefficient))
        return self._merged(found, list(right))

    def _product(self, left: Polynomial, right: Polynomial) -> Polynomial:
        pairs = len(left) * len(right)
        if pairs > len(left) and pairs > len(right) and pairs > PAIRS:
            left, right = self._opaque(left), self._opaque(right)
        self._spend(len(left) * len(right))
        found: Polynomial = {}
        for one, a in left.items():
            for other, b in right.items():
                _add(found, _times(one, other), a * b, abs(a * b))
        return self._merged(found, list(found))

    def _spend(self, terms: int) -> None:
        self.effort -= terms
        if self.effort < 0:
            raise _TooMuchWorkError

    def _inverse(self, value: Polynomial) -> Polynomial:
        if len(value) == 1:
            ((monomial, coefficient),) = value.items()
            return {tuple((g, -power) for g, power in monomial): 1.0 / coefficient}
        lead = value[max(value)]
        ((symbol, _),) = self._opaque(_scaled(value, 1.0 / lead)).items()
        return {tuple((g, -power) for g, power in symbol): 1.0 / lead}

    def _opaque(self, value: Polynomial) -> Polynomial:
        """A polynomial as a symbol of its own."""
        if len(value) < 2:
            return value
        return self._symbol(("sum", _key(value)), lambda: self.written(value))

    def _merged(self, polynomial: Polynomial, changed: list[Monomial]) -> Polynomial:
        """Join pairs of terms by Pythagoras until none is left; only changed terms start a pair."""
        squared = {
            g
            for monomial in polynomial
            for g, power in monomial
            if power >= 2 and g in self._partner
        }
        while changed and squared:
            monomial = changed.pop()
            coefficient = polynomial.get(monomial)
            joined = (
                None
                if coefficient is None
                else self._joined(polynomial, monomial, coefficient, squared)
            )
            if joined is not None:
                changed.append(joined)
        return polynomial

    def _joined(
        self, polynomial: Polynomial, monomial: Monomial, coefficient: float, squared: set[int]
    ) -> Monomial | None:
        """Join a term k M with another; the index of the result, or None. For {g, o} = {sin, cos}:

        k M - k M g^2 = k M o^2,      k N g^2 + k N o^2 = k N,      k N g^2 - k N = -k N o^2
        """
        powers = dict(monomial)
        for generator in sorted(squared):
            place = _times(monomial, ((generator, 2),))
            if _is_same(polynomial.get(place), -coefficient):
                turned = _times(monomial, ((self._partner[generator], 2),))
                return _replaced(polynomial, monomial, place, turned, coefficient)
            if powers.get(generator, 0) >= 2:
                bare = _times(monomial, ((generator, -2),))
                turned = _times(bare, ((self._partner[generator], 2),))
                if _is_same(polynomial.get(turned), coefficient):
                    return _replaced(polynomial, monomial, turned, bare, coefficient)
                if _is_same(polynomial.get(bare), -coefficient):
                    return _replaced(polynomial, monomial, bare, turned, -coefficient)
        return None

    # -- writing -----------------------------------------------------------------------------------

    def written(self, polynomial: Polynomial) -> ca.SX:
        """A polynomial as a graph, by Horner's rule in the generator that most terms share."""
        self._spend(len(polynomial))
        if not polynomial:
            return ca.SX(0)
        if len(polynomial) == 1:
            ((monomial, coefficient),) = polynomial.items()
            return self._term(monomial, coefficient)
        counts: dict[tuple[int, int], int] = {}
        for monomial in polynomial:
            for generator, power in monomial:
                key = (generator, 1 if power > 0 else -1)
                counts[key] = counts.get(key, 0) + 1
        (generator, sign), most = max(
            counts.items(), key=lambda item: (item[1], -item[0][0], item[0][1])
        )
        if most < 2:
            return _added(self._term(monomial, value) for monomial, value in polynomial.items())
        inside: Polynomial = {}
        outside: Polynomial = {}
        for monomial, value in polynomial.items():
            shared = any(g == generator and power * sign > 0 for g, power in monomial)
            if shared:
                inside[_times(monomial, ((generator, -sign),))] = value
            else:
                outside[monomial] = value
        factor, symbol = self.written(inside), self.generators[generator]
        product: ca.SX = symbol * factor if sign > 0 else factor / symbol
        return product if not outside else product + self.written(outside)

    def _term(self, monomial: Monomial, coefficient: float) -> ca.SX:
        above, below = ca.SX(1), ca.SX(1)
        for generator, power in monomial:
            symbol = self.generators[generator]
            for _ in range(abs(power)):
                if power > 0:
                    above = above * symbol
                else:
                    below = below * symbol
        found = above if ca.is_equal(below, ca.SX(1), 1) else above / below
        return found * coefficient


def _is_same(value: float | None, wanted: float) -> bool:
    return value is not None and abs(value - wanted) <= SAME * abs(wanted)


def _replaced(
    polynomial: Polynomial, first: Monomial, second: Monomial, result: Monomial, value: float
) -> Monomial:
    """Put one term in the place of two, and return its monomial."""
    del polynomial[first], polynomial[second]
    _add(polynomial, result, value, abs(value))
    return result


def _add(polynomial: Polynomial, monomial: Monomial, value: float, scale: float) -> None:
    """Add a term; what cancels to rounding is zero."""
    before = polynomial.get(monomial)
    if before is None:
        if value:
            polynomial[monomial] = value
        return
    total = before + value
    if abs(total) <= SAME * max(abs(before), scale):
        del polynomial[monomial]
    else:
        polynomial[monomial] = total


def _times(left: Monomial, right: Monomial) -> Monomial:
    """The product of monomials, by merging their sorted generators."""
    if not left or not right:
        return left or right
    found: list[tuple[int, int]] = []
    place, count = 0, len(left)
    for factor in right:
        generator, power = factor
        while place < count and left[place][0] < generator:
            found.append(left[place])
            place += 1
        if place < count and left[place][0] == generator:
            power += left[place][1]
            place += 1
            if power:
                found.append((generator, power))
        else:
            found.append(factor)
    found += left[place:]
    return tuple(found)


def _scaled(polynomial: Polynomial, factor: float) -> Polynomial:
    return {monomial: factor * value for monomial, value in polynomial.items()}


def _key(polynomial: Polynomial) -> Hashable:
    return tuple(sorted(polynomial.items()))


def _added(terms: Iterable[ca.SX]) -> ca.SX:
    first, *others = terms
    for term in others:
        first = first + term
    return first
