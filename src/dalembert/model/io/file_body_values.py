"""Values under [bodies] and [joints] of a model file: vectors, rotations, shapes, surfaces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import ExpressionError, FileError, nearest
from ..bodies import rolling_surfaces, shapes
from ..bodies.rolling_surfaces import RollingGround, RollingSurface
from ..bodies.shapes import Geometry
from ..bodies.vectors import Rotation, Triple, angles, as_rotation, quaternion, rotation_vector
from ..names import shortened
from .expressions import parse
from .file_drawing import COLOR

if TYPE_CHECKING:
    from .files import Toml

__all__ = ["BodyValues"]

MOST_SHAPES = 50
MOST_POINTS = 500


class BodyValues:
    """Reads values in the symbols of a model; a fault ends the part that it is in."""

    def __init__(self, symbols: Mapping[str, sympy.Symbol]) -> None:
        self.symbols = symbols

    # -- numbers and vectors -----------------------------------------------------------------------

    def scalar(
        self, value: Toml | None, where: str, symbols: Mapping[str, sympy.Symbol] | None = None
    ) -> sympy.Expr:
        """An expression that is real and finite where it is a number."""
        found: sympy.Expr | None = None
        if isinstance(value, str):
            try:
                found = parse(value, self.symbols if symbols is None else symbols)
            except ExpressionError as fault:
                what = f"In `{where}`: {fault.what}"
                raise ExpressionError(what, fault.seen, fault.remedy) from fault
        elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 1000:
            found = sympy.Integer(value)
        elif isinstance(value, float) and math.isfinite(value):
            found = sympy.Float(value)
        if found is None or (found.is_number and not _is_double(found)):
            raise wrong(where, "an expression in quotes or a finite number", value)
        return found

    def entries(self, value: Toml, where: str, count: int | None = None) -> list[sympy.Expr]:
        """An array of expressions."""
        wanted = "an array of expressions" if count is None else f"an array of {count} expressions"
        if not isinstance(value, list) or len(value) > MOST_POINTS:
            raise wrong(where, wanted, value)
        if count is not None and len(value) != count:
            raise wrong(where, wanted, value)
        return [self.scalar(entry, where) for entry in value]

    def vector(self, value: Toml, where: str) -> Triple:
        """Three expressions."""
        x, y, z = self.entries(value, where, 3)
        return x, y, z

    def direction(self, value: Toml, where: str) -> str | Triple:
        """The name of an axis, or three expressions."""
        if isinstance(value, str):
            if value.removeprefix("-") not in ("x", "y", "z"):
                raise wrong(where, 'an axis such as "y" or "-y", or an array of three', value)
            return value
        return self.vector(value, where)

    def per_axis(self, value: Toml, where: str) -> sympy.Expr | list[sympy.Expr]:
        """An expression, or one for each axis of a joint."""
        return self.entries(value, where) if isinstance(value, list) else self.scalar(value, where)

    def matrix(self, value: Toml, where: str) -> list[sympy.Expr] | list[list[sympy.Expr]]:
        """Three expressions, or three rows of three."""
        if isinstance(value, list) and any(isinstance(row, list) for row in value):
            if len(value) != 3:
                raise wrong(where, "three rows of three expressions", value)
            return [self.entries(row, where, 3) for row in value]
        return self.entries(value, where, 3)

    def rotation(self, value: Toml, where: str) -> Rotation:
        """``{zyx = [a, b, c]}``, ``{quaternion = [...]}``, ``{vector = [...]}``, or rows."""
        if isinstance(value, list):
            return as_rotation(self.matrix(value, where))
        key, given = self.one_of(value, where, "a rotation such as {zyx = [0, 0, 1]}")
        if key == "quaternion":
            return quaternion(*self.entries(given, f"{where}.{key}", 4))
        if key == "vector":
            return rotation_vector(*self.entries(given, f"{where}.{key}", 3))
        if not 1 <= len(key) <= 3 or any(axis not in "xyz" for axis in key):
            raise wrong(where, "a rotation by quaternion, vector, or axes such as zyx", key)
        return angles(key, *self.entries(given, f"{where}.{key}", len(key)))

    def one_of(self, value: Toml, where: str, wanted: str) -> tuple[str, Toml]:
        """The one entry of a table."""
        if not isinstance(value, dict) or len(value) != 1:
            raise wrong(where, wanted, value)
        return next(iter(value.items()))

    # -- shapes ------------------------------------------------------------------------------------

    def geometries(self, value: Toml, where: str) -> list[Geometry]:
        """The shapes of a body, one table each."""
        if not isinstance(value, list) or len(value) > MOST_SHAPES:
            raise wrong(where, f"an array of at most {MOST_SHAPES} tables", value)
        return [self._geometry(entry, f"{where}[{k}]") for k, entry in enumerate(value, start=1)]

    def _geometry(self, value: Toml, where: str) -> Geometry:
        kind = self._kind(value, where, _SHAPES, ("at", "rotation", "color"))
        assert isinstance(value, dict)
        options: dict[str, Any] = {}
        if "at" in value:
            options["at"] = self.vector(value["at"], f"{where}.at")
        if "rotation" in value:
            options["rotation"] = self.rotation(value["rotation"], f"{where}.rotation")
        if "color" in value:
            color = value["color"]
            if not isinstance(color, str) or not COLOR.fullmatch(color):
                raise wrong(f"{where}.color", "a role or a colour", color)
            options["color"] = color
        return self._shape(kind, value[kind], f"{where}.{kind}", options)

    def _shape(self, kind: str, given: Toml, where: str, options: dict[str, Any]) -> Geometry:
        plain = {"ball": ("rotation",), "trace": ("at", "rotation"), "line": ("at", "rotation")}
        for key in plain.get(kind, ()):
            if key in options:
                raise FileError(f"`{where}` takes no `{key}`", remedy="remove it")
        make: Callable[..., Geometry] = getattr(shapes, kind)
        match kind:
            case "line":
                if not isinstance(given, list) or not 2 <= len(given) <= MOST_POINTS:
                    raise wrong(where, "an array of positions", given)
                return make(*(self.vector(point, where) for point in given), **options)
            case "trace":
                return make(self.vector(given, where), **options)
            case "ball":
                return make(self.scalar(given, where), **options)
            case "box":
                return make(self.vector(given, where), **options)
        return make(*self.entries(given, where, 2), **options)

    # -- surfaces ----------------------------------------------------------------------------------

    def surface(self, value: Toml | None, where: str) -> RollingSurface:
        """What rolls: ``{disk = 0.3}``, ``{torus = [0.3, 0.02]}``, ``{sphere = 1}``, ..."""
        kind = self._kind(value, where, _ROLLING, ("axis",))
        assert isinstance(value, dict)
        given, place = value[kind], f"{where}.{kind}"
        axis = {"axis": self.direction(value["axis"], f"{where}.axis")} if "axis" in value else {}
        if axis and kind not in ("disk", "torus"):
            raise FileError(f"`{where}` has no axis", seen=kind, remedy="remove it")
        match kind:
            case "disk":
                return rolling_surfaces.disk(self.scalar(given, place), **axis)
            case "torus":
                return rolling_surfaces.torus(*self.entries(given, place, 2), **axis)
            case "sphere":
                return rolling_surfaces.sphere(self.scalar(given, place))
            case "ellipsoid":
                return rolling_surfaces.ellipsoid(*self.entries(given, place, 3))
        return rolling_surfaces.implicit(self._function(given, place, "xyz"))

    def ground(self, value: Toml, where: str) -> RollingGround:
        """What is rolled on: ``{height = "..."}`` or ``{implicit = "...", inside = true}``."""
        kind = self._kind(value, where, ("height", "implicit"), ("inside",))
        assert isinstance(value, dict)
        inside = value.get("inside", False)
        if not isinstance(inside, bool) or (inside and kind == "height"):
            raise wrong(f"{where}.inside", "true or false, for an implicit surface", inside)
        if kind == "height":
            height = self._function(value[kind], f"{where}.{kind}", "xy")
            return rolling_surfaces.height_field(height)
        function = self._function(value[kind], f"{where}.{kind}", "xyz")
        return rolling_surfaces.implicit(function, inside=inside)

    def _function(self, value: Toml, where: str, names: str) -> Callable[..., sympy.Expr]:
        """A function of x, y (and z) from its expression."""
        variables = {name: sympy.Dummy(name) for name in names}
        expression = self.scalar(value, where, {**self.symbols, **variables})
        places = list(variables.values())
        return lambda *point: expression.xreplace(dict(zip(places, point, strict=True)))

    def _kind(
        self, value: Toml | None, where: str, kinds: Sequence[str], options: Sequence[str]
    ) -> str:
        """The key of a table that says what it is; the others are options."""
        if not isinstance(value, dict):
            raise wrong(where, f"a table with one of {', '.join(kinds)}", value)
        for key in value:
            if key not in (*kinds, *options):
                near = nearest(key, (*kinds, *options))
                remedy = f"did you mean {near}" if near else f"use {', '.join(kinds)}"
                raise FileError(f"`{where}` has no key {shortened(key)}", remedy=remedy)
        stated = [key for key in kinds if key in value]
        if len(stated) != 1:
            raise wrong(where, f"a table with one of {', '.join(kinds)}", ", ".join(stated))
        return stated[0]


_SHAPES = ("box", "cylinder", "ball", "capsule", "line", "trace")
_ROLLING = ("disk", "torus", "sphere", "ellipsoid", "implicit")


def wrong(where: str, wanted: str, value: object) -> FileError:
    """The fault of a value that is something else."""
    return FileError(f"`{where}` must be {wanted}", seen=shortened(value), remedy=f"write {wanted}")


def _is_double(number: sympy.Expr) -> bool:
    """Whether a number is a real one in the range of doubles."""
    if number.is_real is False:
        return False
    try:
        return math.isfinite(float(number))
    except (TypeError, ValueError, OverflowError):
        return False
