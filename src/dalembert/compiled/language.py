"""A small language for native loops: plain Python functions over numbers and arrays of numbers, compiled by LLVM.

A function marked `@native` is written in typed Python: integers, floats and booleans; `Reals` and `Integers` are the address
of the first of many numbers, indexed and offset like in C; loops over ``range``, ``while``, ``if``, calls of other native
functions and of a few from mathematics. The whole of a module is translated to LLVM text at once, which takes less than a
second and is then found in the cache on disk.

>>> @native
... def total(n: int, values: Reals) -> float:
...     result = 0.0
...     for k in range(n):
...         result += values[k]
...     return result
>>> import numpy as np
>>> NativeModule([total]).functions["total"](3, np.array([1.0, 2.0, 4.0]))
7.0
"""

from __future__ import annotations

import ast
import ctypes
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .llvm import NativeLibrary, float_text, optimised_object_code

__all__ = [
    "Integers",
    "NativeModule",
    "Reals",
    "call_program",
    "integers_at",
    "native",
    "parsed",
    "reals_at",
    "resolved",
    "signature_of",
]

F = TypeVar("F", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent.parent


class Reals:
    """The address of doubles: ``a[i]`` reads and writes, ``a + k`` is the address k places on."""

    def __getitem__(self, place: int) -> float: ...  # type: ignore[empty-body]
    def __setitem__(self, place: int, value: float) -> None: ...
    def __add__(self, places: int) -> Reals: ...  # type: ignore[empty-body]


class Integers:
    """The address of 64-bit integers."""

    def __getitem__(self, place: int) -> int: ...  # type: ignore[empty-body]
    def __setitem__(self, place: int, value: int) -> None: ...
    def __add__(self, places: int) -> Integers: ...  # type: ignore[empty-body]


def reals_at(address: int) -> Reals:
    """The array at an address that is held as an integer."""
    raise NotImplementedError("only native code can do this")


def integers_at(address: int) -> Integers:
    """The array of integers at an address that is held as an integer."""
    raise NotImplementedError("only native code can do this")


def call_program(address: int, time: Reals, y: Reals, p: Reals, u: Reals, w: Reals, out: Reals) -> None:
    """Call a compiled `Program` at an address."""
    raise NotImplementedError("only native code can do this")


def native(function: F) -> F:
    """Mark a function as native; it is compiled as part of a `NativeModule`."""
    function.__native__ = True  # type: ignore[attr-defined]
    return function


def rare(function: F) -> F:
    """Mark a native function that is seldom called: it is compiled for size and never copied into its callers."""
    function.__rare__ = True  # type: ignore[attr-defined]
    return native(function)


_TYPES = {"int": "i64", "float": "double", "bool": "i1", "Reals": "reals", "Integers": "integers", "None": "void"}
_LLVM = {"reals": "ptr", "integers": "ptr"}
_ELEMENT = {"reals": "double", "integers": "i64"}
_CTYPES: dict[str, Any] = {"i64": ctypes.c_int64, "double": ctypes.c_double, "void": None, "i1": ctypes.c_bool}
_FLOAT_CALLS = {"sqrt": "llvm.sqrt.f64", "nextafter": "nextafter", "pow": "pow"}
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


def _llvm(kind: str) -> str:
    return _LLVM.get(kind, kind)


@dataclass(frozen=True)
class Value:
    """An operand: LLVM text and its kind (i64, double, i1, reals, integers)."""

    text: str
    kind: str


@dataclass(frozen=True)
class Signature:
    """The kinds of a function's parameters and of its result."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    result: str


class NativeModule:
    """Native functions and everything they call, compiled together. Python calls them with numbers and NumPy arrays."""

    def __init__(self, entries: Sequence[Callable[..., Any]]) -> None:
        names = [entry.__name__ for entry in entries]
        code = optimised_object_code(lambda: module_text(entries), _key(entries, names))
        self._library = NativeLibrary(code, names)
        self.functions = {entry.__name__: self._callable(entry) for entry in entries}

    def _callable(self, entry: Callable[..., Any]) -> Callable[..., Any]:
        signature = signature_of(entry)
        kinds = [kind for _, kind in signature.parameters]
        plain = ctypes.CFUNCTYPE(_CTYPES[signature.result], *[_CTYPES.get(kind, ctypes.c_void_p) for kind in kinds])
        function = plain(self._library.addresses[entry.__name__])

        def call(*arguments: Any) -> Any:
            return function(*(a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments))

        call.__doc__, call.__name__ = entry.__doc__, entry.__name__
        call.library = self._library  # type: ignore[attr-defined]  # the code lives as long as someone can call it
        return call


@cache
def _own_sources() -> str:
    """What the native functions of this library are written in, as one digest."""
    digest = hashlib.sha256()
    for part in ("compiled", "integrate"):
        for path in sorted((_PACKAGE / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _key(entries: Sequence[Callable[..., Any]], names: Sequence[str]) -> str | None:
    """A stand-in for the assembly of the library's own functions, which is then not written to be found in the cache."""
    if all(Path(entry.__code__.co_filename).is_relative_to(_PACKAGE) for entry in entries):
        return " ".join([_own_sources(), *names])
    return None


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
        writer = _FunctionWriter(function, tables, external=function in entries)
        done[function.__name__] = writer.text()
        pending += writer.called
    lines = [
        "declare double @llvm.sqrt.f64(double)",
        "declare double @llvm.fabs.f64(double)",
        "declare double @nextafter(double, double)",
        "declare double @pow(double, double)",
    ]
    for name, table in tables.items():
        entries_text = ", ".join(f"double {float_text(value)}" for value in np.ravel(table))
        lines.append(f"@{name} = private constant [{np.size(table)} x double] [{entries_text}]")
    return "\n".join([*lines, *(done[name] for name in sorted(done))])


@cache
def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a native function."""
    kinds = {name: _kind(annotation) for name, annotation in function.__annotations__.items()}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Signature(function.__name__, tuple((name, kinds[name]) for name in names), kinds["return"])


def _kind(annotation: Any) -> str:
    """The kind that an annotation stands for; annotations are text or the types themselves."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return _TYPES[name]


@cache
def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a function, from that of its module where it has one: reading a module once is faster."""
    known = _functions_of(function.__code__.co_filename).get(function.__name__)
    if known is not None and known.decorator_list and known.lineno >= function.__code__.co_firstlineno:
        return known
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    return node


@cache
def _functions_of(path: str) -> dict[str, ast.FunctionDef]:
    if not Path(path).is_file():
        return {}
    body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef)}


class _FunctionWriter:
    """Writes one function: every variable lives on the stack, LLVM lifts it into registers."""

    def __init__(self, function: Callable[..., Any], tables: dict[str, Any], external: bool) -> None:
        self.function, self.tables, self.external = function, tables, external
        self.signature = signature_of(function)
        self.called: list[Callable[..., Any]] = []
        self.slots: dict[str, str] = {}
        self.head: list[str] = []
        self.body: list[str] = []
        self.loops: list[tuple[str, str]] = []
        self.count = 0

    def text(self) -> str:
        parameters = ", ".join(f"{_llvm(kind)} %{name}.in" for name, kind in self.signature.parameters)
        linkage = "" if self.external else "internal "
        for name, kind in self.signature.parameters:
            self._declare(name, kind)
            self.body.append(f"store {_llvm(kind)} %{name}.in, ptr %{name}")
        for statement in parsed(self.function).body:
            self._statement(statement)
        result = self.signature.result
        effort = " noinline cold optsize" if getattr(self.function, "__rare__", False) else ""
        end = "ret void" if result == "void" else "unreachable"
        return "\n".join(
            [
                f"define {linkage}{_llvm(result)} @{self.signature.name}({parameters}) nounwind{effort} {{",
                *self.head,
                *self.body,
                end,
                "}",
            ]
        )

    # -- names ---------------------------------------------------------------------------------------------------

    def _fresh(self) -> str:
        self.count += 1
        return f"%v.{self.count}"

    def _label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def _declare(self, name: str, kind: str) -> None:
        known = self.slots.get(name)
        if known is None:
            self.slots[name] = kind
            self.head.append(f"%{name} = alloca {_llvm(kind)}")
        elif known != kind:
            raise TypeError(f"{self.signature.name}: `{name}` is {known} and cannot become {kind}")

    def _emit(self, text: str, kind: str) -> Value:
        name = self._fresh()
        self.body.append(f"{name} = {text}")
        return Value(name, kind)

    def _block(self, label: str) -> None:
        self.body.append(f"{label}:")

    # -- statements ----------------------------------------------------------------------------------------------

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(value=ast.Constant()):
                return
            case ast.Expr(value=value):
                self._expression(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for place, found in zip(targets, [self._expression(v) for v in values], strict=True):
                    self._assign(place, found)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, self._expression(value))
            case ast.AugAssign(target=target, op=op, value=value):
                left = self._expression(target)
                self._assign(target, self._arithmetic(op, left, self._expression(value)))
            case ast.If():
                self._if(node)
            case ast.For(orelse=[]):
                self._for(node)
            case ast.While(orelse=[]):
                self._while(node)
            case ast.Break() | ast.Continue():
                self.body.append(f"br label %{self.loops[-1][isinstance(node, ast.Continue)]}")
                self._block(self._label("dead"))
            case ast.Return(value=value):
                self._return(value)
            case ast.Pass():
                return
            case _:
                raise TypeError(f"{self.signature.name}: cannot translate {ast.unparse(node)}")

    def _assign(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self._declare(target.id, value.kind)
            self.body.append(f"store {_llvm(value.kind)} {value.text}, ptr %{target.id}")
            return
        assert isinstance(target, ast.Subscript)
        address, element = self._address(target)
        value = self._converted(value, element)
        self.body.append(f"store {element} {value.text}, ptr {address}")

    def _return(self, value: ast.expr | None) -> None:
        result = self.signature.result
        if value is None:
            self.body.append("ret void")
        else:
            found = self._converted(self._expression(value), result)
            self.body.append(f"ret {_llvm(result)} {found.text}")
        self._block(self._label("dead"))

    def _if(self, node: ast.If) -> None:
        yes, no, after = self._label("then"), self._label("else"), self._label("after")
        self._branch(node.test, yes, no)
        self._block(yes)
        for statement in node.body:
            self._statement(statement)
        self.body.append(f"br label %{after}")
        self._block(no)
        for statement in node.orelse:
            self._statement(statement)
        self.body.append(f"br label %{after}")
        self._block(after)

    def _while(self, node: ast.While) -> None:
        test, inside, after = self._label("test"), self._label("loop"), self._label("after")
        self.body.append(f"br label %{test}")
        self._block(test)
        self._branch(node.test, inside, after)
        self._block(inside)
        self.loops.append((after, test))
        for statement in node.body:
            self._statement(statement)
        self.loops.pop()
        self.body.append(f"br label %{test}")
        self._block(after)

    def _for(self, node: ast.For) -> None:
        if not (isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call) and _is_range(node.iter)):
            raise TypeError(f"{self.signature.name}: a loop must run over a range, not {ast.unparse(node.iter)}")
        arguments = [self._converted(self._expression(argument), "i64") for argument in node.iter.args]
        first = arguments[0] if len(arguments) > 1 else Value("0", "i64")
        last = arguments[1] if len(arguments) > 1 else arguments[0]
        stride = _stated(arguments[2]) if len(arguments) > 2 else 1
        if not stride:
            raise TypeError(f"{self.signature.name}: the stride of a range must be a constant other than 0")
        name = node.target.id
        self._declare(name, "i64")
        self._declare(f"{name}.next", "i64")
        test, inside, step, after = (self._label(h) for h in ("test", "loop", "step", "after"))
        self.body += [f"store i64 {first.text}, ptr %{name}.next", f"br label %{test}"]
        self._block(test)
        current = self._emit(f"load i64, ptr %{name}.next", "i64")
        more = self._emit(f"icmp {'slt' if stride > 0 else 'sgt'} i64 {current.text}, {last.text}", "i1")
        self.body.append(f"br i1 {more.text}, label %{inside}, label %{after}")
        self._block(inside)
        self.body.append(f"store i64 {current.text}, ptr %{name}")
        self.loops.append((after, step))
        for statement in node.body:
            self._statement(statement)
        self.loops.pop()
        self.body.append(f"br label %{step}")
        self._block(step)
        following = self._emit(f"add nsw i64 {current.text}, {stride}", "i64")
        self.body += [f"store i64 {following.text}, ptr %{name}.next", f"br label %{test}"]
        self._block(after)

    def _branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Jump on a condition, with and/or/not evaluated only as far as needed."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self._branch(node.operand, no, yes)
        elif isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                further = self._label("and")
                if isinstance(node.op, ast.And):
                    self._branch(part, further, no)
                else:
                    self._branch(part, yes, further)
                self._block(further)
            self._branch(node.values[-1], yes, no)
        else:
            condition = self._converted(self._expression(node), "i1")
            self.body.append(f"br i1 {condition.text}, label %{yes}, label %{no}")

    # -- expressions ---------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(value=bool() as value):
                return Value(str(int(value)), "i1")
            case ast.Constant(value=int() as value):
                return Value(str(value), "i64")
            case ast.Constant(value=float() as value):
                return Value(float_text(value), "double")
            case ast.Name(id=name) if name in self.slots:
                kind = self.slots[name]
                return self._emit(f"load {_llvm(kind)}, ptr %{name}", kind)
            case ast.Name() | ast.Attribute():
                return self._global(node)
            case ast.Subscript():
                address, element = self._address(node)
                return self._emit(f"load {element}, ptr {address}", element)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(self._expression(operand))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(left, right)
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(op, self._expression(left), self._expression(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._comparison(op, self._expression(left), self._expression(right))
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._chosen(node, Value("1", "i1"), Value("0", "i1"))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self._chosen(test, body, orelse)
            case ast.Call():
                return self._call(node)
        raise TypeError(f"{self.signature.name}: cannot translate {ast.unparse(node)}")

    def _negative(self, value: Value) -> Value:
        if value.kind == "double":
            return self._emit(f"fneg double {value.text}", "double")
        value = self._converted(value, "i64")
        known = _stated(value)
        if known is not None:
            return Value(str(-known), "i64")
        return self._emit(f"sub nsw i64 0, {value.text}", "i64")

    def _global(self, node: ast.expr) -> Value:
        value = resolved(node, self.function.__globals__)
        if isinstance(value, bool):
            return Value(str(int(value)), "i1")
        if isinstance(value, (int, np.integer)):
            return Value(str(int(value)), "i64")
        if isinstance(value, (float, np.floating)):
            return Value(float_text(float(value)), "double")
        if isinstance(value, np.ndarray):
            names = (f"table.{ast.unparse(node)}.{k}" for k in range(len(self.tables) + 1))
            name = next(name for name in names if self.tables.setdefault(name, value) is value)
            return Value(f"@{name}", "reals")
        raise TypeError(f"{self.signature.name}: `{ast.unparse(node)}` is no constant")

    def _address(self, node: ast.Subscript) -> tuple[str, str]:
        """Where an element is, and what it is; a table of two dimensions takes two indices."""
        base = self._expression(node.value)
        index = node.slice
        if isinstance(index, ast.Tuple):
            table = self.tables[base.text.lstrip("@")]
            row, column = (self._converted(self._expression(part), "i64") for part in index.elts)
            scaled = self._emit(f"mul nsw i64 {row.text}, {table.shape[1]}", "i64")
            place = self._emit(f"add nsw i64 {scaled.text}, {column.text}", "i64")
        else:
            place = self._converted(self._expression(index), "i64")
        if base.kind not in _ELEMENT:
            raise TypeError(f"{self.signature.name}: {ast.unparse(node.value)} is no array")
        element = _ELEMENT[base.kind]
        address = self._emit(f"getelementptr inbounds {element}, ptr {base.text}, i64 {place.text}", base.kind)
        return address.text, element

    def _converted(self, value: Value, kind: str) -> Value:
        if value.kind == kind:
            return value
        if value.kind == "i64" and kind == "double":
            if _stated(value) is not None:
                return Value(float_text(float(value.text)), "double")
            return self._emit(f"sitofp i64 {value.text} to double", "double")
        if value.kind == "i1" and kind == "i64":
            return self._emit(f"zext i1 {value.text} to i64", "i64")
        if value.kind == "i64" and kind == "i1":
            return self._emit(f"icmp ne i64 {value.text}, 0", "i1")
        raise TypeError(f"{self.signature.name}: {value.kind} cannot become {kind}")

    def _together(self, left: Value, right: Value) -> tuple[Value, Value]:
        kind = "double" if "double" in (left.kind, right.kind) else "i64"
        return self._converted(left, kind), self._converted(right, kind)

    def _arithmetic(self, op: ast.operator, left: Value, right: Value) -> Value:
        if left.kind in _ELEMENT and isinstance(op, ast.Add):
            places = self._converted(right, "i64").text
            return self._emit(f"getelementptr inbounds {_ELEMENT[left.kind]}, ptr {left.text}, i64 {places}", left.kind)
        if isinstance(op, ast.Div):
            left, right = self._converted(left, "double"), self._converted(right, "double")
            return self._emit(f"fdiv double {left.text}, {right.text}", "double")
        left, right = self._together(left, right)
        if isinstance(op, ast.FloorDiv | ast.Mod) and left.kind == "i64":
            return self._floored(op, left, right)
        if type(op) not in _ARITHMETIC:
            raise TypeError(f"{self.signature.name}: {type(op).__name__} of {left.kind} is not in the language")
        whole, real = _ARITHMETIC[type(op)]
        if left.kind == "i64":
            return self._emit(f"{whole} i64 {left.text}, {right.text}", "i64")
        return self._emit(f"{real} contract double {left.text}, {right.text}", "double")

    def _floored(self, op: ast.operator, left: Value, right: Value) -> Value:
        """Quotient and remainder as in Python: the quotient is rounded down, the remainder has the divisor's sign."""
        rest = self._emit(f"srem i64 {left.text}, {right.text}", "i64")
        mixed = self._emit(f"xor i64 {rest.text}, {right.text}", "i64")
        apart = self._emit(f"icmp slt i64 {mixed.text}, 0", "i1")
        broken = self._emit(f"icmp ne i64 {rest.text}, 0", "i1")
        down = self._emit(f"and i1 {apart.text}, {broken.text}", "i1")
        if isinstance(op, ast.Mod):
            added = self._emit(f"select i1 {down.text}, i64 {right.text}, i64 0", "i64")
            return self._emit(f"add nsw i64 {rest.text}, {added.text}", "i64")
        quotient = self._emit(f"sdiv i64 {left.text}, {right.text}", "i64")
        one = self._emit(f"zext i1 {down.text} to i64", "i64")
        return self._emit(f"sub nsw i64 {quotient.text}, {one.text}", "i64")

    def _power(self, base: ast.expr, exponent: ast.expr) -> Value:
        value = self._converted(self._expression(base), "double")
        if isinstance(exponent, ast.Constant) and exponent.value == 2:
            return self._emit(f"fmul contract double {value.text}, {value.text}", "double")
        power = self._converted(self._expression(exponent), "double")
        return self._emit(f"call double @pow(double {value.text}, double {power.text})", "double")

    def _comparison(self, op: ast.cmpop, left: Value, right: Value) -> Value:
        left, right = self._together(left, right)
        if type(op) not in _COMPARE:
            raise TypeError(f"{self.signature.name}: {type(op).__name__} is not in the language")
        whole, real = _COMPARE[type(op)]
        if left.kind == "i64":
            return self._emit(f"icmp {whole} i64 {left.text}, {right.text}", "i1")
        return self._emit(f"fcmp {real} double {left.text}, {right.text}", "i1")

    def _chosen(self, test: ast.expr, first: ast.expr | Value, second: ast.expr | Value) -> Value:
        """One of two values, of which only the chosen one is computed."""
        yes, no, after = self._label("then"), self._label("else"), self._label("after")
        slot = self._fresh()
        self._branch(test, yes, no)
        self._block(yes)
        value = first if isinstance(first, Value) else self._expression(first)
        kind = value.kind
        self.head.append(f"{slot} = alloca {_llvm(kind)}")
        self.body += [f"store {_llvm(kind)} {value.text}, ptr {slot}", f"br label %{after}"]
        self._block(no)
        other = second if isinstance(second, Value) else self._expression(second)
        other = self._converted(other, kind)
        self.body += [f"store {_llvm(kind)} {other.text}, ptr {slot}", f"br label %{after}"]
        self._block(after)
        return self._emit(f"load {_llvm(kind)}, ptr {slot}", kind)

    def _call(self, node: ast.Call) -> Value:
        name = ast.unparse(node.func).split(".")[-1]
        if node.keywords:
            raise TypeError(f"{self.signature.name}: {ast.unparse(node)} must pass its arguments by place")
        arguments = [self._expression(argument) for argument in node.args]
        match name:
            case "abs" if arguments[0].kind != "double":
                value = self._converted(arguments[0], "i64")
                below = self._comparison(ast.Lt(), value, Value("0", "i64"))
                minus = self._emit(f"sub nsw i64 0, {value.text}", "i64")
                return self._emit(f"select i1 {below.text}, i64 {minus.text}, i64 {value.text}", "i64")
            case "abs":
                return self._emit(f"call double @llvm.fabs.f64(double {arguments[0].text})", "double")
            case "min" | "max":
                left, right = self._together(*arguments)
                better = self._comparison(ast.Lt() if name == "min" else ast.Gt(), right, left)
                kind = left.kind
                text = f"select i1 {better.text}, {_llvm(kind)} {right.text}, {_llvm(kind)} {left.text}"
                return self._emit(text, kind)
            case "float":
                return self._converted(arguments[0], "double")
            case "reals_at" | "integers_at":
                kind = "reals" if name == "reals_at" else "integers"
                return self._emit(f"inttoptr i64 {arguments[0].text} to ptr", kind)
            case "call_program":
                target = self._emit(f"inttoptr i64 {arguments[0].text} to ptr", "reals")
                passed = ", ".join(f"ptr {value.text}" for value in arguments[1:])
                self.body.append(f"call void {target.text}({passed})")
                return Value("0", "i64")
        if name in _FLOAT_CALLS:
            passed = ", ".join(f"double {self._converted(value, 'double').text}" for value in arguments)
            return self._emit(f"call double @{_FLOAT_CALLS[name]}({passed})", "double")
        return self._native_call(node, arguments)

    def _native_call(self, node: ast.Call, arguments: list[Value]) -> Value:
        function = resolved(node.func, self.function.__globals__)
        if not getattr(function, "__native__", False):
            raise TypeError(f"{self.signature.name}: `{ast.unparse(node.func)}` is not native")
        self.called.append(function)
        signature = signature_of(function)
        pairs = zip(arguments, signature.parameters, strict=True)
        passed = [f"{_llvm(kind)} {self._converted(value, kind).text}" for value, (_, kind) in pairs]
        text = f"call {_llvm(signature.result)} @{signature.name}({', '.join(passed)})"
        if signature.result == "void":
            self.body.append(text)
            return Value("0", "i64")
        return self._emit(text, signature.result)


def _stated(value: Value) -> int | None:
    """The integer that an operand states, or None where it is computed."""
    return int(value.text) if value.text.lstrip("-").isdigit() else None


def _is_range(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "range" and 1 <= len(call.args) <= 3


def resolved(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a dotted name stands for in the module of a native function."""
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise TypeError(f"`{node.id}` is not known to native code")
        return names[node.id]
    assert isinstance(node, ast.Attribute)
    return getattr(resolved(node.value, names), node.attr)
