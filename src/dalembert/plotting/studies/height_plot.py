"""Height functions as maps: the curvature over the shapes, with loops on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from ...errors import ModelError, nearest
from ...typing import Path
from ..axis_labels import mathtext, words
from ..motion_samples import Array
from ..style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ...analysis.symmetry.height import AreaRule, HeightFunction

__all__ = ["plot_height"]

PANEL_WIDTH, PANEL_HEIGHT = 4.0, 3.2
#: Steps of colour on each side of zero.
STEPS = 8
#: Colours of loops that stand out on the map.
LOOP_ROLES = ("ink", "accent", "muted")
#: Heights below this part of the largest one are rounding.
FLAT = 1e-12


def plot_height(
    height: HeightFunction,
    components: Sequence[str] | None = None,
    *,
    loops: AreaRule | Array | Sequence[AreaRule | Array] = (),
    path: Path | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """Draw a height function as a map over the shapes; lines of no height are drawn in ink.

    Parameters
    ----------
    height : HeightFunction
        Of `da.symmetry.height_function`.
    components : sequence of str
        Body velocities, a panel for each; by default those whose height is not zero everywhere.
    loops : AreaRule, array (2, count), or a sequence of them
        Loops of shapes, drawn with an arrow along them.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional
        Above the picture; the system's name unless given.

    Raises
    ------
    ModelError
        For a component that the connection does not have, and for loops of another shape.

    Examples
    --------
    >>> import dalembert as da
    >>> board = da.gallery.load("snakeboard")
    >>> x, y, theta, psi, phi = board.system.coordinates
    >>> plane = da.symmetry.connection(board, da.lie.LieGroup.SE(2).chart((x, y, theta)))
    >>> height = da.symmetry.height_function(plane, {psi: (-1, 1), phi: (-1, 1)}, points=(5, 5))
    >>> picture = plot_height(height, ["xi_x"])
    >>> len(picture.axes), picture.axes[0].get_title(loc="left") != ""
    (2, True)
    """
    look, names = style_named(style), height.connection.basis
    shown = _components(height, components)
    several = loops if isinstance(loops, Sequence) else [loops]
    drawn = [_loop_points(loop) for loop in several]
    size = (PANEL_WIDTH * len(shown) + 0.4, PANEL_HEIGHT)
    picture = Picture(look, figsize=size, layout="constrained")
    with look.context():
        panels = np.atleast_1d(picture.subplots(1, len(shown), sharey=True))
        for axes, name in zip(panels, shown, strict=True):
            _draw_map(picture, axes, height, height.values[names.index(name)], look)
            for number, points in enumerate(drawn):
                _draw_loop(axes, points, look.color(LOOP_ROLES[number % len(LOOP_ROLES)]))
            axes.set(title=mathtext(name), xlabel=mathtext(height.shape[0]))
        panels[0].set_ylabel(mathtext(height.shape[1]))
    heading = words(height.connection.system.name) if title is None else title
    return finished(picture, path, "" if heading == "system" else heading)


def _components(height: HeightFunction, components: Sequence[str] | None) -> list[str]:
    names = height.connection.basis
    if components is None:
        largest = float(np.nanmax(np.abs(height.values), initial=0.0))
        heights = [np.nanmax(np.abs(table), initial=0.0) for table in height.values]
        rises = [bool(size > FLAT * largest) for size in heights]
        return [name for name, rise in zip(names, rises, strict=True) if rise] or [names[0]]
    chosen = [str(name) for name in ([components] if isinstance(components, str) else components)]
    for name in chosen:
        if name not in names:
            guess = nearest(name, names)
            remedy = f"did you mean {guess}" if guess else "use one of these"
            raise ModelError(f"The connection has no component `{name}`", ", ".join(names), remedy)
    if not chosen:
        raise ModelError("A picture needs a component", "none", f"name one of {', '.join(names)}")
    return chosen


def _loop_points(loop: AreaRule | Array) -> Array:
    points = np.asarray(getattr(loop, "points", loop), dtype=float)
    if points.ndim != 2 or points.shape[0] != 2 or points.shape[1] < 2:
        raise ModelError(
            "A loop is drawn from points in the plane of the shapes",
            f"shape {points.shape}",
            "give an array (2, count), or what da.symmetry.area_rule returns",
        )
    return points


def _draw_map(
    picture: Picture, axes: Axes, height: HeightFunction, table: Array, look: Style
) -> None:
    """Colours from one side of zero to the other, and the lines of no height."""
    size = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
    levels = np.linspace(-size, size, 2 * STEPS + 1) * (1 + 1e-9)
    colors = LinearSegmentedColormap.from_list("height", [look.body, look.background, look.trace])
    first, second = height.axes
    values = np.ma.masked_invalid(table.T)
    filled = axes.contourf(first, second, values, levels=levels, cmap=colors)
    if np.nanmin(table) < 0 < np.nanmax(table):
        axes.contour(first, second, values, levels=[0.0], colors=[look.muted], linewidths=0.9)
    axes.grid(False)
    ticks = np.linspace(-size, size, 5)
    bar = picture.colorbar(filled, ax=axes, ticks=ticks, format="%.2g", pad=0.02)
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.ax.tick_params(length=0)


def _draw_loop(axes: Axes, points: Array, color: str) -> None:
    """A closed line with an arrow a quarter on its way."""
    axes.plot(*points, color=color, linewidth=1.6)
    place = points.shape[1] // 4
    along = points[:, min(place + 1, points.shape[1] - 1)] - points[:, place]
    if np.hypot(*along) > 0:
        head = {"arrowstyle": "-|>", "color": color, "linewidth": 1.6, "mutation_scale": 13}
        head |= {"shrinkA": 0, "shrinkB": 0}
        start, end = tuple(points[:, place]), tuple(points[:, place] + along)
        axes.annotate("", xy=end, xytext=start, arrowprops=head)
