"""Drawings as plain records and back, so that a saved motion can still be animated."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import DalembertError
from ...model import drawing as shapes
from ...model.io.expressions import format, parse
from ...model.quantities import define, definitions_in
from ...model.symbols import t
from ...model.system import System

if TYPE_CHECKING:
    from ..motion import Motion

__all__ = ["drawing_from", "drawing_record"]


def drawing_record(motion: Motion) -> Any:
    """The drawing of a motion in lists, numbers and text; None if absent or not writable."""
    system, scenario = motion.system, motion.scenario
    drawing = scenario.drawing if scenario is not None else getattr(system, "drawing", None)
    if drawing is None:
        return None
    symbols = _symbols(system)
    # Parameters that the system itself does not have are not kept by name.
    others = {
        name: value
        for name, value in (scenario.parameters if scenario else {}).items()
        if name not in symbols
    }

    def valued(value: Any) -> Any:
        if not isinstance(value, sympy.Basic):
            return value
        return value.xreplace(
            {s: sympy.Float(others[s.name]) for s in value.free_symbols if s.name in others}
        )

    if others:
        drawing = drawing.mapped(valued)

    def plain(value: Any, is_expression: bool) -> Any:
        if isinstance(value, (list, tuple, sympy.MatrixBase)):
            return [plain(item, is_expression) for item in value]
        if isinstance(value, sympy.Expr):
            return format(value, taken=set(symbols)) if is_expression else float(value)
        return repr(value) if is_expression and value is not None else value

    try:
        parts = [
            {"kind": shapes.kind_of(shape)}
            | {
                f.name: plain(getattr(shape, f.name), f.name in shapes.EXPRESSIONS)
                for f in fields(shape)
            }
            for shape in drawing.shapes
        ]
    except DalembertError:  # a shape that no file can hold; the motion is kept without it
        return None
    named = {each.name: each.definition for each in definitions_in(drawing.expressions())}
    return {
        "shapes": parts,
        "limits": plain(drawing.limits, False),
        "labels": list(drawing.labels),
    } | (
        {"definitions": {key: plain(value, True) for key, value in named.items()}} if named else {}
    )


def _symbols(system: System) -> dict[str, sympy.Symbol]:
    speeds = (*(system.image.speeds if system.image else ()), *system.bundle)
    moving = (*system.coordinates, *system.velocities, *system.momenta, *speeds, *system.inputs)
    return {symbol.name: symbol for symbol in (*moving, *system.parameters)} | {"t": t}


def drawing_from(record: Any, system: System) -> shapes.Drawing | None:
    """The drawing of a record."""
    if record is None:
        return None
    symbols: dict[str, sympy.Expr] = dict(_symbols(system))
    for name, text in record.get("definitions", {}).items():
        symbols[name] = define(name, parse(text, symbols))

    def read(value: Any, is_expression: bool) -> Any:
        if isinstance(value, list):
            return tuple(read(item, is_expression) for item in value)
        return parse(value, symbols) if is_expression and value is not None else value

    parts = tuple(
        shapes.KINDS[part["kind"]](
            **{
                key: read(value, key in shapes.EXPRESSIONS)
                for key, value in part.items()
                if key != "kind"
            }
        )
        for part in record["shapes"]
    )
    return shapes.Drawing(parts, read(record["limits"], False), tuple(record["labels"]))
