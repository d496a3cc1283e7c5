"""Expressions of the native language as LLVM: names, elements, arithmetic, conditions, calls."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.llvm_operations import float_text
from .language import ELEMENT, field_of, resolved, signature_of
from .llvm_values import FunctionBody, LlvmValue, llvm_type

__all__ = ["Expressions"]

#: Functions of mathematics by the names that LLVM and the C library have for them.
_FLOAT_CALLS = {
    "sqrt": "llvm.sqrt.f64",
    "floor": "llvm.floor.f64",
    "sin": "llvm.sin.f64",
    "cos": "llvm.cos.f64",
    "nextafter": "nextafter",
    "pow": "pow",
}
#: What a call without a result stands for where a value is expected.
NOTHING = LlvmValue("0", "i64")


class Expressions:
    """Writes the expressions of one function into its body.

    Attributes
    ----------
    called : list of functions
        The native functions that it calls.
    """

    def __init__(
        self, function: Callable[..., Any], body: FunctionBody, tables: dict[str, Any]
    ) -> None:
        self.names, self.body, self.tables = function.__globals__, body, tables
        self.called: list[Callable[..., Any]] = []

    def value(self, node: ast.expr) -> LlvmValue:
        """The value of an expression."""
        body = self.body
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return _constant(value)
            case ast.Name(id=name) if name in body.kinds:
                return body.load(name)
            case ast.Attribute() if self._is_field(node):
                address, kind = self.address(node)
                return body.emit(f"load {llvm_type(kind)}, ptr {address}", kind)
            case ast.Name() | ast.Attribute():
                return self._global(node)
            case ast.Subscript():
                address, element = self.address(node)
                return body.emit(f"load {element}, ptr {address}", element)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return body.negative(self.value(operand))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(left, right)
            case ast.BinOp(left=left, op=op, right=right):
                return body.arithmetic(op, self.value(left), self.value(right))
            case ast.Compare(left=left, ops=[comparison], comparators=[right]):
                return body.comparison(comparison, self.value(left), self.value(right))
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._chosen(node, LlvmValue("1", "i1"), LlvmValue("0", "i1"))
            case ast.IfExp(test=test, body=first, orelse=second):
                return self._chosen(test, first, second)
            case ast.Call():
                return self._call(node)
        raise body.fault(f"cannot translate {ast.unparse(node)}")

    def whole(self, node: ast.expr) -> LlvmValue:
        """The value of an expression as an integer."""
        return self.body.converted(self.value(node), "i64")

    # -- names and elements ------------------------------------------------------------------------

    def _global(self, node: ast.expr) -> LlvmValue:
        """Return a module constant: a number, or a table that becomes part of the native module."""
        value = resolved(node, self.names)
        if isinstance(value, np.ndarray):
            names = (f"table.{ast.unparse(node)}.{k}" for k in range(len(self.tables) + 1))
            name = next(name for name in names if self.tables.setdefault(name, value) is value)
            return LlvmValue(f"@{name}", "reals")
        if isinstance(value, (bool, int, float, np.integer, np.floating)):
            return _constant(value)
        raise self.body.fault(f"`{ast.unparse(node)}` is no constant")

    def _is_field(self, node: ast.expr) -> bool:
        """Whether a dotted name begins with a variable, so that it is a field of a record."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.body.kinds

    def address(self, node: ast.Subscript | ast.Attribute) -> tuple[str, str]:
        """Return address and kind of an element or field; a 2-d table has two indices."""
        base = self.value(node.value)
        if isinstance(node, ast.Attribute):
            if not base.kind.startswith("@"):
                raise self.body.fault(f"{ast.unparse(node.value)} is no record")
            number, kind = field_of(base.kind, node.attr)
            return (
                self.body.emit(
                    f"getelementptr inbounds i64, ptr {base.text}, i64 {number}", kind
                ).text,
                kind,
            )
        index = node.slice
        if isinstance(index, ast.Tuple):
            table = self.tables[base.text.lstrip("@")]
            row, column = (self.whole(part) for part in index.elts)
            scaled = self.body.emit(f"mul nsw i64 {row.text}, {table.shape[1]}", "i64")
            place = self.body.emit(f"add nsw i64 {scaled.text}, {column.text}", "i64")
        else:
            place = self.whole(index)
        if base.kind not in ELEMENT:
            raise self.body.fault(f"{ast.unparse(node.value)} is no array")
        return self.body.offset(base, place).text, ELEMENT[base.kind]

    def _power(self, base: ast.expr, exponent: ast.expr) -> LlvmValue:
        body = self.body
        value = body.converted(self.value(base), "double")
        if isinstance(exponent, ast.Constant) and exponent.value == 2:
            return body.emit(f"fmul contract double {value.text}, {value.text}", "double")
        power = body.converted(self.value(exponent), "double")
        return body.emit(f"call double @pow(double {value.text}, double {power.text})", "double")

    # -- conditions --------------------------------------------------------------------------------

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Jump on a condition, with and/or/not evaluated only as far as needed."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                further = self.body.label("and")
                if isinstance(node.op, ast.And):
                    self.branch(part, further, no)
                else:
                    self.branch(part, yes, further)
                self.body.block(further)
            self.branch(node.values[-1], yes, no)
        else:
            condition = self.body.converted(self.value(node), "i1")
            self.body.lines.append(f"br i1 {condition.text}, label %{yes}, label %{no}")

    def _chosen(
        self, test: ast.expr, first: ast.expr | LlvmValue, second: ast.expr | LlvmValue
    ) -> LlvmValue:
        """One of two values, of which only the chosen one is computed."""
        body = self.body
        yes, no, after = body.label("then"), body.label("else"), body.label("after")
        slot = body.fresh()
        self.branch(test, yes, no)
        body.block(yes)
        value = first if isinstance(first, LlvmValue) else self.value(first)
        kind = value.kind
        body.head.append(f"{slot} = alloca {llvm_type(kind)}")
        body.store(value, slot)
        body.jump(after)
        body.block(no)
        other = second if isinstance(second, LlvmValue) else self.value(second)
        body.store(body.converted(other, kind), slot)
        body.jump(after)
        body.block(after)
        return body.emit(f"load {llvm_type(kind)}, ptr {slot}", kind)

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> LlvmValue:
        body = self.body
        name = ast.unparse(node.func).split(".")[-1]
        if node.keywords:
            raise body.fault(f"{ast.unparse(node)} must pass its arguments by place")
        arguments = [self.value(argument) for argument in node.args]
        match name:
            case "abs":
                return self._size(arguments[0])
            case "min" | "max":
                left, right = body.together(*arguments)
                better = body.comparison(ast.Lt() if name == "min" else ast.Gt(), right, left)
                return body.selected(better, right, left)
            case "float":
                return body.converted(arguments[0], "double")
            case "call_program":
                target = body.emit(f"inttoptr i64 {arguments[0].text} to ptr", "reals")
                passed = ", ".join(f"ptr {value.text}" for value in arguments[1:])
                body.lines.append(f"call void {target.text}({passed})")
                return NOTHING
        if name in _FLOAT_CALLS:
            passed = ", ".join(
                f"double {body.converted(value, 'double').text}" for value in arguments
            )
            return body.emit(f"call double @{_FLOAT_CALLS[name]}({passed})", "double")
        return self._native_call(node, arguments)

    def _size(self, value: LlvmValue) -> LlvmValue:
        body = self.body
        if value.kind == "double":
            return body.emit(f"call double @llvm.fabs.f64(double {value.text})", "double")
        value = body.converted(value, "i64")
        below = body.comparison(ast.Lt(), value, LlvmValue("0", "i64"))
        return body.selected(below, body.emit(f"sub nsw i64 0, {value.text}", "i64"), value)

    def _native_call(self, node: ast.Call, arguments: list[LlvmValue]) -> LlvmValue:
        function = resolved(node.func, self.names)
        if not getattr(function, "__native__", False):
            raise self.body.fault(f"`{ast.unparse(node.func)}` is not native")
        self.called.append(function)
        signature = signature_of(function)
        pairs = zip(arguments, signature.parameters, strict=True)
        passed = [
            f"{llvm_type(kind)} {self.body.converted(value, kind).text}"
            for value, (_, kind) in pairs
        ]
        text = f"call {llvm_type(signature.result)} @{signature.name}({', '.join(passed)})"
        if signature.result == "void":
            self.body.lines.append(text)
            return NOTHING
        return self.body.emit(text, signature.result)


def _constant(value: float | np.integer[Any] | np.floating[Any]) -> LlvmValue:
    """A number that is known when the text is written."""
    if isinstance(value, bool):
        return LlvmValue(str(int(value)), "i1")
    if isinstance(value, (int, np.integer)):
        return LlvmValue(str(int(value)), "i64")
    return LlvmValue(float_text(float(value)), "double")
