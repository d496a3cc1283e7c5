"""Frames of a motion as images: the scene of a drawing, or, without one, its coordinates against
time.

Both kinds have `count`, `size` and `frame(k)`, an array (height, width, 3) of bytes. What
does not move is drawn once; a frame repaints the rest over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.patheffects import withStroke

from ..axis_labels import mathtext, words
from ..curves.panels import chosen_panels
from ..curves.plots import draw_panels
from ..motion_samples import Array
from ..style import Picture, Style
from .scene import Scene, ScenePart, Window, diagonal, travelled

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["CurveFrames", "FrameSource", "SceneFrames", "paint_scene", "scene_size"]

#: Pixels of a frame whose symbols are drawn at 100 dots an inch; other sizes scale them.
AREA = 420_000.0
#: Pieces of the fading tail of a trace, and the share of the animation it lasts.
TAIL_PIECES, TAIL_SHARE = 14, 0.16


class FrameSource(Protocol):
    """Frames that can be asked for in any order."""

    count: int
    size: tuple[int, int]

    def frame(self, k: int) -> npt.NDArray[np.uint8]:
        """The k-th frame, (height, width, 3)."""
        ...


class _Sheet:
    """A picture whose still parts are kept as an image."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        canvas: Any = picture.canvas
        canvas.draw()
        self.canvas = canvas
        self.still: Any = canvas.copy_from_bbox(picture.bbox)

    def refresh(self) -> None:
        """Draw the still parts again, where they were moved."""
        with self.picture.style.context():
            self.canvas.draw()
        self.still = self.canvas.copy_from_bbox(self.picture.bbox)

    def image(self, moving: Sequence[Artist]) -> npt.NDArray[np.uint8]:
        with self.picture.style.context():
            self.canvas.restore_region(self.still)
            for artist in moving:
                artist.draw(self.canvas.get_renderer())
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()


def scene_size(aspect: float, area: float = AREA) -> tuple[int, int]:
    """Width and height in pixels, both even, for a window of this aspect.

    >>> scene_size(1.0)
    (648, 648)
    """
    bounded = float(np.clip(aspect, 0.55, 2.4))
    width, height = np.sqrt(area * bounded), np.sqrt(area / bounded)
    return 2 * round(width / 2), 2 * round(height / 2)


def even(size: tuple[int, int]) -> tuple[int, int]:
    """The size with both sides even, as video codecs want them."""
    return max(2 * (int(size[0]) // 2), 64), max(2 * (int(size[1]) // 2), 64)


def sheet_size(size: tuple[int, int]) -> tuple[tuple[float, float], float]:
    """Inches and dots an inch of a frame of this size in pixels; all sizes show the same."""
    dpi = 100.0 * float(np.sqrt(size[0] * size[1] / AREA))
    rounding = 1e-6
    return ((size[0] + rounding) / dpi, (size[1] + rounding) / dpi), dpi


class SceneFrames:
    """Frames of a drawing: shapes move, traces grow and fade."""

    def __init__(
        self, scene: Scene, look: Style, size: tuple[int, int] | None, title: str, pace: str = ""
    ) -> None:
        self.scene, self.look, self.pace = scene, look, pace
        self.count = scene.times.size
        self.size = even(size or scene_size(scene.aspect))
        inches, dpi = sheet_size(self.size)
        picture = Picture(look, figsize=inches, dpi=dpi)
        with look.context():
            axes = scene_axes(picture, scene, look, title)
            self.parts = [PaintedPart(axes, part, look) for part in scene.parts]
            self.traces = [PaintedTrace(axes, trace, look, scene) for trace in scene.traces]
            self.texts = [PaintedText(axes, text, look) for text in scene.texts]
            self.clock = axes.set_title("", loc="right", fontsize=13, pad=8, animated=True)
        self.axes, self.window = axes, (axes.get_xlim(), axes.get_ylim())
        self.sheet = _Sheet(picture)

    def frame(self, k: int) -> npt.NDArray[np.uint8]:
        """The k-th frame, (height, width, 3)."""
        if self.scene.followed is not None:
            (left, right), (bottom, top), (x, y) = *self.window, self.scene.followed[k]
            self.axes.set(xlim=(left + x, right + x), ylim=(bottom + y, top + y))
            self.sheet.refresh()
        order = sorted(self.parts, key=lambda painted: painted.part.depth[k])
        moving = [artist for painted in order if painted.part.is_ground for artist in painted.at(k)]
        moving += [artist for painted in order for artist in painted.shadow_at(k)]
        moving += [artist for trace in self.traces for artist in trace.at(k)]
        moving += [
            artist for painted in order if not painted.part.is_ground for artist in painted.at(k)
        ]
        moving += [text.at(k) for text in self.texts]
        self.clock.set_text(f"{clock_text(self.scene.times, k)}{self.pace}")
        return self.sheet.image([*moving, self.clock])


def clock_text(times: Array, k: int) -> str:
    """The time of a frame, with as many decimals as tell frames apart."""
    step = abs(float(times[-1] - times[0])) / max(times.size - 1, 1)
    decimals = int(np.clip(np.ceil(-np.log10(max(step, 1e-9))), 1, 6)) if step else 1
    return f"$t = {times[k]:.{decimals}f}$"


def scene_axes(
    picture: Picture, scene: Scene, look: Style, title: str = "", axes: Axes | None = None
) -> Axes:
    """Axes of equal scale around a scene: ruled in the plane, with a floor and arrows in space."""
    shape = scene.aspect
    if axes is None:
        width, height = picture.get_size_inches()
        side = 0.64 if scene.floor is None else 0.15
        box = (
            side / width,
            (side + 0.02) / height,
            1 - (side + 0.2) / width,
            1 - (side + 0.55) / height,
        )
        axes = picture.add_axes(box)
        shape = box[2] * width / (box[3] * height)
    across, upward = widened(scene.window, shape)
    axes.set(xlim=across, ylim=upward)
    axes.set_aspect("equal", adjustable="box")
    if title:
        axes.set_title(title, fontsize=13, weight="bold", pad=8)
    if scene.floor is None:
        axes.set_xlabel(mathtext(scene.labels[0]), labelpad=1)
        axes.set_ylabel(mathtext(scene.labels[1]), labelpad=7, rotation=0, va="center")
        return axes
    axes.axis("off")
    axes.add_patch(
        Polygon(
            scene.floor.outline,
            closed=True,
            facecolor=look.blend("ground", 0.10),
            edgecolor="none",
            zorder=0,
        )
    )
    for line in scene.floor.lines:
        axes.plot(*line.T, color=look.blend("ground", 0.45), linewidth=0.6, zorder=0.1)
    for label, base, tip in scene.floor.arrows:
        arrow = {
            "arrowstyle": "-|>",
            "color": look.muted,
            "linewidth": 0.9,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        axes.annotate("", tip[0], base[0], arrowprops=arrow, zorder=0.2)
        beyond = tip[0] + 0.18 * (tip[0] - base[0])
        axes.text(
            beyond[0],
            beyond[1],
            mathtext(label),
            color=look.muted,
            ha="center",
            va="center",
            fontsize=11,
            zorder=0.2,
        )
    return axes


def widened(window: Window, shape: float) -> Window:
    """The window made wider or higher, about its middle, until its width is `shape` times its
    height.

    >>> widened(((0.0, 1.0), (0.0, 1.0)), 2.0)
    ((-0.5, 1.5), (0.0, 1.0))
    """
    (left, right), (bottom, top) = window
    more_width = max(shape * (top - bottom) - (right - left), 0.0) / 2
    more_height = max((right - left) / shape - (top - bottom), 0.0) / 2
    return (left - more_width, right + more_width), (bottom - more_height, top + more_height)


class PaintedPart:
    """The artists of one part: itself, and its shadow in space."""

    def __init__(
        self, axes: Axes, part: ScenePart, look: Style, alpha: float = 1.0, animated: bool = True
    ) -> None:
        self.part = part
        self.artist = self._artist(axes, look.color(part.color), look, alpha, animated)
        self.shadow = None
        if part.shadow is not None:
            shade = look.ink if look.name == "light" else "#000000"
            self.shadow = self._artist(axes, shade, look, 0.10 * alpha, animated, is_shadow=True)

    def _artist(
        self,
        axes: Axes,
        color: str,
        look: Style,
        alpha: float,
        animated: bool,
        is_shadow: bool = False,
    ) -> Any:
        part = self.part
        if part.kind == "area":
            face = (color, alpha * (part.fill if not is_shadow else 0.9))
            area = Polygon(
                np.zeros((3, 2)),
                closed=True,
                facecolor=face,
                edgecolor=(color, alpha),
                animated=animated,
            )
            area.set_linewidth(0.0 if is_shadow else part.width)
            area.set_joinstyle("round")
            axes.add_patch(area)
            return area
        if part.kind == "dot":
            dot = Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markersize=part.width,
                color=color,
                alpha=alpha,
            )
            dot.set(
                markeredgecolor=color if is_shadow else look.background,
                markeredgewidth=0.0 if is_shadow else 0.9,
            )
            dot.set_animated(animated)
            axes.add_line(dot)
            return dot
        line = Line2D([], [], color=color, linewidth=part.width, alpha=alpha, animated=animated)
        line.set(solid_capstyle="round", solid_joinstyle="round")
        if not is_shadow and alpha == 1.0 and part.width >= 1.2:
            line.set_path_effects(
                [withStroke(linewidth=part.width + 1.2, foreground=look.background)]
            )
        axes.add_line(line)
        return line

    def at(self, k: int) -> list[Artist]:
        """Moved to the k-th frame."""
        return [self._move(self.artist, self.part.points[k])]

    def shadow_at(self, k: int) -> list[Artist]:
        """Its shadow, moved to the k-th frame."""
        if self.shadow is None or self.part.shadow is None:
            return []
        return [self._move(self.shadow, self.part.shadow[k])]

    @staticmethod
    def _move(artist: Polygon | Line2D, points: Array) -> Artist:
        if isinstance(artist, Polygon):
            artist.set_xy(points)
        else:
            artist.set_data(points[:, 0], points[:, 1])
        return artist


class PaintedTrace:
    """The path left behind: pale as a whole, strong where the point has just been."""

    def __init__(self, axes: Axes, trace: ScenePart, look: Style, scene: Scene) -> None:
        self.points, self.finer = trace.points[:, 0, :], scene.finer
        self.tail = max(int(TAIL_SHARE * len(self.points)), TAIL_PIECES)
        color = look.color(trace.color)
        shades = np.linspace(0.42, 1.0, TAIL_PIECES)
        self.past = Line2D(
            [], [], color=look.blend(trace.color, 0.42), linewidth=1.2, animated=True
        )
        self.recent = [
            Line2D(
                [],
                [],
                color=look.blend(trace.color, float(s)),
                linewidth=1.2 + 1.0 * float(s),
                animated=True,
            )
            for s in shades
        ]
        self.recent[-1].set_color(color)
        for line in (self.past, *self.recent):
            axes.add_line(line)

    def at(self, k: int) -> list[Artist]:
        """Grown to the k-th frame."""
        now = k * self.finer
        cut = max(now - self.tail, 0)
        self.past.set_data(*self.points[: cut + 1].T)
        edges = np.linspace(now - self.tail, now, TAIL_PIECES + 1).astype(int).clip(0)
        for line, a, b in zip(self.recent, edges[:-1], edges[1:], strict=True):
            line.set_data(*self.points[a : b + 1].T)
        return [self.past, *self.recent]


class PaintedText:
    """Words a little above and to the right of a moving point."""

    def __init__(self, axes: Axes, part: ScenePart, look: Style, animated: bool = True) -> None:
        self.points = part.points[:, 0]
        self.artist = axes.annotate(
            part.text,
            (0.0, 0.0),
            (5.0, 5.0),
            textcoords="offset points",
            fontsize=part.width,
            color=look.color(part.color),
        )
        self.artist.set(animated=animated, parse_math=False, annotation_clip=True, zorder=50)

    def at(self, k: int) -> Artist:
        """Moved to the k-th frame."""
        self.artist.xy = (float(self.points[k, 0]), float(self.points[k, 1]))
        self.artist.set_visible(bool(np.isfinite(self.points[k]).all()))
        return self.artist


def paint_scene(axes: Axes, scene: Scene, look: Style, poses: Sequence[int], fade: bool) -> None:
    """Several poses of a scene on one axes, the earlier the paler, over its traces; for still
    pictures.
    """
    upto = poses[-1] * scene.finer + 1
    for part in scene.parts:
        if part.shadow is not None:
            painted = PaintedPart(axes, part, look, animated=False)
            for artist in painted.shadow_at(poses[-1]):
                artist.set_zorder(0.5)
            painted.artist.remove()
    for trace in scene.traces:
        track = trace.points[:upto, 0]
        long = travelled(track) > 8 * diagonal(scene.window)
        weight, width = (0.55, 0.8) if long else (0.8, 1.3)
        axes.plot(*track.T, color=look.blend(trace.color, weight), linewidth=width, zorder=1)
    for rank, k in enumerate(poses):
        last = rank == len(poses) - 1
        alpha = 1.0 if last or not fade else 0.10 + 0.35 * rank / max(len(poses) - 1, 1)
        for place, i in enumerate(
            sorted(range(len(scene.parts)), key=lambda i: scene.parts[i].depth[k])
        ):
            if scene.parts[i].is_still and not last:
                continue
            painted = PaintedPart(axes, scene.parts[i], look, alpha, animated=False)
            if painted.shadow is not None:
                painted.shadow.remove()
            for artist in painted.at(k):
                artist.set_zorder(0.3 if scene.parts[i].is_ground else 2 + rank + place / 1000)
    for text in scene.texts:
        PaintedText(axes, text, look, animated=False).at(poses[-1])


class CurveFrames:
    """Frames of a motion without a drawing: its coordinates as curves that a dot runs along."""

    def __init__(
        self,
        motion: Motion,
        times: Array,
        look: Style,
        size: tuple[int, int] | None,
        pace: str = "",
    ) -> None:
        self.times, self.count, self.pace = times, times.size, pace
        panels = chosen_panels(motion, None, ["coordinates"])
        picture = draw_panels(panels, look, (), words(motion.system.name))
        wide, high = picture.get_size_inches()
        self.size = even(size or scene_size(wide / max(high, 0.55 * wide)))
        inches, dpi = sheet_size(self.size)
        picture.set_dpi(dpi)
        picture.set_size_inches(*inches)
        self.runners: list[tuple[Line2D, Line2D, Array, Array]] = []
        with look.context():
            for axes, panel in zip(picture.axes, panels, strict=True):
                for line, curve in zip(list(axes.lines), panel.curves, strict=False):
                    past = Line2D([], [], color=line.get_color(), linewidth=1.8, animated=True)
                    dot = Line2D(
                        [], [], color=line.get_color(), marker="o", markersize=6, animated=True
                    )
                    line.set_alpha(0.25)
                    axes.add_line(past)
                    axes.add_line(dot)
                    self.runners.append((past, dot, curve.t, curve.y))
            self.clock = picture.text(
                0.99, 0.99, "", ha="right", va="top", fontsize=13, animated=True
            )
        self.sheet = _Sheet(picture)

    def frame(self, k: int) -> npt.NDArray[np.uint8]:
        """The k-th frame, (height, width, 3)."""
        now = self.times[k]
        forward = self.times[-1] >= self.times[0]
        moving: list[Artist] = []
        for past, dot, t, y in self.runners:
            seen = t <= now if forward else t >= now
            here = np.interp(now, t, y) if forward else np.interp(-now, -t, y)
            past.set_data(np.append(t[seen], now), np.append(y[seen], here))
            dot.set_data([now], [here])
            moving += [past, dot]
        self.clock.set_text(f"{clock_text(self.times, k)}{self.pace}")
        return self.sheet.image([*moving, self.clock])
