"""Native functions (see `language`) as LLVM: statements, whole functions, and a module of them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backends.llvm_operations import float_text
from .language import parsed, signature_of
from .llvm_expressions import Expressions
from .llvm_values import FunctionBody, LlvmValue, llvm_type, stated

__all__ = ["module_text"]

_DECLARATIONS = (
    "declare double @llvm.sqrt.f64(double)",
    "declare double @llvm.floor.f64(double)",
    "declare double @llvm.fabs.f64(double)",
    "declare double @llvm.sin.f64(double)",
    "declare double @llvm.cos.f64(double)",
    "declare double @nextafter(double, double)",
    "declare double @pow(double, double)",
)


def module_text(entries: Sequence[Callable[..., Any]]) -> str:
    """LLVM assembly of functions and all native functions that they call."""
    done: dict[str, str] = {}
    owners: dict[str, Callable[..., Any]] = {}
    tables: dict[str, Any] = {}
    pending = list(entries)
    while pending:
        function = pending.pop()
        if owners.setdefault(function.__name__, function) is not function:
            raise TypeError(f"two native functions are called `{function.__name__}`")
        if function.__name__ in done:
            continue
        writer = _FunctionWriter(function, tables)
        done[function.__name__] = writer.text(external=function in entries)
        pending += writer.expressions.called
    lines = [*_DECLARATIONS]
    for name, table in tables.items():
        entries_text = ", ".join(f"double {float_text(value)}" for value in np.ravel(table))
        lines.append(f"@{name} = private constant [{np.size(table)} x double] [{entries_text}]")
    return "\n".join([*lines, *(done[name] for name in sorted(done))])


class _FunctionWriter:
    """Writes the statements of one function."""

    def __init__(self, function: Callable[..., Any], tables: dict[str, Any]) -> None:
        self.function, self.signature = function, signature_of(function)
        self.body = FunctionBody(self.signature.name)
        self.expressions = Expressions(function, self.body, tables)
        #: For each loop around a statement: where `break` and where `continue` go.
        self.loops: list[tuple[str, str]] = []

    def text(self, external: bool) -> str:
        body, result = self.body, self.signature.result
        parameters = ", ".join(
            f"{llvm_type(kind)} %{name}.in" for name, kind in self.signature.parameters
        )
        linkage = "" if external else "internal "
        for name, kind in self.signature.parameters:
            body.declare(name, kind)
            body.store(LlvmValue(f"%{name}.in", kind), f"%{name}")
        self._statements(parsed(self.function).body)
        effort = " noinline cold optsize" if getattr(self.function, "__rare__", False) else ""
        head = (
            f"define {linkage}{llvm_type(result)} @{self.signature.name}({parameters})"
            f" nounwind{effort} {{"
        )
        end = "ret void" if result == "void" else "unreachable"
        return "\n".join([head, *body.head, *body.lines, end, "}"])

    def _statements(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        value_of = self.expressions.value
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Expr(value=value):
                value_of(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for place, found in zip(targets, [value_of(v) for v in values], strict=True):
                    self._assign(place, found)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value_of(value))
            case ast.AugAssign(target=target, op=op, value=value):
                left = value_of(target)
                self._assign(target, self.body.arithmetic(op, left, value_of(value)))
            case ast.If():
                self._if(node)
            case ast.For(orelse=[]):
                self._for(node)
            case ast.While(orelse=[]):
                self._while(node)
            case ast.Break() | ast.Continue():
                self.body.jump(self.loops[-1][isinstance(node, ast.Continue)])
                self.body.block(self.body.label("dead"))
            case ast.Return(value=result):
                self._return(result)
            case _:
                raise self.body.fault(f"cannot translate {ast.unparse(node)}")

    def _assign(self, target: ast.expr, value: LlvmValue) -> None:
        if isinstance(target, ast.Name):
            self.body.declare(target.id, value.kind)
            self.body.store(value, f"%{target.id}")
            return
        assert isinstance(target, ast.Subscript | ast.Attribute)
        address, element = self.expressions.address(target)
        self.body.store(self.body.converted(value, element), address)

    def _return(self, value: ast.expr | None) -> None:
        result = self.signature.result
        if value is None:
            self.body.lines.append("ret void")
        else:
            found = self.body.converted(self.expressions.value(value), result)
            self.body.lines.append(f"ret {llvm_type(result)} {found.text}")
        self.body.block(self.body.label("dead"))

    def _if(self, node: ast.If) -> None:
        body = self.body
        yes, no, after = body.label("then"), body.label("else"), body.label("after")
        self.expressions.branch(node.test, yes, no)
        for label, statements in ((yes, node.body), (no, node.orelse)):
            body.block(label)
            self._statements(statements)
            body.jump(after)
        body.block(after)

    def _while(self, node: ast.While) -> None:
        body = self.body
        test, inside, after = body.label("test"), body.label("loop"), body.label("after")
        body.jump(test)
        body.block(test)
        self.expressions.branch(node.test, inside, after)
        body.block(inside)
        self._loop_body(node.body, after, test)
        body.jump(test)
        body.block(after)

    def _for(self, node: ast.For) -> None:
        body = self.body
        if not (
            isinstance(node.target, ast.Name)
            and isinstance(node.iter, ast.Call)
            and _is_range(node.iter)
        ):
            raise body.fault(f"a loop must run over a range, not {ast.unparse(node.iter)}")
        arguments = [self.expressions.whole(argument) for argument in node.iter.args]
        first = arguments[0] if len(arguments) > 1 else LlvmValue("0", "i64")
        last = arguments[1] if len(arguments) > 1 else arguments[0]
        stride = stated(arguments[2]) if len(arguments) > 2 else 1
        if not stride:
            raise body.fault("the stride of a range must be a constant other than 0")
        name = node.target.id
        body.declare(name, "i64")
        body.declare(f"{name}.next", "i64")
        test, inside, step, after = (body.label(hint) for hint in ("test", "loop", "step", "after"))
        body.store(first, f"%{name}.next")
        body.jump(test)
        body.block(test)
        current = body.load(f"{name}.next")
        more = body.comparison(ast.Lt() if stride > 0 else ast.Gt(), current, last)
        body.lines.append(f"br i1 {more.text}, label %{inside}, label %{after}")
        body.block(inside)
        body.store(current, f"%{name}")
        self._loop_body(node.body, after, step)
        body.jump(step)
        body.block(step)
        body.store(
            body.arithmetic(ast.Add(), current, LlvmValue(str(stride), "i64")), f"%{name}.next"
        )
        body.jump(test)
        body.block(after)

    def _loop_body(self, nodes: Sequence[ast.stmt], after_break: str, after_continue: str) -> None:
        self.loops.append((after_break, after_continue))
        self._statements(nodes)
        self.loops.pop()


def _is_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "range" and 1 <= len(call.args) <= 3
