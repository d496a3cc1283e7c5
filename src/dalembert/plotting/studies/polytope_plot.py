"""Moment polytopes with points of the image of a momentum map."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from ...geometry.polytopes import MomentPolytope
from ...typing import Array, ArrayLike, Path
from ..axis_labels import mathtext
from ..style import Picture, Style, finished, style_named

__all__ = ["polytope"]

SIZE = (4.6, 4.2)
#: The size and the opacity of sampled points.
POINT, OPACITY = 5.0, 0.5


def polytope(
    shape: MomentPolytope,
    samples: ArrayLike | None = None,
    *,
    path: Path | None = None,
    style: str | Style = "light",
    title: str | None = None,
) -> Picture:
    """Draw a moment polytope of two or three dimensions, with points of the image inside it.

    Parameters
    ----------
    shape : MomentPolytope
        In two or three coordinates, or in an affine space of that dimension; the latter is drawn
        in orthonormal coordinates of its own.
    samples : array (m, d)
        Values of the momentum map, such as ``RootSystem.orbit_samples`` draws.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional

    Raises
    ------
    ModelError
        For a polytope of another dimension.

    Examples
    --------
    >>> import dalembert as da
    >>> a2 = da.lie.RootSystem("A2")
    >>> hexagon = a2.polytope([3, 1, 0])
    >>> picture = polytope(hexagon, a2.orbit_samples([3, 1, 0], 20))
    >>> len(picture.axes[0].lines)
    6
    """
    look, r = style_named(style), shape.dimension
    if r not in (2, 3):
        what = "A polytope is drawn in two or three dimensions"
        raise ModelError(what, r, "project it with da.symmetry.moment_polytope(points @ matrix)")
    own = shape.vertices.shape[1] == r
    points = None if samples is None else np.atleast_2d(np.asarray(samples, dtype=float))
    corners = _flat(shape, shape.vertices)
    picture = Picture(look, figsize=SIZE, layout="constrained")
    with look.context():
        axes: Any = picture.add_subplot(projection="3d" if r == 3 else None)
        for pair in shape.edges:
            axes.plot(*corners[list(pair)].T, color=look.body, linewidth=1.4)
        if points is not None:
            inside = _flat(shape, points)
            axes.scatter(*inside.T, s=POINT, color=look.trace, alpha=OPACITY, linewidths=0)
        depth = {"depthshade": False} if r == 3 else {}
        axes.scatter(*corners.T, s=22, color=look.accent, zorder=3, **depth)
        names = shape.names if own else tuple(f"s_{k + 1}" for k in range(r))
        for axis, name in zip("xyz"[:r], names, strict=True):
            getattr(axes, f"set_{axis}label")(mathtext(name))
        if r == 3:
            _bare(axes, look)
        axes.set_aspect("equal")
        axes.margins(0.06)
    return finished(picture, path, title)


def _flat(shape: MomentPolytope, points: Array) -> Array:
    """Points in the coordinates themselves, or in orthonormal ones of the affine span."""
    if shape.vertices.shape[1] == shape.dimension:
        return points
    return np.asarray((points - shape.centre) @ shape.directions)


def _bare(axes: Any, look: Style) -> None:
    """Axes in space in the colours of the style."""
    axes.set_facecolor(look.background)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color(look.background)
        axis.line.set_color(look.muted)
    axes.view_init(elev=20, azim=35)
