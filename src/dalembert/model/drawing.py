"""How a system looks: points, links, wheels, arrows and traces at positions of its state.

Shapes are data; `dalembert.plotting` draws them, and `dalembert.draw` is how a user writes them. A
position has two components (x to the right, y up) or three.

>>> from dalembert.model.symbols import coordinates
>>> import sympy
>>> theta = coordinates("theta")
>>> bob = (sympy.sin(theta), -sympy.cos(theta))
>>> Drawing(shapes=(Link((0, 0), bob), PointMark(bob), Trace(bob))).dimension
2
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import sympy

from ..errors import ModelError
from .symbols import Parameter

if TYPE_CHECKING:
    from ..model.scenario import Scenario
    from ..model.system import System

__all__ = [
    "EXPRESSIONS",
    "KINDS",
    "BodyShape",
    "Circle",
    "Drawing",
    "Drawn",
    "Ground",
    "Link",
    "PointMark",
    "Polyline",
    "ReactionArrow",
    "Shape",
    "Spring",
    "TextLabel",
    "Trace",
    "Vector",
    "Wheel",
    "as_drawing",
    "default_drawing",
    "drawing_of",
]

Position = Sequence[Any]


@dataclass(frozen=True)
class PointMark:
    """A mass or a joint: a dot of `size` points. The position of one with a name is an output."""

    position: Position
    size: float = 10.0
    color: str = "body"
    name: str = field(default="", repr=False)


@dataclass(frozen=True)
class Link:
    """A rod between two points."""

    start: Position
    end: Position
    width: float = 2.5
    color: str = "link"


@dataclass(frozen=True)
class Spring:
    """A spring between two points, drawn as a zigzag."""

    start: Position
    end: Position
    coils: int = 10
    color: str = "link"


@dataclass(frozen=True)
class Polyline:
    """A chain of segments through several points; closed on request."""

    points: Sequence[Position]
    closed: bool = False
    width: float = 2.0
    color: str = "body"


@dataclass(frozen=True)
class Circle:
    """A wheel or a ball: a circle about `center`; in space it lies in the plane of `axes`."""

    center: Position
    radius: Any
    axes: tuple[Position, Position] | None = None
    color: str = "body"


@dataclass(frozen=True)
class Wheel:
    """A circle with spokes that show its angle, counterclockwise from the first of `axes`."""

    center: Position
    radius: Any
    angle: Any = 0
    axes: tuple[Position, Position] | None = None
    spokes: int = 5
    color: str = "body"


@dataclass(frozen=True)
class BodyShape:
    """A rigid outline at `position`, turned by `angle`: a box, an ellipse or a polygon.

    A box has sides (a, b) and an ellipse semi-axes (a, b), both about `position`; the corners of a
    polygon are relative to it. In space the outline lies in the plane of the vectors `axes`.
    """

    position: Position
    angle: Any = 0
    box: tuple[Any, Any] | None = None
    ellipse: tuple[Any, Any] | None = None
    polygon: Sequence[Position] | None = None
    axes: tuple[Position, Position] | None = None
    color: str = "body"


@dataclass(frozen=True)
class Vector:
    """An arrow from `position`, `scale` times the vector `components`.

    Without a scale the longest arrow of its `group` takes a fifth of the picture; arrows of one
    group stay comparable.
    """

    position: Position
    components: Position
    scale: float | None = None
    group: str = "vector"
    width: float = 2.0
    color: str = "accent"


@dataclass(frozen=True)
class ReactionArrow:
    """The reaction of a constraint as an arrow at `position`, a force in the plane or in space.

    `along` names coordinates whose generalised forces are its components, None where it has no
    force; without it the force F at r(q) is the least one with Q = (dr/dq)^T F, where there is one.
    The arrow of a contact may have `directions` instead, those of its normal force and of the
    components of its friction.
    """

    constraint: str
    position: Position
    along: tuple[str | None, ...] | None = None
    scale: float | None = None
    group: str = "force"
    width: float = 2.0
    color: str = "accent"
    directions: tuple[Position, ...] = ()


@dataclass(frozen=True)
class Ground:
    """A line that stands still, hatched on its right-hand side when looking from start to end."""

    start: Position
    end: Position
    color: str = "ground"


@dataclass(frozen=True)
class TextLabel:
    """Words beside a point, `size` in points."""

    position: Position
    text: str
    size: float = 11.0
    color: str = "ink"


@dataclass(frozen=True)
class Trace:
    """The path that a point leaves behind."""

    position: Position
    color: str = "trace"


#: What a user may pass for a drawing: one, a shape, or shapes in lists, nested as they come.
Drawn: TypeAlias = "Drawing | Shape | Sequence[Drawn]"
Shape = (
    PointMark
    | Link
    | Spring
    | Polyline
    | Circle
    | Wheel
    | BodyShape
    | Vector
    | ReactionArrow
    | Ground
    | TextLabel
    | Trace
)

#: Every kind of shape by its name in files.
_NAMES = {BodyShape: "Body", PointMark: "Point", ReactionArrow: "Reaction", TextLabel: "Text"}
KINDS: dict[str, Any] = {_NAMES.get(kind, kind.__name__): kind for kind in get_args(Shape)}


def kind_of(shape: Shape) -> str:
    """The name of the kind of a shape in files."""
    return _NAMES.get(type(shape), type(shape).__name__)


#: What a shape states in expressions; the rest of it is plain.
EXPRESSIONS = frozenset(
    (
        "position",
        "start",
        "end",
        "points",
        "center",
        "radius",
        "axes",
        "angle",
        "box",
        "ellipse",
        "polygon",
        "components",
        "directions",
    )
)


@dataclass(frozen=True)
class Drawing:
    """All shapes of a system, in the order they are painted.

    Colours are roles ("body", "link", "trace", "ground", "accent", "ink") or Matplotlib colours.
    `limits` fixes the axes, ``((xmin, xmax), (ymin, ymax))``; without it they follow the motion.
    """

    shapes: tuple[Shape, ...]
    limits: tuple[tuple[float, float], ...] | None = None
    labels: tuple[str, ...] = ("x", "y", "z")

    @property
    def dimension(self) -> int:
        """2 for a plane, 3 for space."""
        first = self.shapes[0]
        match first:
            case Link() | Spring() | Ground():
                return len(first.start)
            case Polyline():
                return len(first.points[0])
            case Circle() | Wheel():
                return len(first.center)
            case _:
                return len(first.position)

    def expressions(self) -> list[sympy.Expr]:
        """Every expression in it."""
        found: list[sympy.Expr] = []

        def look(entry: Any) -> Any:
            found.extend([entry] if isinstance(entry, sympy.Basic) else [])
            return entry

        self.mapped(look)
        return found

    @property
    def parameters(self) -> set[Parameter]:
        """The parameters in its expressions."""
        return {symbol for entry in self.expressions() for symbol in entry.atoms(Parameter)}

    def mapped(self, change: Callable[[Any], Any]) -> Drawing:
        """The same drawing with every expression in it changed."""

        def through(value: Any) -> Any:
            if isinstance(value, (list, tuple, sympy.MatrixBase)):
                return tuple(through(item) for item in value)
            return None if value is None else change(value)

        def shape(one: Shape) -> Shape:
            return replace(
                one,
                **{
                    f.name: through(getattr(one, f.name))
                    for f in fields(one)
                    if f.name in EXPRESSIONS
                },
            )

        return replace(self, shapes=tuple(shape(one) for one in self.shapes))


def as_drawing(value: Drawn | None) -> Drawing | None:
    """A drawing from what a user may pass: a `Drawing`, a shape, or nested lists of shapes.

    >>> as_drawing([PointMark((0, 0)), [Trace((0, 0))]]).shapes
    (PointMark(position=(0, 0), size=10.0, color='body'), Trace(position=(0, 0), color='trace'))
    """
    if value is None or isinstance(value, Drawing):
        return value
    shapes = tuple(_flat(value))
    return Drawing(shapes) if shapes else None


def _flat(value: Drawn) -> Iterator[Shape]:
    if isinstance(value, Shape):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        raise ModelError(
            "A drawing consists of shapes",
            seen=f"{type(value).__name__} {value!r:.60}",
            remedy="make them with da.draw, such as da.draw.point((x, y))",
        )


def default_drawing(system: System) -> Drawing | None:
    """Coordinates named x and y, or x, y and z, as a point with its trace; also x1 and y1, ...

    None where no coordinates are named so: what other coordinates mean is for the user to say.

    >>> from dalembert.model.symbols import coordinates
    >>> from types import SimpleNamespace
    >>> len(default_drawing(SimpleNamespace(coordinates=coordinates("x1 y1 x2 y2"))).shapes)
    4
    """
    groups: dict[str, dict[str, Any]] = {}
    for q in system.coordinates:
        named = re.fullmatch(r"([xyz])((?:_?\d+|_\w+)?)", q.name)
        if named is not None:
            groups.setdefault(named[2], {})[named[1]] = q
    dimension = 3 if any(len(group) == 3 for group in groups.values()) else 2
    points = [
        tuple(group[c] for c in "xyz"[:dimension])
        for group in groups.values()
        if "xyz"[:dimension] == _axes(group)
    ]
    if not points or len(points) > 50:
        return None
    return Drawing(shapes=tuple(Trace(p) for p in points) + tuple(PointMark(p) for p in points))


def _axes(group: dict[str, Any]) -> str:
    return "".join(sorted(group))


def drawing_of(scenario: Scenario | None, system: System) -> Drawing | None:
    """The drawing of a scenario, of its system, or by the names of the coordinates."""
    stated = scenario.drawing if scenario is not None else None
    return stated or getattr(system, "drawing", None) or default_drawing(system)
