r"""Surfaces of bodies that touch: what rolls, and what it rolls on.

What rolls is convex, and given by the point s(n) of its surface that is farthest against a unit
normal n (its support function), in its own frame:

    sphere     s = -r n
    disk       s = -R (n - a (a . n)) / sqrt(1 - (a . n)^2)      (a its axis: the exact edge)
    torus      the sum of both
    ellipsoid  s = -D^2 n / sqrt(n . D^2 n)                      (D the semi-axes)

or by an equation F(s) = 0, whose solution s is carried along as coordinates without mass. What it
rolls on is a plane, a height field, or any surface given by an equation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import sympy

from ...errors import ModelError
from ..quantities import define
from ..symbols import Coordinate, as_expression
from .steps import named_triple
from .vectors import Triple, add, cross, dot, scale, unit_axis

if TYPE_CHECKING:
    from ...typing import Expression

__all__ = [
    "ImplicitSurface",
    "RollingContact",
    "RollingGround",
    "RollingSurface",
    "Touch",
    "disk",
    "ellipsoid",
    "height_field",
    "implicit",
    "plane",
    "sphere",
    "torus",
    "wheel_axis",
]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
UNIT_Z = unit_axis("z")


@dataclass(frozen=True)
class Touch:
    """The point of a surface that touches, with coordinates and conditions that it needs.

    `normals` are vectors that must be parallel to the normal of the contact.
    """

    point: Triple
    coordinates: tuple[Coordinate, ...] = ()
    residuals: tuple[sympy.Expr, ...] = ()
    normal: Triple | None = None


@dataclass(frozen=True)
class RollingContact:
    """The place on a fixed surface: point, unit normal and tangents in the frame of the surface.

    Where `point` is None, the surface is the plane through the origin, and no coordinates are
    needed.
    """

    normal: Triple
    tangents: tuple[Triple, ...]
    point: Triple | None = None
    coordinates: tuple[Coordinate, ...] = ()
    residuals: tuple[sympy.Expr, ...] = ()


class RollingSurface(Protocol):
    """The surface of a body that rolls."""

    def touch(self, name: str, normal: Triple) -> Touch:
        """The point farthest against a unit normal, both in the frame of the surface."""


class RollingGround(Protocol):
    """The surface that something rolls on."""

    def contact(self, name: str) -> RollingContact:
        """Where it is touched."""


@dataclass(frozen=True)
class _Round:
    """A disk (a circle of `radius` about `axis`) thickened by `tube`; a sphere where radius = 0."""

    radius: sympy.Expr
    tube: sympy.Expr
    axis: Triple

    def touch(self, name: str, normal: Triple) -> Touch:
        point = scale(-self.tube, normal)
        if self.radius != 0:
            along = dot(self.axis, normal)
            edge = define(f"e_{name}", sympy.sqrt(1 - along**2))
            outward = add(normal, scale(-along, self.axis))
            point = add(point, scale(-self.radius / edge, outward))
        return Touch(named_triple(f"c_{name}", point))


def wheel_axis(surface: RollingSurface) -> Triple | None:
    """The axis of a disk or torus, in the frame of the surface."""
    return surface.axis if isinstance(surface, _Round) and surface.radius != 0 else None


@dataclass(frozen=True)
class _Ellipsoid:
    """An ellipsoid with semi-axes along the axes of its frame."""

    axes: Triple

    def touch(self, name: str, normal: Triple) -> Touch:
        x, y, z = (axis**2 * n for axis, n in zip(self.axes, normal, strict=True))
        squares = (x, y, z)
        size = define(f"e_{name}", sympy.sqrt(dot(normal, squares)))
        return Touch(named_triple(f"c_{name}", scale(-1 / size, squares)))


@dataclass(frozen=True)
class ImplicitSurface:
    """F(x, y, z) = 0, negative inside; `sign` is -1 where its inside is touched."""

    function: Callable[[sympy.Expr, sympy.Expr, sympy.Expr], sympy.Expr]
    sign: int = 1

    def _at(self, name: str) -> tuple[tuple[Coordinate, ...], sympy.Expr, Triple]:
        coordinates = tuple(Coordinate(f"{name}_s{axis}") for axis in "xyz")
        value = as_expression(self.function(*coordinates))
        gradient = [value.diff(q) for q in coordinates]
        return coordinates, value, (gradient[0], gradient[1], gradient[2])

    def touch(self, name: str, normal: Triple) -> Touch:
        coordinates, value, gradient = self._at(name)
        return Touch(
            (coordinates[0], coordinates[1], coordinates[2]), coordinates, (value,), gradient
        )

    def contact(self, name: str) -> RollingContact:
        coordinates, value, gradient = self._at(name)
        size = define(f"n_{name}", sympy.sqrt(dot(gradient, gradient)))
        normal = named_triple(f"n_{name}", scale(self.sign / size, gradient))
        # No two tangents are independent everywhere on a closed surface: three, of rank two.
        tangents = tuple(cross(normal, unit_axis(axis)) for axis in "xyz")
        return RollingContact(
            normal,
            tangents,
            (coordinates[0], coordinates[1], coordinates[2]),
            coordinates,
            (value,),
        )


@dataclass(frozen=True)
class _Plane:
    """The plane z = 0 of its frame."""

    def contact(self, name: str) -> RollingContact:
        return RollingContact(UNIT_Z, (unit_axis("x"), unit_axis("y")))


@dataclass(frozen=True)
class _HeightField:
    """z = h(x, y)."""

    height: Callable[[sympy.Expr, sympy.Expr], sympy.Expr]

    def contact(self, name: str) -> RollingContact:
        x, y = (Coordinate(f"{name}_{axis}") for axis in "xy")
        height = as_expression(self.height(x, y))
        along, across = height.diff(x), height.diff(y)
        size = define(f"n_{name}", sympy.sqrt(1 + along**2 + across**2))
        normal = named_triple(f"n_{name}", (-along / size, -across / size, 1 / size))
        return RollingContact(
            normal, ((ONE, ZERO, along), (ZERO, ONE, across)), (x, y, height), (x, y)
        )


def disk(radius: Expression, axis: str | Sequence[Expression] = "y") -> RollingSurface:
    """A disk with a sharp edge, about an axis of its frame.

    >>> disk(0.3).radius
    0.300000000000000
    """
    return _Round(_positive(radius, "radius of a disk"), ZERO, unit_axis(axis))


def torus(
    radius: Expression, tube: Expression, axis: str | Sequence[Expression] = "y"
) -> RollingSurface:
    """A wheel with a round rim: a circle of `radius`, thickened by the radius `tube`.

    >>> torus(0.3, 0.02).tube
    0.0200000000000000
    """
    return _Round(
        _positive(radius, "radius of a torus"), _positive(tube, "tube of a torus"), unit_axis(axis)
    )


def sphere(radius: Expression) -> RollingSurface:
    """A ball about the origin of its frame.

    >>> sphere(2).tube
    2
    """
    return _Round(ZERO, _positive(radius, "radius of a sphere"), UNIT_Z)


def ellipsoid(a: Expression, b: Expression, c: Expression) -> RollingSurface:
    """An ellipsoid with semi-axes along x, y and z of its frame.

    >>> ellipsoid(1, 2, 3).axes
    (1, 2, 3)
    """
    lengths = [_positive(value, "semi-axis of an ellipsoid") for value in (a, b, c)]
    return _Ellipsoid((lengths[0], lengths[1], lengths[2]))


def implicit(
    function: Callable[[sympy.Expr, sympy.Expr, sympy.Expr], sympy.Expr], *, inside: bool = False
) -> ImplicitSurface:
    """A surface F(x, y, z) = 0, F negative inside; convex where it rolls itself.

    `inside` says that something rolls on its inner side, as in a bowl.

    >>> bowl = implicit(lambda x, y, z: x**2 + y**2 + z**2 - 1, inside=True)
    >>> bowl.sign
    -1
    """
    return ImplicitSurface(function, -1 if inside else 1)


def plane() -> RollingGround:
    """The plane z = 0 of a frame.

    >>> plane().contact("floor").normal
    (0, 0, 1)
    """
    return _Plane()


def height_field(height: Callable[[sympy.Expr, sympy.Expr], sympy.Expr]) -> RollingGround:
    """The surface z = h(x, y) of a frame; the contact has coordinates ``name_x``, ``name_y``.

    >>> height_field(lambda x, y: x * y).contact("hill").point
    (hill_x, hill_y, hill_x*hill_y)
    """
    return _HeightField(height)


def _positive(value: Expression, what: str) -> sympy.Expr:
    found = as_expression(value)
    if found.is_number and found <= 0:
        raise ModelError(f"The {what} must be positive", seen=value)
    return found
