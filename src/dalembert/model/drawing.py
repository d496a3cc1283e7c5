"""How a system looks: points, links, wheels and traces at positions that are expressions of its state.

Shapes are data; `dalembert.pictures` draws them. A position has two components (x to the right, y up) or three.

>>> from dalembert.model.symbols import coordinates
>>> import sympy
>>> theta = coordinates("theta")
>>> bob = (sympy.sin(theta), -sympy.cos(theta))
>>> Drawing(shapes=(Link((0, 0), bob), Point(bob), Trace(bob))).dimension
2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Circle", "Drawing", "Link", "Point", "Polyline", "Shape", "Spring", "Trace"]

Position = Sequence[Any]


@dataclass(frozen=True)
class Point:
    """A mass or a joint: a dot of `size` points."""

    position: Position
    size: float = 10.0
    color: str = "body"


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
    """A wheel or a ball: a circle about `center`; in space it lies in the plane of the vectors `axes`."""

    center: Position
    radius: Any
    axes: tuple[Position, Position] | None = None
    color: str = "body"


@dataclass(frozen=True)
class Trace:
    """The path that a point leaves behind."""

    position: Position
    color: str = "trace"


Shape = Point | Link | Spring | Polyline | Circle | Trace


@dataclass(frozen=True)
class Drawing:
    """All shapes of a system, in the order they are painted.

    Colours are roles ("body", "link", "trace", "ground", "accent") or Matplotlib colours. `limits` fixes the axes,
    ``((xmin, xmax), (ymin, ymax))``; without it they follow the motion.
    """

    shapes: tuple[Shape, ...]
    limits: tuple[tuple[float, float], ...] | None = None
    labels: tuple[str, ...] = ("x", "y", "z")

    @property
    def dimension(self) -> int:
        """2 for a plane, 3 for space."""
        first = self.shapes[0]
        match first:
            case Point() | Trace():
                return len(first.position)
            case Link() | Spring():
                return len(first.start)
            case Polyline():
                return len(first.points[0])
            case Circle():
                return len(first.center)
