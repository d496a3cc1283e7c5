"""Operations of a graph that have the same value, computed in the fewest steps.

Operations whose residues agree at random points of a finite field are the same function of the
symbols (`structure.step_residues`); they form a class, together with those of opposite sign. Of
each class the operation with the fewest steps is chosen, all below it included, which drops what
cancels, however far apart it is computed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import casadi as ca
import sympy

from .field_numbers import PRIME, field_residue
from .finite_field import Instructions
from .graph_expressions import BINARY
from .structure import step_residues

__all__ = ["Operation", "ValueClasses"]

#: Constants that are recognised as such: fractions with these numerators and denominators.
NUMERATORS, DENOMINATORS = 64, 12
#: The length of an operation beside its operands; one of those not listed has the length 2.
LENGTHS = {ca.OP_INPUT: 2, ca.OP_CONST: 1, ca.OP_MUL: 1, ca.OP_NEG: 1, ca.OP_TWICE: 1}
LENGTHS |= {ca.OP_DIV: 3, ca.OP_INV: 3, ca.OP_ASSIGN: 1}
_LEAVES = (ca.OP_INPUT, ca.OP_CONST)


class Operation(NamedTuple):
    """The chosen operation of a class, times a sign; operands are pairs of sign and class.

    The datum is the value of a constant, or the place of an input.
    """

    code: int
    sign: int
    operands: tuple[tuple[int, int], ...]
    datum: float


class ValueClasses:
    """The classes of the operations of a block.

    Attributes
    ----------
    chosen : dict of class to Operation
        In an order in which operands come first.
    outputs : list of (sign, class) or None
        The entries of the block, column by column; None is zero.

    >>> x = ca.SX.sym("x")
    >>> found = ValueClasses({sympy.Symbol("x"): x}, ca.sin(x) ** 2 + ca.cos(x) ** 2 + x - 1)
    >>> len(found.chosen), found.chosen[found.outputs[0][1]].code == ca.OP_INPUT
    (1, True)
    """

    def __init__(self, symbols: Mapping[sympy.Symbol, ca.SX], block: ca.SX) -> None:
        instructions = Instructions(list(symbols.values()), block)
        self._steps = instructions.steps
        residues = step_residues(symbols, instructions)
        self._classes = self._numbered(residues or [(k + 1,) for k in range(len(self._steps))])
        self._constants: dict[int, Fraction] = {}
        if residues:
            self._find_constants(residues)
        self.outputs = [
            None if k is None or self._is_zero(k) else self._classes[k]
            for k in instructions.outputs
        ]
        chosen, lengths = self._cheapest()
        self.chosen = {
            name: chosen[name] for name in sorted(self._needed(chosen), key=lengths.__getitem__)
        }

    @staticmethod
    def _numbered(residues: list[tuple[int, ...]]) -> list[tuple[int, int]]:
        """The sign and class of each step; a class is the place of its first step."""
        first: dict[tuple[int, ...], int] = {}
        found = []
        for place, values in enumerate(residues):
            sign = 1
            if 2 * values[0] > PRIME:
                values, sign = tuple(-v % PRIME for v in values), -1
            found.append((sign, first.setdefault(values, place)))
        return found

    def _find_constants(self, residues: list[tuple[int, ...]]) -> None:
        fractions = {
            field_residue(Fraction(p, q)): Fraction(p, q)
            for q in range(1, DENOMINATORS + 1)
            for p in range(-NUMERATORS, NUMERATORS + 1)
        }
        for place, values in enumerate(residues):
            if len(set(values)) == 1 and values[0] in fractions:
                sign, name = self._classes[place]
                self._constants[name] = sign * fractions[values[0]]

    def _is_zero(self, place: int) -> bool:
        return self._constants.get(self._classes[place][1]) == 0

    def _cheapest(self) -> tuple[dict[int, Operation], dict[int, int]]:
        """The operation of each class with the fewest steps; an operand always has fewer."""
        lengths = dict.fromkeys(self._constants, 1)
        chosen = {
            name: Operation(ca.OP_CONST, 1, (), float(value))
            for name, value in self._constants.items()
        }
        changed = True
        while changed:
            changed = False
            for place, (code, a, b, datum) in enumerate(self._steps):
                sign, name = self._classes[place]
                places = () if code in _LEAVES else (a, b) if code in BINARY else (a,)
                operands = tuple(self._classes[k] for k in places)
                length = LENGTHS.get(code, 2) + sum(lengths[k] for _, k in operands)
                if name not in lengths or length < lengths[name]:
                    lengths[name], chosen[name] = length, Operation(code, sign, operands, datum)
                    changed = True
        return chosen, lengths

    def _needed(self, chosen: dict[int, Operation]) -> set[int]:
        pending = [output[1] for output in self.outputs if output is not None]
        found = set(pending)
        while pending:
            for _, name in chosen[pending.pop()].operands:
                if name not in found:
                    found.add(name)
                    pending.append(name)
        return found
