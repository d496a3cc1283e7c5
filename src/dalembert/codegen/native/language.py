"""A small language for native loops: plain Python functions over numbers and arrays of numbers.

A function marked `@native` is written in typed Python: integers, floats and booleans; `Reals` and
`Integers` are the address of the first of many numbers, indexed and offset like in C; loops over
``range``, ``while``, ``if``, calls of other native functions and of a few from mathematics. A
native function finds constants and other native functions where Python finds them: among the names
of the module it stands in.

A `Record` names fields of 64 bits each, in the order of their declaration: numbers, addresses of
arrays, and addresses of other records. Native code takes a record by its address and reads
``context.clock.t``. A record that derives from another begins with the fields of that one, so that
it can be passed in its place.

Here is the language and how a function is read. `llvm_language` translates it to LLVM, `c_language`
to C, and `native_module` compiles and calls it.

>>> from dalembert.codegen.native.native_module import NativeModule
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
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ELEMENT",
    "Integers",
    "Reals",
    "Record",
    "Signature",
    "address_of",
    "call_program",
    "field_of",
    "is_address",
    "is_kind_of",
    "native",
    "parsed",
    "rare",
    "resolved",
    "signature_of",
]

F = TypeVar("F", bound=Callable[..., Any])

#: The kind of a value by the annotation it is declared with.
KINDS = {
    "int": "i64",
    "float": "double",
    "bool": "i1",
    "Reals": "reals",
    "Integers": "integers",
    "None": "void",
}
#: The kind of the elements of an array.
ELEMENT = {"reals": "double", "integers": "i64"}

#: What native functions are called with from Python.
Argument: TypeAlias = "Record | NDArray[Any] | float"
Bound = TypeVar("Bound", bound="Record | NDArray[Any]")


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


def address_of(array: NDArray[Any]) -> int:
    """Return the address of an array's data; faster than `array.ctypes.data` if writeable."""
    if array.size and array.flags.carray:  # writeable and without gaps
        buffer: Any = array
        return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    return int(array.ctypes.data)


class _Field:
    """A field of a record in Python: read and write numbers; return arrays and records."""

    def __init__(self, index: int, declared: str) -> None:
        self.index, self.declared = index, declared

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, record: Record, owner: type | None = None) -> Any:
        if self.declared == "int":
            return int(record.words[self.index])
        if self.declared == "float":
            return float(record.reals[self.index])
        return record.arrays[self.name]

    def __set__(self, record: Record, value: float) -> None:
        if self.declared == "int":
            record.words[self.index] = value
        elif self.declared == "float":
            record.reals[self.index] = value
        else:
            raise TypeError(f"the field `{self.name}` is an address: use bind")


class Record:
    """Fields of 64 bits that native code finds at one address, in the order of their declaration.

    A subclass annotates its fields with ``int``, ``float``, `Reals`, `Integers` or another record.
    In Python numbers are attributes; arrays are bound to their fields, and stay alive with the
    record.

    >>> class StepTimes(Record):
    ...     step: float
    ...     times: Reals
    >>> StepTimes.fields
    {'step': (0, 'float'), 'times': (1, 'Reals')}
    >>> import numpy as np
    >>> record = StepTimes()
    >>> record.step = 0.5
    >>> times = record.bind("times", np.zeros(3))

    Attributes
    ----------
    words, reals : arrays (number of fields,)
        The fields as integers and, in the same memory, as doubles.
    arrays : dict of str to array or record
        What fields are bound to.
    address : int
        Also what `ctypes` passes for the record.
    """

    #: The index of each field and what it is declared as, those of the base record first.
    fields: ClassVar[dict[str, tuple[int, str]]] = {}
    #: The records among them.
    nested: ClassVar[dict[str, type[Record]]] = {}
    _known: ClassVar[dict[str, type[Record]]] = {}

    def __init_subclass__(cls) -> None:
        """Number the fields."""
        own = inspect.get_annotations(cls)
        if twice := [name for name in own if name in cls.fields]:
            raise TypeError(f"{cls.__name__}: the field `{twice[0]}` is declared twice")
        cls.fields, cls.nested = dict(cls.fields), dict(cls.nested)
        for name, declared in own.items():
            word = declared if isinstance(declared, str) else declared.__name__
            cls.fields[name] = len(cls.fields), word
            field = _Field(*cls.fields[name])
            field.__set_name__(cls, name)
            setattr(cls, name, field)
            if word in Record._known:
                cls.nested[name] = Record._known[word]
        other = Record._known.setdefault(cls.__name__, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"two records are called `{cls.__name__}`")
        Record._known[cls.__name__] = cls

    def __init__(self) -> None:
        self.words = np.zeros(len(self.fields), np.int64)
        self.reals = self.words.view(np.float64)
        self.address = self._as_parameter_ = address_of(self.words)
        self.arrays: dict[str, Any] = {}
        for name, kind in self.nested.items():
            self.bind(name, kind())

    def bind(self, name: str, array: Bound) -> Bound:
        """Point a field to an array or record and keep that alive with this one."""
        index, declared = self.fields[name]
        if declared in ("int", "float"):
            raise TypeError(f"the field `{name}` is a number")
        self.arrays[name] = array
        self.words[index] = array.address if isinstance(array, Record) else address_of(array)
        return array

    def release(self, name: str) -> None:
        """Give up an array that no native code will touch any more."""
        self.arrays.pop(name, None)
        self.words[self.fields[name][0]] = 0

    @staticmethod
    def named(kind: str) -> type[Record]:
        """The record of a kind."""
        return Record._known[kind.removeprefix("@")]


def is_address(kind: str) -> bool:
    """Whether values of a kind are addresses: arrays and records."""
    return kind in ELEMENT or kind.startswith("@")


def is_kind_of(kind: str, wanted: str) -> bool:
    """Whether one kind of value can be passed as another, as a record for one of its bases."""
    if kind == wanted or not (kind.startswith("@") and wanted.startswith("@")):
        return kind == wanted
    return issubclass(Record.named(kind), Record.named(wanted))


def field_of(kind: str, name: str) -> tuple[int, str]:
    """The index and the kind of a field of a record."""
    record = Record.named(kind)
    if name not in record.fields:
        raise TypeError(f"{record.__name__} has no field `{name}`")
    index, declared = record.fields[name]
    return index, _kind(declared)


def call_program(
    address: int, time: Reals, y: Reals, p: Reals, u: Reals, w: Reals, out: Reals
) -> None:
    """Call a compiled `Program` at an address; in plain Python with pointers of `plain`."""
    pointers: tuple[Any, ...] = (time, y, p, u, w, out)
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(address)(
        *(pointer.address for pointer in pointers)
    )


def native(function: F) -> F:
    """Mark a function as native; it is compiled as part of a `NativeModule`."""
    function.__native__ = True  # type: ignore[attr-defined]
    return function


def rare(function: F) -> F:
    """Mark a native function as seldom called: compile it for size and never inline it."""
    function.__rare__ = True  # type: ignore[attr-defined]
    return native(function)


@dataclass(frozen=True)
class Signature:
    """The kinds of a function's parameters and of its result."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    result: str


@cache
def signature_of(function: Callable[..., Any]) -> Signature:
    """The signature of a native function."""
    kinds = {name: _kind(annotation) for name, annotation in function.__annotations__.items()}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return Signature(
        function.__name__, tuple((name, kinds[name]) for name in names), kinds["return"]
    )


def _kind(annotation: str | type) -> str:
    """The kind that an annotation stands for; annotations are text or the types themselves."""
    name = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )
    if name in KINDS:
        return KINDS[name]
    if name not in Record._known:
        raise TypeError(f"`{name}` is neither a kind of the native language nor a record")
    return f"@{name}"


@cache
def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """Return the syntax tree of a function, from that of its module, which is read once."""
    known = _functions_of(function.__code__.co_filename).get(function.__name__)
    if (
        known is not None
        and known.decorator_list
        and known.lineno >= function.__code__.co_firstlineno
    ):
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


def resolved(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a dotted name stands for in the module of a native function."""
    if isinstance(node, ast.Name):
        if node.id not in names:
            raise TypeError(f"`{node.id}` is not known to native code")
        return names[node.id]
    assert isinstance(node, ast.Attribute)
    return getattr(resolved(node.value, names), node.attr)
