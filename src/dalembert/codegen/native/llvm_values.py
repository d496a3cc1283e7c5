"""The body of a native function in LLVM: variables, lines, and arithmetic by kind.

Every variable lives on the stack; LLVM's optimiser lifts it into registers. Nothing here knows
Python's syntax beyond the names of its operators.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ..backends.llvm_operations import float_text
from .language import ELEMENT, is_address, is_kind_of

__all__ = ["FunctionBody", "LlvmValue", "llvm_type", "stated"]

_COMPARE = {
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
}
_ARITHMETIC = {
    ast.Add: ("add nsw", "fadd"),
    ast.Sub: ("sub nsw", "fsub"),
    ast.Mult: ("mul nsw", "fmul"),
}


@dataclass(frozen=True)
class LlvmValue:
    """An operand: LLVM text and its kind (i64, double, i1, reals, integers, @ and a record)."""

    text: str
    kind: str


def llvm_type(kind: str) -> str:
    """The LLVM type of a kind: arrays and records are addresses."""
    return "ptr" if is_address(kind) else kind


def stated(value: LlvmValue) -> int | None:
    """The integer that an operand states, or None where it is computed."""
    return int(value.text) if value.text.lstrip("-").isdigit() else None


class FunctionBody:
    """The lines of one function while it is written.

    Attributes
    ----------
    kinds : dict of variable to kind
    head : list of str
        The variables' places on the stack.
    lines : list of str
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.kinds: dict[str, str] = {}
        self.head: list[str] = []
        self.lines: list[str] = []
        self._count = 0

    def fault(self, what: str) -> TypeError:
        """The error that the function does not keep to the language."""
        return TypeError(f"{self.name}: {what}")

    # -- lines -------------------------------------------------------------------------------------

    def fresh(self) -> str:
        """A name that nothing has yet."""
        self._count += 1
        return f"%v.{self._count}"

    def label(self, hint: str) -> str:
        """A label that no block has yet."""
        self._count += 1
        return f"{hint}.{self._count}"

    def block(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")

    def jump(self, label: str) -> None:
        """End a block by going on with another."""
        self.lines.append(f"br label %{label}")

    def emit(self, text: str, kind: str) -> LlvmValue:
        """A line that computes a value."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return LlvmValue(name, kind)

    # -- variables ---------------------------------------------------------------------------------

    def declare(self, name: str, kind: str) -> None:
        """Give a variable its place on the stack, and hold it to its kind."""
        known = self.kinds.get(name)
        if known is None:
            self.kinds[name] = kind
            self.head.append(f"%{name} = alloca {llvm_type(kind)}")
        elif known != kind:
            raise self.fault(f"`{name}` is {known} and cannot become {kind}")

    def load(self, name: str) -> LlvmValue:
        """The value of a variable."""
        kind = self.kinds[name]
        return self.emit(f"load {llvm_type(kind)}, ptr %{name}", kind)

    def store(self, value: LlvmValue, address: str) -> None:
        """Write a value to an address."""
        self.lines.append(f"store {llvm_type(value.kind)} {value.text}, ptr {address}")

    # -- arithmetic --------------------------------------------------------------------------------

    def converted(self, value: LlvmValue, kind: str) -> LlvmValue:
        """Convert a value: integers to doubles, booleans and integers to each other."""
        if value.kind == kind:
            return value
        if is_kind_of(value.kind, kind):
            return LlvmValue(value.text, kind)
        if value.kind == "i64" and kind == "double":
            if stated(value) is not None:
                return LlvmValue(float_text(float(value.text)), "double")
            return self.emit(f"sitofp i64 {value.text} to double", "double")
        if value.kind == "i1" and kind == "i64":
            return self.emit(f"zext i1 {value.text} to i64", "i64")
        if value.kind == "i64" and kind == "i1":
            return self.emit(f"icmp ne i64 {value.text}, 0", "i1")
        raise self.fault(f"{value.kind} cannot become {kind}")

    def together(self, left: LlvmValue, right: LlvmValue) -> tuple[LlvmValue, LlvmValue]:
        """Two values as one kind: doubles where one of them is."""
        kind = "double" if "double" in (left.kind, right.kind) else "i64"
        return self.converted(left, kind), self.converted(right, kind)

    def negative(self, value: LlvmValue) -> LlvmValue:
        """-value."""
        if value.kind == "double":
            return self.emit(f"fneg double {value.text}", "double")
        value = self.converted(value, "i64")
        known = stated(value)
        if known is not None:
            return LlvmValue(str(-known), "i64")
        return self.emit(f"sub nsw i64 0, {value.text}", "i64")

    def arithmetic(self, op: ast.operator, left: LlvmValue, right: LlvmValue) -> LlvmValue:
        """Two values joined by an operator; an array plus a number is the array some places on."""
        if left.kind in ELEMENT and isinstance(op, ast.Add):
            return self.offset(left, self.converted(right, "i64"))
        if isinstance(op, ast.Div):
            left, right = self.converted(left, "double"), self.converted(right, "double")
            return self.emit(f"fdiv double {left.text}, {right.text}", "double")
        left, right = self.together(left, right)
        if isinstance(op, ast.FloorDiv | ast.Mod) and left.kind == "i64":
            return self._floored(op, left, right)
        if type(op) not in _ARITHMETIC:
            raise self.fault(f"{type(op).__name__} of {left.kind} is not in the language")
        whole, real = _ARITHMETIC[type(op)]
        if left.kind == "i64":
            return self.emit(f"{whole} i64 {left.text}, {right.text}", "i64")
        return self.emit(f"{real} contract double {left.text}, {right.text}", "double")

    def offset(self, array: LlvmValue, places: LlvmValue) -> LlvmValue:
        """The address some places on in an array."""
        return self.emit(
            f"getelementptr inbounds {ELEMENT[array.kind]}, ptr {array.text}, i64 {places.text}",
            array.kind,
        )

    def _floored(self, op: ast.operator, left: LlvmValue, right: LlvmValue) -> LlvmValue:
        """Floor quotient and remainder as in Python; the remainder has the divisor's sign."""
        rest = self.emit(f"srem i64 {left.text}, {right.text}", "i64")
        mixed = self.emit(f"xor i64 {rest.text}, {right.text}", "i64")
        apart = self.emit(f"icmp slt i64 {mixed.text}, 0", "i1")
        broken = self.emit(f"icmp ne i64 {rest.text}, 0", "i1")
        down = self.emit(f"and i1 {apart.text}, {broken.text}", "i1")
        if isinstance(op, ast.Mod):
            added = self.emit(f"select i1 {down.text}, i64 {right.text}, i64 0", "i64")
            return self.emit(f"add nsw i64 {rest.text}, {added.text}", "i64")
        quotient = self.emit(f"sdiv i64 {left.text}, {right.text}", "i64")
        one = self.emit(f"zext i1 {down.text} to i64", "i64")
        return self.emit(f"sub nsw i64 {quotient.text}, {one.text}", "i64")

    def comparison(self, op: ast.cmpop, left: LlvmValue, right: LlvmValue) -> LlvmValue:
        """A truth value; nan differs from everything, itself included."""
        left, right = self.together(left, right)
        if type(op) not in _COMPARE:
            raise self.fault(f"{type(op).__name__} is not in the language")
        whole, real = _COMPARE[type(op)]
        if left.kind == "i64":
            return self.emit(f"icmp {whole} i64 {left.text}, {right.text}", "i1")
        return self.emit(f"fcmp {real} double {left.text}, {right.text}", "i1")

    def selected(self, test: LlvmValue, first: LlvmValue, second: LlvmValue) -> LlvmValue:
        """One of two values of the same kind, both known."""
        kind = llvm_type(first.kind)
        return self.emit(
            f"select i1 {test.text}, {kind} {first.text}, {kind} {second.text}", first.kind
        )
