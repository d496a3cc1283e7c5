"""Drawings as plain records and back, so that a saved motion can still be animated as its system looks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sympy

from ..errors import DalembertError
from ..model import drawing as shapes
from ..model.expressions import format, parse
from ..model.symbols import t
from ..model.system import System

__all__ = ["drawing_from", "drawing_record"]

_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (shapes.Point, shapes.Link, shapes.Spring, shapes.Polyline, shapes.Circle, shapes.Trace)
}
#: What a shape states in expressions; the rest of it is plain.
_EXPRESSIONS = {"position", "start", "end", "points", "center", "radius", "axes"}


def drawing_record(drawing: shapes.Drawing | None, system: System) -> Any:
    """A drawing in lists, numbers and text; None where there is none, or it cannot be written."""
    if drawing is None:
        return None
    letters = set(_letters(system))

    def plain(value: Any, is_expression: bool) -> Any:
        if isinstance(value, (list, tuple, sympy.MatrixBase)):
            return [plain(item, is_expression) for item in value]
        if isinstance(value, sympy.Expr):
            return format(value, taken=letters) if is_expression else float(value)
        return repr(value) if is_expression and value is not None else value

    try:
        parts = [
            {"kind": type(shape).__name__}
            | {f.name: plain(getattr(shape, f.name), f.name in _EXPRESSIONS) for f in fields(shape)}
            for shape in drawing.shapes
        ]
    except DalembertError:
        return None
    return {"shapes": parts, "limits": plain(drawing.limits, False), "labels": list(drawing.labels)}


def _letters(system: System) -> dict[str, sympy.Symbol]:
    letters = {symbol.name: symbol for symbol in (*system.coordinates, *system.velocities, *system.parameters)}
    return letters | {"t": t}


def drawing_from(record: Any, system: System) -> shapes.Drawing | None:
    """The drawing of a record."""
    if record is None:
        return None
    letters = _letters(system)

    def read(value: Any, is_expression: bool) -> Any:
        if isinstance(value, list):
            return tuple(read(item, is_expression) for item in value)
        return parse(value, letters) if is_expression and value is not None else value

    parts = tuple(
        _KINDS[part["kind"]](**{key: read(value, key in _EXPRESSIONS) for key, value in part.items() if key != "kind"})
        for part in record["shapes"]
    )
    return shapes.Drawing(parts, read(record["limits"], False), tuple(record["labels"]))
