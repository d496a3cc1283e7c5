"""A drawing along a motion, as plane geometry: every shape becomes points, lines and areas in the picture's plane.

The positions of all shapes are evaluated at once over all times. A spatial drawing is seen by an orthographic camera,
so that what follows is the same for plane and space; the camera adds depth, by which shapes are painted from the far to
the near, and a floor with shadows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..model.drawing import Circle, Drawing, Link, Point, Polyline, Shape, Spring, Trace
from .sampling import Array, evaluate

if TYPE_CHECKING:
    from ..integrate.motion import Motion

__all__ = ["Camera", "Floor", "Part", "Scene", "Window", "build_scene", "zigzag"]

Window = tuple[tuple[float, float], tuple[float, float]]

RIM = np.linspace(0.0, 2 * np.pi, 73)


@dataclass(frozen=True)
class Part:
    """One shape, or a piece of one, through time.

    Attributes
    ----------
    kind : "dot", "line", "area" or "trace"
    points : array (nt, k, 2)
        In the picture's plane; for a dot k = 1.
    depth : array (nt,)
        Towards the viewer; zero in a plane drawing.
    width : float
        Of lines, and the diameter of dots, in points.
    fill : float
        Opacity of the inside of an area.
    shadow : array (nt, k, 2) or None
        Where the shape falls on the floor.
    """

    kind: str
    points: Array
    depth: Array
    color: str
    width: float
    fill: float = 0.0
    shadow: Array | None = None

    @property
    def is_ground(self) -> bool:
        """Whether it lies under everything: shadows and traces are painted over it, and it casts none."""
        return self.color == "ground" and self.kind == "area"

    @property
    def is_still(self) -> bool:
        """Whether it never moves."""
        finite = self.points[np.isfinite(self.points).all(axis=(1, 2))]
        return bool(finite.size == 0 or np.ptp(finite, axis=0).max() < 1e-12)


@dataclass(frozen=True)
class Camera:
    """An orthographic view from azimuth and elevation, in degrees."""

    azimuth: float = -57.0
    elevation: float = 22.0

    @property
    def frame(self) -> Array:
        """Rows: to the right, upwards, and towards the viewer (3, 3)."""
        a, e = np.radians([self.azimuth, self.elevation])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        return np.array([right, np.cross(towards, right), towards])

    def project(self, points: Array) -> tuple[Array, Array]:
        """Points (..., 3) in the picture's plane (..., 2), and their depth (...)."""
        seen = points @ self.frame.T
        return seen[..., :2], seen[..., 2]


@dataclass(frozen=True)
class Floor:
    """A horizontal grid below a spatial scene, in the picture's plane."""

    lines: tuple[Array, ...]
    outline: Array
    spacing: float
    arrows: tuple[tuple[str, Array, Array], ...]


@dataclass(frozen=True)
class Scene:
    """All parts in painting order, the traces under them, and the window they are seen through.

    `times` (nt,) are those of the frames; traces are sampled `finer` times as densely.
    """

    times: Array
    finer: int
    parts: tuple[Part, ...]
    traces: tuple[Part, ...]
    window: Window
    labels: tuple[str, ...]
    floor: Floor | None = None

    @property
    def aspect(self) -> float:
        """Width over height of the window."""
        (left, right), (bottom, top) = self.window
        return (right - left) / (top - bottom)


@dataclass(frozen=True)
class _Solid:
    """A part before the camera: points (nt, k, d)."""

    part: Part
    points: Array
    coils: int = 0
    ball: Array | None = None


def build_scene(motion: Motion, drawing: Drawing, times: Array, finer: int = 1, camera: Camera | None = None) -> Scene:
    """Evaluate a drawing at frame times (nt,), its traces at a grid `finer` times as dense.

    Raises
    ------
    ModelError
        For shapes of different dimension, or letters the motion does not know.
    """
    if not drawing.shapes:
        raise ModelError("The drawing has no shapes", remedy="give it points, links or traces")
    dimension = drawing.dimension
    index = np.arange(times.size, dtype=float)
    dense = np.interp(np.linspace(0, times.size - 1, (times.size - 1) * finer + 1), index, times)
    bodies = [shape for shape in drawing.shapes if not isinstance(shape, Trace)]
    paths = [shape for shape in drawing.shapes if isinstance(shape, Trace)]
    solids = [
        s for shape, value in zip(bodies, _values(motion, bodies, times, dimension), strict=True) for s in _solids(shape, value)
    ]
    tracks = [
        _Solid(Part("trace", np.empty(0), np.empty(0), shape.color, 1.6), value[:, :1, :])
        for shape, value in zip(paths, _values(motion, paths, dense, dimension), strict=True)
    ]
    if dimension == 2:
        flat = [_flat(solid) for solid in solids]
        traces = tuple(replace(s.part, points=s.points, depth=np.zeros(dense.size)) for s in tracks)
        window = drawing.limits if drawing.limits is not None else _window([p.points for p in (*flat, *traces)])
        return Scene(times, finer, tuple(flat), traces, _both(window), drawing.labels)
    return _spatial(drawing, camera or Camera(), times, finer, solids, tracks)


def _positions(shape: Shape) -> list[Sequence[Any]]:
    match shape:
        case Point() | Trace():
            return [shape.position]
        case Link() | Spring():
            return [shape.start, shape.end]
        case Polyline():
            return list(shape.points)
        case Circle():
            return [shape.center, *(shape.axes or ())]


def _values(motion: Motion, shapes: Sequence[Shape], times: Array, dimension: int) -> Iterator[Array]:
    """Positions of each shape, (nt, k, d); a circle has its radius as one row more."""
    expressions: list[Any] = []
    for shape in shapes:
        positions = _positions(shape)
        if any(len(position) != dimension for position in positions):
            raise ModelError(
                "The shapes of a drawing must all be plane or all spatial",
                seen=f"{type(shape).__name__} with {len(positions[0])} components among shapes with {dimension}",
                remedy=f"give every position {dimension} components",
            )
        expressions += [component for position in positions for component in position]
        if isinstance(shape, Circle):
            expressions += [shape.radius] * dimension
    table = evaluate(motion, expressions, times) if expressions else np.empty((0, times.size))
    row = 0
    for shape in shapes:
        rows = dimension * (len(_positions(shape)) + isinstance(shape, Circle))
        yield np.moveaxis(table[row : row + rows].reshape(-1, dimension, times.size), 2, 0)
        row += rows


def _solids(shape: Shape, value: Array) -> Iterator[_Solid]:
    """The pieces a shape is made of."""
    nothing = np.empty(0)
    match shape:
        case Point():
            yield _Solid(Part("dot", nothing, nothing, shape.color, shape.size), value)
        case Link():
            yield _Solid(Part("line", nothing, nothing, shape.color, shape.width), value)
        case Spring():
            yield _Solid(Part("line", nothing, nothing, shape.color, 1.4), value, coils=max(int(shape.coils), 1))
        case Polyline():
            outline = np.concatenate([value, value[:, :1]], axis=1) if shape.closed else value
            kind, fill = ("area", 0.25) if shape.closed else ("line", 0.0)
            yield _Solid(Part(kind, nothing, nothing, shape.color, shape.width, fill), outline)
        case Circle():
            yield from _circle(shape, value)


def _circle(shape: Circle, value: Array) -> Iterator[_Solid]:
    """A rim in the plane of the axes; without them, in the picture's plane, and in space the outline of a ball."""
    nothing = np.empty(0)
    rim = Part("area", nothing, nothing, shape.color, 2.0, 0.16)
    center, radius = value[:, :1, :], value[:, -1:, :1]
    if shape.axes is None:
        if value.shape[2] == 3:
            yield _Solid(replace(rim, fill=0.8), center, ball=radius[:, 0, 0])
            return
        yield _Solid(rim, center + radius * np.stack([np.cos(RIM), np.sin(RIM)], axis=-1))
        return
    first, second = _orthonormal(value[:, 1, :], value[:, 2, :])
    around = np.cos(RIM)[:, None] * first[:, None, :] + np.sin(RIM)[:, None] * second[:, None, :]
    yield _Solid(rim, center + radius * around)


def _orthonormal(first: Array, second: Array) -> tuple[Array, Array]:
    one = first / np.linalg.norm(first, axis=-1, keepdims=True)
    two = second - np.sum(second * one, axis=-1, keepdims=True) * one
    return one, two / np.linalg.norm(two, axis=-1, keepdims=True)


def _flat(solid: _Solid) -> Part:
    points = zigzag(solid.points, solid.coils) if solid.coils else solid.points
    return replace(solid.part, points=points, depth=np.zeros(len(points)))


def zigzag(ends: Array, coils: int) -> Array:
    """A spring between two points, ends (nt, 2, 2), as a zigzag (nt, 2 coils + 4, 2) of constant breadth.

    >>> ends = np.array([[[0.0, 0.0], [1.0, 0.0]]])
    >>> zigzag(ends, 5).shape
    (1, 14, 2)
    """
    start, along = ends[:, 0], ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(along, axis=-1)
    finite = length[np.isfinite(length)]
    breadth = 0.055 * (float(np.median(finite)) if finite.size else 1.0)
    unit = along / np.maximum(length, 1e-300)[:, None]
    across = np.stack([-unit[:, 1], unit[:, 0]], axis=-1)
    count = 2 * coils
    share = np.concatenate([[0.0, 0.14], 0.14 + 0.72 * (np.arange(count) + 0.5) / count, [0.86, 1.0]])
    side = np.concatenate([[0.0, 0.0], breadth * (-1.0) ** np.arange(count), [0.0, 0.0]])
    points: Array = start[:, None] + share[:, None] * along[:, None] + side[:, None] * across[:, None]
    return points


def _spatial(
    drawing: Drawing, camera: Camera, times: Array, finer: int, solids: Sequence[_Solid], tracks: Sequence[_Solid]
) -> Scene:
    low, high = _box(drawing, [*solids, *tracks])
    level = 0.0 if 0.0 <= low[2] < 0.12 * float(np.max(high - low)) else low[2]
    parts = _layered([_seen(solid, camera, level) for solid in solids], float(np.max(high - low)))
    traces = tuple(_seen(track, camera, level) for track in tracks)
    floor = _floor(low, high, level, camera, drawing.labels)
    shown = [p.points for p in (*parts, *traces)] + [floor.outline[None]]
    shown += [np.concatenate([base, tip])[None] for _, base, tip in floor.arrows]
    return Scene(times, finer, parts, traces, _window(shown, room=0.03), drawing.labels, floor)


def _layered(parts: Sequence[Part], size: float) -> tuple[Part, ...]:
    """Parts at nearly the same depth keep the order of the drawing; a dot covers the ends of the lines before it."""
    nudged = [replace(part, depth=part.depth + 0.02 * size * k / len(parts)) for k, part in enumerate(parts)]
    for k, dot in enumerate(nudged):
        for line in nudged[:k]:
            if dot.kind == "dot" and line.kind == "line" and _ends_at(line, dot, 1e-9 * size):
                dot = replace(dot, depth=np.maximum(dot.depth, line.depth + 1e-6 * size))
        nudged[k] = dot
    return tuple(nudged)


def _ends_at(line: Part, dot: Part, distance: float) -> bool:
    gaps = np.linalg.norm(line.points[:, [0, -1]] - dot.points, axis=-1)
    return bool((np.nanmax(gaps, axis=0) < distance).any())


def _seen(solid: _Solid, camera: Camera, level: float) -> Part:
    """A solid through the camera, with its shadow straight below on the floor."""
    fallen = solid.points.copy()
    fallen[..., 2] = level
    points, depth = camera.project(solid.points)
    shadow, _ = camera.project(fallen)
    if solid.ball is not None:
        circle = np.stack([np.cos(RIM), np.sin(RIM)], axis=-1)
        points = points + solid.ball[:, None, None] * circle
        level_circle = np.concatenate([circle, np.zeros((RIM.size, 1))], axis=1) @ camera.frame.T
        shadow = shadow + solid.ball[:, None, None] * level_circle[:, :2]
    if solid.coils:
        points = zigzag(points, solid.coils)
    seen = replace(solid.part, points=points, depth=depth.mean(axis=1))
    return seen if seen.is_ground else replace(seen, shadow=shadow)


def _box(drawing: Drawing, solids: Sequence[_Solid]) -> tuple[Array, Array]:
    """Corners of the box that holds the scene."""
    if drawing.limits is not None:
        limits = np.asarray(drawing.limits, dtype=float)
        return limits[:, 0], limits[:, 1]
    corners = []
    for solid in solids:
        room = 0.0 if solid.ball is None else float(np.nanmax(solid.ball))
        flat = solid.points.reshape(-1, 3)
        flat = flat[np.isfinite(flat).all(axis=1)]
        if flat.size:
            corners += [flat.min(axis=0) - room, flat.max(axis=0) + room]
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    size = max(float(np.max(high - low)), 1e-9)
    slack = np.maximum(0.3 * size - (high - low), 0.0) / 2
    slack[2] = 0.0
    return low - slack, high + slack


def nice_step(size: float, count: int = 6) -> float:
    """1, 2 or 5 times a power of ten, the largest that divides `size` into at least `count` steps.

    >>> nice_step(7.3), nice_step(0.31, 3)
    (1.0, 0.1)
    """
    raw = size / count
    power = 10.0 ** np.floor(np.log10(raw))
    return float(max(step * power for step in (1.0, 2.0, 5.0) if step * power <= raw * (1 + 1e-9)))


def _floor(low: Array, high: Array, level: float, camera: Camera, labels: Sequence[str]) -> Floor:
    spacing = nice_step(float(np.max((high - low)[:2])))
    start, stop = np.floor(low / spacing + 1e-9) * spacing, np.ceil(high / spacing - 1e-9) * spacing
    xs, ys = (np.arange(start[i], stop[i] + spacing / 2, spacing) for i in (0, 1))
    ends = [((x, ys[0]), (x, ys[-1])) for x in xs] + [((xs[0], y), (xs[-1], y)) for y in ys]
    lines = tuple(camera.project(np.array([[*a, level], [*b, level]]))[0] for a, b in ends)
    corners = np.array([[xs[0], ys[0]], [xs[-1], ys[0]], [xs[-1], ys[-1]], [xs[0], ys[-1]]])
    outline, _ = camera.project(np.column_stack([corners, np.full(4, level)]))
    base = np.array([xs[0], ys[0], level])
    reach = 0.16 * float(max(np.ptp(xs), np.ptp(ys)))
    arrows = []
    for label, direction in zip(labels, np.eye(3), strict=False):
        tip = base + reach * direction
        arrows.append((label, camera.project(base[None])[0], camera.project(tip[None])[0]))
    return Floor(lines, outline, spacing, tuple(arrows))


def _window(shown: Sequence[Array], room: float = 0.07) -> Window:
    """The smallest window around everything shown, with a margin, never flat."""
    points = np.concatenate([p.reshape(-1, 2) for p in shown])
    points = points[np.isfinite(points).all(axis=1)]
    if points.size == 0:
        raise ModelError("Nothing of the drawing is finite", remedy="check its positions at the start of the motion")
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float(np.max(high - low)), 1e-9)
    slack = np.maximum(0.45 * size - (high - low), 0.0) / 2 + room * size
    return _both([(float(a), float(b)) for a, b in zip(low - slack, high + slack, strict=True)])


def travelled(track: Array) -> float:
    """Length of a path (n, 2)."""
    return float(np.nansum(np.linalg.norm(np.diff(track, axis=0), axis=1)))


def diagonal(window: Window) -> float:
    """From corner to corner of a window."""
    return float(np.hypot(window[0][1] - window[0][0], window[1][1] - window[1][0]))


def _both(limits: Sequence[tuple[float, float]]) -> Window:
    (left, right), (bottom, top) = limits[0], limits[1]
    return (float(left), float(right)), (float(bottom), float(top))
