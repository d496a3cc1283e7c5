"""A straight-line program: the instruction list of a graph, the input of every backend.

A program reads six inputs, which are the same for every function of a model, and writes one flat
output:

    t (1), y (n_state), p (parameters), u (free inputs), w (further unknowns), -> out (n_out)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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

#: The operations that backends know: CasADi calls `add` OP_ADD.
_NAMES = (
    "add sub mul div neg sq twice inv sqrt pow constpow sin cos tan asin acos atan atan2 sinh "
    "cosh tanh asinh acosh atanh exp log log1p expm1 hypot fabs sign floor ceil fmin fmax lt le "
    "eq ne not and or if_else_zero copysign fmod assign"
)
_OPERATIONS = {name: f"OP_{name.upper()}" for name in _NAMES.split()}


_COMMUTATIVE = frozenset({"add", "mul"})


def _operation_names() -> dict[int, str]:
    import casadi as ca

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
def straight_line(
    name: str, inputs: Sequence[Any], outputs: Sequence[Any], skip: Iterable[int] = ()
) -> Program:
    """The program of dense column outputs (SX) as functions of the standard inputs (SX columns).

    `skip` lists places of the output that need not be written.
    """
    import casadi as ca  # programs that are found in the cache need no graph

    flat = ca.vertcat(*[ca.densify(ca.vec(block)) for block in outputs]) if outputs else ca.SX(0, 1)
    function = ca.Function(name, list(inputs), [flat], {"allow_free": False})
    names = _operation_names()
    slots: dict[int, int] = {}
    steps: list[Instruction] = []
    known: dict[
        tuple[Any, ...], int
    ] = {}  # equal steps are one: CasADi's own search for them takes ten times as long
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
                raise ModelError(
                    "An operation of the model cannot be compiled", seen=f"operation {code}"
                )
            arguments = tuple([slots[a] for a in function.instruction_input(k)])
            operation = found
            key = (found, *(sorted(arguments) if found in _COMMUTATIVE else arguments))
        target = known.setdefault(key, len(steps))
        if target == len(steps):
            steps.append(Instruction(operation, target, arguments, data))
        slots[slot] = target
    zeros = {step.target for step in steps if step.operation == "constant" and step.data == 0.0}
    results = [None if source in zeros else source for source in results]
    steps, results = _in_pairs(steps, results)
    sizes = tuple(block.numel() for block in inputs)
    return Program(name, sizes, tuple(steps), tuple(results), frozenset(skip))


def _in_pairs(
    steps: list[Instruction], results: list[int | None]
) -> tuple[list[Instruction], list[int | None]]:
    """Place sine and cosine of a value next to each other, so that one call computes both."""
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
