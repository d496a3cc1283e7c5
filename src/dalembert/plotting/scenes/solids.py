"""The shapes of a drawing along a motion, before any camera: points at every time.

All expressions of a drawing are evaluated at once over all times. Each shape becomes one or more
solids: dots, lines and areas, arrows whose length may still be open, and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ...model.drawing import (
    BodyShape,
    Circle,
    Ground,
    Link,
    PointMark,
    Polyline,
    ReactionArrow,
    Shape,
    Spring,
    TextLabel,
    Trace,
    Vector,
    Wheel,
    kind_of,
)
from ...typing import Expression
from ..motion_samples import Array, evaluate
from .reaction_forces import reaction_force

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = [
    "ScenePart",
    "SceneSolid",
    "arrow_scales",
    "arrowed",
    "drawn_expressions",
    "length_of",
    "scaled_arrows",
    "solids_from",
    "solids_of",
    "tipped",
    "usual_breadth",
    "zigzag",
]

RIM = np.linspace(0.0, 2 * np.pi, 73)
#: The longest arrow of a group, as a share of the picture.
REACH = {"frame": 0.10}
USUAL_REACH = 0.20
#: Hatches of a ground line.
HATCHES = 24


@dataclass(frozen=True)
class ScenePart:
    """One shape, or a piece of one, through time.

    Attributes
    ----------
    kind : "dot", "line", "area" or "trace"; "text" among the texts of a scene
    points : array (nt, k, 2)
        In the picture's plane; for a dot k = 1.
    depth : array (nt,)
        Towards the viewer; zero in a plane drawing.
    width : float
        Of lines, and the diameter of dots, in points; the size of symbols.
    fill : float
        Opacity of the inside of an area.
    shadow : array (nt, k, 2) or None
        Where the shape falls on the floor.
    text : str
        The words of a text.
    """

    kind: str
    points: Array
    depth: Array
    color: str
    width: float
    fill: float = 0.0
    shadow: Array | None = None
    text: str = ""

    @property
    def is_ground(self) -> bool:
        """Whether it lies under everything, without a shadow of its own."""
        return self.color == "ground" and self.kind == "area"

    @property
    def is_still(self) -> bool:
        """Whether it never moves."""
        finite = self.points[np.isfinite(self.points).all(axis=(1, 2))]
        return bool(finite.size == 0 or np.ptp(finite, axis=0).max() < 1e-12)


@dataclass(frozen=True)
class SceneSolid:
    """A part before the camera: points (nt, k, d).

    An arrow has its tail and its components, k = 2, until `scaled_arrows` makes them tail and tip.
    """

    part: ScenePart
    points: Array
    coils: int = 0
    ball: Array | None = None
    arrow: str = ""
    scale: float | None = None


def solids_of(
    motion: Motion, shapes: Sequence[Shape], times: Array, dimension: int
) -> list[SceneSolid]:
    """The pieces that shapes are made of, at `times`.

    Raises
    ------
    ModelError
        For shapes of different dimension, symbols the motion does not know, or a reaction that is
        not a force at its point.
    """
    expressions = drawn_expressions(shapes, dimension)
    table = evaluate(motion, expressions, times) if expressions else np.empty((0, times.size))
    return solids_from(shapes, dimension, table, lambda shape: reaction_force(motion, shape, times))


def drawn_expressions(shapes: Sequence[Shape], dimension: int) -> list[Expression]:
    """Every expression of shapes, in the order of the table that `solids_from` takes."""
    expressions: list[Expression] = []
    for shape in shapes:
        expressions += [entry for vector in _vectors(shape, dimension) for entry in vector]
        expressions += _numbers(shape)
    return expressions


def solids_from(
    shapes: Sequence[Shape],
    dimension: int,
    table: Array,
    force: Callable[[ReactionArrow], Array],
) -> list[SceneSolid]:
    """The pieces of shapes from values (expressions, nt) of their expressions.

    `force` gives the reactions (nt, d) of arrows, or their components (nt, k) in k directions.
    Values may be numbers or expressions of a graph.
    """
    found: list[SceneSolid] = []
    row, count_times = 0, table.shape[1]
    for shape in shapes:
        count, numbers = dimension * len(_vectors(shape, dimension)), len(_numbers(shape))
        vectors = np.moveaxis(table[row : row + count].reshape(-1, dimension, count_times), 2, 0)
        scalars = table[row + count : row + count + numbers].T
        row += count + numbers
        if isinstance(shape, ReactionArrow):
            pushed = force(shape)
            if shape.directions:
                pushed = (pushed[:, :, None] * vectors[:, 1:]).sum(axis=1)
            vectors = np.concatenate([vectors[:, :1], pushed[:, None]], axis=1)
        found += _solids(shape, vectors, scalars)
    return found


def _vectors(shape: Shape, dimension: int) -> list[Sequence[Expression]]:
    """The positions and directions of a shape, each of the dimension of the drawing."""
    found: list[Sequence[Expression]]
    match shape:
        case Vector():
            found = [shape.position, shape.components]
        case ReactionArrow():
            found = [shape.position, *shape.directions]
        case PointMark() | Trace() | TextLabel():
            found = [shape.position]
        case Link() | Spring() | Ground():
            found = [shape.start, shape.end]
        case Polyline():
            found = list(shape.points)
        case Circle() | Wheel():
            found = [shape.center, *(shape.axes or ())]
        case BodyShape():
            found = [shape.position, *(shape.axes or ())]
    if any(len(vector) != dimension for vector in found):
        raise ModelError(
            "The shapes of a drawing must all be plane or all spatial",
            f"{kind_of(shape)} with {len(found[0])} components among shapes with {dimension}",
            f"give every position {dimension} components",
        )
    if dimension == 3 and isinstance(shape, Wheel | BodyShape) and shape.axes is None:
        raise ModelError(
            f"A {kind_of(shape).lower()} in space needs the plane it lies in",
            remedy="pass axes=(u, v), two vectors in that plane",
        )
    return found


def _numbers(shape: Shape) -> list[Expression]:
    """What else a shape states in expressions."""
    match shape:
        case Circle():
            return [shape.radius]
        case Wheel():
            return [shape.radius, shape.angle]
        case BodyShape():
            sizes = shape.box or shape.ellipse
            corners = [entry for corner in shape.polygon or () for entry in corner]
            return [shape.angle, *(sizes or corners)]
    return []


def _solids(shape: Shape, value: Array, numbers: Array) -> Iterator[SceneSolid]:
    """The pieces of one shape: `value` (nt, k, d) holds its vectors, `numbers` (nt, m) the rest."""
    nothing = np.empty(0)

    def part(kind: str, color: str, width: float, fill: float = 0.0, words: str = "") -> ScenePart:
        return ScenePart(kind, nothing, nothing, color, width, fill, text=words)

    match shape:
        case PointMark():
            yield SceneSolid(part("dot", shape.color, shape.size), value)
        case Link():
            yield SceneSolid(part("line", shape.color, shape.width), value)
        case Spring():
            yield SceneSolid(part("line", shape.color, 1.4), value, coils=max(int(shape.coils), 1))
        case Polyline():
            outline = np.concatenate([value, value[:, :1]], axis=1) if shape.closed else value
            kind, fill = ("area", 0.25) if shape.closed else ("line", 0.0)
            yield SceneSolid(part(kind, shape.color, shape.width, fill), outline)
        case Circle():
            yield from _circle(shape, value, numbers[:, 0, None, None])
        case Wheel():
            yield from _wheel(shape, value, numbers)
        case BodyShape():
            outline = _posed(value, numbers[:, 0], _outline(shape, numbers[:, 1:]))
            yield SceneSolid(part("area", shape.color, 2.0, 0.25), outline)
        case Vector() | ReactionArrow():
            line = part("line", shape.color, shape.width)
            yield SceneSolid(line, value, arrow=shape.group, scale=shape.scale)
        case Ground():
            ground = hatched(value) if value.shape[2] == 2 else value
            yield SceneSolid(part("line", shape.color, 1.2), ground)
        case TextLabel():
            yield SceneSolid(part("text", shape.color, shape.size, words=shape.text), value)
        case Trace():
            yield SceneSolid(part("trace", shape.color, 1.6), value)


# -- outlines --------------------------------------------------------------------------------------


def _circle(shape: Circle, value: Array, radius: Array) -> Iterator[SceneSolid]:
    """A rim in the plane of the axes, or of the picture; in space the outline of a ball."""
    rim = ScenePart("area", np.empty(0), np.empty(0), shape.color, 2.0, 0.22)
    center = value[:, :1]
    if value.shape[2] == 3 and shape.axes is None:
        yield SceneSolid(replace(rim, fill=0.8), center, ball=radius[:, 0, 0])
        return
    unit = np.stack([np.cos(RIM), np.sin(RIM)], axis=-1)
    yield SceneSolid(rim, _posed(value, np.zeros(len(value)), radius * unit))


def _wheel(shape: Wheel, value: Array, numbers: Array) -> Iterator[SceneSolid]:
    """A rim, its spokes as one line there and back, and a mark on the first of them."""
    radius, angle = numbers[:, 0, None, None], numbers[:, 1]
    nothing = np.empty(0)
    around = np.arange(shape.spokes) * 2 * np.pi / shape.spokes
    spokes = np.zeros((2 * shape.spokes + 1, 2))
    spokes[1::2] = np.stack([np.cos(around), np.sin(around)], axis=-1)
    rim = np.stack([np.cos(RIM), np.sin(RIM)], axis=-1)
    mark = np.array([[0.82, 0.0]])
    color = shape.color
    looks = (("area", color, 2.4, 0.12), ("line", color, 1.1, 0.0), ("dot", "accent", 5.0, 0.0))
    for (kind, own, width, fill), outline in zip(looks, (rim, spokes, mark), strict=True):
        part = ScenePart(kind, nothing, nothing, own, width, fill)
        yield SceneSolid(part, _posed(value, angle, radius * outline))


def _outline(shape: BodyShape, numbers: Array) -> Array:
    """The outline of a body about its position, (nt, k, 2), closed."""
    if shape.box is not None:
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]) / 2
        return np.asarray(corners * numbers[:, None, :2])
    if shape.ellipse is not None:
        return np.asarray(np.stack([np.cos(RIM), np.sin(RIM)], axis=-1) * numbers[:, None, :2])
    points = numbers.reshape(len(numbers), -1, 2)
    return np.concatenate([points, points[:, :1]], axis=1)


def _posed(value: Array, angle: Array, outline: Array) -> Array:
    """An outline (nt, k, 2) turned by an angle and put at value[:, 0], in the plane of its axes."""
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    across = cosine * outline[..., 0] - sine * outline[..., 1]
    upward = sine * outline[..., 0] + cosine * outline[..., 1]
    if value.shape[1] == 1:
        return np.asarray(value[:, :1] + np.stack([across, upward], axis=-1))
    first, second = _orthonormal(value[:, 1], value[:, 2])
    placed = value[:, :1] + across[..., None] * first[:, None]
    return np.asarray(placed + upward[..., None] * second[:, None])


def _orthonormal(first: Array, second: Array) -> tuple[Array, Array]:
    one = first / length_of(first)[..., None]
    two = second - np.sum(second * one, axis=-1, keepdims=True) * one
    return one, two / length_of(two)[..., None]


def length_of(vectors: Array) -> Array:
    """Lengths (...) of vectors (..., d), which may be expressions of a graph."""
    return np.asarray(np.sqrt(np.sum(vectors * vectors, axis=-1)))


def zigzag(ends: Array, coils: int, breadth: float | None = None) -> Array:
    """A spring between two points (nt, 2, 2) as a zigzag (nt, 2 coils + 4, 2) of constant breadth.

    The breadth follows from the usual length unless it is given.

    >>> ends = np.array([[[0.0, 0.0], [1.0, 0.0]]])
    >>> zigzag(ends, 5).shape
    (1, 14, 2)
    """
    start, along = ends[:, 0], ends[:, 1] - ends[:, 0]
    length = length_of(along)
    breadth = usual_breadth(length) if breadth is None else breadth
    unit = along / (length + 1e-300)[:, None]
    across = np.stack([-unit[:, 1], unit[:, 0]], axis=-1)
    count = 2 * coils
    inner = 0.14 + 0.72 * (np.arange(count) + 0.5) / count
    share = np.concatenate([[0.0, 0.14], inner, [0.86, 1.0]])
    side = np.concatenate([[0.0, 0.0], breadth * (-1.0) ** np.arange(count), [0.0, 0.0]])
    forward = start[:, None] + share[:, None] * along[:, None]
    return np.asarray(forward + side[:, None] * across[:, None])


def usual_breadth(length: Array) -> float:
    """The breadth of a spring with these lengths (nt,)."""
    finite = length[np.isfinite(length)]
    return 0.055 * (float(np.median(finite)) if finite.size else 1.0)


def hatched(ends: Array) -> Array:
    """A line between two points (nt, 2, 2) with hatches on its right, as one line (nt, k, 2)."""
    start, along = ends[:, 0], ends[:, 1] - ends[:, 0]
    right = np.stack([along[:, 1], -along[:, 0]], axis=-1)
    share = np.repeat(np.arange(1, HATCHES + 1) / HATCHES, 3)
    side = np.tile([0.0, 1.0, 0.0], HATCHES) * 0.6 / HATCHES
    back = np.tile([0.0, 1.0, 0.0], HATCHES) * -0.6 / HATCHES
    points = start[:, None] + (share + back)[:, None] * along[:, None]
    points = points + side[:, None] * right[:, None]
    return np.concatenate([start[:, None], points], axis=1)


# -- arrows ----------------------------------------------------------------------------------------


def arrow_scales(solids: Sequence[SceneSolid], size: float) -> list[SceneSolid]:
    """Solids whose arrows have a scale; without one the longest of a group has a usual length."""
    longest: dict[str, float] = {}
    for solid in solids:
        if solid.arrow and solid.scale is None:
            lengths = np.linalg.norm(solid.points[:, 1], axis=-1)
            lengths = lengths[np.isfinite(lengths)]
            most = float(lengths.max()) if lengths.size else 0.0
            longest[solid.arrow] = max(longest.get(solid.arrow, 0.0), most)

    def scaled(solid: SceneSolid) -> SceneSolid:
        if not solid.arrow or solid.scale is not None:
            return solid
        most = longest[solid.arrow]
        reach = REACH.get(solid.arrow, USUAL_REACH) * size
        return replace(solid, scale=reach / most if most > 0 else 0.0)

    return [scaled(solid) for solid in solids]


def tipped(solid: SceneSolid) -> SceneSolid:
    """A solid; an arrow, which has a scale, from its tail to its tip."""
    if not solid.arrow or solid.scale is None:
        return solid
    tail, components = solid.points[:, 0], solid.points[:, 1]
    return replace(solid, points=np.stack([tail, tail + solid.scale * components], axis=1))


def scaled_arrows(solids: Sequence[SceneSolid], size: float) -> list[SceneSolid]:
    """Solids whose arrows end at a tip; without a scale the longest has a usual length."""
    return [tipped(solid) for solid in arrow_scales(solids, size)]


def arrowed(ends: Array, head: float) -> Array:
    """Tail and tip (nt, 2, 2) with barbs of at most that length, as one line (nt, 5, 2).

    >>> arrowed(np.array([[[0.0, 0.0], [1.0, 0.0]]]), 0.1)[0].round(3).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.91, 0.044], [1.0, 0.0], [0.91, -0.044]]
    """
    along = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(along, axis=-1, keepdims=True)
    barb = np.minimum(head, 0.45 * length) * along / np.maximum(length, 1e-300)
    across = np.stack([-barb[:, 1], barb[:, 0]], axis=-1)
    tip = ends[:, 1]
    barbs = [tip - 0.9 * barb + 0.44 * across, tip, tip - 0.9 * barb - 0.44 * across]
    return np.stack([ends[:, 0], tip, *barbs], axis=1)
