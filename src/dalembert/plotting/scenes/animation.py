"""Motions as moving pictures and as stills: `animate` and `motion_strip`."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sympy

from ...errors import ModelError, warn_renamed
from ...model.drawing import drawing_of
from ...typing import Expression
from ..axis_labels import words
from ..curves.plots import time_picture
from ..motion_samples import Array, finite_span
from ..style import (
    STILL_SUFFIXES,
    Picture,
    Style,
    checked_path,
    finished,
    save_picture,
    style_named,
)
from .frames import CurveFrames, FrameSource, SceneFrames, paint_scene, scene_axes, scene_size
from .movie_writers import VIDEO_SUFFIXES, gif_delay, require_ffmpeg, write_gif, write_video
from .scene import Scene, build_scene, diagonal

if TYPE_CHECKING:
    from ...integrate.motion import Motion
    from ...model.drawing import Drawing

__all__ = ["Animation", "animate", "motion_strip"]

#: Seconds of animation between which real time is kept, where no speed is asked for.
SMALLEST, LONGEST = 3.0, 20.0
#: Frames in a second, where none are asked for; a GIF has fewer the longer it is, within limits.
USUAL_FPS, GIF_FPS, GIF_FRAMES, LEAST_GIF_FPS = 30.0, 20.0, 250, 5.0
#: Frames beyond which an animation is refused, with advice.
MOST_FRAMES = 20_000
#: The longest side of an animation, in pixels.
LARGEST_SIDE = 8192


@dataclass(frozen=True)
class Animation:
    """A moving picture of a motion: `save` it, look at one `frame`, or let a notebook show it.

    Attributes
    ----------
    motion : Motion
    times : array (frames,)
        Of the motion, equally spaced.
    fps : float
        Frames in a second of the animation.
    speed : float
        Seconds of motion in a second of the animation.
    is_usual : bool
        Whether nobody asked for these frames in a second: then a GIF may have fewer.
    follow : tuple of expressions
        The point that the view follows; empty where it stands still.
    """

    motion: Motion
    times: Array
    fps: float
    speed: float
    style: Style
    size: tuple[int, int] | None = None
    is_usual: bool = False
    follow: tuple[Expression, ...] = ()

    @property
    def frames(self) -> int:
        """The number of frames."""
        return int(self.times.size)

    @property
    def drawing(self) -> Drawing | None:
        """How the system looks, by its scenario, itself or the names of coordinates; else None."""
        return _drawing(self.motion)

    def film(self) -> FrameSource:
        """The old name of `frame_source`."""
        warn_renamed("Animation.film", "frame_source")
        return self.frame_source()

    def frame_source(self) -> FrameSource:
        """The frames, ready to be asked for."""
        pace = "" if np.isclose(self.speed, 1.0) else rf"   $\times\,{self.speed:.3g}$"
        if self.drawing is None:
            return CurveFrames(self.motion, self.times, self.style, self.size, pace)
        finer = _finer(self.frames)
        scene = build_scene(self.motion, self.drawing, self.times, finer, follow=self.follow)
        return SceneFrames(scene, self.style, self.size, words(self.motion.system.name), pace)

    def frame(self, k: int) -> npt.NDArray[np.uint8]:
        """The k-th frame as an image (height, width, 3); negative k count from the end."""
        return self.frame_source().frame(range(self.frames)[k])

    def save(
        self, path: str | PathLike[str], progress: Callable[[float], None] | None = None
    ) -> Path:
        """Write .gif, .mp4, .webm, or a still .png, .svg, .pdf with several poses."""
        target = checked_path(path, (".gif", *VIDEO_SUFFIXES, *STILL_SUFFIXES))
        suffix = target.suffix.lower()
        if suffix in STILL_SUFFIXES:
            if self.follow:
                what = "A still with several poses does not follow a point"
                raise ModelError(what, suffix, "write a .gif, .mp4 or .webm, or drop `follow`")
            save_picture(self.overlay(), target)
            return target
        if suffix in VIDEO_SUFFIXES:
            require_ffmpeg(target)
        shown = self._as_gif() if suffix == ".gif" else self
        source = shown.frame_source()

        def frame(k: int) -> npt.NDArray[np.uint8]:
            if progress is not None:
                progress((k + 1) / source.count)
            return source.frame(k)

        if suffix == ".gif":
            write_gif(frame, source.count, target, gif_delay(shown.fps))
        else:
            write_video(frame, source.count, target, self.fps)
        return target

    def _as_gif(self) -> Animation:
        """Itself, with fewer frames where none were asked for."""
        if not self.is_usual:
            return self
        seconds = abs(float(self.times[-1] - self.times[0])) / self.speed
        fps = usual_fps(seconds, ".gif")
        times = np.linspace(self.times[0], self.times[-1], round(seconds * fps) + 1)
        return replace(self, times=times, fps=fps, is_usual=False)

    def overlay(self, poses: int = 7) -> Picture:
        """Poses at equal intervals over each other; without a drawing, the plot.

        Where the motion crosses the picture many times, they are taken from its last crossing.
        """
        if self.drawing is None:
            return time_picture(self.motion, self.style)
        times = np.linspace(self.times[0], self.times[-1], 3001)
        scene = build_scene(self.motion, self.drawing, times)
        indices = _last_crossing(scene, poses)
        width, height = self.size or scene_size(scene.aspect)
        picture = Picture(self.style, figsize=(width / 100, height / 100))
        with self.style.context():
            axes = scene_axes(picture, scene, self.style, words(self.motion.system.name))
            paint_scene(axes, scene, self.style, indices, fade=True)
        return picture

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            data = self.save(Path(folder) / "motion.gif").read_bytes()
        text = base64.b64encode(data).decode()
        return f'<img alt="animation" src="data:image/gif;base64,{text}">'


def animate(
    motion: Motion,
    path: str | PathLike[str] | None = None,
    *,
    fps: float | None = None,
    speed: float | None = None,
    duration: float | None = None,
    size: tuple[int, int] | None = None,
    style: str | Style = "light",
    progress: Callable[[float], None] | None = None,
    follow: Sequence[Expression | str] = (),
) -> Animation:
    """Animate a motion: the drawing of its scenario, or, without one, its coordinates against time.

    Parameters
    ----------
    motion : Motion
    path : path, optional
        A .gif (needs nothing else), a .mp4 or .webm (need ffmpeg), or a still .png, .svg or .pdf
        with several poses over each other.
    fps : float, optional
        Frames in a second: 30; of a GIF 20, and down to 5 where that would give more than 250
        frames. A GIF counts in hundredths of a second; its rate is rounded to what it can show.
    speed : float, optional
        Seconds of motion in a second of the animation. Unless given, real time where that takes 3
        to 20 seconds, and else the nearest round speed that brings it there.
    duration : float, optional
        Length in seconds, instead of a speed. The whole motion is shown in any case.
    size : (int, int), optional
        Width and height in pixels; by default about 420 000 pixels in the shape of the drawing.
    style : "light", "dark" or Style
    progress : callable, optional
        Told the share of frames that are ready.
    follow : sequence of expressions or names, optional
        The position of a point that the view follows, such as ``("x", "y", "z")`` or the
        `position` of a body of a mechanism; by default the view stands still.

    Returns
    -------
    Animation

    Raises
    ------
    ModelError
        For a call that cannot be honoured, with what to install where ffmpeg is missing.
    """
    check_animation(fps, speed, duration, size)
    start, stop = finite_span(motion)
    pace = pace_of(abs(stop - start), speed, duration)
    suffix, seconds = "" if path is None else Path(path).suffix.lower(), abs(stop - start) / pace
    rate = usual_fps(seconds, suffix)
    if fps is not None:
        rate = 100 / gif_delay(fps) if suffix == ".gif" else fps
    count = round(seconds * rate) + 1
    if count > MOST_FRAMES:
        remedy = "pass a shorter duration or a higher speed"
        raise ModelError("The animation has too many frames", count, remedy)
    usual = fps is None and suffix != ".gif"
    times = np.linspace(start, stop, count)
    point = tuple(sympy.Symbol(one) if isinstance(one, str) else one for one in follow)
    if point and _drawing(motion) is None:
        what = "Without a drawing there is nothing to follow"
        raise ModelError(what, remedy="give the scenario a drawing")
    animation = Animation(motion, times, rate, pace, style_named(style), size, usual, point)
    if path is not None:
        animation.save(path, progress)
    return animation


def check_animation(
    fps: float | None = None, speed: float | None = None, duration: float | None = None,
    size: tuple[int, int] | None = None,
) -> None:  # fmt: skip
    """Check the options of an animation."""
    for name, value in (("fps", fps), ("speed", speed), ("duration", duration)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise ModelError(f"`{name}` must be positive", value, "leave it out for the usual one")
    if speed is not None and duration is not None:
        what = "An animation has a speed or a duration, not both"
        raise ModelError(what, f"{speed}, {duration}", "drop one")
    is_pair = size is None or len(size) == 2
    if size is not None and not (is_pair and all(64 <= side <= LARGEST_SIDE for side in size)):
        what = f"`size` must be two sides of 64 to {LARGEST_SIDE} pixels"
        raise ModelError(what, size, "pass size=(640, 480), say")


def motion_strip(
    motion: Motion,
    path: str | PathLike[str] | None = None,
    *,
    frames: int = 6,
    span: tuple[float, float] | None = None,
    style: str | Style = "light",
) -> Picture:
    """A strip of frames side by side, at equal intervals over `span` or the whole motion."""
    look, drawing = style_named(style), _drawing(motion)
    if drawing is None:
        picture = time_picture(motion, look)
    else:
        scene, indices = _posed(motion, drawing, frames, span or finite_span(motion))
        columns = frames if frames <= 4 else -(-frames // 2)
        rows = -(-frames // columns)
        width, height = scene_size(scene.aspect, 62_000.0)
        size = (columns * width / 100, rows * (height + 24) / 100)
        picture = Picture(look, figsize=size, layout="constrained")
        with look.context():
            for place, k in enumerate(indices):
                panel = picture.add_subplot(rows, columns, place + 1)
                axes = scene_axes(picture, scene, look, axes=panel)
                axes.set_title(f"$t = {scene.times[k]:.3g}$", fontsize=10.5, pad=3)
                axes.set(xlabel="", ylabel="", xticks=[], yticks=[])
                paint_scene(axes, scene, look, [k], fade=False)
    return finished(picture, path)


def _drawing(motion: Motion) -> Drawing | None:
    return drawing_of(motion.scenario, motion.system)


def _finer(frames: int) -> int:
    """How much denser than the frames a trace must be sampled to look smooth."""
    return int(np.clip(np.ceil(3000 / max(frames - 1, 1)), 2, 400))


def _posed(
    motion: Motion, drawing: Drawing, poses: int, span: tuple[float, float]
) -> tuple[Scene, list[int]]:
    """A scene sampled at `poses` equal intervals of `span`, and the indices of the poses."""
    if poses < 1:
        raise ModelError("A still needs at least one pose", seen=poses)
    times = np.linspace(*span, max(poses, 2))
    scene = build_scene(motion, drawing, times, _finer(times.size) * 2)
    return scene, list(range(poses)) if poses > 1 else [times.size - 1]


def _last_crossing(scene: Scene, poses: int) -> list[int]:
    """Indices of `poses` frames over the last stretch in which parts cross the picture once."""
    last = _last_in_sight(scene)
    reach = 1.4 * diagonal(scene.window)
    first = 0
    for part in scene.parts:
        steps = np.linalg.norm(np.diff(part.points[: last + 1].mean(axis=1), axis=0), axis=1)
        remaining = np.cumsum(np.nan_to_num(steps)[::-1])[::-1]
        first = max(first, int(np.searchsorted(-remaining, -reach)))
    return [round(k) for k in np.linspace(first, last, poses)] if poses > 1 else [last]


def _last_in_sight(scene: Scene) -> int:
    """The last frame in which some moving part is inside the window."""
    (left, right), (bottom, top) = scene.window
    inside = np.zeros(scene.times.size, dtype=bool)
    for part in (part for part in scene.parts if not part.is_still):
        x, y = part.points.mean(axis=1).T
        inside |= (left <= x) & (x <= right) & (bottom <= y) & (y <= top)
    found = np.flatnonzero(inside)
    return int(found[-1]) if found.size else scene.times.size - 1


def usual_fps(seconds: float, suffix: str) -> float:
    """Frames in a second of an animation of that length, where none are asked for.

    >>> usual_fps(5.0, ".mp4"), usual_fps(5.0, ".gif"), usual_fps(20.0, ".gif")
    (30.0, 20.0, 12.5)
    """
    if suffix != ".gif":
        return USUAL_FPS
    hundredths = np.clip(100 * seconds / GIF_FRAMES, 100 / GIF_FPS, 100 / LEAST_GIF_FPS)
    return 100 / int(np.ceil(hundredths - 1e-9))


def pace_of(length: float, speed: float | None = None, duration: float | None = None) -> float:
    """Seconds of motion in a second of the animation."""
    if speed is not None:
        return speed
    if duration is not None:
        return length / duration if length else 1.0
    if length == 0 or SMALLEST <= length <= LONGEST:
        return 1.0
    rates = [step * 10.0**power for power in range(-9, 10) for step in (1.0, 2.0, 5.0)]
    fitting = [rate for rate in rates if SMALLEST <= length / rate <= LONGEST]
    return min(fitting, key=lambda rate: abs(np.log(rate)))
