"""A small language for how a system looks: `dalembert.draw`.

    da.System(..., drawing=[da.draw.link((0, 0), bob), da.draw.point(bob), da.draw.trace(bob)])

A position is (x, y), x to the right and y up, or (x, y, z), with z up; its components are numbers
or expressions of coordinates, velocities, parameters and time. Shapes are painted in the order of
the list, traces under them. A colour is a role, "body", "link", "trace", "ground", "accent" or
"ink", which looks right on light and dark paper, or a Matplotlib colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from ..errors import ModelError
from ..typing import Expression
from ..typing import Vector as Components
from .atoms import leaves
from .drawing import (
    BodyShape,
    Circle,
    Drawing,
    Drawn,
    Ground,
    Link,
    PointMark,
    Polyline,
    ReactionArrow,
    Spring,
    TextLabel,
    Trace,
    Vector,
    Wheel,
    as_drawing,
)
from .symbols import Coordinate, t

__all__ = [
    "body",
    "circle",
    "drawing",
    "frame",
    "ground",
    "link",
    "point",
    "polyline",
    "reaction",
    "spring",
    "text",
    "trace",
    "vector",
    "velocity",
    "wheel",
]


def point(at: Components, *, size: float = 10.0, color: str = "body", name: str = "") -> PointMark:
    """A mass or a joint: a dot of `size` points.

    With a `name`, its position is a column of every motion: ``name_x``, ``name_y``, ``name_z``.

    >>> point((0, 1), size=6)
    PointMark(position=(0, 1), size=6, color='body')
    """
    return PointMark(_position(at, "point"), size, color, name)


def link(start: Components, end: Components, *, width: float = 2.5, color: str = "link") -> Link:
    """A rod between two points."""
    return Link(_position(start, "link"), _position(end, "link"), width, color)


def spring(start: Components, end: Components, *, coils: int = 10, color: str = "link") -> Spring:
    """A spring between two points."""
    return Spring(_position(start, "spring"), _position(end, "spring"), coils, color)


def polyline(
    points: Sequence[Components], *, closed: bool = False, width: float = 2.0, color: str = "body"
) -> Polyline:
    """Segments through several points; a closed one is filled."""
    return Polyline(tuple(_position(p, "polyline") for p in points), closed, width, color)


def circle(
    center: Components,
    radius: Expression,
    *,
    axes: Sequence[Components] | None = None,
    color: str = "body",
) -> Circle:
    """A circle; in space a ball, or with two vectors `axes` a disk in their plane."""
    return Circle(_position(center, "circle"), radius, _axes(axes), color)


def wheel(
    center: Components,
    radius: Expression,
    angle: Expression = 0,
    *,
    axes: Sequence[Components] | None = None,
    spokes: int = 5,
    color: str = "body",
) -> Wheel:
    """A circle whose spokes show its angle, counterclockwise from x or the first of `axes`.

    Of the `spokes`, 1 to 60 at equal angles, the first has a mark. A wheel that rolls to the right
    turns clockwise: without slip, x = -R angle.

    >>> from dalembert.model.symbols import coordinates
    >>> x = coordinates("x")
    >>> wheel((x, 0.3), 0.3, -x / 0.3).spokes
    5
    """
    if not 1 <= int(spokes) <= 60:
        raise ModelError("A wheel has 1 to 60 spokes", seen=spokes, remedy="5 looks like a wheel")
    return Wheel(_position(center, "wheel"), radius, angle, _axes(axes), int(spokes), color)


def body(
    at: Components,
    angle: Expression = 0,
    *,
    box: Components | None = None,
    ellipse: Components | None = None,
    polygon: Sequence[Components] | None = None,
    axes: Sequence[Components] | None = None,
    color: str = "body",
) -> BodyShape:
    """A rigid body at the pose (x, y, angle): a box or an ellipse of size (a, b), or a polygon.

    The corners of a polygon are given about `at`, as they lie when the angle is 0. In space `axes`
    are two vectors in the plane of the outline.

    >>> from dalembert.model.symbols import coordinates
    >>> x, y, theta = coordinates("x y theta")
    >>> body((x, y), theta, box=(2, 1)).box
    (2, 1)
    """
    if sum(shape is not None for shape in (box, ellipse, polygon)) != 1:
        raise ModelError(
            "A body is one of a box, an ellipse and a polygon", remedy="pass box=(a, b), say"
        )
    corners = None if polygon is None else tuple(_position(p, "polygon", (2,)) for p in polygon)
    sides = None if box is None else _pair(box, "box")
    return BodyShape(
        _position(at, "body"),
        angle,
        sides,
        None if ellipse is None else _pair(ellipse, "ellipse"),
        corners,
        _axes(axes),
        color,
    )


def vector(
    at: Components,
    components: Components,
    *,
    scale: float | None = None,
    group: str = "vector",
    width: float = 2.0,
    color: str = "accent",
) -> Vector:
    """An arrow from `at`, `scale` times its components.

    Without a scale the longest arrow of its `group` over the motion takes a fifth of the picture,
    so that arrows of one group can be compared.
    """
    start, arrow = _position(at, "vector"), _position(components, "vector")
    if len(start) != len(arrow):
        raise ModelError(
            "An arrow has as many components as its position", seen=f"{len(arrow)} and {len(start)}"
        )
    return Vector(start, arrow, scale, group, width, color)


def velocity(
    at: Components, *, scale: float | None = None, width: float = 2.0, color: str = "accent"
) -> Vector:
    """The velocity of a point, dr/dt = (dr/dq) q_dot + dr/dt, as an arrow from it.

    >>> from dalembert.model.symbols import coordinates
    >>> theta = coordinates("theta")
    >>> velocity((sympy.sin(theta), -sympy.cos(theta))).components
    (theta_dot*cos(theta), theta_dot*sin(theta))
    """
    start = _position(at, "velocity")
    rates = tuple(_rate(component) for component in start)
    return Vector(start, rates, scale, "velocity", width, color)


def reaction(
    constraint: str,
    at: Components,
    *,
    along: Components | None = None,
    directions: Sequence[Components] = (),
    scale: float | None = None,
    width: float = 2.0,
    color: str = "accent",
) -> ReactionArrow:
    r"""The reaction of a constraint, by name, as an arrow at a point r(q).

    Its components are the generalised forces on the coordinates `along`, with 0 or None where it
    has no force. Without them it is the least force F that acts at r alone and does the same work,

        Q = J^T F,     min |F|^2,     J = dr/dq   (d x n),

    and where Q is no such force the picture is refused. `directions` are for contacts: the vectors
    along which its normal force and the components of its friction act, N n + P_1 t_1 + P_2 t_2.

    >>> from dalembert.model.symbols import coordinates
    >>> s, phi = coordinates("s phi")
    >>> reaction("rolling", (s, 0), along=(s, 0)).along
    ('s', None)
    >>> reaction("floor", (s, 0), directions=[(0, 1), (1, 0)]).directions
    ((0, 1), (1, 0))
    """
    start = _position(at, "reaction")
    names = None if along is None else _directions(along, len(start))
    ways = tuple(_position(way, "reaction") for way in directions)
    if ways and names:
        raise ModelError(
            "A reaction is drawn along coordinates or in the directions of a contact",
            seen=f"along={names} and {len(ways)} directions",
            remedy="leave one of them out",
        )
    return ReactionArrow(
        str(getattr(constraint, "name", constraint)), start, names, scale,
        width=width, color=color, directions=ways,
    )  # fmt: skip


def ground(start: Components, end: Components, *, color: str = "ground") -> Ground:
    """A line with hatches on its right-hand side, looking from `start` to `end`."""
    return Ground(_position(start, "ground"), _position(end, "ground"), color)


def text(at: Components, words: str, *, size: float = 11.0, color: str = "ink") -> TextLabel:
    """Words beside a point."""
    return TextLabel(_position(at, "text"), str(words), size, color)


def frame(
    at: Components,
    angle: Expression = 0,
    *,
    axes: Sequence[Components] | None = None,
    size: float | None = None,
) -> tuple[Vector, ...]:
    """The axes of a frame at the pose (x, y, angle), as arrows; in space unit vectors `axes`."""
    start = _position(at, "frame")
    if axes is None:
        if len(start) == 3:
            raise ModelError(
                "A frame in space needs its axes",
                remedy="pass axes=((1, 0, 0), (0, 1, 0), (0, 0, 1)), say",
            )
        c, s = sympy.cos(angle), sympy.sin(angle)
        axes = ((c, s), (-s, c))
    return tuple(
        Vector(start, _position(axis, "frame"), size, "frame", 1.6, "link") for axis in axes
    )


def trace(at: Components, *, color: str = "trace") -> Trace:
    """The path that a point leaves behind."""
    return Trace(_position(at, "trace"), color)


def drawing(
    *shapes: Drawn,
    limits: Sequence[Sequence[float]] | None = None,
    labels: Sequence[str] = ("x", "y", "z"),
) -> Drawing:
    """Shapes with axes of their own: fixed `limits` ((xmin, xmax), (ymin, ymax)), and names."""
    found = as_drawing(shapes)
    if found is None:
        raise ModelError(
            "A drawing needs at least one shape", remedy="pass da.draw.point((x, y)), say"
        )
    bounds = None if limits is None else tuple((float(low), float(high)) for low, high in limits)
    return Drawing(found.shapes, bounds, tuple(labels))


def _position(value: Components, what: str, lengths: tuple[int, ...] = (2, 3)) -> tuple[Any, ...]:
    if isinstance(value, (list, tuple, sympy.MatrixBase)) and len(value) in lengths:
        return tuple(value)
    wanted = " or ".join(map(str, lengths))
    raise ModelError(
        f"A position of the {what} has {wanted} components",
        seen=f"{value!r:.60}",
        remedy="pass (x, y), say",
    )


def _directions(along: Components | Sequence[str | None], dimension: int) -> tuple[str | None, ...]:
    """The names of the coordinates along which a reaction is drawn, None where it has no force."""
    remedy = (
        f"pass along=({', '.join(('x', 'y', 'z')[:dimension])}), with 0 in a direction without"
        " force"
    )
    if not isinstance(along, (list, tuple, sympy.MatrixBase)):
        raise ModelError(
            "`along` of a reaction is one coordinate for each component",
            seen=f"{along!r:.60}",
            remedy=remedy,
        )
    if len(along) != dimension:
        raise ModelError(
            "A reaction has as many components as its position",
            seen=f"{len(along)} and {dimension}",
            remedy=remedy,
        )
    names: list[str | None] = []
    for entry in along:
        if entry is None or (
            isinstance(entry, (int, float, sympy.Number))
            and not isinstance(entry, bool)
            and entry == 0
        ):
            names.append(None)
        elif isinstance(entry, (Coordinate, AppliedUndef)) or (
            isinstance(entry, str) and entry.isidentifier()
        ):
            names.append(str(getattr(entry, "name", entry)))
        else:
            raise ModelError(
                "A reaction goes along coordinates, or 0", seen=f"{entry!r:.60}", remedy=remedy
            )
    if not any(names):
        raise ModelError(
            "A reaction goes along at least one coordinate", seen=f"{along!r:.60}", remedy=remedy
        )
    return tuple(names)


def _pair(value: Components, what: str) -> tuple[Any, Any]:
    first, second = _position(value, what, (2,))
    return first, second


def _axes(value: Sequence[Components] | None) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ModelError(
            "The plane of a shape is given by two vectors",
            seen=f"{value!r:.60}",
            remedy="pass axes=(u, v)",
        )
    return _position(value[0], "axes"), _position(value[1], "axes")


def _rate(component: sympy.Expr) -> Any:
    """d/dt of an expression of coordinates and time."""
    if not isinstance(component, sympy.Basic):
        return sympy.Integer(0)
    ends = leaves(component)
    clocks = {t} | {
        end.args[0] for end in ends if isinstance(end, AppliedUndef) and len(end.args) == 1
    }
    rate: Any = sympy.Add(*(sympy.diff(component, clock) for clock in clocks))
    for symbol in sorted((s for s in ends if isinstance(s, Coordinate)), key=lambda s: s.name):
        rate += sympy.diff(component, symbol) * symbol.dot
    unknown = [
        s
        for s in component.free_symbols
        if type(s).__name__ in ("Velocity", "Momentum", "Input", "Speed")
    ]
    if unknown:
        raise ModelError(
            "The velocity of a point needs its position in coordinates and time",
            seen=", ".join(sorted(s.name for s in unknown)),
            remedy="use da.draw.vector with the components that you mean",
        )
    return rate
