"""Programs written directly, value by value, without a graph in between.

A solve with thousands of unknowns is tens of thousands of scalar operations. In Python each of them
costs ten times less here than on a CasADi graph. A `Value` has the operators of a number, so that
`SparseFactor` works on either.

What is written twice is kept once, zeros and ones disappear, and the finished program holds only
what its outputs need, in the order of a depth-first walk from them. That order puts what belongs to
one unknown next to each other, and so shows the repetition that `reroll` looks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .backends.interpreter import FUNCTIONS
from .program import Instruction, Program

__all__ = ["ProgramWriter", "Value"]


class Value:
    """A value of a program that is being written."""

    __slots__ = ("number", "writer")

    def __init__(self, writer: ProgramWriter, number: int) -> None:
        self.writer, self.number = writer, number

    def __add__(self, other: Value) -> Value:
        return self.writer.apply("add", self, other)

    def __sub__(self, other: Value) -> Value:
        return self.writer.apply("sub", self, other)

    def __mul__(self, other: Value) -> Value:
        return self.writer.apply("mul", self, other)

    def __truediv__(self, other: Value) -> Value:
        return self.writer.apply("div", self, other)

    def __neg__(self) -> Value:
        return self.writer.apply("neg", self)

    def is_zero(self) -> bool:
        """Whether this is the constant zero."""
        return self.number == self.writer.zero.number


class ProgramWriter:
    """Values by number: an operation with its arguments' numbers, an input entry, or a constant.

    >>> writer = ProgramWriter()
    >>> x, y = writer.entry(1, 0), writer.entry(1, 1)
    >>> total = (x + y) * (x + y) + writer.zero
    >>> [step.operation for step in writer.program("square", (1, 2, 0, 0, 0), [total]).instructions]
    ['input', 'input', 'add', 'mul']
    """

    def __init__(self) -> None:
        self._steps: list[tuple[str, tuple[int, ...], Any]] = []
        self._known: dict[Any, Value] = {}
        self._numbers: dict[int, float] = {}
        self.zero, self.one, self.minus_one = (self.constant(number) for number in (0.0, 1.0, -1.0))

    def constant(self, number: float) -> Value:
        """A constant."""
        value = self._kept("constant", (), float(number))
        self._numbers[value.number] = float(number)
        return value

    def entry(self, which: int, place: int) -> Value:
        """An entry of an input of the program."""
        return self._kept("input", (), (which, place))

    def apply(self, operation: str, first: Value, second: Value | None = None) -> Value:
        """The result of an operation of programs."""
        if second is None:
            return self._folded(operation, first) or self._kept(operation, (first.number,))
        return self._trivial(operation, first, second) or self._kept(
            operation, (first.number, second.number)
        )

    def _kept(
        self,
        operation: str,
        arguments: tuple[int, ...],
        data: tuple[int, int] | float | None = None,
    ) -> Value:
        key = (operation, arguments, data)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Value(self, len(self._steps))
            self._steps.append(key)
        return known

    def _folded(self, operation: str, *arguments: Value) -> Value | None:
        """An operation on constants."""
        numbers = [self._numbers.get(argument.number) for argument in arguments]
        if any(number is None for number in numbers):
            return None
        with np.errstate(all="ignore"):
            function = FUNCTIONS.get(operation) or getattr(np, operation)
            return self.constant(float(function(*(np.float64(number) for number in numbers))))

    def _trivial(self, operation: str, first: Value, second: Value) -> Value | None:
        zero, one, minus_one = self.zero.number, self.one.number, self.minus_one.number
        a, b = first.number, second.number
        if a in self._numbers and b in self._numbers:
            return self._folded(operation, first, second)
        match operation:
            case "add":
                return second if a == zero else first if b == zero else None
            case "sub":
                return (
                    -second if a == zero else first if b == zero else self.zero if a == b else None
                )
            case "mul" | "div" if a == zero:
                return self.zero
            case "mul" | "div" if b == one:
                return first
            case "mul" | "div" if b == minus_one:
                return -first
            case "mul" if b == zero:
                return self.zero
            case "mul" if a == one:
                return second
            case "mul" if a == minus_one:
                return -second
        return None

    # -- what a solve asks of its scalars ----------------------------------------------------------

    def magnitude(self, value: Value) -> Value:
        """|value|."""
        return self.apply("fabs", value)

    def least(self, first: Value, second: Value) -> Value:
        """The lesser of two values; one that is not a number does not count."""
        return self.apply("fmin", first, second)

    def greatest(self, first: Value, second: Value) -> Value:
        """The greater of two values; one that is not a number does not count."""
        return self.apply("fmax", first, second)

    def same(self, first: Value, second: Value) -> bool:
        """Whether two values are the same expression."""
        return first.number == second.number

    # -- programs in and out -----------------------------------------------------------------------

    def inline(
        self, program: Program, inputs: dict[int, Sequence[Value]] | None = None
    ) -> list[Value]:
        """Insert a program's outputs as values; inputs not given as values become inputs here."""
        given, values = inputs or {}, list[Value]()
        for step in program.instructions:
            if step.operation == "input":
                which, place = step.data
                values.append(given[which][place] if which in given else self.entry(which, place))
            elif step.operation == "constant":
                values.append(self.constant(step.data))
            else:
                values.append(self.apply(step.operation, *(values[a] for a in step.arguments)))
        return [self.zero if source is None else values[source] for source in program.outputs]

    def program(self, name: str, sizes: tuple[int, ...], outputs: Sequence[Value]) -> Program:
        """What the outputs need, each value right before its first use."""
        steps = self._steps
        places = [-1] * len(steps)
        found: list[Instruction] = []
        for output in outputs:
            pending = [output.number]
            while pending:
                number = pending[-1]
                if places[number] >= 0:
                    pending.pop()
                    continue
                operation, arguments, data = steps[number]
                depth = len(pending)
                for argument in reversed(arguments):
                    if places[argument] < 0:
                        pending.append(argument)
                if len(pending) == depth:
                    pending.pop()
                    places[number] = len(found)
                    found.append(
                        Instruction(
                            operation, len(found), tuple([places[k] for k in arguments]), data
                        )
                    )
        results = tuple(None if output.is_zero() else places[output.number] for output in outputs)
        return Program(name, sizes, tuple(found), results)
