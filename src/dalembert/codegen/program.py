"""A straight-line program: the instruction list of a graph, from which every backend makes its code.

A program reads six inputs, which are the same for every function of a model, and writes one flat output:

    t (1), y (n_state), p (parameters), u (free inputs), w (further unknowns), -> out (n_out)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca

from ..errors import ModelError
from ..model.without_gc import without_gc

__all__ = ["INPUTS", "OPERATORS", "Instruction", "Program", "straight_line"]

#: The inputs of every program, in order.
INPUTS = ("t", "y", "p", "u", "w")

#: The operations that Python writes by its own operators, for values of any kind.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sq": lambda a: a * a,
    "twice": lambda a: a + a,
    "inv": lambda a: 1.0 / a,
    "pow": lambda a, b: a**b,
    "constpow": lambda a, b: a**b,
    "assign": lambda a: a,
}

_OPERATIONS = {
    "add": "OP_ADD", "sub": "OP_SUB", "mul": "OP_MUL", "div": "OP_DIV", "neg": "OP_NEG", "sq": "OP_SQ",
    "twice": "OP_TWICE", "inv": "OP_INV", "sqrt": "OP_SQRT", "pow": "OP_POW", "constpow": "OP_CONSTPOW",
    "sin": "OP_SIN", "cos": "OP_COS", "tan": "OP_TAN", "asin": "OP_ASIN", "acos": "OP_ACOS", "atan": "OP_ATAN",
    "atan2": "OP_ATAN2", "sinh": "OP_SINH", "cosh": "OP_COSH", "tanh": "OP_TANH", "asinh": "OP_ASINH",
    "acosh": "OP_ACOSH", "atanh": "OP_ATANH", "exp": "OP_EXP", "log": "OP_LOG", "log1p": "OP_LOG1P",
    "expm1": "OP_EXPM1", "hypot": "OP_HYPOT", "fabs": "OP_FABS", "sign": "OP_SIGN", "floor": "OP_FLOOR",
    "ceil": "OP_CEIL", "fmin": "OP_FMIN", "fmax": "OP_FMAX", "lt": "OP_LT", "le": "OP_LE", "eq": "OP_EQ",
    "ne": "OP_NE", "not": "OP_NOT", "and": "OP_AND", "or": "OP_OR", "if_else_zero": "OP_IF_ELSE_ZERO",
    "copysign": "OP_COPYSIGN", "fmod": "OP_FMOD", "assign": "OP_ASSIGN",
}  # fmt: skip


_COMMUTATIVE = frozenset({"add", "mul"})


def _operation_names() -> dict[int, str]:
    known = ((getattr(ca, constant, None), name) for name, constant in _OPERATIONS.items())
    return {code: name for code, name in known if code is not None}


class Instruction(NamedTuple):
    """One step: ``values[target] = operation(*arguments)``; every target is written once.

    The operations "input" and "constant" carry their place or value in `data`.
    """

    operation: str
    target: int
    arguments: tuple[int, ...] = ()
    data: Any = None


@dataclass(frozen=True)
class Program:
    """Instructions in single assignment form, and which value each output takes.

    An output of None is a structural zero; the places in `untouched` are not written at all.
    """

    name: str
    sizes: tuple[int, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[int | None, ...]
    untouched: frozenset[int] = frozenset()

    @property
    def operation_count(self) -> int:
        """The number of arithmetic instructions."""
        return sum(step.operation not in ("input", "constant") for step in self.instructions)


@without_gc
def straight_line(name: str, inputs: Sequence[Any], outputs: Sequence[Any], skip: Iterable[int] = ()) -> Program:
    """The program of dense column outputs (SX) as functions of the standard inputs (SX columns).

    `skip` lists places of the output that need not be written.
    """
    flat = ca.vertcat(*[ca.densify(ca.vec(block)) for block in outputs]) if outputs else ca.SX(0, 1)
    function = ca.Function(name, list(inputs), [flat], {"allow_free": False})
    names = _operation_names()
    slots: dict[int, int] = {}
    steps: list[Instruction] = []
    known: dict[tuple[Any, ...], int] = {}  # equal steps are one: CasADi's own search for them takes ten times as long
    results: list[int | None] = [None] * flat.numel()
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        if code == ca.OP_OUTPUT:
            (slot,) = function.instruction_input(k)
            _, place = function.instruction_output(k)
            results[place] = slots[slot]
            continue
        (slot,) = function.instruction_output(k)
        arguments: tuple[int, ...] = ()
        data: Any = None
        key: tuple[Any, ...]
        if code == ca.OP_INPUT:
            data = tuple(function.instruction_input(k))
            operation, key = "input", ("input", *data)
        elif code == ca.OP_CONST:
            data = float(function.instruction_constant(k))
            operation, key = "constant", ("constant", data.hex())
        else:
            found = names.get(code)
            if found is None:
                raise ModelError("An operation of the model cannot be compiled", seen=f"operation {code}")
            arguments = tuple([slots[a] for a in function.instruction_input(k)])
            operation, key = found, (found, *(sorted(arguments) if found in _COMMUTATIVE else arguments))
        target = known.setdefault(key, len(steps))
        if target == len(steps):
            steps.append(Instruction(operation, target, arguments, data))
        slots[slot] = target
    zeros = {step.target for step in steps if step.operation == "constant" and step.data == 0.0}
    results = [None if source in zeros else source for source in results]
    steps, results = _in_pairs(steps, results)
    sizes = tuple(block.numel() for block in inputs)
    return Program(name, sizes, tuple(steps), tuple(results), frozenset(skip))


def _in_pairs(steps: list[Instruction], results: list[int | None]) -> tuple[list[Instruction], list[int | None]]:
    """The same program with the sine and the cosine of a value next to each other: code generation makes one call of them."""
    first: dict[int, int] = {}
    behind: dict[int, int] = {}
    for step in steps:
        if step.operation in ("sin", "cos"):
            sooner = first.setdefault(step.arguments[0], step.target)
            if sooner != step.target:
                behind[sooner] = step.target
    if not behind:
        return steps, results
    moved = frozenset(behind.values())
    places: dict[int, int] = {}
    ordered: list[Instruction] = []
    for step in steps:
        if step.target in moved:
            continue
        for chosen in (step, steps[behind[step.target]]) if step.target in behind else (step,):
            places[chosen.target] = len(ordered)
            arguments = tuple([places[a] for a in chosen.arguments])
            ordered.append(Instruction(chosen.operation, len(ordered), arguments, chosen.data))
    return ordered, [None if source is None else places[source] for source in results]
