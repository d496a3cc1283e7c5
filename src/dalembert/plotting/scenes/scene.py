"""A drawing along a motion as plane geometry: points, lines and areas in the picture's plane.

The positions of all shapes are evaluated at once over all times. A spatial drawing is seen by an
orthographic camera, so that what follows is the same for plane and space; the camera adds depth, by
which shapes are painted from the far to the near, and a floor with shadows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import ModelError
from ...model.drawing import Drawing, Trace
from ...typing import Expression
from ..motion_samples import Array, evaluate
from .solids import RIM, ScenePart, SceneSolid, arrowed, scaled_arrows, solids_of, zigzag

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["Camera", "Floor", "Scene", "ScenePart", "Window", "build_scene", "zigzag"]

#: Lines of a floor in each direction, about, where the window follows a point.
MOST_LINES = 60

Window = tuple[tuple[float, float], tuple[float, float]]


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
    """All parts in painting order, traces under them, texts over them, and the window.

    `times` (nt,) are those of the frames; traces are sampled `finer` times as densely. `followed`
    (nt, 2) is how far the window moves from its first place, with the point that it follows.
    """

    times: Array
    finer: int
    parts: tuple[ScenePart, ...]
    traces: tuple[ScenePart, ...]
    window: Window
    labels: tuple[str, ...]
    floor: Floor | None = None
    texts: tuple[ScenePart, ...] = ()
    followed: Array | None = None

    @property
    def aspect(self) -> float:
        """Width over height of the window."""
        (left, right), (bottom, top) = self.window
        return (right - left) / (top - bottom)


def build_scene(
    motion: Motion,
    drawing: Drawing,
    times: Array,
    finer: int = 1,
    camera: Camera | None = None,
    follow: Sequence[Expression] = (),
) -> Scene:
    """Evaluate a drawing at frame times (nt,), its traces at a grid `finer` times as dense.

    The window holds all shapes at all times, or follows the point `follow`.

    Raises
    ------
    ModelError
        For shapes of different dimension, or symbols the motion does not know.
    """
    if not drawing.shapes:
        raise ModelError("The drawing has no shapes", remedy="give it points, links or traces")
    dimension = drawing.dimension
    index = np.arange(times.size, dtype=float)
    dense = np.interp(np.linspace(0, times.size - 1, (times.size - 1) * finer + 1), index, times)
    bodies = [shape for shape in drawing.shapes if not isinstance(shape, Trace)]
    paths = [shape for shape in drawing.shapes if isinstance(shape, Trace)]
    solids = solids_of(motion, bodies, times, dimension)
    tracks = solids_of(motion, paths, dense, dimension)
    point = _followed_point(motion, follow, times, dimension)
    if dimension == 2:
        scene = _plane(drawing, times, finer, solids, tracks)
        return scene if point is None else _following(scene, point)
    view = camera or Camera()
    reach = None if point is None else _reach(solids, point)
    scene = _spatial(drawing, view, times, finer, solids, tracks, reach)
    return scene if point is None else _following(scene, view.project(point)[0])


def _followed_point(
    motion: Motion, follow: Sequence[Expression], times: Array, dimension: int
) -> Array | None:
    """Where the point is that the window follows, (nt, dimension)."""
    if not len(follow):
        return None
    if len(follow) != dimension:
        what = "The point to follow has another dimension than the drawing"
        raise ModelError(what, len(follow), f"pass {dimension} expressions")
    point = evaluate(motion, follow, times).T
    if not np.isfinite(point).all():
        what = "The point to follow is not finite at all times"
        raise ModelError(what, remedy="follow another point, or show a shorter motion")
    return point


def _reach(solids: Sequence[SceneSolid], point: Array) -> float:
    """How far shapes are from the point that is followed, at most."""
    shown = [s.points - point[:, None] for s in solids if not s.part.is_ground]
    return max((float(np.nanmax(np.abs(p))) for p in shown if np.isfinite(p).any()), default=1.0)


def _following(scene: Scene, centre: Array) -> Scene:
    """The scene in a window that moves with a point (nt, 2) of the picture's plane."""
    shown = [p.points - centre[:, None] for p in scene.parts if not p.is_ground]
    if not shown:
        what = "Nothing in the drawing moves with the point to follow"
        raise ModelError(what, remedy="draw a shape that is not ground")
    (left, right), (bottom, top) = _window([*shown, np.zeros((1, 1, 2))], room=0.25)
    x, y = centre[0]
    window = _both([(left + x, right + x), (bottom + y, top + y)])
    return replace(scene, window=window, followed=centre - centre[0])


def _plane(
    drawing: Drawing,
    times: Array,
    finer: int,
    solids: Sequence[SceneSolid],
    tracks: Sequence[SceneSolid],
) -> Scene:  # fmt: skip
    fixed = None if drawing.limits is None else _both(drawing.limits)
    shown = [s.points[:, :1] if s.arrow else _flat(s, 0.0).points for s in (*solids, *tracks)]
    size = diagonal(fixed or _window(shown)) / np.sqrt(2)
    flat = [_flat(solid, size) for solid in scaled_arrows(solids, size)]
    traces = tuple(_flat(track, size) for track in tracks)
    window = fixed or _window([p.points for p in (*flat, *traces)])
    parts, texts = _without_texts(flat)
    return Scene(times, finer, parts, traces, window, drawing.labels, texts=texts)


def _without_texts(
    parts: Sequence[ScenePart],
) -> tuple[tuple[ScenePart, ...], tuple[ScenePart, ...]]:
    return tuple(p for p in parts if p.kind != "text"), tuple(p for p in parts if p.kind == "text")


def _flat(solid: SceneSolid, size: float) -> ScenePart:
    points, depth = _outlined(solid, solid.points, size), np.zeros(len(solid.points))
    return replace(solid.part, points=points, depth=depth)


def _outlined(solid: SceneSolid, points: Array, size: float) -> Array:
    """A solid in the picture's plane: springs get their coils, arrows their tips."""
    if solid.coils:
        return zigzag(points, solid.coils)
    return arrowed(points, 0.035 * size) if solid.arrow else points


def _spatial(
    drawing: Drawing, camera: Camera, times: Array, finer: int, solids: Sequence[SceneSolid],
    tracks: Sequence[SceneSolid], reach: float | None = None,
) -> Scene:  # fmt: skip
    tails = [replace(s, points=s.points[:, :1]) if s.arrow else s for s in solids]
    low, high = _box(drawing, [*tails, *tracks])
    solids = scaled_arrows(solids, float(np.max(high - low)))
    if any(s.arrow for s in solids):
        low, high = _box(drawing, [*solids, *tracks])
    level = 0.0 if 0.0 <= low[2] < 0.12 * float(np.max(high - low)) else low[2]
    size = float(np.max(high - low))
    parts, texts = _without_texts([_seen(solid, camera, level, size) for solid in solids])
    parts = _layered(parts, size)
    traces = tuple(_seen(track, camera, level, size) for track in tracks)
    floor = _floor(low, high, level, camera, drawing.labels, reach)
    shown = [p.points for p in (*parts, *traces)] + [floor.outline[None]]
    shown += [np.concatenate([base, tip])[None] for _, base, tip in floor.arrows]
    window = _window(shown, room=0.03)
    return Scene(times, finer, parts, traces, window, drawing.labels, floor, texts)


def _layered(parts: Sequence[ScenePart], size: float) -> tuple[ScenePart, ...]:
    """Parts at nearly the same depth keep their order; a dot covers the ends of earlier lines."""
    steps = [0.02 * size * k / len(parts) for k in range(len(parts))]
    nudged = [replace(p, depth=p.depth + step) for p, step in zip(parts, steps, strict=True)]
    for k, dot in enumerate(nudged):
        for line in nudged[:k]:
            if dot.kind == "dot" and line.kind == "line" and _ends_at(line, dot, 1e-9 * size):
                dot = replace(dot, depth=np.maximum(dot.depth, line.depth + 1e-6 * size))
        nudged[k] = dot
    return tuple(nudged)


def _ends_at(line: ScenePart, dot: ScenePart, distance: float) -> bool:
    gaps = np.linalg.norm(line.points[:, [0, -1]] - dot.points, axis=-1)
    return bool((np.nanmax(gaps, axis=0) < distance).any())


def _seen(solid: SceneSolid, camera: Camera, level: float, size: float) -> ScenePart:
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
    points = _outlined(solid, points, size)
    seen = replace(solid.part, points=points, depth=depth.mean(axis=1))
    return seen if seen.is_ground or seen.kind == "text" else replace(seen, shadow=shadow)


def _box(drawing: Drawing, solids: Sequence[SceneSolid]) -> tuple[Array, Array]:
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


def _floor(
    low: Array, high: Array, level: float, camera: Camera, labels: Sequence[str],
    reach: float | None = None,
) -> Floor:  # fmt: skip
    """The grid below the box of the scene; around a point that is followed finer, and further."""
    if reach is not None:
        low, high = low - 3 * reach, high + 3 * reach
    breadth = float(np.max((high - low)[:2]))
    spacing = nice_step(breadth if reach is None else max(4 * reach, breadth / MOST_LINES))
    start, stop = np.floor(low / spacing + 1e-9) * spacing, np.ceil(high / spacing - 1e-9) * spacing
    xs, ys = (np.arange(start[i], stop[i] + spacing / 2, spacing) for i in (0, 1))
    ends = [((x, ys[0]), (x, ys[-1])) for x in xs] + [((xs[0], y), (xs[-1], y)) for y in ys]
    lines = tuple(camera.project(np.array([[*a, level], [*b, level]]))[0] for a, b in ends)
    corners = np.array([[xs[0], ys[0]], [xs[-1], ys[0]], [xs[-1], ys[-1]], [xs[0], ys[-1]]])
    outline, _ = camera.project(np.column_stack([corners, np.full(4, level)]))
    base = np.array([xs[0], ys[0], level])
    length = 0.16 * float(max(np.ptp(xs), np.ptp(ys)))
    arrows = []
    for label, direction in zip(labels, np.eye(3), strict=False):
        tip = base + length * direction
        arrows.append((label, camera.project(base[None])[0], camera.project(tip[None])[0]))
    return Floor(lines, outline, spacing, tuple(arrows))


def _window(shown: Sequence[Array], room: float = 0.07) -> Window:
    """The smallest window around everything shown, with a margin, never flat."""
    points = np.concatenate([p.reshape(-1, 2) for p in shown])
    points = points[np.isfinite(points).all(axis=1)]
    if points.size == 0:
        remedy = "check its positions at the start of the motion"
        raise ModelError("Nothing of the drawing is finite", remedy=remedy)
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
