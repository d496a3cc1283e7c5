"""Native functions (see `language`) as C, for solvers in exported programs.

The translation is literal, so that both have one source. It takes what `language` takes; bounds of
a loop must not change inside it, and integers that are divided must not be negative.

What native functions find in a context through addresses, C text finds in a structure
(`ContextInC`). Entries that are numbers known beforehand decide tests while the text is written,
and what is then never reached is left out.

>>> from dalembert.codegen.native.language import Reals, native
>>> @native
... def scale(n: int, factor: float, x: Reals) -> None:
...     for i in range(n):
...         x[i] *= factor
>>> print(c_functions([scale]))
static void scale(long n, double factor, double *x)
{
    long i;
    for (i = 0; i < n; i += 1) {
        x[i] *= factor;
    }
}
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .c_text import ContextInC, c_number, declaration, has_effect, summary_comment, table_text
from .language import ELEMENT, field_of, parsed, resolved, signature_of

if TYPE_CHECKING:
    pass

__all__ = ["c_functions"]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Mod: "%", ast.FloorDiv: "/",
}  # fmt: skip
_RELATIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq:
    operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
#: The parameter of native functions that is the context of a kernel.
_CONTEXT = "context"


def c_functions(entries: Sequence[Callable[..., Any]], layout: ContextInC | None = None) -> str:
    """C text of native functions and of all that they call, declared before they are used.

    Functions that read a context need a `ContextInC`. What calls a program calls a C function
    ``call_program(context, which, t, y, p, u, w, out)``, which must be written before this text.
    """
    done: dict[str, str] = {}
    tables: dict[str, Any] = {}

    def write(function: Callable[..., Any]) -> None:
        if function.__name__ in done:
            return
        writer = _CFunctionWriter(function, layout, tables)
        text = writer.text()
        for called in writer.called:
            write(called)
        done[function.__name__] = text

    for entry in entries:
        write(entry)
    return "\n\n".join(
        [*(table_text(name, table) for name, table in tables.items()), *done.values()]
    )


class _CFunctionWriter:
    """Write one function; declare its variables first and leave out those that nothing reads."""

    def __init__(
        self, function: Callable[..., Any], layout: ContextInC | None, tables: dict[str, Any]
    ) -> None:
        self.function, self.layout, self.tables = function, layout, tables
        self.signature = signature_of(function)
        self.parameters = dict(self.signature.parameters)
        self.unread: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self.kinds: dict[str, str] = dict(self.parameters)
        #: Variables that are records of the context, as C text.
        self.aliases: dict[str, str] = {}
        self.called: list[Callable[..., Any]] = []
        self.lines: list[str] = []
        self.read: set[str] = set()
        self.depth = 1
        self.spares = 0

    def text(self) -> str:
        while True:
            self._begin()
            self._statements(parsed(self.function).body)
            idle = set(self.kinds) - set(self.parameters) - self.read - self.unread
            if not idle:
                break
            self.unread |= idle
        parameters = [self._parameter(name, kind) for name, kind in self.signature.parameters]
        own = set(self.kinds) - set(self.parameters) - self.unread - set(self.aliases)
        head = [f"    {declaration(self.kinds[name], name)};" for name in sorted(own)]
        head += [f"    (void){name};" for name in self.parameters if name not in self.read]
        title = (
            "static"
            f" {declaration(self.signature.result, self.signature.name)}({', '.join(parameters)})"
        )
        return "\n".join([*summary_comment(self.function), title, "{", *head, *self.lines, "}"])

    def _parameter(self, name: str, kind: str) -> str:
        if self.layout is not None and self._is_context(name):
            return f"{self.layout.type} *{name}"
        return declaration(kind, name)

    def _is_context(self, name: str) -> bool:
        """Whether a name is the parameter that stands for the context of a kernel."""
        return name == _CONTEXT and self.parameters.get(name, "").startswith("@")

    def _put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def _declare(self, name: str, kind: str) -> None:
        known = self.kinds.setdefault(name, kind)
        if known != kind and not (known == "double" and kind == "i64"):
            raise TypeError(f"{self.signature.name}: `{name}` is {known} and cannot become {kind}")

    # -- statements --------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return
            case ast.Expr(value=value):
                self._put(f"{self._expression(value)[0]};")
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                self._assign_together(targets, values)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                name in self.unread and not has_effect(value)
            ):
                return
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.unread:
                self._put(f"(void){self._operand(value)[0]};")
            case ast.Assign(targets=[target], value=value):
                self._assign(target, *self._expression(value))
            case ast.AugAssign(target=target, op=op, value=value):
                if not (isinstance(target, ast.Name) and target.id in self.unread):
                    self._put(
                        f"{self._place(target)} {_OPERATORS[type(op)]}="
                        f" {self._expression(value)[0]};"
                    )
            case ast.If(test=test, body=body, orelse=orelse) if (
                known := self._known(test)
            ) is not None:
                self._statements(body if known else orelse)
            case ast.If(test=test, body=body, orelse=orelse):
                self._put(f"if ({self._expression(test)[0]}) {{")
                self._block(body)
                if orelse:
                    self._put("} else {")
                    self._block(orelse)
                self._put("}")
            case ast.While(test=test, body=body):
                self._put(f"while ({self._expression(test)[0]}) {{")
                self._block(body)
                self._put("}")
            case ast.For():
                self._for(node)
            case ast.Break():
                self._put("break;")
            case ast.Continue():
                self._put("continue;")
            case ast.Return(value=None):
                self._put("return;")
            case ast.Return(value=ast.expr() as value):
                self._put(f"return {self._expression(value)[0]};")
            case _:
                raise TypeError(f"{self.signature.name}: cannot translate {ast.unparse(node)}")

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        """Statements in order, up to one behind which nothing is reached."""
        for statement in body:
            self._statement(statement)
            if self._ends(statement):
                return

    def _ends(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.If) and (known := self._known(statement.test)) is not None:
            return any(
                self._ends(inner) for inner in (statement.body if known else statement.orelse)
            )
        return isinstance(statement, ast.Return)

    def _block(self, body: Sequence[ast.stmt]) -> None:
        self.depth += 1
        self._statements(body)
        self.depth -= 1

    def _for(self, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call) and isinstance(node.target, ast.Name)
        bounds = [self._operand(argument)[0] for argument in node.iter.args]
        first, last = ("0", bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        stride = int(bounds[2].strip("()")) if len(bounds) > 2 else 1
        name = node.target.id
        self._declare(name, "i64")
        self.read.add(name)
        relation = "<" if stride > 0 else ">"
        self._put(f"for ({name} = {first}; {name} {relation} {last}; {name} += {stride}) {{")
        self._block(node.body)
        self._put("}")

    def _place(self, target: ast.expr) -> str:
        return target.id if isinstance(target, ast.Name) else self._expression(target)[0]

    def _assign(self, target: ast.expr, value: str, kind: str) -> None:
        if isinstance(target, ast.Name):
            self._declare(target.id, kind)
            if kind.startswith("@"):
                if self.aliases.setdefault(target.id, value) != value:
                    raise TypeError(
                        f"{self.signature.name}: `{target.id}` cannot become another record"
                    )
                return
            if target.id in self.unread:
                return
        self._put(f"{self._place(target)} = {value};")

    def _assign_together(self, targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> None:
        """Assign several targets at once, by temporaries where a value reads another target."""
        pairs = [
            (target, value)
            for target, value in zip(targets, values, strict=True)
            if not (isinstance(target, ast.Name) and target.id in self.unread)
        ]
        targets, values = [target for target, _ in pairs], [value for _, value in pairs]
        written = {target.id for target in targets if isinstance(target, ast.Name)}
        read = {
            node.id for value in values for node in ast.walk(value) if isinstance(node, ast.Name)
        }
        into_arrays = any(isinstance(target, ast.Subscript) for target in targets)
        from_arrays = any(
            isinstance(node, ast.Subscript) for value in values for node in ast.walk(value)
        )
        found = [self._expression(value) for value in values]
        if written & read or (into_arrays and from_arrays):
            for place, (text, kind) in enumerate(found):
                self.spares += 1
                spare = f"spare{self.spares}_"
                self._declare(spare, kind)
                self.read.add(spare)
                self._put(f"{spare} = {text};")
                found[place] = (spare, kind)
        for target, (text, kind) in zip(targets, found, strict=True):
            self._assign(target, text, kind)

    # -- what is known while the text is written ---------------------------------------------------

    def _known(self, node: ast.expr) -> int | float | None:
        """The value of an expression that is known beforehand; None where it is not."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Name(id=name) if name not in self.kinds:
                constant = self.function.__globals__.get(name)
                return constant if isinstance(constant, (int, float)) else None
            case ast.Attribute(value=ast.Name(id=name), attr=field) if self._is_context(name):
                entry = self._entry(field)
                return entry if isinstance(entry, int) else None
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                first, second = self._known(left), self._known(right)
                if first is None or second is None:
                    return None
                return bool(_RELATIONS[type(op)](first, second))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._known(operand)
                return None if inner is None else not inner
            case ast.BoolOp(op=op, values=values):
                absorbing = isinstance(op, ast.Or)
                found = [self._known(value) for value in values]
                if found[0] is not None and bool(found[0]) is absorbing:
                    return absorbing
                if any(value is None for value in found):
                    return None
                return any(found) if absorbing else all(found)
        return None

    # -- expressions: text and kind ----------------------------------------------------------------

    def _expression(self, node: ast.expr) -> tuple[str, str]:
        match node:
            case ast.Constant(value=bool() as value):
                return str(int(value)), "i1"
            case ast.Constant(value=int() as value):
                return str(value), "i64"
            case ast.Constant(value=float() as value):
                return c_number(value), "double"
            case ast.Name(id=name) if name in self.kinds:
                self.read.add(name)
                return self.aliases.get(name, name), self.kinds[name]
            case ast.Attribute(value=base, attr=field) if self._is_field(node):
                return self._field(base, field)
            case ast.Name() | ast.Attribute():
                return self._constant(node)
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name not in self.kinds:
                return self._table_entry(node.value, index), "double"
            case ast.Subscript(value=value, slice=index):
                text, kind = self._expression(value)
                return f"{text}[{self._expression(index)[0]}]", ELEMENT[kind]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                text, kind = self._operand(operand)
                return f"-{text}", kind
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self._operand(operand)[0]}", "i1"
            case ast.BoolOp() | ast.Compare() if (known := self._known(node)) is not None:
                return str(int(known)), "i1"
            case ast.BoolOp(op=op, values=values):
                sign = " && " if isinstance(op, ast.And) else " || "
                unsure = [
                    value
                    for value in values
                    if self._known(value) is None or bool(self._known(value)) is (sign == " || ")
                ]
                return sign.join(self._operand(value)[0] for value in unsure), "i1"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return (
                    f"{self._operand(left)[0]} {_OPERATORS[type(op)]} {self._operand(right)[0]}",
                    "i1",
                )
            case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=2)):
                text = self._operand(left)[0]
                return f"{text} * {text}", "double"
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return f"pow({self._expression(left)[0]}, {self._expression(right)[0]})", "double"
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(left, op, right)
            case ast.IfExp(test=test, body=body, orelse=orelse) if (
                known := self._known(test)
            ) is not None:
                return self._expression(body if known else orelse)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                (first, kind), (second, _) = self._operand(body), self._operand(orelse)
                return f"{self._operand(test)[0]} ? {first} : {second}", kind
            case ast.Call():
                return self._call(node)
        raise TypeError(f"{self.signature.name}: cannot translate {ast.unparse(node)}")

    def _is_field(self, node: ast.expr) -> bool:
        """Whether a dotted name begins with a variable, so that it is a field of a record."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.kinds

    def _entry(self, field: str) -> int | str:
        """What a field of the context is in C."""
        if self.layout is None:
            raise TypeError(f"{self.signature.name}: the context has no C structure")
        return self.layout.entries[field]

    def _field(self, base: ast.expr, field: str) -> tuple[str, str]:
        """A field: of the context by its C text, of a record within it by its name."""
        if isinstance(base, ast.Name) and self._is_context(base.id):
            entry = self._entry(field)
            if isinstance(entry, str):
                self.read.add(base.id)
            return str(entry), field_of(self.kinds[base.id], field)[1]
        text, kind = self._expression(base)
        return f"{text}.{field}", field_of(kind, field)[1]

    def _operand(self, node: ast.expr) -> tuple[str, str]:
        """An expression that can stand inside another: in parentheses unless it is one word."""
        text, kind = self._expression(node)
        simple = isinstance(node, (ast.Name, ast.Subscript, ast.Attribute, ast.Constant, ast.Call))
        return (text, kind) if simple and not text.startswith("-") else (f"({text})", kind)

    def _arithmetic(self, left: ast.expr, op: ast.operator, right: ast.expr) -> tuple[str, str]:
        (first, kind), (second, other) = self._operand(left), self._operand(right)
        if isinstance(op, ast.Div):
            if "double" not in (kind, other):
                first = f"(double){first}"
            return f"{first} / {second}", "double"
        if type(op) not in _OPERATORS or (
            isinstance(op, ast.Mod | ast.FloorDiv) and "double" in (kind, other)
        ):
            raise TypeError(f"{self.signature.name}: {type(op).__name__} is not translated to C")
        result = kind if kind in ELEMENT else "double" if "double" in (kind, other) else "i64"
        return f"{first} {_OPERATORS[type(op)]} {second}", result

    def _constant(self, node: ast.expr) -> tuple[str, str]:
        value = resolved(node, self.function.__globals__)
        if isinstance(value, int):
            return str(int(value)), "i64"
        if isinstance(value, float):
            return c_number(value), "double"
        raise TypeError(f"{self.signature.name}: `{ast.unparse(node)}` is no number")

    def _table_entry(self, table: ast.expr, index: ast.expr) -> str:
        """An entry of a table of the module, which becomes part of the text."""
        value = resolved(table, self.function.__globals__)
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{self.signature.name}: `{ast.unparse(table)}` is no table")
        names = (f"table_{ast.unparse(table)}{k or ''}" for k in range(len(self.tables) + 1))
        name = next(name for name in names if self.tables.setdefault(name, value) is value)
        if not isinstance(index, ast.Tuple):
            return f"{name}[{self._expression(index)[0]}]"
        row, column = (self._operand(part)[0] for part in index.elts)
        return f"{name}[{row} * {value.shape[1]} + {column}]"

    def _call(self, node: ast.Call) -> tuple[str, str]:
        name = ast.unparse(node.func).split(".")[-1]
        found = [self._expression(argument) for argument in node.args]
        texts = [text for text, _ in found]
        match name:
            case "abs":
                if found[0][1] == "double":
                    return f"fabs({texts[0]})", "double"
                return f"(({texts[0]}) < 0 ? -({texts[0]}) : ({texts[0]}))", "i64"
            case "sqrt" | "floor" | "sin" | "cos" | "pow" | "nextafter":
                return f"{name}({', '.join(texts)})", "double"
            case "float":
                return f"(double)({texts[0]})", "double"
            case "min" | "max":
                first, second = (self._operand(argument)[0] for argument in node.args)
                relation = "<" if name == "min" else ">"
                kind = "double" if any(kind == "double" for _, kind in found) else "i64"
                return f"({second} {relation} {first} ? {second} : {first})", kind
            case "call_program" if self.layout is not None:
                self.read.add(_CONTEXT)
                return f"call_program({', '.join([_CONTEXT, *texts])})", "void"
        function = resolved(node.func, self.function.__globals__)
        if not getattr(function, "__native__", False):
            raise TypeError(f"{self.signature.name}: `{ast.unparse(node.func)}` is not native")
        self.called.append(function)
        signature = signature_of(function)
        return f"{signature.name}({', '.join(texts)})", signature.result
