"""Plots of a motion: its quantities against time, and against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from ...errors import ModelError
from ...typing import Path, Symbol
from ..axis_labels import mathtext, words
from ..motion_samples import Array, EventMarks, curve_times, event_marks, series
from ..style import Picture, Style, figure_for, finished, finished_on, style_named
from .panels import Curve, Panel, chosen_panels

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["phase", "plot"]

PANEL_WIDTH, PANEL_HEIGHT = 6.0, 1.62
#: Panels in one column before a second is opened.
COLUMN = 4
#: Events up to which each is a line across the panel; more become ticks along its foot.
MOST_LINES = 24
#: How much larger than its usual size a quantity is where it is taken to blow up.
BLOW_UP = 1e3


def plot(
    motion: Motion,
    names: Sequence[str | Sequence[str]] | None = None,
    *,
    panels: Sequence[str] | None = None,
    path: Path | None = None,
    style: str | Style | None = None,
    title: str | None = None,
    ax: Axes | Sequence[Axes] | None = None,
) -> Figure:
    """Plot a motion against time.

    Parameters
    ----------
    motion : Motion
    names : sequence of names, or of tuples of names
        Quantities to plot: a panel for each name, and one for each tuple.
    panels : sequence of str
        Kinds of panels: "coordinates", "velocities", "accelerations", "momenta", "speeds",
        "multipliers", "inputs", "outputs", "energy" (its relative drift), "residuals"
        (logarithmic), "reactions" (generalised forces by constraint). Without `names` and `panels`,
        those that suit the system.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark", "matplotlib" or Style
        "matplotlib" keeps your own settings; so do axes that are passed, unless a style is named.
    title : str, optional
        Above the plot; the system's name unless given.
    ax : Axes, or a sequence of them
        Where to draw, instead of a new picture: all curves on one axes, or a panel on each.

    Returns
    -------
    Figure
        A `Picture` with one axes for each panel, or the figure of `ax`.

    Raises
    ------
    ModelError
        For a name or a panel that the motion does not have.
    """
    look = style_named(style, ax)
    shown = chosen_panels(motion, names, panels)
    if ax is not None:
        return _on_axes(shown, look, event_marks(motion), ax, title, path)
    return finished(_titled(motion, shown, look, title), path)


def time_picture(motion: Motion, look: Style) -> Picture:
    """The panels that suit a motion, as a picture."""
    return _titled(motion, chosen_panels(motion, None, None), look, None)


def _titled(motion: Motion, shown: Sequence[Panel], look: Style, title: str | None) -> Picture:
    heading = words(motion.system.name) if title is None else title
    return draw_panels(shown, look, event_marks(motion), heading)


def _on_axes(
    shown: Sequence[Panel], look: Style, marks: Sequence[EventMarks], ax: Axes | Sequence[Axes],
    title: str | None, path: Path | None,
) -> Figure:  # fmt: skip
    """Panels on the user's axes, each with a legend."""
    given = [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))
    if isinstance(ax, Axes) and len(shown) > 1:
        curves = tuple(replace(c, color_index=None) for panel in shown for c in panel.curves)
        shown = [Panel("", curves, all(panel.logarithmic for panel in shown))]
    if len(given) != len(shown):
        raise ModelError(
            "The axes do not match the panels",
            f"{len(given)} axes, {len(shown)} panels",
            "pass one axes, or one for each panel",
        )
    figures = [figure_for(axes, look, (0.0, 0.0)) for axes in given]
    for axes, panel in zip(given, shown, strict=True):
        with look.context():
            draw_curves(axes, panel, look)
            mark_events(axes, marks, look)
            axes.set_xlabel(mathtext("t"))
            axes.legend(loc="best")
    return finished_on(figures[0], given[0], path, title)


def draw_panels(
    shown: Sequence[Panel], look: Style, marks: Sequence[EventMarks], title: str = ""
) -> Picture:
    """Panels below each other over one time axis, in two columns where they are many."""
    columns = 1 if len(shown) <= COLUMN else 2
    rows = -(-len(shown) // columns)
    height = max(rows * PANEL_HEIGHT + 0.75, 2.6)
    size = (PANEL_WIDTH * (1 if columns == 1 else 1.85), height)
    picture = Picture(look, figsize=size, layout="constrained")
    with look.context():
        grid = picture.add_gridspec(rows, columns)
        first: Axes | None = None
        for k, panel in enumerate(shown):
            column, row = divmod(k, rows)
            axes = picture.add_subplot(grid[row, column], sharex=first)
            first = first or axes
            last = row == rows - 1 or k == len(shown) - 1
            draw_panel(axes, panel, look, marks, height_points=(height - 0.75) / rows * 72 * 0.72)
            axes.tick_params(labelbottom=last)
            if last:
                axes.set_xlabel(mathtext("t"))
        if title and title != "system":
            picture.suptitle(title, x=0.01, ha="left", weight="bold")
        picture.align_ylabels()
    return picture


def draw_panel(
    axes: Axes, panel: Panel, look: Style, marks: Sequence[EventMarks], height_points: float
) -> None:
    """One panel into one axes, its curves labelled at their right ends."""
    drawn = draw_curves(axes, panel, look)
    if panel.family:
        drawn = [drawn[0], drawn[-1]]
    mark_events(axes, marks, look)
    label_ends(axes, drawn, height_points)


def draw_curves(axes: Axes, panel: Panel, look: Style) -> list[tuple[Curve, str]]:
    """The curves of a panel, each with its colour."""
    drawn: list[tuple[Curve, str]] = []
    for curve, color in zip(panel.curves, curve_colors(panel, look), strict=True):
        line_style: Any = (0, (4, 2)) if curve.dashed else "-"
        width = 0.9 if panel.family or panel.logarithmic else 1.5
        look_of_line = {"color": color, "linestyle": line_style, "linewidth": width}
        axes.plot(curve.t, curve.y, label=curve.label, **look_of_line)
        drawn.append((curve, color))
    if panel.title:
        axes.set_title(panel.title)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(numticks=6))
        axes.minorticks_off()
        low, high = axes.get_ylim()
        axes.set_ylim(low, max(high, 1e3 * low))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10], min_n_ticks=3))
        _open_range(axes, panel.curves)
    return drawn


def curve_colors(panel: Panel, look: Style) -> list[str]:
    """A colour for each curve: its own of the cycle, unless two curves would look the same."""
    count = len(panel.curves)
    if panel.family:
        return look.ramp(count)
    indices = [curve.color_index for curve in panel.curves]
    own = [k if index is None else index for k, index in enumerate(indices)]
    pairs = zip(own, panel.curves, strict=True)
    places = {(index % len(look.cycle), curve.dashed) for index, curve in pairs}
    if len(places) == count:
        return [look.cycle[index % len(look.cycle)] for index in own]
    return [look.cycle[k] for k in range(count)] if count <= len(look.cycle) else look.ramp(count)


def _open_range(axes: Axes, curves: Sequence[Curve]) -> None:
    """Set an axis around a constant curve, and one that a blow-up does not flatten."""
    finite = np.concatenate([np.array([]), *(curve.y[np.isfinite(curve.y)] for curve in curves)])
    if finite.size == 0:
        return
    low, high = float(finite.min()), float(finite.max())
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * max(size, 1e-9):
        room = 0.5 * size if size > 1e-9 else 1.0
        axes.set_ylim(low - room, high + room)
    usual = max(_usual_size(curve) for curve in curves)
    if 0 < usual * BLOW_UP < size:
        axes.set_ylim(max(low, -4 * usual), min(high, 4 * usual))


def _usual_size(curve: Curve) -> float:
    """What a quantity does not exceed for nine tenths of the time."""
    usable = np.isfinite(curve.y)
    if not usable.any():
        return 0.0
    t, y = curve.t[usable], np.abs(curve.y[usable])
    order = np.argsort(t, kind="stable")
    usual = np.interp(np.linspace(t.min(), t.max(), 401), t[order], y[order])
    return float(np.percentile(usual, 90))


def mark_events(axes: Axes, marks: Sequence[EventMarks], look: Style) -> None:
    """A hairline at the time of each event; ticks along the foot where they are many."""
    count = sum(mark.times.size for mark in marks)
    for mark in marks:
        if count <= MOST_LINES:
            for time in mark.times:
                line: dict[str, Any] = {"linewidth": 0.7, "linestyle": (0, (2, 2)), "zorder": 1}
                axes.axvline(float(time), color=look.accent, **line)
        else:
            foot, foot_of_axes = np.zeros_like(mark.times), axes.get_xaxis_transform()
            ticks: dict[str, Any] = {
                "linestyle": "none",
                "marker": "|",
                "markersize": 7,
                "clip_on": False,
            }
            axes.plot(mark.times, foot, transform=foot_of_axes, color=look.accent, **ticks)


def label_ends(axes: Axes, drawn: Sequence[tuple[Curve, str]], height_points: float) -> None:
    """Write each curve's label beside its right end, moved apart where ends come close."""
    size = 10.5
    low, high = axes.get_ylim()
    scale = np.log10 if axes.get_yscale() == "log" else np.asarray
    span = float(scale(high) - scale(low)) or 1.0
    heights = []
    for curve, _ in drawn:
        finite = curve.y[np.isfinite(curve.y)]
        end = float(finite[-1]) if finite.size else low
        heights.append(float(np.clip((scale(end) - scale(low)) / span, 0.0, 1.0)))
    placed = spread(heights, 1.25 * size / height_points)
    layout: dict[str, Any] = {"fontsize": size, "ha": "left", "va": "center", "clip_on": False}
    for (curve, color), height in zip(drawn, placed, strict=True):
        axes.text(1.012, height, curve.label, transform=axes.transAxes, color=color, **layout)


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Heights from 0 to 1 moved as little as needed so that neighbours are `gap` apart.

    >>> [round(h, 2) for h in spread([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    order = sorted(range(len(heights)), key=lambda k: heights[k])
    blocks: list[list[float]] = []  # each block: centre, number of labels

    def are_close() -> bool:
        (below, few), (above, many) = blocks[-2:]
        return above - below < gap * (many + few) / 2 - 1e-12

    for rank, k in enumerate(order):
        room = rank * gap, 1 - (len(order) - 1 - rank) * gap
        blocks.append([max(min(heights[k], room[1]), room[0]), 1.0])
        while len(blocks) > 1 and are_close():
            (above, many), (below, few) = blocks.pop(), blocks.pop()
            blocks.append([(above * many + below * few) / (many + few), many + few])
    placed = []
    for centre, count in blocks:
        placed += [centre + gap * (k - (count - 1) / 2) for k in range(int(count))]
    result = [0.0] * len(heights)
    for k, height in zip(order, placed, strict=True):
        result[k] = height
    return result


def phase(
    motion: Motion,
    x: Symbol,
    y: Symbol,
    z: Symbol | None = None,
    *,
    path: Path | None = None,
    style: str | Style | None = None,
    equal: bool = False,
    ax: Axes | None = None,
) -> Figure:
    """Plot one quantity against another, or three in space; colour runs with time.

    Parameters
    ----------
    x, y, z : str or symbol
        Names of quantities; with `z` the portrait is spatial.
    path : path, optional
        A .png, .svg or .pdf to write.
    equal : bool
        Draw both axes to the same scale.
    ax : Axes, optional
        Where to draw, instead of a new picture; with `z` axes with ``projection="3d"``.
    """
    look = style_named(style, ax)
    names = [str(name) for name in (x, y, z) if name is not None]
    if len(set(names)) < len(names):
        what = "A phase portrait needs different quantities"
        raise ModelError(what, ", ".join(names), "name each once")
    t = curve_times(motion, 6000)
    points = np.array(list(series(motion, names, t).values())).T
    points = points[np.isfinite(points).all(axis=1)]
    if ax is not None and hasattr(ax, "set_zlabel") != (z is not None):
        raise ModelError(
            "The axes do not fit the portrait",
            f"{len(names)} quantities on {type(ax).__name__}",
            'pass axes with projection="3d" for three quantities, plane ones for two',
        )
    figure = figure_for(ax, look, (5.4, 4.6) if z is None else (5.6, 5.2))
    with look.context():
        draw = _portrait_plane if z is None else _portrait_space
        axes = draw(figure, ax, points, look)
        for setter, name in zip(("set_xlabel", "set_ylabel", "set_zlabel"), names, strict=False):
            getattr(axes, setter)(mathtext(name), fontsize=13)
        axes.yaxis.label.set(rotation=0, va="center")
        axes.yaxis.labelpad = 10
        if equal:
            axes.set_aspect("equal")
    return finished_on(figure, ax, path)


#: The ring at the start of a portrait.
RING: dict[str, Any] = {"marker": "o", "markersize": 7, "fillstyle": "none", "markeredgewidth": 1.6}


def time_colors(look: Style) -> LinearSegmentedColormap:
    """From a pale shade at the start to the full body colour at the end."""
    return LinearSegmentedColormap.from_list("time", [look.blend("body", 0.3), look.body])


def _portrait_plane(figure: Figure, ax: Axes | None, points: Array, look: Style) -> Axes:
    axes = figure.add_subplot() if ax is None else ax
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    shares = np.linspace(0, 1, len(pieces))
    lines = LineCollection(list(pieces), cmap=time_colors(look), array=shares)
    lines.set(linewidth=1.3, capstyle="round")
    axes.add_collection(lines)
    axes.plot(*points[0], color=look.accent, **RING)
    axes.plot(*points[-1], marker="o", markersize=5, color=look.body)
    axes.margins(0.06)
    axes.autoscale_view()
    return axes


def _portrait_space(figure: Figure, ax: Axes | None, points: Array, look: Style) -> Any:
    from mpl_toolkits.mplot3d.art3d import Line3DCollection

    axes: Any = figure.add_subplot(projection="3d") if ax is None else ax
    pieces = np.stack([points[:-1], points[1:]], axis=1)
    lines = Line3DCollection(pieces, cmap=time_colors(look), array=np.linspace(0, 1, len(pieces)))
    lines.set(linewidth=1.2)
    axes.add_collection3d(lines)
    axes.plot(*points[:1].T, color=look.accent, **RING)
    axes.plot(*points[-1:].T, marker="o", markersize=5, color=look.body)
    axes.set_box_aspect(None, zoom=0.86)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
        axis.set_pane_color(look.background)
        axis.line.set_color(look.muted)
    for setter, column in zip(("set_xlim", "set_ylim", "set_zlim"), points.T, strict=True):
        low, high = float(column.min()), float(column.max())
        room = 0.05 * (high - low) or 1.0
        getattr(axes, setter)(low - room, high + room)
    return axes
