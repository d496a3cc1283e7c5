"""The start and the options of a run in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import (
    FileError,
    StartError,
    nearest,
)
from ..names import shortened
from .file_writer import OPTIONS
from .table_reader import TableReader

__all__ = ["RunReader"]


class RunReader(TableReader):
    """Reads ``[start]`` and ``[simulate]``."""

    def _start(
        self,
        table: Mapping[str, Any],
        coordinates: list[str],
        speeds: list[str],
        constraints: list[str],
    ) -> dict[str, float]:
        known = {
            *coordinates,
            *speeds,
            *(f"{q}_dot" for q in coordinates),
            *(f"p_{q}" for q in coordinates),
        }
        known |= {f"chi_{name}" for name in constraints} | {f"xi_{q}" for q in coordinates}
        symbols = {symbol.name: symbol for symbol in self.values}
        values = {}
        for key, value in table.items():
            if key not in known:
                match = nearest(key, known)
                remedy = (
                    f"the nearest known name is `{match}`"
                    if match
                    else "name coordinates, velocities or momenta"
                )
                self._fault(
                    StartError(
                        f"The start names {shortened(key)}, which the model does not have",
                        remedy=remedy,
                    )
                )
                continue
            values[key] = self._number(value, f"start.{key}", symbols)
        return values

    def _options(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self._check_keys(table, OPTIONS, "[simulate]")
        symbols = {symbol.name: symbol for symbol in self.values}
        options: dict[str, Any] = {}
        for key, value in table.items():
            where = f"simulate.{key}"
            if key in ("t", "at"):
                if not isinstance(value, list) or not value:
                    self._wrong_type(where, "an array of numbers", value)
                    continue
                options[OPTIONS[key]] = tuple(self._number(item, where, symbols) for item in value)
            elif key in ("form", "method", "adapt"):
                options[key] = self._text(value, f"option `{where}`")
            elif key == "through_singular":
                if not isinstance(value, bool):
                    self._wrong_type(where, "true or false", value)
                    continue
                options[key] = value
            elif key in OPTIONS:
                options[key] = self._number(value, where, symbols)
        self._check_options(options)
        return options

    def _check_options(self, options: Mapping[str, Any]) -> None:
        span = options.get("span")
        if span is not None and (len(span) != 2 or span[0] == span[1]):
            self._wrong(
                "`simulate.t` must be two different times", seen=span, remedy="write t = [0, 10]"
            )
        elif span is not None and any(
            not min(span) <= time <= max(span) for time in options.get("at", ())
        ):
            self._wrong(
                "`simulate.at` has times outside `simulate.t`", seen=span, remedy="extend t"
            )
        for key, remedy in (
            ("rtol", "1e-10"),
            ("atol", "1e-12"),
            ("step", "0.01"),
            ("every", "10"),
        ):
            if options.get(key, 1.0) <= 0:
                self._wrong(
                    f"`simulate.{key}` must be positive",
                    seen=options[key],
                    remedy=f"write {remedy}",
                )
        self._check_method(options)

    def _check_method(self, options: Mapping[str, Any]) -> None:
        """A method chooses its steps by tolerances, or is told its step."""
        from ...integrate.methods.table import AUTO, METHODS, unknown_method

        method = options.get("method", AUTO)
        if method not in (*METHODS, AUTO):
            self._fault(unknown_method(shortened(method), FileError))
            return
        if method == AUTO:  # which takes a step or tolerances
            return
        is_fixed = METHODS[method].is_fixed
        wrong = ("rtol", "atol") if is_fixed else ("step", "every")
        for key in (key for key in wrong if key in options):
            what = "takes fixed steps" if is_fixed else "chooses its steps"
            remedy = "write a step instead" if is_fixed else "choose a method such as gauss4"
            self._wrong(
                f"The method {method} {what}",
                seen=f"simulate.{key} = {options[key]:g}",
                remedy=remedy,
            )
        if is_fixed and "step" not in options:
            self._wrong(
                f"The method {method} needs a step",
                seen="no simulate.step",
                remedy="write step = 0.01, say",
            )
