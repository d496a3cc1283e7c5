"""Programs as text in the languages of other people: what C and JAX have in common.

A dialect says how a language writes what programs do; arithmetic is written the same way
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .program import INPUTS, Program

if TYPE_CHECKING:
    from .protocols import KernelPrograms

__all__ = ["Dialect", "ProgramText", "operation_text", "program_text", "programs_of"]

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


@dataclass(frozen=True)
class Dialect:
    """How a language writes what programs do.

    Attributes
    ----------
    entry : (input, place) -> str
        One entry of an input, such as ``y[2]``.
    number : float -> str
        A constant, to the last digit, that may stand inside an expression.
    choice : (test, value where it holds, value where not) -> str
    both, either : str
        What stands between two tests.
    call : (operation, arguments) -> str
        A function of mathematics.
    """

    entry: Callable[[str, int], str]
    number: Callable[[float], str]
    choice: Callable[[str, str, str], str]
    both: str
    either: str
    call: Callable[[str, Sequence[str]], str]


@dataclass(frozen=True)
class ProgramText:
    """A program in a dialect: steps (name, expression) in order, and the text of each output."""

    steps: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]


def programs_of(kernel: KernelPrograms) -> list[Program]:
    """The programs of the rates: the written-out solve if it exists, the blocks, and the rest."""
    names = ["blocks", "rates"] if kernel.solved is None else ["fast", "blocks", "rates"]
    return [kernel.program(name) for name in names]


def program_text(program: Program, dialect: Dialect) -> ProgramText:
    """A program in a dialect."""
    values: dict[int, str] = {}
    steps: list[tuple[str, str]] = []
    for step in program.instructions:
        if step.operation == "input":
            which, place = step.data
            values[step.target] = dialect.entry(INPUTS[which], place)
        elif step.operation == "constant":
            values[step.target] = dialect.number(step.data)
        else:
            name = values[step.target] = f"v{step.target}"
            steps.append(
                (name, operation_text(step.operation, [values[a] for a in step.arguments], dialect))
            )
    return ProgramText(
        tuple(steps),
        tuple("0.0" if source is None else values[source] for source in program.outputs),
    )


def operation_text(operation: str, arguments: Sequence[str], dialect: Dialect) -> str:
    """One operation in a dialect."""
    first, second = (*arguments, "", "")[:2]
    if operation in _INFIX:
        return f"{first} {_INFIX[operation]} {second}"
    if operation in _COMPARE:
        return dialect.choice(f"{first} {_COMPARE[operation]} {second}", "1.0", "0.0")
    match operation:
        case "neg":
            return f"-{first}"
        case "sq":
            return f"{first} * {first}"
        case "twice":
            return f"{first} + {first}"
        case "inv":
            return f"1.0 / {first}"
        case "assign":
            return first
        case "not":
            return dialect.choice(f"{first} == 0.0", "1.0", "0.0")
        case "and" | "or":
            word = dialect.both if operation == "and" else dialect.either
            return dialect.choice(f"({first} != 0.0) {word} ({second} != 0.0)", "1.0", "0.0")
        case "if_else_zero":
            return dialect.choice(f"{first} != 0.0", second, "0.0")
    return dialect.call(operation, arguments)
