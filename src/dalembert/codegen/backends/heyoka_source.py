"""The equations of motion as expressions of heyoka, from the same program as native code.

heyoka (F. Biscani, D. Izzo: Monthly Notices of the Royal Astronomical Society 504 (2021) 2614-2628)
differentiates expressions automatically to any order and makes native code of its own from them. It
is fed with the straight-line program of the right-hand side, in which every part that occurs twice
is one object and the constrained solve is written out.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...errors import FormError, MissingExtraError
from ..program import OPERATORS, Instruction, Program

if TYPE_CHECKING:
    from ..protocols import KernelPrograms

__all__ = ["heyoka_module", "heyoka_system"]


def heyoka_module() -> ModuleType:
    """The package heyoka, or one sentence that says how to install it."""
    try:
        import heyoka
    except ImportError:
        raise MissingExtraError("heyoka", "heyoka") from None
    found: ModuleType = heyoka
    return found


def heyoka_system(kernel: KernelPrograms) -> list[tuple[Any, Any]]:
    """Pairs (variable, rate) in the order of the state; see `dalembert.Equations.to_heyoka`.

    Raises
    ------
    FormError
        Where the solve is not straight-line code, a function has no Taylor coefficients, or an
        input is left free.
    """
    hy = heyoka_module()
    if kernel.free_inputs:
        raise FormError(
            "heyoka needs inputs that are expressions",
            seen=f"the free input `{kernel.free_inputs[0]}`",
            remedy="give the input as an expression of time and state, or use method dop853",
        )
    if kernel.solved is None and kernel.large is None:
        raise FormError(
            "heyoka needs equations that can be solved in straight-line code",
            seen=f"{kernel.n} unknowns and {kernel.m} constraints, too many or never independent",
            remedy="use method dop853, or another form",
        )
    symbols = [hy.make_vars(symbol.name) for symbol in kernel.equations.state]
    rates = _translated(hy, kernel.program("fast"), symbols)
    return list(zip(symbols, rates, strict=True))


def _translated(hy: ModuleType, program: Program, symbols: list[Any]) -> list[Any]:
    """The first outputs of a program, one for each symbol of the state."""
    rules, outputs = _rules(hy), program.outputs[: len(symbols)]
    needed = _needed(program, outputs)
    values: dict[int, Any] = {}
    for step in program.instructions:
        if step.target in needed:
            values[step.target] = _value(hy, step, values, symbols, rules)
    return [hy.expression(0.0) if source is None else values[source] for source in outputs]


def _needed(program: Program, outputs: tuple[int | None, ...]) -> set[int]:
    """The values that some outputs depend on; the health of the solve is not among them."""
    found = {source for source in outputs if source is not None}
    for step in reversed(program.instructions):
        if step.target in found:
            found.update(step.arguments)
    return found


def _value(
    hy: ModuleType,
    step: Instruction,
    values: dict[int, Any],
    symbols: list[Any],
    rules: dict[str, Callable[..., Any]],
) -> Any:
    if step.operation == "constant":
        return hy.expression(float(step.data))
    if step.operation == "input":
        which, place = step.data
        return (hy.time, symbols[place] if which == 1 else None, hy.par[place])[which]
    rule = rules.get(step.operation)
    if rule is None:
        raise FormError(
            f"heyoka has no Taylor coefficients for the function {step.operation}",
            seen="it stands in the equations of motion",
            remedy="use method dop853",
        )
    return rule(*(values[argument] for argument in step.arguments))


def _rules(hy: ModuleType) -> dict[str, Callable[..., Any]]:
    """How heyoka writes each smooth operation of a program."""
    rules = OPERATORS | {"hypot": lambda a, b: hy.sqrt(a * a + b * b)}
    names = "sqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log"
    names += " log1p expm1"
    return rules | {name: getattr(hy, name) for name in names.split() if hasattr(hy, name)}
