"""Drawings in model files: an array of tables ``[[drawing]]``, one shape each.

::

    [[drawing]]
    link = [["0", "0"], ["l*sin(theta)", "-l*cos(theta)"]]
    width = 2.5

    [[drawing]]
    wheel = {center = ["x", "R"], radius = "R", angle = "-x/R"}

    [[drawing]]
    limits = [[-2, 2], [-2, 1]]

The first key says what the shape is. A shape of one position, or of several, gives just these; the
others give a table. A table without a shape sets the axes. Only the keys listed here are read, each
in its own way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import FileError, ModelError, nearest
from .. import draw
from ..drawing import Drawing, kind_of
from ..names import shortened
from ..symbols import Coordinate

if TYPE_CHECKING:
    from ...model.drawing import Shape
    from ...model.io.files import Toml

__all__ = ["COLOR", "MOST_POINTS", "MOST_SHAPES", "drawing_sections", "read_drawing"]

MOST_SHAPES, MOST_POINTS, LONGEST_TEXT = 500, 500, 200
COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|[A-Za-z][A-Za-z0-9: ]{0,30}")

#: Key of a shape -> how many positions it is given by (0: any number), or the keys of its table.
_BY_POSITIONS = {
    "point": 1,
    "link": 2,
    "spring": 2,
    "polyline": 0,
    "trace": 1,
    "velocity": 1,
    "ground": 2,
}
_BY_TABLE: dict[str, tuple[str, ...]] = {
    "circle": ("center", "radius", "axes"),
    "wheel": ("center", "radius", "angle", "axes", "spokes"),
    "body": ("at", "angle", "box", "ellipse", "polygon", "axes"),
    "vector": ("at", "components"),
    "reaction": ("constraint", "at", "along", "directions"),
    "text": ("at", "words"),
    "frame": ("at", "angle", "axes"),
}
#: What may stand beside a shape.
_BESIDE: dict[str, tuple[str, ...]] = {
    "point": ("size", "color", "name"),
    "link": ("width", "color"),
    "spring": ("coils", "color"),
    "polyline": ("closed", "width", "color"),
    "trace": ("color",),
    "velocity": ("scale", "width", "color"),
    "ground": ("color",),
    "circle": ("color",),
    "wheel": ("color",),
    "body": ("color",),
    "vector": ("scale", "group", "width", "color"),
    "reaction": ("scale", "width", "color"),
    "text": ("size", "color"),
    "frame": ("size",),
}
_NEEDED = {"center", "radius", "at", "components", "constraint", "words"}
_AXES = ("limits", "labels")
_WRITTEN = {"position": "at", "text": "words"}


def read_drawing(
    value: Any,
    expression: Callable[[Any, str], sympy.Expr],
    fault: Callable[[Any], None],
    constraints: Sequence[str],
) -> Drawing | None:
    """The drawing that ``[[drawing]]`` states, or None; faults are told to `fault`.

    Parameters
    ----------
    expression : function of a value and its place
        Reads an expression in the symbols of the model.
    constraints : names that a reaction may have
    """
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        fault(
            FileError(
                "`drawing` must be an array of tables",
                seen=shortened(value),
                remedy="write [[drawing]]",
            )
        )
        return None
    if len(value) > MOST_SHAPES:
        fault(
            FileError(
                f"A drawing has at most {MOST_SHAPES} shapes", seen=len(value), remedy="draw less"
            )
        )
        return None
    reader, shapes, axes = _DrawingReader(expression, constraints), list[Any](), dict[str, Any]()
    for number, entry in enumerate(value, start=1):
        try:
            if entry and not entry.keys() - set(_AXES):
                axes |= reader.axes(entry, f"drawing[{number}]")
            else:
                shapes.append(reader.shape(entry, f"drawing[{number}]"))
        except ModelError as error:
            fault(error)
    if not shapes:
        return None
    return draw.drawing(*shapes, **axes)


class _DrawingReader:
    """Reads the tables of a drawing; a wrong one raises."""

    def __init__(
        self, expression: Callable[[Any, str], sympy.Expr], constraints: Sequence[str]
    ) -> None:
        self.expression, self.constraints = expression, constraints

    def shape(self, entry: Mapping[str, Any], where: str) -> Any:
        known = (*_BY_POSITIONS, *_BY_TABLE)
        kinds = [key for key in entry if key in known]
        if len(kinds) != 1:
            self.check_keys(
                entry,
                (*known, *_AXES, "width", "size", "color", "closed", "coils", "scale", "group"),
                where,
            )
            seen = ", ".join(kinds) or ", ".join(map(shortened, list(entry)[:5])) or "nothing"
            raise FileError(
                f"`{where}` must state one shape",
                seen=seen,
                remedy=f"use one of {', '.join(known)}",
            )
        kind = kinds[0]
        self.check_keys(entry, (kind, *_BESIDE[kind]), where)
        options = {
            key: self.option(key, entry[key], f"{where}.{key}") for key in entry if key != kind
        }
        inner = f"{where}.{kind}"
        if kind in _BY_POSITIONS:
            positions = self.positions(entry[kind], _BY_POSITIONS[kind], inner)
            arguments: Any = (positions,) if kind == "polyline" else positions
            return self.made(kind, arguments, options)
        table = entry[kind]
        if not isinstance(table, dict):
            raise FileError(
                f"`{inner}` must be a table",
                seen=shortened(table),
                remedy=f"give {', '.join(_BY_TABLE[kind])}",
            )
        self.check_keys(table, _BY_TABLE[kind], inner)
        missing = [key for key in _BY_TABLE[kind] if key in _NEEDED and key not in table]
        if missing:
            raise FileError(
                f"`{inner}` has no `{missing[0]}`", remedy=f"give {', '.join(_BY_TABLE[kind])}"
            )
        return self.made(
            kind,
            (),
            options | {key: self.entry(key, v, f"{inner}.{key}") for key, v in table.items()},
        )

    def made(self, kind: str, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        return getattr(draw, kind)(*arguments, **options)

    def axes(self, entry: Mapping[str, Any], where: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if "labels" in entry:
            labels = entry["labels"]
            if not isinstance(labels, list) or len(labels) not in (2, 3):
                raise FileError(
                    f"`{where}.labels` must be two or three words", seen=shortened(labels)
                )
            found["labels"] = tuple(self.words(label, f"{where}.labels") for label in labels)
        if "limits" in entry:
            limits = entry["limits"]
            pairs = limits if isinstance(limits, list) and len(limits) in (2, 3) else []
            if not pairs or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise FileError(
                    f"`{where}.limits` must be two or three pairs",
                    remedy="write [[-1, 1], [-1, 1]]",
                )
            found["limits"] = [
                [self.number(end, f"{where}.limits") for end in pair] for pair in pairs
            ]
            if any(low >= high for low, high in found["limits"]):
                raise FileError(
                    f"`{where}.limits` go from the smaller to the larger", seen=found["limits"]
                )
        return found

    def entry(self, key: str, value: Toml, where: str) -> Any:
        """One entry of the table of a shape."""
        if key in ("center", "at", "components"):
            return self.position(value, where)
        if key in ("box", "ellipse"):
            return self.position(value, where, (2,))
        if key == "polygon":
            return self.positions(value, 0, where)
        if key in ("axes", "directions"):
            return self.positions(value, 0, where)
        if key == "spokes":
            return round(self.number(value, where))
        if key == "words":
            return self.words(value, where)
        if key == "along":
            return tuple(self.direction(name, where) for name in self.items(value, where))
        if key == "constraint":
            if value not in self.constraints:
                near = nearest(str(value), self.constraints)
                remedy = f"did you mean `{near}`" if near else "name one of the constraints"
                raise FileError(
                    f"`{where}` names no constraint", seen=shortened(value), remedy=remedy
                )
            return value
        return self.expression(value, where)

    def direction(self, value: Toml, where: str) -> str | None:
        """The name of a coordinate, or None for 0."""
        found = self.expression(value, where)
        if isinstance(found, Coordinate):
            return str(found.name)
        if found != 0:
            raise FileError(
                f"`{where}` must name coordinates, or 0",
                seen=shortened(value),
                remedy='write ["x", 0]',
            )
        return None

    def option(self, key: str, value: Toml, where: str) -> Any:
        if key == "closed":
            if not isinstance(value, bool):
                raise FileError(f"`{where}` must be true or false", seen=shortened(value))
            return value
        if key == "color":
            if not isinstance(value, str) or not COLOR.fullmatch(value):
                raise FileError(
                    f"`{where}` must be a role or a colour",
                    seen=shortened(value),
                    remedy='write "body", say',
                )
            return value
        if key in ("group", "name"):
            return self.words(value, where)
        number = self.number(value, where)
        most = math.inf if key in ("scale", "size") else 1000
        if not 0 < number <= most:
            raise FileError(f"`{where}` must be positive, at most {most:g}", seen=shortened(value))
        return round(number) if key == "coils" else number

    def positions(self, value: Toml, count: int, where: str) -> tuple[Any, ...]:
        """`count` positions, a single one without brackets around it; 0 is any number."""
        if count == 1:
            return (self.position(value, where),)
        items = self.items(value, where)
        if count and len(items) != count:
            raise FileError(
                f"`{where}` must be {count} positions",
                seen=len(items),
                remedy='write [["0", "0"], ["x", "y"]]',
            )
        return tuple(self.position(item, where) for item in items)

    def position(
        self, value: Toml, where: str, lengths: tuple[int, ...] = (2, 3)
    ) -> tuple[Any, ...]:
        items = self.items(value, where)
        if len(items) not in lengths:
            wanted = " or ".join(map(str, lengths))
            raise FileError(
                f"`{where}` must have {wanted} components",
                seen=len(items),
                remedy='write ["x", "y"]',
            )
        return tuple(self.expression(item, where) for item in items)

    @staticmethod
    def items(value: Toml, where: str) -> list[Any]:
        if not isinstance(value, list) or not 0 < len(value) <= MOST_POINTS:
            raise FileError(
                f"`{where}` must be an array of 1 to {MOST_POINTS} entries", seen=shortened(value)
            )
        return value

    @staticmethod
    def number(value: Toml, where: str) -> float:
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not math.isfinite(value)
        ):
            raise FileError(
                f"`{where}` must be a finite number", seen=shortened(value), remedy="write a number"
            )
        return float(value)

    @staticmethod
    def words(value: Toml, where: str) -> str:
        if (
            not isinstance(value, str)
            or len(value) > LONGEST_TEXT
            or not (value.isprintable() or not value)
        ):
            raise FileError(
                f"`{where}` must be one line of text",
                seen=shortened(value),
                remedy="put it into quotes",
            )
        return value

    @staticmethod
    def check_keys(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        for key in table:
            if key not in known:
                near = nearest(key, known)
                remedy = (
                    f"the nearest known key is `{near}`"
                    if near
                    else f"use one of {', '.join(known)}"
                )
                raise FileError(
                    f"The key {shortened(key)} is not known in `{where}`", remedy=remedy
                )


# -- writing ---------------------------------------------------------------------------------------


def drawing_sections(
    drawing: Drawing | None,
    expression: Callable[[sympy.Expr], str],
    text: Callable[[str], str],
    number: Callable[[Any], str],
) -> list[str]:
    """``[[drawing]]`` tables that `read_drawing` reads back to the same drawing."""
    if drawing is None:
        return []

    def written(value: Any) -> str:
        if isinstance(value, (list, tuple, sympy.MatrixBase)):
            return f"[{', '.join(written(item) for item in value)}]"
        if isinstance(value, (int, sympy.Integer)) and abs(value) < 10**15:
            return str(int(value))
        is_float = not isinstance(value, sympy.Basic) or isinstance(value, sympy.Float)
        return number(value) if is_float else expression(value)

    def plain(value: Any) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, tuple):
            return f"[{', '.join(plain(item) for item in value)}]"
        if value is None or isinstance(value, int):
            return str(value or 0)
        return text(value) if isinstance(value, str) else number(value)

    sections = [_section(shape, written, plain) for shape in drawing.shapes]
    axes = {} if drawing.limits is None else {"limits": written(drawing.limits)}
    if tuple(drawing.labels) != ("x", "y", "z"):
        axes["labels"] = plain(tuple(drawing.labels))
    return [*sections, *([_table(axes)] if axes else [])]


def _section(shape: Shape, written: Callable[[Any], str], plain: Callable[[Any], str]) -> str:
    kind = kind_of(shape).lower()
    defaults = {f.name: f.default for f in fields(type(shape))}
    values = {f.name: getattr(shape, f.name) for f in fields(shape)}
    changed = {
        key: value for key, value in values.items() if value is not None and value != defaults[key]
    }
    if kind in _BY_POSITIONS:
        names = [key for key in values if key in ("position", "start", "end", "points")]
        given = [values[key] for key in names]
        lines = {kind: written(given[0] if len(given) == 1 else given)}
    else:
        names = [key for key in values if _WRITTEN.get(key, key) in _BY_TABLE[kind]]
        table = {_WRITTEN.get(key, key): changed[key] for key in names if key in changed}
        is_plain = ("constraint", "along", "words", "spokes")
        entries = (
            f"{key} = {(plain if key in is_plain else written)(value)}"
            for key, value in table.items()
        )
        lines = {kind: f"{{{', '.join(entries)}}}"}
    beside = {
        key: plain(value)
        for key, value in changed.items()
        if key not in names and key in _BESIDE[kind]
    }
    return _table(lines | beside)


def _table(entries: Mapping[str, str]) -> str:
    return "\n".join(["[[drawing]]", *(f"{key} = {value}" for key, value in entries.items()), ""])
