"""Declarations, numbers and tables in C."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ...typing import Array
from .language import Record, field_of

__all__ = [
    "ContextInC",
    "c_number",
    "c_structure",
    "declaration",
    "has_effect",
    "summary_comment",
    "table_text",
]


_C = {
    "i64": "long",
    "double": "double",
    "i1": "int",
    "reals": "double *",
    "integers": "long *",
    "void": "void",
}


@dataclass(frozen=True)
class ContextInC:
    """How C text finds what native functions find in a context.

    Attributes
    ----------
    type : str
        The C type of the structure that stands for a context.
    entries : mapping of field to int or str
        A number that is known beforehand, or the C text of an array or of a number that is not.
    """

    type: str
    entries: Mapping[str, int | str]


def c_number(value: float) -> str:
    """A double in C, to the last digit.

    >>> c_number(0.1), c_number(-2.0), c_number(float("inf"))
    ('0.1', '-2.0', 'INFINITY')
    """
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def table_text(name: str, table: Array) -> str:
    """A table of numbers, row after row."""
    numbers = [c_number(value) for value in np.ravel(table)]
    rows = ["    " + ", ".join(numbers[k : k + 4]) for k in range(0, len(numbers), 4)]
    return "\n".join([f"static const double {name}[{len(numbers)}] = {{", ",\n".join(rows), "};"])


def summary_comment(function: Callable[..., Any]) -> list[str]:
    """The first line of a function's docstring, as a comment."""
    line = (function.__doc__ or "").split("\n")[0].strip()
    return [f"/* {line.replace('*/', '* /').replace('/*', '/ *')} */"] if line else []


def declaration(kind: str, name: str) -> str:
    return f"{_C[kind]}{'' if _C[kind].endswith('*') else ' '}{name}"


def c_structure(record: type[Record], name: str) -> str:
    """The declaration of a record of numbers within the context.

    >>> from dalembert.codegen.native.language import Record
    >>> class Grid(Record):
    ...     step: float
    ...     spacing: float
    ...     count: int
    >>> c_structure(Grid, "grid")
    'struct { double step, spacing; long count; } grid'
    """
    groups = groupby(record.fields, lambda field: _C[field_of(f"@{record.__name__}", field)[1]])
    return (
        f"struct {{ {' '.join(f'{kind} ' + ', '.join(names) + ';' for kind, names in groups)} }}"
        f" {name}"
    )


def has_effect(value: ast.expr) -> bool:
    """Whether an expression may do more than give a value."""
    calls = [
        ast.unparse(node.func).split(".")[-1]
        for node in ast.walk(value)
        if isinstance(node, ast.Call)
    ]
    return any(
        name
        not in {"abs", "sqrt", "floor", "sin", "cos", "pow", "nextafter", "float", "min", "max"}
        for name in calls
    )
