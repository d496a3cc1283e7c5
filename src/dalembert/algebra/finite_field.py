r"""Exact evaluation of expressions in a finite field: identities are decided without rounding.

An expression of a model is a rational function of its symbols and of sines, cosines, roots and
exponentials. Evaluated modulo a prime p of 61 bits at random residues, a rational function of
degree d that is not zero identically vanishes with probability at most d/p (Schwartz 1980, Zippel
1979). The residues have no size, so that units, small coefficients and the domain of the model play
no part.

=====================
===================================================================================== sum, product,
quotient  those of the field sin, cos of            the powers of points on the circle c^2 + s^2 = 1
over the field, one for each term of sum r_i a_i            the argument; addition theorems hold,
and multiples of pi/120 are roots of unity exp of sum r_i a_i     the powers of random squares
square root            the root that is a square itself (p = 3 modulo 4), so that sqrt(a b) =
sqrt(a) sqrt(b) comparison a random element for the difference that it asks about; ``a <= b`` is ``1
- (b < a)`` other functions a random element for each argument =====================
=====================================================================================

What vanishes under these rules vanishes whatever the other functions and the outcomes of the
comparisons are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import NamedTuple

import casadi as ca

from .field_numbers import (
    PRIME,
    TURN,
    as_rational,
    circle_point,
    circle_power,
    circle_product,
    field_constant,
    field_inverse,
    field_residue,
    root_of_unity,
    root_order,
    square_root,
)

__all__ = ["Instructions", "Residues"]

#: The largest common denominator of the coefficients in the arguments of sines and exponentials.
_DENOMINATORS = 10_000


class LinearForms(NamedTuple):
    """Arguments of functions as sums of rational multiples of other steps.

    Attributes
    ----------
    forms : dict of place to dict of place to Fraction
        The coefficients; that of -1 is a constant. Steps that are no sums or multiples stand for
        themselves.
    denominator : int
        A common denominator of the coefficients.
    """

    forms: dict[int, dict[int, Fraction]]
    denominator: int


class Instructions:
    """Expressions of a graph as a list of operations in single assignment form.

    Attributes
    ----------
    steps : list of (operation, first argument, second argument, datum)
        The arguments are places in this list; the datum is the value of a constant or the place of
        an input.
    outputs : list of int or None
        The place of each entry, column by column; None is zero.
    is_exact : bool
        Whether every function follows its own rules in the field, not those of an unknown function.
    has_roots : bool
    """

    def __init__(self, symbols: Sequence[ca.SX], block: ca.SX) -> None:
        flat = ca.densify(ca.vec(ca.SX(block)))
        function = ca.Function("block", list(symbols), [flat])
        slots: dict[int, int] = {}
        self.steps: list[tuple[int, int, int, float]] = []
        self.outputs: list[int | None] = [None] * flat.numel()
        for k in range(function.n_instructions()):
            code = function.instruction_id(k)
            if code == ca.OP_OUTPUT:
                self.outputs[function.instruction_output(k)[1]] = slots[
                    function.instruction_input(k)[0]
                ]
                continue
            if code == ca.OP_INPUT:
                step = (code, -1, -1, float(function.instruction_input(k)[0]))
            elif code == ca.OP_CONST:
                step = (code, -1, -1, float(function.instruction_constant(k)))
            else:
                arguments = [slots[a] for a in function.instruction_input(k)]
                step = (code, arguments[0], arguments[-1], 0.0)
            slots[function.instruction_output(k)[0]] = len(self.steps)
            self.steps.append(step)
        codes = {step[0] for step in self.steps}
        self.is_exact = codes <= _EXACT and all(
            self._is_simple_power(*step)
            for step in self.steps
            if step[0] in (ca.OP_POW, ca.OP_CONSTPOW)
        )
        self.has_roots = bool(codes & {ca.OP_SQRT, ca.OP_HYPOT, ca.OP_POW, ca.OP_CONSTPOW})
        self.has_plain_constants = all(
            as_rational(step[3])[1] for step in self.steps if step[0] == ca.OP_CONST
        )

    def _is_simple_power(self, code: int, base: int, exponent: int, datum: float) -> bool:
        step = self.steps[exponent]
        return step[0] == ca.OP_CONST and root_order(as_rational(step[3])[0]) is not None

    @cached_property
    def angles(self) -> LinearForms:
        """The arguments of sines, cosines and tangents."""
        return self._linear_forms(_CIRCULAR)

    @cached_property
    def exponents(self) -> LinearForms:
        """The arguments of exponentials and hyperbolic functions."""
        return self._linear_forms(_EXPONENTIAL)

    def _linear_forms(self, codes: frozenset[int]) -> LinearForms:
        arguments = {a for code, a, _, _ in self.steps if code in codes}
        needed, pending = set(arguments), list(arguments)
        while pending:
            code, a, b, _ = self.steps[pending.pop()]
            fresh = {a, b} - needed if code in _LINEAR else set()
            needed |= fresh
            pending += fresh
        forms: dict[int, dict[int, Fraction]] = {}
        for place in sorted(needed):
            forms[place] = self._linear_form(place, forms)
        denominator = 1
        for form in (forms[place] for place in arguments):
            denominator = math.lcm(denominator, *(form[k].denominator for k in form if k >= 0))
            if denominator > _DENOMINATORS:
                return LinearForms({place: {place: Fraction(1)} for place in arguments}, 1)
        return LinearForms({place: forms[place] for place in arguments}, denominator)

    def _linear_form(
        self, place: int, forms: dict[int, dict[int, Fraction]]
    ) -> dict[int, Fraction]:
        code, a, b, datum = self.steps[place]
        form = {place: Fraction(1)}
        if code == ca.OP_CONST and math.isfinite(datum):
            form = {-1: Fraction(datum)}
        elif code in (ca.OP_ADD, ca.OP_SUB):
            sign = 1 if code == ca.OP_ADD else -1
            form = dict(forms[a])
            for key, factor in forms[b].items():
                form[key] = form.get(key, Fraction(0)) + sign * factor
        elif code in (ca.OP_NEG, ca.OP_TWICE):
            scale = Fraction(-1 if code == ca.OP_NEG else 2)
            form = {key: scale * value for key, value in forms[a].items()}
        elif code in (ca.OP_MUL, ca.OP_DIV):
            number, other = (
                (b, a) if code == ca.OP_DIV or self.steps[b][0] == ca.OP_CONST else (a, b)
            )
            if self.steps[number][0] == ca.OP_CONST:
                scale, plain = as_rational(self.steps[number][3])
                if plain and scale:
                    scale = 1 / scale if code == ca.OP_DIV else scale
                    form = {key: scale * value for key, value in forms[other].items()}
        return {key: value for key, value in form.items() if value}


class Residues:
    """Values of instructions at one random point of the field.

    Parameters
    ----------
    instructions : Instructions
    seed : int
        Chooses the values of unknown functions; points that are to be compared share it.
    """

    def __init__(self, instructions: Instructions, seed: int) -> None:
        self.instructions = instructions
        self._seed = seed

    def at(self, point: Sequence[int]) -> list[int]:
        """The residues of the outputs where the symbols have given residues; see `steps_at`."""
        values = self.steps_at(point)
        return [0 if place is None else values[place] for place in self.instructions.outputs]

    def steps_at(self, point: Sequence[int]) -> list[int]:
        """The residues of all steps where the symbols have given residues.

        Raises
        ------
        NoPointError
            Where a denominator vanishes, or a root is taken of what is no square.
        """
        p = PRIME
        values: list[int] = []
        keep = values.append
        for code, a, b, datum in self.instructions.steps:
            if code == _MUL:
                keep(values[a] * values[b] % p)
            elif code == _ADD:
                keep((values[a] + values[b]) % p)
            elif code == _SUB:
                keep((values[a] - values[b]) % p)
            elif code == _INPUT:
                keep(point[int(datum)])
            elif code == _CONST:
                keep(field_constant(datum))
            elif code == _SQ:
                keep(values[a] * values[a] % p)
            elif code == _NEG:
                keep(-values[a] % p)
            else:
                keep(self._other(code, a, b, values) % p)
        return values

    def _other(self, code: int, a: int, b: int, values: list[int]) -> int:
        match code:
            case ca.OP_DIV:
                return values[a] * field_inverse(values[b])
            case ca.OP_INV:
                return field_inverse(values[a])
            case ca.OP_TWICE:
                return 2 * values[a]
            case ca.OP_ASSIGN:
                return values[a]
            case ca.OP_SQRT:
                return square_root(values[a])
            case ca.OP_HYPOT:
                return square_root(values[a] ** 2 + values[b] ** 2)
            case ca.OP_POW | ca.OP_CONSTPOW:
                return self._power(values[a], b, values)
            case ca.OP_SIN | ca.OP_COS | ca.OP_TAN:
                cosine, sine = self._angle(a, values)
                if code == ca.OP_TAN:
                    return sine * field_inverse(cosine)
                return sine if code == ca.OP_SIN else cosine
            case ca.OP_EXP | ca.OP_EXPM1 | ca.OP_SINH | ca.OP_COSH | ca.OP_TANH:
                return self._exponential(code, self._unit(a, values))
        return self._unknown(code, values[a], values[b])

    def _power(self, base: int, exponent: int, values: list[int]) -> int:
        code, _, _, datum = self.instructions.steps[exponent]
        power = as_rational(datum)[0] if code == ca.OP_CONST else None
        order = None if power is None else root_order(power)
        if power is None or order is None:
            return self._unknown(ca.OP_POW, base, values[exponent])
        if order == 2:
            base = square_root(base)
        elif order > 2:
            base = pow(base, pow(order, -1, PRIME - 1), PRIME)
        return pow(base if power > 0 else field_inverse(base), abs(power.numerator), PRIME)

    def _angle(self, place: int, values: list[int]) -> tuple[int, int]:
        """Cosine and sine of the argument at a place."""
        found = (1, 0)
        for key, factor in self.instructions.angles.forms[place].items():
            if key == -1:
                turns = float(factor) / (2 * math.pi / TURN)
                if abs(turns - round(turns)) < 1e-9 * max(1.0, abs(turns)):
                    found = circle_product(found, circle_power(root_of_unity(), round(turns)))
                else:
                    found = circle_product(found, self._circle_point(field_residue(factor)))
            else:
                turn = self._circle_point(values[key])
                found = circle_product(
                    found, circle_power(turn, int(factor * self.instructions.angles.denominator))
                )
        return found

    def _circle_point(self, residue: int) -> tuple[int, int]:
        """Return the point on the circle of an angle; opposite angles have conjugate points."""
        least = min(residue, PRIME - residue)
        if least == 0:
            return (1, 0)
        cosine, sine = circle_point(self._draw(1, least, 0))
        return (cosine, sine if least == residue else PRIME - sine)

    def _unit(self, place: int, values: list[int]) -> int:
        """The exponential of the argument at a place."""
        found = 1
        for key, factor in self.instructions.exponents.forms[place].items():
            residue = field_residue(factor) if key == -1 else values[key]
            power = 1 if key == -1 else int(factor * self.instructions.exponents.denominator)
            least = min(residue, PRIME - residue)
            if least:
                unit = pow(self._draw(2, least, 0), 2, PRIME)
                found = found * pow(unit, power if least == residue else -power, PRIME) % PRIME
        return found

    @staticmethod
    def _exponential(code: int, value: int) -> int:
        if code == ca.OP_EXP:
            return value
        if code == ca.OP_EXPM1:
            return value - 1
        sine, cosine = value - field_inverse(value), value + field_inverse(value)
        if code == ca.OP_TANH:
            return sine * field_inverse(cosine)
        return (sine if code == ca.OP_SINH else cosine) * field_inverse(2)

    def _unknown(self, code: int, a: int, b: int) -> int:
        match code:
            case ca.OP_LT:
                return self._less(a, b)
            case ca.OP_LE:
                return 1 - self._less(b, a)
            case ca.OP_EQ | ca.OP_NE:
                equal = self._draw(3, min((a - b) % PRIME, (b - a) % PRIME), 0)
                return equal if code == ca.OP_EQ else 1 - equal
            case ca.OP_NOT:
                return 1 - a
            case ca.OP_AND | ca.OP_IF_ELSE_ZERO:
                return a * b
            case ca.OP_OR:
                return a + b - a * b
            case ca.OP_FMAX:
                return a + (b - a) * self._less(a, b)
            case ca.OP_FMIN:
                return b + (a - b) * self._less(a, b)
            case ca.OP_SIGN | ca.OP_FABS:
                least = min(a, PRIME - a)
                sign = self._draw(4, least, 0) * (1 if least == a else -1)
                return sign if code == ca.OP_SIGN else a * sign
            case ca.OP_LOG1P:
                return self._draw(5 + ca.OP_LOG, (1 + a) % PRIME, 0)
            case ca.OP_ATAN2 | ca.OP_POW | ca.OP_COPYSIGN | ca.OP_FMOD:
                return self._draw(5 + code, a, b)
        return self._draw(5 + code, a, 0)

    def _less(self, a: int, b: int) -> int:
        return self._draw(0, (b - a) % PRIME, 0)

    def _draw(self, kind: int, a: int, b: int) -> int:
        """A random element that is the same for the same arguments."""
        return Random(hash((self._seed, kind, a, b))).randrange(1, PRIME)


_MUL, _ADD, _SUB, _INPUT, _CONST = ca.OP_MUL, ca.OP_ADD, ca.OP_SUB, ca.OP_INPUT, ca.OP_CONST
_SQ, _NEG = ca.OP_SQ, ca.OP_NEG
_CIRCULAR = frozenset({ca.OP_SIN, ca.OP_COS, ca.OP_TAN})
_EXPONENTIAL = frozenset({ca.OP_EXP, ca.OP_EXPM1, ca.OP_SINH, ca.OP_COSH, ca.OP_TANH})
_LINEAR = frozenset({_ADD, _SUB, _NEG, ca.OP_TWICE, _MUL, ca.OP_DIV})
_ALGEBRAIC = frozenset(
    {_MUL, _ADD, _SUB, _INPUT, _CONST, _SQ, _NEG, ca.OP_DIV, ca.OP_INV, ca.OP_TWICE, ca.OP_ASSIGN}
    | {ca.OP_SQRT, ca.OP_HYPOT, ca.OP_POW, ca.OP_CONSTPOW}
)
_EXACT = _ALGEBRAIC | _CIRCULAR | _EXPONENTIAL
