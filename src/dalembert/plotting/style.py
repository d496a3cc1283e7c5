"""One look for every picture: colours by role, type, lines; a light and a dark variant.

Curve colours start from the palette of Okabe and Ito, which stays distinct for readers with any of
the common colour deficiencies. Nothing here touches Matplotlib's global settings: a `Picture`
carries its style and wears it only while it is drawn, so it looks the same whoever saves it, and
whatever the user's own settings are.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast

import matplotlib
import matplotlib.colors
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font

from ..errors import FileError, ModelError, nearest
from ..model.io.atomic_file import replaced_whole

__all__ = ["DARK", "LIGHT", "ROLES", "STYLES", "Picture", "Style", "save_picture", "style_named"]

#: The roles a colour can be named by; `dalembert.model.drawing` uses them.
ROLES = ("body", "link", "trace", "ground", "accent")

#: The fonts of formulas in the style below.
FORMULA_FONTS = (
    "STIXGeneral", "STIXGeneral:italic", "STIXGeneral:weight=bold", "STIXGeneral:italic:bold",
    "STIXNonUnicode", "STIXNonUnicode:italic", "STIXSizeOneSym", "STIXSizeTwoSym",
    "STIXSizeThreeSym",
)  # fmt: skip
#: Suffixes of still pictures.
STILL_SUFFIXES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Style:
    """Colours of one variant of the house style.

    Attributes
    ----------
    background, ink, muted, grid : str
        The paper, the text, secondary text and axes, and grid lines.
    body, link, trace, ground, accent : str
        What the parts of a drawing are painted with.
    cycle : tuple of str
        Colours of curves, in order of use.
    """

    name: str
    background: str
    ink: str
    muted: str
    grid: str
    body: str
    link: str
    trace: str
    ground: str
    accent: str
    cycle: tuple[str, ...]

    def color(self, role: str) -> str:
        """The colour of a role, or the Matplotlib colour `role` itself.

        >>> LIGHT.color("body"), LIGHT.color("#123456")
        ('#0072B2', '#123456')
        """
        if role in ROLES or role in ("ink", "muted", "grid", "background"):
            return str(getattr(self, role))
        if not matplotlib.colors.is_color_like(role):
            guess = nearest(role, ROLES)
            other = f"use one of {', '.join(ROLES)}, or a colour like #0072B2"
            what = f"`{role}` is neither a role nor a Matplotlib colour"
            raise ModelError(what, role, f"did you mean `{guess}`" if guess else other)
        return role

    def blend(self, role: str, weight: float) -> str:
        """The colour of a role mixed with the background, opaque; `weight` = 1 is the pure colour.

        >>> LIGHT.blend("body", 0.0)
        '#ffffff'
        """
        colors = (self.color(role), self.background)
        pure, paper = (np.array(matplotlib.colors.to_rgb(color)) for color in colors)
        return matplotlib.colors.to_hex(tuple(weight * pure + (1 - weight) * paper))

    def ramp(self, count: int) -> list[str]:
        """`count` colours from dark to light along one perceptually uniform map."""
        colormap = matplotlib.colormaps["viridis"]
        low, high = (0.25, 1.0) if self.name == "dark" else (0.0, 0.85)
        shares = [low + (high - low) * k / max(count - 1, 1) for k in range(count)]
        return [matplotlib.colors.to_hex(colormap(share)) for share in shares]

    def settings(self) -> dict[str, Any]:
        """The rcParams of this style."""
        paper = ("axes.facecolor", "figure.facecolor")
        ink = ("axes.labelcolor", "axes.titlecolor", "text.color")
        ticks = {f"{axis}tick.{name}": value for axis in "xy" for name, value in _TICKS.items()}
        colored = dict.fromkeys(paper, self.background) | dict.fromkeys(ink, self.ink)
        for axis in "xy":
            colored |= {f"{axis}tick.color": self.muted, f"{axis}tick.labelcolor": self.ink}
        colored |= {"axes.edgecolor": self.muted, "grid.color": self.grid}
        return {**_SETTINGS, **ticks, **colored, "axes.prop_cycle": cycler(color=self.cycle)}

    @contextmanager
    def context(self) -> Iterator[None]:
        """Wear this style for the length of a `with` block; the user's settings come back."""
        settings: Any = self.settings()
        try:
            with matplotlib.rc_context(settings):
                yield
        finally:
            forget_glyphs()


_TICKS = {
    "direction": "out", "labelsize": 9.5, "major.size": 3, "major.width": 0.7,
    "minor.visible": False,
}  # fmt: skip
#: The rcParams of both styles.
_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True, "axes.formatter.limits": (-4, 5), "axes.formatter.use_mathtext": True,
    "axes.formatter.useoffset": False, "axes.grid": True, "axes.labelsize": 11,
    "axes.linewidth": 0.7, "axes.spines.right": False, "axes.spines.top": False,
    "axes.titlelocation": "left", "axes.titlesize": 11, "axes.titlepad": 6,
    "axes.unicode_minus": True, "axes.xmargin": 0.0, "axes.ymargin": 0.08,
    "figure.constrained_layout.h_pad": 0.06, "figure.constrained_layout.w_pad": 0.08,
    "figure.dpi": 110, "figure.titlesize": 13, "font.family": "STIXGeneral", "font.size": 11,
    "grid.linewidth": 0.6, "legend.frameon": False, "lines.linewidth": 1.5,
    "lines.solid_capstyle": "round", "lines.solid_joinstyle": "round", "mathtext.fontset": "stix",
    "path.simplify": True, "pdf.fonttype": 42, "savefig.dpi": 200, "savefig.facecolor": "auto",
    "savefig.bbox": None, "svg.hashsalt": "dalembert", "text.usetex": False,
}  # fmt: skip

LIGHT = Style(
    name="light",
    background="#FFFFFF",
    ink="#1F2933",
    muted="#7B8794",
    grid="#E8EBEE",
    body="#0072B2",
    link="#3E4C59",
    trace="#E69F00",
    ground="#A3AFBB",
    accent="#D5384E",
    cycle=("#0072B2", "#D55E00", "#009E73", "#9B3A7A", "#E69F00", "#56B4E9"),
)

DARK = Style(
    name="dark",
    background="#11161C",
    ink="#E4E9EE",
    muted="#8A97A5",
    grid="#232B34",
    body="#56B4E9",
    link="#B8C4CF",
    trace="#F0B429",
    ground="#5A6775",
    accent="#FF7A85",
    cycle=("#56B4E9", "#F08A4B", "#3DDBA5", "#F5A9D6", "#F0E442", "#7C8CFF"),
)

STYLES = {style.name: style for style in (LIGHT, DARK)}
#: The style that is made of the user's own settings of Matplotlib.
OWN_SETTINGS = "matplotlib"


class _OwnStyle(Style):
    """Colours of the user's rcParams, which stay as they are."""

    def settings(self) -> dict[str, Any]:
        return {}


def _own_style() -> Style:
    """The style of Matplotlib's current settings."""
    chosen = matplotlib.rcParams
    given = chosen["axes.prop_cycle"].by_key().get("color") or LIGHT.cycle
    cycle = tuple(matplotlib.colors.to_hex(color) for color in given)
    paper, ink, muted, grid = (
        matplotlib.colors.to_hex(chosen[name])
        for name in ("axes.facecolor", "text.color", "axes.edgecolor", "grid.color")
    )
    body, trace, accent = (cycle[k % len(cycle)] for k in (0, 1, 3))
    return _OwnStyle(OWN_SETTINGS, paper, ink, muted, grid, body, ink, trace, muted, accent, cycle)


def style_named(style: str | Style | None, axes: object = None) -> Style:
    """The style of that name, or the style itself; None is "light", and on axes that the user
    passes "matplotlib".

    >>> style_named("dark").name, style_named(None).name, style_named("matplotlib").settings()
    ('dark', 'light', {})
    """
    if isinstance(style, Style):
        return style
    if style is None:
        return LIGHT if axes is None else _own_style()
    if style == OWN_SETTINGS:
        return _own_style()
    if style not in STYLES:
        what = f"There is no picture style `{style}`"
        raise ModelError(what, style, f"use {', '.join(STYLES)} or {OWN_SETTINGS}")
    return STYLES[style]


def forget_glyphs() -> None:
    """Free what formulas left in Matplotlib's fonts, about 2 kB of glyphs for each formula."""
    for name in FORMULA_FONTS:
        get_font(findfont(name)).clear()


class Picture(Figure):
    """A Matplotlib figure in one of the styles.

    It is an ordinary `matplotlib.figure.Figure`: change it, or save it with `savefig`. Where the
    caller has imported pyplot with a backend that opens windows, it is a figure of pyplot too, so
    that `pyplot.show` shows it; elsewhere pyplot does not keep it.
    """

    def __init__(self, style: Style, *args: Any, **options: Any) -> None:
        self.style = style
        with style.context():
            super().__init__(*args, **options)
            FigureCanvasAgg(self)

    def draw(self, renderer: RendererBase) -> None:
        """Draw in this picture's own style, for ticks and labels that are made late."""
        with self.style.context():
            super().draw(renderer)

    def savefig(
        self, fname: str | PathLike[str] | IO[Any], *, transparent: bool | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """Save in this picture's own style; see `matplotlib.figure.Figure.savefig`."""
        with self.style.context():
            super().savefig(fname, transparent=transparent, **options)

    def show(self, warn: bool = True) -> None:
        """Show the picture in a window of Matplotlib's, or in a notebook as the result of a cell.

        Raises
        ------
        ModelError
            Where there is no window to show it in.
        """
        from matplotlib import pyplot

        if not self.in_window(pyplot):
            if (display := _notebook_display()) is not None:
                display(self)
                return
            raise ModelError(
                "There is no window to show the picture in",
                f"Matplotlib's backend {matplotlib.get_backend()}",
                'save it with savefig("picture.png"), or choose a backend with windows',
            )
        pyplot.show()

    def in_window(self, pyplot: Any) -> bool:
        """Make this a figure of pyplot; False where its backend opens no windows."""
        if getattr(self.canvas, "manager", None) is not None:
            return True
        window = pyplot.figure(figsize=self.get_size_inches())
        canvas: Any = window.canvas
        if canvas.required_interactive_framework is None or canvas.manager is None:
            pyplot.close(window)
            return False
        canvas.figure = self
        self.set_canvas(canvas)
        return True

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=144)
        return buffer.getvalue()


def _notebook_display() -> Callable[[object], None] | None:
    """What shows things below the cell of a notebook; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display  # type: ignore[import-not-found]

    shows: Callable[[object], None] = display
    return shows


def finished(
    picture: Picture, path: str | PathLike[str] | None, title: str | None = None
) -> Picture:
    """The picture with its title, saved where a path is given, else shown by `pyplot.show`."""
    if title:
        with picture.style.context():
            picture.suptitle(title, x=0.01, ha="left", weight="bold")
    if path is not None:
        save_picture(picture, path)
    elif (pyplot := sys.modules.get("matplotlib.pyplot")) is not None and not _notebook_display():
        picture.in_window(pyplot)
    return picture


def finished_on(
    figure: Figure, axes: Axes | None, path: str | PathLike[str] | None, title: str | None = None
) -> Figure:
    """What a plot returns: its own picture `finished`, or the figure of the user's `axes`."""
    if axes is None:
        assert isinstance(figure, Picture)
        return finished(figure, path, title)
    if path is not None:
        raise ModelError(
            "A plot on axes of yours is saved with their figure",
            f"path={str(path)[:80]!r} and ax",
            "leave out `path`, and call ax.figure.savefig",
        )
    if title:
        axes.set_title(title)
    return figure


def figure_for(axes: Axes | None, look: Style, size: tuple[float, float]) -> Figure:
    """A new picture, or the figure of the user's axes."""
    if axes is None:
        return Picture(look, figsize=size, layout="constrained")
    if not isinstance(axes, Axes):
        raise ModelError(
            "`ax` is no Axes of Matplotlib", type(axes).__name__, "pass ax=figure.add_subplot()"
        )
    found = axes.get_figure()
    if found is None:
        raise ModelError("The axes `ax` have no figure", remedy="pass ax=figure.add_subplot()")
    return cast("Figure", found)


def save_picture(picture: Picture, path: str | PathLike[str]) -> Path:
    """Write a picture as .png, .svg or .pdf; the same picture gives the same file, undated.

    Raises
    ------
    FileError
        For another suffix, a folder that is not there, or a disk that is full.
    """
    target = checked_path(path, STILL_SUFFIXES)
    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    metadata: dict[str, Any] = dates.get(target.suffix.lower(), {})
    try:
        with replaced_whole(target) as place:
            picture.savefig(place, metadata=metadata, format=target.suffix[1:].lower())
    except OSError as error:
        reason = error.strerror or str(error)
        what = f"The picture {target.name} cannot be written"
        raise FileError(what, reason, "check the disk") from error
    return target


def checked_path(
    path: str | PathLike[str], suffixes: tuple[str, ...], what: str = "picture"
) -> Path:
    """`path` as a Path to write to, with one of `suffixes` and in a folder that exists."""
    target = Path(path)
    if "\0" in str(target):
        problem = f"A {what} has no path with a zero byte"
        raise FileError(problem, repr(str(target))[:80], "name another file")
    if target.suffix.lower() not in suffixes:
        raise FileError(
            f"A {what} cannot be written to `{target.name}`",
            f"suffix {target.suffix or 'missing'}",
            f"use one of {', '.join(suffixes)}",
        )
    if not target.parent.is_dir():
        problem = f"The folder of the {what} does not exist"
        raise FileError(problem, str(target.parent), "create it first")
    return target
