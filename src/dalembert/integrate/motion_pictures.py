"""Pictures of a motion as its methods; `dalembert.plotting` draws them when they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from ..typing import Expression, Path, Symbol, Symbols

if TYPE_CHECKING:
    import pathlib

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..plotting.reports.notebook_viewer import MotionViewer
    from ..plotting.scenes.animation import Animation
    from ..plotting.style import Style
    from .motion import Motion

__all__ = ["MotionPictures"]


class MotionPictures:
    """The methods of `Motion` that draw it."""

    def plot(
        self,
        names: Sequence[str | Sequence[str]] | None = None,
        *,
        panels: Sequence[str] | None = None,
        path: Path | None = None,
        style: str | Style | None = None,
        title: str | None = None,
        ax: Axes | Sequence[Axes] | None = None,
    ) -> Figure:
        """Panels over time; see `dalembert.plotting.plot`."""
        from ..plotting import plot

        motion = cast("Motion", self)
        return plot(motion, names, panels=panels, path=path, style=style, title=title, ax=ax)

    def phase(
        self,
        x: Symbol,
        y: Symbol,
        z: Symbol | None = None,
        *,
        path: Path | None = None,
        style: str | Style | None = None,
        equal: bool = False,
        ax: Axes | None = None,
    ) -> Figure:
        """A phase portrait; see `dalembert.plotting.phase`."""
        from ..plotting import phase

        return phase(cast("Motion", self), x, y, z, path=path, style=style, equal=equal, ax=ax)

    def poincare(
        self,
        section: Symbol,
        x: Symbol,
        y: Symbol,
        *,
        direction: int = 1,
        wrap: Symbols = (),
        path: Path | None = None,
        style: str | Style | None = None,
        title: str | None = None,
        equal: bool = False,
        ax: Axes | None = None,
    ) -> Figure:
        """A Poincare section; see `dalembert.plotting.poincare`."""
        from ..plotting import poincare

        return poincare(
            cast("Motion", self), section, x, y, direction=direction, wrap=wrap, path=path,
            style=style, title=title, equal=equal, ax=ax,
        )  # fmt: skip

    def spectrum(
        self,
        names: Symbol | Symbols | None = None,
        *,
        window: str = "hann",
        peaks: int = 5,
        angular: bool = False,
        limit: float | None = None,
        path: Path | None = None,
        style: str | Style | None = None,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Figure:
        """Amplitude spectra; see `dalembert.plotting.spectrum`."""
        from ..plotting import spectrum

        return spectrum(
            cast("Motion", self), names, window=window, peaks=peaks, angular=angular, limit=limit,
            path=path, style=style, title=title, ax=ax,
        )  # fmt: skip

    def report(
        self,
        path: Path,
        *,
        title: str | None = None,
        equations: bool = True,
        live: bool = False,
    ) -> pathlib.Path:
        """One self-contained HTML page about the run; with `live` its model runs in the page.

        See `dalembert.plotting.report`.
        """
        from ..plotting import report

        return report(cast("Motion", self), path, title=title, equations=equations, live=live)

    def viewer(self, *, live: bool = False, frames: int = 600) -> MotionViewer:
        """An interactive viewer for notebooks; see `dalembert.plotting.viewer`."""
        from ..plotting import viewer

        return viewer(cast("Motion", self), live=live, frames=frames)

    def animate(
        self,
        path: Path | None = None,
        *,
        fps: float | None = None,
        speed: float | None = None,
        duration: float | None = None,
        size: tuple[int, int] | None = None,
        style: str | Style = "light",
        progress: Callable[[float], None] | None = None,
        follow: Sequence[Expression | str] = (),
    ) -> Animation:
        """Animate the motion: the drawing of its system, or its coordinates against time.

        Parameters
        ----------
        path : path, optional
            A .gif, a .mp4 or .webm (these need ffmpeg), or a still .png, .svg or .pdf with several
            poses over each other.
        fps : float, optional
            Frames in a second: 30; of a .gif 20, and down to 5 where that would give more than 250
            frames.
        speed : float, optional
            Seconds of motion in a second of the animation: real time where that takes 3 to 20
            seconds, else the nearest round speed that brings it there.
        duration : float, optional
            Length in seconds, instead of a speed. The whole motion is shown in any case.
        size : (int, int), optional
            Width and height in pixels; about 420 000 pixels in the shape of the drawing.
        style : "light" (default), "dark" or Style
        progress : callable, optional
            Told the share of frames that are ready.
        follow : sequence of expressions or names, optional
            The position of a point that the view follows, such as ``("x", "y", "z")`` or the
            `position` of a body of a mechanism; by default the view stands still.

        Returns
        -------
        Animation
            To `save`, to look at one `frame` of, or to show in a notebook. What it shows, and
            within which limits, is for the drawing to say (`dalembert.draw.drawing`).
        """
        from ..plotting import animate

        return animate(
            cast("Motion", self), path, fps=fps, speed=speed, duration=duration, size=size,
            style=style, progress=progress, follow=follow,
        )  # fmt: skip

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What notebooks show."""
        from ..plotting.reports.display import motion_bundle

        return motion_bundle(cast("Motion", self))

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")
