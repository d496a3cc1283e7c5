"""Programs as C99 functions of one signature: inputs, outputs and scratch memory.

Short programs are straight-line code. Long ones are cut into functions that pass values through the
scratch, because compilers are not linear in the length of a function; what repeats itself in them
becomes loops, as it does natively (`reroll`, whose plan `llvm_loops` makes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..native.c_text import c_number
from ..passes.reroll import (
    CONSTANT,
    INPUT,
    NOTHING,
    STORE,
    VALUE,
    RepeatedRun,
    Stream,
    Table,
    stream_of,
)
from ..program import INPUTS, Program
from ..program_text import Dialect, operation_text, program_text
from .llvm_loops import SHORT_PROGRAM, LoopPlan, plan_of, worthwhile_runs

__all__ = ["CProgram", "c_comment", "c_program"]

_SIGNATURE = (
    ", ".join(f"const double *{name}" for name in INPUTS) + ", double *out, double *scratch"
)
_PASSED = ", ".join((*INPUTS, "out", "scratch"))
#: The most structural zeros that are written one by one.
FEW_ZEROS = 16


@dataclass(frozen=True)
class CProgram:
    """A program in C.

    Attributes
    ----------
    name : str
        The name of its function.
    text : str
    scratch : int
        How many doubles of scratch it needs.
    """

    name: str
    text: str
    scratch: int = 0


def c_comment(text: str) -> str:
    """Text that cannot end a comment, nor continue a line.

    >>> c_comment("a */ b")
    'a * / b'
    """
    return (
        "".join(c if c.isprintable() and c != "\\" else " " for c in text)
        .replace("*/", "* /")
        .replace("/*", "/ *")
    )


def c_program(program: Program) -> CProgram:
    """A program as a C function ``program_<name>``, or as several of which that is the last."""
    name = f"program_{program.name}"
    zeros = [place for place, source in enumerate(program.outputs) if source is None]
    clear = []
    if len(zeros) > FEW_ZEROS:
        clear = [
            "long k;",
            f"for (k = 0; k < {len(program.outputs)}; k += 1) {{",
            "    out[k] = 0.0;",
            "}",
        ]
    if len(program.instructions) > SHORT_PROGRAM:
        stream = stream_of(program)
        if len(stream) > SHORT_PROGRAM:
            clear = clear or [f"out[{place}] = 0.0;" for place in zeros]
            return _long_program(name, stream, clear)
    text = program_text(program, DIALECT)
    lines = [*clear, *(f"const double {step} = {expression};" for step, expression in text.steps)]
    lines += [
        f"out[{place}] = {value};"
        for place, value in enumerate(text.outputs)
        if not (clear and program.outputs[place] is None)
    ]
    return CProgram(name, _function(name, lines))


def _function(name: str, lines: Sequence[str]) -> str:
    unused = " ".join(f"(void){word};" for word in (*INPUTS, "out", "scratch"))
    return "\n".join(
        [
            f"static void {name}({_SIGNATURE})",
            "{",
            *(f"    {line}" for line in lines),
            f"    {unused}",
            "}",
        ]
    )


def _long_program(name: str, stream: Stream, clear: Sequence[str]) -> CProgram:
    plan = plan_of(stream, worthwhile_runs(stream) or [])
    bodies = [
        (
            _CLoop(name, stream, plan, part).lines()
            if isinstance(part, RepeatedRun)
            else _straight(stream, plan, part)
        )
        for part in plan.parts
    ]
    texts = [_function(f"{name}_{number}", body) for number, body in enumerate(bodies)]
    if any(f"{name}_constants[" in text for text in texts):
        numbers = [c_number(value) for value in stream.constants]
        rows = ",\n".join("    " + ", ".join(numbers[k : k + 6]) for k in range(0, len(numbers), 6))
        texts.insert(0, f"static const double {name}_constants[{len(numbers)}] = {{\n{rows}\n}};")
    calls = [f"{name}_{number}({_PASSED});" for number in range(len(bodies))]
    return CProgram(name, "\n\n".join([*texts, _function(name, [*clear, *calls])]), plan.size)


def _straight(stream: Stream, plan: LoopPlan, rows: range) -> list[str]:
    """A stretch of rows; results of other parts are read from the scratch."""
    lines: list[str] = []

    def value(kind: int, place: int) -> str:
        if kind == CONSTANT:
            return _number(stream.constants[place])
        if kind != VALUE:
            return f"{INPUTS[kind - INPUT]}[{place}]"
        return f"v{place}" if place in rows else f"scratch[{plan.homes[place]}]"

    for row in rows:
        operation = stream.operations[stream.codes[row]]
        operands = list(zip(stream.kinds[row].tolist(), stream.places[row].tolist(), strict=True))
        if operation == STORE:
            lines.append(f"out[{operands[1][1]}] = {value(*operands[0])};")
            continue
        arguments = [value(*operand) for operand in operands if operand[0] != NOTHING]
        lines.append(f"const double v{row} = {operation_text(operation, arguments, DIALECT)};")
        if plan.homes[row] >= 0:
            lines.append(f"scratch[{plan.homes[row]}] = v{row};")
    return lines


class _CLoop:
    """Writes one run as a loop; what the next iteration needs is carried over to it."""

    def __init__(self, name: str, stream: Stream, plan: LoopPlan, run: RepeatedRun) -> None:
        self.name, self.stream, self.plan, self.run = name, stream, plan, run
        self.carried: dict[int, int] = {}

    def lines(self) -> list[str]:
        body = [line for slot in range(self.run.period) for line in self._row(slot)]
        head = [f"double c{slot} = scratch[{home}];" for slot, home in self.carried.items()]
        after = [f"c{slot} = v{slot};" for slot in self.carried]
        inside = [f"    {line}" for line in (*body, *after)]
        return [*head, "long i;", f"for (i = 0; i < {self.run.count}; i += 1) {{", *inside, "}"]

    def _row(self, slot: int) -> list[str]:
        row = self.run.first + slot
        operation = self.stream.operations[self.stream.codes[row]]
        if operation == STORE:
            return [
                f"out[{self._affine(self.stream.places[:, 1], row)}] = {self._operand(row, 0)};"
            ]
        columns = [column for column in (0, 1) if self.stream.kinds[row, column] != NOTHING]
        arguments = [self._operand(row, column) for column in columns]
        lines = [f"const double v{slot} = {operation_text(operation, arguments, DIALECT)};"]
        if self.plan.homes[row] >= 0:
            lines.append(f"scratch[{self._affine(self.plan.homes, row)}] = v{slot};")
        return lines

    def _operand(self, row: int, column: int) -> str:
        kind, place = int(self.stream.kinds[row, column]), int(self.stream.places[row, column])
        following = int(self.stream.places[row + self.run.period, column])
        if kind == CONSTANT:
            if following == place:
                return _number(self.stream.constants[place])
            return f"{self.name}_constants[{_index(place, following - place)}]"
        if kind != VALUE:
            return f"{INPUTS[kind - INPUT]}[{_index(place, following - place)}]"
        if following - place == self.run.period:
            slot = place - self.run.first
            if slot >= 0:
                return f"v{slot}"
            if slot >= -self.run.period:
                self.carried.setdefault(slot + self.run.period, int(self.plan.homes[place]))
                return f"c{slot + self.run.period}"
        first = int(self.plan.homes[place])
        return f"scratch[{_index(first, int(self.plan.homes[following]) - first)}]"

    def _affine(self, places: Table, row: int) -> str:
        return _index(int(places[row]), int(places[row + self.run.period] - places[row]))


def _index(first: int, step: int) -> str:
    if step == 0:
        return str(first)
    return f"{first} {'+' if step > 0 else '-'} {abs(step)} * i"


def _number(value: float) -> str:
    text = c_number(value)
    return f"({text})" if text.startswith("-") else text


def _call(operation: str, arguments: Sequence[str]) -> str:
    if operation == "sign":
        (first,) = arguments
        return f"({first} > 0.0) ? 1.0 : ({first} < 0.0) ? -1.0 : {first}"
    name = (
        "pow" if operation == "constpow" else operation
    )  # sin, atan2, fmin and the like have these names in C
    return f"{name}({', '.join(arguments)})"


#: How C writes what programs do.
DIALECT = Dialect(
    entry=lambda name, place: f"{name}[{place}]",
    number=_number,
    choice=lambda test, first, second: f"({test}) ? {first} : {second}",
    both="&&",
    either="||",
    call=_call,
)
