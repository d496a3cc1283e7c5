"""Geometry primitives on bodies, and how a mechanism looks: shapes of the drawing model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import sympy

from ..drawing import Circle, Drawing, Link, Polyline, Shape, Trace, Wheel
from ..symbols import as_expression
from .body import Body, Frame
from .vectors import IDENTITY, Rotated, Rotation, Triple, as_rotation, as_triple

if TYPE_CHECKING:
    from ...typing import Expression
    from .joints import Joint
    from .kinematics import Kinematics

__all__ = [
    "Geometry",
    "ball",
    "box",
    "capsule",
    "cylinder",
    "half_space",
    "hull",
    "line",
    "mechanism_drawing",
    "rim",
    "trace",
]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Geometry:
    """A primitive on a body; `box`, `cylinder`, `ball`, `capsule`, `line` and `trace` make it.

    Attributes
    ----------
    kind : str
    sizes : tuple of expressions
        The sides of a box; radius and length of a cylinder or a capsule; the radius of a ball.
    position, rotation
        Its place in the frame of the body; a cylinder and a capsule lie along z.
    points : tuple of three components each
        Of a line.

    >>> Geometry("ball", (sympy.Integer(1),)).color
    'body'
    """

    kind: str
    sizes: tuple[sympy.Expr, ...] = ()
    position: Triple = (ZERO, ZERO, ZERO)
    rotation: Rotation = IDENTITY
    points: tuple[Triple, ...] = ()
    color: str = "body"


Sizes: TypeAlias = "Sequence[Expression]"


def _placed(
    kind: str, sizes: Sizes, at: Sizes, rotation: Rotated, color: str, points: Sequence[Sizes] = ()
) -> Geometry:
    return Geometry(
        kind,
        tuple(as_expression(size) for size in sizes),
        as_triple(at, f"position of the {kind}"),
        as_rotation(rotation),
        tuple(as_triple(point, f"point of the {kind}") for point in points),
        color,
    )


def box(
    sides: Sizes, at: Sizes = (0, 0, 0), rotation: Rotated = None, color: str = "body"
) -> Geometry:
    """A box with sides along the axes, about its middle.

    >>> box((1, 2, 3)).sizes
    (1, 2, 3)
    """
    return _placed("box", sides, at, rotation, color)


def cylinder(
    radius: Expression,
    length: Expression = 0,
    at: Sizes = (0, 0, 0),
    rotation: Rotated = None,
    color: str = "body",
) -> Geometry:
    """A cylinder about z, or a wheel where it has no length.

    >>> cylinder(0.3).kind
    'cylinder'
    """
    return _placed("cylinder", (radius, length), at, rotation, color)


def ball(radius: Expression, at: Sizes = (0, 0, 0), color: str = "body") -> Geometry:
    """A ball.

    >>> ball(0.1, at=(0, 0, 1)).position
    (0, 0, 1)
    """
    return _placed("ball", (radius,), at, None, color)


def capsule(
    radius: Expression,
    length: Expression,
    at: Sizes = (0, 0, 0),
    rotation: Rotated = None,
    color: str = "body",
) -> Geometry:
    """A rod along z with round ends, about its middle.

    >>> capsule(0.05, 1).sizes[1]
    1
    """
    return _placed("capsule", (radius, length), at, rotation, color)


def half_space(at: Sizes = (0, 0, 0), rotation: Rotated = None, color: str = "body") -> Geometry:
    """The half-space below z = 0 of its frame, as a floor or a wall that others touch.

    >>> half_space().kind
    'plane'
    """
    return _placed("plane", (), at, rotation, color)


def rim(
    radius: Expression,
    tube: Expression = 0,
    at: Sizes = (0, 0, 0),
    rotation: Rotated = None,
    color: str = "body",
) -> Geometry:
    """The edge of a disk about z, or of a wheel whose rim is rounded by the radius `tube`.

    >>> rim(0.3, 0.01).sizes
    (0.300000000000000, 0.0100000000000000)
    """
    return _placed("rim", (radius, tube), at, rotation, color)


def hull(
    points: Sequence[Sizes],
    at: Sizes = (0, 0, 0),
    rotation: Rotated = None,
    color: str = "body",
) -> Geometry:
    """The convex hull of points.

    >>> len(hull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]).points)
    4
    """
    return _placed("hull", (), at, rotation, color, points)


def line(*points: Sizes, color: str = "link") -> Geometry:
    """A line through points of the body.

    >>> len(line((0, 0, 0), (0, 0, 1)).points)
    2
    """
    return _placed("line", (), (0, 0, 0), None, color, points)


def trace(at: Sizes = (0, 0, 0), color: str = "trace") -> Geometry:
    """The path that a point of the body leaves behind.

    >>> trace((0, 0, 1)).kind
    'trace'
    """
    return _placed("trace", (), at, None, color)


def _shapes(body: Body, geometry: Geometry, kinematics: Kinematics) -> Iterator[Shape]:
    place = Frame(body).moved(geometry.position, geometry.rotation)

    def spot(point: Sequence[sympy.Expr]) -> Triple:
        offset = as_triple(point, "point")
        return kinematics.position(place.moved(offset, IDENTITY))

    columns = kinematics.axes(place).columns
    color = geometry.color
    match geometry.kind:
        case "line":
            yield Polyline(tuple(spot(point) for point in geometry.points), color=color)
        case "trace":
            yield Trace(spot((ZERO, ZERO, ZERO)), color)
        case "ball":
            yield Circle(spot((ZERO, ZERO, ZERO)), geometry.sizes[0], color=color)
        case "plane":
            yield Polyline(
                tuple(spot((x, y, ZERO)) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))),
                True,
                1.0,
                color,
            )
        case "hull":
            for k, point in enumerate(geometry.points):
                for other in geometry.points[:k]:
                    yield Link(spot(other), spot(point), 1.0, color)
        case "rim":
            radius, tube = geometry.sizes
            yield Circle(spot((ZERO, ZERO, ZERO)), radius + tube, (columns[0], columns[1]), color)
        case "cylinder":
            radius, length = geometry.sizes
            plane = (columns[0], columns[1])
            if length == 0:
                yield Wheel(spot((ZERO, ZERO, ZERO)), radius, 0, plane, color=color)
                return
            for side in (-length / 2, length / 2):
                yield Circle(spot((ZERO, ZERO, side)), radius, plane, color)
            for x, y in ((radius, ZERO), (-radius, ZERO), (ZERO, radius), (ZERO, -radius)):
                yield Link(spot((x, y, -length / 2)), spot((x, y, length / 2)), 1.0, color)
        case "capsule":
            radius, length = geometry.sizes
            ends = [spot((ZERO, ZERO, side)) for side in (-length / 2, length / 2)]
            yield Link(ends[0], ends[1], 4.0, color)
            for end in ends:
                yield Circle(end, radius, color=color)
        case _:
            a, b, c = (size / 2 for size in geometry.sizes)
            ring = ((-a, -b), (a, -b), (a, b), (-a, b))
            for height in (-c, c):
                yield Polyline(tuple(spot((x, y, height)) for x, y in ring), True, 1.0, color)
            for x, y in ring:
                yield Link(spot((x, y, -c)), spot((x, y, c)), 1.0, color)


def mechanism_drawing(
    bodies: Sequence[Body], joints: Sequence[Joint], kinematics: Kinematics
) -> Drawing | None:
    """The geometry of all bodies; a body without any is lines between its joints and its mass."""
    shapes: list[Shape] = []
    for body in bodies:
        geometries = body.shapes or _skeleton(body, joints)
        for geometry in geometries:
            shapes += _shapes(body, geometry, kinematics)
    return Drawing(tuple(shapes)) if shapes else None


def _skeleton(body: Body, joints: Sequence[Joint]) -> list[Geometry]:
    if body.is_ground:
        return []
    ends = [frame.position for joint in joints for frame in (joint.parent, joint.child)
            if frame.body == body]  # fmt: skip
    if body.mass != 0:
        ends.append(body.com)
    distinct = list(dict.fromkeys(ends))
    return [line(distinct[0], end) for end in distinct[1:]]
