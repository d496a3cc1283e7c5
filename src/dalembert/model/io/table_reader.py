"""Plain values of the table of a model file, with every fault collected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import (
    DalembertError,
    ExpressionError,
    Faults,
    FileError,
    ModelError,
    nearest,
)
from ..names import is_control, shortened
from ..symbols import t
from .expressions import evaluate, parse

if TYPE_CHECKING:
    from ...model.io.files import Toml

__all__ = ["TableReader", "UnreadableError"]

MOST_ENTRIES = 5000
MOST_FAULTS = 30


class UnreadableError(Exception):
    """Reading ends, because of its faults."""


class TableReader:
    """Reads one table; `faults` grows on the way."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.faults = Faults()
        self.symbols: dict[str, sympy.Symbol] = {"t": t}
        self.owners: dict[str, str] = {"t": "time"}
        self.values: dict[Any, float] = {}

    def _fault(self, fault: DalembertError) -> None:
        self.faults.append(fault)
        if len(self.faults) >= MOST_FAULTS:
            raise UnreadableError

    def _wrong(self, what: str, seen: object = None, remedy: str | None = None) -> None:
        """Add a fault of the file."""
        self._fault(FileError(what, seen, remedy))

    def _attempt(self, where: str, fallback: Any, read: Callable[..., Any], *arguments: Any) -> Any:
        """What `read` gives; its fault is kept, with the place, and `fallback` given."""
        try:
            return read(*arguments)
        except ModelError as fault:
            if isinstance(fault, ExpressionError):
                fault = ExpressionError(f"In `{where}`: {fault.what}", fault.seen, fault.remedy)
            self._fault(fault)
            return fallback

    def _check_keys(self, table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        known = tuple(known)
        for key in table:
            if key not in known:
                match = nearest(key, known)
                remedy = (
                    f"the nearest known key is `{match}`"
                    if match
                    else f"use one of {', '.join(known[:20])}"
                )
                self._wrong(f"The key {shortened(key)} is not known in {where}", remedy=remedy)

    def _wrong_type(self, where: str, wanted: str, value: object) -> None:
        self._wrong(f"`{where}` must be {wanted}", seen=shortened(value), remedy=f"write {wanted}")

    def _text(self, value: Toml, where: str) -> str:
        if isinstance(value, str):
            hidden = [c for c in value if is_control(c)]
            if hidden:
                remedy = "leave out what a terminal would obey"
                self._wrong(f"The {where} has a control character", repr(hidden[0]), remedy)
            return value
        self._wrong(f"The {where} must be text", seen=shortened(value), remedy="put it into quotes")
        return ""

    def _table(self, key: str) -> Mapping[str, Any]:
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            self._wrong_type(key, f"a table, [{key}]", value)
            return {}
        if len(value) > MOST_ENTRIES:
            self._wrong(f"The table [{key}] has more than {MOST_ENTRIES} entries", seen=len(value))
            return {}
        return value

    def _names(self, where: str, value: Any, most: int) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self._wrong_type(where, "an array of names", value)
            return []
        if len(value) > most:
            self._wrong(
                f"`{where}` has more than {most} names", seen=len(value), remedy="use Python"
            )
            return []
        for name in sorted({name for name in value if value.count(name) > 1}):
            self._wrong(f"`{where}` lists {shortened(name)} twice", remedy="list each name once")
        return list(dict.fromkeys(value))

    def _number(self, value: Toml, where: str, symbols: Mapping[str, sympy.Symbol]) -> float:
        """A finite number, or a constant expression of parameters."""
        if isinstance(value, str):
            expression = self._attempt(where, sympy.Integer(1), parse, value, symbols)
            return float(self._attempt(where, 1.0, evaluate, expression, self.values))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong_type(where, "a number", value)
            return 1.0
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self._wrong(
                f"`{where}` must be finite", seen=shortened(value), remedy="choose a finite value"
            )
            return 1.0
        return number

    def _expression(self, value: Toml, where: str) -> sympy.Expr:
        if isinstance(value, str):
            return self._attempt(where, sympy.Integer(0), parse, value, self.symbols)
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 1000:
            return sympy.Integer(value)
        if isinstance(value, float) and math.isfinite(value):
            return sympy.Float(value)
        self._wrong_type(where, "an expression in quotes or a finite number", value)
        return sympy.Integer(0)
